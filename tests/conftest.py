"""What all tests have in common."""

import numba
import pytest

from arcbandit.compilation.compile import chosen_way, config
from tests.long import how_many, in_part
from tests.own_time import OwnTime


def pytest_configure(config):
    """Report slow tests that are not marked so."""
    config.pluginmanager.register(OwnTime())


def pytest_report_header():
    """Say what compiled the kernels: the same tests run with several."""
    way = "not compiled" if config.DISABLE_JIT else f"compiled by {chosen_way().name}"
    return f"numba {numba.__version__}, kernels {way}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Every test that asks for `cases`, itself or by a fixture, has a long version; leave out those of other parts."""
    for item in items:
        if "cases" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.long)
    others = [item for item in items if not in_part(item.nodeid)]
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if in_part(item.nodeid)]


@pytest.fixture(scope="session")
def cases():
    """How many cases a test tries: `cases(few, many)`, see tests/long.py."""
    return how_many
