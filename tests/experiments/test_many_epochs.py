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

from arcbandit import InvalidInputError, audit, simulate
from arcbandit.cli.reproduce import _print_verdicts, reproduction_document
from arcbandit.experiments import many_epochs, reproduce
from arcbandit.experiments.experiment import FEWEST_ON_DEVICE, Run, device_for, play
from arcbandit.experiments.growth import late_exponents
from arcbandit.experiments.many_epochs import EXPERIMENT, POLICIES, TABLED, exponent_of
from arcbandit.experiments.paper_instances import paper_instance
from arcbandit.report.charts import alt_text
from arcbandit.simulation import device
from arcbandit.simulation.metrics import Total

ROOT = Path(__file__).resolve().parents[2]
EPOCHS = 20
SETTINGS = EXPERIMENT.settings(horizon=200, epochs=2, seed=3)


@pytest.fixture(scope="module")
def many():
    """On the CPU, which plays the same."""
    return many_epochs.record(SETTINGS, EPOCHS)


@pytest.fixture(scope="module")
def found(many):
    """A reproduction as a GPU would leave it."""
    plain = reproduce.reproduce([EXPERIMENT.name], horizon=200, epochs=2, seed=3)
    result = dataclasses.replace(plain.results[0], many_epochs=many)
    return dataclasses.replace(plain, results=(result,), device="a GPU")


@pytest.fixture(scope="module")
def kept():
    """The same epochs, every one of them."""
    return simulate(paper_instance("nu"), POLICIES, 200, EPOCHS, 3)


def test_means_and_powers_are_those_of_the_epochs(many, kept):
    """The powers come from checkpoints of their own, which move them a little."""
    assert many.fitted_epochs == many.summary.epochs == EPOCHS
    for policy in POLICIES:
        for metric in TABLED:
            assert many.summary.estimate(metric, policy).mean == pytest.approx(kept.estimate(metric, policy).mean)
            slopes = late_exponents(kept, metric, policy)
            exponent = many.exponents[policy][metric]
            assert exponent.left_out == np.isnan(slopes).sum()
            assert exponent.estimate.mean == pytest.approx(np.nanmean(slopes), abs=0.05)


def test_progress_adds_up_to_the_work():
    """Whatever the number of epochs."""
    steps = []
    many_epochs.record(SETTINGS, 3, steps.append)
    assert sum(steps) == pytest.approx(many_epochs.work(SETTINGS))


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
    exponents = {policy: dict(by_metric) for policy, by_metric in many.exponents.items()}
    exponents["OPLP"]["violation"] = exponent_of(np.full(EPOCHS, math.nan))
    exponents["OLP"]["regret"] = exponent_of(np.zeros(EPOCHS))
    changed = dataclasses.replace(many, exponents=exponents)
    assert f"have no slope: {EPOCHS} of OPLP's V" in many_epochs.about(changed)
    rows = {row[0]: row[-1] for row in many_epochs.table(changed).rows}
    assert rows["OPLP, V"] == "–"
    assert rows["OLP, R"] == "below 0.0001"


def test_the_shortest_horizon_has_a_figure_and_a_table():
    """One round has no decade before it, and no power."""
    one = many_epochs.record(SETTINGS._replace(horizon=1), 2)
    assert many_epochs.figure(one).charts
    assert {row[-1] for row in many_epochs.table(one).rows} == {"–"}


@pytest.fixture(scope="module")
def folder(found, tmp_path_factory):
    """With the page and the figures."""
    return reproduce.save(found, tmp_path_factory.mktemp("page")).parent


@pytest.fixture(scope="module")
def page(folder):
    return (folder / "index.html").read_text(encoding="utf-8")


