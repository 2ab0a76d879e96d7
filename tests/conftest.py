"""What all tests have in common."""

import gc

import numba
import pytest

from arcbandit.compilation.compile import chosen_way, config
from tests.long import LONG, how_many, in_part
from tests.own_time import OwnTime
from tests.postgres import running_server

LONGEST = 3600  # seconds, after which a long version of a test is taken to hang


def pytest_configure(config):
    """Report slow tests that are not marked so, and let the garbage collector rest more often.

    Thousands of tests and all that they import are never garbage, and it walks over them again and again.
    """
    config.pluginmanager.register(OwnTime())
    gc.set_threshold(50_000, 20, 20)


def pytest_collection_finish():
    """Leave what is there now out of all collections."""
    gc.freeze()


def pytest_report_header():
    """Say what compiled the kernels: the same tests run with several."""
    way = "not compiled" if config.DISABLE_JIT else f"compiled by {chosen_way().name}"
    return f"numba {numba.__version__}, kernels {way}"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Every test that asks for `cases`, itself or by a fixture, has a long version; leave out those of other parts.

    Of the tests that were asked for by mark and name, a part has at least one: a run without any would be an error.
    """
    for item in items:
        if "cases" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.long)
        if LONG:
            item.add_marker(pytest.mark.timeout(LONGEST))
    outcome = yield
    kept = [item for item in items if in_part(item.nodeid)] or items[:1]
    if len(kept) < len(items):
        others = set(items) - set(kept)
        config.hook.pytest_deselected(items=[item for item in items if item in others])
        items[:] = kept
    return outcome


@pytest.fixture(scope="session")
def cases():
    """How many cases a test tries: `cases(few, many)`, see tests/long.py."""
    return how_many


@pytest.fixture(scope="session")
def postgres_server():
    """A PostgreSQL server, started for the tests that ask for it."""
    with running_server() as server:
        yield server
