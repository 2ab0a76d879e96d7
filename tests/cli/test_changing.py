"""`arcbandit simulate` with late rewards, worlds that change, and policies that forget."""

import json

import pytest

from arcbandit import BLP, Delay, Drift, Window, paper_instance, simulate
from arcbandit.cli import main
from arcbandit.simulation import run

NU = paper_instance("nu")
SHORT = ["--horizon", "300", "--epochs", "2", "--jobs", "1"]
TURNED = NU.mean_rewards[:, ::-1].tolist()


def document_of(*arguments, capsys):
    code = main(["simulate", "nu", *arguments, *SHORT, "--json"])
    printed = capsys.readouterr()
    assert (code, printed.err) == (0, "")
    return json.loads(printed.out)


def regret(document, label):
    return document["summary"][label]["regret_plus_violation"]["mean"]


def expected(policy, **settings):
    trace = simulate(NU, {"it": policy}, 300, 2, jobs=1, **settings)
    return trace.summary()["it"]["regret_plus_violation"].mean


def written(path, text):
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("arguments", "policy", "settings"),
    [
        (["--delay", "20"], BLP(), {"delay": 20}),
        (["--delay", "2e1"], BLP(), {"delay": 20}),
        (["--delay", "geometric:20", "--lost", "0.25"], BLP(), {"delay": Delay(mean=20, lost=0.25)}),
        (["--lost", "0.5"], BLP(), {"delay": Delay(lost=0.5)}),
        (["--memory", "50"], BLP(memory=50), {}),
        (["--memory", "window:90"], BLP(memory=Window(90)), {}),
    ],
    ids=str,
)
def test_it_plays_what_python_does(arguments, policy, settings, capsys):
    document = document_of("--policy", "blp", *arguments, capsys=capsys)
    assert regret(document, "blp") == expected(policy, **settings)


def test_each_policy_may_have_a_memory_of_its_own(capsys):
    own = ["--policy", "blp", "--policy", "blp:memory=50", "--policy", "blp:memory=window:90"]
    document = document_of(*own, "--memory", "30", capsys=capsys)
    assert regret(document, "blp") == expected(BLP(memory=30))
    assert regret(document, "blp:memory=50") == expected(BLP(memory=50))
    assert regret(document, "blp:memory=window:90") == expected(BLP(memory=Window(90)))


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("replan=10", {"replan": 10}),
        ("replan=doubling", {"replan": "doubling"}),
        ("noise_scale=0.5", {"noise_scale": 0.5}),
        ("noise_scale=estimate", {"noise_scale": "estimate"}),
    ],
)
def test_a_policy_may_have_settings_of_its_own(text, settings, capsys):
    document = document_of("--policy", f"blp:{text}", capsys=capsys)
    assert regret(document, f"blp:{text}") == expected(BLP(**settings))


@pytest.mark.parametrize(
    ("text", "words"),
    [("replan=often", "must be a number, got 'often'"), ("sigma=3", "did you mean 'noise_scale'")],
)
def test_settings_that_cannot_be_are_refused(text, words, capsys):
    assert main(["simulate", "nu", "--policy", f"blp:{text}", *SHORT]) == 2
    assert words in capsys.readouterr().err.replace("\n", " ")


def test_a_file_tells_the_changes(tmp_path, capsys):
    """In TOML and in JSON, with the fields of an instance file."""
    changes = [(101, TURNED), (201, {"revenue_floors": [0.5, 0.25, 0.5]})]
    toml = (
        f"[[changes]]\nround = 101\nmean_rewards = {TURNED}\n[[changes]]\nround = 201\nrevenue_floors = [0.5,0.25,0.5]"
    )
    data = {"changes": [{"round": 101, "mean_rewards": TURNED}, {"round": 201, "revenue_floors": [0.5, 0.25, 0.5]}]}
    wanted = expected(BLP(), drift=Drift(changes))
    for file in (written(tmp_path / "it.toml", toml), written(tmp_path / "it.json", json.dumps(data))):
        document = document_of("--policy", "blp", "--drift", file, capsys=capsys)
        assert regret(document, "blp") == wanted
        assert document["settings"]["drift"]["rounds"] == [1, 101, 201]


