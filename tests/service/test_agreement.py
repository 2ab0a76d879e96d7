"""Simulated traffic over HTTP loses no more than the library's policy with the same replanning and delay."""

import asyncio
import random

import numpy as np
import pytest

from arcbandit import BLP, paper_instance, plan
from arcbandit.service.upkeep import EAGER
from tests.service.processes import Raw
from tests.service.served import listening, serving

REPLAN, DELAY = 50, 100  # rounds
DECIDE, REWARDS = "/v1/campaigns/films/decide", "/v1/campaigns/films/rewards"
LIMIT = 3.29  # standard deviations, which one of a thousand samples exceeds
NU = paper_instance("nu")
CAMPAIGN = {
    "name": "films",
    "floors": dict(zip(NU.arms, NU.revenue_floors.tolist(), strict=True)),
    "contexts": list(NU.contexts),
    "noise_scale": NU.noise_scale,
}
BEST = plan(NU).value


def lost(allocation):
    """What a round under this plan adds to regret and to violation."""
    earned = NU.weighted_means * allocation
    short = np.maximum(NU.revenue_floors - earned.sum(axis=1), 0.0).sum()
    return np.array([max(BEST - earned.sum(), 0.0), short])


def visitor(rng):
    """A context, and the noise of whatever is shown there."""
    return rng.randrange(NU.n_contexts), rng.gauss(0.0, 1.0)


def played_by_the_library(rounds, seed):
    """Regret and violation of a policy that decides and learns by itself; rewards come late."""
    rng = random.Random(seed)
    policy = BLP(NU.revenue_floors, arms=NU.arms, contexts=NU.contexts, noise_scale=1.0, replan=REPLAN, seed=seed)
    total, waiting = np.zeros(2), []
    for number in range(rounds):
        if number >= DELAY:
            policy.update(*waiting[number - DELAY])
        column, noise = visitor(rng)
        context = NU.contexts[column]
        arm = policy.decide(context).arm
        waiting.append((context, arm, NU.mean_rewards[NU.arms.index(arm), column] + noise))
        total += lost(policy.allocation())
    return total


class Visitors:
    """As many connections as there are requests at once; each asks, and waits for its answer."""

    def __init__(self, port):
        self._connections = [Raw(port) for _ in range(REPLAN)]

    async def ask(self, path, bodies):
        """The answers to requests that are made at the same time."""
        asked = zip(self._connections, bodies, strict=False)
        answers = await asyncio.gather(*(connection.post(path, body) for connection, body in asked))
        assert {status for status, _ in answers} <= {200}, answers
        return [answer for _, answer in answers]

    async def leave(self):
        for connection in self._connections:
            await connection.close()


async def played_by_the_service(served, visitors, rounds, seed):
    """The same over HTTP, where some rewards and some requests come twice, and not in order."""
    rng = random.Random(seed)
    total, waiting, number, delivered = np.zeros(2), [], 0, 0
    while number < rounds:
        await served.upkeep.plan_once("films")
        campaign = served.service.campaigns["films"]
        explores = campaign.plan.how in EAGER and number >= DELAY  # before, there is nothing to learn from
        chunk = min(1 if explores else REPLAN, rounds - number)
        total += chunk * lost(campaign.plan.matrix)
        came = [visitor(rng) for _ in range(chunk)]
        asked = [{"context": NU.contexts[column], "request_id": f"r{number + k}"} for k, (column, _) in enumerate(came)]
        made = await visitors.ask(DECIDE, asked)
        again = rng.sample(range(chunk), chunk // 5)
        repeated = await visitors.ask(DECIDE, [asked[k] for k in again])
        assert [one["decision_id"] for one in repeated] == [made[k]["decision_id"] for k in again]
        for (column, noise), one in zip(came, made, strict=True):
            reward = NU.mean_rewards[NU.arms.index(one["arm"]), column] + noise
            waiting.append({"decision_id": one["decision_id"], "reward": round(float(reward), 6)})
        number += chunk
        due = waiting[delivered : max(0, number - DELAY + 1)]
        delivered += len(due)
        due += rng.sample(due, len(due) // 5)
        rng.shuffle(due)
        if due:
            (answer,) = await visitors.ask(REWARDS, [{"rewards": due}])
            assert {one["status"] for one in answer["results"]} == {200}
    counted = await served.service.statistics("films")
    assert (counted.decisions, counted.rewards) == (rounds, delivered)
    return total


def rank_sum(ours, theirs):
    """How many standard deviations the ranks of ours are from those of a sample of theirs: Wilcoxon, without ties."""
    above = (ours[:, np.newaxis] > theirs).sum()
    n, m = len(ours), len(theirs)
    return (above - n * m / 2) / np.sqrt(n * m * (n + m + 1) / 12)


@pytest.mark.slow
def test_the_service_learns_as_the_library_does(tmp_path, cases):
    """Regret and violation of several runs are of the library's distribution: Wilcoxon's test, seeded.

    Each of the two raises a false alarm in one of a thousand sets of seeds.
    """
    rounds, runs, epochs = cases((400, 6, 60), (50_000, 5, 80))
    library = np.array([played_by_the_library(rounds, seed) for seed in range(epochs)])

    async def play(seed):
        folder = tmp_path / str(seed)
        folder.mkdir()
        uniform = random.Random(seed).random
        async with serving(folder, campaign=CAMPAIGN, uniform=uniform) as served, listening(served) as port:
            visitors = Visitors(port)
            try:
                return await played_by_the_service(served, visitors, rounds, seed)
            finally:
                await visitors.leave()

    found = np.array([asyncio.run(play(1000 + run)) for run in range(runs)])
    regret, violation = (rank_sum(found[:, column], library[:, column]) for column in range(2))
    means = found.mean(axis=0).round(1), library.mean(axis=0).round(1)
    print(f"R and V of the service {means[0]}, of the library {means[1]}; off by {regret:.1f} and {violation:.1f}")
    assert abs(regret) < LIMIT
    assert abs(violation) < LIMIT
