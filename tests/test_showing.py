"""Reprs are short, HTML is small and safe, and frames are alike in pandas and polars."""

import copy
import pickle
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pytest

from arcbandit import (
    BLP,
    GroupFloor,
    Instance,
    Planner,
    analyse,
    compare,
    paper_instance,
    plan,
    policy,
    showing,
    simulate,
    tables,
)
from arcbandit.errors import InvalidInputError, MissingExtraError

NASTY = "<script>alert('&\"')</script>"
NU = paper_instance("nu")


def nasty_instance():
    """Names that are code, one of them long."""
    return Instance(
        [[3.0, 1.0], [0.5, 2.0]],
        [0.2, 0.1],
        [0.5, 0.5],
        arms=[NASTY, "b" * 500],
        contexts=[NASTY + "2", "y\n\ty"],
        group_floors=[GroupFloor(NASTY + "3", (0, 1), 0.1)],
    )


def large_instance():
    means = np.random.default_rng(0).random((60, 80))
    return Instance(means, np.full(60, 0.001), np.full(80, 1 / 80))


def infeasible_instance():
    return Instance([[1.0, 1.0], [1.0, 1.0]], [0.9, 0.9], [0.5, 0.5])


def shown_of(instance):
    """Everything that can be shown of an instance."""
    found = plan(instance, on_infeasible="least_shortfall")
    played = simulate(instance, {"blp": "blp", NASTY: "olp"}, 30, 2)
    return {
        "Instance": instance,
        "Floors": instance.floors,
        "Plan": found,
        "PlannedFloors": found.floors,
        "Analysis": analyse(instance),
        "Trace": played,
        "Summary": simulate(instance, {"blp": "blp", NASTY: "olp"}, 30, 2, keep="summary"),
        "Comparison": compare({"first": instance, NASTY: instance}, ["blp", "olp"], 30, 1),
    }


SHOWN = {
    f"{size} {kind}": thing
    for size, make in {
        "nasty": nasty_instance,
        "large": large_instance,
        "infeasible": infeasible_instance,
    }.items()
    for kind, thing in shown_of(make()).items()
}


class Reader(HTMLParser):
    """Collects tags, and complains of what is not closed."""

    def __init__(self):
        super().__init__()
        self.open, self.tags = [], set()

    def handle_starttag(self, tag, attributes):
        assert {name for name, _ in attributes} <= {"style"}
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", SHOWN)
def test_a_repr_is_a_few_lines(name):
    assert len(repr(SHOWN[name])) < 700
    assert repr(SHOWN[name]).startswith("<")
    assert repr(SHOWN[name]).count("\n") <= 12


@pytest.mark.parametrize("name", SHOWN)
def test_html_is_small_well_formed_and_runs_nothing(name):
    text = SHOWN[name]._repr_html_()
    reader = Reader()
    reader.feed(text)
    assert reader.open == []
    assert reader.tags <= {"div", "span", "table", "tr", "th", "td"}
    assert "alert('" not in text
    assert "http" not in text
    assert len(text) < 100_000


@pytest.mark.parametrize("name", SHOWN)
def test_frames_of_pandas_and_polars_hold_the_same(name):
    in_pandas, in_polars = (SHOWN[name].to_frame(kind=kind) for kind in ("pandas", "polars"))
    assert type(in_pandas) is pd.DataFrame
    assert type(in_polars) is pl.DataFrame
    assert list(in_pandas.columns) == in_polars.columns
    assert len(in_pandas) == in_polars.height > 0
    for column in in_polars.columns:
        left, right = in_pandas[column].tolist(), in_polars[column].to_list()
        if isinstance(right[0], float):
            assert np.array_equal(left, right, equal_nan=True)
        else:
            assert left == right
    assert type(SHOWN[name].to_frame()) is pl.DataFrame


def test_a_trace_prints_what_a_reader_wants_first():
    """And not the 25,000 characters of its records."""
    trace = simulate(NU, ["blp", "olp"], 100, 1)
    first, header, *rows = repr(trace).splitlines()
    assert first == f"<Trace: 2 policies, 1 epoch of 100 rounds, 3 floors, {len(trace.rounds)} checkpoints>"
    assert header.split() == ["policy", "R", "V", "R", "+", "V", "performance"]
    assert [row.split()[0] for row in rows] == ["blp", "olp"]
    assert float(rows[0].split()[1].replace(",", "")) == pytest.approx(trace.regret["blp"][0, -1], rel=1e-4)


