import pytest

from tests.compilation.small_package import in_folder, write_small_package


@pytest.fixture
def small_package(tmp_path):
    """The folder of a package in which one kernel calls another."""
    return write_small_package(tmp_path)


@pytest.fixture
def settings(tmp_path):
    """Changes of the environment by which processes find that package, and a cache of their own."""
    return in_folder(tmp_path)
