"""The short way of decisions and rewards: over a real socket, it answers as uvicorn's way does."""

import collections
import json
import selectors
import signal
import socket
import time

import pytest

from arcbandit.service.express import DEAF_SECONDS, LARGEST_BODY, LONGEST_HEAD, MOST_HEADS, Plain, plain_head
from tests.patience import PATIENCE, within
from tests.service.processes import Process, made_store

DECIDE, REWARDS = "/v1/campaigns/films/decide", "/v1/campaigns/films/rewards"
BODIES = {
    "a decision": (DECIDE, b'{"context":"tv"}'),
    "an unknown context": (DECIDE, b'{"context":"radio"}'),
    "an unknown campaign": ("/v1/campaigns/plays/decide", b'{"context":"tv"}'),
    "no campaign": ("/v1/campaigns/decide", b'{"context":"tv"}'),
    "a campaign between slashes": ("/v1/campaigns//decide", b'{"context":"tv"}'),
    "an escaped path": ("/v1/campaigns/fil%6ds/decide", b'{"context":"tv"}'),
    "a query": (DECIDE + "?x=1", b'{"context":"tv"}'),
    "nothing": (DECIDE, b""),
    "not JSON": (DECIDE, b'{"context":'),
    "bad UTF-8": (DECIDE, b'{"context":"\xff"}'),
    "a deep body": (DECIDE, b"[" * 20_000),
    "a large body": (DECIDE, b'{"context":"%s"}' % (b"x" * (LARGEST_BODY - 14))),
    "too large a body": (DECIDE, b'{"context":"%s"}' % (b"x" * LARGEST_BODY)),
    "a forged id": (REWARDS, b'{"decision_id":"AAAAAAAAAAEVl_tAzwdnIA","reward":0.5}'),
    "not a number": (REWARDS, b'{"decision_id":"AAAAAAAAAAEVl_tAzwdnIA","reward":NaN}'),
    "many rewards": (REWARDS, b'{"rewards":[{"decision_id":"AAAAAAAAAAEVl_tAzwdnIA","reward":0.5}]}'),
    "many more": (
        REWARDS,
        b'{"rewards":[%s]}' % b",".join([b'{"decision_id":"AAAAAAAAAAEVl_tAzwdnIA","reward":1}'] * 2000),
    ),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    started = Process(made_store(tmp_path_factory.mktemp("express")))
    yield started
    started.kill()


def asked(path, body, *headers, method="POST", version="1.1"):
    """A request as it goes over the wire."""
    lines = [f"{method} {path} HTTP/{version}", "host: localhost", *headers]
    if not any(header.startswith("transfer-encoding") for header in headers):
        lines.append(f"content-length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


class Line:
    """A connection whose answers are read one by one."""

    def __init__(self, server):
        self.socket = socket.create_connection(("127.0.0.1", server.port), 10)
        self._file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()
        self.socket.close()

    def answer(self):
        """The status, headers and body of the next answer."""
        status = int(self._file.readline().split(b" ")[1])
        headers = {}
        while (line := self._file.readline().strip()) != b"":
            key, _, value = line.partition(b": ")
            headers[key.lower().decode()] = value.decode()
        return status, headers, self._file.read(int(headers["content-length"]))

    def ask(self, data):
        self.socket.sendall(data)
        return self.answer()

    def at_end(self):
        return self._file.read(1) == b""


def without_chance(status, headers, body):
    """What two answers to the same question have in common; of a decision, which fields it has."""
    shown = sorted(json.loads(body)) if status == 200 and b"decision_id" in body[:20] else body
    kept = {key: value for key, value in headers.items() if key not in ("connection", "content-length")}
    return status, kept, shown


@pytest.mark.parametrize("name", BODIES)
def test_both_ways_answer_alike(server, name):
    """A connection that is to be closed goes uvicorn's way."""
    path, body = BODIES[name]
    with Line(server) as short, Line(server) as long:
        by_short = short.ask(asked(path, body))
        by_long = long.ask(asked(path, body, "connection: close"))
        assert without_chance(*by_short) == without_chance(*by_long)
        assert by_long[1]["connection"] == "close"
        assert long.at_end()
        assert short.ask(asked(DECIDE, b'{"context":"tv"}'))[0] == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ((), 200),
        (("content-type: application/json",), 200),
        (("content-type: Application/JSON; charset=utf-8",), 200),
        (("content-type: text/plain",), 415),
        (("content-type: application/x-www-form-urlencoded",), 415),
        (("origin: http://localhost",), 200),
        (("origin: http://localhost:1",), 403),
        (("origin: https://example.org",), 403),
        (("origin: null",), 403),
        (("host: example.org",), 403),
    ],
    ids=str,
)
def test_pages_of_other_sites_cannot_ask(server, headers, status):
    """Neither way, and whatever they ask for; a name that leads to this machine is no help."""
    changes, change = "/v1/campaigns/films/changes", b'{"change":"set_floor","name":"house","floor":0.2}'
    with Line(server) as line:
        for path, body in ((DECIDE, b'{"context":"tv"}'), (changes, change)):
            assert line.ask(asked(path, body, *headers))[0] == status
        assert line.ask(asked("/v1/campaigns", b"", *headers, method="GET"))[0] == (403 if status == 403 else 200)
    with Line(server) as line:
        assert line.ask(asked(DECIDE, b'{"context":"tv"}', *headers, "connection: close"))[0] == status


