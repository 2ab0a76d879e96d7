"""A planner that goes on from what it kept must end where one that starts afresh does."""

import numpy as np
import pytest

from arcbandit.kernels.keys import FEW_CONTEXTS
from arcbandit.kernels.marks import CHANGED
from arcbandit.kernels.program import SOMEBODY, Basis, ByRow, Count, PlanStatus, make_basis, make_workspace
from arcbandit.planning import assemble_program
from tests.kernels.marking import mark_pair
from tests.kernels.modes import COMPILED
from tests.kernels.plan_kernel import plan_kernel

UNTOUCHED = -7.0
FIRST_OWNER, SECOND_OWNER = SOMEBODY + 1, SOMEBODY + 2
SHAPES = [(3, 3), (6, 9), (4, FEW_CONTEXTS), (5, FEW_CONTEXTS + 1), (8, 2 * FEW_CONTEXTS)]


def leaning_program(rng, n_arms, n_contexts, *, grouped):
    """Bounds as a rule has them: means and roots of which a share is leant on, floors that bind, a mask."""
    means = rng.random((n_arms, n_contexts))
    weights = rng.dirichlet(np.full(n_contexts, 5.0))
    available = rng.random((n_arms, n_contexts)) < 0.9
    available[rng.integers(n_arms, size=n_contexts), np.arange(n_contexts)] = True
    shares = rng.dirichlet(np.ones(n_arms), n_contexts).T * available
    floors = 0.8 * (weights * means * shares / shares.sum(axis=0)).sum(axis=1)
    rows = [[arm + 1] for arm in range(n_arms)]
    if grouped:
        floors = np.append(floors, 1.1 * floors[:2].sum())
        rows[0].append(n_arms + 1)
        rows[1].append(n_arms + 1)
    program = assemble_program(means, means, floors, rows, available, weights)
    return program._replace(root=0.1 * rng.random((n_arms, n_contexts)), lean=np.array([1.0, 0.5]), revenue=means)


def move(rng, program, floors):
    """Change what may change between two plans: the leans, a few pairs, and now and then the floors."""
    program.lean[:] += 1e-4 * rng.random(2)
    for _ in range(rng.integers(4)):
        arm, context = rng.integers(program.objective.shape[0]), rng.integers(program.objective.shape[1])
        program.objective[arm, context] = rng.random()
        program.root[arm, context] *= 0.9
        mark_pair(program.changed, arm, context)
    if rng.random() < 0.1:
        program.objective[:] *= rng.choice([0.5, 2.0])
        program.changed[:] = CHANGED
    if rng.random() < 0.1:
        program.floors[:] = floors * rng.choice([0.8, 1.0, 10.0], p=[0.5, 0.3, 0.2])


def plan_afresh(program, basis, scales):
    """The allocation that the same basis and scales, which are stored together, give in memory never used before."""
    n_arms, n_contexts = program.objective.shape
    workspace = make_workspace(n_arms, n_contexts, program.floors.size, program.arm_rows.shape[1])
    workspace.by_row[ByRow.SCALE] = scales
    workspace.counts[Count.SCALES_AGE] = 1
    allocation = np.full((n_arms, n_contexts), UNTOUCHED)
    copied = program._replace(changed=program.changed.copy())
    status = plan_kernel(copied, Basis(*(part.copy() for part in basis)), True, FIRST_OWNER, workspace, allocation)
    return PlanStatus(status), allocation, workspace


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"{shape[0]}x{shape[1]}")
@pytest.mark.parametrize("grouped", [False, True], ids=["floors", "groups"])
def test_a_kept_allocation_is_the_one_written_afresh(shape, grouped, cases):
    """With pivots and without, feasible or not, by one owner or two in turns, and after a plan of nobody's."""
    rng = np.random.default_rng([*shape, grouped])
    program = leaning_program(rng, *shape, grouped=grouped)
    floors, n_rows = program.floors.copy(), program.floors.size
    workspace = make_workspace(*shape, n_rows, program.arm_rows.shape[1])
    bases = {owner: make_basis(shape[1], n_rows) for owner in (0, FIRST_OWNER, SECOND_OWNER)}
    allocation = np.full(shape, UNTOUCHED)
    seen = set()
    for _ in range(200 if COMPILED else cases(4, 8)):
        owner = int(rng.choice([0, FIRST_OWNER, SECOND_OWNER], p=[0.05, 0.85, 0.1]))
        before = workspace.counts[Count.PIVOTS]
        workspace.counts[Count.SCALES_AGE] = rng.integers(5)  # at 0 scales are measured, else those kept must do
        status = plan_kernel(program, bases[owner], True, owner, workspace, allocation)
        again, afresh, checked = plan_afresh(program, bases[owner], workspace.by_row[ByRow.SCALE])
        assert status == again
        if status == PlanStatus.OPTIMAL:
            assert checked.counts[Count.PIVOTS] == 0
            assert allocation.tobytes() == afresh.tobytes()
        else:
            np.testing.assert_allclose(allocation, afresh, rtol=0, atol=1e-9)
        seen.add((PlanStatus(status), bool(workspace.counts[Count.PIVOTS] > before)))
        move(rng, program, floors)
    if COMPILED:
        assert {(PlanStatus.OPTIMAL, False), (PlanStatus.OPTIMAL, True), (PlanStatus.INFEASIBLE, True)} <= seen


def test_weights_may_move_if_the_kept_sums_are_given_up():
    """As they do while the probabilities of contexts are estimated."""
    rng = np.random.default_rng(5)
    shape = (4, FEW_CONTEXTS + 10)
    program = leaning_program(rng, *shape, grouped=False)
    workspace, basis = make_workspace(*shape, 4, 1), make_basis(shape[1], 4)
    allocation = np.zeros(shape)
    for _ in range(5):
        assert plan_kernel(program, basis, True, FIRST_OWNER, workspace, allocation) == PlanStatus.OPTIMAL
        assert allocation.tobytes() == plan_afresh(program, basis, workspace.by_row[ByRow.SCALE])[1].tobytes()
        program.weights[:] = program.weights * (1 + 0.01 * rng.random(shape[1]))
        workspace.counts[Count.KEYS_KEPT] = 0
