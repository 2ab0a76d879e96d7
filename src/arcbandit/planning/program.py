"""The planner's problem and answer as arrays, and the memory that its kernel works in."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcbandit.floors import CouplingRows, arm_rows_of
from arcbandit.kernels.planning import plan as plan_kernel
from arcbandit.kernels.program import (
    Basis,
    ByRow,
    PlanStatus,
    Program,
    make_basis,
    make_workspace,
)

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Solution(NamedTuple):
    """What a solver found. `prices` are optimal ones or, if INFEASIBLE, those among the plans of least shortfall."""

    status: PlanStatus
    allocation: Floats  # shape (K, C)
    prices: Floats  # shape (M,); those that rounding left below zero are zero
    ray: Floats  # prices that prove that the floors conflict, shape (M,), all zero unless INFEASIBLE
    shortfall_prices: Floats  # prices of the least total shortfall, shape (M,), all zero if it was not asked for
    basis: Basis


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
    status = PlanStatus(plan_kernel(writable(program), basis, least_shortfall, 0, workspace, allocation))
    infeasible = status == PlanStatus.INFEASIBLE
    return Solution(
        status=status,
        allocation=allocation,
        prices=workspace.by_row[ByRow.PRICE, :n_rows],
        ray=workspace.by_row[ByRow.RAY, :n_rows] if infeasible else np.zeros(n_rows),
        shortfall_prices=workspace.by_row[ByRow.SHORTFALL_PRICE, :n_rows],
        basis=basis,
    )


def writable(program: Program) -> Program:
    """The program without read-only arrays, which would be another compiled signature."""
    return Program(*(part if part.flags.writeable else part.copy() for part in program))
