"""What can fail, fails before the first round; what is found by the last is not lost."""

import json
import math
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

import arcbandit
from arcbandit import paper_instance, simulate
from arcbandit.cli import main
from arcbandit.errors import InvalidInputError
from arcbandit.experiments import reproduce as reproduction
from arcbandit.simulation import audit, run

NU = paper_instance("nu")
SHORT = ["nu", "--policy", "olp", "--horizon", "50", "--epochs", "2", "--jobs", "1"]

FROM_SOURCES = """
import sys
from importlib.metadata import PackageNotFoundError, version

try:
    version("arcbandit")
except PackageNotFoundError:
    pass
else:
    raise SystemExit("arcbandit has metadata here")

import arcbandit
from arcbandit import audit, paper_instance, simulate
from arcbandit.cli import main

nu = paper_instance("nu")
folder = sys.argv[1]
trace = simulate(nu, ["olp"], 50, 2, jobs=1)
trace.save(f"{folder}/trace.parquet")
simulate(nu, ["olp"], 50, 2, jobs=1, keep="summary").save(f"{folder}/summary.parquet")
audit(nu, "olp", 50, 2, jobs=1)
assert trace.settings["versions"]["arcbandit"] == arcbandit.__version__
files = ["--out", f"{folder}/again.parquet", "--plot", f"{folder}/page.html"]
codes = [
    main(["simulate", "nu", "--policy", "olp", "--horizon", "50", "--epochs", "2", "--json", *files]),
    main(["reproduce", "figure-1", "--out", f"{folder}/reproduction", "--json"]),
]
print(codes, arcbandit.__file__)
"""


@pytest.fixture
def no_rounds(monkeypatch):
    """Fail if a round is played."""

    def work(*_):
        raise AssertionError("a round was played")

    monkeypatch.setattr(run, "run_task", work)


@pytest.mark.skipif(os.name == "nt", reason="links to packages need rights there that few users have")
@pytest.mark.system
def test_a_source_tree_without_metadata_simulates_and_saves(tmp_path):
    """Everything that writes versions: traces, summaries, pages and reproductions.

    Uncompiled, as a copy of the sources would find no compiled kernels and what they play does not matter here.
    """
    packages = tmp_path / "packages"
    packages.mkdir()
    for folder in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        for entry in Path(folder).iterdir():
            if "arcbandit" not in entry.name and not (packages / entry.name).exists():
                (packages / entry.name).symlink_to(entry)
    sources = Path(arcbandit.__file__).parent
    shutil.copytree(sources, tmp_path / "src" / "arcbandit", ignore=shutil.ignore_patterns("__pycache__"))
    finished = subprocess.run(
        [sys.executable, "-S", "-c", FROM_SOURCES, str(tmp_path)],  # without the folder of installed packages
        env={
            **os.environ,
            "NUMBA_DISABLE_JIT": "1",
            "PYTHONPATH": os.pathsep.join([str(tmp_path / "src"), str(packages)]),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.splitlines()[-1] == f"[0, 0] {tmp_path / 'src' / 'arcbandit' / '__init__.py'}"
    for name in ("trace.parquet", "summary.parquet", "again.parquet", "page.html", "reproduction/index.html"):
        assert (tmp_path / name).stat().st_size > 0
    assert f"arcbandit {arcbandit.__version__}" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_versions_are_those_in_use():
    versions = run.versions_in_use()
    assert list(versions) == ["python", "arcbandit", "numpy", "numba"]
    assert versions["arcbandit"] == arcbandit.__version__
    assert versions["numpy"] == np.__version__


@pytest.mark.usefixtures("no_rounds")
class TestMemory:
    def test_for_every_epoch_is_there_first(self):
        """About 10**14 bytes, which no machine has."""
        with pytest.raises(MemoryError):
            simulate(NU, ["olp"], horizon=10**6, epochs=10**6, checkpoints=10**6, jobs=1)

    def test_for_a_summary_is_there_first(self, monkeypatch):
        def no_room(*_):
            raise MemoryError("bins")

        monkeypatch.setattr(run, "EpochFolder", no_room)
        with pytest.raises(MemoryError, match="bins"):
            simulate(NU, ["olp"], horizon=10, epochs=2, jobs=1, keep="summary")


def test_the_sum_of_a_long_audit_needs_no_table():
    """As long as it is short it is added up as before; beyond, the rest is an integral."""
    for count in (1, 2, 1000, audit.LARGEST_SUM):
        assert audit.harmonic_number(count) == float((1.0 / np.arange(1, count + 1)).sum())
    exact = math.fsum(1.0 / number for number in range(1, 3_000_001))
    assert audit.harmonic_number(3_000_000) == pytest.approx(exact, rel=1e-13)
    euler = 0.57721566490153286
    assert audit.harmonic_number(10**12) == pytest.approx(math.log(10**12) + euler + 0.5e-12, rel=1e-13)


class TestTheCommand:
    @pytest.mark.slow
    def test_a_full_disk_costs_no_table_and_no_page(self, tmp_path, capsys, monkeypatch):
        """The file could not be written, all else is there, and the exit code says that something failed."""

        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("arcbandit.simulation.trace.Trace.save", full)
        files = ["--out", str(tmp_path / "trace.parquet"), "--plot", str(tmp_path / "page.html")]
        assert main(["simulate", *SHORT, "--json", *files]) == 1
        printed = capsys.readouterr()
        assert json.loads(printed.out)["rounds"] == 50
        assert "No space left on device" in printed.err
        assert (tmp_path / "page.html").stat().st_size > 0

    @pytest.mark.slow
    @pytest.mark.skipif(os.name == "nt", reason="names of files are words there, not bytes")
    def test_a_name_without_letters_costs_no_page(self, tmp_path, capsys):
        """A file's name may hold bytes that are no text; the page shows question marks."""
        file = os.fsdecode(os.fsencode(tmp_path) + b"/nu-\xff.toml")
        NU.save(file)
        assert main(["simulate", file, *SHORT[1:], "--json", "--plot", str(tmp_path / "page.html")]) == 0
        assert "nu-?.toml" in (tmp_path / "page.html").read_text(encoding="utf-8")

    @pytest.mark.usefixtures("no_rounds")
    def test_a_matplotlib_that_cannot_draw_is_said_before_the_work(self, tmp_path, capsys, monkeypatch):
        """It can be imported, but the part that draws cannot."""
        monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
        assert main(["simulate", *SHORT, "--plot", str(tmp_path / "page.html")]) == 1
        assert "matplotlib is not installed" in capsys.readouterr().err

    @pytest.mark.parametrize("name", ["index.html", "results.json"])
    def test_a_folder_in_the_place_of_a_figure_is_said_before_the_work(self, name, tmp_path, capsys, monkeypatch):
        monkeypatch.setattr(reproduction, "reproduce", None)
        (tmp_path / name).mkdir()
        assert main(["reproduce", "figure-1", "--out", str(tmp_path)]) == 2
        assert f"{name}: is a folder, but must be a file" in capsys.readouterr().err


def test_a_seed_that_no_simulation_takes_is_refused_by_a_reproduction_at_once(monkeypatch):
    monkeypatch.setattr("arcbandit.experiments.played.simulate", None)
    with pytest.raises(InvalidInputError, match=r"seed must be a whole number from 0 to below 2\*\*63"):
        reproduction.reproduce(["no-free-exploration"], seed=2**63)
