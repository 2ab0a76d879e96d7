"""What the HTTP API takes and gives, as types that check requests and make the OpenAPI document."""

from typing import Annotated, Any, Literal

import msgspec

from arcbandit.service.campaigns import DAY
from arcbandit.service.changes import LARGEST_COUNT, Name

CAMPAIGN_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}(?!\n)$"  # to Python, `$` is also before a last line break
LONGEST_REQUEST_ID = 200
MOST_REWARDS = 1000  # in one request
MOST_EXCLUDED = 1000

CampaignName = Annotated[str, msgspec.Meta(pattern=CAMPAIGN_NAME)]
Positive = Annotated[float, msgspec.Meta(gt=0, le=1e9)]
Count = Annotated[int, msgspec.Meta(ge=1, le=LARGEST_COUNT)]


class Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A body that is taken; a field that nobody knows is refused, for it may be misspelt."""


class Answer(msgspec.Struct, frozen=True):
    """A body that is given."""


class GroupFloorBody(Request, frozen=True):
    """A floor that several arms share."""

    name: Name
    arms: list[Name]
    floor: float


class CreateCampaign(Request, frozen=True):
    """A new campaign: arms with their floors and contexts, or an `instance`, or the `snapshot` of a policy.

    Contexts are names, or names with their probabilities; without these, probabilities are estimated.
    """

    name: CampaignName
    floors: dict[Name, float] | None = None
    contexts: list[Name] | dict[Name, float] | None = None
    group_floors: list[GroupFloorBody] = []
    instance: dict[str, Any] | None = None
    snapshot: dict[str, Any] | None = None
    policy: Name = "blp"
    dials: dict[Name, float | str] = {}
    reward_bounds: tuple[float, float] | None = None
    noise_scale: float | Literal["estimate"] | None = None
    mean_bound: float | None = None
    horizon: Count | None = None
    memory: float | None = None
    when_infeasible: Literal["least_shortfall", "same_share"] = "least_shortfall"
    exploration_budget: float = 1.0
    known_after: Annotated[int, msgspec.Meta(ge=0, le=LARGEST_COUNT)] = 200
    reward_window_seconds: Positive | None = None
    default_reward: float | None = None
    retention_seconds: Positive = 30 * DAY
    admit_contexts: Annotated[int, msgspec.Meta(ge=0, le=10_000)] = 0
    replan_every_seconds: Positive = 1.0
    replan_after_rewards: Count = 1000


class FloorAnswer(Answer, frozen=True):
    """A promise."""

    name: str
    kind: str
    arms: list[str]
    floor: float


class CampaignAnswer(Answer, frozen=True):
    """A campaign."""

    name: str
    revision: int
    policy: str
    dials: dict[str, float | str]
    noise_scale: float | str | None  # None: that of the reward bounds
    arms: list[str]
    retired_arms: list[str]
    contexts: list[str]
    dropped_contexts: list[str]
    floors: list[FloorAnswer]
    reward_bounds: tuple[float, float] | None
    reward_window_seconds: float | None
    default_reward: float | None
    retention_seconds: float
    admit_contexts: int
    replan_every_seconds: float
    replan_after_rewards: int
    plan_version: int


class CampaignsAnswer(Answer, frozen=True):
    """Every campaign."""

    campaigns: list[CampaignAnswer]


class Decide(Request, frozen=True):
    """Which arm to show in a context."""

    context: Name
    request_id: Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_REQUEST_ID)] | None = None
    excluded_arms: Annotated[list[Name], msgspec.Meta(max_length=MOST_EXCLUDED)] = []


class DecideAnswer(Answer, frozen=True):
    """A decision that is on disk."""

    decision_id: str
    arm: str
    probability: float
    plan_version: int
    how: str
    repeated: bool  # whether it was made for an earlier request with the same id


class RewardBody(Request, frozen=True):
    """The reward of a decision."""

    decision_id: Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
    reward: float


class RewardsBody(Request, frozen=True):
    """Rewards of many decisions."""

    rewards: Annotated[list[RewardBody], msgspec.Meta(min_length=1, max_length=MOST_REWARDS)]


RewardOutcome = Literal["counted", "replaced_default", "repeated"]


class RewardAnswer(Answer, frozen=True):
    """What became of a reward; it is on disk."""

    decision_id: str
    outcome: RewardOutcome


class ErrorBody(Answer, frozen=True, omit_defaults=True):
    """What is wrong."""

    code: str
    message: str
    field: str | None = None


class ErrorAnswer(Answer, frozen=True):
    """The one shape of every error."""

    error: ErrorBody


class RewardResult(Answer, frozen=True, omit_defaults=True):
    """What became of one of many rewards: an outcome, or an error."""

    decision_id: str
    status: int
    outcome: RewardOutcome | None = None
    error: ErrorBody | None = None


class RewardsAnswer(Answer, frozen=True):
    """What became of many rewards, in their order."""

    results: list[RewardResult]


class LocalDecisionBody(Request, frozen=True):
    """A decision that a client drew from a plan, with the number that it drew."""

    request_id: Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_REQUEST_ID)]
    context: Name
    arm: Name
    probability: Annotated[float, msgspec.Meta(gt=0, le=1)]
    plan_version: Annotated[int, msgspec.Meta(ge=1, le=10**18)]
    uniform: Annotated[float, msgspec.Meta(ge=0, lt=1)]
    excluded_arms: Annotated[list[Name], msgspec.Meta(max_length=MOST_EXCLUDED)] = []


class Report(Request, frozen=True):
    """Decisions that a client made."""

    decisions: Annotated[list[LocalDecisionBody], msgspec.Meta(min_length=1, max_length=MOST_REWARDS)]


class ReportedResult(Answer, frozen=True, omit_defaults=True):
    """What became of a decision that was reported: its id, or an error."""

    request_id: str
    status: int
    decision_id: str | None = None
    repeated: bool | None = None  # whether it was reported before
    error: ErrorBody | None = None


class ReportAnswer(Answer, frozen=True):
    """What became of many reported decisions, in their order; those that have an id are on disk."""

    results: list[ReportedResult]


class PlanAnswer(Answer, frozen=True):
    """A plan: shares by arm (rows) and context (columns), and what is known of it."""

    version: int
    revision: int
    how: str
    made_at: float  # seconds since 1970
    age_seconds: float
    is_stale: bool  # made for an earlier revision, or no newer one was made when it was due
    decisions: int  # that it was made from
    rewards: int
    arms: list[str]
    contexts: list[str]
    allocation: list[list[float]]
    certificate: dict[str, Any] | None
    expected_revenue: float | None
    best_value: float | None
    revenue_with_floors: float | None  # of the best plan by the means so far; the difference is what floors cost
    revenue_without_floors: float | None
    context_probabilities: list[float] | None
    floors: list[dict[str, Any]]
    conflicting_floors: list[str]
    attainable_share: float | None
    warnings: list[str]
    replan_every_seconds: float | None = None  # how often there may be a new plan
    overdue_seconds: float | None = None  # for how long a newer one has been due; none where another process plans
    is_late: bool = False  # whether that is longer than a whole turn


class FloorMoment(Answer, frozen=True):
    """A promise when a plan was made: revenue per round, but for `earned`, which is the sum until then."""

    name: str
    floor: float
    expected: float  # under that plan, by the means of then
    low: float | None  # the 95 % interval of `expected`; none if a pair is played of which nothing is known
    high: float | None
    earned: float


class HistoryPoint(Answer, frozen=True):
    """A plan that is or was in force, and what every promise was then."""

    plan_version: int
    made_at: float  # seconds since 1970
    decisions: int
    rewards: int
    floors: list[FloorMoment]


class HistoryAnswer(Answer, frozen=True):
    """Some of the plans so far, evenly spaced by version, the one in force last."""

    points: list[HistoryPoint]


class PairAnswer(Answer, frozen=True):
    """What is known of an arm in a context; sums are exact, in millionths."""

    arm: str
    context: str
    decisions: int
    rewards: int
    total_micro: int
    squares_micro: str  # of millionths, which go beyond what most readers of JSON can hold
    mean: float | None


class StatisticsAnswer(Answer, frozen=True):
    """What was counted."""

    decisions: int
    rewards: int
    revenue: float
    pairs: list[PairAnswer]


class WhatIf(Request, frozen=True):
    """Other floors, by the name of an arm or a group; those that are not named stay."""

    floors: dict[Name, float]


class ReadyAnswer(Answer, frozen=True):
    """Whether the service can answer."""

    ready: bool
    reasons: list[str]
    warnings: list[str]  # what is wrong though decisions are made: plans that are not as new as they should be