def test_answers_come_in_the_order_of_requests(server):
    """Many requests at once on one connection, of both ways and of others."""
    decide = asked(DECIDE, b'{"context":"tv"}')
    chunked = asked(DECIDE, b'10\r\n{"context":"tv"}\r\n0\r\n\r\n', "transfer-encoding: chunked")
    others = [
        (decide, 200),
        (asked(DECIDE, b'{"context":"radio"}'), 404),
        (chunked, 200),
        (asked("/healthz", b"", method="GET"), 200),
        (asked(REWARDS, b'{"decision_id":"x","reward":2}'), 422),
        (asked(DECIDE, b"{"), 400),
    ]
    for order in (others, others[::-1], others * 5):
        with Line(server) as line:
            line.socket.sendall(b"".join(data for data, _ in order))
            assert [line.answer()[0] for _ in order] == [status for _, status in order]


def test_a_request_may_come_byte_by_byte(server):
    with Line(server) as line:
        line.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in asked(DECIDE, b'{"context":"tv"}'):
            line.socket.send(bytes([byte]))
        assert line.answer()[0] == 200


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_callers_who_leave_do_no_harm(server, version):
    """Those who stay are answered, and every decision that was asked for whole is on disk."""
    before = decisions(server)
    for _ in range(20):
        with Line(server) as line:
            line.socket.sendall(asked(DECIDE, b'{"context":"tv"}', version=version))
    with Line(server) as line:
        assert line.ask(asked(DECIDE, b'{"context":"tv"}'))[0] == 200
    until = time.monotonic() + 10
    while decisions(server) < before + 21 and time.monotonic() < until:
        time.sleep(0.01)
    assert decisions(server) == before + 21


def decisions(server):
    """How many there were."""
    with Line(server) as line:
        return json.loads(line.ask(asked("/v1/campaigns/films/statistics", b"", method="GET"))[2])["decisions"]


def test_who_expects_to_be_told_to_go_on_is_told(server):
    with Line(server) as line:
        head, _, body = asked(DECIDE, b'{"context":"tv"}', "expect: 100-continue").partition(b"\r\n\r\n")
        line.socket.sendall(head + b"\r\n\r\n")
        assert line._file.readline().startswith(b"HTTP/1.1 100 ")
        line._file.readline()
        assert line.ask(body)[0] == 200


