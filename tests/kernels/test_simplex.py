import numpy as np
import pytest

from arcbandit.compilation.compile import entry_kernel
from arcbandit.kernels.planning import crash_basis, open_rows, write_allocation
from arcbandit.kernels.pricing import evaluate, evaluate_again, measure_scales
from arcbandit.kernels.program import Basis, ByContext, ByRow, Column, Count, PlanStatus, make_basis, make_workspace
from arcbandit.kernels.simplex import blocking_column, is_optimal, move_along, replace, simplex
from arcbandit.planning import assemble_program
from tests.kernels.modes import CASES


@entry_kernel
def exchange(program, basis, leaving, arm, context, workspace, allocation):
    """`replace`, callable from Python; the allocation is kept."""
    replace(program, basis, leaving, arm, context, True, workspace, allocation)


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


@entry_kernel
def run_simplex(program, basis, workspace, allocation):
    """From the crash basis to the end."""
    measure_scales(program, True, workspace)
    open_rows(workspace, 0)
    crash_basis(program, basis)
    return simplex(program, basis, program.available, 1.0, 0.0, True, False, False, workspace, allocation)


@entry_kernel
def stays_optimal(program, basis, workspace):
    """Whether the basis that the simplex ended with is still optimal, without a step."""
    return evaluate_again(program, basis, workspace) and is_optimal(program, basis, workspace)


SMALL = assemble_program(np.ones((2, 2)), np.ones((2, 2)), np.zeros(2), [[1], [2]])


def room(program):
    """A workspace for the program."""
    n_arms, n_contexts = program.objective.shape
    return make_workspace(n_arms, n_contexts, program.floors.size, program.arm_rows.shape[1])


def columns_of(basis):
    """The basic columns as a set of (arm or row, context or kind)."""
    keys = {(int(arm), context) for context, arm in enumerate(basis.key)}
    return keys | set(zip(basis.slot_arm.tolist(), basis.slot_context.tolist(), strict=True))


def test_a_slot_is_replaced_in_place():
    """The entering column takes the place of the leaving one."""
    basis = Basis(np.array([0, 1]), np.array([0, 1]), np.array([Column.SURPLUS, Column.SURPLUS]))
    exchange(SMALL, basis, 1, 1, 0, room(SMALL), np.zeros((2, 2)))
    assert columns_of(basis) == {(0, 0), (1, 1), (0, Column.SURPLUS), (1, 0)}


def test_a_leaving_key_is_followed_by_another_basic_pair_of_its_context():
    """The slot's pair becomes the key, and the slot takes the entering column."""
    basis = Basis(np.array([0, 1]), np.array([1, 0]), np.array([0, Column.SURPLUS]))
    allocation = np.array([[0.5, 0], [0.5, 1]])
    exchange(SMALL, basis, 2 + 0, 1, Column.SURPLUS, room(SMALL), allocation)
    assert allocation.tolist() == [[0, 0], [1, 1]]
    assert basis.key.tolist() == [1, 1]
    assert columns_of(basis) == {(1, 0), (1, 1), (1, Column.SURPLUS), (0, Column.SURPLUS)}


def test_a_leaving_key_without_another_basic_pair_is_followed_by_the_entering_one():
    """Only a pair of the same context can enter then."""
    basis = Basis(np.array([0, 1]), np.array([0, 1]), np.array([Column.SURPLUS, Column.SURPLUS]))
    allocation = np.array([[1.0, 0], [0, 1]])
    exchange(SMALL, basis, 2 + 1, 0, 1, room(SMALL), allocation)
    assert allocation.tolist() == [[1, 1], [0, 0]]
    assert basis.key.tolist() == [0, 0]
    assert basis.slot_context.tolist() == [Column.SURPLUS, Column.SURPLUS]


def test_a_pivot_worked_out_by_hand():
    """On nu, all to arm 1 but half of context 2: arm 3 enters context 3 until arm 1's share is gone, at step 1."""
    weighted = np.array([[3, 1, 2], [0, 0.5, 0], [0, 0, 1]])
    program = assemble_program(weighted, weighted, np.array([1, 0.25, -1]), [[1], [2], [3]])
    basis = Basis(np.array([0, 0, 0]), np.array([0, 1, 2]), np.array([Column.SURPLUS, 1, Column.SURPLUS]))
    before, after = np.zeros((3, 3)), np.zeros((3, 3))
    regular, step, leaving = step_towards(program, basis, 2, 2, False, room(program), before, after)
    assert (regular, step, leaving) == (True, 1.0, 3 + 2)
    assert before.tolist() == [[1, 0.5, 1], [0, 0.5, 0], [0, 0, 0]]
    assert after.tolist() == [[1, 0.5, 0], [0, 0.5, 0], [0, 0, 1]]


@pytest.mark.parametrize("bland", [False, True])
def test_a_primal_step_keeps_shares_at_or_above_zero_and_gives_the_entering_pair_its_step(bland):
    """From random feasible bases, whatever pair enters."""
    rng = np.random.default_rng(17)
    moved = 0
    for _ in range(CASES):
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
        workspace = room(program)
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
    assert moved > CASES // 10


def test_infeasible_floors_end_with_prices_that_prove_it():
    """Two arms want three quarters each of one context: any equal prices show that they cannot."""
    program = assemble_program(np.ones((2, 1)), np.ones((2, 1)), np.array([0.75, 0.75]), [[1], [2]])
    workspace = room(program)
    status = run_simplex(program, make_basis(1, 2), workspace, np.zeros((2, 1)))
    ray = workspace.by_row[ByRow.RAY, :2]
    assert status == PlanStatus.INFEASIBLE
    assert ray[0] == ray[1] > 0


def test_every_pivot_is_counted():
    """Nothing to do is no pivot, one floor to meet is one."""
    for floor, pivots in ((0.0, 0), (0.25, 1)):
        weighted = np.array([[2.0], [1.0]])
        program = assemble_program(weighted, weighted, np.array([0.0, floor]), [[1], [2]])
        workspace = room(program)
        assert run_simplex(program, make_basis(1, 2), workspace, np.zeros((2, 1))) == PlanStatus.OPTIMAL
        assert workspace.counts[Count.PIVOTS] == pivots


def test_a_basis_stays_optimal_until_an_open_pair_or_a_surplus_gains_or_a_share_is_negative():
    """A pair that is closed gains nothing, however good it looks: else every round would search in vain."""
    means = np.array([[1.0, 2.0, 0.1], [0.5, 0.1, 3.0], [9.0, 0.1, 0.1]])
    program = assemble_program(means, means, np.array([1.2, 0.5, 0.0]), [[1], [2], [3]])
    program.available[2, 0] = False
    workspace, basis = room(program), make_basis(3, 3)
    assert run_simplex(program, basis, workspace, np.zeros((3, 3))) == PlanStatus.OPTIMAL
    assert stays_optimal(program, basis, workspace)
    program.available[2, 0] = True
    assert not stays_optimal(program, basis, workspace)
    program.available[2, 0] = False
    program.floors[1] = 3.2
    assert not stays_optimal(program, basis, workspace)
    program.floors[1] = 0.5
    assert stays_optimal(program, basis, workspace)
    program.floors[0] = 0.0
    program.objective[1, 0] = 4.0
    assert not stays_optimal(program, basis, workspace)
