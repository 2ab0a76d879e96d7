"""A dual step: which basic column leaves, as it is below zero, and which nonbasic column takes its place."""

from arcbandit.compilation.compile import kernel, rare_kernel
from arcbandit.kernels.allowances import allowance_of, measure_allowances
from arcbandit.kernels.basic_columns import NOTHING_ENTERS, position_of, step_of, write_least
from arcbandit.kernels.coefficients import objective_of, revenue_of, spread_over_arms
from arcbandit.kernels.elimination import is_peeled
from arcbandit.kernels.program import PIVOT_TOLERANCE, RATIO_TOLERANCE, ByArm, ByContext, ByRow, Column
from arcbandit.kernels.solving import solve_rows


@kernel
def most_negative(program, basis, workspace):
    """Position of the basic column furthest below zero, or -1 if none is by more than its allowance."""
    n_rows = basis.slot_arm.shape[0]
    if not write_least(basis, workspace) < 0.0:
        return -1
    measure_allowances(program, basis, workspace)
    worst = 0.0
    chosen = -1
    # Slots and the keys of their contexts; the key of any other context has a share of 1.
    for place in range(2 * n_rows):
        value, _ = step_of(basis, place, NOTHING_ENTERS, workspace)
        position = position_of(basis, place, NOTHING_ENTERS)
        # Ties must not be decided by the order of the slots.
        is_worse = value < worst or (value == worst < 0.0 and n_rows <= position < chosen)
        if is_worse and value < -allowance_of(program, basis, position, workspace):
            worst = value
            chosen = position
    return chosen


@rare_kernel
def prepare_dual_row(program, basis, leaving, workspace):
    """Write the row of the leaving column in the simplex tableau, as multipliers of rows, arms and keys."""
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


@kernel
def dual_entering_pair(program, basis, workspace):
    """The nonbasic pair that raises the leaving column at least cost: (cost, entry, index), index -1 if none does."""
    n_arms, n_contexts = program.objective.shape
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
                    # A reduced cost above zero is taken for zero; primal steps put it right afterwards.
                    ratio = min(cost, 0.0) / entry
                    index = arm * n_contexts + context
                    if preferred(ratio, entry, index, best_ratio, best_entry, best_index):
                        best_ratio = ratio
                        best_entry = entry
                        best_index = index
    return best_ratio, best_entry, best_index


@rare_kernel
def dual_entering(program, basis, workspace):
    """The nonbasic column that raises the leaving one at least cost: (arm or row, context or kind), arm -1 if none."""
    n_arms, n_contexts = program.objective.shape
    n_rows = basis.slot_arm.shape[0]
    best_ratio, best_entry, best_index = dual_entering_pair(program, basis, workspace)
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
