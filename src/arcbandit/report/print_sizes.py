"""Charts at the width at which a paper prints them: one column or two, with type of 8 points."""

from dataclasses import replace

from arcbandit.report.charts import Chart, Matrix, alt_text
from arcbandit.report.drawing import draw_chart_on, names_in_a_row
from arcbandit.report.figures import Cell, cell_of, figure_of, rendered
from arcbandit.report.fonts import small_families
from arcbandit.report.look import BOTTOM, LINE_SPACING, house_style

COLUMN_WIDTHS = {"single": 3.4, "double": 7.0}  # inches
TYPE_SIZE = 8.0  # points
LEAST_WIDTH = 1.4  # inches of axes; a chart whose names leave less does not fit one column
LEAST_HEIGHT, MOST_HEIGHT = 1.9, 2.6
ASPECT = 0.62  # height of the axes by their width
EDGE = 0.12  # inches of white at the right and at the top


def column_file(chart: Chart | Matrix, column: str) -> bytes | None:
    """A PDF of one chart for a column of COLUMN_WIDTHS; None if it does not fit.

    It has no title: a paper's figures have captions.
    """
    from matplotlib.text import Text

    total = COLUMN_WIDTHS[column]
    shown = _legend_above(chart)
    cell = cell_of(shown, 1.0)
    right = cell.right if isinstance(shown, Chart) and shown.ranges else EDGE
    width = total - cell.left - right
    if width < LEAST_WIDTH:
        return None
    tall = isinstance(shown, Chart) and bool(shown.y_names)
    height = cell.height if tall else min(max(width * ASPECT, LEAST_HEIGHT), MOST_HEIGHT)
    top = EDGE + _legend_height(shown, width)
    with house_style(small_families()):
        figure = figure_of(total, BOTTOM + height + top)
        axes = Cell(cell.left, width, height, right).axes_on(figure, cell.left, BOTTOM)
        draw_chart_on(axes, shown, "1")
        axes.set_title("")
        for text in figure.findobj(Text):
            text.set_fontsize(TYPE_SIZE)
    return rendered(figure, ".pdf", chart.heading, alt_text(chart))


def _legend_above(chart: Chart | Matrix) -> Chart | Matrix:
    """The chart with the names of its lines above it, where they take no width from the axes."""
    if isinstance(chart, Matrix) or not chart.direct_labels or chart.ranges:
        return chart
    return replace(chart, direct_labels=False, legend_above=True)


def _legend_height(chart: Chart | Matrix, width: float) -> float:
    if isinstance(chart, Matrix) or not chart.legend_above or len(chart.lines) < 2:
        return 0.0
    names = [line.label for line in chart.lines]
    rows = -(-len(names) // names_in_a_row(names, width))
    return rows * TYPE_SIZE * LINE_SPACING / 72 + 0.12
