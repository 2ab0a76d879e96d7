"""What goes on beside requests: plans on a cadence, default rewards that fall due, tokens that come and go."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from arcbandit.errors import ArcbanditError, PlanningError, StoreError
from arcbandit.service.campaigns import ADJUSTED, STARTING, Campaign, PlanRecord
from arcbandit.service.replicas import Following
from arcbandit.service.service import Service
from arcbandit.service.store import LearnerRecord, SharedStore
from arcbandit.service.worker import Question
from arcbandit.service.worker_client import Asked, WorkerError

log = logging.getLogger("arcbandit.service")

CANCELLED_AGAIN_SECONDS = 1.0
TICK_SECONDS = 0.05
WATCH_SECONDS = 0.25
EAGER = (STARTING, ADJUSTED, "exploring")  # plans that the first rewards improve
SWEEP_SECONDS = 1.0
ROWS_AT_A_TIME = 1000
FORGET_EVERY = 60  # sweeps
PLAN_SECONDS = 600.0  # after which a planner's process is taken to hang; the first plan may wait for a compiler


class Upkeep:
    """The tasks of a service that runs."""

    def __init__(self, service: Service, planning: Asked | None, monotonic: Callable[[], float]) -> None:
        self._service = service
        self._planning = planning
        self._monotonic = monotonic
        self._tried_at: dict[str, float] = {}
        self._tried: dict[str, tuple[int, int]] = {}  # by campaign: the revision and version that were last tried on
        self._due_since: dict[str, float] = {}  # by campaign, if a plan is due or being made
        self._at_work: str | None = None  # the campaign that is being planned
        self._tasks: list[asyncio.Task[None]] = []
        if planning is not None:
            service.overdue = self._overdue
        self._following = (
            Following(service, service.store, plans=planning is not None)
            if isinstance(service.store, SharedStore)
            else None
        )

    def start(self) -> None:
        """Begin."""
        self._tasks = [asyncio.ensure_future(self._sweep())]
        if self._planning is not None:
            self._tasks.append(asyncio.ensure_future(self._plan()))
            self._tasks.append(asyncio.ensure_future(self._watch()))
        if self._following is not None:
            self._tasks.append(asyncio.ensure_future(self._following.run()))

    async def stop(self) -> None:
        """End; a plan that is being made is forgotten."""
        left = set(self._tasks)
        while left:
            for task in left:
                task.cancel()
            # Again after a while: a library may have lost a cancellation that came together with what it waited for.
            _, left = await asyncio.wait(left, timeout=CANCELLED_AGAIN_SECONDS)
        await asyncio.gather(*self._tasks, return_exceptions=True)  # or what they failed of would be reported as unseen
        if self._planning is not None:
            await self._planning.close()

    async def _plan(self) -> None:
        while True:
            due = [name for name, campaign in self._service.campaigns.items() if self._is_due(name, campaign)]
            for name in due if self._service.leads else []:
                await _survived(self.plan_once, name)
            await asyncio.sleep(TICK_SECONDS)

    def _is_due(self, name: str, campaign: Campaign) -> bool:
        """Whether something is new, and it is time to plan with it: by the monotonic clock, which cannot jump."""
        settings, plan = campaign.record.settings, campaign.plan
        tried = self._tried_at.get(name)
        if tried is None:
            return True  # since the start of the service, nothing is known of the plan's statistics
        new = self._service.new_rewards.get(name, 0)
        elapsed = self._monotonic() - tried
        changed = self._tried.get(name) != (campaign.record.revision, plan.version) and plan.how in (STARTING, ADJUSTED)
        if not new and not changed:
            return name in self._service.warnings and elapsed >= settings.replan_every_seconds
        return (
            elapsed >= settings.replan_every_seconds
            or new >= settings.replan_after_rewards
            or changed
            or plan.how in EAGER
        )

    async def _watch(self) -> None:
        """Note since when plans are due; while one is made, others become due."""
        while True:
            self._note_due()
            await asyncio.sleep(WATCH_SECONDS)

    def _note_due(self) -> None:
        now = self._monotonic()
        for name, campaign in self._service.campaigns.items():
            if self._is_due(name, campaign) or name == self._at_work or name in self._service.warnings:
                self._due_since.setdefault(name, now)
            else:
                self._due_since.pop(name, None)

    def _overdue(self, name: str) -> float:
        """For how long a plan of a campaign has been due, in seconds."""
        since = self._due_since.get(name)
        return 0.0 if since is None else self._monotonic() - since

    async def plan_once(self, name: str) -> None:
        """Plan for a campaign, and put the plan in force if it is proven; otherwise the last one stays."""
        service, planning = self._service, self._planning
        assert planning is not None
        campaign = service.campaign(name)
        new = service.new_rewards.get(name, 0)
        self._tried_at[name] = self._monotonic()
        self._tried[name] = (campaign.record.revision, campaign.plan.version)
        self._at_work = name
        try:
            plan, learner = await self._asked(planning, Question("plan", campaign.record.id))
        except (PlanningError, WorkerError, ArcbanditError) as error:
            if name not in service.warnings:
                log.warning("No new plan for campaign %s: %s", name, error)
            service.warnings[name] = str(error)
            return
        finally:
            self._at_work = None
        made = msgspec.convert(plan, PlanRecord)
        kept = None if learner is None else msgspec.convert(learner, LearnerRecord)
        if await service.publish(campaign, made, kept):
            service.new_rewards[name] = max(0, service.new_rewards.get(name, 0) - new)
            service.warnings.pop(name, None)
            self._due_since.pop(name, None)

    async def _asked(self, planning: Asked, question: Question) -> Any:
        """The answer of the planner's process, which is ended if it gives none: others wait for it."""
        try:
            return await planning.ask(question, PLAN_SECONDS)
        except TimeoutError:
            await planning.end()
            late = f"The planner gave no answer for {PLAN_SECONDS:g} seconds, and was started again."
            raise WorkerError(late) from None

    async def _sweep(self) -> None:
        sweeps = 0
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            await _survived(self._service.load_tokens)
            if not self._service.store.is_writable:
                await _survived(self._service.store.touch)
            await _survived(self._count_defaults)
            sweeps += 1
            if sweeps % FORGET_EVERY == 0:
                await _survived(self._forget_requests)

    async def _count_defaults(self) -> None:
        service = self._service
        if all(campaign.record.settings.window is None for campaign in service.campaigns.values()):
            return
        while (found := await service.store.count_defaults(ROWS_AT_A_TIME)).looked_at:
            for name, campaign in service.campaigns.items():
                new = found.counted.get(campaign.record.id, 0)
                if new:
                    service.new_rewards[name] = service.new_rewards.get(name, 0) + new
            await asyncio.sleep(0)

    async def _forget_requests(self) -> None:
        while await self._service.store.forget_requests(ROWS_AT_A_TIME) == ROWS_AT_A_TIME:
            await asyncio.sleep(0)


async def _survived(work: Callable[..., Awaitable[None]], *arguments: str) -> None:
    """Do something whose failure must not end what goes on."""
    try:
        await work(*arguments)
    except StoreError as error:
        log.warning("The store did not do its part: %s", error)
    except Exception:
        log.exception("Upkeep failed, and is tried again.")
