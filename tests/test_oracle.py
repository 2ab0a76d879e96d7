import doctest
import itertools
import math

import numpy as np
import pytest

from arcbandit import oracle
from arcbandit.errors import EnumerationLimitError, InfeasibleError, InvalidInputError
from arcbandit.experiments.paper_instances import (
    figure_1,
    greedy_counterexample,
    nu,
    nu_lower_bound,
    nu_minus,
    nu_nominal,
    nu_nonsaturating,
    nu_plus,
    nu_with_margin,
)
from arcbandit.instance import GroupFloor, Instance
from arcbandit.oracle import Regime, analyse
from arcbandit.planning import ActiveSet, PlanStatus, plan
from tests.long import each_of
from tests.reference.oracle import OracleTwin

EPSILONS = (0.001, 0.05, 0.1, 0.2, 0.249)

PAPER = {
    "nu": nu(),
    "nu'": nu_nonsaturating(),
    "nu0": nu_nominal(),
    "nu+": nu_plus(0.1),
    "nu-": nu_minus(0.1),
    "nu' of the lower bound": nu_lower_bound(0.5),
    "greedy": greedy_counterexample(),
}


def active(floors=(), pairs=()):
    """A set of constraints in the paper's notation, which counts from 1."""
    return ActiveSet(frozenset(k - 1 for k in floors), frozenset((k - 1, c - 1) for k, c in pairs))


def random_instance(seed):
    """Small, with integers over 16 as data and floors within reach: breakpoints are then far apart."""
    rng = np.random.default_rng([61, seed])
    n_arms, n_contexts = [(2, 2), (2, 3), (3, 2)][seed % 3]
    while True:
        weighted = rng.integers(0, 33, (n_arms, n_contexts)) / 16
        reached = (weighted * rng.dirichlet(np.ones(n_arms), n_contexts).T).sum(axis=1)
        floors = np.floor(16 * 0.9 * reached) / 16
        groups = ()
        if seed in (3, 5, 8):
            arms = (0, 1) if seed != 5 else (1, 2)
            groups = (GroupFloor("pair", arms, float(np.floor(16 * 0.95 * reached[list(arms)].sum()) / 16)),)
        instance = Instance.from_weighted_means(
            weighted, floors, np.full(n_contexts, 1 / n_contexts), group_floors=groups
        )
        found = analyse(instance)
        if found.regime == Regime.COSTLY and found.feasibility_margin > 0.02 and not found.degenerate:
            return instance


