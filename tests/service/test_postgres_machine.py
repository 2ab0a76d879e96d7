"""Rewards delivered, repeated, late and over lost connections: the store in PostgreSQL against dictionaries."""

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule, run_state_machine_as_test

from arcbandit.service.campaigns import CampaignSettings
from arcbandit.service.contract import POLICY, VirtualClock
from arcbandit.service.postgres_store import PostgresStore
from tests.service.test_state_machine import DEFAULT, RETENTION, WINDOW, StoreAgainstDictionary


class PostgresAgainstDictionary(StoreAgainstDictionary):
    """Two stores on one database, each asked in turn: the model does not know of them."""

    server = None

    @initialize()
    def open(self):
        self.folder = Path(tempfile.mkdtemp())  # which the other machine removes
        self.loop = asyncio.new_event_loop()
        self.clock = VirtualClock()
        self.url = self.server.new_store()
        self.stores = [PostgresStore(self.url, clocks=self.clock.clocks()) for _ in range(2)]
        told = CampaignSettings(reward_window_seconds=WINDOW, default_reward=DEFAULT / 1e6, retention_seconds=RETENTION)
        self.campaign, _ = self.do(self.stores[0].create_campaign("films", told, POLICY))
        self.decisions, self.rewards, self.defaults, self.requests = {}, {}, set(), {}
        self.last_sequence = 0

    @property
    def store(self):
        """The one whose turn it is."""
        if "stores" not in self.__dict__:
            raise AttributeError
        self.stores.reverse()
        return self.stores[0]

    @rule(context=st.integers(0, 1), arm=st.integers(0, 1), request=st.sampled_from([None, "a", "b", "c"]))
    def decide(self, context, arm, request):
        self.last_sequence = 0  # replicas number from blocks of their own
        StoreAgainstDictionary.decide(self, context, arm, request)

    @rule(number=st.integers(10**12, 10**18))
    def deliver_to_nobody(self, number):
        StoreAgainstDictionary.deliver_to_nobody(self, number)

    @rule(crash=st.booleans())
    def restart(self, crash):
        """Close one, or let it lose its connections."""
        store = self.stores[0]
        if crash:
            for connection in (store._writer, store._control):
                if connection is not None:
                    connection.terminate()
            self.loop.run_until_complete(asyncio.sleep(0.01))
            return
        self.do(store.close())
        self.clock.wall = 1_700_000_000.0 + self.clock.elapsed
        self.stores[0] = PostgresStore(self.url, clocks=self.clock.clocks())

    def teardown(self):
        if "stores" in self.__dict__:
            other = self.stores.pop()
            self.do(other.close())
        super().teardown()


@pytest.mark.slow
def test_postgres_against_dictionaries(postgres_server, cases):
    """As `StoreAgainstDictionary` on SQLite."""
    PostgresAgainstDictionary.server = postgres_server
    run_state_machine_as_test(
        PostgresAgainstDictionary,
        settings=settings(
            max_examples=cases(6, 100),
            stateful_step_count=cases(20, 40),
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )
