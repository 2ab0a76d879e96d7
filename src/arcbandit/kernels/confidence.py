"""Confidence bounds of the mean rewards, and how observations enter the statistics."""

import enum
import math
from typing import NamedTuple

import numpy as np

from arcbandit.compilation.compile import kernel, rare_kernel
from arcbandit.kernels.marks import make_marks, mark_pair


class ByPair(enum.IntEnum):
    """Rows of Statistics.by_pair."""

    PULLS = 0  # n
    MEAN = 1
    INVERSE_ROOT = 2  # n^(-1/2), 0 for a pair never played


class Statistics(NamedTuple):
    """What was seen so far."""

    by_pair: np.ndarray  # float64, shape (3, K, C): pulls n, mean reward, n^(-1/2) (0 for a pair never played)
    context_counts: np.ndarray  # float64, shape (C,)
    changed: np.ndarray  # uint8, shape (C,): which pair changed since the planner last looked, as in `marks`
    dropped: np.ndarray  # bool, shape (C,): whether nothing is decided there any more, so nothing is to be explored


def make_statistics(n_arms: int, n_contexts: int) -> Statistics:
    """Nothing seen yet."""
    # np.zeros would not write: memory never written is one page of zeros under many addresses, which some processors
    # read twenty times slower.
    by_pair = np.full((len(ByPair), n_arms, n_contexts), 0.0)
    return Statistics(
        by_pair,
        context_counts=np.zeros(n_contexts),
        changed=make_marks(n_contexts),
        dropped=np.zeros(n_contexts, dtype=np.bool_),
    )


@kernel
def record_reward(statistics, arm, context, reward):
    """Take one reward into the mean of its pair."""
    pulls = statistics.by_pair[ByPair.PULLS, arm, context] + 1.0
    mean = statistics.by_pair[ByPair.MEAN, arm, context]
    statistics.by_pair[ByPair.PULLS, arm, context] = pulls
    statistics.by_pair[ByPair.MEAN, arm, context] = mean + (reward - mean) / pulls
    statistics.by_pair[ByPair.INVERSE_ROOT, arm, context] = 1.0 / math.sqrt(pulls)
    mark_pair(statistics.changed, arm, context)


@kernel
def radius_factor(n_pairs, round_number, noise_scale):
    """epsilon_{k,c}(t) of Eq. (2) with delta = 1/t, times the square root of n_{k,c}(t - 1)."""
    return noise_scale * math.sqrt(2.0 * math.log(2.0 * n_pairs * round_number))


@rare_kernel
def bounds_for_unplayed(statistics, available, factor):
    """Bounds (low, high) that stand for the infinite ones of a pair never played, if those of rewards are not known.

    The largest upper bound of any pair that was played, and minus that; 1 before the first reward.
    """
    n_arms, n_contexts = available.shape
    largest = -math.inf
    for arm in range(n_arms):
        for context in range(n_contexts):
            if statistics.by_pair[ByPair.PULLS, arm, context] > 0.0:
                root = statistics.by_pair[ByPair.INVERSE_ROOT, arm, context]
                bound = statistics.by_pair[ByPair.MEAN, arm, context] + factor * root
                largest = max(largest, bound)
    if largest == -math.inf:
        largest = 1.0
    return -largest, largest


@rare_kernel
def stand_in_for_unplayed(statistics, middle, root, means, roots):
    """Write means and n^(-1/2), shape (K, C) each, and for a pair never played `middle` and `root`."""
    n_arms, n_contexts = means.shape
    for arm in range(n_arms):
        for context in range(n_contexts):
            played = statistics.by_pair[ByPair.PULLS, arm, context] > 0.0
            means[arm, context] = statistics.by_pair[ByPair.MEAN, arm, context] if played else middle
            roots[arm, context] = statistics.by_pair[ByPair.INVERSE_ROOT, arm, context] if played else root


@rare_kernel
def explore_unplayed(statistics, available, allocation):
    """In each context with arms never played there, play one of these at random.

    Return in how many contexts, those not counted that were dropped.
    """
    n_arms, n_contexts = available.shape
    touched = 0
    for context in range(n_contexts):
        fresh = 0
        for arm in range(n_arms):
            if available[arm, context] and statistics.by_pair[ByPair.PULLS, arm, context] == 0.0:
                fresh += 1
        if fresh > 0:
            touched += 0 if statistics.dropped[context] else 1
            for arm in range(n_arms):
                unplayed = available[arm, context] and statistics.by_pair[ByPair.PULLS, arm, context] == 0.0
                allocation[arm, context] = 1.0 / fresh if unplayed else 0.0
    return touched


@rare_kernel
def every_pair_played(statistics, available):
    """Whether no available pair is still to be played for the first time."""
    n_arms, n_contexts = available.shape
    for arm in range(n_arms):
        for context in range(n_contexts):
            unplayed = available[arm, context] and statistics.by_pair[ByPair.PULLS, arm, context] == 0.0
            if unplayed and not statistics.dropped[context]:
                return False
    return True


@rare_kernel
def is_unplayed_everywhere(statistics, available):
    """Whether every context has an available arm that was never played there."""
    n_arms, n_contexts = available.shape
    for context in range(n_contexts):
        arm = 0
        while arm < n_arms and not (available[arm, context] and statistics.by_pair[ByPair.PULLS, arm, context] == 0.0):
            arm += 1
        if arm == n_arms:
            return False
    return True
