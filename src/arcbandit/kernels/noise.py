"""The noise of rewards, estimated from what was seen if nobody told it."""

import enum
import math

from arcbandit.compilation.compile import kernel
from arcbandit.kernels.confidence import ByPair

# Rewards that the spread of all rewards counts as, beside the residuals: at first there are no residuals.
WEIGHT_OF_SPREAD = 0.5
# After so many rewards, one more hardly moves the estimate, but any move makes a planner look at many pairs again. From
# then on it is made with every 64th.
REWARDS_ONE_BY_ONE = 1024.0
REWARDS_AT_A_TIME = 64


class Noise(enum.IntEnum):
    """Places of Learner.noise."""

    REWARDS = 0  # how many were seen
    MEAN = 1  # of all of them
    SPREAD = 2  # sum of squares about that mean
    RESIDUAL = 3  # sum of squares about the mean of each pair
    FREEDOM = 4  # degrees of freedom of the residuals: rewards, less one per pair that was played


@kernel
def pooled_scale(noise):
    """The estimate of sigma, from sums of at least two different rewards."""
    variance = noise[Noise.SPREAD] / (noise[Noise.REWARDS] - 1.0)
    pooled = (noise[Noise.RESIDUAL] + WEIGHT_OF_SPREAD * variance) / (noise[Noise.FREEDOM] + WEIGHT_OF_SPREAD)
    return math.sqrt(pooled)


@kernel
def take_in_noise(settings, noise, statistics, arm, context, reward):
    """Estimate sigma again with a reward that the statistics have not taken in yet, if it is estimated at all.

    The estimate is the root of (residuals + w * variance of all rewards) / (degrees of freedom + w): before any pair
    was played twice the spread of all rewards, in which the differences between pairs count as noise, and soon the
    pooled residuals. It stays as it is until two rewards differ and, after many rewards, from one 64th to the next.
    """
    if len(noise) == 0:
        return
    pulls = statistics.by_pair[ByPair.PULLS, arm, context]
    if pulls > 0.0:
        residual = reward - statistics.by_pair[ByPair.MEAN, arm, context]
        # A count that has faded below one is still of one reward, or more.
        whole = max(pulls, 1.0)
        noise[Noise.RESIDUAL] += residual * residual * (whole / (whole + 1.0))
        noise[Noise.FREEDOM] += 1.0
    all_alike = noise[Noise.SPREAD] == 0.0
    noise[Noise.REWARDS] += 1.0
    deviation = reward - noise[Noise.MEAN]
    noise[Noise.MEAN] += deviation / noise[Noise.REWARDS]
    noise[Noise.SPREAD] += deviation * (reward - noise[Noise.MEAN])
    count = noise[Noise.REWARDS]
    due = count <= REWARDS_ONE_BY_ONE or all_alike or int(count) & (REWARDS_AT_A_TIME - 1) == 0
    if due and noise[Noise.SPREAD] > 0.0:
        settings[0].noise_scale = pooled_scale(noise)
