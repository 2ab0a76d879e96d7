import dataclasses
import doctest
import pickle

import numpy as np
import pytest
from hypothesis import given, reject

from arcbandit import planning
from arcbandit.errors import InfeasibleError, InvalidInputError, PlanningError
from arcbandit.experiments.paper_instances import nu
from arcbandit.instance import GroupFloor, Instance
from arcbandit.kernels.program import Count, make_workspace
from arcbandit.planning import PlanStatus, plan, solve_lp, solve_program
from arcbandit.planning.memory import Memory
from tests.certificates import (
    FLOOR_TOLERANCE,
    Problem,
    check_allocation,
    check_infeasible,
    check_optimal,
    infeasibility,
)
from tests.long import examples
from tests.reference.highs import HighsTwin
from tests.strategies import KINDS, planning_problems, random_case, with_floors

MEANS = np.array([[9.0, 3, 6], [0, 1.5, 0], [0, 0, 3]])
FLOORS = np.array([1, 0.25, 0.5])
UNIFORM = np.full(3, 1 / 3)
# Arms 2 and 3 can earn 1/2 and 1 at most, each in a context of its own.
OUT_OF_REACH = np.array([1, 0.75, 0.5])


def solved_unless_wide(problem, **options):
    """The plan, or a new example where it is refused, which only coefficients over nine decades excuse."""
    try:
        return problem.solve(on_infeasible="least_shortfall", **options)
    except PlanningError:
        assert problem.span > 1e9
        reject()


def solve(**changes):
    """`solve_lp` on nu, with changes."""
    given_ = {
        "objective_means": MEANS,
        "constraint_means": MEANS,
        "revenue_floors": FLOORS,
        "context_probabilities": UNIFORM,
    }
    return solve_lp(**(given_ | changes))


