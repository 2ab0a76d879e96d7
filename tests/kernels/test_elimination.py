import numpy as np
import pytest

from arcbandit.kernels.program import Basis, Column, Elimination
from arcbandit.planning import assemble_program
from tests.kernels.working_matrices import dense, solve

PARTS = [Elimination.BY_COLUMN, Elimination.BY_ROW, Elimination.NUCLEUS]


def test_a_cycle_of_arms_and_contexts_is_left_to_the_dense_nucleus():
    """Arm k shares context k with the key k + 1: no column and no row of W has a single entry."""
    n_arms = 5
    rng = np.random.default_rng(3)
    revenue = rng.uniform(1, 2, (n_arms, n_arms))
    program = assemble_program(revenue, revenue, np.zeros(n_arms), [[arm + 1] for arm in range(n_arms)])
    arms = np.arange(n_arms)
    basis = Basis((arms + 1) % n_arms, arms.copy(), arms.copy())
    right_side = rng.normal(size=n_arms)
    regular, columns, rows, workspace = solve(program, basis, right_side)
    matrix = dense(program, basis, workspace)
    assert regular
    assert workspace.elimination[PARTS].tolist() == [0, 0, n_arms]
    np.testing.assert_allclose(matrix @ columns, right_side, rtol=0, atol=1e-11)
    np.testing.assert_allclose(matrix.T @ rows, right_side, rtol=0, atol=1e-11)


def test_a_cycle_with_a_tail_and_a_root_uses_all_three_eliminations():
    """A tree that hangs from a surplus, a leaf that hangs from a cycle, and the cycle itself."""
    revenue = np.random.default_rng(5).uniform(1, 2, (6, 6))
    program = assemble_program(revenue, revenue, np.zeros(6), [[arm + 1] for arm in range(6)])
    # Edges between rows: 0-1, 1-2, 2-0 a cycle; 3 hangs from 0; 4 is rooted by its surplus and 5 hangs from 4.
    key = np.array([1, 2, 0, 0, 4, 0])
    basis = Basis(key, np.array([0, 1, 2, 3, 5, 4]), np.array([0, 1, 2, 3, 4, Column.SURPLUS]))
    right_side = np.arange(1.0, 7.0)
    regular, columns, rows, workspace = solve(program, basis, right_side)
    matrix = dense(program, basis, workspace)
    assert regular
    assert workspace.elimination[PARTS].tolist() == [2, 1, 3]
    np.testing.assert_allclose(matrix @ columns, right_side, rtol=0, atol=1e-11)
    np.testing.assert_allclose(matrix.T @ rows, right_side, rtol=0, atol=1e-11)


@pytest.mark.parametrize(
    ("revenue", "key", "slot_arm", "slot_context"),
    [
        ([[1, 1], [1, 1]], [0, 0], [1, 1], [0, 1]),
        ([[1, 1], [1, 1]], [0, 0], [1, 1], [0, 0]),
        ([[1, 1], [1, 1]], [0, 0], [0, 1], [0, Column.SURPLUS]),
        ([[0, 1], [0, 1]], [0, 0], [1, 1], [0, Column.SURPLUS]),
        ([[1, 1], [1, 1]], [0, 0], [0, 0], [Column.SURPLUS, Column.SURPLUS]),
        ([[1, 1], [1, 1]], [0, 0], [0, 0], [Column.SURPLUS, Column.SHORTFALL]),
    ],
    ids=["balanced cycle", "a pair twice", "a key as slot", "zero revenue", "a surplus twice", "surplus and shortfall"],
)
def test_a_singular_basis_is_called_singular(revenue, key, slot_arm, slot_context):
    """Whatever makes it so: a cycle that cancels, a column that stands twice, a column of zeros."""
    revenue = np.array(revenue, dtype=float)
    program = assemble_program(revenue, revenue, np.zeros(2), [[1], [2]])
    basis = Basis(np.array(key), np.array(slot_arm), np.array(slot_context))
    regular, *_, workspace = solve(program, basis, np.ones(2))
    assert np.linalg.matrix_rank(dense(program, basis, workspace)) < 2
    assert not regular
