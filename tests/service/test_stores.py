import asyncio
import os
import shutil
import threading
import time
from pathlib import Path

import apsw
import msgspec
import pytest

from arcbandit.errors import StoreError, StoreVersionError
from arcbandit.service import sqlite_transactions
from arcbandit.service.backup import back_up, verified
from arcbandit.service.campaigns import Campaign, CampaignSettings
from arcbandit.service.contract import DAY, POLICY, StoreContract, VirtualClock, draft
from arcbandit.service.exporting import rows
from arcbandit.service.identifiers import DecisionIds
from arcbandit.service.judgement import Verdict
from arcbandit.service.sqlite_schema import STEPS, require_sound_sqlite
from arcbandit.service.sqlite_store import ROWS_AT_A_TIME, SQLiteReader, SQLiteStore
from arcbandit.service.sqlite_transactions import opened
from arcbandit.service.store import DecisionDraft, RewardDraft


class TestSQLiteStore(StoreContract):
    """The store in one file keeps every promise of a store."""

    @pytest.fixture
    def open_store(self, tmp_path):
        return lambda clocks: SQLiteStore(str(tmp_path / "store.db"), clocks=clocks)


def test_a_store_of_a_newer_version_is_refused(tmp_path):
    """Older code does not know what newer tables mean."""
    path = str(tmp_path / "store.db")
    SQLiteStore(path).close_now()
    connection = opened(path)
    connection.pragma("user_version", len(STEPS) + 1)
    connection.close()
    with pytest.raises(StoreVersionError, match=f"version {len(STEPS) + 1}"):
        SQLiteStore(path)


def test_another_programs_database_is_refused_and_left_alone(tmp_path):
    """Nobody's tables are mixed with ours."""
    path = tmp_path / "store.db"
    connection = opened(str(path))
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    with pytest.raises(StoreVersionError, match="another program"):
        SQLiteStore(str(path))
    with pytest.raises(StoreError, match="not a store"):
        SQLiteReader(str(path))


def test_what_is_no_database_is_refused(tmp_path):
    """With an error of ours, not of SQLite."""
    path = tmp_path / "store.db"
    path.write_bytes(b"not a database, but long enough to be looked at" * 100)
    with pytest.raises(StoreError, match="cannot be opened"):
        SQLiteStore(str(path))
    with pytest.raises(StoreError, match="no such store"):
        SQLiteReader(str(tmp_path / "nothing.db"))


@pytest.mark.parametrize(("version", "sound"), [("3.51.2", False), ("3.7.0", False), ("3.51.3", True), ("4.0.0", True)])
def test_a_sqlite_that_may_lose_data_is_refused(version, sound):
    """The bug of the write-ahead log was mended in 3.51.3."""
    if sound:
        require_sound_sqlite(version)
    else:
        with pytest.raises(StoreVersionError, match=version):
            require_sound_sqlite(version)


def test_a_second_process_is_refused(tmp_path):
    """Two that write would each overwrite the statistics of the other."""
    path = str(tmp_path / "store.db")
    store = SQLiteStore(path)
    with pytest.raises(StoreError, match="in use"):
        SQLiteStore(path)
    store.close_now()
    SQLiteStore(path).close_now()


def test_the_store_is_for_its_owner_alone(tmp_path):
    """It holds the key that signs decision ids."""
    SQLiteStore(str(tmp_path / "store.db")).close_now()
    assert {file.stat().st_mode & 0o077 for file in tmp_path.iterdir()} == {0}


def test_every_commit_is_synced(tmp_path):
    """Without this, a loss of power would take back what was answered."""
    connection = opened(str(tmp_path / "store.db"))
    assert connection.pragma("synchronous") == 2
    assert connection.pragma("journal_mode") == "wal"
    assert connection.pragma("mmap_size") == 0
    connection.close()
    assert os.path.exists(tmp_path / "store.db")