class TestPrintedTables:
    @pytest.mark.slow
    def test_nu(self):
        """Optimal allocation, active set and constants of the numerical section."""
        found = analyse(nu())
        assert found.plan.allocation.tolist() == [[1, 1 / 2, 1 / 2], [0, 1 / 2, 0], [0, 0, 1 / 2]]
        assert found.active_set == active((2, 3), [(2, 1), (3, 1), (3, 2), (2, 3)])
        assert found.value == 5.25
        assert found.feasibility_margin == pytest.approx(1 / 4, rel=1e-14)
        assert found.performance_sensitivity == pytest.approx(2, rel=1e-12)
        assert found.suboptimality_gap == pytest.approx(1 / 12, rel=1e-10)
        assert found.candidate_count == 924
        assert found.regime == Regime.COSTLY
        assert found.revenue_without_floors == 6
        assert found.price_of_guarantees == 0.75
        assert not found.degenerate

    def test_nu_nonsaturating(self):
        """No arm saturates: I* holds pairs only, and the floors cost nothing."""
        found = analyse(nu_nonsaturating())
        assert found.plan.allocation.tolist() == np.eye(3).tolist()
        assert found.active_set == active((), [(2, 1), (3, 1), (1, 2), (3, 2), (1, 3), (2, 3)])
        assert found.regime == Regime.FREE
        assert found.price_of_guarantees == 0
        assert found.floor_prices.tolist() == [0, 0, 0]

    def test_nu_nominal(self):
        """The paper says 1/8 for gamma*; its definition gives 1/4."""
        found = analyse(nu_nominal())
        assert found.feasibility_margin == pytest.approx(1 / 4, rel=1e-14)
        assert found.plan.allocation[1, 1] == 1 / 2
        assert not found.degenerate

    @pytest.mark.parametrize("epsilon", EPSILONS)
    def test_nu_plus(self, epsilon):
        """w_{2,2} = 1 / (2 (1 + eps))."""
        share = 1 / (2 * (1 + epsilon))
        expected = [[1, (1 + 2 * epsilon) / (2 * (1 + epsilon)), 0], [0, share, 0], [0, 0, 1]]
        np.testing.assert_allclose(plan(nu_plus(epsilon)).allocation, expected, rtol=0, atol=1e-15)

    @pytest.mark.parametrize("epsilon", EPSILONS)
    def test_nu_minus(self, epsilon):
        """w_{2,2} = 1 / (2 (1 - eps))."""
        share = 1 / (2 * (1 - epsilon))
        expected = [[1, (1 - 2 * epsilon) / (2 * (1 - epsilon)), 0], [0, share, 0], [0, 0, 1]]
        np.testing.assert_allclose(plan(nu_minus(epsilon)).allocation, expected, rtol=0, atol=1e-15)

    @pytest.mark.parametrize("epsilon", [0.001, 0.1, 0.5, 1])
    def test_nu_of_the_second_lower_bound(self, epsilon):
        """The allocation does not depend on eps'."""
        expected = [[1, 1 / 2, 1 / 2], [0, 1 / 2, 0], [0, 0, 1 / 2]]
        np.testing.assert_allclose(plan(nu_lower_bound(epsilon)).allocation, expected, rtol=0, atol=1e-15)

    def test_greedy_counterexample(self):
        """p_{1,2} = 1 and p_{2,1} = 1."""
        assert plan(greedy_counterexample()).allocation.tolist() == [[0, 1], [1, 0]]

    @pytest.mark.parametrize("margin", [0.001, 0.01, 0.1, 1.0])
    def test_nu_with_a_chosen_margin(self, margin):
        """The family of the sensitivity figure: gamma* is the margin asked for."""
        assert analyse(nu_with_margin(margin)).feasibility_margin == pytest.approx(margin, rel=1e-11)


class TestAgainstTheSlowTwin:
    @pytest.mark.parametrize("name", PAPER)
    def test_margins_values_and_sensitivities_of_the_paper(self, name):
        """gamma*, f* and S, from their definitions."""
        found, twin = analyse(PAPER[name]), OracleTwin(PAPER[name])
        assert found.feasibility_margin == pytest.approx(twin.margin, abs=1e-9)
        assert found.value == pytest.approx(twin.value, abs=1e-9)
        assert found.performance_sensitivity == pytest.approx(twin.sensitivity, abs=1e-6)

    @pytest.mark.parametrize("name", PAPER)
    def test_gaps_of_candidates_of_the_paper(self, name, cases):
        """s(I), L(I), P(I) and rho(I) of sets of constraints of any size, sampled, and of I* itself."""
        instance = PAPER[name]
        found, twin = analyse(instance), OracleTwin(instance)
        rng = np.random.default_rng(67)
        constraints = [*range(instance.n_arms), *itertools.product(range(instance.n_arms), range(instance.n_contexts))]
        sets = [found.active_set]
        for number in range(cases(12, 40)):
            size = instance.n_pairs - instance.n_contexts - (number % 4)
            chosen = [constraints[index] for index in rng.permutation(len(constraints))[:size]]
            floors = frozenset(member for member in chosen if isinstance(member, int))
            sets.append(ActiveSet(floors, frozenset(chosen) - floors))
        finite = 0
        for active_set in sets:
            candidate = found.candidate(active_set)
            expected = twin.gaps(active_set)
            assert candidate[1:] == pytest.approx(expected, abs=1e-6)
            finite += math.isfinite(expected[0])
        assert finite > len(sets) // 4
        assert found.gap(found.active_set) == 0

    def test_the_least_gap_of_nu(self, cases):
        """All 924 candidates but one; in the short version every seventh, and the one that is said to be nearest."""
        found, twin = analyse(nu()), OracleTwin(nu())
        nearest = twin.gaps(found.nearest_candidate.active_set)[3]
        sample = cases({"known": nearest, "every": 7}, {})
        assert twin.least_gap(found.active_set, **sample) == pytest.approx(1 / 12, abs=1e-8)

    @pytest.mark.parametrize("seed", each_of((0, 3, 5, 6), range(12)))
    def test_random_instances(self, seed):
        """gamma*, S, every candidate's gaps where few, and rho*; three of the twelve have a group floor."""
        instance = random_instance(seed)
        found, twin = analyse(instance), OracleTwin(instance)
        assert bool(instance.group_floors) == (seed in (3, 5, 8))
        assert found.feasibility_margin == pytest.approx(twin.margin, abs=1e-9)
        assert found.value == pytest.approx(twin.value, abs=1e-9)
        assert found.performance_sensitivity == pytest.approx(twin.sensitivity, rel=1e-5, abs=1e-6)
        assert found.suboptimality_gap == pytest.approx(twin.least_gap(found.active_set), rel=1e-6, abs=1e-8)
        nearest = found.nearest_candidate
        assert nearest[1:] == pytest.approx(twin.gaps(nearest.active_set), rel=1e-5, abs=1e-6)
        assert len(nearest.active_set) == instance.n_pairs - instance.n_contexts


