"""Clients that take their time: a request must be whole within a deadline, and an answer taken, or they are cut off."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

RECEIVE_SECONDS = 5.0
SEND_SECONDS = 6.0  # in which whoever is behind with reading must take LEAST_TAKEN bytes
LEAST_TAKEN = 64 * 1024
LARGEST_HEAD = 64 * 1024  # bytes of the headers of a request
SWEEP_SECONDS = 0.5


class DeadlineProtocol(HttpToolsProtocol):
    """uvicorn's protocol, and since when it waits for the rest of a request, or for its answers to be taken."""

    waits_since: float | None = None
    blocked_since: float | None = None
    blocked_bytes = 0  # that were not taken then
    answering: Any = None  # of several requests that came at once, the one whose turn it is
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
        if self.waits_since is None:
            self.waits_since = self.loop.time()
        super().data_received(data)
        self.head_bytes = self.head_bytes + len(data) if self.in_head else 0
        if self.head_bytes > LARGEST_HEAD and self.transport is not None:
            self.transport.abort()

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
