"""Rows of a log that cannot be used: how many, why, and which."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from arcbandit.inputs.values import shown
from arcbandit.logs.aggregation import (
    ARM,
    context_names,
    fetch,
    is_good_probability,
    is_good_reward,
    is_missing,
    renamed,
)
from arcbandit.logs.columns import Columns
from arcbandit.logs.repeats import REPEATED
from arcbandit.logs.sources import OpenLog, import_ibis

if TYPE_CHECKING:
    import ibis.expr.types as ir

EXAMPLES = 3
_ROW, _PROBLEM, _COUNT, _SHOWN = "row_number", "problem", "row_count", "shown_"


@dataclass(frozen=True)
class BadRows:
    """Rows of a log with the same problem; a row that has several counts once, for the first of them.

    >>> import pandas
    >>> from arcbandit import read_log
    >>> log = pandas.DataFrame({"context": ["tv"] * 3, "arm": ["a", "b", None], "reward": [1.0, 0.5, 0.0]})
    >>> [bad] = read_log(log, skip_bad_rows=True).bad_rows
    >>> print(bad)
    no arm in 1 row, such as row 3, context 'tv', arm None, reward 0.0
    """

    problem: str  # such as "no arm"
    count: int
    examples: tuple[dict[str, Any], ...]  # the first few, by column; "row" counts from 1, where rows have an order

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON.

        >>> BadRows("no arm", 1, ({"row": 3, "arm": None},)).to_dict()
        {'problem': 'no arm', 'count': 1, 'examples': [{'row': 3, 'arm': None}]}
        """
        return {"problem": self.problem, "count": self.count, "examples": [_plain(row) for row in self.examples]}

    def __str__(self) -> str:
        rows = "1 row" if self.count == 1 else f"{self.count:,} rows"
        return f"{self.problem} in {rows}, such as {_described(self.examples[0])}" if self.examples else rows


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value if value is None or name == "row" else str(value) for name, value in row.items()}


def _described(row: dict[str, Any]) -> str:
    return ", ".join(f"{name} {shown(value)}" for name, value in row.items())


def find_bad_rows(log: OpenLog, columns: Columns) -> tuple[BadRows, ...]:
    """What is wrong with rows of the log, the most frequent problem first."""
    rows = _with_problem(log, columns)
    bad = rows.filter(rows[_PROBLEM].notnull())
    counts = fetch(log, bad.group_by(_PROBLEM).aggregate(**{_COUNT: bad.count()})).to_pylist()
    found = []
    for one in sorted(counts, key=lambda row: (-row[_COUNT], row[_PROBLEM])):
        first = bad.filter(bad[_PROBLEM] == one[_PROBLEM])
        if log.ordered:
            first = first.order_by(_ROW)
        examples = fetch(log, first.limit(EXAMPLES)).to_pylist()
        found.append(BadRows(one[_PROBLEM], one[_COUNT], tuple(_example(row, columns) for row in examples)))
    return tuple(found)


def _with_problem(log: OpenLog, columns: Columns) -> "ir.Table":
    """The rows with what is wrong with each, its columns as they are, and its number if it has one."""
    ibis = import_ibis()
    others = {f"{_SHOWN}{place}": log.table[name] for place, name in enumerate(columns.named)}
    if log.ordered:
        others[_ROW] = ibis.row_number()
    rows = renamed(log, columns, **others)
    problems = [(is_missing(rows[ARM]), "no arm")]
    for own, name in zip(context_names(columns), columns.context, strict=True):
        problem = "no context" if len(columns.context) == 1 else f"no context ({name})"
        problems.append((is_missing(rows[own]), problem))
    problems.append((_is_not(is_good_reward(rows)), "a reward that is no finite number"))
    if columns.probability is not None:
        problems.append((_is_not(is_good_probability(rows)), "a probability that is not above 0 and at most 1"))
    if REPEATED in rows.columns:
        problems.append((rows[REPEATED], "a decision id that appears more than once"))
    return rows.mutate(**{_PROBLEM: ibis.cases(*problems)})


def _is_not(good: Any) -> Any:
    """Whether something is not so, or not known to be so."""
    return ~good.fill_null(False)


def _example(row: dict[str, Any], columns: Columns) -> dict[str, Any]:
    number = {"row": row[_ROW] + 1} if _ROW in row else {}
    return number | {name: row[f"{_SHOWN}{place}"] for place, name in enumerate(columns.named)}
