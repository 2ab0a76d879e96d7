"""The paper's main experiment over many epochs: on the CPU, and once through Numba's simulator of a GPU."""

import dataclasses
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from arcbandit import InvalidInputError, analyse, audit, paper_instance, simulate
from arcbandit.cli.reproduce import _print_verdicts, reproduction_document
from arcbandit.experiments import reproduce
from arcbandit.experiments.experiment import FEWEST_ON_DEVICE, Run, device_for, play
from arcbandit.experiments.growth import late_exponents
from arcbandit.experiments.many_epochs import (
    EXPERIMENT,
    POLICIES,
    TABLED,
    exponent_of,
    exponents_of,
    fitted_epochs,
    summary_of,
)
from arcbandit.report.charts import alt_text
from arcbandit.report.figures import draw_chart
from arcbandit.simulation import device
from arcbandit.simulation.metrics import Total
from tests.long import LONG

ROOT = Path(__file__).resolve().parents[2]
EPOCHS = 20
FEW_ON_DEVICE = 40  # as many as a CPU plays at once, in place of FEWEST_ON_DEVICE
SETTINGS = EXPERIMENT.settings(horizon=200, epochs=EPOCHS, seed=3)


@pytest.fixture(scope="module")
def many():
    """On the CPU, which plays the same."""
    return reproduce.reproduce([EXPERIMENT.name], horizon=200, epochs=EPOCHS, seed=3).results[0]


@pytest.fixture(scope="module")
def found(many):
    """A reproduction as a GPU would leave it."""
    plain = reproduce.reproduce(["regret"], horizon=200, epochs=2, seed=3)
    return dataclasses.replace(plain, results=(*plain.results, many), device="a GPU")


@pytest.fixture(scope="module")
def kept():
    """The same epochs, every one of them."""
    return simulate(paper_instance("nu"), POLICIES, 200, EPOCHS, 3)


def test_means_and_powers_are_those_of_the_epochs(many, kept):
    """The powers come from checkpoints of their own, which move them a little."""
    summary = summary_of(many.recorded)
    assert fitted_epochs(many.recorded) == summary.epochs == EPOCHS
    for policy in POLICIES:
        for metric in TABLED:
            assert summary.estimate(metric, policy).mean == pytest.approx(kept.estimate(metric, policy).mean)
            slopes = late_exponents(kept, metric, policy)
            exponent = exponents_of(many.recorded)[policy][metric]
            assert exponent.left_out == np.isnan(slopes).sum()
            assert exponent.estimate.mean == pytest.approx(np.nanmean(slopes), abs=0.05)


def test_fewer_epochs_are_fitted_than_are_played():
    runs = EXPERIMENT.runs(EXPERIMENT.settings())
    assert [run.epochs for run in runs] == [65_536, 4_096]
    assert [run.keep for run in runs] == ["summary", "epochs"]


@pytest.mark.slow
@pytest.mark.parametrize("epochs", [2, FEW_ON_DEVICE])
def test_progress_adds_up_to_the_work(epochs, monkeypatch):
    """Whatever the number of epochs, and wherever they are played."""
    monkeypatch.setattr("arcbandit.experiments.experiment.FEWEST_ON_DEVICE", FEW_ON_DEVICE)
    monkeypatch.setattr("arcbandit.experiments.experiment.fits_device", lambda *_: False)
    steps = []
    settings = EXPERIMENT.settings(horizon=5, epochs=epochs, device="cuda")
    EXPERIMENT.record(settings, steps.append)
    assert sum(steps) == pytest.approx(EXPERIMENT.work(settings))


def test_a_gpu_plays_many_epochs_in_the_time_of_a_few():
    """So that they do not fill the progress bar."""
    settings = EXPERIMENT.settings(device="cuda")
    assert EXPERIMENT.work(settings) < EXPERIMENT.rounds(settings) / 1000
    assert EXPERIMENT.work(settings._replace(device="cpu")) == EXPERIMENT.rounds(settings)


class TestWhenItIsPlayed:
    def test_on_a_gpu_after_the_main_experiment(self):
        names = [one.name for one in reproduce.find((), on_device=True)]
        assert names == list(reproduce.EXPERIMENTS)
        assert names[:2] == ["regret", "many-epochs"]
        assert [one.name for one in reproduce.find(["margin", "regret"], on_device=True)] == [
            "margin",
            "regret",
            "many-epochs",
        ]
        assert [one.name for one in reproduce.find(["margin"], on_device=True)] == ["margin"]

    def test_on_the_cpu_if_it_is_asked_for(self):
        assert "many-epochs" not in [one.name for one in reproduce.find(())]
        assert [one.name for one in reproduce.find(["regret"])] == ["regret"]
        assert [one.name for one in reproduce.find(["many-epochs"])] == ["many-epochs"]

    @pytest.mark.slow
    def test_over_its_own_number_of_epochs_unless_it_is_asked_for(self, monkeypatch):
        """Those that are given are for the experiments that are asked for."""
        monkeypatch.setattr(reproduce, "use_cuda", lambda _: True)
        monkeypatch.setattr(reproduce, "device_name", lambda: "a GPU")
        played = {}
        for names in (["regret"], ["regret", "many-epochs"]):
            found = reproduce.reproduce(names, horizon=5, epochs=2, many=3)
            played[len(names)] = [result.recorded.settings.epochs for result in found.results]
        assert played == {1: [2, 3], 2: [2, 2]}


