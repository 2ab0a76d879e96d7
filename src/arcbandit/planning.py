"""The planning problem: the stationary allocation that earns the most while every floor is met.

The shell around the planning kernel: it checks what users give, owns the memory that the kernel works in, and raises
what the kernel only reports.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcbandit.certificate import (
    Certificate,
    Coefficients,
    certify_least_shortfall,
    certify_optimal,
    prices_among_all,
    proves_infeasible,
)
from arcbandit.errors import InfeasibleError, InvalidInputError, PlanningError
from arcbandit.floors import CouplingRows, Floors, GroupFloor, arm_rows_of, named_groups
from arcbandit.inputs.arrays import Axis, availability, check_amounts, matrix, vector
from arcbandit.inputs.frames import ARMS, CONTEXTS, agreed_names, by_arm, by_arm_and_context, by_context, in_order
from arcbandit.inputs.values import choice, instance_of
from arcbandit.instance import Instance
from arcbandit.kernels.planning import plan as plan_kernel
from arcbandit.kernels.program import (
    FEASIBILITY_TOLERANCE,
    Basis,
    ByRow,
    PlanStatus,
    Program,
    make_basis,
    make_workspace,
)

if TYPE_CHECKING:
    from arcbandit.inputs.frames import Column, Table

__all__ = [
    "ActiveSet",
    "Plan",
    "PlanStatus",
    "Solution",
    "assemble_program",
    "make_program",
    "plan",
    "plan_over_all_floors",
    "solve_lp",
    "solve_program",
]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

# A floor met, or a share used, to within this much of its row's largest coefficient counts as met exactly.
ACTIVITY_TOLERANCE = 1e-9
# A floor lacks what is beyond this part of it, and beyond what rounding of shares makes of its largest coefficient.
SHORTFALL_TOLERANCE = 4 * FEASIBILITY_TOLERANCE
ROUNDING = 2e-15

SOLVERS = ("simplex", "highs")
WHERE_INFEASIBLE = ("raise", "least_shortfall")


class ActiveSet(NamedTuple):
    """Constraints that hold with equality: floors by row (arms, then group floors), pairs as (arm, context)."""

    floors: frozenset[int]
    pairs: frozenset[tuple[int, int]]

    def __len__(self) -> int:
        return len(self.floors) + len(self.pairs)


class Solution(NamedTuple):
    """What a solver found. `prices` are optimal ones or, if INFEASIBLE, those among the plans of least shortfall."""

    status: PlanStatus
    allocation: Floats  # shape (K, C)
    prices: Floats  # shape (M,); those that rounding left below zero are zero
    ray: Floats  # prices that prove that the floors conflict, shape (M,), all zero unless INFEASIBLE
    shortfall_prices: Floats  # prices of the least total shortfall, shape (M,), all zero if it was not asked for
    basis: Basis


@dataclass(frozen=True, eq=False)
class Plan:
    """A stationary allocation with its revenue, its prices and the constraints it leaves no slack in.

    `status` is OPTIMAL, or INFEASIBLE for a plan of least shortfall. Prices are revenue per unit of floor: what the
    last unit of a guarantee costs. Where several plans are optimal, or prices not unique, one of them is shown.
    """

    status: PlanStatus
    allocation: Floats = field(repr=False)  # w_{k,c}, shape (K, C)
    value: float  # f(mu_obj, w)
    arm_revenue: Floats  # g_k(mu_cons, w), shape (K,)
    revenue_floors: Floats  # lambda_k, shape (K,)
    floor_prices: Floats  # shape (K,), >= 0
    context_values: Floats = field(repr=False)  # shape (C,); value = sum of these - prices . floors
    group_revenue: Floats  # shape (G,)
    group_floors: Floats  # shape (G,)
    group_prices: Floats  # shape (G,), >= 0
    revenue_scale: Floats = field(repr=False)  # largest |p mu_cons| of each row, shape (K + G,)
    conflicting_floors: tuple[int, ...] = ()  # rows (arms, then groups) that cannot be met together
    basis: Basis | None = field(default=None, repr=False)  # to start a later plan from
    certificate: Certificate | None = field(default=None, repr=False)  # how far from proven it is, if we solved it

    @cached_property
    def shortfall(self) -> Floats:
        """(lambda_k - g_k)_+ of each arm, shape (K,), rounding left out."""
        return _beyond_rounding(self.revenue_floors, self.arm_revenue, self.revenue_scale[: self.n_arms])

    @cached_property
    def group_shortfall(self) -> Floats:
        """What each group floor lacks, shape (G,)."""
        return _beyond_rounding(self.group_floors, self.group_revenue, self.revenue_scale[self.n_arms :])

    @property
    def total_shortfall(self) -> float:
        """What all floors lack together."""
        return float(self.shortfall.sum() + self.group_shortfall.sum())

    @property
    def n_arms(self) -> int:
        """K."""
        return int(self.allocation.shape[0])

    @cached_property
    def active_floors(self) -> Flags:
        """Which arms earn exactly their floor, shape (K,)."""
        slack = np.abs(self.arm_revenue - self.revenue_floors)
        return np.asarray(slack <= ACTIVITY_TOLERANCE * self.revenue_scale[: self.n_arms])

    @cached_property
    def active_group_floors(self) -> Flags:
        """Which groups earn exactly their floor, shape (G,)."""
        slack = np.abs(self.group_revenue - self.group_floors)
        return np.asarray(slack <= ACTIVITY_TOLERANCE * self.revenue_scale[self.n_arms :])

    @cached_property
    def idle_pairs(self) -> Flags:
        """Which arms are never played in which contexts, shape (K, C)."""
        return np.asarray(self.allocation <= ACTIVITY_TOLERANCE)

    @cached_property
    def active_set(self) -> ActiveSet:
        """I: the active floors and idle pairs together."""
        floors = np.flatnonzero(np.concatenate([self.active_floors, self.active_group_floors]))
        pairs = np.argwhere(self.idle_pairs)
        return ActiveSet(frozenset(floors.tolist()), frozenset((int(k), int(c)) for k, c in pairs))

    @property
    def degenerate(self) -> bool:
        """Whether more than kappa - C constraints are active, so that the vertex has several bases."""
        n_active = self.active_floors.sum() + self.active_group_floors.sum() + self.idle_pairs.sum()
        return bool(n_active > self.allocation.size - self.allocation.shape[1])


def solve_lp(
    objective_means: "Table",
    constraint_means: "Table",
    revenue_floors: "Column",
    context_probabilities: "Column",
    *,
    group_floors: Iterable[GroupFloor] = (),
    available: "Table | None" = None,
    solver: Literal["simplex", "highs"] = "simplex",
    on_infeasible: Literal["raise", "least_shortfall"] = "raise",
    warm_start: Plan | None = None,
) -> Plan:
    """The paper's LP(mu_obj, mu_cons): means are per play, shape (K, C), floors per round, shape (K,).

    `available` (K x C, bool) says which arms may be played in which contexts. Frames, series and mappings are aligned
    by their labels as for `Instance`, to the order of `objective_means`. When no allocation meets the floors, raise
    InfeasibleError, or return the plan of least total shortfall that then earns the most. `warm_start` is an earlier
    plan of the same shape, from whose basis the simplex starts.

    >>> solve_lp([[4, 2], [1, 1]], [[4, 2], [1, 1]], [0, 0.25], [0.5, 0.5]).value
    2.75
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
    return _solve(
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
        [f"{floor.kind} {floor.name}" for floor in table],
    )


