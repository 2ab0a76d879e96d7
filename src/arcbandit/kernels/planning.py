"""The planning problem solved: from any basis, or from none, to an optimal plan or a proof that there is none."""

from typing import Any, NamedTuple

import numpy as np

from arcbandit.compilation.compile import kernel, rare_kernel, shared_kernel
from arcbandit.kernels.allocation import write_allocation
from arcbandit.kernels.allowances import measure_allowances
from arcbandit.kernels.bounds import FEW_PAIRS
from arcbandit.kernels.coefficients import objective_of, revenue_of, spread_over_arms
from arcbandit.kernels.evaluation import evaluate_again
from arcbandit.kernels.program import (
    FEASIBILITY_TOLERANCE,
    NO_FLOOR,
    ROUNDING_TOLERANCE,
    Basis,
    ByArm,
    ByRow,
    Column,
    Count,
    Elimination,
    Order,
    PlanStatus,
    Program,
    Workspace,
)
from arcbandit.kernels.reduced_costs import pair_excess
from arcbandit.kernels.scales import measure_scales
from arcbandit.kernels.simplex import is_optimal, simplex
from arcbandit.kernels.starts import crash_basis, is_usable, start_short

ATTEMPTS = 6
MEET_FLOORS, FALL_SHORT_LEAST, EARN_MOST = range(3)
NOT_SOUND = -1  # in place of a PlanStatus: a number of the problem is not finite, too large, or a weight below zero

# Stands for the function that finds a packed Task, until `bound` gives `plan` a copy with its own.
unpack_task: Any = None


class Task(NamedTuple):
    """A problem to plan, and all that planning it writes to."""

    program: Program
    basis: Basis
    workspace: Workspace
    allocation: np.ndarray  # float64, shape (K, C)
    prices: np.ndarray  # float64, none below zero, shape (M,)
    amounts: np.ndarray  # float64, the floors as users give them, zero for none, shape (M,); may be left out of account


@rare_kernel
def proves_infeasible(program, workspace):
    """Whether the prices of the ray prove that no plan meets the floors: sum_c max_k y_k b_kc < y . r.

    The floors are lowered by the part that may be missing, and the difference must be beyond rounding.
    """
    n_arms, n_contexts = program.revenue.shape
    ray = workspace.by_row[ByRow.RAY]
    arm_ray = workspace.by_arm[ByArm.DUAL_ROW]
    spread_over_arms(program, ray, arm_ray)
    needed = 0.0
    size = 0.0
    for row in range(program.floors.shape[0]):
        needed += ray[row] * program.floors[row]
        size += ray[row] * abs(program.floors[row])
    needed -= FEASIBILITY_TOLERANCE * size
    reachable = 0.0
    for context in range(n_contexts):
        best = -1e300
        for arm in range(n_arms):
            if program.available[arm, context]:
                best = max(best, arm_ray[arm] * revenue_of(program, arm, context))
        reachable += best
        size += abs(best)
    return reachable < needed - ROUNDING_TOLERANCE * size


@rare_kernel
def open_rows(workspace, shortfall):
    """Open all surpluses, and all shortfalls or none (1 or 0)."""
    for row in range(workspace.order.shape[1]):
        workspace.order[Order.SURPLUS_OPEN, row] = 1
        workspace.order[Order.SHORTFALL_OPEN, row] = shortfall


@rare_kernel
def falls_short_nowhere(program, basis, workspace):
    """Whether no shortfall in the basis is larger than a floor that is met may have."""
    measure_allowances(program, basis, workspace)
    allowance = workspace.by_row[ByRow.SCRATCH]
    for slot in range(basis.slot_arm.shape[0]):
        row = basis.slot_arm[slot]
        if basis.slot_context[slot] == Column.SHORTFALL:
            lacking = workspace.by_row[ByRow.SLOT_VALUE, slot] * workspace.by_row[ByRow.SCALE, row]
            if lacking > allowance[row]:
                return False
    return True


@rare_kernel
def restrict_to_face(program, basis, workspace):
    """Close every column of nonzero reduced cost in the first objective, whose prices are in place."""
    n_arms, n_contexts = program.objective.shape
    for arm in range(n_arms):
        for context in range(n_contexts):
            workspace.face[arm, context] = (
                program.available[arm, context] and pair_excess(program, basis, 0.0, arm, context, workspace) >= 0.0
            )
    # A surplus may be as large as its row's coefficients, so that a price that is small compared with the shortfall's
    # price of 1 may still be worth more than all other rows; what counts is the price times the scale.
    largest = 0.0
    for row in range(basis.slot_arm.shape[0]):
        largest = max(largest, workspace.by_row[ByRow.PRICE, row] * workspace.by_row[ByRow.SCALE, row])
    for row in range(basis.slot_arm.shape[0]):
        price = workspace.by_row[ByRow.PRICE, row]
        limit = FEASIBILITY_TOLERANCE * min(1.0, largest / workspace.by_row[ByRow.SCALE, row])
        workspace.order[Order.SURPLUS_OPEN, row] = 1 if price <= limit else 0
        workspace.order[Order.SHORTFALL_OPEN, row] = 1 if price >= 1.0 - limit else 0


