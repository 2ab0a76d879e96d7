"""How old rewards are forgotten: the counts of all pairs lose a share of themselves, some rounds at a time.

A mean of rewards that weigh 2^(-age / half-life) is updated like one of equal weights, if its count n is the sum of the
weights. So forgetting only lowers counts, and raises n^(-1/2) with them. Lowering all of them in every round would cost
as much as looking at all pairs; a few times per half-life is enough.
"""

import math
from typing import NamedTuple

import numpy as np

from arcbandit.compilation.compile import rare_kernel
from arcbandit.kernels.confidence import ByPair
from arcbandit.kernels.marks import CHANGED

# A count that went on falling would make bounds so wide that they drown all others. At this one they are 32 times as
# wide as after a single reward.
LEAST_PULLS = 2.0**-10
BLOCKS_OF_A_HALF_LIFE = 16
LEAST_SEEN = 1e-12  # of a context; less is nothing


class Fading(NamedTuple):
    """What is kept to let rewards fade, beside the statistics."""

    by_context: np.ndarray  # float64, shape (C,): how often each came, faded, if their probabilities are estimated
    earned: np.ndarray  # float64, shape (K,): the rewards of each arm, of which none is forgotten
    next_fade: np.ndarray  # int64, shape (1,): the round in which counts are lowered next


def make_fading(n_arms: int, n_contexts: int, half_life: float) -> Fading:
    """Nothing seen yet."""
    return Fading(np.zeros(n_contexts), np.zeros(n_arms), np.array([block_of(half_life)]))


@rare_kernel
def fade(statistics, by_context, share):
    """Multiply the counts of all pairs that were played by a share, down to LEAST_PULLS, and those of contexts.

    Means stay.
    """
    _, n_arms, n_contexts = statistics.by_pair.shape
    for arm in range(n_arms):
        for context in range(n_contexts):
            pulls = statistics.by_pair[ByPair.PULLS, arm, context]
            if pulls > LEAST_PULLS:
                pulls = max(share * pulls, LEAST_PULLS)
                statistics.by_pair[ByPair.PULLS, arm, context] = pulls
                statistics.by_pair[ByPair.INVERSE_ROOT, arm, context] = 1.0 / math.sqrt(pulls)
    for context in range(n_contexts):
        statistics.changed[context] = CHANGED
        seen = share * by_context[context]
        by_context[context] = seen if seen > LEAST_SEEN else 0.0


def block_of(half_life: float) -> int:
    """The rounds between two times that counts are lowered."""
    return max(1, int(half_life) // BLOCKS_OF_A_HALF_LIFE)


def share_of(half_life: float) -> float:
    """The share of a count that is left after such a block of rounds."""
    return math.exp2(-block_of(half_life) / half_life)
