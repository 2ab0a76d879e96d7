"""A decision id that appears more than once is a bad row; which row of it stays does not depend on where they lie."""

import math

import duckdb
import polars
import psycopg
import pytest

from arcbandit import evaluate, replay
from arcbandit.cli import main
from arcbandit.errors import InvalidInputError
from arcbandit.logs import read_log
from tests.logs.conftest import made_log

PROBLEM = "a decision id that appears more than once"
ROW = {"context": "x", "arm": "a", "reward": 1.0, "probability": 0.5}


def rows(*given, times=True):
    """A log whose rows are told by their id, their time and what else differs."""
    log = polars.DataFrame(
        [ROW | {"decision_id": number, "timestamp": time} | others for number, time, others in given],
        schema_overrides={"reward": polars.Float64, "timestamp": polars.Int64},
    )
    return log if times else log.drop("timestamp")


COPIED = rows((1, 5, {}), (2, 6, {"reward": 4.0}), (1, 5, {}), (1, 5, {}))
LATER = rows((1, 7, {"reward": 16.0}), (1, 5, {"reward": 1.0}), (2, 6, {"reward": 4.0}), (1, 10, {"reward": 64.0}))
CONTRADICTING = rows((1, 5, {"reward": 2.0}), (2, 6, {"reward": 4.0}), (1, 5, {"reward": 1.0}), (1, 9, {}))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("log", "left_out", "total"),
    [
        (COPIED, 2, 5.0),  # one copy stays
        (LATER, 2, 5.0),  # the earliest stays
        (CONTRADICTING, 3, 4.0),  # two at the same time that differ: none stays, nor does what came after
        (LATER.drop("timestamp"), 3, 4.0),  # without times nobody knows which was first
        (COPIED.drop("timestamp"), 2, 5.0),
    ],
)
def test_one_row_of_each_id_stays_in_whatever_order_they_lie(log, left_out, total):
    with pytest.raises(InvalidInputError, match=rf"{left_out} of 4 rows .*{PROBLEM} in {left_out} rows"):
        read_log(log)
    for one in (log, log.reverse()):
        found = read_log(one, skip_bad_rows=True)
        assert [(bad.problem, bad.count) for bad in found.bad_rows] == [(PROBLEM, left_out)]
        assert found.sums.tolist() == [[total]]
        assert found.counts.tolist() == [[4 - left_out]]


ALL = polars.concat(
    [
        log.with_columns(decision_id=polars.col("decision_id") + 10 * place)
        for place, log in enumerate((COPIED, LATER, CONTRADICTING))
    ]
)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "parquet", "duckdb", "pandas"])
def test_the_same_rows_stay_wherever_the_log_lies(kind, tmp_path):
    source = tmp_path / f"log.{kind}"
    if kind == "duckdb":
        with duckdb.connect(str(source)) as connection:
            connection.register("frame", ALL.to_arrow())
            connection.execute("CREATE TABLE decisions AS SELECT * FROM frame")
    elif kind == "pandas":
        source = ALL.to_pandas()
    else:
        getattr(ALL, f"write_{kind}")(source)
    found = read_log(source, skip_bad_rows=True)
    assert [(bad.problem, bad.count) for bad in found.bad_rows] == [(PROBLEM, 7)]
    assert found.sums.tolist() == [[14.0]]
    assert found.counts.tolist() == [[5]]


def test_rows_that_are_bad_anyway_compete_with_nobody():
    log = rows((1, 5, {"reward": None}), (1, 6, {}), (2, 5, {"arm": " "}), (2, 6, {}), (3, 1, {"probability": 2.0}))
    found = read_log(log, skip_bad_rows=True)
    assert found.counts.tolist() == [[2]]
    assert {bad.problem: bad.count for bad in found.bad_rows} == {
        "a reward that is no finite number": 1,
        "no arm": 1,
        "a probability that is not above 0 and at most 1": 1,
    }


@pytest.mark.slow
def test_rows_without_an_id_do_not_repeat_each_other():
    assert read_log(rows((None, 1, {}), (None, 1, {}), (7, 1, {}))).rows == 3
    assert read_log(rows(("", 1, {}), (" ", 1, {}), ("7", 1, {}))).rows == 3
    assert read_log(rows((math.nan, 1, {}), (math.nan, 1, {}), (7.0, 1, {}))).rows == 3
    assert read_log(rows((None, 1, {}), (None, 1, {}), (7, 1, {}), (7, 1, {})), skip_bad_rows=True).rows == 3


