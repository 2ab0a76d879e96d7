"""Hostile requests over a real socket, by every way that a request may take: refused in the one shape, and harmless."""

import contextlib
import json
import math
import socket
import time

import pytest

from arcbandit.service.deadlines import LARGEST_HEAD
from tests.service.hostile import DECIDE, REWARDS, hostile_bodies
from tests.service.processes import Process, made_store
from tests.service.test_express import Line, asked

PATIENCE = 60  # seconds: a planner's process is started for some


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    started = Process(made_store(tmp_path_factory.mktemp("wire")))
    yield started
    started.kill()


def is_error(status, headers, body):
    """Whether an answer is an error of the one shape."""
    assert headers["content-type"] == "application/json"
    told = json.loads(body)
    assert set(told) == {"error"}
    assert {"code", "message"} <= set(told["error"]) <= {"code", "message", "field"}
    return status >= 400


def state(server):
    """What must not change, and the decisions, of which some hostile requests make one."""
    with Line(server) as line:
        counted = json.loads(line.ask(asked("/v1/campaigns/films/statistics", b"", method="GET"))[2])
        campaign = json.loads(line.ask(asked("/v1/campaigns/films", b"", method="GET"))[2])
    rewarded = {
        (pair["arm"], pair["context"]): (pair["rewards"], pair["total_micro"])
        for pair in counted["pairs"]
        if pair["rewards"]
    }
    assert all(math.isfinite(pair["total_micro"]) for pair in counted["pairs"])
    return rewarded, campaign["arms"], campaign["contexts"]


def in_one_piece(line, path, body):
    return line.ask(asked(path, body))


def piece_by_piece(line, path, body):
    """The headers first, then the body in two parts."""
    data = asked(path, body)
    start = data.index(b"\r\n\r\n") + 4
    middle = start + len(body) // 2
    for part in (data[:start], data[start:middle], data[middle:]):
        line.socket.sendall(part)
        time.sleep(0.001)
    return line.answer()


def in_chunks(line, path, body):
    """Of a length that is told chunk by chunk."""
    half = len(body) // 2
    chunks = [part for part in (body[:half], body[half:]) if part]
    coded = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in chunks) + b"0\r\n\r\n"
    return line.ask(asked(path, coded, "transfer-encoding: chunked"))


WAYS = {"in one piece": in_one_piece, "piece by piece": piece_by_piece, "in chunks": in_chunks}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_hostile_bodies_are_refused_and_change_nothing(server, cases, way):
    """The corpus of `test_api.py`; `make test` sends all that is short to the hot paths, and some of the rest."""
    with Line(server) as line:
        made = json.loads(line.ask(asked(DECIDE, b'{"context":"tv"}'))[2])["decision_id"]
        reward = json.dumps({"decision_id": made, "reward": 0.5}).encode()
        assert line.ask(asked(REWARDS, reward))[0] == 200
    before = state(server)
    bodies = hostile_bodies()
    others_every, count, accepted = cases(23, 1), 0, 0
    line = Line(server)
    try:
        for number, (path, body) in enumerate(bodies):
            if number % others_every and path not in (DECIDE, REWARDS):
                continue
            count += 1
            line.socket.settimeout(PATIENCE)
            try:
                status, headers, answer = WAYS[way](line, path, body)
            except OSError:  # refused for its size while it was sent, and hung up on
                assert len(body) > 60_000
                line.__exit__()
                line = Line(server)
                continue
            if status in (200, 201):
                accepted += 1
                assert not any(word in body for word in (b"1e999", b"NaN", b"Infinity"))
                continue
            assert status in (400, 404, 409, 413, 422), (path, body[:80], answer)
            assert is_error(status, headers, answer)
            if headers.get("connection") == "close":
                line.__exit__()
                line = Line(server)
        assert (
            line.ask(asked(REWARDS, reward))[2]
            == json.dumps({"decision_id": made, "outcome": "repeated"}, separators=(",", ":")).encode()
        )
    finally:
        line.__exit__()
    print(f"{count} hostile bodies {way}, {accepted} of them harmless")
    assert count >= cases(100, len(bodies))
    assert accepted < count / 2
    assert state(server) == before


