"""Intervals by resampling the rows of a log, for weights so heavy that a normal approximation is not to be trusted."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from arcbandit.logs.estimators import ESTIMATORS, PairSums
from arcbandit.logs.rows import Rows

Floats = NDArray[np.float64]


def resampled(
    rows: Rows,
    shares: Floats,
    means: Floats,
    *,
    samples: int,
    confidence: float,
    seed: int,
    advance: Callable[[int], None] = lambda done: None,
) -> dict[str, Floats]:
    """Percentile intervals of each estimator for every arm and all together, shape (K + 1, 2).

    Each sample has as many rows as the log, drawn with replacement. A pair that a sample lacks keeps its mean. After
    each, `advance` is called with 1.
    """
    draw = np.random.default_rng(seed)
    n = int(rows.times.sum())
    single = bool((rows.times == 1.0).all())
    pairs = rows.arms * shares.shape[1] + rows.contexts
    values = {name: np.empty((samples, len(shares) + 1)) for name in ESTIMATORS}
    for sample in range(samples):
        if single:
            times = np.bincount(draw.integers(n, size=n), minlength=n).astype(np.float64)
        else:
            times = draw.multinomial(n, rows.times / n).astype(np.float64)
        sums = pair_sums(rows, pairs, times, shares.shape)
        own = np.where(sums.counts > 0, sums.means, means)
        for name, estimator in ESTIMATORS.items():
            values[name][sample] = estimator(sums, shares, own).values
        advance(1)
    ends = ((1.0 - confidence) / 2.0, (1.0 + confidence) / 2.0)
    return {name: np.quantile(found, ends, axis=0).T for name, found in values.items()}


def pair_sums(rows: Rows, pairs: NDArray[np.int64], times: Floats, shape: tuple[int, ...]) -> PairSums:
    """The sums of estimates over rows that count so many times; what only errors need is left zero."""

    def total(values: Floats) -> Floats:
        return np.bincount(pairs, values, shape[0] * shape[1]).reshape(shape).astype(np.float64)

    nothing = np.zeros(shape)
    weighted = times * rows.inverse
    return PairSums(
        counts=total(times),
        sums=total(times * rows.rewards),
        squares=total(times * np.square(rows.rewards)),
        inverse=total(weighted),
        inverse_squares=nothing,
        weighted=total(weighted * rows.rewards),
        weighted_inverse=nothing,
        weighted_squares=nothing,
        largest=nothing,
    )
