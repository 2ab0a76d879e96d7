"""Primal and dual simplex over bases of keys and slots.

Both refactorise after each pivot, which costs time linear in the number of rows and lets no error grow. Long runs of
pivots that move nothing switch to Bland's rule, which cannot cycle.
"""

import numpy as np

from arcbandit.compilation.compile import kernel, rare_kernel
from arcbandit.kernels.factors import is_peeled, objective_of, revenue_of, solve_columns, solve_rows
from arcbandit.kernels.pricing import (
    best_pair,
    evaluate,
    first_improving,
    may_improve,
    price_rows,
    spread_over_arms,
)
from arcbandit.kernels.program import (
    FEASIBILITY_TOLERANCE,
    PIVOT_TOLERANCE,
    RATIO_TOLERANCE,
    ROUNDING_TOLERANCE,
    ByArm,
    ByContext,
    ByRow,
    Column,
    Count,
    PlanStatus,
    Scalar,
)

STALLED_PIVOTS = 20
NOTHING_ENTERS = -1  # in place of the context of the column that enters
BEYOND_ROUNDING = 1.0 + 1e-15  # the column that sets the longest step must pass whatever rounding does


@kernel
def replace(program, basis, leaving, arm, context, kept, workspace, allocation):
    """Let (arm, context) enter the basis for the column `leaving`: a slot, or M + c for the key of context c.

    A bound does not cover the pair that its context loses yet, and the sums over keys do not know of a new key. If
    `allocation` is `kept`, the pair that leaves is taken out of it, and the context's key has all until slots are
    written.
    """
    n_rows = basis.slot_arm.shape[0]
    workspace.counts[Count.ORDER_KEPT] = 0
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
        program.changed[emptied] = True
        if kept:
            allocation[left, emptied] = 0.0
            allocation[basis.key[emptied], emptied] = 1.0


@rare_kernel
def move_along(program, basis, arm, context, workspace):
    """Write how slots and keys fall as a unit of the column (arm, context) enters."""
    n_rows = basis.slot_arm.shape[0]
    column, direction = workspace.by_row[ByRow.DUAL_ROW], workspace.by_row[ByRow.DIRECTION]
    key_direction = workspace.by_context[ByContext.KEY_DIRECTION]
    for row in range(n_rows):
        column[row] = 0.0
    for slot in range(n_rows):
        if basis.slot_context[slot] >= 0:
            key_direction[basis.slot_context[slot]] = 0.0
    if context == Column.SURPLUS:
        column[arm] = -workspace.by_row[ByRow.SCALE, arm]
    elif context == Column.SHORTFALL:
        column[arm] = workspace.by_row[ByRow.SCALE, arm]
    else:
        key = basis.key[context]
        for place in range(program.arm_rows.shape[1]):
            signed = program.arm_rows[arm, place]
            if signed != 0:
                sign = 1.0 if signed > 0 else -1.0
                column[abs(signed) - 1] += sign * revenue_of(program, arm, context)
            signed = program.arm_rows[key, place]
            if signed != 0:
                sign = 1.0 if signed > 0 else -1.0
                column[abs(signed) - 1] -= sign * revenue_of(program, key, context)
    solve_columns(is_peeled(workspace), workspace, column, direction)
    if context >= 0:
        key_direction[context] = 1.0
    for slot in range(n_rows):
        if basis.slot_context[slot] >= 0:
            key_direction[basis.slot_context[slot]] -= direction[slot]


@kernel
def column_index(basis, position, n_contexts, n_pairs):
    """A number for a basic column that does not depend on where it stands in the basis."""
    n_rows = basis.slot_arm.shape[0]
    if position >= n_rows:
        context = position - n_rows
        return basis.key[context] * n_contexts + context
    context = basis.slot_context[position]
    if context == Column.SURPLUS:
        return n_pairs + basis.slot_arm[position]
    if context == Column.SHORTFALL:
        return n_pairs + n_rows + basis.slot_arm[position]
    return basis.slot_arm[position] * n_contexts + context


