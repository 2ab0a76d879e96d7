import subprocess
import sys

import numpy as np
import pytest

from arcbandit.kernels.program import Basis, ByRow, Column, Count, PlanStatus, make_basis, make_workspace
from arcbandit.planning import assemble_program, solve_program
from arcbandit.planning.memory import planning_kernel
from tests.certificates import Problem, check_infeasible
from tests.compilation.small_package import environment
from tests.kernels.modes import COMPILED
from tests.kernels.plan_kernel import plan_kernel
from tests.strategies import KINDS, random_case

UNTOUCHED = -7.0


def run(program, basis=None, *, least_shortfall=False):
    """Status, allocation, workspace and basis of one call."""
    n_arms, n_contexts = program.objective.shape
    n_rows = program.floors.size
    basis = make_basis(n_contexts, n_rows) if basis is None else basis
    workspace = make_workspace(n_arms, n_contexts, n_rows, program.arm_rows.shape[1])
    allocation = np.full((n_arms, n_contexts), UNTOUCHED)
    status = PlanStatus(plan_kernel(program, basis, least_shortfall, 0, workspace, allocation))
    return status, allocation, workspace, basis


def simple(weighted, floors, objective=None):
    """A program with one row an arm."""
    weighted = np.array(weighted, dtype=float)
    objective = weighted if objective is None else np.array(objective, dtype=float)
    return assemble_program(objective, weighted, np.array(floors, dtype=float), [[k + 1] for k in range(len(weighted))])


@pytest.mark.parametrize(
    ("weighted", "floors", "allocation", "prices"),
    [
        ([[2]], [1], [[1]], [0]),
        ([[-2]], [-2], [[1]], None),
        ([[4], [1]], [0, 0.25], [[0.75], [0.25]], [0, 3]),
        ([[3, 1, 2], [0, 0.5, 0], [0, 0, 1]], [1, 0.25, 0.5], [[1, 0.5, 0.5], [0, 0.5, 0], [0, 0, 0.5]], [0, 1, 1]),
        ([[1, 2], [2, 1]], [0.1, 0.1], [[0, 1], [1, 0]], [0, 0]),
        ([[1, 2], [2, 1]], [2.5, 0.5], [[0.5, 1], [0.5, 0]], [1, 0]),
        ([[4, 4], [2, 1]], [0, 1], [[0.5, 1], [0.5, 0]], [0, 1]),
    ],
    ids=["one pair", "a negative floor met exactly", "one context", "nu", "free floors", "a dear floor", "the cheaper"],
)
def test_hand_checked_problems(weighted, floors, allocation, prices):
    """Allocations and prices that take a pencil and a minute."""
    status, found, workspace, _ = run(simple(weighted, floors))
    assert status == PlanStatus.OPTIMAL
    np.testing.assert_allclose(found, allocation, rtol=0, atol=1e-15)
    if prices is not None:
        np.testing.assert_allclose(workspace.by_row[ByRow.PRICE, : len(floors)], prices, rtol=0, atol=1e-15)


def test_objective_and_constraints_may_use_different_means():
    """Arm 2 pays in context 2 by the objective, but earns its floor only in context 1 by the constraints."""
    status, found, *_ = run(simple([[0, 0], [2, 0]], [0, 1], objective=[[3, 1], [1, 2]]))
    assert status == PlanStatus.OPTIMAL
    np.testing.assert_allclose(found, [[0.5, 0], [0.5, 1]], rtol=0, atol=1e-15)


def test_a_group_floor_is_met_by_its_cheapest_member():
    """Arms 2 and 3 together need 1; arm 3 gives up less reward for it."""
    weighted = np.array([[4.0], [2.0], [2.0]])
    objective = np.array([[4.0], [2.0], [3.0]])
    program = assemble_program(objective, weighted, np.array([0, 0, 0, 1.0]), [[1], [2, 4], [3, 4]])
    status, found, workspace, _ = run(program)
    assert status == PlanStatus.OPTIMAL
    np.testing.assert_allclose(found, [[0.5], [0], [0.5]], rtol=0, atol=1e-15)
    np.testing.assert_allclose(workspace.by_row[ByRow.PRICE, :4], [0, 0, 0, 0.5], rtol=0, atol=1e-15)


