"""Processes that are killed, ended, copied and starved while they serve: nothing that was answered is lost."""

import asyncio
import contextlib
import random
import socket
import time

import httpx
import pytest

from arcbandit.service.audit import audited
from arcbandit.service.backup import back_up, verified
from arcbandit.service.sqlite_store import SQLiteReader, SQLiteStore
from arcbandit.service.store import DecisionDraft, RewardDraft
from tests.service.processes import Process, Raw, made_store

DECIDE, REWARDS = "/v1/campaigns/films/decide", "/v1/campaigns/films/rewards"
CLIENTS = 16


class Caller:
    """Decides, rewards, repeats itself, and remembers what it was told."""

    def __init__(self, number, seed):
        self.number = number
        self.rng = random.Random(seed * 1000 + number)
        self.asked = 0
        self.pending = None  # a request whose answer never came
        self.decisions = {}  # request id: answer
        self.rewards = {}  # decision id: reward

    async def call(self, port):
        """Go on until the server is gone."""
        connection = Raw(port)
        with contextlib.suppress(OSError):
            while True:
                await self.step(connection)
        await connection.close()

    async def step(self, connection):
        if self.pending is None:
            self.asked += 1
            self.pending = {"context": self.rng.choice(["phone", "tv"]), "request_id": f"{self.number}-{self.asked}"}
        status, made = await connection.post(DECIDE, self.pending)
        assert status == 200, made
        if self.rng.random() < 0.2:  # an answer that got lost on the way: ask again
            status, again = await connection.post(DECIDE, self.pending)
            assert (status, again) == (200, made | {"repeated": True})
        self.decisions[self.pending["request_id"]] = made | {"context": self.pending["context"]}
        self.pending = None
        reward = {"decision_id": made["decision_id"], "reward": round(self.rng.random(), 6)}
        if self.rng.random() < 0.7:
            for _ in range(self.rng.choice([1, 1, 1, 2])):
                status, answer = await connection.post(REWARDS, reward)
                assert status == 200, answer
                self.rewards[made["decision_id"]] = reward["reward"]


def check_nothing_is_lost(path, callers):
    """Compare what callers were told with what is in the store, counted again."""
    reader = SQLiteReader(path)
    audit = audited(reader)
    assert audit.holds, audit.differences
    from arcbandit.service.campaigns import Campaign
    from arcbandit.service.exporting import rows
    from arcbandit.service.identifiers import DecisionIds

    ((record, plan),) = reader.campaigns()
    log = {row["decision_id"]: row for row in rows(reader, Campaign(record, plan), DecisionIds(reader.key()))}
    reader.close()
    for caller in callers:
        for made in caller.decisions.values():
            row = log[made["decision_id"]]
            for field in ("arm", "context", "probability", "plan_version"):
                assert row[field] == made[field]
        for decision_id, reward in caller.rewards.items():
            assert log[decision_id]["reward"] == reward
    told = [made["decision_id"] for caller in callers for made in caller.decisions.values()]
    assert len(told) == len(set(told))
    # What the store has beyond that was in flight at a kill: at most one decision of each caller, each time.
    return len(told) + sum(len(caller.rewards) for caller in callers), len(log) - len(told)


@pytest.mark.slow
def test_nothing_is_lost_when_the_server_is_killed(tmp_path, cases):
    """kill -9 under load, again and again: every answer holds, nothing counts twice, statistics equal a recount."""
    cycles, least = cases((3, 300), (40, 50_000))
    path = made_store(tmp_path)
    callers = [Caller(number, seed=1) for number in range(CLIENTS)]

    async def load(server, seconds):
        calls = [asyncio.ensure_future(caller.call(server.port)) for caller in callers]
        await asyncio.sleep(seconds)
        server.kill()
        await asyncio.gather(*calls)

    cycle = 0
    while cycle < cycles or sum(len(caller.decisions) + len(caller.rewards) for caller in callers) < least:
        asyncio.run(load(Process(path), 0.4 + random.Random(cycle).random() * 1.5))
        cycle += 1
        assert cycle < 10 * cycles
    SQLiteStore(path).close_now()
    acknowledged, in_flight = check_nothing_is_lost(path, callers)
    print(f"{cycle} kills, {acknowledged} acknowledged, 0 lost, {in_flight} in flight")
    assert in_flight <= CLIENTS * cycle
    assert acknowledged >= least