class TestWhatAPlanHolds:
    def test_the_plan_of_nu(self):
        """Revenue 5.25; arms 2 and 3 earn exactly their floors, at one unit of revenue for each unit."""
        found = plan(nu())
        assert found.status == PlanStatus.OPTIMAL
        assert found.allocation.tolist() == [[1, 0.5, 0.5], [0, 0.5, 0], [0, 0, 0.5]]
        assert found.value == 5.25
        assert found.arm_revenue.tolist() == [4.5, 0.25, 0.5]
        assert found.floor_prices.tolist() == [0, 1, 1]
        assert found.active_floors.tolist() == [False, True, True]
        assert found.active_set == ({1, 2}, {(1, 0), (2, 0), (2, 1), (1, 2)})
        assert len(found.active_set) == 6
        assert not found.degenerate
        assert found.shortfall.tolist() == [0, 0, 0]
        assert found.total_shortfall == 0
        assert found.conflicting_floors == ()

    def test_prices_are_what_the_last_unit_of_a_floor_costs(self):
        """Raise a floor by a thousandth and the revenue falls by a thousandth of its price."""
        base = solve()
        for arm in range(3):
            raised = solve(revenue_floors=FLOORS + 1e-3 * np.eye(3)[arm])
            assert base.value - raised.value == pytest.approx(1e-3 * base.floor_prices[arm], abs=1e-12)

    def test_the_value_is_the_context_values_less_the_price_of_the_floors(self):
        """Strong duality, in the plan's own fields, with a group floor at work."""
        found = solve(group_floors=[GroupFloor("small", (1, 2), 1.0)])
        assert found.group_revenue.tolist() == pytest.approx([1.0])
        assert found.group_prices[0] > 0
        paid = found.floor_prices @ found.revenue_floors + found.group_prices @ found.group_floors
        assert found.value == pytest.approx(found.context_values.sum() - paid, rel=1e-14)
        assert found.active_group_floors.tolist() == [True]
        assert 3 in found.active_set.floors

    def test_plan_and_solve_lp_agree_on_an_instance(self):
        """LP(mu, mu), groups by name included."""
        instance = Instance(MEANS, FLOORS, UNIFORM, group_floors=[GroupFloor("small", ("2", "3"), 1.0)])
        same = solve(group_floors=[GroupFloor("small", (1, 2), 1.0)])
        assert plan(instance).allocation.tobytes() == same.allocation.tobytes()

    def test_a_degenerate_optimum_is_flagged(self):
        """Floors met exactly by a vertex of pure choices: more active constraints than the vertex needs."""
        found = solve(revenue_floors=[3, 0, 0])
        assert found.value == 6
        assert found.degenerate

    def test_the_inputs_are_neither_changed_nor_kept(self):
        """The caller's arrays stay the caller's."""
        means, floors = MEANS.copy(), FLOORS.copy()
        found = solve(objective_means=means, constraint_means=means, revenue_floors=floors)
        floors[:] = 99
        assert (means == MEANS).all()
        assert found.revenue_floors.tolist() == FLOORS.tolist()


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"objective_means": [1, 2, 3]}, r"objective_means must be 2-dimensional, got shape \(3,\)"),
            ({"objective_means": np.zeros((0, 3))}, "objective_means must have at least one arm and one context"),
            ({"objective_means": [["a"]]}, "objective_means must hold real numbers"),
            ({"objective_means": [[1, 2], [3]]}, "objective_means must have rows of equal length"),
            ({"objective_means": [[1, np.nan, 2]] * 3}, r"objective_means\[0, 1\] must be finite, got nan"),
            ({"constraint_means": [[1, 2, 3]]}, "constraint_means must have the shape of objective_means"),
            ({"constraint_means": np.full((3, 3), np.inf)}, r"constraint_means\[0, 0\] must be finite, got inf"),
            ({"revenue_floors": [1, 2]}, r"revenue_floors has shape \(2,\), but objective_means has 3 arms"),
            ({"revenue_floors": 1.0}, "revenue_floors must be 1-dimensional"),
            ({"revenue_floors": [0, 0, -np.inf]}, r"revenue_floors\[2\] must be finite, got -inf"),
            ({"context_probabilities": [1]}, r"context_probabilities has shape \(1,\), but objective_means has 3"),
            ({"context_probabilities": [0.5, 0.6, -0.1]}, r"context_probabilities\[2\] must be non-negative, got -0.1"),
            ({"group_floors": [GroupFloor("g", (0, 3), 1)]}, "no arm 3: it must be an index from 0 to 2"),
            ({"group_floors": [GroupFloor("g", ("arm 1",), 1)]}, "no arm 'arm 1': it must be an index from 0 to 2"),
            ({"available": np.ones((3, 2), dtype=bool)}, r"available must be booleans of shape \(3, 3\)"),
            ({"available": np.ones((3, 3))}, "available must be booleans"),
            ({"available": [[True, False, True]] * 3}, "context 1 has none"),
            (
                {"group_floors": [GroupFloor("g", (0,), 1), GroupFloor("g", (1,), 1)]},
                "no other group floor has, got 'g'",
            ),
            ({"group_floors": [GroupFloor("g", (0, 0), 1)]}, "must be unique"),
            ({"objective_means": np.full((3, 3), 1e200)}, r"objective_means\[0, 0\] must be within 1e\+150 of zero"),
            (
                {"context_probabilities": [1e100, 0, 0], "constraint_means": np.full((3, 3), 1e60)},
                r"context_probabilities \* constraint_means\[0, 0\] must be within 1e\+150",
            ),
            ({"objective_means": np.ones((3, 3), dtype=complex)}, "objective_means must hold real numbers"),
            ({"revenue_floors": np.zeros(3, dtype="m8[s]")}, "revenue_floors must hold real numbers"),
            ({"revenue_floors": [0, 10**400, 0]}, r"revenue_floors\[1\] must be finite, got inf"),
            ({"warm_start": 3}, "warm_start must be a Plan, got 3"),
            ({"solver": "magic"}, "solver must be 'simplex' or 'highs', got 'magic'"),
            (
                {"on_infeasible": "ignore"},
                "on_infeasible must be 'raise', 'least_shortfall' or 'same_share', got 'ignore'",
            ),
        ],
    )
    def test_says_what_is_wrong_with_which_argument(self, changes, message):
        """Which parameter, must be what, got what."""
        with pytest.raises(InvalidInputError, match=message):
            solve(**changes)

    def test_a_warm_start_of_another_shape(self):
        """Of other arms and contexts, or of other floors."""
        other = solve_lp([[1.0]], [[1.0]], [0], [1])
        with pytest.raises(InvalidInputError, match=r"warm_start must be a plan of shape \(3, 3\) with 3 floors"):
            solve(warm_start=other)
        grouped = solve(group_floors=[GroupFloor("g", (0,), 0)])
        with pytest.raises(InvalidInputError, match=r"with 3 floors, got shape .* with 4"):
            solve(warm_start=grouped)

    def test_a_solver_that_gives_up_is_an_error_of_its_own(self, monkeypatch):
        """Neither a plan nor a proof: PlanningError, never a wrong plan."""

        def give_up(program, *, least_shortfall, start):
            return solve_program(program)._replace(status=PlanStatus.PIVOT_LIMIT)

        monkeypatch.setattr(planning.solve, "solve_program", give_up)
        with pytest.raises(PlanningError, match="could neither find an optimal plan nor prove"):
            solve()


