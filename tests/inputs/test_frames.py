"""Labelled input: names come from labels, and what is labelled is aligned by name or refused."""

import subprocess
import sys

import narwhals
import numpy as np
import pandas as pd
import polars as pl
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcbandit import BLP, OLP, GroupFloor, Instance, paper_instance, plan, policy, restore, simulate, solve_lp
from arcbandit.errors import InvalidInputError, InvalidInstanceError
from arcbandit.planning import PlanStatus

ARMS, CONTEXTS = ("house", "guest"), ("day", "evening", "night")
MEANS = np.array([[9.0, 3.0, 6.0], [1.0, 4.0, 2.0]])
FLOORS = {"house": 1.0, "guest": 0.25}
PROBABILITIES = {"day": 0.5, "evening": 0.125, "night": 0.375}
EXPECTED = Instance(MEANS, [1.0, 0.25], [0.5, 0.125, 0.375], arms=ARMS, contexts=CONTEXTS)

EVENTS = [
    ("guest", "night", 2.0),
    ("house", "day", 8.0),
    ("house", "day", 10.0),
    ("guest", "day", 1.0),
    ("house", "night", 6.0),
    ("guest", "evening", 4.0),
    ("house", "evening", 3.0),
    ("guest", "day", 1.0),
]


def pandas_means(rows=(0, 1), columns=(0, 1, 2)):
    frame = pd.DataFrame(MEANS, index=list(ARMS), columns=list(CONTEXTS))
    return frame.iloc[list(rows), list(columns)]


def polars_means(rows=(0, 1), columns=(0, 1, 2)):
    frame = pl.DataFrame({"arm": ARMS} | {name: MEANS[:, place] for place, name in enumerate(CONTEXTS)})
    return frame[list(rows)].select([CONTEXTS[columns[0]], "arm", *(CONTEXTS[place] for place in columns[1:])])


def vectors(named):
    """The same numbers by name, in every kind of object that has names, in another order than `named`."""
    turned = dict(reversed(named.items()))
    names, numbers = list(turned), list(turned.values())
    return {
        "dict": turned,
        "pandas series": pd.Series(turned),
        "pandas series of categories": pd.Series(numbers, index=pd.CategoricalIndex(names)),
        "pandas frame with an index": pd.DataFrame({"number": numbers}, index=names),
        "pandas frame of two columns": pd.DataFrame({"name": names, "number": numbers}),
        "pandas frame, numbers first": pd.DataFrame({"number": numbers, "name": names}),
        "polars frame": pl.DataFrame({"name": names, "number": numbers}),
        "polars frame of categories": pl.DataFrame({"name": pl.Series(names, dtype=pl.Categorical), "number": numbers}),
        "polars lazy frame": pl.LazyFrame({"name": names, "number": numbers}),
    }