@pytest.mark.slow
def test_an_orderly_end_answers_what_was_asked(tmp_path):
    """SIGTERM under load: exit code 0 within five seconds, and every answer is on disk."""
    path = made_store(tmp_path)
    callers = [Caller(number, seed=2) for number in range(CLIENTS)]
    server = Process(path)

    async def load():
        calls = [asyncio.ensure_future(caller.call(server.port)) for caller in callers]
        await asyncio.sleep(0.5)
        began = time.monotonic()
        code = await asyncio.to_thread(server.terminate)
        took = time.monotonic() - began
        await asyncio.gather(*calls)
        return code, took

    code, took = asyncio.run(load())
    assert code == 0
    assert took < 5.0
    acknowledged, _ = check_nothing_is_lost(path, callers)
    assert acknowledged > 100


@pytest.mark.slow
def test_a_backup_is_made_while_it_serves(tmp_path):
    """The copy is sound, has all that was answered before it began, and the same statistics after it is restored."""
    path = made_store(tmp_path)
    callers = [Caller(number, seed=3) for number in range(CLIENTS)]
    server = Process(path)
    copy, restored = str(tmp_path / "copy.db"), str(tmp_path / "restored.db")

    async def load():
        calls = [asyncio.ensure_future(caller.call(server.port)) for caller in callers]
        await asyncio.sleep(0.4)
        before = [made["decision_id"] for caller in callers for made in caller.decisions.values()]
        await asyncio.to_thread(back_up, path, copy)
        await asyncio.sleep(0.1)
        server.kill()
        await asyncio.gather(*calls)
        return before

    before = asyncio.run(load())
    audit = verified(copy)
    assert audit.holds
    assert audit.decisions >= len(before) > 20
    back_up(copy, restored)
    one, two = SQLiteReader(copy), SQLiteReader(restored)
    assert one.statistics(1) == two.statistics(1)
    assert one.key() == two.key()
    assert list(one.decisions(1)) == list(two.decisions(1))
    one.close()
    two.close()
    # What the callers were told after the copy is lost with it, and the next decisions go on from its numbers.
    store = SQLiteStore(restored)
    store.close_now()


@pytest.mark.slow
def test_slow_clients_are_cut_off_and_others_are_served(tmp_path, cases):
    """Sockets that send a byte a second, or nothing: gone within six seconds, while honest requests all get 200."""
    path = made_store(tmp_path)
    server = Process(path)
    slow = []
    try:
        for number in range(cases(40, 300)):
            one = socket.create_connection(("127.0.0.1", server.port), 10)
            one.setblocking(False)
            head = b"POST /v1/campaigns/films/decide HTTP/1.1\r\nhost: localhost\r\ncontent-length: 50\r\n\r\n{"
            one.send([b"", b"POST /v1", head][number % 3])
            slow.append(one)

        async def honest(until):
            connection = Raw(server.port)
            statuses = []
            while time.monotonic() < until:
                statuses.append((await connection.post(DECIDE, {"context": "tv"}))[0])
                await asyncio.sleep(0.05)
            await connection.close()
            return statuses

        async def trickle(until):
            while time.monotonic() < until:
                await asyncio.sleep(1.0)
                for number, one in enumerate(slow):
                    if number % 3:  # the others never say anything
                        with contextlib.suppress(OSError):
                            one.send(b"x")

        async def both():
            until = time.monotonic() + 6.0
            statuses, _ = await asyncio.gather(honest(until), trickle(until))
            return statuses

        statuses = asyncio.run(both())
        assert set(statuses) == {200}
        assert len(statuses) > 20
        assert sum(_is_open(one) for one in slow) == 0
    finally:
        for one in slow:
            one.close()
        server.kill()