def head(*headers, **others):
    """The first lines of a request, up to the empty one."""
    return asked(DECIDE, b"{}", *headers, **others)[:-2]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (head(), Plain("decide", "films", None, 2)),
        (head("authorization: Bearer x", "AUTHORIZATION: Bearer y"), Plain("decide", "films", b"Bearer x", 2)),
        (asked(REWARDS, b"").replace(b"content-length: ", b"Content-LENGTH:"), Plain("rewards", "films", None, 0)),
        (head("content-type: application/json", "x-trace: a b"), Plain("decide", "films", None, 2)),
        (head("content-type: text/plain"), None),
        (head("content-length: 2"), None),
        (head("connection: close"), None),
        (head("connection: keep-alive"), None),
        (head("expect: 100-continue"), None),
        (head("transfer-encoding: chunked"), None),
        (head("upgrade: h2c"), None),
        (head("origin: http://localhost"), None),
        (head("host: example.org"), None),
        (head("x-odd:"), None),
        (head("x-odd : 1"), None),
        (head(" folded: 1"), None),
        (head("x-odd: \t1"), None),
        (head("x-odd: 1 "), None),
        (head("x-odd: a\nb: c"), None),
        (head("x-odd: a\rb: c"), None),
        (head("x-odd: a\0b"), None),
        (head("x-odd: \u00e9"), None),
        (head(version="1.0"), None),
        (head(method="GET"), None),
        (head().replace(b"content-length: 2", b"content-length: +2"), None),
        (head().replace(b"content-length: 2", b"content-length: 2, 2"), None),
        (head().replace(b"content-length: 2", b"content-length: 999999"), None),
        (head().replace(b"content-length: 2", b"content-length: %d" % (LARGEST_BODY + 1)), None),
        (head().replace(b"content-length: 2\r\n", b""), None),
        (head().replace(b"/decide", b"/decide?x"), None),
        (head().replace(b"films", b"fil%6ds"), None),
        (head().replace(b"films", b"a/b"), None),
        (head().replace(b"films", b""), None),
        (head().replace(b"films", b"x" * 65), None),
        (head().replace(b"POST ", b"POST  "), None),
        (asked("/healthz", b""), None),
        (head()[:-2], None),
        (head() + b"{", None),
        (b"", None),
    ],
)
def test_what_is_plain_without_a_parser(data, found):
    """Whatever leaves a doubt is for the parser."""
    assert plain_head(data, True) == found


@pytest.mark.slow
def test_who_asks_is_looked_at_each_time(tmp_path):
    """What a request asks for is remembered by its first lines; whether it may is not."""
    from arcbandit.service.sqlite_store import add_token, remove_token
    from arcbandit.service.tokens import new_token

    path = made_store(tmp_path)
    text, record = new_token("shop", ["decide"], 0)
    add_token(path, record)
    server = Process(path, is_open=False)
    request = asked(DECIDE, b'{"context":"tv"}', f"authorization: Bearer {text}")
    try:
        with Line(server) as line:
            assert [line.ask(request)[0] for _ in range(3)] == [200] * 3
            remove_token(path, "shop")
            until = time.monotonic() + 10
            while line.ask(request)[0] == 200 and time.monotonic() < until:
                time.sleep(0.05)
            assert line.ask(request)[0] == 401
    finally:
        server.kill()


@pytest.mark.slow
def test_requests_that_never_begin_alike_are_answered_too(server):
    """More different ones than are remembered, and some that are too long to be."""
    with Line(server) as line:
        for number in range(MOST_HEADS + 100):
            assert line.ask(asked(DECIDE, b'{"context":"tv"}', f"x-request: {number}"))[0] == 200
        for size in (LONGEST_HEAD - 200, LONGEST_HEAD, 10 * LONGEST_HEAD):
            assert line.ask(asked(DECIDE, b'{"context":"tv"}', f"x-request: {'y' * size}"))[0] == 200


def test_tokens_are_asked_for(tmp_path):
    server = Process(made_store(tmp_path), is_open=False)
    try:
        with Line(server) as line:
            for headers in ((), ("authorization: Bearer x",), ("authorization: Basic x",)):
                status, found, body = line.ask(asked(DECIDE, b'{"context":"tv"}', *headers))
                assert (status, found["www-authenticate"]) == (401, "Bearer")
                assert json.loads(body)["error"]["code"] == "unauthorized"
    finally:
        server.kill()


