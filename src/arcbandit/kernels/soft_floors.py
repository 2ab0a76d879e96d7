"""The planning problem with soft floors: each may be missed, at a price per unit of what it lacks.

There is always a plan, and no price is above that of a shortfall. Each basis has a workspace of its own, so that in
most rounds it is evaluated in straight-line code and found to be the best still, whatever coefficients have changed.
"""

from typing import NamedTuple

from arcbandit.compilation.compile import kernel, rare_kernel
from arcbandit.kernels.basic_columns import write_least
from arcbandit.kernels.bounds import FEW_PAIRS
from arcbandit.kernels.dual_step import dual_entering_pair, most_negative, preferred, prepare_dual_row
from arcbandit.kernels.entering import may_improve
from arcbandit.kernels.evaluation import evaluate
from arcbandit.kernels.planning import open_rows
from arcbandit.kernels.program import (
    FEASIBILITY_TOLERANCE,
    NO_FLOOR,
    PIVOT_TOLERANCE,
    PRICING_TOLERANCE,
    Basis,
    ByContext,
    ByRow,
    Column,
    Count,
    Elimination,
    PlanStatus,
    Workspace,
    make_basis,
    make_workspace,
)
from arcbandit.kernels.reduced_costs import rounding_of_a_price
from arcbandit.kernels.scales import measure_scales
from arcbandit.kernels.simplex import STALLED_PIVOTS, replace, simplex
from arcbandit.kernels.starts import crash_basis, start_short


class Soft(NamedTuple):
    """What a planner of soft floors has besides: memory for two more bases, and one to try."""

    upper: Workspace
    lower: Workspace
    trial: Basis


def make_soft(n_arms: int, n_contexts: int, n_rows: int, rows_per_arm: int) -> Soft:
    """Memory for problems of this shape."""
    shape = (n_arms, n_contexts, n_rows, rows_per_arm)
    return Soft(make_workspace(*shape), make_workspace(*shape), make_basis(n_contexts, n_rows))


@rare_kernel
def is_usable_softly(program, basis):
    """Whether a basis can be a start: its pairs are available, and rows without a floor have their surplus."""
    for context in range(basis.key.shape[0]):
        key = basis.key[context]
        if key < 0 or not program.available[key, context]:
            return False
    loose = 0
    for row in range(basis.slot_arm.shape[0]):
        loose += 1 if program.floors[row] == NO_FLOOR else 0
    for slot in range(basis.slot_arm.shape[0]):
        context = basis.slot_context[slot]
        if context >= 0:
            if not program.available[basis.slot_arm[slot], context]:
                return False
        elif program.floors[basis.slot_arm[slot]] == NO_FLOOR:
            if context == Column.SHORTFALL:
                return False
            loose -= 1
    return loose == 0


@rare_kernel
def soft_dual_entering(program, basis, price, workspace):
    """`dual_entering`, with the shortfalls, at this price, among the columns."""
    n_arms, n_contexts = program.objective.shape
    n_rows = basis.slot_arm.shape[0]
    n_pairs = n_arms * n_contexts
    best_ratio, best_entry, best_index = dual_entering_pair(program, basis, workspace)
    for row in range(n_rows):
        entry = -workspace.by_row[ByRow.SCALE, row] * workspace.by_row[ByRow.DUAL_ROW, row]
        cost = -workspace.by_row[ByRow.SCALE, row] * workspace.by_row[ByRow.PRICE, row]
        index = n_pairs + row
        # A shortfall is a surplus with the other sign, at a price. At most one of the two can raise the leaving column.
        if entry > 0.0:
            entry = -entry
            cost = -cost - workspace.by_row[ByRow.SCALE, row] * price
            index += n_rows
        open_to_enter = program.floors[row] != NO_FLOOR
        if open_to_enter and entry < -PIVOT_TOLERANCE:
            ratio = min(cost, 0.0) / entry
            if preferred(ratio, entry, index, best_ratio, best_entry, best_index):
                best_ratio = ratio
                best_entry = entry
                best_index = index
    if best_index < 0:
        return -1, Column.SURPLUS
    if best_index >= n_pairs + n_rows:
        return best_index - n_pairs - n_rows, Column.SHORTFALL
    if best_index >= n_pairs:
        return best_index - n_pairs, Column.SURPLUS
    return best_index // n_contexts, best_index % n_contexts


@rare_kernel
def leave_no_negative(program, basis, price, workspace, allocation):
    """Dual steps until no value is below zero; return whether that was reached."""
    for _ in range(STALLED_PIVOTS + 3 * (basis.slot_arm.shape[0] + basis.key.shape[0])):
        if not evaluate(program, basis, 1.0, price, workspace):
            return False
        leaving = most_negative(program, basis, workspace)
        if leaving < 0:
            return True
        prepare_dual_row(program, basis, leaving, workspace)
        arm, context = soft_dual_entering(program, basis, price, workspace)
        if arm < 0:
            return False
        replace(program, basis, leaving, arm, context, False, workspace, allocation)
        workspace.counts[Count.PIVOTS] += 1
    return False


