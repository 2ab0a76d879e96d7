"""Visitors of the platform: they ask for decisions over HTTP, and their rewards come late, twice or never."""

import heapq
import http.client
import json
import random
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from arcbandit.service.demo.platform import CAMPAIGN, Platform

MEAN_DELAY = 1.0  # seconds until a reward comes
NEVER, TWICE = 0.02, 0.1  # parts of rewards that never come, and that come twice
ASKED_AGAIN = 0.05  # part of requests that are repeated
BEHIND = 0.5  # seconds of visits that are made up for when the service was slow
PAUSE = 0.1  # seconds between deliveries of rewards, and before trying again
PATIENCE = 180.0  # seconds: making the campaign may have to wait for a compiler
MOST_AT_ONCE = 500  # rewards in a delivery

CREATED, TAKEN = 201, 409


class Refused(Exception):
    """An answer that is not what was asked for."""


class Caller:
    """One connection to the service, opened again when it breaks."""

    def __init__(self, host: str, port: int) -> None:
        self._connection = http.client.HTTPConnection(host, port, timeout=PATIENCE)

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """The status and the body of an answer."""
        content = None if body is None else json.dumps(body)
        try:
            self._connection.request(method, path, content)
            answer = self._connection.getresponse()
            return answer.status, json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            self._connection.close()
            raise Refused(str(error)) from error

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


class Traffic(threading.Thread):
    """Visits until it is told to stop.

    `on_plan` is called once, when the first plan that a rule made is in force; `on_failure`, if there can be no visits.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        rate: float,
        on_plan: Callable[[], None],
        on_failure: Callable[[], None],
        seed: int | None = None,
    ) -> None:
        super().__init__(name="visitors", daemon=True)
        self._address = (host, port)
        self._rate = rate
        self._on_plan = on_plan
        self._on_failure = on_failure
        self._chance = random.Random(seed)
        self._stopping = threading.Event()
        self._platform = Platform()
        self._path = f"/v1/campaigns/{quote(CAMPAIGN)}"
        # When each reward is delivered, a number that keeps the order of those at the same time, and the reward.
        self._waiting: list[tuple[float, int, dict[str, Any]]] = []
        self._sent = 0
        self._saw_plan = False
        self.failure: str | None = None  # why there are no visits, if there are none

    def stop(self) -> None:
        """Send no further visitor, and wait until the last is gone."""
        self._stopping.set()
        if self.is_alive():
            self.join(PATIENCE)

    def run(self) -> None:
        """Make the campaign, and visit it."""
        caller = Caller(*self._address)
        try:
            status, answer = caller.ask("POST", "/v1/campaigns", self._platform.campaign())
            if status not in (CREATED, TAKEN):
                raise Refused(answer["error"]["message"])
            self._visits(caller)
        except Refused as error:
            if not self._stopping.is_set():
                self.failure = str(error)
                self._on_failure()
        finally:
            caller.close()

    def _visits(self, caller: Caller) -> None:
        visit_at = deliver_at = time.monotonic()
        while not self._stopping.is_set():
            now = time.monotonic()
            try:
                if now >= deliver_at:
                    deliver_at = now + PAUSE
                    self._deliver(caller, now)
                if now >= visit_at:
                    visit_at = max(visit_at, now - BEHIND) + self._chance.expovariate(self._rate)
                    self._visit(caller)
            except Refused:
                self._stopping.wait(PAUSE)
            self._stopping.wait(max(min(visit_at, deliver_at) - time.monotonic(), 0.0))

    def _visit(self, caller: Caller) -> None:
        """Somebody comes, is shown a film, and will react to it."""
        chance = self._chance
        genre = self._platform.genre(chance)
        body = {"context": genre, "request_id": str(uuid.UUID(int=chance.getrandbits(128)))}
        status, answer = caller.ask("POST", f"{self._path}/decide", body)
        if status == 200 and chance.random() < ASKED_AGAIN:  # as if the answer had been lost on its way
            status, answer = caller.ask("POST", f"{self._path}/decide", body)
        if status != 200:
            raise Refused(str(answer))
        if answer["arm"] not in self._platform.providers or chance.random() < NEVER:
            return
        reward = {
            "decision_id": answer["decision_id"],
            "reward": self._platform.engagement(answer["arm"], genre, chance),
        }
        for _ in range(2 if chance.random() < TWICE else 1):
            self._sent += 1
            due = time.monotonic() + chance.expovariate(1.0 / MEAN_DELAY)
            heapq.heappush(self._waiting, (due, self._sent, reward))

    def _deliver(self, caller: Caller, now: float) -> None:
        """Send the rewards that are due; what is not taken is sent again, for each counts once."""
        due: list[tuple[float, int, dict[str, Any]]] = []
        while self._waiting and self._waiting[0][0] <= now and len(due) < MOST_AT_ONCE:
            due.append(heapq.heappop(self._waiting))
        if due:
            try:
                status, answer = caller.ask("POST", f"{self._path}/rewards", {"rewards": [one[2] for one in due]})
            except Refused:
                status, answer = 0, None
            if status != 200:
                for one in due:
                    heapq.heappush(self._waiting, one)
                raise Refused(str(answer))
        if not self._saw_plan:
            status, answer = caller.ask("GET", f"{self._path}/plan")
            if status == 200 and answer["certificate"] is not None:
                self._saw_plan = True
                self._on_plan()
