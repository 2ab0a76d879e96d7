"""The store in PostgreSQL keeps every promise of a store, and some more where several processes share it."""

import asyncio
import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from arcbandit.errors import InvalidInputError, NameTakenError, StaleError, StoreError, StoreVersionError
from arcbandit.service.amounts import PairTotals
from arcbandit.service.audit import audited
from arcbandit.service.backup import back_up
from arcbandit.service.campaigns import CampaignSettings
from arcbandit.service.contract import DAY, HOUR, POLICY, StoreContract, VirtualClock, draft, refused
from arcbandit.service.judgement import Verdict
from arcbandit.service.postgres_connection import Address, require_sound_server
from arcbandit.service.postgres_reading import PostgresReader
from arcbandit.service.postgres_schema import STEPS
from arcbandit.service.postgres_store import PostgresStore
from arcbandit.service.store import DecisionDraft, RewardDraft, TokenRecord
from arcbandit.service.stores import add_token, is_postgres, open_reader, remove_token

pytestmark = pytest.mark.slow  # whichever is first starts the server


@pytest.fixture
def url(postgres_server):
    return postgres_server.new_store()


class TestPostgresStore(StoreContract):
    """The store in PostgreSQL keeps every promise of a store."""

    @pytest.fixture
    def open_store(self, url):
        return lambda clocks: PostgresStore(url, clocks=clocks)


def replicas(url, play, clock=None, count=2):
    """What comes of a test with several stores on one database."""

    async def run():
        stores = [PostgresStore(url, clocks=None if clock is None else clock.clocks()) for _ in range(count)]
        try:
            return await play(*stores)
        finally:
            for store in stores:
                await store.close()

    return asyncio.run(run())


def recounted(url):
    """The statistics of the first campaign and those that its log gives."""
    reader = open_reader(url)
    counted = {}
    for logged in reader.decisions(1):
        pair = (logged.decision.arm, logged.decision.context)
        totals = counted.get(pair, PairTotals()).decided()
        counted[pair] = totals if logged.reward is None else totals.rewarded(logged.reward)
    kept = reader.statistics(1).pairs
    reader.close()
    return kept, counted


def deadlocks(server):
    ((found,),) = server.execute("SELECT sum(deadlocks) FROM pg_stat_database")
    return int(found)


def test_replicas_count_everything_once(url, postgres_server, cases):
    """Overlapping duplicates of requests, rewards and defaults in batches of two stores, in every order."""
    rounds = cases(20, 300)
    before = deadlocks(postgres_server)
    clock = VirtualClock()
    settings = CampaignSettings(reward_window_seconds=1.0, default_reward=0.000003)

    async def play(one, other):
        films, _ = await one.create_campaign("films", settings, POLICY)
        chance = random.Random(1)
        answers, rewards = {}, {}
        for number in range(rounds):
            asked = [f"{number}-{place}" for place in range(40)] * 2 + [f"{number - 1}-{place}" for place in range(10)]
            chance.shuffle(asked)
            made = await asyncio.gather(
                *(
                    chance.choice([one, other]).record_decision(
                        DecisionDraft(films.id, ask.endswith("7"), len(ask) % 2, 0.5, 0.25, 1, (), ask)
                    )
                    for ask in asked
                )
            )
            for ask, (decision, _) in zip(asked, made, strict=True):
                assert answers.setdefault(ask, decision) == decision
            known = sorted({decision.sequence for decision in answers.values()})
            late = [RewardDraft(chance.choice(known), chance.randrange(5)) for _ in range(60)]
            clock.wait(0.6)
            verdicts, *_ = await asyncio.gather(
                asyncio.gather(
                    *(
                        chance.choice([one, other]).record_rewards(films.id, late[start : start + 7])
                        for start in range(0, 60, 7)
                    )
                ),
                one.count_defaults(1000),
                other.count_defaults(1000),
            )
            flat = [verdict for several in verdicts for verdict in several]
            seen.update(flat)
            for reward, verdict in zip(late, flat, strict=True):
                if verdict <= Verdict.REPLACED_DEFAULT:
                    assert reward.sequence not in rewards, "counted twice"
                    rewards[reward.sequence] = reward.micro
            for reward, verdict in zip(late, flat, strict=True):
                assert verdict.is_kept == (rewards[reward.sequence] == reward.micro)
        return answers, rewards

    seen = set()
    answers, rewards = replicas(url, play, clock)
    kept, counted = recounted(url)
    assert kept == counted
    assert sum(pair.decisions for pair in kept.values()) == len({made.sequence for made in answers.values()})
    reader = open_reader(url)
    logged = {one.decision.sequence: one for one in reader.decisions(1)}
    reader.close()
    assert {number: one.reward for number, one in logged.items() if one.reward is not None and not one.is_default} == (
        rewards
    )
    assert any(one.is_default for one in logged.values())
    assert seen == {Verdict.COUNTED, Verdict.REPLACED_DEFAULT, Verdict.REPEATED, Verdict.CONFLICT}
    assert deadlocks(postgres_server) == before


