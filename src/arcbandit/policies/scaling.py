"""Rewards and floors in units of an upper bound on the mean rewards, for rules whose rates require that."""

import math

from arcbandit.compilation.compile import kernel, rare_kernel
from arcbandit.kernels.confidence import ByPair

LARGEST = 1e9  # scaled numbers are clipped here, so that no reward, however large, makes an infinity
NEGLIGIBLE = 1e-100  # a floor this low counts as zero


@kernel
def scaled(value, unit):
    """A value in units of `unit`, finite."""
    return max(-LARGEST, min(LARGEST, value / unit))


@kernel
def scaled_bound(statistics, unit, arm, context, factor):
    """The mean reward of a pair plus `factor` times n^(-1/2), scaled; 1 for a pair never played."""
    inverse_root = statistics.by_pair[ByPair.INVERSE_ROOT, arm, context]
    if inverse_root > 0.0:
        return scaled(statistics.by_pair[ByPair.MEAN, arm, context] + factor * inverse_root, unit)
    return 1.0


@kernel
def scaled_floor(floors, unit, arm):
    """lambda_k, scaled."""
    return scaled(floors[arm], unit)


@rare_kernel
def add_to_queues(floors, unit, arm, reward, queues):
    """Q_k = max(0, Q_k + lambda_k - r 1{k played})."""
    for other in range(queues.shape[0]):
        earned = scaled(reward, unit) if other == arm else 0.0
        queues[other] = max(0.0, queues[other] + scaled_floor(floors, unit, other) - earned)


@kernel
def squared_regression_error(n_pairs, horizon):
    """kappa log T: what estimating all pairs by their means costs in squared error, up to a constant."""
    return n_pairs * math.log(max(horizon, 2.0))
