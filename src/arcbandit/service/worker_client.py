"""The planner's process, as the service sees it: started when needed, and again if it ends."""

import asyncio
import os
import struct
import sys
from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from arcbandit.errors import InvalidInputError, PlanningError
from arcbandit.service.worker import STORE, Question, Reply, encoded


class WorkerError(Exception):
    """The planner's process ended, or failed in a way that nobody expected."""


def value_of(reply: Reply) -> Any:
    """The answer, or the error that is in its place."""
    if reply.error == "invalid":
        raise InvalidInputError(reply.message)
    if reply.error == "not proven":
        raise PlanningError(reply.message)
    if reply.error is not None:
        raise WorkerError(reply.message)
    return reply.value


class Asked(Protocol):
    """What answers questions: a process, or in tests this one."""

    async def ask(self, question: Question, timeout: float | None = None) -> Any:
        """The answer; InvalidInputError or PlanningError if there is none, WorkerError if it is not available."""

    async def end(self) -> None:
        """End what answers, which must hang; the next question starts it again."""

    async def close(self) -> None:
        """Ask no more."""


class Worker:
    """A process that answers questions one at a time."""

    def __init__(self, store: str, command: Sequence[str] = ()) -> None:
        self._command = list(command) or [sys.executable, "-m", "arcbandit.service.worker"]
        self._environment = os.environ | {STORE: store}
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()
        self._closed = False

    async def ask(self, question: Question, timeout: float | None = None) -> Any:
        """The answer; InvalidInputError or PlanningError if there is none, WorkerError if the process ended."""
        async with asyncio.timeout(timeout):
            await self._turn.acquire()
        task = asyncio.ensure_future(self._exchange(question))
        # Whoever stops waiting leaves the process to finish its answer, which nobody else must take for theirs.
        task.add_done_callback(self._end_turn)
        async with asyncio.timeout(timeout):  # wait_for may forget a cancellation, in Python 3.11
            return value_of(await asyncio.shield(task))

    def _end_turn(self, task: "asyncio.Task[Reply]") -> None:
        self._turn.release()
        if not task.cancelled():
            task.exception()

    def _require_open(self) -> None:
        if self._closed:
            raise WorkerError("The planner's process was ended.")

    async def _exchange(self, question: Question) -> Reply:
        self._require_open()
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=2**26,
                env=self._environment,
            )
        process = self._process
        try:
            self._require_open()
        except WorkerError:  # closed while it was started
            await self.end()
            raise
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(encoded(question))
            await process.stdin.drain()
            (size,) = struct.unpack(">I", await process.stdout.readexactly(4))
            data = await process.stdout.readexactly(size)
        except (OSError, EOFError, asyncio.IncompleteReadError) as error:
            await self.end()
            raise WorkerError(f"The planner's process ended: {error}.") from error
        return msgspec.msgpack.decode(data, type=Reply)

    async def close(self) -> None:
        """End the process, and start no other."""
        self._closed = True
        await self.end()

    async def end(self) -> None:
        """End the process; the next question starts another."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            process.kill()
            await process.wait()
