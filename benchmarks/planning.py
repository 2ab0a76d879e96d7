"""Plans, warm inside compiled code and cold from Python, against general solvers on the same problems."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from arcbandit.compilation.compile import entry_kernel
from arcbandit.experiments.paper_instances import nu
from arcbandit.floors import Floors
from arcbandit.instance import Instance
from arcbandit.kernels.planning import find_plan
from arcbandit.kernels.program import Count, PlanStatus, Program, make_basis, make_workspace
from arcbandit.planning import make_program, solve_program
from benchmarks.measure import Outcome, Requirement, Workload, seconds, take_turns

Floats = NDArray[np.float64]

WARM_ROUNDS = 20_000
WARM_STRIDE = 200  # the alternative solves each 200th problem of the sequence
COLD_PROBLEMS = 5
FLOOR_FACTOR = 1.5  # times what uniform play would earn each arm


@entry_kernel
def plan_each_round(program, bounds, basis, workspace, allocation, values):
    """Plan LP(UCB, UCB) for each round's bounds (T, K, C) from the basis before; return how many are not optimal."""
    n_arms, n_contexts = allocation.shape
    failures = 0
    for place in range(bounds.shape[0]):
        for arm in range(n_arms):
            for context in range(n_contexts):
                program.objective[arm, context] = bounds[place, arm, context]
                program.revenue[arm, context] = bounds[place, arm, context]
        if find_plan(program, basis, False, 0, workspace, allocation) != PlanStatus.OPTIMAL:
            failures += 1
        value = 0.0
        for arm in range(n_arms):
            for context in range(n_contexts):
                value += program.objective[arm, context] * allocation[arm, context]
        values[place] = value
    return failures


def drifting_bounds(instance: Instance, rounds: int, seed: int) -> Floats:
    """p_c UCB_{k,c}(t) of a learner that has played each pair once and then at random, shape (T, K, C).

    The logarithm moves every bound in every round, the reward just seen moves one of them more.
    """
    rng = np.random.default_rng(seed)
    shape = instance.mean_rewards.shape
    n_pairs = instance.n_pairs
    arms = rng.integers(shape[0], size=rounds)
    contexts = rng.choice(shape[1], size=rounds, p=instance.context_probabilities)
    played = np.zeros((rounds, n_pairs))
    played[np.arange(rounds), arms * shape[1] + contexts] = 1.0
    noise = instance.noise_scale * rng.standard_normal((rounds + 1, n_pairs))
    counts = 1.0 + np.cumsum(played, axis=0)
    means = instance.mean_rewards.ravel() + (noise[0] + np.cumsum(played * noise[1:], axis=0)) / counts
    numbers = n_pairs + 1.0 + np.arange(rounds)
    radii = instance.noise_scale * np.sqrt(2 * np.log(2 * n_pairs * numbers)[:, None] / counts)
    return np.ascontiguousarray(instance.context_probabilities * (means + radii).reshape(rounds, *shape))


def linear_program(weighted: Floats, floors: Floats) -> dict[str, Any]:
    """The arguments of linprog for LP(mu, mu), given p_c mu_{k,c}."""
    n_arms, n_contexts = weighted.shape
    floor_rows = np.zeros((n_arms, n_arms, n_contexts))
    for arm in range(n_arms):
        floor_rows[arm, arm] = -weighted[arm]
    return {
        "c": -weighted.ravel(),
        "A_ub": floor_rows.reshape(n_arms, -1),
        "b_ub": -floors,
        "A_eq": np.tile(np.eye(n_contexts), n_arms),
        "b_eq": np.ones(n_contexts),
        "method": "highs",
    }


