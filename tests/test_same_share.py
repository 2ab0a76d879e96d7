"""Floors that cannot all be met, planned so that each gets the same share of its amount."""

import copy
import json
import pickle

import numpy as np
import pytest
from hypothesis import assume, given

from arcbandit import GroupFloor, Instance, Planner, paper_instance, plan, solve_lp
from arcbandit.certificate import Coefficients, certify_same_share
from arcbandit.cli import main
from arcbandit.errors import InfeasibleError, PlanningError
from arcbandit.floors import Floors
from arcbandit.planning import PlanStatus, make_program
from tests.certificates import Problem, check_allocation
from tests.long import examples
from tests.reference.exact import exact_share
from tests.strategies import planning_problems

# One provider is promised more than the whole platform earns; nobody else is promised much.
PLATFORM = Instance(
    [[3.0, 3.0, 3.0], [2.0, 1.0, 1.0], [1.0, 2.0, 1.0]],
    revenue_floors=[4.4, 0.3, 0.1],
    context_probabilities=[0.5, 0.25, 0.25],
    arms=["large", "small", "tiny"],
)


def random_problem(rng, n_arms, n_contexts):
    """Floors near what can be reached, or far above it, some zero, some of other sizes; groups, pairs away, losses."""
    shape = (n_arms, n_contexts)
    means = rng.normal(0.5, 1.0, shape) if rng.random() < 0.3 else rng.random(shape)
    if rng.random() < 0.3:
        means = np.round(2 * means) / 2
    constraint = means if rng.random() < 0.5 else means + 0.3 * rng.normal(size=shape)
    floors = rng.random(n_arms) * rng.choice([1.0, 3.0]) * (rng.random(n_arms) < 0.8) / np.sqrt(n_arms)
    if rng.random() < 0.2:
        floors *= 10.0 ** rng.integers(-3, 4, n_arms)
    available = rng.random(shape) < 0.8
    available[rng.integers(n_arms)] = True
    groups = tuple(
        GroupFloor(f"group {number}", tuple(rng.permutation(n_arms)[: rng.integers(1, n_arms + 1)].tolist()), floor)
        for number, floor in enumerate(rng.random(rng.integers(3)))
    )
    return Problem(means, constraint, floors, rng.dirichlet(np.ones(n_contexts)), groups, available)


def check_same_share(problem, found):
    """Raise unless the plan gives every floor its share, by a count that knows nothing of the planner."""
    assert found.status == PlanStatus.INFEASIBLE
    assert found.floor_share < 1.0
    assert found.certificate is None or found.certificate.holds
    check_allocation(problem, found.allocation)
    earned, floors = problem.earned(found.allocation), problem.floors
    promised = np.where(floors > 0, found.floor_share * floors, floors)
    lacking = np.where(floors != 0, promised - earned, 0.0)
    assert (lacking <= 2e-9 * (np.abs(promised) + problem.row_scale)).all()


class TestAgainstOtherSolvers:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("n_arms", "n_contexts", "few", "many"), [(1, 1, 40, 400), (4, 5, 250, 5000), (30, 50, 6, 60)]
    )
    def test_share_and_revenue_are_those_of_highs(self, n_arms, n_contexts, few, many, cases):
        """HiGHS has the share as an unknown of one program, and knows nothing of Newton's method.

        It allows a floor to lack 1e-10 of its row's scale, so that revenue agrees up to what that is worth.
        """
        rng = np.random.default_rng(n_arms)
        compared = 0
        while compared < cases(few, many):
            problem = random_problem(rng, n_arms, n_contexts)
            found = problem.solve(on_infeasible="same_share")
            if found.status == PlanStatus.OPTIMAL:
                assert found.floor_share == 1.0
                continue
            check_same_share(problem, found)
            wanted = problem.solve(on_infeasible="same_share", solver="highs")
            scale = max(1.0, abs(found.floor_share))
            assert abs(found.floor_share - wanted.floor_share) <= 1e-9 * scale
            sold = np.concatenate([found.floor_prices, found.group_prices]) @ problem.row_scale
            assert abs(found.value - wanted.value) <= 1e-9 * (1.0 + sold)
            compared += 1

    @pytest.mark.slow
    @examples(150, 2000)
    @given(problem=planning_problems(max_arms=4, max_contexts=4))
    def test_share_and_revenue_are_exact(self, problem):
        """Against rational arithmetic, on problems with ties, zeros, losses, masks and overlapping groups."""
        assume((problem.floors > 0).any())
        assume(problem.span < 1e6)  # beyond, the planner may refuse to answer, as for any problem
        exact = exact_share(problem.objective, problem.revenue, problem.floors, problem.members, problem.open)
        if exact is None:
            with pytest.raises(InfeasibleError):
                problem.solve(on_infeasible="same_share")
            return
        found = problem.solve(on_infeasible="same_share")
        share, value = map(float, exact)
        if found.status == PlanStatus.OPTIMAL:
            assert share >= 1.0 - 1e-8
            return
        check_same_share(problem, found)
        assert found.floor_share == pytest.approx(share, rel=1e-9, abs=1e-12)
        sold = np.concatenate([found.floor_prices, found.group_prices]) @ (np.abs(problem.floors) + problem.row_scale)
        assert abs(found.value - value) <= 1e-8 * (np.abs(problem.objective).max() * len(problem.floors) + sold)


