"""How fast a recorded sum grows: over the last decade of rounds, or as a power."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arcbandit.estimates import Estimate, estimate, student_quantile
from arcbandit.simulation.trace import Trace

Floats = NDArray[np.float64]

# Over a decade of T, sqrt(T) grows by this factor.
ROOT_GROWTH = math.sqrt(10.0)
# Halfway, as a factor, between sqrt(T) and log(T)^2, which grows by 1.6 at T = 50,000.
SLOW_GROWTH = 2.25


def late_growth(trace: Trace, metric: str, policy: str) -> float:
    """The factor by which the mean of a sum grows over the last decade of rounds."""
    mean = trace.metric(metric)[policy].mean(axis=0)
    before = float(mean[nearest(trace.rounds, trace.horizon / 10)])
    last = float(mean[-1])
    if before > 0.0:
        return last / before
    return 1.0 if last <= 0.0 else math.inf


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
    text = f"{one.mean:.2f}" if math.isnan(one.half_width) else f"{one.mean:.2f} ± {one.half_width:.2f}"
    return text.replace("-", "−")
