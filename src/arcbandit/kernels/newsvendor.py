"""Margins of floors that cost as much if they are too large as if they are too small: a newsvendor's.

A floor is missed by an estimate's error. A margin of z standard errors costs its price in regret if that was too much,
and the weight v in violation if it was too little. With prices a_j, standard errors s_j, and a cost E of exploring that
is paid anyway, the best margins satisfy, with one q for all floors,

    v P(floor j is missed) = a_j q,  where q = P(sum_j a_j (z_j s_j + error_j) + E > 0).

A cautious newsvendor takes (a_j / v)^(1 + caution) for the odds a_j / v of a floor that are above 1.
"""

import math

from arcbandit.compilation.compile import kernel, rare_kernel
from arcbandit.kernels.normal import ROOT_HALF, normal_density, normal_probability, normal_quantile
from arcbandit.kernels.program import NO_FLOOR

LEAST_MARGIN = -3.5  # in standard errors
MOST_MARGIN = 2.5  # at a weight of 1
LEAST_PROBABILITY = 0.5 * math.erfc(-LEAST_MARGIN * ROOT_HALF)
MOST_PROBABILITY = 0.5 * math.erfc(-MOST_MARGIN * ROOT_HALF)
MARGIN_PER_DECADE = 0.5  # of the weight
# How far the last of Newton's steps may move the probabilities that a floor is met, and that it is missed, relative to
# themselves: one is small where floors are dear, the other where violations are. What the step leaves is of the order
# of its square.
CLOSE_ENOUGH = 1e-5
MOST_STEPS = 100


@kernel
def most_margin(weight):
    """The largest margin, and its probability; the dearer a violation, the rarer one is worth a margin."""
    if weight <= 1.0:
        return MOST_MARGIN, MOST_PROBABILITY
    most = MOST_MARGIN + MARGIN_PER_DECADE * math.log10(weight)
    return most, normal_probability(most)


@kernel
def margin_of(odds, q, most, most_probability):
    """z of a floor with these odds, within its limits; `most_probability` is that of `most`."""
    kept = 1.0 - odds * q
    if kept >= most_probability:
        return most
    if kept <= 0.0:
        return LEAST_MARGIN
    return max(LEAST_MARGIN, normal_quantile(max(kept, 1e-9)))


@kernel
def moves_by(odds, z, most):
    """How much a margin moves per unit of q: not at all at its limits."""
    return -odds / normal_density(z) if LEAST_MARGIN < z < most else 0.0


@kernel
def odds_of(price, weight, caution):
    """What is too much of a floor costs, over what is too little costs; above 1, raised by the caution."""
    odds = price / weight
    return odds ** (1.0 + caution) if odds > 1.0 and caution > 0.0 else odds


@rare_kernel
def write_margins(prices, errors, floors, cost, weight, caution, start, odds, margins):
    """Write z of each floor, 0 for a row without one, all of shape (M,); return q, which is looked for from `start`.

    A floor without a price has the largest margin, which costs nothing. One that was taken back may have a price for a
    while. If no floor has a price and an error, q is 1/2. `odds`, shape (M,), is written, too.
    """
    most, most_probability = most_margin(weight)
    n_rows = floors.shape[0]
    spread = 0.0
    largest = 0.0
    for row in range(n_rows):
        spread += (prices[row] * errors[row]) ** 2
        odds[row] = odds_of(prices[row], weight, caution)
        largest = max(largest, odds[row])
    is_search = spread > 0.0
    spread = math.sqrt(spread)
    q = start if is_search and 0.0 < start < 1.0 else 0.5
    low = 0.0
    high = 1.0
    longest = 1.0
    step = 0.0
    for _ in range(MOST_STEPS):
        total = cost
        slope = 0.0
        for row in range(n_rows):
            z = margin_of(odds[row], q, most, most_probability)
            margins[row] = z if floors[row] != NO_FLOOR else 0.0
            if prices[row] > 0.0:
                total += prices[row] * errors[row] * z
                slope += prices[row] * errors[row] * moves_by(odds[row], z, most)
        if not is_search:
            return q
        total /= spread
        excess = normal_probability(total) - q
        # The excess falls as q rises.
        if excess > 0.0:
            low = q
        else:
            high = q
        step = excess / (1.0 - normal_density(total) * slope / spread)
        # At the limits of margins Newton's steps may go back and forth; those that do not get shorter are not taken.
        if not (low <= q + step <= high and abs(step) <= 0.5 * longest):
            longest = high - low
            step = 0.5 * (low + high) - q
        else:
            longest = abs(step)
        q += step
        met = max(1.0 - largest * q, LEAST_PROBABILITY)
        if longest <= CLOSE_ENOUGH * q and largest * longest <= CLOSE_ENOUGH * met:
            break
    # The margins are those of the q before: the rest of the way they go with it.
    for row in range(n_rows):
        if prices[row] > 0.0 and floors[row] != NO_FLOOR:
            z = margins[row]
            margins[row] = min(max(z + moves_by(odds[row], z, most) * step, LEAST_MARGIN), most)
    return q
