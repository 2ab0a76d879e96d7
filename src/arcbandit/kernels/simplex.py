"""The primal and the dual simplex method over bases of keys and slots.

Both factorise the working matrix after each pivot, which costs time linear in the number of rows and lets no error
grow. After many pivots that move nothing they turn to Bland's rule, which cannot cycle.
"""

import numpy as np

from arcbandit.compilation.compile import kernel
from arcbandit.kernels.basic_columns import write_least
from arcbandit.kernels.dual_step import dual_entering, most_negative, prepare_dual_row
from arcbandit.kernels.entering import improving_column, may_improve
from arcbandit.kernels.evaluation import evaluate
from arcbandit.kernels.marks import mark_pair
from arcbandit.kernels.primal_step import blocking_column, move_along
from arcbandit.kernels.program import RATIO_TOLERANCE, ByArm, ByRow, Count, Elimination, PlanStatus

STALLED_PIVOTS = 20


@kernel
def replace(program, basis, leaving, arm, context, kept, workspace, allocation):
    """Exchange the basic column at position `leaving` for (arm, context).

    The pair that leaves is marked as changed, for the bound of its context does not cover it, and the sums over a key
    that leaves are marked as out of date. If `allocation` is `kept`, the pair that leaves is removed from it, and the
    context's key has a share of 1 until slots are written.
    """
    n_rows = basis.slot_arm.shape[0]
    workspace.elimination[Elimination.KEPT] = 0
    slot = leaving
    if leaving < n_rows:
        left = basis.slot_arm[leaving]
        emptied = basis.slot_context[leaving]
    else:
        emptied = leaving - n_rows
        left = basis.key[emptied]
        workspace.by_arm[ByArm.KEY_REVENUE_SUM, left] = np.nan
        slot = 0
        while slot < n_rows and basis.slot_context[slot] != emptied:
            slot += 1
        basis.key[emptied] = basis.slot_arm[slot] if slot < n_rows else arm
    if slot < n_rows:
        basis.slot_arm[slot] = arm
        basis.slot_context[slot] = context
    if emptied >= 0:
        mark_pair(program.changed, left, emptied)
        if kept:
            allocation[left, emptied] = 0.0
            allocation[basis.key[emptied], emptied] = 1.0


@kernel
def is_optimal(program, basis, workspace):
    """Whether an evaluated basis is certainly optimal."""
    return not (write_least(basis, workspace) < 0.0 or may_improve(program, basis, workspace))


@kernel
def simplex(program, basis, allowed, weight, shortfall_price, dual, kept, evaluated, workspace, allocation):
    """Lead `basis` to an optimal one: dual steps while a value is below zero, primal steps from then on.

    Without `dual`, values below zero are taken for zero and all steps are primal. The objective is `weight` times a,
    less `shortfall_price` per unit of shortfall, in rows where that is open. OPTIMAL: the basis is evaluated.
    INFEASIBLE: the ray holds prices that should prove it. PIVOT_LIMIT: neither. If `allocation` is `kept`, each pair
    that leaves the basis is removed from it. A basis that is `evaluated` is not evaluated again before the first step.
    """
    n_rows = basis.slot_arm.shape[0]
    n_contexts = basis.key.shape[0]
    stalled = 0
    dual_steps = 0
    if not (kept or evaluated):
        workspace.elimination[Elimination.KEPT] = 0
    for _ in range(1000 + 50 * (n_rows + n_contexts)):
        if not evaluated and not evaluate(program, basis, weight, shortfall_price, workspace):
            return PlanStatus.PIVOT_LIMIT
        evaluated = False
        leaving = most_negative(program, basis, workspace)
        if dual and leaving >= 0:
            # As dual steps shift costs, nothing measures their progress. If there are too many, the caller starts again
            # from a basis from which primal steps lead on.
            dual_steps += 1
            if dual_steps > STALLED_PIVOTS + 3 * (n_rows + n_contexts):
                return PlanStatus.PIVOT_LIMIT
            prepare_dual_row(program, basis, leaving, workspace)
            arm, context = dual_entering(program, basis, workspace)
            if arm < 0:
                for row in range(n_rows):
                    workspace.by_row[ByRow.RAY, row] = max(-workspace.by_row[ByRow.DUAL_ROW, row], 0.0)
                return PlanStatus.INFEASIBLE
        else:
            bland = stalled > STALLED_PIVOTS + n_rows
            excess, arm, context = improving_column(program, basis, allowed, weight, shortfall_price, bland, workspace)
            if not excess > 0.0:
                return PlanStatus.OPTIMAL
            move_along(program, basis, arm, context, workspace)
            step, leaving = blocking_column(program, basis, context, bland, workspace)
            if leaving < 0:
                # Shares are bounded, so only rounding can make a step unbounded.
                return PlanStatus.PIVOT_LIMIT
            stalled = stalled + 1 if step <= RATIO_TOLERANCE else 0
        replace(program, basis, leaving, arm, context, kept, workspace, allocation)
        workspace.counts[Count.PIVOTS] += 1
    return PlanStatus.PIVOT_LIMIT
