"""The drawing engine: one chart on one pair of matplotlib's axes.

`charts` says what is drawn, `look` how it looks, and `figures` how charts become figures and files.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arcbandit.report.charts import Chart, Line, Matrix
from arcbandit.report.labels import spread
from arcbandit.report.look import (
    GUIDE_COLOUR,
    GUIDE_TEXT_COLOUR,
    LABEL_SIZE,
    LABEL_START,
    LINE_SPACING,
    QUIET_COLOUR,
    SMALL_SIZE,
    SPAN_COLOURS,
    TICK_COLOUR,
    Look,
    looks_of,
)
from arcbandit.report.tables import broken_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

Floats = NDArray[np.float64]

CLEAR_OF_CURVES = 1.6  # the factor by which a logarithmic axis extends beyond what it shows
LOWEST = 1e-6  # of the largest value; a logarithmic chart shows nothing smaller
NOTHING = 1e-9  # a share below this counts as zero
RANGE_ROW = 0.13  # height of a row of ranges, relative to the height above zero
BAND_ALPHA, INTERVAL_ALPHA = 0.08, 0.18
NAME_DISTANCE = 4.0  # points between a guide and its name
FAR_TO_THE_RIGHT = 0.15  # of the width of the axes
HANDLE_WIDTH = 0.4  # inches of a legend's line with the space around it
LEGEND_LETTER = 0.07  # inches of a letter of 8 points, on average
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
TICK_LEFT, TICK_DOWN = 0, 3  # matplotlib's names for these markers
MINOR_TICK = 2.0  # points
LARGE = 1000  # numbers from here on are shortened, as 1k


def draw_chart_on(axes: "Axes", chart: Chart | Matrix, key: str) -> None:
    """Draw a chart; `key` tells its parts from those of other charts in the same file."""
    if isinstance(chart, Matrix):
        _draw_matrix(axes, chart)
    else:
        _draw_lines(axes, chart, key)
    axes.set_title(chart.heading)
    axes.set_xlabel(chart.x_label)
    axes.set_ylabel(chart.y_label)


def _draw_lines(axes: "Axes", chart: Chart, key: str) -> None:
    looks = looks_of([line.label for line in chart.lines], [line.place for line in chart.lines])
    _set_scales(axes, chart)
    by_height = axes.get_xaxis_transform()
    for place, (low, high, name) in enumerate(chart.spans):
        axes.axvspan(low, high, color=SPAN_COLOURS[place % len(SPAN_COLOURS)], zorder=0, linewidth=0)
        axes.text((low + high) / 2, 0.04, name, transform=by_height, ha="center", color=GUIDE_TEXT_COLOUR)
    for place, (where, name) in enumerate(chart.marks_at):
        axes.axvline(where, color=GUIDE_COLOUR, linewidth=0.8, linestyle=":")
        height = 0.2 + 0.1 * place
        axes.text(where, height, f" {name}", transform=by_height, color=GUIDE_TEXT_COLOUR, size=SMALL_SIZE)
    for guide in chart.guides:
        _draw_guide(axes, guide)
    for index, (line, look) in enumerate(zip(chart.lines, looks, strict=True)):
        _draw_line(axes, chart, line, index, look)
    if chart.y_names:
        axes.set_yticks(range(len(chart.y_names)), chart.y_names, size=SMALL_SIZE)
        axes.set_ylim(len(chart.y_names) - 0.5, -0.5)
    if chart.legend:
        axes.legend(frameon=False, fontsize=SMALL_SIZE, loc="center")
    if chart.legend_above and len(chart.lines) > 1:
        axes.legend(
            frameon=False,
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            borderaxespad=0.2,
            ncols=names_in_a_row([line.label for line in chart.lines], _inches(axes)[0]),
            handlelength=1.8,
            columnspacing=1.0,
        )
    if chart.ranges:
        _draw_ranges(axes, chart, looks)
    elif chart.direct_labels:
        _draw_labels(axes, chart, looks, key)


def names_in_a_row(labels: Sequence[str], width: float) -> int:
    """How many names of a legend fit beside each other above axes of this width, in inches."""
    longest = max(len(label) for label in labels)
    return max(1, min(len(labels), int(width / (HANDLE_WIDTH + LEGEND_LETTER * longest))))


def _floats(values: ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64)


def _set_scales(axes: "Axes", chart: Chart) -> None:
    everything = (*chart.lines, *chart.guides)
    xs = np.concatenate([_floats(line.x) for line in everything])
    ys = np.concatenate([_floats(line.y) for line in everything])
    ys = ys[np.isfinite(ys)]
    edges = [_floats(part) for line in chart.lines for part in (line.high, line.band_high) if part is not None]
    shown = np.concatenate([ys, *(part[np.isfinite(part)] for part in edges)])
    top = float(shown.max()) if shown.size else 0.0
    _set_horizontal(axes, chart, xs)
    if chart.y_log:
        axes.set_yscale("log")
        positive = ys[ys > max(top, 0.0) * LOWEST]
        if positive.size:
            axes.set_ylim(float(positive.min()) / CLEAR_OF_CURVES, top * CLEAR_OF_CURVES)
        else:
            axes.set_ylim(0.1, 10)
            axes.text(0.5, 0.5, "nothing above zero", transform=axes.transAxes, ha="center", color=QUIET_COLOUR)
        _mark_logarithmic(axes, axes.yaxis)
    elif not chart.y_names:
        bottom = min(float(ys.min()) if ys.size else 0.0, 0.0)
        top = top if top > bottom else bottom + 1.0
        if not chart.spans or chart.zero:
            margin = 0.05 * (top - bottom)
            axes.set_ylim(bottom - (margin if bottom < 0 else 0.0), top + margin)
        _shorten_large(axes.yaxis, max(top, -bottom))
    if chart.y_ticks:
        axes.set_yticks([tick for tick, _ in chart.y_ticks], [name for _, name in chart.y_ticks])


def _set_horizontal(axes: "Axes", chart: Chart, xs: Floats) -> None:
    if chart.x_log:
        axes.set_xscale("log")
        lowest = chart.x_low if chart.x_low is not None else float(xs[xs > 0].min())
        margin = 1.15 if chart.ranges or any(line.marks for line in chart.lines) else 1.0
        named = chart.end_labels or any(line.point_names for line in chart.lines)
        right = float(xs.max()) * (3.0 if named else margin)
        axes.set_xlim(lowest / margin, max(right, 2.0 * lowest))
        _mark_logarithmic(axes, axes.xaxis)
        return
    largest = float(xs.max())
    right = max(largest * (1.04 if chart.zero and not chart.spans else 1.0), *(span[1] for span in chart.spans), 0.0)
    axes.set_xlim(min(float(xs.min()), 0.0), right or 1.0)
    if largest >= LARGE:
        axes.locator_params(axis="x", nbins=5)
    _shorten_large(axes.xaxis, largest)


def _shorten_large(axis: "Axis", largest: float) -> None:
    from matplotlib.ticker import EngFormatter

    if largest >= LARGE:
        axis.set_major_formatter(EngFormatter(sep=""))


def _mark_logarithmic(axes: "Axes", axis: "Axis") -> None:
    """Mark powers of ten or, if fewer than two are visible, some numbers between them as well."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    low, high = axis.get_view_interval()
    axis.set_minor_locator(NullLocator())
    if len(_ticks(low, high, (1.0,))) >= 2:
        axis.set_major_formatter(FuncFormatter(lambda value, _: _power_of_ten(value)))
        _draw_minor_ticks(axes, axis, _ticks(low, high, range(2, 10)))
        return
    for steps in ((1.0, 2.0, 5.0), tuple(range(1, 10))):
        if len(_ticks(low, high, steps)) >= 2:
            axis.set_major_locator(LogLocator(subs=steps))
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
            return


