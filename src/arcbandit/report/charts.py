"""Charts as data: what a figure shows, for the drawing engine to draw and `alt_text` to put in words."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class Line(NamedTuple):
    """Values over an axis, optionally with an interval and a wider, lighter band."""

    label: str
    x: ArrayLike
    y: ArrayLike
    low: ArrayLike | None = None
    high: ArrayLike | None = None
    band_low: ArrayLike | None = None
    band_high: ArrayLike | None = None
    place: int | None = None  # in the order of colours; by default that of the policy of this name
    marks: bool = False  # whether each point is marked
    joined: bool = True
    point_names: tuple[str, ...] = ()
    below: bool = False  # whether a guide's name is below it
    dashed: bool = False  # whether a guide is dashed: one whose height counts, not its slope alone
    shade: str = ""  # what the interval is, in words, for a caption


class Range(NamedTuple):
    """A stretch of the horizontal axis, with a place in it."""

    low: float
    middle: float
    high: float


@dataclass(frozen=True)
class Chart:
    """One pair of axes."""

    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    guides: tuple[Line, ...] = ()  # grey
    x_log: bool = False
    y_log: bool = False
    spans: tuple[tuple[float, float, str], ...] = ()  # shaded stretches of the horizontal axis, with names
    marks_at: tuple[tuple[float, str], ...] = ()  # places on the horizontal axis, with names
    y_names: tuple[str, ...] = ()  # of the rows 0, 1, 2 ... from the top
    y_ticks: tuple[tuple[float, str], ...] = ()  # places on the vertical axis, with names; by default chosen
    x_low: float | None = None
    zero: bool = False  # whether both axes begin at zero
    legend: bool = False
    legend_above: bool = False  # names above the axes, in rows
    direct_labels: bool = True  # names at the right, level with the ends of the lines
    in_a_list: bool = False  # such names in the order of the lines instead, wherever these end
    end_labels: bool = False  # names where the lines end
    ranges: tuple[Range, ...] = ()  # one for each line, in rows under zero
    range_names: tuple[str, ...] = ()  # of their ends and middles
    in_words: str = ""  # the chart in words; by default where the lines end
    size: tuple[float, float] | None = None  # width and height of the axes in inches; by default that of other charts

    @property
    def heading(self) -> str:
        """The title, with the scale if it is not linear."""
        return f"{self.title}, log-log" if self.x_log and self.y_log and self.title else self.title


class Matrix(NamedTuple):
    """A table of shares, those of zero marked."""

    title: str
    values: list[list[float]]
    x_label: str
    y_label: str

    @property
    def heading(self) -> str:
        """The title."""
        return self.title


class Sheet(NamedTuple):
    """Charts that belong together, in one figure."""

    title: str
    charts: tuple[Chart | Matrix, ...]
    subtitle: str = ""
    in_words: str = ""  # by default those of each chart


def is_zero(chart: Chart | Matrix) -> bool:
    """Whether every line is zero throughout, so that there is nothing to see."""
    return (
        isinstance(chart, Chart) and bool(chart.lines) and all(not np.any(np.asarray(line.y)) for line in chart.lines)
    )


def shade_text(chart: Chart | Matrix) -> str:
    """What the shades of a chart are, in words; empty if there are none, or if its lines do not say."""
    if isinstance(chart, Matrix):
        return ""
    return " or ".join(dict.fromkeys(line.shade for line in chart.lines if line.low is not None and line.shade))


def alt_text(shown: Chart | Matrix | Sheet) -> str:
    """What a chart or a sheet of charts shows, in words, for readers who cannot see it."""
    if isinstance(shown, Sheet):
        return shown.in_words or " ".join(alt_text(chart) for chart in shown.charts)
    if isinstance(shown, Matrix):
        rows = "; ".join(
            f"{shown.y_label} {place}: {', '.join(f'{value:.3g}' for value in row)}"
            for place, row in enumerate(shown.values, start=1)
        )
        return f"{shown.title}, a table of shares, one column per {shown.x_label}. {rows}."
    kind = "Line plot" if any(line.joined for line in shown.lines) else "Dot plot"
    over = f"{shown.y_label or 'each name'} against {shown.x_label}"
    scale = " on logarithmic axes" if shown.x_log and shown.y_log else ""
    if shown.x_log and not shown.y_log:
        scale = " on a logarithmic axis"
    ends = "; ".join(f"{line.label} {float(np.asarray(line.y)[-1]):,.4g}" for line in shown.lines if line.joined)
    ending = f" At the right end: {ends}." if ends else ""
    if shown.in_words:
        ending = f" {shown.in_words}"
    spans = "".join(f" {name.capitalize()} from {low:.3g} to {high:.3g}." for low, high, name in shown.spans)
    levels = "".join(
        f" The dashed guide, {guide.label}, ends at {float(np.asarray(guide.y)[-1]):,.4g}."
        for guide in shown.guides
        if guide.dashed
    )
    title = f"{shown.title}. " if shown.title else ""
    return f"{title}{kind} of {over}{scale}.{ending}{levels}{spans}"
