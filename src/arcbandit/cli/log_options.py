"""What every verb that reads a log can be told: where its columns are, and which floors are meant."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from arcbandit.errors import InvalidInputError

if TYPE_CHECKING:
    from arcbandit.floors import GroupFloor
    from arcbandit.logs.statistics import LogStatistics

LOG_HELP = (
    "A CSV, Parquet or NDJSON file, a folder of such files, a DuckDB database, or the URL of a database, such as "
    "postgresql://host/shop."
)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class LogOptions:
    """The columns of a log, and what to do about bad rows."""

    table: Annotated[
        str | None, Parameter(show_default=False, help="The table of the log, in a database that has several.")
    ] = None
    context: Annotated[
        list[str] | None,
        Parameter(
            negative=(),
            show_default=False,
            help="The column of contexts, by default `context`; repeat it if several columns make up the context.",
        ),
    ] = None
    arm: Annotated[str, Parameter(help="The column of arms.")] = "arm"
    reward: Annotated[str, Parameter(help="The column of rewards.")] = "reward"
    probability: Annotated[
        str | None,
        Parameter(
            show_default=False,
            help="The column of the probabilities with which arms were chosen, by default `probability` if there is "
            "one.",
        ),
    ] = None
    timestamp: Annotated[
        str | None,
        Parameter(show_default=False, help="The column of times, by default `timestamp` if there is one."),
    ] = None
    decision_id: Annotated[
        str | None,
        Parameter(show_default=False, help="The column of decision ids, by default `decision_id` if there is one."),
    ] = None
    skip_bad_rows: Annotated[
        bool,
        Parameter(
            negative=(),
            show_default=False,
            help="Leave out rows without an arm or a context, with a reward that is no number, with a probability "
            "outside (0, 1], or with the decision id of an earlier row; otherwise they are an error.",
        ),
    ] = False

    def arguments(self) -> dict[str, Any]:
        """The arguments of `read_log` and its like."""
        return {
            "table": self.table,
            "context": self.context or "context",
            "arm": self.arm,
            "reward": self.reward,
            "probability": self.probability,
            "timestamp": self.timestamp,
            "decision_id": self.decision_id,
            "skip_bad_rows": self.skip_bad_rows,
        }


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class FloorOptions:
    """The floors of a log's arms."""

    floor: Annotated[
        list[str] | None,
        Parameter(negative=(), show_default=False, help="The floor of an arm, as ARM=VALUE; repeat it for each arm."),
    ] = None
    floors: Annotated[
        str | None,
        Parameter(
            show_default=False,
            help="A .toml or .json file of floors: a table `revenue_floors` by arm and, as in an instance file, a list "
            "`group_floors`. Arms that are not named have no floor.",
        ),
    ] = None

    def read(self) -> "tuple[dict[str, float], list[GroupFloor]]":
        """Floors by arm, and of groups; `--floor` goes before `--floors`."""
        by_arm, groups = ({}, []) if self.floors is None else _floors_of_file(self.floors)
        told: dict[str, float] = {}
        for text in self.floor or ():
            # An arm may have = in its name, a number has not.
            arm, equals, value = text.rpartition("=")
            if not equals or not arm or arm in told:
                raise InvalidInputError(f"--floor must be given once per arm, as ARM=VALUE, got {text!r}.")
            try:
                told[arm] = float(value)
            except ValueError:
                raise InvalidInputError(f"--floor of {arm!r} must be a number, got {value!r}.") from None
        return by_arm | told, groups


NO_LOG_OPTIONS = LogOptions()
NO_FLOOR_OPTIONS = FloorOptions()


def _floors_of_file(path: str) -> "tuple[dict[str, float], list[GroupFloor]]":
    from pathlib import Path

    from arcbandit.instance.files import read_instance_file

    if Path(path).suffix.lower() not in (".toml", ".json"):
        raise InvalidInputError(f"--floors must name a .toml or .json file, got {path!r}.")
    return read_instance_file(path, _floors)


def _floors(data: Any) -> "tuple[dict[str, float], list[GroupFloor]]":
    from arcbandit.floors import GroupFloor
    from arcbandit.inputs.values import fields, items, non_negative

    given = fields("a file of floors", data, ("revenue_floors",), ("group_floors",))
    amounts = given["revenue_floors"]
    if not isinstance(amounts, dict):
        raise InvalidInputError("revenue_floors must be a table of floors by arm.")
    by_arm = {arm: non_negative(f"revenue_floors of {arm!r}", floor) for arm, floor in amounts.items()}
    groups = []
    for group in items("group_floors", given.get("group_floors", []), "group floors"):
        parts = fields("a group floor", group, ("name", "arms", "floor"))
        groups.append(GroupFloor(parts["name"], tuple(items("arms", parts["arms"], "arms")), parts["floor"]))
    return by_arm, groups


def skipped_rows(statistics: "LogStatistics") -> list[str]:
    """What a terminal says of rows that were left out."""
    return [f"Left out: {bad}." for bad in statistics.bad_rows]