class TestInstances:
    def test_what_a_log_of_events_gives_is_aligned(self):
        """A pivot table sorts contexts by name, value_counts by how often they occur: the case that went wrong."""
        log = pd.DataFrame(EVENTS, columns=["arm", "context", "reward"])
        means = log.pivot_table(index="arm", columns="context", values="reward")
        shares = log["context"].value_counts(normalize=True)
        assert list(shares.index) != list(means.columns)
        instance = Instance(means, FLOORS, shares)
        assert instance.arms == ("guest", "house")
        assert instance.contexts == ("day", "evening", "night")
        assert instance.context_probabilities.tolist() == [0.5, 0.25, 0.25]
        assert instance.revenue_floors.tolist() == [0.25, 1.0]
        assert instance.mean_rewards.tolist() == [[1, 4, 2], [9, 3, 6]]

    def test_so_is_what_polars_makes_of_the_same_log(self):
        """A frame without an index: its one column that is not of numbers names the arms."""
        log = pl.DataFrame(EVENTS, schema=["arm", "context", "reward"], orient="row")
        means = log.pivot(on="context", index="arm", values="reward", aggregate_function="mean")
        shares = log["context"].value_counts(normalize=True, sort=True)
        instance = Instance(means, FLOORS, shares)
        assert instance.arms == ("guest", "house")
        assert instance.contexts == ("night", "day", "evening")
        assert instance.context_probabilities.tolist() == [0.25, 0.5, 0.25]
        assert instance.mean_rewards.tolist() == [[2, 1, 4], [6, 9, 3]]

    @pytest.mark.parametrize("means", [pandas_means, polars_means])
    @settings(deadline=None)
    @given(rows=st.permutations([0, 1]), columns=st.permutations([0, 1, 2]))
    def test_any_order_gives_the_instance_of_the_names_given(self, means, rows, columns):
        """`arms` and `contexts` say the order; the frame's own does not matter."""
        found = Instance(means(rows, columns), FLOORS, PROBABILITIES, arms=ARMS, contexts=CONTEXTS)
        assert found == EXPECTED

    @pytest.mark.parametrize("kind", vectors(FLOORS))
    def test_floors_and_probabilities_come_in_any_object_with_names(self, kind):
        """And in any order."""
        found = Instance(pandas_means(), vectors(FLOORS)[kind], vectors(PROBABILITIES)[kind])
        assert found == EXPECTED

    @pytest.mark.parametrize("means", [pandas_means, polars_means])
    def test_weighted_means_may_be_labelled_too(self, means):
        """The probabilities that divide them are aligned first."""
        turned = means((1, 0), (2, 0, 1))
        found = Instance.from_weighted_means(
            turned, FLOORS, vectors(PROBABILITIES)["pandas series"], arms=ARMS, contexts=CONTEXTS
        )
        by_hand = Instance.from_weighted_means(
            MEANS, list(FLOORS.values()), list(PROBABILITIES.values()), arms=ARMS, contexts=CONTEXTS
        )
        assert found == by_hand

    def test_unlabelled_means_take_the_names_and_order_of_what_has_some(self):
        """Lists go by position."""
        assert Instance(MEANS, FLOORS, PROBABILITIES) == EXPECTED
        assert Instance(MEANS, FLOORS, [0.5, 0.125, 0.375]).arms == ARMS

    def test_an_index_that_nobody_gave_is_no_label(self):
        """pandas counts from 0 where no index is given; so does nobody who names arms."""
        found = Instance(pd.DataFrame(MEANS), pd.Series([1.0, 0.25]), pd.Series([0.5, 0.125, 0.375]))
        assert found == Instance(MEANS, [1.0, 0.25], [0.5, 0.125, 0.375])
        assert found.arms == ("1", "2")
        assert Instance(pd.DataFrame(MEANS), FLOORS, PROBABILITIES) == EXPECTED
        reset = pandas_means((1, 0)).reset_index(names="arm")
        assert Instance(reset, FLOORS, PROBABILITIES, arms=ARMS, contexts=CONTEXTS) == EXPECTED
        assert Instance(pl.DataFrame(MEANS, schema=list(CONTEXTS)), FLOORS, PROBABILITIES) == EXPECTED

    def test_labels_that_are_no_strings_become_some(self):
        """Numbers, as ids of arms often are."""
        means = pd.DataFrame(MEANS, index=[7, 5], columns=[2.5, 0, True])
        found = Instance(means, {5: 0.25, "7": 1}, [0.5, 0.125, 0.375])
        assert (found.arms, found.contexts) == (("7", "5"), ("2.5", "0", "True"))
        assert found.revenue_floors.tolist() == [1, 0.25]
        ids = pl.DataFrame({"arm": [5, 7], "floor": [0.25, 1.0]})
        assert Instance(means, ids, [0.5, 0.125, 0.375]) == found

    def test_numbers_of_every_kind_are_read(self):
        """Whole, small, nullable and decimal ones."""
        frame = pd.DataFrame(
            {"x": pd.array([1, 2], dtype="Int64"), "y": np.array([3, 4], dtype=np.float32)}, ["a", "b"]
        )
        assert Instance(frame, [0, 0], [0.5, 0.5]).mean_rewards.tolist() == [[1, 3], [2, 4]]
        decimals = pl.DataFrame({"arm": ["a", "b"], "x": pl.Series(["0.5", "1.25"]).cast(pl.Decimal(6, 2))})
        assert Instance(decimals, [0, 0], [1]).mean_rewards.tolist() == [[0.5], [1.25]]

    def test_group_floors_name_arms_of_the_labels(self):
        """As they do of `arms`."""
        found = Instance(pandas_means(), FLOORS, PROBABILITIES, group_floors=[GroupFloor("all", ("guest", "house"), 1)])
        assert found.group_members.tolist() == [[True, True]]

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            (
                {"context_probabilities": {"day": 0.5, "evening": 0.25, "noon": 0.25}},
                "context_probabilities must be labelled by the contexts of mean_rewards, "
                "but it lacks 'night' and has 'noon' besides.",
            ),
            (
                {"revenue_floors": pd.Series({"house": 1.0})},
                "revenue_floors must be labelled by the arms of mean_rewards, but it lacks 'guest'.",
            ),
            (
                {"revenue_floors": {"house": 1.0, "guest": 0.25, "third": 0.0}},
                "revenue_floors must be labelled by the arms of mean_rewards, but it has 'third' besides.",
            ),
            (
                {"arms": ["house", "visitor"]},
                "mean_rewards must be labelled by the names in arms, but it lacks 'visitor' and has 'guest' besides.",
            ),
            (
                {"mean_rewards": pandas_means().T},
                "revenue_floors must be labelled by the arms of mean_rewards, "
                "but it lacks 'day', 'evening', 'night' and has 'house', 'guest' besides.",
            ),
            (
                {"mean_rewards": pandas_means((0, 0))},
                "the arms of mean_rewards must be unique, got 'house' at positions 0 and 1.",
            ),
            (
                {"mean_rewards": pandas_means(columns=(0, 1, 1))},
                "mean_rewards must be a frame that can be read: "
                "Expected unique column names, got: - 'evening' 2 times.",
            ),
            (
                {"revenue_floors": pd.Series([1.0, 0.25], index=[1, "1"])},
                "the arms of revenue_floors must be unique, got '1' at positions 0 and 1.",
            ),
            (
                {"revenue_floors": pd.Series([1.0, 0.25], index=["house", None])},
                "The arms of revenue_floors must all have labels, but the one at 1 has none.",
            ),
            (
                {"revenue_floors": {"house": 1.0, " ": 0.25}},
                "the arms of revenue_floors[1] must be a non-empty string, got ' '.",
            ),
            (
                {"revenue_floors": {"house": 1.0, "guest": True}},
                "revenue_floors[1] must be a real number, got True.",
            ),
            (
                {"revenue_floors": pd.Series({"house": 1.0, "guest": -1.0})},
                "revenue_floors[1] (arm 'guest') must be non-negative, got -1.0.",
            ),
            (
                {"revenue_floors": pd.Series({"house": 1.0, "guest": np.nan})},
                "revenue_floors must have no missing values, but column None has.",
            ),
            (
                {"revenue_floors": pd.Series({"house": 1j, "guest": 0j}, name="floor")},
                "revenue_floors must hold real numbers, but column 'floor' has dtype Unknown.",
            ),
            (
                {"revenue_floors": pd.Series(True, index=list(ARMS), name="floor")},
                "revenue_floors must hold real numbers, but column 'floor' has dtype Boolean.",
            ),
            (
                {"context_probabilities": pl.DataFrame({"a": ["day"], "b": ["x"], "c": [1.0]})},
                "context_probabilities must be a column of numbers, or one of names and one of numbers, "
                "got the columns 'a', 'b', 'c'.",
            ),
            (
                {"context_probabilities": pl.DataFrame({"a": [1, 2, 3], "b": [1, 0, 0]})},
                "context_probabilities must be a column of numbers, or one of names and one of numbers, "
                "got the columns 'a', 'b'.",
            ),
            (
                {"mean_rewards": pl.DataFrame({"a": ["x", "y"], "b": ["u", "v"], "c": [1.0, 2.0]})},
                "mean_rewards must hold real numbers, but column 'a' has dtype String.",
            ),
            (
                {"mean_rewards": pl.DataFrame({"a": ["x", "y"]})},
                "mean_rewards must have a column of numbers, got none.",
            ),
            (
                {"revenue_floors": pl.DataFrame({"name": [{"a": 1}, {"a": 2}], "floor": [1.0, 0.0]})},
                "revenue_floors must be a column of numbers, or one of names and one of numbers, "
                "got the columns 'name', 'floor'.",
            ),
            ({"mean_rewards": pd.Series([1.0])}, "mean_rewards must be 2-dimensional, got a series."),
            (
                {"mean_rewards": [pd.Series({"x": 1.0}), pd.Series({"y": 1.0})]},
                "mean_rewards[0] has labels, which a list of such rows would lose; give one frame instead.",
            ),
            (
                {
                    "mean_rewards": pd.DataFrame(
                        MEANS, index=pd.MultiIndex.from_tuples([("a", 1), ("b", 2)]), columns=list(CONTEXTS)
                    )
                },
                "The arms of mean_rewards must have labels of one level, got ('a', 1).",
            ),
        ],
    )
    def test_what_cannot_be_aligned_is_refused_by_name(self, changes, message):
        """The names that do not match stand in the message."""
        given = {"mean_rewards": pandas_means(), "revenue_floors": FLOORS, "context_probabilities": PROBABILITIES}
        with pytest.raises(InvalidInstanceError) as caught:
            Instance(**(given | changes))
        assert str(caught.value) == message

    def test_rows_without_labels_may_be_series(self):
        """A list of them loses nothing."""
        rows = [pl.Series([9.0, 3.0, 6.0]), pd.Series([1.0, 4.0, 2.0])]
        assert Instance(rows, FLOORS, PROBABILITIES) == EXPECTED

    def test_frames_may_come_wrapped_by_narwhals(self):
        """As they do in code that is written for every kind of frame."""
        assert Instance(narwhals.from_native(polars_means()), FLOORS, PROBABILITIES, contexts=CONTEXTS) == EXPECTED

    def test_any_frame_that_narwhals_reads_will_do(self):
        """pyarrow's tables among them."""
        table = pyarrow.table({"arm": list(ARMS)} | {name: MEANS[:, at] for at, name in enumerate(CONTEXTS)})
        assert Instance(table, FLOORS, PROBABILITIES) == EXPECTED


