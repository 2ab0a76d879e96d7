"""Numbers, shares and names as a person reads them."""

import math
from collections.abc import Iterable, Mapping, Sequence

SHORT_NAME = 16


def figures(values: Iterable[float]) -> list[str]:
    """The numbers of one column: five digits of the largest, the same decimals in each, no trailing zeros."""
    numbers = [float(value) for value in values]
    largest = max((abs(number) for number in numbers if math.isfinite(number)), default=0.0)
    if not 1e-4 <= largest < 1e12:
        return [f"{number:.4g}" for number in numbers]
    decimals = min(max(4 - math.floor(math.log10(largest)), 0), 8)
    while decimals and all(round(number, decimals) == round(number, decimals - 1) for number in numbers):
        decimals -= 1
    return [_figure(number, decimals) for number in numbers]


def _figure(number: float, decimals: int) -> str:
    if number == 0.0:
        return "0"
    # A number that is not zero must not read as zero.
    return f"{number:.0e}" if round(number, decimals) == 0.0 else f"{number:,.{decimals}f}"


def same_decimals(columns: Mapping[str, Sequence[float]]) -> dict[str, list[str]]:
    """Columns of one unit, with the same number of decimals."""
    texts = iter(figures(number for column in columns.values() for number in column))
    return {name: [next(texts) for _ in column] for name, column in columns.items()}


def figure(value: float) -> str:
    """One number, with at most five digits."""
    return figures([value])[0]


def label(name: str, longest: int = SHORT_NAME) -> str:
    """A name on one line; if too long, its middle is left out, as numbers are often at the end."""
    shown = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in name)
    if len(shown) <= longest:
        return shown
    tail = longest // 3
    return f"{shown[: longest - 1 - tail]}…{shown[-tail:]}"


def percent(share: float, *, decimals: int) -> str:
    """A share of the rounds; only 0 reads as 0% and only 1 as 100%."""
    if share == 1.0:
        return "100%"
    least = 10.0**-decimals
    if 0.0 < 100 * share < least / 2:
        return f"<{least:.{decimals}f}%"
    if 100 - least / 2 < 100 * share < 100:
        return f">{100 - least:.{decimals}f}%"
    return f"{100 * share:.{decimals}f}%"


def decimals_of(shares: Iterable[float]) -> int:
    """How many decimals the percentages of a table need: none, or one."""
    return 0 if all(abs(100 * share - round(100 * share)) < 1e-6 for share in shares) else 1
