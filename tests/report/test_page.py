import base64
import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import pytest

from arcbandit import paper_instance, simulate
from arcbandit.errors import InvalidInputError
from arcbandit.report.charts import alt_text
from arcbandit.report.metric_charts import DRAWN, simulation_chart
from arcbandit.report.page import page, save_page, save_report
from arcbandit.report.tables import best_policy, result_rows

VOID = {"meta", "img"}


class Reader(HTMLParser):
    """Tags balanced, cells by row, images and text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.rows, self.images, self.words, self.attributes = [], [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.attributes += [(tag, *pair) for pair in attrs]
        if tag == "img":
            self.images.append(dict(attrs))
        if tag == "tr":
            self.rows.append([])
        if tag in ("th", "td"):
            self.rows[-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("th", "td"):
            self.rows[-1][-1] += data
        self.words.append(data)


@pytest.fixture(scope="module")
def text(trace):
    return page(trace, "Simulation of <nu>")


def test_the_page_is_well_formed(text):
    """Every tag that opens closes, in order."""
    assert Reader(text).open == []
    assert text.startswith("<!DOCTYPE html>")


def test_the_table_holds_the_results(trace, text):
    """As the terminal shows them; names are only letters."""
    rows = Reader(text).rows
    for row in result_rows(trace):
        assert row in rows
    assert "<b>&odd" not in text
    assert "Simulation of &lt;nu&gt;" in text
    assert text.count('class="best"') == 1
    assert re.search(r'class="best"><th scope="row">([^<]*)<', text)[1] == best_policy(trace)


def test_the_limit_is_told_where_it_is_known(text):
    """The made-up instance has no floor that binds."""
    found = page(simulate(paper_instance("nu"), "blp", 300, 1))
    assert "<dt>limit</dt><dd>R + V of 19.26: what learning must cost, to the order of √T</dd>" in found
    assert "<dt>limit</dt>" not in text


def test_settings_are_told(text):
    """What is needed to run it again."""
    words = " ".join(Reader(text).words)
    for part in ("10,000 rounds", "epochs", "seed", "7", "gaussian", "arcbandit 0.0.0", "1.75", "<i>guest"):
        assert part in words


@pytest.mark.slow
def test_the_page_of_a_summary_holds_the_same_results(trace, summary):
    """And says what its lighter shades are."""
    text = page(summary)
    for row in result_rows(trace):
        assert row in Reader(text).rows
    words = " ".join(Reader(text).words)
    assert "lighter shades reach from the 5 % to the 95 % quantile" in words
    assert "means, variances and quantiles over epochs" in words


def test_each_panel_is_a_picture_with_words(trace, text):
    """An SVG in the page, and its alt text."""
    images = Reader(text).images
    charts = [simulation_chart(trace, metric, logarithmic) for metric in DRAWN for logarithmic in (False, True)]
    assert [image["alt"] for image in images] == [alt_text(chart) for chart in charts]
    for image in images:
        head, content = image["src"].split(",", 1)
        assert head == "data:image/svg+xml;base64"
        assert ElementTree.fromstring(base64.b64decode(content)).tag == "{http://www.w3.org/2000/svg}svg"


def test_nothing_is_fetched(text):
    """No script, no address of another file: the page opens offline."""
    reader = Reader(text)
    assert "://" not in text
    assert "<script" not in text
    assert "url(" not in text
    assert not [one for one in reader.attributes if one[1] in ("href", "srcset", "onload")]
    for image in reader.images:
        drawing = base64.b64decode(image["src"].split(",", 1)[1]).decode()
        for reference in re.findall(r'(?:href|src)="([^"]*)"', drawing):
            assert reference.startswith("#")
        assert "<script" not in drawing


@pytest.mark.slow
def test_windows_and_infeasible_floors_are_told(trace_with):
    """Only where there are any."""
    words = " ".join(Reader(page(trace_with(window=500, feasible=False))).words)
    assert "Worst window of 500 rounds" in words
    assert "cannot be met together" in words
    plain = " ".join(Reader(page(trace_with())).words)
    assert "Worst window" not in plain
    assert "cannot be met together" not in plain


@pytest.mark.slow
def test_the_same_trace_gives_the_same_page(trace, text, tmp_path):
    """In memory and in a file."""
    save_page(trace, tmp_path / "a.html", "Simulation of <nu>")
    save_report(trace, tmp_path / "b.HTML", "Simulation of <nu>")
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == text
    assert (tmp_path / "b.HTML").read_text(encoding="utf-8") == text


@pytest.mark.slow
def test_a_report_is_a_page_or_a_picture(trace, tmp_path):
    """By its suffix."""
    save_report(trace, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InvalidInputError, match=r"must end in \.html, \.png, \.pdf or \.svg"):
        save_report(trace, tmp_path / "a.jpeg")
