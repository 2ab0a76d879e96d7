"""Bases to start from."""

from arcbandit.compilation.compile import kernel, rare_kernel
from arcbandit.kernels.coefficients import objective_of, revenue_of, take_from_rows
from arcbandit.kernels.program import NO_FLOOR, ByRow, Column

# Before the first reward all pairs are alike. With one arm as the key of all contexts, to meet the floors would take
# several pivots per context, each of which looks at all pairs: some milliseconds up to here, 16 s at 100 x 1000.
LARGE_PROBLEM = 2048  # pairs


@kernel
def need_of(program, arm, needed):
    """The most that a row of the arm still needs."""
    most = NO_FLOOR
    for place in range(program.arm_rows.shape[1]):
        if program.arm_rows[arm, place] > 0:
            most = max(most, needed[program.arm_rows[arm, place] - 1])
    return most


@kernel
def is_better_key(program, arm, best, context, needed):
    """Whether an arm is to be the key of a context rather than `best`, -1 for none: the first of the best arms.

    With many pairs, of equally good ones it is the one whose floor still needs most.
    """
    if best < 0:
        return True
    value, best_value = objective_of(program, arm, context), objective_of(program, best, context)
    if value != best_value or program.available.size <= LARGE_PROBLEM:
        return value > best_value
    return need_of(program, arm, needed) > max(need_of(program, best, needed), 0.0)


@rare_kernel
def crash_basis(program, basis, workspace):
    """Start with each context's best arm as its key and with all surpluses: always a basis, and optimal without floors.

    Return False if a context has no available arm.
    """
    n_arms, n_contexts = program.objective.shape
    needed = workspace.by_row[ByRow.SCRATCH]
    for row in range(basis.slot_arm.shape[0]):
        needed[row] = program.floors[row]
    for context in range(n_contexts):
        best = -1
        for arm in range(n_arms):
            if program.available[arm, context] and is_better_key(program, arm, best, context, needed):
                best = arm
        if best < 0:
            return False
        basis.key[context] = best
        take_from_rows(program, best, revenue_of(program, best, context), needed)
    for row in range(basis.slot_arm.shape[0]):
        basis.slot_arm[row] = row
        basis.slot_context[row] = Column.SURPLUS
    return True


@rare_kernel
def is_usable(program, basis):
    """Whether a given basis can be a start: its pairs are available, and rows without a floor have their surplus."""
    for context in range(basis.key.shape[0]):
        key = basis.key[context]
        if key < 0 or not program.available[key, context]:
            return False
    loose = 0
    for row in range(basis.slot_arm.shape[0]):
        loose += 1 if program.floors[row] == NO_FLOOR else 0
    for slot in range(basis.slot_arm.shape[0]):
        context = basis.slot_context[slot]
        if context == Column.SHORTFALL:
            return False
        if context == Column.SURPLUS:
            loose -= 1 if program.floors[basis.slot_arm[slot]] == NO_FLOOR else 0
        elif not program.available[basis.slot_arm[slot], context]:
            return False
    return loose == 0


@rare_kernel
def start_short(program, basis):
    """Exchange each surplus of a crash basis that would be negative for the shortfall, which makes it feasible."""
    for row in range(basis.slot_arm.shape[0]):
        earned = 0.0
        for context in range(basis.key.shape[0]):
            key = basis.key[context]
            for place in range(program.arm_rows.shape[1]):
                if program.arm_rows[key, place] == row + 1:
                    earned += revenue_of(program, key, context)
                elif program.arm_rows[key, place] == -row - 1:
                    earned -= revenue_of(program, key, context)
        if earned < program.floors[row]:
            basis.slot_context[row] = Column.SHORTFALL
