"""Intervals where few rows decide: heavy weights, or rewards that hardly ever come.

The normal approximation, and resampling too, know only of rows that are there. An arm that was shown to ten visitors
and never clicked has an error of zero by both, and both miss a row of the weight 300 that did not happen to be logged.
Three things are done about it, each from sums by pair:

- The variance is at least that of rewards as the model has them. The weights of all rows count in it, not only those
  of rows that earned something, and a pair without any click has a rate that is drawn towards that of all pairs.
- An end of the interval is computed as if there were one more row, of the weight and with the reward that typically
  matter. This is how intervals of weighted counts are made safe (`fay1997`).
- The weights of a pair sum up to what the plan gives it, on average. Where they do not, what they lack is worth the
  mean reward of the pair, by which the interval is stretched in that direction, and what is not known of that mean
  counts in the variance.

An interval is stretched only where that row would add more than `SCARCE` to the variance, or where a row has more than
that of the sum of squared weights, and never becomes narrower.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcbandit.logs.estimators import (
    DIRECT,
    INVERSE,
    NORMALISED,
    ROBUST,
    PairSums,
    Parts,
    drawn_together,
    with_total,
)

Floats = NDArray[np.float64]

SCARCE = 0.01  # of the variance, that one more row may add before sums of rows are not yet normal


class Model(NamedTuple):
    """What is needed of every pair, K x C, and of the log."""

    means: Floats  # of rewards, drawn together
    squares: Floats  # means of squared rewards, likewise
    doubts: Floats  # variances of these means
    weights: Floats  # the sum of the weights
    squared_weights: Floats  # that of their squares
    least: float  # reward of the log
    most: float

    @property
    def variances(self) -> Floats:
        """Of rewards, K x C."""
        return np.maximum(self.squares - np.square(self.means), 0.0)

    def sizes(self, centre: Floats) -> tuple[Floats, Floats]:
        """By how much a reward that matters is above, and below, some centre, for every arm and all of them.

        It is that of a reward which is drawn in proportion to itself, 1 for clicks, and no more than there is room for.
        """
        above, below = _all(self.weights * self.squares), _all(self.weights * np.abs(self.means))
        size = np.divide(above, below, out=np.full(above.shape, np.inf), where=below > 0.0)
        return (
            np.minimum(np.maximum(self.most - centre, 0.0), size),
            np.minimum(np.maximum(centre - self.least, 0.0), size),
        )


def model_of(sums: PairSums, shares: Floats, rewards: tuple[float, float]) -> Model:
    """The model of a log whose rewards are within these, for a plan."""
    means, kept = drawn_together(sums)
    centre = float(sums.squares.sum()) / sums.rows
    own = np.divide(sums.squares, sums.counts, out=np.full(kept.shape, centre), where=sums.counts > 0)
    squares = centre + kept * (own - centre)
    variances = np.maximum(squares - np.square(means), 0.0)
    doubts = kept * np.divide(variances, sums.counts, out=variances.copy(), where=sums.counts > 0)
    return Model(means, squares, doubts, shares * sums.inverse, np.square(shares) * sums.inverse_squares, *rewards)


def stretched(
    name: str, sums: PairSums, shares: Floats, model: Model, parts: Parts, ends: Floats, quantile: float
) -> Floats:
    """The intervals of an estimator, shape (K + 1, 2), stretched where few rows decide; as they are if unknown."""
    if not np.isfinite(parts.values).all():
        return ends
    variance, up, down, lacking = _SCARCITIES[name](sums, shares, model, parts.values)
    variance = np.maximum(variance, np.square(parts.errors))
    added = np.maximum(up, down)
    added[-1] = added.max()  # all arms together lack what any of them lacks
    scarce = np.square(added) > SCARCE * variance
    if name != DIRECT:  # whose rows have no weights
        largest = (shares * sums.largest).max(axis=1)
        scarce |= np.square(np.append(largest, largest.max())) > SCARCE * _all(model.squared_weights)
    low = _lower(parts.values, variance + np.square(down), quantile, model.least) - down + np.minimum(lacking, 0.0)
    low = np.maximum(low, _all(shares * (sums.counts.sum(axis=0) / sums.rows)) * model.least)
    high = parts.values + up + quantile * np.sqrt(variance + np.square(up)) + np.maximum(lacking, 0.0)
    wider = np.column_stack([np.minimum(low, ends[:, 0]), np.maximum(high, ends[:, 1])])
    return np.where(scarce[:, np.newaxis], wider, ends)


def _lower(values: Floats, variance: Floats, quantile: float, least: float) -> Floats:
    """The lower end by a variance; one that falls with the value itself, as that of counts does, if no reward is lost.

    It is the theta for which values - theta is the quantile times the root of variance * theta / values.
    """
    low = values - quantile * np.sqrt(variance)
    if least < 0.0:
        return low
    known = values > 0.0
    spread = quantile**2 * np.divide(variance, values, out=np.zeros(values.shape), where=known)
    return np.where(known, values + spread / 2.0 - np.sqrt(spread * np.maximum(values, 0.0) + spread**2 / 4.0), low)


class Scarcity(NamedTuple):
    """Of every arm and of all arms, shape (K + 1,)."""

    variance: Floats  # of the estimate, by the model
    up: Floats  # by how much one more row could raise the estimate
    down: Floats
    lacking: Floats  # what weights that are missing are worth; negative if there are too many


def _inverse(sums: PairSums, shares: Floats, model: Model, values: Floats) -> Scarcity:
    n = sums.rows
    weight = _typical(model.squared_weights, model.weights, model.squares)
    variance = _all(model.squared_weights * model.squares) / n**2 - np.square(values) / n
    up, down = (weight * size / n for size in model.sizes(np.zeros(len(values))))
    missing = _missing(sums, shares, model, n)
    variance = np.maximum(variance, 0.0) + _doubts(missing, model)
    return Scarcity(variance, up, down, _all(missing * model.means))


def _normalised(sums: PairSums, shares: Floats, model: Model, values: Floats) -> Scarcity:
    total = float(model.weights.sum())
    own = _typical(model.squared_weights, model.weights, model.squares)
    of_any = own.max() * np.abs(values)  # a row of another arm counts in the sum
    of_any[-1] = 0.0
    variance = (
        _all(model.squared_weights * model.squares)
        - 2.0 * values * _all(model.squared_weights * model.means)
        + np.square(values) * float(model.squared_weights.sum())
    ) / total**2
    up, down = (own * size for size in model.sizes(values))
    up = np.maximum(up, np.where(values < 0.0, of_any, 0.0)) / total
    down = np.maximum(down, np.where(values > 0.0, of_any, 0.0)) / total
    missing = _missing(sums, shares, model, total)
    variance = np.maximum(variance, 0.0) + _doubts(missing, model)
    return Scarcity(variance, up, down, _all(missing * model.means))


def _robust(sums: PairSums, shares: Floats, model: Model, values: Floats) -> Scarcity:
    n = sums.rows
    weight = _typical(model.squared_weights, model.weights, model.variances)
    variance = _between(sums, shares, model, values) + _all(model.squared_weights * model.variances) / n**2
    # Where weights are missing, the model stands uncorrected, with what is not known about it.
    return _about_means(model, weight / n, variance + _doubts(_missing(sums, shares, model, n), model))


def _direct(sums: PairSums, shares: Floats, model: Model, values: Floats) -> Scarcity:
    """A row of a pair has the weight with which the mean of the pair is counted, over its rows."""
    n, by_context = sums.rows, sums.counts.sum(axis=0)
    of_a_row = shares * np.divide(by_context, sums.counts, out=np.zeros(shares.shape), where=sums.counts > 0)
    weights, squared = of_a_row * sums.counts, np.square(of_a_row) * sums.counts
    variance = _between(sums, shares, model, values) + _all(squared * model.variances) / n**2
    return _about_means(model, _typical(squared, weights, model.variances) / n, variance)


def _about_means(model: Model, weight: Floats, variance: Floats) -> Scarcity:
    """Of an estimator that counts what rewards differ by from the model."""
    shown = _all(model.weights)
    mean = np.divide(_all(model.weights * model.means), shown, out=np.zeros(shown.shape), where=shown > 0.0)
    up, down = (weight * size for size in model.sizes(mean))
    return Scarcity(variance, up, down, np.zeros(weight.shape))


def _between(sums: PairSums, shares: Floats, model: Model, values: Floats) -> Floats:
    """The variance that the mix of contexts leaves."""
    n, by_context = sums.rows, sums.counts.sum(axis=0)
    about: Floats = np.square(with_total(shares * model.means) - values[:, np.newaxis]) @ by_context
    return about / n**2


def _missing(sums: PairSums, shares: Floats, model: Model, total: float) -> Floats:
    """What the weights of each pair lack of what the plan gives it, as shares of all rounds, K x C."""
    missing: Floats = shares * (sums.counts.sum(axis=0) / sums.rows) - model.weights / total
    return missing


def _doubts(missing: Floats, model: Model) -> Floats:
    """The variance of what missing weights are worth."""
    return _all(np.square(missing) * model.doubts)


def _typical(squared_weights: Floats, weights: Floats, by: Floats) -> Floats:
    """The weight of a row, on average over what rows contribute."""
    above, below = _all(squared_weights * by), _all(weights * by)
    return np.divide(above, below, out=np.zeros(above.shape), where=below > 0.0)


def _all(by_pair: Floats) -> Floats:
    """Sums by arm and, last, of all."""
    by_arm = by_pair.sum(axis=1)
    return np.append(by_arm, by_arm.sum())


_SCARCITIES = {DIRECT: _direct, INVERSE: _inverse, NORMALISED: _normalised, ROBUST: _robust}