class TestFloors:
    GROUPS = (GroupFloor("last two", (2, 1), 1.0), GroupFloor("first", (0,), 0.0))

    def test_are_one_table_with_a_kind(self):
        """Arms by what the problem calls them, here by index, then groups."""
        floors = solve(group_floors=self.GROUPS).floors
        assert floors.names == ("0", "1", "2", "last two", "first")
        assert floors.kinds == ("arm", "arm", "arm", "group", "group")
        assert floors.amounts.tolist() == [*FLOORS, 1.0, 0.0]
        assert floors.members.astype(int).tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1], [1, 0, 0]]

    def test_have_the_names_of_an_instance(self):
        instance = Instance(MEANS, FLOORS, UNIFORM, arms=["a", "b", "c"], group_floors=self.GROUPS)
        floors = plan(instance).floors
        assert floors.names == instance.floors.names == ("a", "b", "c", "last two", "first")
        assert [floor.arms for floor in floors][3:] == [("c", "b"), ("a",)]

    def test_say_what_is_earned_and_paid(self):
        """nu with 1.0 asked of arms 1 and 2 together, which their floors give only three quarters of."""
        found = solve(group_floors=self.GROUPS)
        earned = (UNIFORM * MEANS * found.allocation).sum(axis=1)
        floors = found.floors
        np.testing.assert_allclose(floors.revenue, [*earned, earned[1] + earned[2], earned[0]], rtol=1e-12)
        np.testing.assert_allclose(floors.slack, floors.revenue - floors.amounts, rtol=0, atol=0)
        assert floors.active[floors.names.index("last two")]
        assert not floors.active[[0, 4]].any()
        assert (floors.prices[~floors.active] == 0).all()
        assert floors.prices @ floors.amounts == pytest.approx(found.context_values.sum() - found.value, rel=1e-12)

    def test_of_arms_and_of_groups_are_views(self):
        found = solve(group_floors=self.GROUPS)
        floors = found.floors
        views = {
            "revenue": ("arm_revenue", "group_revenue"),
            "amounts": ("revenue_floors", "group_floors"),
            "prices": ("floor_prices", "group_prices"),
            "active": ("active_floors", "active_group_floors"),
            "shortfall": ("shortfall", "group_shortfall"),
        }
        for column, (of_arms, of_groups) in views.items():
            whole = getattr(floors, column)
            assert getattr(found, of_arms).tolist() == whole[:3].tolist()
            assert getattr(found, of_groups).tolist() == whole[3:].tolist()
            assert np.shares_memory(getattr(found, of_arms), whole)
            assert not getattr(found, of_arms).flags.writeable

    def test_that_are_missed_say_by_how_much(self):
        """Arm 0 earns 6 if it is always played: of a floor of 7 one is missing, and nothing is left for the others."""
        found = solve(revenue_floors=[7, 0, 0], on_infeasible="least_shortfall")
        assert found.floors.shortfall.tolist() == [1.0, 0.0, 0.0]
        assert found.floors.slack.tolist() == [-1.0, 0.0, 0.0]

    def test_of_zero_lack_nothing(self):
        """The only arm loses 1 per round, of which nobody was promised anything: slack says so, shortfall does not."""
        found = solve_lp([[-1.0]], [[-1.0]], [0.0], [1.0], group_floors=[GroupFloor("g", (0,), 0.0)])
        assert found.status == PlanStatus.OPTIMAL
        assert found.floors.slack.tolist() == [-1.0, -1.0]
        assert found.floors.shortfall.tolist() == [0.0, 0.0]
        assert not found.floors.active.any()

    def test_are_a_frame_of_columns(self):
        floors = solve(group_floors=self.GROUPS).floors
        table = floors.to_dict()
        columns = ["name", "kind", "arms", "floor", "revenue", "slack", "price", "active", "shortfall"]
        assert list(table) == columns
        assert {len(column) for column in table.values()} == {5}
        assert table["price"] == floors.prices.tolist()
        assert table["active"] == floors.active.tolist()

    def test_of_a_copied_plan_are_equal_and_read_only(self):
        found = solve(group_floors=self.GROUPS)
        again = pickle.loads(pickle.dumps(found))
        assert again.floors == found.floors
        for column in (again.floors.amounts, again.floors.revenue, again.floors.prices, again.floors.scale):
            assert not column.flags.writeable
        assert again.floors != solve().floors
        assert again.floors != dataclasses.replace(found.floors, prices=2 * found.floors.prices)

    def test_are_not_equal_to_what_was_asked(self):
        """A table of a plan says more than one of an instance."""
        instance = Instance(MEANS, FLOORS, UNIFORM)
        assert plan(instance).floors != instance.floors
        assert repr(plan(instance).floors) == "<PlannedFloors: 3 arms, 0 groups>"


