"""The planning problem: the stationary allocation that earns the most while every floor is met.

The shell around the planning kernel: `solve` checks what users give and raises what the kernel only reports, `planner`
does so for many problems of one shape, `memory` is what the kernel works in, and `plans` has what was found.
"""

from arcbandit.kernels.program import PlanStatus
from arcbandit.planning.planner import Planner
from arcbandit.planning.plans import ActiveSet, Plan, PlannedFloors
from arcbandit.planning.program import Solution, assemble_program, make_program, solve_program
from arcbandit.planning.quick_plan import QuickPlan
from arcbandit.planning.solve import plan, plan_over_all_floors, solve_lp

__all__ = [
    "ActiveSet",
    "Plan",
    "PlanStatus",
    "PlannedFloors",
    "Planner",
    "QuickPlan",
    "Solution",
    "assemble_program",
    "make_program",
    "plan",
    "plan_over_all_floors",
    "solve_lp",
    "solve_program",
]
