"""What every policy plays, through the public interface alone: `python -m tests.recorded.plays` prints it as JSON.

The output of the version before the rules became classes of their own is kept in `compiled.json` and, from a process
with ``NUMBA_DISABLE_JIT=1``, in `uncompiled.json`.
"""

import hashlib
import json
import os
import sys

import numpy as np

import arcbandit
from arcbandit import GroupFloor, Instance, paper_instance, policy, restore, simulate

COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
METRICS = (
    "regret",
    "violation",
    "signed_regret",
    "performance",
    "realised_revenue",
    "regret_plus_violation",
    "signed_violation",
    "optimal_set_share",
    "fallback_share",
    "infeasible_share",
    "gave_up_share",
    "floor_shortfall",
    "floor_realised",
    "worst_window_expected",
    "worst_window_realised",
)
NAMES = (
    "olp",
    "oplp",
    "blp",
    "greedy",
    "linear-program",
    "thompson-lp",
    "optimistic3",
    "doc",
    "spoc",
    "sgoc",
    "loe2d",
    "lagrange-cb",
    "drift-plus-penalty",
    "bandit-q",
)
WITHOUT_GROUPS = ("optimistic3", "doc", "spoc", "sgoc", "loe2d", "lagrange-cb", "drift-plus-penalty", "bandit-q")
DIALS = (
    ("linear-program", {"optimism": 0.7, "caution": -0.4}),
    ("thompson-lp", {"share": 1.0, "redraws": 2}),
    ("optimistic3", {"alpha": 3.0, "dual": "context"}),
    ("optimistic3", {"dual": "realised"}),
    ("loe2d", {"penalty_scale": 0.1, "exploration_scale": 0.5}),
)


def random_instance(n_arms, n_contexts, seed, groups=(), noise_scale=0.3):
    """Floors at 80 % of what some allocation earns, one of them zero."""
    random = np.random.default_rng(seed)
    means = random.random((n_arms, n_contexts)) + 0.1
    probabilities = random.dirichlet(np.full(n_contexts, 5.0))
    shares = random.dirichlet(np.ones(n_arms), n_contexts).T
    floors = 0.8 * (probabilities * means * shares).sum(axis=1)
    floors[-1] = 0.0
    return Instance(means, floors, probabilities / probabilities.sum(), group_floors=groups, noise_scale=noise_scale)


def instances():
    """The instances of the recording, by name."""
    nu = paper_instance("nu")
    return {
        "nu": nu,
        "counterexample": paper_instance("greedy-counterexample"),
        "infeasible": Instance(nu.mean_rewards, nu.revenue_floors * 3, nu.context_probabilities),
        "4x7": random_instance(4, 7, 1),
        "12x13": random_instance(12, 13, 2, noise_scale=0.1),
        "5x4-groups": random_instance(
            5, 4, 3, (GroupFloor("pair", ("1", "2"), 0.2), GroupFloor("odd", ("1", "3", "5"), 0.3))
        ),
    }


def digest(parts):
    """One short word for the bits of some arrays."""
    sha = hashlib.sha256()
    for part in parts:
        sha.update(np.ascontiguousarray(part).tobytes())
    return sha.hexdigest()[:24]


def looped(instance, chosen, horizon, **options):
    """The bits of every metric at every checkpoint, and the sums at the end to be looked at."""
    options = {"window": min(20, horizon), "checkpoints": 12, "epochs": 2, "seed": 11, "jobs": 1} | options
    trace = simulate(instance, {"it": chosen}, horizon, **options)
    values = [trace.metric(name)["it"] for name in METRICS]
    last = [float(trace.metric(name)["it"][0, -1]) for name in ("regret", "violation", "realised_revenue")]
    return {"bits": digest(values), "last": last}


