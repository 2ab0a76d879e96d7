"""Bases to start from."""

from arcbandit.compilation.compile import rare_kernel
from arcbandit.kernels.coefficients import objective_of, revenue_of
from arcbandit.kernels.program import NO_FLOOR, Column


@rare_kernel
def crash_basis(program, basis):
    """Start with each context's best arm as its key and with all surpluses: always a basis, and optimal without floors.

    Return False if a context has no available arm.
    """
    n_arms, n_contexts = program.objective.shape
    for context in range(n_contexts):
        best = -1
        for arm in range(n_arms):
            if program.available[arm, context] and (
                best < 0 or objective_of(program, arm, context) > objective_of(program, best, context)
            ):
                best = arm
        if best < 0:
            return False
        basis.key[context] = best
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