def test_a_plan_shows_its_numbers():
    """In one line, whatever its size."""
    shown = repr(solve_lp([[4.0]], [[4.0]], [1.0], [1.0], group_floors=[GroupFloor("g", (0,), 4.0)]))
    assert shown == "<Plan: optimal, 4 per round, 1 arm x 1 context, 1 of 2 floors active>"


class TestWarmStart:
    def test_gives_the_same_plan(self):
        """From its own basis, and from that of a different problem."""
        cold = solve()
        assert solve(warm_start=cold).allocation.tobytes() == cold.allocation.tobytes()
        other = solve(objective_means=-MEANS, constraint_means=MEANS[::-1], on_infeasible="least_shortfall")
        assert solve(warm_start=other).value == pytest.approx(cold.value, rel=1e-14)

    def test_leaves_the_earlier_plan_as_it_was(self):
        """Its basis is copied, not moved on."""
        first = solve()
        before = [part.copy() for part in first.basis]
        solve(objective_means=MEANS[::-1], warm_start=first)
        assert all((part == old).all() for part, old in zip(first.basis, before, strict=True))

    def test_needs_no_pivot_when_nothing_moved(self, monkeypatch):
        """The basis is passed on to the kernel."""
        used = []

        class Watched(Memory):
            def __init__(self, shape):
                super().__init__(shape)
                used.append(self)

        monkeypatch.setattr(planning.program, "Memory", Watched)
        solve(warm_start=solve())
        pivots = [memory.array(memory.places.workspace.counts)[Count.PIVOTS] for memory in used]
        assert pivots[0] > 0
        assert pivots[1] == 0

    def test_from_the_reference_solver_is_a_cold_start(self):
        """HiGHS hands over no basis, and that is no obstacle."""
        assert solve(warm_start=solve(solver="highs")).value == 5.25