def test_a_default_is_counted_though_its_decision_came_late(url):
    """A decision that was on its way while others were looked at is not passed over."""
    clock = VirtualClock()

    async def play(one, other):
        settings = CampaignSettings(reward_window_seconds=HOUR, default_reward=1.0)
        films, _ = await one.create_campaign("films", settings, POLICY)
        await other.record_decision(draft(films))
        clock.wait(HOUR)
        assert (await one.count_defaults(10)).looked_at == 1
        clock.elapsed -= HOUR / 2
        await one.record_decision(draft(films))  # from a lower block, and with an earlier time than what was counted
        clock.elapsed += HOUR
        assert (await other.count_defaults(10)).looked_at == 1
        assert (await one.statistics(films.id)).rewards == 2

    replicas(url, play, clock)


def test_arrivals_end_where_something_is_under_way(url, postgres_server):
    """A rule that learns in order never sees a reward before one that will come to stand in front of it."""

    async def play(store):
        import asyncpg

        films, _ = await store.create_campaign("films", CampaignSettings(), POLICY)
        made = [(await store.record_decision(draft(films)))[0].sequence for _ in range(3)]
        await store.record_rewards(films.id, [RewardDraft(made[0], 1)])
        reader = store.reader()
        first = reader.last_arrival()
        assert [one.micro for one in reader.arrivals(films.id, 0, first)] == [1]
        slow = await asyncpg.connect(postgres_server.uri)
        transaction = slow.transaction()
        await transaction.start()
        await slow.fetch("SELECT pg_current_xact_id()")
        await store.record_rewards(films.id, [RewardDraft(made[1], 2), RewardDraft(made[2], 3)])
        held = reader.last_arrival()
        assert list(reader.arrivals(films.id, first, held)) == []
        await transaction.rollback()
        await slow.close()
        assert [one.micro for one in reader.arrivals(films.id, held, reader.last_arrival())] == [2, 3]

    replicas(url, play, count=1)


def test_arrivals_go_on_after_a_copy_to_another_server(url, postgres_server):
    """The numbers of transactions start again there; those of arrivals must not."""
    far = 10**15

    async def play(store):
        films, _ = await store.create_campaign("films", CampaignSettings(), POLICY)
        made = [(await store.record_decision(draft(films)))[0].sequence for _ in range(2)]
        await store.record_rewards(films.id, [RewardDraft(made[0], 1)])
        return films, made

    films, made = replicas(url, play, count=1)
    postgres_server.execute(f"UPDATE {Address(url).schema}.outcomes SET arrival = {far}")

    async def go_on(store):
        await store.record_rewards(films.id, [RewardDraft(made[1], 2)])
        reader = store.reader()
        return [one.micro for one in reader.arrivals(films.id, far, reader.last_arrival())]

    assert replicas(url, go_on, count=1) == [2]


