"""Several services on one store: each learns what the others did to campaigns and plans, and one of them plans."""

import asyncio
import contextlib
import logging
import time

from arcbandit.errors import StoreError
from arcbandit.service.campaigns import Campaign
from arcbandit.service.service import Service
from arcbandit.service.store import SharedStore, Version

log = logging.getLogger("arcbandit.service")

FOLLOW_SECONDS = 0.5  # at the latest; a store that tells of changes is followed at once


class Following:
    """Keeps a service in step with its store, and tells it whether it is the one that plans."""

    def __init__(self, service: Service, store: SharedStore, *, plans: bool) -> None:
        self._service = service
        self._store = store
        self._plans = plans
        self._turn = asyncio.Lock()
        self._began = 0.0  # when the store was last looked at
        self._totals: dict[int, int] = {}  # what campaigns had earned then
        service.catch_up = self.catch_up
        service.leads = False

    async def run(self) -> None:
        """Follow until cancelled."""
        while True:
            try:
                await self.catch_up()
            except StoreError as error:
                log.warning("What other replicas do is not known: %s", error)
            except Exception:
                log.exception("Following failed, and is tried again.")
            # Not wait_for: in Python 3.11 it forgets a cancellation that comes together with what it waits for.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(FOLLOW_SECONDS):
                    await self._store.changed.wait()

    async def catch_up(self) -> None:
        """Know at the end what stood in the store at the beginning; callers that come together share one look."""
        asked = time.monotonic()
        async with self._turn:
            if self._began > asked:
                return
            self._began = time.monotonic()
            self._store.changed.clear()
            try:
                # A process that was stopped for a while finds here that it leads no longer; until then, its plans
                # are refused, for they do not follow the last one.
                self._service.leads = self._plans and await self._store.lead()
                versions = await self._store.versions(self._service.leads)
            except StoreError:
                self._service.leads = False
                raise
            await self._take_over(versions)
            if self._service.leads:
                self._note_rewards(versions)

    def _known(self) -> dict[int, Campaign]:
        return {campaign.record.id: campaign for campaign in self._service.campaigns.values()}

    async def _take_over(self, versions: list[Version]) -> None:
        known = self._known()
        behind = [
            version.campaign
            for version in versions
            if version.campaign not in known or known[version.campaign].plan.version < version.plan_version
        ]
        if behind:
            for record, plan in await self._store.load_some(behind):
                self._service.take_over(Campaign(record, plan))

    def _note_rewards(self, versions: list[Version]) -> None:
        """Count rewards that other replicas counted: the next plan is due by all of them."""
        known = self._known()
        for version in versions:
            campaign = known.get(version.campaign)
            if campaign is None:
                continue
            name = campaign.record.name
            new = version.rewards - campaign.plan.rewards
            if new <= 0 and self._totals.get(version.campaign, version.total) != version.total:
                new = 1  # a reward took the place of a default
            self._totals[version.campaign] = version.total
            self._service.new_rewards[name] = max(self._service.new_rewards.get(name, 0), new)
