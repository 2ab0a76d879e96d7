"""How fast a recorded sum grows: from decade to decade of rounds, or as a power."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arcbandit.estimates import Estimate, estimate, student_quantile
from arcbandit.simulation.trace import Trace

Floats = NDArray[np.float64]

# Exponents by `decade_exponent` at T = 50,000: 0 for log T, 0.12 for log² T, 0.5 for √T, 0.54 for √(T log T).
BELOW_ROOT = 0.495  # 1/2 but for rounding
NEAR_ROOT = (0.4, 0.6)
# A sum whose last decade adds less than this share of it has stopped growing.
NEGLIGIBLE = 0.002


def at_rounds(trace: Trace, metric: str, policy: str, rounds: ArrayLike) -> Floats:
    """A metric of each epoch at the checkpoints nearest to some rounds, shape (epochs, rounds)."""
    places = [nearest(trace.rounds, wanted) for wanted in np.atleast_1d(np.asarray(rounds, dtype=np.float64))]
    return trace.metric(metric)[policy][:, places]


def decade_exponent(trace: Trace, metric: str, policy: str) -> Estimate:
    """The exponent a of a sum that is T^a plus a constant, by what its last two decades of rounds add.

    It is net of the first hundredth of the rounds. A sum like log T adds as much in every decade: its exponent is 0.
    """
    before, middle, last = at_rounds(trace, metric, policy, trace.horizon / np.array([100.0, 10.0, 1.0])).T
    decades = math.log(trace.horizon / trace.rounds[nearest(trace.rounds, trace.horizon / 10)])
    return ratio_exponent(middle - before, last - middle, decades, float(middle.mean()))


def ratio_exponent(first: Floats, second: Floats, log_factor: float, level: float = 0.0) -> Estimate:
    """log(mean of `second` / mean of `first`) / `log_factor` over paired epochs, with its 95 % interval.

    Minus infinity if the second adds less than NEGLIGIBLE of `level`; NaN if it adds more, but the first nothing.
    """
    low, high = float(first.mean()), float(second.mean())
    if high <= max(NEGLIGIBLE * level, 0.0):
        return Estimate(-math.inf, 0.0)
    if low <= 0.0:
        return Estimate(math.nan, math.nan)
    mean = math.log(high / low) / log_factor
    if len(first) < 2:
        return Estimate(mean, math.nan)
    # The delta method: epochs are independent, but the two numbers of an epoch are not.
    error = float((second / high - first / low).std(ddof=1)) / math.sqrt(len(first))
    return Estimate(mean, student_quantile(len(first) - 1) * error / log_factor)


def mean_exponent(first: Estimate, second: Estimate, factor: float) -> Estimate:
    """The exponent of a mean that grows from `first` to `second` while its argument grows by `factor`."""
    if not (first.mean > 0.0 and second.mean > 0.0):
        return Estimate(math.nan, math.nan)
    # Means over independent runs: their relative errors add up as squares.
    half = math.hypot(first.half_width / first.mean, second.half_width / second.mean)
    return Estimate(math.log(second.mean / first.mean) / math.log(factor), half / math.log(factor))


def slower_than_root(exponent: Estimate) -> bool:
    """Whether √T is excluded: the interval lies below BELOW_ROOT."""
    return high_end(exponent) < BELOW_ROOT


def like_root(exponent: Estimate) -> bool:
    """Whether the interval lies within NEAR_ROOT."""
    return NEAR_ROOT[0] <= low_end(exponent) and high_end(exponent) <= NEAR_ROOT[1]


def low_end(one: Estimate) -> float:
    """The lower end of an interval; the mean if there is none."""
    return one.mean if math.isnan(one.half_width) else one.mean - one.half_width


def high_end(one: Estimate) -> float:
    """The upper end of an interval; the mean if there is none."""
    return one.mean if math.isnan(one.half_width) else one.mean + one.half_width


def late_exponents(trace: Trace, metric: str, policy: str) -> Floats:
    """Each epoch's log-log slope of a sum over the last decade of rounds; NaN if a sum is not positive."""
    late = trace.rounds >= trace.horizon / 10
    values = trace.metric(metric)[policy][:, late]
    slopes = np.full(len(values), math.nan)
    positive = (values > 0).all(axis=1)
    if late.sum() > 1 and positive.any():
        rounds = np.log(trace.rounds[late].astype(np.float64))
        slopes[positive] = np.polyfit(rounds, np.log(values[positive]).T, 1)[0]
    return slopes


def late_exponent(trace: Trace, metric: str, policy: str) -> Estimate:
    """The mean of these slopes with its interval."""
    return estimate(late_exponents(trace, metric, policy))


def fitted_exponent(x: ArrayLike, y: ArrayLike) -> Estimate:
    """The exponent of y as a power of x, by least squares on the logarithms, with its 95 % interval."""
    xs, ys = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if len(xs) < 2 or (xs <= 0).any() or (ys <= 0).any():
        return Estimate(math.nan, math.nan)
    logs = np.log(xs)
    slope, intercept = np.polyfit(logs, np.log(ys), 1)
    if len(xs) < 3:
        return Estimate(float(slope), math.nan)
    residuals = np.log(ys) - slope * logs - intercept
    deviation = math.sqrt(float((residuals**2).sum()) / (len(xs) - 2) / float(((logs - logs.mean()) ** 2).sum()))
    return Estimate(float(slope), student_quantile(len(xs) - 2) * deviation)


def last_mean(trace: Trace, metric: str, policy: str) -> float:
    """The mean over epochs at the horizon."""
    return float(trace.metric(metric)[policy][:, -1].mean())


def nearest(rounds: NDArray[np.int64], wanted: float) -> int:
    """The index of the checkpoint nearest to a round."""
    return int(np.abs(rounds - wanted).argmin())


def power(one: Estimate) -> str:
    """An exponent as text."""
    if one.mean == -math.inf:
        return "0, it stopped growing"
    text = f"{one.mean:.2f}" if math.isnan(one.half_width) else f"{one.mean:.2f} ± {one.half_width:.2f}"
    return text.replace("-", "−")
