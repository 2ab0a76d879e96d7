"""What a test costs: processor time of the test, its fixtures and processes it waited for, without compiling kernels.

Tests that take more than LIMIT have the mark `slow`, which `make quick` leaves out, or `system`, which `make test`
leaves out, too; those that have neither are named at the end of a run. Processor time, so that a busy machine makes no
test slow; without compiling, so that an empty cache makes none slow either (kernels that another process compiles
count, and are named then).
"""

import os
from collections.abc import Generator

import pytest
from numba.core import event

LIMIT = 0.75  # seconds
MARKS = ("slow", "system")  # of tests that may
KEY = "own_time"
STARTED = pytest.StashKey[float]()


def spent() -> float:
    """Seconds of processor time so far, those of finished children included."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


class Compiling(event.Listener):  # type: ignore[misc]
    """Adds up what compiling takes; kernels that are compiled for others count once."""

    def __init__(self) -> None:
        self.depth = 0
        self.started = 0.0
        self.total = 0.0

    def on_start(self, _: object) -> None:
        """Begin to count, unless compiling already."""
        if self.depth == 0:
            self.started = spent()
        self.depth += 1

    def on_end(self, _: object) -> None:
        """Count when the outermost is done."""
        self.depth -= 1
        if self.depth == 0:
            self.total += spent() - self.started


class OwnTime:
    """The plugin."""

    def __init__(self) -> None:
        self.compiling = Compiling()
        event.register("numba:compile", self.compiling)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, object, object]:
        """Fixtures are part of the first test that asks for them."""
        item.stash[STARTED] = spent() - self.compiling.total
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Note what the test took if it takes long and does not say so."""
        try:
            return (yield)
        finally:
            own = spent() - self.compiling.total - item.stash[STARTED]
            if own > LIMIT and not any(item.get_closest_marker(mark) for mark in MARKS):
                item.user_properties.append((KEY, own))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name the tests that should be marked; reports of workers arrive here too."""
        found = [
            (seconds, report.nodeid)
            for reports in terminalreporter.stats.values()
            for report in reports
            if getattr(report, "when", None) == "call"
            for key, seconds in report.user_properties
            if key == KEY
        ]
        if found:
            terminalreporter.section("should be marked slow")
            for seconds, name in sorted(found, reverse=True):
                terminalreporter.write_line(f"{seconds:6.1f} s of its own: {name}")