class TestAvailability:
    def test_a_closed_pair_is_never_played(self):
        """The best pair of nu closed: context 1 goes to nobody who earns there."""
        available = np.ones((3, 3), dtype=bool)
        available[0, 0] = False
        found = solve(available=available)
        assert found.allocation[0, 0] == 0
        check_optimal(Problem(MEANS, MEANS, FLOORS, UNIFORM, (), available), found)

    def test_closing_pairs_can_make_floors_unreachable(self):
        """Arm 2 earns in context 2 only."""
        available = np.ones((3, 3), dtype=bool)
        available[1, 1] = False
        with pytest.raises(InfeasibleError, match="arm 1"):
            solve(available=available)

    def test_coefficients_of_closed_pairs_do_not_matter(self):
        """Not even huge ones, which would otherwise set the scale of their row."""
        available = np.ones((3, 3), dtype=bool)
        available[2, 0] = False
        means = MEANS.copy()
        means[2, 0] = 1e15
        found = solve(objective_means=means, constraint_means=means, available=available)
        assert found.allocation.tolist() == solve(available=available).allocation.tolist()


class TestInfeasibleFloors:
    def test_raise_with_the_floors_in_conflict_and_the_least_shortfall(self):
        """Arm 2 wants 3/4 and can earn 1/2."""
        with pytest.raises(InfeasibleError, match=r"floors of arm 1 together; the least total shortfall is 0\.25") as e:
            solve(revenue_floors=OUT_OF_REACH)
        assert e.value.conflicting_floors == ("arm 1",)
        assert e.value.least_shortfall == pytest.approx(0.25, rel=1e-12)

    def test_name_arms_and_groups_as_the_instance_does(self):
        """Two arms of one context, half of it each, and a group that wants more than both."""
        instance = Instance([[1], [1]], [0, 0], [1], arms=["a", "b"], group_floors=[GroupFloor("all", ("a", "b"), 1.5)])
        with pytest.raises(InfeasibleError) as error:
            plan(instance)
        assert error.value.conflicting_floors == ("all",)
        assert plan(instance, on_infeasible="least_shortfall").group_shortfall.tolist() == [0.5]

    def test_may_be_planned_for_by_falling_short_least(self):
        """All of context 2 to arm 2; revenue decides the rest."""
        found = solve(revenue_floors=OUT_OF_REACH, on_infeasible="least_shortfall")
        assert found.status == PlanStatus.INFEASIBLE
        np.testing.assert_allclose(found.allocation, [[1, 0, 0.5], [0, 1, 0], [0, 0, 0.5]], rtol=0, atol=1e-14)
        np.testing.assert_allclose(found.shortfall, [0, 0.25, 0], rtol=0, atol=1e-14)
        assert found.conflicting_floors == (1,)

    @pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
    @pytest.mark.parametrize("solver", ["simplex", "highs"])
    def test_the_unit_of_money_does_not_matter(self, scale, solver):
        """A billionth of a cent or the budget of a state: the same plan."""
        found = solve(
            objective_means=scale * MEANS,
            constraint_means=scale * MEANS,
            revenue_floors=scale * OUT_OF_REACH,
            on_infeasible="least_shortfall",
            solver=solver,
        )
        assert found.status == PlanStatus.INFEASIBLE
        assert found.total_shortfall == pytest.approx(0.25 * scale, rel=1e-9)
        assert found.value == pytest.approx(5.0 * scale, rel=1e-9)

    def test_a_floor_in_huge_units_does_not_drown_one_in_small_units(self):
        """Half the context meets arm 1's floor of 5e9; the rest must go to arm 2, though it earns little."""
        means = [[1e10], [1.0]]
        found = solve_lp(means, means, [5e9, 1.0], [1.0], on_infeasible="least_shortfall")
        np.testing.assert_allclose(found.allocation, [[0.5], [0.5]], rtol=0, atol=1e-9)
        assert found.total_shortfall == pytest.approx(0.5, rel=1e-8)

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ["infeasible", "infeasible-integer", "infeasible-groups"])
    def test_the_least_shortfall_and_then_the_revenue_are_those_of_highs(self, kind):
        """Two linear programs one after the other, solved by someone else, on 200 problems of each kind."""
        rng = np.random.default_rng(41)
        twin = HighsTwin()
        for _ in range(200):
            problem = random_case(rng, kind, int(rng.integers(1, 7)), int(rng.integers(1, 8))).problem
            found = problem.solve(on_infeasible="least_shortfall")
            shortfall, value = twin.least_shortfall(problem)
            check_allocation(problem, found.allocation)
            assert found.status == PlanStatus.INFEASIBLE
            assert found.total_shortfall > 0
            assert found.total_shortfall == pytest.approx(shortfall, rel=1e-9, abs=1e-9 * problem.row_scale.max())
            assert found.value == pytest.approx(value, rel=1e-9, abs=1e-9 * np.abs(problem.objective).max())

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ["infeasible", "infeasible-integer", "infeasible-groups"])
    def test_floors_said_to_conflict_do_conflict(self, kind):
        """The prices prove it, without any other floor, and the floors alone stay infeasible."""
        rng = np.random.default_rng(43)
        fewer = 0
        for _ in range(200):
            problem = random_case(rng, kind, int(rng.integers(1, 7)), int(rng.integers(1, 8))).problem
            found = problem.solve(on_infeasible="least_shortfall")
            ray = solve_program(problem.program()).ray
            check_infeasible(problem, ray)
            conflicting = list(found.conflicting_floors)
            assert conflicting
            fewer += len(conflicting) < problem.floors.size
            only = np.where(np.isin(np.arange(ray.size), conflicting), ray, 0.0)
            check_infeasible(problem, only)
            # Arms that are not in conflict give up their floors; a group's floor cannot be negative, but 0 may bind,
            # so the group goes.
            n_arms = len(problem.revenue_floors)
            floors = np.where(np.isin(np.arange(n_arms), conflicting), problem.revenue_floors, -1e3)
            groups = tuple(group for row, group in enumerate(problem.groups) if n_arms + row in conflicting)
            alone = problem._replace(revenue_floors=floors, groups=groups)
            assert alone.solve(on_infeasible="least_shortfall").status == PlanStatus.INFEASIBLE
        assert fewer > 50

    @pytest.mark.parametrize("excess", [1e-6, 1e-3, 1.0])
    def test_the_border_of_feasibility_is_where_it_should_be(self, excess):
        """At the border a plan, above it by a millionth a proof, on problems whose border is known exactly."""
        rng = np.random.default_rng(47)
        for _ in range(100):
            at_border = random_case(rng, "boundary", int(rng.integers(1, 6)), int(rng.integers(1, 7))).problem
            check_optimal(at_border, at_border.solve())
            worth = at_border.revenue.max(axis=0)
            best = at_border.earned(np.eye(len(worth := at_border.revenue))[worth.argmax(axis=0)].T)
            problem = with_floors(at_border, best)
            check_optimal(problem, problem.solve())
            beyond = with_floors(at_border, best + excess * at_border.row_scale)
            # Raised by its own scale, a floor that was below zero may end at zero, where it asks for nothing; these
            # prices prove nothing then, and the status below is shown by those of the plan.
            if beyond.asks.all():
                assert infeasibility(beyond, np.ones(beyond.floors.size)) > 0
            assert beyond.solve(on_infeasible="least_shortfall").status == PlanStatus.INFEASIBLE