def test_an_epoch_without_regret_has_no_power_and_the_others_do(kept):
    record = kept.records["OLP"].copy()
    record[4, Total.REGRET] = 0.0
    slopes = late_exponents(dataclasses.replace(kept, records=kept.records | {"OLP": record}), "regret", "OLP")
    assert np.flatnonzero(np.isnan(slopes)).tolist() == [4]
    assert np.allclose(np.delete(slopes, 4), np.delete(late_exponents(kept, "regret", "OLP"), 4))
    exponent = exponent_of(slopes)
    assert exponent.left_out == 1
    assert exponent.estimate.mean == pytest.approx(np.nanmean(slopes))
    nothing = exponent_of(np.full(3, math.nan))
    assert nothing.left_out == 3
    assert math.isnan(nothing.estimate.mean)


def test_what_is_left_out_is_said(many):
    exponents = {policy: dict(by_metric) for policy, by_metric in exponents_of(many.recorded).items()}
    exponents["OPLP"]["violation"] = exponent_of(np.full(EPOCHS, math.nan))
    exponents["OLP"]["regret"] = exponent_of(np.zeros(EPOCHS))
    changed = dataclasses.replace(many.recorded, findings={"exponents": exponents})
    assert f"have no slope: {EPOCHS} of OPLP's V" in EXPERIMENT.about_of(changed)
    (table,) = EXPERIMENT.tables(changed)
    rows = {row[0]: row[-1] for row in table.rows}
    assert rows["OPLP, V"] == "–"
    assert rows["OLP, R"] == "below 0.0001"


def test_the_table_ends_with_the_limit(many):
    (table,) = EXPERIMENT.tables(many.recorded)
    assert table.rows[-1] == ("limit, R + V", f"{analyse(paper_instance('nu')).learning_limit(200).total:.2f}", *"––––")


@pytest.mark.slow
def test_the_shortest_horizon_has_a_figure_and_a_table():
    """One round has no decade before it, and no power."""
    one = EXPERIMENT.record(SETTINGS._replace(horizon=1, epochs=2))
    for chart in EXPERIMENT.figure(one).charts:
        draw_chart(chart)
    (table,) = EXPERIMENT.tables(one)
    assert {row[-1] for row in table.rows} == {"–"}


@pytest.fixture(scope="module")
def folder(found, tmp_path_factory):
    """With the page and the figures."""
    return reproduce.save(found, tmp_path_factory.mktemp("page")).parent


@pytest.fixture(scope="module")
def page(folder):
    return (folder / "index.html").read_text(encoding="utf-8")


@pytest.mark.slow
class TestThePage:
    def test_has_a_section_after_the_experiment(self, page, many):
        """What was played, where, how often and for how long."""
        section = page[page.index('<section class="experiment" id="many-epochs">') :]
        section = section[: section.index("</section>")]
        assert f"<h2>Over {EPOCHS} epochs</h2>" in section
        assert f"each of the first {EPOCHS} epochs" in section
        played = f"device: cpu; instance: nu; policies: OLP, OPLP, BLP; horizon: 200; epochs: {EPOCHS}, and"
        noise = f"noise: gaussian, σ = 1; seconds: {many.seconds:.1f}."
        assert played in section
        assert noise in section
        alts = re.findall('<img alt="([^"]+)"', section)
        assert alts == [alt_text(chart) for chart in many.figure.charts]
        assert len(alts) == 4
        for row in many.tables[0].rows:
            assert f'<th scope="row">{row[0]}</th>' in section
            assert all(f">{cell}</td>" in section for cell in row[1:])
        assert "In the paper" not in section
        assert "<dt>device</dt><dd>a GPU</dd>" in page

    def test_leaves_the_claims_as_they_are(self, page, found):
        assert page.count("data-claim=") == len(found.results[0].experiment.claims) == len(found.verdicts)
        assert f"1 experiment, {len(found.verdicts)} claims" in page

    def test_counts_its_rounds(self, page):
        rounds = sum(one.rounds(one.settings(horizon=200, epochs=2)) for one in reproduce.find(["regret"]))
        assert f"<dt>rounds played</dt><dd>{rounds + 200 * 2 * EPOCHS * 3:,}</dd>" in page

    def test_has_files_of_the_figure(self, folder):
        names = {path.name for path in (folder / "figures").iterdir()}
        assert {"many-epochs-1-single.pdf", "many-epochs-1-double.pdf"} < names

    def test_has_no_such_section_from_the_cpu(self, tmp_path):
        plain, page = reproduce.reproduce_to(tmp_path, ["regret"], horizon=50, epochs=1)
        assert len(plain.results) == 1
        assert plain.device == "cpu"
        assert "many-epochs" not in page.read_text(encoding="utf-8")