@rare_kernel
def end_shortfalls(basis):
    """Exchange each shortfall for its row's surplus, as both are as good as zero."""
    for slot in range(basis.slot_arm.shape[0]):
        if basis.slot_context[slot] == Column.SHORTFALL:
            basis.slot_context[slot] = Column.SURPLUS


@shared_kernel
def search_plan(program, basis, least_shortfall, owner, resume, evaluated, workspace, allocation):
    """`find_plan` when the basis may have to change.

    `resume` tells whether the workspace was left by the same owner, `evaluated` whether the basis was evaluated since,
    by scales that hold.
    """
    if not resume:
        workspace.counts[Count.BOUNDS_OF] = 0
        open_rows(workspace, 0)
        if (owner == 0 and not evaluated) or program.available.size > FEW_PAIRS:
            measure_scales(program, owner == 0, workspace)
    warm = resume or is_usable(program, basis)
    stage = MEET_FLOORS
    proven = False
    failures = 0
    allowed = program.available
    for _ in range(ATTEMPTS):
        if not warm and not crash_basis(program, basis, workspace):
            return PlanStatus.INFEASIBLE
        if stage == FALL_SHORT_LEAST:
            open_rows(workspace, 1)
            start_short(program, basis)
        weight = 0.0 if stage == FALL_SHORT_LEAST else 1.0
        dual = stage == MEET_FLOORS
        if not resume:
            workspace.counts[Count.BOUNDS_OF] = 0
            workspace.counts[Count.KEYS_KEPT] = 0
        status = simplex(program, basis, allowed, weight, 1.0 - weight, dual, resume, evaluated, workspace, allocation)
        evaluated = False
        if stage == MEET_FLOORS:
            if status == PlanStatus.OPTIMAL:
                write_allocation(basis, resume, workspace, allocation)
                workspace.counts[Count.BOUNDS_OF] = owner
                return PlanStatus.OPTIMAL
            resume = False
            proven = status == PlanStatus.INFEASIBLE and proves_infeasible(program, workspace)
            workspace.counts[Count.BOUNDS_OF] = 0
            if proven and not least_shortfall:
                return status
            # If a warm start led nowhere, a cold one is tried; if that did not either, the slower way that minimises
            # the total shortfall, in which every basis is feasible: what the floors lack then decides.
            failures += 1 if warm else 2
            if proven or failures > 1:
                stage = FALL_SHORT_LEAST
            warm = False
            continue
        # The order is that of a basis with shortfalls, which is not one to start from.
        workspace.elimination[Elimination.KEPT] = 0
        if status != PlanStatus.OPTIMAL:
            return PlanStatus.PIVOT_LIMIT
        if stage == FALL_SHORT_LEAST:
            met = not proven and falls_short_nowhere(program, basis, workspace)
            for row in range(basis.slot_arm.shape[0]):
                price = max(workspace.by_row[ByRow.PRICE, row], 0.0)
                if workspace.by_row.shape[0] > ByRow.SHORTFALL_PRICE:
                    workspace.by_row[ByRow.SHORTFALL_PRICE, row] = price
                if not proven:
                    workspace.by_row[ByRow.RAY, row] = price
            if not met and not least_shortfall:
                return PlanStatus.INFEASIBLE
            # The plans of least shortfall are those that use no column of nonzero reduced cost; among them, the one
            # that earns most is sought.
            restrict_to_face(program, basis, workspace)
            proven = not met
            allowed = workspace.face
            stage = EARN_MOST
            warm = True
            continue
        write_allocation(basis, False, workspace, allocation)
        workspace.counts[Count.BOUNDS_OF] = 0
        if proven:
            return PlanStatus.INFEASIBLE
        end_shortfalls(basis)
        return PlanStatus.OPTIMAL
    return PlanStatus.PIVOT_LIMIT


