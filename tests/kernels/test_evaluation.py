import numpy as np

from arcbandit.kernels.program import Basis, ByContext, ByRow, Column
from arcbandit.planning import assemble_program
from tests.kernels.priced_bases import priced


def paper_program():
    """Instance nu in weighted means."""
    weighted = np.array([[3, 1, 2], [0, 0.5, 0], [0, 0, 1]])
    return assemble_program(weighted, weighted, np.array([1, 0.25, 0.5]), [[1], [2], [3]])


def test_shares_and_prices_of_a_basis_worked_out_by_hand():
    """Keys are arm 1; slots (2, 2), (3, 3) and the surplus of arm 1: half of contexts 2 and 3, prices 1 and 1."""
    basis = Basis(np.array([0, 0, 0]), np.array([0, 1, 2]), np.array([Column.SURPLUS, 1, 2]))
    regular, found, workspace = priced(paper_program(), basis)
    assert regular
    # Arm 1 earns 3 + 1/2 + 1 = 4.5 against 1; its surplus counts in units of 4, the power of 2 above 3.
    np.testing.assert_allclose(workspace.by_row[ByRow.SLOT_VALUE, :3], [3.5 / 4, 0.5, 0.5], rtol=1e-15)
    np.testing.assert_allclose(workspace.by_context[ByContext.KEY_SHARE], [1, 0.5, 0.5], rtol=1e-15)
    np.testing.assert_allclose(workspace.by_row[ByRow.PRICE, :3], [0, 1, 1], rtol=1e-15)
    assert (found[:, 0] == 0).all(), "an optimal basis has nothing to enter"