def test_one_replica_plans_and_a_stale_one_is_refused(url):
    """The lock passes on when its holder is gone; a plan that was made meanwhile follows no longer."""

    async def play(one, other):
        from arcbandit.service.contract import _plan

        films, _ = await one.create_campaign("films", CampaignSettings(), POLICY)
        assert await one.lead()
        assert await one.lead()
        assert not await other.lead()
        await one._control.close()
        assert await other.lead()
        assert not await one.lead()
        await other.publish_plan(films.id, _plan(2, 1))
        assert await refused(StaleError, one.publish_plan(films.id, _plan(2, 1)))
        assert [version[:2] for version in await one.versions(False)] == [(films.id, 2)]
        await asyncio.wait_for(one.changed.wait(), 5)

    replicas(url, play)


def test_a_replica_knows_campaigns_that_another_made(url):
    """Retention and windows included."""
    clock = VirtualClock()

    async def play(one, other):
        films, _ = await one.create_campaign("films", CampaignSettings(retention_seconds=DAY), POLICY)
        made, _ = await other.record_decision(draft(films))
        clock.wait(DAY)
        assert await other.record_rewards(films.id, [RewardDraft(made.sequence, 1)]) == [Verdict.GONE]

    replicas(url, play, clock)


@pytest.mark.parametrize("odd", ["\0", "'; DROP TABLE decisions; --", "\N{SNOWMAN}" * 200, "%s $1 \\", "\udc80"])
def test_any_request_id_is_data(url, odd):
    """Also those that text of PostgreSQL cannot hold."""

    async def play(store):
        films, _ = await store.create_campaign("films", CampaignSettings(), POLICY)
        made, _ = await store.record_decision(draft(films, request_id=odd))
        assert await store.record_decision(draft(films, request_id=odd)) == (made, True)

    replicas(url, play, count=1)


def test_rewards_of_any_size_are_summed_exactly(url):
    """Squares of the largest rewards go far beyond 64 bits."""
    largest = 10**18

    async def play(store):
        films, _ = await store.create_campaign("films", CampaignSettings(), POLICY)
        made = [(await store.record_decision(draft(films)))[0].sequence for _ in range(40)]
        await store.record_rewards(films.id, [RewardDraft(number, largest - number % 7) for number in made])
        found = (await store.statistics(films.id)).pairs[0, 0]
        assert found.total == sum(largest - number % 7 for number in made)
        assert found.squares == sum((largest - number % 7) ** 2 for number in made)

    replicas(url, play, count=1)


def test_a_lost_connection_is_told_and_found_again(url, postgres_server):
    """Who waits is told; the next commit connects again."""

    async def play(store):
        films, _ = await store.create_campaign("films", CampaignSettings(), POLICY)
        await store.record_decision(draft(films, request_id="one"))
        await asyncio.to_thread(postgres_server.stop_immediately)
        try:
            assert await refused(StoreError, store.record_decision(draft(films, request_id="two")))
            assert not store.is_writable
            assert await refused(StoreError, store.touch())
            assert await refused(StoreError, store.statistics(films.id))
        finally:
            await asyncio.to_thread(postgres_server.start)
        await store.touch()
        assert store.is_writable
        assert (await store.record_decision(draft(films, request_id="one")))[1]
        assert not (await store.record_decision(draft(films, request_id="two")))[1]
        assert (await store.statistics(films.id)).decisions == 2

    replicas(url, play, count=1)


def test_a_store_of_a_newer_version_is_refused(url, postgres_server):
    """Older code does not know what newer tables mean."""
    PostgresStore(url)
    schema, newer = Address(url).schema, len(STEPS) + 1
    postgres_server.execute(f"UPDATE {schema}.meta SET value = '{newer}' WHERE name = 'version'")
    for opened in (PostgresStore, PostgresReader):
        with pytest.raises(StoreVersionError, match=f"version {newer}"):
            opened(url)


