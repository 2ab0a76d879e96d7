"""Inverse gap weighting: shares that fall with the gap to the best score, as LOE2D and BanditQ play them."""

import math

from arcbandit.compilation.compile import kernel

NEWTON_STEPS = 60
NEWTON_TOLERANCE = 1e-15


@kernel
def write_inverse_gaps(scores, available, context, rate, allocation):
    """Write 1 / (eta + rate (max score - score)) over the available arms, with eta such that the column sums to 1.

    Newton's method for 1 / sum = 1, which is concave in eta: from eta = 1 it rises to the root and never passes it.
    """
    n_arms = available.shape[0]
    top = -math.inf
    for arm in range(n_arms):
        if available[arm, context]:
            top = max(top, scores[arm, context])
    normaliser = 1.0
    total = 0.0
    for _ in range(NEWTON_STEPS):
        total = 0.0
        squares = 0.0
        for arm in range(n_arms):
            allocation[arm, context] = 0.0
            if available[arm, context]:
                gap = top - scores[arm, context]
                share = 1.0 / (normaliser + (rate * gap if gap > 0.0 else 0.0))
                allocation[arm, context] = share
                total += share
                squares += share * share
        step = total * (total - 1.0) / squares
        if step <= NEWTON_TOLERANCE * normaliser:
            break
        normaliser += step
    for arm in range(n_arms):
        allocation[arm, context] /= total
