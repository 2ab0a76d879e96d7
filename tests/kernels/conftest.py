import pytest

from tests.kernels.modes import COMPILED


@pytest.fixture(scope="session")
def n_cases(cases):
    """How many random cases a kernel test tries."""
    return cases(100, 400) if COMPILED else 100