class TestThePage:
    def test_has_a_section_after_the_experiment(self, page, many):
        """What was played, where, how often and for how long."""
        section = page[page.index('<section class="experiment" id="many-epochs">') :]
        section = section[: section.index("</section>")]
        assert f"<h2>Over {EPOCHS} epochs</h2>" in section
        assert f"each of the first {EPOCHS} epochs" in section
        played = f"device: cpu; instance: nu; policies: OLP, OPLP, BLP; horizon: 200; epochs: {EPOCHS}, and"
        assert played in section
        assert f"seconds: {many.seconds:.1f}." in section
        alts = re.findall('<img alt="([^"]+)"', section)
        assert alts == [alt_text(chart) for chart in many_epochs.figure(many).charts]
        assert len(alts) == 4
        for row in many_epochs.table(many).rows:
            assert f'<th scope="row">{row[0]}</th>' in section
            assert all(f">{cell}</td>" in section for cell in row[1:])
        assert "<dt>device</dt><dd>a GPU</dd>" in page

    def test_leaves_the_claims_as_they_are(self, page, found):
        assert page.count("data-claim=") == len(EXPERIMENT.claims) == len(found.verdicts)

    def test_has_files_of_the_figure(self, folder):
        assert {"many-epochs.png", "many-epochs.pdf"} < {path.name for path in folder.iterdir()}

    def test_has_no_such_section_from_the_cpu(self, tmp_path):
        plain, page = reproduce.reproduce_to(tmp_path, [EXPERIMENT.name], horizon=50, epochs=1)
        assert plain.many_epochs is None
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
            assert one["mean"] == one["means"][-1] == many.summary.estimate(metric, policy).mean
            assert one["median"][-1] == many.summary.quantile(metric, policy, 0.5)[-1]
            assert len(one["quantile_95"]) == len(numbers["rounds"])
            assert sum(one["histogram"]["counts"]) == EPOCHS
            assert set(one["exponent"]) == {"mean", "half_width", "epochs_left_out"}


def test_the_terminal_shows_the_table(found, many, tmp_path, capsys):
    _print_verdicts(found, tmp_path)
    printed = capsys.readouterr().out
    assert f"Over {EPOCHS} epochs" in printed
    assert all(row[1] in printed for row in many_epochs.table(many).rows)


def test_what_does_not_fit_the_device_is_played_on_the_cpu(monkeypatch):
    monkeypatch.setattr(device, "largest_state_bytes", lambda: 100)
    trace = play(Run("nu", "nu", POLICIES, 10, FEWEST_ON_DEVICE), SETTINGS._replace(device="cuda"))
    assert trace.settings["device"] == "cpu"


def test_a_device_is_for_many_epochs():
    settings = SETTINGS._replace(device="cuda")
    assert device_for(FEWEST_ON_DEVICE, settings) == "cuda"
    assert device_for(FEWEST_ON_DEVICE - 1, settings) == "cpu"


def test_the_audit_takes_a_device():
    with pytest.raises(InvalidInputError, match="device must be"):
        audit(paper_instance("nu"), "olp", 10, device="tpu")


@pytest.mark.skipif(sys.platform == "darwin", reason="numba-cuda is not made for macOS")
def test_the_device_plays_the_experiments_and_the_many_epochs(tmp_path):
    """In a process of its own, in which Numba simulates the GPU, and in which every play is that of the CPU."""
    script = (
        "import json, sys\n"
        "from arcbandit.experiments import experiment\n"
        "experiment.FEWEST_ON_DEVICE = 1\n"
        "from arcbandit.experiments.reproduce import reproduce_to\n"
        "from arcbandit.cli.reproduce import reproduction_document\n"
        "found, page = reproduce_to(sys.argv[1], ['regret'], horizon=8, epochs=1, device='cuda', many=3)\n"
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
    on_cpu = reproduce.reproduce(["regret"], horizon=8, epochs=1)
    assert [one["number"] for one in document["verdicts"]] == [verdict.number for verdict in on_cpu.verdicts]
    many = many_epochs.record(EXPERIMENT.settings(horizon=8, epochs=1), 3)
    for policy in POLICIES:
        for metric in TABLED:
            estimate = document["many_epochs"]["policies"][policy][metric]
            assert estimate["mean"] == pytest.approx(many.summary.estimate(metric, policy).mean)
