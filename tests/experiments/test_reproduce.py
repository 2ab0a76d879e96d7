"""Every experiment at reduced size, and the command.

That each claim can be contradicted is tested in test_claims.py. How often it holds at the default settings is counted
by `make claims`; here only those that take no time are held to it.
"""

import dataclasses
import html
import json
import math
import re
import subprocess
import sys
from functools import cache

import numpy as np
import pytest

from arcbandit.cli import main
from arcbandit.errors import InvalidInputError, UnknownNameError
from arcbandit.experiments import reproduce as reproduction
from arcbandit.experiments.experiment import Claim, Group, Measured, Statement
from arcbandit.experiments.growth import fitted_exponent, late_exponent
from arcbandit.experiments.reproduce import EXPERIMENTS, reproduce, save
from arcbandit.report.charts import Chart, alt_text
from arcbandit.report.figures import sheet_files
from arcbandit.simulation.metrics import Total

SMALL = {
    "regret": (400, 2),
    "many-epochs": (400, 20),
    "nonsaturating": (50, 2),
    "margin": (500, 2),
    "lower-bound": (400, 2),
    "greedy": (100, 1),
    "figure-1": (1, 1),
    "no-free-exploration": (1, 1),
    "audit": (200, 2),
    "unknown-contexts": (400, 2),
    "one-context": (400, 4),
    "stuck-runs": (100, 20),
    "between": (400, 2),
    "margin-families": (100, 2),
    "group-floors": (400, 4),
    "linear-bandit": (400, 2),
    "infeasible-floors": (400, 2),
}


@cache
def small(name):
    """The result of an experiment at reduced size."""
    horizon, epochs = SMALL[name]
    return reproduce([name], horizon=horizon, epochs=epochs, seed=1).results[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_has_a_verdict_a_figure_and_words_for_it(name, cases):
    """Whatever the size: each claim a verdict with a number, each chart an alternative text.

    The short version makes the files of every third sheet; test_page_in_browser.py draws the charts of all.
    """
    result = small(name)
    assert [verdict.claim for verdict in result.verdicts] == list(EXPERIMENTS[name].claims)
    for verdict in result.verdicts:
        measured = [one for one in (verdict.paper, verdict.ours) if one is not None]
        assert measured
        assert all(one.number for one in measured)
        assert verdict.claim.sentence.endswith(".")
    assert result.figure.charts
    assert all(len(alt_text(chart)) > 40 for chart in result.figure.charts)
    if list(EXPERIMENTS).index(name) % cases(3, 1) == 0:
        files = sheet_files(result.figure, (".png", ".pdf"))
        assert files[".png"].startswith(b"\x89PNG")
        assert files[".pdf"].startswith(b"%PDF")


def test_names_are_unique():
    """A verdict is found by its name."""
    names = [f"{name}/{claim.name}" for name, experiment in EXPERIMENTS.items() for claim in experiment.claims]
    assert len(names) == len(set(names))
    assert len(EXPERIMENTS) == 17


@pytest.mark.parametrize("name", ["figure-1", "no-free-exploration"])
def test_claims_hold_at_the_default_settings(name):
    """Those that take no time."""
    found = reproduce([name])
    assert found.own_settings
    assert not found.failures


def _numbers(verdicts):
    return [(verdict.paper, verdict.ours) for verdict in verdicts]


@pytest.mark.slow
def test_the_number_of_workers_changes_nothing():
    """Nor does running an experiment beside others."""
    alone = reproduce(["margin"], horizon=300, epochs=2, jobs=1)
    beside = reproduce(["figure-1", "margin"], horizon=300, epochs=2, jobs=2)
    assert _numbers(alone.verdicts) == _numbers(beside.results[1].verdicts)
    other = reproduce(["margin"], horizon=300, epochs=2, seed=5)
    assert _numbers(alone.verdicts) != _numbers(other.verdicts)


def test_progress_says_what_is_running_and_ends():
    """Shares never fall, and the last is 1."""
    seen = []
    reproduce(
        ["nonsaturating", "figure-1"], horizon=20, epochs=2, progress=lambda name, share: seen.append((name, share))
    )
    shares = [share for _, share in seen]
    assert {name for name, _ in seen} == {"compiling, 1 of 1", "nonsaturating", "figure-1"}
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)


