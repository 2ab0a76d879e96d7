"""The figures and tables of the reproduction: charts as data, and how they are drawn.

A chart is drawn on its own for a page, where a phone shows one below the other, and beside the others of its figure for
a file, in the paper's layout.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arcbandit.report.plots import (
    BOTTOM,
    COLOURS,
    GAP,
    GUIDE_COLOUR,
    GUIDE_DISTANCE,
    GUIDE_TEXT_COLOUR,
    HEADING_HEIGHT,
    LABEL_SIZE,
    LABEL_START,
    LEFT,
    LETTER_WIDTH,
    LINE_SPACING,
    LINE_STYLES,
    MARKERS,
    PANEL_HEIGHT,
    PANEL_WIDTH,
    TOP,
    _curve,
    _figure,
    _style,
    rendered,
    spread,
)
from arcbandit.report.tables import COLUMNS, broken_label, result_rows
from arcbandit.simulation.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

# Policies look the same in every figure; those that share a colour differ in style and marker.
_ORDER = ("OLP", "OPLP", "Optimistic3", "DOC", "SPOC", "BLP", "ThompsonLP")
_LATER = ("SGOC", "LOE2D", "LagrangeCB", "Greedy", "DriftPlusPenalty", "BanditQ")
PLACES = {name: place for place, name in enumerate(_ORDER + _LATER)}

COLUMNS_OF_A_FIGURE = 3
PAGE_LABELS = 1.2  # inches
PAGE_WIDTH = 2.8  # inches of the axes on a page: narrow, so that letters stay legible on a phone
LATE = 100  # a guide shows a slope over the last two decades
RANGE_ROW = 0.13  # of the height above zero, a row of ranges
ROW_HEIGHT = 0.24  # inches, of a chart whose vertical axis holds names
NAME_LETTER = 0.075  # inches, of such a name
SPAN_COLOURS = ("#F1F6FA", "#F7ECE6")
LOWEST = 1e-8  # of the largest value, below which a logarithmic chart shows nothing
NOTHING = 1e-9  # a share below this is none

_METRICS = {
    "regret": ("Regret R", "revenue, summed over rounds"),
    "violation": ("Violation V", "revenue, summed over rounds, floors"),
    "performance": ("Performance", "revenue, summed over rounds"),
    "regret_plus_violation": ("R + V", "revenue, summed over rounds"),
}


class Line(NamedTuple):
    """Values over an axis, with an interval where there is one."""

    label: str
    x: ArrayLike
    y: ArrayLike
    low: ArrayLike | None = None
    high: ArrayLike | None = None
    place: int | None = None  # in the order of colours; by default that of the policy called so
    marks: bool = False  # whether each point is marked
    joined: bool = True
    point_names: tuple[str, ...] = ()
    below: bool = False  # whether the name of a guide stands below it


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
    y_names: tuple[str, ...] = ()
    x_low: float | None = None
    zero: bool = False  # whether both axes begin at zero
    legend: bool = False
    direct_labels: bool = True  # names at the right, level with the ends of the lines
    end_labels: bool = False  # names where the lines end
    ranges: tuple[Range, ...] = ()  # one for each line, in rows under zero
    range_names: tuple[str, ...] = ()  # of their ends and middles
    in_words: str = ""  # what there is to see; by default where the lines end

    @property
    def heading(self) -> str:
        """The title, with the scale where it is not linear."""
        return f"{self.title}, log-log" if self.x_log and self.y_log else self.title


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


class PaperFigure(NamedTuple):
    """Charts that belong together."""

    title: str
    charts: tuple[Chart | Matrix, ...]


class PaperTable(NamedTuple):
    """Numbers to read."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def metric_text(metric: str, prefix: str = "") -> tuple[str, str, str]:
    """Title and labels of a metric over rounds."""
    title, unit = _METRICS[metric]
    return (prefix + title[0].lower() + title[1:] if prefix else title), "round t", unit


def metric_line(results: Results, metric: str, policy: str, label: str | None = None, place: int | None = None) -> Line:
    """The mean of a metric over epochs with its 95 % interval."""
    curve = _curve(results, metric, policy)
    shaded = results.epochs > 1
    return Line(
        label or policy,
        results.rounds,
        curve.mean,
        curve.low if shaded else None,
        curve.high if shaded else None,
        place,
    )


