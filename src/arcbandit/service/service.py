"""What the service does, apart from HTTP: campaigns, decisions, rewards, and what is told of them."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from arcbandit.errors import (
    InvalidInputError,
    NameTakenError,
    PlanningError,
    RequestIdUsedError,
    StaleError,
    StoreError,
)
from arcbandit.service.amounts import LARGEST_REWARD, micro_of
from arcbandit.service.api_errors import ApiError, invalid, of_library, of_store, overloaded
from arcbandit.service.api_types import (
    CreateCampaign,
    Decide,
    DecideAnswer,
    RewardAnswer,
    RewardBody,
    RewardResult,
    RewardsAnswer,
    WhatIf,
)
from arcbandit.service.campaigns import Campaign, CampaignSettings, PlanRecord, adjusted_plan
from arcbandit.service.changes import AddContext, AnyChange, document_of
from arcbandit.service.clock import SECOND
from arcbandit.service.identifiers import DecisionIds
from arcbandit.service.judgement import Verdict
from arcbandit.service.store import DecisionDraft, DecisionRecord, RewardDraft, Statistics, Store
from arcbandit.service.tokens import Tokens
from arcbandit.service.worker import Question
from arcbandit.service.worker_client import Asked, WorkerError

log = logging.getLogger("arcbandit.service")

MOST_TRIES = 10  # to change a campaign that other processes change, too
MOST_ADMITTING = 32  # at once: whoever waits for the planner's process takes room from other decisions
LATE_SECONDS = 10.0  # for which a plan may be due before that is called late, if its cadence is shorter
ANSWER_TIMEOUT = 120.0  # seconds: the first question may have to wait for a compiler

OUTCOMES = {
    Verdict.COUNTED: "counted",
    Verdict.REPLACED_DEFAULT: "replaced_default",
    Verdict.REPEATED: "repeated",
}
REFUSALS = {
    Verdict.CONFLICT: (409, "conflict", "Another reward of this decision was counted before, and stands."),
    Verdict.UNKNOWN: (404, "unknown_decision", "There is no such decision in this campaign."),
    Verdict.GONE: (410, "gone", "The decision is too old for its reward to be taken."),
}


class Punctuality(NamedTuple):
    """How a campaign's plans keep to their cadence."""

    every_seconds: float  # how often there may be a new plan
    overdue_seconds: float | None  # for how long one has been due, 0 if none is; None where another process plans
    is_late: bool  # longer than a whole turn


def _not_planned_here(_: str) -> float | None:
    return None


