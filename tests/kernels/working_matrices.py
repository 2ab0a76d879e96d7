"""Working matrices solved with, and written out."""

import numpy as np

from arcbandit.compilation.compile import entry_kernel
from arcbandit.kernels.elimination import factorise, is_peeled
from arcbandit.kernels.program import ByRow, Column
from arcbandit.kernels.scales import measure_scales
from arcbandit.kernels.solving import solve_columns, solve_rows
from tests.kernels.workspaces import workspace_for


@entry_kernel
def solve_both(program, basis, workspace, right_side, used_up, columns, rows):
    """Factorise W and solve with it both ways; False if it is singular."""
    measure_scales(program, True, workspace)
    if not factorise(program, basis, workspace):
        return False
    peeled = is_peeled(workspace)
    if not solve_columns(peeled, workspace, used_up, columns):
        return False
    solve_rows(peeled, workspace, right_side, rows)
    return True


def dense(program, basis, workspace):
    """W, entry by entry from its definition: a pair's column less its key's, or a surplus or shortfall in its scale."""
    n_rows = program.floors.size

    def column(arm, context):
        entries = np.zeros(n_rows)
        for signed in program.arm_rows[arm]:
            if signed != 0:
                entries[abs(signed) - 1] += np.sign(signed) * program.revenue[arm, context]
        return entries

    matrix = np.zeros((n_rows, n_rows))
    for slot in range(n_rows):
        arm, context = basis.slot_arm[slot], basis.slot_context[slot]
        if context >= 0:
            matrix[:, slot] = column(arm, context) - column(basis.key[context], context)
        else:
            matrix[arm, slot] = workspace.by_row[ByRow.SCALE, arm] * (-1 if context == Column.SURPLUS else 1)
    return matrix


def solve(program, basis, right_side):
    """Whether W is regular, x with W x = right_side, y with W' y = right_side, the workspace."""
    n_rows = program.floors.size
    workspace = workspace_for(program)
    columns, rows = np.zeros(n_rows), np.zeros(n_rows)
    regular = solve_both(program, basis, workspace, right_side, right_side.copy(), columns, rows)
    return regular, columns, rows, workspace