@kernel
def find_plan_by_order(program, basis, least_shortfall, owner, has_order, workspace, allocation):
    """`find_plan`; with `has_order`, bases that are not resumed are evaluated by the order of elimination too.

    Then no other basis may be factorised in this workspace, and there must be few pairs and contexts: of many, more is
    kept than the order.
    """
    resume = owner != 0 and workspace.counts[Count.BOUNDS_OF] == owner
    by_order = has_order and not resume and workspace.elimination[Elimination.KEPT] == 1 and is_usable(program, basis)
    if (owner != 0 and workspace.counts[Count.SCALES_AGE] == 0) or (owner == 0 and by_order):
        measure_scales(program, True, workspace)
    evaluated = (resume or by_order) and evaluate_again(program, basis, workspace)
    if evaluated and is_optimal(program, basis, workspace):
        write_allocation(basis, resume, workspace, allocation)
        workspace.counts[Count.BOUNDS_OF] = owner
        return PlanStatus.OPTIMAL
    return search_plan(program, basis, least_shortfall, owner, resume, evaluated, workspace, allocation)


@kernel
def find_plan(program, basis, least_shortfall, owner, workspace, allocation):
    """Write argmax LP(mu_obj, mu_cons) into `allocation`, shape (K, C), starting from `basis`; return the status.

    OPTIMAL: `basis` is optimal; its shares and prices are in the workspace. (If floors are only just met, the prices
    are those among plans of least shortfall, and ByRow.SHORTFALL_PRICE is not zero.) INFEASIBLE: the workspace's ray
    proves it; with `least_shortfall`, the allocation is the one that earns most among those of least total shortfall,
    without it `allocation` is untouched. PIVOT_LIMIT: nothing could be proven, `allocation` is untouched.

    `owner` is 0 or, for rules that plan round after round, a number above SOMEBODY. If the workspace was left by the
    same owner, `basis` must be the one it ended with, `allocation` what it wrote, and only the leans and contexts
    marked as changed may have changed since: then scales, bounds and the allocation are taken up as they were left.
    (Weights may have changed too, if Count.KEYS_KEPT is set to 0.) Such an allocation is not left untouched.
    """
    return find_plan_by_order(program, basis, least_shortfall, owner, False, workspace, allocation)


@rare_kernel
def take_in(program, amounts, largest):
    """Take the floors from their amounts, shape (M,), of which zero asks for nothing.

    Return whether every number is finite and within `largest` of zero, and no weight below zero.
    """
    n_arms, n_contexts = program.objective.shape
    sound = True
    for row in range(amounts.shape[0]):
        program.floors[row] = NO_FLOOR if amounts[row] == 0.0 else amounts[row]
        sound &= abs(amounts[row]) <= largest
    for context in range(n_contexts):
        sound &= 0.0 <= program.weights[context] <= largest
    for arm in range(n_arms):
        for context in range(n_contexts):
            # Coefficients are products with weights, which may be above 1.
            weight = max(1.0, program.weights[context])
            sound &= abs(program.objective[arm, context]) * weight <= largest
            sound &= abs(program.revenue[arm, context]) * weight <= largest
    return sound


def plan(numbers, cold, largest, least_shortfall, owner):
    """`find_plan` for calls from Python, of a packed Task: (PlanStatus, whether floors are only just met, value).

    `cold` forgets the basis. If `largest` is above zero, the amounts of the floors are taken in first, and the status
    is NOT_SOUND if a number is beyond `largest`, not finite, or a weight below zero. If floors are only just met, the
    prices do not prove it by themselves. Unless there is a new allocation, value and prices mean nothing.
    """
    program, basis, workspace, allocation, prices, amounts = unpack_task(numbers)
    if largest > 0.0 and not take_in(program, amounts, largest):
        return NOT_SOUND, False, 0.0
    if cold:
        basis.key[0] = -1
    has_row = workspace.by_row.shape[0] > ByRow.SHORTFALL_PRICE
    if has_row:
        for row in range(prices.shape[0]):
            workspace.by_row[ByRow.SHORTFALL_PRICE, row] = 0.0
    status = find_plan(program, basis, least_shortfall, owner, workspace, allocation)
    only_just = False
    for row in range(prices.shape[0]):
        prices[row] = max(workspace.by_row[ByRow.PRICE, row], 0.0)
        if has_row and status == PlanStatus.OPTIMAL:
            only_just |= workspace.by_row[ByRow.SHORTFALL_PRICE, row] != 0.0
    # Only pairs of the basis have shares. Here are its keys, then its slots.
    value = 0.0
    n_contexts = basis.key.shape[0]
    for place in range(n_contexts + prices.shape[0]):
        if place < n_contexts:
            arm, context = basis.key[place], np.int32(place)
        else:
            arm, context = basis.slot_arm[place - n_contexts], basis.slot_context[place - n_contexts]
        if arm >= 0 and context >= 0:
            value += objective_of(program, arm, context) * allocation[arm, context]
    return np.int64(status), only_just, value
