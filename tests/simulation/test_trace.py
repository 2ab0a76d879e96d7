"""The record of a simulation."""

import json
import math

import numpy as np
import polars
import pytest
from scipy import stats

from arcbandit import Trace, paper_instance, simulate
from arcbandit.errors import InvalidInputError
from arcbandit.simulation.results import estimate, metric_names, student_quantile


@pytest.fixture(scope="module")
def trace():
    return simulate(paper_instance("nu"), ["olp", "spoc"], horizon=200, epochs=3, checkpoints=10, window=20)


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 7, 30, 99, 199, 200, 65_535, 10**6])
def test_student_quantile_is_that_of_scipy(degrees):
    assert student_quantile(degrees) == pytest.approx(stats.t.ppf(0.975, degrees), rel=1e-9)


def test_estimates_carry_a_95_percent_interval():
    """Of one epoch there is no interval."""
    values = np.array([1.0, 2.0, 4.0])
    found = estimate(values)
    low, high = stats.t.interval(0.95, 2, loc=values.mean(), scale=stats.sem(values))
    assert found.mean - found.half_width == pytest.approx(low)
    assert found.mean + found.half_width == pytest.approx(high)
    assert math.isnan(estimate(values[:1]).half_width)
    assert str(estimate(values[:1])) == "1.0"


def test_summary_is_of_the_last_checkpoint(trace):
    summary = trace.summary()
    assert summary["olp"]["regret"].mean == pytest.approx(trace.regret["olp"][:, -1].mean())
    assert summary["olp"]["regret_plus_violation"].mean == pytest.approx(
        (trace.regret["olp"] + trace.violation["olp"])[:, -1].mean()
    )


def test_frame_has_a_row_for_each_policy_epoch_and_checkpoint(trace):
    frame = trace.to_frame()
    assert frame.height == 2 * 3 * len(trace.rounds)
    part = frame.filter((frame["policy"] == "spoc") & (frame["epoch"] == 2))
    assert part["round"].to_list() == trace.rounds.tolist()
    assert part["violation"].to_numpy() == pytest.approx(trace.violation["spoc"][2])
    by_floor = trace.to_frame(by="floor")
    assert by_floor.height == frame.height * 3
    part = by_floor.filter((by_floor["policy"] == "olp") & (by_floor["epoch"] == 0) & (by_floor["floor"] == "2"))
    assert part["floor_realised"].to_numpy() == pytest.approx(trace.floor_realised["olp"][0, :, 1])
    with pytest.raises(InvalidInputError, match="by must be"):
        trace.to_frame(by="arm")


def test_a_saved_trace_loads_to_the_last_bit(trace, tmp_path):
    path = tmp_path / "trace.parquet"
    trace.save(path)
    loaded = Trace.load(path)
    assert loaded.policies == trace.policies
    assert loaded.settings == trace.settings
    assert (loaded.rounds == trace.rounds).all()
    for name in metric_names():
        for policy in trace.policies:
            assert np.array_equal(loaded.metric(name)[policy], trace.metric(name)[policy], equal_nan=True)
    assert [entry.name for entry in tmp_path.iterdir()] == ["trace.parquet"]


def test_a_failed_save_leaves_the_file_before(trace, tmp_path, monkeypatch):
    path = tmp_path / "trace.parquet"
    trace.save(path)
    before = path.read_bytes()

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        trace.save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["trace.parquet"]


def test_a_file_that_is_no_trace_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="no trace file"):
        Trace.load(tmp_path / "nothing.parquet")
    other = tmp_path / "other.parquet"
    other.write_text("not a table")
    with pytest.raises(InvalidInputError, match="saved by arcbandit"):
        Trace.load(other)


def test_an_unknown_metric_is_named(trace):
    with pytest.raises(InvalidInputError, match="no metric 'joy'"):
        trace.metric("joy")


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ([], "is no table"),
        ({"kind": "trace"}, "must be of version 2, got None"),
        ({"kind": "trace", "version": 2, "rounds": [1]}, "has no field 'policies'"),
        (
            {"kind": "trace", "version": 2, "rounds": [1], "policies": ["olp"], "floors": [], "settings": {}},
            "must be a whole trace, but it is damaged",
        ),
        (
            {"kind": "trace", "version": 2, "rounds": "x", "policies": ["olp"], "floors": [], "settings": {}},
            "must be a whole trace, but it is damaged",
        ),
    ],
)
def test_a_damaged_file_is_refused(header, words, tmp_path):
    """A Parquet file that says it is a trace, but does not hold one."""
    path = tmp_path / "trace.parquet"
    rows = polars.DataFrame({"policy": ["olp"], "epoch": [0], "record": [[1.0]], "floor_record": [[1.0]]})
    rows.write_parquet(path, metadata={"arcbandit": json.dumps(header)})
    with pytest.raises(InvalidInputError, match=words):
        Trace.load(path)


def test_a_folder_that_is_not_there_is_said(trace, tmp_path):
    """By our own error, with the system's reason."""
    with pytest.raises(InvalidInputError, match=r"trace\.parquet: cannot be written \(No such file"):
        trace.save(tmp_path / "missing" / "trace.parquet")
    assert list(tmp_path.iterdir()) == []
