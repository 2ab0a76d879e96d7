"""Solving with a basis: its working matrix is nearly triangular, because a column has an entry or two.

As a graph, rows are nodes and slots are edges between the row of a pair and the row of its context's key, surpluses
are roots. Columns with one open entry are eliminated from the roots outward, then rows with one open entry from the
leaves inward; what remains are cycles (and, with group floors, a few dense rows), solved by dense elimination.
"""

from arcbandit.compilation.compile import kernel, rare_kernel
from arcbandit.kernels.program import SINGULARITY_TOLERANCE, ByRow, Column, Count, Entry, Order


@kernel
def objective_of(program, arm, context):
    """a_kc."""
    return program.weights[context] * (program.objective[arm, context] + program.lean[0] * program.root[arm, context])


@kernel
def revenue_of(program, arm, context):
    """b_kc."""
    return program.weights[context] * (program.revenue[arm, context] + program.lean[1] * program.root[arm, context])


@kernel
def add_entries(program, arm, factor, first, end, entry_row, entry_value):
    """Append `factor` times the rows of `arm` to the column begun at `first`; return its new end."""
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
    """Write the columns of W: a pair's coefficients less those of its context's key."""
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
    """Write the values of W's entries anew, where there is one row an arm and the columns are those loaded last."""
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
    """List the columns of each row, and count the entries of both."""
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


@kernel
def peel_columns(n_rows, workspace):
    """Eliminate columns with one open entry; return how many, or -1 if W is singular."""
    start, row_start = workspace.order[Order.COLUMN_START], workspace.order[Order.ROW_START]
    count = workspace.order[Order.SCRATCH]
    column_done, row_done = workspace.order[Order.COLUMN_DONE], workspace.order[Order.ROW_DONE]
    pivot_row, pivot_column = workspace.order[Order.PIVOT_ROW], workspace.order[Order.PIVOT_COLUMN]
    entry_row, entry_column = workspace.entry_index[Entry.ROW], workspace.entry_index[Entry.COLUMN]
    pivot_entry = workspace.order[Order.PIVOT_ENTRY]
    # The pivot arrays double as the queue: entries before `done` are eliminated, those up to `found` wait.
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
    """Eliminate rows with one open column; return how many pairs are eliminated by now, or -1 if W is singular."""
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
def factor_nucleus(n_rows, first, workspace):
    """Dense LU, rows scaled and pivoted, of what the peeling left; return False if it is singular."""
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
    workspace.counts[Count.NUCLEUS] = size
    return True


@rare_kernel
def find_other_entries(n_rows, workspace):
    """Note where the columns of two entries have the one that is no pivot."""
    start = workspace.order[Order.COLUMN_START]
    for step in range(n_rows):
        column = workspace.order[Order.PIVOT_COLUMN, step]
        has_two = start[column + 1] - start[column] == 2
        other = 2 * start[column] + 1 - workspace.order[Order.PIVOT_ENTRY, step]
        workspace.order[Order.OTHER_ENTRY, step] = other if has_two else -1


@rare_kernel
def find_order(n_rows, workspace):
    """Find an order in which the loaded columns are eliminated; return False if there is none, as W is singular."""
    counts = workspace.counts
    load_rows(n_rows, workspace)
    by_column = peel_columns(n_rows, workspace)
    counts[Count.BY_COLUMN] = by_column
    counts[Count.BY_ROW] = 0
    if by_column == n_rows:
        find_other_entries(n_rows, workspace)
    if by_column < 0 or by_column == n_rows:
        return by_column == n_rows
    by_row = peel_rows(n_rows, by_column, workspace)
    counts[Count.BY_ROW] = by_row - by_column
    return by_row >= 0


@kernel
def is_peeled(workspace):
    """Whether every column was peeled by itself and, as there is one row an arm, has an entry or two."""
    n_rows = workspace.nucleus.shape[0]
    return workspace.counts[Count.BY_COLUMN] == n_rows and workspace.entry_value.shape[0] <= 2 * n_rows


@kernel
def factorise(program, basis, workspace):
    """Prepare W for solving; return False if it is singular.

    The order of elimination depends on where W has entries, not on their values, and is kept until the basis changes.
    Whether a peeled W is singular shows when its columns are solved.
    """
    n_rows = basis.slot_arm.shape[0]
    counts = workspace.counts
    if counts[Count.ORDER_KEPT] == 1 and program.arm_rows.shape[1] == 1:
        reload_columns(program, basis, workspace)
    else:
        load_columns(program, basis, workspace)
        if counts[Count.ORDER_KEPT] == 0 and not find_order(n_rows, workspace):
            return False
        counts[Count.ORDERS] += 1 - counts[Count.ORDER_KEPT]
        counts[Count.ORDER_KEPT] = 1
    counts[Count.NUCLEUS] = 0
    if is_peeled(workspace):
        return True
    peeled = counts[Count.BY_COLUMN] + counts[Count.BY_ROW]
    for step in range(peeled):
        entry = workspace.order[Order.PIVOT_ENTRY, step]
        scale = workspace.by_row[ByRow.SCALE, workspace.entry_index[Entry.ROW, entry]]
        if abs(workspace.entry_value[entry]) <= SINGULARITY_TOLERANCE * scale:
            return False
    return peeled == n_rows or factor_nucleus(n_rows, peeled, workspace)


