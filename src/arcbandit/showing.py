"""How results look in a notebook and in a line of text: small tables and heat-maps in plain HTML, without scripts.

Names are escaped, and long tables are cut with a count of what is left out, so that a cell of a notebook stays small.
"""

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

MOST_ROWS = 20
MOST_COLUMNS = 20
LONGEST_NAME = 40
CELL = "padding:2px 8px;text-align:{side};white-space:nowrap"
# The colours of a heat-map, from a share of 0 to one of 1: white to a blue that the colour-blind can tell from it.
LOW_COLOUR, HIGH_COLOUR = (255, 255, 255), (0, 114, 178)
DARK = 0.6  # from here on, numbers are white


def number(value: float, digits: int = 5) -> str:
    """A number as people read it: at most five digits, thousands separated.

    >>> number(1234567.0), number(0.25), number(1 / 3), number(0.0), number(1e-12)
    ('1,234,567', '0.25', '0.33333', '0', '1e-12')
    """
    if not math.isfinite(value):
        return {math.inf: "∞", -math.inf: "−∞"}.get(value, "–")
    size = abs(value)
    if size >= 10 ** (digits - 1):
        return f"{value:,.0f}" if size < 1e15 else f"{value:.{digits - 1}g}"
    return f"{value:,.{digits}g}"


def cell(value: Any) -> str:
    """The text of a cell, not yet escaped."""
    if value is None:
        return "–"
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return f"{value:,}"
    if isinstance(value, float | np.floating):
        return number(float(value))
    if isinstance(value, list | tuple):
        return short(", ".join(map(cell, value)))
    return short(str(value))


def short(name: str, longest: int = LONGEST_NAME) -> str:
    """A name on one line whose middle is left out if it is long.

    >>> short("a" * 30 + "b" * 30, 11)
    'aaaaaa…bbbb'
    """
    line = " ".join(str(name).split())
    if len(line) <= longest:
        return line
    tail = (longest - 1) * 2 // 5
    return f"{line[: longest - 1 - tail]}…{line[-tail:]}"


def html_of(*parts: str) -> str:
    """The parts one below the other, as `_repr_html_` returns them."""
    return f'<div style="font-family:sans-serif;font-size:13px">{"".join(parts)}</div>'


def html_title(title: str, remark: str = "") -> str:
    """A heading with a remark in a quieter colour."""
    quiet = f' <span style="color:#666;font-weight:normal">{_safe(remark)}</span>' if remark else ""
    return f'<div style="font-weight:bold;margin:6px 0 2px">{_safe(title)}{quiet}</div>'


def html_table(columns: Mapping[str, Sequence[Any]], *, most_rows: int = MOST_ROWS) -> str:
    """A table of columns of equal length, numbers to the right."""
    names = list(columns)[:MOST_COLUMNS]
    n_rows = len(columns[names[0]]) if names else 0
    sides = {name: "right" if _holds_numbers(columns[name][:most_rows]) else "left" for name in names}
    head = "".join(_th(name, sides[name]) for name in names)
    body = "".join(
        f"<tr>{''.join(_td(cell(columns[name][row]), sides[name]) for name in names)}</tr>"
        for row in range(min(n_rows, most_rows))
    )
    left_out = _left_out(n_rows - most_rows, "row") + _left_out(len(columns) - MOST_COLUMNS, "column")
    return f'<table style="border-collapse:collapse"><tr>{head}</tr>{body}</table>{left_out}'


def html_facts(facts: Mapping[str, Any]) -> str:
    """Names with their values, one per line."""
    lines = "".join(f"<tr>{_td(name, 'left')}{_td(cell(value), 'right')}</tr>" for name, value in facts.items())
    return f'<table style="border-collapse:collapse">{lines}</table>'


def html_heat_map(
    values: ArrayLike,
    rows: Sequence[Any],
    columns: Sequence[Any],
    *,
    corner: str = "",
    highest: float | None = None,
    percent: bool = True,
) -> str:
    """A matrix with cells coloured from 0 (white) to the highest value: shares, as percentages, or other numbers."""
    matrix = np.asarray(values, dtype=np.float64)
    top = float(np.nanmax(np.abs(matrix), initial=0.0)) if highest is None else highest
    shown_rows, shown_columns = min(len(rows), MOST_ROWS), min(len(columns), MOST_COLUMNS)
    head = _th(corner, "left") + "".join(_th(cell(name), "right") for name in columns[:shown_columns])
    body = []
    for row in range(shown_rows):
        cells = "".join(_heat(float(value), top, percent=percent) for value in matrix[row, :shown_columns])
        body.append(f"<tr>{_th(cell(rows[row]), 'left')}{cells}</tr>")
    left_out = _left_out(len(rows) - shown_rows, "row") + _left_out(len(columns) - shown_columns, "column")
    return f'<table style="border-collapse:collapse"><tr>{head}</tr>{"".join(body)}</table>{left_out}'


def text_table(columns: Mapping[str, Sequence[Any]], *, most_rows: int = MOST_ROWS) -> str:
    """The same table as lines of text, numbers to the right.

    >>> print(text_table({"policy": ["olp", "blp"], "R": [1234.5, 8.0]}))
    policy        R
    olp     1,234.5
    blp           8
    """
    texts = {name: [cell(value) for value in column[:most_rows]] for name, column in columns.items()}
    widths = {name: max(map(len, [name, *column])) for name, column in texts.items()}
    aligned = {name: str.rjust if _holds_numbers(columns[name][:most_rows]) else str.ljust for name in columns}
    n_rows = len(next(iter(columns.values()))) if columns else 0
    lines = [[aligned[name](name, widths[name]) for name in columns]]
    lines += [
        [aligned[name](texts[name][row], widths[name]) for name in columns] for row in range(min(n_rows, most_rows))
    ]
    more = [f"... and {n_rows - most_rows:,} more"] if n_rows > most_rows else []
    return "\n".join(["  ".join(line).rstrip() for line in lines] + more)


def counted(count: int, thing: str) -> str:
    """A number of things in words: 1 arm, 3 arms."""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def _heat(value: float, top: float, *, percent: bool) -> str:
    share = 0.0 if not math.isfinite(value) or top <= 0.0 else min(max(value / top, 0.0), 1.0)
    colour = ",".join(str(round(low + share * (high - low))) for low, high in zip(LOW_COLOUR, HIGH_COLOUR, strict=True))
    text = _percent(value) if percent else number(value, 4)
    ink = "#fff" if share > DARK else "#222"
    return f'<td style="{CELL.format(side="right")};background:rgb({colour});color:{ink}">{_safe(text)}</td>'


def _percent(share: float) -> str:
    if not math.isfinite(share):
        return "–"
    if share == 0.0:
        return "·"
    if share < 0.001:
        return "<0.1%"
    return "100%" if share >= 1.0 else f"{min(100 * share, 99.9):.3g}%"


def _th(text: str, side: str) -> str:
    return f'<th style="{CELL.format(side=side)}">{_safe(text)}</th>'


def _td(text: str, side: str) -> str:
    return f'<td style="{CELL.format(side=side)}">{_safe(text)}</td>'


def _left_out(count: int, thing: str) -> str:
    return f'<div style="color:#666">… and {counted(count, f"more {thing}")}</div>' if count > 0 else ""


def _safe(text: str) -> str:
    return html.escape(text, quote=True)


def _holds_numbers(values: Iterable[Any]) -> bool:
    return all(
        value is None or (isinstance(value, int | float | np.number) and not isinstance(value, bool))
        for value in values
    )
