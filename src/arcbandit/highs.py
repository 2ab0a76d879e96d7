"""The reference solver: the same problem through HiGHS, to which plans are compared."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import MissingExtraError
from arcbandit.kernels.program import PlanStatus, Program

Floats = NDArray[np.float64]

TOLERANCE = 1e-10  # the tightest that HiGHS accepts


def solve_with_highs(program: Program) -> tuple[PlanStatus, Floats, Floats, Floats]:
    """Status, allocation (K x C), prices (M) and, if infeasible, prices that prove it (M, else zeros).

    An infeasible problem gets the allocation of least total shortfall that then earns the most.
    """
    model = _Model(program)
    status, shares, prices = model.maximise(model.objective, shortfall_limit=0.0)
    if status == PlanStatus.OPTIMAL:
        return status, shares, prices, np.zeros_like(prices)
    if status != PlanStatus.INFEASIBLE:
        return status, shares, prices, np.zeros_like(prices)
    fallen, shares, ray = model.maximise(np.zeros_like(model.objective), shortfall_limit=np.inf)
    if fallen != PlanStatus.OPTIMAL:
        return PlanStatus.PIVOT_LIMIT, shares, prices, np.zeros_like(prices)
    least = model.total_shortfall
    limit = least + 10 * TOLERANCE * max(1.0, least)
    fallen, shares, prices = model.maximise(model.objective, shortfall_limit=limit, weigh_shortfall=False)
    if fallen != PlanStatus.OPTIMAL:
        return PlanStatus.PIVOT_LIMIT, shares, prices, np.zeros_like(prices)
    return PlanStatus.INFEASIBLE, shares, prices, ray


class _Model:
    """The problem with its rows and objective scaled to 1, and a shortfall column for each floor.

    Rows: M floors, C contexts, and one that limits the total shortfall.
    """

    def __init__(self, program: Program) -> None:
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
        self.total_shortfall = 0.0

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
            indices += [row, self.n_rows + self.n_contexts]
            values += [1.0 / float(self.row_scale[row]), 1.0]
            starts.append(len(indices))
        return starts, indices, values

    def maximise(
        self, objective: Floats, *, shortfall_limit: float, weigh_shortfall: bool = True
    ) -> tuple[PlanStatus, Floats, Floats]:
        """Solve for one objective; the prices are those of the objective's own units."""
        highspy = _highspy()
        n_pairs = self.n_arms * self.n_contexts
        infinity = highspy.kHighsInf
        model = highspy.HighsLp()
        model.num_col_ = n_pairs + self.n_rows
        model.num_row_ = self.n_rows + self.n_contexts + 1
        short = np.full(self.n_rows, 1.0 if weigh_shortfall else 0.0)
        model.col_cost_ = np.concatenate([-objective.ravel(), short])
        model.col_lower_ = np.zeros(model.num_col_)
        may_fall = infinity if shortfall_limit > 0 else 0.0
        model.col_upper_ = np.concatenate(
            [np.where(self.program.available.ravel(), infinity, 0.0), np.full(self.n_rows, may_fall)]
        )
        ones = np.ones(self.n_contexts)
        model.row_lower_ = np.concatenate([self.program.floors / self.row_scale, ones, [0.0]])
        model.row_upper_ = np.concatenate([np.full(self.n_rows, infinity), ones, [min(shortfall_limit, infinity)]])
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
        solver.run()
        outcome = {
            highspy.HighsModelStatus.kOptimal: PlanStatus.OPTIMAL,
            highspy.HighsModelStatus.kInfeasible: PlanStatus.INFEASIBLE,
        }.get(solver.getModelStatus(), PlanStatus.PIVOT_LIMIT)
        if outcome != PlanStatus.OPTIMAL:
            return outcome, np.zeros_like(objective), np.zeros(self.n_rows)
        found = solver.getSolution()
        solution = np.array(found.col_value)
        self.total_shortfall = float(solution[n_pairs:].sum())
        shares = np.maximum(solution[:n_pairs].reshape(objective.shape), 0.0)
        units = self.objective_scale if objective.any() else 1.0
        prices = np.abs(np.array(found.row_dual)[: self.n_rows]) * units / self.row_scale
        return outcome, shares / shares.sum(axis=0), prices


def _highspy() -> Any:
    try:
        import highspy
    except ImportError:
        raise MissingExtraError("highspy", "reference") from None
    return highspy