def plan(
    instance: Instance,
    *,
    solver: Literal["simplex", "highs"] = "simplex",
    on_infeasible: Literal["raise", "least_shortfall"] = "raise",
) -> Plan:
    """The optimal stationary plan of an instance, LP(mu, mu).

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
    return _solve(
        instance.mean_rewards,
        instance.mean_rewards,
        instance.context_probabilities,
        instance.floors,
        None,
        solver,
        on_infeasible,
        None,
        instance.floors.names,
        zero_floors=zero_floors,
    )


def make_program(
    objective: Floats,
    revenue: Floats,
    rows: CouplingRows,
    available: Flags | None = None,
    weights: Floats | None = None,
) -> Program:
    """The kernel's view of a problem whose floors have these rows.

    `objective` and `revenue` are mean rewards if `weights` are the contexts' probabilities, weighted ones if None.
    """
    n_contexts = objective.shape[1]
    rewards = np.ascontiguousarray(objective, dtype=np.float64)
    return Program(
        objective=rewards,
        revenue=np.ascontiguousarray(revenue, dtype=np.float64),
        root=rewards,  # any finite matrix: a plain problem leans by nothing
        lean=np.zeros(2),
        weights=np.ones(n_contexts) if weights is None else np.ascontiguousarray(weights, dtype=np.float64),
        changed=np.zeros(n_contexts, dtype=np.bool_),
        available=np.ones(objective.shape, dtype=np.bool_) if available is None else available,
        floors=np.ascontiguousarray(rows.floors, dtype=np.float64),
        arm_rows=rows.arm_rows,
    )


def assemble_program(
    objective: Floats,
    revenue: Floats,
    floors: Floats,
    rows: Sequence[Sequence[int]],
    available: Flags | None = None,
    weights: Floats | None = None,
) -> Program:
    """A program whose arm k takes part in the rows listed in rows[k], counted from 1, negative for sign -1."""
    return make_program(objective, revenue, CouplingRows(floors, arm_rows_of(rows, len(floors))), available, weights)


def solve_program(program: Program, *, least_shortfall: bool = False, start: Basis | None = None) -> Solution:
    """Run the kernel in memory of its own; `start` is copied, not changed."""
    n_arms, n_contexts = program.objective.shape
    n_rows = program.floors.shape[0]
    basis = make_basis(n_contexts, n_rows) if start is None else Basis(*(part.copy() for part in start))
    workspace = make_workspace(n_arms, n_contexts, n_rows, program.arm_rows.shape[1], shortfall_prices=True)
    allocation = np.zeros((n_arms, n_contexts))
    status = PlanStatus(plan_kernel(_writable(program), basis, least_shortfall, 0, workspace, allocation))
    infeasible = status == PlanStatus.INFEASIBLE
    return Solution(
        status=status,
        allocation=allocation,
        prices=workspace.by_row[ByRow.PRICE, :n_rows],
        ray=workspace.by_row[ByRow.RAY, :n_rows] if infeasible else np.zeros(n_rows),
        shortfall_prices=workspace.by_row[ByRow.SHORTFALL_PRICE, :n_rows],
        basis=basis,
    )


def _writable(program: Program) -> Program:
    """The program without read-only arrays, which would be another compiled signature."""
    return Program(*(part if part.flags.writeable else part.copy() for part in program))


def _solve(
    objective: Floats,
    revenue: Floats,
    probabilities: Floats,
    floors: Floors,
    available: Flags | None,
    solver: str,
    on_infeasible: str,
    warm_start: Plan | None,
    names: Sequence[str],
    *,
    zero_floors: bool = False,
) -> Plan:
    """Solve the problem, and turn what was found into a Plan or an error; `zero_floors` have rows if asked for."""
    rows = floors.coupling_rows(zero_floors=zero_floors)
    program = make_program(objective, revenue, rows, available, probabilities)
    problem = Coefficients(
        probabilities * objective, probabilities * revenue, program.available, rows.floors, floors.group_members
    )
    certificate = None
    if solver == "simplex":
        start = _matching_basis(warm_start, program)
        solution = solve_program(program, least_shortfall=True, start=start)
        if solution.status == PlanStatus.OPTIMAL and solution.shortfall_prices.any():
            solution = solution._replace(
                prices=prices_among_all(problem, solution.allocation, solution.shortfall_prices, solution.prices)
            )
        certificate = _certify(program, problem, solution, on_infeasible)
    else:
        from arcbandit.highs import solve_with_highs

        no_basis = make_basis(objective.shape[1], len(names))
        solution = Solution(*solve_with_highs(program), shortfall_prices=np.zeros(len(names)), basis=no_basis)
    if solution.status == PlanStatus.PIVOT_LIMIT:
        raise PlanningError("The solver could neither find an optimal plan nor prove that there is none.")
    found = _describe(problem, solution, floors.amounts, certificate)
    if found.status == PlanStatus.INFEASIBLE and on_infeasible == "raise":
        conflicting = tuple(names[row] for row in found.conflicting_floors)
        raise InfeasibleError(
            f"No allocation meets the floors of {', '.join(conflicting)} together; "
            f"the least total shortfall is {found.total_shortfall:.6g}.",
            conflicting_floors=conflicting,
            least_shortfall=found.total_shortfall,
        )
    return found


def _certify(program: Program, problem: Coefficients, solution: Solution, on_infeasible: str) -> Certificate | None:
    """Prove what the kernel found, or refuse it: rounding can lead it astray where coefficients span many decades."""
    if solution.status == PlanStatus.PIVOT_LIMIT:
        return None
    if solution.status == PlanStatus.OPTIMAL:
        certificate = certify_optimal(_writable(program), solution.allocation, np.maximum(solution.prices, 0.0))
        holds = certificate.holds
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


def _describe(problem: Coefficients, solution: Solution, asked: Floats, certificate: Certificate | None) -> Plan:
    """The Plan of what a solver found."""
    n_arms = problem.objective.shape[0]
    members = problem.members
    arm_revenue = (problem.revenue * solution.allocation).sum(axis=1)
    prices = np.maximum(solution.prices, 0.0)
    worth = problem.objective + problem.by_arm(prices)[:, np.newaxis] * problem.revenue
    largest = np.where(problem.available, np.abs(problem.revenue), 0.0).max(axis=1)
    scale = np.concatenate([largest, np.where(members, largest, 0.0).max(axis=1, initial=0.0)])
    strength = solution.ray * np.where(scale > 0, scale, 1.0)
    conflict = np.flatnonzero(strength > FEASIBILITY_TOLERANCE * strength.max(initial=0.0))
    return Plan(
        status=solution.status,
        allocation=solution.allocation,
        value=float((problem.objective * solution.allocation).sum()),
        arm_revenue=arm_revenue,
        revenue_floors=asked[:n_arms],
        floor_prices=prices[:n_arms],
        context_values=problem.best(worth),
        group_revenue=members @ arm_revenue,
        group_floors=asked[n_arms:],
        group_prices=prices[n_arms:],
        revenue_scale=np.where(scale > 0, scale, 1.0),
        conflicting_floors=tuple(conflict.tolist()),
        basis=solution.basis,
        certificate=certificate,
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


def _beyond_rounding(floors: Floats, revenue: Floats, scale: Floats) -> Floats:
    """What is missing of each floor; a floor of zero promises nothing, and one that counts as met lacks nothing."""
    gap = floors - revenue
    return np.where((floors != 0.0) & (gap > SHORTFALL_TOLERANCE * np.abs(floors) + ROUNDING * scale), gap, 0.0)