@pytest.mark.parametrize(
    ("thing", "by", "columns"),
    [
        (NU, "pair", ["arm", "context", "mean_reward", "weighted_mean"]),
        (NU, "floor", ["name", "kind", "arms", "floor"]),
        (NU, "context", ["context", "probability"]),
        (plan(NU), "pair", ["arm", "context", "share"]),
        (plan(NU), "floor", list(plan(NU).floors.to_dict())),
        (analyse(NU), "constant", ["constant", "value"]),
        (analyse(NU), "pair", ["arm", "context", "share"]),
    ],
)
def test_the_columns_of_frames(thing, by, columns):
    assert thing.to_frame(by).columns == columns
    with pytest.raises(InvalidInputError, match="by must be"):
        thing.to_frame("nonsense")
    with pytest.raises(InvalidInputError, match=r"kind must be .*\(did you mean 'pandas'\?\)"):
        thing.to_frame(kind="panda")


def test_a_frame_of_an_instance_gives_the_instance_back():
    frame = NU.to_frame(kind="pandas").pivot(index="arm", columns="context", values="mean_reward")
    assert np.array_equal(frame.to_numpy(), NU.mean_rewards)
    shares = plan(NU).to_frame().filter(pl.col("arm") == "2")["share"].to_list()
    assert shares == plan(NU).allocation[1].tolist()


def test_a_frame_is_not_the_instance_itself():
    frame = NU.to_frame(kind="pandas")
    frame.loc[0, "mean_reward"] = 100.0
    assert NU.mean_rewards[0, 0] != 100.0


class TestTheKindOfFrames:
    def test_is_pandas_if_polars_is_not_there(self, monkeypatch):
        monkeypatch.setattr(tables, "_is_installed", lambda module: module == "pandas")
        assert type(NU.to_frame()) is pd.DataFrame

    def test_a_missing_one_says_what_to_install(self, monkeypatch):
        monkeypatch.setitem(__import__("sys").modules, "pandas", None)
        with pytest.raises(MissingExtraError, match="pandas"):
            NU.to_frame(kind="pandas")


class TestHeatMaps:
    def test_shares_are_percentages_on_colours(self):
        text = showing.html_heat_map([[0.0, 1.0], [0.25, 0.9996]], ["a", "b"], ["x", "y"], highest=1.0)
        assert re.findall(r">([^<>]+)</td>", text) == ["·", "100%", "25%", "99.9%"]
        assert re.findall(r"background:(rgb\(\d+,\d+,\d+\))", text)[:2] == ["rgb(255,255,255)", "rgb(0,114,178)"]

    def test_what_is_no_number_is_white(self):
        text = showing.html_heat_map([[np.nan, np.inf, -1.0]], ["a"], ["x", "y", "z"], percent=False)
        assert text.count("rgb(255,255,255)") == 3

    def test_zeros_alone_are_white(self):
        assert "rgb(255,255,255)" in showing.html_heat_map([[0.0]], ["a"], ["x"], percent=False)

    def test_large_ones_are_cut_and_counted(self):
        text = showing.html_heat_map(np.ones((30, 50)), list(range(30)), list(range(50)))
        assert "… and 10 more rows" in text
        assert "… and 30 more columns" in text
        assert text.count("<td") == 20 * 20


def test_numbers_are_short_and_never_zero_by_rounding():
    numbers = [0.0, -0.5, 12345.678, 1e-9, 123456789.0, 1e20, float("nan"), float("inf"), 99999.5]
    texts = ["0", "-0.5", "12,346", "1e-09", "123,456,789", "1e+20", "–", "∞", "100,000"]
    assert [showing.number(number) for number in numbers] == texts


def test_quick_plans_and_active_sets_of_many_pairs_are_short():
    instance = large_instance()
    quick = Planner(instance.revenue_floors, instance.context_probabilities).plan(instance.mean_rewards)
    assert len(repr(quick)) < 100
    assert len(repr(plan(instance).active_set)) < 100
    assert repr(plan(NU).active_set).startswith("ActiveSet(floors=frozenset({")


@pytest.mark.parametrize("again", [copy.deepcopy, copy.copy, lambda one: pickle.loads(pickle.dumps(one))])
def test_policies_and_results_are_copied_and_pickled(again):
    """A policy through its snapshot; both go on alike, and apart."""
    decider = BLP([0.1, 0.1], [0.5, 0.5], arms=["a", "b"], noise_scale=0.1)
    for number in range(50):
        decision = decider.decide(number % 2)
        decider.update(number % 2, decision.arm, float(number % 3))
    twin = again(decider)
    assert twin.snapshot() == decider.snapshot()
    assert [twin.decide(0) for _ in range(20)] == [decider.decide(0) for _ in range(20)]
    twin.update(0, "a", 1.0)
    assert twin.snapshot() != decider.snapshot()
    assert again(policy("thompson-lp", share=0.5)) == policy("thompson-lp", share=0.5)
    for thing in (plan(NU), analyse(NU), simulate(NU, ["blp"], 20, 1)):
        assert repr(again(thing)) == repr(thing)
