"""What a plan would have earned, from sums of a log: four estimators with their standard errors.

u is 1 / probability and w the share that the plan gives to a pair. Each estimate is a mean over rows, whose variance
follows from the influence of each row; the plan is the same in all rows of a pair, so sums by pair have all of it.
Keys are those of docs/references.bib: inverse propensity scores (horvitz1952), normalised by the sum of the weights
(swaminathan2015), the direct method and the doubly robust one (dudik2011).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEAST_OTHERS = 0.5  # of a model, without the reward itself: a single row cannot be told from its pair

DIRECT, INVERSE, NORMALISED, ROBUST = "dm", "ips", "snips", "dr"


class PairSums(NamedTuple):
    """Sums over the rows of each pair, K x C each."""

    counts: Floats
    sums: Floats  # of r
    squares: Floats  # of r^2
    inverse: Floats  # of u
    inverse_squares: Floats  # of u^2
    weighted: Floats  # of u r
    weighted_inverse: Floats  # of u^2 r
    weighted_squares: Floats  # of u^2 r^2
    largest: Floats  # the largest u

    @property
    def rows(self) -> float:
        """n."""
        return float(self.counts.sum())

    @property
    def means(self) -> Floats:
        """The mean reward of each pair, 0 where there is none."""
        return np.divide(self.sums, self.counts, out=np.zeros(self.sums.shape), where=self.counts > 0)


class Parts(NamedTuple):
    """An estimate for every arm and, last, for all arms together: shape (K + 1,)."""

    values: Floats
    errors: Floats  # standard errors


def direct(sums: PairSums, shares: Floats, means: Floats) -> Parts:
    """The mean rewards of pairs, shared out as the plan does, over the contexts of the log."""
    n, by_context = sums.rows, sums.counts.sum(axis=0)
    planned = with_total(shares * means)  # by arm and context
    values = planned @ by_context / n
    between = np.square(planned - values[:, None]) @ by_context
    # The variance of a mean is sigma^2 over its count; a pair's own estimate needs two rewards.
    about = np.maximum(sums.squares - sums.sums * sums.means, 0.0)
    freedom = np.maximum(sums.counts - 1.0, 0.0)
    pooled = about.sum() / max(freedom.sum(), 1.0)
    variance = np.divide(about, freedom, out=np.full(about.shape, pooled), where=freedom > 0)
    traffic = np.divide(by_context, sums.counts, out=np.zeros(about.shape), where=sums.counts > 0)
    within = (np.square(shares * traffic) * variance * sums.counts).sum(axis=1)
    return _parts(values, between + _and_total(within), n)


def inverse(sums: PairSums, shares: Floats, means: Floats) -> Parts:
    """Rewards, weighted by how much more likely their arm is under the plan than it was."""
    n = sums.rows
    values = _and_total((shares * sums.weighted).sum(axis=1)) / n
    squares = _and_total((np.square(shares) * sums.weighted_squares).sum(axis=1))
    return _parts(values, squares - n * np.square(values), n)


def normalised(sums: PairSums, shares: Floats, means: Floats) -> Parts:
    """Likewise, divided by the sum of the weights instead of their number."""
    n = sums.rows
    total = float((shares * sums.inverse).sum())
    if total <= 0.0:
        return unknown(len(shares))
    values = _and_total((shares * sums.weighted).sum(axis=1)) / total
    squared = np.square(shares)
    own = _and_total((squared * sums.weighted_squares).sum(axis=1))
    mixed = _and_total((squared * sums.weighted_inverse).sum(axis=1))
    squares = own - 2.0 * values * mixed + np.square(values) * float((squared * sums.inverse_squares).sum())
    return _parts(values, squares * (n / total) ** 2, n)


def robust(sums: PairSums, shares: Floats, means: Floats) -> Parts:
    """A model of the rewards, shared out as the plan does, corrected by the weighted rewards that it does not explain.

    The model draws the means of pairs together, so that a pair with few rows does not explain its own rewards.
    """
    n, by_context = sums.rows, sums.counts.sum(axis=0)
    model, kept = drawn_together(sums)
    planned = with_total(shares * model)
    unexplained = shares * (sums.weighted - model * sums.inverse)
    values = (planned @ by_context + _and_total(unexplained.sum(axis=1))) / n
    residuals = sums.weighted_squares - 2.0 * model * sums.weighted_inverse + np.square(model) * sums.inverse_squares
    # What a reward differs by from the model without itself, of which it is this part.
    part = np.divide(kept, sums.counts, out=np.zeros(kept.shape), where=sums.counts > 0)
    residuals = np.maximum(residuals, 0.0) / np.square(np.maximum(1.0 - part, LEAST_OTHERS))
    squares = (
        np.square(planned) @ by_context
        + 2.0 * np.append((planned[:-1] * unexplained).sum(axis=1), (planned[-1] * unexplained).sum())
        + _and_total((np.square(shares) * residuals).sum(axis=1))
    )
    return _parts(values, squares - n * np.square(values), n)


def drawn_together(sums: PairSums) -> tuple[Floats, Floats]:
    """Means of pairs, drawn towards the mean of all, and how much of its distance from that each keeps, K x C.

    A pair keeps tau^2 / (tau^2 + sigma^2 / n) of it: sigma^2 is the variance of rewards within pairs, tau^2 that of the
    means between pairs, by the method of moments. A pair without rows has the mean of all.
    """
    n, played = sums.rows, sums.counts > 0
    centre = float(sums.sums.sum()) / n
    within = float(np.maximum(sums.squares - sums.sums * sums.means, 0.0).sum())
    variance = within / max(n - int(played.sum()), 1.0)
    scatter = float((sums.counts * np.square(sums.means - centre)).sum())
    room = n - float(np.square(sums.counts).sum()) / n
    between = max(scatter - (int(played.sum()) - 1) * variance, 0.0) / room if room > 0 else 0.0
    noise = np.divide(variance, sums.counts, out=np.full(sums.counts.shape, np.inf), where=played)
    total = between + noise
    kept = np.divide(between, total, out=np.where(played, 1.0, 0.0), where=total > 0)
    return centre + kept * np.where(played, sums.means - centre, 0.0), kept


ESTIMATORS: dict[str, Callable[[PairSums, Floats, Floats], Parts]] = {
    DIRECT: direct,
    INVERSE: inverse,
    NORMALISED: normalised,
    ROBUST: robust,
}


def effective_rows(sums: PairSums, shares: Floats) -> float:
    """How many rows of equal weight would say as much: (sum of weights)^2 / sum of their squares."""
    squares = float((np.square(shares) * sums.inverse_squares).sum())
    return float((shares * sums.inverse).sum()) ** 2 / squares if squares > 0 else 0.0


def heaviest_share(sums: PairSums, shares: Floats) -> float:
    """The largest squared weight over the sum of all."""
    squares = float((np.square(shares) * sums.inverse_squares).sum())
    return float(np.square(shares * sums.largest).max()) / squares if squares > 0 else 1.0


def with_total(by_arm: Floats) -> Floats:
    """Rows of arms, and below them their sum."""
    return np.vstack([by_arm, by_arm.sum(axis=0)])


def _and_total(by_arm: Floats) -> Floats:
    return np.append(by_arm, by_arm.sum())


def _parts(values: Floats, squares: Floats, n: float) -> Parts:
    """Estimates with the errors of means of rows whose influences have these sums of squares."""
    if n < 2:
        return Parts(values, np.full(values.shape, np.nan))
    return Parts(values, np.sqrt(np.maximum(squares, 0.0) / (n * (n - 1.0))))


def unknown(n_arms: int) -> Parts:
    """Estimates of what a log does not know."""
    return Parts(np.full(n_arms + 1, np.nan), np.full(n_arms + 1, np.nan))
