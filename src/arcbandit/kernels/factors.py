"""Solving with a basis: its working matrix is nearly triangular, because a column has an entry or two.

As a graph, rows are nodes and slots are edges between the row of a pair and the row of its context's key, surpluses
are roots. Columns with one open entry are eliminated from the roots outward, then rows with one open entry from the
leaves inward; what remains are cycles (and, with group floors, a few dense rows), solved by dense elimination.
"""

from arcbandit.kernels.compile import kernel
from arcbandit.kernels.program import (
    BY_COLUMN,
    BY_ROW,
    COLUMN_COUNT,
    COLUMN_DONE,
    COLUMN_START,
    ENTRY_COLUMN,
    ENTRY_ROW,
    NUCLEUS,
    NUCLEUS_SIDE,
    PERMUTATION,
    PIVOT_COLUMN,
    PIVOT_ROW,
    PIVOT_VALUE,
    POSITION,
    ROW_COUNT,
    ROW_DONE,
    ROW_SCALE,
    ROW_START,
    SINGULARITY_TOLERANCE,
    SURPLUS,
)


@kernel
def add_entries(program, arm, factor, first, end, workspace):
    """Append `factor` times the rows of `arm` to the column begun at `first`; return its new end."""
    for place in range(program.arm_rows.shape[1]):
        signed = program.arm_rows[arm, place]
        if signed == 0:
            break
        row = abs(signed) - 1
        value = factor if signed > 0 else -factor
        target = end
        for other in range(first, end):
            if workspace.entry_index[ENTRY_ROW, other] == row:
                target = other
        if target < end:
            workspace.entry_value[target] += value
        else:
            workspace.entry_index[ENTRY_ROW, end] = row
            workspace.entry_value[end] = value
            end += 1
    return end


@kernel
def load_columns(program, basis, workspace):
    """Write the columns of W: a pair's coefficients less those of its context's key."""
    n_rows = basis.slot_arm.shape[0]
    end = 0
    for slot in range(n_rows):
        workspace.order[COLUMN_START, slot] = end
        context = basis.slot_context[slot]
        arm = basis.slot_arm[slot]
        if context >= 0:
            first = end
            end = add_entries(program, arm, program.revenue[arm, context], first, end, workspace)
            key = basis.key[context]
            end = add_entries(program, key, -program.revenue[key, context], first, end, workspace)
        else:
            scale = workspace.by_row[ROW_SCALE, arm]
            workspace.entry_index[ENTRY_ROW, end] = arm
            workspace.entry_value[end] = -scale if context == SURPLUS else scale
            end += 1
    workspace.order[COLUMN_START, n_rows] = end


@kernel
def load_rows(n_rows, workspace):
    """List the columns of each row, and count the entries of both."""
    for row in range(n_rows + 1):
        workspace.order[ROW_START, row] = 0
    for entry in range(workspace.order[COLUMN_START, n_rows]):
        workspace.order[ROW_START, workspace.entry_index[ENTRY_ROW, entry] + 1] += 1
    for row in range(n_rows):
        workspace.order[ROW_COUNT, row] = workspace.order[ROW_START, row + 1]
        workspace.order[ROW_START, row + 1] += workspace.order[ROW_START, row]
        workspace.order[POSITION, row] = workspace.order[ROW_START, row]
        workspace.order[ROW_DONE, row] = 0
    for column in range(n_rows):
        workspace.order[COLUMN_DONE, column] = 0
        workspace.order[COLUMN_COUNT, column] = (
            workspace.order[COLUMN_START, column + 1] - workspace.order[COLUMN_START, column]
        )
        for entry in range(workspace.order[COLUMN_START, column], workspace.order[COLUMN_START, column + 1]):
            row = workspace.entry_index[ENTRY_ROW, entry]
            workspace.entry_index[ENTRY_COLUMN, workspace.order[POSITION, row]] = column
            workspace.order[POSITION, row] += 1


@kernel
def peel_columns(n_rows, workspace):
    """Eliminate columns with one open entry; return how many, or -1 if W is singular."""
    # The pivot arrays double as the queue: entries before `done` are eliminated, those up to `found` wait.
    found = 0
    for column in range(n_rows):
        if workspace.order[COLUMN_COUNT, column] == 1:
            workspace.order[PIVOT_COLUMN, found] = column
            found += 1
    done = 0
    while done < found:
        column = workspace.order[PIVOT_COLUMN, done]
        if workspace.order[COLUMN_COUNT, column] != 1:
            return -1
        for entry in range(workspace.order[COLUMN_START, column], workspace.order[COLUMN_START, column + 1]):
            row = workspace.entry_index[ENTRY_ROW, entry]
            if not workspace.order[ROW_DONE, row]:
                value = workspace.entry_value[entry]
                if abs(value) <= SINGULARITY_TOLERANCE * workspace.by_row[ROW_SCALE, row]:
                    return -1
                workspace.order[PIVOT_ROW, done] = row
                workspace.by_row[PIVOT_VALUE, done] = value
        row = workspace.order[PIVOT_ROW, done]
        workspace.order[ROW_DONE, row] = 1
        workspace.order[COLUMN_DONE, column] = 1
        done += 1
        for place in range(workspace.order[ROW_START, row], workspace.order[ROW_START, row + 1]):
            other = workspace.entry_index[ENTRY_COLUMN, place]
            if not workspace.order[COLUMN_DONE, other]:
                workspace.order[COLUMN_COUNT, other] -= 1
                if workspace.order[COLUMN_COUNT, other] == 1:
                    workspace.order[PIVOT_COLUMN, found] = other
                    found += 1
                elif workspace.order[COLUMN_COUNT, other] == 0:
                    return -1
    return done


