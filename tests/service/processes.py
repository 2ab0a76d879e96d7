"""A service in a process of its own, and a client that is fast enough to press it."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from arcbandit.service import teaching
from arcbandit.service.api_types import CreateCampaign
from arcbandit.service.sqlite_store import SQLiteStore
from tests.patience import PATIENCE, killed, line_of
from tests.service.served import FILMS

ROOT = Path(__file__).parents[2]
LIGHT = """
import sys
from arcbandit.service.server import run, wired
from arcbandit.service.http_app import Limits
at_once, is_open = int(sys.argv[2]), sys.argv[3] == "open"
limits = Limits(at_once, at_once * 3 // 4, at_once)
running = wired(sys.argv[1], is_open=is_open, plans=False, limits=limits)
run(running, "127.0.0.1", 0, lambda port: print(port, flush=True))
"""


def made_store(folder, *, clocks=None, **others):
    """A store with a campaign; its path."""
    path = str(folder / "store.db")

    async def make():
        store = SQLiteStore(path, clocks=clocks)
        made = teaching.created(CreateCampaign(**{**FILMS, **others}))
        await store.create_campaign("films", made.settings, made.policy)
        await store.close()

    asyncio.run(make())
    return path


class Process:
    """A server; without a planner, it starts in a fraction of a second."""

    def __init__(self, path, *, at_once=512, is_open=True):
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
        self.process = subprocess.Popen(
            [sys.executable, "-c", LIGHT, path, str(at_once), "open" if is_open else "closed"],
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        line = line_of(self.process)
        assert line.strip().isdecimal(), "the server did not start"
        self.port = int(line)

    def kill(self):
        """As a loss of the machine's temper would: no handler runs."""
        killed(self.process)
        self.process.stdout.close()

    def terminate(self):
        """Ask it to end; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(10)
        finally:
            self.kill()


class Raw:
    """One connection."""

    def __init__(self, port):
        self._port = port
        self._streams = None

    async def post(self, path, body):
        """The status and the body of an answer; ConnectionError if there is none."""
        try:
            async with asyncio.timeout(PATIENCE):
                return await self._exchanged(path, body)
        except TimeoutError:
            raise AssertionError(f"{path} was not answered within {PATIENCE:g} s") from None

    async def _exchanged(self, path, body):
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        data = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(data)}\r\n\r\n"
        writer.write(head.encode() + data)
        try:
            top = (await reader.readuntil(b"\r\n\r\n")).lower()
            size = int(top.split(b"content-length: ")[1].split(b"\r\n")[0])
            return int(top[9:12]), json.loads(await reader.readexactly(size))
        except (asyncio.IncompleteReadError, OSError) as error:
            await self.close()
            raise ConnectionError from error

    async def close(self):
        if self._streams is not None:
            self._streams[1].close()
            with contextlib.suppress(OSError):
                await self._streams[1].wait_closed()
            self._streams = None