@rare_kernel
def solve_nucleus_columns(first, workspace, right_side, solution):
    """The nucleus' part of `solve_columns`."""
    size = workspace.counts[Count.NUCLEUS]
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
def solve_peeled_columns(workspace, right_side, solution):
    """`solve_columns` where every column was peeled and has an entry or two; return False if W is singular."""
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


@kernel
def solve_peeled_rows(workspace, right_side, solution):
    """`solve_rows` where every column was peeled and has an entry or two."""
    entry_row, entry_value = workspace.entry_index[Entry.ROW], workspace.entry_value
    for step in range(workspace.nucleus.shape[0]):
        other = workspace.order[Order.OTHER_ENTRY, step]
        total = right_side[workspace.order[Order.PIVOT_COLUMN, step]]
        if other >= 0:
            total -= entry_value[other] * solution[entry_row[other]]
        pivot = entry_value[workspace.order[Order.PIVOT_ENTRY, step]]
        # A surplus has nothing to divide, and a GPU needs four times as long to divide zero as any other number.
        solution[workspace.order[Order.PIVOT_ROW, step]] = total * (1.0 / pivot)


@kernel
def solve_columns(peeled, workspace, right_side, solution):
    """Write x with W x = right_side into `solution`, by slot, using `right_side` up; return False if W is singular."""
    if peeled:
        return solve_peeled_columns(workspace, right_side, solution)
    by_column = workspace.counts[Count.BY_COLUMN]
    first = by_column + workspace.counts[Count.BY_ROW]
    start = workspace.order[Order.COLUMN_START]
    pivot_row, pivot_column = workspace.order[Order.PIVOT_ROW], workspace.order[Order.PIVOT_COLUMN]
    pivot_entry = workspace.order[Order.PIVOT_ENTRY]
    entry_row, entry_value = workspace.entry_index[Entry.ROW], workspace.entry_value
    # Rows that were peeled last are settled first, then the nucleus, then the columns from the last peeled on.
    for turn in range(first):
        step = by_column + turn
        if step >= first:
            step = first - 1 - turn
        if turn == first - by_column and workspace.counts[Count.NUCLEUS] > 0:
            solve_nucleus_columns(first, workspace, right_side, solution)
        column = pivot_column[step]
        value = right_side[pivot_row[step]] / entry_value[pivot_entry[step]]
        solution[column] = value
        if value != 0.0:
            for entry in range(start[column], start[column + 1]):
                right_side[entry_row[entry]] -= entry_value[entry] * value
    if by_column == 0 and workspace.counts[Count.NUCLEUS] > 0:
        solve_nucleus_columns(first, workspace, right_side, solution)
    return True


@rare_kernel
def solve_nucleus_rows(first, workspace, right_side, solution):
    """The nucleus' part of `solve_rows`."""
    size = workspace.counts[Count.NUCLEUS]
    lu = workspace.nucleus
    part = workspace.by_row[ByRow.SCRATCH]
    start, permutation = workspace.order[Order.COLUMN_START], workspace.order[Order.SCRATCH]
    for place in range(size):
        column = workspace.order[Order.PIVOT_COLUMN, first + place]
        total = right_side[column]
        for entry in range(start[column], start[column + 1]):
            row = workspace.entry_index[Entry.ROW, entry]
            # Rows that the peeling of rows took out are priced after the nucleus, and do not meet its columns.
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
    by_column = workspace.counts[Count.BY_COLUMN]
    first = by_column + workspace.counts[Count.BY_ROW]
    start = workspace.order[Order.COLUMN_START]
    pivot_row, pivot_column = workspace.order[Order.PIVOT_ROW], workspace.order[Order.PIVOT_COLUMN]
    pivot_entry = workspace.order[Order.PIVOT_ENTRY]
    entry_row, entry_value = workspace.entry_index[Entry.ROW], workspace.entry_value
    if by_column == 0 and workspace.counts[Count.NUCLEUS] > 0:
        solve_nucleus_rows(first, workspace, right_side, solution)
    # The reverse of solve_columns: columns as they were peeled, the nucleus, then rows from the last peeled on.
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
        if turn == by_column - 1 and workspace.counts[Count.NUCLEUS] > 0:
            solve_nucleus_rows(first, workspace, right_side, solution)