class TestTheReferenceSolver:
    @pytest.mark.parametrize("kind", KINDS)
    def test_gives_the_same_value_and_prices_that_prove_it(self, kind):
        """solver="highs" is the same function through other code."""
        rng = np.random.default_rng(53)
        for _ in range(10):
            problem, feasible = random_case(rng, kind, int(rng.integers(1, 6)), int(rng.integers(1, 7)))
            ours = problem.solve(on_infeasible="least_shortfall")
            theirs = problem.solve(on_infeasible="least_shortfall", solver="highs")
            assert ours.status == theirs.status
            size = np.abs(problem.objective).max()
            assert ours.value == pytest.approx(theirs.value, rel=1e-8, abs=1e-8 * size)
            if feasible:
                lacking = np.where(problem.asks, problem.floors - problem.earned(theirs.allocation), 0.0)
                lacking /= problem.row_scale
                assert lacking.max() <= FLOOR_TOLERANCE

    def test_raises_the_same_error(self):
        """Conflicting floors and least shortfall included."""
        with pytest.raises(InfeasibleError) as error:
            solve(revenue_floors=OUT_OF_REACH, solver="highs")
        assert error.value.conflicting_floors == ("arm 1",)
        assert error.value.least_shortfall == pytest.approx(0.25, rel=1e-9)


