import json
import os
import signal
import subprocess
import sys
import time

import pytest

from arcbandit import ClairvoyantWithMargins, Instance, Summary, paper_instance
from arcbandit.cli import main
from arcbandit.policies.registry import policy
from arcbandit.simulation.run import simulate
from arcbandit.simulation.trace import Trace
from tests.long import each_of
from tests.patience import killed, line_of

SHORT = ["--horizon", "300", "--epochs", "2", "--jobs", "1"]


def answer_to(*arguments, capsys):
    code = main(["simulate", *arguments])
    printed = capsys.readouterr()
    assert (code, printed.err) == (0, "")
    return printed.out


def document_of(*arguments, capsys):
    def refuse(token):
        raise AssertionError(f"{token} is not JSON")

    return json.loads(answer_to(*arguments, "--json", capsys=capsys), parse_constant=refuse)


class TestTheAnswer:
    def test_json_is_what_python_gives(self, capsys):
        """Settings, last round, and each metric's mean and half width."""
        document = document_of("nu", "--policy", "olp", "--policy", "oplp", *SHORT, "--seed", "3", capsys=capsys)
        trace = simulate(paper_instance("nu"), ["olp", "oplp"], 300, 2, 3, jobs=1)
        assert list(document) == ["settings", "rounds", "best", "summary", "worst_window", "learning_limit"]
        assert document["rounds"] == 300
        assert document["settings"]["name"] == "nu"
        assert document["settings"]["policies"] == ["olp", "oplp"]
        assert document["settings"]["seed"] == 3
        assert document["worst_window"] is None
        for label, metrics in trace.summary().items():
            assert list(document["summary"][label]) == list(metrics)
            for metric, value in metrics.items():
                assert document["summary"][label][metric] == {"mean": value.mean, "half_width": value.half_width}
        sums = {label: metrics["regret_plus_violation"]["mean"] for label, metrics in document["summary"].items()}
        assert document["best"] == min(sums, key=sums.get)

    def test_one_epoch_has_null_intervals(self, capsys):
        """There is no NaN in JSON."""
        document = document_of("nu", "--policy", "olp", "--horizon", "50", "--epochs", "1", capsys=capsys)
        assert document["summary"]["olp"]["regret"]["half_width"] is None
        assert document["best"] is None

    def test_three_policies_are_played_unless_told_otherwise(self, capsys):
        """The default and the paper's two; the best is marked."""
        output = answer_to("nu", *SHORT, capsys=capsys)
        rows = [line.split() for line in output.splitlines() if "±" in line and "half" not in line]
        names = [row[1] if row[0] == "*" else row[0] for row in rows]
        assert names == ["priced-lp", "olp", "oplp"]
        assert [row[0] for row in rows].count("*") == 1
        assert "2 epochs of 300 rounds, seed 0" in output
        for words in ("revenue lost against the best plan", "what the floors lacked", "lowest mean R + V"):
            assert words in output

    @pytest.mark.slow
    def test_numbers_are_never_cut(self, capsys):
        """A narrow terminal gets two tables."""
        output = answer_to(
            "nu",
            "--policy",
            "linear-program:caution=-0.5,optimism=1",
            "--policy",
            "thompson-lp:share=1",
            "--policy",
            "doc",
            "--horizon",
            "3000",
            "--epochs",
            "2",
            capsys=capsys,
        )
        assert "…" not in output
        assert "optimism=1" in output
        assert "I_t = I*" in output

    def test_dials_reach_the_policy(self, capsys):
        """caution -1 is OPLP; an estimate of contexts is something else."""
        limited = "oplp:exploration_budget=0.1,known_after=20"
        choices = ["linear-program:caution=-1,optimism=1", "oplp", "oplp:estimate_contexts=true", limited]
        options = [word for choice in choices for word in ("--policy", choice)]
        summary = document_of("nu", *options, *SHORT, capsys=capsys)["summary"]
        assert list(summary) == choices
        assert summary[choices[0]] == summary["oplp"]
        assert summary[choices[2]] != summary["oplp"]
        whole = document_of("nu", "--policy", "thompson-lp:redraws=0", *SHORT, capsys=capsys)["summary"]
        assert list(whole) == ["thompson-lp:redraws=0"]
        expected = simulate(paper_instance("nu"), [policy("oplp", estimate_contexts=True)], 300, 2, jobs=1).summary()
        assert summary[choices[2]]["regret"]["mean"] == next(iter(expected.values()))["regret"].mean
        within = policy("oplp", exploration_budget=0.1, known_after=20)
        expected = simulate(paper_instance("nu"), {"it": within}, 300, 2, jobs=1).summary()
        assert summary[limited]["regret"]["mean"] == expected["it"]["regret"].mean != summary["oplp"]["regret"]["mean"]

    def test_workers_change_nothing(self, capsys):
        """Not a digit."""
        one = answer_to("nu", *SHORT, "--json", capsys=capsys)
        assert answer_to("nu", *SHORT[:-1], "2", "--json", capsys=capsys) == one

    def test_windows_are_shown_floor_by_floor(self, capsys):
        """In the table and in JSON."""
        arguments = ["nu", "--policy", "blp", *SHORT, "--window", "100"]
        assert "Worst window of 100 rounds" in answer_to(*arguments, capsys=capsys)
        worst = document_of(*arguments, capsys=capsys)["worst_window"]["blp"]
        trace = simulate(paper_instance("nu"), ["blp"], 300, 2, jobs=1, window=100)
        assert list(worst) == ["1", "2", "3"]
        for row, floor in enumerate(worst):
            assert worst[floor]["realised"]["mean"] == trace.worst_window_realised["blp"][:, -1, row].mean()

    def test_files_are_instances_too_and_infeasible_floors_are_said(self, tmp_path, capsys):
        """Bernoulli rewards where means allow them."""
        file = tmp_path / "own.toml"
        Instance([[0.5, 0.25], [0.25, 0.5]], [0.4, 0.4], [0.5, 0.5]).save(file)
        output = answer_to(str(file), "--rewards", "bernoulli", "--policy", "blp", *SHORT, capsys=capsys)
        assert "The floors cannot be met together" in output


