"""The rule behind OLP, OPLP, BLP and Greedy: plan with bounds whose side is set by two dials."""

from typing import ClassVar

from arcbandit.compilation.compile import kernel, rare_kernel
from arcbandit.kernels.confidence import (
    ByPair,
    bounds_for_unplayed,
    every_pair_played,
    explore_unplayed,
    radius_factor,
    stand_in_for_unplayed,
)
from arcbandit.kernels.planning import find_plan
from arcbandit.kernels.program import SOMEBODY, Basis, Count, PlanStatus, Program
from arcbandit.policies.base import Policy
from arcbandit.policies.checks import Dial
from arcbandit.policies.state import (
    ALL_PLAYED,
    DIALS,
    ESTIMATE_CONTEXTS,
    EXPLORED,
    FALLBACK,
    FELL_BACK,
    FELL_SHORT,
    MEANS,
    NOISE_SCALE,
    OBJECTIVE_LEAN,
    OWN,
    PLANNED,
    REVENUE,
    REVENUE_LEAN,
    REWARD_HIGH,
    REWARD_LOW,
    ROOTS,
    STOOD_STILL,
    Rule,
)
from arcbandit.policies.thompson_lp import REDRAWS, SHARE, write_draws

# Plans between two measurements of the scales of rows: rarely enough to cost a round no more than this many pairs.
MEASURE_EVERY = 64
PAIRS_A_ROUND = 16
LEAST_REACH = 1e-150  # a reward may be divided by it
# Places of the dials.
OPTIMISM, CAUTION = DIALS, DIALS + 1


@rare_kernel
def play_alike(available, allocation):
    """Write an allocation in which the arms of each context are equally likely."""
    n_arms, n_contexts = available.shape
    for context in range(n_contexts):
        count = 0
        for arm in range(n_arms):
            count += 1 if available[arm, context] else 0
        for arm in range(n_arms):
            allocation[arm, context] = 1.0 / count if available[arm, context] else 0.0


@kernel
def prepare_coefficients(rule, problem, statistics, round_number, decision_number, attempt, own, seed, epoch, memory):
    """Set the leans of this attempt and, where the means and n^(-1/2) do not say it all, write the coefficients.

    Return whether they do: once every pair was played, if nothing is drawn.
    """
    settings = problem.settings
    noise_scale = settings[NOISE_SCALE]
    factor = radius_factor(problem.available.size, round_number, noise_scale)
    optimism = settings[OPTIMISM] if own else 1.0
    caution = settings[CAUTION] if own else 1.0
    drawn = own and rule == Rule.THOMPSON_LP
    if memory.scalars[ALL_PLAYED] != 0.0 and not drawn:
        memory.scalars[OBJECTIVE_LEAN] = optimism * factor
        memory.scalars[REVENUE_LEAN] = caution * factor
        return True
    low, high = bounds_for_unplayed(statistics, problem.available, factor, settings[REWARD_LOW], settings[REWARD_HIGH])
    if drawn:
        memory.scalars[OBJECTIVE_LEAN] = 0.0
        memory.scalars[REVENUE_LEAN] = 0.0
        write_draws(
            problem, statistics, noise_scale, settings[SHARE], high, decision_number, attempt, seed, epoch, memory
        )
        return False
    # So many roots on either side of the middle are the bounds that stand for infinite ones.
    reach = max(factor, LEAST_REACH)
    memory.scalars[OBJECTIVE_LEAN] = optimism * reach
    memory.scalars[REVENUE_LEAN] = caution * reach
    root = 0.5 * (high - low) / reach
    stand_in_for_unplayed(statistics, 0.5 * (low + high), root, memory.matrices[MEANS], memory.matrices[ROOTS])
    return False


