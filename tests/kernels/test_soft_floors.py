"""Soft floors and the revenue row, against HiGHS: from cold, and warm from program to program."""

import numpy as np
import pytest

from arcbandit.compilation.compile import entry_kernel
from arcbandit.floors import GroupFloor
from arcbandit.kernels.allocation import write_allocation
from arcbandit.kernels.program import ByRow, PlanStatus, make_basis
from arcbandit.kernels.revenue_row import Lies, explore_most
from arcbandit.kernels.scales import measure_scales
from arcbandit.kernels.soft_floors import add_shares, is_short, make_soft, plan_softly, total_of
from tests.certificates import Problem
from tests.kernels.modes import COMPILED
from tests.kernels.workspaces import workspace_for
from tests.long import each_of
from tests.reference.priced_lp import solve_soft

MOST = 1000.0
ROUNDS = 12


@entry_kernel
def plan_once(program, basis, price, workspace, allocation):
    measure_scales(program, True, workspace)
    status = plan_softly(program, basis, price, workspace, allocation)
    if status == PlanStatus.OPTIMAL:
        write_allocation(basis, False, workspace, allocation)
    return np.int64(status), is_short(program, basis, workspace)


@entry_kernel
def explore_once(first, program, lies, prices, basis, workspace, upper, lower, soft, allocation, floor_price):
    """Both programs of a round: (PlanStatus, where the plan lies, F, whether the first plan is short)."""
    measure_scales(first, True, workspace)
    status = plan_softly(first, basis, 1000.0, workspace, allocation)
    earned = total_of(first.objective, first.weights, basis, workspace)
    short = is_short(program, basis, workspace)
    if short or status != PlanStatus.OPTIMAL:
        return np.int64(status), -1, earned, short
    for row in range(prices.shape[0]):
        prices[row] = max(workspace.by_row[ByRow.PRICE, row], 0.0)
        soft.upper.by_row[ByRow.SCALE, row] = workspace.by_row[ByRow.SCALE, row]
        soft.lower.by_row[ByRow.SCALE, row] = workspace.by_row[ByRow.SCALE, row]
    status, lies, share = explore_most(
        program, earned, lies, prices, basis, workspace, upper, lower, soft, allocation, floor_price
    )
    for arm in range(allocation.shape[0]):
        for context in range(allocation.shape[1]):
            allocation[arm, context] = 0.0
    if lies == Lies.ON_FIRST:
        add_shares(basis, workspace, 1.0, allocation)
    else:
        add_shares(upper, soft.upper, share, allocation)
        if share < 1.0:
            add_shares(lower, soft.lower, 1.0 - share, allocation)
    return np.int64(status), lies, earned, short


