"""What the drawing engine makes of a chart."""

import itertools

import numpy as np
import pytest

from arcbandit.report.charts import Chart, Line, Matrix, Sheet, alt_text
from arcbandit.report.figures import PLOT_SUFFIXES, draw_chart, draw_sheet, sheet_files

ROUNDS = np.arange(1, 101)


def chart(*lines, **options):
    return Chart("A title", "x", "y", lines, **options)


def axes_of(chart):
    figure = draw_chart(chart)
    figure.canvas.draw()
    (axes,) = figure.get_axes()
    return axes


def tick_names(axis):
    return [label.get_text() for label in axis.get_ticklabels(which="both") if label.get_text()]


@pytest.mark.parametrize("logarithmic", [False, True])
@pytest.mark.parametrize(
    "values",
    [np.zeros(100), -ROUNDS, np.full(100, np.nan), np.full(100, np.inf), np.full(100, 7.0), ROUNDS * 1e-300],
    ids=["zero", "negative", "unknown", "infinite", "constant", "tiny"],
)
def test_whatever_the_values_are_a_chart_is_drawn(values, logarithmic):
    axes = axes_of(chart(Line("one", ROUNDS, values), x_log=logarithmic, y_log=logarithmic))
    low, high = axes.get_ylim()
    assert np.isfinite([low, high]).all()
    assert low < high
    finite = values[np.isfinite(values) & ((values > 0) | (not logarithmic))]
    assert ((finite >= low) & (finite <= high)).all()


def test_one_point_is_drawn_on_either_scale():
    """A simulation of one round."""
    for logarithmic in (False, True):
        axes = axes_of(chart(Line("one", [1], [2.0]), x_log=logarithmic, y_log=logarithmic))
        assert axes.get_xlim()[0] < axes.get_xlim()[1]


@pytest.mark.parametrize(("low", "high"), [(30, 45), (25, 300), (3, 30), (1, 1000), (0.002, 0.009), (200, 900_000)])
def test_a_logarithmic_axis_names_a_few_numbers(low, high):
    """Neither none, nor so many that they overlap."""
    axes = axes_of(chart(Line("one", [low, high], [low, high]), x_log=True, y_log=True, direct_labels=False))
    for axis in (axes.xaxis, axes.yaxis):
        first, last = axis.get_view_interval()
        shown = [
            label
            for place, label in zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=True)
            if first <= place <= last and label.get_text()
        ]
        assert 2 <= len(shown) <= 9
        assert not [label for label in axis.get_ticklabels(minor=True) if label.get_text()]
    boxes = [label.get_window_extent() for label in axes.xaxis.get_ticklabels() if label.get_text()]
    inside = [box for box in boxes if axes.bbox.x0 <= (box.x0 + box.x1) / 2 <= axes.bbox.x1]
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(inside))


def test_bands_are_lighter_than_intervals_and_neither_leaves_the_axes_empty():
    line = Line("one", ROUNDS, ROUNDS, ROUNDS * 0.9, ROUNDS * 1.1, ROUNDS * 0.5, ROUNDS * 2.0)
    axes = axes_of(chart(line))
    band, interval = axes.collections
    assert band.get_alpha() < interval.get_alpha()
    assert axes.get_ylim()[1] >= 200


def test_places_with_names_stand_on_the_vertical_axis():
    ticks = ((1.0, "one"), (10.0, "ten"))
    axes = axes_of(chart(Line("a", ROUNDS, ROUNDS), y_log=True, x_log=True, y_ticks=ticks))
    assert [label.get_text() for label in axes.get_yticklabels()] == ["one", "ten"]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6])