class TestFiles:
    @pytest.mark.slow
    def test_trace_and_page_are_written(self, tmp_path, capsys):
        """The trace loads back, and the page is about the instance."""
        out, plot = tmp_path / "trace.parquet", tmp_path / "page.html"
        answer_to("nu", "--policy", "olp", *SHORT, "--out", str(out), "--plot", str(plot), capsys=capsys)
        trace = Trace.load(out)
        assert (trace.policies, trace.horizon, trace.epochs) == (("olp",), 300, 2)
        assert "Simulation of nu" in plot.read_text(encoding="utf-8")
        assert sorted(tmp_path.iterdir()) == [plot, out]

    @pytest.mark.parametrize("extra", ["polars", "matplotlib"])
    def test_a_missing_extra_is_said_before_the_work(self, extra, tmp_path, monkeypatch, capsys):
        """Not after hours."""
        monkeypatch.setitem(sys.modules, extra, None)
        monkeypatch.setattr("arcbandit.simulation.run.simulate", None)
        option = ["--out", str(tmp_path / "x.parquet")] if extra == "polars" else ["--plot", str(tmp_path / "x.png")]
        assert main(["simulate", "nu", *option]) == 1
        assert f"{extra} is not installed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nope"], "neither a file nor one of the paper's instances"),
        (["nu", "--policy", "nope"], "There is no policy 'nope'; known are blp, greedy, linear-program, olp"),
        (["nu", "--policy", "olp:caution=1"], "has no dial 'caution'"),
        (["nu", "--policy", "olp:"], "has no dial ''"),
        (["nu", "--policy", "olp:seed=1"], "has no dial 'seed'"),
        (["nu", "--policy", "linear-program:caution"], "as caution=value"),
        (["nu", "--policy", "linear-program:caution=1,caution=1"], "must be given once"),
        (["nu", "--policy", "linear-program:caution=high"], "must be a number, got 'high'"),
        (["nu", "--policy", "thompson-lp:redraws=2.5"], "redraws of policy thompson-lp must be a whole number, got"),
        (["nu", "--policy", "linear-program:caution=nan"], "caution must be finite"),
        (["nu", "--policy", "linear-program:caution=11"], "caution must be from -10 to 10"),
        (["nu", "--policy", "olp:estimate_contexts=perhaps"], "must be true or false"),
        (["nu", "--policy", "olp:when_infeasible=never"], "when_infeasible must be 'least_shortfall' or 'same_share'"),
        (
            ["nu", "--policy", "doc:when_infeasible=same_share"],
            "must be 'least_shortfall' for DOC, which does not plan",
        ),
        (["nu", "--policy", "olp:exploration_budget=little"], "must be a number, got 'little'"),
        (["nu", "--policy", "olp:exploration_budget=0"], "exploration_budget must be a share from 1e-06 to 1"),
        (["nu", "--policy", "doc:exploration_budget=0.1"], "must be 1 for DOC, which does not plan"),
        (["nu", "--policy", "olp:known_after=2.5"], "known_after must be a whole number"),
        (["nu", "--policy", "olp", "--policy", "olp"], "only once"),
        (["nu", "--horizon", "0"], "--horizon must be a whole number from 1 to 9007199254740992"),
        (["nu", "--horizon", "1.5"], "--horizon"),
        (["nu", "--horizon", "1000000000000000000000"], "--horizon must be a whole number from 1 to 9007199254740992"),
        (["nu", "--epochs", "0"], "--epochs must be a whole number from 1"),
        (["nu", "--seed", "-1"], "--seed must be a whole number from 0"),
        (["nu", "--seed", "1000000000000000000000"], "--seed must be a whole number from 0"),
        (["nu", "--jobs", "0"], "--jobs must be a whole number from 1"),
        (["nu", "--window", "0"], "--window must be a whole number from 1 to 50000"),
        (["nu", "--window", "60000"], "--window must be a whole number from 1 to 50000"),
        (["nu", "--rewards", "bernoulli"], "from 0 to 1 for Bernoulli rewards"),
        (["nu", "--rewards", "poisson"], "poisson"),
        (["nu", "--device", "tpu"], "tpu"),
        (["nu", "--keep", "all"], "all"),
        (["nu", "--out", "absent/trace.parquet"], "there is no folder 'absent'"),
        (["nu", "--out", "trace.csv"], "must end in .parquet"),
        (["nu", "--plot", "absent/page.html"], "there is no folder 'absent'"),
        (["nu", "--plot", "page.gif"], "must end in .html, .png, .pdf or .svg"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_sentence_before_any_work(arguments, said, capsys, monkeypatch):
    """Exit code 2, nothing on standard output, no round played."""

    def work(*_):
        raise AssertionError("a round was played")

    monkeypatch.setattr("arcbandit.simulation.run.run_task", work)
    assert main(["simulate", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert said in printed.err


class TestTheDevice:
    @pytest.mark.slow
    def test_a_summary_is_shown_and_saved_as_a_trace_is(self, tmp_path, capsys):
        """Means and intervals to the digits shown; the file holds no epoch."""
        out, plot = tmp_path / "summary.parquet", tmp_path / "page.html"
        arguments = ("nu", "--window", "20", *SHORT)
        shown = answer_to(*arguments, "--keep", "summary", "--out", str(out), "--plot", str(plot), capsys=capsys)
        assert shown == answer_to(*arguments, capsys=capsys)
        assert Summary.load(out).settings["keep"] == "summary"
        assert "95 % quantile" in plot.read_text(encoding="utf-8")

    def test_auto_is_the_cpu_where_there_is_no_gpu(self, capsys, monkeypatch):
        monkeypatch.setattr("arcbandit.simulation.device.device_available", lambda: False)
        document = document_of("nu", "--policy", "olp", *SHORT, "--device", "auto", capsys=capsys)
        assert (document["settings"]["device"], document["settings"]["keep"]) == ("cpu", "epochs")

    @pytest.mark.parametrize(
        ("missing", "said"),
        [
            ("importlib.util.find_spec", "--device cuda is not available: numba-cuda is not installed"),
            ("arcbandit.simulation.device.device_available", "needs an NVIDIA GPU"),
        ],
        ids=["extra", "gpu"],
    )
    def test_what_is_missing_is_one_sentence_before_any_work(self, missing, said, capsys, monkeypatch):
        """Exit code 2, as of any option that cannot be served, with what to do."""
        monkeypatch.setattr("arcbandit.simulation.run.simulate", None)
        monkeypatch.setattr(missing, lambda *_: None)
        assert main(["simulate", "nu", "--device", "cuda"]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.count("\n") == 1
        assert said in printed.err
        assert "arcbandit[cuda]" in printed.err


@pytest.mark.slow
class TestTheProgram:
    @pytest.mark.skipif(os.name == "nt", reason="Ctrl-C cannot be sent to one process there")
    @pytest.mark.parametrize("jobs", each_of(["2"], ["1", "2"]))
    def test_an_interruption_is_one_line_and_no_file(self, jobs, tmp_path):
        """Exit code 130, within moments, with one worker or two."""
        script = (
            "import sys; from arcbandit.simulation import run; play = run.run_task\n"
            "def announced(*task):\n    print('playing', flush=True)\n    return play(*task)\n"
            "run.run_task = announced\n"
            "from arcbandit.cli import main; sys.exit(main(sys.argv[1:]))"
        )
        arguments = ["simulate", "nu", "--policy", "olp", "--horizon", "500000000", "--jobs", jobs]
        arguments += ["--out", str(tmp_path / "trace.parquet"), "--plot", str(tmp_path / "page.html")]
        process = subprocess.Popen(
            [sys.executable, "-c", script, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        try:
            assert line_of(process) == b"playing\n"
            time.sleep(0.2)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=60)
        finally:
            killed(process)
        assert (process.returncode, said) == (130, b"Interrupted.\n")
        assert list(tmp_path.iterdir()) == []

    def test_help_needs_nothing_heavy(self):
        """A command that only prints help must not wait for a compiler."""
        script = (
            "import sys; from arcbandit.cli import main; main(['simulate', '--help']); "
            "print(sorted({'numba', 'numpy', 'matplotlib', 'polars', 'joblib'} & set(sys.modules)))"
        )
        finished = subprocess.run([sys.executable, "-c", script], capture_output=True, encoding="utf-8", check=True)
        assert finished.stdout.splitlines()[-1] == "[]"

    def test_a_terminal_sees_how_far_it_is(self, capsys, monkeypatch):
        """On standard error, and every round is counted."""
        monkeypatch.setattr("sys.stderr.isatty", lambda: True)
        counted = []
        from arcbandit.simulation import run

        play = run.simulate
        monkeypatch.setattr(
            run,
            "simulate",
            lambda *given, progress, **rest: play(
                *given, progress=lambda rounds: (counted.append(rounds), progress(rounds)), **rest
            ),
        )
        assert main(["simulate", "nu", *SHORT]) == 0
        assert sum(counted) == 300 * 2 * 3


def test_a_clairvoyant_is_simulated_by_name_though_it_is_not_listed(capsys):
    """With its dials, as any other."""
    label = "clairvoyant-margins:violation_weight=2"
    document = document_of("nu", "--policy", label, *SHORT, capsys=capsys)
    found = simulate(paper_instance("nu"), {label: ClairvoyantWithMargins(violation_weight=2)}, 300, 2)
    assert document["summary"][label]["regret"]["mean"] == found.estimate("regret", label).mean


def test_the_learning_limit_stands_below_the_figures(capsys):
    """2 sigma G sqrt(T) of nu is 1.1121 sqrt(300); there is none for worlds that change, or other rewards."""
    limit = document_of("nu", "--policy", "olp", *SHORT, capsys=capsys)["learning_limit"]
    assert limit["total"] == pytest.approx(1.11212 * 300**0.5, rel=1e-4)
    assert "R + V of 19.26: what learning must cost" in answer_to("nu", "--policy", "olp", *SHORT, capsys=capsys)
    late = document_of("nu", "--policy", "olp", "--delay", "3", *SHORT, capsys=capsys)
    assert late["learning_limit"] is None