class TestPlans:
    def test_solve_lp_aligns_all_to_the_objective(self):
        """Shuffled rows and columns give the plan of the matrices in order."""
        plain = solve_lp(MEANS, MEANS / 2, [1.0, 0.25], [0.5, 0.125, 0.375], available=MEANS != 3.0)
        available = (pandas_means() != 3.0).iloc[[1, 0], [2, 1, 0]]
        found = solve_lp(
            pandas_means(),
            polars_means((1, 0), (1, 2, 0)).with_columns(pl.selectors.numeric() / 2),
            vectors(FLOORS)["polars frame"],
            vectors(PROBABILITIES)["dict"],
            available=available,
            group_floors=[GroupFloor("all", ("guest", 0), 0.5)],
        )
        assert found.status == PlanStatus.OPTIMAL
        assert found.allocation.tolist() == plain.allocation.tolist()
        assert found.value == plain.value

    def test_labels_that_differ_are_refused(self):
        """Named by the argument they come from."""
        with pytest.raises(
            InvalidInputError, match=r"^constraint_means must be labelled by the contexts of objective_"
        ):
            solve_lp(pandas_means(), pandas_means().rename(columns={"day": "noon"}), FLOORS, PROBABILITIES)
        mask = (pandas_means() > 0).rename(index={"guest": "visitor"})
        with pytest.raises(InvalidInputError, match=r"^available must be labelled by the arms of objective_means"):
            solve_lp(pandas_means(), MEANS, FLOORS, PROBABILITIES, available=mask)
        with pytest.raises(InvalidInputError, match="available must hold booleans, but column 'day' has dtype Float64"):
            solve_lp(MEANS, MEANS, [0, 0], [0.5, 0.25, 0.25], available=pandas_means())
        with pytest.raises(InvalidInputError, match=r"has shape \(2, 3\), but revenue_floors names 3 arms"):
            solve_lp(MEANS, MEANS, {"a": 0, "b": 0, "c": 0}, [0.5, 0.25, 0.25])


