"""Problems at the edge of what floating-point numbers can tell apart: every answer is proven, and none is given up."""

from collections import Counter
from functools import cache

import numpy as np
import pytest

from arcbandit import InfeasibleError, Instance, PlanningError, analyse, paper_instance, plan, solve_lp
from arcbandit.certificate import Coefficients, certify_least_shortfall, certify_optimal, proves_infeasible
from arcbandit.floors import Floors
from arcbandit.oracle import _SlackProblem
from arcbandit.planning import PlanStatus, make_program
from tests.certificates import Problem, check_optimal
from tests.long import each_of
from tests.reference.exact import exact_plan


class TestFloorsAtTheBorder:
    def test_an_unreachable_hair_is_told_from_nothing(self):
        """Arm 1 can earn nothing, so a floor of 1e-10 is out of reach, by all of it."""
        means = [[1, -0.2], [-1, -0.1]]
        found = solve_lp(means, means, [0, 1e-10], [0.5, 0.5], on_infeasible="least_shortfall")
        assert found.status == PlanStatus.INFEASIBLE
        assert found.total_shortfall == pytest.approx(1e-10, rel=1e-9)
        with pytest.raises(InfeasibleError, match="arm 1"):
            solve_lp(means, means, [0, 1e-10], [0.5, 0.5])

    @pytest.mark.slow
    def test_no_problem_at_the_border_is_given_up(self, cases):
        """Floors raised to what is just feasible, and from there by 1e-15 to 1e-6 up or down; signs are mixed."""
        rng = np.random.default_rng(2026)
        outcomes = Counter()
        for _ in range(cases(1_500, 100_000)):
            n_arms, n_contexts = int(rng.integers(2, 9)), int(rng.integers(1, 9))
            means = rng.normal(size=(n_arms, n_contexts))
            if rng.random() < 0.3:
                means = means.round(1)
            probabilities = rng.dirichlet(np.ones(n_contexts))
            floors = rng.random(n_arms) * rng.choice([0, 0.1, 1])
            margin = _SlackProblem.above(Instance(means, floors, probabilities)).largest_margin()
            step = rng.choice([-1, 1]) * 10 ** rng.uniform(-15, -6)
            problem = Problem(means, means, floors + margin + step, probabilities)
            found = problem.solve(on_infeasible="least_shortfall")  # raises what it cannot prove
            outcomes[found.status] += 1
            assert found.certificate.holds
            if found.status == PlanStatus.OPTIMAL:
                check_optimal(problem, found)
            if abs(step) > 1e-7 and np.abs(problem.revenue_floors).min() > 1e-3:
                assert (found.status == PlanStatus.OPTIMAL) == (step < 0)
        assert min(outcomes[PlanStatus.OPTIMAL], outcomes[PlanStatus.INFEASIBLE]) > 0.2 * outcomes.total()


class TestWideRows:
    def test_coefficients_over_24_decades_give_the_exact_plan_or_none(self, cases):
        """Against rational arithmetic: values and floors right to a millionth, whatever the rows span."""
        rng = np.random.default_rng(11)
        outcomes = Counter()
        for _ in range(cases(200, 2_500)):
            n_arms, n_contexts = int(rng.integers(2, 5)), int(rng.integers(1, 5))
            means = 10.0 ** rng.uniform(-12, 12, size=(n_arms, n_contexts))
            if rng.random() < 0.3:
                means *= rng.choice([-1, 1], size=means.shape)
            probabilities = rng.dirichlet(np.ones(n_contexts))
            revenue = probabilities * means
            earned = (revenue * rng.dirichlet(np.ones(n_arms), n_contexts).T).sum(axis=1)
            cheapest = np.abs(revenue).min(axis=1)
            anything = 10.0 ** rng.uniform(-12, 12, n_arms)
            floors = rng.uniform(0.2, 1, n_arms) * (earned, cheapest, anything)[rng.integers(3)]
            shortfall, value = exact_plan(revenue, revenue, floors)
            try:
                found = solve_lp(means, means, floors, probabilities)
            except PlanningError:
                outcomes["refused"] += 1
            except InfeasibleError:
                outcomes["infeasible"] += 1
                assert shortfall > 0
            else:
                outcomes["optimal"] += 1
                assert shortfall <= 1e-8 * np.abs(floors).sum()
                assert found.value == pytest.approx(float(value), rel=1e-6)
                missing = floors - (revenue * found.allocation).sum(axis=1)
                assert (missing <= 1e-6 * np.abs(floors)).all()
        assert outcomes["refused"] < 0.05 * outcomes.total()

    def test_a_plan_of_least_shortfall_falls_short_least_or_is_refused(self, cases):
        """Its total shortfall is the exact one."""
        rng = np.random.default_rng(13)
        checked = 0
        for _ in range(cases(200, 2_500)):
            means = 10.0 ** rng.uniform(-12, 12, size=(3, 2))
            floors = 10.0 ** rng.uniform(-12, 12, 3)
            try:
                found = solve_lp(means, means, floors, [0.5, 0.5], on_infeasible="least_shortfall")
            except PlanningError:
                continue
            shortfall, _ = exact_plan(0.5 * means, 0.5 * means, floors)
            missing = np.maximum(floors - (0.5 * means * found.allocation).sum(axis=1), 0.0).sum()
            assert missing == pytest.approx(float(shortfall), rel=1e-6, abs=1e-15 * floors.max())
            checked += 1
        assert checked > 50


