"""One thread that writes: it takes all that waits, in one transaction, and wakes all who wait."""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, Protocol

from arcbandit.errors import RequestIdUsedError, StoreError


class Work(NamedTuple):
    """Something to be written, and who waits for it."""

    write: Callable[[Any], Any]  # is passed the transaction
    alone: bool  # in a transaction of its own, which is rolled back if it raises
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Any]"


class Transactions(Protocol):
    """Where the thread writes to."""

    def begin(self) -> Any:
        """Begin a transaction."""

    def commit(self) -> None:
        """Put the transaction on disk, or raise a StoreError with nothing of it stored."""

    def roll_back(self) -> None:
        """Forget the transaction."""

    def explained(self, error: BaseException) -> BaseException:
        """What callers are told of an error of the database."""

    def close(self) -> None:
        """Let go of the database."""


class GroupCommit:
    """Writes what many callers ask for, each waiting until it is on disk.

    There is no timer: while one transaction is on its way to the disk, others queue up for the next.
    """

    def __init__(self, open_transactions: Callable[[], Transactions], largest_batch: int = 1024) -> None:
        self._largest_batch = largest_batch
        self._queue: SimpleQueue[Work | None] = SimpleQueue()
        self._held: Work | None = None  # was taken, but belongs to the next transaction
        self._closed = False
        self._opened = threading.Event()
        self._failure: BaseException | None = None
        self._transactions: Transactions | None = None
        self._thread = threading.Thread(
            target=self._run, args=(open_transactions,), name="arcbandit-writer", daemon=True
        )
        self._thread.start()
        self._opened.wait()
        if self._failure is not None:
            raise self._failure

    def do(self, write: Callable[[Any], Any], *, alone: bool = False) -> "asyncio.Future[Any]":
        """Write; whoever awaits what is returned waits until it is on disk."""
        if self._closed:
            raise StoreError("The store is closed.")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        # Who stops waiting does not stop the writing.
        self._queue.put(Work(write, alone, loop, future))
        return future

    @property
    def depth(self) -> int:
        """How much waits."""
        return self._queue.qsize() + (self._held is not None)

    def drain(self) -> None:
        """Write what waits, and end the thread."""
        if not self._closed:
            self._closed = True
            self._queue.put(None)
        self._thread.join()

    def close(self) -> None:
        """Write what waits, and let go of the database."""
        self.drain()
        if self._transactions is not None:
            self._transactions.close()

    def _run(self, open_transactions: Callable[[], Transactions]) -> None:
        try:
            self._transactions = transactions = open_transactions()
        except BaseException as error:  # noqa: BLE001, it is raised where the store is opened
            self._failure = error
            return
        finally:
            self._opened.set()
        while self._write_batch(transactions):
            pass

    def _write_batch(self, transactions: Transactions) -> bool:
        """Write what waits, at least one thing; False if it was the last."""
        first = self._queue.get() if self._held is None else self._held
        self._held = None
        if first is None:
            return False
        batch = [first]
        is_last = False
        while not first.alone and len(batch) < self._largest_batch:
            try:
                following = self._queue.get_nowait()
            except Empty:
                break
            if following is None:
                is_last = True
                break
            if following.alone:
                self._held = following
                break
            batch.append(following)
        _wake(batch, self._written(transactions, batch))
        return not is_last

    def _written(self, transactions: Transactions, batch: list[Work]) -> "list[tuple[Any, BaseException | None]]":
        """What each of a batch returns or raises."""
        answers: list[tuple[Any, BaseException | None]] = []
        try:
            transaction = transactions.begin()
            for work in batch:
                try:
                    answers.append((work.write(transaction), None))
                except RequestIdUsedError as error:  # which is raised before anything is written
                    answers.append((None, error))
            transactions.commit()
        except BaseException as error:  # noqa: BLE001, whatever it was, every one of the batch is told
            cause = error
            try:
                transactions.roll_back()
            except BaseException as second:  # noqa: BLE001, the thread must not end while others wait for it
                cause = second
            return [(None, transactions.explained(cause))] * len(batch)
        return answers


def _wake(batch: list[Work], answers: "list[tuple[Any, BaseException | None]]") -> None:
    # Each loop is told once, however many wait on it.
    for loop in {work.loop for work in batch}:
        # One that is closed has nobody who waits, and may be closed at this moment: the thread goes on for others.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(_set_all, loop, batch, answers)


def _set_all(
    loop: asyncio.AbstractEventLoop, batch: list[Work], answers: "list[tuple[Any, BaseException | None]]"
) -> None:
    for work, (value, error) in zip(batch, answers, strict=True):
        if work.loop is not loop or work.future.done():  # its caller is gone
            continue
        if error is None:
            work.future.set_result(value)
        else:
            work.future.set_exception(error)
