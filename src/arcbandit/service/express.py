"""Decisions and rewards straight from the parser to the application: what uvicorn does for any request, they skip.

A request goes this way if it is plain (HTTP/1.1 that keeps its connection, a small JSON body of known length, a path
without escapes, from no web page) and nothing else waits on its connection. If it came in one piece and begins as an
earlier one did, it is not even parsed. Every other one goes uvicorn's way, and is answered the same.
"""

import re
from typing import Any, NamedTuple

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from arcbandit.service.deadlines import DeadlineProtocol
from arcbandit.service.http_app import CAMPAIGNS, DECIDE, JSON_TYPE, REWARDS, HttpApp
from arcbandit.service.sources import JSON, is_this_machine

DEAF_SECONDS = 0.2  # in which whoever was turned away is not heard; they were told to wait for longer
LARGEST_BODY = 64 * 1024  # is kept before it is known who asks
START = CAMPAIGNS.encode()
ENDS = {DECIDE.encode(): "decide", REWARDS.encode(): "rewards"}
CONTENT_TYPE = b"%b: %b\r\n" % JSON_TYPE
NOT_PLAIN = frozenset(b"%?#")
END = b"\r\n\r\n"
# Names and values of headers are those that any reader of HTTP takes for the same.
_NAME, _VALUE = rb"[A-Za-z0-9_-]+", rb"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?"
HEADER = re.compile(rb"(%b): ?(%b)\r\n" % (_NAME, _VALUE))
HEAD = re.compile(
    rb"POST %b([A-Za-z0-9][A-Za-z0-9._-]{0,63})/(decide|rewards) HTTP/1\.1\r\n((?:%b: ?%b\r\n)+)\r\n"
    % (re.escape(START), _NAME, _VALUE)
)
SIZE = re.compile(rb"[0-9]{1,5}")
NEVER_PLAIN = frozenset((b"connection", b"transfer-encoding", b"expect", b"upgrade", b"origin", b"te", b"trailer"))
LONGEST_HEAD = 2048  # bytes
MOST_HEADS = 4096  # are remembered


class Plain(NamedTuple):
    """What a plain request asks for, by its first lines."""

    kind: str
    name: str  # of a campaign
    token: bytes | None  # the header that holds it
    size: int  # of its body


class _Nobody:
    """Nobody waits for pieces of the body."""

    def set(self) -> None:
        """Tell nobody."""


class Exchange:
    """A request and its answer; it stands where uvicorn has its `RequestResponseCycle`, and looks like one to it."""

    __slots__ = (
        "body",
        "disconnected",
        "keep_alive",
        "kind",
        "more_body",
        "name",
        "response_complete",
        "started",
        "token",
    )
    message_event = _Nobody()

    def __init__(self, kind: str, name: str, token: bytes | None) -> None:
        self.kind = kind
        self.name = name
        self.token = token  # the header that holds it
        self.body = b""
        self.more_body = True
        self.started = False
        self.keep_alive = True
        self.disconnected = False
        self.response_complete = False


