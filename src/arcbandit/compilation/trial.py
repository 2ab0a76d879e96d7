"""Small kernels on which a way to compile is tried before it is used."""

import warnings
from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np


class Sample(NamedTuple):
    """Arrays in a tuple, as kernels take them."""

    values: Any
    places: Any


def picked(sample, place):
    """The value at the index stored at `place`."""
    return sample.values[sample.places[place]]


def summed(sample, count):
    """The sum of the first `count` picked values."""
    total = 0.0
    for place in range(count):
        total += picked(sample, place)
    return total


def largest(sample, count):
    """The largest of the first `count` picked values."""
    found = picked(sample, 0)
    for place in range(1, count):
        found = max(found, picked(sample, place))
    return found


def sum_and_count(sample, count):
    """Write the sum to the first value; return the count."""
    sample.values[0] = summed(sample, 2) / picked(sample, 0) + summed(sample, count) + largest(sample, count)
    return count


def try_out(compiler: Any, entry_of: Callable[[Any], Any], *, cached: bool) -> None:
    """Compile a kernel of each kind, and raise if that fails or if the code computes something else.

    `entry_of` compiles the one that Python calls and, if `cached`, must find its code on disk the second time.
    """
    compiled: dict[str, Any] = {}
    for function, kind in ((picked, compiler.copied), (summed, compiler.called), (largest, compiler.shared)):
        compiled[function.__name__] = kind(_calling(function, compiled))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the kernels themselves will show any warning
        for turn in range(2 if cached else 1):
            entry = entry_of(_calling(sum_and_count, compiled))
            sample = Sample(np.array([0.0, 3.0, 4.0, 5.0]), np.array([2, 1, 3]))
            found = (entry(sample, 3), float(sample.values[0]))
            if found != (3, 18.75):
                raise RuntimeError(f"a kernel gave {found}, but must give (3, 18.75)")
            if turn == 1 and sum(entry.stats.cache_hits.values()) != 1:
                raise RuntimeError("the code of a kernel was stored, but could not be loaded again")


def _calling(function: Any, compiled: dict[str, Any]) -> Any:
    """A copy of a function in which names refer to compiled kernels."""
    copy = FunctionType(function.__code__, {**globals(), **compiled}, function.__name__)
    copy.__module__, copy.__qualname__ = function.__module__, function.__qualname__
    return copy
