"""`Planner`: the answers of `solve_lp`, again and again, from memory of its own."""

import copy
import pickle
import threading
import tracemalloc

import numpy as np
import pytest

from arcbandit import (
    GroupFloor,
    InfeasibleError,
    InvalidInputError,
    Planner,
    PlanningError,
    PlanStatus,
    paper_instance,
    plan,
    solve_lp,
)
from arcbandit.kernels.bounds import FEW_PAIRS
from arcbandit.kernels.keys import FEW_CONTEXTS
from arcbandit.kernels.program import Count
from arcbandit.planning.memory import Memory, Shape
from tests.certificates import check_optimal
from tests.strategies import KINDS, moved, random_case

NU = paper_instance("nu")
MEANS, FLOORS, UNIFORM = NU.mean_rewards, NU.revenue_floors, NU.context_probabilities
LARGE = (9, FEW_CONTEXTS + 6)  # more contexts and pairs than those up to which nothing is kept
assert LARGE[0] * LARGE[1] > FEW_PAIRS


def planner_of(problem, **settings):
    """A planner for problems like this one."""
    return Planner(
        problem.revenue_floors,
        problem.context_probabilities,
        group_floors=problem.groups,
        available=problem.available,
        **settings,
    )


def shapes(rng, count):
    """Small ones, and one large one."""
    return [(int(rng.integers(1, 8)), int(rng.integers(1, 8))) for _ in range(count - 1)] + [LARGE]


def answer(solve, *arguments, **settings):
    """What came of a call, for comparisons to the last bit: an allocation and prices, or an error."""
    try:
        found = solve(*arguments, **settings)
    except (InfeasibleError, PlanningError) as error:
        return type(error), str(error)
    return as_bytes(found)


def as_bytes(found):
    """A Plan or a QuickPlan, for comparisons."""
    prices = found.floors.prices if hasattr(found, "floors") else found.prices
    return found.status, found.allocation.tobytes(), (prices + 0.0).tobytes()  # so that -0.0 is 0.0


def check_same(planner, problem, on_infeasible, **given):
    """Raise unless the planner answers as `solve_lp` does; what that refuses as unproven, `certified` must refuse."""
    means = problem.objective_means, problem.constraint_means
    expected = answer(problem.solve, on_infeasible=on_infeasible)
    if expected[0] is PlanningError:
        with pytest.raises(PlanningError):
            planner.plan(*means, **given).certified()
    else:
        assert answer(planner.plan, *means, **given) == expected
    return expected[0]


class TestColdPlans:
    @pytest.mark.slow
    @pytest.mark.parametrize("on_infeasible", ["raise", "least_shortfall"])
    @pytest.mark.parametrize("kind", KINDS)
    def test_are_those_of_solve_lp_to_the_last_bit(self, kind, on_infeasible):
        """Whatever the planner planned before, with other means, floors and probabilities, feasible or not."""
        rng = np.random.default_rng([11, KINDS.index(kind)])
        seen = set()
        for shape in shapes(rng, 12):
            problem = random_case(rng, kind, *shape).problem
            planner = planner_of(problem, on_infeasible=on_infeasible)
            for step in (0.0, 0.3, 0.0):
                other = moved(rng, problem, step)
                for floors in (other.revenue_floors, 3 * np.abs(other.revenue_floors) + rng.random(shape[0])):
                    given = {
                        "revenue_floors": floors,
                        "context_probabilities": other.context_probabilities * rng.choice([1.0, 0.5, 2.0], shape[1]),
                    }
                    seen.add(check_same(planner, other._replace(**given), on_infeasible, **given))
                seen.add(check_same(planner, other, on_infeasible))
        assert seen & {InfeasibleError, PlanStatus.INFEASIBLE}
        assert PlanStatus.OPTIMAL in seen or kind.startswith("infeasible")

    def test_use_the_rewards_for_the_constraints_unless_others_are_given(self):
        """Also after a plan with others."""
        planner = Planner(FLOORS, UNIFORM)
        alike = answer(solve_lp, MEANS, MEANS, FLOORS, UNIFORM)
        apart = answer(solve_lp, MEANS, 2 * MEANS, FLOORS, UNIFORM)
        assert alike != apart
        for _ in range(2):
            assert answer(planner.plan, MEANS) == alike
            assert answer(planner.plan, MEANS, 2 * MEANS) == apart

    @pytest.mark.parametrize(
        "kind", ["plain", "negative", "sparse", "groups", "masked", "integer", "zero", "infeasible", "boundary"]
    )
    def test_are_worth_what_solve_lp_says(self, kind):
        """To within the rounding of a sum."""
        rng = np.random.default_rng([12, KINDS.index(kind)])
        for shape in shapes(rng, 12):
            problem = random_case(rng, kind, *shape).problem
            found = planner_of(problem, on_infeasible="least_shortfall").plan(
                problem.objective_means, problem.constraint_means
            )
            expected = problem.solve(on_infeasible="least_shortfall")
            size = (np.abs(problem.objective) * expected.allocation).sum()
            assert type(found.value) is float
            assert found.value == pytest.approx(expected.value, rel=0, abs=1e-13 * size)

    def test_of_an_instance_are_those_of_plan(self):
        """With its names, in errors too."""
        planner = Planner.of(NU)
        assert answer(planner.plan, MEANS) == answer(plan, NU)
        with pytest.raises(InfeasibleError, match="arm 1"):
            planner.plan(MEANS, revenue_floors=[100, 0, 0])
        with pytest.raises(InvalidInputError, match="instance must be an Instance"):
            Planner.of(MEANS)


