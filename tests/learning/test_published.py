"""What is published in docs/ about learning."""

from pathlib import Path

import numpy as np
import pytest

from arcbandit.learning.contestants import CAREFUL, CAUTIOUS, DEFAULT, JUDGED
from arcbandit.learning.families import RANDOM
from arcbandit.learning.page import page_with_charts
from arcbandit.learning.results import FRONTIER, PARTS, SCORED, read
from arcbandit.learning.scores import in_common, quotients, ratios, score

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


def ranges(policy, other, metric="total", without=()):
    """The least and the largest of these ratios over the random families but for some."""
    found = sorted(ratio_of(family, policy, other, metric) for family in RANDOM if family not in without)
    return f"{found[0]} to {found[-1]}"


def sums(family, policy):
    """Regret and violation as pages have them."""
    one = score(read(FOLDER, SCORED)[family], policy)
    return f"{one.regret:,.0f}", f"{one.violation:,.0f}"


def test_the_readme_says_what_was_measured():
    """How PricedLP compares with BLP; the ranges are over families."""
    assert f"together are {ranges(JUDGED, DEFAULT)} of those of BLP" in words(DOCS.parent / "README.md")


@pytest.mark.parametrize(("page", "beside"), [("README.md", "lack at 1"), ("docs/tutorial.md", "lack with 1")])
def test_what_a_weight_of_10_costs_beside_a_weight_of_1(page, beside):
    text = words(DOCS.parent / page)
    violation = ranges(CAREFUL, JUDGED, "violation", without=("many",))
    regret = ranges(CAREFUL, JUDGED, "regret", without=("dear",))
    assert f"{violation} of what they {beside} ({ratio_of('many', CAREFUL, JUDGED, 'violation')} w" in text
    assert f"for {regret} times the regret" in text
    assert f"it is {ratio_of('dear', CAREFUL, JUDGED, 'regret')} times" in text


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md", "docs/in-production.md"])
def test_floors_lack_more_than_with_blp_where_they_are_dear(page):
    """Whoever must keep promises at such prices is told so on every page that recommends the weight."""
    lacked, without = sums("dear", CAREFUL)[1], sums("dear", DEFAULT)[1]
    assert f"({lacked} beside {without}" in words(DOCS.parent / page)
    assert float(lacked) > float(without)
    assert 1 / 22 < float(ratio_of("dear", CAREFUL, DEFAULT, "regret")) < 1 / 18  # "a twentieth"


def test_the_readme_says_where_a_weight_of_10_loses_to_oplp():
    """Half of `large` has floors that OPLP gives up."""
    readme = words(DOCS.parent / "README.md")
    assert f"floors lack {ranges(CAREFUL, CAUTIOUS, 'violation')} as much" in readme
    regret = ranges(CAREFUL, CAUTIOUS, "regret", without=("large",))
    large = ratio_of("large", CAREFUL, CAUTIOUS, "regret")
    assert f"regret is {regret} of OPLP's, but {large} on the family `large`" in readme
    found = read(FOLDER, SCORED)["large"]
    violates = [cautious.violation > cautious.regret for _, cautious in in_common(found, CAREFUL, CAUTIOUS)]
    given_up, kept = (
        [
            f"{ratios(quotients(found, CAREFUL, CAUTIOUS, metric)[np.array(violates) == one]).mean:.2f}"
            for metric in ("regret", "violation")
        ]
        for one in (True, False)
    )
    assert f"on {sum(violates)} of {len(violates)} instances" in readme
    assert f"on these regret is {given_up[0]} times OPLP's and violation {given_up[1]} of it" in readme
    assert f"on the others regret is {kept[0]} of it" in readme


def test_the_service_s_table_is_that_of_the_results():
    text = (DOCS / "service.md").read_text(encoding="utf-8")
    for family in ("small", "large", "dear", "rare"):
        plain, careful, default, cautious = (sums(family, one) for one in (JUDGED, CAREFUL, DEFAULT, CAUTIOUS))
        cells = (
            f"{plain[0]}, {careful[0]}",
            f"{plain[1]}, {careful[1]}",
            " and ".join(default),
            " and ".join(cautious),
        )
        assert f"| {family} | {' | '.join(cells)} |" in text
    both = in_common(read(FOLDER, SCORED)["dear"], CAREFUL, DEFAULT)
    worse = sum(careful.violation > default.violation for careful, default in both)
    assert f"even with 10, on {worse} of {len(both)} instances" in words(DOCS / "service.md")


def test_the_service_says_what_a_weight_of_the_size_of_prices_does():
    """Of the frontier, on the tuning half."""
    found = read(FOLDER, FRONTIER)["dear"]
    blp, *weights = (
        score(found, label)
        for label in (
            "linear-program:caution=0",
            "priced-lp:violation_weight=30",
            "priced-lp:violation_weight=100",
        )
    )
    lacks = " and ".join(f"{one.violation:,.0f}" for one in weights)
    costs = " and ".join(f"{one.regret / blp.regret:.2f}" for one in weights)
    text = words(DOCS / "service.md")
    assert f"With 30 and 100 they lack {lacks} on ten instances of the tuning half" in text
    assert f"where BLP has {blp.violation:,.0f}, for {costs} of BLP's regret" in text