def warm_plans(turns: int) -> Outcome:
    """Every round's plan in one compiled loop, and every 200th by linprog."""
    instance = nu()
    bounds = drifting_bounds(instance, WARM_ROUNDS, seed=20_250_601)
    n_arms, n_contexts = instance.mean_rewards.shape
    program = make_program(bounds[0].copy(), bounds[0].copy(), instance.floors.coupling_rows(zero_floors=True))
    allocation = np.zeros((n_arms, n_contexts))
    values = np.zeros(WARM_ROUNDS)
    pivots = 0

    def ours(turn: int) -> float:
        nonlocal pivots
        basis = make_basis(n_contexts, n_arms)
        workspace = make_workspace(n_arms, n_contexts, n_arms)
        failures = 0

        def loop() -> None:
            nonlocal failures
            failures = plan_each_round(program, bounds, basis, workspace, allocation, values)

        elapsed = seconds(loop)
        if failures:
            raise RuntimeError(f"{failures} of {WARM_ROUNDS} warm plans did not end OPTIMAL.")
        pivots = int(workspace.counts[Count.PIVOTS])
        return elapsed / WARM_ROUNDS

    sampled = range(0, WARM_ROUNDS, WARM_STRIDE)
    problems = [linear_program(bounds[place], instance.revenue_floors) for place in sampled]
    references = np.zeros(len(problems))

    def scipy(turn: int) -> float:
        found: list[Any] = []
        elapsed = seconds(lambda: found.extend(linprog(**problem) for problem in problems))
        references[:] = [-result.fun for result in found]
        return elapsed / len(problems)

    own, other = take_turns([ours, scipy], turns)
    return Outcome(
        ours=own,
        alternative=other,
        alternative_name="scipy linprog",
        objective_error=relative_error(values[::WARM_STRIDE], references),
        details={"pivots_per_plan": pivots / WARM_ROUNDS},
    )


class ColdProblem(NamedTuple):
    """One problem, as each solver wants it."""

    program: Program
    model: highspy.HighsLp
    objective_scale: float


def cold_problem(n_arms: int, n_contexts: int, seed: int) -> ColdProblem:
    """Uniform means, uneven contexts, and floors that most arms meet only by being played where they are not best."""
    # Three arms seldom leave room for floors above what uniform play earns; those it earns are always met.
    floor_factor = FLOOR_FACTOR if n_arms > 3 else 1.0
    rng = np.random.default_rng([n_arms, n_contexts, seed])
    probabilities = rng.dirichlet(np.full(n_contexts, 5.0))
    weighted = probabilities * rng.uniform(size=(n_arms, n_contexts))
    floors = floor_factor * weighted.sum(axis=1) / n_arms
    names = [str(arm) for arm in range(n_arms)]
    program = make_program(weighted, weighted, Floors.of(names, floors).coupling_rows(zero_floors=True))
    return ColdProblem(program, highs_model(weighted, weighted, floors), float(weighted.max()))


