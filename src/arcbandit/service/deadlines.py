"""Clients that take their time: a request must be whole within a deadline, and an answer taken, or they are cut off."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from arcbandit.service.api_errors import ApiError

RECEIVE_SECONDS = 5.0
SEND_SECONDS = 6.0  # in which whoever is behind with reading must take LEAST_TAKEN bytes
LEAST_TAKEN = 64 * 1024
LARGEST_HEAD = 64 * 1024  # bytes of the headers of a request
MOST_IGNORED = 1024 * 1024  # bytes that are taken of a caller who was refused
SWEEP_SECONDS = 0.5
REFUSAL = b"%bcontent-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%b"


class DeadlineProtocol(HttpToolsProtocol):
    """uvicorn's protocol, and since when it waits for the rest of a request, or for its answers to be taken."""

    waits_since: float | None = None
    blocked_since: float | None = None
    blocked_bytes = 0  # that were not taken then
    answering: Any = None  # of several requests that came at once, the one whose turn it is
    refused_bytes: int | None = None  # came since the connection was refused, if it was
    in_head = False  # whether the headers of a request are on their way
    head_bytes = 0

    def connection_made(self, transport: Any) -> None:
        """A connection must ask for something soon."""
        super().connection_made(transport)
        self.waits_since = self.loop.time()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody waits for an answer any more; uvicorn tells so to the last request, which may not have its turn."""
        if self.answering is not None:
            self.answering.disconnected = True
            self.answering.message_event.set()
        super().connection_lost(exc)

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        self.answering = cycle
        super()._start_asgi_task(cycle, app)

    def data_received(self, data: bytes) -> None:
        """A request begins with its first byte."""
        if self.refused_bytes is not None:
            self.refused_bytes += len(data)
            if self.refused_bytes > MOST_IGNORED:
                self.transport.abort()
            return
        if self.waits_since is None:
            self.waits_since = self.loop.time()
        super().data_received(data)
        self.head_bytes = self.head_bytes + len(data) if self.in_head else 0
        if self.head_bytes > LARGEST_HEAD and self.refused_bytes is None:
            self._refuse(ApiError(431, "headers_too_large", f"Headers must have at most {LARGEST_HEAD} bytes."))

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request of HTTP, as every error is told."""
        self._refuse(ApiError(400, "malformed", msg))

    def _refuse(self, error: ApiError) -> None:
        """Answer what no application sees, and hang up once the caller has.

        Not before: to close a connection on which something is still to be read takes the answer from its caller.
        """
        if self.transport.is_closing():
            return
        self.refused_bytes = 0
        request: Any = self.cycle
        if request is not None and not request.response_complete:
            if self.pipeline or not request.more_body or getattr(request, "response_started", False):
                self.transport.abort()  # another answer is on its way, which this one would be taken for
                return
            request.disconnected = True  # it is its own body that is wrong: nothing else is to be answered
            request.message_event.set()
        body = error.content()
        self.waits_since = self.loop.time()
        self.transport.write(REFUSAL % (STATUS_LINE[error.status], len(body), body))
        if self.transport.can_write_eof():
            self.transport.write_eof()

    def on_message_begin(self) -> None:
        """It may begin in the same packet in which another ends."""
        self.waits_since = self.loop.time()
        self.in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """What follows is the body, whose size the application limits."""
        self.in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """A request is whole."""
        self.waits_since = None
        super().on_message_complete()

    def pause_writing(self) -> None:
        """More is to be sent than is taken."""
        self._blocked(self.loop.time())
        super().pause_writing()

    def resume_writing(self) -> None:
        """What was to be sent is taken, or nearly."""
        self.blocked_since = None
        super().resume_writing()

    def _blocked(self, now: float) -> None:
        self.blocked_since = now
        self.blocked_bytes = self.transport.get_write_buffer_size()

    def is_too_slow(self, now: float) -> bool:
        """Whether a deadline is over; whoever takes a long answer bit by bit has another for each bit."""
        if self.waits_since is not None and now - self.waits_since > RECEIVE_SECONDS:
            return True
        if self.blocked_since is None or now - self.blocked_since <= SEND_SECONDS:
            return False
        if self.transport.get_write_buffer_size() > self.blocked_bytes - LEAST_TAKEN:
            return True
        self._blocked(now)
        return False


async def close_slow_connections(connections: set[Any]) -> None:
    """Close connections that wait too long; one look at all of them costs less than a timer for each request."""
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(SWEEP_SECONDS)
        now = loop.time()
        for connection in list(connections):
            if connection.transport is not None and connection.is_too_slow(now):
                connection.transport.abort()
