"""What a store must do, and promise: as any does that passes `arcbandit.service.contract`, here SQLite and PostgreSQL.

What a call returns without an error is on disk: it survives a crash of the process and a loss of power. A call that
raises has changed nothing. Decisions and rewards of many callers may share one commit; none sees half of another.
"""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import msgspec

from arcbandit.service.amounts import PairTotals
from arcbandit.service.campaigns import CampaignRecord, CampaignSettings, PlanRecord
from arcbandit.service.clock import SECOND
from arcbandit.service.judgement import Verdict

REQUEST_MEMORY = 24 * 3600 * SECOND  # for how long a request id gives the same decision, in microseconds


class DecisionDraft(NamedTuple):
    """A decision that was drawn, and is to be recorded."""

    campaign: int
    context: int
    arm: int
    probability: float
    uniform: float
    plan_version: int
    excluded: tuple[int, ...] = ()  # arms, sorted
    request_id: str | None = None


class DecisionRecord(NamedTuple):
    """A decision that is on disk."""

    sequence: int
    campaign: int
    context: int
    arm: int
    probability: float
    uniform: float
    plan_version: int
    time: int  # of the store, in microseconds
    excluded: tuple[int, ...]


class LoggedDecision(NamedTuple):
    """A decision with what became of it."""

    decision: DecisionRecord
    reward: int | None  # in millionths, also if it is the default
    is_default: bool


class Arrival(NamedTuple):
    """A reward in the order in which rewards arrived."""

    arrival: int
    context: int
    arm: int
    micro: int


class RewardDraft(NamedTuple):
    """A reward that is to be counted; `sequence` is None for an id that was never given out."""

    sequence: int | None
    micro: int


class DefaultsCounted(NamedTuple):
    """What a look for default rewards that are due found."""

    looked_at: int  # decisions; none if there is nothing more to do
    counted: dict[int, int]  # by campaign: default rewards, where there were any


class LearnerRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a rule keeps beyond statistics, from one plan to the next."""

    revision: int  # of the campaign that it has seen
    arrival: int  # of the last reward that it has seen
    snapshot: dict[str, Any]


class Statistics(NamedTuple):
    """The totals of a campaign at one moment: pairs that never came are left out."""

    campaign: CampaignRecord
    plan: PlanRecord
    pairs: dict[tuple[int, int], PairTotals]  # by arm and context
    learner: LearnerRecord | None = None  # if the last plan left one
    changes: tuple[dict[str, Any], ...] = ()  # of the campaign that the learner has not seen
    learner_is_lost: bool = False  # whether the last plan left one that cannot be read

    @property
    def decisions(self) -> int:
        """How many decisions there were."""
        return sum(pair.decisions for pair in self.pairs.values())

    @property
    def rewards(self) -> int:
        """How many rewards were counted, defaults included."""
        return sum(pair.rewards for pair in self.pairs.values())


class TokenRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An access token, of which only the hash is kept."""

    name: str
    digest: bytes
    scopes: tuple[str, ...]
    created_at: int


class Reader(Protocol):
    """Reads a store from any process; every call sees one moment."""

    def campaigns(self) -> list[tuple[CampaignRecord, PlanRecord]]:
        """Every campaign with the plan in force."""

    def plan(self, campaign: int, version: int) -> PlanRecord | None:
        """A plan that is or was in force."""

    def statistics(self, campaign: int) -> Statistics:
        """The statistics of a campaign, with the campaign and the plan of the same moment."""

    def decisions(self, campaign: int, after: int = 0) -> Iterator[LoggedDecision]:
        """The decisions after this sequence number, in order, with their rewards.

        Where several processes write, a later call may find further decisions with lower numbers.
        """

    def arrivals(self, campaign: int, after: int, until: int) -> Iterator[Arrival]:
        """The rewards that arrived after one and up to another, in the order of arrival, defaults left out.

        Rewards of one commit may have the same arrival.
        """

    def last_arrival(self) -> int:
        """The arrival up to which no reward is still on its way to the disk."""

    def tokens(self) -> list[TokenRecord]:
        """The access tokens."""

    def key(self) -> bytes:
        """The key that signs decision ids."""

    def close(self) -> None:
        """Let go of the store."""


