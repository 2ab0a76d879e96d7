"""How much a test tries: a sample in `make test`, all that was promised in `make test-long`.

A test with a long version takes its numbers from here, by the fixture `cases` or by a function below. Thereby it has
the mark `long`, by which `make test-long` finds it. ARCBANDIT_LONG_TESTS=full asks for what takes too long for CI too.
"""

import os
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import pytest
from hypothesis import settings

Cases = TypeVar("Cases")

VARIABLE = "ARCBANDIT_LONG_TESTS"
LEVELS = {"": 0, "0": 0, "1": 1, "full": 2}


def level() -> int:
    """0 for a sample, 1 for the long version, 2 for the full one."""
    asked = os.environ.get(VARIABLE, "")
    if asked not in LEVELS:
        raise pytest.UsageError(f"{VARIABLE} must be one of {sorted(LEVELS)}, got {asked!r}.")
    return LEVELS[asked]


def how_many(few: Cases, many: Cases, all_of_them: Cases | None = None) -> Cases:
    """What the version that is asked for takes; the full version is the long one unless `all_of_them` is given."""
    return (few, many, many if all_of_them is None else all_of_them)[level()]


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
