"""The plans of a PostgreSQL store, for a process that tidies up while replicas serve."""

from collections.abc import Sequence
from typing import Any

import asyncpg

from arcbandit.service.postgres_connection import LOST, Address, Connection, LoopThread, connected, dropped, explained
from arcbandit.service.postgres_schema import require_store
from arcbandit.service.records import plan_of

SCAN_SECONDS = 3600.0  # for a look at every decision


class PostgresShelf:
    """A `Shelf` on a PostgreSQL database."""

    def __init__(self, url: str) -> None:
        self._address = Address(url)
        self._thread = LoopThread()
        try:
            self._connection: Connection = self._thread.call(self._opened())
        except BaseException:
            self._thread.close()
            raise

    async def _opened(self) -> Connection:
        made = await connected(self._address)
        try:
            await require_store(made, self._address)
        except BaseException:
            await dropped(made)
            raise
        return made

    def _rows(self, query: str, *values: Any, timeout: float | None = None) -> list[Any]:
        async def fetch() -> list[Any]:
            found: list[Any] = await self._connection.fetch(query, *values, timeout=timeout)
            return found

        try:
            return self._thread.call(fetch())
        except (asyncpg.PostgresError, *LOST) as error:
            raise explained(error) from error

    def moment(self) -> int:
        """The latest time that the store knows of, in microseconds."""
        ((found,),) = self._rows(
            "SELECT greatest("
            "(SELECT convert_from(value, 'UTF8')::bigint FROM meta WHERE name = 'time'), "
            "(SELECT time FROM decisions ORDER BY sequence DESC LIMIT 1), "
            "(SELECT time FROM outcomes WHERE reward IS NOT NULL ORDER BY arrival DESC LIMIT 1), 0)"
        )
        return int(found)

    def campaigns(self) -> list[int]:
        """Every campaign."""
        return [row[0] for row in self._rows("SELECT id FROM campaigns ORDER BY id")]

    def versions(self, campaign: int) -> list[int]:
        """The versions of its plans, rising."""
        return [
            row[0] for row in self._rows("SELECT version FROM plans WHERE campaign = $1 ORDER BY version", campaign)
        ]

    def made_at(self, campaign: int, version: int) -> int:
        """When a plan was made."""
        ((blob,),) = self._rows("SELECT plan FROM plans WHERE campaign = $1 AND version = $2", campaign, version)
        return plan_of(blob).made_at

    def named(self, campaign: int) -> set[int]:
        """The versions that decisions were drawn from."""
        query = "SELECT DISTINCT plan_version FROM decisions WHERE campaign = $1"
        return {row[0] for row in self._rows(query, campaign, timeout=SCAN_SECONDS)}

    def forget_plans(self, campaign: int, versions: Sequence[int]) -> None:
        """Forget plans, in one transaction."""
        self._rows("DELETE FROM plans WHERE campaign = $1 AND version = ANY($2)", campaign, list(versions))

    def forget_requests(self, before: int, limit: int) -> int:
        """Forget request ids that were used until then."""
        return len(
            self._rows(
                "DELETE FROM requests WHERE (campaign, request_id) IN (SELECT campaign, request_id FROM requests "
                "WHERE time <= $1 ORDER BY time LIMIT $2 FOR UPDATE SKIP LOCKED) AND time <= $1 RETURNING 1",
                before,
                limit,
            )
        )

    def close(self) -> None:
        """Let go of the store."""
        self._thread.call(dropped(self._connection))
        self._thread.close()
