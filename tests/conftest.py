"""What all tests have in common."""

import numba

from arcbandit.compilation.compile import chosen_way, config


def pytest_report_header():
    """Say what compiled the kernels: the same tests run with several."""
    way = "not compiled" if config.DISABLE_JIT else f"compiled by {chosen_way().name}"
    return f"numba {numba.__version__}, kernels {way}"