class Drawn:
    """A random problem: with and without groups, pairs that are away, losses, floors of zero, some out of reach."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        rng = self.rng
        shape = int(rng.integers(1, 6)), int(rng.integers(1, 7))
        self.shape = shape
        self.means = rng.normal(0.7, 0.7, shape)
        self.bonus = rng.exponential(0.3, shape)
        self.taken = rng.exponential(0.05, shape)
        self.available = rng.random(shape) < 0.8
        self.available[rng.integers(shape[0]), :] = True
        reach = np.maximum(self.means, 0.05).mean(axis=1) / shape[0]
        self.floors = np.where(rng.random(shape[0]) < 0.7, reach * rng.uniform(0.1, 1.2, shape[0]), 0.0)
        half = tuple(range((shape[0] + 1) // 2))
        self.groups = (GroupFloor("first", half, float(reach.sum() * 0.4)),) if rng.random() < 0.4 else ()
        self.shares = rng.dirichlet(np.ones(shape[1]))

    def drift(self):
        """A round later."""
        self.means += 0.03 * self.rng.normal(size=self.shape)
        self.bonus *= np.exp(0.03 * self.rng.normal(size=self.shape))

    def problem(self):
        revenue = self.means - self.taken
        return Problem(self.means.copy(), revenue, self.floors, self.shares, self.groups, self.available)

    def rows(self, problem):
        members = np.vstack([np.eye(self.shape[0], dtype=bool), problem.members])
        return np.array([problem.revenue * who[:, None] for who in members])

    def asked(self, problem):
        return [float(floor) if asks else None for floor, asks in zip(problem.floors, problem.asks, strict=True)]


def lacking(rows, asked, shares):
    return sum(max(0.0, floor - (row * shares).sum()) for row, floor in zip(rows, asked, strict=True) if floor)


@pytest.mark.parametrize("price", [1.0, MOST])
@pytest.mark.parametrize("seed", each_of(range(30 if COMPILED else 12), range(60 if COMPILED else 12)))
def test_soft_floors_are_missed_where_that_is_best(price, seed):
    drawn = Drawn(seed)
    program = drawn.problem().program()
    basis, workspace = make_basis(drawn.shape[1], program.floors.size), workspace_for(program)
    allocation = np.zeros(drawn.shape)
    for _ in range(ROUNDS):
        problem = drawn.problem()
        program = problem.program()
        rows, asked = drawn.rows(problem), drawn.asked(problem)
        status, short = plan_once(program, basis, price, workspace, allocation)
        assert status == PlanStatus.OPTIMAL
        assert allocation.sum(axis=0) == pytest.approx(np.ones(drawn.shape[1]), abs=1e-12)
        assert (allocation >= 0).all()
        assert (allocation[~drawn.available] == 0).all()
        best, _, lack = solve_soft(problem.objective, rows, asked, drawn.available, price)
        value = (problem.objective * best).sum() - price * lack.sum()
        found = (problem.objective * allocation).sum() - price * lacking(rows, asked, allocation)
        assert found == pytest.approx(value, rel=1e-7, abs=1e-7)
        assert (workspace.by_row[ByRow.PRICE, :-1] <= price * (1 + 1e-9)).all()
        most = lack.max(initial=0.0)
        assert short or most < 1e-6
        assert not short or most > 1e-12
        drawn.drift()


@pytest.mark.parametrize("floor_price", [1.0, 10.0])
@pytest.mark.parametrize("seed", each_of(range(30 if COMPILED else 12), range(70 if COMPILED else 12)))
def test_exploring_is_paid_in_the_cheapest_coin(seed, floor_price):
    """The plan attains what HiGHS finds for the program with its revenue row, round after round."""
    drawn = Drawn(1000 + seed)
    program = drawn.problem().program()
    n_rows = program.floors.size
    basis, upper, lower = (make_basis(drawn.shape[1], n_rows) for _ in range(3))
    workspace = workspace_for(program)
    soft = make_soft(*drawn.shape, n_rows, program.arm_rows.shape[1])
    prices, allocation = np.zeros(n_rows), np.zeros(drawn.shape)
    lies = 0
    for _ in range(ROUNDS):
        problem = drawn.problem()
        first = problem.program()
        program = first._replace(objective=drawn.shares * drawn.bonus, root=first.objective, lean=np.zeros(2))
        rows, asked = drawn.rows(problem), drawn.asked(problem)
        status, lies, earned, _ = explore_once(
            first, program, lies, prices, basis, workspace, upper, lower, soft, allocation, floor_price
        )
        assert status == PlanStatus.OPTIMAL
        if lies < 0:
            lies = 0
        else:
            bonus = drawn.shares * drawn.bonus
            revenue = problem.objective

            def value(shares, bonus=bonus, revenue=revenue, earned=earned, rows=rows, asked=asked):
                lost = max(0.0, earned - (revenue * shares).sum())
                return (bonus * shares).sum() - lost - floor_price * lacking(rows, asked, shares)

            best, _, _ = solve_soft(bonus, rows, asked, drawn.available, floor_price, (revenue, earned))
            assert allocation.sum(axis=0) == pytest.approx(np.ones(drawn.shape[1]), abs=1e-8)
            assert value(allocation) == pytest.approx(value(best), abs=1e-7)
        drawn.drift()


def test_each_case_of_the_revenue_row_is_among_them():
    """The first plan, one plan at a price of 1, and what lies between two."""
    seen = set()
    for seed in range(100 if COMPILED else 12):
        drawn = Drawn(1000 + seed)
        first = drawn.problem().program()
        n_rows = first.floors.size
        basis, upper, lower = (make_basis(drawn.shape[1], n_rows) for _ in range(3))
        program = first._replace(objective=drawn.shares * drawn.bonus, root=first.objective, lean=np.zeros(2))
        soft = make_soft(*drawn.shape, n_rows, first.arm_rows.shape[1])
        prices, allocation = np.zeros(n_rows), np.zeros(drawn.shape)
        memory = (prices, basis, workspace_for(first), upper, lower, soft, allocation)
        seen.add(explore_once(first, program, 0, *memory, 1.0)[1])
    assert {*Lies} <= seen
