"""The rule behind OLP, OPLP, BLP and Greedy: plan with bounds whose side is set by two dials."""

from typing import ClassVar

from arcbandit.kernels.compile import kernel
from arcbandit.kernels.confidence import (
    bounds_for_unplayed,
    explore_unplayed,
    radius_factor,
    write_weighted_bounds,
)
from arcbandit.kernels.planning import plan
from arcbandit.kernels.program import Basis, PlanStatus, Program
from arcbandit.policies.base import Dial, Policy
from arcbandit.policies.state import (
    DIALS,
    EXPLORED,
    FALLBACK,
    FELL_BACK,
    FELL_SHORT,
    NOISE_SCALE,
    OBJECTIVE,
    OWN,
    PLANNED,
    REVENUE,
    REWARD_HIGH,
    REWARD_LOW,
    STOOD_STILL,
    Rule,
)
from arcbandit.policies.thompson_lp import REDRAWS, SHARE, write_draws

# Places of the dials.
OPTIMISM, CAUTION = DIALS, DIALS + 1


@kernel
def write_coefficients(rule, problem, statistics, round_number, attempt, own, seed, epoch, memory):
    """Write p mu_obj and p mu_cons of this attempt into the memory's matrices."""
    settings = problem.settings
    probabilities = problem.context_probabilities
    available = problem.available
    noise_scale = settings[NOISE_SCALE]
    factor = radius_factor(available.size, round_number, noise_scale)
    low, high = bounds_for_unplayed(statistics, available, factor, settings[REWARD_LOW], settings[REWARD_HIGH])
    if own and rule == Rule.THOMPSON_LP:
        write_draws(problem, statistics, noise_scale, settings[SHARE], high, round_number, attempt, seed, epoch, memory)
        return
    for row in range(2):
        dial = 1.0
        if own:
            dial = settings[OPTIMISM] if row == OBJECTIVE else settings[CAUTION]
        write_weighted_bounds(statistics, probabilities, available, factor, dial, low, high, memory.matrices[row])


@kernel
def plan_with_bounds(rule, problem, statistics, round_number, seed, epoch, memory, workspace, allocation):
    """Write the plan of the rule's own problem, or of LP(UCB, UCB) where that is infeasible; return how it came about.

    When LP(UCB, UCB) is infeasible as well, the plan is the one of least shortfall. Columns of contexts with arms
    never played are uniform over these.
    """
    settings = problem.settings
    attempts = 1
    if rule == Rule.THOMPSON_LP:
        attempts = 1 + int(settings[REDRAWS])
    elif settings[OPTIMISM] == 1.0 and settings[CAUTION] == 1.0:
        attempts = 0  # the rule's own problem is LP(UCB, UCB)
    outcome = PLANNED
    for attempt in range(attempts + 1):
        own = attempt < attempts
        write_coefficients(rule, problem, statistics, round_number, attempt, own, seed, epoch, memory)
        place = OWN if own or attempts == 0 else FALLBACK
        program = Program(
            memory.matrices[OBJECTIVE],
            memory.matrices[REVENUE],
            problem.available,
            problem.floors,
            problem.arm_rows,
        )
        basis = Basis(memory.key[place], memory.slot_arm[place], memory.slot_context[place])
        status = plan(program, basis, not own, workspace, allocation)
        if not own and attempts > 0:
            outcome |= FELL_BACK
        if status == PlanStatus.OPTIMAL:
            break
        if not own:
            if status == PlanStatus.INFEASIBLE:
                outcome |= FELL_SHORT
            else:
                outcome |= STOOD_STILL
    if explore_unplayed(statistics, problem.available, allocation) > 0:
        outcome |= EXPLORED
    return outcome


class LinearProgramRule(Policy):
    """Plan each round with objective mean + optimism * radius and constraints mean + caution * radius.

    OLP is (1, 1), OPLP (1, -1), Greedy (0, 0) and BLP (1, 0). A caution between -1 and 1 moves along the frontier
    between violation of the floors (caution 1) and regret (caution -1). Where the plan is infeasible LP(UCB, UCB)
    takes its place, and where that is infeasible too, the plan that falls short of the floors least.

    >>> policy = LinearProgramRule([0.1, 0.1], [0.5, 0.5], optimism=1, caution=-0.5, seed=1)
    >>> for round_number in range(200):
    ...     context = round_number % 2
    ...     decision = policy.decide(context)
    ...     policy.update(context, decision.arm, 1.0 if decision.arm == context else 0.5)
    >>> int(policy.pulls().sum())
    200
    """

    name = "linear-program"
    rule = Rule.LINEAR_PROGRAM
    dials: ClassVar[tuple[Dial, ...]] = (
        Dial("optimism", 1.0, "radii added to the means in the objective", low=-10.0, high=10.0),
        Dial("caution", 0.0, "radii added to the means in the floors: -1 is cautious, 1 hopeful", low=-10.0, high=10.0),
    )