def test_the_document_has_the_numbers(found, many, tmp_path):
    document = json.loads(json.dumps(reproduction_document(found, tmp_path), allow_nan=False))
    assert document["device"] == "a GPU"
    numbers = document["many_epochs"]
    assert (numbers["device"], numbers["epochs"], numbers["horizon"]) == ("cpu", EPOCHS, 200)
    assert numbers["fitted_epochs"] == EPOCHS
    for policy in POLICIES:
        for metric in TABLED:
            one = numbers["policies"][policy][metric]
            assert one["mean"] == one["means"][-1] == summary_of(many.recorded).estimate(metric, policy).mean
            assert one["median"][-1] == summary_of(many.recorded).quantile(metric, policy, 0.5)[-1]
            assert len(one["quantile_95"]) == len(numbers["rounds"])
            assert sum(one["histogram"]["counts"]) == EPOCHS
            assert set(one["exponent"]) == {"mean", "half_width", "epochs_left_out"}


def test_the_terminal_shows_the_table(found, many, tmp_path, capsys):
    _print_verdicts(found, tmp_path)
    printed = capsys.readouterr().out
    assert f"Over {EPOCHS} epochs" in printed
    assert all(row[1] in printed for row in many.tables[0].rows)


@pytest.mark.slow
def test_what_does_not_fit_the_device_is_played_on_the_cpu(monkeypatch):
    monkeypatch.setattr("arcbandit.experiments.experiment.FEWEST_ON_DEVICE", FEW_ON_DEVICE)
    monkeypatch.setattr(device, "largest_state_bytes", lambda: 100)
    trace = play(Run("nu", "nu", POLICIES, 10, FEW_ON_DEVICE), SETTINGS._replace(device="cuda"))
    assert trace.settings["device"] == "cpu"


def test_a_device_is_for_many_epochs():
    settings = SETTINGS._replace(device="cuda")
    assert device_for(FEWEST_ON_DEVICE, settings) == "cuda"
    assert device_for(FEWEST_ON_DEVICE - 1, settings) == "cpu"


@pytest.mark.slow
def test_the_audit_takes_a_device():
    with pytest.raises(InvalidInputError, match="device must be"):
        audit(paper_instance("nu"), "olp", 10, device="tpu")


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.skipif(not LONG, reason="half a minute: `make test-long` runs it")
@pytest.mark.skipif(sys.platform == "darwin", reason="numba-cuda is not made for macOS")
def test_the_device_plays_the_experiments_and_the_many_epochs(tmp_path):
    """In a process of its own, in which Numba simulates the GPU, and in which every play is that of the CPU."""
    horizon = 3  # the summary has a cell per round and metric, and the simulator a thread per cell
    script = (
        "import json, sys\n"
        "from arcbandit.experiments import experiment\n"
        "experiment.FEWEST_ON_DEVICE = 1\n"
        "from arcbandit.experiments.reproduce import reproduce_to\n"
        "from arcbandit.cli.reproduce import reproduction_document\n"
        f"found, page = reproduce_to(sys.argv[1], ['regret'], horizon={horizon}, epochs=1, device='cuda', many=3)\n"
        "print(json.dumps(reproduction_document(found, page)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path],
        cwd=ROOT,
        env=os.environ | {"NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["device"] == document["many_epochs"]["device"] == "CUDA simulator"
    assert "Over 3 epochs" in Path(document["page"]).read_text(encoding="utf-8")
    on_cpu = reproduce.reproduce(["regret"], horizon=horizon, epochs=1)
    for one, verdict in zip(document["verdicts"], on_cpu.verdicts, strict=True):
        for who, measured in (("paper", verdict.paper), ("ours", verdict.ours)):
            assert (one[who] or {}).get("number") == (measured and measured.number)
    many = reproduce.reproduce([EXPERIMENT.name], horizon=horizon, epochs=3).results[0]
    for policy in POLICIES:
        for metric in TABLED:
            estimate = document["many_epochs"]["policies"][policy][metric]
            assert estimate["mean"] == pytest.approx(summary_of(many.recorded).estimate(metric, policy).mean)
