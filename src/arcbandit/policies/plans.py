"""What rules that plan have in common: from statistics to coefficients, and from these to a plan.

A rule calls `begin_planning`; then `plan_with_bounds`, or `plan_as_written` after writing its own coefficients, until
one is feasible; then `outcome_of_fallback` with the status of the last one; and finally `explore`.
"""

from arcbandit.compilation.compile import kernel, rare_kernel
from arcbandit.kernels.confidence import (
    ByPair,
    bounds_for_unplayed,
    every_pair_played,
    explore_unplayed,
    is_unplayed_everywhere,
    radius_factor,
    stand_in_for_unplayed,
)
from arcbandit.kernels.exploring import plan_exploring, sits_out, take_in_changes
from arcbandit.kernels.planner import (
    Coefficient,
    basis_of,
    begin_plan,
    forget_basis,
    plan_again,
    prove_again,
    set_leans,
)
from arcbandit.kernels.program import Lean, PlanStatus, Program
from arcbandit.kernels.same_share import falls_short_least, share_if_infeasible
from arcbandit.kernels.starts import LARGE_PROBLEM
from arcbandit.kernels.unplayed import (
    forget_coefficients,
    forget_plan,
    is_kept,
    is_written,
    keep_unplayed,
    largest_upper_bound,
    set_stand_ins,
)
from arcbandit.policies.learner import Outcome, Progress

LEAST_REACH = 1e-150  # small, but rewards can be divided by it


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


@rare_kernel
def is_all_played(learner, unplayed):
    """Whether every pair was played by now; what is kept of unplayed pairs is brought up to date with the rewards."""
    statistics, problem, planner = learner.statistics, learner.problem, learner.planner
    if len(unplayed) == 0 or not is_kept(unplayed):
        return every_pair_played(statistics, problem.available)
    return take_in_changes(
        statistics, problem.available, problem.context_probabilities, planner.coefficients, unplayed, planner.workspace
    )


@rare_kernel
def have_all_that_come(learner):
    """Whether every pair was played but for those of contexts with a probability of 0, which may never come."""
    by_pair, available = learner.statistics.by_pair, learner.problem.available
    n_arms, n_contexts = available.shape
    for context in range(n_contexts):
        if learner.problem.context_probabilities[context] > 0.0:
            for arm in range(n_arms):
                if available[arm, context] and by_pair[ByPair.PULLS, arm, context] == 0.0:
                    return False
    return True


@kernel
def begin_planning(learner):
    """Note whether every pair was played by now, and let the planner count the round."""
    progress = learner.progress
    if progress[Progress.ALL_PLAYED] == 0 and is_all_played(learner, learner.planner.unplayed):
        progress[Progress.ALL_PLAYED] = 1
    begin_plan(learner.planner, learner.problem.available.size, learner.settings[0].estimate_contexts != 0.0)


@kernel
def reward_bounds(learner, factor):
    """Bounds (low, high) that replace the infinite ones of a pair never played: as given, or guessed.

    `factor` is the radius of a pair played once.
    """
    settings = learner.settings[0]
    if settings.has_reward_bounds != 0.0:
        return settings.reward_low, settings.reward_high
    return bounds_for_unplayed(learner.statistics, learner.problem.available, factor)


@kernel
def prepare_bounds(learner, t, optimism, caution):
    """Set the leans and, while some pair was never played, write means and roots with finite bounds for such pairs.

    Return whether the statistics themselves are the coefficients.
    """
    planner = learner.planner
    factor = radius_factor(learner.problem.available.size, t, learner.settings[0].noise_scale)
    if learner.progress[Progress.ALL_PLAYED] != 0:
        set_leans(planner, optimism * factor, caution * factor)
        return True
    low, high = reward_bounds(learner, factor)
    # Middle plus or minus root times reach are the finite bounds of a pair never played.
    reach = max(factor, LEAST_REACH)
    set_leans(planner, optimism * reach, caution * reach)
    root = 0.5 * (high - low) / reach
    stand_in_for_unplayed(
        learner.statistics,
        0.5 * (low + high),
        root,
        planner.coefficients[Coefficient.OBJECTIVE],
        planner.coefficients[Coefficient.REVENUE_OR_ROOT],
    )
    return False


@kernel
def program_of(learner, objective, revenue, root):
    """The program of a learner with these matrices."""
    problem = learner.problem
    return Program(
        objective,
        revenue,
        root,
        learner.planner.lean,
        problem.context_probabilities,
        learner.statistics.changed,
        problem.available,
        problem.floors,
        problem.arm_rows,
    )