def metric_chart(results: Results, metric: str, policies: Sequence[str], *, logarithmic: bool = False) -> Chart:
    """A metric of some policies over rounds; log-log with guides like sqrt(T) and log(T)^2."""
    lines = tuple(metric_line(results, metric, policy) for policy in policies)
    guides: tuple[Line, ...] = ()
    if logarithmic:
        guides = growth_guides(results, lines)
    elif metric == "performance":
        best = float(results.settings["optimal_value"])
        rounds = np.linspace(0, results.horizon, 21)
        guides = (Line("best plan, f* T  ", rounds, best * rounds),)
    return Chart(*metric_text(metric), lines, guides, x_log=logarithmic, y_log=logarithmic)


def growth_guides(results: Results, lines: Sequence[Line]) -> tuple[Line, ...]:
    """Lines like sqrt(T), above the others, and like log(T)^2, below them; none where the others are not positive."""
    late = results.rounds >= max(results.horizon / LATE, 2.0)
    rounds = results.rounds[late].astype(np.float64)
    curves = [np.asarray(line.y, dtype=np.float64)[late] for line in lines]
    curves = [curve for curve in curves if len(curve) > 1 and (curve > 0).all()]
    if not curves:
        return ()
    guides = []
    for name, shape, above in (("√T", np.sqrt(rounds), True), ("log² T", np.log(rounds) ** 2, False)):
        ratios = [curve / shape for curve in curves]
        level = max(float(ratio.max()) for ratio in ratios) * GUIDE_DISTANCE
        if not above:
            level = min(float(ratio.min()) for ratio in ratios) / GUIDE_DISTANCE
        guides.append(Line(name, rounds, level * shape, below=not above))
    return tuple(guides)


def result_table(title: str, results: Results) -> PaperTable:
    """Every metric of every policy at the horizon."""
    header = ("policy", *(column.heading for column in COLUMNS))
    return PaperTable(title, header, tuple(tuple(row) for row in result_rows(results)))


def chart_alt_text(chart: Chart | Matrix) -> str:
    """What a chart shows, in words, for one who cannot see it."""
    if isinstance(chart, Matrix):
        rows = "; ".join(
            f"{chart.y_label} {place}: {', '.join(f'{value:.3g}' for value in row)}"
            for place, row in enumerate(chart.values, start=1)
        )
        return f"{chart.title}, a table of shares, a column for each {chart.x_label}. {rows}."
    kind = "Line plot" if any(line.joined for line in chart.lines) else "Dot plot"
    over = f"{chart.y_label or 'each name'} against {chart.x_label}"
    scale = " on logarithmic axes" if chart.x_log and chart.y_log else ""
    if chart.x_log and not chart.y_log:
        scale = ", which is logarithmic"
    ends = "; ".join(f"{line.label} {float(np.asarray(line.y)[-1]):,.4g}" for line in chart.lines if line.joined)
    ending = f" At the right end: {ends}." if ends else ""
    if chart.in_words:
        ending = f" {chart.in_words}"
    spans = "".join(f" {name.capitalize()} from {low:.3g} to {high:.3g}." for low, high, name in chart.spans)
    return f"{chart.title}. {kind} of {over}{scale}.{ending}{spans}"


def figure_alt_text(figure: PaperFigure) -> str:
    """The alternative texts of all charts."""
    return " ".join(chart_alt_text(chart) for chart in figure.charts)


def chart_file(chart: Chart | Matrix, suffix: str) -> bytes:
    """A file of one chart."""
    return rendered(draw_chart(chart), suffix, chart.heading, chart_alt_text(chart))


def figure_files(figure: PaperFigure, suffixes: Sequence[str]) -> dict[str, bytes]:
    """Files of all charts of a figure, by suffix."""
    drawn = draw_figure(figure)
    return {suffix: rendered(drawn, suffix, figure.title, figure_alt_text(figure)) for suffix in suffixes}


class _Cell(NamedTuple):
    """Inches: room to the left of the axes, the axes, room to the right."""

    left: float
    width: float
    height: float
    right: float


