"""Plays the cases of test_device.py on device "cuda" and saves what comes of them.

A process of its own, because Numba decides on import whether it simulates the device: with NUMBA_ENABLE_CUDASIM=1 and
NUMBA_DISABLE_JIT=1 it runs the kernels as plain Python, which needs no GPU, but patience.
"""

import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from arcbandit import OLP, GroupFloor, Instance, ObservedRewards, paper_instance, policy, simulate
from arcbandit.simulation import device, fold

POLICIES = ("olp", "oplp", "blp", "greedy", "thompson-lp", "optimistic3", "doc", "spoc")
NU = paper_instance("nu")
GROUPS = Instance(
    NU.mean_rewards,
    [0.5, 0.1, 0.2],
    NU.context_probabilities,
    arms=["one", "two", "three"],
    group_floors=[GroupFloor("pair", ("two", "three"), 0.6)],
)
MANY_PAIRS = Instance(np.random.default_rng(0).random((12, 11)), np.full(12, 0.03), np.full(11, 1 / 11))


class Sizes(NamedTuple):
    """How much is played, and what must come of it."""

    epochs: int
    horizon: int
    equal_plays: float  # the least share of plays that are those of the CPU
    means_of: tuple[str, ...]  # policies
    many_epochs: int  # for means
    many_rounds: int
    cpu_epochs: int
    summary_checkpoints: int
    chunk: int  # does not divide `epochs`
    lanes: int  # the most that fold the epochs of a summary


GPU = Sizes(
    epochs=100,
    horizon=2000,
    equal_plays=0.999,
    means_of=POLICIES,
    many_epochs=65_536,
    many_rounds=2000,
    cpu_epochs=256,
    summary_checkpoints=5,
    chunk=37,
    lanes=fold.MOST_LANES,
)
# Its arithmetic is the CPU's, its speed that of Python; a summary takes it long, for every lane of a cell is a thread.
LONG_SIMULATOR = GPU._replace(
    epochs=3, horizon=40, equal_plays=1.0, many_epochs=24, many_rounds=12, cpu_epochs=256, chunk=2
)
SIMULATOR = LONG_SIMULATOR._replace(horizon=24, means_of=("olp", "thompson-lp", "doc"), summary_checkpoints=1, lanes=2)
SIZES = {"gpu": GPU, "simulator": SIMULATOR, "long simulator": LONG_SIMULATOR}


def special_cases(simulated: bool) -> dict[str, dict[str, Any]]:
    """What the plain cases leave out."""
    observed = ObservedRewards([[[9.0], [3.0, 1.0], [6.0]], [[0.0, 1.0], [1.5], [0.0]], [[0.0], [0.0], [2.0, 4.0]]])
    cases = {
        "groups, windows, unknown probabilities": {
            "instance": GROUPS,
            "policies": [policy("blp", estimate_contexts=True)],
            "window": 7,
        },
        "pairs away, audited": {
            "instance": NU,
            "policies": ["olp"],
            "available": [[True, True, True], [True, True, True], [False, True, True]],
            "suboptimality_gap": 0.1,
        },
        "floors out of reach, shared": {
            "instance": Instance(NU.mean_rewards, [3.0, 0.75, 1.5], NU.context_probabilities, noise_scale=0.1),
            "policies": [policy("olp", when_infeasible="same_share")],
        },
        "plans on a cadence": {"instance": NU, "policies": [OLP(replan=4)]},
        "exploration within a budget": {"instance": NU, "policies": [OLP(exploration_budget=0.1, known_after=4)]},
        "a guarantee": {"instance": NU, "policies": [OLP(guarantee=True)]},
        "more pairs than a byte can number": {"instance": MANY_PAIRS, "policies": ["olp"]},
        "observed rewards": {
            "instance": observed.instance([0.5, 0.1, 0.1], [0.5, 0.25, 0.25]),
            "policies": ["oplp"],
            "rewards": observed,
        },
    }
    # On a GPU a compiler takes minutes for each further rule.
    others = ["sgoc", "loe2d", "lagrange-cb", "drift-plus-penalty", "bandit-q"] if simulated else []
    cases["other policies"] = {"instance": NU, "policies": ["priced-lp", *others]}
    if simulated:
        kept, stands = policy("priced-lp", guarantee=True), policy("priced-lp", replan=4)
        cases["prices inside a guarantee and on a cadence"] = {"instance": GROUPS, "policies": [kept, stands]}
    return cases


def common(sizes: Sizes) -> dict[str, Any]:
    """The arguments of a run whose every play is looked at."""
    return {"horizon": sizes.horizon, "epochs": sizes.epochs, "checkpoints": range(1, sizes.horizon + 1)}


def main(folder: Path, sizes: Sizes) -> None:
    """Save a file for each case."""
    fold.MOST_LANES = sizes.lanes
    for name in POLICIES:
        simulate(NU, [name], **common(sizes), device="cuda", keep="epochs").save(folder / f"{name}.parquet")
    for name in sizes.means_of:
        many = {"horizon": sizes.many_rounds, "epochs": sizes.many_epochs, "checkpoints": 1}
        simulate(NU, [name], **many, device="cuda").save(folder / f"{name} many.parquet")
    for name, case in special_cases(device.simulated()).items():
        simulate(**case, **common(sizes), device="cuda", keep="epochs").save(folder / f"{name}.parquet")
    few = common(sizes) | {"checkpoints": sizes.summary_checkpoints}
    simulate(NU, ["olp", "doc"], **few, device="cuda", keep="epochs").save(folder / "epochs.parquet")
    simulate(NU, ["olp", "doc"], **few, device="auto").save(folder / "one chunk.parquet")
    device.LARGEST_CHUNK = sizes.chunk
    advanced = []
    simulate(NU, ["olp", "doc"], **few, device="cuda", progress=advanced.append).save(folder / "chunks.parquet")
    chunks = [min(sizes.chunk, sizes.epochs - first) for first in range(0, sizes.epochs, sizes.chunk)]
    assert advanced == 2 * [count * sizes.horizon for count in chunks]


if __name__ == "__main__":
    main(Path(sys.argv[1]), SIZES[sys.argv[2]])
