"""Time as the service sees it: clocks are passed in, and none of them can jump."""

import time
from collections.abc import Callable
from typing import NamedTuple

SECOND = 1_000_000  # times are whole microseconds


class Clocks(NamedTuple):
    """Where time comes from; tests give their own."""

    wall: Callable[[], float] = time.time  # seconds since 1970, which an administrator may change
    monotonic: Callable[[], float] = time.monotonic  # seconds since some moment


class StoreTime:
    """The time by which a store measures reward windows, in microseconds since 1970.

    It starts from the wall clock, or from the last time in the store if that is later, and goes on by the monotonic
    clock: a wall clock that is set while the service runs moves no window, and what was too late once stays so.

    >>> time = StoreTime(Clocks(wall=lambda: 10.0, monotonic=lambda: 5.0), last=12 * SECOND)
    >>> time.now()
    12000000
    """

    def __init__(self, clocks: Clocks, last: int = 0) -> None:
        self._monotonic = clocks.monotonic
        self._start = max(round(clocks.wall() * SECOND), last)
        self._began = clocks.monotonic()

    def now(self) -> int:
        """The time now."""
        return self._start + round((self._monotonic() - self._began) * SECOND)