def test_a_file_tells_a_walk(tmp_path, capsys):
    file = written(tmp_path / "walk.toml", "[wandering]\nstep = 0.5\nevery = 100\nhigh = 12.0\nseed = 3")
    document = document_of("--policy", "blp", "--drift", file, capsys=capsys)
    walk = Drift.wandering(NU, 300, step=0.5, every=100, high=12.0, seed=3)
    assert regret(document, "blp") == expected(BLP(), drift=walk)


def test_the_table_says_what_was_played(tmp_path, capsys):
    file = written(tmp_path / "it.toml", f"[[changes]]\nround = 101\nmean_rewards = {TURNED}")
    late = ["--delay", "geometric:7", "--lost", "0.05"]
    assert main(["simulate", "nu", "--policy", "blp", *late, "--drift", file, *SHORT]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Rewards come 7 rounds late on average, and 5 % of them are lost." in said
    assert "The world changes in round 101; regret is against the best plan of the moment." in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--delay", "soon"], "--delay must be a number of rounds or geometric:mean, got 'soon'."),
        (["--delay", "1.5"], "--delay must be a whole number of rounds, got '1.5'."),
        (["--delay", "-1"], "--delay: rounds of a delay must be a whole number from 0"),
        (["--delay", "geometric:"], "--delay must be a number of rounds or geometric:mean, got 'geometric:'."),
        (["--delay", "geometric:-2"], "--delay: mean of a delay must be non-negative, got -2"),
        (["--delay", "nan"], "--delay must be a number of rounds"),
        (["--lost", "1.01"], "--lost must be a probability from 0 to 1, got 1.01."),
        (["--lost", "nan"], "--lost must be a probability from 0 to 1, got nan."),
        (["--memory", "0"], "--memory must be a half-life of at least 1 round, or window:rounds, got '0'."),
        (["--memory", "inf"], "--memory must be a number of rounds or window:rounds, got 'inf'."),
        (["--memory", "window:0"], "--memory: rounds of a Window must be a whole number from 1"),
        (["--memory", "windows:5"], "--memory must be a number of rounds or window:rounds, got 'windows:5'."),
        (["--memory", "5", "--policy", "doc"], "--memory must not be given with policy doc, which does not plan."),
        (["--policy", "blp:memory=long"], "Dial memory of policy blp must be a number of rounds"),
        (["--drift", "changes.csv"], "--drift must name a .toml or .json file, got 'changes.csv'."),
        (["--drift", "nowhere.toml"], "--drift: nowhere.toml: no such file."),
    ],
)
def test_an_error_names_the_flag(arguments, said, capsys, monkeypatch):
    monkeypatch.setattr(run, "simulate", lambda *_, **__: pytest.fail("nothing should be played"))
    assert main(["simulate", "nu", *arguments]) == 2
    assert capsys.readouterr().err.startswith(said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("round = 5", "must hold either a list `changes` or a table `wandering`"),
        ("changes = 5", "changes must be a list of tables"),
        ("changes = []", "changes must be a list of tables"),
        ("[[changes]]\nrevenue_floors = [0, 0, 0]", "changes[0] must have a round, got revenue_floors."),
        ("[[changes]]\nround = 1", "round of changes[0] must be a whole number from 2"),
        ("[[changes]]\nround = 5\nmeans = [1]", "drift can change mean_rewards"),
        ("[[changes]]\nround = 999\nrevenue_floors = [0, 0, 0]", "drift must change within the horizon 300"),
        ("[[changes]]\nround = 5\nrevenue_floors = [0]", "The world of round 5 of the drift"),
        ("[wandering]\nstep = 1.0", "wandering must be a table with step and every"),
        ("[wandering]\nstep = 1.0\nevery = 5\nhig = 3.0", "wandering has no field 'hig' (did you mean 'high'?)"),
        ("[wandering]\nstep = -1.0\nevery = 5", "step must be non-negative"),
        ("= 3", "is not valid TOML"),
    ],
)
def test_an_error_in_the_file_names_the_flag_and_the_file(text, said, tmp_path, capsys):
    file = written(tmp_path / "drift.toml", text)
    assert main(["simulate", "nu", "--drift", file, *SHORT]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"--drift: {file}: ")
    assert said in error
