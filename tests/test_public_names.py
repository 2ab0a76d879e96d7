import doctest
import functools
import importlib
import inspect
import subprocess
import sys
from types import ModuleType

import pytest

import arcbandit
from arcbandit import checks, client, rules
from tests.test_examples import MODULES_WITH_EXAMPLES

HEAVY = ["numba", "numpy", "highspy", "scipy", "polars", "pyarrow", "rich", "narwhals", "pandas", "ibis", "duckdb"]


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


PUBLIC = {name: getattr(arcbandit, name) for name in arcbandit.__all__} | {
    f"{room.__name__.removeprefix('arcbandit.')}.{name}": getattr(room, name)
    for room, names in ((client, client.__all__), (checks, ("check_policy", "checks_of", "instances")))
    for name in names
}
CONSTANTS = {name for name, value in PUBLIC.items() if isinstance(value, int | float | str)}
CLASSES = {name: value for name, value in PUBLIC.items() if isinstance(value, type)}
# The methods of an asynchronous client are those of the other one, awaited: tests/client/test_examples.py.
WITHOUT_EXAMPLES = {"client.AsyncClient"}
# Not methods that users call: a rule's kernels, and results that a subclass computes.
KERNELS = {"allocate", "learn"}


def methods_of(kind):
    """The methods of a class that users call, as the class that has them wrote them; properties are data."""
    seen = set(KERNELS)
    for owner in kind.__mro__:
        for name in vars(owner).keys() - seen:
            seen.add(name)
            value = getattr(owner, name, None)
            is_ours = owner.__module__.startswith("arcbandit.") and not getattr(value, "__isabstractmethod__", False)
            is_method = inspect.isfunction(value) or inspect.ismethod(value)
            if is_ours and is_method and not name.startswith("_"):
                yield inspect.unwrap(value)


METHODS = sorted(
    {
        (method.__module__, method.__qualname__)
        for name, kind in CLASSES.items()
        if name not in WITHOUT_EXAMPLES
        for method in methods_of(kind)
    }
)


@functools.cache
def examples_of(module):
    """What has an example in a module, by the names of doctest, with the example."""
    assert module in MODULES_WITH_EXAMPLES, f"no test runs examples of {module}"
    found = doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(module))
    return {test.name: "".join(one.source for one in test.examples) for test in found if test.examples}


@pytest.mark.parametrize("name", sorted(PUBLIC.keys() - CONSTANTS))
def test_every_public_name_has_an_example_that_the_tests_run(name):
    """Of what a name is for, an example says most."""
    value = PUBLIC[name]
    if isinstance(value, ModuleType):
        assert value.__name__ in examples_of(value.__name__)
    else:
        assert f"{value.__module__}.{value.__qualname__}" in examples_of(value.__module__)


@pytest.mark.parametrize("name", sorted(CONSTANTS))
def test_every_public_constant_is_in_the_example_of_its_module(name):
    """A constant has no docstring of its own."""
    home = arcbandit._HOME[name]
    assert name in examples_of(home)[home]


@pytest.mark.parametrize(("module", "method"), METHODS, ids=[method for _, method in METHODS])
def test_every_public_method_has_an_example_that_the_tests_run(module, method):
    """Properties are data, which the class documents."""
    assert f"{module}.{method}" in examples_of(module)


def test_the_methods_are_found():
    """Otherwise the test above would pass by asking nothing."""
    assert ("arcbandit.policies.base", "Policy.decide") in METHODS
    assert ("arcbandit.simulation.results", "Results.summary") in METHODS
    assert ("arcbandit.client.clients", "Client.decide") in METHODS


@pytest.mark.parametrize("name", [name for name in rules.__all__ if not isinstance(getattr(rules, name), int | float)])
def test_what_authors_of_rules_import_says_what_it_is(name):
    """Kernels are no functions that a docstring could call; the example of the module, and a page, use them."""
    assert (getattr(rules, name).__doc__ or "").strip()
