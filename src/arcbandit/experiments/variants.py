"""Variants of OLP and OPLP for single experiments, which are not offered as policies.

OPLP with the printed row for a floor of zero, which has none in this library; OPLP with a repair, one of several; and
both rules with the radii of a linear bandit.
"""

import math
from typing import TYPE_CHECKING, ClassVar, Unpack

from arcbandit.kernels.planner import forget_allocation
from arcbandit.policies.linear_program import LinearProgramRule
from arcbandit.policies.linear_program import allocate as plan_by_dials
from arcbandit.rules import (
    NO_FLOOR,
    ByPair,
    Dial,
    Outcome,
    Place,
    PlanStatus,
    begin_planning,
    explore,
    kernel,
    outcome_of_fallback,
    plan_with_bounds,
)

if TYPE_CHECKING:
    from arcbandit.policies.settings import Settings


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

    if TYPE_CHECKING:

        def __init__(self, *, share: float = 0.05, **settings: Unpack[Settings]) -> None: ...


@kernel
def self_normalised_factor(learner, t):
    """The radius of a linear bandit with one feature per pair, in units of the paper's radius.

    The self-normalised bound of level 1/t, for features that are unit vectors and a ridge of 1, is, up to the ridge,
    sigma sqrt((2 log t + sum of log(1 + n)) / n); the paper's radius is sigma sqrt(2 log(2 kappa t) / n).
    """
    n_arms, n_contexts = learner.allocation.shape
    pulls = learner.statistics.by_pair[ByPair.PULLS]
    total = 2.0 * math.log(t)
    for arm in range(n_arms):
        for context in range(n_contexts):
            total += math.log1p(pulls[arm, context])
    return math.sqrt(total / (2.0 * math.log(2.0 * pulls.size * t)))


@kernel
def allocate_self_normalised(learner, context, t, stream):
    """OLP's or OPLP's plan with the radii of a linear bandit."""
    begin_planning(learner)
    dials = learner.dials[0]
    factor = self_normalised_factor(learner, t)
    outcome = Outcome.PLANNED.value
    status = plan_with_bounds(learner, t, Place.OWN.value, factor, dials.caution * factor, dials.caution == 1.0)
    if dials.caution == 1.0:
        outcome |= outcome_of_fallback(learner, status)
    elif status != PlanStatus.OPTIMAL:
        status = plan_with_bounds(learner, t, Place.FALLBACK.value, factor, factor, True)
        outcome |= Outcome.FELL_BACK.value | outcome_of_fallback(learner, status)
    return outcome | explore(learner)


class SelfNormalisedOLP(LinearProgramRule):
    """OLP with the radii of a linear bandit."""

    name = "self-normalised-olp"
    allocate = staticmethod(allocate_self_normalised)
    dials = ()
    preset: ClassVar = {"caution": 1.0}


class SelfNormalisedOPLP(LinearProgramRule):
    """OPLP with the radii of a linear bandit."""

    name = "self-normalised-oplp"
    allocate = staticmethod(allocate_self_normalised)
    dials = ()
    preset: ClassVar = {"caution": -1.0}
