"""Whole numbers on the command line, which may be written as 50000, 50_000 or 5e4."""

from collections.abc import Sequence
from typing import Any


def count(_: Any, tokens: Sequence[Any]) -> int:
    """The whole number of an option; the parser's own conversion would round 1.5 and refuse 5e4."""
    text = tokens[0].value
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
        exact = int(number) == number
    except (ValueError, OverflowError):  # not a number, or infinite
        exact = False
    if not exact:
        raise ValueError(f"must be a whole number, got {text!r}")
    return int(number)
