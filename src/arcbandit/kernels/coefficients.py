"""Coefficients of the planning problem, and sums over the rows that an arm takes part in."""

from arcbandit.compilation.compile import kernel, rare_kernel
from arcbandit.kernels.program import Lean


@kernel
def objective_of(program, arm, context):
    """a_kc."""
    lean = program.lean[Lean.OBJECTIVE]
    return program.weights[context] * (program.objective[arm, context] + lean * program.root[arm, context])


@kernel
def revenue_of(program, arm, context):
    """b_kc."""
    lean = program.lean[Lean.REVENUE]
    return program.weights[context] * (program.revenue[arm, context] + lean * program.root[arm, context])


@kernel
def take_from_rows(program, arm, amount, by_row):
    """Subtract what an arm earns from the rows that it takes part in."""
    if program.arm_rows.shape[1] == 1:
        by_row[arm] -= amount
        return
    for place in range(program.arm_rows.shape[1]):
        signed = program.arm_rows[arm, place]
        if signed > 0:
            by_row[signed - 1] -= amount
        elif signed < 0:
            by_row[-signed - 1] += amount


@rare_kernel
def spread_over_arms(program, by_row, by_arm):
    """Write the signed sum over each arm's rows, shape (K,)."""
    for arm in range(by_arm.shape[0]):
        total = 0.0
        for place in range(program.arm_rows.shape[1]):
            signed = program.arm_rows[arm, place]
            if signed > 0:
                total += by_row[signed - 1]
            elif signed < 0:
                total -= by_row[-signed - 1]
        by_arm[arm] = total
