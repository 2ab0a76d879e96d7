"""What one commit of a PostgreSQL store does: one statement for the decisions and rewards of many callers.

A statement is a transaction of the server's: a process that stops while it runs keeps nobody waiting. Rewards are
judged here, by what stands, and the statement writes them only if that still stands; those for which a replica was
faster are judged again. Every statement takes its rows in the same order (requests, outcomes, statistics, each by its
key), so that two never wait for each other.
"""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from arcbandit.errors import RequestIdUsedError, StoreError
from arcbandit.service.amounts import PairTotals
from arcbandit.service.campaigns import CampaignSettings
from arcbandit.service.judgement import Standing, Verdict, judged, settled
from arcbandit.service.postgres_connection import WORTH_ANOTHER_TRY, Connection
from arcbandit.service.postgres_reading import DECISION
from arcbandit.service.records import decision_of, text_of
from arcbandit.service.store import REQUEST_MEMORY, DecisionDraft, DecisionRecord, RewardDraft

MOST_TRIES = 20

# "x IN (SELECT ...)" below stands where the planner cannot make a join of it: it is looked up in a hash table,
# whatever number of rows the planner expects.
WRITE = f"""
WITH asked AS (
    SELECT * FROM unnest(
        $3::bigint[], $4::bigint[], $5::integer[], $6::integer[], $7::float8[], $8::float8[], $9::bigint[], $10::text[],
        $11::bytea[], $12::boolean[]
    ) AS _ (sequence, campaign, context, arm, probability, uniform, plan_version, excluded, request_id, waits)
), claimed AS (
    INSERT INTO requests (campaign, request_id, sequence, time)
    SELECT campaign, request_id, sequence, $1::bigint FROM asked WHERE request_id IS NOT NULL
    ORDER BY campaign, request_id
    ON CONFLICT (campaign, request_id) DO UPDATE SET sequence = excluded.sequence, time = excluded.time
    WHERE requests.time <= $1::bigint - {REQUEST_MEMORY}
    RETURNING sequence
), made AS (
    INSERT INTO decisions (sequence, campaign, context, arm, probability, uniform, plan_version, time, excluded)
    SELECT sequence, campaign, context, arm, probability, uniform, plan_version, $1::bigint, excluded FROM asked
    WHERE request_id IS NULL OR sequence IN (SELECT sequence FROM claimed)
    RETURNING campaign, arm, context
), awaited AS (
    INSERT INTO waiting (campaign, time, sequence)
    SELECT campaign, $1::bigint, sequence FROM asked
    WHERE waits AND (request_id IS NULL OR sequence IN (SELECT sequence FROM claimed))
), judged AS (
    SELECT * FROM unnest(
        $13::bigint[], $14::bigint[], $15::bigint[], $16::bigint[], $17::integer[], $18::integer[], $19::bigint[],
        $20::bigint[], $21::numeric[]
    ) AS _ (sequence, reward, default_reward, campaign, arm, context, rewards, total, squares)
), counted AS (
    INSERT INTO outcomes (sequence, reward, default_reward, arrival, time)
    SELECT sequence, reward, default_reward, $2::bigint + pg_current_xact_id()::text::bigint, $1::bigint FROM judged
    ORDER BY sequence
    ON CONFLICT (sequence) DO UPDATE SET reward = excluded.reward, arrival = excluded.arrival, time = excluded.time
    WHERE outcomes.reward IS NULL AND outcomes.default_reward IS NOT DISTINCT FROM excluded.default_reward
    RETURNING sequence
), changed AS (
    SELECT campaign, arm, context, 1 AS decisions, 0 AS rewards, 0 AS total, 0 AS squares FROM made
    UNION ALL
    SELECT campaign, arm, context, 0, rewards, total, squares FROM judged
    WHERE (sequence IN (SELECT sequence FROM counted)) IS TRUE
), summed AS (
    INSERT INTO statistics (campaign, arm, context, decisions, rewards, total, squares)
    SELECT campaign, arm, context, sum(decisions), sum(rewards), sum(total), sum(squares) FROM changed
    GROUP BY campaign, arm, context ORDER BY campaign, arm, context
    ON CONFLICT (campaign, arm, context) DO UPDATE SET
        decisions = statistics.decisions + excluded.decisions, rewards = statistics.rewards + excluded.rewards,
        total = statistics.total + excluded.total, squares = statistics.squares + excluded.squares
)
SELECT sequence, TRUE FROM claimed UNION ALL SELECT sequence, FALSE FROM counted
"""

DEFAULTS = """
WITH due AS (
    SELECT * FROM unnest($3::bigint[], $4::integer[], $5::integer[]) AS _ (sequence, arm, context)
), counted AS (
    INSERT INTO outcomes (sequence, default_reward, arrival, time) SELECT sequence, $6::bigint, 0, $1::bigint FROM due
    ORDER BY sequence ON CONFLICT (sequence) DO NOTHING RETURNING sequence
)
INSERT INTO statistics (campaign, arm, context, decisions, rewards, total, squares)
SELECT $2::bigint, arm, context, 0, sum($7::bigint), sum($8::numeric), sum($9::numeric) FROM due
WHERE (sequence IN (SELECT sequence FROM counted)) IS TRUE GROUP BY arm, context ORDER BY arm, context
ON CONFLICT (campaign, arm, context) DO UPDATE SET
    rewards = statistics.rewards + excluded.rewards, total = statistics.total + excluded.total,
    squares = statistics.squares + excluded.squares
"""

