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

if TYPE_CHECKING:
    from arcbandit.experiments.paper_instances import paper_instance
    from arcbandit.instance import GroupFloor, Instance
    from arcbandit.oracle import Analysis, analyse
    from arcbandit.planning import Plan, PlanStatus, plan, solve_lp

__version__ = "0.1.0"

__all__ = [
    "Analysis",
    "ArcbanditError",
    "EnumerationLimitError",
    "GroupFloor",
    "InfeasibleError",
    "Instance",
    "InvalidInputError",
    "InvalidInstanceError",
    "MissingExtraError",
    "Plan",
    "PlanStatus",
    "PlanningError",
    "UnknownNameError",
    "__version__",
    "analyse",
    "paper_instance",
    "plan",
    "solve_lp",
]

# Loaded on first use: the compiler alone takes longer to import than a command may take to answer.
_HOME = {
    "Analysis": "arcbandit.oracle",
    "GroupFloor": "arcbandit.instance",
    "Instance": "arcbandit.instance",
    "Plan": "arcbandit.planning",
    "PlanStatus": "arcbandit.planning",
    "analyse": "arcbandit.oracle",
    "paper_instance": "arcbandit.experiments.paper_instances",
    "plan": "arcbandit.planning",
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
