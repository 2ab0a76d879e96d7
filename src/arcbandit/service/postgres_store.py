"""A store in a PostgreSQL database, which several replicas share."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from decimal import Decimal
from typing import Any

import asyncpg
import msgspec

from arcbandit.errors import InvalidInputError, NameTakenError, StaleError, StoreError, StoreFullError
from arcbandit.service.amounts import PairTotals
from arcbandit.service.campaigns import CampaignRecord, CampaignSettings, PlanRecord, adjusted_plan, first_plan
from arcbandit.service.clock import Clocks, StoreTime
from arcbandit.service.judgement import Standing, Verdict, default_is_due
from arcbandit.service.postgres_batches import Batches
from arcbandit.service.postgres_connection import LOST, Address, Connection, called, connected, dropped, explained
from arcbandit.service.postgres_reading import (
    FIND_CAMPAIGN,
    PostgresReader,
    campaigns_of,
    plan_in_force,
    plan_of_version,
    statistics_of,
    tokens_of,
    versions_of,
)
from arcbandit.service.postgres_schema import LOCKS, migrate, require_store
from arcbandit.service.postgres_writing import (
    DEFAULTS,
    FIND_STANDING,
    KEEP_TIME,
    Answer,
    Commit,
    Decide,
    Numbers,
    Reward,
    Work,
    decision_of_request,
)
from arcbandit.service.records import blob_of, learner_blob
from arcbandit.service.store import (
    REQUEST_MEMORY,
    DecisionDraft,
    DecisionRecord,
    DefaultsCounted,
    LearnerRecord,
    RewardDraft,
    Statistics,
    TokenRecord,
    Version,
)

CHANNEL = "arcbandit"
LEASE_SECONDS = 5.0  # a planner from which nothing is heard for so long loses its lock
LATEST_DECISIONS = 20_000  # among which the last one surely is, in blocks of several replicas


class PostgresStore:
    """A `Store` in PostgreSQL. Every replica has two connections: one writes decisions and rewards, one does the rest.

    What one replica is told of campaigns, plans and tokens, the others find by `versions`, `load` and `tokens`.
    """

    def __init__(self, url: str, *, clocks: Clocks | None = None) -> None:
        self._address = Address(url)
        self._url = url
        self.key, self._arrivals, wall, last = called(_prepared(self._address))
        # The clocks of replicas may differ: their time starts from the database's.
        told = Clocks(wall=lambda: wall) if clocks is None else clocks
        self._time = StoreTime(told, last)
        self._numbers = Numbers()
        self._settings: dict[int, CampaignSettings] = {}
        self._writer: Connection | None = None
        self._batches: Batches[Work] = Batches(self._written)
        self._control: Connection | None = None
        self._turn = asyncio.Lock()
        self._leading_on: Connection | None = None
        self._readers: set[PostgresReader] = set()  # that are open
        self.is_writable = True
        self.changed = asyncio.Event()  # set when another replica may have changed something

    @property
    def depth(self) -> int:
        """How much waits to be written."""
        return self._batches.depth

    def now(self) -> int:
        """The time of the store in microseconds."""
        return self._time.now()

    # Decisions and rewards

    async def record_decision(self, draft: DecisionDraft) -> tuple[DecisionRecord, bool]:
        """Record a decision, or find the one that was made for its request id."""
        found: tuple[DecisionRecord, bool] = await self._batches.do(Decide(draft))
        return found

    async def decision_of(self, campaign: int, request_id: str) -> DecisionRecord | None:
        """The decision that was made for a request id."""
        now = self.now()
        found: DecisionRecord | None = await self._controlled(
            lambda to: decision_of_request(to, campaign, request_id, now)
        )
        return found

    async def record_rewards(self, campaign: int, rewards: Sequence[RewardDraft]) -> list[Verdict]:
        """Count each reward once."""
        found: list[Verdict] = await self._batches.do(Reward(campaign, rewards))
        return found

    async def _written(self, batch: list[Work]) -> list[Answer]:
        try:
            if self._writer is None or self._writer.is_closed():
                # The number of rows differs from commit to commit, and a plan for any of them will do.
                self._writer = await connected(self._address, plan_cache_mode="force_generic_plan")
            campaigns = {work.draft.campaign if isinstance(work, Decide) else work.campaign for work in batch}
            await self._know(self._writer, campaigns)
            commit = Commit(self._writer, self._numbers, self._settings, self._time.now(), self._arrivals)
            answers = await commit.write(batch)
        except BaseException as error:
            await self._failed(error, self._writer)
            raise explained(error) from error
        self.is_writable = True
        return answers

    async def _know(self, connection: Connection, campaigns: set[int]) -> None:
        """Read the settings of campaigns, which never change, from where another replica left them."""
        new = [campaign for campaign in campaigns if campaign not in self._settings]
        if new:
            for number, told in await connection.fetch("SELECT id, settings FROM campaigns WHERE id = ANY($1)", new):
                self._settings[number] = msgspec.json.decode(told, type=CampaignSettings)

    async def _failed(self, error: BaseException, connection: Connection | None) -> None:
        """After a connection is lost, nothing is writable until something was written."""
        if isinstance(error, LOST):
            await dropped(connection)
        if isinstance(explained(error), StoreError) and (
            isinstance(error, (StoreError, *LOST)) or isinstance(explained(error), StoreFullError)
        ):
            self.is_writable = False

    # Everything else

    async def _controlled(self, work: Callable[[Connection], Awaitable[Any]]) -> Any:
        """Do something on the second connection, one thing after the other."""
        async with self._turn:
            try:
                if self._control is None or self._control.is_closed():
                    self._control = await connected(self._address, idle_session_timeout=f"{LEASE_SECONDS}s")
                    await self._control.add_listener(CHANNEL, self._heard)
                return await work(self._control)
            except (asyncpg.PostgresError, *LOST) as error:
                await self._failed(error, self._control)
                raise explained(error) from error

    def _heard(self, *_: Any) -> None:
        self.changed.set()

    async def create_campaign(
        self, name: str, settings: CampaignSettings, policy: dict[str, Any]
    ) -> tuple[CampaignRecord, PlanRecord]:
        """A new campaign with a first plan."""
        now = self.now()

        async def create(connection: Connection) -> tuple[CampaignRecord, PlanRecord]:
            async with connection.transaction():
                await connection.execute("LOCK TABLE campaigns IN SHARE ROW EXCLUSIVE MODE")
                if await connection.fetchval("SELECT 1 FROM campaigns WHERE name = $1", name) is not None:
                    raise NameTakenError(f"There is a campaign {name!r}.")
                last = await connection.fetchval("SELECT coalesce(max(id), 0) FROM campaigns")
                record = CampaignRecord(last + 1, name, 1, now, settings, policy)
                plan = first_plan(record, now)
                await connection.execute(
                    "INSERT INTO campaigns VALUES ($1, $2, $3, $4, $5, $6, 0, $7)",
                    record.id,
                    name,
                    record.revision,
                    now,
                    msgspec.json.encode(settings),
                    msgspec.json.encode(policy),
                    plan.version,
                )
                await _keep_plan(connection, record.id, plan)
                await _keep_change(connection, record, now, {"change": "create"})
            return record, plan

        made: tuple[CampaignRecord, PlanRecord] = await self._controlled(create)
        return made

    async def change_campaign(
        self, before: CampaignRecord, policy: dict[str, Any], change: dict[str, Any], admitted: int
    ) -> tuple[CampaignRecord, PlanRecord]:
        """The campaign with a changed policy and an adjusted plan."""
        now = self.now()
        record = CampaignRecord(
            before.id, before.name, before.revision + 1, before.created_at, before.settings, policy, admitted
        )

        async def apply(connection: Connection) -> PlanRecord:
            async with connection.transaction():
                found, plan = await _locked(connection, before.id)
                if found.revision != before.revision:
                    raise StaleError(f"The campaign is at revision {found.revision}, not {before.revision}.")
                adjusted = adjusted_plan(record, plan, now)
                await connection.execute(
                    "UPDATE campaigns SET revision = $1, policy = $2, admitted = $3, plan_version = $4 WHERE id = $5",
                    record.revision,
                    msgspec.json.encode(policy),
                    admitted,
                    adjusted.version,
                    record.id,
                )
                await _keep_plan(connection, record.id, adjusted)
                await _keep_change(connection, record, now, change)
            return adjusted

        adjusted: PlanRecord = await self._controlled(apply)
        return record, adjusted

    async def publish_plan(self, campaign: int, plan: PlanRecord, learner: LearnerRecord | None = None) -> PlanRecord:
        """Put a plan in force if it follows the one that is."""
        made = msgspec.structs.replace(plan, made_at=self.now())

        async def publish(connection: Connection) -> None:
            async with connection.transaction():
                record, last = await _locked(connection, campaign)
                if plan.version != last.version + 1 or plan.revision != record.revision:
                    raise StaleError(
                        f"A plan of version {plan.version} for revision {plan.revision} cannot follow version "
                        f"{last.version} at revision {record.revision}."
                    )
                await _keep_plan(connection, campaign, made)
                await connection.execute("UPDATE campaigns SET plan_version = $1 WHERE id = $2", made.version, campaign)
                if learner is not None:
                    await connection.execute(
                        "INSERT INTO learners VALUES ($1, $2) "
                        "ON CONFLICT (campaign) DO UPDATE SET learner = excluded.learner",
                        campaign,
                        learner_blob(learner),
                    )

        await self._controlled(publish)
        return made

    async def count_defaults(self, limit: int) -> DefaultsCounted:
        """Count default rewards that are due; another replica may do so at the same time."""
        found: DefaultsCounted = await self._controlled(lambda connection: self._count_defaults(connection, limit))
        return found

    async def _count_defaults(self, connection: Connection, limit: int) -> DefaultsCounted:
        looked_at, counted = 0, {}
        numbers = {row[0] for row in await connection.fetch("SELECT id FROM campaigns")}
        await self._know(connection, numbers)
        for campaign in sorted(numbers):
            settings = self._settings[campaign]
            if settings.window is not None:
                async with connection.transaction():
                    taken, due = await self._count_due(connection, campaign, settings, limit)
                looked_at += taken
                if due:
                    counted[campaign] = due
        return DefaultsCounted(looked_at, counted)

    async def _count_due(
        self, connection: Connection, campaign: int, settings: CampaignSettings, limit: int
    ) -> tuple[int, int]:
        """How many decisions were looked at, and for how many a default was due."""
        now, window = self.now(), settings.window
        assert window is not None
        taken = await connection.fetch(
            "DELETE FROM waiting WHERE (campaign, time, sequence) IN (SELECT campaign, time, sequence FROM waiting "
            "WHERE campaign = $1 AND time <= $2 ORDER BY time, sequence LIMIT $3 FOR UPDATE SKIP LOCKED) "
            "RETURNING sequence",
            campaign,
            now - window,
            limit,
        )
        due = []
        for sequence, _, arm, context, time, reward, default in await connection.fetch(
            FIND_STANDING, [row[0] for row in taken]
        ):
            if default_is_due(Standing(time, reward, default), now, window):
                due.append((sequence, arm, context))
        if due:
            micro = settings.default_micro
            more = PairTotals().rewarded(micro)
            columns = [list(column) for column in zip(*sorted(due), strict=True)]
            await connection.execute(
                DEFAULTS, now, campaign, *columns, micro, more.rewards, Decimal(more.total), Decimal(more.squares)
            )
        if taken:
            await connection.execute(KEEP_TIME, b"%d" % now)
        return len(taken), len(due)

    async def forget_requests(self, limit: int) -> int:
        """Forget request ids that are too old."""
        before = self.now() - REQUEST_MEMORY

        async def forget(connection: Connection) -> int:
            rows = await connection.fetch(
                "DELETE FROM requests WHERE (campaign, request_id) IN (SELECT campaign, request_id FROM requests "
                "WHERE time <= $1 ORDER BY time LIMIT $2 FOR UPDATE SKIP LOCKED) AND time <= $1 RETURNING 1",
                before,
                limit,
            )
            if rows:
                await connection.execute(KEEP_TIME, b"%d" % (before + REQUEST_MEMORY))
            return len(rows)

        found: int = await self._controlled(forget)
        return found

    async def touch(self) -> None:
        """Write a little, to see whether the database takes it again."""

        async def write(connection: Connection) -> None:
            await connection.execute(
                "INSERT INTO meta VALUES ('touched', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                b"\0" * 4096,
            )

        await self._controlled(write)
        self.is_writable = True

    async def load(self) -> list[tuple[CampaignRecord, PlanRecord]]:
        """Every campaign with the plan in force."""
        found: list[tuple[CampaignRecord, PlanRecord]] = await self._controlled(campaigns_of)
        return found

    async def load_some(self, numbers: list[int]) -> list[tuple[CampaignRecord, PlanRecord]]:
        """The campaigns of these numbers, with the plans in force."""
        found: list[tuple[CampaignRecord, PlanRecord]] = await self._controlled(lambda to: campaigns_of(to, numbers))
        return found

    async def plan(self, campaign: int, version: int) -> PlanRecord | None:
        """A plan that is or was in force."""
        found: PlanRecord | None = await self._controlled(lambda to: plan_of_version(to, campaign, version))
        return found

    async def statistics(self, campaign: int) -> Statistics:
        """The statistics of a campaign, with the campaign and the plan of the same moment."""
        found: Statistics = await self._controlled(lambda to: statistics_of(to, campaign))
        return found

    async def tokens(self) -> list[TokenRecord]:
        """The access tokens."""
        found: list[TokenRecord] = await self._controlled(tokens_of)
        return found

    def reader(self) -> PostgresReader:
        """A reader for another thread."""
        made = PostgresReader(self._url, self._readers.discard)
        self._readers.add(made)
        return made

    # Replicas

    async def versions(self, with_totals: bool) -> list[Version]:
        """How far every campaign is."""
        found: list[Version] = await self._controlled(lambda to: versions_of(to, with_totals))
        return found

    async def lead(self) -> bool:
        """Become the one replica that plans, or stay it; False if another is.

        The lock ends with the connection: with the process, or when nothing was heard from it for LEASE_SECONDS.
        """

        async def try_lock(connection: Connection) -> bool:
            if self._leading_on is not connection:
                self._leading_on = None
                query = f"SELECT pg_try_advisory_lock({LOCKS}, hashtext($1))"
                if await connection.fetchval(query, f"{self._address.schema} planner"):
                    self._leading_on = connection
            return self._leading_on is connection

        found: bool = await self._controlled(try_lock)
        return found

    async def close(self) -> None:
        """Commit what waits, and let go of the store."""
        await self._batches.close()
        async with self._turn:
            if self._control is not None and not self._control.is_closed():
                with contextlib.suppress(asyncpg.PostgresError, *LOST):
                    await self._control.execute(KEEP_TIME, b"%d" % self.now())
            for connection in (self._writer, self._control):
                await dropped(connection)
        for reader in list(self._readers):
            reader.close()

    def close_now(self) -> None:
        """As `close`, for callers that have used no event loop with the store: nothing is connected yet."""


async def _prepared(address: Address) -> tuple[bytes, int, float, int]:
    """The tables brought up to date; the signing key, the base of arrivals, the time, and the last in the store."""
    connection = await connected(address)
    try:
        await migrate(connection, address)
        key = await connection.fetchval("SELECT value FROM meta WHERE name = 'key'")
        arrivals = int(await connection.fetchval("SELECT value FROM meta WHERE name = 'arrivals'"))
        wall = await connection.fetchval("SELECT extract(epoch FROM clock_timestamp())::float8")
        last = await connection.fetchval(
            "SELECT coalesce(max(time), 0) FROM (SELECT time FROM decisions ORDER BY sequence DESC LIMIT $1) AS _",
            LATEST_DECISIONS,
        )
        rewarded = await connection.fetchval(
            "SELECT coalesce(max(time), 0) FROM (SELECT time FROM outcomes WHERE reward IS NOT NULL "
            "ORDER BY arrival DESC LIMIT $1) AS _",
            LATEST_DECISIONS,
        )
        kept = await connection.fetchval("SELECT value FROM meta WHERE name = 'time'")
    except (asyncpg.PostgresError, *LOST) as error:
        raise explained(error) from error
    finally:
        await dropped(connection)
    return key, arrivals, wall, max(last, rewarded, int(kept or 0))


async def _locked(connection: Connection, campaign: int) -> tuple[CampaignRecord, PlanRecord]:
    row = await connection.fetchrow(f"{FIND_CAMPAIGN} WHERE id = $1 FOR UPDATE", campaign)
    return await plan_in_force(connection, row)


async def _keep_plan(connection: Connection, campaign: int, plan: PlanRecord) -> None:
    await connection.execute("INSERT INTO plans VALUES ($1, $2, $3)", campaign, plan.version, blob_of(plan))
    await connection.execute(KEEP_TIME, b"%d" % plan.made_at)
    await connection.execute(f"NOTIFY {CHANNEL}")


async def _keep_change(connection: Connection, record: CampaignRecord, now: int, change: dict[str, Any]) -> None:
    await connection.execute(
        "INSERT INTO changes VALUES ($1, $2, $3, $4)", record.id, record.revision, now, msgspec.json.encode(change)
    )


def add_token(url: str, token: TokenRecord) -> None:
    """Keep the hash of a token, also while servers run."""
    if "\0" in token.name:
        raise InvalidInputError("name must be without the character NUL, which PostgreSQL cannot keep.")

    async def add(connection: Connection) -> None:
        try:
            await connection.execute(
                "INSERT INTO tokens VALUES ($1, $2, $3, $4)",
                token.name,
                token.digest,
                " ".join(token.scopes),
                token.created_at,
            )
        except asyncpg.UniqueViolationError:
            raise NameTakenError(f"There is a token {token.name!r}.") from None

    called(_once(Address(url), add))


def remove_token(url: str, name: str) -> bool:
    """Forget a token; whether there was one."""

    async def remove(connection: Connection) -> bool:
        return bool(await connection.fetch("DELETE FROM tokens WHERE name = $1 RETURNING 1", name))

    return bool(called(_once(Address(url), remove)))


async def _once(address: Address, work: Callable[[Connection], Awaitable[Any]]) -> Any:
    connection = await connected(address)
    try:
        await require_store(connection, address)
        return await work(connection)
    except (asyncpg.PostgresError, *LOST) as error:
        raise explained(error) from error
    finally:
        await dropped(connection)
