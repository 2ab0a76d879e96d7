"""Bounds on shares and on means that hold together, from counts, sums and sums of squares."""

import functools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcbandit.estimates import student_quantile

Floats = NDArray[np.float64]

HALVINGS = 60  # of an interval, to the last bit of its ends


class Bounds(NamedTuple):
    """The ends of intervals, in arrays of one shape."""

    low: Floats
    high: Floats


def share_bounds(shares: Floats, count: Floats | float, tail: float) -> Bounds:
    """Bounds on the means of variables between 0 and 1 from the mean of `count` of them.

    Each end fails with probability at most `tail`, for every count and every distribution: they are those of Hoeffding
    (`hoeffding1963`, Theorem 1), whose exponent is the relative entropy of two coins. For a share, such as that of rows
    in a context, they are little wider than exact ones.
    """
    allowed = math.log(1.0 / tail) / np.asarray(count, dtype=np.float64)
    shares = np.clip(shares, 0.0, 1.0)
    high = _farthest(shares, allowed)
    low: Floats = 1.0 - _farthest(1.0 - shares, allowed)
    return Bounds(np.clip(low, 0.0, shares), np.clip(high, shares, 1.0))


def _farthest(shares: Floats, allowed: Floats) -> Floats:
    """The largest q with relative entropy of `shares` to q of at most what is allowed, by bisection from above."""
    low, high = shares.copy(), np.ones_like(shares)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        inside = _relative_entropy(shares, middle) <= allowed
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return high


def _relative_entropy(shares: Floats, other: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        ones = np.where(shares > 0.0, shares * np.log(shares / other), 0.0)
        zeros = np.where(shares < 1.0, (1.0 - shares) * np.log((1.0 - shares) / (1.0 - other)), 0.0)
    total: Floats = ones + zeros
    return np.where(np.isnan(total), np.inf, total)


def student_bounds(means: Floats, counts: NDArray[np.int64], variances: Floats, tail: float) -> Bounds:
    """Bounds on the means of normal variables, by Student's t with a degree of freedom less than there are values."""
    quantiles = np.array([_quantile(int(count) - 1, tail) for count in counts.ravel()]).reshape(counts.shape)
    radius = quantiles * np.sqrt(variances / counts)
    return Bounds(means - radius, means + radius)


@functools.lru_cache(maxsize=4096)
def _quantile(degrees: int, tail: float) -> float:
    return student_quantile(degrees, 1.0 - 2.0 * tail)


def product(factors: Bounds, others: Bounds) -> Bounds:
    """Bounds on products of factors that are never negative with others of either sign."""
    low = np.where(others.low >= 0.0, factors.low, factors.high) * others.low
    high = np.where(others.high >= 0.0, factors.high, factors.low) * others.high
    return Bounds(low, high)
