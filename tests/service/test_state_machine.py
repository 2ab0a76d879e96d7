"""Rewards delivered, repeated, reordered, late and over crashes: the store against a dictionary."""

import asyncio
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from arcbandit.errors import RequestIdUsedError
from arcbandit.service.amounts import PairTotals
from arcbandit.service.audit import audited
from arcbandit.service.campaigns import CampaignSettings
from arcbandit.service.contract import POLICY, VirtualClock
from arcbandit.service.judgement import Verdict
from arcbandit.service.sqlite_store import SQLiteStore
from arcbandit.service.store import DecisionDraft, RewardDraft
from tests.long import LONG

WINDOW, RETENTION, DAY = 100.0, 1000.0, 86400.0
DEFAULT = 3
REQUESTS = [None, "a", "b", "c"]


class StoreAgainstDictionary(RuleBasedStateMachine):
    """The model is plain dictionaries, written from the table of promises and not from the code."""

    @initialize()
    def open(self):
        self.folder = Path(tempfile.mkdtemp())
        self.loop = asyncio.new_event_loop()
        self.clock = VirtualClock()
        self.runs = 0
        self.store = SQLiteStore(str(self.folder / "0.db"), clocks=self.clock.clocks())
        told = CampaignSettings(reward_window_seconds=WINDOW, default_reward=DEFAULT / 1e6, retention_seconds=RETENTION)
        self.campaign, _ = self.do(self.store.create_campaign("films", told, POLICY))
        self.decisions = {}  # sequence: (arm, context, time)
        self.rewards = {}  # sequence: micro
        self.defaults = set()
        self.requests = {}  # request id: (sequence, context, time)
        self.last_sequence = 0

    def do(self, call):
        return self.loop.run_until_complete(call)

    @rule(context=st.integers(0, 1), arm=st.integers(0, 1), request=st.sampled_from(REQUESTS))
    def decide(self, context, arm, request):
        now = self.clock.elapsed
        known = self.requests.get(request)
        if known is not None and now - known[2] >= DAY:
            known = None
        draft = DecisionDraft(self.campaign.id, context, arm, 0.5, 0.25, 1, request_id=request)
        if known is not None and known[1] != context:
            with pytest.raises(RequestIdUsedError):
                self.do(self.store.record_decision(draft))
            return
        made, repeated = self.do(self.store.record_decision(draft))
        if known is not None:
            assert repeated
            assert made.sequence == known[0]
            return
        assert not repeated
        assert made.sequence > self.last_sequence
        self.last_sequence = made.sequence
        self.decisions[made.sequence] = (arm, context, now)
        if request is not None:
            self.requests[request] = (made.sequence, context, now)

    @precondition(lambda self: self.decisions)
    @rule(data=st.data(), count=st.integers(1, 4))
    def deliver(self, data, count):
        """One or more rewards in one call, of decisions old and new, some of them twice."""
        chosen = [
            (data.draw(st.sampled_from(sorted(self.decisions))), data.draw(st.integers(-2, 2))) for _ in range(count)
        ]
        found = self.do(self.store.record_rewards(self.campaign.id, [RewardDraft(*one) for one in chosen]))
        for (sequence, micro), verdict in zip(chosen, found, strict=True):
            assert verdict == self.expected(sequence, micro)
            if verdict in (Verdict.COUNTED, Verdict.REPLACED_DEFAULT):
                self.rewards[sequence] = micro
                self.defaults.discard(sequence)

    def expected(self, sequence, micro):
        if sequence in self.rewards:
            return Verdict.REPEATED if self.rewards[sequence] == micro else Verdict.CONFLICT
        if self.clock.elapsed - self.decisions[sequence][2] >= RETENTION:
            return Verdict.GONE
        return Verdict.REPLACED_DEFAULT if sequence in self.defaults else Verdict.COUNTED

    @rule(number=st.integers(0, 10**6))
    def deliver_to_nobody(self, number):
        unknown = [RewardDraft(None, 1), RewardDraft(self.last_sequence + 1 + number, 1)]
        assert self.do(self.store.record_rewards(self.campaign.id, unknown)) == [Verdict.UNKNOWN] * 2

    @rule(seconds=st.sampled_from([1.0, 50.0, 100.0, 500.0, 1000.0, DAY]), jump=st.sampled_from([0.0, -1e6, 1e6]))
    def wait(self, seconds, jump):
        self.clock.wait(seconds)
        self.clock.wall += jump

    @rule(limit=st.integers(1, 5))
    def count_defaults(self, limit):
        while self.do(self.store.count_defaults(limit)).looked_at:
            pass
        for sequence, (_, _, time) in self.decisions.items():
            if self.clock.elapsed - time >= WINDOW and sequence not in self.rewards:
                self.defaults.add(sequence)

    @rule(crash=st.booleans())
    def restart(self, crash):
        """Close it, or go on from a copy of its files as they are, which is what a killed process leaves."""
        self.runs += 1
        path = self.folder / f"{self.runs}.db"
        before = self.store
        if not crash:
            self.do(before.close())
        for suffix in ("", "-wal"):
            old = Path(before.path + suffix)
            if old.exists():
                shutil.copy(old, f"{path}{suffix}")
        if crash:
            self.do(before.close())
        # A store's time starts from the wall clock: set it to what the model believes.
        self.clock.wall = 1_700_000_000.0 + self.clock.elapsed
        self.store = SQLiteStore(str(path), clocks=self.clock.clocks())

    @invariant()
    def statistics_are_exact(self):
        if not hasattr(self, "store"):
            return
        totals = {}
        for sequence, (arm, context, _) in self.decisions.items():
            pair = totals.get((arm, context), PairTotals()).decided()
            if sequence in self.rewards:
                pair = pair.rewarded(self.rewards[sequence])
            elif sequence in self.defaults:
                pair = pair.rewarded(DEFAULT)
            totals[arm, context] = pair
        assert self.do(self.store.statistics(self.campaign.id)).pairs == totals

    def teardown(self):
        if hasattr(self, "store"):
            reader = self.store.reader()
            counted = audited(reader)
            reader.close()
            self.do(self.store.close())
            self.loop.close()
            shutil.rmtree(self.folder)
            assert not [line for line in counted.differences if "statistics" in line]


TestStoreAgainstDictionary = StoreAgainstDictionary.TestCase
TestStoreAgainstDictionary.settings = settings(
    max_examples=300 if LONG else 12,
    stateful_step_count=40 if LONG else 25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestStoreAgainstDictionary.pytestmark = [pytest.mark.long, pytest.mark.slow]
