"""Means of independent runs, with intervals."""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MANY_DEGREES = 200  # of freedom
# How estimates are written.
NOT_A_NUMBER = "–"
HALF_WIDTH_DIGITS = 2
MEAN_DIGITS = 5
MOST_DECIMALS = 6


@dataclass(frozen=True)
class Estimate:
    """A mean over runs with the half width of its 95 % interval (NaN for a single run)."""

    mean: float
    half_width: float

    def __str__(self) -> str:
        return f"{self.mean:,.1f}" if math.isnan(self.half_width) else f"{self.mean:,.1f} ± {self.half_width:,.1f}"


def estimate(values: Floats) -> Estimate:
    """Mean of independent runs with the half width of its 95 % interval, by Student's t."""
    if values.size < 2:
        return Estimate(float(values.mean()), math.nan)
    deviation = float(values.std(ddof=1)) / math.sqrt(values.size)
    return Estimate(float(values.mean()), student_quantile(values.size - 1) * deviation)


def written(one: Estimate) -> str:
    """A mean and the half width of its interval, to two digits of the latter; five digits if there is no interval."""
    if not math.isfinite(one.mean):
        return NOT_A_NUMBER
    known = math.isfinite(one.half_width) and one.half_width > 0
    leading, digits = (one.half_width, HALF_WIDTH_DIGITS) if known else (abs(one.mean), MEAN_DIGITS)
    decimals = 0 if leading == 0 else min(max(digits - 1 - math.floor(math.log10(leading)), 0), MOST_DECIMALS)
    mean = f"{one.mean:,.{decimals}f}"
    return mean if math.isnan(one.half_width) else f"{mean} ± {one.half_width:,.{decimals}f}"


def student_quantile(degrees: int, coverage: float = 0.95) -> float:
    """t with P(|T| < t) = coverage, by bisection on the finite series for integer degrees of freedom.

    Abramowitz and Stegun, 26.7.3 and 26.7.4; for many degrees the expansion about the normal quantile, 26.7.5, whose
    next term is then below 1e-11.
    """
    if degrees >= MANY_DEGREES:
        return _expanded_quantile(degrees, coverage)
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        angle = (low + high) / 2
        low, high = (angle, high) if _coverage_of_angle(angle, degrees) < coverage else (low, angle)
    return math.sqrt(degrees) * math.tan((low + high) / 2)


def _coverage_of_angle(angle: float, degrees: int) -> float:
    cosine = math.cos(angle)
    term = cosine if degrees % 2 else 1.0
    total = term if degrees > 1 else 0.0
    for step in range(3 if degrees % 2 else 2, degrees - 1, 2):
        term *= cosine * cosine * (step - 1) / step
        total += term
    if degrees % 2:
        return 2.0 / math.pi * (angle + math.sin(angle) * total)
    return math.sin(angle) * total


def _expanded_quantile(degrees: int, coverage: float) -> float:
    x = NormalDist().inv_cdf((1.0 + coverage) / 2.0)
    terms = (
        x,
        (x**3 + x) / 4,
        (5 * x**5 + 16 * x**3 + 3 * x) / 96,
        (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384,
        (79 * x**9 + 776 * x**7 + 1482 * x**5 - 1920 * x**3 - 945 * x) / 92160,
    )
    return math.fsum(term / degrees**power for power, term in enumerate(terms))