class TestCertificate:
    FLOORS = Floors.of(["1", "2"], [0.5, 0.25])
    PROBLEM = Coefficients(
        np.array([[4.0], [1.0]]),
        np.array([[4.0], [1.0]]),
        np.ones((2, 1), dtype=bool),
        FLOORS,
        required=FLOORS.amounts,
    )
    PROGRAM = make_program(PROBLEM.objective, PROBLEM.revenue, FLOORS.coupling_rows())

    def test_the_right_plan_holds(self):
        certificate = certify_optimal(self.PROGRAM, np.array([[0.75], [0.25]]), np.array([0.0, 3.0]))
        assert certificate.holds
        assert max(certificate) < 1e-15

    @pytest.mark.parametrize(
        ("shares", "prices"),
        [
            ([[0.75 + 1e-7], [0.25 - 1e-7]], [0.0, 3.0]),
            ([[0.7], [0.3]], [0.0, 3.0]),
            ([[0.75], [0.25]], [0.0, 2.9]),
            ([[0.75], [0.25]], [0.0, 3.1]),
            ([[0.75], [0.25]], [0.1, 3.0]),
        ],
        ids=["a floor missed", "revenue given away", "a price too low", "a price too high", "a price of a slack floor"],
    )
    def test_a_wrong_plan_does_not_hold(self, shares, prices):
        assert not certify_optimal(self.PROGRAM, np.array(shares), np.array(prices)).holds

    def test_of_least_shortfall(self):
        """Floors of 3 and 1 take three quarters and the whole of the context: three quarters of arm 1's are missing."""
        problem = self.PROBLEM._replace(required=np.array([3.0, 1.0]))
        best = np.array([[1.0], [0.0]])
        assert not proves_infeasible(problem, np.array([0.0, 1.0]))
        assert proves_infeasible(problem, np.array([0.25, 1.0]))
        # A unit of arm 1's floor costs four of arm 0's revenue, so meeting the larger floor first falls short least.
        shares, prices, short = np.array([[0.75], [0.25]]), np.array([-0.75, 0.0]), np.array([0.25, 1.0])
        assert certify_least_shortfall(problem, shares, short, prices).holds
        assert not certify_least_shortfall(problem, best, short, prices).holds
        assert not certify_least_shortfall(problem, shares, np.array([1.0, 1.0]), prices).holds

    def test_every_plan_of_ours_carries_one(self):
        assert plan(paper_instance("nu")).certificate.holds
        assert plan(paper_instance("nu"), solver="highs").certificate is None


UNITS = [10.0**exponent for exponent in (-100, -60, -30, -10, -9, -3, 3, 12, 50, 100)] + [3.3e-7, 7e40]


@cache
def analysed(name):
    return analyse(paper_instance(name))


class TestUnits:
    @pytest.mark.parametrize("name", ["nu", "nu-nominal", "nu-plus:0.1", "nu-nonsaturating", "figure-1"])
    @pytest.mark.parametrize("unit", each_of([1e-100, 1e12, 3.3e-7], UNITS))
    def test_every_constant_scales_with_the_unit_of_money(self, name, unit):
        """In cents, in billions, in 1e-100: the same instance, the same regime, the same active sets."""
        instance = paper_instance(name)
        scaled = Instance(unit * instance.mean_rewards, unit * instance.revenue_floors, instance.context_probabilities)
        base, found = analysed(name), analyse(scaled)
        assert found.regime == base.regime
        assert found.active_set == base.active_set
        assert found.performance_sensitivity == pytest.approx(base.performance_sensitivity, rel=1e-9)
        money = ["value", "feasibility_margin", "revenue_without_floors", "price_of_guarantees"]
        if instance.n_pairs <= 9:
            money.append("suboptimality_gap")
        for constant in money:
            expected = unit * getattr(base, constant)
            assert getattr(found, constant) == pytest.approx(expected, rel=1e-9, abs=1e-12 * unit), constant
        np.testing.assert_allclose(found.largest_floors, unit * base.largest_floors, rtol=1e-9)
        np.testing.assert_allclose(plan(scaled).allocation, plan(instance).allocation, rtol=0, atol=1e-9)

    def test_constants_out_of_reach_scale_too(self):
        """A negative margin, as with the cells of nu's table taken for means."""
        nu = paper_instance("nu")
        for unit in UNITS:
            found = analyse(Instance(unit * nu.weighted_means, unit * nu.revenue_floors, nu.context_probabilities))
            assert found.feasibility_margin == pytest.approx(-unit / 6, rel=1e-9)
            assert found.plan.total_shortfall == pytest.approx(0.25 * unit, rel=1e-9)

    def test_the_paper_counts_floors_of_zero_and_planning_does_not(self):
        """The second arm must lose for the best plan; by the paper's constants that is out of reach."""
        instance = Instance([[1.0, -3.0], [-2.0, -1.0]], [0.2, 0.0], [0.5, 0.5])
        assert plan(instance).value == 0.0
        assert analyse(instance).feasibility_margin < 0
