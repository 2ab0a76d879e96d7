import importlib
import inspect
import re
from functools import reduce
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np
import pytest

from arcbandit import GroupFloor, Instance, analyse, paper_instance, solve_lp
from arcbandit.planning import make_program

NOTATION = Path(__file__).parents[1] / "docs" / "notation.md"
HEADER = "| symbol | identifier | shape | unit | where defined |"
NO_ARRAY = "–"


class Row(NamedTuple):
    """One line of a table of the notation page."""

    symbol: str
    identifier: str
    shape: str
    unit: str
    where: str


def table_rows() -> list[Row]:
    lines = NOTATION.read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    return [Row(row[0], row[1].strip("`"), *row[2:]) for row in cells if row[0] != "symbol"]


def resolve(identifier: str) -> tuple[object, str]:
    """The module, class or function that holds a name, and the name; raise LookupError if it does not."""
    path, parameter = re.fullmatch(r"([\w.]+)(?:\((\w+)\))?", identifier).groups()
    parts = ["arcbandit", *path.split(".")]
    n_modules = max(n for n in range(1, len(parts) + 1) if _is_module(".".join(parts[:n])))
    module = importlib.import_module(".".join(parts[:n_modules]))
    if parameter is not None:
        function = reduce(getattr, parts[n_modules:], module)
        if parameter not in inspect.signature(function).parameters:
            raise LookupError(f"{path} has no parameter {parameter}")
        return function, parameter
    owner = reduce(getattr, parts[n_modules:-1], module)
    if not hasattr(owner, parts[-1]) and parts[-1] not in getattr(owner, "__dataclass_fields__", {}):
        raise LookupError(f"{owner} has no {parts[-1]}")
    return owner, parts[-1]


def _is_module(path: str) -> bool:
    try:
        return isinstance(importlib.import_module(path), ModuleType)
    except ModuleNotFoundError:
        return False


def objects_of(instance: Instance) -> dict[object, object]:
    """An example, made from an instance, of everything that holds an array of the table."""
    analysis = analyse(instance)
    weighted = instance.weighted_means
    program = make_program(weighted, weighted, instance.floors.coupling_rows())
    arguments = {
        "objective_means": instance.mean_rewards,
        "constraint_means": instance.mean_rewards,
        "revenue_floors": instance.revenue_floors,
        "context_probabilities": instance.context_probabilities,
    }
    assert solve_lp(**arguments).value >= analysis.value - 1e-9  # it takes them, and ignores group floors
    found = analysis.plan
    examples = [instance, instance.floors, analysis, found, analysis.nearest_candidate, program, found.basis]
    group = instance.group_floors[0] if instance.group_floors else GroupFloor("any", (0,), 0.0)
    return {solve_lp: arguments, **{type(example): example for example in [*examples, group]}}


# nu has as many arms as contexts and no group; the second instance tells all the letters apart.
UNEVEN = Instance(
    [[9, 3, 1, 2], [1, 4, 0, 3]],
    revenue_floors=[1, 0.5],
    context_probabilities=[0.1, 0.2, 0.3, 0.4],
    group_floors=[GroupFloor("first", (0,), 2.0)],
)
INSTANCES = {"nu": paper_instance("nu"), "uneven": UNEVEN}
ROWS = table_rows()
ROWS_WITH_SHAPE = [row for row in ROWS if row.shape != NO_ARRAY]


@pytest.fixture(scope="module", params=INSTANCES)
def case(request):
    instance = INSTANCES[request.param]
    n_groups = len(instance.group_floors)
    letters = {"K": instance.n_arms, "C": instance.n_contexts, "G": n_groups, "M": instance.n_arms + n_groups}
    return objects_of(instance), letters


def test_every_table_has_the_same_columns():
    """A table with other columns would be misread, and a page without tables would pass the tests below."""
    headers = [line for line in NOTATION.read_text(encoding="utf-8").splitlines() if line.startswith("| symbol")]
    assert headers
    assert set(headers) == {HEADER}
    assert len(ROWS) > len(headers)
    assert all(all(row) for row in ROWS)


def test_no_symbol_is_listed_twice():
    """A symbol has one meaning."""
    symbols = [row.symbol for row in ROWS]
    assert len(symbols) == len(set(symbols))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.identifier)
def test_every_identifier_exists(row):
    """What the page calls a quantity is what the code calls it."""
    assert resolve(row.identifier)


@pytest.mark.parametrize("row", ROWS_WITH_SHAPE, ids=lambda row: row.identifier)
def test_every_shape_is_true(row, case):
    """What the page says of an array holds on nu, and where K, C, G and M differ."""
    examples, letters = case
    owner, name = resolve(row.identifier)
    example = examples[owner]
    value = example[name] if isinstance(example, dict) else getattr(example, name)
    stated = () if row.shape == "scalar" else tuple(letters[letter] for letter in re.findall(r"\w", row.shape))
    assert np.shape(value) == stated


def test_context_values_and_floor_prices_have_the_stated_signs(case):
    """Strong duality as the page writes it."""
    examples, _ = case
    found = next(example for owner, example in examples.items() if getattr(owner, "__name__", "") == "Plan")
    value = found.context_values.sum() - found.floor_prices @ found.revenue_floors
    assert value - found.group_prices @ found.group_floors == pytest.approx(found.value, rel=1e-9)