@kernel
def peel_rows(n_rows, first, workspace):
    """Eliminate rows with one open column; return how many pairs are eliminated by now, or -1 if W is singular."""
    found = first
    for row in range(n_rows):
        if not workspace.order[ROW_DONE, row]:
            count = 0
            for place in range(workspace.order[ROW_START, row], workspace.order[ROW_START, row + 1]):
                if not workspace.order[COLUMN_DONE, workspace.entry_index[ENTRY_COLUMN, place]]:
                    count += 1
            workspace.order[ROW_COUNT, row] = count
            if count == 0:
                return -1
            if count == 1:
                workspace.order[PIVOT_ROW, found] = row
                found += 1
    done = first
    while done < found:
        row = workspace.order[PIVOT_ROW, done]
        if workspace.order[ROW_COUNT, row] != 1:
            return -1
        column = -1
        for place in range(workspace.order[ROW_START, row], workspace.order[ROW_START, row + 1]):
            if not workspace.order[COLUMN_DONE, workspace.entry_index[ENTRY_COLUMN, place]]:
                column = workspace.entry_index[ENTRY_COLUMN, place]
        workspace.order[PIVOT_COLUMN, done] = column
        workspace.order[ROW_DONE, row] = 1
        workspace.order[COLUMN_DONE, column] = 1
        for entry in range(workspace.order[COLUMN_START, column], workspace.order[COLUMN_START, column + 1]):
            other = workspace.entry_index[ENTRY_ROW, entry]
            if other == row:
                value = workspace.entry_value[entry]
                if abs(value) <= SINGULARITY_TOLERANCE * workspace.by_row[ROW_SCALE, row]:
                    return -1
                workspace.by_row[PIVOT_VALUE, done] = value
            elif not workspace.order[ROW_DONE, other]:
                workspace.order[ROW_COUNT, other] -= 1
                if workspace.order[ROW_COUNT, other] == 1:
                    workspace.order[PIVOT_ROW, found] = other
                    found += 1
                elif workspace.order[ROW_COUNT, other] == 0:
                    return -1
        done += 1
    return done


@kernel
def factor_nucleus(n_rows, first, workspace):
    """Dense LU, rows scaled and pivoted, of what the peeling left; return False if it is singular."""
    size = 0
    for row in range(n_rows):
        if not workspace.order[ROW_DONE, row]:
            workspace.order[PIVOT_ROW, first + size] = row
            workspace.order[POSITION, row] = size
            size += 1
    place = 0
    lu = workspace.nucleus
    for column in range(n_rows):
        if not workspace.order[COLUMN_DONE, column]:
            workspace.order[PIVOT_COLUMN, first + place] = column
            for row in range(size):
                lu[row, place] = 0.0
            for entry in range(workspace.order[COLUMN_START, column], workspace.order[COLUMN_START, column + 1]):
                row = workspace.entry_index[ENTRY_ROW, entry]
                if not workspace.order[ROW_DONE, row]:
                    lu[workspace.order[POSITION, row], place] = (
                        workspace.entry_value[entry] / workspace.by_row[ROW_SCALE, row]
                    )
            place += 1
    for row in range(size):
        workspace.order[PERMUTATION, row] = row
    for step in range(size):
        pivot = step
        largest = abs(lu[step, step])
        for row in range(step + 1, size):
            if abs(lu[row, step]) > largest:
                largest = abs(lu[row, step])
                pivot = row
        if not largest > SINGULARITY_TOLERANCE:
            return False
        if pivot != step:
            for column in range(size):
                held = lu[step, column]
                lu[step, column] = lu[pivot, column]
                lu[pivot, column] = held
            kept = workspace.order[PERMUTATION, step]
            workspace.order[PERMUTATION, step] = workspace.order[PERMUTATION, pivot]
            workspace.order[PERMUTATION, pivot] = kept
        for row in range(step + 1, size):
            if lu[row, step] != 0.0:
                ratio = lu[row, step] / lu[step, step]
                lu[row, step] = ratio
                for column in range(step + 1, size):
                    lu[row, column] -= ratio * lu[step, column]
    workspace.counts[NUCLEUS] = size
    return True


