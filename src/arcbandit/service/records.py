"""Rows of a database as records, and the other way round: the same in every store."""

import zlib
from typing import Any

import msgspec

from arcbandit.service.campaigns import CampaignRecord, CampaignSettings, PlanRecord
from arcbandit.service.store import DecisionRecord, LearnerRecord


def decision_of(row: Any) -> DecisionRecord:
    """The decision of a row."""
    sequence, campaign, context, arm, probability, uniform, version, time, excluded = row[:9]
    return DecisionRecord(sequence, campaign, context, arm, probability, uniform, version, time, excluded_of(excluded))


def excluded_of(text: str | None) -> tuple[int, ...]:
    """Excluded arms as they are kept."""
    return () if text is None else tuple(int(arm) for arm in text.split(","))


def text_of(excluded: tuple[int, ...]) -> str | None:
    """Excluded arms as they are kept."""
    return ",".join(map(str, excluded)) if excluded else None


def campaign_of(row: Any) -> tuple[CampaignRecord, int]:
    """The campaign of a row, and the version of its plan."""
    identifier, name, revision, created_at, settings, policy, admitted, version = row
    told = msgspec.json.decode(settings, type=CampaignSettings)
    return CampaignRecord(identifier, name, revision, created_at, told, msgspec.json.decode(policy), admitted), version


def blob_of(plan: PlanRecord) -> bytes:
    """A plan as it is kept: most of an allocation is zeros."""
    return zlib.compress(msgspec.msgpack.encode(plan), 1)


def plan_of(blob: bytes) -> PlanRecord:
    """The plan of a blob."""
    return msgspec.msgpack.decode(zlib.decompress(blob), type=PlanRecord)


def learner_of(blob: bytes) -> LearnerRecord | None:
    """The learner of a blob; None for one that cannot be read, which is learnt again from the log."""
    try:
        return msgspec.json.decode(zlib.decompress(blob), type=LearnerRecord)
    except (zlib.error, msgspec.DecodeError, UnicodeError):
        return None


def learner_blob(learner: LearnerRecord) -> bytes:
    """A learner as it is kept."""
    return zlib.compress(msgspec.json.encode(learner), 1)
