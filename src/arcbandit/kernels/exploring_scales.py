"""The scales of rows while pairs are unplayed, from what is kept of them.

A scale is a power of two, so it is enough to know between which two powers the largest coefficient is. An arm's pairs
are looked at only if what is kept does not tell.
"""

import math

from arcbandit.compilation.compile import kernel, rare_kernel
from arcbandit.kernels.confidence import ByPair
from arcbandit.kernels.program import ByRow, Lean
from arcbandit.kernels.scales import write_row_scales
from arcbandit.kernels.unplayed import ROUNDING, ArmPlace, Kept, OfArm


@kernel
def same_power(lower, upper):
    """Whether two sizes, neither below zero, round up to the same power of two."""
    return lower > 0.0 and upper < math.inf and math.frexp(lower)[1] == math.frexp(upper)[1]


@rare_kernel
def find_size(program, statistics, unplayed, side, arm):
    """The largest |coefficient| of a played pair of the arm, kept with its place."""
    means, roots = statistics.by_pair[ByPair.MEAN], statistics.by_pair[ByPair.INVERSE_ROOT]
    lean = program.lean[side]
    largest = 0.0
    place = -1
    for context in range(means.shape[1]):
        root = roots[arm, context]
        if root > 0.0 and program.available[arm, context]:
            size = program.weights[context] * abs(means[arm, context] + lean * root)
            if size > largest:
                largest = size
                place = context
    unplayed.by_arm[OfArm.OBJECTIVE_SIZE + side, arm] = largest
    unplayed.by_arm[OfArm.OBJECTIVE_LEAN + side, arm] = lean
    unplayed.arm_places[ArmPlace.OBJECTIVE_TOP + side, arm] = place
    return largest


@kernel
def size_of_arm(program, statistics, unplayed, side, arm):
    """A size that rounds up to the same power of two as the arm's largest |coefficient|."""
    lean = program.lean[side]
    size = 0.0
    weight = unplayed.by_arm[OfArm.WEIGHT, arm]
    if weight >= 0.0:
        # As rounding is monotone, the largest product is that of the largest weight.
        size = weight * abs(unplayed.scalars[Kept.MIDDLE] + lean * unplayed.scalars[Kept.ROOT])
    moved = abs(lean - unplayed.by_arm[OfArm.OBJECTIVE_LEAN + side, arm])
    moved += ROUNDING * (unplayed.by_arm[OfArm.MEAN_SIZE, arm] + abs(lean))
    bound = unplayed.by_arm[OfArm.OBJECTIVE_SIZE + side, arm] + moved * unplayed.scalars[Kept.LARGEST_WEIGHT]
    if bound <= size or same_power(size, bound):
        return size
    place = unplayed.arm_places[ArmPlace.OBJECTIVE_TOP + side, arm]
    if place >= 0:
        mean = statistics.by_pair[ByPair.MEAN, arm, place]
        root = statistics.by_pair[ByPair.INVERSE_ROOT, arm, place]
        size = max(size, program.weights[place] * abs(mean + lean * root))
        if same_power(size, bound):
            return size
    return max(size, find_size(program, statistics, unplayed, side, arm))


@rare_kernel
def write_scales(program, statistics, unplayed, workspace):
    """Write the scale of each row and of the objective, as `measure_scales` does."""
    n_rows = program.floors.shape[0]
    coefficient = workspace.by_row[ByRow.SCRATCH]
    for row in range(n_rows + 1):
        coefficient[row] = 0.0
    alike = program.lean[Lean.OBJECTIVE] == program.lean[Lean.REVENUE]
    for arm in range(program.arm_rows.shape[0]):
        size = size_of_arm(program, statistics, unplayed, 1, arm)
        for place in range(program.arm_rows.shape[1]):
            row = abs(program.arm_rows[arm, place]) - 1
            if row < 0:
                break
            coefficient[row] = max(coefficient[row], size)
        if not alike:
            size = size_of_arm(program, statistics, unplayed, 0, arm)
        coefficient[n_rows] = max(coefficient[n_rows], size)
    write_row_scales(program, coefficient, workspace)
