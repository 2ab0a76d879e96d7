"""The parts of the tests: together they are all of them, and no test is in two."""

import re
from pathlib import Path

import pytest

from tests.long import in_part

ROOT = Path(__file__).parents[1]
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
CI = ROOT / ".ci" / "run"


def recipe_of(target):
    """What a target needs, and the lines of its recipe."""
    found = re.search(rf"^{target}:([^#\n]*)[^\n]*\n((?:\t.*\n)*)", MAKEFILE, re.MULTILINE)
    return found[1].split(), found[2].splitlines()


def pytest_runs(target):
    """How often a target starts pytest, by what it needs as well."""
    needs, lines = recipe_of(target)
    others = [one for one in needs if re.fullmatch(r"[a-z-]+", one)]
    return sum("-m pytest" in line for line in lines) + sum(map(pytest_runs, others))


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
def test_every_test_is_in_exactly_one_part(parts):
    names = [f"tests/test_{number}.py::test_it[{number}-olp]" for number in range(500)]
    found = [[name for name in names if in_part(name, f"{part}/{parts}")] for part in range(parts)]
    assert sorted(name for part in found for name in part) == sorted(names)
    assert min(map(len, found)) > 500 / parts / 2


def test_all_are_in_no_part_in_particular():
    assert in_part("tests/test_it.py::test_it", "")


def test_what_make_test_leaves_out_is_what_make_test_system_runs():
    """Of all tests, with nothing else chosen."""
    (_, (everything, *kernels)), (_, (systems,)) = recipe_of("test"), recipe_of("test-system")
    assert everything.split("pytest ")[1] == '$(PARALLEL) -m "not system"'
    assert systems.split("pytest ")[1] == "$(PARALLEL) -m system"
    assert all("tests/kernels" in line for line in kernels)
    assert "not system" in recipe_of("quick")[1][0]


@pytest.mark.skipif(not CI.is_file(), reason="an sdist has no CI")
def test_ci_counts_every_run_of_pytest():
    """Those of all targets whose output it keeps: one that was not run would be missing from the count."""
    script = CI.read_text("utf-8")
    kept = re.findall(r"\bmake (?:--\S+ )*([a-z-]+(?: [a-z-]+)*) 2>&1 \| tee", script)
    targets = " ".join(kept).split()
    assert targets == ["test", "test-system", "test-numba", "test-dist", "test-long"]
    assert int(re.search(r"^runs=(\d+)", script, re.MULTILINE)[1]) == sum(map(pytest_runs, targets))