class TestCertificates:
    @examples(120, 400)
    @given(planning_problems())
    def test_every_plan_carries_a_certificate(self, problem):
        """Optimal plans prove that nothing earns more; infeasible floors come with prices that prove it."""
        found = solved_unless_wide(problem)
        check_allocation(problem, found.allocation)
        if found.status == PlanStatus.OPTIMAL:
            check_optimal(problem, found)
        else:
            check_infeasible(problem, solve_program(problem.program()).ray)

    @examples(40, 100)
    @given(planning_problems(), planning_problems())
    def test_a_plan_started_from_another_problem_carries_one_too(self, problem, other):
        """Any earlier plan of the same shape is a start."""
        if other.objective.shape != problem.objective.shape or len(other.groups) != len(problem.groups):
            other = problem._replace(objective_means=-problem.objective_means)
        earlier = solved_unless_wide(other)
        found = solved_unless_wide(problem, warm_start=earlier)
        assert found.status == solved_unless_wide(problem).status
        if found.status == PlanStatus.OPTIMAL:
            check_optimal(problem, found)

    @pytest.mark.parametrize("kind", KINDS)
    def test_seeded_problems_of_every_kind(self, kind):
        """Feasible ones are proved optimal, infeasible ones proved infeasible, large shapes included."""
        rng = np.random.default_rng(59)
        for number in range(100):
            shape = (40, 60) if number == 0 else (int(rng.integers(1, 9)), int(rng.integers(1, 12)))
            problem, feasible = random_case(rng, kind, *shape)
            if feasible:
                check_optimal(problem, problem.solve())
            else:
                check_infeasible(problem, solve_program(problem.program()).ray)

    def test_the_certificate_refuses_what_is_wrong(self):
        """A worse plan, a missed floor, a price too low or too high, a share too many: each is caught."""
        problem = Problem(MEANS, MEANS, FLOORS, UNIFORM)
        good = problem.solve()
        check_optimal(problem, good)

        def priced(prices):
            return dataclasses.replace(good, floors=dataclasses.replace(good.floors, prices=prices))

        worse = good.allocation.copy()
        worse[:, 1] = [0.4, 0.6, 0]
        short = good.allocation.copy()
        short[:, 1] = [0.6, 0.4, 0]
        wrong = [
            dataclasses.replace(good, allocation=worse, value=float((problem.objective * worse).sum())),
            dataclasses.replace(good, allocation=short, value=float((problem.objective * short).sum())),
            dataclasses.replace(good, allocation=good.allocation * (1 + 1e-6)),
            priced(good.floor_prices * 0.99),
            priced(good.floor_prices * 1.01),
            priced(-good.floor_prices),
            dataclasses.replace(good, context_values=good.context_values - 1e-3),
            dataclasses.replace(good, value=good.value + 1e-6),
        ]
        for plan_ in wrong:
            with pytest.raises(AssertionError):
                check_optimal(problem, plan_)
        with pytest.raises(AssertionError):
            check_infeasible(problem, np.ones(3))


def test_a_program_solves_in_memory_of_its_own():
    """The kernel's working memory is not shared between plans."""
    first = solve_program(Problem(MEANS, MEANS, FLOORS, UNIFORM).program())
    prices = first.prices.copy()
    solve_program(Problem(MEANS, MEANS, 0 * FLOORS, UNIFORM).program(), start=first.basis)
    assert (first.prices == prices).all()
    assert make_workspace(3, 3, 3).counts[Count.PIVOTS] == 0


def test_docstring_examples_give_what_they_show():
    """An example in a docstring is an assertion."""
    for module in (planning.solve, planning.plans):
        failed, attempted = doctest.testmod(module)
        assert attempted
        assert failed == 0