class TestWarmPlans:
    @pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.startswith("infeasible")])
    def test_are_optimal_and_as_good_as_cold_ones(self, kind):
        """Along walks of all coefficients, by a certificate that knows nothing of the simplex method."""
        rng = np.random.default_rng([13, KINDS.index(kind)])
        proven = 0
        for shape in shapes(rng, 6):
            problem = random_case(rng, kind, *shape).problem
            planner = planner_of(problem, warm=True, on_infeasible="least_shortfall")
            for step in (0.0, 0.001, 0.001, 0.03):
                problem = moved(rng, problem, step) if kind not in ("equal", "zero") else problem
                found = planner.plan(problem.objective_means, problem.constraint_means)
                cold = problem.solve(on_infeasible="least_shortfall")
                assert found.status == cold.status
                size = max(abs(cold.value), np.abs(problem.objective).max())
                assert abs(found.value - cold.value) <= 1e-9 * size
                if found.status == PlanStatus.OPTIMAL:
                    certified = found.certified()
                    assert certified.certificate.holds
                    check_optimal(problem, certified)
                    assert certified.allocation.tobytes() == found.allocation.tobytes()
                    proven += 1
        assert proven > 5

    def test_go_on_from_the_last_basis(self):
        """No step of the simplex method is taken where nothing moved; cold plans take them all again."""
        for warm in (True, False):
            planner = Planner(FLOORS, UNIFORM, warm=warm)
            planner.plan(MEANS)
            first = count_pivots(planner)
            assert first > 0
            planner.plan(MEANS)
            assert count_pivots(planner) == (first if warm else 2 * first)

    def test_survive_a_problem_without_a_plan(self):
        """The basis of a plan of least shortfall is no start; the next plan begins from nothing."""
        planner = Planner(FLOORS, UNIFORM, warm=True)
        for _ in range(2):
            with pytest.raises(InfeasibleError):
                planner.plan(MEANS, revenue_floors=[100, 100, 100])
            assert planner.plan(MEANS).value == pytest.approx(5.25, rel=1e-14)


