"""Policies that are told the best plan's basis, for simulations alone: what is left to lose after that."""

import enum
import math
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, Unpack

import numpy as np

from arcbandit.compilation.compile import kernel, rare_kernel
from arcbandit.errors import InvalidInputError
from arcbandit.instance import Instance
from arcbandit.kernels.allocation import write_shares
from arcbandit.kernels.basic_columns import least_share_of_pairs
from arcbandit.kernels.confidence import ByPair
from arcbandit.kernels.elimination import factorise, is_peeled
from arcbandit.kernels.evaluation import evaluate_shares
from arcbandit.kernels.newsvendor import write_margins
from arcbandit.kernels.planner import SoftPlace, basis_of, give_basis, measures_now, set_leans
from arcbandit.kernels.program import NO_FLOOR, PlanStatus, Program
from arcbandit.kernels.scales import measure_scales
from arcbandit.kernels.soft_floors import take_up
from arcbandit.planning.solve import solve_checked
from arcbandit.policies.base import Policy
from arcbandit.policies.budget import NO_BUDGET
from arcbandit.policies.dials import Dial
from arcbandit.policies.learner import Outcome, Progress, Rows
from arcbandit.policies.plans import begin_planning, explore, play_alike

if TYPE_CHECKING:
    from arcbandit.inputs.frames import Column, Table
    from arcbandit.policies.settings import Settings

# Radii added to the means where the equations have no solution that can be played: as many as PricedLP explores by.
EXPLORATION = math.sqrt(0.5)
# And where those have none either, a pair whose share would be negative gets this part of its size.
SHARE_OF_A_NEGATIVE = 0.25


class PairScratch(enum.IntEnum):
    """What is computed per pair."""

    MEAN = 0  # that of a pair never played is the average of the others


class FloorScratch(enum.IntEnum):
    """What is computed per floor."""

    FLOOR = 0  # with its margin
    ODDS = 1  # of the margins


class ByFloor(enum.IntEnum):
    """What is kept per floor."""

    PRICE = 0  # at the optimum, as it was told
    MARGIN = 1  # z, in standard errors
    ERROR = 2  # se, the standard error of the revenue under the last plan


class Total(enum.IntEnum):
    """What is kept once."""

    QUANTILE = 0  # q of the last margins, where the search for the next starts


@rare_kernel
def write_means(learner, hope, means):
    """Write the means plus `hope` radii, and for a pair never played the average of the means of those that were."""
    by_pair, available = learner.statistics.by_pair, learner.problem.available
    noise_scale = learner.settings[0].noise_scale
    n_arms, n_contexts = available.shape
    count = 0
    total = 0.0
    for arm in range(n_arms):
        for context in range(n_contexts):
            if available[arm, context] and by_pair[ByPair.PULLS, arm, context] > 0.0:
                count += 1
                total += by_pair[ByPair.MEAN, arm, context]
    for arm in range(n_arms):
        for context in range(n_contexts):
            n = by_pair[ByPair.PULLS, arm, context]
            means[arm, context] = by_pair[ByPair.MEAN, arm, context] if n > 0.0 else total / max(count, 1)
            if hope > 0.0 and n > 0.0:
                visits = learner.statistics.context_counts[context]
                means[arm, context] += hope * noise_scale * math.sqrt(2.0 * math.log(1.0 + visits / n) / n)


@rare_kernel
def solve_shares(learner, means, measures, floors):
    """Solve the equations of the told basis with these means, shape (K, C); return the least share, NaN if singular."""
    planner, problem = learner.planner, learner.problem
    workspace = planner.workspace
    program = Program(
        means,
        means,
        means,
        planner.lean,
        problem.context_probabilities,
        learner.statistics.changed,
        problem.available,
        floors,
        problem.arm_rows,
    )
    set_leans(planner, 0.0, 0.0)
    if measures:
        measure_scales(program, True, workspace)
    basis = basis_of(planner, SoftPlace.FIRST)
    if (
        take_up(program, basis, workspace)
        and factorise(program, basis, workspace)
        and evaluate_shares(program, basis, is_peeled(workspace), workspace)
    ):
        return least_share_of_pairs(basis, workspace)  # surpluses may be negative, as their floors are not asked
    return np.nan