class TestCandidates:
    def test_named_quantities_are_those_of_the_candidate(self):
        """Four methods, one computation."""
        found = analyse(nu())
        active_set = active((2,), [(2, 1), (3, 1), (3, 2), (2, 3), (3, 3)])
        candidate = found.candidate(active_set)
        assert candidate.active_set == active_set
        assert found.feasibility_gap(active_set) == candidate.feasibility_gap == pytest.approx(0.5)
        assert found.performance_sensitivity_of(active_set) == candidate.performance_sensitivity
        assert found.performance_gap(active_set) == candidate.performance_gap
        assert found.gap(active_set) == candidate.suboptimality_gap

    def test_a_set_that_leaves_a_context_without_an_arm_has_an_infinite_gap(self):
        """No slack helps it."""
        found = analyse(nu())
        candidate = found.candidate(active((), [(1, 1), (2, 1), (3, 1)]))
        assert candidate.feasibility_gap == candidate.suboptimality_gap == math.inf

    def test_count_follows_the_formula_of_the_paper(self):
        """C(kappa + K, kappa - C), and one more constraint for each group floor."""
        assert analyse(nu()).candidate_count == math.comb(12, 6)
        assert analyse(greedy_counterexample()).candidate_count == math.comb(6, 2)
        assert analyse(figure_1()).candidate_count == math.comb(22, 10)
        grouped = Instance([[1, 2], [2, 1]], [0, 0], [0.5, 0.5], group_floors=[GroupFloor("all", (0, 1), 0.5)])
        assert analyse(grouped).candidate_count == math.comb(7, 2)

    def test_too_many_are_refused_with_count_and_limit(self):
        """Never an approximate number under the exact name; all else is still known."""
        found = analyse(figure_1())
        for ask in (lambda: found.suboptimality_gap, lambda: found.nearest_candidate):
            with pytest.raises(EnumerationLimitError, match=r"all 646,646 candidate sets.*limit of 100,000") as error:
                ask()
            assert (error.value.count, error.value.limit) == (646_646, 100_000)
        assert found.feasibility_margin > 0

    def test_the_limit_may_be_chosen(self):
        """At the count itself it is allowed, one below it is not."""
        assert analyse(nu(), candidate_limit=924).suboptimality_gap == pytest.approx(1 / 12)
        with pytest.raises(EnumerationLimitError) as error:
            _ = analyse(nu(), candidate_limit=923).suboptimality_gap
        assert (error.value.count, error.value.limit) == (924, 923)

    @pytest.mark.parametrize("wrong", [active((4,)), active((0,)), active((), [(4, 1)]), active((), [(1, 0)])])
    def test_constraints_that_do_not_exist_are_refused(self, wrong):
        """Indices from 0, within the instance."""
        with pytest.raises(InvalidInputError, match="of a candidate must be"):
            analyse(nu()).candidate(wrong)

    def test_an_instance_with_one_arm_has_no_other_candidate(self):
        """One arm leaves nothing to choose."""
        found = analyse(Instance([[1, 2]], [0.5], [0.5, 0.5]))
        assert found.candidate_count == 1
        assert found.nearest_candidate is None
        assert found.suboptimality_gap is None


