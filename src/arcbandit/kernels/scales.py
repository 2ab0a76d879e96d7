"""The scales that decide pivots and the sizes that bounds are kept by, measured over the whole problem."""

import math

from arcbandit.compilation.compile import kernel, rare_kernel
from arcbandit.kernels.program import NO_FLOOR, ByArm, ByRow, Lean, Scalar


@rare_kernel
def write_row_scales(program, coefficient, workspace):
    """Write the scale of each row and, last, of the objective from the largest |coefficient| in each."""
    n_rows = program.floors.shape[0]
    for row in range(n_rows + 1):
        scale = coefficient[row]
        if scale == 0.0 and row < n_rows and program.floors[row] != NO_FLOOR:
            scale = abs(program.floors[row])
        workspace.by_row[ByRow.SCALE, row] = math.ldexp(1.0, math.frexp(scale)[1]) if scale > 0.0 else 1.0


@kernel
def copy_row_scales(source, target):
    """Give a workspace the row scales of another."""
    for row in range(source.by_row.shape[1]):
        target.by_row[ByRow.SCALE, row] = source.by_row[ByRow.SCALE, row]


@rare_kernel
def measure_scales(program, rows, workspace):
    """Write the sizes that bounds are kept by and, if `rows`, the scale of each row and of the objective.

    A scale is the largest |coefficient|, rounded up to a power of two so that dividing by it is exact. Scales decide
    pivots and are part of what a rule remembers; the sizes only decide which pairs need not be looked at.
    """
    n_arms, n_contexts = program.objective.shape
    n_rows = program.floors.shape[0]
    coefficient = workspace.by_row[ByRow.SCRATCH]
    for row in range(n_rows):
        coefficient[row] = 0.0
    largest_objective = 0.0
    largest_reward = 0.0
    largest_root = 0.0
    for arm in range(n_arms):
        largest = 0.0
        largest_revenue = 0.0
        for context in range(n_contexts):
            if program.available[arm, context]:
                weight = program.weights[context]
                root = program.root[arm, context]
                reward = abs(program.objective[arm, context] + program.lean[Lean.OBJECTIVE] * root)
                revenue = abs(program.revenue[arm, context] + program.lean[Lean.REVENUE] * root)
                largest = max(largest, weight * revenue)
                largest_revenue = max(largest_revenue, revenue)
                largest_objective = max(largest_objective, weight * reward)
                largest_reward = max(largest_reward, reward)
                largest_root = max(largest_root, abs(root))
        workspace.by_arm[ByArm.REVENUE_SCALE, arm] = largest_revenue
        for place in range(program.arm_rows.shape[1]):
            row = abs(program.arm_rows[arm, place]) - 1
            if row < 0:
                break
            coefficient[row] = max(coefficient[row], largest)
    workspace.scalars[Scalar.LARGEST_ROOT] = largest_root
    workspace.scalars[Scalar.REWARD_SCALE] = largest_reward
    if not rows:
        return
    coefficient[n_rows] = largest_objective
    write_row_scales(program, coefficient, workspace)