@rare_kernel
def lift_columns(available, allocation):
    """Mix columns that have a negative share with equal shares of their pairs, so that none is negative any more."""
    n_arms, n_contexts = available.shape
    for context in range(n_contexts):
        least = 0.0
        count = 0
        for arm in range(n_arms):
            if available[arm, context]:
                count += 1
                least = min(least, allocation[arm, context])
        if least < 0.0:
            even = 1.0 / count
            kept = even / (even - (1.0 + SHARE_OF_A_NEGATIVE) * least)
            for arm in range(n_arms):
                if available[arm, context]:
                    allocation[arm, context] = kept * allocation[arm, context] + (1.0 - kept) * even


@rare_kernel
def solve_with_hope(learner, floors):
    """Write a plan where the means give none: from their upper bounds, mixed with equal shares if these give none.

    An estimate may be so wrong that the equations ask for a negative share of its pair. Whoever played no share there
    would never find out; the bounds rise until somebody does. Return an Outcome.
    """
    planner, available = learner.planner, learner.problem.available
    means = learner.memory.scratch_by_pair[PairScratch.MEAN]
    write_means(learner, EXPLORATION, means)
    least = solve_shares(learner, means, False, floors)
    if math.isnan(least):
        play_alike(available, learner.allocation)
        return Outcome.FELL_BACK.value
    write_shares(basis_of(planner, SoftPlace.FIRST), False, planner.workspace, learner.allocation)
    lift_columns(available, learner.allocation)
    return Outcome.FELL_BACK.value


@kernel
def solve_basis(learner, floors):
    """Write the plan in which the saturated floors are met exactly by the estimated means; return an Outcome."""
    planner = learner.planner
    means = learner.statistics.by_pair[ByPair.MEAN]
    all_played = learner.progress[Progress.ALL_PLAYED] != 0
    if not all_played:
        means = learner.memory.scratch_by_pair[PairScratch.MEAN]
        write_means(learner, 0.0, means)
    if solve_shares(learner, means, measures_now(planner) or not all_played, floors) >= 0.0:
        write_shares(basis_of(planner, SoftPlace.FIRST), False, planner.workspace, learner.allocation)
        return Outcome.PLANNED.value
    return solve_with_hope(learner, floors)


@kernel
def allocate(learner, context, t, stream):
    """Solve the equations of the optimal basis with the estimated means."""
    begin_planning(learner)
    outcome = solve_basis(learner, learner.problem.floors)
    return outcome | explore(learner)


@rare_kernel
def write_errors(learner):
    """Write the standard error of each floor's revenue under the allocation at hand."""
    problem, errors = learner.problem, learner.memory.by_floor[ByFloor.ERROR]
    by_pair, allocation = learner.statistics.by_pair, learner.allocation
    noise_scale = learner.settings[0].noise_scale
    n_arms, n_contexts = allocation.shape
    for row in range(errors.shape[0]):
        errors[row] = 0.0
    for arm in range(n_arms):
        variance = 0.0
        for context in range(n_contexts):
            played = problem.context_probabilities[context] * allocation[arm, context]
            variance += played * played / max(by_pair[ByPair.PULLS, arm, context], 1.0)
        for place in range(problem.arm_rows.shape[1]):
            row = problem.arm_rows[arm, place] - 1
            if row >= 0:
                errors[row] += variance
    for row in range(errors.shape[0]):
        errors[row] = noise_scale * math.sqrt(errors[row])


@kernel
def allocate_with_margins(learner, context, t, stream):
    """Solve the equations with the margins of the last round added to the floors, and set those of the next."""
    memory, floors = learner.memory, learner.problem.floors
    raised = memory.scratch_by_floor[FloorScratch.FLOOR]
    begin_planning(learner)
    for row in range(floors.shape[0]):
        raised[row] = floors[row]
        if floors[row] != NO_FLOOR:
            raised[row] += memory.by_floor[ByFloor.MARGIN, row] * memory.by_floor[ByFloor.ERROR, row]
    outcome = solve_basis(learner, raised)
    write_errors(learner)
    memory.totals[Total.QUANTILE] = write_margins(
        memory.by_floor[ByFloor.PRICE],
        memory.by_floor[ByFloor.ERROR],
        floors,
        0.0,
        learner.dials[0].violation_weight,
        0.0,
        memory.totals[Total.QUANTILE],
        memory.scratch_by_floor[FloorScratch.ODDS],
        memory.by_floor[ByFloor.MARGIN],
    )
    return outcome | explore(learner)


