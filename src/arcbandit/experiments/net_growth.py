"""How a sum grows over the last decades of rounds, net of the rounds before them; how many runs grow like a line."""

import math
from dataclasses import dataclass

import numpy as np

from arcbandit.estimates import Estimate, estimate
from arcbandit.experiments.growth import Floats, nearest, ratio_exponent
from arcbandit.experiments.shares import wilson
from arcbandit.simulation.trace import Trace


def gained(trace: Trace, metric: str, policy: str, decade: int = 1) -> Floats:
    """By how much a sum grows over the last decade of rounds, or over one before it, in each epoch."""
    values = trace.metric(metric)[policy]
    ends = [nearest(trace.rounds, trace.horizon / 10**power) for power in (decade, decade - 1)]
    found: Floats = values[:, ends[1]] - values[:, ends[0]]
    return found


def net_exponent(trace: Trace, metric: str, policy: str) -> Estimate:
    """The exponent of T that the last two decades have, by what was gained in each, with its 95 % interval.

    A power T^a gains 10^a times as much in a decade as in the one before, whatever the first rounds cost; a logarithm
    gains as much, so that its exponent is 0. The interval is by the delta method for a ratio of means. Minus infinity
    if nothing was gained in the last decade; NaN if nothing was in the one before.
    """
    late, early = gained(trace, metric, policy), gained(trace, metric, policy, 2)
    if early.mean() <= 0.0:
        return Estimate(math.nan, math.nan)
    return ratio_exponent(early, late, math.log(10.0))


def within(one: Estimate, low: float, high: float) -> bool:
    """Whether an estimate with its whole interval lies between two limits; never, if it has no interval."""
    return low <= one.mean - one.half_width and one.mean + one.half_width <= high


def gain(trace: Trace, metric: str, policy: str) -> Estimate:
    """The mean of what is gained over the last decade."""
    return estimate(gained(trace, metric, policy))


def late_slopes(trace: Trace, policy: str) -> Floats:
    """What each run loses per round in its second half, by its regret."""
    regret = trace.regret[policy]
    half = nearest(trace.rounds, trace.horizon // 2)
    found: Floats = (regret[:, -1] - regret[:, half]) / max(trace.horizon - int(trace.rounds[half]), 1)
    return found


@dataclass(frozen=True)
class Share:
    """How many of some runs, with Wilson's 95 % interval of their share."""

    count: int
    runs: int

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval."""
        return wilson(self.count, self.runs)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.count} of {self.runs:,} ({low:.1%} to {high:.1%})"


def linear_runs(trace: Trace, policy: str, slope: float) -> Share:
    """How many runs lose more than `slope` per round in their second half."""
    slopes = late_slopes(trace, policy)
    return Share(int(np.count_nonzero(slopes > slope)), len(slopes))
