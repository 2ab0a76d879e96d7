"""The checklist of the paper names every item of it, and what it points to is there."""

import re
from pathlib import Path

import pytest

from arcbandit.experiments.checklist import CHECKLIST
from arcbandit.experiments.paper import PAPER
from arcbandit.experiments.reproduce import EXPERIMENTS

ROOT = Path(__file__).parents[2]
# The labels of the paper's definitions, statements, algorithms, figures and tables, in its order.
LABELS = """
Fig: Challenge Illustration|Model|def:metrics|Assump: Sub-Gaussian rewards|Assump: Known contexts probabilities
Assump: Strict feasibility|def: gamma|def: Sgamma|def: Psi set and S(I)|def: Perf I|def: suboptimality gap
lem: subotimality characterisation|eq:empirical_mean|eq:conf-set-def|prop:conf-set|Alg: Optimism|Alg: Pessimism
Th: Results of OLP|Th: Results of OPLP|tab: lower bound egs|eq:nearby-alternatives|Th: Lower Bound|lem: zero entry
Fact 1|Fact 2|lem: best arm carac|Prop: Sgamma|Prop: L(I)|prop: Pairwise Estimation Error Upper Bound
prop: OLP rho star|Lem: w(t) belongs to Psi set|Prop: tau|Prop: zero constraint for pessimism
prop: regret_of_first_phase_under_pessimism|Prop: regret_when_saturating_the_correct_arms_under_pessimism
prop: regret_suboptimal_activated_constraints_under_pessimism|tab:nu+ instance|tab:nu- instance
tab:allocation-nu-plus|tab:allocation-nu-minus|tab: instance nu prime|tab:allocation-nu-prime|tab:simulation-egs
tab:allocation-nu-egs|Fig: experiment|tab:simulation-NSegs|tab:allocation-nu-NSegs|Fig: experiment NS
Fig: experiment OPLP sensitivity|tab:greedy_counter_example
"""


def test_every_label_of_the_paper_is_an_item():
    """Once each."""
    labels = [label for line in LABELS.strip().splitlines() for label in line.split("|")]
    items = [item.label for item in CHECKLIST if item.label]
    assert len(items) == len(set(items))
    assert set(labels) <= set(items)


@pytest.mark.parametrize("item", CHECKLIST, ids=lambda item: item.label or item.title)
def test_an_item_points_to_what_is_there_or_says_why_not(item):
    """Experiments, tests and pages of the documentation by name."""
    assert set(item.experiments) <= set(EXPERIMENTS)
    for test in item.tests:
        file, _, name = test.partition("::")
        assert re.search(rf"^ *def {name}\(", (ROOT / file).read_text(encoding="utf-8"), flags=re.MULTILINE), test
    for page in item.docs:
        assert (ROOT / page.partition(":")[0]).is_file()
    assert item.experiments or item.tests or item.remark.startswith("Not implemented, because")


def test_the_citation_is_that_of_the_references():
    """Letter by letter, so that it is kept in one way."""
    assert PAPER.bibtex in (ROOT / "docs" / "references.bib").read_text(encoding="utf-8")
    assert PAPER.title in PAPER.bibtex
    assert all(name.split()[-1] in PAPER.bibtex for name in PAPER.authors)
    assert len(PAPER.setting) == 5
