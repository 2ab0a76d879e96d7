"""A fashion shop: 34 items at three positions, clicks, and two logs of the same week (`saito2020`).

One log was made by a policy that chose all items with the same probability, the other by Thompson sampling. Each knows
what its own policy earned, so that an estimate from one can be compared with the other. docs/open-bandit.md tells what
follows.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from arcbandit.examples.files import data_file
from arcbandit.inputs.values import whole
from arcbandit.logs.evaluation import Evaluation, evaluate
from arcbandit.logs.reading import read_log
from arcbandit.logs.statistics import LogStatistics

if TYPE_CHECKING:
    import pyarrow

COLUMNS: dict[str, Any] = {"context": "position", "arm": "item", "reward": "click"}
BRANDED = COLUMNS | {"arm": "brand"}
UNIFORM, THOMPSON = data_file("obd-men-random.csv.gz"), data_file("obd-men-bts.csv.gz")
ITEMS = 34
BRANDS = 4


def both_ways() -> dict[str, tuple[Evaluation, float]]:
    """Each policy's click rate as estimated from the other's log, and what its own log says.

    Thompson sampling changes from hour to hour; what is evaluated is the mix of items that it showed at each position.
    """
    uniform, thompson = read_log(UNIFORM, **COLUMNS), read_log(THOMPSON, **COLUMNS)
    return {
        "uniform": (evaluate(THOMPSON, "uniform", **COLUMNS, progress=False), uniform.value),
        "thompson": (evaluate(UNIFORM, thompson.shares, **COLUMNS, progress=False), thompson.value),
    }


def branded(brands: int = BRANDS) -> "pyarrow.Table":
    """Both logs together, with a column `brand`: the items in so many groups of about the same size, by their number.

    The data do not say which brand an item is of. These groups stand in for brands; what can be promised depends on how
    many there are rather than on who is in them.

    >>> read_log(branded(), **BRANDED)
    <LogStatistics: 20,000 rows, 4 arms x 3 contexts, 0.00575 per round>
    """
    import pyarrow
    import pyarrow.csv

    brands = whole("brands", brands, 1, ITEMS)
    log = pyarrow.concat_tables([pyarrow.csv.read_csv(file) for file in (UNIFORM, THOMPSON)])
    names = np.array([f"brand {item * brands // ITEMS + 1}" for item in range(ITEMS)])
    return log.append_column("brand", pyarrow.array(names[log["item"].to_numpy()]))


def larger(statistics: LogStatistics, times: int) -> LogStatistics:
    """The statistics of a log with so many times the rows and the same means: what more of the same would tell.

    >>> larger(read_log(UNIFORM, **COLUMNS), 10)
    <LogStatistics: 100,000 rows, 34 arms x 3 contexts, 0.0046 per round>
    """
    times = whole("times", times, 1)
    return replace(
        statistics,
        counts=statistics.counts * times,
        sums=statistics.sums * times,
        squares=statistics.squares * times,
    )
