"""Reading a PostgreSQL store: by the service itself, and from any other process."""

import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

import asyncpg
import msgspec

from arcbandit.errors import StoreError, UnknownNameError
from arcbandit.service.amounts import PairTotals
from arcbandit.service.campaigns import CampaignRecord, PlanRecord
from arcbandit.service.postgres_connection import LOST, Address, Connection, LoopThread, connected, dropped, explained
from arcbandit.service.postgres_schema import require_store
from arcbandit.service.records import campaign_of, decision_of, learner_of, plan_of
from arcbandit.service.store import Arrival, LoggedDecision, Statistics, TokenRecord, Version

Value = TypeVar("Value")

ROWS_AT_A_TIME = 2000
FIND_CAMPAIGN = "SELECT id, name, revision, created_at, settings, policy, admitted, plan_version FROM campaigns"
DECISION = "d.sequence, d.campaign, d.context, d.arm, d.probability, d.uniform, d.plan_version, d.time, d.excluded"
LOGGED = (
    f"SELECT {DECISION}, o.reward, o.default_reward FROM decisions d LEFT JOIN outcomes o ON o.sequence = d.sequence "
    "WHERE d.campaign = $1 AND d.sequence > $2 ORDER BY d.sequence LIMIT $3"
)
ARRIVALS = (
    "SELECT o.arrival, d.context, d.arm, o.reward, o.sequence FROM outcomes o JOIN decisions d "
    "ON d.sequence = o.sequence WHERE o.reward IS NOT NULL AND (o.arrival, o.sequence) > ($1, $2) AND o.arrival <= $3 "
    "AND d.campaign = $4 ORDER BY o.arrival, o.sequence LIMIT $5"
)
# Below the oldest transaction that is under way, every transaction is over: nothing can still appear there.
SETTLED = (
    "SELECT convert_from(value, 'UTF8')::bigint + pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1 "
    "FROM meta WHERE name = 'arrivals'"
)
LARGEST = 2**63 - 1


async def plan_in_force(connection: Connection, row: Any) -> tuple[CampaignRecord, PlanRecord]:
    """The campaign of a row, with its plan."""
    record, version = campaign_of(row)
    found = await plan_of_version(connection, record.id, version)
    assert found is not None
    return record, found


async def plan_of_version(connection: Connection, campaign: int, version: int) -> PlanRecord | None:
    """A plan that is or was in force."""
    blob = await connection.fetchval(
        "SELECT plan FROM plans WHERE campaign = $1 AND version = $2", campaign, min(version, LARGEST)
    )
    return None if blob is None else plan_of(blob)


async def campaigns_of(connection: Connection, numbers: list[int] | None = None) -> Any:
    """Campaigns with their plans in force, all or some."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        if numbers is None:
            rows = await connection.fetch(f"{FIND_CAMPAIGN} ORDER BY id")
        else:
            rows = await connection.fetch(f"{FIND_CAMPAIGN} WHERE id = ANY($1) ORDER BY id", numbers)
        return [await plan_in_force(connection, row) for row in rows]


async def versions_of(connection: Connection, with_totals: bool) -> list[Version]:
    """How far every campaign is; only who plans needs to know what was counted."""
    if not with_totals:
        rows = await connection.fetch("SELECT id, plan_version FROM campaigns")
        return [Version(campaign, version, 0, 0) for campaign, version in rows]
    rows = await connection.fetch(
        "SELECT c.id, c.plan_version, coalesce(sum(s.rewards), 0), coalesce(sum(s.total), 0) FROM campaigns c "
        "LEFT JOIN statistics s ON s.campaign = c.id GROUP BY c.id"
    )
    return [Version(campaign, version, int(rewards), int(total)) for campaign, version, rewards, total in rows]


async def statistics_of(connection: Connection, campaign: int) -> Statistics:
    """The statistics of a campaign, with the campaign and the plan of the same moment."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        row = await connection.fetchrow(f"{FIND_CAMPAIGN} WHERE id = $1", campaign)
        if row is None:
            raise UnknownNameError(f"There is no campaign with the number {campaign}.")
        record, plan = await plan_in_force(connection, row)
        rows = await connection.fetch(
            "SELECT arm, context, decisions, rewards, total, squares FROM statistics WHERE campaign = $1", campaign
        )
        blob = await connection.fetchval("SELECT learner FROM learners WHERE campaign = $1", campaign)
        learner = None if blob is None else learner_of(blob)
        seen = record.revision if learner is None else learner.revision
        changes = await connection.fetch(
            "SELECT change FROM changes WHERE campaign = $1 AND revision > $2 ORDER BY revision", campaign, seen
        )
    pairs = {
        (arm, context): PairTotals(decisions, rewards, int(total), int(squares))
        for arm, context, decisions, rewards, total, squares in rows
    }
    told = tuple(msgspec.json.decode(change) for (change,) in changes)
    return Statistics(record, plan, pairs, learner, told, blob is not None and learner is None)


