"""A day in the life of a policy at work: a log, four threads, late and lost rewards, and everything that changes.

Everything is written down by whoever does it, and recounted in the end.
"""

import collections
import json
import random
import threading
import warnings

import numpy as np
import pytest

from arcbandit import BLP, restore
from arcbandit.errors import FloorsOutOfReachWarning

MEANS = {
    "house": {"phone": 0.60, "laptop": 0.50, "tv": 0.40},
    "guest": {"phone": 0.30, "laptop": 0.50, "tv": 0.45},
    "small": {"phone": 0.35, "laptop": 0.30, "tv": 0.50},
    "newcomer": {"phone": 0.45, "laptop": 0.55, "tv": 0.30},
}
PROBABILITIES = {"phone": 0.5, "laptop": 0.3, "tv": 0.2}
FLOORS = {"house": 0.1, "guest": 0.05, "small": 0.05}
THREADS = 4
LOST = 0.02
NOISE = 0.1


class Day:
    """The policy, and what was written down about it."""

    def __init__(self):
        self.policy = BLP(FLOORS, PROBABILITIES, seed=11)
        self.pulls = collections.Counter()
        self.earned = collections.Counter()
        self.contexts = collections.Counter()
        self.decisions = 0
        self.hows = collections.Counter()
        self.lock = threading.Lock()

    def learn_from_a_log(self, rounds):
        """A log of a uniform policy, whose contexts count."""
        draw = random.Random(1)
        arms = list(FLOORS)
        rows = [
            (draw.choices(list(PROBABILITIES), PROBABILITIES.values())[0], draw.choice(arms)) for _ in range(rounds)
        ]
        rewards = [MEANS[arm][context] + NOISE * draw.gauss(0, 1) for context, arm in rows]
        self.policy.update_many(*zip(*rows, strict=True), rewards, count_contexts=True)
        for (context, arm), reward in zip(rows, rewards, strict=True):
            self.pulls[arm, context] += 1
            self.earned[arm] += reward
            self.contexts[context] += 1

    def serve(self, rounds, meanwhile=()):
        """Four threads decide; rewards come late, out of order, or never. Changes happen in between."""
        failures = []
        arms = collections.Counter()

        def work(number):
            draw = random.Random(1000 * number + self.decisions)
            waiting, seen = [], []
            try:
                for _ in range(rounds // THREADS):
                    context = draw.choices(list(PROBABILITIES), PROBABILITIES.values())[0]
                    decision = self.policy.decide(context)
                    seen.append(decision)
                    reward = MEANS[decision.arm][context] + NOISE * draw.gauss(0, 1)
                    waiting.append((context, decision.arm, reward))
                    if len(waiting) > 20:
                        self.hear(waiting.pop(draw.randrange(len(waiting))), draw)
                for late in waiting:
                    self.hear(late, draw)
            except Exception as error:  # noqa: BLE001, told in the thread of the test
                failures.append(error)
            with self.lock:
                self.decisions += len(seen)
                self.contexts.update(decision.context for decision in seen)
                self.hows.update(decision.how for decision in seen)
                arms.update(decision.arm for decision in seen)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        for change in meanwhile:
            change()
        for thread in threads:
            thread.join()
        assert not failures, failures
        return arms

    def hear(self, late, draw):
        context, arm, reward = late
        if draw.random() >= LOST:
            self.policy.update(context, arm, reward)
            with self.lock:
                self.pulls[arm, context] += 1
                self.earned[arm] += reward

    def recount(self):
        """What the policy knows is what was written down."""
        status = self.policy.status()
        assert status.decisions == self.decisions
        assert status.rewards == sum(self.pulls.values())
        earned = {floor.name: floor.earned for floor in status.floors if floor.kind == "arm"}
        assert earned == pytest.approx({arm: self.earned[arm] for arm in earned}, rel=1e-9)
        found = {
            (arm, context): int(self.policy.pulls()[row, column])
            for row, arm in enumerate(self.policy.arms)
            for column, context in enumerate(self.policy.contexts)
        }
        assert {pair: count for pair, count in found.items() if count} == dict(self.pulls)
        assert {context.name: context.rounds for context in status.contexts} == dict(self.contexts)
        return status


@pytest.mark.slow
def test_a_day_in_the_life():
    day = Day()
    day.learn_from_a_log(600)
    day.recount()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # The morning: all as agreed.
        day.serve(12_000)
        assert day.recount().state == "kept"

        # A provider joins, of whom something is known, and a contract changes, while decisions go on.
        arms = day.serve(
            10_000,
            [
                lambda: day.policy.add_arm("newcomer", 0.02, prior_mean=0.4, prior_pulls=20),
                lambda: day.policy.set_floor("guest", 0.08),
            ],
        )
        assert arms["newcomer"] > 0
        status = day.recount()
        assert {floor.name: floor.promised for floor in status.floors}["guest"] == 0.08

        # The process ends and another one goes on from the snapshot.
        before = day.policy.status()
        day.policy = restore(json.loads(json.dumps(day.policy.snapshot())))
        assert day.policy.status() == before

        # A provider leaves, and nobody is sent to it any more; it returns with what was learnt of it.
        day.policy.retire_arm("small")
        assert day.serve(6_000)["small"] == 0
        day.policy.return_arm("small", 0.05)
        assert day.serve(6_000)["small"] > 0
        assert not caught

        # A contract that cannot be kept: said once, and shown; then it is renegotiated.
        day.policy.set_floor("guest", 0.9)
        day.serve(6_000)
        assert [one.category for one in caught] == [FloorsOutOfReachWarning]
        assert "guest" in str(caught[0].message)
        assert day.recount().state == "out of reach"
        day.policy.set_floor("guest", 0.08)
        arms = day.serve(10_000)
        assert len(caught) == 1
    status = day.recount()
    assert day.decisions == 50_000
    assert day.hows["floors out of reach"] >= 5_900
    assert status.state == "kept"
    # What is promised is what is expected by the true means, but for what five thousand rewards leave open.
    shares = day.policy.allocation()
    for row, arm in enumerate(day.policy.arms):
        true = sum(
            share * PROBABILITIES[context] * MEANS[arm][context]
            for share, context in zip(shares[row], day.policy.contexts, strict=True)
        )
        assert true >= 0.9 * status.floors[row].promised
    # The noise that nobody told: more than 50,000 rewards, so that a hundredth is four standard errors.
    assert status.noise_scale == pytest.approx(NOISE, rel=0.02)
    assert np.isfinite(status.expected_revenue)
