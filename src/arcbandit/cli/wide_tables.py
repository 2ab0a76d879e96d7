"""Tables that lose no number in a narrow terminal: those too wide are printed as several, one below the other."""

from collections.abc import Callable, Sequence

from rich.console import Console
from rich.table import Table

FAR = 100_000  # columns: wider than any table, as a measure never exceeds the width it is given


def natural_width(console: Console, table: Table) -> int:
    """How wide a table is if nothing is cut."""
    return console.measure(table, options=console.options.update(width=FAR)).maximum


def print_whole(console: Console, table: Table) -> None:
    """Print a table uncut, though it be wider than the terminal."""
    usual = console.width
    console.width = max(usual, natural_width(console, table))
    try:
        console.print(table, crop=False)
    finally:
        console.width = usual


def print_in_parts(console: Console, make: Callable[[Sequence[str]], Table], headings: Sequence[str]) -> None:
    """Print a table of these columns, after those that `make` always adds: in parts that fit, if all do not."""
    left = list(headings)
    while left:
        count = len(left)
        while count > 1 and natural_width(console, make(left[:count])) > console.width:
            count -= 1
        print_whole(console, make(left[:count]))
        left = left[count:]
        if left:
            console.print()
