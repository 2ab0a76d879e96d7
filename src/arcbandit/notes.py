"""What a person is told while a call runs: warnings at their own line, and lines for those who wait."""

import logging
import sys
import threading
import time
import warnings
from types import TracebackType
from typing import Any, Self

from arcbandit.errors import ArcbanditWarning

PACKAGE = __name__.partition(".")[0]
LOG = logging.getLogger(PACKAGE)

SECONDS_BEFORE_PROGRESS = 2.0  # what is over sooner needs no line
SECONDS_BETWEEN_LINES = 0.2
WIDTH = 79  # of a line, so that no terminal breaks it


def warn(message: str, kind: type[ArcbanditWarning]) -> None:
    """Warn at the line outside this package that led here."""
    frame, depth = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == PACKAGE:
        frame, depth = frame.f_back, depth + 1
    warnings.warn(message, kind, stacklevel=depth)


def is_watched() -> bool:
    """Whether somebody may be looking: standard error is a terminal, or this is a notebook."""
    stream: Any = sys.stderr
    try:
        if stream is not None and stream.isatty():
            return True
    except (AttributeError, ValueError):  # an object that is no file, or one that is closed
        pass
    ask: Any = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return ask is not None and getattr(ask(), "kernel", None) is not None


def tell(message: str) -> None:
    """Say something to whoever is looking, otherwise to the log."""
    if is_watched():
        print(f"{PACKAGE}: {message}", file=sys.stderr, flush=True)
    else:
        LOG.info(message)


class ProgressLine:
    """A line on standard error that says how much is done and how long the rest takes, once that takes long.

    It may be called by several threads, and is gone at the end.
    """

    def __init__(self, total: int, unit: str, *, after: float = SECONDS_BEFORE_PROGRESS) -> None:
        self._total, self._unit, self._after = total, unit, after
        self._done = 0
        self._lock = threading.Lock()
        self._began = self._written = time.monotonic()
        self._first: float | None = None  # when the first part was done: what came before may be compiling
        self._done_first = 0
        self._shown = False

    def __call__(self, done: int) -> None:
        """Count what was done since the last call."""
        with self._lock:
            now = time.monotonic()
            self._done += done
            if self._first is None:
                self._first, self._done_first = now, self._done
            waited = now - self._began >= self._after
            if waited and (not self._shown or now - self._written >= SECONDS_BETWEEN_LINES):
                self._written, self._shown = now, True
                self._write(self._line(now))

    def _line(self, now: float) -> str:
        share = min(self._done / self._total, 1.0)
        line = f"{PACKAGE}: {share:4.0%} of {self._total:,} {self._unit}"
        assert self._first is not None
        counted = self._done - self._done_first
        if counted > 0:
            left = (now - self._first) * (self._total - self._done) / counted
            line += f", about {duration(left)} left"
        return line

    def _write(self, line: str) -> None:
        stream: Any = sys.stderr
        if stream is not None:
            stream.write("\r" + line[:WIDTH].ljust(WIDTH))
            stream.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            self._write("")
            sys.stderr.write("\r")


def duration(seconds: float) -> str:
    """A time as people say it: 3 s, 5 min, 2 h.

    >>> duration(3.2), duration(90), duration(7300)
    ('3 s', '1.5 min', '2 h')
    """
    for size, unit in ((3600.0, "h"), (60.0, "min")):
        if seconds >= size:
            return f"{seconds / size:.2g} {unit}"
    return f"{seconds:.0f} s"
