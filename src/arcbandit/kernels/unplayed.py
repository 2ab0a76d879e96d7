"""What is kept, in problems of many pairs, of pairs never played: which they are, and what stands in for their bounds.

While some pair was never played, a round would otherwise look at every pair several times: to find the unplayed ones,
the largest upper bound, and the scales of rows. Here all of that is kept from round to round, and only what changed is
looked at. The numbers are those that looking at every pair gives, to the last bit.
"""

import enum
import math
from typing import NamedTuple

import numpy as np

from arcbandit.compilation.compile import kernel, rare_kernel
from arcbandit.kernels.confidence import ByPair
from arcbandit.kernels.marks import UNCHANGED

# What rounding may do to a sum of a few terms, relative to their sizes.
ROUNDING = 1e-12


class OfArm(enum.IntEnum):
    """Rows of Unplayed.by_arm; "played" and "unplayed" are about the arm's pairs."""

    SECOND = 0  # no played pair has a larger upper bound at FACTOR, but the one at ArmPlace.TOP and those it dominates
    FACTOR = 1
    MEAN_SIZE = 2  # no played pair has a larger |mean|
    WEIGHT = 3  # the largest weight of a context in which the arm is unplayed, -1 if there is none
    OBJECTIVE_SIZE = 4  # no played pair has a larger |coefficient| in the objective at OBJECTIVE_LEAN
    REVENUE_SIZE = 5  # likewise in its rows
    OBJECTIVE_LEAN = 6
    REVENUE_LEAN = 7
    VALUE = 8  # of any unplayed pair, at the arm's price
    PRICE = 9  # at which the arm's values entered the bounds


class ArmPlace(enum.IntEnum):
    """Rows of Unplayed.arm_places."""

    TOP = 0  # the context of the played pair with the largest upper bound when last looked at, -1 if there is none
    OBJECTIVE_TOP = 1  # likewise with the largest coefficients
    REVENUE_TOP = 2
    BY_VALUE = 3  # the arms, those with the largest OfArm.VALUE first, of equal ones that of least index


class OfContext(enum.IntEnum):
    """Rows of Unplayed.by_context."""

    UNPLAYED = 0  # how many arms available there were never played there
    KEY = 1  # KeyState
    STALE = 2  # 1 if the column of the allocation must be written again
    KEY_BEFORE = 3  # the key before the first pivot of a plan


class Bound(enum.IntEnum):
    """Rows of Unplayed.bounds, one number per context."""

    VALUE = 0  # no played nonbasic pair is worth more, apart from drift; infinite if it must be looked at
    PATH = 1  # Kept.PATH when it was set
    EXCESS = 2  # no pair has a larger reduced cost at the prices at hand; negative if none improves


class KeyState(enum.IntEnum):
    """What is known of a context's key."""

    PLAYED = 0  # what is kept of it is right
    UNPLAYED = 1
    UNKNOWN = 2


class Kept(enum.IntEnum):
    """Places of Unplayed.scalars."""

    IS_KEPT = 0  # 0 if nothing here is right
    COUNT = 1  # pairs that are available and unplayed, in contexts that were not dropped
    PLAN_OF = 2  # 1 + the place of the plan that left bounds, keys and the allocation; 0 if another one did
    IS_WRITTEN = 3  # whether this round's allocation is that plan, with unplayed arms alike in their contexts
    MIDDLE = 4  # mean and root that stand for those of unplayed pairs
    ROOT = 5
    PATH = 6  # how far the leans have moved since bounds were void
    PATH_OF_ALL = 7  # PATH when the bounds of all contexts were set last, -1 if they are void
    LARGEST_WEIGHT = 8
    LARGEST_LEAN = 9  # since bounds were void
    IS_LARGEST_BOUND = 10  # whether what stands in for unplayed pairs is the largest mean + lean n^(-1/2) of the others


class Tries(enum.IntEnum):
    """Rows of Unplayed.tries, one number per place of a plan."""

    LAST_PAUSE = 0  # plans made by looking at every pair after the last try failed, 0 if it did not
    PAUSE = 1  # plans until the next try


class SlotPart(enum.IntEnum):
    """Rows of Unplayed.slots_before."""

    ARM = 0
    CONTEXT = 1


class Unplayed(NamedTuple):
    """What is kept.

    Problems of few pairs are planned faster without: their planners have an empty tuple instead. A kernel that is given
    either asks for `len(unplayed)` first, by which the compiler leaves out what comes after.
    """

    pairs: np.ndarray  # bool, shape (C, K): whether a pair is available and unplayed
    by_arm: np.ndarray  # float64, shape (10, K)
    bounds: np.ndarray  # float64, shape (3, C)
    arm_places: np.ndarray  # int32, shape (4, K)
    by_context: np.ndarray  # int32, shape (4, C)
    slots_before: np.ndarray  # int32, shape (2, M): slots before the first pivot of a plan
    scalars: np.ndarray  # float64, shape (11,)
    tries: np.ndarray  # float64, shape (2, 2)


