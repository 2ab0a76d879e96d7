"""The one notion of a floor that is met: how much revenue a row may lack, and how negative a basic column may be."""

from arcbandit.compilation.compile import kernel, rare_kernel
from arcbandit.kernels.coefficients import revenue_of
from arcbandit.kernels.program import FEASIBILITY_TOLERANCE, ROUNDING_TOLERANCE, ByContext, ByRow


@kernel
def add_terms(program, arm, context, share, by_row):
    """Add the absolute revenue of a pair's share to the rows of its arm."""
    size = abs(share * revenue_of(program, arm, context))
    for place in range(program.arm_rows.shape[1]):
        signed = program.arm_rows[arm, place]
        if signed != 0:
            by_row[abs(signed) - 1] += size


@rare_kernel
def measure_allowances(program, basis, workspace):
    """Write how much revenue each row may lack: a small part of its floor, and what rounding may do to its sum."""
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
def allowance_of(program, basis, position, workspace):
    """How far below zero a basic column may be, after `measure_allowances`."""
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