@rare_kernel
def search_softly(program, basis, price, workspace, allocation):
    """`plan_softly` when the basis may have to change: from the given one or, if that leads nowhere, from none."""
    counts = workspace.counts
    open_rows(workspace, 1)
    if program.available.size > FEW_PAIRS:
        measure_scales(program, False, workspace)
    for attempt in range(2):
        counts[Count.BOUNDS_OF] = 0
        counts[Count.KEYS_KEPT] = 0
        workspace.elimination[Elimination.KEPT] = 0
        if attempt == 1:
            if not crash_basis(program, basis, workspace):
                return PlanStatus.INFEASIBLE
            start_short(program, basis)
        elif not (is_usable_softly(program, basis) and leave_no_negative(program, basis, price, workspace, allocation)):
            continue
        status = simplex(program, basis, program.available, 1.0, price, False, False, False, workspace, allocation)
        if status == PlanStatus.OPTIMAL:
            return status
    return PlanStatus.PIVOT_LIMIT


@kernel
def is_best(program, basis, price, workspace):
    """Whether an evaluated basis is certainly the best."""
    dear = False
    tolerance = rounding_of_a_price(1.0, workspace)
    for row in range(program.floors.shape[0]):
        scale = workspace.by_row[ByRow.SCALE, row]
        limit = max(tolerance, PRICING_TOLERANCE * scale * price)
        dear |= scale * (workspace.by_row[ByRow.PRICE, row] - price) > limit
    return not (dear or write_least(basis, workspace) < 0.0 or may_improve(program, basis, workspace))


@kernel
def take_up(program, basis, workspace):
    """Prepare to evaluate a basis with coefficients that have all changed; return whether it can be.

    One that was evaluated before can. Any other is looked at, so that a restored policy goes on as the original.
    """
    workspace.counts[Count.BOUNDS_OF] = 0
    workspace.counts[Count.KEYS_KEPT] = 0
    return workspace.elimination[Elimination.KEPT] == 1 or is_usable_softly(program, basis)


@kernel
def plan_softly(program, basis, price, workspace, allocation):
    """Lead `basis` to the best plan in which each unit of a floor that is missed costs `price`; return a PlanStatus.

    OPTIMAL: its shares and prices are in the workspace; `allocation` is untouched in any case. The row scales must be
    in place. If Elimination.KEPT is set, the basis must be the one last evaluated in this workspace, with the same
    pairs available and the same rows without a floor.
    """
    if take_up(program, basis, workspace) and evaluate(program, basis, 1.0, price, workspace):  # noqa: SIM102, as kernels need it
        if is_best(program, basis, price, workspace):
            return PlanStatus.OPTIMAL
    return search_softly(program, basis, price, workspace, allocation)


@kernel
def forget_order(workspace):
    """Say that another basis was evaluated in this workspace, or that the problem has changed."""
    workspace.elimination[Elimination.KEPT] = 0


@kernel
def copy_basis(source, target):
    """Copy a basis."""
    for context in range(source.key.shape[0]):
        target.key[context] = source.key[context]
    for slot in range(source.slot_arm.shape[0]):
        target.slot_arm[slot] = source.slot_arm[slot]
        target.slot_context[slot] = source.slot_context[slot]


@kernel
def total_of(matrix, weights, basis, workspace):
    """The sum of p times a matrix, shape (K, C), times the shares of an evaluated basis."""
    total = 0.0
    for context in range(basis.key.shape[0]):
        share = workspace.by_context[ByContext.KEY_SHARE, context]
        total += weights[context] * matrix[basis.key[context], context] * share
    for slot in range(basis.slot_arm.shape[0]):
        context = basis.slot_context[slot]
        if context >= 0:
            share = workspace.by_row[ByRow.SLOT_VALUE, slot]
            total += weights[context] * matrix[basis.slot_arm[slot], context] * share
    return total


@kernel
def is_short(program, basis, workspace):
    """Whether a floor lacks more in an evaluated basis than one that is met may."""
    found = False
    for slot in range(basis.slot_arm.shape[0]):
        if basis.slot_context[slot] == Column.SHORTFALL:
            row = basis.slot_arm[slot]
            scale = workspace.by_row[ByRow.SCALE, row]
            allowed = FEASIBILITY_TOLERANCE * abs(program.floors[row]) + PRICING_TOLERANCE * scale
            found |= workspace.by_row[ByRow.SLOT_VALUE, slot] * scale > allowed
    return found


@kernel
def total_surplus(prices, basis, workspace):
    """What an evaluated basis earns above its floors, less what it lacks, at prices of shape (M,)."""
    total = 0.0
    for slot in range(basis.slot_arm.shape[0]):
        row = basis.slot_arm[slot]
        context = basis.slot_context[slot]
        if context < 0 and prices[row] > 0.0:
            amount = workspace.by_row[ByRow.SLOT_VALUE, slot] * workspace.by_row[ByRow.SCALE, row]
            total += prices[row] * (amount if context == Column.SURPLUS else -amount)
    return total


@kernel
def add_shares(basis, workspace, factor, allocation):
    """Add `factor` times the shares of an evaluated basis, none of them below zero."""
    for context in range(basis.key.shape[0]):
        share = workspace.by_context[ByContext.KEY_SHARE, context]
        allocation[basis.key[context], context] += factor * max(share, 0.0)
    for slot in range(basis.slot_arm.shape[0]):
        context = basis.slot_context[slot]
        if context >= 0:
            allocation[basis.slot_arm[slot], context] += factor * max(workspace.by_row[ByRow.SLOT_VALUE, slot], 0.0)