class Service:
    """Campaigns in memory, in step with a store."""

    def __init__(self, store: Store, answering: Asked, *, uniform: Callable[[], float] | None = None) -> None:
        self.store = store
        self.ids = DecisionIds(store.key)
        self.campaigns: dict[str, Campaign] = {}
        self.tokens = Tokens(())
        self.warnings: dict[str, str] = {}  # by campaign: why its plan is not as new as it should be
        self.overdue: Callable[[str], float | None] = _not_planned_here  # for how many seconds a plan is due
        self.new_rewards: dict[str, int] = {}  # by campaign: counted since the last plan
        self.counts: dict[str, int] = {"decisions": 0, "decisions_repeated": 0, **dict.fromkeys(map(_word, Verdict), 0)}
        self._uniform = random.Random().random if uniform is None else uniform
        self._answering = answering
        self._admitting = 0  # decisions that wait for their context to be admitted
        self._changing: dict[str, asyncio.Lock] = {}
        self.catch_up: Callable[[], Awaitable[None]] | None = None  # if other processes change the store, too
        self.leads = True  # whether this process is the one of its store that plans

    async def load(self) -> None:
        """Take over what the store has."""
        for record, plan in await self.store.load():
            self.campaigns[record.name] = Campaign(record, plan)
        await self.load_tokens()

    async def load_tokens(self) -> None:
        """Take over the tokens of the store."""
        self.tokens = Tokens(await self.store.tokens())

    def campaign(self, name: str) -> Campaign:
        """The campaign of that name."""
        found = self.campaigns.get(name)
        if found is None:
            raise ApiError(404, "unknown_campaign", "There is no campaign of that name.")
        return found

    def punctuality(self, name: str) -> Punctuality:
        """Whether the plans of a campaign come when they are due, as far as this process makes them."""
        every = self.campaign(name).record.settings.replan_every_seconds
        overdue = self.overdue(name) if self.leads else None
        return Punctuality(every, overdue, overdue is not None and overdue > max(every, LATE_SECONDS))

    def troubles(self, name: str) -> list[str]:
        """Why the plan of a campaign is not as new as it should be."""
        found = [self.warnings[name]] if name in self.warnings else []
        punctuality = self.punctuality(name)
        if punctuality.is_late:
            found.append(
                f"A new plan has been due for {punctuality.overdue_seconds:.0f} seconds, though one may come every "
                f"{punctuality.every_seconds:g}: the planner is behind."
            )
        return found

    def take_over(self, campaign: Campaign) -> None:
        """Go on with what another process made of a campaign, unless it is known already."""
        known = self.campaigns.get(campaign.record.name)
        if known is None or known.plan.version < campaign.plan.version:
            self.campaigns[campaign.record.name] = campaign

    async def look_again(self, name: str) -> Campaign:
        """The campaign of that name, after a look at what other processes made of it."""
        if self.catch_up is not None:
            try:
                await self.catch_up()
            except StoreError as error:
                raise of_store(error) from error
        return self.campaign(name)

    # Decisions and rewards

    async def decide(self, name: str, body: Decide) -> DecideAnswer:
        """Choose an arm, and answer once that is on disk."""
        campaign = self.campaigns.get(name) or await self.look_again(name)
        if body.context not in campaign.columns and self.catch_up is not None:
            campaign = await self.look_again(name)
        try:
            try:
                campaign, draft = await self._drafted(campaign, body)
                made, repeated = await self.store.record_decision(draft)
            except ApiError as refusal:
                # What was decided before the campaign changed is told again to whoever asks again.
                made, repeated = await self._made_before(campaign, body, refusal), True
            plan: PlanRecord | None = campaign.plan
            if made.plan_version != campaign.plan.version:  # it was made for an earlier request
                plan = await self.store.plan(campaign.record.id, made.plan_version)
        except RequestIdUsedError as error:
            raise ApiError(422, "request_id_used", str(error), "request_id") from None
        except StoreError as error:
            raise of_store(error) from error
        self.counts["decisions_repeated" if repeated else "decisions"] += 1
        if made.arm >= len(campaign.arms):  # another process knew more arms
            campaign = await self.look_again(name)
        return DecideAnswer(
            self.ids.text(made.sequence),
            campaign.arms[made.arm],
            made.probability,
            made.plan_version,
            "" if plan is None else plan.how,
            repeated,
        )

    async def _drafted(self, campaign: Campaign, body: Decide) -> tuple[Campaign, DecisionDraft]:
        """A decision that is drawn, and the campaign that it is of, which may have admitted a context for it."""
        excluded = rows_of(campaign, body.excluded_arms) if body.excluded_arms else ()
        column = campaign.columns.get(body.context)
        if column is None:
            if excluded and len(campaign.retired.union(excluded)) == len(campaign.arms):
                raise _all_excluded()
            campaign = await self._admitted(campaign, body.context)
            column = campaign.columns[body.context]
        uniform = self._uniform()
        draw = campaign.draw(column, frozenset(excluded), uniform)
        if draw is None:
            raise _all_excluded()
        return campaign, DecisionDraft(
            campaign.record.id,
            column,
            draw.arm,
            draw.probability,
            uniform,
            campaign.plan.version,
            excluded,
            body.request_id,
        )

    async def _made_before(self, campaign: Campaign, body: Decide, refusal: ApiError) -> DecisionRecord:
        """The decision that was made for the same request when it could be; if there is none, it is refused."""
        if body.request_id is None or refusal.status == 503:
            raise refusal
        found = await self.store.decision_of(campaign.record.id, body.request_id)
        if found is None or body.context not in campaign.contexts:
            raise refusal
        asked = (campaign.contexts.index(body.context), rows_of(campaign, body.excluded_arms))
        if (found.context, found.excluded) != asked:
            raise RequestIdUsedError("The request id was used with another context or other excluded arms.")
        return found

    async def _admitted(self, campaign: Campaign, context: str) -> Campaign:
        """The campaign with a context that nobody announced, if it may come."""
        record = campaign.record
        if context in campaign.contexts or record.admitted >= record.settings.admit_contexts:
            raise ApiError(404, "unknown_context", "There is no such context in this campaign.", "context")

        async def admit(campaign: Campaign) -> Campaign:
            if context in campaign.columns:
                return campaign
            if campaign.record.admitted >= record.settings.admit_contexts:
                raise ApiError(404, "unknown_context", "There is no such context in this campaign.", "context")
            return await self._changed(campaign, AddContext(context), campaign.record.admitted + 1)

        if self._admitting >= MOST_ADMITTING:
            raise overloaded("Too many contexts that nobody announced are asked for at once.")
        self._admitting += 1
        try:
            return await self._in_turn(record.name, admit)
        finally:
            self._admitting -= 1

    async def reward(self, name: str, body: RewardBody) -> RewardAnswer:
        """Count a reward, and answer once that is on disk."""
        campaign = self.campaigns.get(name) or await self.look_again(name)
        (verdict,) = await self._verdicts(campaign, [body], "reward")
        if not verdict.is_kept:
            raise ApiError(*REFUSALS[verdict])
        return RewardAnswer(body.decision_id, OUTCOMES[verdict])  # type: ignore[arg-type]

    async def rewards(self, name: str, bodies: Sequence[RewardBody]) -> RewardsAnswer:
        """Count many rewards; each is judged by itself."""
        campaign = self.campaigns.get(name) or await self.look_again(name)
        verdicts = await self._verdicts(campaign, bodies, "rewards[{}].reward")
        return RewardsAnswer([_result(body, verdict) for body, verdict in zip(bodies, verdicts, strict=True)])

    async def _verdicts(self, campaign: Campaign, bodies: Sequence[RewardBody], field: str) -> list[Verdict]:
        low, high = campaign.reward_bounds or (-LARGEST_REWARD, LARGEST_REWARD)
        drafts = []
        for place, body in enumerate(bodies):
            if not low <= body.reward <= high:
                raise invalid(f"A reward must be from {low:g} to {high:g}, got {body.reward:g}.", field.format(place))
            drafts.append(RewardDraft(self.ids.number(body.decision_id), micro_of(body.reward)))
        try:
            verdicts = await self.store.record_rewards(campaign.record.id, drafts)
        except StoreError as error:
            raise of_store(error) from error
        name = campaign.record.name
        for verdict in verdicts:
            self.counts[_word(verdict)] += 1
            if verdict <= Verdict.REPLACED_DEFAULT:
                self.new_rewards[name] = self.new_rewards.get(name, 0) + 1
        return verdicts

    # Campaigns

    def _lock(self, name: str) -> asyncio.Lock:
        return self._changing.setdefault(name, asyncio.Lock())

    async def _ask(self, question: Question) -> Any:
        """An answer of the planner's process."""
        try:
            return await self._answering.ask(question, ANSWER_TIMEOUT)
        except InvalidInputError as error:
            raise of_library(error) from error
        except PlanningError as error:
            raise ApiError(503, "not_proven", str(error)) from error
        except (WorkerError, TimeoutError) as error:
            log.warning("The planner's process did not answer: %s", error)
            raise ApiError(503, "planner_busy", "The planner did not answer in time.") from error

    async def create(self, body: CreateCampaign) -> Campaign:
        """A new campaign."""
        if body.name in self.campaigns:
            raise ApiError(409, "name_taken", "There is a campaign of that name.", "name")
        settings, policy = await self._ask(Question("create", body=msgspec.to_builtins(body)))
        try:
            record, plan = await self.store.create_campaign(
                body.name, msgspec.convert(settings, CampaignSettings), policy
            )
        except NameTakenError:
            raise ApiError(409, "name_taken", "There is a campaign of that name.", "name") from None
        except StoreError as error:
            raise of_store(error) from error
        self.campaigns[body.name] = Campaign(record, plan)
        return self.campaigns[body.name]

    async def change(self, name: str, change: AnyChange, expected_revision: int | None) -> Campaign:
        """Change a campaign, whole or not at all."""
        await self.look_again(name)

        async def apply(campaign: Campaign) -> Campaign:
            if expected_revision is not None and expected_revision != campaign.record.revision:
                raise ApiError(409, "stale", f"The campaign is at revision {campaign.record.revision}.")
            return await self._changed(campaign, change, campaign.record.admitted)

        return await self._in_turn(name, apply)

    async def _in_turn(self, name: str, change: Callable[[Campaign], Awaitable[Campaign]]) -> Campaign:
        """Change a campaign after those who asked before; if another process was faster, change what it left."""
        async with self._lock(name):
            for _ in range(MOST_TRIES):
                try:
                    return await change(self.campaign(name))
                except StaleError as error:
                    stale = error
                    if self.catch_up is None:
                        break
                    await self.look_again(name)
        raise of_store(stale)

    async def _changed(self, campaign: Campaign, change: AnyChange, admitted: int) -> Campaign:
        document = document_of(change)
        policy = await self._ask(Question("change", body=document, policy=campaign.record.policy))
        try:
            record, plan = await self.store.change_campaign(campaign.record, policy, document, admitted)
        except StaleError:
            raise
        except StoreError as error:
            raise of_store(error) from error
        self.campaigns[record.name] = Campaign(record, plan)
        return self.campaigns[record.name]

    async def publish(self, campaign: Campaign, plan: PlanRecord, learner: Any) -> bool:
        """Put a plan in force, unless somebody was faster; a plan that changes nothing only tells what is new of it."""
        name = campaign.record.name
        last = campaign.plan
        same = (plan.allocation, plan.how, plan.revision) == (last.allocation, last.how, last.revision)
        if same and learner is None:
            made = msgspec.structs.replace(plan, version=last.version, made_at=self.store.now())
        else:
            stored = await self._stored(campaign, plan, learner)
            if stored is None:
                return False
            made = stored
        in_force = self.campaigns[name]
        if in_force.record.revision < made.revision and self.catch_up is not None:
            await self.catch_up()  # another process changed the campaign before the plan was made
            return True
        # The planner may have read of a change that was made after it was asked: what counts is the plan's revision.
        if in_force.record.revision != made.revision or in_force.plan.version > made.version:
            return False
        self.campaigns[name] = in_force.with_plan(made)
        return True

    async def _stored(self, campaign: Campaign, plan: PlanRecord, learner: Any) -> PlanRecord | None:
        """The plan as it is in force, or None if another process was faster.

        If the campaign changed while it was planned, what the change leaves of the plan is newer than what it left of
        the last one. Otherwise a campaign that changes all the time would never have a new plan.
        """
        for _ in range(MOST_TRIES):
            try:
                return await self.store.publish_plan(campaign.record.id, plan, learner)
            except StaleError:
                now = self.campaigns[campaign.record.name]
                if now.record.revision <= plan.revision:
                    return None
                following = msgspec.structs.replace(plan, version=now.plan.version)
                plan = adjusted_plan(now.record, following, self.store.now())
        return None

    # What is told

    async def statistics(self, name: str) -> Statistics:
        """What was counted."""
        return await self.store.statistics((await self.look_again(name)).record.id)

    async def status(self, name: str) -> dict[str, Any]:
        """How every promise stands."""
        try:
            found: dict[str, Any] = await self._ask(Question("status", self.campaign(name).record.id))
        except ApiError as error:
            if error.status != 422:
                raise
            # Nothing in the request is wrong, but something in the store, which the planner says.
            raise ApiError(503, "no_status", str(error)) from error
        age = max(0, self.store.now() - self.campaign(name).plan.made_at) / SECOND
        every, overdue, is_late = self.punctuality(name)
        return found | {
            "plan_age_seconds": age,
            "replan_every_seconds": every,
            "overdue_seconds": overdue,
            "is_late": is_late,
            "warnings": self.troubles(name),
        }

    async def what_if(self, name: str, body: WhatIf) -> PlanRecord:
        """The plan with other floors."""
        campaign = self.campaign(name)
        found = await self._ask(Question("what_if", campaign.record.id, body=msgspec.to_builtins(body)))
        return msgspec.convert(found, PlanRecord)


def _word(verdict: Verdict) -> str:
    return f"rewards_{verdict.name.lower()}"


def _all_excluded() -> ApiError:
    return invalid("Every arm that may be played in this context is excluded.", "excluded_arms")


def rows_of(campaign: Campaign, arms: Sequence[str]) -> tuple[int, ...]:
    """The rows of excluded arms, sorted."""
    rows = set()
    for place, arm in enumerate(arms):
        row = campaign.arm_rows.get(arm)
        if row is None:
            raise invalid("There is no such arm in this campaign.", f"excluded_arms[{place}]")
        rows.add(row)
    return tuple(sorted(rows))


def _result(body: RewardBody, verdict: Verdict) -> RewardResult:
    if verdict.is_kept:
        return RewardResult(body.decision_id, 200, outcome=OUTCOMES[verdict])  # type: ignore[arg-type]
    refusal = ApiError(*REFUSALS[verdict])
    return RewardResult(body.decision_id, refusal.status, error=refusal.body)