def ask_until_answered(line):
    while line.ask(asked(DECIDE, b'{"context":"tv"}'))[0] != 200:
        time.sleep(0.05)


@pytest.mark.slow
def test_excess_is_turned_away_unread_and_may_ask_again(tmp_path):
    """More than are taken on ask at the same moment; what is answered 200 is all that counts."""
    server = Process(made_store(tmp_path), at_once=4)
    lines = [Line(server) for _ in range(60)]
    statuses = []
    try:
        server.process.send_signal(signal.SIGSTOP)  # so that all of them wait when it looks
        times = [1, 2] * 30  # a single request is turned away before it is parsed, two on a connection after
        for line, count in zip(lines, times, strict=True):
            line.socket.sendall(asked(DECIDE, b'{"context":"tv"}') * count)
        server.process.send_signal(signal.SIGCONT)
        for line, count in zip(lines, times, strict=True):
            for _ in range(count):
                status, headers, body = line.answer()
                statuses.append(status)
                if status == 503:
                    assert headers["retry-after"] == "1"
                    assert json.loads(body)["error"]["code"] == "overloaded"
        assert len(statuses) == 90
        assert set(statuses) == {200, 503}
        # Nobody asks any more, so that there is room for each in turn, once the last ones are off the list.
        within(PATIENCE, "no room was left", lambda: ask_until_answered(lines[0]))
        assert [line.ask(asked(DECIDE, b'{"context":"tv"}'))[0] for line in lines] == [200] * len(lines)
        status, _, body = lines[0].ask(asked("/v1/campaigns/films/statistics", b"", method="GET"))
        assert json.loads(body)["decisions"] == statuses.count(200) + 1 + len(lines)
    finally:
        for line in lines:
            line.__exit__()
        server.kill()


@pytest.mark.slow
def test_who_does_not_wait_is_not_heard_for_a_moment(tmp_path):
    """A refusal comes at once; the next, if asked for at once, after a pause; what came meanwhile is not lost."""
    server = Process(made_store(tmp_path), at_once=4)
    lines = [Line(server) for _ in range(40)]
    decide = asked(DECIDE, b'{"context":"tv"}')
    try:
        server.process.send_signal(signal.SIGSTOP)
        for line in lines:
            line.socket.sendall(decide)
        server.process.send_signal(signal.SIGCONT)
        refused = [line for line in lines if line.answer()[0] == 503]
        assert refused
        began = time.monotonic()
        # Right away, in two parts, of which the second comes while nobody listens; then two at once.
        for line in refused:
            line.socket.sendall(decide[:-5])
        for line in refused:
            line.socket.sendall(decide[-5:])
        statuses = [line.answer()[0] for line in refused]
        assert set(statuses) <= {200, 503}
        assert time.monotonic() - began < 10
        for line in refused:
            line.socket.sendall(decide + decide)
        for line in refused:
            assert {line.answer()[0], line.answer()[0]} <= {200, 503}
        time.sleep(0.3)
        assert [line.ask(decide)[0] for line in refused] == [200] * len(refused)
    finally:
        for line in lines:
            line.__exit__()
        server.kill()


@pytest.mark.slow
def test_a_mob_costs_little(tmp_path):
    """Requests that are turned away and asked again at once are few: each connection is heard five times a second."""
    server = Process(made_store(tmp_path), at_once=4)
    lines = [Line(server) for _ in range(100)]
    decide = asked(DECIDE, b'{"context":"tv"}')
    waiting = selectors.DefaultSelector()
    counts = collections.Counter()
    try:
        for line in lines:
            waiting.register(line.socket, selectors.EVENT_READ, line)
            line.socket.sendall(decide)
        began = time.monotonic()
        while time.monotonic() - began < 1.0:
            for key, _ in waiting.select(0.1):
                counts[key.data.answer()[0]] += 1
                key.data.socket.sendall(decide)
        took = time.monotonic() - began
    finally:
        waiting.close()
        for line in lines:
            line.__exit__()
        server.kill()
    assert counts[503] <= 100 * (2 + took / DEAF_SECONDS)
    assert counts[200] > 0
