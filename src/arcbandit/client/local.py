"""Decisions where the traffic is: the plan is fetched, arms are drawn here, and the service is told in batches."""

import logging
import random
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from arcbandit.client.clients import Client
from arcbandit.errors import ArcbanditError, InvalidInputError, ServiceError, UnknownNameError
from arcbandit.inputs.values import amount, instance_of, items, positive, shown, whole
from arcbandit.service.api_types import MOST_REWARDS, PlanAnswer
from arcbandit.service.drawing import Shares, drawn, shares_of, without

log = logging.getLogger("arcbandit.client")

WHOLE_REFUSED = (413, 422)  # a batch that is too large, or in which something breaks a rule


class LocalDecision:
    """An arm that was drawn here. `decision_id` is known once the service has it.

    >>> made = LocalDecision("tv", "house", 0.75, plan_version=1, uniform=0.5, excluded=())
    >>> made, made.decision_id
    (<LocalDecision: house in tv, probability 0.75>, None)
    """

    __slots__ = (
        "arm",
        "context",
        "decision_id",
        "excluded_arms",
        "is_refused",
        "plan_version",
        "probability",
        "request_id",
        "uniform",
    )

    def __init__(
        self, context: str, arm: str, probability: float, plan_version: int, uniform: float, excluded: tuple[str, ...]
    ) -> None:
        self.request_id = uuid.uuid4().hex
        self.context = context
        self.arm = arm
        self.probability = probability
        self.plan_version = plan_version
        self.uniform = uniform
        self.excluded_arms = excluded
        self.decision_id: str | None = None
        self.is_refused = False  # whether the service would not have it

    def __repr__(self) -> str:
        return f"<LocalDecision: {self.arm} in {self.context}, probability {self.probability:g}>"

    def body(self) -> dict[str, Any]:
        """As it is reported.

        >>> LocalDecision("tv", "house", 0.75, plan_version=1, uniform=0.5, excluded=()).body()["plan_version"]
        1
        """
        return {
            "request_id": self.request_id,
            "context": self.context,
            "arm": self.arm,
            "probability": self.probability,
            "plan_version": self.plan_version,
            "uniform": self.uniform,
            "excluded_arms": list(self.excluded_arms),
        }


class LocalPlan:
    """A plan as it is drawn from, by the same code as in the service."""

    def __init__(self, plan: PlanAnswer) -> None:
        self.version = plan.version
        self.arms = plan.arms
        self._rows = {name: row for row, name in enumerate(plan.arms)}
        self._shares: dict[str, Shares] = {
            context: shares_of([shares[column] for shares in plan.allocation])
            for column, context in enumerate(plan.contexts)
        }

    def draw(self, context: str, excluded: tuple[str, ...], uniform: float) -> tuple[str, float]:
        """An arm and its probability."""
        shares = self._shares.get(context) if isinstance(context, str) else None
        if shares is None or not shares.arms:
            raise UnknownNameError(f"context must be one of the plan's, got {shown(context)}.")
        if excluded:
            for name in excluded:
                if name not in self._rows:
                    raise UnknownNameError(f"excluded_arms must name arms of the campaign, got {shown(name)}.")
            left = without(shares, {self._rows[name] for name in excluded}, ())
            if left is None:
                raise InvalidInputError("excluded_arms must leave an arm that the plan plays: ask the service instead.")
            shares = left
        arm, probability = drawn(shares, uniform)
        return self.arms[arm], probability


