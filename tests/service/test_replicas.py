"""Two services on one PostgreSQL: nothing is lost, doubled or skipped, and one plans at a time."""

import asyncio
import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time

import httpx
import msgspec
import numpy as np
import pytest

from arcbandit.service import teaching
from arcbandit.service.api_errors import ApiError
from arcbandit.service.api_types import CreateCampaign, Decide, LocalDecisionBody, RewardBody
from arcbandit.service.audit import audited
from arcbandit.service.campaigns import Campaign, bytes_of
from arcbandit.service.changes import AddArm, SetFloor
from arcbandit.service.exporting import rows
from arcbandit.service.identifiers import DecisionIds
from arcbandit.service.postgres_connection import Address
from arcbandit.service.postgres_store import PostgresStore
from arcbandit.service.replicas import Following
from arcbandit.service.reporting import reported
from arcbandit.service.service import Service
from arcbandit.service.stores import add_token, open_reader
from arcbandit.service.tokens import new_token
from arcbandit.service.upkeep import Upkeep
from tests.long import how_many
from tests.patience import PATIENCE, killed, line_of
from tests.service.processes import ROOT, Raw
from tests.service.served import FILMS, InProcess

LEASE_SECONDS = 1.5
CALLERS = 12
STEPS = how_many(5, 100)


@pytest.fixture
def url(postgres_server):
    return postgres_server.new_store()


class Replica:
    """A service in this process."""

    def __init__(self, url):
        worker = InProcess(url)
        self.store = PostgresStore(url)
        self.service = Service(self.store, worker)
        self.upkeep = Upkeep(self.service, worker, time.monotonic)

    async def __aenter__(self):
        await self.service.load()
        await self.upkeep._following.catch_up()
        return self

    async def __aexit__(self, *_):
        await self.upkeep.stop()
        await self.store.close()


