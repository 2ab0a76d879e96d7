"""The working matrix W of a basis: a row per coupling row, a column per slot.

A pair's column is its coefficients less those of its context's key, which has an entry or two without group floors; the
column of a surplus or a shortfall has one, its row's scale.
"""

from arcbandit.compilation.compile import kernel
from arcbandit.kernels.coefficients import revenue_of
from arcbandit.kernels.program import ByRow, Column, Entry, Order


@kernel
def add_entries(program, arm, factor, first, end, entry_row, entry_value):
    """Append `factor` times the rows of `arm` to the column that begins at `first`; return its new end."""
    arm_rows = program.arm_rows
    for place in range(arm_rows.shape[1]):
        signed = arm_rows[arm, place]
        if signed == 0:
            break
        row = abs(signed) - 1
        value = factor if signed > 0 else -factor
        target = end
        for other in range(first, end):
            if entry_row[other] == row:
                target = other
        if target < end:
            entry_value[target] += value
        else:
            entry_row[end] = row
            entry_value[end] = value
            end += 1
    return end


@kernel
def load_columns(program, basis, workspace):
    """Write the columns of W, entry by entry."""
    slot_arm, slot_context = basis.slot_arm, basis.slot_context
    start = workspace.order[Order.COLUMN_START]
    entry_row, entry_value = workspace.entry_index[Entry.ROW], workspace.entry_value
    n_rows = slot_arm.shape[0]
    end = 0
    for slot in range(n_rows):
        start[slot] = end
        context = slot_context[slot]
        arm = slot_arm[slot]
        if context >= 0:
            first = end
            # The pair, then the key, with the other sign.
            for turn in range(2):
                factor = revenue_of(program, arm, context)
                end = add_entries(program, arm, factor if turn == 0 else -factor, first, end, entry_row, entry_value)
                arm = basis.key[context]
        else:
            scale = workspace.by_row[ByRow.SCALE, arm]
            entry_row[end] = arm
            entry_value[end] = -scale if context == Column.SURPLUS else scale
            end += 1
    start[n_rows] = end


@kernel
def reload_columns(program, basis, workspace):
    """Write the values of W's entries again, if there is one row per arm and the basis is the one loaded last."""
    entry_value = workspace.entry_value
    entry = 0
    for slot in range(basis.slot_arm.shape[0]):
        context = basis.slot_context[slot]
        arm = basis.slot_arm[slot]
        if context >= 0:
            entry_value[entry] = revenue_of(program, arm, context)
            entry_value[entry + 1] = -revenue_of(program, basis.key[context], context)
            entry += 2
        else:
            scale = workspace.by_row[ByRow.SCALE, arm]
            entry_value[entry] = -scale if context == Column.SURPLUS else scale
            entry += 1


@kernel
def load_rows(n_rows, workspace):
    """List the entries of W by rows, count those of each column, and mark no row or column as eliminated."""
    start, row_start = workspace.order[Order.COLUMN_START], workspace.order[Order.ROW_START]
    column_count, position = workspace.order[Order.SCRATCH], workspace.order[Order.POSITION]
    column_done, row_done = workspace.order[Order.COLUMN_DONE], workspace.order[Order.ROW_DONE]
    entry_row, entry_column = workspace.entry_index[Entry.ROW], workspace.entry_index[Entry.COLUMN]
    for row in range(n_rows + 1):
        row_start[row] = 0
    for entry in range(start[n_rows]):
        row_start[entry_row[entry] + 1] += 1
    for row in range(n_rows):
        row_start[row + 1] += row_start[row]
        position[row] = row_start[row]
        row_done[row] = 0
    for column in range(n_rows):
        column_done[column] = 0
        column_count[column] = start[column + 1] - start[column]
        for entry in range(start[column], start[column + 1]):
            row = entry_row[entry]
            entry_column[position[row]] = column
            position[row] += 1