def test_other_tables_are_refused_and_left_alone(url, postgres_server):
    """Nobody's tables are mixed with ours."""
    schema = Address(url).schema
    postgres_server.execute(f"CREATE SCHEMA {schema}")
    with pytest.raises(StoreError, match="is not a store"):
        PostgresReader(url)
    postgres_server.execute(f"CREATE TABLE {schema}.theirs (x integer)")
    with pytest.raises(StoreVersionError, match="other tables"):
        PostgresStore(url)
    ((tables,),) = postgres_server.execute(f"SELECT count(*) FROM pg_tables WHERE schemaname = '{schema}'")
    assert tables == 1


def test_a_server_that_may_lose_data_is_refused(url):
    """Too old a version, or one that does not wait for its disk."""

    class Connection:
        def __init__(self, major):
            self.major = major

        def get_server_version(self):
            return self

    sound = {"fsync": "on", "full_page_writes": "on"}
    require_sound_server(Connection(14), sound)
    with pytest.raises(StoreVersionError, match="14 or newer, got 13"):
        require_sound_server(Connection(13), sound)
    with pytest.raises(StoreVersionError, match="fsync"):
        require_sound_server(Connection(18), sound | {"fsync": "off"})


@pytest.mark.parametrize(
    ("wrong", "kind", "match"),
    [
        ("postgresql://me:secret@127.0.0.1:1/shop", StoreError, "postgresql://127.0.0.1:1/shop cannot be reached"),
        ("postgresql://me:secret@127.0.0.1:x/shop", InvalidInputError, "must be the URL"),
        ("postgresql://me:secret#@127.0.0.1:1/shop", InvalidInputError, r"postgresql://\.\.\. must be the URL.*%23"),
        ("postgresql://me:secret@h/shop?search_path=a,b", InvalidInputError, "one schema"),
        ("postgresql://me:secret@h/shop?search_path=a;drop", InvalidInputError, "one schema"),
        ("mysql://me:secret@h/shop", InvalidInputError, "got one of the kind mysql"),
    ],
)
def test_an_address_that_leads_nowhere_is_refused(wrong, kind, match):
    """Without showing its password."""
    with pytest.raises(kind, match=match) as refusal:
        PostgresStore(wrong) if wrong.startswith("postgres") else is_postgres(wrong)
    assert "secret" not in str(refusal.value)


def test_tokens_come_and_go(url):
    """Also while the store is in use."""
    token = TokenRecord("shop", b"x" * 32, ("decide", "reward"), 5)

    async def play(one, other):
        await asyncio.to_thread(add_token, url, token)
        assert await one.tokens() == await other.tokens() == [token]
        with pytest.raises(NameTakenError):
            add_token(url, token)
        assert await asyncio.to_thread(remove_token, url, "shop")
        assert not remove_token(url, "shop")
        assert await other.tokens() == []

    replicas(url, play)


def test_a_copy_is_left_to_the_tools_of_postgresql(url, tmp_path):
    """An audit reads any store."""
    with pytest.raises(StoreError, match="pg_dump"):
        back_up(url, str(tmp_path / "copy.db"))

    async def play(store):
        films, plan = await store.create_campaign("films", CampaignSettings(), POLICY)
        await store.record_decision(DecisionDraft(films.id, 0, 1, 0.5, 0.75, plan.version))

    replicas(url, play, count=1)
    reader = open_reader(url)
    assert audited(reader).holds
    assert audited(reader).decisions == 1
    reader.close()


def test_replicas_that_start_together_make_one_store(url):
    """The tables are made once, and with them one key."""
    with ThreadPoolExecutor(4) as pool:
        keys = {store.key for store in pool.map(lambda _: PostgresStore(url), range(4))}
    assert len(keys) == 1