def played_online(instance, name, rounds, *, change, dials=None, **settings):
    """Arms and the bits of their probabilities; rewards come at once, late and in batches, a snapshot is restored."""
    random = np.random.default_rng(8)
    decider = policy(name, **(dials or {}), **settings).for_instance(instance, horizon=rounds, seed=3, epoch=1)
    means = instance.mean_rewards
    arms, shares, waiting = [], [], []
    contexts = list(decider.contexts)
    for step in range(rounds):
        context = contexts[int(random.integers(instance.n_contexts))]
        decision = decider.decide(context)
        row, column = decider.arms.index(decision.arm), contexts.index(context)
        mean = means[row, column] if row < means.shape[0] else 0.7
        reward = float(mean + 0.3 * random.normal())
        arms.append(row)
        shares.append(decision.probability)
        if step % 7 == 3:
            waiting.append((context, decision.arm, reward))
        elif step % 50 == 49:
            decider.update_many(*zip(*waiting, (context, decision.arm, reward), strict=True))
            waiting = []
        else:
            decider.update(context, decision.arm, reward)
        if step == rounds // 2:
            decider = restore(json.loads(json.dumps(decider.snapshot())))
        if change and step == rounds // 3:
            decider.add_arm("newcomer", 0.01)
            decider.set_floor(decider.arms[0], 0.02)
        if change and step == 2 * rounds // 3:
            decider.retire_arm(decider.arms[1])
    return {
        "bits": digest([np.array(shares), decider.allocation(), decider.pulls()]),
        "arms": "".join(chr(97 + row) for row in arms),
    }


def record(log=None):
    """All of it, by name."""
    horizon, rounds = (1500, 240) if COMPILED else (40, 40)
    found = {}

    def keep(key, value):
        found[key] = value
        if log is not None:
            print(key, file=log, flush=True)

    every = instances()
    for name in NAMES:
        for label, instance in every.items():
            if instance.group_floors and name in WITHOUT_GROUPS:
                continue
            if not COMPILED and label not in ("nu", "4x7", "5x4-groups"):
                continue
            keep(f"loop {name} {label}", looped(instance, name, horizon))
        keep(f"online {name} 4x7", played_online(every["4x7"], name, rounds, change=False))
        keep(f"online {name} 4x7 changed", played_online(every["4x7"], name, rounds, change=True))
        unknown = policy(name, estimate_contexts=True)
        keep(f"loop {name} nu unknown contexts", looped(every["nu"], unknown, horizon))
    for name, dials in DIALS:
        label = ",".join(f"{dial}={value}" for dial, value in dials.items())
        keep(f"loop {name}({label}) nu", looped(every["nu"], policy(name, **dials), horizon))
        keep(f"online {name}({label}) 4x7", played_online(every["4x7"], name, rounds, change=True, dials=dials))
    for name in ("olp", "oplp", "thompson-lp"):
        keep(f"online {name} groups", played_online(every["5x4-groups"], name, rounds, change=False))
    for replan in ("doubling", 5):
        keep(f"online olp replan {replan}", played_online(every["4x7"], "olp", rounds, change=True, replan=replan))
    mask = np.ones((4, 7), dtype=bool)
    mask[0, 1] = mask[2, 3] = False
    bits = Instance(
        np.clip(every["4x7"].mean_rewards, 0, 0.95), every["4x7"].revenue_floors, every["4x7"].context_probabilities
    )
    for name in ("olp", "oplp", "doc", "bandit-q"):
        keep(
            f"loop {name} 4x7 bernoulli", looped(bits, policy(name, reward_bounds=(0, 1)), horizon, rewards="bernoulli")
        )
        keep(f"loop {name} 4x7 mask", looped(every["4x7"], name, horizon, available=mask))
    for name in ("olp", "oplp", "thompson-lp"):
        audit = arcbandit.audit(every["nu"], name, horizon, epochs=2)
        keep(f"audit {name}", {"bits": str([(s.name, s.rounds, s.failures) for s in audit.statements])})
    if COMPILED:
        keep("loop olp 20x50", looped(random_instance(20, 50, 5, noise_scale=0.05), "olp", 8000, epochs=1))
        keep("loop oplp 20x50", looped(random_instance(20, 50, 5, noise_scale=0.05), "oplp", 8000, epochs=1))
        keep("loop blp 20x50", looped(random_instance(20, 50, 5, noise_scale=0.05), "blp", 8000, epochs=1))
        keep(
            "loop thompson-lp 20x50",
            looped(random_instance(20, 50, 5, noise_scale=0.05), "thompson-lp", 3000, epochs=1),
        )
        keep("loop olp 100x1000", looped(random_instance(100, 1000, 6), "olp", 400, epochs=1, window=None))
        keep("loop oplp 30x40 long", looped(random_instance(30, 40, 7, noise_scale=0.02), "oplp", 20000, epochs=1))
    return found


if __name__ == "__main__":
    json.dump(record(sys.stderr), sys.stdout, indent=1)
    print()
