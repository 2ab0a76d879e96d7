"""Calling the planner: check a problem, solve it, prove what was found, and make a Plan of it or raise."""

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from arcbandit.certificate import (
    Certificate,
    Coefficients,
    certify_least_shortfall,
    certify_optimal,
    certify_same_share,
    prices_among_all,
    proves_infeasible,
)
from arcbandit.errors import InfeasibleError, InvalidInputError, PlanningError
from arcbandit.floors import Floors, GroupFloor, named_groups
from arcbandit.inputs.arrays import Axis, availability, check_amounts, matrix, vector
from arcbandit.inputs.frames import ARMS, CONTEXTS, agreed_names, by_arm, by_arm_and_context, by_context, in_order
from arcbandit.inputs.values import choice, instance_of
from arcbandit.instance import Instance
from arcbandit.kernels.program import FEASIBILITY_TOLERANCE, Basis, PlanStatus, Program, make_basis
from arcbandit.planning.plans import Plan, PlannedFloors
from arcbandit.planning.program import Solution, make_program, solve_program, solve_same_share, writable

if TYPE_CHECKING:
    from arcbandit.inputs.frames import Column, Table

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

SOLVERS = ("simplex", "highs")
OnInfeasible = Literal["raise", "least_shortfall", "same_share"]
WHERE_INFEASIBLE = get_args(OnInfeasible)


def solve_lp(
    objective_means: "Table",
    constraint_means: "Table",
    revenue_floors: "Column",
    context_probabilities: "Column",
    *,
    group_floors: Iterable[GroupFloor] = (),
    available: "Table | None" = None,
    solver: Literal["simplex", "highs"] = "simplex",
    on_infeasible: OnInfeasible = "raise",
    warm_start: Plan | None = None,
) -> Plan:
    """The paper's LP(mu_obj, mu_cons): means are per play, shape (K, C), floors per round, shape (K,).

    `available` (K x C, bool) says which arms may be played in which contexts; `group_floors` are those of several arms
    together. `solver` is "simplex", ours, or "highs", from the extra `reference`, to compare with. Frames, series and
    mappings are aligned by their labels as for `Instance`, to the order of `objective_means`. When no allocation meets
    the floors, raise InfeasibleError, or return the plan of least total shortfall that then earns the most
    ("least_shortfall"), or the one that gives every floor above zero the same share of it, the largest possible, and
    then earns the most ("same_share"; `Plan.floor_share` is that share). `warm_start` is an earlier plan of the same
    shape, from whose basis the simplex starts.

    >>> solve_lp([[4, 2], [1, 1]], [[4, 2], [1, 1]], [0, 0.25], [0.5, 0.5]).value
    2.75
    >>> shared = solve_lp([[4, 2], [1, 1]], [[4, 2], [1, 1]], [2, 1], [0.5, 0.5], on_infeasible="same_share")
    >>> round(shared.floor_share, 6), shared.arm_revenue.round(6).tolist()
    (0.666667, [1.333333, 0.666667])
    """
    choice("solver", solver, SOLVERS)
    choice("on_infeasible", on_infeasible, WHERE_INFEASIBLE)
    if warm_start is not None:
        instance_of("warm_start", warm_start, Plan)
    objectives = by_arm_and_context("objective_means", objective_means)
    constraints = by_arm_and_context("constraint_means", constraint_means)
    by_floor = by_arm("revenue_floors", revenue_floors)
    by_probability = by_context("context_probabilities", context_probabilities)
    mask = by_arm_and_context("available", available, flags=True)
    arms = agreed_names(ARMS, None, objectives, constraints, by_floor, mask)
    contexts = agreed_names(CONTEXTS, None, objectives, constraints, by_probability, mask)
    objective = matrix("objective_means", in_order(objectives, arms=arms, contexts=contexts))
    constraint = matrix("constraint_means", in_order(constraints, arms=arms, contexts=contexts))
    n_arms, n_contexts = objective.shape
    if constraint.shape != objective.shape:
        raise InvalidInputError(
            f"constraint_means must have the shape of objective_means, {objective.shape}, got {constraint.shape}."
        )
    for axis, named, count in ((ARMS, arms, n_arms), (CONTEXTS, contexts, n_contexts)):
        if named is not None and len(named.names) != count:
            raise InvalidInputError(
                f"objective_means has shape {objective.shape}, but {named.source} names {len(named.names)} {axis}."
            )
    arm_axes = () if arms is None else (Axis("arm", arms.names),)
    context_axes = () if contexts is None else (Axis("context", contexts.names),)
    both_axes = (*arm_axes, *context_axes) if arm_axes and context_axes else ()
    check_amounts("objective_means", objective, *both_axes)
    check_amounts("constraint_means", constraint, *both_axes)
    floors = vector(
        "revenue_floors",
        in_order(by_floor, arms=arms),
        n_arms,
        f"objective_means has {n_arms} arms (rows)",
        *arm_axes,
        signed=True,
    )
    probabilities = vector(
        "context_probabilities",
        in_order(by_probability, contexts=contexts),
        n_contexts,
        f"objective_means has {n_contexts} contexts (columns)",
        *context_axes,
    )
    # Probabilities need not sum to 1 here, so that their products with means may be too large even if no mean is.
    for called, means in (("objective_means", objective), ("constraint_means", constraint)):
        check_amounts(f"context_probabilities * {called}", probabilities * means, *both_axes)
    names = tuple(str(arm) for arm in range(n_arms)) if arms is None else arms.names
    table = Floors.of(names, floors, named_groups(group_floors, names, arms_have_names=arms is not None))
    return solve_checked(
        objective,
        constraint,
        probabilities,
        table,
        availability(
            "available",
            in_order(mask, arms=arms, contexts=contexts),
            (n_arms, n_contexts),
            range(n_contexts) if contexts is None else contexts.names,
        ),
        solver,
        on_infeasible,
        warm_start,
        say_kinds=True,
    )