def test_the_charts_of_a_sheet_do_not_overlap(count):
    charts = tuple(chart(Line(f"policy {n}", ROUNDS, ROUNDS)) for n in range(count))
    figure = draw_sheet(Sheet("All", (*charts, Matrix("Shares", [[0.0, 1.0]], "context", "arm")), "under the title"))
    figure.canvas.draw()
    boxes = [axes.get_tightbbox() for axes in figure.get_axes()]
    boxes += [text.get_window_extent() for text in figure.texts]
    assert len(boxes) == count + 3
    for place, one in enumerate(boxes):
        assert figure.bbox.x0 <= one.x0 < one.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= one.y0 < one.y1 <= figure.bbox.y1
        assert not [other for other in boxes[:place] if one.overlaps(other)]


def test_a_sheet_says_what_its_charts_say_unless_told_otherwise():
    charts = (chart(Line("one", ROUNDS, ROUNDS)), Matrix("Shares", [[0.25, 0.75]], "context", "arm"))
    assert alt_text(Sheet("All", charts)) == f"{alt_text(charts[0])} {alt_text(charts[1])}"
    assert alt_text(Sheet("All", charts, in_words="Both.")) == "Both."
    assert "At the right end: one 100." in alt_text(charts[0])
    assert "arm 1: 0.25, 0.75" in alt_text(charts[1])


@pytest.mark.slow
def test_files_are_the_same_bytes_each_time():
    sheet = Sheet("All", (chart(Line("one", ROUNDS, ROUNDS)),))
    first, second = sheet_files(sheet, PLOT_SUFFIXES), sheet_files(sheet, PLOT_SUFFIXES)
    assert first == second
    assert set(first) == set(PLOT_SUFFIXES)


@pytest.mark.parametrize("below", [False, True])
@pytest.mark.parametrize("power", [-2.0, 2.0])
def test_the_name_of_a_guide_does_not_stand_on_it(power, below):
    """Whether it rises or falls, and on whichever side its name is."""
    guide = Line("a name", ROUNDS, ROUNDS**power, below=below)
    axes = axes_of(chart(Line("one", ROUNDS, np.ones(100)), guides=(guide,), x_log=True, y_log=True))
    box = next(text for text in axes.texts if text.get_text() == "a name").get_window_extent()
    over = np.geomspace(1.0, 100.0, 2000)
    points = axes.transData.transform(np.column_stack([over, over**power]))
    assert not [point for point in points if box.contains(*point)]
    assert axes.bbox.x0 <= box.x0 < box.x1 <= axes.bbox.x1


@pytest.mark.parametrize("height", [0.001, 0.5])
def test_the_name_of_a_guide_stays_clear_of_the_numbers_of_the_axis(height):
    """It is above a guide that has no room below."""
    guide = Line("a name", ROUNDS, height * ROUNDS, below=True, dashed=True)
    axes = axes_of(chart(Line("one", ROUNDS, ROUNDS), guides=(guide,)))
    box = next(text for text in axes.texts if text.get_text() == "a name").get_window_extent()
    line = axes.transData.transform((50.0, height * 50.0))[1]
    assert box.y0 >= axes.bbox.y0
    assert (box.y1 < line) == (height == 0.5)


def test_the_level_of_a_dashed_guide_is_told():
    """That of another is arbitrary: it shows a slope."""
    dashed = Line("limit", ROUNDS, 2.0 * ROUNDS, dashed=True)
    told = alt_text(chart(Line("one", ROUNDS, ROUNDS), guides=(Line("√T", ROUNDS, ROUNDS), dashed)))
    assert "The dashed guide, limit, ends at 200." in told
    assert "√T" not in told


def test_a_shade_has_no_zero_to_reach_on_a_logarithmic_axis():
    """It is drawn only where its lower edge is above zero."""
    x = np.array([1.0, 10.0, 100.0, 1000.0])
    line = Line("one", x, x, np.array([0.0, 0.0, 50.0, 500.0]), 2 * x)
    axes = axes_of(chart(line, x_log=True, y_log=True, direct_labels=False))
    heights = np.concatenate([path.vertices[:, 1] for path in axes.collections[0].get_paths()])
    assert heights.min() == 50.0
    linear = axes_of(chart(line, direct_labels=False))
    assert min(path.vertices[:, 1].min() for path in linear.collections[0].get_paths()) == 0.0
