"""Policies that live through changes drawn at random: always sound, and in the end all rewards are there."""

import json
from collections import Counter

import numpy as np
import pytest

from arcbandit import policy
from arcbandit.errors import ArcbanditError
from arcbandit.policies.registry import POLICIES, restore

# Floors out of reach are among the cases.
pytestmark = pytest.mark.filterwarnings("ignore::arcbandit.errors.FloorsOutOfReachWarning")

STEPS = 60


class Life:
    """A policy, the random numbers of its fate, and the rewards that it was told."""

    def __init__(self, name, seed):
        self.random = np.random.default_rng(seed)
        n_arms, n_contexts = (int(self.random.integers(1, 5)) for _ in range(2))
        self.named, self.estimated = (bool(self.random.integers(2)) for _ in range(2))
        settings = {"reward_bounds": (0, 1), "horizon": 500, "seed": seed}
        if self.named:
            settings["arms"] = [f"arm {number}" for number in range(n_arms)]
        if self.named or self.estimated:
            settings["contexts"] = [f"context {number}" for number in range(n_contexts)] if self.named else n_contexts
        if not self.estimated:
            settings["context_probabilities"] = self.shares(n_contexts)
        if self.named and self.estimated:
            settings["admit_contexts"] = 2
        self.policy = policy(name, (0.1 * self.random.random(n_arms)).tolist(), **settings)
        self.told = Counter()
        self.names = iter(f"name {number}" for number in range(10 * STEPS))

    def shares(self, count):
        weights = self.random.random(count) + 0.01
        return (weights / weights.sum()).tolist()

    def one_of(self, things):
        return things[int(self.random.integers(len(things)))]

    @property
    def arm(self):
        return self.one_of(self.policy.arms)

    @property
    def at_work(self):
        dropped = self.policy.dropped_contexts
        return [context for context in self.policy.contexts if context not in dropped]

    @property
    def name(self):
        return next(self.names) if self.named else None

    def play(self):
        for _ in range(5):
            decision = self.policy.decide(self.one_of(self.at_work))
            row, column = self.policy.arms.index(decision.arm), self.policy.contexts.index(decision.context)
            assert 0 < decision.probability <= 1
            assert self.policy.learner.problem.available[row, column]
            self.learn(decision.context, decision.arm)

    def learn(self, context, arm, **settings):
        self.policy.update(context, arm, float(self.random.random()), **settings)
        self.told[arm, context] += 1

    def switch(self):
        arm, context = self.one_of([None, self.arm]), self.one_of([None, *self.policy.contexts])
        self.policy.set_available(arm, context, bool(self.random.integers(2)))

    def add_context(self):
        taken_back = self.one_of([*self.policy.dropped_contexts, self.name])
        self.policy.add_context(taken_back, None if self.estimated else 0.3)

    def add_arm(self):
        prior = self.one_of([{}, {"prior_mean": 0.4, "prior_pulls": 0.3}, {"prior_mean": 0.6, "prior_pulls": 7}])
        self.policy.add_arm(self.name, 0.02, **prior)

    def merge(self):
        since = self.policy.snapshot()
        other = restore(since, worker=3)
        decision = other.decide(self.at_work[0])
        other.update(decision.context, decision.arm, 0.5)
        self.policy.merge(other, since=since)
        self.told[decision.arm, decision.context] += 1

    def change_groups(self):
        groups = [group.name for group in self.policy.floors.groups]
        if groups and self.random.random() < 0.5:
            self.policy.remove_group(groups[0])
        elif groups:
            self.policy.set_group(groups[0], arms=[self.arm], floor=0.01)
        else:
            self.policy.add_group("group", [self.arm], 0.02)

    def step(self):
        decider = self.policy
        works = [
            *[self.play] * 6,
            *[self.switch, self.add_context, self.add_arm, self.merge, self.change_groups],
            lambda: self.learn(self.one_of(decider.contexts), self.arm, count_context=True),
            lambda: decider.retire_arm(self.arm),
            lambda: decider.return_arm(self.one_of([*decider.retired_arms, self.arm]), 0.05),
            lambda: decider.drop_context(self.one_of(decider.contexts)),
            lambda: decider.set_context_probabilities(self.shares(len(self.at_work))),
            lambda: decider.set_floor(self.arm, self.one_of([0.0, 0.05])),
            lambda: decider.decide(next(self.names)),
        ]
        before = decider.snapshot()
        work = self.one_of(works)
        try:
            work()
        except ArcbanditError:
            assert work != self.play
            assert decider.snapshot() == before

    def check(self):
        snapshot = json.loads(json.dumps(self.policy.snapshot()))
        twin = restore(snapshot)
        assert twin.snapshot() == snapshot
        for context in self.at_work:
            assert twin.decide(context) == self.policy.decide(context)
        assert twin.snapshot() == self.policy.snapshot()
        assert self.policy.allocation().sum(axis=0) == pytest.approx(1.0, abs=1e-9)
        assert self.policy.learner.problem.context_probabilities.sum() == pytest.approx(1.0, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(POLICIES))
def test_a_policy_stays_sound_whatever_happens_to_it(name, cases):
    """A change is made or refused as a whole, a restored twin decides the same, nothing unavailable is played."""
    for seed in range(cases(4, 100)):
        life = Life(name, seed)
        for step in range(STEPS):
            life.step()
            if step % 4 == 0:
                life.check()
        pulls = life.policy.pulls()
        recount = [[life.told[arm, context] for context in life.policy.contexts] for arm in life.policy.arms]
        assert pulls.tolist() == recount
        assert pulls.sum() == life.policy.snapshot()["statistics"]["rewards"]
