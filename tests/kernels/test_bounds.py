import numpy as np
import pytest

from arcbandit.compilation.compile import entry_kernel
from arcbandit.kernels.bounds import FEW_PAIRS
from arcbandit.kernels.entering import best_pair
from arcbandit.kernels.evaluation import evaluate
from arcbandit.kernels.marks import MOST_NAMED, UNCHANGED
from arcbandit.kernels.program import DRIFT_ALLOWED, ByArm, ByContext, Lean, Scalar
from arcbandit.kernels.reduced_costs import value_of
from arcbandit.planning import assemble_program, solve_program
from tests.kernels.marking import mark_pair
from tests.kernels.priced_bases import priced


@entry_kernel
def price_again(program, basis, workspace):
    """Evaluate and price with the bounds as they were left."""
    evaluate(program, basis, 1.0, 0.0, workspace)
    return best_pair(program, basis, program.available, 1.0, workspace)


@entry_kernel
def value_at(program, arm, context, workspace):
    return value_of(program, 1.0, arm, context, workspace)


def random_program(rng, n_arms=5, n_contexts=30):
    """Floors that bind, and more pairs than are all looked at."""
    assert n_arms * n_contexts > FEW_PAIRS
    means = rng.random((n_arms, n_contexts))
    rows, weights = [[arm + 1] for arm in range(n_arms)], np.full(n_contexts, 1 / n_contexts)
    floors = np.zeros(n_arms)
    floors[:2] = np.array([0.8, 0.15]) * (means @ weights)[:2]
    program = assemble_program(means, means, floors, rows, None, weights)
    return program._replace(root=0.1 * rng.random(means.shape), lean=np.array([1.0, 0.0]), revenue=means)


@pytest.mark.parametrize(
    ("moving", "shape"),
    [
        *((moving, (5, 30)) for moving in ("leans", "pairs", "contexts", "prices")),
        *((moving, (MOST_NAMED + 10, 3)) for moving in ("pairs", "contexts")),  # arms that no mark names
    ],
)
def test_bounds_that_are_kept_hide_no_pair(moving, shape, n_cases):
    """From an optimal basis on, the first pair that improves is found with kept bounds as it is without any."""
    rng = np.random.default_rng(8)
    improving = 0
    for _ in range(n_cases // 10):
        program = random_program(rng, *shape)
        basis = solve_program(program).basis
        *_, kept = priced(program, basis)
        assert kept.by_arm[ByArm.PRICE].max() > 0
        for _ in range(30):
            if moving == "leans":
                program.lean[:] += 0.02 * rng.random(2)
            elif moving == "pairs":
                arm, context = rng.integers(shape[0]), rng.integers(shape[1])
                program.objective[arm, context] += 0.3 * rng.normal()
                mark_pair(program.changed, arm, context)
            elif moving == "contexts":  # several pairs of one
                context = rng.integers(shape[1])
                for arm in rng.choice(shape[0], size=3, replace=False):
                    program.objective[arm, context] += 0.3 * rng.normal()
                    mark_pair(program.changed, arm, context)
            else:  # those of basic pairs move every price
                slot = rng.choice(np.flatnonzero(basis.slot_context >= 0))
                arm, context = basis.slot_arm[slot], basis.slot_context[slot]
                program.objective[arm, context] += 0.02 * rng.normal()
                mark_pair(program.changed, arm, context)
            found = price_again(program, basis, kept)
            _, afresh, _ = priced(program._replace(changed=program.changed.copy()), basis)
            assert found == pytest.approx(tuple(afresh[0]), rel=1e-12)
            if found[0] > 0:
                improving += 1
                break
    assert improving > n_cases // 40


def nonbasic_pair(rng, program, basis):
    context = int(rng.integers(basis.key.size))
    taken = {int(basis.key[context]), *basis.slot_arm[basis.slot_context == context].tolist()}
    return int(rng.choice([arm for arm in range(len(program.objective)) if arm not in taken])), context


def raise_value(program, arm, context, amount, workspace):
    """Raise the value of a pair, whose objective is its revenue."""
    assert program.objective is program.revenue
    program.objective[arm, context] += amount / (1.0 + workspace.by_arm[ByArm.PRICE, arm])
    mark_pair(program.changed, arm, context)


def test_of_a_pair_that_changed_alone_no_more_than_its_value_is_looked_at(n_cases):
    """The bound of its context stays if the pair is worth no more; otherwise it is the pair's value."""
    rng = np.random.default_rng(9)
    for _ in range(n_cases // 10):
        program = random_program(rng)
        basis = solve_program(program).basis
        *_, kept = priced(program, basis)
        bounds = kept.by_context[ByContext.VALUE_BOUND].copy()
        arm, context = nonbasic_pair(rng, program, basis)
        key_value = value_at(program, basis.key[context], context, kept)
        lacking = bounds[context] - value_at(program, arm, context, kept)
        raised = rng.random() < 0.5
        amount = lacking + 0.5 * (key_value - bounds[context]) if raised else 0.5 * lacking
        raise_value(program, arm, context, amount, kept)
        assert price_again(program, basis, kept)[0] == 0.0
        if raised:
            bounds[context] = value_at(program, arm, context, kept)
        np.testing.assert_array_equal(kept.by_context[ByContext.VALUE_BOUND], bounds)
        assert (program.changed == UNCHANGED).all()


def test_a_pair_whose_root_has_grown_is_priced_by_it(n_cases):
    """As where rewards are forgotten. Then leans that move a little move its value by far more than that of others."""
    rng = np.random.default_rng(10)
    for _ in range(n_cases // 10):
        program = random_program(rng)
        basis = solve_program(program).basis
        *_, kept = priced(program, basis)
        arm, context = nonbasic_pair(rng, program, basis)
        key_value = value_at(program, basis.key[context], context, kept)
        program.root[arm, context] = 1000.0
        raise_value(program, arm, context, key_value - 1e-4 - value_at(program, arm, context, kept), kept)
        assert price_again(program, basis, kept)[0] == 0.0
        step = DRIFT_ALLOWED * kept.scalars[Scalar.REWARD_SCALE]
        program.lean[Lean.OBJECTIVE] += step
        assert 1000.0 * step > 1e-4
        excess, *pair = price_again(program, basis, kept)
        assert excess > 0.0
        assert pair == [arm, context]
