"""Which columns of a log hold what."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from arcbandit.errors import InvalidInputError
from arcbandit.inputs.similar import did_you_mean
from arcbandit.inputs.values import checked_name, checked_names, listed

OPTIONAL = ("probability", "timestamp", "decision_id")


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


def columns_of(
    names: Sequence[str],
    *,
    context: Any = "context",
    arm: Any = "arm",
    reward: Any = "reward",
    probability: Any = None,
    timestamp: Any = None,
    decision_id: Any = None,
) -> Columns:
    """The columns of a log whose table has these names.

    An optional column that is not named is the one with its own name, if the table has it.
    """
    optional = {"probability": probability, "timestamp": timestamp, "decision_id": decision_id}
    return Columns(
        context=tuple(_existing("context", name, names) for name in _contexts(context)),
        arm=_existing("arm", arm, names),
        reward=_existing("reward", reward, names),
        **{field: _optional(field, name, names) for field, name in optional.items()},
    )


def _contexts(context: Any) -> tuple[str, ...]:
    given = checked_names("context", [context] if isinstance(context, str) else context)
    if not given:
        raise InvalidInputError("context must name at least one column, got none.")
    return given


def _existing(field: str, name: Any, names: Sequence[str]) -> str:
    column = checked_name(field, name)
    if column not in names:
        raise InvalidInputError(
            f"The log has no column {column!r} for {field}{did_you_mean(column, names)}: it has {listed(names)}. "
            f"Name the column that holds the {field}."
        )
    return column


def _optional(field: str, name: Any, names: Sequence[str]) -> str | None:
    if name is None:
        return field if field in names else None
    return _existing(field, name, names)