def _power_of_ten(value: float) -> str:
    # Set as a formula, it would take longer than the rest of the axis.
    return f"10{f'{round(math.log10(value))}'.translate(RAISED)}" if value > 0 else ""


def _draw_minor_ticks(axes: "Axes", axis: "Axis", places: Sequence[float]) -> None:
    """Small ticks as one line of markers: as ticks, each with a label and a grid line, they would take a third of all
    drawing.
    """
    zeros = [0.0] * len(places)
    horizontal = axis is axes.xaxis
    axes.plot(
        *((places, zeros) if horizontal else (zeros, places)),
        transform=axes.get_xaxis_transform() if horizontal else axes.get_yaxis_transform(),
        linestyle="none",
        marker=TICK_DOWN if horizontal else TICK_LEFT,
        markersize=MINOR_TICK,
        markeredgewidth=0.6,
        color=TICK_COLOUR,
        clip_on=False,
        scalex=False,
        scaley=False,
        label="_minor ticks",
    )


def _ticks(low: float, high: float, steps: Sequence[float]) -> list[float]:
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [step * 10.0**decade for decade in decades for step in steps if low <= step * 10.0**decade <= high]


def _draw_guide(axes: "Axes", guide: Line) -> None:
    x, y = _floats(guide.x), _floats(guide.y)
    where = _place_of_name(axes, x, y)
    below = guide.below and _has_room_below(axes, where)
    # The line would run through a name on the side to which it curves.
    to_the_left = below != (y[-1] >= y[0])
    style = "--" if guide.dashed else "-"
    axes.plot(x, y, color=GUIDE_COLOUR, linewidth=0.8, linestyle=style, label=f"_guide {guide.label}")
    axes.annotate(
        guide.label,
        where,
        xytext=(0, -NAME_DISTANCE if below else NAME_DISTANCE),
        textcoords="offset points",
        ha="right" if to_the_left else "left",
        va="top" if below else "bottom",
        color=GUIDE_TEXT_COLOUR,
        size=SMALL_SIZE,
        zorder=6,
    )


