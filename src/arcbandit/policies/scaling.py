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
def scaled_bound(learner, arm, context, factor):
    """The mean reward of a pair plus `factor` times n^(-1/2), scaled; 1 for a pair never played."""
    inverse_root = learner.statistics.by_pair[ByPair.INVERSE_ROOT, arm, context]
    if inverse_root > 0.0:
        return scaled(
            learner.statistics.by_pair[ByPair.MEAN, arm, context] + factor * inverse_root,
            learner.settings[0].mean_bound,
        )
    return 1.0


@kernel
def scaled_floor(learner, arm):
    """lambda_k, scaled."""
    return scaled(learner.problem.floors[arm], learner.settings[0].mean_bound)


@rare_kernel
def add_to_queues(learner, arm, reward, queues):
    """Q_k = max(0, Q_k + lambda_k - r 1{k played})."""
    for other in range(learner.problem.available.shape[0]):
        earned = scaled(reward, learner.settings[0].mean_bound) if other == arm else 0.0
        queues[other] = max(0.0, queues[other] + scaled_floor(learner, other) - earned)


@kernel
def squared_regression_error(learner):
    """kappa log T: what estimating all pairs by their means costs in squared error, up to a constant."""
    return learner.problem.available.size * math.log(max(learner.settings[0].horizon, 2.0))