def draw_chart(chart: Chart | Matrix) -> "Figure":
    """A figure of one chart."""
    cell = _cell(chart, PAGE_WIDTH)
    if cell.right == GAP and not cell.left > LEFT:  # what the others have for labels, so that all are of one size
        cell = cell._replace(width=cell.width + PAGE_LABELS)
    with _style():
        figure = _figure(cell.left + cell.width + cell.right, BOTTOM + cell.height + TOP)
        _draw(figure, chart, cell, cell.left, BOTTOM)
    return figure


def draw_figure(paper: PaperFigure) -> "Figure":
    """All charts, row by row, under one title."""
    cells = [_cell(chart) for chart in paper.charts]
    left = max(cell.left for cell in cells)
    cell_width = left + max(cell.width + cell.right for cell in cells)
    cell_height = BOTTOM + max(cell.height for cell in cells) + TOP
    # Four charts are two rows of two: a row of one would look forgotten.
    columns = min(len(cells), 2 if len(cells) == 4 else COLUMNS_OF_A_FIGURE)
    rows = math.ceil(len(cells) / columns)
    width, height = columns * cell_width, rows * cell_height + HEADING_HEIGHT - 0.2
    with _style():
        figure = _figure(width, height)
        for place, (chart, cell) in enumerate(zip(paper.charts, cells, strict=True)):
            bottom = (rows - 1 - place // columns) * cell_height + BOTTOM
            _draw(figure, chart, cell, (place % columns) * cell_width + left, bottom)
        figure.text(0.2 / width, 1 - 0.12 / height, paper.title, va="top", size=13, weight="bold")
    return figure


def _cell(chart: Chart | Matrix, width: float = PANEL_WIDTH) -> _Cell:
    if isinstance(chart, Matrix):
        return _Cell(LEFT, width, PANEL_HEIGHT, GAP)
    left, height = LEFT, PANEL_HEIGHT
    if chart.y_names:
        left = 0.3 + NAME_LETTER * max(len(name) for name in chart.y_names)
        height = max(PANEL_HEIGHT, ROW_HEIGHT * len(chart.y_names))
    if not chart.direct_labels:
        return _Cell(left, width, height, GAP)
    letters = max(len(part) for line in chart.lines for part in broken_label(line.label))
    return _Cell(left, width, height, LABEL_START + LETTER_WIDTH * max(letters, 6) + GAP)


def _draw(figure: "Figure", chart: Chart | Matrix, cell: _Cell, left: float, bottom: float) -> None:
    width, height = figure.get_size_inches()
    axes = figure.add_axes((left / width, bottom / height, cell.width / width, cell.height / height))
    if isinstance(chart, Matrix):
        _draw_matrix(axes, chart)
    else:
        _draw_lines(axes, chart)
    axes.set_title(chart.heading)
    axes.set_xlabel(chart.x_label)
    axes.set_ylabel(chart.y_label)


def _look(line: Line, index: int) -> dict[str, Any]:
    base, comma, _ = line.label.partition(",")
    place = line.place if line.place is not None else PLACES.get(base, index)
    style = ":" if comma else LINE_STYLES[place % len(LINE_STYLES)]
    return {"color": COLOURS[place % len(COLOURS)], "linestyle": style, "marker": MARKERS[place % len(MARKERS)]}


def _draw_lines(axes: "Axes", chart: Chart) -> None:
    _set_scales(axes, chart)
    by_height = axes.get_xaxis_transform()
    for place, (low, high, name) in enumerate(chart.spans):
        axes.axvspan(low, high, color=SPAN_COLOURS[place % len(SPAN_COLOURS)], zorder=0, linewidth=0)
        axes.text((low + high) / 2, 0.04, name, transform=by_height, ha="center", color=GUIDE_TEXT_COLOUR)
    for place, (where, name) in enumerate(chart.marks_at):
        axes.axvline(where, color=GUIDE_COLOUR, linewidth=0.8, linestyle=":")
        height = 0.2 + 0.1 * place
        axes.text(where, height, f" {name}", transform=by_height, color=GUIDE_TEXT_COLOUR, size=8)
    for guide in chart.guides:
        _draw_guide(axes, guide)
    for index, line in enumerate(chart.lines):
        _draw_line(axes, chart, line, index)
    if chart.y_names:
        axes.set_yticks(range(len(chart.y_names)), chart.y_names, size=8)
        axes.set_ylim(len(chart.y_names) - 0.5, -0.5)
    if chart.legend:
        axes.legend(frameon=False, fontsize=8, loc="center")
    if chart.ranges:
        _draw_ranges(axes, chart)
    elif chart.direct_labels:
        _draw_labels(axes, chart)


def _set_scales(axes: "Axes", chart: Chart) -> None:
    from matplotlib.ticker import EngFormatter

    everything = (*chart.lines, *chart.guides)
    xs = np.concatenate([np.asarray(line.x, dtype=np.float64) for line in everything])
    ys = np.concatenate([np.asarray(line.y, dtype=np.float64) for line in everything])
    highs = [float(np.max(np.asarray(line.high, dtype=np.float64))) for line in chart.lines if line.high is not None]
    top = max(float(ys.max()), *highs) if highs else float(ys.max())
    if chart.x_log:
        axes.set_xscale("log")
        lowest = chart.x_low if chart.x_low is not None else float(xs[xs > 0].min())
        margin = 1.15 if chart.ranges or any(line.marks for line in chart.lines) else 1.0
        named = chart.end_labels or any(line.point_names for line in chart.lines)
        axes.set_xlim(lowest / margin, float(xs.max()) * (3.0 if named else margin))
    else:
        right = max(
            float(xs.max()) * (1.04 if chart.zero and not chart.spans else 1.0), *(s[1] for s in chart.spans), 0.0
        )
        axes.set_xlim(min(float(xs.min()), 0.0), right or 1.0)
        if xs.max() >= 1000:
            axes.locator_params(axis="x", nbins=5)
            axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    if chart.y_log:
        axes.set_yscale("log")
        positive = ys[ys > max(top, 0.0) * LOWEST]
        if positive.size:
            axes.set_ylim(float(positive.min()) / GUIDE_DISTANCE, top * GUIDE_DISTANCE)
    elif not chart.y_names:
        if not chart.spans or chart.zero:
            axes.set_ylim(0.0, top * 1.05 or 1.0)
        if top >= 1000:
            axes.yaxis.set_major_formatter(EngFormatter(sep=""))


def _draw_guide(axes: "Axes", guide: Line) -> None:
    x, y = np.asarray(guide.x, dtype=np.float64), np.asarray(guide.y, dtype=np.float64)
    axes.plot(x, y, color=GUIDE_COLOUR, linewidth=0.8, label=f"_guide {guide.label}")
    place = len(x) // (4 if axes.get_xscale() == "log" else 2)
    axes.annotate(
        guide.label,
        (x[place], y[place]),
        xytext=(0, -4 if guide.below else 4),
        textcoords="offset points",
        # A steep line would run through a name that stands above its middle.
        ha="left" if guide.below else "right",
        va="top" if guide.below else "bottom",
        color=GUIDE_TEXT_COLOUR,
        size=8,
        zorder=6,
    )


def _draw_line(axes: "Axes", chart: Chart, line: Line, index: int) -> None:
    x, y = np.asarray(line.x, dtype=np.float64), np.asarray(line.y, dtype=np.float64)
    look = _look(line, index)
    shown = np.isfinite(y) & ((y > 0) | (not chart.y_log))
    if line.low is not None and line.high is not None:
        low, high = np.asarray(line.low, dtype=np.float64), np.asarray(line.high, dtype=np.float64)
        if chart.y_log:
            low = np.maximum(low, axes.get_ylim()[0])
        axes.fill_between(x[shown], low[shown], high[shown], color=look["color"], alpha=0.18, linewidth=0)
    if not line.joined:
        look["linestyle"] = "none"
    # Markers keep their distance on the page, and those of different lines stand apart.
    every: Any = None if line.marks else (0.03 * (index + 1), 0.22)
    axes.plot(x[shown], y[shown], linewidth=1.5, markersize=4, markevery=every, label=line.label, **look)
    if chart.end_labels:
        axes.annotate(
            line.label,
            (float(x[-1]), float(y[-1])),
            xytext=(6, 7 - 11 * index),
            textcoords="offset points",
            color=look["color"],
            size=LABEL_SIZE,
        )
    for place, name in enumerate(line.point_names):
        axes.annotate(name, (float(x[place]), float(y[place])), xytext=(6, 3), textcoords="offset points", size=8)


def _draw_labels(axes: "Axes", chart: Chart) -> None:
    """Each line's name at its end, moved up or down where two would overlap."""
    texts = ["\n".join(broken_label(line.label)) for line in chart.lines]
    ends = [_height(axes, chart, line) for line in chart.lines]
    heights = [LABEL_SIZE * LINE_SPACING * (text.count("\n") + 1) / 72 / PANEL_HEIGHT for text in texts]
    shrink = min(1.0, 1.0 / sum(heights))
    places = spread(ends, [height * shrink for height in heights])
    start = LABEL_START / PANEL_WIDTH
    for index, (line, text, end, height) in enumerate(zip(chart.lines, texts, ends, places, strict=True)):
        axes.plot(
            [1.0, 1.0 + 0.6 * start],
            [end, height],
            transform=axes.transAxes,
            clip_on=False,
            linewidth=1.0,
            markersize=4,
            markevery=[1],
            label=f"_leader {index}",
            **_look(line, index),
        )
        axes.text(
            1.0 + start, height, text, transform=axes.transAxes, va="center", size=LABEL_SIZE * shrink, linespacing=1.05
        )


def _draw_ranges(axes: "Axes", chart: Chart) -> None:
    """Each line's range in a row of its own, its name at the right; the widest has room for the names of its parts."""
    top = axes.get_ylim()[1]
    ticks = [tick for tick in axes.get_yticks() if 0.0 <= tick <= top]
    height = top * RANGE_ROW
    axes.axhline(0.0, color=GUIDE_COLOUR, linewidth=0.8, zorder=1)
    widest = max(chart.ranges, key=lambda one: one.high / one.low)
    for index, (line, one) in enumerate(zip(chart.lines, chart.ranges, strict=True)):
        look = _look(line, index)
        row = -height * (index + 1)
        ends = {"color": look["color"], "linestyle": "-", "marker": "|"}
        axes.plot([one.low, one.high], [row, row], linewidth=1.5, markersize=7, label=f"_range {index}", **ends)
        axes.plot(one.middle, row, markersize=5, label=f"_middle {index}", **look)
        side = axes.get_yaxis_transform()
        start = 1.0 + LABEL_START / PANEL_WIDTH / 2
        axes.text(start, row, line.label, transform=side, va="center", size=LABEL_SIZE)
        if one is widest:
            for place, name in zip(one, chart.range_names, strict=True):
                axes.annotate(
                    name, (place, row), (0, 5), textcoords="offset points", ha="center", size=7, color=GUIDE_TEXT_COLOUR
                )
    axes.set_ylim(-height * (len(chart.ranges) + 0.7), top)
    axes.set_yticks(ticks)


def _height(axes: "Axes", chart: Chart, line: Line) -> float:
    """Where a line ends between the bottom (0) and the top (1)."""
    value = float(np.asarray(line.y)[-1])
    bottom, top = axes.get_ylim()
    if chart.y_log:
        value, bottom, top = math.log(max(value, bottom)), math.log(bottom), math.log(top)
    return min(max((value - bottom) / (top - bottom), 0.0), 1.0)


def _draw_matrix(axes: "Axes", chart: Matrix) -> None:
    values = np.array(chart.values)
    axes.imshow(values, cmap="Blues", vmin=0.0, vmax=1.6, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        idle = value < NOTHING
        shown = "0, never" if idle else f"{value:.3g}"
        axes.text(column, row, shown, ha="center", va="center", size=10, weight="bold" if idle else "normal")
    axes.set_xticks(range(values.shape[1]), [str(place + 1) for place in range(values.shape[1])])
    axes.set_yticks(range(values.shape[0]), [str(place + 1) for place in range(values.shape[0])])
    axes.grid(visible=False)