def make_unplayed(n_arms: int, n_contexts: int, n_rows: int) -> Unplayed:
    """Nothing is kept yet."""
    return Unplayed(
        # Memory is written, not only zero, for the reason that `make_statistics` gives.
        pairs=np.full((n_contexts, n_arms), False),
        by_arm=np.zeros((len(OfArm), n_arms)),
        bounds=np.zeros((len(Bound), n_contexts)),
        arm_places=np.zeros((len(ArmPlace), n_arms), dtype=np.int32),
        by_context=np.zeros((len(OfContext), n_contexts), dtype=np.int32),
        slots_before=np.zeros((len(SlotPart), n_rows), dtype=np.int32),
        scalars=np.zeros(len(Kept)),
        tries=np.zeros((len(Tries), 2)),
    )


@kernel
def is_kept(unplayed):
    """Whether what is kept is right, apart from rewards that came since it was brought up to date."""
    return unplayed.scalars[Kept.IS_KEPT] != 0.0


@kernel
def is_written(unplayed):
    """Whether the allocation is a plan in which contexts with unplayed arms play these alike."""
    if len(unplayed) == 0:
        return False
    return unplayed.scalars[Kept.IS_WRITTEN] != 0.0


@kernel
def unplayed_arms(unplayed, context):
    """How many arms available in a context were never played there."""
    return unplayed.by_context[OfContext.UNPLAYED, context]


@kernel
def forget_plan(unplayed):
    """Note that bounds, keys and the allocation are not as they were left, as a plan was made another way."""
    if len(unplayed) == 0:
        return
    unplayed.scalars[Kept.PLAN_OF] = 0.0
    unplayed.scalars[Kept.IS_WRITTEN] = 0.0


@kernel
def forget_coefficients(unplayed):
    """Note that somebody else writes to the planner's coefficients, in which means and roots are kept."""
    if len(unplayed) == 0:
        return
    unplayed.scalars[Kept.IS_KEPT] = 0.0


@kernel
def set_stand_ins(unplayed, middle, root, is_largest_bound):
    """Say which mean and root stand in for those of unplayed pairs, and whether they are Kept.IS_LARGEST_BOUND."""
    unplayed.scalars[Kept.MIDDLE] = middle
    unplayed.scalars[Kept.ROOT] = root
    unplayed.scalars[Kept.IS_LARGEST_BOUND] = 1.0 if is_largest_bound else 0.0


@rare_kernel
def find_weight(weights, unplayed, arm):
    """Write the largest weight of a context in which the arm is unplayed."""
    largest = -1.0
    for context in range(weights.shape[0]):
        if unplayed.pairs[context, arm]:
            largest = max(largest, weights[context])
            if largest == unplayed.scalars[Kept.LARGEST_WEIGHT]:
                break  # as always if weights are equal
    unplayed.by_arm[OfArm.WEIGHT, arm] = largest


@kernel
def upper_bound(statistics, arm, context, factor):
    """Mean + factor n^(-1/2) of a pair that was played."""
    return (
        statistics.by_pair[ByPair.MEAN, arm, context] + factor * statistics.by_pair[ByPair.INVERSE_ROOT, arm, context]
    )


@kernel
def is_dominated(statistics, arm, context, top):
    """Whether a pair's upper bound is never above that of the arm's pair at `top`, whatever the factor.

    Rounding is monotone, so that holds to the last bit. It is so of most pairs if rewards take few values.
    """
    means, roots = statistics.by_pair[ByPair.MEAN], statistics.by_pair[ByPair.INVERSE_ROOT]
    return means[arm, context] <= means[arm, top] and roots[arm, context] <= roots[arm, top]


@rare_kernel
def find_top(statistics, unplayed, arm, factor):
    """Write the played pair of an arm with the largest upper bound, and the second largest bound; return the largest.

    It is minus infinity if no pair of the arm was played.
    """
    means, roots = statistics.by_pair[ByPair.MEAN], statistics.by_pair[ByPair.INVERSE_ROOT]
    top = -1
    largest = -math.inf
    for context in range(means.shape[1]):
        if roots[arm, context] > 0.0:
            bound = upper_bound(statistics, arm, context, factor)
            if bound > largest or (bound == largest and roots[arm, context] > roots[arm, top]):
                largest = bound
                top = context
    second = -math.inf
    for context in range(means.shape[1]):
        if roots[arm, context] > 0.0 and not is_dominated(statistics, arm, context, top):
            second = max(second, upper_bound(statistics, arm, context, factor))
    unplayed.arm_places[ArmPlace.TOP, arm] = top
    unplayed.by_arm[OfArm.SECOND, arm] = second
    unplayed.by_arm[OfArm.FACTOR, arm] = factor
    return largest


