"""What is published in docs/ about learning."""

from pathlib import Path

from arcbandit.learning.contestants import CAREFUL, CAUTIOUS, DEFAULT, JUDGED
from arcbandit.learning.families import RANDOM
from arcbandit.learning.page import page_with_charts
from arcbandit.learning.results import PARTS, SCORED, read
from arcbandit.learning.scores import quotients, ratios, score

DOCS = Path(__file__).parents[2] / "docs"
PAGE, FOLDER = DOCS / "learning.md", DOCS / "learning"


def test_the_page_is_that_of_the_results_beside_it():
    """Every number and every figure; `arcbandit benchmark --from docs/learning --page docs/learning.md` writes it."""
    text, charts = page_with_charts(PAGE, FOLDER, {part: read(FOLDER, part) for part in PARTS})
    assert PAGE.read_text(encoding="utf-8") == text
    assert sorted(FOLDER.glob("*.svg")) == sorted(charts)


def ratio_of(family, policy, other, metric="total"):
    """The geometric mean of a metric over that of another policy, in two decimals."""
    return f"{ratios(quotients(read(FOLDER, SCORED)[family], policy, other, metric)).mean:.2f}"


def words(path):
    return " ".join(path.read_text(encoding="utf-8").split())


def test_the_readme_says_what_was_measured():
    """How PricedLP compares, and what a weight of 10 costs; the ranges are over families."""
    readme = words(DOCS.parent / "README.md")
    against_default = sorted(ratio_of(family, JUDGED, DEFAULT) for family in RANDOM)
    assert f"{against_default[0]} to {against_default[-1]} of those of BLP" in readme
    violation = sorted(ratio_of(family, CAREFUL, CAUTIOUS, "violation") for family in RANDOM)
    assert f"floors then lack {violation[0]} to {violation[-1]} as much" in readme
    regret = {family: ratio_of(family, CAREFUL, CAUTIOUS, "regret") for family in RANDOM}
    usual = sorted(value for family, value in regret.items() if family != "large")
    assert f"regret is {usual[0]} to {usual[-1]} of OPLP's, but {regret['large']} times" in readme


def test_the_service_s_table_is_that_of_the_results():
    text = (DOCS / "service.md").read_text(encoding="utf-8")
    results = read(FOLDER, SCORED)
    for family in ("small", "large", "dear", "rare"):
        plain, careful, cautious = (score(results[family], policy) for policy in (JUDGED, CAREFUL, CAUTIOUS))
        sums = (
            f"{plain.regret:,.0f}, {careful.regret:,.0f}",
            f"{plain.violation:,.0f}, {careful.violation:,.0f}",
            f"{cautious.regret:,.0f} and {cautious.violation:,.0f}",
        )
        assert f"| {family} | {' | '.join(sums)} |" in text