class ExpressProtocol(DeadlineProtocol):
    """uvicorn's protocol with deadlines, and the short way for plain requests on the hot paths."""

    app: Any  # an HttpApp
    refusal: bytes | None = None  # the answer to a request that is turned away, once all of it is here
    in_message = False  # whether a request has begun and is not whole

    def data_received(self, data: bytes) -> None:
        """Take a plain request that came in one piece past the parser; all else is parsed."""
        if not self.in_message and self.refused_bytes is None and self._is_free():
            start = data.find(END) + len(END)
            plain = self._plain(data[:start]) if start >= len(END) else None
            if plain is not None and len(data) == start + plain.size:
                self._take(plain, data[start:])
                return
        super().data_received(data)

    def _plain(self, head: bytes) -> Plain | None:
        """What a request asks for; a client's requests begin alike, so that few need to be looked at."""
        heads = self.app.heads
        try:
            found: Plain | None = heads[head]
        except KeyError:
            found = plain_head(head, self.app.is_open) if len(head) <= LONGEST_HEAD else None
            if len(heads) >= MOST_HEADS:
                heads.clear()
            if len(head) <= LONGEST_HEAD:
                heads[head] = found
        return found

    def _take(self, plain: Plain, body: bytes) -> None:
        """Answer a whole request, or turn it away if there is no room for it."""
        self._unset_keepalive_if_required()
        self.waits_since = None
        under_way = len(self.tasks)
        if under_way >= self.app.room:
            refusal = self.app.turned_away(plain.kind, under_way)
            if refusal is not None:
                self._turn_away(refusal)
                return
        exchange = Exchange(plain.kind, plain.name, plain.token)
        exchange.body = body
        exchange.more_body = False
        self.cycle = exchange  # type: ignore[assignment]
        self._begin(exchange)

    def _begin(self, exchange: Exchange) -> None:
        exchange.started = True
        task = self.loop.create_task(self._answer(exchange))
        task.add_done_callback(self.tasks.discard)
        self.tasks.add(task)

    def _is_free(self) -> bool:
        """Whether nothing else waits on the connection, neither requests nor answers that nobody reads."""
        return (self.cycle is None or self.cycle.response_complete) and not self.flow.write_paused

    def on_message_begin(self) -> None:
        """A request begins."""
        self.in_message = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Turn a request away, take it the short way, or leave it to uvicorn."""
        kind = self._plain_kind()
        if kind is not None:
            self.refusal = self.app.turned_away(kind, len(self.tasks))
            if self.refusal is not None:
                self.in_head = False
                return
            exchange = self._exchange(kind)
            if exchange is not None:
                self.in_head = False
                self.cycle = exchange  # type: ignore[assignment]
                return
        super().on_headers_complete()

    def _plain_kind(self) -> str | None:
        """Which of the hot paths a plain request is for; None for any other."""
        url, parser = self.url, self.parser
        if not url.startswith(START) or parser.get_method() != b"POST":
            return None
        kind = ENDS.get(url[url.rfind(b"/") :])
        # A request behind another on the same connection waits for its turn, which uvicorn sees to.
        if kind is None or not self._is_free():
            return None
        if self.expect_100_continue or parser.should_upgrade() or not parser.should_keep_alive():
            return None
        return kind if parser.get_http_version() == "1.1" else None

    def _exchange(self, kind: str) -> Exchange | None:
        url = self.url
        if not url.isascii() or not NOT_PLAIN.isdisjoint(url):
            return None
        token = size = None
        for key, value in self.headers:
            if key == b"authorization" and token is None:
                token = value
            elif key == b"content-length":
                size = value
            elif (
                (key == b"content-type" and value != JSON)
                or (self.app.is_open and key == b"host" and not is_this_machine(value))
                or key == b"origin"
            ):
                return None
        if size is None or len(size) > 5 or int(size) > LARGEST_BODY:
            return None
        return Exchange(kind, url[len(START) : -len(kind) - 1].decode("ascii"), token)

    def on_body(self, body: bytes) -> None:
        """Whoever is turned away is not read."""
        if self.refusal is None:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """A request is whole."""
        self.in_message = False
        if self.refusal is not None:
            self._turn_away(self.refusal)
            return
        super().on_message_complete()
        exchange: Any = self.cycle
        if type(exchange) is Exchange and not exchange.started:
            self._begin(exchange)

    def _turn_away(self, refusal: bytes) -> None:
        """Refuse at once, and hear of nothing more for a moment: who was told to wait and does not costs no more."""
        self.waits_since = self.refusal = None
        self.transport.write(refusal)
        self.on_response_complete()
        if self._is_free() and not self.transport.is_closing():
            self.flow.pause_reading()
            self.loop.call_later(DEAF_SECONDS, self._listen_again)

    def _listen_again(self) -> None:
        # While others wait their turn on the connection, uvicorn says when to read on.
        if not self.pipeline and not self.transport.is_closing():
            self.flow.resume_reading()

    async def _answer(self, exchange: Exchange) -> None:
        app: HttpApp = self.app
        answer = await app.answer(exchange.kind, exchange.name, exchange.token, exchange.body)
        if answer is None:
            return
        if self.flow.write_paused:
            await self.flow.drain()
        if exchange.disconnected or self.transport.is_closing():
            return
        self.transport.write(written(*answer, keep_alive=exchange.keep_alive))
        exchange.response_complete = True
        if not exchange.keep_alive:
            self.transport.close()
        self.on_response_complete()


def plain_head(head: bytes, is_open: bool) -> Plain | None:
    """What the first lines of a request ask for, if they are plain to the last letter; None if that takes a parser.

    They end in an empty line. A service that is open to all takes requests to this machine alone.
    """
    line = HEAD.fullmatch(head)
    if line is None:
        return None
    token, sizes = None, []
    for key, value in HEADER.findall(head, line.start(3)):
        name = key.lower()
        if name in NEVER_PLAIN:
            return None
        if name == b"content-length":
            sizes.append(value)
        elif name == b"authorization" and token is None:
            token = value
        elif (name == b"content-type" and value != JSON) or (
            is_open and name == b"host" and not is_this_machine(value)
        ):
            return None
    if len(sizes) != 1 or SIZE.fullmatch(sizes[0]) is None or int(sizes[0]) > LARGEST_BODY:
        return None
    return Plain(line[2].decode("ascii"), line[1].decode("ascii"), token, int(sizes[0]))


def written(status: int, body: bytes, extra: list[tuple[bytes, bytes]], *, keep_alive: bool) -> bytes:
    """An answer as it goes over the wire."""
    others = b"".join(b"%b: %b\r\n" % header for header in extra) if extra else b""
    if not keep_alive:
        others += b"connection: close\r\n"
    return b"%b%bcontent-length: %d\r\n%b\r\n%b" % (STATUS_LINE[status], CONTENT_TYPE, len(body), others, body)
