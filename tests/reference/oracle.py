"""The oracle's constants by SciPy, one linear program at a time, straight from the definitions and slow.

Slopes are differences over a small step, halved until two steps in a row agree, which on a piecewise linear function
means that the step has come to lie within one piece.
"""

import itertools
import math

import numpy as np
from scipy.optimize import linprog

OPTIONS = {"presolve": False, "primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
AGREEMENT = 1e-6


class OracleTwin:
    """An instance and its constants; sets I are (floors, pairs) as in ActiveSet."""

    def __init__(self, instance):
        self.weighted = instance.weighted_means
        self.n_arms, self.n_contexts = self.weighted.shape
        self.floors = np.concatenate([instance.revenue_floors, [group.floor for group in instance.group_floors]])
        counted = np.vstack([np.eye(self.n_arms), instance.group_members])
        # Row m of `rows`, times the allocation read row by row, is what floor m counts.
        self.rows = (counted[:, :, None] * self.weighted[None]).reshape(len(self.floors), -1)
        self.columns = np.tile(np.eye(self.n_contexts), (1, self.n_arms))
        self.margin = self._margin()
        self.value = self.best_above(0.0) if self.margin >= 0 else None
        self.sensitivity = (
            None if self.margin < 0 else self._slope(lambda h: self.best_above(self.margin - h), self.margin)
        )

    def _solve(self, cost, upper_rows, upper, bounds, *, slack_column=None):
        """Minimise over allocations, and over s where a column for it is given; None if there is no solution."""
        equal = self.columns
        if slack_column is not None:
            upper_rows = np.column_stack([upper_rows, slack_column])
            equal = np.column_stack([equal, np.zeros(self.n_contexts)])
        found = linprog(cost, upper_rows, upper, equal, np.ones(self.n_contexts), bounds, options=OPTIONS)
        return found.fun if found.status == 0 else None

    def _margin(self):
        cost = np.append(np.zeros(self.weighted.size), -1.0)
        bounds = [(0, None)] * self.weighted.size + [(None, None)]
        return -self._solve(cost, -self.rows, -self.floors, bounds, slack_column=np.ones(len(self.floors)))

    def best_above(self, slack):
        """Max of f over Phi(s)."""
        return -self._solve(-self.weighted.ravel(), -self.rows, -(self.floors + slack), (0, None))

    def _around(self, active_set):
        """Rows, right-hand side and bounds of psi(s, I), whose every right-hand side grows with s."""
        floors, pairs = active_set
        exact = sorted(floors)
        rows = np.vstack([-self.rows, self.rows[exact]])
        limits = np.concatenate([-self.floors, self.floors[exact]])
        bounds = [
            (0, 0 if pair in pairs else None) for pair in itertools.product(range(self.n_arms), range(self.n_contexts))
        ]
        return rows, limits, bounds

    def feasibility_gap(self, active_set):
        """s(I)."""
        rows, limits, bounds = self._around(active_set)
        cost = np.append(np.zeros(self.weighted.size), 1.0)
        least = self._solve(cost, rows, limits, [*bounds, (0, None)], slack_column=-np.ones(len(limits)))
        return math.inf if least is None else least

    def best_around(self, active_set, slack):
        """Max of f over psi(s, I)."""
        rows, limits, bounds = self._around(active_set)
        return -self._solve(-self.weighted.ravel(), rows, limits + slack, bounds)

    def gaps(self, active_set):
        """s(I), L(I), P(I), rho(I)."""
        least = self.feasibility_gap(active_set)
        if math.isinf(least):
            return math.inf, 0.0, 0.0, math.inf
        sensitivity = self._slope(lambda h: self.best_around(active_set, least + h), math.inf)
        loss = self.value - self.best_around(active_set, least)
        gap = loss / (max(1.0, self.sensitivity) + sensitivity)
        return least, sensitivity, gap, max(least, gap)

    def _slope(self, function, longest):
        """How fast the function rises from step 0, where it is steepest."""
        step = min(0.01, longest)
        if step == 0:
            return 0.0
        start = function(0.0)
        slope = (function(step) - start) / step
        while True:
            step /= 2
            steeper = (function(step) - start) / step
            if abs(steeper - slope) <= AGREEMENT * max(1.0, abs(slope)):
                return max(slope, 0.0)
            assert step > 1e-6, "two breakpoints lie closer than these differences can resolve"
            slope = steeper

    def least_gap(self, optimal_set, *, known=math.inf, every=1):
        """rho*, over every set of kappa - C constraints but I*; or over one in `every`, and a gap that is known."""
        constraints = [*range(len(self.floors)), *itertools.product(range(self.n_arms), range(self.n_contexts))]
        best = known
        sets = itertools.combinations(constraints, self.weighted.size - self.n_contexts)
        for chosen in itertools.islice(sets, 0, None, every):
            floors = frozenset(member for member in chosen if isinstance(member, int))
            active_set = (floors, frozenset(chosen) - floors)
            # A gap is at least s(I), which costs one program instead of many.
            if active_set != optimal_set and self.feasibility_gap(active_set) < best:
                best = min(best, self.gaps(active_set)[3])
        return best
