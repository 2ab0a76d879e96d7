"""A store in one SQLite file: nothing else to install, and every answer is on disk."""

import asyncio
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import apsw
import msgspec

from arcbandit.errors import NameTakenError, StoreError, UnknownNameError
from arcbandit.service.amounts import PairTotals
from arcbandit.service.campaigns import CampaignRecord, CampaignSettings, PlanRecord
from arcbandit.service.clock import Clocks
from arcbandit.service.group_commit import GroupCommit
from arcbandit.service.judgement import Verdict
from arcbandit.service.locking import lock
from arcbandit.service.records import campaign_of, decision_of, learner_of, plan_of
from arcbandit.service.sqlite_schema import require_sound_sqlite, schema_version
from arcbandit.service.sqlite_transactions import FIND_CAMPAIGN, SQLiteTransactions, opened
from arcbandit.service.store import (
    Arrival,
    DecisionDraft,
    DecisionRecord,
    DefaultsCounted,
    LearnerRecord,
    LoggedDecision,
    RewardDraft,
    Statistics,
    TokenRecord,
)

ROWS_AT_A_TIME = 2000
LOGGED = (
    "SELECT d.sequence, d.campaign, d.context, d.arm, d.probability, d.uniform, d.plan_version, d.time, d.excluded, "
    "r.micro, f.micro FROM decisions d LEFT JOIN rewards r ON r.sequence = d.sequence "
    "LEFT JOIN defaults f ON f.sequence = d.sequence "
    "WHERE d.campaign = ? AND d.sequence > ? ORDER BY d.sequence LIMIT ?"
)

ARRIVALS = (
    "SELECT r.arrival, d.context, d.arm, r.micro FROM rewards r JOIN decisions d ON d.sequence = r.sequence "
    "WHERE r.arrival > ? AND r.arrival <= ? AND d.campaign = ? ORDER BY r.arrival LIMIT ?"
)


def _ignore(_: BaseException) -> None:
    """Whoever opened the store reads of the failure in the errors of its calls."""


class SQLiteReader:
    """Reads a SQLite store, from any process, while another writes."""

    def __init__(self, path: str) -> None:
        require_sound_sqlite()
        if not os.path.exists(path):
            raise StoreError(f"{path or 'The empty path'}: no such store.")
        if os.path.isdir(path):
            raise StoreError(f"{path}: is a folder, but a store is a file.")
        try:
            self._connection: Any = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
            self._connection.set_busy_timeout(10_000)
            self._connection.pragma("mmap_size", 0)
            version = schema_version(self._connection)
        except apsw.Error as error:
            raise StoreError(f"{path}: cannot be read ({error}).") from error
        if version == 0:
            self._connection.close()
            raise StoreError(f"{path}: is not a store of arcbandit.")
        self._lock = threading.Lock()

    def campaigns(self) -> list[tuple[CampaignRecord, PlanRecord]]:
        """Every campaign with the plan in force."""
        with self._lock, self._connection:
            rows = self._connection.execute(f"{FIND_CAMPAIGN} ORDER BY id").fetchall()
            return [self._with_plan(row) for row in rows]

    def _with_plan(self, row: Any) -> tuple[CampaignRecord, PlanRecord]:
        record, version = campaign_of(row)
        found = self._plan(record.id, version)
        assert found is not None
        return record, found

    def _plan(self, campaign: int, version: int) -> PlanRecord | None:
        row = self._connection.execute(
            "SELECT plan FROM plans WHERE campaign = ? AND version = ?", (campaign, version)
        ).fetchone()
        return None if row is None else plan_of(row[0])

    def plan(self, campaign: int, version: int) -> PlanRecord | None:
        """A plan that is or was in force."""
        with self._lock:
            return self._plan(campaign, version)

    def statistics(self, campaign: int) -> Statistics:
        """The statistics of a campaign, with the campaign and the plan of the same moment."""
        with self._lock, self._connection:
            row = self._connection.execute(f"{FIND_CAMPAIGN} WHERE id = ?", (campaign,)).fetchone()
            if row is None:
                raise UnknownNameError(f"There is no campaign with the number {campaign}.")
            record, plan = self._with_plan(row)
            rows = self._connection.execute(
                "SELECT arm, context, decisions, rewards, total, squares FROM statistics WHERE campaign = ?",
                (campaign,),
            ).fetchall()
            row = self._connection.execute("SELECT learner FROM learners WHERE campaign = ?", (campaign,)).fetchone()
            learner = None if row is None else learner_of(row[0])
            seen = record.revision if learner is None else learner.revision
            changes = self._connection.execute(
                "SELECT change FROM changes WHERE campaign = ? AND revision > ? ORDER BY revision", (campaign, seen)
            ).fetchall()
        # While a reader looks at the store, what is written cannot be moved out of its log: rows are read later.
        pairs = {
            (arm, context): PairTotals(decisions, rewards, int(total), int(squares))
            for arm, context, decisions, rewards, total, squares in rows
        }
        told = tuple(msgspec.json.decode(change) for (change,) in changes)
        return Statistics(record, plan, pairs, learner, told, row is not None and learner is None)

    def decisions(self, campaign: int, after: int = 0) -> Iterator[LoggedDecision]:
        """The decisions after this sequence number, in order, with their rewards."""
        while True:
            with self._lock:
                rows = self._connection.execute(LOGGED, (campaign, after, ROWS_AT_A_TIME)).fetchall()
            for row in rows:
                reward = row[10] if row[9] is None else row[9]
                yield LoggedDecision(decision_of(row), reward, row[9] is None and row[10] is not None)
            if len(rows) < ROWS_AT_A_TIME:
                return
            after = rows[-1][0]

    def arrivals(self, campaign: int, after: int, until: int) -> Iterator[Arrival]:
        """The rewards that arrived after one and up to another, in the order of arrival, defaults left out."""
        while True:
            with self._lock:
                rows = self._connection.execute(ARRIVALS, (after, until, campaign, ROWS_AT_A_TIME)).fetchall()
            yield from (Arrival(*row) for row in rows)
            if len(rows) < ROWS_AT_A_TIME:
                return
            after = rows[-1][0]

    def last_arrival(self) -> int:
        """The arrival up to which no reward is still on its way to the disk."""
        with self._lock:
            (found,) = self._connection.execute("SELECT coalesce(max(arrival), 0) FROM rewards").fetchone()
        return int(found)

    def tokens(self) -> list[TokenRecord]:
        """The access tokens."""
        with self._lock:
            rows = self._connection.execute("SELECT name, digest, scopes, created_at FROM tokens").fetchall()
        return [TokenRecord(name, digest, tuple(scopes.split(" ")), at) for name, digest, scopes, at in rows]

    def key(self) -> bytes:
        """The key that signs decision ids."""
        with self._lock:
            found: bytes = self._connection.execute("SELECT value FROM meta WHERE name = 'key'").fetchone()[0]
        return found

    def close(self) -> None:
        """Let go of the store."""
        with self._lock:
            self._connection.close()


