"""What is published in docs/ about learning."""

from pathlib import Path

from arcbandit.learning.page import page_with_charts
from arcbandit.learning.results import PARTS, read

DOCS = Path(__file__).parents[2] / "docs"
PAGE, FOLDER = DOCS / "learning.md", DOCS / "learning"


def test_the_page_is_that_of_the_results_beside_it():
    """Every number and every figure; `arcbandit benchmark --from docs/learning --page docs/learning.md` writes it."""
    text, charts = page_with_charts(PAGE, FOLDER, {part: read(FOLDER, part) for part in PARTS})
    assert PAGE.read_text(encoding="utf-8") == text
    assert sorted(FOLDER.glob("*.svg")) == sorted(charts)
