"""What was answered survives a loss of power: simulated, for a killed process cannot tell synced from unsynced."""

import contextlib
import random

import apsw
import pytest

from arcbandit.errors import StoreError
from arcbandit.service.audit import audited
from arcbandit.service.campaigns import CampaignSettings
from arcbandit.service.clock import Clocks
from arcbandit.service.contract import POLICY
from arcbandit.service.judgement import Verdict
from arcbandit.service.sqlite_store import SQLiteReader, SQLiteStore
from arcbandit.service.sqlite_transactions import SQLiteTransactions
from arcbandit.service.store import DecisionDraft, RewardDraft
from tests.service.power import Disk, DiskVFS

NAME = "/store.db"


def ignored(_):
    pass


class Acknowledged:
    """What a caller was told, until the power went off."""

    def __init__(self):
        self.decisions = {}
        self.rewards = {}


def played_until_the_power_goes(disk, number, cut_after, *, synchronous="FULL"):
    """Decide and reward on a disk; what was acknowledged."""
    vfs = DiskVFS(f"power-{number}-{synchronous}", disk)
    told = Acknowledged()
    ticks = iter(range(10**9))
    store = SQLiteTransactions(NAME, Clocks(lambda: 1.7e9, lambda: next(ticks) * 1e-6), ignored, vfs.name)
    disk.cut_within(cut_after)
    try:
        store._connection.pragma("synchronous", synchronous)
        store._connection.pragma("wal_autocheckpoint", 6)  # so that many cuts hit one
        store.begin()
        campaign, _ = store.create_campaign("films", CampaignSettings(), POLICY)
        store.commit()
        rng = random.Random(number)
        while True:
            store.begin()
            made = []
            for _ in range(rng.randrange(1, 4)):
                draft = DecisionDraft(campaign.id, rng.randrange(2), 0, 0.5, 0.25, 1)
                made.append(store.record_decision(draft)[0])
            waiting = [key for key in told.decisions if key not in told.rewards][: rng.randrange(3)]
            drafts = [RewardDraft(key, rng.randrange(10**6)) for key in waiting]
            assert store.record_rewards(campaign.id, drafts) == [Verdict.COUNTED] * len(drafts)
            store.commit()
            told.decisions |= {one.sequence: one for one in made}
            told.rewards |= {draft.sequence: draft.micro for draft in drafts}
    except apsw.IOError:
        assert disk.survivors is not None
    finally:
        with contextlib.suppress(apsw.Error):
            store.close()
    return told


def what_was_lost(disk, told, folder):
    """What a caller was told and the store does not have, after it was opened again; it must be sound in any case."""
    folder.mkdir()
    disk.write_to(folder)
    path = str(folder / "store.db")
    SQLiteStore(path).close_now()
    reader = SQLiteReader(path)
    audit = audited(reader)
    found = {
        logged.decision.sequence: logged for record, _ in reader.campaigns() for logged in reader.decisions(record.id)
    }
    reader.close()
    assert audit.holds, audit.differences
    lost = [key for key, made in told.decisions.items() if key not in found or found[key].decision != made]
    return lost + [key for key, micro in told.rewards.items() if key not in found or found[key].reward != micro]


@pytest.mark.slow
def test_nothing_that_was_answered_is_lost(tmp_path, cases):
    """At any write or sync the power may go off, and unsynced sectors survive at random."""
    cuts = cases(60, 2000)
    acknowledged = 0
    for number in range(cuts):
        rng = random.Random(number)
        disk = Disk(rng)
        told = played_until_the_power_goes(disk, number, rng.randrange(30, 900))
        assert what_was_lost(disk, told, tmp_path / str(number)) == []
        acknowledged += len(told.decisions) + len(told.rewards)
    print(f"{cuts} power cuts, {acknowledged} acknowledged, 0 lost")
    assert acknowledged > 20 * cuts


@pytest.mark.slow
def test_the_simulated_disk_does_lose_what_is_not_synced(tmp_path, cases):
    """With synchronous=NORMAL the same test finds losses: it can tell."""
    losses = 0
    for number in range(cases(15, 500)):
        rng = random.Random(number)
        disk = Disk(rng)
        told = played_until_the_power_goes(disk, number, rng.randrange(200, 900), synchronous="NORMAL")
        losses += bool(what_was_lost(disk, told, tmp_path / str(number)))
    assert losses > 0


def test_a_failed_sync_breaks_the_store(tmp_path):
    """Nobody knows what is on such a disk: callers get an error, and the process is told to end."""
    disk = Disk(random.Random(1))
    vfs = DiskVFS("failing", disk)
    broken = []
    store = SQLiteTransactions(NAME, Clocks(), broken.append, vfs.name)
    store.begin()
    campaign, _ = store.create_campaign("films", CampaignSettings(), POLICY)
    store.commit()
    disk.fail_syncs = True
    store.begin()
    store.record_decision(DecisionDraft(campaign.id, 0, 0, 0.5, 0.25, 1))
    with pytest.raises(apsw.IOError) as failure:
        store.commit()
    store.roll_back()
    disk.fail_syncs = False
    assert isinstance(store.explained(failure.value), StoreError)
    assert broken == [failure.value]
    store.close()