class TestResults:
    def test_share_no_memory_with_each_other_or_with_what_was_given(self):
        """So a plan stays as it is when the next one is made."""
        means = MEANS.copy()
        planner = Planner(FLOORS, UNIFORM)
        first = planner.plan(means)
        kept = first.allocation.copy(), first.prices.copy()
        second = planner.plan(means[::-1], revenue_floors=FLOORS[::-1])
        for one in (first.allocation, first.prices):
            for other in (second.allocation, second.prices, planner._memory._words, means):
                assert not np.shares_memory(one, other)
        np.testing.assert_array_equal(first.allocation, kept[0])
        np.testing.assert_array_equal(first.prices, kept[1])

    def test_are_the_planners_own_arrays_if_asked(self):
        """The next plan overwrites them, whatever was written there."""
        planner = Planner(FLOORS, UNIFORM)
        expected = planner.plan(MEANS)
        first = planner.plan(MEANS, copy=False)
        first.allocation[...], first.prices[...] = 7.0, 7.0
        second = planner.plan(MEANS, copy=False)
        assert second.allocation is first.allocation
        assert second.prices is first.prices
        assert as_bytes(second) == as_bytes(expected)
        with pytest.raises(InvalidInputError, match="copy must be True"):
            second.certified()

    @pytest.mark.parametrize("kind", ["plain", "groups", "masked", "infeasible", "infeasible-groups", "boundary"])
    def test_are_certified_as_the_plan_of_solve_lp(self, kind):
        """Long after, with the floors and probabilities of the call."""
        rng = np.random.default_rng([14, KINDS.index(kind)])
        for shape in shapes(rng, 8):
            problem = random_case(rng, kind, *shape).problem
            planner = planner_of(
                problem._replace(revenue_floors=np.ones(shape[0]), context_probabilities=np.ones(shape[1])),
                on_infeasible="least_shortfall",
            )
            means = problem.objective_means.copy(), problem.constraint_means.copy()
            floors, probabilities = problem.revenue_floors.copy(), problem.context_probabilities.copy()
            found = planner.plan(*means, revenue_floors=floors, context_probabilities=probabilities)
            for array in (*means, floors, probabilities):
                array[...] = 5.0
            planner.plan(*means)
            proven, expected = found.certified(), problem.solve(on_infeasible="least_shortfall")
            assert proven.certificate == expected.certificate
            assert proven.certificate.holds
            assert (proven.status, proven.value) == (expected.status, expected.value)
            assert str(proven.floors) == str(expected.floors)
            assert proven.context_values.tobytes() == expected.context_values.tobytes()
            assert proven.conflicting_floors == expected.conflicting_floors

    def test_are_not_certified_if_they_are_wrong(self):
        """The proof is of this allocation, not of another one that is right."""
        found = Planner(FLOORS, UNIFORM).plan(MEANS)
        found.allocation[...] = 1 / 3
        with pytest.raises(PlanningError, match="could not be proven"):
            found.certified()

    def test_can_be_pickled(self):
        """And proven elsewhere."""
        found = pickle.loads(pickle.dumps(Planner(FLOORS, UNIFORM).plan(MEANS)))
        assert found.certified().value == 5.25
        assert repr(found) == "<QuickPlan: optimal, 5.25 per round, 3 arms x 3 contexts>"
        assert "5.25" in repr(found)


