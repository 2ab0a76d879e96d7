"""The service as a process: wiring, signals, and an orderly end."""

import asyncio
import contextlib
import gc
import logging
import os
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import uvicorn

from arcbandit.errors import InvalidInputError
from arcbandit.service.clock import Clocks
from arcbandit.service.dashboard import dashboard_routes
from arcbandit.service.deadlines import close_slow_connections
from arcbandit.service.express import ExpressProtocol
from arcbandit.service.http_app import HttpApp, Limits
from arcbandit.service.http_routes import Routes
from arcbandit.service.metrics import Metrics
from arcbandit.service.service import Service
from arcbandit.service.store import Store
from arcbandit.service.stores import open_store
from arcbandit.service.upkeep import Upkeep
from arcbandit.service.worker_client import Worker

log = logging.getLogger("arcbandit.service")

DRAIN_SECONDS = 4
KEEP_ALIVE_SECONDS = 30
COLLECT_AFTER = 20_000  # objects
BROKEN = 70  # the exit code of a process whose store failed


class Running(NamedTuple):
    """A service that is wired up."""

    service: Service
    app: HttpApp
    upkeep: Upkeep
    store: Store
    answering: Worker


def _exit(error: BaseException) -> None:
    """After a failed write nobody knows what is on disk: end, and let the next start read what is."""
    log.critical("The store failed, so the service ends: %s", error)
    sys.stderr.flush()
    os._exit(BROKEN)


def wired(
    path: str,
    *,
    is_open: bool = False,
    limits: Limits | None = None,
    plans: bool = True,
    clocks: Clocks | None = None,
    on_broken: Callable[[BaseException], None] = _exit,
) -> Running:
    """A service on a SQLite file or a PostgreSQL database; it is not loaded and nothing runs yet.

    Without `plans`, the plan in force stays.
    """
    store = open_store(path, clocks=clocks, on_broken=on_broken)
    answering = Worker(path)
    service = Service(store, answering)
    metrics = Metrics(service)
    routes = Routes(service, metrics)
    app = HttpApp(service, metrics, routes.app(dashboard_routes()), limits=limits, is_open=is_open)
    routes.gate = app
    monotonic = time.monotonic if clocks is None else clocks.monotonic
    return Running(service, app, Upkeep(service, Worker(path) if plans else None, monotonic), store, answering)


class Server(uvicorn.Server):
    """uvicorn, with slow clients cut off and the service's tasks beside it."""

    def __init__(self, running: Running, host: str, port: int, on_ready: Callable[[int], None]) -> None:
        super().__init__(
            uvicorn.Config(
                running.app,
                host=host,
                port=port,
                loop="uvloop",
                http=ExpressProtocol,
                ws="none",
                lifespan="off",
                access_log=False,
                log_config=None,
                server_header=False,
                date_header=False,
                proxy_headers=False,  # nothing depends on the address of a client
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=DRAIN_SECONDS,
                backlog=4096,
            )
        )
        self._running = running
        self._on_ready = on_ready
        self._cutting: asyncio.Task[None] | None = None

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Begin an orderly end, after which the process exits with 0; a second signal hurries it."""
        self.force_exit = self.should_exit
        self.should_exit = True

    async def startup(self, sockets: list[Any] | None = None) -> None:
        """Load the store, then listen."""
        await self._running.service.load()
        # Requests leave no cycles behind: to look for some among all that was imported would take them time.
        gc.collect()
        gc.freeze()
        gc.set_threshold(COLLECT_AFTER, 10, 10)
        await self._listen(sockets)
        if self.should_exit:
            return
        self._running.upkeep.start()
        self._cutting = asyncio.ensure_future(close_slow_connections(self.server_state.connections))
        self._on_ready(self.servers[0].sockets[0].getsockname()[1])

    async def _listen(self, sockets: list[Any] | None) -> None:
        """Listen, or say why that cannot be: uvicorn would log it and exit."""
        logger = logging.getLogger("uvicorn.error")
        level = logger.level
        logger.setLevel(logging.CRITICAL)
        try:
            await super().startup(sockets)
        except SystemExit as end:
            await self._running.store.close()
            reason = end.__context__
            number = (reason.errno or 0) if isinstance(reason, OSError) else 0
            told = os.strerror(number) if number > 0 else str(reason)
            raise InvalidInputError(
                f"{self.config.host}:{self.config.port} must be an address and a port that nobody else listens on "
                f"({told}); port 0 takes a free one."
            ) from reason
        finally:
            logger.setLevel(level)

    async def shutdown(self, sockets: list[Any] | None = None) -> None:
        """Stop listening, answer what was asked, commit it, and end."""
        await super().shutdown(sockets)
        if self._cutting is not None:
            self._cutting.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._cutting
        await self._running.upkeep.stop()
        await self._running.answering.close()
        await self._running.store.close()


def _silent(_: int) -> None:
    """Nobody waits to hear that the service is ready."""


def run(running: Running, host: str, port: int, on_ready: Callable[[int], None] = _silent) -> None:
    """Serve until a signal ends it."""
    Server(running, host, port, on_ready).run()