def test_a_row_whose_time_is_missing_is_the_later_one():
    log = rows((1, None, {"reward": 9.0}), (1, 5, {"reward": 1.0}), (1, None, {"reward": 7.0}))
    assert read_log(log, skip_bad_rows=True).sums.tolist() == [[1.0]]


def test_ids_of_any_name_are_compared():
    log = COPIED.rename({"decision_id": "session"})
    assert read_log(log).rows == 4
    with pytest.raises(InvalidInputError, match=r"such as row 3, .*session 1"):
        read_log(log, decision_id="session")


@pytest.mark.slow
def test_estimates_and_replays_leave_them_out_too():
    log = made_log(400)
    doubled = polars.concat([log, log[::3]])
    for read in (lambda log, **how: evaluate(log, "uniform", bootstrap=20, **how),
                 lambda log, **how: replay(log, "olp", rounds=100, **how)):  # fmt: skip
        with pytest.raises(InvalidInputError, match=PROBLEM):
            read(doubled)
        found, wanted = read(doubled, skip_bad_rows=True), read(log)
        assert found.bad_rows[0].count == 134
        assert found.value == pytest.approx(wanted.value, rel=1e-12)
    assert found.learner.snapshot() == wanted.learner.snapshot()


@pytest.mark.slow
def test_in_postgresql(postgres):
    with psycopg.connect(postgres) as connection:
        connection.execute(
            "CREATE TABLE repeated (context text, arm text, reward double precision, probability double precision, "
            "decision_id bigint, timestamp bigint)"
        )
        with connection.cursor().copy("COPY repeated FROM STDIN") as copy:
            for row in ALL.rows():
                copy.write_row(row)
    found = read_log(postgres, table="repeated", skip_bad_rows=True)
    assert found.sums.tolist() == [[14.0]]
    assert found.counts.tolist() == [[5]]
    with pytest.raises(InvalidInputError, match=rf"7 of 12 rows .*{PROBLEM} in 7 rows, such as context"):
        read_log(postgres, table="repeated")


@pytest.mark.slow
def test_on_the_command_line(tmp_path, capsys):
    polars.concat([made_log(200), made_log(200)[:5]]).write_csv(tmp_path / "log.csv")
    assert main(["fit", str(tmp_path / "log.csv"), "--out", str(tmp_path / "policy.json")]) == 2
    assert PROBLEM in " ".join(capsys.readouterr().err.split())
    assert main(["fit", str(tmp_path / "log.csv"), "--out", str(tmp_path / "policy.json"), "--skip-bad-rows"]) == 0
    assert f"Left out: {PROBLEM} in 5 rows" in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
@pytest.mark.parametrize(
    "ids",
    [
        [5, 6, 7, 7],
        ["5", "6", "7", "7"],
        [-3, 2**40, 0, 2**40],
        [2**63, 2**64 - 1, 1, 2**63],
        ["a", "b", "c", "b"],
        ["1", "2", "x", "x"],
        [0.5, 1.5, 2.5, 0.5],
        ["7", "007", "7.0", "7"],
    ],
    ids=str,
)
def test_ids_of_every_kind_are_told_apart(ids, tmp_path):
    """The quick look at whole numbers, and the thorough one, find one repetition and no more."""
    log = COPIED.with_columns(decision_id=polars.Series(ids, dtype=polars.UInt64 if 2**63 in ids else None))
    with pytest.raises(InvalidInputError, match=r"1 of 4 rows|2 of 4 rows"):
        read_log(log)
    assert read_log(log[:3]).rows == 3
    log[:3].write_csv(tmp_path / "log.csv")
    assert read_log(tmp_path / "log.csv").rows == 3


def test_a_quick_look_is_enough_for_a_counter(monkeypatch):
    """Grouping by a hundred million ids would take gigabytes."""

    def refused(*_):
        raise AssertionError("grouped")

    monkeypatch.setattr("arcbandit.logs.aggregation.repeated_ids", refused)
    assert read_log(made_log(500)).rows == 500
    with pytest.raises(AssertionError, match="grouped"):
        read_log(COPIED)