class TestErrors:
    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            ({"mean_rewards": np.zeros((2, 3))}, r"mean_rewards must have shape \(3, 3\).* got \(2, 3\)"),
            ({"mean_rewards": np.zeros(3)}, "mean_rewards must be 2-dimensional"),
            ({"mean_rewards": "means"}, "mean_rewards must hold real numbers"),
            ({"mean_rewards": None}, "mean_rewards"),
            ({"constraint_means": np.zeros((3, 4))}, "constraint_means must have shape"),
            ({"revenue_floors": np.zeros(2)}, r"revenue_floors must have shape \(3,\)"),
            ({"revenue_floors": np.array([0, np.nan, 0])}, r"revenue_floors\[1\] must be finite, got nan"),
            ({"revenue_floors": [0, 0, -1e200]}, r"revenue_floors\[2\] must be within 1e\+150 of zero"),
            ({"context_probabilities": np.ones(2)}, r"context_probabilities must have shape \(3,\)"),
            ({"context_probabilities": np.array([1, -1, 0.5])}, r"context_probabilities\[1\] must be non-negative"),
            ({"context_probabilities": [1e150, 0, 0]}, r"context_probabilities \* mean_rewards\[0, 0\]"),
            ({"copy": 1}, "copy must be True or False"),
        ],
    )
    def test_name_the_argument_and_leave_the_planner_as_it_was(self, arguments, said):
        """Plain arrays are checked too, in compiled code."""
        planner = Planner(FLOORS, UNIFORM)
        with pytest.raises(InvalidInputError, match=said):
            planner.plan(**{"mean_rewards": MEANS} | arguments)
        assert answer(planner.plan, MEANS) == answer(plan, NU)

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e151])
    @pytest.mark.parametrize("field", ["mean_rewards", "constraint_means"])
    @pytest.mark.parametrize("place", [(0, 0), (1, 2), (2, 2)])
    def test_find_a_number_that_cannot_be_planned_with(self, field, bad, place):
        """Wherever it is, by the names that there are."""
        means = {"mean_rewards": MEANS.copy(), "constraint_means": MEANS.copy()}
        means[field][place] = bad
        where = f"{place[0]}, {place[1]}"
        with pytest.raises(InvalidInputError, match=rf"^{field}\[{where}\] must be"):
            Planner(FLOORS, UNIFORM).plan(**means)
        with pytest.raises(InvalidInputError, match=rf"^{field}\[{where}\] \(arm '{place[0] + 1}', context "):
            Planner.of(NU).plan(**means)

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            ({"revenue_floors": []}, "revenue_floors must have at least one arm"),
            ({"context_probabilities": []}, "context_probabilities must have at least one context"),
            ({"revenue_floors": [[1]]}, "revenue_floors must be 1-dimensional"),
            ({"context_probabilities": [1, -1, 1]}, r"context_probabilities\[1\] must be non-negative"),
            ({"arms": ["a", "b"]}, "revenue_floors has shape .* but arms names 2 arms"),
            ({"contexts": ["a"] * 3}, "contexts must be unique"),
            ({"available": np.ones((2, 3), dtype=bool)}, "available must be booleans of shape"),
            ({"available": np.eye(3, 3, 1, dtype=bool)}, "available must leave each context an arm"),
            ({"group_floors": [GroupFloor("both", (0, 7), 1.0)]}, "group floor 'both'"),
            ({"on_infeasible": "ignore"}, "on_infeasible must be"),
            ({"warm": "yes"}, "warm must be True or False"),
        ],
    )
    def test_of_the_planner_itself_come_when_it_is_made(self, arguments, said):
        """By the field, as everywhere."""
        with pytest.raises(InvalidInputError, match=said):
            Planner(**{"revenue_floors": FLOORS, "context_probabilities": UNIFORM} | arguments)

    def test_say_what_solve_lp_says_of_floors_in_conflict(self):
        """With the conflict and the least shortfall as data."""
        floors = [4.0, 1.0, 1.0]
        with pytest.raises(InfeasibleError) as expected:
            solve_lp(MEANS, MEANS, floors, UNIFORM)
        with pytest.raises(InfeasibleError) as found:
            Planner(floors, UNIFORM).plan(MEANS)
        assert str(found.value) == str(expected.value)
        assert found.value.conflicting_floors == expected.value.conflicting_floors
        assert found.value.least_shortfall == expected.value.least_shortfall


class TestInputs:
    def test_may_be_of_any_kind(self):
        """Lists, other dtypes, transposed and read-only arrays: the same plan."""
        planner = Planner(FLOORS, UNIFORM)
        expected = answer(planner.plan, MEANS)
        frozen = MEANS.copy()
        frozen.setflags(write=False)
        wide = np.zeros((6, 6))
        wide[::2, ::2] = MEANS
        for given in (MEANS.tolist(), frozen, np.asfortranarray(MEANS), wide[::2, ::2], MEANS.astype(">f8")):
            assert answer(planner.plan, given) == expected
            assert answer(planner.plan, given, given) == expected

    def test_with_labels_are_put_in_order(self):
        """In that of the planner's names, or of the rewards where it has none."""
        import pandas

        frame = pandas.DataFrame(MEANS, index=["a", "b", "c"], columns=["x", "y", "z"])
        shuffled = frame.loc[["c", "a", "b"], ["z", "x", "y"]]
        expected = answer(plan, NU)
        named = Planner(dict(zip("abc", FLOORS, strict=True)), dict(zip("xyz", UNIFORM, strict=True)))
        assert answer(named.plan, shuffled) == expected
        assert answer(named.plan, shuffled, frame) == expected
        assert answer(named.plan, shuffled, revenue_floors=pandas.Series(FLOORS, index=list("abc"))) == expected
        assert answer(Planner(FLOORS, UNIFORM).plan, frame, shuffled) == expected
        with pytest.raises(InvalidInputError, match="mean_rewards must be labelled by the arms of revenue_floors"):
            named.plan(frame.rename(index={"a": "d"}))


