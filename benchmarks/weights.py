"""What a weight of 10 on violation must cost in regret, beside OPLP: python -m benchmarks.weights docs/learning.

For each family of the scored half, geometric means over the instances whose limit is known: the regret of OPLP, that of
PricedLP with a weight of 10, and that of the limit, which no rule that makes R + 10 V as small as can be stays below at
large T. Then the same for those of them on which OPLP's violation is larger than its regret, for the others, and
without a limit for the instances that have none, as those with Bernoulli rewards.

A second table says what exploring may cost beside that limit if regret is to be at most 0.7 of OPLP's: as a share of
what it costs PricedLP at a weight of 1, R + V less its limit. Beside it stands what any rule that learns on every
instance pays for exploring as T grows, by the bound of Lai and Robbins (1985) for each pair that the best plan leaves
out, as a multiple of what PricedLP pays.
"""

import argparse
import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from arcbandit.instance import Instance
from arcbandit.learning.contestants import CAREFUL, CAUTIOUS, JUDGED
from arcbandit.learning.families import drawn
from arcbandit.learning.requirements import CAREFUL_REGRET
from arcbandit.learning.results import SCORED, FamilyResults, read
from arcbandit.learning.scores import LEAST_SUM, geometric_mean, in_common
from arcbandit.limits import learning_limit
from arcbandit.planning import plan

WEIGHT = 10.0
SEARCH_STEPS = 60


class Regrets(NamedTuple):
    """On one instance; without a limit the limit is NaN, and so is what exploring costs beside it."""

    oplp: float
    priced: float
    limit: float
    violates: bool  # whether OPLP loses more in floors than in revenue
    exploring: float  # of PricedLP at a weight of 1
    asymptotic: float  # the same by Lai and Robbins


def regrets(found: FamilyResults) -> list[Regrets]:
    """Of every instance of a family that both were played on."""
    settings = found.settings
    rows = []
    for oplp, priced, plain in in_common(found, CAUTIOUS, CAREFUL, JUDGED):
        limit = exploring = asymptotic = math.nan
        if not math.isnan(oplp.limit):
            instance = drawn(settings.family, settings.part, oplp.number, settings.seed).instance
            limit = learning_limit(instance, settings.horizon, WEIGHT).regret
            exploring = max(plain.total - plain.limit, 0.0)
            asymptotic = least_exploring(instance, settings.horizon)
        violates = oplp.violation > oplp.regret
        rows.append(Regrets(oplp.regret, priced.regret, limit, violates, exploring, asymptotic))
    return rows


def least_exploring(instance: Instance, horizon: int) -> float:
    """What it costs at large T to tell the pairs that the best plan leaves out from those that it plays.

    A pair that loses d per visit, of rewards that count (1 + price) times, takes 2 (1 + price)^2 sigma^2 log T / d^2
    plays; here at most all visits of its context.
    """
    best = plan(instance)
    times = 1.0 + best.floors.members.T @ best.floors.prices
    worth = times[:, np.newaxis] * instance.mean_rewards
    lost = worth.max(axis=0) - worth
    left_out = (best.allocation == 0.0) & (lost > 0.0)
    with np.errstate(divide="ignore"):
        plays = 2.0 * (times[:, np.newaxis] * instance.noise_scale) ** 2 * math.log(horizon) / lost**2
    plays = np.minimum(plays, horizon * instance.context_probabilities)
    return float((plays * lost)[left_out].sum())


def share_for_exploring(rows: Sequence[Regrets], most: float) -> float:
    """The share of what PricedLP pays at which the geometric mean of limit and exploring is `most` of OPLP's regret."""

    def ratio(share: float) -> float:
        sums = [max(row.limit + share * row.exploring, LEAST_SUM) / max(row.oplp, LEAST_SUM) for row in rows]
        return math.exp(sum(math.log(one) for one in sums) / len(sums))

    low, high = 0.0, 1.0
    if ratio(high) <= most or ratio(low) > most:
        return high if ratio(high) <= most else low
    for _ in range(SEARCH_STEPS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if ratio(middle) <= most else (low, middle)
    return low


def line(family: str, which: str, rows: Iterable[Regrets]) -> str:
    """A line of the table; a dash stands for what is not known."""
    chosen = list(rows)
    if not chosen:
        return f"| {family} | {which} | 0 |" + " – |" * 5
    oplp, priced, limit = (geometric_mean(column) for column in list(zip(*chosen, strict=True))[:3])
    numbers = [f"{oplp:,.0f}", f"{priced:,.0f}", f"{limit:,.0f}", f"{priced / oplp:.2f}", f"{limit / oplp:.2f}"]
    if math.isnan(limit):
        numbers[2] = numbers[4] = "–"
    return f"| {family} | {which} | {len(chosen)} | {' | '.join(numbers)} |"


def main(arguments: Sequence[str]) -> None:
    """Print the table of a folder of results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args(arguments).folder
    results = read(folder, SCORED)
    if not results:
        parser.error(f"folder must have results of the half {SCORED}, got {folder}.")
    print("| family | instances | | OPLP's R | PricedLP's, weight 10 | the limit's | PricedLP / OPLP | limit / OPLP |")
    print("|---|---|---|---|---|---|---|---|")
    for family, found in results.items():
        rows = regrets(found)
        limited = [row for row in rows if not math.isnan(row.limit)]
        print(line(family, "with a limit", limited))
        print(line(family, "of these, OPLP violates", (row for row in limited if row.violates)))
        print(line(family, "of these, others", (row for row in limited if not row.violates)))
        if len(limited) < len(rows):
            print(line(family, "without a limit", (row for row in rows if math.isnan(row.limit))))
    print()
    print("| family | instances | exploring may cost, of PricedLP's | by Lai and Robbins, of PricedLP's |")
    print("|---|---|---|---|")
    for family, found in results.items():
        if rows := [row for row in regrets(found) if not math.isnan(row.limit)]:
            asymptotic = geometric_mean([row.asymptotic for row in rows])
            asymptotic /= geometric_mean([row.exploring for row in rows])
            print(f"| {family} | {len(rows)} | {share_for_exploring(rows, CAREFUL_REGRET):.2f} | {asymptotic:.2f} |")


if __name__ == "__main__":
    main(sys.argv[1:])
