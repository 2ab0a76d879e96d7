"""Progress of simulations: by the caller's function, as a line for a person who waits, or not at all."""

import threading

import joblib
import numpy as np
import pytest

from arcbandit import paper_instance, simulate
from arcbandit.errors import InvalidInputError
from arcbandit.notes import ProgressLine
from arcbandit.simulation import epoch
from tests.test_notes import terminal

NU = paper_instance("nu")


@pytest.fixture
def often(monkeypatch):
    """A look at progress every hundred rounds."""
    monkeypatch.setattr(epoch, "WORK_BETWEEN_LOOKS", 900)


@pytest.mark.parametrize("jobs", [1, 2, None])
def test_is_reported_inside_an_epoch_whatever_the_workers(jobs, often):
    seen = []
    traced = simulate(NU, ["blp", "oplp"], 1000, 3, jobs=jobs, progress=seen.append)
    assert sum(seen) == 2 * 3 * 1000
    assert max(seen) <= 100
    untold = simulate(NU, ["blp", "oplp"], 1000, 3, jobs=jobs, progress=False)
    assert all(np.array_equal(traced.records[policy], untold.records[policy]) for policy in traced.policies)


def test_is_reported_by_one_worker_at_a_time(often):
    inside, most = [0], [0]
    lock = threading.Lock()

    def report(rounds):
        with lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        threading.Event().wait(0.001)
        with lock:
            inside[0] -= 1

    simulate(NU, ["blp"], 1000, 8, jobs=4, progress=report)
    assert most[0] == 1


@pytest.mark.slow
def test_workers_in_other_processes_report_each_epoch():
    """A function cannot be called from there, and may not be pickled."""
    seen = []
    with joblib.parallel_config(backend="loky"):
        simulate(NU, ["doc"], 50, 3, jobs=2, progress=lambda rounds: seen.append(rounds))
    assert seen == [50, 50, 50]


def test_an_error_of_the_function_reaches_the_caller(often):
    def fail(rounds):
        raise ZeroDivisionError

    for jobs in (1, 2):
        with pytest.raises(ZeroDivisionError):
            simulate(NU, ["blp"], 1000, 2, jobs=jobs, progress=fail)


class TestAPersonWhoWaits:
    def test_sees_nothing_of_a_short_run(self, monkeypatch):
        stream = terminal(monkeypatch)
        simulate(NU, ["blp"], 100, 1)
        assert stream.getvalue() == ""

    def test_sees_a_line_of_a_long_one(self, monkeypatch, often):
        stream = terminal(monkeypatch)
        monkeypatch.setattr("arcbandit.notes.SECONDS_BETWEEN_LINES", 0.0)
        monkeypatch.setitem(ProgressLine.__init__.__kwdefaults__, "after", 0.0)
        simulate(NU, ["blp"], 1000, 2, jobs=1)
        assert "50% of 2,000 rounds" in stream.getvalue()

    def test_sees_nothing_if_told_so(self, monkeypatch, often):
        stream = terminal(monkeypatch)
        simulate(NU, ["blp"], 1000, 2, progress=False)
        assert stream.getvalue() == ""

    def test_sees_it_at_once_if_asked_for(self, monkeypatch):
        stream = terminal(monkeypatch)
        simulate(NU, ["blp"], 100, 1, progress=True)
        assert "100% of 100 rounds" in stream.getvalue()

    def test_nobody_is_there_without_a_terminal(self, capsys, often, monkeypatch):
        monkeypatch.setitem(ProgressLine.__init__.__kwdefaults__, "after", 0.0)
        simulate(NU, ["blp"], 1000, 2)
        assert capsys.readouterr().err == ""


def test_must_be_a_function_or_a_truth():
    with pytest.raises(InvalidInputError, match="progress must be a function"):
        simulate(NU, ["blp"], 10, progress=3)
