"""The numbers of a chart, for the script of a page and for files of results."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from arcbandit.report.charts import Chart, Line, Matrix, shade_text
from arcbandit.report.look import GUIDE_COLOUR, looks_of

DIGITS = 6  # of a number; a figure shows fewer
DASHES = {"-": "", "--": "6 3", "-.": "7 3 1.5 3", ":": "1.5 2.5"}  # of the line styles, as SVG writes them


def chart_data(chart: Chart | Matrix) -> dict[str, Any]:
    """A chart as plain lists, texts and numbers; what is no number is None."""
    if isinstance(chart, Matrix):
        values = [_plain(row) for row in chart.values]
        return {"title": chart.title, "x_label": chart.x_label, "y_label": chart.y_label, "values": values}
    looks = looks_of([line.label for line in chart.lines], [line.place for line in chart.lines])
    return {
        "title": chart.title,
        "x_label": chart.x_label,
        "y_label": chart.y_label,
        "x_log": chart.x_log,
        "y_log": chart.y_log,
        "shade": shade_text(chart),
        "lines": [
            _line(line) | {"color": look["color"], "dash": DASHES[look["linestyle"]]}
            for line, look in zip(chart.lines, looks, strict=True)
        ],
        "guides": [
            _line(guide) | {"color": GUIDE_COLOUR, "dash": DASHES["--" if guide.dashed else "-"]}
            for guide in chart.guides
        ],
    }


def is_interactive(chart: Chart | Matrix) -> bool:
    """Whether the page's script can show it: lines over an axis of numbers, and nothing else."""
    if isinstance(chart, Matrix):
        return False
    furnished = chart.y_names or chart.y_ticks or chart.ranges or chart.spans or chart.marks_at
    return not furnished and bool(chart.lines) and all(line.joined for line in chart.lines)


def _line(line: Line) -> dict[str, Any]:
    shown: dict[str, Any] = {"label": line.label.strip(), "x": _plain(line.x), "y": _plain(line.y)}
    if line.low is not None and line.high is not None:
        shown |= {"low": _plain(line.low), "high": _plain(line.high)}
    if line.point_names:
        shown["point_names"] = list(line.point_names)
    if line.below:
        shown["below"] = True
    if line.marks:
        shown["marks"] = True
    return shown


def _plain(values: ArrayLike) -> list[float | None]:
    return [_rounded(value) for value in np.asarray(values, dtype=np.float64).tolist()]


def _rounded(value: float) -> float | None:
    if not math.isfinite(value):
        return None
    short = float(f"{value:.{DIGITS}g}")
    return int(short) if short.is_integer() else short
