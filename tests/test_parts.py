"""The parts of the tests: together they are all of them, and no test is in two."""

import pytest

from tests.long import in_part


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
def test_every_test_is_in_exactly_one_part(parts):
    names = [f"tests/test_{number}.py::test_it[{number}-olp]" for number in range(500)]
    found = [[name for name in names if in_part(name, f"{part}/{parts}")] for part in range(parts)]
    assert sorted(name for part in found for name in part) == sorted(names)
    assert min(map(len, found)) > 500 / parts / 2


def test_all_are_in_no_part_in_particular():
    assert in_part("tests/test_it.py::test_it", "")