class TestOneFloorOutOfReach:
    def test_by_least_shortfall_the_others_get_nothing(self):
        found = plan(PLATFORM, on_infeasible="least_shortfall")
        assert found.floor_share is None
        assert found.arm_revenue.tolist() == pytest.approx([3.0, 0.0, 0.0])

    def test_by_the_same_share_each_gets_its_part(self):
        """For 0.6 of their floors the others take 0.09 and 0.03 of all visits; the rest gives 3 * 0.88 = 0.6 * 4.4."""
        found = plan(PLATFORM, on_infeasible="same_share")
        assert found.floor_share == pytest.approx(0.6, rel=1e-9)
        assert (found.arm_revenue / PLATFORM.revenue_floors).tolist() == pytest.approx(
            [found.floor_share] * 3, rel=1e-9
        )
        assert found.conflicting_floors == (0, 1, 2)
        assert "0.6 of every floor" in repr(found)


class TestSpecialCases:
    def test_floors_within_reach_are_planned_as_ever(self):
        usual, asked = plan(paper_instance("nu")), plan(paper_instance("nu"), on_infeasible="same_share")
        assert (asked.status, asked.floor_share, usual.floor_share) == (PlanStatus.OPTIMAL, 1.0, 1.0)
        assert (asked.allocation == usual.allocation).all()

    def test_an_arm_that_earns_nothing_leaves_no_share_to_anybody(self):
        """The share is zero, and what then counts is revenue; floors of zero constrain nothing."""
        found = solve_lp(
            [[0, 0], [1, 2], [3, -1]], [[0, 0], [1, 2], [3, -1]], [1, 0.5, 0], [0.5, 0.5], on_infeasible="same_share"
        )
        assert found.floor_share == 0.0
        assert found.allocation.tolist() == [[0, 0], [0, 1], [1, 0]]

    @pytest.mark.parametrize("solver", ["simplex", "highs"])
    def test_an_arm_that_must_be_played_at_a_loss_has_a_share_below_zero(self, solver):
        """With one arm of mean -1 and a floor of 1/2 there is no choice: -2 times the floor."""
        found = solve_lp([[-1.0]], [[-1.0]], [0.5], [1.0], on_infeasible="same_share", solver=solver)
        assert found.floor_share == pytest.approx(-2.0)

    def test_an_arm_of_losses_need_not_be_played_if_others_can_be(self):
        found = solve_lp([[-1.0], [1.0]], [[-1.0], [1.0]], [0.5, 0.5], [1.0], on_infeasible="same_share")
        assert found.floor_share == 0.0
        assert found.allocation.tolist() == [[0.0], [1.0]]

    @pytest.mark.parametrize("solver", ["simplex", "highs"])
    def test_floors_below_zero_are_not_reduced(self, solver):
        """They say how much an arm may lose; if that alone is impossible, no share helps."""
        means = [[-1.0, -1.0]]
        with pytest.raises(InfeasibleError, match=r"the least total shortfall is 0\.5"):
            solve_lp(means, means, [-0.5], [0.5, 0.5], on_infeasible="same_share", solver=solver)

    def test_a_group_and_its_arms_share_alike(self):
        """Arm 0 alone could have 1/2 of its floor, but its group counts arm 1, which the group's floor needs."""
        group = GroupFloor("both", (0, 1), 4.0)
        means = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
        found = solve_lp(means, means, [0, 0, 1], [0.5, 0.5], group_floors=[group], on_infeasible="same_share")
        assert found.floor_share == pytest.approx(0.2)
        assert found.group_revenue.tolist() == pytest.approx([0.8])
        assert found.conflicting_floors == (2, 3)

    def test_floors_of_very_different_sizes(self):
        floors = [1e6, 1.0, 1e-6]
        found = solve_lp(np.ones((3, 2)), np.ones((3, 2)), floors, [0.5, 0.5], on_infeasible="same_share")
        share = 1 / sum(floors)
        assert found.floor_share == pytest.approx(share, rel=1e-12)
        assert found.arm_revenue.tolist() == pytest.approx([share * floor for floor in floors], rel=1e-8)


