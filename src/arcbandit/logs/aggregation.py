"""One query that reduces a log to sums per arm and context, asked where the log lies."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from arcbandit.errors import InvalidInputError
from arcbandit.inputs.values import LARGEST_NUMBER, truth
from arcbandit.logs.columns import Columns
from arcbandit.logs.repeats import (
    REPEATED,
    columns_to_compare,
    distinct_numbers,
    fit_into_bits,
    marked,
    range_of_numbers,
    repeated_ids,
)
from arcbandit.logs.sources import OpenLog, first_line, import_ibis
from arcbandit.notes import SECONDS_BEFORE_PROGRESS, ProgressLine, is_watched, tell

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow

# A column of ids taken for arms must end with an error, not with a full memory.
MOST_PAIRS = 10_000_000
SECONDS_BETWEEN_LOOKS = 0.1
ROWS_OF_A_LOOK = 100

ARM, REWARD, PROBABILITY = "arm", "reward", "probability"
ROWS = "rows"
Sums = Mapping[str, Callable[["ir.Table"], Any]]

# Of rows whose reward and probability are good; the other rewards are null, which sums leave out.
STATISTICS: Sums = {
    "counts": lambda rows: rows[REWARD].count(),
    "sums": lambda rows: rows[REWARD].sum(),
    "squares": lambda rows: (rows[REWARD] * rows[REWARD]).sum(),
}


def context_names(columns: Columns) -> list[str]:
    """The columns of a context as queries call them, whatever the log does."""
    return [f"context_{place}" for place in range(len(columns.context))]


def renamed(log: OpenLog, columns: Columns, **others: Any) -> "ir.Table":
    """The rows with names of our own: the parts of the context, the arm, the reward, the probability if there is one.

    Rewards and probabilities are floats. `others` are further columns. In a log whose decision ids repeat, `REPEATED`
    says which rows are left out for it.
    """
    table = log.table
    keys = {own: table[name] for own, name in zip(context_names(columns), columns.context, strict=True)}
    keys[ARM] = table[columns.arm]
    for own, name in zip(keys, (*columns.context, columns.arm), strict=True):
        if not _can_be_a_name(keys[own].type()):
            field = own.partition("_")[0]
            raise InvalidInputError(f"{field} must be a column of names, but {name!r} has the type {keys[own].type()}.")
    numbers = {REWARD: as_number(log, REWARD, columns.reward)}
    if columns.probability is not None:
        numbers[PROBABILITY] = as_number(log, PROBABILITY, columns.probability)
    if not log.repeats or columns.decision_id is None:
        return table.select(**keys, **numbers, **others)
    others |= columns_to_compare(log, columns.decision_id, columns.timestamp)
    rows = table.select(**keys, **numbers, **others)
    good = _is_good(rows, columns)
    for key in keys:
        good = good & ~is_missing(rows[key])
    return marked(rows, [*keys, *numbers], good)


def rows_of(log: OpenLog, columns: Columns, **others: Any) -> "ir.Table":
    """The rows, renamed; a reward is null if it is no finite number, or if its probability is not from (0, 1].

    So is that of a row which is left out because another one has its decision id.
    """
    rows = renamed(log, columns, **others)
    good = _is_good(rows, columns)
    if REPEATED in rows.columns:
        good = good & ~rows[REPEATED]
    return rows.mutate(**{REWARD: import_ibis().cases((good, rows[REWARD]))})


def as_number(log: OpenLog, field: str, name: str) -> Any:
    """A column as floats; text that is no number is null."""
    column = log.table[name]
    kind = column.type()
    if kind.is_numeric() or kind.is_boolean():
        return column.cast("float64")
    if kind.is_string() and log.in_duckdb:
        # DuckDB 2 moves a bare try_cast into its reader of CSV, where it fails instead of giving null.
        return column.strip().try_cast("float64")
    raise InvalidInputError(f"{field} must be a column of numbers, but {name!r} has the type {kind}.")


def is_good_reward(rows: "ir.Table") -> Any:
    """Whether a reward is a number that can be computed with; false for NaN in databases of every kind."""
    return rows[REWARD].abs() <= LARGEST_NUMBER


def is_good_probability(rows: "ir.Table") -> Any:
    """Whether a probability is above 0 and at most 1."""
    return (rows[PROBABILITY] > 0.0) & (rows[PROBABILITY] <= 1.0)


def is_missing(key: Any) -> Any:
    """Whether a name is missing: null, blank or not a number."""
    kind = key.type()
    if kind.is_string():
        return key.isnull() | (key.strip() == "")
    return key.isnull() | key.isnan() if kind.is_floating() else key.isnull()


def _is_good(rows: "ir.Table", columns: Columns) -> Any:
    good = is_good_reward(rows)
    return good if columns.probability is None else good & is_good_probability(rows)


def _can_be_a_name(kind: Any) -> bool:
    simple = (kind.is_string(), kind.is_numeric(), kind.is_boolean(), kind.is_temporal(), kind.is_uuid())
    return any(simple)


def aggregate(log: OpenLog, columns: Columns, sums: Sums = STATISTICS, *, progress: bool | None) -> "pyarrow.Table":
    """One row per context and arm: its keys, how many `rows` it has, and the sums."""
    rows = rows_of(log, columns)
    keys = [*context_names(columns), ARM]
    made = {name: make(rows) for name, make in sums.items()}
    query = rows.group_by(keys).aggregate(**{ROWS: rows.count()}, **made).limit(MOST_PAIRS + 1)
    found = fetch(log, query, progress=progress)
    if len(found) > MOST_PAIRS:
        raise InvalidInputError(
            f"The log must have at most {MOST_PAIRS:,} pairs of arm and context, got more: "
            f"is {columns.arm!r} the column of arms, and {', '.join(map(repr, columns.context))} that of contexts?"
        )
    return found


def with_repeats_noticed(log: OpenLog, columns: Columns, *, progress: bool | None) -> OpenLog:
    """The log, marked if some decision id appears more than once in it."""
    if columns.decision_id is None:
        return log
    if log.in_duckdb and _are_surely_different(log, columns.decision_id, progress=progress):
        return log
    found = fetch(log, repeated_ids(log.table, columns.decision_id), progress=progress)
    return replace(log, repeats=len(found) > 0)


def _are_surely_different(log: OpenLog, name: str, *, progress: bool | None) -> bool:
    """Whether a quick look shows that no decision id appears more than once; otherwise it takes a thorough one."""
    kind = log.table[name].type()
    if not (kind.is_integer() or kind.is_string()):
        return False
    few = range_of_numbers(log.table.limit(ROWS_OF_A_LOOK), name)
    for query in (few, range_of_numbers(log.table, name)):
        [found] = fetch(log, query, progress=progress).to_pylist()
        if found["numbers"] < found["ids"]:
            return False
    if not fit_into_bits(found):
        return bool(found["ids"] == 0)
    [counted] = fetch(log, distinct_numbers(log.table, name, found), progress=progress).to_pylist()
    return bool(counted["different"] == found["ids"])


def check_progress(progress: Any) -> None:
    """Refuse what is neither None nor a truth."""
    if progress is not None:
        truth("progress", progress)


def fetch(log: OpenLog, query: Any, *, progress: bool | None = False) -> "pyarrow.Table":
    """The answer to a query; `progress` is None to show it only to somebody who is looking."""
    shown = is_watched() if progress is None else progress
    after = 0.0 if progress else SECONDS_BEFORE_PROGRESS

    def ask() -> "pyarrow.Table":
        return log.backend.to_pyarrow(query)

    try:
        if not shown:
            return ask()
        if log.in_duckdb and log.size is not None:
            return _watched(ask, log, after)
        told = threading.Timer(after, tell, (f"{log.backend.name} is reading {log.name}",))
        told.daemon = True
        told.start()
        try:
            return ask()
        finally:
            told.cancel()
    except InvalidInputError:
        raise
    except Exception as error:  # every database has errors of its own
        raise InvalidInputError(f"{log.name} cannot be read: {first_line(error)}") from error


def _watched(ask: "Callable[[], pyarrow.Table]", log: OpenLog, after: float) -> "pyarrow.Table":
    """Ask in a second thread while this one shows how far DuckDB is."""
    assert log.size is not None
    connection, (total, unit) = log.backend.con, log.size
    answer: list[Any] = []
    failure: list[BaseException] = []

    def work() -> None:
        try:
            answer.append(ask())
        except BaseException as error:  # noqa: BLE001, raised again below
            failure.append(error)

    worker = threading.Thread(target=work, daemon=True)
    done = 0
    with ProgressLine(max(total, 1), f"{unit} of the log", after=after) as line:
        worker.start()
        try:
            while worker.is_alive():
                worker.join(SECONDS_BETWEEN_LOOKS)
                share = min(max(float(connection.query_progress()), 0.0), 100.0) / 100.0  # -1 if it cannot tell
                reached = max(int(share * total), done)
                line(reached - done)
                done = reached
        except BaseException:
            connection.interrupt()
            worker.join()
            raise
    if failure:
        raise failure[0]
    return answer[0]
