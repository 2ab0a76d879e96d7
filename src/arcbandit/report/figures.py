"""From charts to files: single charts for a page, which a phone stacks, or a sheet of charts."""

import io
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from arcbandit.report.charts import Chart, Matrix, Sheet, alt_text
from arcbandit.report.drawing import draw_chart_on
from arcbandit.report.fonts import FAMILY
from arcbandit.report.look import (
    BOTTOM,
    DOTS_PER_INCH,
    GAP,
    LABEL_SIZE,
    LABEL_START,
    LEFT,
    LETTER_WIDTH,
    NAME_LETTER,
    PAGE_WIDTH,
    PANEL_HEIGHT,
    PANEL_WIDTH,
    QUIET_COLOUR,
    ROW_HEIGHT,
    SUBTITLE_HEIGHT,
    TITLE_HEIGHT,
    TITLE_SIZE,
    TOP,
    house_style,
)
from arcbandit.report.tables import broken_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PLOT_SUFFIXES = (".png", ".pdf", ".svg")
COLUMNS_OF_A_SHEET = 3
PAGE_LABELS = 1.2  # inches by which a chart without labels is wider, so that all are about the same size


class Cell(NamedTuple):
    """Inches: room to the left of the axes, the axes, room to the right."""

    left: float
    width: float
    height: float
    right: float

    def axes_on(self, figure: "Figure", left: float, bottom: float) -> "Axes":
        """The axes, with their lower left corner there."""
        width, height = figure.get_size_inches()
        return figure.add_axes((left / width, bottom / height, self.width / width, self.height / height))


def draw_chart(chart: Chart | Matrix) -> "Figure":
    """A figure of one chart."""
    cell = cell_of(chart, PAGE_WIDTH)
    if cell.right == GAP and not cell.left > LEFT:
        cell = cell._replace(width=cell.width + PAGE_LABELS)
    with house_style():
        figure = figure_of(cell.left + cell.width + cell.right, BOTTOM + cell.height + TOP)
        _place(figure, chart, cell, cell.left, BOTTOM)
    return figure


def draw_sheet(sheet: Sheet, families: Sequence[str] = (FAMILY,)) -> "Figure":
    """All charts, row by row, under one title."""
    cells = [cell_of(chart, PANEL_WIDTH) for chart in sheet.charts]
    left = max(cell.left for cell in cells)
    cell_width = left + max(cell.width + cell.right for cell in cells)
    cell_height = BOTTOM + max(cell.height for cell in cells) + TOP
    # Four charts are two rows of two: one chart alone in a row would look forgotten.
    columns = min(len(cells), 2 if len(cells) == 4 else COLUMNS_OF_A_SHEET)
    rows = math.ceil(len(cells) / columns)
    heading = TITLE_HEIGHT + (SUBTITLE_HEIGHT if sheet.subtitle else 0.0)
    width, height = columns * cell_width, rows * cell_height + heading
    with house_style(families):
        figure = figure_of(width, height)
        for place, (chart, cell) in enumerate(zip(sheet.charts, cells, strict=True)):
            bottom = (rows - 1 - place // columns) * cell_height + BOTTOM
            _place(figure, chart, cell, (place % columns) * cell_width + left, bottom)
        figure.text(0.2 / width, 1 - 0.12 / height, sheet.title, va="top", size=TITLE_SIZE, weight="bold")
        figure.text(0.2 / width, 1 - 0.39 / height, sheet.subtitle, va="top", size=LABEL_SIZE, color=QUIET_COLOUR)
    return figure


def chart_file(chart: Chart | Matrix, suffix: str) -> bytes:
    """A file of one chart."""
    return rendered(draw_chart(chart), suffix, chart.heading, alt_text(chart))


def sheet_files(sheet: Sheet, suffixes: Sequence[str], families: Sequence[str] = (FAMILY,)) -> dict[str, bytes]:
    """Files of all charts of a sheet, by suffix."""
    drawn = draw_sheet(sheet, families)
    return {suffix: rendered(drawn, suffix, sheet.title, alt_text(sheet)) for suffix in suffixes}


def rendered(figure: "Figure", suffix: str, title: str, description: str) -> bytes:
    """The figure as a file of that suffix, the same bytes each time."""
    # A date would make the bytes differ each time.
    metadata: dict[str, dict[str, Any]] = {
        ".png": {"Title": title, "Description": description},
        ".svg": {"Title": title, "Description": description, "Date": None},
        ".pdf": {"Title": title, "Subject": description, "CreationDate": None},
    }
    content = io.BytesIO()
    with house_style():
        figure.savefig(content, format=suffix[1:], dpi=DOTS_PER_INCH, metadata=metadata[suffix])
    return content.getvalue()


def figure_of(width: float, height: float) -> "Figure":
    """An empty figure, sizes in inches."""
    from matplotlib.figure import Figure

    # Without pyplot no window opens and no figure outlives its use.
    return Figure(figsize=(width, height), facecolor="white")


def cell_of(chart: Chart | Matrix, width: float) -> Cell:
    """The room that a chart needs if its axes have this width, unless it has a size of its own."""
    if isinstance(chart, Matrix):
        return Cell(LEFT, width, PANEL_HEIGHT, GAP)
    left, height = LEFT, PANEL_HEIGHT
    if chart.size is not None:
        width, height = chart.size
    if chart.y_ticks:
        left = max(LEFT, 0.4 + NAME_LETTER * max(len(name) for _, name in chart.y_ticks))
    if chart.y_names:
        left = 0.3 + NAME_LETTER * max(len(name) for name in chart.y_names)
        height = max(PANEL_HEIGHT, ROW_HEIGHT * len(chart.y_names))
    if not chart.direct_labels:
        return Cell(left, width, height, GAP)
    letters = max(len(part) for line in chart.lines for part in broken_label(line.label))
    return Cell(left, width, height, LABEL_START + LETTER_WIDTH * max(letters, 6) + GAP)


def _place(figure: "Figure", chart: Chart | Matrix, cell: Cell, left: float, bottom: float) -> None:
    axes = cell.axes_on(figure, left, bottom)
    draw_chart_on(axes, chart, f"{len(figure.axes)}")
