"""Charts at the width at which a paper prints them."""

import re
import zlib

import numpy as np
import pytest

from arcbandit.report.charts import Chart, Line, Matrix
from arcbandit.report.fonts import SMALL_FAMILY, small_families
from arcbandit.report.print_sizes import COLUMN_WIDTHS, TYPE_SIZE, column_file

ROUNDS = np.geomspace(1, 10_000, 50)
NAMES = ("OLP", "OPLP", "Optimistic3", "ThompsonLP")
CHARTS = {
    "lines": Chart("Regret", "round t", "R", tuple(Line(name, ROUNDS, ROUNDS**0.5) for name in NAMES)),
    "log-log": Chart("Regret ν", "t", "γ* √T", (Line("OLP", ROUNDS, ROUNDS),), x_log=True, y_log=True),
    "matrix": Matrix("Shares", [[1.0, 0.0], [0.5, 0.5]], "context", "arm"),
}
pytestmark = pytest.mark.slow  # the small font is cut once per process


def _contents(pdf):
    """Everything that is drawn, uncompressed."""
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, flags=re.DOTALL)
    parts = []
    for stream in streams:
        try:
            parts.append(zlib.decompress(stream))
        except zlib.error:
            parts.append(stream)
    return b"\n".join(parts)


@pytest.mark.parametrize("column", COLUMN_WIDTHS)
@pytest.mark.parametrize("kind", CHARTS)
def test_a_column_is_as_wide_as_it_is_printed_with_type_of_eight_points(kind, column):
    """And its font is embedded in a form that publishers take."""
    pdf = column_file(CHARTS[kind], column)
    width = float(re.search(rb"/MediaBox \[ ?0 0 ([\d.]+)", pdf)[1]) / 72
    assert width == pytest.approx(COLUMN_WIDTHS[column], abs=0.01)
    sizes = {float(size) for size in re.findall(rb"/F\d+ ([\d.]+) Tf", _contents(pdf))}
    # Exponents of a tick are smaller than their base.
    assert max(sizes) == TYPE_SIZE
    assert sizes == {TYPE_SIZE} or kind == "log-log"
    assert b"/Type3" not in pdf
    assert b"/CIDFontType2" in pdf or b"/TrueType" in pdf


def test_a_chart_whose_names_leave_no_room_has_no_single_column():
    """Rather than letters that nobody can read."""
    names = ("a statement that is so long that it would fill a column by itself",)
    chart = Chart("", "rounds", "", (Line("one", [1.0], [0.0], joined=False),), y_names=names, direct_labels=False)
    assert column_file(chart, "single") is None
    assert column_file(chart, "double") is not None


def test_the_small_font_has_the_letters_of_the_paper_and_draws_alike():
    """A missing letter would be drawn from the whole font, at the price of time; none of these is."""
    from matplotlib import font_manager
    from matplotlib.ft2font import FT2Font

    assert small_families()[0] == SMALL_FAMILY
    for weight in ("normal", "bold"):
        small = FT2Font(font_manager.findfont(font_manager.FontProperties(family=SMALL_FAMILY, weight=weight)))
        whole = FT2Font(font_manager.findfont(font_manager.FontProperties(family="DejaVu Sans", weight=weight)))
        for letter in "Regret ν γ* ρ λ₁ √T log² × ± ≤ ≥ − – ν⁽⁰⁾ ν⁺ ν⁻ ν′ ½ ∈ →":
            assert small.get_char_index(ord(letter)), letter
        for font in (small, whole):
            font.set_size(8, 72)
            font.set_text("Regret AV, 1,234 νγ")
        assert small.get_width_height() == whole.get_width_height()
