"""The numbers of a chart, as the page's script and the files of results get them."""

import json
import math

from arcbandit.report.chart_data import chart_data, is_interactive
from arcbandit.report.charts import Chart, Line, Matrix, is_zero, shade_text
from arcbandit.report.look import looks_of

LINE = Line("OLP", [1, 10, 100], [1.0, math.nan, 1234567.891], [0.0, 0.0, 1.0], [2.0, 2.0, 2e7], shade="a band")
CHART = Chart("Regret", "round t", "R", (LINE,), (Line("√T  ", [1, 2], [1, 2], below=True),), x_log=True)


def test_numbers_have_six_digits_and_what_is_none_is_null():
    data = chart_data(CHART)
    (line,) = data["lines"]
    assert line["x"] == [1, 10, 100]
    assert line["y"] == [1, None, 1234570]
    assert (line["low"], line["high"]) == ([0, 0, 1], [2, 2, 20000000])
    assert data["guides"][0]["label"] == "√T"
    assert (data["x_log"], data["y_log"], data["shade"]) == (True, False, "a band")
    assert json.loads(json.dumps(data, allow_nan=False)) == data


def test_a_dashed_guide_is_dashed_in_the_browser_too():
    guides = (Line("limit", [1, 2], [1, 2], dashed=True), Line("√T", [1, 2], [1, 2]))
    dashes = [guide["dash"] for guide in chart_data(Chart("", "", "", (LINE,), guides))["guides"]]
    assert dashes == ["6 3", ""]


def test_a_line_has_the_colour_of_the_figure():
    assert chart_data(CHART)["lines"][0]["color"] == looks_of(["OLP"], [None])[0]["color"]


def test_only_plain_lines_are_live():
    """What has names, ranges or shares instead of numbers stays an image."""
    dots = LINE._replace(joined=False)
    assert is_interactive(CHART)
    assert not is_interactive(Matrix("Shares", [[1.0]], "context", "arm"))
    assert not is_interactive(Chart("", "", "", (dots,)))
    assert not is_interactive(Chart("", "", "", (LINE,), y_names=("one",)))
    assert chart_data(Matrix("Shares", [[1.0]], "context", "arm"))["values"] == [[1]]


def test_a_chart_of_zeros_is_known():
    zeros = Line("OPLP", [1, 2], [0.0, 0.0])
    assert is_zero(Chart("", "", "", (zeros, zeros)))
    assert not is_zero(Chart("", "", "", (zeros, LINE)))
    assert not is_zero(Matrix("Shares", [[0.0]], "context", "arm"))


def test_a_shade_is_said_in_words():
    plain = Line("OLP", [1], [1.0], [0.5], [2.0])
    assert shade_text(CHART) == "a band"
    assert shade_text(Chart("", "", "", (plain,))) == ""
    assert shade_text(Chart("", "", "", (plain, LINE, LINE))) == "a band"
    assert shade_text(Chart("", "", "", (Line("OLP", [1], [1.0]),))) == ""
