"""A log, read into statistics."""

import datetime
import decimal
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from arcbandit.errors import InvalidInputError
from arcbandit.inputs.values import checked_names, truth
from arcbandit.logs.aggregation import (
    ARM,
    ROWS,
    STATISTICS,
    Sums,
    aggregate,
    check_progress,
    context_names,
    with_repeats_noticed,
)
from arcbandit.logs.bad_rows import BadRows, find_bad_rows
from arcbandit.logs.columns import Columns, wanted_columns
from arcbandit.logs.sources import OpenLog, opened
from arcbandit.logs.statistics import LogStatistics, joined_names, ordered_names

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_CELLS = 50_000_000  # arms times contexts: of the matrices that hold the statistics


def read_log(
    source: Any,
    *,
    table: str | None = None,
    context: str | Sequence[str] = "context",
    arm: str = "arm",
    reward: str = "reward",
    probability: str | None = None,
    timestamp: str | None = None,
    decision_id: str | None = None,
    skip_bad_rows: bool = False,
    progress: bool | None = None,
) -> LogStatistics:
    """The counts, sums and sums of squares of a log's rewards, by arm and context.

    `source` is the path of a CSV or Parquet file, a folder of such files, a pattern or a sequence of paths; a DuckDB
    database (a .duckdb file or a connection) or the URL of another one, with the `table` of the log unless there is but
    one; an Ibis table of any backend; or a frame of pandas, polars or pyarrow. One query sums up where the log lies.

    The other names are those of columns. Several columns may make up the context. The last three are optional: if none
    is named, the column called `probability`, `timestamp` or `decision_id` is used if there is one.

    Rows without an arm or a context, with a reward that is no finite number, with a probability outside (0, 1], or with
    a decision id that appears more than once are an error that says how many there are and shows some; with
    `skip_bad_rows` they are left out, and kept in `bad_rows`. Of the rows with one decision id the earliest then stays,
    and of copies one; rows that differ and have no times, or the same, are all left out.

    `progress` shows how far a long read is; by default if somebody may be looking.

    >>> import pandas
    >>> log = pandas.DataFrame({"device": ["tv", "tv", "phone"], "film": ["a", "b", "a"], "revenue": [1.0, 0.0, 0.5]})
    >>> statistics = read_log(log, context="device", arm="film", reward="revenue")
    >>> statistics
    <LogStatistics: 3 rows, 2 arms x 2 contexts, 0.5 per round>
    >>> statistics.contexts, statistics.counts.tolist(), statistics.context_probabilities.round(3).tolist()
    (('phone', 'tv'), [[1, 1], [0, 1]], [0.333, 0.667])
    """
    truth("skip_bad_rows", skip_bad_rows)
    wanted = wanted_columns(context, arm, reward, probability, timestamp, decision_id)
    check_progress(progress)
    with opened(source, table) as log:
        columns = wanted.found_in(log.table.columns)
        log = with_repeats_noticed(log, columns, progress=progress)
        summed = sums_by_pair(log, columns, STATISTICS, skip_bad_rows=skip_bad_rows, progress=progress)
    return statistics_of(summed, columns)


class SumsByPair(NamedTuple):
    """Sums of a log as matrices, K x C, by the names of the sums."""

    arms: tuple[str, ...]
    contexts: tuple[str, ...]
    sums: "dict[str, NDArray[Any]]"
    bad_rows: tuple[BadRows, ...]
    source: str


def sums_by_pair(
    log: OpenLog, columns: Columns, sums: Sums, *, skip_bad_rows: bool, progress: bool | None = None
) -> SumsByPair:
    """Sums by arm and context, as matrices; bad rows are refused or left out.

    The sums must include `counts`, that of good rows.
    """
    answers = aggregate(log, columns, sums, progress=progress).to_pydict()
    keys = [answers.pop(name) for name in (*context_names(columns), ARM)]
    every_row = sum(answers.pop(ROWS))
    cells: dict[tuple[tuple[str, ...], str], int] = {}
    totals: dict[str, list[Any]] = {name: [] for name in sums}
    for place, values in enumerate(zip(*keys, strict=True)):
        names = [name_of(value) for value in values]
        if None in names or not answers["counts"][place]:
            continue
        *context, arm = (str(name) for name in names)
        if cells.setdefault((tuple(context), arm), len(cells)) != len(cells) - 1:
            raise InvalidInputError(f"Two arms or contexts of the log must not have the same name, but {names} do.")
        for name in sums:
            totals[name].append(answers[name][place])
    good = sum(totals["counts"])
    bad_rows = find_bad_rows(log, columns) if good < every_row else ()
    if bad_rows and not skip_bad_rows:
        bad = every_row - good
        raise InvalidInputError(
            f"{bad:,} of {every_row:,} rows of {log.name} cannot be used: {'; '.join(map(str, bad_rows))}. "
            "Mend them, or skip bad rows (skip_bad_rows, --skip-bad-rows)."
        )
    if not cells:
        raise InvalidInputError(f"{log.name} must have at least one row that can be used, got {every_row:,} rows.")
    contexts = ordered_names({context for context, _ in cells})
    arms = ordered_names({(arm,) for _, arm in cells})
    if len(arms) * len(contexts) > MOST_CELLS:
        raise InvalidInputError(
            f"The log must have at most {MOST_CELLS:,} pairs of arms and contexts, "
            f"got {len(arms):,} arms in {len(contexts):,} contexts."
        )
    columns_by_name = {name: column for column, name in enumerate(contexts)}
    rows_by_name = {name[0]: row for row, name in enumerate(arms)}
    at = ([rows_by_name[arm] for _, arm in cells], [columns_by_name[context] for context, _ in cells])
    matrices = {name: _matrix(values, at, (len(arms), len(contexts))) for name, values in totals.items()}
    return SumsByPair(
        checked_names("arms of the log", [name for (name,) in arms]),
        checked_names("contexts of the log", joined_names(contexts)),
        matrices,
        bad_rows,
        log.name,
    )


def _matrix(values: list[Any], at: tuple[list[int], list[int]], shape: tuple[int, int]) -> "NDArray[Any]":
    whole = all(isinstance(value, int) for value in values)
    matrix = np.zeros(shape, dtype=np.int64 if whole else np.float64)
    matrix[at] = values
    return matrix


def statistics_of(summed: SumsByPair, columns: Columns) -> LogStatistics:
    """The statistics among the sums of a log."""
    sums, squares = (summed.sums[name].astype(np.float64) for name in ("sums", "squares"))
    if not (np.isfinite(sums).all() and np.isfinite(squares).all()):
        raise InvalidInputError(f"The rewards of {summed.source} must be small enough to be summed up.")
    return LogStatistics(
        arms=summed.arms,
        contexts=summed.contexts,
        counts=summed.sums["counts"],
        sums=sums,
        squares=squares,
        has_probabilities=columns.probability is not None,
        bad_rows=summed.bad_rows,
        source=summed.source,
    )


def name_of(value: Any) -> str | None:
    """The name of an arm or of a part of a context, whatever the type of its column; None if it is missing.

    A whole number is written without a point: where some are missing, pandas makes floats of whole numbers.

    >>> name_of("tv"), name_of(7), name_of(7.0), name_of(True), name_of(" ")
    ('tv', '7', '7', 'true', None)
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, str):
        return value if value.strip() else None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float | decimal.Decimal) and math.isfinite(value) and value == int(value):
        return str(int(value))
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ")
    return str(value)