# What was settled by the time alone must stay so: the time of a store does not go back, whatever clocks do.
KEEP_TIME = (
    "INSERT INTO meta VALUES ('time', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value "
    "WHERE convert_from(meta.value, 'UTF8')::bigint < convert_from(excluded.value, 'UTF8')::bigint"
)
FIND_STANDING = (
    "SELECT d.sequence, d.campaign, d.arm, d.context, d.time, o.reward, o.default_reward FROM decisions d "
    "LEFT JOIN outcomes o ON o.sequence = d.sequence WHERE d.sequence = ANY($1)"
)
FIND_REQUESTS = (
    f"SELECT {DECISION}, r.request_id FROM unnest($1::bigint[], $2::bytea[]) AS _ (campaign, request_id) "
    "JOIN requests r ON r.campaign = _.campaign AND r.request_id = _.request_id "
    "JOIN decisions d ON d.sequence = r.sequence"
)
FIND_REQUEST = (
    f"SELECT {DECISION} FROM requests r JOIN decisions d ON d.sequence = r.sequence "
    f"WHERE r.campaign = $1 AND r.request_id = $2 AND r.time > $3::bigint - {REQUEST_MEMORY}"
)


class Decide(NamedTuple):
    """A decision to be recorded."""

    draft: DecisionDraft


class Reward(NamedTuple):
    """Rewards to be counted."""

    campaign: int
    rewards: Sequence[RewardDraft]


Work = Decide | Reward
Answer = tuple[Any, BaseException | None]
Asked = tuple[int, bytes]  # a campaign and a request id
Place = tuple[int, int]  # of a reward: in the batch, and in what one caller sent
Judged = tuple[int, RewardDraft]  # a reward, and the campaign that it was sent to


class Numbers:
    """Sequence numbers of decisions, from blocks that no other replica has."""

    SIZE = 4096

    def __init__(self) -> None:
        self._next, self._end = 0, 0

    async def take(self, connection: Connection, count: int) -> list[int]:
        """So many numbers that were never taken, rising."""
        taken: list[int] = []
        while len(taken) < count:
            if self._next == self._end:
                block = await connection.fetchval("SELECT nextval('blocks')")
                self._next, self._end = block * self.SIZE, (block + 1) * self.SIZE
            reached = min(self._end, self._next + count - len(taken))
            taken += range(self._next, reached)
            self._next = reached
        return taken


def request_bytes(request_id: str) -> bytes:
    """A request id as it is kept: text of PostgreSQL cannot hold every character."""
    return request_id.encode("utf-8", "surrogatepass")