@rare_kernel
def blocking_column(program, basis, entering_context, bland, workspace):
    """The basic column that first reaches zero on the way: (step, position), position -1 if none does."""
    n_rows = basis.slot_arm.shape[0]
    n_arms, n_contexts = program.objective.shape
    longest = 1e300
    # Positions: each slot, the key of each slot's context (a key shared by two slots is met twice, harmlessly), and
    # the key of the entering column's context.
    for place in range(2 * n_rows + 1):
        value, rate = step_of(basis, place, entering_context, workspace)
        if rate > PIVOT_TOLERANCE:
            slack = 0.0
            if not bland:
                slack = RATIO_TOLERANCE * part_of_floor(program, basis, place, entering_context, workspace)
            longest = min(longest, (max(value, 0.0) + slack) / rate)
    if longest == 1e300:
        return 0.0, -1
    chosen = -1
    chosen_rate = 0.0
    chosen_index = 0
    step = 0.0
    for place in range(2 * n_rows + 1):
        value, rate = step_of(basis, place, entering_context, workspace)
        if rate > PIVOT_TOLERANCE and max(value, 0.0) <= longest * rate * BEYOND_ROUNDING:
            position = position_of(basis, place, entering_context)
            index = column_index(basis, position, n_contexts, n_arms * n_contexts)
            better = rate > chosen_rate or (rate == chosen_rate and index < chosen_index)
            if bland:
                better = index < chosen_index
            if chosen < 0 or better:
                chosen = position
                chosen_rate = rate
                chosen_index = index
                step = max(value, 0.0) / rate
    return step, chosen


@kernel
def part_of_floor(program, basis, place, entering_context, workspace):
    """What a unit of the basic column at a place of the ratio test may lose, so that no floor loses more than itself.

    A share of a large reward is given up less readily than one of a small reward: at most 1.
    """
    position = position_of(basis, place, entering_context)
    n_rows = basis.slot_arm.shape[0]
    context = position - n_rows
    arm = 0
    if position < n_rows:
        arm, context = basis.slot_arm[position], basis.slot_context[position]
        if context < 0:
            return min(1.0, abs(program.floors[arm]) / workspace.by_row[ByRow.SCALE, arm])
    else:
        arm = basis.key[context]
    coefficient = abs(revenue_of(program, arm, context))
    part = 1.0
    for place_of_row in range(program.arm_rows.shape[1]):
        signed = program.arm_rows[arm, place_of_row]
        if signed != 0 and part * coefficient > abs(program.floors[abs(signed) - 1]):
            part = abs(program.floors[abs(signed) - 1]) / coefficient
    return part


@kernel
def position_of(basis, place, entering_context):
    """The basic column at one place of the ratio test: a slot, or M + c for the key of context c."""
    n_rows = basis.slot_arm.shape[0]
    if place < n_rows:
        return place
    return n_rows + (entering_context if place == 2 * n_rows else basis.slot_context[place - n_rows])


@kernel
def step_of(basis, place, entering_context, workspace):
    """Value and rate of fall of the basic column at one place of the ratio test; rate 0 where there is none."""
    n_rows = basis.slot_arm.shape[0]
    if place < n_rows:
        return workspace.by_row[ByRow.SLOT_VALUE, place], workspace.by_row[ByRow.DIRECTION, place]
    context = entering_context if place == 2 * n_rows else basis.slot_context[place - n_rows]
    if context < 0:
        return 0.0, 0.0
    return workspace.by_context[ByContext.KEY_SHARE, context], workspace.by_context[ByContext.KEY_DIRECTION, context]


@kernel
def write_least(basis, workspace):
    """Write down the least value of a basic column, or 1 if that is less, and return it."""
    least = 1.0
    for slot in range(basis.slot_arm.shape[0]):
        value = workspace.by_row[ByRow.SLOT_VALUE, slot]
        least = value if value < least else least
        context = basis.slot_context[slot]
        if context >= 0:
            share = workspace.by_context[ByContext.KEY_SHARE, context]
            least = share if share < least else least
    workspace.scalars[Scalar.LEAST_SHARE] = least
    return least


@kernel
def is_optimal(program, basis, workspace):
    """Whether a basis that was evaluated is optimal beyond doubt."""
    return not (write_least(basis, workspace) < 0.0 or may_improve(program, basis, workspace))


