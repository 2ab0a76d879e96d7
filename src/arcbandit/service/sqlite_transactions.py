"""What the writing thread of a SQLite store does: rows and the statistics that follow, in one transaction."""

import collections
import contextlib
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import apsw
import msgspec

from arcbandit.errors import (
    NameTakenError,
    RequestIdUsedError,
    StaleError,
    StoreError,
    StoreFullError,
)
from arcbandit.service.amounts import PairTotals
from arcbandit.service.campaigns import CampaignRecord, CampaignSettings, PlanRecord, adjusted_plan, first_plan
from arcbandit.service.clock import Clocks, StoreTime
from arcbandit.service.identifiers import new_key
from arcbandit.service.judgement import Standing, Verdict, default_is_due, judged, settled
from arcbandit.service.records import blob_of, campaign_of, decision_of, learner_blob, plan_of, text_of
from arcbandit.service.sqlite_schema import migrate
from arcbandit.service.store import (
    REQUEST_MEMORY,
    DecisionDraft,
    DecisionRecord,
    DefaultsCounted,
    LearnerRecord,
    RewardDraft,
)

FIND_REQUEST = "SELECT id, sequence, time FROM requests WHERE campaign = ? AND request_id = ?"
FIND_DECISION = (
    "SELECT sequence, campaign, context, arm, probability, uniform, plan_version, time, excluded FROM decisions"
)
FIND_STANDING = (
    "SELECT d.campaign, d.arm, d.context, d.time, r.micro, f.micro, d.sequence FROM decisions d "
    "LEFT JOIN rewards r ON r.sequence = d.sequence LEFT JOIN defaults f ON f.sequence = d.sequence "
)
FIND_TOTALS = "SELECT decisions, rewards, total, squares FROM statistics WHERE campaign = ? AND arm = ? AND context = ?"
CLOSING_WAIT = 500  # milliseconds, for readers that are in the middle of something
MOST_OPEN = 50_000  # decisions whose reward is found without a look at the disk
ROWS_OF_A_STATEMENT = (32, 8, 2, 1)  # few sizes, so that prepared statements are found again
FIND_CAMPAIGN = "SELECT id, name, revision, created_at, settings, policy, admitted, plan_version FROM campaigns"


def opened(path: str, vfs: str | None = None) -> Any:
    """A connection that writes durably; rows are of any type, as the tables are STRICT."""
    connection = apsw.Connection(path, vfs=vfs)
    connection.set_busy_timeout(10_000)
    connection.pragma("mmap_size", 0)
    if vfs is not None:  # one written in Python has no shared memory, which several connections would need
        connection.pragma("locking_mode", "EXCLUSIVE")
    connection.pragma("journal_mode", "WAL")
    connection.pragma("synchronous", "FULL")
    connection.pragma("cache_size", -65_536)
    return connection


