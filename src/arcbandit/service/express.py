"""Decisions and rewards straight from the parser to the application: what uvicorn does for any request, they skip.

A request goes this way if it is plain (HTTP/1.1 that keeps its connection, a small JSON body of known length, a path
without escapes, from no web page) and nothing else waits on its connection. Every other one goes uvicorn's way, and is
answered the same.
"""

from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from arcbandit.service.deadlines import DeadlineProtocol
from arcbandit.service.http_app import CAMPAIGNS, DECIDE, JSON_TYPE, REWARDS, HttpApp
from arcbandit.service.sources import JSON, is_this_machine

DEAF_SECONDS = 0.1  # in which whoever was turned away is not heard; they were told to wait for longer
LARGEST_BODY = 64 * 1024  # is kept before it is known who asks
START = CAMPAIGNS.encode()
ENDS = {DECIDE.encode(): "decide", REWARDS.encode(): "rewards"}
CONTENT_TYPE = b"%b: %b\r\n" % JSON_TYPE
NOT_PLAIN = frozenset(b"%?#")


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
        """Turn away a request that came in one piece before it is even parsed, if there is no room for it."""
        under_way = len(self.tasks)
        if under_way >= self.app.room and not self.in_message and self.refused_bytes is None and self._is_free():
            kind = whole_plain_request(data)
            refusal = None if kind is None else self.app.turned_away(kind, under_way)
            if refusal is not None:
                self._unset_keepalive_if_required()
                self._turn_away(refusal)
                return
        super().data_received(data)

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
            exchange.started = True
            task = self.loop.create_task(self._answer(exchange))
            task.add_done_callback(self.tasks.discard)
            self.tasks.add(task)

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


def whole_plain_request(data: bytes) -> str | None:
    """Which of the hot paths a plain request is for, if it is all of what came; None if that takes a parser to say."""
    end = data.find(b"\r\n\r\n")
    if end < 0 or not data.startswith(b"POST " + START):
        return None
    line, _, headers = data[:end].lower().partition(b"\r\n")
    path, space, version = line[len(b"POST ") :].partition(b" ")
    kind = ENDS.get(path[path.rfind(b"/") :])
    sizes = headers.split(b"content-length:")
    if kind is None or not space or version != b"http/1.1" or len(sizes) != 2:
        return None
    if any(word in headers for word in (b"connection:", b"transfer-encoding:", b"expect:", b"upgrade:")):
        return None
    size = sizes[1].partition(b"\r\n")[0].strip()
    return kind if size.isdigit() and len(size) <= 5 and len(data) == end + 4 + int(size) else None


def written(status: int, body: bytes, extra: list[tuple[bytes, bytes]], *, keep_alive: bool) -> bytes:
    """An answer as it goes over the wire."""
    others = b"".join(b"%b: %b\r\n" % header for header in extra) if extra else b""
    if not keep_alive:
        others += b"connection: close\r\n"
    return b"%b%bcontent-length: %d\r\n%b\r\n%b" % (STATUS_LINE[status], CONTENT_TYPE, len(body), others, body)