@rare_kernel
def measure_allowances(program, basis, workspace):
    """Write how much revenue each row may lack, by the one notion of a floor that is met.

    That is a small part of the floor, and what rounding may have done to the sum that is compared with it.
    """
    n_rows = basis.slot_arm.shape[0]
    allowance = workspace.by_row[ByRow.SCRATCH]
    for row in range(n_rows):
        allowance[row] = 0.0
    for context in range(basis.key.shape[0]):
        key = basis.key[context]
        add_terms(program, key, context, workspace.by_context[ByContext.KEY_SHARE, context], allowance)
    for slot in range(n_rows):
        context = basis.slot_context[slot]
        if context >= 0:
            add_terms(program, basis.slot_arm[slot], context, workspace.by_row[ByRow.SLOT_VALUE, slot], allowance)
    for row in range(n_rows):
        size = abs(program.floors[row])
        allowance[row] = FEASIBILITY_TOLERANCE * size + ROUNDING_TOLERANCE * (allowance[row] + size)


@kernel
def add_terms(program, arm, context, share, by_row):
    """Add the size of what a pair earns to the rows of its arm."""
    size = abs(share * revenue_of(program, arm, context))
    for place in range(program.arm_rows.shape[1]):
        signed = program.arm_rows[arm, place]
        if signed != 0:
            by_row[abs(signed) - 1] += size


@kernel
def allowance_of(program, basis, position, workspace):
    """How far below zero a basic column may be; `measure_allowances` was called for this basis."""
    n_rows = basis.slot_arm.shape[0]
    allowance = workspace.by_row[ByRow.SCRATCH]
    if position < n_rows:
        arm, context = basis.slot_arm[position], basis.slot_context[position]
        if context < 0:
            return allowance[arm] / workspace.by_row[ByRow.SCALE, arm]
    else:
        context = position - n_rows
        arm = basis.key[context]
    allowed = FEASIBILITY_TOLERANCE
    coefficient = abs(revenue_of(program, arm, context))
    for place in range(program.arm_rows.shape[1]):
        signed = program.arm_rows[arm, place]
        if signed != 0 and allowed * coefficient > allowance[abs(signed) - 1]:
            allowed = allowance[abs(signed) - 1] / coefficient
    return allowed


@kernel
def most_negative(program, basis, workspace):
    """Position of the basic column furthest below zero, or -1 if none is by more than its allowance."""
    n_rows = basis.slot_arm.shape[0]
    if not write_least(basis, workspace) < 0.0:
        return -1
    measure_allowances(program, basis, workspace)
    worst = 0.0
    chosen = -1
    # Each slot, then the key of each slot's context: that of a context without slots has all of it.
    for place in range(2 * n_rows):
        value, _ = step_of(basis, place, NOTHING_ENTERS, workspace)
        position = position_of(basis, place, NOTHING_ENTERS)
        # The order of the slots decides no tie.
        is_worse = value < worst or (value == worst < 0.0 and n_rows <= position < chosen)
        if is_worse and value < -allowance_of(program, basis, position, workspace):
            worst = value
            chosen = position
    return chosen


@rare_kernel
def prepare_dual_row(program, basis, leaving, workspace):
    """Write the multipliers that express the leaving column through the nonbasic ones."""
    n_rows = basis.slot_arm.shape[0]
    unit = workspace.by_row[ByRow.DIRECTION]
    arm_entry, key_entry = workspace.by_arm[ByArm.DUAL_ROW], workspace.by_context[ByContext.KEY_DIRECTION]
    for slot in range(n_rows):
        unit[slot] = 0.0
    if leaving < n_rows:
        unit[leaving] = 1.0
    else:
        for slot in range(n_rows):
            if basis.slot_context[slot] == leaving - n_rows:
                unit[slot] = -1.0
    solve_rows(is_peeled(workspace), workspace, unit, workspace.by_row[ByRow.DUAL_ROW])
    spread_over_arms(program, workspace.by_row[ByRow.DUAL_ROW], arm_entry)
    for context in range(basis.key.shape[0]):
        key = basis.key[context]
        key_entry[context] = arm_entry[key] * revenue_of(program, key, context)
    if leaving >= n_rows:
        key_entry[leaving - n_rows] -= 1.0


@kernel
def preferred(ratio, entry, index, best_ratio, best_entry, best_index):
    """Whether a candidate of the dual ratio test beats the best so far: smaller ratio, then larger pivot."""
    if best_index < 0:
        return True
    nearness = RATIO_TOLERANCE * max(abs(ratio), abs(best_ratio))
    if ratio < best_ratio - nearness:
        return True
    if ratio > best_ratio + nearness:
        return False
    return entry < best_entry or (entry == best_entry and index < best_index)