class TestTheProof:
    means = np.array([[1.0, 2.0], [3.0, 1.0]])
    probabilities = np.array([0.5, 0.5])
    floors = Floors.of(("a", "b"), [2.0, 2.0])
    # Of a quarter of the first context, both earn 9/8. Any more for one of them is less for the other.
    shared, share = [[0.25, 1.0], [0.75, 0.0]], 0.5625
    prices, ray = [2.0, 0.0], [3.0, 1.0]

    def certified(self, share, allocation, prices, ray):
        rows = self.floors.coupling_rows()
        program = make_program(self.means, self.means, rows, None, self.probabilities)
        weighted = self.probabilities * self.means
        problem = Coefficients(weighted, weighted, program.available, self.floors, rows.floors)
        reduced = program._replace(floors=share * rows.floors)
        return certify_same_share(problem, reduced, np.array(allocation), np.array(prices), np.array(ray))

    def test_holds_for_the_plan_it_belongs_to(self):
        proven = self.certified(self.share, self.shared, self.prices, self.ray)
        assert proven.holds
        assert max(proven) == 0.0

    def test_fails_for_a_share_that_could_be_larger(self):
        assert self.certified(0.56, self.shared, self.prices, self.ray).share_error > 1e-3

    def test_fails_for_a_share_that_is_not_given(self):
        assert self.certified(0.57, self.shared, self.prices, self.ray).floor_error > 1e-3

    def test_fails_for_prices_that_limit_no_share(self):
        assert self.certified(self.share, self.shared, self.prices, [0.0, 0.0]).share_error == np.inf

    def test_fails_for_a_plan_that_could_earn_more(self):
        """With half of the floors, the second arm might have all of the first context."""
        assert self.certified(0.5, [[0.1, 1.0], [0.9, 0.0]], [0.0, 0.0], self.ray).value_error > 1e-3

    def test_a_plan_is_refused_without_it(self, monkeypatch):
        """A share that is too small by a millionth is not returned."""
        from arcbandit.planning import solve

        def too_small(program):
            solution, share = found(program)
            return solution, share * (1 - 1e-6)

        found = solve.solve_same_share
        monkeypatch.setattr(solve, "solve_same_share", too_small)
        with pytest.raises(PlanningError, match="could not be proven right"):
            plan(PLATFORM, on_infeasible="same_share")


class TestAPlanner:
    def test_plans_as_solve_lp_does(self):
        planner = Planner.of(PLATFORM, on_infeasible="same_share")
        wanted = plan(PLATFORM, on_infeasible="same_share")
        for maker in (planner, copy.copy(planner), pickle.loads(pickle.dumps(planner))):
            found = maker.plan(PLATFORM.mean_rewards)
            assert (found.status, found.floor_share) == (PlanStatus.INFEASIBLE, wanted.floor_share)
            assert (found.allocation == wanted.allocation).all()
            assert found.certified().floor_share == wanted.floor_share
        within_reach = planner.plan(PLATFORM.mean_rewards, revenue_floors=[0.1, 0.1, 0.1])
        assert within_reach.floor_share == within_reach.certified().floor_share == 1.0

    def test_of_least_shortfall_has_no_share(self):
        found = Planner.of(PLATFORM, on_infeasible="least_shortfall").plan(PLATFORM.mean_rewards)
        assert found.floor_share is found.certified().floor_share is None


class TestTheCommandLine:
    @pytest.fixture
    def file(self, tmp_path):
        file = tmp_path / "platform.toml"
        PLATFORM.save(file)
        return str(file)

    def test_shows_the_share(self, file, capsys):
        assert main(["plan", file, "--on-infeasible", "same-share"]) == 0
        printed = capsys.readouterr().out
        assert "share of every floor    60.0%" in printed
        assert "Plan of the same share" in printed
        assert main(["plan", file]) == 0
        assert "share of every floor" not in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("options", "share"), [(["--on-infeasible", "same-share"], 0.6), ([], None)], ids=["shared", "short"]
    )
    def test_says_it_in_json(self, file, capsys, options, share):
        assert main(["plan", file, "--json", *options]) == 0
        document = json.loads(capsys.readouterr().out)
        assert document["status"] == "infeasible"
        assert document["floor_share"] == (share if share is None else pytest.approx(share, rel=1e-9))
        assert main(["plan", "nu", "--json", *options]) == 0
        assert json.loads(capsys.readouterr().out)["floor_share"] == 1.0
