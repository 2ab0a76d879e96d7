import numpy as np
import pytest

from arcbandit.kernels.program import Basis, Column, Elimination
from arcbandit.planning import assemble_program
from tests.kernels.working_matrices import dense, solve


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
def test_solves_with_a_basis_as_a_dense_solver_does(n_groups, surplus_share, n_cases):
    """Both ways round, to the accuracy that the condition of the basis allows; a singular basis is called singular."""
    rng = np.random.default_rng([n_groups, int(10 * surplus_share)])
    solved, singular, with_nucleus = 0, 0, 0
    for _ in range(n_cases):
        program = random_program(rng, n_groups)
        basis = random_basis(rng, program, surplus_share)
        right_side = rng.normal(size=program.floors.size)
        regular, columns, rows, workspace = solve(program, basis, right_side)
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
        with_nucleus += workspace.elimination[Elimination.NUCLEUS] > 0
        accuracy = 1e-13 * condition
        for found, expected in (
            (columns, np.linalg.solve(matrix, right_side)),
            (rows, np.linalg.solve(matrix.T, right_side)),
        ):
            np.testing.assert_allclose(found, expected, rtol=0, atol=accuracy * max(1.0, np.abs(expected).max()))
    assert solved > n_cases // 10
    assert singular + solved > n_cases // 2
    print(f"{solved} solved, {with_nucleus} of them with a nucleus; {singular} singular")


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
    plain = solve(assemble_program(revenue, revenue, np.zeros(n_arms), rows), basis, right_side)
    # Scaling rows of W means scaling the whole row m, which pairs of arm m bring: revenue of arm m.
    scaled = solve(
        assemble_program(revenue, revenue * scales[:, None], np.zeros(n_arms), rows), basis, right_side * scales
    )
    assert plain[0]
    assert scaled[0]
    np.testing.assert_allclose(scaled[1], plain[1], rtol=1e-11)