class Store(Protocol):
    """Keeps campaigns, plans, decisions, rewards and tokens."""

    key: bytes  # that signs decision ids

    @property
    def is_writable(self) -> bool:
        """False after a commit that the disk had no room for, until one succeeds."""

    def now(self) -> int:
        """The time of the store in microseconds, by which windows are measured; it never goes back."""

    async def record_decision(self, draft: DecisionDraft) -> tuple[DecisionRecord, bool]:
        """Record a decision, or find the one that was made for its request id; with whether it was found.

        A request id is remembered for REQUEST_MEMORY. If it came with another context or other excluded arms, raise
        RequestIdUsedError.
        """

    async def decision_of(self, campaign: int, request_id: str) -> DecisionRecord | None:
        """The decision that was made for a request id which is still remembered, if there is one."""

    async def record_rewards(self, campaign: int, rewards: Sequence[RewardDraft]) -> list[Verdict]:
        """Count each reward once, as `judged` says; the statistics change in the same commit."""

    async def create_campaign(
        self, name: str, settings: CampaignSettings, policy: dict[str, Any]
    ) -> tuple[CampaignRecord, PlanRecord]:
        """A new campaign with a first plan, or NameTakenError."""

    async def change_campaign(
        self, before: CampaignRecord, policy: dict[str, Any], change: dict[str, Any], admitted: int
    ) -> tuple[CampaignRecord, PlanRecord]:
        """The campaign with a changed policy and an adjusted plan; StaleError if `before` is not in force."""

    async def publish_plan(self, campaign: int, plan: PlanRecord, learner: LearnerRecord | None = None) -> PlanRecord:
        """Put a plan in force if its version is the next one and its revision that in force; otherwise StaleError.

        What its rule keeps is stored with it.
        """

    async def load(self) -> list[tuple[CampaignRecord, PlanRecord]]:
        """Every campaign with the plan in force."""

    async def plan(self, campaign: int, version: int) -> PlanRecord | None:
        """A plan that is or was in force."""

    async def count_defaults(self, limit: int) -> DefaultsCounted:
        """Count the default reward of decisions whose window is over, of at most so many per campaign."""

    async def forget_requests(self, limit: int) -> int:
        """Forget request ids that are older than REQUEST_MEMORY, at most so many; how many were."""

    async def touch(self) -> None:
        """Write a little, to see whether the disk has room again."""

    async def tokens(self) -> list[TokenRecord]:
        """The access tokens."""

    async def statistics(self, campaign: int) -> Statistics:
        """As `Reader.statistics`."""

    def reader(self) -> Reader:
        """A reader for another thread."""

    async def close(self) -> None:
        """Commit what waits, and let go of the store."""

    def close_now(self) -> None:
        """As `close`, for callers without an event loop."""


class Version(NamedTuple):
    """How far a campaign is, by which a replica sees whether it has missed something."""

    campaign: int
    plan_version: int  # which every change of the campaign raises too
    rewards: int  # counted by any replica, where totals are asked for
    total: int


@runtime_checkable
class SharedStore(Protocol):
    """What a store can do besides if several processes may write to it at once."""

    changed: asyncio.Event  # set when another process may have changed a campaign or its plan

    async def versions(self, with_totals: bool) -> list[Version]:
        """How far every campaign is."""

    async def load_some(self, numbers: list[int]) -> list[tuple[CampaignRecord, PlanRecord]]:
        """The campaigns of these numbers, with the plans in force."""

    async def lead(self) -> bool:
        """Become the one process that plans, or stay it; False if another is."""
