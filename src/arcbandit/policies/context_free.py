"""The rule behind DOC, SPOC and SGOC: one mean and one radius per arm, whatever the context."""

import enum
import math
from typing import ClassVar

from arcbandit.compilation.compile import kernel, rare_kernel
from arcbandit.kernels.confidence import ByPair
from arcbandit.policies.base import Policy
from arcbandit.policies.dials import Dial
from arcbandit.policies.learner import Outcome, Rows

NEVER_PULLED = -1.0  # stands for the infinite radius
OUT_OF_REACH = 1e-12  # relative to a floor: no share of a bound this small earns the floor

# What is scaled down to 1 if no bounds are feasible: the rule's own shares, or those of upper bounds.
SHARES = ("own", "ucb")
OWN = SHARES.index("own")


class ArmScratch(enum.IntEnum):
    """What is computed per arm."""

    MEANS = 0
    RADII = 1
    SHARES = 2


@kernel
def write_pooled_estimates(learner, t, means, radii):
    """Write m_k, the mean of all rewards of an arm, and sigma sqrt(6 (1 + c) log t / N_k)."""
    n_arms, n_contexts = learner.allocation.shape
    by_pair = learner.statistics.by_pair
    dials = learner.dials[0]
    factor = learner.settings[0].noise_scale * dials.noise_factor
    factor *= math.sqrt(6.0 * (1.0 + dials.confidence) * math.log(t))
    for arm in range(n_arms):
        pulls = 0.0
        for context in range(n_contexts):
            pulls += by_pair[ByPair.PULLS, arm, context]
        means[arm] = 0.0
        radii[arm] = NEVER_PULLED
        if pulls > 0.0:
            radii[arm] = factor / math.sqrt(pulls)
            for context in range(n_contexts):
                weight = by_pair[ByPair.PULLS, arm, context] / pulls
                means[arm] += weight * by_pair[ByPair.MEAN, arm, context]


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


@rare_kernel
def own_shares_exist(problem, means, radii, side):
    """Whether every arm with a floor has a positive estimate to divide its floor by."""
    for arm in range(problem.available.shape[0]):
        floor = problem.floors[arm]
        if floor > 0.0 and radii[arm] != NEVER_PULLED and means[arm] + side * radii[arm] <= OUT_OF_REACH * floor:
            return False
    return True


@kernel
def write_proportional_shares(problem, means, radii, side, shares):
    """Unfeas: write q proportional to lambda / (m + side * radius); return its sum: 1, or 0 if no bound is positive."""
    n_arms = problem.available.shape[0]
    total = 0.0
    for arm in range(n_arms):
        shares[arm] = 0.0
        floor = problem.floors[arm]
        estimate = means[arm] + side * radii[arm]
        if floor > 0.0 and radii[arm] != NEVER_PULLED and estimate > OUT_OF_REACH * floor:
            shares[arm] = floor / estimate
            total += shares[arm]
    if total == 0.0:
        return 0.0
    for arm in range(n_arms):
        shares[arm] /= total
    return 1.0


@kernel
def write_column(problem, means, radii, shares, rest, context, allocation):
    """Write q + rest e_j over the arms available in a context, where j has the largest upper bound.

    Arms that were never pulled in any context are played first, all equally likely. Return whether there were none.
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


@kernel
def allocate(learner, context, t, stream):
    """Meet the floors by the bounds of the rule's side, and play the best arm otherwise; return an Outcome.

    If these bounds are infeasible, upper bounds are used, and if those are infeasible too, Unfeas: the shares of the
    rule's side, or of upper bounds, scaled down to 1.
    """
    problem = learner.problem
    means = learner.memory.scratch_by_arm[ArmScratch.MEANS]
    radii = learner.memory.scratch_by_arm[ArmScratch.RADII]
    shares = learner.memory.scratch_by_arm[ArmScratch.SHARES]
    write_pooled_estimates(learner, t, means, radii)
    dials = learner.dials[0]
    total = write_floor_shares(problem, means, radii, dials.side, shares)
    if total > 1.0:
        total = write_floor_shares(problem, means, radii, 1.0, shares)
    outcome = Outcome.PLANNED.value
    if total > 1.0:
        side = 1.0
        if dials.shares == OWN and own_shares_exist(problem, means, radii, dials.side):
            side = dials.side
        total = write_proportional_shares(problem, means, radii, side, shares)
        outcome |= Outcome.FELL_BACK
    for column in range(learner.allocation.shape[1]):
        if not write_column(problem, means, radii, shares, 1.0 - total, column, learner.allocation):
            outcome |= Outcome.EXPLORED
    return outcome


class ContextFreeRule(Policy):
    """Shares that ignore contexts, by upper bounds (side 1), means (0) or lower bounds (-1) [baudry2024]."""

    reference = "baudry2024"
    allocate = staticmethod(allocate)
    rows = Rows(scratch_by_arm=ArmScratch)
    dials: ClassVar[tuple[Dial, ...]] = (
        Dial("confidence", 0.01, "c of the radius sigma sqrt(6 (1 + c) log t / N)", low=0.0),
        Dial("noise_factor", 1.0, "spread of an arm's rewards pooled over contexts, in units of sigma", low=0.0),
    )
    supports_group_floors = False


SHARES_DIAL = Dial(
    "shares",
    "own",
    "what is scaled down to 1 if the floors are out of reach: the rule's own shares, or lambda / UCB",
    choices=SHARES,
    since=2,
    before="ucb",
)
