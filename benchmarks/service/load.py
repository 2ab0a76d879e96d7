"""The load: a process that asks over many connections, each for the next thing as soon as the last is answered.

It reads its task from standard input and writes what it saw to standard output, as JSON. Answers are parsed just far
enough to know where they end, so that the server is what is measured; `Conversation` makes the requests and reads the
answers that depend on one another.
"""

import asyncio
import gc
import json
import random
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass, field

import uvloop

REPEATED = 0.2  # the share of requests of a mixed load that are sent again
CONNECTING_AT_ONCE = 100


@dataclass(frozen=True)
class Task:
    """What to ask for, how often at once, and for how long."""

    port: int
    path: str  # of a campaign, or of any handler that takes the same body
    connections: int
    seconds: float
    contexts: int
    token: str = ""
    patient: bool = False  # who is turned away asks again after the time in Retry-After, and not at once
    mixed: bool = False  # decisions with request ids, rewards, and a fifth of both again
    warm_up_seconds: float = 0.3
    timeout_seconds: float = 10.0
    name: str = ""  # that request ids begin with: each is used in one run only
    core: int | None = None


@dataclass
class Seen:
    """What came of it."""

    seconds: float = 0.0
    answers: int = 0  # with status 200
    statuses: dict[str, int] = field(default_factory=dict)
    milliseconds: dict[str, float] = field(default_factory=dict)  # of answers with status 200, by percentile
    timeouts: int = 0
    broken: int = 0  # connections that the server closed
    busy: float = 0.0  # the share of its core that the load took
    every_answer: int = 0  # of any status, those before and after the measurement included
    server_microseconds: float = 0.0  # processor time of the server for each of them
    # Of mixed loads, the time before and after the measurement included: what the service must have counted.
    decisions: dict[str, int] = field(default_factory=dict)  # by arm and context
    rewards: dict[str, int] = field(default_factory=dict)
    millionths: dict[str, int] = field(default_factory=dict)
    repeats: int = 0
    wrong: list[str] = field(default_factory=list)  # answers to repeats that differ from the first


class Conversation:
    """What a mixed load says: a decision, its reward, and now and then one of them again."""

    def __init__(self, task: Task, seen: Seen, number: int) -> None:
        self._task = task
        self._seen = seen
        self._rng = random.Random(f"{task.name}/{number}")
        self._prefix = f"{task.name}-{number}"
        self._count = 0
        self._context = 0
        self._pair = ""
        self._last: dict[str, bytes] = {}  # by path: a body that may be sent again
        self._decided = b""  # what the last decision was answered with
        self._next = "decide"
        self._is_repeat = False

    def request(self) -> tuple[str, bytes]:
        """Where the next request goes, and its body."""
        path = self._next
        self._is_repeat = path in self._last
        if not self._is_repeat:
            self._last = {path: self._new(path)}
        return path, self._last[path]

    def _new(self, path: str) -> bytes:
        if path == "decide":
            self._count += 1
            self._context = self._rng.randrange(self._task.contexts)
            return b'{"context":"c%d","request_id":"%s:%d"}' % (self._context, self._prefix.encode(), self._count)
        self._micro = self._rng.randrange(1_000_001)
        decision = json.loads(self._decided)["decision_id"]
        return b'{"decision_id":"%s","reward":%.6f}' % (decision.encode(), self._micro / 1e6)

    def answered(self, status: int, body: bytes) -> None:
        """Take note of an answer; one that was turned away is asked again."""
        seen, path = self._seen, self._next
        if status != 200:
            if not self._is_repeat:
                self._last = {}
            if status != 503:
                seen.wrong.append(f"{path}: {status} {body!r}")
            return
        if path == "decide":
            found = json.loads(body)
            if self._is_repeat:
                seen.repeats += 1
                if {**found, "repeated": False} != json.loads(self._decided) or not found["repeated"]:
                    seen.wrong.append(f"{body!r} after {self._decided!r}")
            else:
                self._decided = body
                self._pair = f"{found['arm']} c{self._context}"
                seen.decisions[self._pair] = seen.decisions.get(self._pair, 0) + 1
        elif self._is_repeat:
            seen.repeats += 1
            if b'"repeated"' not in body:
                seen.wrong.append(f"{path}: {body!r}")
        else:
            seen.rewards[self._pair] = seen.rewards.get(self._pair, 0) + 1
            seen.millionths[self._pair] = seen.millionths.get(self._pair, 0) + self._micro
        # One in five requests is a repeat: one in four of the others is followed by one.
        again = not self._is_repeat and self._rng.random() < REPEATED / (1 - REPEATED)
        if not again:
            self._next = "rewards" if path == "decide" else "decide"
            self._last = {}


