"""Contextual bandits that guarantee every arm a minimum revenue."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from arcbandit.errors import (
    ArcbanditError,
    EnumerationLimitError,
    InfeasibleError,
    InvalidInputError,
    InvalidInstanceError,
    MissingExtraError,
    PlanningError,
    UnknownNameError,
)
from arcbandit.version import __version__

if TYPE_CHECKING:
    from arcbandit.experiments.paper_instances import paper_instance
    from arcbandit.floors import GroupFloor
    from arcbandit.instance import Instance
    from arcbandit.oracle import Analysis, analyse
    from arcbandit.planning import Plan, Planner, PlanStatus, QuickPlan, plan, solve_lp
    from arcbandit.policies.bandit_q import BanditQ
    from arcbandit.policies.base import Decision, Policy
    from arcbandit.policies.blp import BLP
    from arcbandit.policies.doc import DOC
    from arcbandit.policies.drift_plus_penalty import DriftPlusPenalty
    from arcbandit.policies.greedy import Greedy
    from arcbandit.policies.lagrange_cb import LagrangeCB
    from arcbandit.policies.linear_program import LinearProgramRule
    from arcbandit.policies.loe2d import LOE2D
    from arcbandit.policies.olp import OLP
    from arcbandit.policies.oplp import OPLP
    from arcbandit.policies.optimistic3 import Optimistic3
    from arcbandit.policies.registry import policy, restore
    from arcbandit.policies.sgoc import SGOC
    from arcbandit.policies.spoc import SPOC
    from arcbandit.policies.thompson_lp import ThompsonLP
    from arcbandit.simulation.audit import Audit, audit
    from arcbandit.simulation.rewards import ObservedRewards
    from arcbandit.simulation.run import simulate
    from arcbandit.simulation.summary import Summary
    from arcbandit.simulation.trace import Trace

__all__ = [
    "BLP",
    "DOC",
    "LOE2D",
    "OLP",
    "OPLP",
    "SGOC",
    "SPOC",
    "Analysis",
    "ArcbanditError",
    "Audit",
    "BanditQ",
    "Decision",
    "DriftPlusPenalty",
    "EnumerationLimitError",
    "Greedy",
    "GroupFloor",
    "InfeasibleError",
    "Instance",
    "InvalidInputError",
    "InvalidInstanceError",
    "LagrangeCB",
    "LinearProgramRule",
    "MissingExtraError",
    "ObservedRewards",
    "Optimistic3",
    "Plan",
    "PlanStatus",
    "Planner",
    "PlanningError",
    "Policy",
    "QuickPlan",
    "Summary",
    "ThompsonLP",
    "Trace",
    "UnknownNameError",
    "__version__",
    "analyse",
    "audit",
    "paper_instance",
    "plan",
    "policy",
    "restore",
    "simulate",
    "solve_lp",
]

# Loaded on first use: the compiler alone takes longer to import than a command may take to answer.
_HOME = {
    "Analysis": "arcbandit.oracle",
    "Audit": "arcbandit.simulation.audit",
    "BLP": "arcbandit.policies.blp",
    "BanditQ": "arcbandit.policies.bandit_q",
    "DOC": "arcbandit.policies.doc",
    "Decision": "arcbandit.policies.base",
    "DriftPlusPenalty": "arcbandit.policies.drift_plus_penalty",
    "Greedy": "arcbandit.policies.greedy",
    "GroupFloor": "arcbandit.floors",
    "Instance": "arcbandit.instance",
    "LOE2D": "arcbandit.policies.loe2d",
    "LagrangeCB": "arcbandit.policies.lagrange_cb",
    "LinearProgramRule": "arcbandit.policies.linear_program",
    "OLP": "arcbandit.policies.olp",
    "OPLP": "arcbandit.policies.oplp",
    "ObservedRewards": "arcbandit.simulation.rewards",
    "Optimistic3": "arcbandit.policies.optimistic3",
    "Plan": "arcbandit.planning",
    "PlanStatus": "arcbandit.planning",
    "Planner": "arcbandit.planning",
    "Policy": "arcbandit.policies.base",
    "QuickPlan": "arcbandit.planning",
    "SGOC": "arcbandit.policies.sgoc",
    "SPOC": "arcbandit.policies.spoc",
    "Summary": "arcbandit.simulation.summary",
    "ThompsonLP": "arcbandit.policies.thompson_lp",
    "Trace": "arcbandit.simulation.trace",
    "analyse": "arcbandit.oracle",
    "audit": "arcbandit.simulation.audit",
    "paper_instance": "arcbandit.experiments.paper_instances",
    "plan": "arcbandit.planning",
    "policy": "arcbandit.policies.registry",
    "restore": "arcbandit.policies.registry",
    "simulate": "arcbandit.simulation.run",
    "solve_lp": "arcbandit.planning",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