class TestPolicies:
    def test_names_come_from_labels(self):
        """A policy of labelled floors goes by name."""
        decider = BLP(FLOORS, pd.Series(PROBABILITIES), seed=1)
        assert decider.arms == ARMS
        assert decider.contexts == CONTEXTS
        assert decider.decide("night").arm in ARMS
        assert restore(decider.snapshot()).snapshot() == decider.snapshot()
        assert OLP(FLOORS, contexts=3).contexts == (0, 1, 2)
        assert OLP(FLOORS, PROBABILITIES, contexts=3).contexts == CONTEXTS

    def test_arguments_are_aligned_to_the_names_given(self):
        """Floors, probabilities and the mask of what is available."""
        available = pandas_means() != 9.0
        decider = policy(
            "olp",
            vectors(FLOORS)["polars frame"],
            vectors(PROBABILITIES)["pandas series"],
            arms=ARMS,
            contexts=CONTEXTS,
            available=available.iloc[[1, 0], [1, 2, 0]],
        )
        snapshot = decider.snapshot()
        assert snapshot["configuration"]["revenue_floors"] == [1.0, 0.25]
        assert snapshot["configuration"]["context_probabilities"] == [0.5, 0.125, 0.375]
        assert snapshot["configuration"]["available"] == (MEANS != 9.0).tolist()
        unnamed = OLP([0.1], [0.5, 0.5])
        unnamed.add_arm(available={1: True, 0: False})
        assert unnamed.snapshot()["configuration"]["available"][1] == [False, True]
        decider.add_arm("third", available={"night": True, "day": False, "evening": True})
        assert decider.snapshot()["configuration"]["available"][2] == [False, True, True]

    def test_labels_that_differ_are_refused(self):
        """Also where an arm is added later."""
        with pytest.raises(
            InvalidInputError, match=r"^context_probabilities must be labelled by the names in contexts"
        ):
            OLP(FLOORS, PROBABILITIES, contexts=["a", "b", "c"])
        with pytest.raises(InvalidInputError, match=r"^available must be labelled by the arms of revenue_floors"):
            OLP(FLOORS, [0.5, 0.125, 0.375], available=(pandas_means() > 0).rename(index={"guest": "visitor"}))
        with pytest.raises(InvalidInputError, match="as many as context_probabilities, 3, got 2"):
            OLP(FLOORS, PROBABILITIES, contexts=2)
        with pytest.raises(InvalidInputError, match=r"^available must be labelled by the names in contexts.*'noon'"):
            OLP(FLOORS, PROBABILITIES).add_arm("third", available={"noon": True})


