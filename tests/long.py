"""How much a test tries: a sample in `make test`, all that was promised in `make test-long`.

A test with a long version takes its numbers from here, by the fixture `cases` or by a function below. Thereby it has
the mark `long`, by which `make test-long` finds it.
"""

import os
import zlib
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import pytest
from hypothesis import settings

Cases = TypeVar("Cases")

LONG = os.environ.get("ARCBANDIT_LONG_TESTS", "0") not in ("", "0")


# "2/3" is the second third of the tests.
PART = os.environ.get("ARCBANDIT_TEST_PART", "")


def in_part(name: str, part: str = PART) -> bool:
    """Whether a test belongs to the part that was asked for, by its name alone; without a part, all do."""
    if not part:
        return True
    number, parts = (int(one) for one in part.split("/"))
    return zlib.crc32(name.encode()) % parts == number % parts


def how_many(few: Cases, many: Cases) -> Cases:
    """`many` if ARCBANDIT_LONG_TESTS=1 asks for the long version, otherwise `few`."""
    return many if LONG else few


def each_of(few: Iterable[Any], many: Iterable[Any]) -> list[Any]:
    """Values for `pytest.mark.parametrize`, of which a sample is chosen."""
    return [
        pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.long)
        for value in how_many(few, many)
    ]


def examples(few: int, many: int, **others: Any) -> Callable[[Any], Any]:
    """Settings of Hypothesis for a test that draws so many examples."""

    def decorated(test: Any) -> Any:
        return pytest.mark.long(settings(max_examples=how_many(few, many), deadline=None, **others)(test))

    return decorated
