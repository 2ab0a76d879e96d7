import numpy as np
import pytest

from arcbandit.compilation.compile import entry_kernel
from arcbandit.kernels.pricing import best_pair, evaluate, first_improving, measure_scales, price_rows
from arcbandit.kernels.program import Basis, ByContext, ByRow, Column, Order, make_workspace
from arcbandit.planning import assemble_program
from tests.kernels.modes import CASES


@entry_kernel
def price_everything(program, basis, workspace, found):
    """Evaluate the basis and write the best pair, the first improving pair and the best row into `found`."""
    measure_scales(program, True, workspace)
    if not evaluate(program, basis, 1.0, 0.0, workspace):
        return False
    excess, arm, context = best_pair(program, basis, program.available, 1.0, workspace)
    found[0, 0], found[0, 1], found[0, 2] = excess, arm, context
    excess, arm, context = first_improving(program, basis, program.available, 1.0, workspace)
    found[1, 0], found[1, 1], found[1, 2] = excess, arm, context
    excess, row, kind = price_rows(program, basis, 1.0, 0.0, workspace)
    found[2, 0], found[2, 1], found[2, 2] = excess, row, kind.value
    return True


def priced(program, basis):
    """Whether the basis is regular, what was found, and the workspace."""
    n_arms, n_contexts = program.objective.shape
    workspace = make_workspace(n_arms, n_contexts, program.floors.size, program.arm_rows.shape[1])
    workspace.order[Order.SURPLUS_OPEN] = 1
    workspace.order[Order.SHORTFALL_OPEN] = 0
    found = np.zeros((3, 3))
    return price_everything(program, basis, workspace, found), found, workspace


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


def test_scales_are_the_largest_available_coefficients():
    """Up to a power of 2. A closed pair does not count, an empty row takes its floor, or 1; the objective is last."""
    weighted = np.array([[3.0, -8], [0, 0], [0, 0]])
    program = assemble_program(10 * weighted, weighted, np.array([0, 7.0, 0, 0]), [[1, 4], [2], [3]])
    program.available[0, 1] = False
    program.available[1:, 1] = True
    *_, workspace = priced(program, Basis(np.array([0, 1]), np.arange(4), np.full(4, Column.SURPLUS)))
    assert workspace.by_row[ByRow.SCALE].tolist() == [4, 8, 1, 4, 32]


def test_the_entering_pair_has_the_largest_reduced_cost():
    """Against every reduced cost written out, with and without closed pairs, on random bases."""
    rng = np.random.default_rng(11)
    seen = 0
    for _ in range(CASES):
        n_arms, n_contexts = int(rng.integers(1, 6)), int(rng.integers(1, 6))
        objective, revenue = rng.normal(size=(2, n_arms, n_contexts))
        available = rng.random((n_arms, n_contexts)) < 0.8
        key = rng.integers(0, n_arms, n_contexts)
        available[key, np.arange(n_contexts)] = True
        program = assemble_program(objective, revenue, np.zeros(n_arms), [[k + 1] for k in range(n_arms)], available)
        slots = [(k, Column.SURPLUS) for k in range(n_arms)]
        pairs = [(k, c) for k, c in np.argwhere(available) if key[c] != k]
        if pairs:
            arm, context = pairs[int(rng.integers(len(pairs)))]
            slots[arm] = (arm, context)
        basis = Basis(key, np.array([s[0] for s in slots]), np.array([s[1] for s in slots]))
        regular, found, workspace = priced(program, basis)
        if not regular:
            continue
        price = workspace.by_row[ByRow.PRICE, :n_arms]
        worth = objective + price[:, None] * revenue
        excess = np.where(available, worth - worth[key, np.arange(n_contexts)], -np.inf)
        excess[key, np.arange(n_contexts)] = -np.inf
        improving = excess > 1e-9
        row_excess = -price * workspace.by_row[ByRow.SCALE, :n_arms]
        if improving.any():
            seen += 1
            assert found[0, 0] == pytest.approx(excess.max(), rel=1e-12)
            assert excess[int(found[0, 1]), int(found[0, 2])] == excess.max()
            assert tuple(found[1, 1:]) == tuple(np.argwhere(improving)[0])
        else:
            assert found[0, 0] == found[1, 0] == 0
        if row_excess.max() > 1e-9:
            assert found[2].tolist() == pytest.approx(
                [row_excess.max(), row_excess.argmax(), Column.SURPLUS], rel=1e-12
            )
        else:
            assert found[2, 0] == 0
    assert seen > CASES // 4


@entry_kernel
def price_again(program, basis, workspace):
    """Evaluate and price with the bounds as they were left."""
    evaluate(program, basis, 1.0, 0.0, workspace)
    return best_pair(program, basis, program.available, 1.0, workspace)


def test_bounds_that_are_kept_hide_no_pair():
    """Leans and pairs drift; what is priced with kept bounds is what is priced afresh."""
    rng = np.random.default_rng(8)
    improving = 0
    for _ in range(CASES // 10):
        n_arms, n_contexts = 4, 6
        means = rng.random((n_arms, n_contexts))
        program = assemble_program(
            means, means, np.full(n_arms, 0.05), [[arm + 1] for arm in range(n_arms)], None, np.full(n_contexts, 1 / 6)
        )._replace(root=rng.random((n_arms, n_contexts)) * 0.1, lean=np.ones(2), revenue=means)
        key = (means + program.root).argmax(axis=0)
        basis = Basis(key, np.arange(n_arms), np.full(n_arms, Column.SURPLUS))
        _, _, kept = priced(program, basis)
        for _ in range(30):
            program.lean[:] += 1e-7 * rng.random()
            if rng.random() < 0.5:
                arm, context = rng.integers(n_arms), rng.integers(n_contexts)
                means[arm, context] += 0.05 * rng.normal()
                program.changed[context] = True
            found = price_again(program, basis, kept)
            _, afresh, _ = priced(program._replace(changed=program.changed.copy()), basis)
            assert found == pytest.approx(tuple(afresh[0]), rel=1e-12)
            improving += found[0] > 0
    assert improving > 0
