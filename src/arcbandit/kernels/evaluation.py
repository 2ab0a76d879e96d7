"""Evaluating a basis: the values of its columns and the prices of the rows."""

from arcbandit.compilation.compile import kernel
from arcbandit.kernels.coefficients import objective_of, revenue_of, spread_over_arms, take_from_rows
from arcbandit.kernels.elimination import factorise, is_peeled
from arcbandit.kernels.keys import FEW_CONTEXTS, look_up_keys
from arcbandit.kernels.program import ByArm, ByContext, ByRow, Column, Elimination, Lean
from arcbandit.kernels.solving import solve_columns, solve_rows
from arcbandit.kernels.working_matrix import reload_columns


@kernel
def evaluate_shares(program, basis, peeled, workspace):
    """Write the value of every basic column, slots first, then the shares of keys; return False if W is singular."""
    n_rows = basis.slot_arm.shape[0]
    gap = workspace.by_row[ByRow.DUAL_ROW]
    for row in range(n_rows):
        gap[row] = program.floors[row]
    if basis.key.shape[0] <= FEW_CONTEXTS:
        for context in range(basis.key.shape[0]):
            key = basis.key[context]
            take_from_rows(program, key, revenue_of(program, key, context), gap)
    else:
        look_up_keys(program, basis, workspace)
        revenue_sum, root_sum = workspace.by_arm[ByArm.KEY_REVENUE_SUM], workspace.by_arm[ByArm.KEY_ROOT_SUM]
        for arm in range(program.arm_rows.shape[0]):
            take_from_rows(program, arm, revenue_sum[arm] + program.lean[Lean.REVENUE] * root_sum[arm], gap)
    for context in range(basis.key.shape[0]):
        workspace.by_context[ByContext.KEY_SHARE, context] = 1.0
    sound = solve_columns(peeled, workspace, gap, workspace.by_row[ByRow.SLOT_VALUE])
    for slot in range(n_rows):
        context = basis.slot_context[slot]
        if context >= 0:
            workspace.by_context[ByContext.KEY_SHARE, context] -= workspace.by_row[ByRow.SLOT_VALUE, slot]
    return sound


@kernel
def evaluate_prices(program, basis, weight, shortfall_price, peeled, workspace):
    """Write the prices at which the reduced cost of every basic column is zero."""
    n_rows = basis.slot_arm.shape[0]
    wanted = workspace.by_row[ByRow.DUAL_ROW]
    for slot in range(n_rows):
        context = basis.slot_context[slot]
        arm = basis.slot_arm[slot]
        if context == Column.SURPLUS:
            wanted[slot] = 0.0
        elif context == Column.SHORTFALL:
            wanted[slot] = workspace.by_row[ByRow.SCALE, arm] * shortfall_price
        else:
            wanted[slot] = weight * (
                objective_of(program, basis.key[context], context) - objective_of(program, arm, context)
            )
    solve_rows(peeled, workspace, wanted, workspace.by_row[ByRow.PRICE])
    if program.arm_rows.shape[1] == 1:
        for arm in range(n_rows):
            workspace.by_arm[ByArm.PRICE, arm] = workspace.by_row[ByRow.PRICE, arm]
        return
    spread_over_arms(program, workspace.by_row[ByRow.PRICE], workspace.by_arm[ByArm.PRICE])
    # The prices of an arm's rows may cancel; their sizes tell how far the sum can be trusted.
    for arm in range(program.arm_rows.shape[0]):
        size = 0.0
        for place in range(program.arm_rows.shape[1]):
            signed = program.arm_rows[arm, place]
            if signed != 0:
                size += abs(workspace.by_row[ByRow.PRICE, abs(signed) - 1])
        workspace.by_arm[ByArm.PRICE_SIZE, arm] = size


@kernel
def evaluate(program, basis, weight, shortfall_price, workspace):
    """Factorise the basis and write its shares and prices; return False if it is singular."""
    if not factorise(program, basis, workspace):
        return False
    peeled = is_peeled(workspace)
    if not evaluate_shares(program, basis, peeled, workspace):
        return False
    evaluate_prices(program, basis, weight, shortfall_price, peeled, workspace)
    return True


@kernel
def evaluate_again(program, basis, workspace):
    """`evaluate` for the basis evaluated last; return False if it is singular, or W is not one that `is_peeled`."""
    if workspace.elimination[Elimination.KEPT] == 0 or program.arm_rows.shape[1] != 1 or not is_peeled(workspace):
        return False
    reload_columns(program, basis, workspace)
    if not evaluate_shares(program, basis, True, workspace):
        return False
    evaluate_prices(program, basis, 1.0, 0.0, True, workspace)
    return True