@rare_kernel
def keep_unplayed(statistics, available, weights, factor, unplayed):
    """Find all that is kept by looking at every pair."""
    n_arms, n_contexts = available.shape
    by_arm = unplayed.by_arm
    for scalar in range(unplayed.scalars.shape[0]):
        unplayed.scalars[scalar] = 0.0
    for place in range(unplayed.tries.shape[1]):
        unplayed.tries[Tries.LAST_PAUSE, place] = 0.0
        unplayed.tries[Tries.PAUSE, place] = 0.0
    for context in range(n_contexts):
        unplayed.by_context[OfContext.UNPLAYED, context] = 0
        unplayed.scalars[Kept.LARGEST_WEIGHT] = max(unplayed.scalars[Kept.LARGEST_WEIGHT], weights[context])
        statistics.changed[context] = UNCHANGED
    for arm in range(n_arms):
        size = 0.0
        for context in range(n_contexts):
            is_unplayed = available[arm, context] and statistics.by_pair[ByPair.INVERSE_ROOT, arm, context] == 0.0
            unplayed.pairs[context, arm] = is_unplayed
            unplayed.by_context[OfContext.UNPLAYED, context] += is_unplayed
            unplayed.scalars[Kept.COUNT] += is_unplayed and not statistics.dropped[context]
            size = max(size, abs(statistics.by_pair[ByPair.MEAN, arm, context]))
        by_arm[OfArm.MEAN_SIZE, arm] = size
        find_weight(weights, unplayed, arm)
        find_top(statistics, unplayed, arm, factor)
        for side in range(2):
            by_arm[OfArm.OBJECTIVE_SIZE + side, arm] = math.inf  # looked at when needed
            unplayed.arm_places[ArmPlace.OBJECTIVE_TOP + side, arm] = -1
        unplayed.arm_places[ArmPlace.BY_VALUE, arm] = arm
    unplayed.scalars[Kept.IS_KEPT] = 1.0


@kernel
def note_played(statistics, available, weights, unplayed, arm, context):
    """Take a pair that was played, for the first time or again, into what is kept of its arm."""
    by_arm, arm_places = unplayed.by_arm, unplayed.arm_places
    mean = statistics.by_pair[ByPair.MEAN, arm, context]
    root = statistics.by_pair[ByPair.INVERSE_ROOT, arm, context]
    by_arm[OfArm.MEAN_SIZE, arm] = max(by_arm[OfArm.MEAN_SIZE, arm], abs(mean))
    top = arm_places[ArmPlace.TOP, arm]
    if top < 0:
        arm_places[ArmPlace.TOP, arm] = context
    elif top == context or statistics.changed[top] != UNCHANGED:
        by_arm[OfArm.SECOND, arm] = math.inf  # the pair at the top may not dominate others any more
    elif not is_dominated(statistics, arm, context, top):
        higher, lower = context, top
        factor = by_arm[OfArm.FACTOR, arm]
        if not upper_bound(statistics, arm, context, factor) > upper_bound(statistics, arm, top, factor):
            higher, lower = top, context
        arm_places[ArmPlace.TOP, arm] = higher
        if not is_dominated(statistics, arm, lower, higher):
            bound = upper_bound(statistics, arm, lower, factor)
            by_arm[OfArm.SECOND, arm] = max(by_arm[OfArm.SECOND, arm], bound)
    if not available[arm, context]:
        return
    for side in range(2):
        size = weights[context] * abs(mean + by_arm[OfArm.OBJECTIVE_LEAN + side, arm] * root)
        by_arm[OfArm.OBJECTIVE_SIZE + side, arm] = max(by_arm[OfArm.OBJECTIVE_SIZE + side, arm], size)
    if unplayed.pairs[context, arm]:
        unplayed.pairs[context, arm] = False
        unplayed.by_context[OfContext.UNPLAYED, context] -= 1
        unplayed.by_context[OfContext.STALE, context] = 1
        unplayed.scalars[Kept.COUNT] -= 0.0 if statistics.dropped[context] else 1.0
        if weights[context] >= by_arm[OfArm.WEIGHT, arm]:
            find_weight(weights, unplayed, arm)


@rare_kernel
def largest_upper_bound(statistics, unplayed, factor):
    """The largest mean + factor n^(-1/2) of any pair that was played; 1 before the first reward.

    No bound rises faster than the factor does, so an arm is looked at only when its second largest bound may by now be
    the largest of all.
    """
    by_arm = unplayed.by_arm
    largest = -math.inf
    for arm in range(by_arm.shape[1]):
        top = unplayed.arm_places[ArmPlace.TOP, arm]
        if top >= 0:
            largest = max(largest, upper_bound(statistics, arm, top, factor))
    for arm in range(by_arm.shape[1]):
        reached = by_arm[OfArm.SECOND, arm] + max(factor - by_arm[OfArm.FACTOR, arm], 0.0)
        if reached + ROUNDING * (by_arm[OfArm.MEAN_SIZE, arm] + factor) > largest:
            largest = max(largest, find_top(statistics, unplayed, arm, factor))
    return 1.0 if largest == -math.inf else largest
