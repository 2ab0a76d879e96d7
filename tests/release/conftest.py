"""The built files, unpacked and installed elsewhere; `make test-dist` builds them."""

import os
import tarfile
from pathlib import Path

import pytest

from tests.release.environments import VERSION, Environment

FOLDER = os.environ.get("ARCBANDIT_DIST")


def pytest_collection_modifyitems(items):
    """These install from a package index, which other tests need not have at hand."""
    if FOLDER is None:
        for item in items:
            if item.path.is_relative_to(Path(__file__).parent) and item.path.name != "test_parsing.py":
                item.add_marker(pytest.mark.skip(reason="`make test-dist` builds what it installs"))


@pytest.fixture(scope="session")
def dist():
    """The folder of the built files: one wheel and one sdist."""
    return Path(FOLDER).resolve()


@pytest.fixture(scope="session")
def wheel(dist):
    return dist / f"arcbandit-{VERSION}-py3-none-any.whl"


@pytest.fixture(scope="session")
def unpacked(dist, tmp_path_factory):
    """The sdist, unpacked outside the tree."""
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(dist / f"arcbandit-{VERSION}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return folder / f"arcbandit-{VERSION}"


@pytest.fixture(scope="session")
def environment(dist, tmp_path_factory):
    """An environment with nothing in it."""
    return Environment(tmp_path_factory.mktemp("environment"), dist)


@pytest.fixture(scope="session")
def desk(tmp_path_factory):
    """The folder that a newcomer works in."""
    return tmp_path_factory.mktemp("desk")
