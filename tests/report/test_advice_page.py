import numpy as np
import pytest

from arcbandit import GroupFloor, LogStatistics, advise
from arcbandit.logs.learning_time import LearningTime
from arcbandit.report.advice_page import advice_page, promise_chart, revenue_chart, scale_chart
from arcbandit.report.advice_words import in_one_sentence, remarks
from arcbandit.report.charts import alt_text
from tests.report.test_page import Reader

ARMS, CONTEXTS = ("<b>guest</b>", "house"), ("phone", "tv & radio")


def log(rows=4000):
    counts = np.full((2, 2), rows // 4)
    means = np.array([[0.3, 0.5], [0.6, 0.4]])
    return LogStatistics(ARMS, CONTEXTS, counts, counts * means, counts * (means**2 + 0.04))


@pytest.fixture(scope="module")
def kept():
    return advise(log(), {ARMS[0]: 0.15})


@pytest.fixture(scope="module")
def text(kept):
    return advice_page(kept, [LearningTime("blp", 300.0, float("inf"))])


@pytest.mark.slow
class TestPage:
    def test_it_has_a_sentence_and_a_picture_first(self, text):
        read = Reader(text)
        assert read.open == []
        assert text.index("<h1>The floors can be kept") < text.index("<img") < text.index("<table")
        assert len(read.images) == 3
        assert all(image["src"].startswith("data:image/svg+xml;base64,") for image in read.images)
        assert ["blp", "300", "more than simulated"] in read.rows
        assert "http" not in text.replace("http-equiv", "")

    def test_names_are_only_letters(self, text):
        assert "<b>guest" not in text
        assert "tv &amp; radio" in text

    def test_floors_in_conflict_have_no_plan(self):
        text = advice_page(advise(log(), {ARMS[0]: 0.4, ARMS[1]: 0.5}))
        assert "cannot be kept together" in text
        assert "No plan" in text
        assert len(Reader(text).images) == 2

    def test_without_floors_and_with_groups(self):
        assert "of what it earns now" in advice_page(advise(log()))
        grouped = advise(log(), group_floors=[GroupFloor("all", ARMS, 0.4)])
        assert any(row[:1] == ["all"] for row in Reader(advice_page(grouped)).rows)


def test_charts_say_in_words_what_they_show(kept):
    assert "house 0.3" in alt_text(promise_chart(kept))
    assert "revenue" in alt_text(revenue_chart(kept)).lower()
    chart = scale_chart(kept)
    assert chart.spans[0][:2] == (0.0, pytest.approx(kept.largest_scale.low))


@pytest.mark.parametrize(
    ("rows", "floors", "said"),
    [
        (4000, (0.15, 0.0), "The floors can be kept, with 95% confidence"),
        (4000, (0.4, 0.5), "cannot be kept together, with 95% confidence"),
        (80, (0.2, 0.25), "The floors can probably be kept, but the log does not show it with 95% confidence"),
        (400, (0.24, 0.32), "The floors can probably not be kept"),
        (4000, (0.0, 0.0), "every arm can be promised"),
    ],
)
def test_the_sentence_fits_what_is_known(rows, floors, said):
    assert said in in_one_sentence(advise(log(rows), dict(zip(ARMS, floors, strict=True))))


def test_what_is_left_out_is_said():
    counts = np.array([[500, 5], [500, 3]])
    sparse = LogStatistics(ARMS, CONTEXTS, counts, counts * 0.5, counts * 0.3)
    said = " ".join(remarks(advise(sparse, {"house": 0.1})))
    assert "2 of 4 pairs" in said
    assert "Nothing is counted as earned in tv & radio" in said
