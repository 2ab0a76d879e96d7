"""The order in which the working matrix W is eliminated, which is nearly triangular.

As a graph, rows are nodes, slots are edges between the row of a pair and the row of its context's key, and surpluses
are roots. Columns with one open entry are eliminated from the roots outward, then rows with one open entry from the
leaves inward. What remains, the nucleus, is made of cycles (and, with group floors, a few dense rows); it gets a dense
LU.
"""

from arcbandit.compilation.compile import kernel, rare_kernel
from arcbandit.kernels.program import SINGULARITY_TOLERANCE, ByRow, Elimination, Entry, Order
from arcbandit.kernels.working_matrix import load_columns, load_rows, reload_columns


@kernel
def peel_columns(n_rows, workspace):
    """Eliminate singleton columns, those with one open entry; return how many, or -1 if W is singular."""
    start, row_start = workspace.order[Order.COLUMN_START], workspace.order[Order.ROW_START]
    count = workspace.order[Order.SCRATCH]
    column_done, row_done = workspace.order[Order.COLUMN_DONE], workspace.order[Order.ROW_DONE]
    pivot_row, pivot_column = workspace.order[Order.PIVOT_ROW], workspace.order[Order.PIVOT_COLUMN]
    entry_row, entry_column = workspace.entry_index[Entry.ROW], workspace.entry_index[Entry.COLUMN]
    pivot_entry = workspace.order[Order.PIVOT_ENTRY]
    # The pivot arrays double as the queue: what stands before `done` is eliminated, what stands before `found` waits.
    found = 0
    for column in range(n_rows):
        if count[column] == 1:
            pivot_column[found] = column
            found += 1
    done = 0
    while done < found:
        column = pivot_column[done]
        if count[column] != 1:
            return -1
        row = 0
        for entry in range(start[column], start[column + 1]):
            if row_done[entry_row[entry]] == 0:
                row = entry_row[entry]
                pivot_entry[done] = entry
        pivot_row[done] = row
        row_done[row] = 1
        column_done[column] = 1
        done += 1
        for place in range(row_start[row], row_start[row + 1]):
            other = entry_column[place]
            if column_done[other] == 0:
                count[other] -= 1
                if count[other] == 1:
                    pivot_column[found] = other
                    found += 1
                elif count[other] == 0:
                    return -1
    return done


@rare_kernel
def peel_rows(n_rows, first, workspace):
    """Eliminate singleton rows; return how many rows are eliminated by now, or -1 if W is singular."""
    start, row_start = workspace.order[Order.COLUMN_START], workspace.order[Order.ROW_START]
    count = workspace.order[Order.SCRATCH]
    column_done, row_done = workspace.order[Order.COLUMN_DONE], workspace.order[Order.ROW_DONE]
    pivot_row, pivot_column = workspace.order[Order.PIVOT_ROW], workspace.order[Order.PIVOT_COLUMN]
    entry_row, entry_column = workspace.entry_index[Entry.ROW], workspace.entry_index[Entry.COLUMN]
    found = first
    for row in range(n_rows):
        if row_done[row] == 0:
            count[row] = 0
            for place in range(row_start[row], row_start[row + 1]):
                count[row] += 1 - column_done[entry_column[place]]
            if count[row] == 0:
                return -1
            if count[row] == 1:
                pivot_row[found] = row
                found += 1
    done = first
    while done < found:
        row = pivot_row[done]
        if count[row] != 1:
            return -1
        column = -1
        for place in range(row_start[row], row_start[row + 1]):
            if column_done[entry_column[place]] == 0:
                column = entry_column[place]
        pivot_column[done] = column
        row_done[row] = 1
        column_done[column] = 1
        for entry in range(start[column], start[column + 1]):
            other = entry_row[entry]
            if other == row:
                workspace.order[Order.PIVOT_ENTRY, done] = entry
            elif row_done[other] == 0:
                count[other] -= 1
                if count[other] == 1:
                    pivot_row[found] = other
                    found += 1
                elif count[other] == 0:
                    return -1
        done += 1
    return done


@rare_kernel
def find_other_entries(n_rows, workspace):
    """Note where the entry that is not the pivot stands, for columns of two entries."""
    start = workspace.order[Order.COLUMN_START]
    for step in range(n_rows):
        column = workspace.order[Order.PIVOT_COLUMN, step]
        has_two = start[column + 1] - start[column] == 2
        other = 2 * start[column] + 1 - workspace.order[Order.PIVOT_ENTRY, step]
        workspace.order[Order.OTHER_ENTRY, step] = other if has_two else -1


