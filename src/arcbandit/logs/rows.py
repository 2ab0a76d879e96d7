"""Rows of a log in memory, for what cannot be said by sums: resampling and replay."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import InvalidInputError
from arcbandit.logs.aggregation import ARM, PROBABILITY, REWARD, context_names, fetch, rows_of
from arcbandit.logs.columns import Columns
from arcbandit.logs.reading import name_of
from arcbandit.logs.sources import OpenLog, import_ibis
from arcbandit.logs.statistics import BETWEEN_PARTS

if TYPE_CHECKING:
    import pyarrow

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

_TIME, _ID, _ROW, _TIMES = "order_time", "order_id", "order_row", "times"


class Rows(NamedTuple):
    """Good rows of a log."""

    arms: Places  # rows of the statistics
    contexts: Places  # columns
    rewards: Floats
    inverse: Floats  # 1 / probability; ones if there is none
    times: Floats  # how often each row is there


def distinct_rows(
    log: OpenLog, columns: Columns, arms: tuple[str, ...], contexts: tuple[str, ...], most: int
) -> Rows | None:
    """Every combination of pair, reward and probability, and how often it is there; None if they are too many.

    They are sorted: a database groups rows in whatever order its threads are done, and what is drawn from them by a
    seed must not depend on that.
    """
    read = rows_of(log, columns)
    keys = [*context_names(columns), ARM, REWARD, *([PROBABILITY] if columns.probability is not None else [])]
    good = read.filter(read[REWARD].notnull())
    found = fetch(log, good.group_by(keys).aggregate(**{_TIMES: good.count()}).limit(most + 1))
    if len(found) > most:
        return None
    rows = _coded(found, columns, arms, contexts)
    order = np.lexsort((rows.inverse, rows.rewards, rows.contexts, rows.arms))
    return Rows(rows.arms[order], rows.contexts[order], rows.rewards[order], rows.inverse[order], rows.times[order])


def rows_in_order(log: OpenLog, columns: Columns, arms: tuple[str, ...], contexts: tuple[str, ...], most: int) -> Rows:
    """The first good rows, by time and decision id where the log has them, otherwise as they lie."""
    others = log.sortable(_TIME, columns.timestamp)
    if log.ordered:
        others[_ROW] = import_ibis().row_number()
    others |= log.sortable(_ID, columns.decision_id)
    if not others:
        raise InvalidInputError(
            f"{log.name} has no order: name the column of times, or that of decision ids, to replay it."
        )
    rows = rows_of(log, columns, **others)
    found = fetch(log, rows.filter(rows[REWARD].notnull()).order_by(list(others)).limit(most))
    return _coded(found, columns, arms, contexts)


def _coded(found: "pyarrow.Table", columns: Columns, arms: tuple[str, ...], contexts: tuple[str, ...]) -> Rows:
    """Names as places; rows whose names are missing are left out, as they are from the statistics."""
    rows = _places(found, [ARM], arms)
    places = _places(found, context_names(columns), contexts)
    known = (rows >= 0) & (places >= 0)
    rewards = found.column(REWARD).to_numpy()[known]
    inverse = np.ones(len(rewards))
    if columns.probability is not None:
        inverse = 1.0 / found.column(PROBABILITY).to_numpy()[known]
    times = found.column(_TIMES).to_numpy()[known] if _TIMES in found.column_names else np.ones(len(rewards))
    return Rows(rows[known], places[known], rewards, inverse, times.astype(np.float64))


def _places(found: "pyarrow.Table", keys: list[str], names: tuple[str, ...]) -> Places:
    """The place of every row's name, made up of the parts in these columns, among the names; -1 if it is missing."""
    place_of = {name: place for place, name in enumerate(names)}
    codes = np.zeros(len(found), dtype=np.int64)
    parts: list[list[str | None]] = []
    for key in keys:
        column = found.column(key)
        if hasattr(column.type, "value_type"):  # a dictionary already, perhaps a different one in each chunk
            column = column.cast(column.type.value_type)
        values = column.unique()
        parts.append([name_of(value) for value in values.to_pylist()])
        own = _index_in(column, values)
        codes = codes * len(values) + own
    unique, inverse = np.unique(codes, return_inverse=True)
    found_at = np.full(len(unique), -1, dtype=np.int64)
    for number, code in enumerate(unique.tolist()):
        name: list[str | None] = []
        for part in reversed(parts):
            code, place = divmod(code, len(part))
            name.append(part[place])
        if None not in name:
            found_at[number] = place_of.get(BETWEEN_PARTS.join(str(part) for part in reversed(name)), -1)
    return found_at[inverse]


def _index_in(column: Any, values: Any) -> Places:
    """The place of each value of a column among its values."""
    import pyarrow.compute

    indices: Places = pyarrow.compute.index_in(column, value_set=values).to_numpy().astype(np.int64)
    return indices
