"""The kernel that reduces floors to the largest share that all of them can get."""

import numpy as np
import pytest

from arcbandit.floors import GroupFloor
from arcbandit.kernels.program import NO_FLOOR, PlanStatus
from arcbandit.planning import solve_program
from arcbandit.planning.program import solve_same_share
from tests.certificates import Problem, check_allocation


def reduced(program, share):
    return program._replace(floors=np.where(program.floors > 0, share * program.floors, program.floors))


def problems(count):
    """Problems out of reach: with and without groups, pairs that are away, losses, floors of zero."""
    rng = np.random.default_rng(1)
    while count > 0:
        shape = int(rng.integers(1, 6)), int(rng.integers(1, 6))
        means = rng.normal(0.5, 0.7, shape)
        available = rng.random(shape) < 0.8
        available[0] = True
        floors = np.where(rng.random(shape[0]) < 0.7, rng.random(shape[0]), 0.0)
        groups = (GroupFloor("first", tuple(range((shape[0] + 1) // 2)), 1.0),) if rng.random() < 0.5 else ()
        problem = Problem(means, means, floors, rng.dirichlet(np.ones(shape[1])), groups, available)
        if solve_program(problem.program()).status == PlanStatus.INFEASIBLE:
            count -= 1
            yield problem


def test_more_than_the_share_cannot_be_given_and_the_share_can():
    for problem in problems(60):
        program = problem.program()
        found, share = solve_same_share(program)
        assert found.status == PlanStatus.INFEASIBLE
        check_allocation(problem, found.allocation)
        assert solve_program(reduced(program, share + 1e-6 * max(1.0, abs(share)))).status == PlanStatus.INFEASIBLE
        best = solve_program(reduced(program, share))
        assert best.status == PlanStatus.OPTIMAL
        values = [float((problem.objective * shares).sum()) for shares in (found.allocation, best.allocation)]
        assert values[0] == pytest.approx(values[1], rel=1e-8, abs=1e-9)


def test_its_prices_allow_the_share_and_no_more():
    """Weak duality, recounted: at these prices nothing is worth more than the share of the floors."""
    for problem in problems(60):
        found, share = solve_same_share(problem.program())
        prices = np.where(problem.asks, found.ray, 0.0)
        assert (prices >= 0).all()
        assert (found.ray[~problem.asks] == 0).all()
        worth = np.where(problem.open, problem.arm_prices(prices)[:, None] * problem.revenue, -np.inf)
        assert worth.max(axis=0).sum() == pytest.approx(share * (prices @ problem.floors), rel=1e-9, abs=1e-12)


def test_floors_within_reach_are_left_alone():
    problem = Problem(np.ones((2, 2)), np.ones((2, 2)), np.array([0.5, 0.5]), np.array([0.5, 0.5]))
    found, share = solve_same_share(problem.program())
    assert (found.status, share) == (PlanStatus.OPTIMAL, 1.0)


def test_there_is_no_share_if_no_floor_above_zero_is_to_blame():
    means = -np.ones((1, 2))
    problem = Problem(means, means, np.array([-0.5]), np.array([0.5, 0.5]))
    found, share = solve_same_share(problem.program())
    assert found.status == PlanStatus.INFEASIBLE
    assert np.isnan(share)


def test_the_problem_is_left_as_it_was():
    problem = Problem(np.ones((2, 1)), np.ones((2, 1)), np.array([2.0, 0.0]), np.array([1.0]))
    program = problem.program()
    _, share = solve_same_share(program)
    assert share == 0.5
    assert program.floors.tolist() == [2.0, NO_FLOOR]
