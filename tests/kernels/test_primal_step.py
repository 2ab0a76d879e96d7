import numpy as np
import pytest

from arcbandit.compilation.compile import entry_kernel
from arcbandit.kernels.allocation import write_allocation
from arcbandit.kernels.evaluation import evaluate
from arcbandit.kernels.primal_step import blocking_column, move_along
from arcbandit.kernels.program import Basis, ByContext, ByRow, Column
from arcbandit.kernels.scales import measure_scales
from arcbandit.kernels.simplex import replace
from arcbandit.planning import assemble_program
from tests.kernels.workspaces import workspace_for


@entry_kernel
def step_towards(program, basis, arm, context, bland, workspace, allocation, after):
    """Let a column enter; write the allocation before and after, return (status, step, leaving)."""
    measure_scales(program, True, workspace)
    if not evaluate(program, basis, 1.0, 0.0, workspace):
        return False, 0.0, -1
    write_allocation(basis, False, workspace, allocation)
    move_along(program, basis, arm, context, workspace)
    step, leaving = blocking_column(program, basis, context, bland, workspace)
    if leaving >= 0:
        replace(program, basis, leaving, arm, context, False, workspace, after)
        evaluate(program, basis, 1.0, 0.0, workspace)
        write_allocation(basis, False, workspace, after)
    return True, step, leaving


def test_a_pivot_worked_out_by_hand():
    """On nu, all to arm 1 but half of context 2: arm 3 enters context 3 until arm 1's share is gone, at step 1."""
    weighted = np.array([[3, 1, 2], [0, 0.5, 0], [0, 0, 1]])
    program = assemble_program(weighted, weighted, np.array([1, 0.25, -1]), [[1], [2], [3]])
    basis = Basis(np.array([0, 0, 0]), np.array([0, 1, 2]), np.array([Column.SURPLUS, 1, Column.SURPLUS]))
    before, after = np.zeros((3, 3)), np.zeros((3, 3))
    regular, step, leaving = step_towards(program, basis, 2, 2, False, workspace_for(program), before, after)
    assert (regular, step, leaving) == (True, 1.0, 3 + 2)
    assert before.tolist() == [[1, 0.5, 1], [0, 0.5, 0], [0, 0, 0]]
    assert after.tolist() == [[1, 0.5, 0], [0, 0.5, 0], [0, 0, 1]]


@pytest.mark.parametrize("bland", [False, True])
def test_a_primal_step_keeps_shares_at_or_above_zero_and_gives_the_entering_pair_its_step(bland, n_cases):
    """From random feasible bases, whatever pair enters."""
    rng = np.random.default_rng(17)
    moved = 0
    for _ in range(n_cases):
        n_arms, n_contexts = int(rng.integers(2, 6)), int(rng.integers(1, 6))
        weighted = rng.integers(0, 4, (n_arms, n_contexts)).astype(float)
        key = rng.integers(0, n_arms, n_contexts)
        earned = np.zeros(n_arms)
        np.add.at(earned, key, weighted[key, np.arange(n_contexts)])
        floors = earned * rng.choice([0.0, 0.5, 1.0], n_arms)
        program = assemble_program(weighted, weighted, floors, [[k + 1] for k in range(n_arms)])
        basis = Basis(key.copy(), np.arange(n_arms), np.full(n_arms, Column.SURPLUS))
        arm, context = int(rng.integers(n_arms)), int(rng.integers(n_contexts))
        if key[context] == arm:
            continue
        workspace = workspace_for(program)
        before, after = np.zeros((2, n_arms, n_contexts))
        regular, step, leaving = step_towards(program, basis, arm, context, bland, workspace, before, after)
        assert regular
        assert leaving >= 0
        assert workspace.by_row[ByRow.SLOT_VALUE, :n_arms].min() >= -1e-12
        assert workspace.by_context[ByContext.KEY_SHARE].min() >= -1e-12
        assert after[arm, context] == pytest.approx(step, abs=1e-12)
        np.testing.assert_allclose(after.sum(axis=0), 1, rtol=0, atol=1e-12)
        assert ((weighted * after).sum(axis=1) >= floors - 1e-12).all()
        moved += step > 0
    assert moved > n_cases // 10
