"""The keyword arguments of policies as type checkers see them, so that a misspelt one is found before it runs.

`Policy` itself takes any dial; a class of this room lists its own by one of these, in a signature for type checkers
alone. `tests/policies/test_settings.py` compares them with what the classes take.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, TypedDict

from arcbandit.floors import GroupFloor
from arcbandit.policies.forgetting import Window

if TYPE_CHECKING:
    from arcbandit.inputs.frames import Table

Replan = Literal["always", "doubling"] | int
PolicyName = Literal[
    "blp",
    "greedy",
    "linear-program",
    "olp",
    "oplp",
    "priced-lp",
    "thompson-lp",
    "bandit-q",
    "doc",
    "drift-plus-penalty",
    "lagrange-cb",
    "loe2d",
    "optimistic3",
    "sgoc",
    "spoc",
]


class Settings(TypedDict, total=False):
    """The keyword arguments of every policy."""

    arms: Sequence[str] | None
    contexts: Sequence[str] | int | None
    group_floors: Iterable[GroupFloor]
    noise_scale: float | Literal["estimate"] | None
    reward_bounds: tuple[float, float] | None
    mean_bound: float | None
    horizon: float | None  # a whole number, also 1e5
    available: "Table | None"
    estimate_contexts: bool
    replan: Replan
    when_infeasible: Literal["least_shortfall", "same_share"]
    admit_contexts: int
    memory: float | Window | None
    exploration_budget: float
    known_after: int
    guarantee: bool
    seed: int | None
    epoch: int
    worker: int


class LinearProgramSettings(Settings, total=False):
    """Those of `LinearProgramRule`."""

    optimism: float
    caution: float


class ThompsonLPSettings(Settings, total=False):
    """Those of `ThompsonLP`."""

    share: float
    redraws: int


class PricedLPSettings(Settings, total=False):
    """Those of `PricedLP`."""

    exploration: float
    violation_weight: float
    price_memory: float
    price_reach: float
    price_caution: float
    count_floor: float
    count_reach: float


class BanditQSettings(Settings, total=False):
    """Those of `BanditQ`."""

    rate_scale: float


class ContextFreeSettings(Settings, total=False):
    """Those of `DOC`."""

    confidence: float
    noise_factor: float


class ScaledSharesSettings(ContextFreeSettings, total=False):
    """Those of `SGOC` and `SPOC`."""

    shares: Literal["own", "ucb"]


class DriftPlusPenaltySettings(Settings, total=False):
    """Those of `DriftPlusPenalty`."""

    penalty_scale: float


class LagrangeCBSettings(Settings, total=False):
    """Those of `LagrangeCB`."""

    margin: float
    exploration_scale: float
    dual_scale: float


class LOE2DSettings(Settings, total=False):
    """Those of `LOE2D`."""

    penalty_scale: float
    exploration_scale: float


class Optimistic3Settings(Settings, total=False):
    """Those of `Optimistic3`."""

    alpha: float
    dual: Literal["expected", "context", "realised"]