@kernel
def plan_with_bounds(
    rule, problem, statistics, round_number, decision_number, seed, epoch, memory, workspace, allocation
):
    """Write the plan of the rule's own problem, or of LP(UCB, UCB) where that is infeasible; return how it came about.

    When LP(UCB, UCB) is infeasible as well, the plan is the one of least shortfall. Columns of contexts with arms
    never played are uniform over these.
    """
    settings = problem.settings
    if memory.scalars[ALL_PLAYED] == 0.0 and every_pair_played(statistics, problem.available):
        memory.scalars[ALL_PLAYED] = 1.0
    attempts = 1
    if rule == Rule.THOMPSON_LP:
        attempts = 1 + int(settings[REDRAWS])
    elif settings[OPTIMISM] == 1.0 and settings[CAUTION] == 1.0:
        attempts = 0  # the rule's own problem is LP(UCB, UCB)
    if settings[ESTIMATE_CONTEXTS] != 0.0:
        workspace.counts[Count.KEYS_KEPT] = 0  # the weights of all contexts have moved
    workspace.counts[Count.SCALES_AGE] += 1
    if workspace.counts[Count.SCALES_AGE] == MEASURE_EVERY + problem.available.size // PAIRS_A_ROUND:
        workspace.counts[Count.SCALES_AGE] = 0
    outcome = PLANNED
    for attempt in range(attempts + 1):
        own = attempt < attempts
        place = OWN if own or attempts == 0 else FALLBACK
        known = prepare_coefficients(
            rule, problem, statistics, round_number, decision_number, attempt, own, seed, epoch, memory
        )
        objective = memory.matrices[MEANS]
        revenue = memory.matrices[REVENUE if own and rule == Rule.THOMPSON_LP else MEANS]
        root = memory.matrices[ROOTS]
        owner = 0
        if known:
            objective = statistics.by_pair[ByPair.MEAN]
            revenue = statistics.by_pair[ByPair.MEAN]
            root = statistics.by_pair[ByPair.INVERSE_ROOT]
            owner = 1 + SOMEBODY + place
        program = Program(
            objective,
            revenue,
            root,
            memory.scalars,
            problem.context_probabilities,
            statistics.changed,
            problem.available,
            problem.floors,
            problem.arm_rows,
        )
        basis = Basis(memory.key[place], memory.slot_arm[place], memory.slot_context[place])
        status = find_plan(program, basis, not own, owner, workspace, allocation)
        if not own and attempts > 0:
            outcome |= FELL_BACK
        if status == PlanStatus.OPTIMAL:
            break
        if not own:
            if status == PlanStatus.INFEASIBLE:
                outcome |= FELL_SHORT
            else:
                outcome |= STOOD_STILL
                play_alike(problem.available, allocation)
    if memory.scalars[ALL_PLAYED] == 0.0:
        explore_unplayed(statistics, problem.available, allocation)
        outcome |= EXPLORED
    return outcome


class LinearProgramRule(Policy):
    """Plan each round with objective mean + optimism * radius and constraints mean + caution * radius.

    OLP is (1, 1) and OPLP (1, -1) [benyahmed2025], Greedy (0, 0) and BLP (1, 0). A caution between -1 and 1 moves along
    the frontier between violation of the floors (caution 1) and regret (caution -1). Where the plan is infeasible
    LP(UCB, UCB) takes its place, and where that is infeasible too, the plan that falls short of the floors least.

    >>> policy = LinearProgramRule([0.1, 0.1], [0.5, 0.5], optimism=1, caution=-0.5, seed=1)
    >>> for round_number in range(200):
    ...     context = round_number % 2
    ...     decision = policy.decide(context)
    ...     policy.update(context, decision.arm, 1.0 if decision.arm == context else 0.5)
    >>> policy.allocation().round(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    name = "linear-program"
    rule = Rule.LINEAR_PROGRAM
    dials: ClassVar[tuple[Dial, ...]] = (
        Dial("optimism", 1.0, "radii added to the means in the objective", low=-10.0, high=10.0),
        Dial("caution", 0.0, "radii added to the means in the floors: -1 is cautious, 1 hopeful", low=-10.0, high=10.0),
    )
