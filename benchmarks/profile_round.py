"""Where the time of a round goes: its kernels one by one on a settled state of OLP.

Run it with `python -m benchmarks.profile_round`. A kernel alone meets warm caches and predicted branches, and nothing
pivots, so the parts are not quite a round.
"""

import copy
from collections.abc import Callable

from rich.console import Console
from rich.table import Table

from arcbandit.compilation.compile import entry_kernel
from arcbandit.kernels.allocation import write_allocation
from arcbandit.kernels.confidence import ByPair, radius_factor, record_reward
from arcbandit.kernels.counter import Purpose, uniforms
from arcbandit.kernels.dual_step import most_negative
from arcbandit.kernels.elimination import factorise, is_peeled
from arcbandit.kernels.entering import best_pair, price_rows
from arcbandit.kernels.evaluation import evaluate_prices, evaluate_shares
from arcbandit.kernels.marks import UNCHANGED, mark_pair
from arcbandit.kernels.planner import Place
from arcbandit.kernels.planning import find_plan
from arcbandit.kernels.program import Basis, Count, PlanStatus, Program
from arcbandit.kernels.sampling import arm_from_uniform, context_from_uniform
from arcbandit.policies.learner import Outcome, Stream
from arcbandit.simulation.meters import expect_of_plan, has_optimal_set, measure_allocation, measure_reward
from arcbandit.simulation.world import draw_reward
from benchmarks.compiled import CompiledLearner, steady_instance
from benchmarks.learning import steady_learner
from benchmarks.measure import Spread, seconds, take_turns

SHAPES = ((3, 3), (20, 50), (100, 1000))
TURNS = 7
RESETTLE = 50  # rounds
STEPS = (
    "draw the context",
    "radius of the round",
    "factorise the basis",
    "shares",
    "prices",
    "look for a share below zero",
    "look for a better pair",
    "look for a better surplus",
    "write the plan",
    "draw arm and reward",
    "metrics",
    "learn",
)
DRAW_CONTEXT, RADIUS, FACTORISE, SHARES, PRICES, NEGATIVE, PAIRS, SURPLUSES, WRITE, DRAW, METRICS, LEARN = range(12)
PLAN = 12  # the steps from FACTORISE to WRITE as one


@entry_kernel
def repeat(step, times, world, learner, statistics, meters, first_round):
    """Do one step of a round again and again; return a number that depends on all of them."""
    problem = learner.problem
    planner = learner.planner
    workspace = planner.workspace
    allocation = learner.allocation
    program = Program(
        statistics.by_pair[ByPair.MEAN],
        statistics.by_pair[ByPair.MEAN],
        statistics.by_pair[ByPair.INVERSE_ROOT],
        planner.lean,
        problem.context_probabilities,
        statistics.changed,
        problem.available,
        problem.floors,
        problem.arm_rows,
    )
    basis = Basis(planner.key[Place.OWN], planner.slot_arm[Place.OWN], planner.slot_context[Place.OWN])
    n_contexts = allocation.shape[1]
    total = 0.0
    for t in range(first_round, first_round + times):
        context = t % n_contexts
        if step == DRAW_CONTEXT:
            uniform, _ = uniforms(0, 0, t, Purpose.DECISION, 0)
            total += context_from_uniform(world.probabilities, uniform)
        elif step == RADIUS:
            total += radius_factor(allocation.size, t, world.noise_scale)
        elif step == FACTORISE:
            total += factorise(program, basis, workspace)
        elif step == SHARES:
            mark_pair(statistics.changed, basis.key[context], context)
            evaluate_shares(program, basis, is_peeled(workspace), workspace)
            statistics.changed[context] = UNCHANGED
        elif step == PRICES:
            evaluate_prices(program, basis, 1.0, 0.0, is_peeled(workspace), workspace)
        elif step == NEGATIVE:
            total += most_negative(program, basis, workspace)
        elif step == PAIRS:
            mark_pair(statistics.changed, basis.key[context], context)
            excess, _, _ = best_pair(program, basis, problem.available, 1.0, workspace)
            total += excess
        elif step == SURPLUSES:
            excess, _, _ = price_rows(program, basis, 1.0, 0.0, workspace)
            total += excess
        elif step == WRITE:
            write_allocation(basis, True, workspace, allocation)
        elif step == DRAW:
            arm = arm_from_uniform(allocation, context, 0.5)
            total += draw_reward(world, arm, context, Stream(0, 0, t))
        elif step == METRICS:
            performance = expect_of_plan(world, problem, allocation, planner, Outcome.PLANNED.value, meters)
            measure_allocation(world, problem, performance, meters)
            total += has_optimal_set(world, planner, Outcome.PLANNED.value, meters)
            measure_reward(problem, 0, 0.0, t, meters)
        elif step == LEARN:
            arm = basis.key[context]
            record_reward(statistics, arm, context, statistics.by_pair[ByPair.MEAN, arm, context])
        elif step == PLAN:
            mark_pair(statistics.changed, basis.key[context], context)
            status = find_plan(program, basis, True, workspace.counts[Count.BOUNDS_OF], workspace, allocation)
            total += 1.0 if status == PlanStatus.OPTIMAL else 0.0
    return total


def profile(learner: CompiledLearner, rounds: int) -> tuple[list[float], float, float]:
    """Seconds of each step, of planning as one, and of a round."""

    def contender(step: int) -> Callable[[int], float]:
        def run(turn: int) -> float:
            learner.play(RESETTLE)  # so that every step finds what the one before it in a round leaves
            # Learning again and again would move the bounds away from the basis; it does so in a copy.
            statistics = learner.statistics if step != LEARN else copy.deepcopy(learner.statistics)
            arguments = (learner.world, learner.learner, statistics, learner.meters)
            elapsed = seconds(lambda: repeat(step, rounds, *arguments, learner.round_number + 1))
            return elapsed / rounds

        return run

    def whole(turn: int) -> float:
        return seconds(lambda: learner.play(rounds)) / rounds

    samples = take_turns([*(contender(step) for step in range(len(STEPS))), contender(PLAN), whole], TURNS)
    medians = [Spread.of(sample).median for sample in samples]
    return medians[:-2], medians[-2], medians[-1]


def main() -> None:
    """Print the table."""
    shown = Table(title="nanoseconds of each step of a settled round of OLP")
    shown.add_column("step")
    columns = []
    for n_arms, n_contexts in SHAPES:
        shown.add_column(f"{n_arms} x {n_contexts}", justify="right")
        learner = steady_learner(steady_instance(n_arms, n_contexts), "olp")
        columns.append(profile(learner, 20_000 if n_arms * n_contexts <= 1000 else 2000))
    for place, name in enumerate(STEPS):
        shown.add_row(name, *(f"{steps[place] * 1e9:,.0f}" for steps, _, _ in columns))
    shown.add_section()
    shown.add_row("sum of the steps", *(f"{sum(steps) * 1e9:,.0f}" for steps, _, _ in columns))
    shown.add_row("planning as one", *(f"{planning * 1e9:,.0f}" for _, planning, _ in columns))
    shown.add_row("a round in the loop", *(f"{whole * 1e9:,.0f}" for _, _, whole in columns))
    Console(width=100).print(shown)


if __name__ == "__main__":
    main()
