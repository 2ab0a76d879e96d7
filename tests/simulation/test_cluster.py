"""The benchmark and the reproduction on clusters of two workers: bit for bit what one machine plays."""

import importlib.util
import json
import subprocess
import sys

import pytest

from arcbandit.cli import main
from arcbandit.errors import InvalidInputError, MissingExtraError
from arcbandit.simulation.cluster import checked_cluster, on_cluster

BENCHMARK = "benchmark small --policy olp --policy blp --half tuning --instances 2 --epochs 4 --horizon 20000"
REPRODUCTION = "reproduce stuck-runs --quick"
VERBS = pytest.mark.parametrize("words", [BENCHMARK, REPRODUCTION], ids=["benchmark", "reproduce"])

# What somebody types, in a process of its own; a thread waits until a worker is at work, and then kills it.
KILLING = """
import os, signal, sys, threading, time
from arcbandit.cli import main
from dask.distributed import Client

def kill_one():
    while True:
        try:
            client = Client.current()
            if client.status == "running":
                break
        except ValueError:
            pass
        time.sleep(0.01)
    processes = client.run(os.getpid)
    while True:
        at_work = [worker for worker, calls in client.processing().items() if calls]
        if at_work:
            os.kill(processes[at_work[0]], signal.SIGKILL)
            print("killed one of", len(processes), file=sys.stderr)
            return
        time.sleep(0.002)

if __name__ == "__main__":
    threading.Thread(target=kill_one, daemon=True).start()
    sys.exit(main(sys.argv[1:]))
"""


def numbers_in(folder):
    """Every number that a run left in its folder, but for how long it took and the page made of them."""
    tables = {path.name: path.read_text() for path in sorted(folder.glob("*.csv"))}
    results = folder / "results.json"
    if results.exists():
        tables["results"] = json.dumps(_without_times(json.loads(results.read_text())))
    assert tables
    return tables


def _without_times(value):
    if isinstance(value, dict):
        return {name: _without_times(one) for name, one in value.items() if name not in ("seconds", "time")}
    return [_without_times(one) for one in value] if isinstance(value, list) else value


def played_alone(words, folder, capsys):
    assert main([*words.split(), "--out", str(folder), "--jobs", "1"]) == 0
    capsys.readouterr()
    return numbers_in(folder)


def run(arguments):
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.system
@VERBS
def test_a_worker_of_dask_is_killed_and_nothing_is_lost(words, tmp_path, capsys):
    """Two workers, one of them killed while it plays: the numbers are those of one machine, to the last bit."""
    script = tmp_path / "killing.py"
    script.write_text(KILLING)
    done = run([str(script), *words.split(), "--out", str(tmp_path / "cluster"), "--cluster", "dask:2"])
    assert "killed one of 2" in done.stderr
    assert numbers_in(tmp_path / "cluster") == played_alone(words, tmp_path / "alone", capsys)


@pytest.mark.slow
@VERBS
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is large and not locked: `make test-ray`")
def test_ray_plays_the_same(words, tmp_path, capsys):
    run(["-m", "arcbandit", *words.split(), "--out", str(tmp_path / "cluster"), "--cluster", "ray:2"])
    assert numbers_in(tmp_path / "cluster") == played_alone(words, tmp_path / "alone", capsys)


@pytest.mark.parametrize(
    "name", ["", "dask:", "dask:0", "dask:two", "spark", "tcp://host", "host:8786", "ray://host", 2]
)
def test_what_is_no_cluster_is_refused(name):
    with pytest.raises(InvalidInputError, match=r"^--cluster must be dask:2 or ray:2"):
        checked_cluster("--cluster", name)


@pytest.mark.parametrize(
    "name", [None, "dask", "dask:2", "ray", "ray:16", "ray:auto", "ray://head:10001", "tcp://scheduler:8786"]
)
def test_what_may_be_a_cluster_is_taken(name):
    assert checked_cluster("--cluster", name) == name


def test_a_cluster_that_does_not_answer_is_named(monkeypatch):
    monkeypatch.setattr("arcbandit.simulation.cluster.SECONDS_TO_ANSWER", 0.2)
    with (
        pytest.raises(InvalidInputError, match=r"tcp://127.0.0.1:1: no scheduler of Dask answers"),
        on_cluster("tcp://127.0.0.1:1"),
    ):
        pass


@pytest.mark.parametrize(("module", "name"), [("dask.distributed", "dask:2"), ("ray", "ray:2")])
def test_a_missing_extra_is_named(module, name, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"{module} is not installed"), on_cluster(name):
        pass
