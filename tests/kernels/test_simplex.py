import numpy as np
import pytest

from arcbandit.compilation.compile import entry_kernel
from arcbandit.kernels.evaluation import evaluate_again
from arcbandit.kernels.planning import open_rows
from arcbandit.kernels.program import Basis, ByRow, Column, Count, PlanStatus, make_basis
from arcbandit.kernels.scales import measure_scales
from arcbandit.kernels.simplex import is_optimal, replace, simplex
from arcbandit.kernels.starts import LARGE_PROBLEM, crash_basis
from arcbandit.planning import assemble_program
from tests.kernels.workspaces import workspace_for


@entry_kernel
def exchange(program, basis, leaving, arm, context, workspace, allocation):
    """`replace`, callable from Python; the allocation is kept."""
    replace(program, basis, leaving, arm, context, True, workspace, allocation)


@entry_kernel
def run_simplex(program, basis, workspace, allocation):
    """From the crash basis to the end."""
    measure_scales(program, True, workspace)
    open_rows(workspace, 0)
    crash_basis(program, basis, workspace)
    return simplex(program, basis, program.available, 1.0, 0.0, True, False, False, workspace, allocation)


@entry_kernel
def stays_optimal(program, basis, workspace):
    """Whether the basis that the simplex ended with is still optimal, without a step."""
    return evaluate_again(program, basis, workspace) and is_optimal(program, basis, workspace)


SMALL = assemble_program(np.ones((2, 2)), np.ones((2, 2)), np.zeros(2), [[1], [2]])


def columns_of(basis):
    """The basic columns as a set of (arm or row, context or kind)."""
    keys = {(int(arm), context) for context, arm in enumerate(basis.key)}
    return keys | set(zip(basis.slot_arm.tolist(), basis.slot_context.tolist(), strict=True))


def test_a_slot_is_replaced_in_place():
    """The entering column takes the place of the leaving one."""
    basis = Basis(np.array([0, 1]), np.array([0, 1]), np.array([Column.SURPLUS, Column.SURPLUS]))
    exchange(SMALL, basis, 1, 1, 0, workspace_for(SMALL), np.zeros((2, 2)))
    assert columns_of(basis) == {(0, 0), (1, 1), (0, Column.SURPLUS), (1, 0)}


def test_a_leaving_key_is_followed_by_another_basic_pair_of_its_context():
    """The slot's pair becomes the key, and the slot takes the entering column."""
    basis = Basis(np.array([0, 1]), np.array([1, 0]), np.array([0, Column.SURPLUS]))
    allocation = np.array([[0.5, 0], [0.5, 1]])
    exchange(SMALL, basis, 2 + 0, 1, Column.SURPLUS, workspace_for(SMALL), allocation)
    assert allocation.tolist() == [[0, 0], [1, 1]]
    assert basis.key.tolist() == [1, 1]
    assert columns_of(basis) == {(1, 0), (1, 1), (1, Column.SURPLUS), (0, Column.SURPLUS)}


def test_a_leaving_key_without_another_basic_pair_is_followed_by_the_entering_one():
    """Only a pair of the same context can enter then."""
    basis = Basis(np.array([0, 1]), np.array([0, 1]), np.array([Column.SURPLUS, Column.SURPLUS]))
    allocation = np.array([[1.0, 0], [0, 1]])
    exchange(SMALL, basis, 2 + 1, 0, 1, workspace_for(SMALL), allocation)
    assert allocation.tolist() == [[1, 1], [0, 0]]
    assert basis.key.tolist() == [0, 0]
    assert basis.slot_context.tolist() == [Column.SURPLUS, Column.SURPLUS]


def test_infeasible_floors_end_with_prices_that_prove_it():
    """Two arms want three quarters each of one context: any equal prices show that they cannot."""
    program = assemble_program(np.ones((2, 1)), np.ones((2, 1)), np.array([0.75, 0.75]), [[1], [2]])
    workspace = workspace_for(program)
    status = run_simplex(program, make_basis(1, 2), workspace, np.zeros((2, 1)))
    ray = workspace.by_row[ByRow.RAY, :2]
    assert status == PlanStatus.INFEASIBLE
    assert ray[0] == ray[1] > 0


def test_every_pivot_is_counted():
    """Nothing to do is no pivot, one floor to meet is one."""
    for floor, pivots in ((0.0, 0), (0.25, 1)):
        weighted = np.array([[2.0], [1.0]])
        program = assemble_program(weighted, weighted, np.array([0.0, floor]), [[1], [2]])
        workspace = workspace_for(program)
        assert run_simplex(program, make_basis(1, 2), workspace, np.zeros((2, 1))) == PlanStatus.OPTIMAL
        assert workspace.counts[Count.PIVOTS] == pivots


@pytest.mark.parametrize("groups", [False, True], ids=["arms", "groups"])
def test_pairs_that_are_all_alike_take_few_pivots_if_there_are_many(groups):
    """So they are before the first reward. One arm may be unavailable in half of the contexts, another ask for much."""
    n_arms, n_contexts = 25, 100
    floors = np.full(n_arms, 0.4 * n_contexts / n_arms)
    floors[3] = 20.0
    rows = [[1 + arm] for arm in range(n_arms)]
    if groups:
        floors = np.append(floors, 30.0)
        rows = [[1 + arm, n_arms + 1 if arm % 2 else 0] for arm in range(n_arms)]
    alike = np.ones((n_arms, n_contexts))
    program = assemble_program(alike, alike, floors, rows)
    assert program.available.size > LARGE_PROBLEM
    program.available[7, ::2] = False
    workspace, allocation = workspace_for(program), np.zeros((n_arms, n_contexts))
    assert run_simplex(program, make_basis(n_contexts, len(floors)), workspace, allocation) == PlanStatus.OPTIMAL
    assert workspace.counts[Count.PIVOTS] <= n_arms


def test_of_few_pairs_that_are_alike_the_first_arm_is_the_start():
    """Plays recorded long ago are the same bit for bit only as long as this stays."""
    workspace, basis = workspace_for(SMALL), make_basis(2, 2)
    assert run_simplex(SMALL, basis, workspace, np.zeros((2, 2))) == PlanStatus.OPTIMAL
    assert basis.key.tolist() == [0, 0]


def test_a_basis_stays_optimal_until_an_open_pair_or_a_surplus_gains_or_a_share_is_negative():
    """A pair that is closed gains nothing, however good it looks: else every round would search in vain."""
    means = np.array([[1.0, 2.0, 0.1], [0.5, 0.1, 3.0], [9.0, 0.1, 0.1]])
    program = assemble_program(means, means, np.array([1.2, 0.5, 0.0]), [[1], [2], [3]])
    program.available[2, 0] = False
    workspace, basis = workspace_for(program), make_basis(3, 3)
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
