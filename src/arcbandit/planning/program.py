"""The planner's problem and answer as arrays."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcbandit.floors import CouplingRows, arm_rows_of
from arcbandit.kernels.marks import make_marks
from arcbandit.kernels.program import Basis, ByRow, PlanStatus, Program
from arcbandit.planning.memory import NOBODY, TRUSTED, Memory, Shape, planning_kernel, sharing_kernel

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
        changed=make_marks(n_contexts),
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
    memory = Memory(Shape.of(program))
    task = memory.load(program)
    if start is not None:
        _start_from(memory, start)
    found, _, _ = planning_kernel()(task, start is None, TRUSTED, least_shortfall, NOBODY)
    return _solution(memory, PlanStatus(found))


def solve_same_share(program: Program, *, start: Basis | None = None) -> tuple[Solution, float]:
    """Like `solve_program`, but floors that cannot all be met get the same share of their amounts; with the share.

    The share is 1 if all floors can be met, and NaN if some conflict at any share. The prices of the solution are
    those of the reduced floors, and its ray proves that no larger share is possible.
    """
    memory = Memory(Shape.of(program))
    task = memory.load(program)
    memory.array(memory.places.amounts)[...] = program.floors
    if start is not None:
        _start_from(memory, start)
    found, share = sharing_kernel()(task, start is None)
    return _solution(memory, PlanStatus(found)), share


def _start_from(memory: Memory, start: Basis) -> None:
    for own, given in zip(memory.basis, start, strict=True):
        own[...] = given


def _solution(memory: Memory, status: PlanStatus) -> Solution:
    prices, ray, shortfall_prices = memory.rows(ByRow.PRICE, ByRow.RAY, ByRow.SHORTFALL_PRICE)
    return Solution(
        status=status,
        allocation=memory.allocation,
        prices=prices,
        ray=ray if status == PlanStatus.INFEASIBLE else np.zeros(len(ray)),
        shortfall_prices=shortfall_prices,
        basis=memory.basis,
    )


def writable(program: Program) -> Program:
    """The program without read-only arrays, which would be another compiled signature."""
    return Program(*(part if part.flags.writeable else part.copy() for part in program))