class Connection(asyncio.Protocol):
    """Asks, waits for the answer, asks again."""

    def __init__(self, load: "Load", number: int) -> None:
        self._load = load
        self._seen = load.seen
        self._conversation = Conversation(load.task, load.seen, number) if load.task.mixed else None
        self._heads = load.heads
        self._rng = random.Random(number)
        self._received = b""
        self.asked_at = 0.0
        self.is_waiting = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connected."""
        self.transport: asyncio.Transport = transport  # type: ignore[assignment]

    def ask(self) -> None:
        """Send the next request."""
        if self._conversation is None:
            data = self._load.simple[self._rng.randrange(len(self._load.simple))]
        else:
            path, body = self._conversation.request()
            data = self._heads[path] % len(body) + body
        self.is_waiting = True
        self.asked_at = time.perf_counter()
        self.transport.write(data)

    def data_received(self, data: bytes) -> None:
        """A piece of an answer."""
        if self._received:
            data = self._received + data
        end = data.find(b"\r\n\r\n")
        start = data.find(b"content-length: ")
        if end < 0 or start < 0:
            self._received = data
            return
        size = int(data[start + 16 : data.index(b"\r", start)])
        if len(data) < end + 4 + size:
            self._received = data
            return
        self._received = b""
        load, now = self._load, time.perf_counter()
        status = data[9:12]
        self._seen.every_answer += 1
        if load.from_ <= now < load.until:
            load.statuses[status] += 1
            if status == b"200":
                load.latencies.append(now - self.asked_at)
        self.is_waiting = False
        if self._conversation is not None:
            self._conversation.answered(int(status), data[end + 4 :])
        if status == b"503" and load.task.patient:
            place = data.index(b"retry-after: ") + len(b"retry-after: ")
            load.loop.call_later(int(data[place : data.index(b"\r", place)]), self._go_on)
        else:
            self._go_on()

    def _go_on(self) -> None:
        if time.perf_counter() < self._load.until and not self.transport.is_closing():
            self.ask()
        else:
            self._load.ended(self)

    def connection_lost(self, error: Exception | None) -> None:
        """The server closed it."""
        if self.is_waiting:
            self._seen.broken += 1
            self.is_waiting = False
            self._load.ended(self)


class Load:
    """All connections of a run."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.seen = Seen()
        self.statuses: Counter[bytes] = Counter()
        self.latencies: list[float] = []
        token = f"authorization: Bearer {task.token}\r\n" if task.token else ""
        head = f"POST {task.path}/%s HTTP/1.1\r\nhost: 127.0.0.1\r\n{token}content-type: application/json\r\n"
        self.heads = {path: (head % path + "content-length: %d\r\n\r\n").encode() for path in ("decide", "rewards")}
        bodies = [b'{"context":"c%d"}' % context for context in range(task.contexts)]
        self.simple = [self.heads["decide"] % len(body) + body for body in bodies]
        self.from_ = self.until = 0.0
        self._left = 0
        self.loop: asyncio.AbstractEventLoop
        self._done: asyncio.Future[None]

    def ended(self, connection: Connection) -> None:
        """A connection has its last answer."""
        self._left -= 1
        if self._left == 0 and not self._done.done():
            self._done.set_result(None)

    async def run(self) -> Seen:
        """Ask over all connections until the time is up and the last answer is there."""
        loop = self.loop = asyncio.get_running_loop()
        task, seen = self.task, self.seen
        self._done = loop.create_future()
        connections: list[Connection] = []
        for first in range(0, task.connections, CONNECTING_AT_ONCE):
            numbers = range(first, min(first + CONNECTING_AT_ONCE, task.connections))
            made = await asyncio.gather(
                *(loop.create_connection(lambda n=n: Connection(self, n), "127.0.0.1", task.port) for n in numbers)  # type: ignore[misc]
            )
            connections += [protocol for _, protocol in made]
        self._left = len(connections)
        self.from_ = time.perf_counter() + task.warm_up_seconds
        self.until = self.from_ + task.seconds
        used = time.process_time()
        for connection in connections:
            connection.ask()
        await asyncio.wait([self._done], timeout=self.until - time.perf_counter() + task.timeout_seconds)
        seen.busy = (time.process_time() - used) / (time.perf_counter() - self.from_ + task.warm_up_seconds)
        seen.timeouts = sum(connection.is_waiting for connection in connections)
        seen.timeouts += sum(latency > task.timeout_seconds for latency in self.latencies)
        for connection in connections:
            connection.transport.abort()
        seen.seconds = task.seconds
        seen.answers = len(self.latencies)
        seen.statuses = {status.decode(): count for status, count in self.statuses.items()}
        seen.milliseconds = percentiles(self.latencies)
        return seen


def percentiles(latencies: list[float]) -> dict[str, float]:
    """The 50th and the 99th percentile in milliseconds."""
    ordered = sorted(latencies)
    if not ordered:
        return {"50": float("nan"), "99": float("nan")}
    return {name: 1e3 * ordered[int(len(ordered) * int(name) / 100)] for name in ("50", "99")}


def main() -> None:
    """Do the task of standard input."""
    task = Task(**json.load(sys.stdin))
    if task.core is not None:
        import os

        os.sched_setaffinity(0, {task.core})
    gc.freeze()
    gc.disable()  # a pause of the load would be taken for one of the server
    json.dump(asdict(uvloop.run(Load(task).run())), sys.stdout)


if __name__ == "__main__":
    main()
