import numpy as np
import pytest

from arcbandit.compilation.compile import entry_kernel
from arcbandit.kernels.factors import factorise, is_peeled, solve_columns, solve_rows
from arcbandit.kernels.pricing import measure_scales
from arcbandit.kernels.program import Basis, ByRow, Column, Count, make_workspace
from arcbandit.planning import assemble_program
from tests.kernels.modes import CASES


@entry_kernel
def solve_both(program, basis, workspace, right_side, used_up, columns, rows):
    """Factorise W and solve with it both ways; False if it is singular."""
    measure_scales(program, True, workspace)
    if not factorise(program, basis, workspace):
        return False
    peeled = is_peeled(workspace)
    if not solve_columns(peeled, workspace, used_up, columns):
        return False
    solve_rows(peeled, workspace, right_side, rows)
    return True


def dense(program, basis, workspace):
    """W, entry by entry from its definition: a pair's column less its key's, or a surplus or shortfall in its scale."""
    n_rows = program.floors.size

    def column(arm, context):
        entries = np.zeros(n_rows)
        for signed in program.arm_rows[arm]:
            if signed != 0:
                entries[abs(signed) - 1] += np.sign(signed) * program.revenue[arm, context]
        return entries

    matrix = np.zeros((n_rows, n_rows))
    for slot in range(n_rows):
        arm, context = basis.slot_arm[slot], basis.slot_context[slot]
        if context >= 0:
            matrix[:, slot] = column(arm, context) - column(basis.key[context], context)
        else:
            matrix[arm, slot] = workspace.by_row[ByRow.SCALE, arm] * (-1 if context == Column.SURPLUS else 1)
    return matrix


def run(program, basis, right_side):
    """Whether W is regular, x with W x = right_side, y with W' y = right_side, the workspace."""
    n_arms, n_contexts = program.objective.shape
    n_rows = program.floors.size
    workspace = make_workspace(n_arms, n_contexts, n_rows, program.arm_rows.shape[1])
    columns, rows = np.zeros(n_rows), np.zeros(n_rows)
    regular = solve_both(program, basis, workspace, right_side, right_side.copy(), columns, rows)
    return regular, columns, rows, workspace


def random_program(rng, n_groups):
    """A program of random shape with groups of random members, some rows counted negatively."""
    n_arms, n_contexts = int(rng.integers(1, 9)), int(rng.integers(1, 9))
    rows = [[arm + 1] for arm in range(n_arms)]
    for group in range(n_groups):
        sign = 1 if rng.random() < 0.7 else -1
        for own in rows:
            if rng.random() < 0.5:
                own.append(sign * (n_arms + group + 1))
    revenue = rng.normal(size=(n_arms, n_contexts))
    return assemble_program(revenue, revenue, np.zeros(n_arms + n_groups), rows)


def random_basis(rng, program, surplus_share):
    """Distinct basic pairs besides the keys, and surpluses or shortfalls of distinct rows."""
    n_arms, n_contexts = program.objective.shape
    n_rows = program.floors.size
    key = rng.integers(0, n_arms, n_contexts)
    pairs = [(k, c) for k in range(n_arms) for c in range(n_contexts) if key[c] != k]
    n_pairs = min(len(pairs), int(rng.binomial(n_rows, 1 - surplus_share)))
    chosen = [pairs[index] for index in rng.permutation(len(pairs))[:n_pairs]]
    free = rng.permutation(n_rows)[: n_rows - n_pairs]
    chosen += [(row, Column.SURPLUS if rng.random() < 0.7 else Column.SHORTFALL) for row in free]
    order = rng.permutation(n_rows)
    slots = np.array(chosen, dtype=np.int64).reshape(n_rows, 2)[order]
    return Basis(key, slots[:, 0].copy(), slots[:, 1].copy())


