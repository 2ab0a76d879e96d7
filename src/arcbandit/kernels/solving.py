"""Solving with the working matrix W, both ways round, by the order of elimination that was found for it."""

from arcbandit.compilation.compile import kernel, rare_kernel
from arcbandit.kernels.program import SINGULARITY_TOLERANCE, ByRow, Elimination, Entry, Order


@kernel
def solve_peeled_columns(workspace, right_side, solution):
    """`solve_columns` for a W that `is_peeled`; return False if it is singular."""
    entry_row, entry_value = workspace.entry_index[Entry.ROW], workspace.entry_value
    n_rows = workspace.nucleus.shape[0]
    singular = False
    for turn in range(n_rows):
        step = n_rows - 1 - turn
        row = workspace.order[Order.PIVOT_ROW, step]
        other = workspace.order[Order.OTHER_ENTRY, step]
        pivot = entry_value[workspace.order[Order.PIVOT_ENTRY, step]]
        tiny = abs(pivot) <= SINGULARITY_TOLERANCE * workspace.by_row[ByRow.SCALE, row]
        singular |= tiny
        value = right_side[row] / (1.0 if tiny else pivot)
        solution[workspace.order[Order.PIVOT_COLUMN, step]] = value
        if other >= 0:
            right_side[entry_row[other]] -= entry_value[other] * value
    return not singular


@rare_kernel
def solve_nucleus_columns(first, workspace, right_side, solution):
    """The part of `solve_columns` in the nucleus."""
    size = workspace.elimination[Elimination.NUCLEUS]
    lu = workspace.nucleus
    part = workspace.by_row[ByRow.SCRATCH]
    start, permutation = workspace.order[Order.COLUMN_START], workspace.order[Order.SCRATCH]
    for row in range(size):
        source = workspace.order[Order.PIVOT_ROW, first + permutation[row]]
        total = right_side[source] / workspace.by_row[ByRow.SCALE, source]
        for column in range(row):
            total -= lu[row, column] * part[column]
        part[row] = total
    for row in range(size - 1, -1, -1):
        total = part[row]
        for column in range(row + 1, size):
            total -= lu[row, column] * part[column]
        part[row] = total / lu[row, row]
    for place in range(size):
        column = workspace.order[Order.PIVOT_COLUMN, first + place]
        solution[column] = part[place]
        for entry in range(start[column], start[column + 1]):
            right_side[workspace.entry_index[Entry.ROW, entry]] -= workspace.entry_value[entry] * part[place]


@kernel
def solve_columns(peeled, workspace, right_side, solution):
    """Write x with W x = right_side into `solution`, by slot; overwrite `right_side`; return False if W is singular."""
    if peeled:
        return solve_peeled_columns(workspace, right_side, solution)
    by_column = workspace.elimination[Elimination.BY_COLUMN]
    first = by_column + workspace.elimination[Elimination.BY_ROW]
    start = workspace.order[Order.COLUMN_START]
    pivot_row, pivot_column = workspace.order[Order.PIVOT_ROW], workspace.order[Order.PIVOT_COLUMN]
    pivot_entry = workspace.order[Order.PIVOT_ENTRY]
    entry_row, entry_value = workspace.entry_index[Entry.ROW], workspace.entry_value
    # Singleton rows in the order of elimination, then the nucleus, then singleton columns in reverse order.
    for turn in range(first):
        step = by_column + turn
        if step >= first:
            step = first - 1 - turn
        if turn == first - by_column and workspace.elimination[Elimination.NUCLEUS] > 0:
            solve_nucleus_columns(first, workspace, right_side, solution)
        column = pivot_column[step]
        value = right_side[pivot_row[step]] / entry_value[pivot_entry[step]]
        solution[column] = value
        if value != 0.0:
            for entry in range(start[column], start[column + 1]):
                right_side[entry_row[entry]] -= entry_value[entry] * value
    if by_column == 0 and workspace.elimination[Elimination.NUCLEUS] > 0:
        solve_nucleus_columns(first, workspace, right_side, solution)
    return True


@kernel
def solve_peeled_rows(workspace, right_side, solution):
    """`solve_rows` for a W that `is_peeled`."""
    entry_row, entry_value = workspace.entry_index[Entry.ROW], workspace.entry_value
    for step in range(workspace.nucleus.shape[0]):
        other = workspace.order[Order.OTHER_ENTRY, step]
        total = right_side[workspace.order[Order.PIVOT_COLUMN, step]]
        if other >= 0:
            total -= entry_value[other] * solution[entry_row[other]]
        pivot = entry_value[workspace.order[Order.PIVOT_ENTRY, step]]
        # The total of a surplus is zero, and a GPU needs four times as long to divide zero as any other number.
        solution[workspace.order[Order.PIVOT_ROW, step]] = total * (1.0 / pivot)


@rare_kernel
def solve_nucleus_rows(first, workspace, right_side, solution):
    """The part of `solve_rows` in the nucleus."""
    size = workspace.elimination[Elimination.NUCLEUS]
    lu = workspace.nucleus
    part = workspace.by_row[ByRow.SCRATCH]
    start, permutation = workspace.order[Order.COLUMN_START], workspace.order[Order.SCRATCH]
    for place in range(size):
        column = workspace.order[Order.PIVOT_COLUMN, first + place]
        total = right_side[column]
        for entry in range(start[column], start[column + 1]):
            row = workspace.entry_index[Entry.ROW, entry]
            # Those of singleton columns, solved before: singleton rows have no entry in a column of the nucleus.
            if workspace.order[Order.ROW_DONE, row]:
                total -= workspace.entry_value[entry] * solution[row]
        for row in range(place):
            total -= lu[row, place] * part[row]
        part[place] = total / lu[place, place]
    for place in range(size - 1, -1, -1):
        total = part[place]
        for row in range(place + 1, size):
            total -= lu[row, place] * part[row]
        part[place] = total
    for place in range(size):
        row = workspace.order[Order.PIVOT_ROW, first + permutation[place]]
        solution[row] = part[place] / workspace.by_row[ByRow.SCALE, row]


@kernel
def solve_rows(peeled, workspace, right_side, solution):
    """Write y with W' y = right_side into `solution`, by row."""
    if peeled:
        solve_peeled_rows(workspace, right_side, solution)
        return
    by_column = workspace.elimination[Elimination.BY_COLUMN]
    first = by_column + workspace.elimination[Elimination.BY_ROW]
    start = workspace.order[Order.COLUMN_START]
    pivot_row, pivot_column = workspace.order[Order.PIVOT_ROW], workspace.order[Order.PIVOT_COLUMN]
    pivot_entry = workspace.order[Order.PIVOT_ENTRY]
    entry_row, entry_value = workspace.entry_index[Entry.ROW], workspace.entry_value
    if by_column == 0 and workspace.elimination[Elimination.NUCLEUS] > 0:
        solve_nucleus_rows(first, workspace, right_side, solution)
    # The reverse of solve_columns: singleton columns in order, the nucleus, then singleton rows in reverse order.
    for turn in range(first):
        step = turn
        if turn >= by_column:
            step = first - 1 - (turn - by_column)
        row = pivot_row[step]
        column = pivot_column[step]
        total = right_side[column]
        for entry in range(start[column], start[column + 1]):
            if entry_row[entry] != row:
                total -= entry_value[entry] * solution[entry_row[entry]]
        solution[row] = total / entry_value[pivot_entry[step]]
        if turn == by_column - 1 and workspace.elimination[Elimination.NUCLEUS] > 0:
            solve_nucleus_rows(first, workspace, right_side, solution)
