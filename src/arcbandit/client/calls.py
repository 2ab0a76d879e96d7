"""Calls of the service as data: what is sent, what comes back, and whether it may be sent again."""

import re
import uuid
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from arcbandit.errors import InvalidInputError
from arcbandit.inputs.values import amount, items, shown, whole
from arcbandit.service.api_types import (
    CAMPAIGN_NAME,
    MOST_REWARDS,
    CampaignAnswer,
    CampaignsAnswer,
    CreateCampaign,
    Decide,
    DecideAnswer,
    PlanAnswer,
    Report,
    ReportAnswer,
    RewardAnswer,
    RewardBody,
    RewardsAnswer,
    RewardsBody,
    StatisticsAnswer,
    WhatIf,
)
from arcbandit.service.changes import AnyChange


class Call(NamedTuple):
    """A request, and the type of its answer."""

    method: str
    path: str
    answer: Any
    body: bytes | None = None
    repeatable: bool = True  # whether sending it twice does what sending it once does
    query: Mapping[str, str] = {}


def _checked(kind: Any, document: Mapping[str, Any]) -> bytes:
    """A body of a request, checked as the service would check it."""
    try:
        body = msgspec.json.encode(msgspec.convert(document, kind))
        if b"null" in body:  # what stands for NaN and infinity in JSON, too
            msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise InvalidInputError(_sentence(error)) from None
    except Exception as error:  # objects may raise anything when they are looked at
        raise InvalidInputError(f"The call cannot be written as JSON ({type(error).__name__}).") from error
    return body


def _sentence(error: Exception) -> str:
    text = str(error)
    place = re.search(r" - at `(?:key in )?\$\.?([^`]*)`$", text)
    if place is None:
        return f"{text}."
    return f"{place.group(1)}: {text[: place.start()]}."


def _path(campaign: Any, what: str = "") -> str:
    if not isinstance(campaign, str) or re.match(CAMPAIGN_NAME + r"\Z", campaign) is None:
        raise InvalidInputError(f"campaign must be the name of a campaign, got {shown(campaign)}.")
    return f"/v1/campaigns/{campaign}{what}"


def decide(campaign: str, context: str, request_id: str | None, excluded_arms: Iterable[str]) -> Call:
    """Which arm to show; without a request id one is made up, so that the call may be repeated."""
    chosen = uuid.uuid4().hex if request_id is None else request_id
    excluded = items("excluded_arms", excluded_arms, "names of arms")
    body = _checked(Decide, {"context": context, "request_id": chosen, "excluded_arms": excluded})
    return Call("POST", _path(campaign, "/decide"), DecideAnswer, body)


def reward(campaign: str, decision_id: str, reward: float) -> Call:
    """The reward of a decision."""
    body = _checked(RewardBody, {"decision_id": decision_id, "reward": amount("reward", reward)})
    return Call("POST", _path(campaign, "/rewards"), RewardAnswer, body)


def rewards(campaign: str, earned: Mapping[str, float]) -> list[Call]:
    """The rewards of many decisions, in calls of a size that the service takes."""
    if not isinstance(earned, Mapping):
        raise InvalidInputError(f"rewards must map decision ids to rewards, got {shown(earned)}.")
    bodies = [
        {"decision_id": decision_id, "reward": amount(f"rewards[{decision_id!r}]", value)}
        for decision_id, value in earned.items()
    ]
    return [
        Call("POST", _path(campaign, "/rewards"), RewardsAnswer, _checked(RewardsBody, {"rewards": part}))
        for part in _parts(bodies)
    ]


def report(campaign: str, decisions: list[dict[str, Any]]) -> list[Call]:
    """Decisions that were made elsewhere, in calls of a size that the service takes."""
    return [
        Call("POST", _path(campaign, "/decisions"), ReportAnswer, _checked(Report, {"decisions": part}))
        for part in _parts(decisions)
    ]


def _parts(bodies: list[Any]) -> list[list[Any]]:
    return [bodies[start : start + MOST_REWARDS] for start in range(0, len(bodies), MOST_REWARDS)]


def create(name: str, settings: Mapping[str, Any]) -> Call:
    """A new campaign. A second one of the same name would be refused, so it is not sent again."""
    body = _checked(CreateCampaign, {"name": name, **settings})
    return Call("POST", "/v1/campaigns", CampaignAnswer, body, repeatable=False)


def change(campaign: str, change: str, expected_revision: int | None, fields: Mapping[str, Any]) -> Call:
    """A change of a campaign, which is not sent again: it may have been made."""
    body = _checked(AnyChange, {"change": change, **fields})
    query = (
        {}
        if expected_revision is None
        else {"expected_revision": str(whole("expected_revision", expected_revision, 0))}
    )
    return Call("POST", _path(campaign, "/changes"), CampaignAnswer, body, repeatable=False, query=query)


def what_if(campaign: str, floors: Mapping[str, float]) -> Call:
    """The plan with other floors."""
    return Call("POST", _path(campaign, "/what-if"), PlanAnswer, _checked(WhatIf, {"floors": floors}))


def campaigns() -> Call:
    """Every campaign."""
    return Call("GET", "/v1/campaigns", CampaignsAnswer)


def campaign(name: str) -> Call:
    """A campaign."""
    return Call("GET", _path(name), CampaignAnswer)


def plan(campaign: str, version: int | None) -> Call:
    """The plan in force, or an earlier one."""
    if version is None:
        return Call("GET", _path(campaign, "/plan"), PlanAnswer)
    return Call("GET", _path(campaign, f"/plans/{whole('version', version, 0)}"), PlanAnswer)


def status(campaign: str) -> Call:
    """How every promise stands."""
    return Call("GET", _path(campaign, "/status"), dict[str, Any])


def statistics(campaign: str) -> Call:
    """What was counted."""
    return Call("GET", _path(campaign, "/statistics"), StatisticsAnswer)


def decisions(campaign: str, after: int) -> Call:
    """The log, one decision a line."""
    query = {"after": str(whole("after", after, 0))}
    return Call("GET", _path(campaign, "/decisions"), dict[str, Any], query=query)