def _is_open(connection):
    """Whether the other side keeps a connection."""
    connection.settimeout(0.3)
    try:
        return connection.recv(1) != b""
    except TimeoutError:
        return True
    except OSError:
        return False


def test_headers_without_end_are_cut_off(tmp_path):
    """Before they fill the memory."""
    server = Process(made_store(tmp_path))
    try:
        with socket.create_connection(("127.0.0.1", server.port), 5) as one:
            sent = 0
            with contextlib.suppress(ConnectionError):
                one.sendall(b"GET /healthz HTTP/1.1\r\n")
                while sent < 100_000:
                    one.sendall(b"x-%d: %s\r\n" % (sent, b"y" * 1000))
                    sent += 1
            assert sent < 50_000
        assert httpx.get(f"http://127.0.0.1:{server.port}/healthz").status_code == 200
    finally:
        server.kill()


@pytest.mark.slow
def test_overload_is_turned_away_quickly(tmp_path, cases):
    """Many more connections than are taken on at once: each gets 200 or a quick 503, and none waits for ever."""
    path = made_store(tmp_path)
    server = Process(path, at_once=8)
    number = cases(200, 1000)

    async def one():
        connection = Raw(server.port)
        found = []
        for _ in range(5):
            began = time.monotonic()
            status, _ = await connection.post(DECIDE, {"context": "tv"})
            found.append((status, time.monotonic() - began))
        await connection.close()
        return found

    async def load():
        return [answer for found in await asyncio.gather(*(one() for _ in range(number))) for answer in found]

    try:
        answers = asyncio.run(load())
        assert len(answers) == 5 * number
        assert {status for status, _ in answers} == {200, 503}
        assert max(took for _, took in answers) < 20.0
        shed = httpx.get(f"http://127.0.0.1:{server.port}/metrics").text
        assert "arcbandit_shed_total" in shed
    finally:
        server.kill()
    reader = SQLiteReader(path)
    assert reader.statistics(1).decisions == sum(status == 200 for status, _ in answers)
    reader.close()


def test_a_full_disk_acknowledges_nothing_and_recovers(tmp_path):
    """A commit without room fails whole, for all who share it; when there is room again, it goes on by itself."""
    from arcbandit.errors import StoreFullError

    path = made_store(tmp_path)

    async def play():
        store = SQLiteStore(path)
        connection = store._transactions._connection
        made, _ = await store.record_decision(DecisionDraft(1, 0, 0, 0.5, 0.25, 1))
        connection.pragma("max_page_count", connection.pragma("page_count"))
        failures = 0
        for _ in range(200):
            batch = [store.record_decision(DecisionDraft(1, 0, 0, 0.5, 0.25, 1)) for _ in range(10)]
            found = await asyncio.gather(*batch, return_exceptions=True)
            kinds = {type(one) for one in found}
            if StoreFullError in kinds:
                failures += 1
                assert not store.is_writable
                break
        assert failures == 1
        stored = (await store.statistics(1)).decisions
        connection.pragma("max_page_count", 10**6)
        await store.touch()
        assert store.is_writable
        again, _ = await store.record_decision(DecisionDraft(1, 0, 0, 0.5, 0.25, 1))
        await store.record_rewards(1, [RewardDraft(made.sequence, 5)])
        assert (await store.statistics(1)).decisions >= stored + 1
        reader = store.reader()
        numbers = [logged.decision.sequence for logged in reader.decisions(1)]
        assert again.sequence == numbers[-1]
        assert numbers == list(range(1, len(numbers) + 1))
        assert audited(reader).rewards == 1
        reader.close()
        await store.close()

    asyncio.run(play())
