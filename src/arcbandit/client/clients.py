"""The two clients: one waits, the other is awaited. Both send the same calls and try again alike."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from arcbandit.client import calls
from arcbandit.client.calls import Call
from arcbandit.client.retrying import Came, Lost, Retries, Send, answer_of, checked_url, exchange
from arcbandit.errors import InvalidInputError, MissingExtraError, ServiceUnavailableError
from arcbandit.inputs.values import instance_of, positive
from arcbandit.service.api_types import (
    CampaignAnswer,
    DecideAnswer,
    PlanAnswer,
    ReportedResult,
    RewardAnswer,
    RewardResult,
    StatisticsAnswer,
)

try:
    import httpx
except ImportError as error:
    raise MissingExtraError("httpx", "client") from error

BEFORE_SENDING = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


def _headers(token: str | None) -> dict[str, str]:
    told = {"content-type": "application/json", "accept": "application/json"}
    if token is None:
        return told
    if not isinstance(token, str) or not token.isascii() or not token.isprintable() or not token:
        raise InvalidInputError("token must be a token of the service, got something else.")  # which may be a secret
    return told | {"authorization": f"Bearer {token}"}


def _retries(given: Retries | None) -> Retries:
    if given is None:
        return Retries()
    checked: Retries = instance_of("retries", given, Retries)
    return checked


def _came(response: httpx.Response) -> Came:
    return Came(response.status_code, response.headers, response.content)


def _lost(error: httpx.TransportError) -> Lost:
    reason = str(error) or type(error).__name__
    return Lost(reason.rstrip("."), not isinstance(error, BEFORE_SENDING))


class Client:
    """A client of the decision service that waits for every answer; threads may share it.

    Decisions and rewards are sent again after a lost answer or a 503, decisions always with the same request id: the
    service makes each once. Changes of campaigns are not sent again once they were on their way. The methods' examples
    are those of a client of a service with a campaign "films", of the arms "house" and "guest".

    >>> with Client("http://127.0.0.1:8000", token="arcb_...", retries=Retries(tries=1)) as client:
    ...     client.decide("films", 7)
    Traceback (most recent call last):
    ...
    arcbandit.errors.InvalidInputError: context: Expected `str`, got `int`.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        timeout: float = 10.0,
        retries: Retries | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.url = checked_url(url)
        self._retries = _retries(retries)
        self._chance = random.Random()
        self._http = httpx.Client(
            base_url=self.url, headers=_headers(token), timeout=positive("timeout", timeout), transport=transport
        )

    def __repr__(self) -> str:
        return f"<Client of {self.url}>"

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections.

        >>> client = Client("http://127.0.0.1:8000")
        >>> client.close()
        """
        self._http.close()

    def _answer(self, call: Call) -> Any:
        steps = exchange(call, self._retries, self._chance)
        step = next(steps)
        try:
            while True:
                if isinstance(step, Send):
                    step = steps.send(self._sent(call))
                else:
                    time.sleep(step.seconds)
                    step = next(steps)
        except StopIteration as end:
            return end.value

    def _sent(self, call: Call) -> Came | Lost:
        try:
            return _came(self._http.request(call.method, call.path, content=call.body, params=dict(call.query)))
        except httpx.TransportError as error:
            return _lost(error)

    def decide(
        self, campaign: str, context: str, *, request_id: str | None = None, excluded_arms: Iterable[str] = ()
    ) -> DecideAnswer:
        """Which arm to show in a context; the decision is on disk when this returns.

        >>> made = client.decide("films", "tv", request_id="visit 17")
        >>> made.arm in ("house", "guest"), 0 < made.probability <= 1
        (True, True)
        >>> again = client.decide("films", "tv", request_id="visit 17")  # asked twice, made once
        >>> again.decision_id == made.decision_id
        True
        """
        made: DecideAnswer = self._answer(calls.decide(campaign, context, request_id, excluded_arms))
        return made

    def reward(self, campaign: str, decision_id: str, reward: float) -> RewardAnswer:
        """Tell what a decision earned; ServiceError if another reward was told before, or the decision is not known.

        >>> made = client.decide("films", "tv")
        >>> client.reward("films", made.decision_id, 0.5).outcome
        'counted'
        """
        made: RewardAnswer = self._answer(calls.reward(campaign, decision_id, reward))
        return made

    def rewards(self, campaign: str, rewards: Mapping[str, float]) -> list[RewardResult]:
        """Tell what many decisions earned, by their ids; what became of each, in their order.

        >>> made = [client.decide("films", "tv") for _ in range(2)]
        >>> [one.outcome for one in client.rewards("films", {made[0].decision_id: 0.5, made[1].decision_id: 0.25})]
        ['counted', 'counted']
        """
        return [one for call in calls.rewards(campaign, rewards) for one in self._answer(call).results]

    def report(self, campaign: str, decisions: list[dict[str, Any]]) -> list[ReportedResult]:
        """Report decisions that a `LocalDecider` made; what became of each, in their order.

        >>> from arcbandit.client.local import LocalDecision, LocalPlan
        >>> plan = client.plan("films")
        >>> arm, probability = LocalPlan(plan).draw("tv", (), 0.5)
        >>> drawn = LocalDecision("tv", arm, probability, plan.version, 0.5, ())
        >>> [one.status for one in client.report("films", [drawn.body()])]
        [200]
        """
        return [one for call in calls.report(campaign, decisions) for one in self._answer(call).results]

    def create(self, name: str, **settings: Any) -> CampaignAnswer:
        """A new campaign, with the fields that the service takes: floors, contexts, policy and so on.

        >>> floors = {"old": 0.1, "new": 0.2}
        >>> made = client.create("songs", floors=floors, contexts=["day", "night"], reward_bounds=[0, 1])
        >>> made.name, made.arms, made.contexts
        ('songs', ['old', 'new'], ['day', 'night'])
        """
        made: CampaignAnswer = self._answer(calls.create(name, settings))
        return made

    def change(
        self, campaign: str, change: str, *, expected_revision: int | None = None, **fields: Any
    ) -> CampaignAnswer:
        """Change a campaign: `client.change("films", "set_floor", name="guest", floor=0.3)`.

        >>> changed = client.change("films", "set_floor", name="guest", floor=0.15)
        >>> [floor.floor for floor in changed.floors if floor.name == "guest"]
        [0.15]
        """
        made: CampaignAnswer = self._answer(calls.change(campaign, change, expected_revision, fields))
        return made

    def campaigns(self) -> list[CampaignAnswer]:
        """Every campaign.

        >>> "films" in [campaign.name for campaign in client.campaigns()]
        True
        """
        found: list[CampaignAnswer] = self._answer(calls.campaigns()).campaigns
        return found

    def campaign(self, name: str) -> CampaignAnswer:
        """A campaign.

        >>> client.campaign("films").arms
        ['house', 'guest']
        """
        found: CampaignAnswer = self._answer(calls.campaign(name))
        return found

    def plan(self, campaign: str, version: int | None = None) -> PlanAnswer:
        """The plan in force, or that of a version.

        >>> plan = client.plan("films")
        >>> [round(sum(shares), 9) for shares in zip(*plan.allocation)]
        [1.0, 1.0]
        """
        found: PlanAnswer = self._answer(calls.plan(campaign, version))
        return found

    def what_if(self, campaign: str, floors: Mapping[str, float]) -> PlanAnswer:
        """The plan with other floors, of which the service keeps nothing.

        >>> plan = client.what_if("films", {"house": 0.25})
        >>> plan.arms
        ['house', 'guest']
        """
        found: PlanAnswer = self._answer(calls.what_if(campaign, floors))
        return found

    def status(self, campaign: str) -> dict[str, Any]:
        """How every promise stands.

        >>> [floor["name"] for floor in client.status("films")["floors"]]
        ['house', 'guest']
        """
        found: dict[str, Any] = self._answer(calls.status(campaign))
        return found

    def statistics(self, campaign: str) -> StatisticsAnswer:
        """What was counted.

        >>> before = client.statistics("films").decisions
        >>> made = client.decide("films", "tv")
        >>> client.statistics("films").decisions - before
        1
        """
        found: StatisticsAnswer = self._answer(calls.statistics(campaign))
        return found

    def decisions(self, campaign: str, after: int = 0) -> Iterator[dict[str, Any]]:
        """The log, decision by decision; it is not asked for again if the connection is lost on the way.

        >>> made = client.decide("films", "tv")
        >>> logged = {row["decision_id"]: row["arm"] for row in client.decisions("films")}
        >>> logged[made.decision_id] == made.arm
        True
        """
        call = calls.decisions(campaign, after)
        try:
            with self._http.stream(call.method, call.path, params=dict(call.query)) as response:
                if response.status_code != 200:
                    response.read()
                    answer_of(call, _came(response))
                for line in response.iter_lines():
                    yield msgspec.json.decode(line, type=dict[str, Any])
        except httpx.TransportError as error:
            raise ServiceUnavailableError(f"The log was cut short: {error}.", 0, "lost") from error


class AsyncClient:
    """As `Client`, with the same methods, for an event loop.

    >>> async def shown(visitor):
    ...     async with AsyncClient(client.url) as service:
    ...         return (await service.decide("films", "tv", request_id=visitor)).arm
    >>> asyncio.run(shown("visit 18")) in ("house", "guest")
    True
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        timeout: float = 10.0,
        retries: Retries | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.url = checked_url(url)
        self._retries = _retries(retries)
        self._chance = random.Random()
        self._http = httpx.AsyncClient(
            base_url=self.url, headers=_headers(token), timeout=positive("timeout", timeout), transport=transport
        )

    def __repr__(self) -> str:
        return f"<AsyncClient of {self.url}>"

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _answer(self, call: Call) -> Any:
        steps = exchange(call, self._retries, self._chance)
        step = next(steps)
        try:
            while True:
                if isinstance(step, Send):
                    step = steps.send(await self._sent(call))
                else:
                    await asyncio.sleep(step.seconds)
                    step = next(steps)
        except StopIteration as end:
            return end.value

    async def _sent(self, call: Call) -> Came | Lost:
        try:
            return _came(await self._http.request(call.method, call.path, content=call.body, params=dict(call.query)))
        except httpx.TransportError as error:
            return _lost(error)

    async def decide(
        self, campaign: str, context: str, *, request_id: str | None = None, excluded_arms: Iterable[str] = ()
    ) -> DecideAnswer:
        """Which arm to show in a context; the decision is on disk when this returns."""
        made: DecideAnswer = await self._answer(calls.decide(campaign, context, request_id, excluded_arms))
        return made

    async def reward(self, campaign: str, decision_id: str, reward: float) -> RewardAnswer:
        """Tell what a decision earned; ServiceError if another reward was told before, or the decision is not known."""
        made: RewardAnswer = await self._answer(calls.reward(campaign, decision_id, reward))
        return made

    async def rewards(self, campaign: str, rewards: Mapping[str, float]) -> list[RewardResult]:
        """Tell what many decisions earned, by their ids; what became of each, in their order."""
        return [one for call in calls.rewards(campaign, rewards) for one in (await self._answer(call)).results]

    async def report(self, campaign: str, decisions: list[dict[str, Any]]) -> list[ReportedResult]:
        """Report decisions that were made locally; what became of each, in their order."""
        return [one for call in calls.report(campaign, decisions) for one in (await self._answer(call)).results]

    async def create(self, name: str, **settings: Any) -> CampaignAnswer:
        """A new campaign, with the fields that the service takes: floors, contexts, policy and so on."""
        made: CampaignAnswer = await self._answer(calls.create(name, settings))
        return made

    async def change(
        self, campaign: str, change: str, *, expected_revision: int | None = None, **fields: Any
    ) -> CampaignAnswer:
        """Change a campaign: `await client.change("films", "set_floor", name="guest", floor=0.3)`."""
        made: CampaignAnswer = await self._answer(calls.change(campaign, change, expected_revision, fields))
        return made

    async def campaigns(self) -> list[CampaignAnswer]:
        """Every campaign."""
        found: list[CampaignAnswer] = (await self._answer(calls.campaigns())).campaigns
        return found

    async def campaign(self, name: str) -> CampaignAnswer:
        """A campaign."""
        found: CampaignAnswer = await self._answer(calls.campaign(name))
        return found

    async def plan(self, campaign: str, version: int | None = None) -> PlanAnswer:
        """The plan in force, or that of a version."""
        found: PlanAnswer = await self._answer(calls.plan(campaign, version))
        return found

    async def what_if(self, campaign: str, floors: Mapping[str, float]) -> PlanAnswer:
        """The plan with other floors, of which the service keeps nothing."""
        found: PlanAnswer = await self._answer(calls.what_if(campaign, floors))
        return found

    async def status(self, campaign: str) -> dict[str, Any]:
        """How every promise stands."""
        found: dict[str, Any] = await self._answer(calls.status(campaign))
        return found

    async def statistics(self, campaign: str) -> StatisticsAnswer:
        """What was counted."""
        found: StatisticsAnswer = await self._answer(calls.statistics(campaign))
        return found

    async def decisions(self, campaign: str, after: int = 0) -> AsyncIterator[dict[str, Any]]:
        """The log, decision by decision; it is not asked for again if the connection is lost on the way."""
        call = calls.decisions(campaign, after)
        try:
            async with self._http.stream(call.method, call.path, params=dict(call.query)) as response:
                if response.status_code != 200:
                    await response.aread()
                    answer_of(call, _came(response))
                async for line in response.aiter_lines():
                    yield msgspec.json.decode(line, type=dict[str, Any])
        except httpx.TransportError as error:
            raise ServiceUnavailableError(f"The log was cut short: {error}.", 0, "lost") from error
