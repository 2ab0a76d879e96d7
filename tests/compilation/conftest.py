import pytest

from tests.compilation.small_package import write_small_package


@pytest.fixture
def small_package(tmp_path):
    """A package with the real decorators and one kernel that calls another."""
    return write_small_package(tmp_path)
