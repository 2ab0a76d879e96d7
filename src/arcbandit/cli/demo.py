"""`arcbandit demo`: the decision service at work on a film platform, with its dashboard."""

import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from arcbandit.cli.serve import needs_service
from arcbandit.errors import InvalidInputError
from arcbandit.inputs.values import positive

HOST = "127.0.0.1"
TICK = 1.0  # seconds between signs of life while a compiler runs
PATIENCE = 5.0  # seconds before the first of them


def demo(
    *,
    store: Annotated[
        str | None, Parameter(show_default=False, help="Keep the store in this file; by default it is thrown away.")
    ] = None,
    port: Annotated[int, Parameter(help="The port; 0 takes a free one.")] = 0,
    rate: Annotated[float, Parameter(help="Visits per second.")] = 100.0,
    browse: Annotated[
        bool, Parameter(negative=(), show_default=False, help="Open the dashboard in a browser.")
    ] = False,
) -> None:
    """Serve a film platform with simulated visitors, and show its dashboard, until Ctrl-C.

    Visitors ask for decisions over HTTP as a platform would; their rewards come late, some twice, a few never. The
    service is open to whoever is on this machine, and to nobody else.
    """
    needs_service()
    rate = positive("rate", rate)
    if not 0 <= port <= 65535:
        raise InvalidInputError(f"port must be from 0 to 65535, got {port}.")
    if store is not None:
        _serve(store, port, rate, browse)
        return
    with tempfile.TemporaryDirectory(prefix="arcbandit-demo-", ignore_cleanup_errors=True) as folder:
        _serve(str(Path(folder) / "demo.db"), port, rate, browse)


def _serve(store: str, port: int, rate: float, browse: bool) -> None:
    from arcbandit.service.demo.traffic import Traffic
    from arcbandit.service.server import run, wired

    traffic: Traffic | None = None
    waiting = Waiting()

    def begin(port: int) -> None:
        nonlocal traffic

        def shown() -> None:
            waiting.end()
            address = f"http://{HOST}:{port}/"
            print(f"The dashboard is at {address} with {rate:g} visits per second. Ctrl-C stops it.", flush=True)
            if browse:
                import webbrowser

                webbrowser.open(address)

        traffic = Traffic(HOST, port, rate=rate, on_plan=shown, on_failure=_end)
        traffic.start()
        waiting.start()

    running = wired(store, is_open=True)
    try:
        run(running, HOST, port, begin)
    finally:
        waiting.end()
        if traffic is not None:
            traffic.stop()
    if traffic is not None and traffic.failure is not None:
        raise InvalidInputError(f"The platform could not be visited: {traffic.failure}")


def _end() -> None:
    """End the service as Ctrl-C does."""
    os.kill(os.getpid(), signal.SIGINT)


class Waiting(threading.Thread):
    """Says on standard error that something goes on, until the first plan is there."""

    def __init__(self) -> None:
        super().__init__(name="waiting", daemon=True)
        self._over = threading.Event()

    def run(self) -> None:
        """Count the seconds, in one line if that is a terminal's, else in one line every ten seconds."""
        began = time.monotonic()
        line = "The planner starts; compiling takes a minute, the first time only: {:.0f} s"
        watched = sys.stderr.isatty()
        wait, seconds = PATIENCE, 0.0
        while not self._over.wait(wait):
            seconds = time.monotonic() - began
            wait = TICK if watched else 10.0
            print(line.format(seconds), end="\r" if watched else "\n", file=sys.stderr, flush=True)
        if seconds and watched:
            print(" " * 79, end="\r", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Say no more."""
        self._over.set()
        if self.is_alive() and threading.current_thread() is not self:
            self.join()
