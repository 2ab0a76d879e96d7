import numpy as np
import pytest

from arcbandit.kernels.program import Basis, ByRow, Column
from arcbandit.planning import assemble_program
from tests.kernels.priced_bases import priced


def test_the_entering_pair_has_the_largest_reduced_cost(n_cases):
    """Against every reduced cost written out, with and without closed pairs, on random bases."""
    rng = np.random.default_rng(11)
    seen = 0
    for _ in range(n_cases):
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
    assert seen > n_cases // 4
