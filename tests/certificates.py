"""Proofs that a plan is optimal, or that there is none, each checked in one pass over the problem, O(K C).

Nothing here solves anything or knows how the simplex works: weak duality is all it takes.
"""

from typing import NamedTuple

import numpy as np

from arcbandit.floors import Floors, GroupFloor, named_groups
from arcbandit.planning import Plan, PlanStatus, make_program, solve_lp

COLUMN_TOLERANCE = 1e-12  # of a column's sum of shares, which is 1
FLOOR_TOLERANCE = 4e-9  # of the largest coefficient of the floor's row
PRICE_TOLERANCE = 1e-10  # of the terms of a reduced cost
GAP_TOLERANCE = 4e-9  # of the largest terms of the value and of the dual bound


class Problem(NamedTuple):
    """LP(mu_obj, mu_cons) as `solve_lp` takes it."""

    objective_means: np.ndarray  # shape (K, C)
    constraint_means: np.ndarray  # shape (K, C)
    revenue_floors: np.ndarray  # shape (K,)
    context_probabilities: np.ndarray  # shape (C,)
    groups: tuple[GroupFloor, ...] = ()
    available: np.ndarray | None = None  # bool, shape (K, C)

    @property
    def objective(self):
        """A = p mu_obj, shape (K, C)."""
        return self.context_probabilities * self.objective_means

    @property
    def revenue(self):
        """B = p mu_cons, shape (K, C)."""
        return self.context_probabilities * self.constraint_means

    @property
    def open(self):
        """Which pairs may be played, shape (K, C)."""
        return np.ones(self.objective_means.shape, dtype=bool) if self.available is None else self.available

    @property
    def members(self):
        """Which arms each group counts, shape (G, K)."""
        members = np.zeros((len(self.groups), len(self.revenue_floors)), dtype=bool)
        for row, group in enumerate(self.groups):
            members[row, list(group.arms)] = True
        return members

    @property
    def floors(self):
        """Floors of the arms, then of the groups, shape (K + G,)."""
        return np.concatenate([self.revenue_floors, [group.floor for group in self.groups]])

    @property
    def asks(self):
        """Which floors ask for anything: a floor of zero promises nothing and has no row, shape (K + G,)."""
        return self.floors != 0

    @property
    def row_scale(self):
        """Largest |coefficient| of each floor's row, 1 where all are zero, shape (K + G,)."""
        largest = np.where(self.open, np.abs(self.revenue), 0.0).max(axis=1)
        scale = np.concatenate([largest, [largest[row].max() for row in self.members]])
        return np.where(scale > 0, scale, 1.0)

    @property
    def span(self):
        """The largest |coefficient| or |floor| of all rows over the least that is not zero."""
        sizes = np.abs(np.concatenate([self.revenue[self.open], self.floors]))
        return sizes.max() / sizes[sizes > 0].min(initial=np.inf)

    def earned(self, allocation):
        """Revenue of each arm, then of each group, shape (K + G,)."""
        by_arm = (self.revenue * allocation).sum(axis=1)
        return np.concatenate([by_arm, self.members @ by_arm])

    def arm_prices(self, prices):
        """Y_k: the price of an arm's own floor plus those of its groups, shape (K,)."""
        n_arms = len(self.revenue_floors)
        return prices[:n_arms] + prices[n_arms:] @ self.members

    def solve(self, **options) -> Plan:
        """`solve_lp` of this problem."""
        return solve_lp(
            self.objective_means,
            self.constraint_means,
            self.revenue_floors,
            self.context_probabilities,
            group_floors=self.groups,
            available=self.available,
            **options,
        )

    def program(self):
        """The same problem as the kernel sees it."""
        names = [str(arm) for arm in range(len(self.revenue_floors))]
        groups = named_groups(self.groups, names, arms_have_names=False)
        rows = Floors.of(names, self.revenue_floors, groups).coupling_rows()
        return make_program(self.objective, self.revenue, rows, self.available)


def check_allocation(problem, allocation):
    """Shares are not negative, closed pairs are not played, and every context gives out exactly one unit."""
    assert (allocation >= 0).all()
    assert (allocation[~problem.open] == 0).all()
    np.testing.assert_allclose(allocation.sum(axis=0), 1.0, rtol=0, atol=COLUMN_TOLERANCE)


def check_optimal(problem, plan):
    """Raise unless the plan's prices prove that no allocation that meets the floors earns more."""
    assert plan.status == PlanStatus.OPTIMAL
    check_allocation(problem, plan.allocation)
    objective, revenue = problem.objective, problem.revenue

    lacking = np.where(problem.asks, problem.floors - problem.earned(plan.allocation), 0.0) / problem.row_scale
    assert lacking.max() <= FLOOR_TOLERANCE, f"a floor is missed by {lacking.max()} of its scale"

    prices = np.concatenate([plan.floor_prices, plan.group_prices])
    assert (prices >= 0).all()
    assert (prices[~problem.asks] == 0).all()

    arm_prices = problem.arm_prices(prices)[:, None]
    worth = objective + arm_prices * revenue
    terms = np.where(problem.open, np.abs(objective) + np.abs(arm_prices * revenue), 0.0)
    excess = np.where(problem.open, worth - plan.context_values, -np.inf)
    assert (excess <= PRICE_TOLERANCE * terms.max(axis=0)).all(), f"a reduced cost is {excess.max()}"

    value = (objective * plan.allocation).sum()
    bound = np.where(problem.open, worth, -np.inf).max(axis=0).sum() - prices @ problem.floors
    size = terms.max(axis=0).sum() + prices @ (np.abs(problem.floors) + problem.row_scale)
    assert abs(bound - value) <= GAP_TOLERANCE * size, f"value {value} and bound {bound} differ"
    np.testing.assert_allclose(plan.value, value, rtol=1e-12, atol=1e-12 * size)


def infeasibility(problem, prices):
    """y . lambda - sum_c max_k Y_k b_kc less all rounding that these sums may hold: positive proves infeasibility."""
    prices = np.asarray(prices)
    assert (prices >= 0).all()
    assert (prices[~problem.asks] == 0).all()
    worth = problem.arm_prices(prices)[:, None] * problem.revenue
    reachable = np.where(problem.open, worth, -np.inf).max(axis=0)
    needed = prices * problem.floors
    n_terms = reachable.size + needed.size + len(problem.groups) + 4
    rounding = n_terms * np.finfo(float).eps * (np.abs(reachable).sum() + np.abs(needed).sum())
    return needed.sum() - reachable.sum() - rounding


def check_infeasible(problem, prices):
    """Raise unless the prices prove that no allocation meets the floors."""
    assert infeasibility(problem, prices) > 0
