"""Which columns of a log hold what."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from arcbandit.errors import InvalidInputError
from arcbandit.inputs.similar import did_you_mean
from arcbandit.inputs.values import checked_name, checked_names, listed


@dataclass(frozen=True)
class Columns:
    """The names of the columns of a log; an optional one is None if the log does not have it."""

    context: tuple[str, ...]
    arm: str
    reward: str
    probability: str | None
    timestamp: str | None
    decision_id: str | None

    @property
    def named(self) -> tuple[str, ...]:
        """All of them, each once."""
        every = (*self.context, self.arm, self.reward, self.probability, self.timestamp, self.decision_id)
        return tuple(dict.fromkeys(name for name in every if name is not None))

    def found_in(self, names: Sequence[str]) -> "Columns":
        """The columns in a table with these names; an optional one that was not named is the one with its own name."""
        for column in self.context:
            _require(column, "context", names)
        for field in ("arm", "reward"):
            _require(getattr(self, field), field, names)
        optional = {field: getattr(self, field) for field in ("probability", "timestamp", "decision_id")}
        for field, column in optional.items():
            if column is None:
                optional[field] = field if field in names else None
            else:
                _require(column, field, names)
        return Columns(self.context, self.arm, self.reward, **optional)


def wanted_columns(
    context: Any = "context",
    arm: Any = "arm",
    reward: Any = "reward",
    probability: Any = None,
    timestamp: Any = None,
    decision_id: Any = None,
) -> Columns:
    """The names that somebody gave, checked before the log is opened."""
    contexts = checked_names("context", [context] if isinstance(context, str) else context)
    if not contexts:
        raise InvalidInputError("context must name at least one column, got none.")
    optional = {"probability": probability, "timestamp": timestamp, "decision_id": decision_id}
    return Columns(
        contexts,
        checked_name("arm", arm),
        checked_name("reward", reward),
        **{field: None if name is None else checked_name(field, name) for field, name in optional.items()},
    )


def _require(column: str, field: str, names: Sequence[str]) -> None:
    if column not in names:
        raise InvalidInputError(
            f"The log has no column {column!r} for {field}{did_you_mean(column, names)}: it has {listed(names)}. "
            f"Name the column that holds the {field}."
        )
