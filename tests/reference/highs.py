"""The planning problem through HiGHS, written straight into its matrices: the twin that plans are compared to."""

import highspy
import numpy as np

from arcbandit.planning import PlanStatus

TOLERANCE = 1e-10  # the tightest that HiGHS accepts
DUAL_SIMPLEX, PRIMAL_SIMPLEX = 1, 4  # values of the option simplex_strategy
FACE_TOLERANCE = 1e-8  # a reduced cost beyond this is not rounding

OUTCOMES = {
    highspy.HighsModelStatus.kOptimal: PlanStatus.OPTIMAL,
    highspy.HighsModelStatus.kInfeasible: PlanStatus.INFEASIBLE,
}


class HighsTwin:
    """One HiGHS, used for many problems: making it costs more than solving a small one."""

    def __init__(self):
        self.solver = highspy.Highs()
        for option, value in {
            "output_flag": False,
            "presolve": "off",
            "threads": 1,
            "primal_feasibility_tolerance": TOLERANCE,
            "dual_feasibility_tolerance": TOLERANCE,
            "small_matrix_value": 1e-12,  # by default it drops what a rare context earns
        }.items():
            assert self.solver.setOptionValue(option, value) == highspy.HighsStatus.kOk

    def best(self, problem):
        """Status and value of LP(mu_obj, mu_cons)."""
        objective_scale = np.abs(problem.objective).max() or 1.0
        cost = -(problem.objective / objective_scale).ravel()
        status = self._run(problem, cost, np.where(problem.open.ravel(), np.inf, 0.0))
        return status, -self.solver.getInfo().objective_function_value * objective_scale

    def least_shortfall(self, problem):
        """Least total shortfall, and the most revenue among the allocations that fall short by no more."""
        n_pairs, n_rows = problem.objective.size, problem.floors.size
        unit = problem.row_scale.max()
        upper = np.concatenate([np.where(problem.open.ravel(), np.inf, 0.0), np.full(n_rows, np.inf)])
        cost = np.concatenate([np.zeros(n_pairs), np.ones(n_rows)])
        assert self._run(problem, cost, upper, shortfall_unit=unit) == PlanStatus.OPTIMAL
        shortfall = self.solver.getInfo().objective_function_value * unit
        found = self.solver.getSolution()
        upper[np.abs(found.col_dual) > FACE_TOLERANCE] = 0.0
        binding = np.abs(found.row_dual) > FACE_TOLERANCE
        objective_scale = np.abs(problem.objective).max() or 1.0
        cost = np.concatenate([-(problem.objective / objective_scale).ravel(), np.zeros(n_rows)])
        assert self._run(problem, cost, upper, shortfall_unit=unit, binding=binding) == PlanStatus.OPTIMAL
        return shortfall, -self.solver.getInfo().objective_function_value * objective_scale

    def _run(self, problem, cost, upper, *, shortfall_unit=None, binding=None):
        n_arms, n_contexts = problem.objective.shape
        n_rows, n_groups = problem.floors.size, len(problem.groups)
        scale = problem.row_scale
        model = highspy.HighsLp()
        model.num_col_ = cost.size
        model.num_row_ = n_rows + n_contexts
        model.col_cost_ = cost
        model.col_lower_ = np.zeros(cost.size)
        model.col_upper_ = upper
        asked = np.where(problem.asks, problem.floors / scale, -np.inf)
        lower = np.concatenate([asked, np.ones(n_contexts)])
        row_upper = np.concatenate([np.full(n_rows, np.inf), np.ones(n_contexts)])
        if binding is not None:
            row_upper[binding] = lower[binding]
        model.row_lower_ = lower
        model.row_upper_ = row_upper
        # Dense columns of a pair: its context, its arm's floor, then its groups.
        arm, context = np.divmod(np.arange(n_arms * n_contexts), n_contexts)
        revenue = problem.revenue.ravel()
        rows = [n_rows + context, arm]
        values = [np.ones(arm.size), revenue / scale[arm]]
        for group in range(n_groups):
            rows.append(np.full(arm.size, n_arms + group))
            values.append(np.where(problem.members[group, arm], revenue / scale[n_arms + group], 0.0))
        row_array, value_array = np.stack(rows, axis=1).ravel(), np.stack(values, axis=1).ravel()
        starts = np.arange(0, row_array.size + 1, len(rows))
        if shortfall_unit is not None:
            row_array = np.concatenate([row_array, np.arange(n_rows)])
            value_array = np.concatenate([value_array, shortfall_unit / scale])
            starts = np.concatenate([starts, starts[-1] + 1 + np.arange(n_rows)])
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_ = starts
        model.a_matrix_.index_ = row_array
        model.a_matrix_.value_ = value_array
        # Its dual simplex gives up ("unknown") on one infeasible problem in a thousand; its primal simplex does not.
        for strategy in (DUAL_SIMPLEX, PRIMAL_SIMPLEX):
            self.solver.setOptionValue("simplex_strategy", strategy)
            self.solver.clearSolver()
            self.solver.passModel(model)
            self.solver.run()
            status = OUTCOMES.get(self.solver.getModelStatus(), PlanStatus.PIVOT_LIMIT)
            if status != PlanStatus.PIVOT_LIMIT:
                break
        return status
