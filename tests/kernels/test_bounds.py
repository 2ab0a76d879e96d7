import numpy as np
import pytest

from arcbandit.compilation.compile import entry_kernel
from arcbandit.kernels.bounds import FEW_PAIRS
from arcbandit.kernels.entering import best_pair
from arcbandit.kernels.evaluation import evaluate
from arcbandit.kernels.program import ByArm
from arcbandit.planning import assemble_program, solve_program
from tests.kernels.priced_bases import priced


@entry_kernel
def price_again(program, basis, workspace):
    """Evaluate and price with the bounds as they were left."""
    evaluate(program, basis, 1.0, 0.0, workspace)
    return best_pair(program, basis, program.available, 1.0, workspace)


def random_program(rng):
    """Floors that bind, and more pairs than are all looked at."""
    n_arms, n_contexts = 5, 30
    assert n_arms * n_contexts > FEW_PAIRS
    means = rng.random((n_arms, n_contexts))
    rows, weights = [[arm + 1] for arm in range(n_arms)], np.full(n_contexts, 1 / n_contexts)
    floors = np.array([0.8, 0.15, 0, 0, 0]) * (means @ weights)
    program = assemble_program(means, means, floors, rows, None, weights)
    return program._replace(root=0.1 * rng.random(means.shape), lean=np.array([1.0, 0.0]), revenue=means)


@pytest.mark.parametrize("moving", ["leans", "pairs", "prices"])
def test_bounds_that_are_kept_hide_no_pair(moving, n_cases):
    """From an optimal basis on, the first pair that improves is found with kept bounds as it is without any."""
    rng = np.random.default_rng(8)
    improving = 0
    for _ in range(n_cases // 10):
        program = random_program(rng)
        basis = solve_program(program).basis
        *_, kept = priced(program, basis)
        assert kept.by_arm[ByArm.PRICE].max() > 0
        for _ in range(30):
            if moving == "leans":
                program.lean[:] += 0.02 * rng.random(2)
            elif moving == "pairs":
                arm, context = rng.integers(5), rng.integers(30)
                program.objective[arm, context] += 0.1 * rng.normal()
                program.changed[context] = True
            else:  # those of basic pairs move every price
                slot = rng.choice(np.flatnonzero(basis.slot_context >= 0))
                arm, context = basis.slot_arm[slot], basis.slot_context[slot]
                program.objective[arm, context] += 0.02 * rng.normal()
                program.changed[context] = True
            found = price_again(program, basis, kept)
            _, afresh, _ = priced(program._replace(changed=program.changed.copy()), basis)
            assert found == pytest.approx(tuple(afresh[0]), rel=1e-12)
            if found[0] > 0:
                improving += 1
                break
    assert improving > n_cases // 40