class SQLiteStore:
    """A `Store` in one SQLite file, written by one thread of one process; a second process is refused."""

    def __init__(
        self,
        path: str,
        *,
        clocks: Clocks | None = None,
        on_broken: Callable[[BaseException], None] = _ignore,
    ) -> None:
        require_sound_sqlite()
        self.path = path
        self._lock_file: int | None = _locked(path)
        told = Clocks() if clocks is None else clocks
        made: list[SQLiteTransactions] = []

        def open_transactions() -> SQLiteTransactions:
            made.append(SQLiteTransactions(path, told, on_broken))
            return made[0]

        try:
            self._writer = GroupCommit(open_transactions)
        except apsw.Error as error:
            self._unlock()
            raise StoreError(f"{path}: cannot be opened ({error}).") from error
        except BaseException:
            self._unlock()
            raise
        self._transactions = made[0]
        self.key = self._transactions.key
        self._reader = SQLiteReader(path)
        self._reading = ThreadPoolExecutor(1, thread_name_prefix="arcbandit-reader")

    @property
    def is_writable(self) -> bool:
        """Whether the last commit found room on the disk."""
        return self._transactions.is_writable

    @property
    def depth(self) -> int:
        """How much waits to be written."""
        return self._writer.depth

    def now(self) -> int:
        """The time of the store in microseconds."""
        return self._transactions.time.now()

    async def record_decision(self, draft: DecisionDraft) -> tuple[DecisionRecord, bool]:
        """Record a decision, or find the one that was made for its request id."""
        found: tuple[DecisionRecord, bool] = await self._writer.do(lambda to: to.record_decision(draft))
        return found

    async def decision_of(self, campaign: int, request_id: str) -> DecisionRecord | None:
        """The decision that was made for a request id."""
        found: DecisionRecord | None = await self._writer.do(lambda to: to.decision_of_request(campaign, request_id))
        return found

    async def record_rewards(self, campaign: int, rewards: Sequence[RewardDraft]) -> list[Verdict]:
        """Count each reward once."""
        found: list[Verdict] = await self._writer.do(lambda to: to.record_rewards(campaign, rewards))
        return found

    async def create_campaign(
        self, name: str, settings: CampaignSettings, policy: dict[str, Any]
    ) -> tuple[CampaignRecord, PlanRecord]:
        """A new campaign with a first plan."""
        made: tuple[CampaignRecord, PlanRecord] = await self._writer.do(
            lambda to: to.create_campaign(name, settings, policy), alone=True
        )
        return made

    async def change_campaign(
        self, before: CampaignRecord, policy: dict[str, Any], change: dict[str, Any], admitted: int
    ) -> tuple[CampaignRecord, PlanRecord]:
        """The campaign with a changed policy and an adjusted plan."""
        made: tuple[CampaignRecord, PlanRecord] = await self._writer.do(
            lambda to: to.change_campaign(before, policy, change, admitted), alone=True
        )
        return made

    async def publish_plan(self, campaign: int, plan: PlanRecord, learner: LearnerRecord | None = None) -> PlanRecord:
        """Put a plan in force if it follows the one that is."""
        made: PlanRecord = await self._writer.do(lambda to: to.publish_plan(campaign, plan, learner), alone=True)
        return made

    async def count_defaults(self, limit: int) -> DefaultsCounted:
        """Count default rewards that are due."""
        found: DefaultsCounted = await self._writer.do(lambda to: to.count_defaults(limit), alone=True)
        return found

    async def forget_requests(self, limit: int) -> int:
        """Forget request ids that are too old."""
        found: int = await self._writer.do(lambda to: to.forget_requests(limit), alone=True)
        return found

    async def touch(self) -> None:
        """Write a little, to see whether the disk has room again."""
        await self._writer.do(lambda to: to.touch(), alone=True)

    async def _read(self, read: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._reading, read, *arguments)

    async def load(self) -> list[tuple[CampaignRecord, PlanRecord]]:
        """Every campaign with the plan in force."""
        found: list[tuple[CampaignRecord, PlanRecord]] = await self._read(self._reader.campaigns)
        return found

    async def plan(self, campaign: int, version: int) -> PlanRecord | None:
        """A plan that is or was in force."""
        found: PlanRecord | None = await self._read(self._reader.plan, campaign, version)
        return found

    async def statistics(self, campaign: int) -> Statistics:
        """The statistics of a campaign, with the campaign and the plan of the same moment."""
        found: Statistics = await self._read(self._reader.statistics, campaign)
        return found

    async def tokens(self) -> list[TokenRecord]:
        """The access tokens."""
        found: list[TokenRecord] = await self._read(self._reader.tokens)
        return found

    def reader(self) -> SQLiteReader:
        """A reader for another thread."""
        return SQLiteReader(self.path)

    async def close(self) -> None:
        """Commit what waits, and let go of the store."""
        await asyncio.get_running_loop().run_in_executor(None, self.close_now)

    def close_now(self) -> None:
        """As `close`, for callers without an event loop."""
        self._writer.drain()
        self._reading.shutdown()
        # Who closes a database last puts the write-ahead log into it, and one that only reads cannot.
        self._reader.close()
        self._writer.close()
        self._unlock()

    def _unlock(self) -> None:
        if self._lock_file is not None:
            os.close(self._lock_file)
            self._lock_file = None


