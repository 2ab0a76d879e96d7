import numpy as np

from arcbandit.kernels.program import Basis, ByRow, Column
from arcbandit.planning import assemble_program
from tests.kernels.priced_bases import priced


def test_scales_are_the_largest_available_coefficients():
    """Up to a power of 2. A closed pair does not count, an empty row takes its floor, or 1; the objective is last."""
    weighted = np.array([[3.0, -8], [0, 0], [0, 0]])
    program = assemble_program(10 * weighted, weighted, np.array([0, 7.0, 0, 0]), [[1, 4], [2], [3]])
    program.available[0, 1] = False
    program.available[1:, 1] = True
    *_, workspace = priced(program, Basis(np.array([0, 1]), np.arange(4), np.full(4, Column.SURPLUS)))
    assert workspace.by_row[ByRow.SCALE].tolist() == [4, 8, 1, 4, 32]