class Commit:
    """The work of many callers, written together."""

    def __init__(
        self,
        connection: Connection,
        numbers: Numbers,
        settings: Mapping[int, CampaignSettings],
        now: int,
        arrivals: int,
    ) -> None:
        self._connection = connection
        self._numbers = numbers
        self._settings = settings
        self._now = now
        self._arrivals = arrivals

    async def write(self, batch: Sequence[Work]) -> list[Answer]:
        """What each of a batch returns or raises; after an error of the database nobody knows what was written."""
        drafts = {place: work.draft for place, work in enumerate(batch) if isinstance(work, Decide)}
        rewards = {
            (place, number): (work.campaign, reward)
            for place, work in enumerate(batch)
            if isinstance(work, Reward)
            for number, reward in enumerate(work.rewards)
        }
        decided: dict[int, Answer] = {}
        verdicts: dict[Place, Verdict] = {}
        for _ in range(MOST_TRIES):
            left = {place: draft for place, draft in drafts.items() if place not in decided}
            pending = {place: reward for place, reward in rewards.items() if place not in verdicts}
            if not left and not pending:
                break
            await self._once(left, pending, decided, verdicts)
        else:
            raise StoreError("The store is too busy: other replicas were faster, time and again.")
        if Verdict.GONE in verdicts.values():
            await self._connection.execute(KEEP_TIME, b"%d" % self._now)
        return [
            decided[place]
            if isinstance(work, Decide)
            else ([verdicts[place, number] for number in range(len(work.rewards))], None)
            for place, work in enumerate(batch)
        ]

    async def _once(
        self,
        drafts: dict[int, DecisionDraft],
        rewards: dict[Place, Judged],
        decided: dict[int, Answer],
        verdicts: dict[Place, Verdict],
    ) -> None:
        """Write all that can be, and note what came of it; what another replica was faster with is left out."""
        first: dict[Asked, int] = {}  # the places of requests; others with the same id get the same answer
        alone: list[int] = []
        for place, draft in drafts.items():
            if draft.request_id is None:
                alone.append(place)
            else:
                first.setdefault((draft.campaign, request_bytes(draft.request_id)), place)
        written = sorted([*alone, *first.values()])
        numbers = dict(zip(written, await self._numbers.take(self._connection, len(written)), strict=True))
        judging = Judging(await self._standings(rewards.values()), self._settings, self._now)
        judgements = {place: judging.verdict(*reward) for place, reward in rewards.items()}
        claimed: set[int] = set()
        counted: set[int] = set()
        if written or judging.rows:
            columns = [*self._decision_columns(drafts, numbers), *judging.columns()]
            for number, is_request in await self._executed(columns):
                (claimed if is_request else counted).add(number)
        made = {place: self._record(drafts[place], numbers[place]) for place in written}
        decided |= {place: ((made[place], False), None) for place in alone}
        found = await self._found([asked for asked, place in first.items() if numbers[place] not in claimed])
        for place, draft in drafts.items():
            if draft.request_id is None:
                continue
            asked = (draft.campaign, request_bytes(draft.request_id))
            mine = first[asked]
            if numbers[mine] in claimed:
                decided[place] = _repeated(made[mine], draft, place != mine)
            elif asked in found:
                decided[place] = _repeated(found[asked], draft, True)
        lost = judging.rows.keys() - counted
        verdicts |= {place: judgements[place] for place, (_, reward) in rewards.items() if reward.sequence not in lost}

    async def _executed(self, columns: list[list[Any]]) -> Any:
        for attempt in range(MOST_TRIES):
            try:
                return await self._connection.fetch(WRITE, self._now, self._arrivals, *columns)
            except WORTH_ANOTHER_TRY:
                if attempt == MOST_TRIES - 1:
                    raise
        return None

    def _record(self, draft: DecisionDraft, number: int) -> DecisionRecord:
        return DecisionRecord(number, *draft[:6], self._now, draft.excluded)

    def _decision_columns(self, drafts: dict[int, DecisionDraft], numbers: dict[int, int]) -> list[list[Any]]:
        rows = [
            (
                number,
                *drafts[place][:6],
                text_of(drafts[place].excluded),
                None if drafts[place].request_id is None else request_bytes(drafts[place].request_id or ""),
                self._settings[drafts[place].campaign].window is not None,
            )
            for place, number in numbers.items()
        ]
        return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in range(10)]

    async def _standings(self, rewards: Iterable[Judged]) -> dict[int, Any]:
        asked = sorted({reward.sequence for _, reward in rewards if reward.sequence is not None})
        if not asked:
            return {}
        return {row[0]: row for row in await self._connection.fetch(FIND_STANDING, asked)}

    async def _found(self, asked: list[Asked]) -> dict[Asked, DecisionRecord]:
        if not asked:
            return {}
        campaigns, ids = zip(*asked, strict=True)
        rows = await self._connection.fetch(FIND_REQUESTS, list(campaigns), list(ids))
        return {(row[1], row[9]): decision_of(row) for row in rows}


async def decision_of_request(
    connection: Connection, campaign: int, request_id: str, now: int
) -> DecisionRecord | None:
    """The decision that was made for a request id which is still remembered."""
    row = await connection.fetchrow(FIND_REQUEST, campaign, request_bytes(request_id), now)
    return None if row is None else decision_of(row)


def _repeated(made: DecisionRecord, draft: DecisionDraft, is_repeated: bool) -> Answer:
    if (made.context, made.excluded) != (draft.context, draft.excluded):
        return None, RequestIdUsedError("The request id was used with another context or other excluded arms.")
    return (made, is_repeated), None


class Judging:
    """Rewards of one commit, judged one after the other by what stood before it."""

    def __init__(self, standings: dict[int, Any], settings: Mapping[int, CampaignSettings], now: int) -> None:
        self._standings = standings
        self._settings = settings
        self._now = now
        self.rows: dict[int, tuple[Any, ...]] = {}  # what is to be written, by sequence number

    def verdict(self, campaign: int, reward: RewardDraft) -> Verdict:
        """What becomes of a reward, if what stands still does when it is written."""
        row = None if reward.sequence is None else self._standings.get(reward.sequence)
        if row is None or row[1] != campaign or reward.sequence is None:
            return Verdict.UNKNOWN
        _, _, arm, context, time, counted, default = row
        written = self.rows.get(reward.sequence)
        standing = Standing(time, counted if written is None else written[0], default)
        verdict = judged(standing, reward.micro, self._now, self._settings[campaign].retention)
        if verdict in (Verdict.COUNTED, Verdict.REPLACED_DEFAULT):
            more = settled(PairTotals(), standing, verdict, reward.micro)
            pair = (campaign, arm, context)
            self.rows[reward.sequence] = (
                reward.micro, default, *pair, more.rewards, more.total, Decimal(more.squares)
            )  # fmt: skip
        return verdict

    def columns(self) -> list[list[Any]]:
        """What is to be written, as the statement takes it."""
        rows = [(number, *row) for number, row in sorted(self.rows.items())]
        return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in range(9)]