def _has_room_below(axes: "Axes", where: tuple[float, float]) -> bool:
    """Whether a name under this place stays above the horizontal axis, where its numbers are."""
    height = float(axes.transData.transform(where)[1] - axes.bbox.y0)
    return height * 72 / axes.figure.dpi >= NAME_DISTANCE + SMALL_SIZE * LINE_SPACING


def _place_of_name(axes: "Axes", x: Floats, y: Floats) -> tuple[float, float]:
    """On a guide: its middle, or its first quarter if it begins so far to the right that a name has room there."""
    points = axes.transData.transform(np.column_stack([x, y]))
    points = points[np.isfinite(points).all(axis=1)]
    first, last = points[0, 0], points[-1, 0]
    begins = (first - axes.bbox.x0) / axes.bbox.width
    across = first + (last - first) * (0.25 if begins > FAR_TO_THE_RIGHT else 0.5)
    place = axes.transData.inverted().transform((across, np.interp(across, *points.T)))
    return float(place[0]), float(place[1])


def _draw_line(axes: "Axes", chart: Chart, line: Line, index: int, look: Look) -> None:
    x, y = _floats(line.x), _floats(line.y)
    shown = np.isfinite(y) & ((y > 0) | (not chart.y_log))
    for low, high, alpha in (
        (line.band_low, line.band_high, BAND_ALPHA),
        (line.low, line.high, INTERVAL_ALPHA),
    ):
        if low is not None and high is not None:
            bottom, top = _floats(low), _floats(high)
            # A logarithmic axis has no zero for a shade to reach.
            seen = shown & ((bottom > 0) | (not chart.y_log))
            axes.fill_between(x, bottom, top, where=seen, color=look["color"], alpha=alpha, linewidth=0)
    # Markers are evenly spaced on the page, and those of different lines are offset.
    every: Any = None if line.marks else (0.03 * (index + 1), 0.22)
    drawn: dict[str, Any] = {**look, "linestyle": look["linestyle"] if line.joined else "none"}
    axes.plot(x[shown], y[shown], linewidth=1.5, markersize=4, markevery=every, label=line.label, **drawn)
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
        if not name:
            continue
        where = (float(x[place]), float(y[place]))
        axes.annotate(name, where, xytext=(6, 3), textcoords="offset points", size=SMALL_SIZE)