MALFORMED = {
    "nonsense": b"nonsense\r\n\r\n",
    "a greeting of TLS": bytes([22, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3]) + bytes(range(200)),
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "no such version": b"GET / HTTP/9.9\r\n\r\n",
    "no such method": b"STEAL /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n",
    "a space in the path": b"GET /health z HTTP/1.1\r\nhost: localhost\r\n\r\n",
    "a header without a colon": b"GET /healthz HTTP/1.1\r\nhost localhost\r\n\r\n",
    "a NUL in a header": b"GET /healthz HTTP/1.1\r\nhost: local\0host\r\n\r\n",
    "a space before the colon": b"GET /healthz HTTP/1.1\r\nhost : localhost\r\n\r\n",
    "a negative length": b"POST " + DECIDE.encode() + b" HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n",
    "a length that is no number": b"POST " + DECIDE.encode() + b" HTTP/1.1\r\ncontent-length: ten\r\n\r\n",
    "a length beyond 64 bits": b"POST " + DECIDE.encode() + b" HTTP/1.1\r\ncontent-length: " + b"9" * 30 + b"\r\n\r\n",
    "two lengths": asked(DECIDE, b"{}", "content-length: 5"),
    "a length and chunks": asked(DECIDE, b"0\r\n\r\n", "transfer-encoding: chunked", "content-length: 5"),
    "a chunk without a size": asked(DECIDE, b"zz\r\n{}\r\n0\r\n\r\n", "transfer-encoding: chunked"),
    "an unknown coding": asked(DECIDE, b"{}", "transfer-encoding: gzip"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_no_request_is_refused_in_the_same_shape(server, name):
    """By the parser, which no application sees behind; the caller gets to read it, and is hung up on."""
    with Line(server) as line:
        line.socket.sendall(MALFORMED[name])
        status, headers, body = line.answer()
        assert status == 400
        assert is_error(status, headers, body)
        assert json.loads(body)["error"]["code"] == "malformed"
        assert headers["connection"] == "close"
        assert line.at_end()
    with Line(server) as line:
        assert line.ask(asked(DECIDE, b'{"context":"tv"}'))[0] == 200


@pytest.mark.parametrize("kind", ["one header", "many headers", "a path"])
def test_headers_that_are_too_large_are_refused_in_the_same_shape(server, kind):
    """Once more came than may, and not when all did."""
    size = LARGEST_HEAD + 1000
    start = b"POST " + DECIDE.encode()
    data = {
        "one header": start + b" HTTP/1.1\r\nhost: localhost\r\nx: " + b"y" * size,
        "many headers": start + b" HTTP/1.1\r\nhost: localhost\r\n" + b"x-header: yyyyyyyy\r\n" * (size // 20),
        "a path": start + b"?" + b"y" * size,
    }[kind]
    with Line(server) as line:
        line.socket.sendall(data)
        status, headers, body = line.answer()
        assert (status, json.loads(body)["error"]["code"]) == (431, "headers_too_large")
        assert is_error(status, headers, body)
        assert line.at_end()


def test_who_was_refused_is_not_listened_to_for_long(server):
    """Neither without end nor for ever, and nothing that follows is taken for a request."""
    before = decided(server)
    with Line(server) as line:
        line.socket.sendall(b"nonsense\r\n\r\n" + asked(DECIDE, b'{"context":"tv"}') * 3)
        assert line.answer()[0] == 400
        line.socket.sendall(asked(DECIDE, b'{"context":"tv"}'))
        assert line.at_end()
        sent = 0
        with contextlib.suppress(OSError):
            while sent < 200:
                line.socket.sendall(b"x" * 100_000)
                sent += 1
                time.sleep(0.01)
        assert sent < 200
    with socket.create_connection(("127.0.0.1", server.port), 20) as silent:
        silent.sendall(b"nonsense\r\n\r\n")
        began = time.monotonic()
        while silent.recv(1000):
            pass
        assert time.monotonic() - began < 10
    assert decided(server) == before


def test_an_answer_under_way_is_not_mistaken(server):
    """Nonsense right behind a request: its caller gets the answer, or none, and never that of the nonsense."""
    for _ in range(20):
        with Line(server) as line:
            line.socket.sendall(asked(DECIDE, b'{"context":"tv"}') + b"nonsense\r\n\r\n")
            found = b""
            try:
                while more := line.socket.recv(10_000):
                    found += more
            except ConnectionError:
                pass
            assert not found.startswith(b"HTTP/1.1 400")


def decided(server):
    with Line(server) as line:
        return json.loads(line.ask(asked("/v1/campaigns/films/statistics", b"", method="GET"))[2])["decisions"]
