import subprocess
import sys

import pytest

import arcbandit

HEAVY = ["numba", "highspy", "scipy", "polars", "pyarrow", "rich", "narwhals", "pandas", "ibis", "duckdb"]


@pytest.mark.parametrize("name", arcbandit.__all__)
def test_every_exported_name_exists(name):
    """`from arcbandit import name` works for every name in __all__."""
    assert getattr(arcbandit, name) is not None


@pytest.mark.parametrize("name", arcbandit.__all__)
def test_every_exported_name_is_offered_for_completion(name):
    """Names that are loaded on first use show up in dir() before that."""
    assert name in dir(arcbandit)


def test_exported_names_are_unique():
    """The order is the linter's."""
    assert len(set(arcbandit.__all__)) == len(arcbandit.__all__)


def test_an_unknown_name_is_an_attribute_error():
    """Lazy loading does not change how a typo fails."""
    with pytest.raises(AttributeError, match="module 'arcbandit' has no attribute 'instnace'"):
        _ = arcbandit.instnace


def test_importing_the_package_loads_nothing_heavy():
    """A command that only prints help must not wait for a compiler."""
    report = f"import sys, arcbandit; print(*sorted(set({HEAVY}) & set(sys.modules)))"
    finished = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True)
    assert finished.stdout.split() == []