def plan(
    instance: Instance,
    *,
    solver: Literal["simplex", "highs"] = "simplex",
    on_infeasible: OnInfeasible = "raise",
) -> Plan:
    """The optimal stationary plan of an instance, LP(mu, mu); `solver` and `on_infeasible` are as for `solve_lp`.

    >>> from arcbandit import paper_instance
    >>> plan(paper_instance("nu")).allocation.tolist()
    [[1.0, 0.5, 0.5], [0.0, 0.5, 0.0], [0.0, 0.0, 0.5]]
    """
    instance_of("instance", instance, Instance, ", such as paper_instance('nu')")
    choice("solver", solver, SOLVERS)
    choice("on_infeasible", on_infeasible, WHERE_INFEASIBLE)
    return _solve_instance(instance, solver, on_infeasible)


def plan_over_all_floors(instance: Instance) -> Plan:
    """LP(mu, mu) as the paper writes it, floors of zero among its constraints; of least shortfall if infeasible."""
    instance_of("instance", instance, Instance, ", such as paper_instance('nu')")
    return _solve_instance(instance, "simplex", "least_shortfall", zero_floors=True)


def _solve_instance(instance: Instance, solver: str, on_infeasible: str, *, zero_floors: bool = False) -> Plan:
    found = solve_checked(
        instance.mean_rewards,
        instance.mean_rewards,
        instance.context_probabilities,
        instance.floors,
        None,
        solver,
        on_infeasible,
        None,
        zero_floors=zero_floors,
    )
    return replace(found, contexts=instance.contexts)


def solve_checked(
    objective: Floats,
    revenue: Floats,
    probabilities: Floats,
    floors: Floors,
    available: Flags | None,
    solver: str,
    on_infeasible: str,
    warm_start: Plan | None = None,
    *,
    found: Solution | None = None,
    say_kinds: bool = False,
    zero_floors: bool = False,
) -> Plan:
    """Solve a problem that was checked, and turn what was found into a Plan or an error.

    A solution that was `found` by the simplex method is not sought again. An error says of which kind a floor is if
    `say_kinds`; floors of zero have rows if `zero_floors`.
    """
    rows = floors.coupling_rows(zero_floors=zero_floors)
    program = make_program(objective, revenue, rows, available, probabilities)
    problem = Coefficients(
        probabilities * objective, probabilities * revenue, program.available, floors, required=rows.floors
    )
    certificate = None
    if solver == "simplex":
        start = _matching_basis(warm_start, program)
        solution, share = _by_simplex(program, on_infeasible, start, found)
    else:
        solution, share = _by_highs(program, on_infeasible)
    if share is not None and math.isnan(share):  # it is not for floors above zero that they conflict
        return solve_checked(
            objective, revenue, probabilities, floors, available, solver, "raise", warm_start, say_kinds=say_kinds
        )
    if solver == "simplex":
        meets_floors = solution.status == PlanStatus.OPTIMAL or share is not None  # be they reduced
        if meets_floors and solution.shortfall_prices.any():
            solution = solution._replace(
                prices=prices_among_all(problem, solution.allocation, solution.shortfall_prices, solution.prices)
            )
        certificate = _certify(program, problem, solution, on_infeasible, share)
    if solution.status == PlanStatus.PIVOT_LIMIT:
        raise PlanningError("The solver could neither find an optimal plan nor prove that there is none.")
    made = _describe(problem, solution, certificate, share)
    if made.status == PlanStatus.INFEASIBLE and on_infeasible == "raise":
        names = [f"{floor.kind} {floor.name}" if say_kinds else floor.name for floor in floors]
        conflicting = tuple(names[row] for row in made.conflicting_floors)
        raise InfeasibleError(
            f"No allocation meets the floors of {', '.join(conflicting)} together; "
            f"the least total shortfall is {made.total_shortfall:.6g}.",
            conflicting_floors=conflicting,
            least_shortfall=made.total_shortfall,
        )
    return made


