"""Group commit in an event loop: what waits while one commit is under way shares the next."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

from arcbandit.errors import StoreError

Work = TypeVar("Work")
Answer = tuple[Any, BaseException | None]


class Batches(Generic[Work]):
    """Writes what many callers ask for, each waiting until it is on disk. There is no timer."""

    def __init__(self, write: Callable[[list[Work]], Awaitable[list[Answer]]], largest: int = 1024) -> None:
        self._write = write
        self._largest = largest
        self._queue: deque[tuple[Work, asyncio.Future[Any]]] = deque()
        self._writing: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def depth(self) -> int:
        """How much waits."""
        return len(self._queue)

    async def do(self, work: Work) -> Any:
        """Write, and wait until it is on disk; who stops waiting does not stop the writing."""
        if self._closed:
            raise StoreError("The store is closed.")
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._queue.append((work, future))
        if self._writing is None:
            self._writing = asyncio.ensure_future(self._drain())
        return await future

    async def _drain(self) -> None:
        try:
            while self._queue:
                batch = [self._queue.popleft() for _ in range(min(self._largest, len(self._queue)))]
                _wake(batch, await self._answers([work for work, _ in batch]))
        finally:
            self._writing = None

    async def _answers(self, batch: list[Work]) -> list[Answer]:
        try:
            return await self._write(batch)
        except BaseException as error:  # noqa: BLE001, whatever it was, every one of the batch is told
            return [(None, error)] * len(batch)

    async def close(self) -> None:
        """Write what waits, and take no more."""
        self._closed = True
        if self._writing is not None:
            await asyncio.wait([self._writing])


def _wake(batch: "list[tuple[Any, asyncio.Future[Any]]]", answers: list[Answer]) -> None:
    for (_, future), (value, error) in zip(batch, answers, strict=True):
        if future.done():  # its caller is gone
            continue
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)