def highs_model(objective: Floats, revenue: Floats, floors: Floats) -> highspy.HighsLp:
    """LP(objective, revenue), both weighted; rows and objective scaled to 1: HiGHS has absolute tolerances."""
    n_arms, n_contexts = revenue.shape
    largest = np.abs(revenue).max(axis=1)
    pairs = np.arange(n_arms * n_contexts)
    model = highspy.HighsLp()
    model.num_col_ = pairs.size
    model.num_row_ = n_arms + n_contexts
    model.col_cost_ = -objective.ravel() / objective.max()
    model.col_lower_ = np.zeros(pairs.size)
    model.col_upper_ = np.full(pairs.size, highspy.kHighsInf)
    model.row_lower_ = np.concatenate([floors / largest, np.ones(n_contexts)])
    model.row_upper_ = np.concatenate([np.full(n_arms, highspy.kHighsInf), np.ones(n_contexts)])
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_ = np.arange(0, 2 * pairs.size + 1, 2)
    model.a_matrix_.index_ = np.column_stack([pairs // n_contexts, n_arms + pairs % n_contexts]).ravel()
    scaled = (revenue / largest[:, None]).ravel()
    model.a_matrix_.value_ = np.column_stack([scaled, np.ones(pairs.size)]).ravel()
    return model


def cold_plans(n_arms: int, n_contexts: int, turns: int) -> Outcome:
    """One cold plan a turn, memory included, and the same problem passed to a new HiGHS and run."""
    problems = [cold_problem(n_arms, n_contexts, seed) for seed in range(COLD_PROBLEMS)]
    values = np.zeros(COLD_PROBLEMS)
    references = np.zeros(COLD_PROBLEMS)
    floor_errors = np.zeros(COLD_PROBLEMS)

    def ours(turn: int) -> float:
        place = turn % COLD_PROBLEMS
        program = problems[place].program
        found: list[Any] = []
        elapsed = seconds(lambda: found.append(solve_program(program)))
        solution = found[0]
        if solution.status != PlanStatus.OPTIMAL:
            raise RuntimeError(f"The cold plan of problem {place} ended {solution.status.name}.")
        values[place] = (program.objective * solution.allocation).sum()
        earned = (program.revenue * solution.allocation).sum(axis=1)
        floor_errors[place] = np.maximum((program.floors - earned) / program.revenue.max(axis=1), 0.0).max()
        return elapsed

    def highs(turn: int) -> float:
        place = turn % COLD_PROBLEMS
        problem = problems[place]
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)

        def solve() -> None:
            solver.passModel(problem.model)
            solver.run()

        elapsed = seconds(solve)
        if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            raise RuntimeError(f"HiGHS ended problem {place} with {solver.getModelStatus()}.")
        references[place] = -solver.getInfo().objective_function_value * problem.objective_scale
        return elapsed

    own, other = take_turns([ours, highs], turns)
    seen = slice(0, turns)
    return Outcome(
        ours=own,
        alternative=other,
        alternative_name="HiGHS",
        objective_error=relative_error(values[seen], references[seen]),
        floor_error=float(floor_errors[seen].max()),
    )


def cold_plans_alone(n_arms: int, n_contexts: int, turns: int) -> Outcome:
    """One cold plan a turn, memory included, alone: HiGHS takes seconds for a tenth of the pairs of 200 x 5000."""
    program = cold_problem(n_arms, n_contexts, 0).program

    def ours(turn: int) -> float:
        found: list[Any] = []
        elapsed = seconds(lambda: found.append(solve_program(program)))
        if found[0].status != PlanStatus.OPTIMAL:
            raise RuntimeError(f"The cold plan ended {found[0].status.name}.")
        return elapsed

    return Outcome(take_turns([ours], turns)[0], details={"pairs": n_arms * n_contexts})


def relative_error(values: Floats, references: Floats) -> float:
    """The largest difference, relative to what it should be."""
    return float((np.abs(values - references) / np.abs(references)).max())


def _cold(
    n_arms: int,
    n_contexts: int,
    turns: int,
    requirement: Requirement | None = None,
    plans: Callable[[int, int, int], Outcome] = cold_plans,
) -> Workload:
    return Workload(
        name=f"cold-plan-{n_arms}x{n_contexts}",
        summary=f"one plan of {n_arms} arms x {n_contexts} contexts from nothing, floors beyond uniform play",
        run=partial(plans, n_arms, n_contexts),
        turns=turns,
        quick_turns=COLD_PROBLEMS,
        requirement=requirement,
    )


WORKLOADS = (
    Workload(
        name="warm-plan-3x3",
        summary="one of 20,000 plans in compiled code while all bounds of instance nu drift",
        run=warm_plans,
        turns=15,
        quick_turns=3,
        requirement=Requirement(ratio=1000),
    ),
    _cold(3, 3, turns=50),
    _cold(10, 10, turns=50),
    _cold(20, 50, turns=50),
    _cold(50, 200, turns=25),
    _cold(100, 1000, turns=15, requirement=Requirement(ratio=100)),
    _cold(200, 5000, turns=5, plans=cold_plans_alone),
)