async def tokens_of(connection: Connection) -> list[TokenRecord]:
    """The access tokens."""
    rows = await connection.fetch("SELECT name, digest, scopes, created_at FROM tokens")
    return [TokenRecord(name, digest, tuple(scopes.split(" ")), at) for name, digest, scopes, at in rows]


class PostgresReader:
    """Reads a PostgreSQL store, from any process, while others write."""

    def __init__(self, url: str, on_close: Callable[["PostgresReader"], None] | None = None) -> None:
        self._address = Address(url)
        self._on_close = on_close
        self._thread = LoopThread()
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        try:
            self._connection = self._thread.call(self._opened())
        except BaseException:
            self._thread.close()
            raise

    async def _opened(self) -> Connection:
        made = await connected(self._address)
        try:
            await require_store(made, self._address)
        except BaseException:
            await dropped(made)
            raise
        return made

    def _read(self, read: Callable[..., Coroutine[Any, Any, Value]], *arguments: Any) -> Value:
        with self._lock:
            if self._connection is None:
                raise StoreError("The store is closed.")
            try:
                return self._thread.call(read(self._connection, *arguments))
            except (asyncpg.PostgresError, *LOST) as error:
                raise explained(error) from error

    async def _fetch(self, connection: Connection, query: str, *arguments: Any) -> list[Any]:
        found: list[Any] = await connection.fetch(query, *arguments)
        return found

    def campaigns(self) -> list[tuple[CampaignRecord, PlanRecord]]:
        """Every campaign with the plan in force."""
        found: list[tuple[CampaignRecord, PlanRecord]] = self._read(campaigns_of)
        return found

    def plan(self, campaign: int, version: int) -> PlanRecord | None:
        """A plan that is or was in force."""
        return self._read(plan_of_version, campaign, version)

    def statistics(self, campaign: int) -> Statistics:
        """The statistics of a campaign, with the campaign and the plan of the same moment."""
        return self._read(statistics_of, campaign)

    def decisions(self, campaign: int, after: int = 0) -> Iterator[LoggedDecision]:
        """The decisions after this sequence number, in order, with their rewards.

        Replicas number decisions from blocks of their own: a later call may find decisions with lower numbers too.
        """
        while True:
            rows = self._read(self._fetch, LOGGED, campaign, after, ROWS_AT_A_TIME)
            for row in rows:
                reward = row[10] if row[9] is None else row[9]
                yield LoggedDecision(decision_of(row), reward, row[9] is None and row[10] is not None)
            if len(rows) < ROWS_AT_A_TIME:
                return
            after = rows[-1][0]

    def arrivals(self, campaign: int, after: int, until: int) -> Iterator[Arrival]:
        """The rewards that arrived after one and up to another, in the order of arrival, defaults left out.

        Those of one commit have the same arrival.
        """
        sequence = LARGEST
        while True:
            rows = self._read(self._fetch, ARRIVALS, after, sequence, until, campaign, ROWS_AT_A_TIME)
            yield from (Arrival(*row[:4]) for row in rows)
            if len(rows) < ROWS_AT_A_TIME:
                return
            after, sequence = rows[-1][0], rows[-1][4]

    def last_arrival(self) -> int:
        """The arrival up to which no reward is still on its way to the disk."""
        ((found,),) = self._read(self._fetch, SETTLED)
        return int(found)

    def tokens(self) -> list[TokenRecord]:
        """The access tokens."""
        return self._read(tokens_of)

    def key(self) -> bytes:
        """The key that signs decision ids."""
        ((found,),) = self._read(self._fetch, "SELECT value FROM meta WHERE name = 'key'")
        return bytes(found)

    def close(self) -> None:
        """Let go of the store."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                self._thread.call(dropped(connection))
                self._thread.close()
                if self._on_close is not None:
                    self._on_close(self)