class SQLiteTransactions:
    """The one writing connection, used by one thread.

    What a transaction adds is collected, and written when it is committed; what is kept in memory from one to the next
    (the statistics, the last sequence number) changes only after a commit.
    """

    def __init__(
        self, path: str, clocks: Clocks, on_broken: Callable[[BaseException], None], vfs: str | None = None
    ) -> None:
        self._connection = opened(path, vfs)
        migrate(self._connection, path)
        self._on_broken = on_broken
        self.is_writable = True
        execute = self._connection.execute
        row = execute("SELECT sequence, time FROM decisions ORDER BY sequence DESC LIMIT 1").fetchone()
        self._last_sequence: int = 0 if row is None else row[0]
        kept = execute("SELECT CAST(value AS TEXT) FROM meta WHERE name = 'time'").fetchone()
        rewarded = execute("SELECT time FROM rewards ORDER BY arrival DESC LIMIT 1").fetchone()
        times = [0 if row is None else row[1], 0 if kept is None else int(kept[0]), *(rewarded or ())]
        self.time = StoreTime(clocks, max(times))
        self._totals: dict[tuple[int, int, int], PairTotals] = {}
        # By sequence: campaign, arm, context, time. The first key of a plain dict is found by a walk over all that were
        # deleted before it, which made every decision slower once there were many.
        self._open: collections.OrderedDict[int, tuple[int, int, int, int]] = collections.OrderedDict()
        self._settings: dict[int, CampaignSettings] = {
            identifier: msgspec.json.decode(settings, type=CampaignSettings)
            for identifier, settings in execute("SELECT id, settings FROM campaigns")
        }
        with self._connection:
            execute("INSERT INTO meta VALUES ('key', ?) ON CONFLICT DO NOTHING", (new_key(),))
        self.key: bytes = execute("SELECT value FROM meta WHERE name = 'key'").fetchone()[0]
        self._clear()

    # Transactions

    def _clear(self) -> None:
        self._sequence = self._last_sequence
        self._decisions: list[tuple[Any, ...]] = []
        self._requests: list[tuple[Any, ...]] = []
        self._asked: dict[tuple[int, str], DecisionRecord] = {}
        self._rewards: dict[int, int] = {}
        self._defaults: dict[int, int] = {}
        self._touched: dict[tuple[int, int, int], PairTotals] = {}
        self._new_settings: dict[int, CampaignSettings] = {}
        self._keeps_time = False  # whether something was settled by the time alone, which must not go back afterwards

    def begin(self) -> "SQLiteTransactions":
        """Begin a transaction; its time is that of everything in it."""
        self._connection.execute("BEGIN IMMEDIATE")
        self._now = self.time.now()
        return self

    def commit(self) -> None:
        """Write what was collected, and put it on disk."""
        insert, now = self._insert, self._now
        if self._keeps_time:
            self._keep_time(now)
        insert("INSERT INTO decisions VALUES ", self._decisions)
        insert("INSERT INTO requests (campaign, request_id, sequence, time) VALUES ", self._requests)
        insert(
            "INSERT INTO rewards (sequence, micro, time) VALUES ",
            [(key, micro, now) for key, micro in self._rewards.items()],
        )
        insert("INSERT INTO defaults VALUES ", [(key, micro, now) for key, micro in self._defaults.items()])
        insert(
            "INSERT OR REPLACE INTO statistics VALUES ",
            [(*pair, t.decisions, t.rewards, str(t.total), str(t.squares)) for pair, t in self._touched.items()],
        )
        self._connection.execute("COMMIT")
        self._last_sequence = self._sequence
        self._totals.update(self._touched)
        self._keep_open()
        self._settings.update(self._new_settings)
        self.is_writable = True
        self._clear()

    def _keep_open(self) -> None:
        """Remember the last decisions that have neither reward nor default, as it is on disk now."""
        for sequence, campaign, context, arm, _, _, _, time, _ in self._decisions:
            self._open[sequence] = (campaign, arm, context, time)
        for sequence in (*self._rewards, *self._defaults):
            self._open.pop(sequence, None)
        while len(self._open) > MOST_OPEN:
            self._open.popitem(last=False)

    def _insert(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Insert many rows by few statements: at the end of each, the thread that answers requests takes the lock."""
        done = 0
        while done < len(rows):
            size = next(size for size in ROWS_OF_A_STATEMENT if size <= len(rows) - done)
            row = f"({','.join('?' * len(rows[0]))})"
            values = itertools.chain.from_iterable(rows[done : done + size])
            self._connection.execute(statement + ",".join([row] * size), tuple(values))
            done += size

    def _keep_time(self, now: int) -> None:
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES ('time', ?)", (b"%d" % now,))

    def roll_back(self) -> None:
        """Forget the transaction; a full disk may have done so already."""
        self._clear()
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def explained(self, error: BaseException) -> BaseException:
        """A full disk may have room later; after any other failure nobody knows what is on disk."""
        if isinstance(error, StoreError):
            return error
        if isinstance(error, apsw.FullError):
            self.is_writable = False
            return StoreFullError("The disk of the store is full.")
        if isinstance(error, apsw.BusyError | apsw.LockedError):
            return StoreFullError("The store is locked by another program.")
        if isinstance(error, apsw.Error):
            self._on_broken(error)
            return StoreError(f"The store failed: {error}.")
        return error

    def close(self) -> None:
        """Let go of the database, with all of it in its one file even if somebody reads on."""
        # Either may fail, on a broken disk or if it is closed already: then what is in the log stays there.
        with contextlib.suppress(apsw.Error):
            self._connection.set_busy_timeout(CLOSING_WAIT)
            self._keep_time(self.time.now())
        with contextlib.suppress(apsw.Error):
            self._connection.pragma("wal_checkpoint", "TRUNCATE")
        self._connection.close()

    # Decisions and rewards

    def record_decision(self, draft: DecisionDraft) -> tuple[DecisionRecord, bool]:
        """Record a decision, or find that of its request id."""
        asked = draft.request_id
        if asked is not None:
            found = self.decision_of_request(draft.campaign, asked)
            if found is not None:
                if (found.context, found.excluded) != (draft.context, draft.excluded):
                    raise RequestIdUsedError("The request id was used with another context or other excluded arms.")
                return found, True
        self._sequence += 1
        made = DecisionRecord(self._sequence, *draft[:6], self._now, draft.excluded)
        self._decisions.append((*made[:8], text_of(draft.excluded)))
        if asked is not None:
            self._requests.append((draft.campaign, asked, made.sequence, self._now))
            self._asked[draft.campaign, asked] = made
        pair = (draft.campaign, draft.arm, draft.context)
        self._touched[pair] = self._totals_of(pair).decided()
        return made, False

    def decision_of_request(self, campaign: int, request_id: str) -> DecisionRecord | None:
        """The decision that was made for a request id, also in this commit."""
        return self._asked.get((campaign, request_id)) or self._decision_of_request(campaign, request_id)

    def _decision_of_request(self, campaign: int, request_id: str) -> DecisionRecord | None:
        row = self._connection.execute(FIND_REQUEST, (campaign, request_id)).fetchone()
        if row is None:
            return None
        number, sequence, time = row
        if self._now - time >= REQUEST_MEMORY:
            self._connection.execute("DELETE FROM requests WHERE id = ?", (number,))
            self._keeps_time = True
            return None
        return decision_of(self._connection.execute(f"{FIND_DECISION} WHERE sequence = ?", (sequence,)).fetchone())

    def _totals_of(self, pair: tuple[int, int, int]) -> PairTotals:
        found = self._touched.get(pair) or self._totals.get(pair)
        if found is None:
            row = self._connection.execute(FIND_TOTALS, pair).fetchone()
            found = PairTotals() if row is None else PairTotals(row[0], row[1], int(row[2]), int(row[3]))
            self._totals[pair] = found  # as it is on disk
        return found

    def record_rewards(self, campaign: int, rewards: Sequence[RewardDraft]) -> list[Verdict]:
        """Count each reward once."""
        return [self._record_reward(campaign, reward) for reward in rewards]

    def _record_reward(self, campaign: int, reward: RewardDraft) -> Verdict:
        row: tuple[Any, ...] | None = None
        if reward.sequence is not None and reward.sequence in self._open:
            row = (*self._open[reward.sequence], None, None, reward.sequence)
        elif reward.sequence is not None:
            row = self._connection.execute(f"{FIND_STANDING} WHERE d.sequence = ?", (reward.sequence,)).fetchone()
        if row is None or row[0] != campaign or reward.sequence is None:
            return Verdict.UNKNOWN
        _, arm, context, time, counted, default, _ = row
        standing = Standing(
            time,
            self._rewards.get(reward.sequence, counted),
            self._defaults.get(reward.sequence, default),
        )
        verdict = judged(standing, reward.micro, self._now, self._settings[campaign].retention)
        if verdict in (Verdict.COUNTED, Verdict.REPLACED_DEFAULT):
            pair = (campaign, arm, context)
            self._touched[pair] = settled(self._totals_of(pair), standing, verdict, reward.micro)
            self._rewards[reward.sequence] = reward.micro
        self._keeps_time |= verdict is Verdict.GONE
        return verdict

    def count_defaults(self, limit: int) -> DefaultsCounted:
        """Count default rewards that are due."""
        looked_at, due = 0, collections.Counter[int]()
        for campaign, settings in self._settings.items():
            if settings.window is None:
                continue
            (until,) = self._connection.execute(
                "SELECT defaults_until FROM campaigns WHERE id = ?", (campaign,)
            ).fetchone()
            reached = min(until + limit, self._last_sequence)
            rows = self._connection.execute(
                f"{FIND_STANDING} WHERE d.sequence > ? AND d.sequence <= ? AND d.campaign = ? ORDER BY d.sequence",
                (until, reached, campaign),
            ).fetchall()
            for _, arm, context, time, counted, default, sequence in rows:
                if self._now - time < settings.window:
                    reached = sequence - 1
                    break
                if default_is_due(Standing(time, counted, default), self._now, settings.window):
                    pair = (campaign, arm, context)
                    self._touched[pair] = self._totals_of(pair).rewarded(settings.default_micro)
                    self._defaults[sequence] = settings.default_micro
                    due[campaign] += 1
            if reached > until:
                self._connection.execute("UPDATE campaigns SET defaults_until = ? WHERE id = ?", (reached, campaign))
                looked_at += reached - until
                self._keeps_time = True
        return DefaultsCounted(looked_at, dict(due))

    def forget_requests(self, limit: int) -> int:
        """Forget request ids that are too old; how many were."""
        self._connection.execute(
            "DELETE FROM requests WHERE id IN (SELECT id FROM requests ORDER BY id LIMIT ?) AND time <= ?",
            (limit, self._now - REQUEST_MEMORY),
        )
        forgotten = int(self._connection.changes())
        self._keeps_time |= forgotten > 0
        return forgotten

    def touch(self) -> None:
        """Write a little, to see whether the disk has room again."""
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES ('touched', ?)", (b"\0" * 4096,))

    # Campaigns and plans

    def create_campaign(
        self, name: str, settings: CampaignSettings, policy: dict[str, Any]
    ) -> tuple[CampaignRecord, PlanRecord]:
        """A new campaign with its first plan."""
        if self._connection.execute("SELECT 1 FROM campaigns WHERE name = ?", (name,)).fetchone() is not None:
            raise NameTakenError(f"There is a campaign {name!r}.")
        (last,) = self._connection.execute("SELECT coalesce(max(id), 0) FROM campaigns").fetchone()
        record = CampaignRecord(last + 1, name, 1, self._now, settings, policy)
        plan = first_plan(record, self._now)
        self._connection.execute(
            "INSERT INTO campaigns VALUES (?,?,?,?,?,?,?,?,?)",
            (
                record.id,
                name,
                record.revision,
                self._now,
                msgspec.json.encode(settings),
                msgspec.json.encode(policy),
                0,
                plan.version,
                self._last_sequence,
            ),
        )
        self._keep_plan(record.id, plan)
        self._keep_change(record, {"change": "create"})
        self._new_settings[record.id] = settings
        return record, plan

    def change_campaign(
        self, before: CampaignRecord, policy: dict[str, Any], change: dict[str, Any], admitted: int
    ) -> tuple[CampaignRecord, PlanRecord]:
        """The campaign after a change."""
        found, plan = self._in_force(before.id)
        if found.revision != before.revision:
            raise StaleError(f"The campaign is at revision {found.revision}, not {before.revision}.")
        record = CampaignRecord(
            before.id, before.name, before.revision + 1, before.created_at, before.settings, policy, admitted
        )
        adjusted = adjusted_plan(record, plan, self._now)
        self._connection.execute(
            "UPDATE campaigns SET revision = ?, policy = ?, admitted = ?, plan_version = ? WHERE id = ?",
            (record.revision, msgspec.json.encode(policy), admitted, adjusted.version, record.id),
        )
        self._keep_plan(record.id, adjusted)
        self._keep_change(record, change)
        return record, adjusted

    def publish_plan(self, campaign: int, plan: PlanRecord, learner: LearnerRecord | None) -> PlanRecord:
        """Put a plan in force if it follows the one that is."""
        # Without the policy and the last plan, which may be large: the requests of this process wait meanwhile.
        revision, version = self._connection.execute(
            "SELECT revision, plan_version FROM campaigns WHERE id = ?", (campaign,)
        ).fetchone()
        if plan.version != version + 1 or plan.revision != revision:
            raise StaleError(
                f"A plan of version {plan.version} for revision {plan.revision} cannot follow version {version} "
                f"at revision {revision}."
            )
        made = msgspec.structs.replace(plan, made_at=self._now)
        self._keep_plan(campaign, made)
        self._connection.execute("UPDATE campaigns SET plan_version = ? WHERE id = ?", (made.version, campaign))
        if learner is not None:
            self._connection.execute("INSERT OR REPLACE INTO learners VALUES (?,?)", (campaign, learner_blob(learner)))
        return made

    def _in_force(self, campaign: int) -> tuple[CampaignRecord, PlanRecord]:
        record, version = campaign_of(self._connection.execute(f"{FIND_CAMPAIGN} WHERE id = ?", (campaign,)).fetchone())
        (blob,) = self._connection.execute(
            "SELECT plan FROM plans WHERE campaign = ? AND version = ?", (campaign, version)
        ).fetchone()
        return record, plan_of(blob)

    def _keep_plan(self, campaign: int, plan: PlanRecord) -> None:
        self._connection.execute("INSERT INTO plans VALUES (?,?,?)", (campaign, plan.version, blob_of(plan)))
        self._keeps_time = True

    def _keep_change(self, record: CampaignRecord, change: dict[str, Any]) -> None:
        self._connection.execute(
            "INSERT INTO changes VALUES (?,?,?,?)", (record.id, record.revision, self._now, msgspec.json.encode(change))
        )
