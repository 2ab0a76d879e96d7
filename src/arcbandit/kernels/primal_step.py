"""A primal step: how the basic columns move as one enters, and which of them leaves."""

from arcbandit.compilation.compile import kernel, rare_kernel
from arcbandit.kernels.basic_columns import column_index, position_of, step_of
from arcbandit.kernels.coefficients import revenue_of
from arcbandit.kernels.elimination import is_peeled
from arcbandit.kernels.program import PIVOT_TOLERANCE, RATIO_TOLERANCE, ByContext, ByRow, Column
from arcbandit.kernels.solving import solve_columns

BEYOND_ROUNDING = 1.0 + 1e-15  # so that the column that sets the longest step passes its own test, however it rounds


@rare_kernel
def move_along(program, basis, arm, context, workspace):
    """Write how fast slots and keys fall as the column (arm, context) enters."""
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
def part_of_floor(program, basis, place, entering_context, workspace):
    """The largest part of a unit of a basic column, at most 1, that is worth no more than any floor of its rows.

    The slack of the ratio test is in proportion: a share of a large revenue may go less far below zero than one of a
    small revenue.
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


@rare_kernel
def blocking_column(program, basis, entering_context, bland, workspace):
    """The basic column that reaches zero first: (step, position), position -1 if none does.

    Harris' test in two passes: the longest step that leaves all columns above minus their slack, then, among those that
    reach zero within it, the column that falls fastest. Bland's rule takes no slack and the least index.
    """
    n_rows = basis.slot_arm.shape[0]
    n_arms, n_contexts = program.objective.shape
    longest = 1e300
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