class TestLargestFloors:
    @pytest.mark.parametrize("name", PAPER)
    def test_are_feasible_and_a_millionth_more_is_not(self, name):
        """Each arm's largest floor, the others fixed."""
        instance = PAPER[name]
        largest = analyse(instance).largest_floors
        for arm, floor in enumerate(largest):
            for excess, status in ((0.0, PlanStatus.OPTIMAL), (1e-6, PlanStatus.INFEASIBLE)):
                floors = instance.revenue_floors.copy()
                floors[arm] = floor + excess
                changed = Instance(instance.mean_rewards, floors, instance.context_probabilities)
                assert plan(changed, on_infeasible="least_shortfall").status == status

    def test_of_nu(self):
        """Arm 1 keeps what the others leave it; they have one context each that pays."""
        np.testing.assert_allclose(analyse(nu()).largest_floors, [4.5, 0.5, 1], rtol=1e-12)

    def test_respect_group_floors(self):
        """A group of the other arms that needs the whole context leaves nothing."""
        instance = Instance([[1], [1], [1]], [0, 0, 0], [1], group_floors=[GroupFloor("others", (1, 2), 0.75)])
        np.testing.assert_allclose(analyse(instance).largest_floors, [0.25, 1, 1], rtol=0, atol=1e-12)


class TestRegimes:
    def test_follow_the_second_floor_of_figure_1(self):
        """Free, then costly, then out of reach; the revenue falls only in between."""
        analyses = [analyse(figure_1(floor)) for floor in (0.0, 0.1, 0.3, 0.49, 1.0)]
        assert analyses[0].regime == Regime.FREE
        assert analyses[-2].regime == analyses[-1].regime == Regime.INFEASIBLE
        for found in analyses:
            twin = OracleTwin(found.instance)
            assert (found.regime == Regime.INFEASIBLE) == (twin.margin < 0)
            if found.regime != Regime.INFEASIBLE:
                costs = found.revenue_without_floors - twin.value
                assert (found.regime == Regime.COSTLY) == (costs > 1e-9)

    def test_degenerate_instances_are_flagged(self):
        """A floor that the unconstrained optimum meets exactly is free, and one constraint too many."""
        found = analyse(Instance.from_weighted_means([[2, 1], [1, 2]], [2, 2], [0.5, 0.5]))
        assert found.degenerate
        assert found.regime == Regime.FREE
        assert found.feasibility_margin == 0
        assert found.value == 4

    def test_infeasible_floors_have_a_negative_margin_and_no_optimum(self):
        """gamma* says by how much they are out of reach; what needs an optimum is None."""
        instance = Instance.from_weighted_means([[3, 1, 2], [0, 0.5, 0], [0, 0, 1]], [1, 0.75, 0.5], np.full(3, 1 / 3))
        found = analyse(instance)
        assert found.regime == Regime.INFEASIBLE
        assert found.feasibility_margin == pytest.approx(-0.25, rel=1e-12) == OracleTwin(instance).margin
        for name in (
            "value",
            "price_of_guarantees",
            "floor_prices",
            "active_set",
            "degenerate",
            "performance_sensitivity",
            "largest_floors",
            "nearest_candidate",
            "suboptimality_gap",
        ):
            assert getattr(found, name) is None
        assert found.plan.total_shortfall == pytest.approx(0.25, rel=1e-12)
        assert found.revenue_without_floors == 6
        with pytest.raises(InfeasibleError) as error:
            found.candidate(active((2,)))
        assert error.value.conflicting_floors == (instance.arms[1],)


def test_docstring_examples_give_what_they_show():
    """An example in a docstring is an assertion."""
    failed, attempted = doctest.testmod(oracle)
    assert attempted
    assert failed == 0
