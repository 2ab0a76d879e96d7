"""What a weight of 10 on violation must cost in regret, beside OPLP: python -m benchmarks.weights docs/learning.

For each family of the scored half, geometric means over the instances whose limit is known: the regret of OPLP, that of
PricedLP with a weight of 10, and that of the limit, which no rule that makes R + 10 V as small as can be stays below at
large T. Then the same for instances on which OPLP's violation is larger than its regret, and for the others.
"""

import argparse
import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from arcbandit.learning.contestants import CAREFUL, CAUTIOUS
from arcbandit.learning.families import drawn
from arcbandit.learning.results import SCORED, FamilyResults, read
from arcbandit.learning.scores import geometric_mean, in_common
from arcbandit.limits import learning_limit

WEIGHT = 10.0


class Regrets(NamedTuple):
    """On one instance."""

    oplp: float
    priced: float
    limit: float
    violates: bool  # whether OPLP loses more in floors than in revenue


def regrets(found: FamilyResults) -> list[Regrets]:
    """Of every instance of a family that both were played on and that has a limit."""
    settings = found.settings
    rows = []
    for oplp, priced in in_common(found, CAUTIOUS, CAREFUL):
        if not math.isnan(oplp.limit):
            instance = drawn(settings.family, settings.part, oplp.number, settings.seed).instance
            limit = learning_limit(instance, settings.horizon, WEIGHT).regret
            rows.append(Regrets(oplp.regret, priced.regret, limit, oplp.violation > oplp.regret))
    return rows


def line(family: str, which: str, rows: Iterable[Regrets]) -> str:
    """A line of the table."""
    chosen = list(rows)
    if not chosen:
        return f"| {family} | {which} | 0 |" + " – |" * 5
    oplp, priced, limit = (geometric_mean(column) for column in list(zip(*chosen, strict=True))[:3])
    numbers = " | ".join(f"{value:,.0f}" for value in (oplp, priced, limit))
    return f"| {family} | {which} | {len(chosen)} | {numbers} | {priced / oplp:.2f} | {limit / oplp:.2f} |"


def main(arguments: Sequence[str]) -> None:
    """Print the table of a folder of results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    results = read(parser.parse_args(arguments).folder, SCORED)
    print("| family | instances | | OPLP's R | PricedLP's, weight 10 | the limit's | PricedLP / OPLP | limit / OPLP |")
    print("|---|---|---|---|---|---|---|---|")
    for family, found in results.items():
        rows = regrets(found)
        print(line(family, "all", rows))
        print(line(family, "OPLP violates", (row for row in rows if row.violates)))
        print(line(family, "others", (row for row in rows if not row.violates)))


if __name__ == "__main__":
    main(sys.argv[1:])