@kernel
def factorise(program, basis, workspace):
    """Prepare W for solving; return False if it is singular."""
    n_rows = basis.slot_arm.shape[0]
    load_columns(program, basis, workspace)
    load_rows(n_rows, workspace)
    by_column = peel_columns(n_rows, workspace)
    if by_column < 0:
        return False
    workspace.counts[BY_COLUMN] = by_column
    workspace.counts[BY_ROW] = 0
    workspace.counts[NUCLEUS] = 0
    if by_column == n_rows:
        return True
    by_row = peel_rows(n_rows, by_column, workspace)
    if by_row < 0:
        return False
    workspace.counts[BY_ROW] = by_row - by_column
    if by_row == n_rows:
        return True
    return factor_nucleus(n_rows, by_row, workspace)


@kernel
def settle(workspace, step, right_side, solution):
    """Solve one eliminated pair for its column and take that column out of the other rows."""
    row = workspace.order[PIVOT_ROW, step]
    column = workspace.order[PIVOT_COLUMN, step]
    value = right_side[row] / workspace.by_row[PIVOT_VALUE, step]
    solution[column] = value
    if value != 0.0:
        for entry in range(workspace.order[COLUMN_START, column], workspace.order[COLUMN_START, column + 1]):
            right_side[workspace.entry_index[ENTRY_ROW, entry]] -= workspace.entry_value[entry] * value


@kernel
def solve_columns(workspace, right_side, solution):
    """Write x with W x = right_side into `solution`, by slot; `right_side` is used up."""
    by_column, by_row, size = workspace.counts[BY_COLUMN], workspace.counts[BY_ROW], workspace.counts[NUCLEUS]
    first = by_column + by_row
    for step in range(by_column, first):
        settle(workspace, step, right_side, solution)
    if size > 0:
        lu = workspace.nucleus
        part = workspace.by_row[NUCLEUS_SIDE]
        for row in range(size):
            source = workspace.order[PIVOT_ROW, first + workspace.order[PERMUTATION, row]]
            total = right_side[source] / workspace.by_row[ROW_SCALE, source]
            for column in range(row):
                total -= lu[row, column] * part[column]
            part[row] = total
        for row in range(size - 1, -1, -1):
            total = part[row]
            for column in range(row + 1, size):
                total -= lu[row, column] * part[column]
            part[row] = total / lu[row, row]
        for place in range(size):
            column = workspace.order[PIVOT_COLUMN, first + place]
            value = part[place]
            solution[column] = value
            for entry in range(workspace.order[COLUMN_START, column], workspace.order[COLUMN_START, column + 1]):
                right_side[workspace.entry_index[ENTRY_ROW, entry]] -= workspace.entry_value[entry] * value
    for step in range(by_column - 1, -1, -1):
        settle(workspace, step, right_side, solution)


@kernel
def price_pair(workspace, step, right_side, solution):
    """Solve one eliminated pair for its row, all other rows of its column being known."""
    row = workspace.order[PIVOT_ROW, step]
    column = workspace.order[PIVOT_COLUMN, step]
    total = right_side[column]
    for entry in range(workspace.order[COLUMN_START, column], workspace.order[COLUMN_START, column + 1]):
        other = workspace.entry_index[ENTRY_ROW, entry]
        if other != row:
            total -= workspace.entry_value[entry] * solution[other]
    solution[row] = total / workspace.by_row[PIVOT_VALUE, step]


@kernel
def solve_rows(workspace, right_side, solution):
    """Write y with W' y = right_side into `solution`, by row."""
    by_column, by_row, size = workspace.counts[BY_COLUMN], workspace.counts[BY_ROW], workspace.counts[NUCLEUS]
    first = by_column + by_row
    for step in range(by_column):
        price_pair(workspace, step, right_side, solution)
    if size > 0:
        lu = workspace.nucleus
        part = workspace.by_row[NUCLEUS_SIDE]
        for place in range(size):
            column = workspace.order[PIVOT_COLUMN, first + place]
            total = right_side[column]
            for entry in range(workspace.order[COLUMN_START, column], workspace.order[COLUMN_START, column + 1]):
                row = workspace.entry_index[ENTRY_ROW, entry]
                # Rows that the peeling of rows took out are priced after the nucleus, and do not meet its columns.
                if workspace.order[ROW_DONE, row]:
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
            row = workspace.order[PIVOT_ROW, first + workspace.order[PERMUTATION, place]]
            solution[row] = part[place] / workspace.by_row[ROW_SCALE, row]
    for step in range(first - 1, by_column - 1, -1):
        price_pair(workspace, step, right_side, solution)
