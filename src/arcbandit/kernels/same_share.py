"""The same share of every floor, where not all can be met: the largest one, and then the plan that earns the most.

Prices y >= 0 with sum_c max_k Y_k b_kc < y . r prove that no plan meets the floors r. They prove more: that no plan
gives every floor more than the share sum_c max_k Y_k b_kc / y . r of it. So the floors are reduced to that share and
planned again, until there is a plan: then its share is the largest, and the last prices prove it. Each proof comes from
a basis, and each allows less than the one before, so there are finitely many. The prices of least total shortfall would
make this Newton's method, with five steps at most where those of a dual step take a hundred; but they are so much
cheaper, as each search goes on from the last basis, that even then the whole takes half as long.

Only floors above zero are reduced. The share is below zero if some of them lose money under every plan.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from arcbandit.compilation.compile import kernel, rare_kernel, shared_kernel
from arcbandit.kernels.coefficients import revenue_of, spread_over_arms
from arcbandit.kernels.planning import search_plan
from arcbandit.kernels.program import NO_FLOOR, Basis, ByArm, ByRow, PlanStatus, Program

# Stands for the function that finds a packed Task, until `bound` gives `plan_same_share` a copy with its own.
unpack_task: Any = None


class Shared(NamedTuple):
    """Memory for the floors that are planned with in place of the given ones."""

    floors: np.ndarray  # float64, shape (M,)
    ray: np.ndarray  # prices that prove that no larger share is possible, float64, shape (M,)


def make_shared(n_rows: int) -> Shared:
    """Memory for so many floors."""
    return Shared(np.zeros(n_rows), np.zeros(n_rows))


@rare_kernel
def largest_share(program, floors, workspace):
    """The share of the floors, shape (M,), above which the prices of the ray prove that no plan gives it to all.

    Infinite, if the prices do not limit it.
    """
    n_arms, n_contexts = program.revenue.shape
    ray = workspace.by_row[ByRow.RAY]
    arm_ray = workspace.by_arm[ByArm.DUAL_ROW]
    spread_over_arms(program, ray, arm_ray)
    needed = 0.0
    reachable = 0.0
    for row in range(floors.shape[0]):
        if floors[row] > 0.0:
            needed += ray[row] * floors[row]
        elif floors[row] != NO_FLOOR:
            reachable -= ray[row] * floors[row]
    for context in range(n_contexts):
        best = -1e300
        for arm in range(n_arms):
            if program.available[arm, context]:
                best = max(best, arm_ray[arm] * revenue_of(program, arm, context))
        reachable += best
    return reachable / needed if needed > 0.0 else math.inf


@rare_kernel
def share_floors(program, floors, basis, workspace, ray, allocation):
    """Plan with the same share of every floor, shape (M,), after a search that proved by its ray that they conflict.

    The program's own floors are overwritten, and its plan starts from `basis`. Return a PlanStatus and the share.
    OPTIMAL: `allocation` earns most among the plans that give every floor that share of it, and `ray`, shape (M,),
    proves that no plan gives every floor more. INFEASIBLE: some floors, none of them above zero, cannot be met at any
    share. PIVOT_LIMIT: nothing could be proven. Without a plan, `allocation` is untouched.
    """
    share = 1.0
    for _ in range(1000 + 50 * (floors.shape[0] + basis.key.shape[0])):  # far more than it takes, as for pivots
        limit = largest_share(program, floors, workspace)
        if limit == math.inf:
            return PlanStatus.INFEASIBLE, share
        if not limit < share:
            return PlanStatus.PIVOT_LIMIT, share
        share = limit
        for row in range(floors.shape[0]):
            ray[row] = workspace.by_row[ByRow.RAY, row]
            program.floors[row] = share * floors[row] if floors[row] > 0.0 else floors[row]
            if workspace.by_row.shape[0] > ByRow.SHORTFALL_PRICE:
                workspace.by_row[ByRow.SHORTFALL_PRICE, row] = 0.0
        status = search_plan(program, basis, False, 0, False, False, workspace, allocation)
        if status != PlanStatus.INFEASIBLE:
            return status, share
    return PlanStatus.PIVOT_LIMIT, share


def plan_same_share(numbers, cold):
    """Plan a packed Task with the same share of every floor, for calls from Python; return a PlanStatus and the share.

    `cold` forgets the basis. The amounts of the task are its floors, NO_FLOOR for none; the floors of its program are
    overwritten by those planned with. OPTIMAL: all floors can be met, and the share is 1. INFEASIBLE: the plan is that
    of the share, which the workspace's ray proves to be the largest; NaN, if there is none. PIVOT_LIMIT: neither.
    """
    program, basis, workspace, allocation, prices, amounts = unpack_task(numbers)
    if cold:
        basis.key[0] = -1
    for row in range(amounts.shape[0]):
        program.floors[row] = amounts[row]
        workspace.by_row[ByRow.SHORTFALL_PRICE, row] = 0.0
    status = search_plan(program, basis, False, 0, False, False, workspace, allocation)
    share = 1.0
    if status == PlanStatus.INFEASIBLE:
        ray = prices  # until the prices are known
        status, share = share_floors(program, amounts, basis, workspace, ray, allocation)
        if status == PlanStatus.OPTIMAL:
            status = PlanStatus.INFEASIBLE
            for row in range(prices.shape[0]):
                workspace.by_row[ByRow.RAY, row] = ray[row]
        elif status == PlanStatus.INFEASIBLE:
            share = math.nan
    for row in range(prices.shape[0]):
        prices[row] = max(workspace.by_row[ByRow.PRICE, row], 0.0)
    return np.int64(status), share


@kernel
def falls_short_least(wanted, shared):
    """Whether floors that cannot all be met are to be missed by the least total, where a plan is `wanted` even then."""
    if len(shared) == 0:
        return wanted
    return False


@shared_kernel
def share_program(program, planner, place, shared, allocation):
    """`share_floors` for a planner's basis; if that finds nothing, the plan of least shortfall. Return a PlanStatus."""
    basis = Basis(planner.key[place], planner.slot_arm[place], planner.slot_context[place])
    reduced = Program(
        program.objective,
        program.revenue,
        program.root,
        program.lean,
        program.weights,
        program.changed,
        program.available,
        shared.floors,
        program.arm_rows,
    )
    status, _ = share_floors(reduced, program.floors, basis, planner.workspace, shared.ray, allocation)
    if status == PlanStatus.OPTIMAL:
        return PlanStatus.INFEASIBLE
    return search_plan(program, basis, True, 0, False, False, planner.workspace, allocation)


@kernel
def share_if_infeasible(status, program, planner, place, shared, wanted, allocation):
    """Where a plan is `wanted` and the last one of that place is infeasible, write the one of the same share.

    Return the PlanStatus: that of the last plan, or of the plan of least shortfall if it had to be used instead.
    """
    if len(shared) == 0:
        return status
    if wanted and status == PlanStatus.INFEASIBLE:
        return share_program(program, planner, place, shared, allocation)
    return status
