"""The planner's kernel in memory of a test's own."""

import numpy as np

from arcbandit.compilation.packing import packed
from arcbandit.kernels.planning import Task
from arcbandit.planning.memory import TRUSTED, planning_kernel


def plan_kernel(program, basis, least_shortfall, owner, workspace, allocation):
    """`find_plan`, called from Python."""
    by_row = np.zeros(len(program.floors))
    task = Task(program, basis, workspace, allocation, by_row, by_row)
    return planning_kernel()(packed(task), False, TRUSTED, least_shortfall, owner)[0]
