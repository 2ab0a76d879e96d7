"""What a policy accepts: its dials, and the numbers, names and tables that come in."""

import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arcbandit.errors import InvalidInputError, UnknownNameError


@dataclass(frozen=True)
class Dial:
    """A parameter of a rule, with the values it may take."""

    name: str
    default: float | str
    meaning: str
    low: float = -math.inf
    high: float = math.inf
    exclusive: bool = False
    whole: bool = False
    choices: tuple[str, ...] = ()

    def number(self, value: Any) -> float:
        """The value as the kernels see it, checked."""
        if self.choices:
            if value not in self.choices:
                raise InvalidInputError(f"{self.name} must be one of {', '.join(self.choices)}, got {value!r}.")
            return float(self.choices.index(value))
        number = real(self.name, value)
        if self.whole and not is_whole(value):
            raise InvalidInputError(f"{self.name} must be a whole number, got {value!r}.")
        outside = (number <= self.low or number >= self.high) if self.exclusive else not self.low <= number <= self.high
        if outside:
            between = "strictly between" if self.exclusive else "from"
            joint = "and" if self.exclusive else "to"
            raise InvalidInputError(f"{self.name} must be {between} {self.low:g} {joint} {self.high:g}, got {value!r}.")
        return number


def index_of(kind: str, value: Any, known: Mapping[str, int], named: bool) -> int:
    """The row or column of a name or index; raise UnknownNameError if there is none."""
    if isinstance(value, str):
        if named and value in known:
            return known[value]
    elif is_whole(value) and 0 <= value < len(known):
        return int(value)
    names = f", nor among the names {', '.join(list(known)[:10])}{' ...' if len(known) > 10 else ''}" if named else ""
    raise UnknownNameError(f"There is no {kind} {value!r}: it is not an index from 0 to {len(known) - 1}{names}.")


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number, and not a boolean."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def real(name: str, value: Any) -> float:
    """A finite number."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise InvalidInputError(f"{name} must be a number, got {value!r}.")
    number = float(value)
    if not math.isfinite(number):
        raise InvalidInputError(f"{name} must be finite, got {value!r}.")
    return number


def positive(name: str, value: Any) -> float:
    """A finite number above zero."""
    number = real(name, value)
    if number <= 0.0:
        raise InvalidInputError(f"{name} must be positive, got {value!r}.")
    return number


def floor_amount(name: str, value: Any) -> float:
    """A finite number of at least zero."""
    number = real(name, value)
    if number < 0.0:
        raise InvalidInputError(f"{name} must be non-negative, got {value!r}.")
    return number


def whole(name: str, value: Any, least: int) -> int:
    """A whole number of at least `least` that fits 64 bits."""
    if not is_whole(value) or not least <= value < 2**63:
        raise InvalidInputError(f"{name} must be a whole number from {least} to below 2**63, got {value!r}.")
    return int(value)


def bounds_of_rewards(bounds: Any) -> tuple[float, float] | None:
    """A pair (low, high), or None."""
    if bounds is None:
        return None
    if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
        raise InvalidInputError(f"reward_bounds must be a pair (low, high), got {bounds!r}.")
    low, high = real("reward_bounds[0]", bounds[0]), real("reward_bounds[1]", bounds[1])
    if not low < high:
        raise InvalidInputError(f"reward_bounds must be increasing, got {bounds!r}.")
    return low, high


def even_probabilities(contexts: Sequence[str] | int | None) -> tuple[NDArray[np.float64], Sequence[str] | None]:
    """Equal probabilities for contexts that are only named or counted, and their names."""
    if contexts is None:
        raise InvalidInputError("contexts must be given (names, or how many) where context_probabilities are not.")
    count = whole("contexts", contexts, 1) if not isinstance(contexts, Sequence) else len(contexts)
    if count == 0:
        raise InvalidInputError("contexts must hold at least one context, got none.")
    return np.full(count, 1.0 / count), contexts if isinstance(contexts, Sequence) else None


def availability(available: ArrayLike | None, shape: tuple[int, int]) -> NDArray[np.bool_]:
    """Which arms may be played in which contexts, at least one in each."""
    if available is None:
        return np.ones(shape, dtype=np.bool_)
    array = np.array(available, order="C")
    if array.dtype != np.bool_ or array.shape != shape:
        raise InvalidInputError(f"available must be booleans of shape {shape}, got {array.dtype} of {array.shape}.")
    empty = np.flatnonzero(~array.any(axis=0))
    if empty.size:
        raise InvalidInputError(f"available must leave each context an arm, but context {empty[0]} has none.")
    return array
