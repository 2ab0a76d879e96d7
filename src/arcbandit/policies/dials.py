"""What a policy accepts besides a problem: its dials, bounds of rewards, and contexts without probabilities."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import InvalidInputError
from arcbandit.inputs.similar import did_you_mean
from arcbandit.inputs.values import amount, checked_names, is_count, is_whole, real, shown, whole

LARGEST_DIAL = 1e50  # dials multiply rewards and each other
MOST_CONTEXTS = 2**20  # given as a number, so that a typing error does not fill the memory


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
    since: int = 1  # the version of a snapshot's configuration that has it first
    before: float | str | None = None  # what the rule did until then

    def number(self, value: Any) -> float:
        """The value as the kernels see it, checked: an index of the choices, or a number, whole if it must be."""
        if self.choices:
            if not isinstance(value, str) or value not in self.choices:
                hint = did_you_mean(value, self.choices)
                raise InvalidInputError(
                    f"{self.name} must be one of {', '.join(self.choices)}, got {shown(value)}{hint}."
                )
            return self.choices.index(value)
        number = real(self.name, value)
        if abs(number) > LARGEST_DIAL:
            raise InvalidInputError(f"{self.name} must be within {LARGEST_DIAL:g} of zero, got {shown(value)}.")
        if self.whole and not is_count(value):
            raise InvalidInputError(f"{self.name} must be a whole number, got {shown(value)}.")
        outside = (number <= self.low or number >= self.high) if self.exclusive else not self.low <= number <= self.high
        if outside:
            between = "strictly between" if self.exclusive else "from"
            joint = "and" if self.exclusive else "to"
            raise InvalidInputError(
                f"{self.name} must be {between} {self.low:g} {joint} {self.high:g}, got {shown(value)}."
            )
        return int(number) if self.whole else number

    def plain(self, value: Any) -> float | str:
        """The value as snapshots hold it, checked: a string, an int or a float."""
        number = self.number(value)
        if self.choices:
            return str(value)
        return int(value) if is_whole(value) or self.whole else number


def bounds_of_rewards(bounds: Any) -> tuple[float, float] | None:
    """A pair (low, high), or None."""
    if bounds is None:
        return None
    if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
        raise InvalidInputError(f"reward_bounds must be a pair (low, high), got {shown(bounds)}.")
    low, high = amount("reward_bounds[0]", bounds[0]), amount("reward_bounds[1]", bounds[1])
    if not low < high:
        raise InvalidInputError(f"reward_bounds must be increasing, got {shown(bounds)}.")
    return low, high


def even_probabilities(contexts: Any) -> tuple[NDArray[np.float64], Sequence[str] | None]:
    """Equal probabilities for contexts given by names or by their number, and the names."""
    if contexts is None:
        raise InvalidInputError("contexts must be given (names, or how many) if context_probabilities are not.")
    named = None if is_count(contexts) else checked_names("contexts", contexts)
    count = whole("contexts", contexts, 1, MOST_CONTEXTS) if named is None else len(named)
    if count == 0:
        raise InvalidInputError("contexts must hold at least one context, got none.")
    return np.full(count, 1.0 / count), named