def test_simulations_align_what_is_available():
    """To the arms and contexts of the instance."""
    available = pandas_means() != 3.0
    plain = simulate(EXPECTED, ["olp"], 60, epochs=1, available=available.to_numpy())
    turned = simulate(EXPECTED, ["olp"], 60, epochs=1, available=available.iloc[[1, 0], [2, 0, 1]])
    assert np.array_equal(plain.records["olp"], turned.records["olp"])
    with pytest.raises(InvalidInputError, match="available must be labelled by the names in arms"):
        simulate(paper_instance("nu"), ["olp"], 60, epochs=1, available=available)


@pytest.mark.slow
def test_lists_and_arrays_do_not_wait_for_narwhals():
    """It is loaded for objects that may have labels alone, and brings no package of frames."""
    code = (
        "import sys, numpy as np; from arcbandit import Instance, OLP, plan, solve_lp;"
        "plan(Instance([[1, 2]], (0,), np.array([0.5, 0.5]), arms=['a'])); OLP([0.1], [1.0], available=[[True]]);"
        "solve_lp([[1]], [[1]], [0], [1]);"
        "print(*sorted({'narwhals', 'pandas', 'polars', 'pyarrow'} & set(sys.modules)));"
        "Instance([[1]], {'a': 0}, {'x': 1}); print(*sorted({'pandas', 'polars', 'pyarrow'} & set(sys.modules)))"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert finished.stdout.split() == []


def test_a_plan_of_a_labelled_instance_is_that_of_the_plain_one():
    """Once aligned, nothing else differs."""
    found = plan(Instance(polars_means((1, 0)), FLOORS, PROBABILITIES, arms=ARMS, contexts=CONTEXTS))
    assert found.allocation.tolist() == plan(EXPECTED).allocation.tolist()
