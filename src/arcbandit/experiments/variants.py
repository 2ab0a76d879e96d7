"""Two variants of OPLP for the experiment on runs that are stuck: with the printed row for a floor of zero, and repaired.

Neither is offered as a policy: a floor of zero has no row in this library, and the repair is one of several.
"""

import math
from typing import ClassVar

from arcbandit.kernels.planner import forget_allocation
from arcbandit.policies.linear_program import LinearProgramRule
from arcbandit.policies.linear_program import allocate as plan_by_dials
from arcbandit.rules import NO_FLOOR, ByPair, Dial, Outcome, kernel


@kernel
def allocate_with_zero_rows(learner, context, t, stream):
    """OPLP with the row LCB_k w_k >= 0 for an arm whose floor is zero, as in the paper's linear program."""
    floors = learner.problem.floors
    for row in range(floors.shape[0]):
        if floors[row] == NO_FLOOR:
            floors[row] = 0.0
    return plan_by_dials(learner, context, t, stream)


class OPLPWithZeroRows(LinearProgramRule):
    """OPLP as printed, also where a floor is zero."""

    name = "oplp-with-zero-rows"
    allocate = staticmethod(allocate_with_zero_rows)
    dials = ()
    preset: ClassVar = {"optimism": 1.0, "caution": -1.0}


@kernel
def allocate_with_count_floor(learner, context, t, stream):
    """OPLP's plan; but in contexts with arms played fewer than share * log(1 + t)^2 times, one of these is played."""
    outcome = plan_by_dials(learner, context, t, stream)
    n_arms, n_contexts = learner.allocation.shape
    least = learner.dials[0].share * math.log(1.0 + t) ** 2
    pulls = learner.statistics.by_pair[ByPair.PULLS]
    for column in range(n_contexts):
        few = 0
        for arm in range(n_arms):
            if learner.problem.available[arm, column] and pulls[arm, column] < least:
                few += 1
        if few > 0:
            outcome |= Outcome.EXPLORED
            forget_allocation(learner.planner)
            for arm in range(n_arms):
                chosen = learner.problem.available[arm, column] and pulls[arm, column] < least
                learner.allocation[arm, column] = 1.0 / few if chosen else 0.0
    return outcome


class OPLPWithCountFloor(LinearProgramRule):
    """OPLP that plays every pair about log(t)^2 times, whatever its estimate."""

    name = "oplp-with-count-floor"
    allocate = staticmethod(allocate_with_count_floor)
    dials: ClassVar[tuple[Dial, ...]] = (Dial("share", 0.05, "plays of each pair, in units of log(1 + t)^2", low=0.0),)
    preset: ClassVar = {"optimism": 1.0, "caution": -1.0}
