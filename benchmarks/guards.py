"""What the guards of PricedLP, and the guarantee of any rule that plans, cost: python -m benchmarks.guards.

Each line of its tables is R + V after 50,000 rounds relative to the same rule without the guard, on the same contexts
and noise: the ratio of geometric means over instances and epochs, in per cent above 1, with its standard error.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from arcbandit import BLP, Instance, PricedLP, paper_instance, plan, simulate
from arcbandit.policies.configuration import Configuration

HORIZON = 50_000
EPOCHS = 40  # of an instance that stands alone; of a family, in all
SEED = 20


def random_instance(seed: int, most_arms: int, most_contexts: int, noise: tuple[float, float]) -> Instance:
    """Means up to 3, and floors that some plan meets with room to spare."""
    rng = np.random.default_rng(seed)
    shape = int(rng.integers(2, most_arms + 1)), int(rng.integers(2, most_contexts + 1))
    means, shares = rng.uniform(0.0, 3.0, shape), rng.dirichlet(np.full(shape[1], 2.0))
    even = (shares * means).sum(axis=1) / shape[0]
    floors = rng.uniform(0.2, 0.9) * even * rng.uniform(0.0, 1.0, shape[0])
    return Instance(means, floors, shares / shares.sum(), noise_scale=float(np.exp(rng.uniform(*np.log(noise)))))


def families(quick: bool) -> dict[str, list[Instance]]:
    """The instances by name."""
    count = 4 if quick else 20
    return {
        "ν": [paper_instance("nu")],
        "ν⁽⁰⁾": [paper_instance("nu-nominal")],
        "margin 0.01": [paper_instance("nu-margin:0.01")],
        "2 × 2": [Instance([[3.0, 2.0], [1.0, 1.2]], [0.1, 0.25], [0.5, 0.5])],
        "twenty small": [random_instance(seed, 5, 6, (0.3, 2.0)) for seed in range(100, 100 + count)],
        "twenty larger": [random_instance(seed, 10, 20, (0.3, 3.0)) for seed in range(200, 200 + count)],
        "one dear": [Instance([[3.0, 2.0], [0.05, 0.03]], [0.1, 0.01], [0.5, 0.5], noise_scale=0.1)],
    }


def sums(
    instances: Sequence[Instance], policies: Mapping[str, Configuration], epochs: int
) -> dict[str, NDArray[np.float64]]:
    """log(R + V) of each policy, shape (instances, epochs)."""
    each = max(2, epochs // len(instances))
    found: dict[str, list[NDArray[np.float64]]] = {name: [] for name in policies}
    for place, instance in enumerate(instances):
        trace = simulate(instance, dict(policies), horizon=HORIZON, epochs=each, seed=SEED + place)
        for name in policies:
            total = (trace.regret[name] + trace.violation[name])[:, -1]
            found[name].append(np.log(np.maximum(total, 1e-9 * plan(instance).value)))
    return {name: np.array(logs) for name, logs in found.items()}


def cost(logs: NDArray[np.float64], plain: NDArray[np.float64]) -> str:
    """How much more, in per cent, with its standard error, which counts instances as given."""
    ratio = logs - plain
    error = np.sqrt((ratio.var(axis=1, ddof=1) / ratio.shape[1]).mean() / len(ratio))
    return f"{100 * np.expm1(ratio.mean()):+.1f} ± {100 * error:.1f}"


def table(policies: Mapping[str, Configuration], quick: bool, chosen: Sequence[str]) -> None:
    """Print a table: the first policy's R + V, then what each of the others costs."""
    first, *others = policies
    print("| instances |", first, "|", " | ".join(others), "|")
    print("|---|---|" + "---|" * len(others))
    for name, instances in families(quick).items():
        if chosen and name not in chosen:
            continue
        logs = sums(instances, policies, EPOCHS // 4 if quick else EPOCHS)
        cells = [cost(logs[other], logs[first]) for other in others]
        print(f"| {name} | {np.exp(logs[first].mean()):.0f} |", " | ".join(cells), "|", flush=True)


def main(arguments: Sequence[str]) -> None:
    """Measure the guards named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["counts", "guarantee"])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--family", action="append", default=[])
    given = parser.parse_args(arguments)
    if given.what == "counts":
        dials = [(floor, reach) for floor in (0.02, 0.05) for reach in (1e6, 1.0, 0.5)]
        counts = {f"{floor:g}, {reach:g}": PricedLP(count_floor=floor, count_reach=reach) for floor, reach in dials}
        table({"PricedLP": PricedLP(count_floor=0.0), **counts}, given.quick, given.family)
    else:
        for kind in (PricedLP, BLP):
            table({kind.__name__: kind(), "guarantee": kind(guarantee=True)}, given.quick, given.family)


if __name__ == "__main__":
    main(sys.argv[1:])