@pytest.mark.parametrize("saved", sorted(Path(__file__).with_name("saved").glob("*.sql")), ids=lambda path: path.stem)
def test_a_store_of_every_released_version_opens(tmp_path, saved):
    """With all that was in it: the statistics equal a recount, and it goes on from there."""
    path = str(tmp_path / "store.db")
    connection = apsw.Connection(path)
    connection.execute(saved.read_text(encoding="utf-8"))
    connection.close()

    async def play():
        store = SQLiteStore(path)
        ((campaign, plan),) = await store.load()
        found = await store.statistics(campaign.id)
        repeated = await store.record_decision(DecisionDraft(1, 0, 0, 0.5, 0.25, 1, request_id="new"))
        await store.close()
        return campaign, plan, found, repeated

    campaign, plan, found, (made, repeated) = asyncio.run(play())
    assert (campaign.name, plan.version, found.decisions, found.rewards) == ("films", 1, 12, 8)
    assert (made.sequence, repeated) == (13, False)
    audit = verified(path)
    assert audit.holds, audit.differences
    reader = SQLiteReader(path)
    assert [token.name for token in reader.tokens()] == ["shop"]
    reader.close()


@pytest.mark.slow
def test_a_store_of_many_rows_opens_at_once(tmp_path, cases):
    """Nothing is counted again at the start: the statistics are there."""
    path = str(tmp_path / "store.db")

    async def make():
        store = SQLiteStore(path)
        await store.create_campaign("films", CampaignSettings(), POLICY)
        await store.close()

    asyncio.run(make())
    many = cases(100_000, 2_000_000)
    connection = opened(path)
    connection.execute("BEGIN")
    rows = ((number, 1, number % 2, number % 2, 0.5, 0.25, 1, number, None) for number in range(1, many + 1))
    connection.executemany("INSERT INTO decisions VALUES (?,?,?,?,?,?,?,?,?)", rows)
    connection.execute("COMMIT")
    connection.close()

    async def start():
        began = time.process_time()
        store = SQLiteStore(path)
        await store.load()
        made, _ = await store.record_decision(DecisionDraft(1, 0, 0, 0.5, 0.25, 1))
        took = time.process_time() - began
        await store.close()
        return made.sequence, took

    sequence, took = asyncio.run(start())
    assert sequence == many + 1
    assert took < 0.5


def test_who_stops_waiting_does_not_stop_the_writing(tmp_path):
    """A client that hangs up leaves its decision on disk, and disturbs nobody."""

    async def play():
        store = SQLiteStore(str(tmp_path / "store.db"))
        campaign, _ = await store.create_campaign("films", CampaignSettings(), POLICY)
        draft = DecisionDraft(campaign.id, 0, 0, 0.5, 0.25, 1)
        tasks = [asyncio.ensure_future(store.record_decision(draft)) for _ in range(50)]
        await asyncio.sleep(0)  # all of them have asked
        for task in tasks[::2]:
            task.cancel()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        assert sum(isinstance(one, asyncio.CancelledError) for one in answers) == 25
        assert len({one[0].sequence for one in answers[1::2]}) == 25
        found = await store.statistics(campaign.id)
        await store.close()
        with pytest.raises(StoreError, match="closed"):
            await store.record_decision(draft)
        return found.decisions

    assert asyncio.run(play()) == 50


def decided(path, number):
    """Make so many more decisions, and close the store as a service does."""

    async def play():
        store = SQLiteStore(path)
        if not await store.load():
            await store.create_campaign("films", CampaignSettings(), POLICY)
        for _ in range(number):
            await store.record_decision(DecisionDraft(1, 0, 0, 0.5, 0.25, 1))
        await store.close()

    asyncio.run(play())


@pytest.mark.parametrize("is_read", [False, True], ids=["alone", "while it is read"])
def test_a_store_that_was_closed_is_one_file(tmp_path, is_read):
    """So that it may be moved or copied by hand: nothing of it is left in the log beside it."""
    path, alone = tmp_path / "store.db", tmp_path / "alone.db"
    decided(str(path), 1)
    reader = SQLiteReader(str(path)) if is_read else None
    decided(str(path), 3)
    beside = [file.name for file in tmp_path.iterdir() if file.name.endswith(("-wal", "-shm"))]
    alone.write_bytes(path.read_bytes())
    if reader is not None:
        reader.close()
    assert is_read or not beside
    audit = verified(str(alone))
    assert audit.holds, audit.differences
    assert audit.decisions == 4


