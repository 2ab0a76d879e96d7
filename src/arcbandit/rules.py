"""What authors of rules import: see docs/write-your-own-policy.md.

A rule is a subclass of `Policy` with a kernel `allocate(learner, context, t, stream)`. Kernels are functions on arrays
that Numba compiles: they allocate nothing, raise nothing, and call only other kernels.

>>> from arcbandit import paper_instance, simulate
>>> class Even(Policy):
...     name = "even"
...     @kernel
...     def allocate(learner, context, t, stream):
...         learner.allocation[:] = 1.0 / learner.allocation.shape[0]
...         return Outcome.PLANNED.value
>>> simulate(paper_instance("nu"), [Even(), "olp"], horizon=200, epochs=2).policies
('even', 'olp')
"""

from arcbandit.compilation.compile import kernel, rare_kernel
from arcbandit.kernels.confidence import (
    ByPair,
    Statistics,
    bounds_for_unplayed,
    every_pair_played,
    explore_unplayed,
    radius_factor,
)
from arcbandit.kernels.counter import Purpose, standard_normal, uniforms
from arcbandit.kernels.memory import Memory
from arcbandit.kernels.planner import Coefficient, Place, Planner, set_leans
from arcbandit.kernels.program import NO_FLOOR, PlanStatus
from arcbandit.policies.base import Policy
from arcbandit.policies.dials import Dial
from arcbandit.policies.learner import KnownProblem, Learner, Outcome, Progress, Rows, Stream
from arcbandit.policies.plans import (
    begin_planning,
    explore,
    outcome_of_fallback,
    plan_as_written,
    plan_with_bounds,
    play_alike,
    reward_bounds,
)
from arcbandit.policies.proven import Proven

__all__ = [
    "NO_FLOOR",
    "ByPair",
    "Coefficient",
    "Dial",
    "KnownProblem",
    "Learner",
    "Memory",
    "Outcome",
    "Place",
    "PlanStatus",
    "Planner",
    "Policy",
    "Progress",
    "Proven",
    "Purpose",
    "Rows",
    "Statistics",
    "Stream",
    "begin_planning",
    "bounds_for_unplayed",
    "every_pair_played",
    "explore",
    "explore_unplayed",
    "kernel",
    "outcome_of_fallback",
    "plan_as_written",
    "plan_with_bounds",
    "play_alike",
    "radius_factor",
    "rare_kernel",
    "reward_bounds",
    "set_leans",
    "standard_normal",
    "uniforms",
]
