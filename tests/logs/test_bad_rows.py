"""Bad rows are counted and named, and stop the run unless they are to be skipped."""

import math

import polars
import pytest

from arcbandit.errors import InvalidInputError
from arcbandit.logs import read_log

GOOD = {"context": "x", "arm": "a", "reward": 1.0, "probability": 0.5}
BAD = {
    "no arm": [{"arm": None}, {"arm": ""}, {"arm": "  "}, {"arm": None, "reward": math.nan}],
    "no context": [{"context": None}, {"context": "\t"}],
    "a reward that is no finite number": [{"reward": value} for value in (None, math.nan, math.inf, -math.inf, 1e200)],
    "a probability that is not above 0 and at most 1": [
        {"probability": value} for value in (None, math.nan, 0.0, -0.1, 1.0000001, math.inf)
    ],
}


@pytest.fixture
def spoilt():
    """A log of which every tenth row is bad, and the number of rows by problem."""
    rows = []
    for changes in BAD.values():
        for change in changes:
            rows += [dict(GOOD)] * 9 + [GOOD | change]
    return polars.DataFrame(rows, schema_overrides={"reward": polars.Float64, "probability": polars.Float64})


def written(log, kind, folder):
    if kind == "frame":
        return log
    getattr(log, f"write_{kind}")(folder / f"log.{kind}")
    return folder / f"log.{kind}"


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame"])
def test_each_kind_is_counted_and_shown(spoilt, kind, tmp_path):
    found = read_log(written(spoilt, kind, tmp_path), skip_bad_rows=True)
    assert {bad.problem: bad.count for bad in found.bad_rows} == {name: len(rows) for name, rows in BAD.items()}
    assert found.counts.tolist() == [[9 * len(spoilt) // 10]]
    assert found.sums.tolist() == [[9.0 * len(spoilt) // 10]]
    by_problem = {bad.problem: bad for bad in found.bad_rows}
    # Each problem begins with the tenth row of its block, and comes every tenth row.
    first = 10
    for problem, rows in BAD.items():
        shown = [example["row"] for example in by_problem[problem].examples]
        assert shown == [first + 10 * place for place in range(min(len(rows), 3))]
        first += 10 * len(rows)
    assert by_problem["no arm"].to_dict()["examples"][0]["context"] == "x"


def test_they_stop_the_run(spoilt):
    with pytest.raises(InvalidInputError) as refusal:
        read_log(spoilt)
    message = str(refusal.value)
    assert "17 of 170 rows" in message
    for problem, rows in BAD.items():
        assert f"{problem} in {len(rows)} rows, such as row " in message


def test_a_log_of_bad_rows_alone_is_refused(spoilt):
    nothing = spoilt.filter(polars.col("arm").is_null() | polars.col("reward").is_infinite())
    with pytest.raises(InvalidInputError, match="must have at least one row that can be used, got 4 rows"):
        read_log(nothing, skip_bad_rows=True)


def test_text_in_a_csv_that_is_no_number_is_a_bad_row(tmp_path):
    (tmp_path / "log.csv").write_text("context,arm,reward\nx,a,1\nx,a,n/a\nx,a,2.5\nx,a,\n")
    with pytest.raises(InvalidInputError, match=r"2 of 4 rows .* reward that is no finite number in 2 rows.*'n/a'"):
        read_log(tmp_path / "log.csv")
    assert read_log(tmp_path / "log.csv", skip_bad_rows=True).sums.tolist() == [[3.5]]


def test_the_part_of_a_context_that_is_missing_is_named():
    log = polars.DataFrame({"x": ["a", "a"], "y": ["b", None], "arm": [1, 1], "reward": [1, 1]})
    with pytest.raises(InvalidInputError, match=r"no context \(y\) in 1 row"):
        read_log(log, context=["x", "y"])


def test_an_arm_that_has_bad_rows_alone_is_no_arm(tmp_path):
    log = polars.DataFrame({"context": ["x", "y"], "arm": ["a", "b"], "reward": [1.0, math.nan]})
    found = read_log(log, skip_bad_rows=True)
    assert (found.arms, found.contexts) == (("a",), ("x",))
    assert found.bad_rows[0].count == 1
