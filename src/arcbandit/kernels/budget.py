"""An exploration budget: the most that pairs not yet known may have together of the traffic of a context.

A pair is known once its count n reaches a number of pulls. Where a context has known pairs and others, the others keep
the shares that a rule gives them if these are within the budget; otherwise all are reduced alike. The rest of the
traffic goes by a second plan, over known pairs alone, in which a context weighs what the others leave of it: its floors
are those that were promised, so that known pairs keep them by themselves.
"""

import enum
from typing import Any, NamedTuple

import numpy as np

from arcbandit.compilation.compile import rare_kernel
from arcbandit.kernels.confidence import ByPair
from arcbandit.kernels.memory import Memory
from arcbandit.kernels.planner import Planner, forget_allocation, forget_orders, measure_soon
from arcbandit.kernels.program import NO_FLOOR


class Limit(enum.IntEnum):
    """Places of Budget.limits."""

    SHARE = 0  # of a context's traffic, for pairs not yet known
    KNOWN_AFTER = 1  # the count from which on a pair is known
    ALL_KNOWN = 2  # 1 once every available pair is known


class Budget(NamedTuple):
    """The limits, and the second plan."""

    limits: np.ndarray  # float64, by Limit
    playable: np.ndarray  # bool, shape (K, C): the pairs of the second plan
    left: np.ndarray  # float64, shape (C,): the probability of a context times the share that is left to known pairs
    floors: np.ndarray  # float64, shape (M,): NO_FLOOR for arms and groups of which no pair is known
    planner: Planner
    memory: Memory  # an empty tuple in its place, unless the rule keeps averages of its plans: the second has its own
    progress: np.ndarray  # int64, as that of a learner
    allocation: np.ndarray  # float64, shape (K, C): the second plan


def make_budget(share: float, known_after: float, planner: Planner, memory: Any, n_rows: int, progress: Any) -> Budget:
    """A budget that has limited nothing yet."""
    shape = planner.coefficients.shape[1:]
    return Budget(
        limits=np.array([share, known_after, 0.0]),
        playable=np.zeros(shape, dtype=np.bool_),
        left=np.zeros(shape[1]),
        floors=np.zeros(n_rows),
        planner=planner,
        memory=memory,
        progress=np.zeros_like(progress),
        allocation=np.zeros(shape),
    )


@rare_kernel
def find_known(statistics, available, forgets, budget):
    """Write which pairs the second plan may use; return whether some context has known pairs and others.

    In a context of which nothing is known, and in one that was dropped, it may use all.
    """
    n_arms, n_contexts = available.shape
    parted = False
    all_known = True
    for context in range(n_contexts):
        known = 0
        others = 0
        for arm in range(n_arms):
            is_known = statistics.by_pair[ByPair.PULLS, arm, context] >= budget.limits[Limit.KNOWN_AFTER]
            budget.playable[arm, context] = available[arm, context] and is_known
            if available[arm, context]:
                known += 1 if is_known else 0
                others += 0 if is_known else 1
        if known == 0 or statistics.dropped[context]:
            for arm in range(n_arms):
                budget.playable[arm, context] = available[arm, context]
        if others > 0 and not statistics.dropped[context]:
            all_known = False
            parted = parted or known > 0
    if all_known and not forgets:
        budget.limits[Limit.ALL_KNOWN] = 1.0
    return parted


@rare_kernel
def share_of_others(allocation, available, playable, context):
    """The share of a context that an allocation gives to pairs which the second plan may not use."""
    total = 0.0
    for arm in range(allocation.shape[0]):
        if available[arm, context] and not playable[arm, context]:
            total += allocation[arm, context]
    return total


@rare_kernel
def exceeds_budget(probabilities, available, allocation, budget):
    """Write what is left of each context for known pairs; return whether an allocation goes beyond the budget."""
    beyond = False
    for context in range(allocation.shape[1]):
        others = share_of_others(allocation, available, budget.playable, context)
        beyond = beyond or others > budget.limits[Limit.SHARE]
        budget.left[context] = probabilities[context] * (1.0 - min(others, budget.limits[Limit.SHARE]))
    return beyond


@rare_kernel
def prepare_second_plan(statistics, problem, budget):
    """Write the floors of the second plan, and let its planner take up nothing but its basis.

    What it kept besides may be out of date: not every round asks it, and each asks for other pairs and weights.
    """
    for row in range(budget.floors.shape[0]):
        budget.floors[row] = NO_FLOOR
    for arm in range(problem.available.shape[0]):
        known = False
        for context in range(problem.available.shape[1]):
            pulls = statistics.by_pair[ByPair.PULLS, arm, context]
            is_known = problem.available[arm, context] and pulls >= budget.limits[Limit.KNOWN_AFTER]
            known = known or (is_known and not statistics.dropped[context])
        for place in range(problem.arm_rows.shape[1] if known else 0):
            row = problem.arm_rows[arm, place] - 1
            if row >= 0:
                budget.floors[row] = problem.floors[row]
    forget_allocation(budget.planner)
    forget_orders(budget.planner, budget.planner.soft)
    measure_soon(budget.planner)
    for place in range(budget.progress.shape[0]):
        budget.progress[place] = 0


@rare_kernel
def write_within_budget(available, budget, allocation):
    """Reduce the shares of pairs that are not yet known to the budget, and give the rest by the second plan."""
    n_arms, n_contexts = allocation.shape
    for context in range(n_contexts):
        others = share_of_others(allocation, available, budget.playable, context)
        allowed = min(others, budget.limits[Limit.SHARE])
        for arm in range(n_arms):
            if budget.playable[arm, context]:
                allocation[arm, context] = (1.0 - allowed) * budget.allocation[arm, context]
            elif others > 0.0:
                # In this order a single pair gets the budget to the last bit.
                allocation[arm, context] = allocation[arm, context] / others * allowed
