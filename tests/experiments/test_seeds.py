"""How often claims hold over seeds, counted and kept."""

import json

import pytest

from arcbandit.errors import InvalidInputError, UnknownNameError
from arcbandit.experiments import seeds
from arcbandit.experiments.reproduce import EXPERIMENTS


def test_counts_are_of_both_statements():
    """One that a claim does not make has none, and one that never held has 0."""
    outcomes = [{"a/one": (True, None), "a/two": (False, True)}, {"a/one": (True, None), "a/two": (False, False)}]
    assert seeds.counted(outcomes) == {"a/one": {"paper": 2, "ours": None}, "a/two": {"paper": 0, "ours": 1}}
    kept = seeds.document(["a"], outcomes, 7, "the command")
    assert kept["experiments"] == {"a": 2}
    assert kept["first_seed"] == 7
    assert kept["command"] == "the command"
    assert [line.split() for line in seeds.table(kept).splitlines()] == [
        ["a/one", "paper", "2", "of", "2"],
        ["a/two", "paper", "0", "of", "2,", "ours", "1", "of", "2"],
    ]


@pytest.mark.slow
def test_the_command_keeps_what_it_counts(tmp_path, capsys):
    """Every claim of the experiments asked for, over all seeds."""
    file = tmp_path / "seeds.json"
    seeds.main(["figure-1", "no-free-exploration", "--seeds", "2", "--out", str(file)])
    kept = json.loads(file.read_text(encoding="utf-8"))
    assert (
        kept["command"]
        == "python -m arcbandit.experiments.seeds --seeds 2 --first-seed 1000 figure-1 no-free-exploration"
    )
    assert kept["experiments"] == {"figure-1": 2, "no-free-exploration": 2}
    named = {f"{name}/{claim.name}" for name in kept["experiments"] for claim in EXPERIMENTS[name].claims}
    assert set(kept["claims"]) == named
    assert kept["claims"]["figure-1/regimes"] == {"paper": 0, "ours": 2}
    assert "figure-1/regimes" in capsys.readouterr().out


def test_bad_input_is_refused_before_any_work(tmp_path):
    with pytest.raises(InvalidInputError, match="seeds"):
        seeds.main(["--seeds", "0"])
    with pytest.raises(InvalidInputError, match="first-seed"):
        seeds.main(["--first-seed", "-1"])
    with pytest.raises(UnknownNameError, match="moon"):
        seeds.main(["moon", "--out", str(tmp_path / "none.json")])


def test_what_is_kept_is_about_claims_that_there_are():
    """A claim that was renamed since would be told nothing of."""
    kept = json.loads(seeds.FILE.read_text(encoding="utf-8"))
    named = {f"{name}/{claim.name}" for name, one in EXPERIMENTS.items() for claim in one.claims}
    assert set(kept["claims"]) == named
    assert set(kept["experiments"].values()) == {seeds.SEEDS}
    assert kept["command"].startswith("python -m arcbandit.experiments.seeds")