def _draw_labels(axes: "Axes", chart: Chart, looks: Sequence[Look], key: str) -> None:
    """Each line's name at its end, moved up or down if two would overlap; or all in a list."""
    width, height = _inches(axes)
    texts = ["\n".join(broken_label(line.label)) for line in chart.lines]
    # Marks that no line joins have no end: names stand in the middle.
    ends = [_height_of_end(axes, chart, line) if line.joined and not chart.in_a_list else 0.5 for line in chart.lines]
    if chart.in_a_list:
        ends = [end - 1e-6 * index for index, end in enumerate(ends)]  # the first on top
    heights = [LABEL_SIZE * LINE_SPACING * (text.count("\n") + 1) / 72 / height for text in texts]
    shrink = min(1.0, 1.0 / sum(heights))
    places = spread(ends, [one * shrink for one in heights])
    start = LABEL_START / width
    for index, (line, look, text, end, place) in enumerate(zip(chart.lines, looks, texts, ends, places, strict=True)):
        xs, ys = ([0.2, 0.55, 0.9], [place] * 3) if chart.in_a_list else ([0.0, 0.6], [end, place])
        axes.plot(
            [1.0 + x * start for x in xs],
            ys,
            transform=axes.transAxes,
            clip_on=False,
            linewidth=1.0 if line.joined else 0.0,
            markersize=4,
            markevery=[1],
            label=f"_leader {index}",
            **look,
        )
        axes.text(
            1.0 + start,
            place,
            text,
            transform=axes.transAxes,
            va="center",
            size=LABEL_SIZE * shrink,
            linespacing=1.05,
            gid=f"label-{key}-{index}",
        )


def _inches(axes: "Axes") -> tuple[float, float]:
    """Width and height of the axes."""
    box = axes.bbox.transformed(axes.figure.dpi_scale_trans.inverted())
    return box.width, box.height


def _height_of_end(axes: "Axes", chart: Chart, line: Line) -> float:
    """Where a line ends between the bottom (0) and the top (1)."""
    value = float(_floats(line.y)[-1])
    bottom, top = axes.get_ylim()
    if not math.isfinite(value):
        return 0.0
    if chart.y_log:
        value, bottom, top = math.log(max(value, bottom)), math.log(bottom), math.log(top)
    return min(max((value - bottom) / (top - bottom), 0.0), 1.0)


def _draw_ranges(axes: "Axes", chart: Chart, looks: Sequence[Look]) -> None:
    """Each line's range in its own row, with its name at the right; the parts are named on the widest one."""
    top = axes.get_ylim()[1]
    ticks = [tick for tick in axes.get_yticks() if 0.0 <= tick <= top]
    height = top * RANGE_ROW
    axes.axhline(0.0, color=GUIDE_COLOUR, linewidth=0.8, zorder=1)
    widest = max(chart.ranges, key=lambda one: one.high / one.low)
    side = axes.get_yaxis_transform()
    start = 1.0 + LABEL_START / _inches(axes)[0] / 2
    for index, (line, one, look) in enumerate(zip(chart.lines, chart.ranges, looks, strict=True)):
        row = -height * (index + 1)
        ends: Look = {"color": look["color"], "linestyle": "-", "marker": "|"}
        axes.plot([one.low, one.high], [row, row], linewidth=1.5, markersize=7, label=f"_range {index}", **ends)
        axes.plot(one.middle, row, markersize=5, label=f"_middle {index}", **look)
        axes.text(start, row, line.label, transform=side, va="center", size=LABEL_SIZE)
        if one is widest:
            for place, name in zip(one, chart.range_names, strict=True):
                axes.annotate(
                    name, (place, row), (0, 5), textcoords="offset points", ha="center", size=7, color=GUIDE_TEXT_COLOUR
                )
    axes.set_ylim(-height * (len(chart.ranges) + 0.7), top)
    axes.set_yticks(ticks)


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