@rare_kernel
def find_order(n_rows, workspace):
    """Find an order of elimination for the columns loaded last; return False if there is none, as W is singular."""
    elimination = workspace.elimination
    load_rows(n_rows, workspace)
    by_column = peel_columns(n_rows, workspace)
    elimination[Elimination.BY_COLUMN] = by_column
    elimination[Elimination.BY_ROW] = 0
    if by_column == n_rows:
        find_other_entries(n_rows, workspace)
    if by_column < 0 or by_column == n_rows:
        return by_column == n_rows
    by_row = peel_rows(n_rows, by_column, workspace)
    elimination[Elimination.BY_ROW] = by_row - by_column
    return by_row >= 0


@kernel
def is_peeled(workspace):
    """Whether every column was eliminated as a singleton and has an entry or two, as there is one row per arm."""
    n_rows = workspace.nucleus.shape[0]
    return workspace.elimination[Elimination.BY_COLUMN] == n_rows and workspace.entry_value.shape[0] <= 2 * n_rows


@rare_kernel
def factor_nucleus(n_rows, first, workspace):
    """Dense LU of the nucleus, with scaled rows and partial pivoting; return False if it is singular."""
    start = workspace.order[Order.COLUMN_START]
    column_done, row_done = workspace.order[Order.COLUMN_DONE], workspace.order[Order.ROW_DONE]
    position, permutation = workspace.order[Order.POSITION], workspace.order[Order.SCRATCH]
    lu = workspace.nucleus
    size = 0
    for row in range(n_rows):
        if row_done[row] == 0:
            workspace.order[Order.PIVOT_ROW, first + size] = row
            position[row] = size
            permutation[size] = size
            size += 1
    place = 0
    for column in range(n_rows):
        if column_done[column] == 0:
            workspace.order[Order.PIVOT_COLUMN, first + place] = column
            for row in range(size):
                lu[row, place] = 0.0
            for entry in range(start[column], start[column + 1]):
                row = workspace.entry_index[Entry.ROW, entry]
                if row_done[row] == 0:
                    lu[position[row], place] = workspace.entry_value[entry] / workspace.by_row[ByRow.SCALE, row]
            place += 1
    for step in range(size):
        pivot = step
        for row in range(step + 1, size):
            if abs(lu[row, step]) > abs(lu[pivot, step]):
                pivot = row
        if not abs(lu[pivot, step]) > SINGULARITY_TOLERANCE:
            return False
        if pivot != step:
            for column in range(size):
                held = lu[step, column]
                lu[step, column] = lu[pivot, column]
                lu[pivot, column] = held
            kept = permutation[step]
            permutation[step] = permutation[pivot]
            permutation[pivot] = kept
        for row in range(step + 1, size):
            if lu[row, step] != 0.0:
                ratio = lu[row, step] / lu[step, step]
                lu[row, step] = ratio
                for column in range(step + 1, size):
                    lu[row, column] -= ratio * lu[step, column]
    workspace.elimination[Elimination.NUCLEUS] = size
    return True


@kernel
def factorise(program, basis, workspace):
    """Prepare W for solving; return False if it is singular.

    The order of elimination depends on where W has entries, not on their values, and is kept until the basis changes.
    Whether a W that `is_peeled` is singular shows when `solve_columns` divides by its pivots.
    """
    n_rows = basis.slot_arm.shape[0]
    elimination = workspace.elimination
    if elimination[Elimination.KEPT] == 1 and program.arm_rows.shape[1] == 1:
        reload_columns(program, basis, workspace)
    else:
        load_columns(program, basis, workspace)
        if elimination[Elimination.KEPT] == 0 and not find_order(n_rows, workspace):
            return False
        elimination[Elimination.ORDERS] += 1 - elimination[Elimination.KEPT]
        elimination[Elimination.KEPT] = 1
    elimination[Elimination.NUCLEUS] = 0
    if is_peeled(workspace):
        return True
    peeled = elimination[Elimination.BY_COLUMN] + elimination[Elimination.BY_ROW]
    for step in range(peeled):
        entry = workspace.order[Order.PIVOT_ENTRY, step]
        scale = workspace.by_row[ByRow.SCALE, workspace.entry_index[Entry.ROW, entry]]
        if abs(workspace.entry_value[entry]) <= SINGULARITY_TOLERANCE * scale:
            return False
    return peeled == n_rows or factor_nucleus(n_rows, peeled, workspace)
