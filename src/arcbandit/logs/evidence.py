"""What a log leaves possible: bounds on the mean reward of each pair and on the share of each context."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import InvalidInputError
from arcbandit.inputs.values import amount, items, shown
from arcbandit.logs.confidence import Bounds, product, share_bounds, student_bounds
from arcbandit.logs.programs import Worlds
from arcbandit.logs.statistics import LogStatistics

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

ROUNDING = 1e-9  # relative, of sums that are compared with bounds of rewards
ZERO_ONE = (0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Evidence:
    """A log's statistics with what is assumed of its rewards; see `advise` for the rule."""

    statistics: LogStatistics
    reward_bounds: tuple[float, float] | None  # None if rewards are taken as normal
    least_rows: int

    @classmethod
    def of(cls, statistics: LogStatistics, reward_bounds: Any, least_rows: int) -> "Evidence":
        """Check the bounds of rewards; those of a log of zeros and ones are known."""
        bounds = ZERO_ONE if reward_bounds is None and only_zeros_and_ones(statistics) else _bounds(reward_bounds)
        evidence = cls(statistics, bounds, least_rows)
        if bounds is not None:
            evidence._check_bounds(*bounds)
        if not evidence.known.any():
            most = int(statistics.counts.max())
            raise InvalidInputError(
                f"The log must have at least {least_rows} rewards of some arm in some context (least_rows), "
                f"got at most {most}."
            )
        return evidence

    @property
    def known(self) -> Flags:
        """Which pairs have enough rewards to be planned with, K x C."""
        return np.asarray(self.statistics.counts >= self.least_rows)

    @property
    def statements(self) -> int:
        """How many intervals must hold at once: of the mix, of known pairs, of each arm's share of rounds and mean."""
        return len(self.statistics.contexts) + int(self.known.sum()) + 2 * len(self.statistics.arms)

    def tail(self, delta: float) -> float:
        """With what probability each end of each interval may fail."""
        return delta / (2 * self.statements)

    def mix(self, delta: float) -> Bounds:
        """Bounds on the share of each context, shape (C,)."""
        log = self.statistics
        return share_bounds(log.context_probabilities, log.rows, self.tail(delta))

    def earned(self, delta: float) -> Bounds:
        """Bounds on what each arm earns per round as the log chose it, shape (K,); NaN with fewer than enough rows."""
        log = self.statistics
        counts = log.counts.sum(axis=1)
        enough = counts >= self.least_rows
        played = share_bounds(counts / log.rows, log.rows, self.tail(delta))
        means = self._means(
            np.where(enough, counts, 2), log.sums.sum(axis=1), log.squares.sum(axis=1), self.tail(delta)
        )
        both = product(played, means)
        return Bounds(np.where(enough, both.low, math.nan), np.where(enough, both.high, math.nan))

    def means(self, delta: float) -> Bounds:
        """Bounds on the mean reward of each pair, K x C; NaN for those that are not known."""
        log, known = self.statistics, self.known
        found = self._means(np.where(known, log.counts, 2), log.sums, log.squares, self.tail(delta))
        return Bounds(np.where(known, found.low, math.nan), np.where(known, found.high, math.nan))

    def worlds(self, delta: float) -> Worlds:
        """What the log leaves possible; pairs that are not known earn nothing."""
        log, known, found = self.statistics, self.known, self.means(delta)
        means = Bounds(np.where(known, found.low, 0.0), np.where(known, found.high, 0.0))
        return Worlds(means, np.where(known, log.means, 0.0), self.mix(delta), log.context_probabilities)

    def _means(self, counts: NDArray[np.int64], sums: Floats, squares: Floats, tail: float) -> Bounds:
        means = sums / counts
        if self.reward_bounds is not None:
            least, most = self.reward_bounds
            scaled = share_bounds((means - least) / (most - least), counts.astype(np.float64), tail)
            return Bounds(least + (most - least) * scaled.low, least + (most - least) * scaled.high)
        own = np.maximum(squares - sums * means, 0.0) / (counts - 1)
        pooled = self.statistics.noise_scale**2
        return student_bounds(means, counts, np.maximum(own, pooled), tail)

    def _check_bounds(self, least: float, most: float) -> None:
        """Refuse bounds that some reward breaks, as far as sums and squares can tell."""
        log = self.statistics
        size = log.counts * max(abs(least), abs(most)) ** 2
        inside = (least + most) * log.sums - log.squares - log.counts * least * most
        if bool((inside < -ROUNDING * size).any()):
            arm, context = (int(place) for place in np.argwhere(inside < -ROUNDING * size)[0])
            raise InvalidInputError(
                f"reward_bounds must hold every reward, but {least:g} to {most:g} does not hold those of "
                f"{log.arms[arm]!r} in {log.contexts[context]!r}."
            )


def only_zeros_and_ones(statistics: LogStatistics) -> bool:
    """Whether every reward is 0 or 1: no other whole numbers have sums that are those of their squares."""
    sums = statistics.sums
    return bool((sums == statistics.squares).all() and (sums == np.round(sums)).all())


def _bounds(given: Any) -> tuple[float, float] | None:
    if given is None:
        return None
    ends = items("reward_bounds", given, "two numbers")
    if len(ends) != 2:
        raise InvalidInputError(f"reward_bounds must be two numbers, the least and the largest, got {shown(given)}.")
    least, most = (amount("reward_bounds", end) for end in ends)
    if not least < most:
        raise InvalidInputError(f"reward_bounds must be the least and the largest reward, got {shown(given)}.")
    return least, most