async def until(condition, seconds=10.0):
    """Wait for something that comes by itself."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come"
        await asyncio.sleep(0.02)


def body(**others):
    return msgspec.convert({**FILMS, **others}, CreateCampaign)


@pytest.mark.slow
def test_replicas_see_what_the_others_do(url):
    """Campaigns, changes, contexts, plans and tokens, at once where a request needs them."""

    async def play():
        async with Replica(url) as one, Replica(url) as other:
            assert [one.service.leads, other.service.leads] == [True, False]
            await one.service.create(body(admit_contexts=3))
            made = await other.service.decide("films", Decide("tv", request_id="a"))
            assert (await one.service.decide("films", Decide("tv", request_id="a"))).decision_id == made.decision_id
            assert (await one.service.reward("films", RewardBody(made.decision_id, 0.5))).outcome == "counted"
            assert (await other.service.reward("films", RewardBody(made.decision_id, 0.5))).outcome == "repeated"
            # Both change what they think stands; both changes are made, one after the other.
            changes = [SetFloor("house", 0.15), SetFloor("guest", 0.05)]
            await asyncio.gather(
                *(
                    place.service.change("films", change, None)
                    for place, change in zip((one, other), changes, strict=True)
                )
            )
            for place in (one, other):
                await place.upkeep._following.catch_up()
                told = place.service.campaign("films").record
                assert told.revision == 3
                assert told.policy["configuration"]["revenue_floors"] == [0.15, 0.05]
            with pytest.raises(ApiError, match="revision 3"):
                await other.service.change("films", changes[0], 2)
            # A context that nobody announced comes to both at once.
            asked = [place.service.decide("films", Decide("watch")) for place in (one, other, one, other)]
            assert len({answer.decision_id for answer in await asyncio.gather(*asked)}) == 4
            assert other.service.campaign("films").record.admitted == 1
            # A plan that one publishes is in force with the other.
            other.upkeep.start()
            version = other.service.campaign("films").plan.version
            await one.upkeep.plan_once("films")
            await until(lambda: other.service.campaign("films").plan.version > version)
            # One that was faster makes the other's plan stale, if it has not heard of the change: otherwise it plans on
            # with what the change leaves of its plan.
            await other.upkeep.stop()
            stale = other.service.campaign("films")
            await one.service.change("films", SetFloor("guest", 0.06), None)
            assert not await other.service.publish(
                stale, msgspec.structs.replace(stale.plan, version=stale.plan.version + 1, how="planned"), None
            )
            other.upkeep.start()
            # A decision that a client drew from a plan that only one of them knows, with an arm that is new.
            await until(
                lambda: other.service.campaign("films").plan.version == one.service.campaign("films").plan.version
            )
            await other.upkeep.stop()
            await one.service.change("films", AddArm("newcomer"), None)
            plan = msgspec.structs.replace(
                one.service.campaign("films").plan,
                version=one.service.campaign("films").plan.version + 1,
                allocation=bytes_of(np.array([[0.0, 0.5, 0.5], [0.0, 0.5, 0.5], [1.0, 0.0, 0.0]])),
            )
            assert await one.service.publish(one.service.campaign("films"), plan, None)
            drawn = LocalDecisionBody("local", "phone", "newcomer", 1.0, plan.version, 0.5)
            (result,) = (await reported(other.service, "films", [drawn])).results
            assert result.status == 200
            (again,) = (await reported(one.service, "films", [drawn])).results
            assert (again.decision_id, again.repeated) == (result.decision_id, True)
            assert (await other.service.decide("films", Decide("phone", request_id="local"))).arm == "newcomer"
            other.upkeep.start()
            token, record = new_token("shop", ["decide"], 0)
            await asyncio.to_thread(add_token, url, record)
            await until(lambda: other.service.tokens.find(f"Bearer {token}".encode()) is not None)
            # What the other counted makes a plan due where plans are made.
            one.service.new_rewards.clear()
            await other.service.reward(
                "films", RewardBody((await other.service.decide("films", Decide("tv"))).decision_id, 1.0)
            )
            await one.upkeep._following.catch_up()
            assert one.service.new_rewards["films"] >= 1

    asyncio.run(play())


class StillStore:
    """A shared store in which nothing happens, but that says so."""

    def __init__(self):
        self.changed = asyncio.Event()

    async def lead(self):
        return False

    async def versions(self, totals):
        return []


class StillService:
    leads = False
    catch_up = None

    def __init__(self):
        self.campaigns = {}


@pytest.mark.parametrize("steps", range(4))
def test_a_replica_stops_even_if_something_changes_at_the_same_moment(steps):
    """`steps` turns of the loop after a change, it is told to stop; it used to forget that, and to follow for ever."""

    async def play():
        store = StillStore()
        task = asyncio.create_task(Following(StillService(), store, plans=False).run())
        for _ in range(10):
            await asyncio.sleep(0)
        store.changed.set()
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=PATIENCE / 10)
        assert done
        assert task.cancelled()

    asyncio.run(play())


@pytest.mark.slow
def test_who_forgets_a_cancellation_is_told_again():
    """Stopping waits for nobody who was told once and went on."""

    async def play():
        told = 0

        async def forgetful():
            nonlocal told
            while told < 2:
                try:
                    await asyncio.sleep(3600)
                except asyncio.CancelledError:
                    told += 1

        upkeep = Upkeep.__new__(Upkeep)
        upkeep._planning = None
        upkeep._tasks = [asyncio.create_task(forgetful())]
        await asyncio.sleep(0)
        await asyncio.wait_for(upkeep.stop(), PATIENCE)
        assert told == 2

    asyncio.run(play())


@pytest.mark.slow
@pytest.mark.parametrize("is_harmed", [False, True], ids=["sound", "broken"])
def test_a_rule_that_learns_in_order_goes_on_with_another_replica(url, postgres_server, is_harmed):
    """Every reward of both once, whichever plans; a learner that was stored broken is learnt again, and told of."""

    async def visited(replicas, count):
        for number in range(count):
            place, other = replicas[number % 2], replicas[(number + 1) % 2]
            made = await place.service.decide("films", Decide(("tv", "phone")[number % 3 == 0]))
            await other.service.reward("films", RewardBody(made.decision_id, number % 10 / 10))

    async def planned(place):
        await place.upkeep._following.catch_up()
        assert place.service.leads
        await place.upkeep.plan_once("films")
        assert place.service.warnings == {}
        counted = await place.store.statistics(place.service.campaign("films").record.id)
        told = counted.learner.snapshot["statistics"]
        assert (told["rewards"], counted.rewards) == (counted.rewards, place.service.campaign("films").plan.rewards)
        pulls = np.array(told["by_pair"][0])
        assert {pair: pulls[pair] for pair in counted.pairs} == {
            pair: totals.rewards for pair, totals in counted.pairs.items()
        }
        return place.service.campaign("films").plan

    async def play():
        async with Replica(url) as one, Replica(url) as other:
            await one.service.create(body(policy="drift-plus-penalty", horizon=1000))
            for _ in range(2):
                await visited((one, other), 20)
                await planned(one)
            if is_harmed:
                schema = Address(url).schema
                harm = f"UPDATE {schema}.learners SET learner = substring(learner FROM 1 FOR 40)"
                await asyncio.to_thread(postgres_server.execute, harm)
            await visited((one, other), 20)
            await one.store._control.close()  # as if it were killed: its lock is gone
            plan = await planned(other)
            assert bool(plan.document.get("warnings")) == is_harmed
            await visited((one, other), 20)
            plan = await planned(other)
            assert (plan.rewards, plan.document.get("warnings")) == (80, None)

    asyncio.run(play())


class Process:
    """A replica in a process of its own, and what it says of its plans."""

    def __init__(self, url):
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.service.replica", url, str(LEASE_SECONDS)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        self.said = []
        line = line_of(self.process)
        assert line.strip().isdecimal(), "the replica did not start"
        self.port = int(line)
        self._listening = threading.Thread(
            target=lambda: self.said.extend(iter(self.process.stdout.readline, "")), daemon=True
        )
        self._listening.start()

    def signal(self, which):
        self.process.send_signal(which)

    def end(self):
        self.process.terminate()
        assert self.process.wait(15) == 0
        self.kill()

    def kill(self):
        """End it at once, if it has not ended."""
        killed(self.process)
        self._listening.join(PATIENCE)
        assert not self._listening.is_alive(), "somebody else holds the output of a replica that has ended"
        self.process.stdout.close()

    def leads(self):
        text = httpx.get(f"http://127.0.0.1:{self.port}/metrics", timeout=5).text
        return "arcbandit_leads 1.0" in text


class Caller:
    """Asks both replicas the same at once, again until both have answered, and remembers what it was told."""

    def __init__(self, number, ports, shared):
        self.rng = random.Random(number)
        self.number = number
        self.ports = ports
        self.shared = shared  # request ids that several callers ask with
        self.decisions = {}
        self.rewards = {}
        self.steps = 0
        self.refusals = 0
        self.stopping = False

    async def post(self, port, path, content):
        """The answer of a replica, or of the other one if it has none."""
        end = time.monotonic() + PATIENCE
        while True:
            assert time.monotonic() < end, f"neither replica answered {path} within {PATIENCE:g} s"
            connection = Raw(port)
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(1.0):
                    status, answer = await connection.post(f"/v1/campaigns/films/{path}", content)
                await connection.close()
                if status == 200:
                    return answer
                assert status == 503, answer
            await connection.close()
            self.refusals += 1
            port = self.rng.choice(self.ports)
            await asyncio.sleep(0.05)

    async def call(self):
        while not self.stopping:
            await self.step()
            self.steps += 1

    async def step(self):
        asked = f"{self.number}-{self.steps}"
        if self.rng.random() < 0.3:
            asked = f"shared-{self.rng.choice(self.shared)}-{self.steps // 3}"
        question = {"context": "tv" if sum(asked.encode()) % 2 else "phone", "request_id": asked}
        both = await asyncio.gather(*(self.post(port, "decide", question) for port in self.ports))
        for answer in both:
            made = {name: value for name, value in answer.items() if name != "repeated"} | {
                "context": question["context"]
            }
            assert self.decisions.setdefault(asked, made) == made
        known = [made["decision_id"] for made in self.decisions.values()]
        # Of a decision that several callers know, all tell the same.
        batch = [
            {"decision_id": one, "reward": sum(one.encode()) % 100 / 100}
            for one in {made["decision_id"], *self.rng.sample(known, min(3, len(known)))}
        ]
        for results in await asyncio.gather(
            *(self.post(port, "rewards", {"rewards": self.rng.sample(batch, len(batch))}) for port in self.ports)
        ):
            for result in results["results"]:
                assert result["status"] == 200, result
                self.rewards[result["decision_id"]] = sum(result["decision_id"].encode()) % 100 / 100


def made_campaign(url):
    async def make():
        store = PostgresStore(url)
        made = teaching.created(body(replan_every_seconds=0.05, replan_after_rewards=1))
        await store.create_campaign("films", made.settings, made.policy)
        await store.close()

    asyncio.run(make())


async def gone_on(callers):
    """Wait until every caller has gone some steps."""
    before = [caller.steps for caller in callers]
    await until(lambda: all(now.steps > then + STEPS for now, then in zip(callers, before, strict=True)), 30)


async def leader_of(replicas):
    """The one that plans; there is exactly one, if not at once."""
    for _ in range(100):
        leaders = [one for one in replicas if await asyncio.to_thread(one.leads)]
        if len(leaders) == 1:
            return leaders[0]
        await asyncio.sleep(0.1)
    raise AssertionError(f"{len(leaders)} replicas plan")


async def is_refused_after_a_pause(replicas):
    """Stop the one that plans, with a plan in the making, until the other plans; whether its plan was refused then."""
    leader = await leader_of(replicas)
    (other,) = [one for one in replicas if one is not leader]
    published, refused = other.said.count("published\n"), leader.said.count("refused\n")
    started = leader.said.count("planning\n")
    await until(lambda: leader.said.count("planning\n") > started)
    leader.signal(signal.SIGSTOP)
    try:
        await until(lambda: other.said.count("published\n") > published + 1, 20)
    finally:
        leader.signal(signal.SIGCONT)
    with contextlib.suppress(AssertionError):
        await until(lambda: leader.said.count("refused\n") > refused, 4)
    return leader.said.count("refused\n") > refused


async def pressed(server, replicas, stops):
    """Callers at work while PostgreSQL stops and the planner is paused; the callers, and who led."""
    callers = [Caller(number, [one.port for one in replicas], ["a", "b", "c"]) for number in range(CALLERS)]
    calling = [asyncio.ensure_future(caller.call()) for caller in callers]
    try:
        for _ in range(stops):
            await gone_on(callers)
            await asyncio.to_thread(server.stop_immediately)
            await asyncio.to_thread(server.start)
            await gone_on(callers)
        # A pause may fall between two plans, and then there is none to refuse.
        for _ in range(4):
            if await is_refused_after_a_pause(replicas):
                break
        else:
            raise AssertionError("no stale plan was refused")
        await gone_on(callers)
        await leader_of(replicas)
    finally:
        for caller in callers:
            caller.stopping = True
        await asyncio.wait(calling, timeout=30)
    for task in calling:
        task.result()
    return callers


@pytest.mark.system
def test_replicas_lose_double_and_skip_nothing(url, postgres_server, cases):
    """Overlapping duplicates in batches, PostgreSQL stopped at once, and the planner paused until it loses its lock."""
    made_campaign(url)
    replicas = []
    try:
        replicas += [Process(url)]
        replicas += [Process(url)]
        callers = asyncio.run(pressed(postgres_server, replicas, cases(1, 3)))
        for one in replicas:
            one.end()
    finally:
        for one in replicas:
            one.kill()
    # An immediate stop forgets the count: these are since the last one.
    assert postgres_server.execute("SELECT sum(deadlocks)::integer FROM pg_stat_database") == [(0,)]
    check(url, callers)


async def killed_under_load(url, replicas, callers, kills):
    """Kill one replica after the other, whichever plans among them, while callers go on; each time another comes."""
    calling = [asyncio.ensure_future(caller.call()) for caller in callers]
    leaders = 0
    try:
        for number in range(kills):
            await gone_on(callers)
            victim = await leader_of(replicas) if number % 2 == 0 else replicas[0]
            leaders += await asyncio.to_thread(victim.leads)
            published = [one.said.count("published\n") for one in replicas]
            victim.kill()
            await gone_on(callers)  # with the one that is left
            (left,) = [one for one in replicas if one is not victim]
            before = published[replicas.index(left)]
            await until(lambda left=left, before=before: left.said.count("published\n") > before + 1, 30)
            replicas[replicas.index(victim)] = await asyncio.to_thread(Process, url)
            ports = [one.port for one in replicas]
            for caller in callers:
                caller.ports[:] = ports
    finally:
        for caller in callers:
            caller.stopping = True
        await asyncio.wait(calling, timeout=PATIENCE)
    for task in calling:
        task.result()
    return leaders


@pytest.mark.system
def test_a_replica_that_is_killed_loses_nothing(url, cases):
    """kill -9 while decisions flow, also of the one that plans: the other goes on, decides, counts and plans."""
    made_campaign(url)
    replicas = []
    try:
        replicas += [Process(url)]
        replicas += [Process(url)]
        callers = [Caller(number, [one.port for one in replicas], ["a", "b", "c"]) for number in range(CALLERS)]
        leaders = asyncio.run(killed_under_load(url, replicas, callers, cases(2, 12)))
        for one in replicas:
            one.end()
    finally:
        for one in replicas:
            one.kill()
    assert leaders >= cases(1, 6)
    check(url, callers)


def check(url, callers):
    """What callers were told is what the log says, once; statistics equal the recount, decisions are their plans'."""
    reader = open_reader(url)
    with contextlib.closing(reader):
        audit = audited(reader)
        assert audit.holds, audit.differences
        ((record, plan),) = reader.campaigns()
        log = {row["decision_id"]: row for row in rows(reader, Campaign(record, plan), DecisionIds(reader.key()))}
        assert [reader.plan(record.id, version) is None for version in range(1, plan.version + 2)] == (
            [False] * plan.version + [True]
        )
    told = {}
    for caller in callers:
        for asked, made in caller.decisions.items():
            assert told.setdefault(asked, made) == made
            for field in ("arm", "context", "probability", "plan_version"):
                assert log[made["decision_id"]][field] == made[field]
        for decision_id, reward in caller.rewards.items():
            assert log[decision_id]["reward"] == reward
    assert len(log) == len(told)
    assert {row["decision_id"] for row in log.values() if row["reward"] is not None} == {
        one for caller in callers for one in caller.rewards
    }
    assert len({row["plan_version"] for row in log.values()}) > 3
    retries = sum(caller.refusals for caller in callers)
    print(f"{len(log)} decisions, {audit.rewards} rewards, {plan.version} plans, {retries} retries")
