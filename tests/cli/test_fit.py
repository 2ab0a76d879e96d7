import json

import polars
import pytest

from arcbandit import restore
from arcbandit.cli import main


@pytest.fixture
def log(tmp_path):
    frame = polars.DataFrame(
        {"device": ["tv", "phone"] * 100, "film": ["a", "a", "b", "b"] * 50, "euros": [1.0, 2.0, 3.0, 4.0] * 50}
    )
    frame.write_csv(tmp_path / "log.csv")
    return tmp_path / "log.csv"


COLUMNS = ["--context", "device", "--arm", "film", "--reward", "euros"]


def fitted(log, *more):
    out = log.with_name("policy.json")
    code = main(["fit", str(log), "--out", str(out), *COLUMNS, *more])
    return code, restore(json.loads(out.read_text())) if out.exists() else None


def test_it_writes_a_policy_that_decides(log, capsys):
    code, policy = fitted(log, "--floor", "a=0.25", "--seed", "3")
    assert code == 0
    assert policy.pulls().tolist() == [[50.0, 50.0], [50.0, 50.0]]
    assert policy.contexts == ("phone", "tv")
    assert policy.floors.amounts.tolist() == [0.25, 0.0]
    assert policy.seed == 3
    shown = capsys.readouterr().out
    assert "Learnt from 200 rows: 2 arms, 2 contexts" in shown
    assert "a          100                0.75   0.25" in shown


def test_floors_of_a_file_and_a_document(log, capsys):
    floors = log.with_name("floors.toml")
    floors.write_text(
        '[revenue_floors]\na = 0.2\nb = 0.3\n[[group_floors]]\nname = "all"\narms = ["a", "b"]\nfloor = 1.0\n'
    )
    code, policy = fitted(log, "--floors", str(floors), "--floor", "b=0.5", "--policy", "olp:replan=10", "--json")
    assert code == 0
    assert policy.name == "olp"
    assert policy.floors.amounts.tolist() == [0.2, 0.5, 1.0]
    document = json.loads(capsys.readouterr().out)
    assert document["rows"] == 200
    assert document["arm_revenue"] == [0.75, 1.75]
    assert document["floors"]["floor"] == [0.2, 0.5, 1.0]
    assert document["bad_rows"] == []


def test_bad_rows_stop_it_unless_they_are_skipped(log, capsys):
    with log.open("a") as file:
        file.write("tv,,3.0\n")
    code, policy = fitted(log)
    assert (code, policy) == (2, None)
    assert "no arm in 1 row, such as row 201, device 'tv', film None, euros '3.0'" in capsys.readouterr().err
    code, policy = fitted(log, "--skip-bad-rows")
    assert code == 0
    assert "Left out: no arm in 1 row" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--floor", "a"], "--floor must be given once per arm, as ARM=VALUE, got 'a'."),
        (["--floor", "a=1", "--floor", "a=2"], "--floor must be given once per arm"),
        (["--floor", "a=x"], "--floor of 'a' must be a number, got 'x'."),
        (["--floor", "c=1"], "There is no arm 'c' in the log"),
        (["--floors", "floors.csv"], "--floors must name a .toml or .json file"),
        (["--policy", "blpp"], "There is no policy 'blpp'"),
        (["--table", "log"], "table must be given only with a database"),
        (["--policy", "blp:memory=100"], "cannot learn from totals"),
    ],
)
def test_wrong_options_are_one_sentence(log, more, message, capsys):
    code, policy = fitted(log, *more)
    assert (code, policy) == (2, None)
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_the_file_must_be_json(log, capsys):
    assert main(["fit", str(log), "--out", "policy.txt", *COLUMNS]) == 2
    assert "must end in .json" in capsys.readouterr().err
