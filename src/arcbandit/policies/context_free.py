"""The arithmetic that DOC, SPOC and SGOC share: one mean and one radius for each arm, whatever the context."""

import math

from arcbandit.compilation.compile import kernel, rare_kernel
from arcbandit.kernels.confidence import ByPair
from arcbandit.policies.state import (
    DIALS,
    EXPLORED,
    FELL_BACK,
    NOISE_SCALE,
    OTHER_SCRATCH,
    PLANNED,
    PREVIOUS,
    SCRATCH,
    Rule,
)

# Dials of DOC, SPOC and SGOC.
CONFIDENCE, NOISE_FACTOR = DIALS, DIALS + 1
NEVER_PULLED = -1.0  # stands for the infinite radius
OUT_OF_REACH = 1e-12  # an upper bound this far below its floor, or negative, earns it at no share


@kernel
def write_pooled_estimates(problem, statistics, round_number, means, radii):
    """Write m_k, the mean of all rewards of an arm, and sigma sqrt(6 (1 + c) log t / N_k)."""
    n_arms, n_contexts = problem.available.shape
    settings = problem.settings
    factor = settings[NOISE_SCALE] * settings[NOISE_FACTOR]
    factor *= math.sqrt(6.0 * (1.0 + settings[CONFIDENCE]) * math.log(round_number))
    for arm in range(n_arms):
        pulls = 0.0
        for context in range(n_contexts):
            pulls += statistics.by_pair[ByPair.PULLS, arm, context]
        means[arm] = 0.0
        radii[arm] = NEVER_PULLED
        if pulls > 0.0:
            radii[arm] = factor / math.sqrt(pulls)
            for context in range(n_contexts):
                weight = statistics.by_pair[ByPair.PULLS, arm, context] / pulls
                means[arm] += weight * statistics.by_pair[ByPair.MEAN, arm, context]


@rare_kernel
def write_floor_shares(problem, means, radii, side, shares):
    """Write q = lambda / (m + side * radius); return its sum, infinite if an estimate does not exceed its floor."""
    total = 0.0
    for arm in range(problem.available.shape[0]):
        shares[arm] = 0.0
        floor = problem.floors[arm]
        if floor > 0.0 and radii[arm] != NEVER_PULLED:
            estimate = means[arm] + side * radii[arm]
            if estimate <= floor:
                return math.inf
            shares[arm] = floor / estimate
            total += shares[arm]
    return total


@kernel
def write_proportional_shares(problem, means, radii, shares):
    """Unfeas: write q proportional to lambda / UCB; return its sum, 1 or, if no upper bound is positive, 0."""
    n_arms = problem.available.shape[0]
    total = 0.0
    for arm in range(n_arms):
        shares[arm] = 0.0
        floor = problem.floors[arm]
        upper = means[arm] + radii[arm]
        if floor > 0.0 and radii[arm] != NEVER_PULLED and upper > OUT_OF_REACH * floor:
            shares[arm] = floor / upper
            total += shares[arm]
    if total == 0.0:
        return 0.0
    for arm in range(n_arms):
        shares[arm] /= total
    return 1.0


@kernel
def write_column(problem, means, radii, shares, rest, context, allocation):
    """Write q + rest e_j over the arms available in a context, j of the largest upper bound; return whether planned.

    While some of these arms were never pulled in any context, they alone are played, each as likely.
    """
    n_arms = problem.available.shape[0]
    fresh = 0
    best = -1
    total = 0.0
    for arm in range(n_arms):
        allocation[arm, context] = 0.0
        if problem.available[arm, context]:
            if radii[arm] == NEVER_PULLED:
                fresh += 1
            else:
                allocation[arm, context] = shares[arm]
                total += shares[arm]
                if best < 0 or means[arm] + radii[arm] > means[best] + radii[best]:
                    best = arm
    if fresh > 0:
        for arm in range(n_arms):
            unplayed = problem.available[arm, context] and radii[arm] == NEVER_PULLED
            allocation[arm, context] = 1.0 / fresh if unplayed else 0.0
        return False
    if total + rest <= 0.0:
        rest = 1.0
    allocation[best, context] += rest
    total += rest
    for arm in range(n_arms):
        allocation[arm, context] /= total
    return True


@rare_kernel
def allocate_context_free(rule, problem, statistics, round_number, memory, allocation):
    """Meet the floors by upper bounds (DOC), lower bounds (SPOC) or means (SGOC); play the best arm otherwise.

    SPOC and SGOC turn to upper bounds where their own estimates are infeasible, and all three to Unfeas where these
    are infeasible too. Return how it came about.
    """
    means = memory.by_arm[SCRATCH]
    radii = memory.by_arm[OTHER_SCRATCH]
    shares = memory.by_arm[PREVIOUS]
    write_pooled_estimates(problem, statistics, round_number, means, radii)
    total = math.inf
    if rule == Rule.SPOC:
        total = write_floor_shares(problem, means, radii, -1.0, shares)
    elif rule == Rule.SGOC:
        total = write_floor_shares(problem, means, radii, 0.0, shares)
    if total > 1.0:
        total = write_floor_shares(problem, means, radii, 1.0, shares)
    outcome = PLANNED
    if total > 1.0:
        total = write_proportional_shares(problem, means, radii, shares)
        outcome |= FELL_BACK
    for context in range(allocation.shape[1]):
        if not write_column(problem, means, radii, shares, 1.0 - total, context, allocation):
            outcome |= EXPLORED
    return outcome