def test_nothing_is_restored_to_where_a_log_was_left(tmp_path):
    """SQLite would play the log of the store that was there into the one that comes."""
    path, copy = tmp_path / "store.db", tmp_path / "copy.db"
    decided(str(path), 2)
    back_up(str(path), str(copy))
    path.rename(tmp_path / "old.db")
    for ending in ("-wal", "-shm", "-journal"):
        left = tmp_path / f"store.db{ending}"
        left.write_bytes(b"left")
        with pytest.raises(StoreError, match=f"store.db{ending}: is of another store"):
            back_up(str(copy), str(path))
        left.unlink()
    audit = back_up(str(copy), str(path), verify=True)
    assert (audit.decisions, verified(str(path)).decisions) == (2, 2)


def test_what_is_not_sound_is_not_restored(tmp_path):
    """What is verified is the copy that is to be the store."""
    path, restored = tmp_path / "store.db", tmp_path / "restored.db"
    decided(str(path), 2)
    connection = opened(str(path))
    connection.execute("UPDATE statistics SET decisions = 3")
    connection.close()
    with pytest.raises(StoreError, match=r"store\.db is not sound"):
        back_up(str(path), str(restored), verify=True)
    assert {file.name.partition("-")[0] for file in tmp_path.iterdir()} == {"store.db", "store.db.lock"}


def test_backups_are_for_their_owner_alone(tmp_path):
    """They hold the key, too."""
    path, copy = tmp_path / "store.db", tmp_path / "copy.db"
    decided(str(path), 1)
    before = os.umask(0o022)
    try:
        back_up(str(path), str(copy))
    finally:
        os.umask(before)
    assert copy.stat().st_mode & 0o777 == 0o600


