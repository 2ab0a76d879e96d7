"""A campaign of 10,000 variables that is planned every second, with and without its planner."""

import time
from typing import Any

from benchmarks.service.load import Seen
from benchmarks.service.processes import Server, pressed

N_ARMS = N_CONTEXTS = 100
CONNECTIONS = 64
EXPLORING_SECONDS = 120.0
NAME = "large"


class Large:
    """The campaign, once every pair has been played: before, it is planned more often than on its cadence."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._runs = 0
        body = {
            "name": NAME,
            "floors": {f"a{arm}": 0.002 for arm in range(N_ARMS)},
            "contexts": [f"c{context}" for context in range(N_CONTEXTS)],
            "policy": "olp",
            "reward_bounds": [0, 1],
            "replan_every_seconds": 1.0,
            "replan_after_rewards": 10**9,
        }
        server.asked("/v1/campaigns", body)
        until = time.monotonic() + EXPLORING_SECONDS
        while self._plan()["how"] in ("starting", "exploring") and time.monotonic() < until:
            self._pressed(3.0)

    def _plan(self) -> Any:
        return self._server.asked(f"/v1/campaigns/{NAME}/plan")

    def _pressed(self, seconds: float) -> Seen:
        self._runs += 1
        return pressed(
            self._server,
            {
                "path": f"/v1/campaigns/{NAME}",
                "connections": CONNECTIONS,
                "seconds": seconds,
                "contexts": N_CONTEXTS,
                "mixed": True,
                "name": f"{NAME}-{self._runs}",
            },
        )

    def turn(self, seconds: float, *, planning_first: bool) -> dict[str, Any]:
        """Decisions and rewards while it plans, and while it does not; who goes first alternates."""
        found: dict[str, Any] = {}
        for planning in (True, False) if planning_first else (False, True):
            before = self._plan()["version"]
            if not planning:
                self._server.pause_planner()
            try:
                # Long enough for plans to come and go.
                seen = self._pressed(max(seconds, 4.0))
            finally:
                self._server.resume_planner()
            name = "planner on" if planning else "planner off"
            found[name] = seen
            found[f"{name}: plans"] = self._plan()["version"] - before
        return found
