"""docs/what-each-costs.md is written by docs/generate_costs.py, which takes minutes; here some cells are looked at."""

import importlib
import re
from pathlib import Path
from string import Formatter

import pytest

from tests.long import each_of

PAGE = (Path(__file__).parents[1] / "docs" / "what-each-costs.md").read_text(encoding="utf-8")
generate = importlib.import_module("docs.generate_costs")


def fields(words):
    """The numbers and tables that a paragraph asks for."""
    return {field for _, field, _, _ in Formatter().parse(words) if field is not None}


def tables():
    """The tables of the page, each as rows of cells."""
    found = []
    for block in re.findall(r"(?:^\|.*\|\n)+", PAGE, re.MULTILINE):
        found.append([[cell.strip() for cell in line.strip("|").split(" | ")] for line in block.splitlines()])
    return found


CELLS = [
    (0, "100", "ν", "OLP", generate.cost_of_delay),
    (0, "geometric, mean 100, 20 % lost", "films", "BLP", generate.cost_of_delay),
    (1, "1,000", "films", "OPLP", generate.cost_of_cadence),
    (1, "doubling", "ν", "BLP", generate.cost_of_cadence),
    (2, "half-life T / 20", "films", "BLP", lambda *cell: generate.cost_of_jump(*cell, jumps=True)),
    (2, "window T / 8", "ν", "OLP", lambda *cell: generate.cost_of_jump(*cell, jumps=True)),
    (3, "half-life T / 80", "ν", "OPLP", lambda *cell: generate.cost_of_jump(*cell, jumps=False)),
    (4, "0.1", "films", "BLP", generate.cost_of_budget),
    (4, "0.02", "ν", "OLP", generate.cost_of_budget),
    (5, "30", "ν", "BLP", generate.cost_of_count),
]


@pytest.mark.slow
@pytest.mark.parametrize(("table", "row", "instance", "rule", "cost"), each_of(CELLS[::4], CELLS))
def test_numbers_of_the_page_are_those_of_the_simulations(table, row, instance, rule, cost):
    header, _, *rows = tables()[table]
    cells = next(cells for cells in rows if cells[0].strip("| ") == row)
    shown = cells[[name.strip("| ") for name in header].index(f"{instance}, {rule}")].strip("| ")
    assert shown == cost(row, generate.instances()[instance], rule)


@pytest.mark.slow
@pytest.mark.parametrize("platform", each_of(["ν"], ["ν", "films"]))
def test_the_cost_of_estimating_sigma_is_that_of_the_simulations(platform):
    header, _, *rows = tables()[6]
    cells = next(cells for cells in rows if cells[0].strip("| ") == platform)
    assert cells[[name.strip("| ") for name in header].index("OLP")].strip("| ") == generate.cost_of_guessing(
        platform, "OLP"
    )


def test_the_page_has_a_row_for_each_setting():
    """And its words are those of the script."""
    wanted = [generate.DELAYS, generate.CADENCES, generate.MEMORIES, generate.MEMORIES]
    wanted += [generate.BUDGETS, generate.COUNTS, generate.PLATFORMS]
    for table, settings in zip(tables(), wanted, strict=True):
        assert [cells[0].strip("| ") for cells in table[2:]] == list(settings)
    facts = generate.facts()
    paragraphs = [words for words in generate.PAGE_TEXT.split("\n\n") if fields(words) <= facts.keys()]
    assert len(paragraphs) > 10
    assert set().union(*map(fields, paragraphs)) == facts.keys()
    for words in paragraphs:
        assert words.format(**facts).strip() in PAGE
