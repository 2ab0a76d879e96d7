"""Connections to PostgreSQL: how they are made, and what their errors mean to a store."""

import asyncio
import re
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from arcbandit.errors import InvalidInputError, MissingExtraError, StoreError, StoreFullError, StoreVersionError
from arcbandit.service.stores import shown_store

try:
    import asyncpg
except ImportError as error:
    raise MissingExtraError("asyncpg", "service") from error

Value = TypeVar("Value")
Connection = Any  # asyncpg has no types of its own

SCHEMA = "arcbandit"
OLDEST_SERVER = 14  # the first that ends idle sessions, by which a planner that hangs loses its lock
CONNECT_SECONDS = 10.0
STATEMENT_SECONDS = 30.0
_IDENTIFIER = re.compile(r"[a-z_][a-z0-9_]{0,62}\Z")

LOST = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.PostgresConnectionError,
    asyncpg.InternalClientError,
    asyncpg.OperatorInterventionError,  # the server stops, starts, or has ended the session
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.ReadOnlySQLTransactionError,  # another server is the primary now
)
FULL = (asyncpg.InsufficientResourcesError, asyncpg.PostgresSystemError)
WORTH_ANOTHER_TRY = (asyncpg.DeadlockDetectedError, asyncpg.SerializationError)


class Address:
    """Where a store is: the URL of a database, and the schema of it that has the tables.

    >>> Address("postgresql://me:secret@db/shop?search_path=films").schema
    'films'
    >>> Address("postgresql://me:secret@db/shop").shown
    'postgresql://db/shop'
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        given = parse_qsl(parts.query, keep_blank_values=True)
        self.schema = dict(given).get("search_path", SCHEMA)
        if _IDENTIFIER.match(self.schema) is None:
            raise InvalidInputError(
                f"search_path must be one schema, of lower-case letters, digits and underscores, got {self.schema!r}."
            )
        others = [(name, value) for name, value in given if name != "search_path"]
        self.url = urlunsplit(parts._replace(query=urlencode(others)))
        self.shown = shown_store(url)


async def connected(address: Address, **settings: str) -> Connection:
    """A connection that commits durably; StoreError if none is available."""
    told = {
        "search_path": address.schema,
        "synchronous_commit": "on",
        "default_transaction_isolation": "read committed",
        # A process that stops in the middle of a transaction must not keep others waiting for its rows.
        "idle_in_transaction_session_timeout": "5s",
        "application_name": "arcbandit",
        **settings,
    }
    try:
        made = await asyncpg.connect(
            address.url, timeout=CONNECT_SECONDS, command_timeout=STATEMENT_SECONDS, server_settings=told
        )
    except ValueError:  # whose message may show a part of the password
        raise InvalidInputError(
            f"{address.shown} must be the URL of a PostgreSQL database, in which signs such as # and / of a password "
            "are written %23 and %2F."
        ) from None
    except (asyncpg.PostgresError, *LOST) as error:
        raise StoreError(f"{address.shown} cannot be reached ({_first_line(error)}).") from error
    return made


def require_sound_server(connection: Connection, settings: dict[str, str]) -> None:
    """Refuse a server that is too old, or that may lose what it has confirmed."""
    version = connection.get_server_version().major
    if version < OLDEST_SERVER:
        raise StoreVersionError(f"PostgreSQL must be {OLDEST_SERVER} or newer, got {version}.")
    for name in ("fsync", "full_page_writes"):
        if settings[name] != "on":
            raise StoreVersionError(f"{name} of the PostgreSQL server must be on, for decisions to survive a crash.")


def explained(error: BaseException) -> BaseException:
    """What callers are told of an error of the database."""
    if isinstance(error, StoreError):
        return error
    if isinstance(error, FULL):
        return StoreFullError(f"The database has no room ({_first_line(error)}).")
    if isinstance(error, (asyncpg.PostgresError, *LOST)):
        return StoreError(f"The database failed: {_first_line(error)}.")
    return error


def _first_line(error: BaseException) -> str:
    text = str(error) or type(error).__name__
    return text.splitlines()[0].rstrip(".")


async def dropped(connection: Connection | None) -> None:
    """Let go of a connection, in whatever state it is."""
    if connection is None or connection.is_closed():
        return
    try:
        await connection.close(timeout=2.0)
    except (asyncpg.PostgresError, *LOST):
        connection.terminate()


class LoopThread:
    """An event loop in a thread of its own, for callers that have none."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="arcbandit-postgres", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.close()

    def call(self, work: Coroutine[Any, Any, Value]) -> Value:
        """What a coroutine returns."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        """End the thread."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()


def called(work: Coroutine[Any, Any, Value]) -> Value:
    """What a coroutine returns, also where an event loop is running already."""
    thread = LoopThread()
    try:
        return thread.call(work)
    finally:
        thread.close()
