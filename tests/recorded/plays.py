"""What every policy plays, through the public interface alone: `python -m tests.recorded.plays` prints it as JSON.

With names of policies as arguments, it prints what these play. The output of the version before the rules became
classes of their own is kept in `compiled.json` and, from a process with ``NUMBA_DISABLE_JIT=1``, in `uncompiled.json`;
`platform.json` says whose arithmetic they have: `python -m tests.recorded.arithmetic` prints it. `snapshots_v2.json`
holds snapshots of version 2, and what the policies that wrote them played next; `snapshots_v3.json` likewise of version
3 with a configuration of version 2 and an arm that is retired.
"""

import hashlib
import json
import os
import sys
import time
from functools import partial

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
# Where a default has changed since: what the policies did then.
AS_RECORDED = {"spoc": {"shares": "ucb"}, "sgoc": {"shares": "ucb"}}
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


# The statements that `audit` knew when its counts were recorded.
RECORDED_STATEMENTS = (
    "the confidence set covers the means",
    "where I_t is not I*, the width of w(t) is at least the suboptimality gap",
    "where I_t = I*, OLP has no regret",
    "while LP(UCB, LCB) is feasible, OPLP violates no floor",
)


def audited(instance, name, horizon):
    """How often each of the paper's statements held."""
    audit = arcbandit.audit(instance, name, horizon, epochs=2)
    recorded = [one for one in audit.statements if one.name in RECORDED_STATEMENTS]
    return {"bits": str([(one.name, one.rounds, one.failures) for one in recorded])}


def cases():
    """Everything that is recorded: functions that play it, by name."""
    horizon, rounds = (1500, 240) if COMPILED else (40, 40)
    every = instances()
    nu, small, groups = every["nu"], every["4x7"], every["5x4-groups"]
    found = {}
    for name in NAMES:
        then = AS_RECORDED.get(name, {})
        for label, instance in every.items():
            if instance.group_floors and name in WITHOUT_GROUPS:
                continue
            if not COMPILED and label not in ("nu", "4x7", "5x4-groups"):
                continue
            found[f"loop {name} {label}"] = partial(looped, instance, policy(name, **then), horizon)
        found[f"online {name} 4x7"] = partial(played_online, small, name, rounds, change=False, dials=then)
        found[f"online {name} 4x7 changed"] = partial(played_online, small, name, rounds, change=True, dials=then)
        unknown = policy(name, estimate_contexts=True, **then)
        found[f"loop {name} nu unknown contexts"] = partial(looped, nu, unknown, horizon)
    for name, dials in DIALS:
        label = ",".join(f"{dial}={value}" for dial, value in dials.items())
        found[f"loop {name}({label}) nu"] = partial(looped, nu, policy(name, **dials), horizon)
        found[f"online {name}({label}) 4x7"] = partial(played_online, small, name, rounds, change=True, dials=dials)
    for name in ("olp", "oplp", "thompson-lp"):
        found[f"online {name} groups"] = partial(played_online, groups, name, rounds, change=False)
    for replan in ("doubling", 5):
        found[f"online olp replan {replan}"] = partial(played_online, small, "olp", rounds, change=True, replan=replan)
    mask = np.ones((4, 7), dtype=bool)
    mask[0, 1] = mask[2, 3] = False
    bits = Instance(np.clip(small.mean_rewards, 0, 0.95), small.revenue_floors, small.context_probabilities)
    for name in ("olp", "oplp", "doc", "bandit-q"):
        bounded = policy(name, reward_bounds=(0, 1))
        found[f"loop {name} 4x7 bernoulli"] = partial(looped, bits, bounded, horizon, rewards="bernoulli")
        found[f"loop {name} 4x7 mask"] = partial(looped, small, name, horizon, available=mask)
    for name in ("olp", "oplp", "thompson-lp"):
        found[f"audit {name}"] = partial(audited, nu, name, horizon)
    return found | (large_cases() if COMPILED else {})


def large_cases():
    """Those that take seconds each."""
    large = partial(random_instance, 20, 50, 5, noise_scale=0.05)
    return {
        "loop olp 20x50": lambda: looped(large(), "olp", 8000, epochs=1),
        "loop oplp 20x50": lambda: looped(large(), "oplp", 8000, epochs=1),
        "loop blp 20x50": lambda: looped(large(), "blp", 8000, epochs=1),
        "loop thompson-lp 20x50": lambda: looped(large(), "thompson-lp", 3000, epochs=1),
        "loop olp 100x1000": lambda: looped(random_instance(100, 1000, 6), "olp", 400, epochs=1, window=None),
        "loop oplp 30x40 long": lambda: looped(random_instance(30, 40, 7, noise_scale=0.02), "oplp", 20000, epochs=1),
    }


def record(chosen=None, log=None):
    """What is played, by name: all of it, or of these policies alone."""
    found = {}
    for key, play in cases().items():
        if chosen is None or policy_of(key) in chosen:
            started = time.process_time()
            found[key] = play()
            if log is not None:
                print(f"{time.process_time() - started:6.2f} s {key}", file=log, flush=True)
    return found


def policy_of(key):
    """The policy that a case plays."""
    return key.split()[1].partition("(")[0]


if __name__ == "__main__":
    json.dump(record(sys.argv[1:] or None, sys.stderr), sys.stdout, indent=1)
    print()
