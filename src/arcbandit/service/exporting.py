"""Decisions with their rewards as a log that `advise`, `evaluate` and `fit` read as it is."""

import asyncio
import datetime
import os
from collections.abc import AsyncIterator, Iterator
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
LINES_AT_A_TIME = 1000
ROWS_OF_A_GROUP = 50_000


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


async def ndjson_lines(reader: Reader, campaign: Campaign, ids: DecisionIds, after: int) -> AsyncIterator[bytes]:
    """The log as lines of JSON, some at a time; other requests go on meanwhile."""
    found = rows(reader, campaign, ids, after=after)
    while chunk := await asyncio.to_thread(_encoded, found):
        yield chunk


def _encoded(found: Iterator[dict[str, Any]]) -> bytes:
    return b"".join(msgspec.json.encode(row) + b"\n" for row in islice(found, LINES_AT_A_TIME))


def write_ndjson(path: str, found: Iterator[dict[str, Any]]) -> int:
    """Write rows as lines of JSON, to a file that is there whole or not at all; how many there were."""
    target = Path(path)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    count = 0
    try:
        with partial.open("wb") as file:
            for row in found:
                file.write(msgspec.json.encode(row) + b"\n")
                count += 1
        os.replace(partial, target)
    except OSError as error:
        raise StoreError(f"{path}: cannot be written ({error.strerror}).") from error
    finally:
        partial.unlink(missing_ok=True)
    return count


def write_parquet(path: str, found: Iterator[dict[str, Any]]) -> int:
    """Write rows as a Parquet file, likewise."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError("pyarrow", "frames") from error
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
    target = Path(path)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    count = 0
    try:
        with parquet.ParquetWriter(partial, columns) as file:
            while chunk := list(islice(found, ROWS_OF_A_GROUP)):
                for row in chunk:
                    row["timestamp"] = datetime.datetime.fromisoformat(row["timestamp"])
                file.write_table(pyarrow.Table.from_pylist(chunk, columns))
                count += len(chunk)
        os.replace(partial, target)
    except OSError as error:
        raise StoreError(f"{path}: cannot be written ({error}).") from error
    finally:
        partial.unlink(missing_ok=True)
    return count