@rare_kernel
def dual_entering(program, basis, workspace):
    """The nonbasic column that lifts the leaving one at least cost: (arm or row, context or kind), arm -1 if none."""
    n_arms, n_contexts = program.objective.shape
    n_rows = basis.slot_arm.shape[0]
    best_ratio = 0.0
    best_entry = 0.0
    best_index = -1
    for arm in range(n_arms):
        multiplier = workspace.by_arm[ByArm.DUAL_ROW, arm]
        price = workspace.by_arm[ByArm.PRICE, arm]
        for context in range(n_contexts):
            at_key = workspace.by_context[ByContext.KEY_DIRECTION, context]
            if multiplier == 0.0 and not at_key > 0.0:
                continue
            own = multiplier * revenue_of(program, arm, context)
            entry = own - at_key
            if entry < -PIVOT_TOLERANCE * max(1.0, abs(own)) and program.available[arm, context]:
                key = basis.key[context]
                if arm != key:
                    cost = (objective_of(program, arm, context) + price * revenue_of(program, arm, context)) - (
                        objective_of(program, key, context)
                        + workspace.by_arm[ByArm.PRICE, key] * revenue_of(program, key, context)
                    )
                    # A reduced cost above zero is shifted to zero: the primal simplex puts it right afterwards.
                    ratio = min(cost, 0.0) / entry
                    index = arm * n_contexts + context
                    if preferred(ratio, entry, index, best_ratio, best_entry, best_index):
                        best_ratio = ratio
                        best_entry = entry
                        best_index = index
    for row in range(n_rows):
        entry = -workspace.by_row[ByRow.SCALE, row] * workspace.by_row[ByRow.DUAL_ROW, row]
        if entry < -PIVOT_TOLERANCE:
            ratio = min(-workspace.by_row[ByRow.SCALE, row] * workspace.by_row[ByRow.PRICE, row], 0.0) / entry
            index = n_arms * n_contexts + row
            if preferred(ratio, entry, index, best_ratio, best_entry, best_index):
                best_ratio = ratio
                best_entry = entry
                best_index = index
    if best_index < 0:
        return -1, Column.SURPLUS
    if best_index >= n_arms * n_contexts:
        return best_index - n_arms * n_contexts, Column.SURPLUS
    return best_index // n_contexts, best_index % n_contexts


@kernel
def improving_column(program, basis, allowed, weight, shortfall_price, bland, workspace):
    """A column worth entering: (excess, arm or row, context or kind), excess 0 if none is."""
    if bland:
        excess, arm, context = first_improving(program, basis, allowed, weight, workspace)
        if excess > 0.0:
            return excess, arm, context
    else:
        excess, arm, context = best_pair(program, basis, allowed, weight, workspace)
    row_excess, row, kind = price_rows(program, basis, weight, shortfall_price, workspace)
    if row_excess > excess:
        return row_excess, row, kind
    return excess, arm, context


@kernel
def simplex(program, basis, allowed, weight, shortfall_price, dual, kept, evaluated, workspace, allocation):
    """Bring `basis` to an optimal one: dual steps while a share is below zero, primal steps from then on.

    Without `dual`, what is below zero is taken for zero and steps are primal. The objective is `weight` a, less
    `shortfall_price` for each unit that a row falls short where it may. On OPTIMAL the basis is evaluated; on
    INFEASIBLE the ray holds prices that ought to prove it; PIVOT_LIMIT means neither. If `allocation` is `kept`, each
    pair that leaves the basis is taken out of it. A basis `evaluated` is not evaluated again before the first step.
    """
    n_rows = basis.slot_arm.shape[0]
    n_contexts = basis.key.shape[0]
    stalled = 0
    dual_steps = 0
    if not kept:
        workspace.counts[Count.ORDER_KEPT] = 0
    for _ in range(1000 + 50 * (n_rows + n_contexts)):
        if not evaluated and not evaluate(program, basis, weight, shortfall_price, workspace):
            return PlanStatus.PIVOT_LIMIT
        evaluated = False
        leaving = most_negative(program, basis, workspace)
        if dual and leaving >= 0:
            # Dual steps shift costs and so have no measure of progress; those that go on for too long are given up
            # for a start from which primal steps lead on.
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
                # Shares are bounded, so only rounding can open the way to infinity.
                return PlanStatus.PIVOT_LIMIT
            stalled = stalled + 1 if step <= RATIO_TOLERANCE else 0
        replace(program, basis, leaving, arm, context, kept, workspace, allocation)
        workspace.counts[Count.PIVOTS] += 1
    return PlanStatus.PIVOT_LIMIT