def test_an_infeasible_problem_leaves_the_allocation_untouched_and_proves_itself():
    """Unless a plan of least shortfall is asked for, nothing is written."""
    program = simple([[1], [1]], [0.75, 0.75])
    status, found, workspace, _ = run(program)
    assert status == PlanStatus.INFEASIBLE
    assert (found == UNTOUCHED).all()
    problem = Problem(program.objective, program.revenue, program.floors, np.ones(1))
    check_infeasible(problem, workspace.by_row[ByRow.RAY, :2])


def test_the_least_shortfall_comes_first_and_revenue_second():
    """Every split of the context falls short by half; the dearer arm takes what it may without falling shorter."""
    status, found, *_ = run(simple([[1], [1]], [0.75, 0.75], objective=[[2], [1]]), least_shortfall=True)
    assert status == PlanStatus.INFEASIBLE
    np.testing.assert_allclose(found, [[0.75], [0.25]], rtol=0, atol=1e-15)


def test_a_context_without_an_arm_is_infeasible():
    """The shell refuses it; the kernel does not crash on it."""
    program = simple([[1, 1]], [0])
    program.available[0, 1] = False
    assert run(program)[0] == PlanStatus.INFEASIBLE


@pytest.mark.parametrize("kind", KINDS)
def test_a_basis_that_is_still_optimal_makes_no_pivot(kind, n_cases):
    """The second call on the same problem only checks, and writes the same allocation bit for bit."""
    rng = np.random.default_rng(23)
    checked = 0
    for _ in range(max(3, n_cases // 20)):
        case = random_case(rng, kind, int(rng.integers(1, 7)), int(rng.integers(1, 7)))
        program = case.problem.program()
        status, first, _, basis = run(program)
        if not case.feasible:
            assert status == PlanStatus.INFEASIBLE
            continue
        again, second, workspace, _ = run(program, basis)
        assert (status, again) == (PlanStatus.OPTIMAL, PlanStatus.OPTIMAL)
        assert workspace.counts[Count.PIVOTS] == 0
        assert first.tobytes() == second.tobytes()
        checked += 1
    assert checked or kind.startswith("infeasible")


def test_a_basis_stays_optimal_when_the_data_hardly_move():
    """On nu, a millionth more or less of everything needs no pivot."""
    weighted = np.array([[3, 1, 2], [0, 0.5, 0], [0, 0, 1]])
    floors = np.array([1, 0.25, 0.5])
    *_, basis = run(simple(weighted, floors))
    rng = np.random.default_rng(1)
    for _ in range(20):
        shaken = weighted * (1 + 1e-6 * rng.normal(size=weighted.shape))
        status, _, workspace, basis = run(simple(shaken, floors), basis)
        assert status == PlanStatus.OPTIMAL
        assert workspace.counts[Count.PIVOTS] == 0


@pytest.mark.parametrize("kind", KINDS)
def test_repeated_runs_are_bitwise_equal(kind):
    """Same problem, same start: same allocation, prices, basis and number of pivots."""
    rng = np.random.default_rng(29)
    for least_shortfall in (False, True):
        program = random_case(rng, kind, 5, 6).problem.program()
        outcomes = []
        for _ in range(3):
            status, allocation, workspace, basis = run(program, least_shortfall=least_shortfall)
            prices = workspace.by_row[ByRow.PRICE, : program.floors.size]
            outcomes.append(
                (
                    status,
                    workspace.counts[Count.PIVOTS],
                    allocation.tobytes(),
                    prices.tobytes(),
                    *(b.tobytes() for b in basis),
                )
            )
        assert outcomes[0] == outcomes[1] == outcomes[2]


def test_memory_left_by_another_problem_changes_nothing(n_cases):
    """A workspace is scratch: what it held before does not reach the answer."""
    rng = np.random.default_rng(31)
    shared = make_workspace(4, 5, 4)
    for number in range(max(10, n_cases // 10)):
        program = random_case(rng, KINDS[number % 13 - 3], 4, 5).problem.program()
        if program.floors.size != 4:
            continue
        for part in shared:
            part.fill(1)
        fresh = run(program, least_shortfall=True)
        allocation, basis = np.zeros((4, 5)), make_basis(5, 4)
        status = plan_kernel(program, basis, True, 0, shared, allocation)
        assert status == fresh[0]
        assert allocation.tobytes() == fresh[1].tobytes()


@pytest.mark.parametrize("n", [1, 2, 5, 12])
@pytest.mark.parametrize(
    "build",
    [
        lambda n: (np.ones((n, n)), np.ones(n)),
        lambda n: (np.zeros((n, n)), np.zeros(n)),
        lambda n: (np.zeros((n, n)), -np.ones(n)),
        lambda n: (np.tile(np.arange(n) % 3.0, (n, 1)), np.zeros(n)),
        lambda n: (np.eye(n), np.ones(n)),
        lambda n: (1 - np.eye(n), np.ones(n) * (n > 1)),
        lambda n: (np.ones((n, 2 * n)), np.full(n, 2.0)),
        lambda n: (np.add.outer(np.arange(n), np.arange(n)) % 2 * 1.0, np.full(n, float(n > 1) * (n // 2) / n)),
    ],
    ids=["equal arms", "all zero", "zero, floors below", "equal rows", "identity", "all but one", "wide", "checkers"],
)
def test_classic_degenerate_problems_do_not_cycle(n, build):
    """Ties everywhere and floors met exactly: every start ends optimal within a few pivots a row and context."""
    weighted, floors = build(n)
    program = simple(weighted, floors)
    status, allocation, workspace, _ = run(program)
    assert status == PlanStatus.OPTIMAL
    assert workspace.counts[Count.PIVOTS] <= 20 + 10 * sum(weighted.shape)
    assert ((weighted * allocation).sum(axis=1) >= floors - 1e-12).all()
    best = run(program._replace(floors=np.full(n, -1e6)))[1]
    assert (weighted * allocation).sum() <= (weighted * best).sum() + 1e-12


def test_a_classic_cycling_example_is_solved():
    """Beale's columns as rewards and revenues of floors at zero: the textbook rule alone would go round for ever."""
    revenue = np.array([[-0.25, 60, 0.04, -9, 0], [-0.5, 90, 0.02, -3, 0], [0, 0, 0, 0, 0]])
    objective = np.array([[0.75, -150, 0.02, -6, 0], [0.75, -150, 0.02, -6, 0], [0, 0, 0, 0, 0]])
    status, allocation, *_ = run(simple(revenue, np.zeros(3), objective))
    assert status == PlanStatus.OPTIMAL
    assert ((revenue * allocation).sum(axis=1) >= -1e-12).all()


def test_prices_that_cancel_do_not_let_a_basic_pair_enter():
    """Floors from below and above and a group share arms; their prices cancel to rounding, which is no reduced cost.

    Measured against the cancelled sum, that rounding once looked like a gain, and the same pair entered for ever.
    """
    revenue = np.array([[1.875, 0.875, 0], [0.4375, 1.6875, 0], [1.5625, 0.4375, 0], [0, 0, 9.5], [0, 0, 0]])
    objective = np.zeros((5, 3))
    objective[3, 2] = -9.5
    available = np.array([[1, 0, 0], [1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 0, 1]], dtype=bool)
    floors = np.array([0.625, 0.8125, 0.75, 1.625, -0.625, -0.8125, -0.75])
    rows = [[1, -5], [2, 4, -6], [3, 4, -7], [1, 2, 3, 4, 5, 6, 7], []]
    status, allocation, workspace, _ = run(assemble_program(objective, revenue, floors, rows, available))
    assert status == PlanStatus.OPTIMAL
    assert workspace.counts[Count.PIVOTS] < 20
    # All floors met exactly but for s, the same for all: (13/16 + 3/4) + 2 s = 13/8 - s gives s = 1/48.
    assert (objective * allocation).sum() == pytest.approx(-1 / 48, rel=1e-12)


def random_basis(rng, n_arms, n_contexts, n_rows):
    """Any contents of valid range: duplicates, keys that stand twice, shortfalls, missing keys."""
    key = rng.integers(-1 if rng.random() < 0.1 else 0, n_arms, n_contexts)
    slot_context = rng.integers(Column.SHORTFALL if rng.random() < 0.3 else Column.SURPLUS, n_contexts, n_rows)
    slot_arm = np.where(slot_context >= 0, rng.integers(0, n_arms, n_rows), rng.integers(0, n_rows, n_rows))
    return Basis(key, slot_arm, slot_context)


@pytest.mark.parametrize("kind", KINDS)
def test_any_basis_leads_to_the_same_value(kind, n_cases):
    """A start is a hint: garbage of valid range costs pivots, not correctness."""
    rng = np.random.default_rng(37)
    for _ in range(max(2, n_cases // 20)):
        n_arms, n_contexts = int(rng.integers(1, 7)), int(rng.integers(1, 7))
        program = random_case(rng, kind, n_arms, n_contexts).problem.program()
        cold = solve_program(program)
        value = (program.objective * cold.allocation).sum()
        size = max(abs(value), np.abs(program.objective).max())
        for _ in range(3):
            start = random_basis(rng, n_arms, n_contexts, program.floors.size)
            status, allocation, *_ = run(program, start)
            assert status == cold.status
            if status == PlanStatus.OPTIMAL:
                assert abs((program.objective * allocation).sum() - value) <= 1e-9 * size


SIGNATURE_SCRIPT = """
import numpy as np
from arcbandit import GroupFloor, Planner, paper_instance, plan, solve_lp
from arcbandit.planning.memory import planning_kernel

plan(paper_instance("nu"))
means = np.array([[4.0, 2.0], [1.0, 1.0]])
first = solve_lp(means, means, [0, 0.25], [0.5, 0.5])
solve_lp(means.tolist(), means.astype(np.float32), (0, 0), np.array([1, 1]), warm_start=first)
solve_lp(means.T, np.asfortranarray(means), np.array([0, 0]), [0.5, 0.5], available=np.ones((2, 2), dtype=bool).T)
frozen = means.copy()
frozen.setflags(write=False)
solve_lp(frozen, frozen, [2.0, 2.0], [0.5, 0.5], on_infeasible="least_shortfall")
solve_lp(means[::-1], means, [0, 0], [0.5, 0.5], group_floors=[GroupFloor("both", (0, 1), 0.5)])
mask = np.ones((2, 2), dtype=bool)
mask.setflags(write=False)
solve_lp(means, means, [0, 0], [0.5, 0.5], available=mask)
for settings in ({}, {"warm": True}, {"on_infeasible": "least_shortfall", "available": mask}):
    planner = Planner([0, 0.25], [0.5, 0.5], **settings)
    planner.plan(frozen)
    planner.plan(means.T, means, revenue_floors=[0, 0.1], context_probabilities=np.array([1, 2]), copy=False)
print(len(planning_kernel().signatures))
"""


@pytest.mark.slow
def test_all_ways_to_call_from_python_share_one_compiled_signature():
    """Lists, float32, transposed, read-only, with groups, masks or a warm start: nothing is compiled twice."""
    done = subprocess.run(
        [sys.executable, "-c", SIGNATURE_SCRIPT], env=environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["1"]


def test_this_run_is_in_the_mode_that_it_says():
    """Uncompiled, a kernel is a plain function."""
    assert hasattr(planning_kernel(), "signatures") == COMPILED
