"""Regret, violation and performance over rounds, as a figure."""

import contextlib
import io
import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import MissingExtraError
from arcbandit.estimates import student_quantile
from arcbandit.report.files import check_target, write_whole
from arcbandit.report.tables import broken_label, written
from arcbandit.simulation.results import Results
from arcbandit.simulation.summary import Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

PLOT_SUFFIXES = (".png", ".pdf", ".svg")

# Okabe and Ito's colours, which the colour-blind tell apart, but for yellow, which nobody sees on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
# As many styles and markers as make every combination new for dozens of policies.
LINE_STYLES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
GUIDE_COLOUR = "#8A8A8A"
GUIDE_TEXT_COLOUR = "#666666"
TEXT_COLOUR = "#222222"

# Inches.
PANEL_WIDTH, PANEL_HEIGHT = 3.5, 2.7
LEFT, BOTTOM, TOP, GAP = 0.75, 0.62, 0.42, 0.25
LETTER_WIDTH = 0.088  # of a label, on average
LABEL_START = 0.28
HEADING_HEIGHT = 0.55

LABEL_SIZE = 9.0  # points
LINE_SPACING = 1.25
DOTS_PER_INCH = 150
BAND = (0.05, 0.95)  # the quantiles of epochs between which a summary shows a lighter shade
# A guide shows a slope, which the last two decades are enough for.
GUIDE_DECADES = 100
GUIDE_DISTANCE = 1.6  # the factor by which it keeps clear of the curves
LOWEST_DECADES = 1e-6  # of the largest value, below which a logarithmic panel shows nothing

STYLE = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so that every machine draws the same
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#666666",
    "axes.labelcolor": TEXT_COLOUR,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.6,
    "text.color": TEXT_COLOUR,
    "xtick.color": "#444444",
    "ytick.color": "#444444",
    "svg.fonttype": "path",  # a page may open where the font is not installed
    "svg.hashsalt": "arcbandit",
    "pdf.fonttype": 42,
}


class Panel(NamedTuple):
    """One metric on one pair of axes."""

    metric: str
    title: str
    unit: str
    logarithmic: bool

    @property
    def heading(self) -> str:
        """The title, with the scale where it is not linear."""
        return f"{self.title}, log-log" if self.logarithmic else self.title


class Curve(NamedTuple):
    """The mean of a metric over epochs at each checkpoint, its 95 % interval, and the band that BAND names."""

    mean: Floats
    low: Floats
    high: Floats
    band_low: Floats | None = None  # None where it is not shown
    band_high: Floats | None = None


_METRICS = (
    ("regret", "Regret R: lost against the best plan", "revenue, summed over rounds"),
    ("violation", "Violation V: what floors lacked", "revenue, summed over rounds and floors"),
    ("performance", "Performance: expected revenue", "revenue, summed over rounds"),
)
# Rows of the figure: linear, then log-log.
PANELS = tuple(
    Panel(metric, title, unit, logarithmic) for logarithmic in (False, True) for metric, title, unit in _METRICS
)