@kernel
def plan_prepared(learner, place, known, written, least_shortfall):
    """Plan with the statistics as coefficients if `known`, otherwise with those of the planner; return a PlanStatus.

    These are an objective and a revenue if `written`, otherwise means and roots. With `least_shortfall`, there is a
    plan even if it is infeasible: the one of least shortfall, or of the same share if the planner shares floors out.
    """
    planner = learner.planner
    objective = planner.coefficients[Coefficient.OBJECTIVE]
    revenue = planner.coefficients[Coefficient.REVENUE_OR_ROOT if written else Coefficient.OBJECTIVE]
    root = planner.coefficients[Coefficient.REVENUE_OR_ROOT]
    if known:
        objective = learner.statistics.by_pair[ByPair.MEAN]
        revenue = learner.statistics.by_pair[ByPair.MEAN]
        root = learner.statistics.by_pair[ByPair.INVERSE_ROOT]
    program = program_of(learner, objective, revenue, root)
    if not least_shortfall and prove_again(planner, program, place):
        return PlanStatus.INFEASIBLE
    if not known:
        forget_plan(planner.unplayed)
    if written:
        forget_coefficients(planner.unplayed)
    least = falls_short_least(least_shortfall, planner.shared)
    status = plan_again(planner, program, place, known, least, learner.allocation)
    if not least_shortfall and status == PlanStatus.INFEASIBLE:
        forget_basis(planner, program, place)
    return share_if_infeasible(status, program, planner, place, planner.shared, least_shortfall, learner.allocation)


@rare_kernel
def plan_from_kept(learner, unplayed, t, place, optimism, caution):
    """`plan_with_bounds` and `explore` in one, from what is kept of unplayed pairs; return whether that was possible.

    The plan is the same, to the last bit.
    """
    if len(unplayed) == 0:
        return False
    settings, statistics, problem, planner = learner.settings[0], learner.statistics, learner.problem, learner.planner
    if sits_out(place, unplayed):
        return False
    factor = radius_factor(problem.available.size, t, settings.noise_scale)
    means, roots = planner.coefficients[Coefficient.OBJECTIVE], planner.coefficients[Coefficient.REVENUE_OR_ROOT]
    if not is_kept(unplayed):
        keep_unplayed(statistics, problem.available, problem.context_probabilities, factor, unplayed)
        stand_in_for_unplayed(statistics, 0.0, 0.0, means, roots)
    if settings.has_reward_bounds != 0.0:
        low, high = settings.reward_low, settings.reward_high
    else:
        high = largest_upper_bound(statistics, unplayed, factor)
        low = -high
    reach = max(factor, LEAST_REACH)
    moved = max(abs(optimism * reach - planner.lean[Lean.OBJECTIVE]), abs(caution * reach - planner.lean[Lean.REVENUE]))
    set_leans(planner, optimism * reach, caution * reach)
    is_largest_bound = settings.has_reward_bounds == 0.0 and optimism == 1.0 and reach == factor
    set_stand_ins(unplayed, 0.5 * (low + high), 0.5 * (high - low) / reach, is_largest_bound)
    program = program_of(learner, means, means, roots)
    known_means, known_roots = statistics.by_pair[ByPair.MEAN], statistics.by_pair[ByPair.INVERSE_ROOT]
    known = program_of(learner, known_means, known_means, known_roots)
    basis = basis_of(planner, place)
    return plan_exploring(
        program, known, basis, place, statistics, moved, unplayed, planner.workspace, learner.allocation
    )


@kernel
def plan_with_bounds(learner, t, place, optimism, caution, least_shortfall):
    """Plan with objective mean + optimism * radius and floors in mean + caution * radius; return a PlanStatus."""
    if learner.progress[Progress.ALL_PLAYED] == 0 and plan_from_kept(
        learner, learner.planner.unplayed, t, place, optimism, caution
    ):
        return PlanStatus.OPTIMAL
    known = prepare_bounds(learner, t, optimism, caution)
    return plan_prepared(learner, place, known, False, least_shortfall)


@kernel
def plan_as_written(learner, place, least_shortfall):
    """Plan with the objective and the revenue that the rule wrote into the planner's coefficients."""
    set_leans(learner.planner, 0.0, 0.0)
    return plan_prepared(learner, place, False, True, least_shortfall)


@kernel
def outcome_of_fallback(learner, status):
    """The Outcome of a fallback plan, from its PlanStatus; if the solver found none, write a uniform allocation."""
    if status == PlanStatus.OPTIMAL:
        return Outcome.PLANNED.value
    if status == PlanStatus.INFEASIBLE:
        return Outcome.FELL_SHORT.value
    play_alike(learner.problem.available, learner.allocation)
    return Outcome.STOOD_STILL.value


@kernel
def explores_everywhere(learner):
    """Whether every context has arms that were never played, so that nothing but these is played; for many pairs.

    Where all pairs are still as good as alike, a plan takes many pivots: with few pairs, some milliseconds.
    """
    if learner.progress[Progress.ALL_PLAYED] != 0 or learner.problem.available.size <= LARGE_PROBLEM:
        return False
    # What else they do depends on the plan.
    if len(learner.budget) > 0 or len(learner.ledger) > 0:
        return False
    return is_unplayed_everywhere(learner.statistics, learner.problem.available)


@kernel
def explore(learner):
    """In contexts with arms that were never played, play one of these; return the Outcome to add."""
    if learner.progress[Progress.ALL_PLAYED] == 0:
        if not is_written(learner.planner.unplayed):
            explore_unplayed(learner.statistics, learner.problem.available, learner.allocation)
        return Outcome.EXPLORED.value
    return Outcome.PLANNED.value
