"""Decisions that clients drew themselves: each is drawn again from the plan that it names, and logged if it agrees."""

import asyncio
from collections.abc import Sequence

from arcbandit.errors import RequestIdUsedError, StoreError
from arcbandit.service.api_errors import ApiError, invalid, of_store
from arcbandit.service.api_types import LocalDecisionBody, ReportAnswer, ReportedResult
from arcbandit.service.campaigns import Campaign
from arcbandit.service.clock import SECOND
from arcbandit.service.service import Service, rows_of
from arcbandit.service.store import DecisionDraft

REPORT_SECONDS = 7 * 86_400.0  # for how long after a plan was replaced decisions that were drawn from it are taken


async def reported(service: Service, name: str, bodies: Sequence[LocalDecisionBody]) -> ReportAnswer:
    """Log decisions; each is judged by itself, and answered once those that are right are on disk."""
    campaign = service.campaigns.get(name) or await service.look_again(name)
    if any(body.plan_version > campaign.plan.version for body in bodies):  # another process may know it
        campaign = await service.look_again(name)
    plans: dict[int, Campaign | None] = {campaign.plan.version: campaign}
    try:
        for version in {body.plan_version for body in bodies} - plans.keys():
            if version < campaign.plan.version:
                plans[version] = await _earlier(service, campaign, version)
        return ReportAnswer(list(await asyncio.gather(*(_result(service, campaign, plans, body) for body in bodies))))
    except StoreError as error:
        raise of_store(error) from error


async def _earlier(service: Service, campaign: Campaign, version: int) -> Campaign | None:
    """The campaign under an earlier plan; None if that was replaced too long ago, and may be forgotten."""
    found = await service.store.plan(campaign.record.id, version)
    following = await service.store.plan(campaign.record.id, version + 1)
    if found is None or following is None or service.store.now() - following.made_at > REPORT_SECONDS * SECOND:
        return None
    return campaign.with_plan(found)


async def _result(
    service: Service, campaign: Campaign, plans: dict[int, Campaign | None], body: LocalDecisionBody
) -> ReportedResult:
    try:
        draft = _draft(campaign, plans, body)
        made, repeated = await service.store.record_decision(draft)
        if (made.arm, made.uniform, made.plan_version) != (draft.arm, draft.uniform, draft.plan_version):
            raise ApiError(409, "conflict", "Another decision was made for this request id, and stands.", "request_id")
    except RequestIdUsedError as error:
        refusal = ApiError(422, "request_id_used", str(error), "request_id")
        return ReportedResult(body.request_id, refusal.status, error=refusal.body)
    except ApiError as error:
        return ReportedResult(body.request_id, error.status, error=error.body)
    service.counts["decisions_repeated" if repeated else "decisions"] += 1
    return ReportedResult(body.request_id, 200, service.ids.text(made.sequence), repeated)


def _draft(campaign: Campaign, plans: dict[int, Campaign | None], body: LocalDecisionBody) -> DecisionDraft:
    """The decision as it is logged; ApiError if the plan would not have drawn it."""
    planned = plans.get(body.plan_version)
    if planned is None and 0 < body.plan_version < campaign.plan.version:
        raise ApiError(410, "gone", "The plan of that version was replaced too long ago.", "plan_version")
    if planned is None:
        raise ApiError(404, "unknown_plan", "There is no plan of that version.", "plan_version")
    n_contexts = planned.plan.n_contexts
    column = campaign.contexts.index(body.context) if body.context in campaign.contexts else n_contexts
    if column >= n_contexts:
        raise ApiError(404, "unknown_context", "There is no such context in that plan.", "context")
    excluded = rows_of(campaign, body.excluded_arms)
    draw = planned.draw(column, frozenset(excluded), body.uniform) if planned.shares(column).arms else None
    if draw is None or campaign.arms[draw.arm] != body.arm or draw.probability != body.probability:
        raise invalid("The plan of that version does not draw this arm with this probability.", "arm")
    return DecisionDraft(
        campaign.record.id,
        column,
        draw.arm,
        draw.probability,
        body.uniform,
        body.plan_version,
        excluded,
        body.request_id,
    )
