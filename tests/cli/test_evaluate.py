import json

import numpy as np
import polars
import pytest

from arcbandit import Instance
from arcbandit.cli import main

pytestmark = pytest.mark.filterwarnings("ignore::arcbandit.errors.FloorsOutOfReachWarning")


@pytest.fixture
def log(tmp_path):
    random = np.random.default_rng(1)
    contexts, arms = random.choice(["phone", "tv"], size=400), random.choice(["a", "b"], size=400)
    rewards = (arms == "a") * 0.5 + 0.1 * random.normal(size=400)
    frame = polars.DataFrame({"context": contexts, "arm": arms, "reward": rewards, "probability": np.full(400, 0.5)})
    frame.write_csv(tmp_path / "log.csv")
    return tmp_path / "log.csv"


def asked(log, *arguments):
    return main(["evaluate", str(log), "--policy", *map(str, arguments)])


def test_uniform(log, capsys):
    assert asked(log, "uniform") == 0
    shown = capsys.readouterr().out
    for text in (
        "400 rows, worth 400 of equal weight; largest weight 1, mean weight 1",
        "dm ",
        "ips ",
        "snips ",
        "dr ",
    ):
        assert text in shown
    assert "bootstrap" not in shown


def test_a_document(log, capsys):
    assert asked(log, "uniform", "--json", "--bootstrap", "50", "--confidence", "0.9") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["confidence"] == 0.9
    estimate = document["estimates"]["dr"]
    assert estimate["bootstrap_interval"][0] < estimate["value"] < estimate["bootstrap_interval"][1]
    assert document["unsupported_pairs"] == []


def test_the_file_of_a_plan(log, capsys):
    instance = Instance([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0], [0.5, 0.5], arms=["a", "c"], contexts=["tv", "phone"])
    instance.save(log.with_name("instance.toml"))
    assert main(["plan", str(log.with_name("instance.toml")), "--json"]) == 0
    file = log.with_name("plan.json")
    file.write_text(capsys.readouterr().out)
    assert asked(log, file) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "of the rounds would go to pairs that were never logged: c in phone." in shown
    assert "dm – – ips" in shown


@pytest.mark.slow
def test_a_policy_that_was_fitted_learns_on_or_is_frozen(log, capsys):
    file = log.with_name("policy.json")
    assert main(["fit", str(log), "--out", str(file), "--floor", "b=-0"]) == 0
    capsys.readouterr()
    assert asked(log, file, "--rounds", "100") == 0
    assert "100 rounds from 400 rows, until it was to play no more." in capsys.readouterr().out
    assert asked(log, file, "--frozen", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["plan"].endswith("frozen")
    assert document["shares"] == [[1.0, 1.0], [0.0, 0.0]]


@pytest.mark.slow
def test_a_policy_that_knows_nothing_yet(log, capsys):
    assert asked(log, "blp:noise_scale=0.1", "--floor", "b=0.01", "--rounds", "150", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["rounds"] == 150
    assert document["policy"].startswith("blp")
    assert document["value"] == pytest.approx(0.47, abs=0.05)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.json"], "nowhere.json: no such file."),
        (["unifrom"], "There is no policy 'unifrom'"),
        (["uniform", "--frozen"], "--frozen must be given only with the file of a policy"),
        (["uniform", "--floor", "a=1"], "--floor, --floors, --rounds and --horizon are for policies that learn."),
        (["blp", "--bootstrap", "10"], "--infer-probabilities and --bootstrap are for plans"),
        (["uniform", "--confidence", "95"], "confidence must be a number between 0 and 1, got 95.0."),
        (["uniform", "--arm", "film"], "The log has no column 'film' for arm"),
    ],
)
def test_wrong_options_are_one_sentence(log, arguments, message, capsys, monkeypatch):
    monkeypatch.chdir(log.parent)
    assert asked(log, *arguments) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not valid JSON"),
        ("[]", "must hold a plan or a policy"),
        ("{}", "must hold a plan or a policy"),
        ('{"allocation": [[1.0]]}', "a plan must have the field arms"),
        ('{"policy": "blp"}', "snapshot"),
    ],
)
def test_files_that_hold_something_else(log, content, message, capsys):
    file = log.with_name("other.json")
    file.write_text(content)
    assert asked(log, file) == 2
    assert message in capsys.readouterr().err


def test_a_log_without_probabilities_is_refused(log, capsys):
    polars.read_csv(log).drop("probability").write_csv(log)
    assert asked(log, "uniform") == 2
    assert "has no column `probability`" in capsys.readouterr().err
    assert asked(log, "uniform", "--infer-probabilities") == 0
    assert "Probabilities are the shares of arms in each context" in capsys.readouterr().out
