"""How far a simulation is: told to the caller's function, to a person who waits, or to nobody."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from arcbandit.notes import ProgressLine, is_watched
from arcbandit.simulation.epoch import Progress


@contextmanager
def reporting(progress: "Progress | bool | None", rounds: int) -> Iterator[Progress | None]:
    """What is called with the number of rounds played; None if nobody wants to know."""
    if progress is False or (progress is None and not is_watched()):
        yield None
    elif progress is None:
        with ProgressLine(rounds, "rounds") as line:
            yield line
    elif progress is True:
        with ProgressLine(rounds, "rounds", after=0.0) as line:
            yield line
    else:
        yield progress


def one_at_a_time(progress: Progress) -> Progress:
    """The same function for workers that are threads: each call waits until the others have returned."""
    lock = threading.Lock()

    def report(rounds: int) -> None:
        with lock:
            progress(rounds)

    return report
