"""How many random cases a test draws: few in every run of the tests, all that was promised in `make test-long`."""

import os
from typing import TypeVar

Cases = TypeVar("Cases")


def cases(few: Cases, many: Cases) -> Cases:
    """`many` if ARCBANDIT_LONG_TESTS is set, else `few`."""
    return many if os.environ.get("ARCBANDIT_LONG_TESTS") else few
