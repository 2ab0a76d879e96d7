"""A campaign: what was agreed, the plan in force, and what both make of a request. Immutable, swapped by reference."""

import functools
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from arcbandit.service.amounts import micro_of
from arcbandit.service.clock import SECOND
from arcbandit.service.drawing import Shares, drawn, shares_of, without

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

STARTING, ADJUSTED = "starting", "adjusted"  # how plans came about that no rule made
DAY = 86_400.0


class CampaignSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a campaign is told beside its policy."""

    reward_window_seconds: float | None = None  # after which the default reward counts
    default_reward: float | None = None
    retention_seconds: float = 30 * DAY  # for how long after a decision its reward is taken
    admit_contexts: int = 0  # how many contexts may come by a name never seen
    replan_every_seconds: float = 1.0
    replan_after_rewards: int = 1000

    @property
    def window(self) -> int | None:
        """The reward window in microseconds, if there is a default reward."""
        if self.reward_window_seconds is None or self.default_reward is None:
            return None
        return round(self.reward_window_seconds * SECOND)

    @property
    def retention(self) -> int:
        """The retention in microseconds."""
        return round(self.retention_seconds * SECOND)

    @property
    def default_micro(self) -> int:
        """The default reward in millionths."""
        return micro_of(self.default_reward or 0.0)


class CampaignRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A campaign as a store keeps it.

    `policy` is the snapshot of a library policy that has all arms, contexts, floors and settings, and has seen nothing
    of what the service saw: the statistics of the store are added to it for every plan.
    """

    id: int
    name: str
    revision: int  # how often it was changed
    created_at: int
    settings: CampaignSettings
    policy: dict[str, Any]
    admitted: int = 0  # contexts that came by a name never seen


class PlanRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A plan as a store keeps it."""

    version: int
    revision: int  # of the campaign that it was made for
    made_at: int
    decisions: int  # the watermark: how many decisions and rewards the plan was made from
    rewards: int
    how: str
    n_contexts: int
    allocation: bytes  # float64, little-endian, arms are rows
    document: dict[str, Any] = {}  # prices, certificate and whatever else is shown of it

    @property
    def matrix(self) -> Floats:
        """The allocation, shape (K, C)."""
        return np.frombuffer(self.allocation, dtype="<f8").reshape(-1, self.n_contexts)


def bytes_of(allocation: Floats) -> bytes:
    """An allocation as a PlanRecord keeps it."""
    return np.ascontiguousarray(allocation, dtype="<f8").tobytes()


class Draw(msgspec.Struct, frozen=True):
    """An arm that was drawn."""

    arm: int
    probability: float


class Campaign:
    """A campaign with its plan in force, ready to decide."""

    def __init__(self, record: CampaignRecord, plan: PlanRecord) -> None:
        self.record = record
        self.plan = plan
        told: Mapping[str, Any] = record.policy["configuration"]
        self.arms: tuple[str, ...] = tuple(told["arms"])
        self.contexts: tuple[str, ...] = tuple(told["contexts"])
        self.retired = frozenset(told["retired"])
        self.dropped = frozenset(told["dropped"])
        self.arm_rows = {name: row for row, name in enumerate(self.arms)}
        self.columns = {name: column for column, name in enumerate(self.contexts) if column not in self.dropped}
        self.reward_bounds: tuple[float, float] | None = (
            None if told["reward_bounds"] is None else (told["reward_bounds"][0], told["reward_bounds"][1])
        )
        matrix = plan.matrix
        self._shares: list[Shares | None] = [None] * matrix.shape[1]
        self._matrix = matrix

    @functools.cached_property
    def playable(self) -> Flags:
        """Which pairs may be played, shape (K, C)."""
        return playable_pairs(self.record.policy)

    def shares(self, column: int) -> Shares:
        """What is drawn from in a context; looked up once for each plan and context."""
        found = self._shares[column]
        if found is None:
            found = self._shares[column] = shares_of(self._matrix[:, column].tolist())
        return found

    def draw(self, column: int, excluded: frozenset[int], uniform: float) -> Draw | None:
        """The arm that a uniform number chooses in a context; None if every playable arm is excluded."""
        shares: Shares | None = self.shares(column)
        if excluded and shares is not None:
            shares = without(shares, excluded, np.flatnonzero(self.playable[:, column]).tolist())
        return None if shares is None else Draw(*drawn(shares, uniform))

    def with_plan(self, plan: PlanRecord) -> "Campaign":
        """The campaign with another plan in force."""
        return Campaign(self.record, plan)


def playable_pairs(policy: Mapping[str, Any]) -> Flags:
    """Which pairs of a policy's snapshot may be played."""
    told = policy["configuration"]
    allowed = np.array(told["available"], dtype=np.bool_)
    allowed[told["retired"], :] = False
    allowed[:, told["dropped"]] = False
    return allowed


def first_plan(record: CampaignRecord, now: int) -> PlanRecord:
    """The plan before anything is known: in every context, all arms equally."""
    return _plan_by_hand(record, np.zeros((0, 0)), None, now, STARTING)


def adjusted_plan(record: CampaignRecord, plan: PlanRecord, now: int) -> PlanRecord:
    """The last plan, without the pairs that a change of the campaign no longer allows, until there is a new one.

    A context that has nothing left is shared equally.
    """
    return _plan_by_hand(record, plan.matrix, plan, now, ADJUSTED)


def _plan_by_hand(record: CampaignRecord, before: Floats, plan: PlanRecord | None, now: int, how: str) -> PlanRecord:
    allowed = playable_pairs(record.policy)
    shares = np.zeros(allowed.shape)
    n_arms, n_contexts = before.shape
    shares[:n_arms, :n_contexts] = before
    shares[~allowed] = 0.0
    totals = shares.sum(axis=0)
    alike = allowed / np.maximum(allowed.sum(axis=0), 1)
    kept = np.divide(shares, totals, out=np.zeros_like(shares), where=totals > 0.0)
    untouched = np.zeros(allowed.shape[1], dtype=np.bool_)
    untouched[:n_contexts] = (shares[:n_arms, :n_contexts] == before).all(axis=0)
    # A column that a change does not touch stays as it is, to the last bit.
    allocation = np.where(untouched & (totals > 0.0), shares, np.where(totals > 0.0, kept, alike))
    return PlanRecord(
        version=1 if plan is None else plan.version + 1,
        revision=record.revision,
        made_at=now,
        decisions=0 if plan is None else plan.decisions,
        rewards=0 if plan is None else plan.rewards,
        how=how,
        n_contexts=allowed.shape[1],
        allocation=bytes_of(allocation),
    )
