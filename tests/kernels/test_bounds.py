import numpy as np
import pytest

from arcbandit.compilation.compile import entry_kernel
from arcbandit.kernels.entering import best_pair
from arcbandit.kernels.evaluation import evaluate
from arcbandit.kernels.program import Basis, Column
from arcbandit.planning import assemble_program
from tests.kernels.modes import CASES
from tests.kernels.priced_bases import priced


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
