"""Decisions with their rewards as a log that `advise`, `evaluate` and `fit` read as it is."""

import asyncio
import datetime
import os
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from arcbandit.errors import MissingExtraError, StoreError
from arcbandit.service.amounts import reward_of
from arcbandit.service.campaigns import Campaign
from arcbandit.service.clock import SECOND
from arcbandit.service.identifiers import DecisionIds
from arcbandit.service.store import LoggedDecision, Reader

NDJSON_TYPE = "application/x-ndjson"
PARQUET_TYPE = "application/vnd.apache.parquet"
ROWS_AT_A_TIME = 1000  # are encoded while others wait
BATCHES_OF_A_GROUP = 20  # are in memory until they are written


def row_of(campaign: Campaign, ids: DecisionIds, logged: LoggedDecision) -> dict[str, Any]:
    """A decision as a row of a log."""
    decision = logged.decision
    moment = datetime.datetime.fromtimestamp(decision.time / SECOND, datetime.UTC)
    return {
        "sequence": decision.sequence,
        "decision_id": ids.text(decision.sequence),
        "timestamp": moment.isoformat(timespec="microseconds"),
        "context": campaign.contexts[decision.context],
        "arm": campaign.arms[decision.arm],
        "probability": decision.probability,
        "reward": None if logged.reward is None else reward_of(logged.reward),
        "is_default": logged.is_default,
        "plan_version": decision.plan_version,
        "uniform": decision.uniform,
        "excluded_arms": [campaign.arms[arm] for arm in decision.excluded],
    }


def rows(
    reader: Reader, campaign: Campaign, ids: DecisionIds, *, after: int = 0, with_reward: bool = False
) -> Iterator[dict[str, Any]]:
    """The rows of a campaign's log, or those whose reward is known."""
    for logged in reader.decisions(campaign.record.id, after):
        made = logged.decision
        if made.context >= len(campaign.contexts) or max(made.arm, *made.excluded, 0) >= len(campaign.arms):
            # It grew meanwhile: decisions are read some at a time.
            campaign = next(Campaign(*one) for one in reader.campaigns() if one[0].id == campaign.record.id)
        if not with_reward or logged.reward is not None:
            yield row_of(campaign, ids, logged)


def ndjson_parts(found: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    """Rows as lines of JSON, some at a time."""
    while part := b"".join(msgspec.json.encode(row) + b"\n" for row in islice(found, ROWS_AT_A_TIME)):
        yield part


class _Gathered:
    """A file for a writer of Parquet, which is taken away as it comes."""

    closed = False

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        self._size += len(self._parts[-1])
        return len(self._parts[-1])

    def tell(self) -> int:
        return self._size

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        self.closed = True

    def taken(self) -> bytes:
        """What was written since the last time."""
        parts, self._parts = self._parts, []
        return b"".join(parts)


def parquet_parts(found: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    """Rows as a Parquet file, some at a time; what is in memory does not grow with their number.

    Parts are empty while a group of rows is not full, so that whoever asks can do something else meanwhile.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError("pyarrow", "service") from error
    columns = pyarrow.schema(
        [
            ("sequence", pyarrow.int64()),
            ("decision_id", pyarrow.string()),
            ("timestamp", pyarrow.timestamp("us", tz="UTC")),
            ("context", pyarrow.string()),
            ("arm", pyarrow.string()),
            ("probability", pyarrow.float64()),
            ("reward", pyarrow.float64()),
            ("is_default", pyarrow.bool_()),
            ("plan_version", pyarrow.int64()),
            ("uniform", pyarrow.float64()),
            ("excluded_arms", pyarrow.list_(pyarrow.string())),
        ]
    )

    def parts() -> Iterator[bytes]:
        file = _Gathered()
        with parquet.ParquetWriter(file, columns) as writer:
            batches: list[Any] = []
            while chunk := list(islice(found, ROWS_AT_A_TIME)):
                for row in chunk:
                    row["timestamp"] = datetime.datetime.fromisoformat(row["timestamp"])
                batches.append(pyarrow.RecordBatch.from_pylist(chunk, columns))
                if len(batches) == BATCHES_OF_A_GROUP:
                    writer.write_table(pyarrow.Table.from_batches(batches))
                    batches = []
                yield file.taken()
            if batches:
                writer.write_table(pyarrow.Table.from_batches(batches))
        yield file.taken()

    return parts()  # from here on, so that whoever lacks the library is told before anything is sent


PARTS: dict[str, Callable[[Iterator[dict[str, Any]]], Iterator[bytes]]] = {
    "ndjson": ndjson_parts,
    "parquet": parquet_parts,
}
MEDIA = {"ndjson": NDJSON_TYPE, "parquet": PARQUET_TYPE}


async def streamed(parts: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Parts of an export, encoded in another thread; other requests go on meanwhile."""
    while (part := await asyncio.to_thread(next, parts, None)) is not None:
        if part:
            yield part


def written(path: str, found: Iterator[dict[str, Any]], form: str) -> int:
    """Write rows in a form of PARTS, to a file that is there whole or not at all; how many there were."""
    target = Path(path)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    count = 0

    def counted() -> Iterator[dict[str, Any]]:
        nonlocal count
        for row in found:
            count += 1
            yield row

    try:
        with partial.open("wb") as file:
            for part in PARTS[form](counted()):
                file.write(part)
        os.replace(partial, target)
    except OSError as error:
        raise StoreError(f"{path}: cannot be written ({error.strerror}).") from error
    finally:
        partial.unlink(missing_ok=True)
    return count
