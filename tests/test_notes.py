import io
import logging
import sys
import types
import warnings

import pytest

from arcbandit import notes
from arcbandit.errors import ArcbanditWarning


class Terminal(io.StringIO):
    def isatty(self):
        return True


def terminal(monkeypatch):
    """Standard error as a terminal; not a fixture, because pytest sets its own stream after those."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test sets."""
    now = types.SimpleNamespace(seconds=0.0)
    monkeypatch.setattr(notes.time, "monotonic", lambda: now.seconds)
    return now


def test_a_warning_points_to_the_line_outside_the_package():
    package = {"__name__": "arcbandit.somewhere", "warn": notes.warn, "Kind": ArcbanditWarning}
    exec("def called(depth):\n    warn('careful', Kind) if depth == 0 else called(depth - 1)", package)
    for depth in (0, 1, 5):
        with pytest.warns(ArcbanditWarning) as said:
            package["called"](depth)
        assert [note.filename for note in said] == [__file__]


class TestWatching:
    def test_a_terminal_is_watched_and_a_file_is_not(self, monkeypatch):
        terminal(monkeypatch)
        assert notes.is_watched()
        monkeypatch.setattr(sys, "stderr", io.StringIO())
        assert not notes.is_watched()

    @pytest.mark.parametrize("stream", [None, object()])
    def test_no_stream_at_all_is_not_watched(self, stream, monkeypatch):
        """As under pythonw, or with an object of somebody's own."""
        monkeypatch.setattr(sys, "stderr", stream)
        assert not notes.is_watched()

    def test_a_closed_stream_is_not_watched(self, monkeypatch):
        stream = io.StringIO()
        stream.close()
        monkeypatch.setattr(sys, "stderr", stream)
        assert not notes.is_watched()

    @pytest.mark.parametrize(("shell", "watched"), [(types.SimpleNamespace(kernel=object()), True), (None, False)])
    def test_a_notebook_is_watched(self, shell, watched, monkeypatch):
        monkeypatch.setattr(sys, "stderr", io.StringIO())
        monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
        assert notes.is_watched() is watched

    def test_what_is_told_goes_to_the_terminal_or_to_the_log(self, monkeypatch, caplog):
        stream = terminal(monkeypatch)
        with caplog.at_level(logging.INFO, logger="arcbandit"):
            notes.tell("compiling")
            assert stream.getvalue() == "arcbandit: compiling\n"
            assert caplog.messages == []
            monkeypatch.setattr(sys, "stderr", io.StringIO())
            notes.tell("compiling")
            assert sys.stderr.getvalue() == ""
            assert caplog.messages == ["compiling"]


class TestTheProgressLine:
    def test_says_nothing_of_what_is_soon_over(self, clock, monkeypatch):
        stream = terminal(monkeypatch)
        with notes.ProgressLine(10, "rounds") as line:
            for _ in range(10):
                clock.seconds += 0.19
                line(1)
        assert stream.getvalue() == ""

    def test_says_how_much_is_done_and_how_long_the_rest_takes(self, clock, monkeypatch):
        stream = terminal(monkeypatch)
        with notes.ProgressLine(1000, "rounds") as line:
            for _ in range(5):
                clock.seconds += 1.0
                line(100)
            said = [part.strip() for part in stream.getvalue().split("\r") if part]
        assert said == [
            "arcbandit:  20% of 1,000 rounds, about 8 s left",
            "arcbandit:  30% of 1,000 rounds, about 7 s left",
            "arcbandit:  40% of 1,000 rounds, about 6 s left",
            "arcbandit:  50% of 1,000 rounds, about 5 s left",
        ]
        assert stream.getvalue().split("\r")[-2].strip() == ""  # it leaves an empty line

    def test_is_not_written_more_often_than_anybody_reads(self, clock, monkeypatch):
        stream = terminal(monkeypatch)
        with notes.ProgressLine(10**6, "rounds", after=0.0) as line:
            for _ in range(1000):
                clock.seconds += 0.001
                line(1)
            assert 1 <= stream.getvalue().count("\r") <= 6

    def test_fits_any_terminal(self, clock, monkeypatch):
        stream = terminal(monkeypatch)
        with notes.ProgressLine(10**60, "rounds", after=0.0) as line:
            line(1)
        assert max(map(len, stream.getvalue().split("\r"))) <= 79

    def test_is_gone_after_an_error_too(self, clock, monkeypatch):
        stream = terminal(monkeypatch)

        def interrupted():
            with notes.ProgressLine(10, "rounds", after=0.0) as line:
                line(1)
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            interrupted()
        assert stream.getvalue().endswith("\r" + 79 * " " + "\r")


def test_a_warning_of_ours_can_be_silenced_by_its_class():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ArcbanditWarning)
        notes.warn("careful", ArcbanditWarning)