class LocalDecider:
    """Decides without asking the service: for traffic that cannot wait for it, or is too much for it.

    Arms are drawn from the plan in force, which is fetched every `refresh_seconds`, as the service would draw them.
    Decisions and rewards are reported every `report_seconds`, or when a batch is full, by a thread of its own; the
    service checks every one against the plan that it names, and logs it with its probability. If it does not answer,
    they are kept and reported later; when `most_waiting` wait, `decide` waits for the service. What was not reported
    when the process dies is lost: for decisions that are on disk before they are shown, use `Client`.

    >>> with LocalDecider(client, "films") as decider:
    ...     for context in ("tv", "phone", "tv"):
    ...         decision = decider.decide(context)
    ...         decider.reward(decision, 0.5)
    >>> decider.waiting
    0
    """

    def __init__(
        self,
        client: Client,
        campaign: str,
        *,
        refresh_seconds: float = 1.0,
        report_seconds: float = 0.5,
        most_waiting: int = 100_000,
        uniform: Callable[[], float] | None = None,
    ) -> None:
        self._client: Client = instance_of("client", client, Client)
        self._campaign = campaign
        self._refresh_seconds = positive("refresh_seconds", refresh_seconds)
        self._report_seconds = positive("report_seconds", report_seconds)
        self._most_waiting = whole("most_waiting", most_waiting, 1)
        self._uniform = random.Random().random if uniform is None else uniform
        self.refused: deque[tuple[LocalDecision, str]] = deque(maxlen=1000)  # what the service did not take, and why
        self._plan = LocalPlan(client.plan(campaign))
        self._waiting: deque[LocalDecision] = deque()
        self._rewards: deque[tuple[LocalDecision, float]] = deque()
        self._reporting = threading.Lock()
        self._wake = threading.Event()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="arcbandit-local", daemon=True)
        self._thread.start()

    def __repr__(self) -> str:
        return f"<LocalDecider of {self._campaign}, plan {self.plan_version}, {self.waiting} to report>"

    def __enter__(self) -> "LocalDecider":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def plan_version(self) -> int:
        """The plan that is drawn from."""
        return self._plan.version

    @property
    def waiting(self) -> int:
        """How many decisions and rewards the service has not been told of."""
        return len(self._waiting) + len(self._rewards)

    def decide(self, context: str, *, excluded_arms: Iterable[str] = ()) -> LocalDecision:
        """Draw an arm for a context.

        >>> with LocalDecider(client, "films") as decider:
        ...     decision = decider.decide("tv")
        >>> decision.arm in ("house", "guest"), decision.decision_id is not None  # reported at the end
        (True, True)
        """
        excluded = tuple(dict.fromkeys(items("excluded_arms", excluded_arms, "names of arms"))) if excluded_arms else ()
        self._require_room()
        plan, uniform = self._plan, self._uniform()
        arm, probability = plan.draw(context, excluded, uniform)
        made = LocalDecision(context, arm, probability, plan.version, uniform, excluded)
        self._waiting.append(made)
        if len(self._waiting) >= MOST_REWARDS:
            self._wake.set()
        return made

    def reward(self, decision: LocalDecision, reward: float) -> None:
        """Tell what a decision earned.

        >>> with LocalDecider(client, "films") as decider:
        ...     decider.reward(decider.decide("tv"), 0.5)
        >>> decider.waiting, len(decider.refused)
        (0, 0)
        """
        made: LocalDecision = instance_of("decision", decision, LocalDecision)
        earned = amount("reward", reward)
        self._require_room()
        self._rewards.append((made, earned))

    def _require_room(self) -> None:
        if self._closed:
            raise InvalidInputError("The decider is closed.")
        if self.waiting >= self._most_waiting:
            self.flush()

    def flush(self) -> None:
        """Report what waits; ServiceUnavailableError if the service does not answer, and then it still waits.

        >>> with LocalDecider(client, "films") as decider:
        ...     decision = decider.decide("tv")
        ...     decider.flush()
        ...     decider.waiting
        0
        """
        with self._reporting:
            for _ in range(len(self._waiting) // MOST_REWARDS + 1):
                self._report_decisions()
            self._report_rewards()

    def _report_decisions(self) -> None:
        # They leave the queue only when the service has them: reporting one again is harmless, losing it is not.
        batch = [self._waiting[place] for place in range(min(MOST_REWARDS, len(self._waiting)))]
        if batch:
            self._told(batch, self._tell_decisions)
        for _ in batch:
            self._waiting.popleft()

    def _tell_decisions(self, batch: list[LocalDecision]) -> None:
        for made, result in zip(batch, self._client.report(self._campaign, [one.body() for one in batch]), strict=True):
            if result.decision_id is not None:
                made.decision_id = result.decision_id
            else:
                self._refuse(made, "" if result.error is None else result.error.message)

    def _report_rewards(self) -> None:
        batch = [self._rewards[place] for place in range(len(self._rewards))]
        known = [(made, earned) for made, earned in batch if made.decision_id is not None]
        for start in range(0, len(known), MOST_REWARDS):
            self._told(known[start : start + MOST_REWARDS], self._tell_rewards)
        for made, earned in batch:
            self._rewards.popleft()
            if made.decision_id is None and not made.is_refused:
                self._rewards.append((made, earned))  # its decision came after the last report, and is told next time

    def _tell_rewards(self, batch: list[tuple[LocalDecision, float]]) -> None:
        sent: dict[str, float] = {}
        second = []
        for made, earned in batch:
            if sent.setdefault(made.decision_id or "", earned) != earned:
                second.append(made)
        by_id = {made.decision_id: made for made, _ in batch}
        for result in self._client.rewards(self._campaign, sent):
            if result.error is not None:
                self._refuse(by_id[result.decision_id], result.error.message)
        for made in second:
            self._refuse(made, "Another reward of this decision was told before, and stands.")

    def _told(self, batch: list[Any], tell: Callable[[list[Any]], None]) -> None:
        """Tell the service a batch; if it refuses it as a whole, in halves, until what is wrong stands alone."""
        try:
            tell(batch)
        except ServiceError as error:
            if error.status not in WHOLE_REFUSED:
                raise
            if len(batch) == 1:
                self._refuse(batch[0] if isinstance(batch[0], LocalDecision) else batch[0][0], str(error))
                return
            middle = len(batch) // 2
            self._told(batch[:middle], tell)
            self._told(batch[middle:], tell)

    def _refuse(self, made: LocalDecision, reason: str) -> None:
        log.warning("The service did not take %r: %s", made, reason)
        made.is_refused = made.decision_id is None
        self.refused.append((made, reason))

    def refresh(self) -> None:
        """Fetch the plan in force.

        >>> with LocalDecider(client, "films") as decider:
        ...     decider.refresh()
        ...     decider.plan_version >= 1
        True
        """
        self._plan = LocalPlan(self._client.plan(self._campaign))

    def _run(self) -> None:
        refreshed = time.monotonic()
        while True:
            self._wake.wait(self._report_seconds)
            self._wake.clear()
            if self._closed:
                return
            self._survive(self.flush)
            if time.monotonic() - refreshed >= self._refresh_seconds:
                self._survive(self.refresh)
                refreshed = time.monotonic()

    def _survive(self, work: Callable[[], None]) -> None:
        try:
            work()
        except ServiceError as error:
            log.warning("%r goes on without the service: %s", self, error)
        except ArcbanditError:
            log.exception("%r failed to report.", self)

    def close(self) -> None:
        """Report what waits, and end; ServiceUnavailableError if the service does not answer.

        >>> decider = LocalDecider(client, "films")
        >>> decider.close()
        """
        if self._closed:
            return
        self._closed = True
        self._wake.set()
        self._thread.join()
        self.flush()
