"""Charts drawn by another process, so that drawing does not hold up the interpreter of this one."""

import contextlib
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple, Protocol

from arcbandit.report.charts import Chart, Matrix, is_zero
from arcbandit.report.figures import chart_file
from arcbandit.report.print_sizes import COLUMN_WIDTHS, column_file

# What the other process runs: modules are to be found there as they are here.
START = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from arcbandit.report.pencil import draw_for_others; draw_for_others()"
)
PATIENCE = 5.0  # seconds until a process that was told to end is stopped


class ChartFiles(NamedTuple):
    """Files of one chart: for a page, and by column at print size, if it fits."""

    svg: bytes
    columns: dict[str, bytes]


class Draw(Protocol):
    """What draws charts."""

    def __call__(self, chart: Chart | Matrix, *, for_print: bool) -> ChartFiles:
        """The files of a chart; those at print size only if asked for."""


def draw_here(chart: Chart | Matrix, *, for_print: bool) -> ChartFiles:
    """Draw a chart in this process; one of zeros throughout has no files."""
    if is_zero(chart):
        return ChartFiles(b"", {})
    columns = {column: column_file(chart, column) for column in (COLUMN_WIDTHS if for_print else ())}
    return ChartFiles(
        chart_file(chart, ".svg"), {column: content for column, content in columns.items() if content is not None}
    )


class _OtherProcess:
    """Draws in another process, one chart at a time; here, if that process could not be started or has ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        with contextlib.suppress(OSError):
            self._process = subprocess.Popen(
                [sys.executable, "-c", START], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
            _send(self._process.stdin, sys.path)

    def __call__(self, chart: Chart | Matrix, *, for_print: bool) -> ChartFiles:
        with self._lock:
            if self._process is not None:
                try:
                    _send(self._process.stdin, (chart, for_print))
                    files: ChartFiles = pickle.load(self._process.stdout)  # type: ignore[arg-type]
                except (OSError, EOFError, pickle.PickleError):
                    self.end()
                else:
                    return files
        # An error in the chart itself ends the other process, and shows here.
        return draw_here(chart, for_print=for_print)

    def end(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None:
            return
        for stream in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                stream.close()  # type: ignore[union-attr]
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def other_process() -> Iterator[Draw]:
    """What draws in another process, which ends with the context."""
    drawing = _OtherProcess()
    try:
        yield drawing
    finally:
        drawing.end()


def draw_for_others() -> None:
    """Answer each chart on the standard input with its files on the standard output, until the input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not get between the answers
    while True:
        try:
            chart, for_print = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        _send(answers, draw_here(chart, for_print=for_print))


def _send(stream: BinaryIO | Any, message: Any) -> None:
    pickle.dump(message, stream, protocol=pickle.HIGHEST_PROTOCOL)
    stream.flush()
