"""What an advice is made of: numbers with their intervals, plans with what they earn, and these as plain data."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Interval(NamedTuple):
    """A number as the log has it, and the ends of its interval."""

    low: float
    plain: float
    high: float


class Feasibility(NamedTuple):
    """How sure one can be that the floors can be met together, and that they cannot.

    Each is the largest confidence at which the log shows it: 0 where it does not even at a confidence of one half.
    """

    feasible: float
    infeasible: float


class AdvisedPlan(NamedTuple):
    """Shares of each context by arm, with what all earn together and what each arm or group earns."""

    allocation: Floats  # K x C; NaN in contexts of which nothing is known
    value: Interval
    revenue: list[Interval]


class Curve(NamedTuple):
    """What the best plan earns if all floors are multiplied by a number; NaN where they cannot be met."""

    scales: Floats
    low: Floats
    plain: Floats
    high: Floats


def intervals_of(low: Floats, plain: Floats, high: Floats) -> list[Interval]:
    """The intervals of several numbers."""
    return [Interval(*map(float, ends)) for ends in zip(low, plain, high, strict=True)]


def plain_data(value: Any) -> Any:
    """Lists, names and numbers; None for what JSON has no number for."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {key: plain_data(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_data(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
