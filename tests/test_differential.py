"""Thousands of seeded problems solved twice, by the simplex of this library and by HiGHS, which share no code."""

from collections import Counter

import numpy as np
import pytest

from arcbandit.kernels.program import ByRow, PlanStatus, make_basis, make_workspace
from arcbandit.planning import solve_program
from tests.certificates import FLOOR_TOLERANCE, check_allocation, check_infeasible
from tests.kernels.plan_kernel import plan_kernel
from tests.long import each_of
from tests.reference.highs import HighsTwin
from tests.strategies import HARD_KINDS, KINDS, moved, random_case

CHUNKS = range(21)
COLD_PER_CHUNK = 340  # and as many that are degenerate or infeasible, and as many warm-started
STEPS_OF_A_WALK = 10
VALUE_TOLERANCE = 1e-9

EASY_KINDS = tuple(kind for kind in KINDS if kind not in HARD_KINDS)
WALKING_KINDS = tuple(kind for kind in KINDS if kind not in ("equal", "zero"))


def random_shape(rng):
    """Mostly small, 1 x 1 included, now and then up to 40 x 60."""
    if rng.random() < 0.03:
        return int(rng.integers(1, 41)), int(rng.integers(1, 61))
    return int(rng.integers(1, 8)), int(rng.integers(1, 9))


def check_agreement(twin, problem, status, allocation, ray):
    """Same status, and the same value to 1e-9 of the value itself."""
    expected, value = twin.best(problem)
    assert status == expected
    if status == PlanStatus.INFEASIBLE:
        check_infeasible(problem, ray)
        return
    check_allocation(problem, allocation)
    lacking = np.where(problem.asks, problem.floors - problem.earned(allocation), 0.0)
    assert (lacking / problem.row_scale).max() <= FLOOR_TOLERANCE
    found = (problem.objective * allocation).sum()
    assert abs(found - value) <= VALUE_TOLERANCE * abs(value)


def solve_cold(twin, rng, kinds, counts, label):
    """Problems of each kind in turn, each from nothing; their truth is known besides."""
    for number in range(COLD_PER_CHUNK):
        kind = kinds[number % len(kinds)]
        problem, feasible = random_case(rng, kind, *random_shape(rng))
        found = solve_program(problem.program())
        assert (found.status == PlanStatus.OPTIMAL) == feasible, kind
        check_agreement(twin, problem, found.status, found.allocation, found.ray)
        counts[label, found.status] += 1


def solve_warm(twin, rng, counts):
    """Random walks of all coefficients, each problem solved from the basis of the one before."""
    for number in range(COLD_PER_CHUNK // STEPS_OF_A_WALK):
        n_arms, n_contexts = random_shape(rng)
        problem = random_case(rng, WALKING_KINDS[number % len(WALKING_KINDS)], n_arms, n_contexts).problem
        basis = make_basis(n_contexts, problem.floors.size)
        workspace = make_workspace(n_arms, n_contexts, problem.floors.size, 1 + len(problem.groups))
        step = rng.choice([0.001, 0.03, 0.3])
        for _ in range(STEPS_OF_A_WALK):
            problem = moved(rng, problem, step)
            allocation = np.zeros((n_arms, n_contexts))
            status = PlanStatus(plan_kernel(problem.program(), basis, False, 0, workspace, allocation))
            check_agreement(twin, problem, status, allocation, workspace.by_row[ByRow.RAY, :-1])
            counts["warm", status] += 1


@pytest.mark.slow
@pytest.mark.parametrize("chunk", each_of(CHUNKS[:2], CHUNKS))
def test_agrees_with_highs(chunk):
    """A third of the problems plain, a third degenerate or infeasible, a third warm-started.

    21,420 in all in the long version, 2,040 otherwise.
    """
    rng = np.random.default_rng([20_240, chunk])
    twin = HighsTwin()
    counts = Counter()
    solve_cold(twin, rng, EASY_KINDS, counts, "plain")
    solve_cold(twin, rng, sorted(HARD_KINDS), counts, "hard")
    solve_warm(twin, rng, counts)
    by_label = Counter()
    for (label, _), count in counts.items():
        by_label[label] += count
    assert by_label == {"plain": COLD_PER_CHUNK, "hard": COLD_PER_CHUNK, "warm": COLD_PER_CHUNK}
    assert counts["hard", PlanStatus.INFEASIBLE] > COLD_PER_CHUNK // 3
    assert counts["warm", PlanStatus.INFEASIBLE] > 0
    assert counts["warm", PlanStatus.OPTIMAL] > COLD_PER_CHUNK // 3
    for (label, status), count in sorted(counts.items()):
        print(f"{count:4d} {label} {status.name}")


def test_the_chunks_add_up_to_more_than_twenty_thousand():
    """Otherwise the claim above would be about fewer problems than it says."""
    assert len(CHUNKS) * 3 * COLD_PER_CHUNK == 21_420