class TestMemory:
    def test_is_all_there_when_the_planner_is_made(self):
        """A plan allocates what it returns and nothing else; without a copy, next to nothing."""
        rng = np.random.default_rng(16)
        means = rng.random((40, 100))
        floors = 0.5 * means.mean(axis=1) / 40
        planner = Planner(floors, np.full(100, 0.01))
        planner.plan(means)
        used = []
        for settings in ({"copy": False}, {}):
            tracemalloc.start()
            try:
                planner.plan(means, **settings)
                used.append(tracemalloc.get_traced_memory()[1])
            finally:
                tracemalloc.stop()
        assert used[0] < 2000 < means.nbytes
        assert used[1] < 2000 + 2 * means.nbytes + floors.nbytes  # the allocation, the prices, and the problem

    def test_has_a_place_for_each_array(self):
        """None of which reaches into another."""
        memory = Memory(Shape(3, 5, 4, 2))
        program, basis, workspace, *vectors = memory.places
        arrays = [memory.array(place) for place in (*program, *basis, *workspace, *vectors)]
        for number, array in enumerate(arrays):
            array.fill(number % 2)
        for number, array in enumerate(arrays):
            assert (array == number % 2).all()
        assert sum(array.nbytes for array in arrays) <= memory._words.nbytes


class TestCopies:
    @pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, lambda planner: pickle.loads(pickle.dumps(planner))])
    @pytest.mark.parametrize("warm", [False, True])
    def test_are_made_of_the_same_arguments(self, make, warm):
        """They plan the same, in memory of their own, and remember no plan."""
        available = np.ones((3, 3), dtype=bool)
        available[0, 0] = False
        planner = Planner(
            [0.5, 0.25, 0.5],
            UNIFORM,
            group_floors=[GroupFloor("last", ("b", "c"), 0.75)],
            available=available,
            arms=["a", "b", "c"],
            on_infeasible="least_shortfall",
            warm=warm,
        )
        planner.plan(MEANS, revenue_floors=[1, 1, 1])
        found = make(planner)
        assert count_pivots(found) == 0
        assert not np.shares_memory(found._memory._words, planner._memory._words)
        assert repr(found) == repr(planner)
        assert answer(found.plan, MEANS) == answer(planner.plan, MEANS)
        impossible = [90, 90, 90]
        assert found.plan(MEANS, revenue_floors=impossible).status == PlanStatus.INFEASIBLE
        assert found.plan(MEANS, revenue_floors=impossible).certified().floors.names == ("a", "b", "c", "last")


def test_threads_may_share_a_planner():
    """Each gets the answer to its own question."""
    rng = np.random.default_rng(15)
    problems = [rng.random((6, 7)) for _ in range(4)]
    floors, uniform = np.full(6, 0.05), np.full(7, 1 / 7)
    planner = Planner(floors, uniform)
    expected = [answer(solve_lp, means, means, floors, uniform) for means in problems]
    assert len(set(expected)) == 4
    wrong = []

    def work(number):
        for _ in range(300):
            if answer(planner.plan, problems[number]) != expected[number]:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def count_pivots(planner):
    """Steps of the simplex method so far."""
    memory = planner._memory
    return int(memory.array(memory.places.workspace.counts)[Count.PIVOTS])