NOTHING_LATER = """
import sys
from arcbandit.compilation import compile
from arcbandit.experiments import reproduce as module

def entries():
    return len(compile.compiled_here) + len(compile.loaded_here)

before = []
prepared = module._compile

def counted(*arguments):
    seconds = prepared(*arguments)
    before.append(entries())
    return seconds

module._compile = counted
found = module.reproduce(horizon=40, epochs=2, jobs=2)
print(before[0] > 10, entries() - before[0], found.compiling > 0)
"""


@pytest.mark.system
def test_all_is_compiled_before_the_first_experiment_is_timed():
    """Of every experiment: what they play later needs no code that was not there, in a process that had none."""
    arguments = [sys.executable, "-W", "ignore", "-c", NOTHING_LATER]
    told = subprocess.run(arguments, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    assert told.stdout.split() == ["True", "0", "True"]


@pytest.mark.parametrize(
    ("after", "words"),
    [
        ({}, "played in 80 s, not counting 7 s of compiling"),
        ({"drawn_after": 83.4}, "played in 80 s, drawn after 83 s, not counting 7 s of compiling"),
        (
            {"drawn_after": 83.4, "page_after": 84.2},
            "played in 80 s, page complete after 84 s, not counting 7 s of compiling",
        ),
        ({"device": "A GPU"}, "played in 80 s, not counting 7 s of compiling for the CPU"),
    ],
)
def test_the_time_says_what_it_counts(after, words):
    """Playing, drawing as far as there was any, and compiling by itself."""
    played = reproduction.Result(EXPERIMENTS["figure-1"], None, (), 80.0)
    assert reproduction.Reproduction((played,), 0, True, compiling=7.0, **after).time == words


@pytest.mark.slow
def test_growth_is_measured_on_known_powers():
    """A power of the rounds has its own exponent."""
    trace = small("regret").recorded.traces["nu"]
    record = trace.records["OLP"].copy()
    record[:, Total.REGRET] = np.sqrt(trace.rounds)
    root = dataclasses.replace(trace, records=trace.records | {"OLP": record})
    assert late_exponent(root, "regret", "OLP").mean == pytest.approx(0.5)
    fitted = fitted_exponent([1, 2, 4, 8], [3, 12, 48, 192])
    assert (fitted.mean, fitted.half_width) == (pytest.approx(2.0), pytest.approx(0.0, abs=1e-9))
    assert math.isnan(fitted_exponent([1, 2], [0, 1]).mean)


def test_bad_input_is_refused(tmp_path):
    """Before any work."""
    with pytest.raises(UnknownNameError, match=r"no experiment 'regrets' \(did you mean 'regret'\?\); known are"):
        reproduce(["regrets"])
    for setting in ({"epochs": 0}, {"horizon": 0}, {"jobs": 0}, {"many": 0}, {"seed": -1}):
        with pytest.raises(InvalidInputError, match=next(iter(setting))):
            reproduce(["figure-1"], **setting)
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    with pytest.raises(InvalidInputError, match="must be a folder"):
        reproduction.check_folder(file)


class TestCommand:
    @pytest.mark.slow
    def test_writes_a_page_and_figures_and_prints_the_verdicts(self, tmp_path, capsys):
        """The last line is the path of the page."""
        assert main(["reproduce", "figure-1", "--out", str(tmp_path / "out")]) == 0
        printed = capsys.readouterr().out
        page = tmp_path / "out" / "index.html"
        assert printed.splitlines()[-1] == str(page)
        sentences = [claim.sentence for claim in EXPERIMENTS["figure-1"].claims]
        assert all(sentence[:30] in " ".join(printed.split()) for sentence in sentences)
        results = {"results.json", "results.txt", "results.tex"}
        assert {path.name for path in page.parent.iterdir()} == {"index.html", "figures", *results}
        text = page.read_text(encoding="utf-8")
        # The one address is that of the paper, which nothing is loaded from.
        assert re.findall(r"https?://[^\"]+", text) == ["https://arxiv.org/abs/2510.12523"]
        result = reproduce(["figure-1"]).results[0]
        charts = len(result.figure.charts)
        answers = len(EXPERIMENTS["figure-1"].highlights(result.recorded))
        # In the opening, in the answer and in the section.
        assert text.count("<img alt=") == min(charts, 2) + answers + charts
        columns = {
            f"figure-1-{place}-{column}.pdf" for place in range(1, charts + 1) for column in ("single", "double")
        }
        assert {path.name for path in (page.parent / "figures").iterdir()} == columns

    @pytest.mark.slow
    def test_prints_one_document(self, tmp_path, capsys):
        """With --json."""
        arguments = ["reproduce", "nonsaturating", "--epochs", "2", "--horizon", "30", "--seed", "3", "--jobs", "1"]
        code = main([*arguments, "--json", "--out", str(tmp_path)])
        document = json.loads(capsys.readouterr().out)
        assert code == (1 if document["failures"] else 0)
        assert document["seed"] == 3
        assert document["experiments"][0]["horizon"] == 30
        assert document["experiments"][0]["epochs"] == 2
        assert len(document["verdicts"]) == len(EXPERIMENTS["nonsaturating"].claims)
        assert document["device"] == "cpu"
        # The page is complete after the last round, and compiling comes before the first.
        assert document["seconds_until_page"] >= document["seconds"] > 0
        assert document["seconds_of_compiling"] > 0
        assert document["many_epochs"] is None
        for verdict in document["verdicts"]:
            assert verdict["group"] in set(Group)
            assert verdict["paper"] or verdict["ours"]

    @pytest.mark.slow
    def test_a_quick_look_says_so_and_fails_nothing(self, tmp_path, capsys, monkeypatch):
        """A page without files at print size; claims may come out otherwise, and the exit code is 0."""
        wrong = Claim("moon", "The moon is cheese.", ours=_said(False))
        changed = dataclasses.replace(EXPERIMENTS["nonsaturating"], claims=(wrong,))
        monkeypatch.setitem(EXPERIMENTS, "nonsaturating", changed)
        assert main(["reproduce", "nonsaturating", "figure-1", "--quick", "--out", str(tmp_path)]) == 0
        printed = " ".join(capsys.readouterr().out.split())
        text = (tmp_path / "index.html").read_text(encoding="utf-8")
        for shown in (printed, html.unescape(text)):
            assert "A quick look" in shown
            assert "The claims' tolerances are meant for each experiment's own horizon and epochs" in shown
            assert "Those of figure-1 do: they play no rounds." in shown
        assert not (tmp_path / "figures").exists()
        assert json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["banner"].startswith("A quick look")

    def test_a_quick_look_is_a_tenth_of_rounds_and_epochs(self):
        """Except where they are given, and not fewer than a look needs."""
        found = reproduce(["nonsaturating"], quick=True, epochs=1).results[0].recorded.settings
        own = EXPERIMENTS["nonsaturating"]
        assert found.horizon == max(own.horizon // 10, min(own.horizon, 1000))
        assert found.epochs == 1

    def test_lists_the_experiments(self, capsys):
        """As a table, and as a document."""
        assert main(["reproduce", "--list"]) == 0
        printed = capsys.readouterr().out
        assert all(name in printed for name in EXPERIMENTS)
        assert main(["reproduce", "--list", "--json"]) == 0
        assert [one["name"] for one in json.loads(capsys.readouterr().out)["experiments"]] == list(EXPERIMENTS)

    @pytest.mark.slow
    def test_a_claim_that_fails_is_named_and_is_the_exit_code(self, tmp_path, capsys, monkeypatch):
        """And the page still shows it."""
        wrong = Claim("moon", "The moon is cheese.", ours=_said(False))
        changed = dataclasses.replace(EXPERIMENTS["figure-1"], claims=(*EXPERIMENTS["figure-1"].claims, wrong))
        monkeypatch.setitem(EXPERIMENTS, "figure-1", changed)
        assert main(["reproduce", "figure-1", "--out", str(tmp_path)]) == 1
        captured = capsys.readouterr()
        assert captured.err.strip() == "1 claim fails: figure-1/moon."
        assert "rock" in captured.out
        text = (tmp_path / "index.html").read_text(encoding="utf-8")
        assert 'data-claim="figure-1/moon" data-group="beyond the paper" data-failed="true"' in text

    @pytest.mark.parametrize("arguments", [["moon"], ["figure-1", "--epochs", "0"], ["figure-1", "--seed", "-1"]])
    def test_refuses_bad_input(self, arguments, tmp_path, capsys):
        """With exit code 2 and one sentence."""
        assert main(["reproduce", *arguments, "--out", str(tmp_path)]) == 2
        assert len(capsys.readouterr().err.strip().splitlines()) == 1

    @pytest.mark.parametrize(
        ("missing", "said"),
        [
            ("importlib.util.find_spec", "--device cuda is not available: numba-cuda is not installed"),
            ("arcbandit.simulation.device.device_available", "needs an NVIDIA GPU"),
        ],
        ids=["extra", "gpu"],
    )
    def test_a_device_that_is_missing_is_one_sentence_before_any_work(
        self, missing, said, tmp_path, capsys, monkeypatch
    ):
        """Exit code 2, as of `arcbandit simulate`, and no folder."""
        monkeypatch.setattr(missing, lambda *_: None)
        assert main(["reproduce", "figure-1", "--device", "cuda", "--out", str(tmp_path / "out")]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.count("\n") == 1
        assert said in printed.err
        assert "arcbandit[cuda]" in printed.err
        assert not (tmp_path / "out").exists()

    @pytest.mark.slow
    def test_auto_is_the_cpu_where_there_is_no_gpu(self, tmp_path, capsys, monkeypatch):
        monkeypatch.setattr("arcbandit.simulation.device.device_available", lambda: False)
        arguments = ["regret", "--horizon", "30", "--epochs", "1", "--device", "auto", "--json"]
        main(["reproduce", *arguments, "--out", str(tmp_path)])
        document = json.loads(capsys.readouterr().out)
        assert (document["device"], document["many_epochs"]) == ("cpu", None)


def _said(passed, number="rock"):
    return Statement("It is cheese.", "A bite of it.", lambda recorded: Measured(passed, number))


@pytest.mark.parametrize(
    ("paper", "ours", "is_slip", "group", "failed"),
    [
        (True, None, False, Group.REPRODUCED, False),
        (True, False, False, Group.REPRODUCED, True),
        (False, True, False, Group.NOT_REPRODUCED, False),
        (False, True, True, Group.SLIP, False),
        (False, None, False, Group.NOT_REPRODUCED, True),
        (None, True, False, Group.BEYOND, False),
        (None, False, False, Group.BEYOND, True),
    ],
)
def test_where_a_claim_stands_is_measured(paper, ours, is_slip, group, failed):
    """By the paper's statement and ours, each by itself."""
    stated = [None if passed is None else _said(passed) for passed in (paper, ours)]
    claim = Claim("moon", "The moon is cheese.", *stated, is_slip=is_slip)
    changed = dataclasses.replace(EXPERIMENTS["figure-1"], claims=(claim,))
    (verdict,) = changed.verdicts(None)  # these statements look at nothing
    assert (verdict.group, verdict.failed) == (group, failed)


def _charts(name):
    result = reproduce([name]).results[0]
    assert all(isinstance(chart, Chart) for chart in result.figure.charts)
    return result.figure.charts


@pytest.mark.slow
def test_saving_writes_whole_files(tmp_path):
    """A page of several experiments names each claim once."""
    found = reproduction.Reproduction((small("figure-1"), small("no-free-exploration")), 1, False)
    text = save(found, tmp_path).read_text(encoding="utf-8")
    for verdict in found.verdicts:
        assert text.count(f'data-claim="{verdict.name}"') == 1
    assert "Horizon or epochs were changed" in text
    document = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    shown = {f"{one['name']}/{claim['name']}": claim for one in document["experiments"] for claim in one["claims"]}
    assert sorted(shown) == sorted(verdict.name for verdict in found.verdicts)
    tables = [table for result in found.results for table in result.tables]
    plain = (tmp_path / "results.txt").read_text(encoding="utf-8")
    latex = (tmp_path / "results.tex").read_text(encoding="utf-8")
    for verdict in found.verdicts:
        for who, measured in (("paper", verdict.paper), ("ours", verdict.ours)):
            assert (shown[verdict.name][who] or {}).get("number") == (measured and measured.number)
        assert f"[{verdict.group.value}]" in plain
    assert all(cell in plain for table in tables for row in table.rows for cell in row)
    assert latex.count("\\begin{tabular}") == len(tables)
    charts = [len(result.figure.charts) for result in found.results]
    assert [len(one["charts"]) for one in document["experiments"]] == charts
    assert not list(tmp_path.glob(".*.partial"))
