"""The results of a reproduction as plain text and LaTeX, and the files that the page is made of."""

import json
import re
from importlib.resources import files

import pytest

from arcbandit.experiments.reproduce import EXPERIMENTS
from arcbandit.report.latex import latex
from arcbandit.report.reproduction.entries import (
    ClaimEntry,
    DrawnPanel,
    ExperimentEntry,
    HighlightEntry,
    PaperEntry,
    StatementEntry,
    Story,
)
from arcbandit.report.reproduction.page import reproduction_page
from arcbandit.report.reproduction.results import results_json, results_latex, results_text
from arcbandit.report.tables import NumberTable

PAPER = PaperEntry("A <title>", ("Ada & Bob",), "arXiv", "https://arxiv.org/abs/1", "@misc{one}", ("One.", "Two."))
HELD = StatementEntry("It grows.", "A slope.", True, "1.5 ± 0.1")
LEFT = StatementEntry("It never leaves.", "No epoch left.", False, "1 of 5 left")
PANEL = DrawnPanel("Regret", "Regret in words", b"<svg/>", "Lines.", {"title": "</script>", "lines": []}, True, {})
ENTRY = ExperimentEntry(
    "one",
    "The first",
    "What is played.",
    "",
    (
        ClaimEntry("a", "OLP's regret grows.", "reproduced", False, HELD, None, ""),
        ClaimEntry(
            "b", "It leaves.", "slip in the paper", False, LEFT, HELD, "Because & so.", "held in 30 of 30 seeds"
        ),
        ClaimEntry("c", "Ours.", "beyond the paper", True, None, LEFT, ""),
    ),
    (PANEL, PANEL._replace(svg=b"", note="Not drawn: zero throughout.", interactive=False)),
    (NumberTable("At T", ("policy", "R"), (("OLP", "49 ± 14"), ("OPLP", "1,842 ± 159"))),),
    (HighlightEntry("reproduced", "It does.", 0), HighlightEntry("slip in the paper", "A slip.", 0)),
    {"noise": "gaussian, σ = 1", "horizon": "10", "epochs": "5"},
)
STORY = Story(PAPER, (ENTRY,), (), {"seed": "0"}, "")


def test_the_document_has_both_outcomes_and_every_table():
    document = json.loads(results_json(STORY))
    (one,) = document["experiments"]
    first, second, third = one["claims"]
    assert (first["paper"]["holds"], first["ours"]) == (True, None)
    assert (second["paper"]["holds"], second["ours"]["number"]) == (False, "1.5 ± 0.1")
    assert (third["paper"], third["failed"]) == (None, True)
    assert one["tables"][0]["rows"] == [["OLP", "49 ± 14"], ["OPLP", "1,842 ± 159"]]
    assert [chart["title"] for chart in one["charts"]] == ["</script>", "</script>"]


def test_the_text_is_aligned():
    text = results_text(STORY)
    assert "OLP         49 ± 14\nOPLP    1,842 ± 159" in text
    assert "[slip in the paper] It leaves." in text
    assert "    paper: does not hold, 1 of 5 left\n    we: holds, 1.5 ± 0.1" in text


def test_the_latex_is_escaped_and_balanced():
    written = results_latex(STORY)
    assert r"49 $\pm$ 14" in written
    assert written.isascii()
    for name in ("longtable", "tabular"):
        assert written.count(f"\\begin{{{name}}}") == written.count(f"\\end{{{name}}}") == 1
    assert latex("λ ε Ω") == r"$\lambda$ $\varepsilon$ $\Omega$"
    assert latex("50 % of κ_1 & √T") == r"50 \% of $\kappa$\_1 \& $\surd$T"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_latex_has_every_letter_of_the_claims(name):
    """So that a plain LaTeX sets the table."""
    for claim in EXPERIMENTS[name].claims:
        assert latex(claim.sentence).isascii(), claim.sentence


def test_the_page_says_both_outcomes_and_cannot_be_broken_out_of():
    page = reproduction_page(STORY)
    assert "A &lt;title&gt;" in page
    assert page.count("</script>") == 2
    rows = re.findall(r"<tr id=.*?</tr>", page, flags=re.DOTALL)
    assert [re.findall(r'class="verdict (\w+)"', row) for row in rows] == [["holds"], ["fails", "holds"], ["fails"] * 2]
    assert "held in 30 of 30 seeds" in rows[1]
    assert "Not drawn: zero throughout." in page
    assert page.index("What reproduces") < page.index("What does not") < page.index('id="claims"')
    assert "± is the half width of a 95 % interval of the mean" in page


def test_the_page_names_the_hash_of_its_script():
    """A script with another letter would not run."""
    page = reproduction_page(STORY)
    assert len(re.findall(r"script-src 'sha256-[\w+/]{43}='", page)) == 1


@pytest.mark.parametrize(("name", "most"), [("page_script.js", 300), ("page_style.css", 300)])
def test_what_the_page_is_made_of_is_installed(name, most):
    text = files("arcbandit.report.reproduction").joinpath(name).read_text(encoding="utf-8")
    assert 0 < text.count("\n") < most
    assert "http" not in text