class Clairvoyant(Policy):
    """Told which pairs the best plan plays and which floors it saturates, learn only how much to play each.

    In each round it plays the plan that meets the saturated floors exactly by the estimated means, with no other pairs.
    What it loses is what is left once nothing is to be explored. It must know the instance, so it is for simulations:
    `simulate(instance, ["clairvoyant", "blp"])`, or `Clairvoyant.of(instance)`.

    >>> from arcbandit import paper_instance
    >>> policy = Clairvoyant.of(paper_instance("nu"))
    >>> policy.decide(0).arm, policy.allocation()[1:, 0].tolist()
    ('1', [0.0, 0.0])
    """

    name = "clairvoyant"
    allocate = staticmethod(allocate)
    plans = True
    soft_floors = True  # what the equations give may be the plan of no basis
    knows_optimum = True
    rows = Rows(scratch_by_pair=PairScratch)

    def __init__(
        self,
        revenue_floors: "Column | None" = None,
        context_probabilities: "Column | None" = None,
        *,
        instance: Instance | None = None,
        available: "Table | None" = None,
        **settings: Any,
    ) -> None:
        if settings.get("exploration_budget", NO_BUDGET) != NO_BUDGET:
            raise InvalidInputError(f"exploration_budget must be 1 for {type(self).__name__}, which does not explore.")
        if settings.get("guarantee", False):
            raise InvalidInputError(f"guarantee must be False for {type(self).__name__}, which is told the best plan.")
        if revenue_floors is None:
            super().__init__(None, context_probabilities, available=available, **settings)
            return
        if instance is None:
            raise InvalidInputError(
                f"{type(self).__name__} is told the best plan of an instance, so it cannot be given a problem without "
                f"means; use {type(self).__name__}.of(instance), or simulate it."
            )
        mask = None if available is None else np.asarray(available, dtype=np.bool_)
        best = solve_checked(
            instance.mean_rewards,
            instance.mean_rewards,
            instance.context_probabilities,
            instance.floors,
            mask,
            "simplex",
            "least_shortfall",
        )
        if best.status != PlanStatus.OPTIMAL or best.basis is None:
            raise InvalidInputError(
                f"{type(self).__name__} needs floors that can be met, but those of the instance lack "
                f"{best.total_shortfall:g} per round."
            )
        basis = best.basis
        used = np.zeros(instance.mean_rewards.shape, dtype=np.bool_)
        used[basis.key, np.arange(instance.n_contexts)] = True
        slots = basis.slot_context >= 0
        used[basis.slot_arm[slots], basis.slot_context[slots]] = True
        super().__init__(revenue_floors, context_probabilities, available=used, **settings)
        give_basis(self.learner.planner, SoftPlace.FIRST, basis)
        if self.rows.by_floor is not None:
            self.learner.memory.by_floor[ByFloor.PRICE] = best.floors.prices

    @classmethod
    def of(cls, instance: Instance, **settings: "Unpack[Settings]") -> Self:
        """The policy for an instance, at work.

        >>> from arcbandit import paper_instance
        >>> Clairvoyant.of(paper_instance("nu"))
        <Clairvoyant(): 3 arms x 3 contexts, round 1>
        """
        configuration: Any = cls(**settings)
        made: Self = configuration.for_instance(instance)
        return made


class ClairvoyantWithMargins(Clairvoyant):
    """Clairvoyant, told the prices of the floors too, from which it computes the best margins.

    A margin that is too large costs the floor's price in regret, and one too small `violation_weight` in violation. Its
    R + v V is the learning limit, up to what the first rounds cost.

    >>> from arcbandit import paper_instance, simulate
    >>> trace = simulate(paper_instance("nu"), ["clairvoyant-margins"], horizon=200, epochs=2)
    >>> trace.policies
    ('clairvoyant-margins',)
    """

    name = "clairvoyant-margins"
    allocate = staticmethod(allocate_with_margins)
    rows = Rows(totals=Total, scratch_by_pair=PairScratch, by_floor=ByFloor, scratch_by_floor=FloorScratch)
    dials: ClassVar[tuple[Dial, ...]] = (
        Dial("violation_weight", 1.0, "what a unit of violation costs, in units of regret", low=1e-3, high=1e6),
    )


ClairvoyantName = Literal["clairvoyant", "clairvoyant-margins"]
CLAIRVOYANTS: dict[str, type[Clairvoyant]] = {kind.name: kind for kind in (Clairvoyant, ClairvoyantWithMargins)}
