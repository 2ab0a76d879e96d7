"""The record of a simulation."""

import json

import numpy as np
import polars
import pytest

from arcbandit import Trace, paper_instance, simulate
from arcbandit.errors import InvalidInputError
from arcbandit.simulation.metrics import metric_names


@pytest.fixture(scope="module")
def trace():
    return simulate(paper_instance("nu"), ["olp", "spoc"], horizon=200, epochs=3, checkpoints=10, window=20)


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


WHOLE_HEADER = {
    "kind": "trace",
    "rounds": [1],
    "policies": ["olp"],
    "floors": [],
    "settings": {"epochs": 1},
    "metrics": ["regret", "violation"],
}


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ([], "is not a table"),
        ({"kind": "trace"}, "must be of version 2 or 3, got None"),
        ({"kind": "trace", "version": 2, "rounds": [1]}, "has no field 'policies'"),
        (WHOLE_HEADER | {"version": 2}, "must be a complete trace, but it is damaged"),
        (WHOLE_HEADER | {"version": 2, "rounds": "x"}, "must be a complete trace, but it is damaged"),
        # The column of violation is not there, or that of regret is too short or too long.
        (WHOLE_HEADER | {"version": 3}, "must be a complete trace, but it is damaged: .*violation"),
        (
            WHOLE_HEADER | {"version": 3, "metrics": ["regret"], "rounds": []},
            "must be a complete trace, but it is damaged",
        ),
        (WHOLE_HEADER | {"version": 3, "metrics": ["regret"], "rounds": [1, 2]}, "must be a complete trace"),
        (WHOLE_HEADER | {"version": 3, "metrics": ["regret"], "policies": ["oplp"]}, "does not have every epoch"),
        (WHOLE_HEADER | {"version": 3, "metrics": ["regret"], "settings": {"epochs": 2}}, "does not have every epoch"),
        (WHOLE_HEADER | {"version": 3, "metrics": 7}, "must be a complete trace, but it is damaged"),
        (WHOLE_HEADER | {"version": 4}, "must be of version 2 or 3, got 4"),
    ],
)
def test_a_damaged_file_is_refused(header, words, tmp_path):
    """A Parquet file that says it is a trace, but does not hold one."""
    path = tmp_path / "trace.parquet"
    columns = {"policy": ["olp"], "epoch": [0], "record": [[1.0]], "floor_record": [[1.0]], "regret": [[1.0]]}
    polars.DataFrame(columns).write_parquet(path, metadata={"arcbandit": json.dumps(header)})
    with pytest.raises(InvalidInputError, match=words):
        Trace.load(path)


def test_a_folder_that_is_not_there_is_said(trace, tmp_path):
    """By our own error, with the system's reason."""
    with pytest.raises(InvalidInputError, match=r"trace\.parquet: cannot be written \(No such file"):
        trace.save(tmp_path / "missing" / "trace.parquet")
    assert list(tmp_path.iterdir()) == []