def draw(results: Results, title: str = "Simulation") -> "Figure":
    """A figure of all panels: linear scales above, logarithmic ones below."""
    gutter = _gutter(results)
    columns, rows = len(_METRICS), len(PANELS) // len(_METRICS)
    cell_width = LEFT + PANEL_WIDTH + gutter
    cell_height = BOTTOM + PANEL_HEIGHT + TOP
    width, height = columns * cell_width, rows * cell_height + HEADING_HEIGHT
    with _style():
        figure = _figure(width, height)
        for place, panel in enumerate(PANELS):
            left = (place % columns) * cell_width + LEFT
            bottom = height - HEADING_HEIGHT - (place // columns + 1) * cell_height + BOTTOM
            _draw_panel(_axes(figure, left, bottom), results, panel)
        figure.text(0.2 / width, 1 - 0.15 / height, title, va="top", size=13, weight="bold")
        figure.text(0.2 / width, 1 - 0.42 / height, _how_many(results), va="top", size=9, color="#555555")
    return figure


def draw_panel(results: Results, panel: Panel) -> "Figure":
    """A figure of one panel."""
    gutter = _gutter(results)
    with _style():
        figure = _figure(LEFT + PANEL_WIDTH + gutter, BOTTOM + PANEL_HEIGHT + TOP)
        _draw_panel(_axes(figure, LEFT, BOTTOM), results, panel)
    return figure


def alt_text(results: Results, panels: Sequence[Panel] = PANELS) -> str:
    """What the panels show, in words, for one who cannot see them."""
    metrics = list(dict.fromkeys(panel.metric for panel in panels))
    scales = " and ".join(
        name for name, wanted in (("linear", False), ("log-log", True)) if any(p.logarithmic == wanted for p in panels)
    )
    sentences = [
        f"Line plot of {_listed(metrics)} over rounds 1 to {results.horizon:,}, {scales}; {_how_many(results)}."
    ]
    for metric in metrics:
        ends = "; ".join(f"{policy} {written(results.estimate(metric, policy))}" for policy in results.policies)
        sentences.append(f"{metric.capitalize()} at the end: {ends}.")
    return " ".join(sentences)


def rendered(figure: "Figure", suffix: str, title: str, description: str) -> bytes:
    """The figure as a file of that suffix, the same bytes each time."""
    # Dates would make each file a different one.
    metadata: dict[str, dict[str, Any]] = {
        ".png": {"Title": title, "Description": description},
        ".svg": {"Title": title, "Description": description, "Date": None},
        ".pdf": {"Title": title, "Subject": description, "CreationDate": None},
    }
    content = io.BytesIO()
    with _style():
        figure.savefig(content, format=suffix[1:], dpi=DOTS_PER_INCH, metadata=metadata[suffix])
    return content.getvalue()


def save_plot(results: Results, path: str | os.PathLike[str], title: str = "Simulation") -> None:
    """Write the figure to a .png, .pdf or .svg file."""
    target = check_target(path, PLOT_SUFFIXES)
    content = rendered(draw(results, title), target.suffix.lower(), title, alt_text(results))
    write_whole(Path(target), content)


def check_matplotlib() -> None:
    """Raise MissingExtraError where figures cannot be drawn."""
    try:
        import matplotlib.figure  # noqa: F401, and with it what matplotlib itself needs
    except ImportError:
        raise MissingExtraError("matplotlib", "plots") from None


def _figure(width: float, height: float) -> "Figure":
    from matplotlib.figure import Figure

    # Without pyplot no window opens and no figure outlives its use.
    return Figure(figsize=(width, height), facecolor="white")


def _axes(figure: "Figure", left: float, bottom: float) -> "Axes":
    width, height = figure.get_size_inches()
    return figure.add_axes((left / width, bottom / height, PANEL_WIDTH / width, PANEL_HEIGHT / height))


@contextlib.contextmanager
def _style() -> Iterator[None]:
    """Our style on matplotlib's defaults, whatever the user's own settings are."""
    check_matplotlib()
    import matplotlib.style

    with matplotlib.style.context(["default", STYLE]):
        yield


def _gutter(results: Results) -> float:
    """Room to the right of a panel for its labels."""
    letters = max(len(line) for policy in results.policies for line in broken_label(policy))
    return LABEL_START + LETTER_WIDTH * max(letters, 6) + GAP


def _how_many(results: Results) -> str:
    if results.epochs == 1:
        return "one epoch, so without intervals"
    band = "; lighter, from the 5 % to the 95 % quantile of epochs" if isinstance(results, Summary) else ""
    return f"means of {results.epochs:,} epochs, shaded with their 95 % intervals{band}"


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _curve(results: Results, metric: str, policy: str) -> Curve:
    """Mean over epochs with its interval and, where a summary has them, the quantiles of the epochs."""
    mean = results.mean(metric, policy)
    if results.epochs < 2:
        return Curve(mean, mean, mean)
    half = student_quantile(results.epochs - 1) * results.standard_error(metric, policy)
    if not isinstance(results, Summary):
        return Curve(mean, mean - half, mean + half)
    band = (results.quantile(metric, policy, share) for share in BAND)
    return Curve(mean, mean - half, mean + half, *band)


def _draw_panel(axes: "Axes", results: Results, panel: Panel) -> None:
    curves = {policy: _curve(results, panel.metric, policy) for policy in results.policies}
    _set_scales(axes, results, panel, curves)
    if panel.metric == "performance":
        _draw_best_plan(axes, results)
    elif panel.logarithmic:
        _draw_guides(axes, results, curves)
    for place, (policy, curve) in enumerate(curves.items()):
        _draw_curve(axes, results, panel, policy, curve, place)
    _draw_labels(axes, panel, curves)
    axes.set_title(panel.heading)
    axes.set_xlabel("round t")
    axes.set_ylabel(panel.unit)


def _look(place: int) -> dict[str, Any]:
    return {
        "color": COLOURS[place % len(COLOURS)],
        "linestyle": LINE_STYLES[place % len(LINE_STYLES)],
        "marker": MARKERS[place % len(MARKERS)],
    }


def _set_scales(axes: "Axes", results: Results, panel: Panel, curves: dict[str, Curve]) -> None:
    from matplotlib.ticker import EngFormatter

    values = np.concatenate([part for curve in curves.values() for part in curve if part is not None])
    top = float(values.max())
    if panel.logarithmic:
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(1, max(results.horizon, 2))
        means = np.concatenate([curve.mean for curve in curves.values()])
        positive = means[means > max(top, 0.0) * LOWEST_DECADES]
        if positive.size:
            axes.set_ylim(float(positive.min()) / 1.6, top * 1.6)
        else:
            axes.set_ylim(0.1, 10)
            axes.text(0.5, 0.5, "nothing above zero", transform=axes.transAxes, ha="center", color="#555555")
        return
    bottom = min(float(values.min()), 0.0)
    if top <= bottom:
        top = bottom + 1.0
    axes.set_xlim(0, results.horizon)
    axes.set_ylim(bottom - (0.05 * (top - bottom) if bottom < 0 else 0.0), top + 0.05 * (top - bottom))
    axes.locator_params(axis="x", nbins=5)
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.yaxis.set_major_formatter(EngFormatter(sep=""))


def _draw_curve(axes: "Axes", results: Results, panel: Panel, policy: str, curve: Curve, place: int) -> None:
    shown = curve.mean > 0 if panel.logarithmic else np.isfinite(curve.mean)
    look = _look(place)
    rounds = results.rounds[shown]
    if results.epochs > 1:
        floor = axes.get_ylim()[0]
        for low, high, alpha in ((curve.band_low, curve.band_high, 0.08), (curve.low, curve.high, 0.18)):
            if low is not None and high is not None:
                seen = np.maximum(low[shown], floor) if panel.logarithmic else low[shown]
                axes.fill_between(rounds, seen, high[shown], color=look["color"], alpha=alpha, linewidth=0)
    # Markers keep their distance on the page, and those of different policies stand apart.
    apart = (0.03 * (place + 1), 0.22)
    axes.plot(rounds, curve.mean[shown], linewidth=1.5, markersize=4, markevery=apart, label=policy, **look)


def _draw_guides(axes: "Axes", results: Results, curves: dict[str, Curve]) -> None:
    """Lines that grow like sqrt(T), above the curves, and like log(T)^2, below them."""
    late = results.rounds >= max(results.horizon / GUIDE_DECADES, 2.0)
    rounds = results.rounds[late].astype(np.float64)
    positive = [curve.mean[late] for curve in curves.values() if curve.mean[-1] > 0 and (curve.mean[late] > 0).all()]
    if len(rounds) < 2 or not positive:
        return
    root, square_log = np.sqrt(rounds), np.log(rounds) ** 2
    above = root * max(float((curve / root).max()) for curve in positive) * GUIDE_DISTANCE
    below = square_log * min(float((curve / square_log).min()) for curve in positive) / GUIDE_DISTANCE
    # Names stand on the side where no curve is.
    for name, guide, side in (("$\\sqrt{T}$", above, "bottom"), ("$\\log^2 T$", below, "top")):
        axes.plot(rounds, guide, color=GUIDE_COLOUR, linewidth=0.8, label=f"_guide {name}")
        axes.annotate(
            name,
            (rounds[0], guide[0]),
            xytext=(0, 4 if side == "bottom" else -4),
            textcoords="offset points",
            ha="center",
            va=side,
            color=GUIDE_TEXT_COLOUR,
            size=8,
        )
    bottom, top = axes.get_ylim()
    axes.set_ylim(min(bottom, below[0] / GUIDE_DISTANCE**2), max(top, above[-1] * GUIDE_DISTANCE))


def _draw_best_plan(axes: "Axes", results: Results) -> None:
    """What the best plan would have earned, to which every curve is to come close."""
    value = float(results.settings["optimal_value"])
    rounds = np.geomspace(1, results.horizon, 100)
    axes.plot(rounds, value * rounds, color=GUIDE_COLOUR, linewidth=0.8, label="_guide best plan")
    axes.text(
        0.04,
        0.94,
        "grey: best plan, f* T",
        transform=axes.transAxes,
        va="top",
        color=GUIDE_TEXT_COLOUR,
        size=8,
        zorder=5,
    )


def _draw_labels(axes: "Axes", panel: Panel, curves: dict[str, Curve]) -> None:
    """Each policy's name at the end of its curve, moved up or down where two would overlap."""
    texts = ["\n".join(broken_label(policy)) for policy in curves]
    ends = [_height_in_axes(axes, panel, float(curve.mean[-1])) for curve in curves.values()]
    heights = [LABEL_SIZE * LINE_SPACING * (text.count("\n") + 1) / 72 / PANEL_HEIGHT for text in texts]
    shrink = min(1.0, 1.0 / sum(heights))
    places = spread(ends, [height * shrink for height in heights])
    for place, (text, end, height) in enumerate(zip(texts, ends, places, strict=True)):
        look = _look(place)
        start = LABEL_START / PANEL_WIDTH
        axes.plot(
            [1.0, 1.0 + 0.6 * start],
            [end, height],
            transform=axes.transAxes,
            clip_on=False,
            linewidth=1.0,
            markersize=4,
            markevery=[1],
            label=f"_leader {place}",
            **look,
        )
        axes.text(
            1.0 + start,
            height,
            text,
            transform=axes.transAxes,
            va="center",
            size=LABEL_SIZE * shrink,
            linespacing=1.05,
            gid=f"label-{panel.metric}-{'log' if panel.logarithmic else 'linear'}-{place}",
        )


def _height_in_axes(axes: "Axes", panel: Panel, value: float) -> float:
    """Where a value lies between the bottom (0) and the top (1) of a panel."""
    bottom, top = axes.get_ylim()
    if panel.logarithmic:
        if value <= bottom:
            return 0.0
        return math.log(value / bottom) / math.log(top / bottom)
    return (value - bottom) / (top - bottom)


def spread(wanted: Sequence[float], heights: Sequence[float]) -> list[float]:
    """Centres from 0 to 1, as near as can be to those wanted, of boxes of these heights that must not overlap.

    Boxes that meet move as one block, to the mean of what its members want.
    """
    order = sorted(range(len(wanted)), key=lambda place: (wanted[place], place))
    blocks: list[tuple[float, list[int]]] = []  # bottom edge, members from the bottom up
    for place in order:
        members = [place]
        bottom = _bottom_of_block(members, wanted, heights)
        while blocks and blocks[-1][0] + sum(heights[member] for member in blocks[-1][1]) > bottom:
            members = blocks.pop()[1] + members
            bottom = _bottom_of_block(members, wanted, heights)
        blocks.append((bottom, members))
    centres = [0.0] * len(wanted)
    for bottom, members in blocks:
        for member in members:
            centres[member] = bottom + heights[member] / 2
            bottom += heights[member]
    return centres


def _bottom_of_block(members: Sequence[int], wanted: Sequence[float], heights: Sequence[float]) -> float:
    offset = 0.0
    total = 0.0
    for member in members:
        total += wanted[member] - offset - heights[member] / 2
        offset += heights[member]
    return min(max(total / len(members), 0.0), max(1.0 - offset, 0.0))