def test_a_second_process_is_refused_by_whatever_name_it_knows_the_store(tmp_path):
    """A link to the file, or to its folder."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    (tmp_path / "link.db").symlink_to(tmp_path / "folder" / "store.db")
    store = SQLiteStore(str(tmp_path / "folder" / "store.db"))
    for other in (tmp_path / "link.db", tmp_path / "link" / "store.db"):
        with pytest.raises(StoreError, match="in use"):
            SQLiteStore(str(other))
    store.close_now()
    SQLiteStore(str(tmp_path / "link.db")).close_now()


def test_what_is_no_file_is_refused(tmp_path):
    """With what is wrong about it."""
    for kind in (SQLiteStore, SQLiteReader):
        with pytest.raises(StoreError, match="is a folder, but a store is a file"):
            kind(str(tmp_path))
        with pytest.raises(StoreError, match="empty"):
            kind("")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("last", ["gone", "reward", "plan", "defaults", "forgotten"])
def test_time_does_not_go_back_after_a_crash(tmp_path, last):
    """Whatever was the last that was settled by it; the files are copied as a crash would leave them."""
    clock, crashed = VirtualClock(), tmp_path / "crashed"
    crashed.mkdir()

    async def play():
        store = SQLiteStore(str(tmp_path / "store.db"), clocks=clock.clocks())
        settings = CampaignSettings(retention_seconds=2 * DAY, reward_window_seconds=DAY, default_reward=0.0)
        campaign, plan = await store.create_campaign("films", settings, POLICY)
        made, _ = await store.record_decision(draft(campaign, request_id="one"))
        clock.wait(3 * DAY if last == "gone" else DAY)
        if last == "defaults":
            assert (await store.count_defaults(10)).counted == {campaign.id: 1}
        elif last == "forgotten":
            assert await store.forget_requests(10) == 1
        elif last == "plan":
            await store.publish_plan(campaign.id, msgspec.structs.replace(plan, version=2))
        else:
            (verdict,) = await store.record_rewards(campaign.id, [RewardDraft(made.sequence, 5)])
            assert verdict == (Verdict.GONE if last == "gone" else Verdict.COUNTED)
        for ending in ("", "-wal"):
            shutil.copy(tmp_path / f"store.db{ending}", crashed / f"store.db{ending}")
        before = store.now()
        await store.close()
        clock.wall -= 10 * DAY
        again = SQLiteStore(str(crashed / "store.db"), clocks=clock.clocks())
        after = again.now()
        await again.close()
        return before, after

    before, after = asyncio.run(play())
    assert after >= before


def test_a_campaign_may_grow_while_it_is_exported(tmp_path):
    """Decisions are read some at a time: later ones may know an arm or a context that the first did not."""
    grown = msgspec.json.decode(msgspec.json.encode(POLICY))
    grown["configuration"] |= {
        "arms": ["house", "guest", "new"],
        "contexts": ["phone", "tv", "car"],
        "available": [[True] * 3] * 3,
        "revenue_floors": [0.0] * 3,
    }

    async def play():
        store = SQLiteStore(str(tmp_path / "store.db"))
        campaign, plan = await store.create_campaign("films", CampaignSettings(), POLICY)
        await asyncio.gather(*[store.record_decision(draft(campaign)) for _ in range(ROWS_AT_A_TIME)])
        await store.record_decision(draft(campaign))
        reader = store.reader()
        exported = [rows(reader, Campaign(campaign, plan), DecisionIds(store.key)) for _ in range(2)]
        assert {next(one)["context"] for one in exported} == {"phone"}
        changed, _ = await store.change_campaign(campaign, grown, {"change": "add_context"}, 0)
        await store.record_decision(draft(changed, excluded=(2,)))
        await store.record_decision(draft(changed, context=2, arm=2))
        last = [list(one)[-2:] for one in exported]
        reader.close()
        await store.close()
        return last

    for excluding, new in asyncio.run(play()):
        assert (excluding["context"], excluding["excluded_arms"]) == ("phone", ["new"])
        assert (new["context"], new["arm"]) == ("car", "new")


def test_a_caller_that_is_gone_leaves_the_writer_to_others(tmp_path):
    """Its loop was closed when it was to be told."""

    async def ask(store, campaign):
        task = asyncio.ensure_future(store.record_decision(draft(campaign)))
        await asyncio.sleep(0)
        task.cancel()

    async def make(store):
        return (await store.create_campaign("films", CampaignSettings(), POLICY))[0]

    store = SQLiteStore(str(tmp_path / "store.db"))
    campaign = asyncio.run(make(store))
    held = threading.Event()
    begin = store._transactions.begin
    store._transactions.begin = lambda: (held.wait(60), begin())[1]
    gone = asyncio.new_event_loop()
    gone.run_until_complete(ask(store, campaign))
    gone.run_until_complete(asyncio.sleep(0))
    gone.close()
    held.set()

    async def others():
        async with asyncio.timeout(60):
            await store.record_decision(draft(campaign))
            return (await store.statistics(campaign.id)).decisions

    assert asyncio.run(others()) == 2
    store.close_now()


def test_rewards_of_decisions_that_memory_let_go_are_counted_once(tmp_path, monkeypatch):
    """What is kept of the last decisions saves a look at the disk, and nothing else."""
    monkeypatch.setattr(sqlite_transactions, "MOST_OPEN", 3)

    async def play():
        store = SQLiteStore(str(tmp_path / "store.db"))
        record, _ = await store.create_campaign("films", CampaignSettings(), POLICY)
        made = [(await store.record_decision(draft(record)))[0] for _ in range(10)]
        for expected in (Verdict.COUNTED, Verdict.REPEATED):
            for decision in made[::-1]:
                told = await store.record_rewards(record.id, [RewardDraft(decision.sequence, 5)])
                assert told == [expected]
            assert len(store._writer._transactions._open) <= 3
        await store.close()

    asyncio.run(play())
