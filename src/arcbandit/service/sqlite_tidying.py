"""The plans of a SQLite store, for a process that tidies up while another serves."""

from collections.abc import Sequence
from typing import Any

import apsw

from arcbandit.errors import StoreError
from arcbandit.service.records import plan_of
from arcbandit.service.sqlite_schema import require_sound_sqlite
from arcbandit.service.sqlite_store import SQLiteReader
from arcbandit.service.sqlite_transactions import opened


class SQLiteShelf:
    """A `Shelf` on a SQLite file; its transactions are short, and the service's wait for them."""

    def __init__(self, path: str) -> None:
        require_sound_sqlite()
        SQLiteReader(path).close()  # refuses what is not a store
        self._path = path
        self._connection: Any = opened(path)

    def _rows(self, query: str, *values: Any) -> list[Any]:
        try:
            found: list[Any] = self._connection.execute(query, values).fetchall()
        except apsw.Error as error:
            raise StoreError(f"{self._path}: cannot be tidied up ({error}).") from error
        return found

    def moment(self) -> int:
        """The latest time that the store knows of, in microseconds."""
        ((found,),) = self._rows(
            "SELECT max(coalesce((SELECT CAST(CAST(value AS TEXT) AS INTEGER) FROM meta WHERE name = 'time'), 0), "
            "coalesce((SELECT time FROM decisions ORDER BY sequence DESC LIMIT 1), 0), "
            "coalesce((SELECT time FROM rewards ORDER BY arrival DESC LIMIT 1), 0))"
        )
        return int(found)

    def campaigns(self) -> list[int]:
        """Every campaign."""
        return [row[0] for row in self._rows("SELECT id FROM campaigns ORDER BY id")]

    def versions(self, campaign: int) -> list[int]:
        """The versions of its plans, rising."""
        return [row[0] for row in self._rows("SELECT version FROM plans WHERE campaign = ? ORDER BY version", campaign)]

    def made_at(self, campaign: int, version: int) -> int:
        """When a plan was made."""
        ((blob,),) = self._rows("SELECT plan FROM plans WHERE campaign = ? AND version = ?", campaign, version)
        return plan_of(blob).made_at

    def named(self, campaign: int) -> set[int]:
        """The versions that decisions were drawn from."""
        return {
            row[0] for row in self._rows("SELECT DISTINCT plan_version FROM decisions WHERE campaign = ?", campaign)
        }

    def forget_plans(self, campaign: int, versions: Sequence[int]) -> None:
        """Forget plans, in one transaction."""
        marks = ",".join("?" * len(versions))
        self._rows(f"DELETE FROM plans WHERE campaign = ? AND version IN ({marks})", campaign, *versions)

    def forget_requests(self, before: int, limit: int) -> int:
        """Forget request ids that were used until then."""
        self._rows(
            "DELETE FROM requests WHERE id IN (SELECT id FROM requests ORDER BY id LIMIT ?) AND time <= ?",
            limit,
            before,
        )
        return int(self._connection.changes())

    def close(self) -> None:
        """Let go of the store."""
        self._connection.close()