@pytest.mark.parametrize("n_groups", [0, 1, 3])
@pytest.mark.parametrize("surplus_share", [0.0, 0.3, 0.8])
def test_solves_with_a_basis_as_a_dense_solver_does(n_groups, surplus_share):
    """Both ways round, to the accuracy that the condition of the basis allows; a singular basis is called singular."""
    rng = np.random.default_rng([n_groups, int(10 * surplus_share)])
    solved, singular, with_nucleus = 0, 0, 0
    for _ in range(CASES):
        program = random_program(rng, n_groups)
        basis = random_basis(rng, program, surplus_share)
        right_side = rng.normal(size=program.floors.size)
        regular, columns, rows, workspace = run(program, basis, right_side)
        matrix = dense(program, basis, workspace)
        if np.linalg.matrix_rank(matrix) < len(matrix):
            assert not regular
            singular += 1
            continue
        condition = np.linalg.cond(matrix)
        if condition > 1e10:
            continue
        assert regular
        solved += 1
        with_nucleus += workspace.counts[Count.NUCLEUS] > 0
        accuracy = 1e-13 * condition
        for found, expected in (
            (columns, np.linalg.solve(matrix, right_side)),
            (rows, np.linalg.solve(matrix.T, right_side)),
        ):
            np.testing.assert_allclose(found, expected, rtol=0, atol=accuracy * max(1.0, np.abs(expected).max()))
    assert solved > CASES // 10
    assert singular + solved > CASES // 2
    print(f"{solved} solved, {with_nucleus} of them with a nucleus; {singular} singular")


def test_a_cycle_of_arms_and_contexts_is_left_to_the_dense_nucleus():
    """Arm k shares context k with the key k + 1: no column and no row of W has a single entry."""
    n_arms = 5
    rng = np.random.default_rng(3)
    revenue = rng.uniform(1, 2, (n_arms, n_arms))
    program = assemble_program(revenue, revenue, np.zeros(n_arms), [[arm + 1] for arm in range(n_arms)])
    arms = np.arange(n_arms)
    basis = Basis((arms + 1) % n_arms, arms.copy(), arms.copy())
    right_side = rng.normal(size=n_arms)
    regular, columns, rows, workspace = run(program, basis, right_side)
    matrix = dense(program, basis, workspace)
    assert regular
    assert workspace.counts[[Count.BY_COLUMN, Count.BY_ROW, Count.NUCLEUS]].tolist() == [0, 0, n_arms]
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
    regular, columns, rows, workspace = run(program, basis, right_side)
    matrix = dense(program, basis, workspace)
    assert regular
    assert workspace.counts[[Count.BY_COLUMN, Count.BY_ROW, Count.NUCLEUS]].tolist() == [2, 1, 3]
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
    regular, *_, workspace = run(program, basis, np.ones(2))
    assert np.linalg.matrix_rank(dense(program, basis, workspace)) < 2
    assert not regular


def test_rows_of_very_different_scale_are_solved_with_the_same_relative_accuracy():
    """Row k in units of 10^(4k - 8): the solution in those units does not change beyond rounding."""
    rng = np.random.default_rng(7)
    n_arms = 5
    revenue = rng.uniform(1, 2, (n_arms, n_arms))
    arms = np.arange(n_arms)
    basis = Basis((arms + 1) % n_arms, arms.copy(), arms.copy())
    right_side = rng.normal(size=n_arms)
    scales = 10.0 ** (4 * arms - 8)
    rows = [[arm + 1] for arm in arms]
    plain = run(assemble_program(revenue, revenue, np.zeros(n_arms), rows), basis, right_side)
    # Scaling rows of W means scaling the whole row m, which pairs of arm m bring: revenue of arm m.
    scaled = run(
        assemble_program(revenue, revenue * scales[:, None], np.zeros(n_arms), rows), basis, right_side * scales
    )
    assert plain[0]
    assert scaled[0]
    np.testing.assert_allclose(scaled[1], plain[1], rtol=1e-11)