def _by_simplex(
    program: Program, on_infeasible: str, start: Basis | None, found: Solution | None
) -> tuple[Solution, float | None]:
    """What the simplex method finds, and the share of the floors if it is the same for all, NaN if there is none."""
    shares = on_infeasible == "same_share"
    solution = solve_program(program, least_shortfall=not shares, start=start) if found is None else found
    return solve_same_share(program) if shares and solution.status == PlanStatus.INFEASIBLE else (solution, None)


def _by_highs(program: Program, on_infeasible: str) -> tuple[Solution, float | None]:
    """What HiGHS finds, likewise."""
    from arcbandit.highs import share_with_highs, solve_with_highs

    answer, share = solve_with_highs(program), None
    if on_infeasible == "same_share" and answer[0] == PlanStatus.INFEASIBLE:
        answer, share = share_with_highs(program)
    n_rows = len(program.floors)
    no_basis = make_basis(len(program.weights), n_rows)
    return Solution(*answer, shortfall_prices=np.zeros(n_rows), basis=no_basis), share


def _reduced(program: Program, share: float) -> Program:
    """The program with the same share of every floor above zero."""
    floors = program.floors
    return program._replace(floors=np.where(floors > 0.0, share * floors, floors))


def _certify(
    program: Program, problem: Coefficients, solution: Solution, on_infeasible: str, share: float | None
) -> Certificate | None:
    """Prove what the kernel found, or refuse it: rounding can lead it astray where coefficients span many decades."""
    if solution.status == PlanStatus.PIVOT_LIMIT:
        return None
    prices = np.maximum(solution.prices, 0.0)
    if solution.status == PlanStatus.OPTIMAL:
        certificate = certify_optimal(writable(program), solution.allocation, prices)
        holds = certificate.holds
    elif share is not None:
        reduced = writable(_reduced(program, share))
        certificate = certify_same_share(problem, reduced, solution.allocation, prices, solution.ray)
        holds = proves_infeasible(problem, solution.ray) and certificate.holds
    else:
        certificate = certify_least_shortfall(problem, solution.allocation, solution.shortfall_prices, solution.prices)
        # Who only asks whether there is a plan is answered by the proof that there is none.
        holds = proves_infeasible(problem, solution.ray) and (certificate.holds or on_infeasible == "raise")
    if not holds:
        raise PlanningError(
            "The solver found a plan that could not be proven right, so it is refused: the coefficients of the floors "
            f"span too many decades for the digits of a float ({certificate})."
        )
    return certificate


def _describe(problem: Coefficients, solution: Solution, certificate: Certificate | None, share: float | None) -> Plan:
    """The Plan of what a solver found."""
    floors = problem.floors
    arm_revenue = (problem.revenue * solution.allocation).sum(axis=1)
    prices = np.maximum(solution.prices, 0.0)
    worth = problem.objective + floors.by_arm(prices)[:, np.newaxis] * problem.revenue
    largest = np.where(problem.available, np.abs(problem.revenue), 0.0).max(axis=1)
    scale = np.concatenate([largest, np.where(floors.group_members, largest, 0.0).max(axis=1, initial=0.0)])
    scale = np.where(scale > 0, scale, 1.0)
    strength = solution.ray * scale
    conflict = np.flatnonzero(strength > FEASIBILITY_TOLERANCE * strength.max(initial=0.0))
    return Plan(
        status=solution.status,
        allocation=solution.allocation,
        value=float((problem.objective * solution.allocation).sum()),
        floors=PlannedFloors(
            floors.arms, floors.amounts, floors.groups, floors.by_floor(arm_revenue), prices=prices, scale=scale
        ),
        context_values=problem.best(worth),
        conflicting_floors=tuple(conflict.tolist()),
        basis=solution.basis,
        certificate=certificate,
        floor_share=1.0 if solution.status == PlanStatus.OPTIMAL else share,
    )


def _matching_basis(warm_start: Plan | None, program: Program) -> Basis | None:
    if warm_start is None or warm_start.basis is None:
        return None
    slot_arm = warm_start.basis.slot_arm
    if warm_start.allocation.shape != program.objective.shape or slot_arm.shape != program.floors.shape:
        raise InvalidInputError(
            f"warm_start must be a plan of shape {program.objective.shape} with {program.floors.size} floors, "
            f"got shape {warm_start.allocation.shape} with {slot_arm.size}."
        )
    return warm_start.basis