def _locked(path: str) -> int:
    """A lock that ends with the process: statistics are kept in memory, so two writers would overwrite each other's."""
    if not path:
        raise StoreError("store must be the path of a file, got an empty one.")
    if os.path.isdir(path):
        raise StoreError(f"{path}: is a folder, but a store is a file.")
    try:
        # Of the file itself, by whatever links it is reached.
        held = os.open(f"{os.path.realpath(path)}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise StoreError(f"{path}: cannot be opened ({error.strerror}).") from error
    try:
        lock(held)
    except OSError:
        os.close(held)
        raise StoreError(f"{path}: is in use by another process.") from None
    try:
        # For its owner alone: it holds the key that signs ids. SQLite gives the files beside it the same rights.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        os.close(held)
        raise StoreError(f"{path}: cannot be opened ({error.strerror}).") from error
    return held


def add_token(path: str, token: TokenRecord) -> None:
    """Keep the hash of a token, also while a server runs."""
    require_sound_sqlite()
    SQLiteReader(path).close()  # refuses what is not a store
    connection = opened(path)
    try:
        with connection:
            if connection.execute("SELECT 1 FROM tokens WHERE name = ?", (token.name,)).fetchone() is not None:
                raise NameTakenError(f"There is a token {token.name!r}.")
            connection.execute(
                "INSERT INTO tokens VALUES (?,?,?,?)",
                (token.name, token.digest, " ".join(token.scopes), token.created_at),
            )
    finally:
        connection.close()


def remove_token(path: str, name: str) -> bool:
    """Forget a token; whether there was one."""
    SQLiteReader(path).close()
    connection = opened(path)
    try:
        connection.execute("DELETE FROM tokens WHERE name = ?", (name,))
        return bool(connection.changes())
    finally:
        connection.close()
