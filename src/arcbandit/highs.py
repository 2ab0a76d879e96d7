"""The reference solver: the same problem solved by HiGHS, for comparison."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import MissingExtraError
from arcbandit.kernels.program import NO_FLOOR, PlanStatus, Program

Floats = NDArray[np.float64]

TOLERANCE = 1e-10  # the tightest that HiGHS accepts
DUAL_SIMPLEX, PRIMAL_SIMPLEX = 1, 4  # values of the option simplex_strategy
FACE_TOLERANCE = 1e-9  # a reduced cost beyond this is not rounding


def solve_with_highs(program: Program) -> tuple[PlanStatus, Floats, Floats, Floats]:
    """Status, allocation (K x C), prices (M) and prices that prove infeasibility (M; zeros if feasible).

    For an infeasible problem, the allocation has the least total shortfall and, among those, earns the most.
    """
    model = _Model(program)
    status, shares, prices = model.maximise(model.objective)
    if status != PlanStatus.INFEASIBLE:
        return status, shares, prices, np.zeros_like(prices)
    model.let_fall_short()
    fallen, shares, ray = model.maximise(np.zeros_like(model.objective))
    if fallen == PlanStatus.OPTIMAL:
        model.restrict_to_face()
        fallen, shares, prices = model.maximise(model.objective)
    if fallen != PlanStatus.OPTIMAL:
        return PlanStatus.PIVOT_LIMIT, shares, prices, np.zeros_like(prices)
    return PlanStatus.INFEASIBLE, shares, prices, ray


def share_with_highs(program: Program) -> tuple[tuple[PlanStatus, Floats, Floats, Floats], float]:
    """What `solve_with_highs` gives, but with the same share of every floor above zero, the largest; and that share.

    The prices that prove infeasibility prove that no share is larger. The share is NaN if floors conflict at any share.
    """
    n_rows = len(program.floors)
    if not (program.floors > 0.0).any():
        return (PlanStatus.INFEASIBLE, np.zeros_like(program.objective), np.zeros(n_rows), np.zeros(n_rows)), math.nan
    model = _Model(program)
    model.open_share()
    status, shares, ray = model.maximise(np.zeros_like(model.objective))
    if status != PlanStatus.OPTIMAL:
        return (status, shares, ray, np.zeros_like(ray)), math.nan
    share = model.share
    # Its answer is off by up to its tolerance, which may put the floors out of reach.
    for slack in (0.0, TOLERANCE, 10 * TOLERANCE):
        lower = share - slack * max(1.0, abs(share))
        floors = np.where(program.floors > 0.0, lower * program.floors, program.floors)
        model = _Model(program._replace(floors=floors))
        status, shares, prices = model.maximise(model.objective)
        if status == PlanStatus.OPTIMAL:
            return (PlanStatus.INFEASIBLE, shares, prices, ray), share
    return (PlanStatus.PIVOT_LIMIT, shares, prices, ray), share


class _Model:
    """The problem with its rows and objective scaled to 1, and a shortfall column per floor.

    Rows: M floors, then C contexts. A shortfall is in the scale of its row, and costs the same per unit of money.
    """

    def __init__(self, program: Program) -> None:
        program = program._replace(
            objective=program.weights * program.objective, revenue=program.weights * program.revenue
        )
        self.program = program
        self.n_arms, self.n_contexts = program.objective.shape
        self.n_rows = program.floors.shape[0]
        self.row_scale = np.zeros(self.n_rows)
        largest = np.where(program.available, np.abs(program.revenue), 0.0).max(axis=1)
        for arm, rows in enumerate(program.arm_rows):
            for signed in rows[rows != 0]:
                self.row_scale[abs(signed) - 1] = max(self.row_scale[abs(signed) - 1], largest[arm])
        self.row_scale[self.row_scale == 0] = 1.0
        self.objective_scale = float(np.abs(program.objective).max()) or 1.0
        self.objective = program.objective / self.objective_scale
        n_pairs = self.n_arms * self.n_contexts
        ones = np.ones(self.n_contexts)
        self.column_upper = np.concatenate([np.where(program.available.ravel(), np.inf, 0.0), np.zeros(self.n_rows)])
        lower = np.where(program.floors == NO_FLOOR, -np.inf, program.floors / self.row_scale)
        self.row_lower = np.concatenate([lower, ones])
        self.row_upper = np.concatenate([np.full(self.n_rows, np.inf), ones])
        self.shortfall_cost = np.zeros(self.n_rows)
        # What a share of all floors at once takes from each row, in units of the largest.
        self.share_taken = np.zeros(self.n_rows)
        self.share_unit = 1.0
        self.share = 0.0
        self.column_dual = np.zeros(n_pairs + self.n_rows)
        self.row_dual = np.zeros(self.n_rows + self.n_contexts)

    def let_fall_short(self) -> None:
        """Allow every floor to be missed, at the same price per unit."""
        self.column_upper[-self.n_rows :] = np.inf
        self.shortfall_cost[:] = self.row_scale / self.row_scale.max()

    def open_share(self) -> None:
        """Replace floors above zero by their amounts times an unknown share, which is to be as large as possible."""
        taken = np.maximum(self.program.floors, 0.0) / self.row_scale
        self.share_unit = float(taken.max())
        self.share_taken = taken / self.share_unit
        self.row_lower[: self.n_rows][taken > 0.0] = 0.0

    def restrict_to_face(self) -> None:
        """Restrict to the face of optimal solutions of the last objective, and drop that objective."""
        self.column_upper[np.abs(self.column_dual) > FACE_TOLERANCE] = 0.0
        binding = np.abs(self.row_dual) > FACE_TOLERANCE
        self.row_upper[binding] = self.row_lower[binding]
        self.shortfall_cost[:] = 0.0

    def _columns(self) -> tuple[list[int], list[int], list[float]]:
        starts, indices, values = [0], [], []
        for arm in range(self.n_arms):
            for context in range(self.n_contexts):
                for signed in self.program.arm_rows[arm]:
                    if signed != 0:
                        row = abs(int(signed)) - 1
                        indices.append(row)
                        values.append(float(np.sign(signed) * self.program.revenue[arm, context] / self.row_scale[row]))
                indices.append(self.n_rows + context)
                values.append(1.0)
                starts.append(len(indices))
        for row in range(self.n_rows):
            indices.append(row)
            values.append(1.0)
            starts.append(len(indices))
        indices += range(self.n_rows)
        values += (-self.share_taken).tolist()
        starts.append(len(indices))
        return starts, indices, values

    def maximise(self, objective: Floats) -> tuple[PlanStatus, Floats, Floats]:
        """Solve for one objective; the prices are in the objective's own units."""
        highspy = _highspy()
        n_pairs = self.n_arms * self.n_contexts
        model = highspy.HighsLp()
        model.num_col_ = n_pairs + self.n_rows + 1
        model.num_row_ = self.n_rows + self.n_contexts
        shared = bool(self.share_taken.any())
        model.col_cost_ = np.concatenate([-objective.ravel(), self.shortfall_cost, [-1.0 if shared else 0.0]])
        model.col_lower_ = np.concatenate([np.zeros(n_pairs + self.n_rows), [-np.inf if shared else 0.0]])
        model.col_upper_ = np.concatenate([self.column_upper, [np.inf if shared else 0.0]])
        model.row_lower_ = self.row_lower
        model.row_upper_ = self.row_upper
        starts, indices, values = self._columns()
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_ = np.array(starts)
        model.a_matrix_.index_ = np.array(indices)
        model.a_matrix_.value_ = np.array(values)
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        solver.setOptionValue("primal_feasibility_tolerance", TOLERANCE)
        solver.setOptionValue("dual_feasibility_tolerance", TOLERANCE)
        solver.passModel(model)
        outcomes = {
            highspy.HighsModelStatus.kOptimal: PlanStatus.OPTIMAL,
            highspy.HighsModelStatus.kInfeasible: PlanStatus.INFEASIBLE,
        }
        outcome = PlanStatus.PIVOT_LIMIT
        # Its dual simplex gives up on one infeasible problem in a thousand; the primal simplex does not.
        for strategy in (DUAL_SIMPLEX, PRIMAL_SIMPLEX):
            solver.setOptionValue("simplex_strategy", strategy)
            solver.clearSolver()
            solver.run()
            outcome = outcomes.get(solver.getModelStatus(), PlanStatus.PIVOT_LIMIT)
            if outcome != PlanStatus.PIVOT_LIMIT:
                break
        if outcome != PlanStatus.OPTIMAL:
            return outcome, np.zeros_like(objective), np.zeros(self.n_rows)
        found = solver.getSolution()
        solution = np.array(found.col_value)
        self.share = float(solution[-1]) / self.share_unit
        self.column_dual = np.array(found.col_dual)[:-1]
        self.row_dual = np.array(found.row_dual)
        shares = np.maximum(solution[:n_pairs].reshape(objective.shape), 0.0)
        units = self.objective_scale if objective.any() else 1.0
        prices = np.abs(self.row_dual[: self.n_rows]) * units / self.row_scale
        return outcome, shares / shares.sum(axis=0), prices


def _highspy() -> Any:
    try:
        import highspy
    except ImportError:
        raise MissingExtraError("highspy", "reference") from None
    return highspy
