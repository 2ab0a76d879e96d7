"""A replica in a process of its own, whose plans are made up: python -m tests.service.replica URL."""

import asyncio
import sys

import msgspec
import numpy as np

from arcbandit.service import postgres_store
from arcbandit.service.campaigns import PlanRecord, bytes_of
from arcbandit.service.server import run, wired

STEPS, STEP_SECONDS = 8, 0.05  # of a plan in the making


class MadeUpPlans:
    """Plans as the planner's process does, by what it reads first and answers later, but by no rule."""

    def __init__(self, store):
        self._store = store
        self._random = np.random.default_rng()

    async def ask(self, question, timeout=None):
        statistics = await self._store.statistics(question.campaign)
        print("planning", flush=True)
        for _ in range(STEPS):  # in which the process may be stopped, and then finds out what happened meanwhile
            await asyncio.sleep(STEP_SECONDS)
        shares = self._random.dirichlet([1.0, 1.0], size=2).T
        plan = PlanRecord(
            version=statistics.plan.version + 1,
            revision=statistics.campaign.revision,
            made_at=0,
            decisions=statistics.decisions,
            rewards=statistics.rewards,
            how="planned",
            n_contexts=2,
            allocation=bytes_of(shares),
        )
        return msgspec.to_builtins(plan), None

    async def end(self):
        pass

    async def close(self):
        pass


def main():
    postgres_store.LEASE_SECONDS = float(sys.argv[2])
    running = wired(sys.argv[1], is_open=True)
    running.upkeep._planning = MadeUpPlans(running.store)
    publish = running.service.publish

    async def noted(*arguments):
        made = await publish(*arguments)
        print("published" if made else "refused", flush=True)
        return made

    running.service.publish = noted
    run(running, "127.0.0.1", 0, lambda port: print(port, flush=True))


if __name__ == "__main__":
    main()
