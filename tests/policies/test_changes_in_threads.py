"""Threads decide and learn while another one changes the policy: a recount in the end finds everything."""

import sys
import threading
from collections import Counter, defaultdict

import numpy as np
import pytest

from arcbandit import policy
from arcbandit.errors import InvalidInputError
from arcbandit.kernels.confidence import ByPair
from arcbandit.policies.registry import restore

THREADS = 4
TURNS = 3  # of switching each thing off and on
PATIENCE = 120.0
ARMS, CONTEXTS = ["a", "b", "c", "d"], ["w", "x", "y", "z"]


class Shared:
    """A policy that threads use at once, what they decided and learnt, and when what was switched off."""

    def __init__(self, decider, per_thread, turns):
        self.policy = decider
        self.per_thread = per_thread
        self.decisions = []
        self.rewards = defaultdict(list)  # by arm and context
        self.refused = []  # what was said
        self.spans = []  # (arm or None, context or None, first and last decision in which it must not be played)
        self.errors = []
        self.allowed = 0 if turns else per_thread  # steps of each thread: otherwise the changes might come too late
        self.turns = turns
        self.lock = threading.Lock()

    def work(self, number, contexts):
        random = np.random.default_rng(number)
        waiting = []
        for step in range(self.per_thread):
            while step >= self.allowed:
                threading.Event().wait(0.0002)
            context = contexts[int(random.integers(len(contexts)))]
            try:
                decision = self.policy.decide(context)
            except InvalidInputError as error:
                with self.lock:
                    self.refused.append(str(error))
                continue
            reward = float(random.random())
            with self.lock:
                self.decisions.append(decision)
                self.rewards[decision.arm, context].append(reward)
            if step % 3:
                self.policy.update(context, decision.arm, reward)
            else:  # late, and many at once
                waiting.append((context, decision.arm, reward))
        self.policy.update_many(*zip(*waiting, strict=True))

    def decided(self):
        return self.policy.snapshot()["statistics"]["decisions"]

    def while_off(self, arm, context, off, on):
        """Switch something off, let the others decide, switch it on again; note which decisions lay between."""
        off()
        first = self.decided() + 1
        self.wait()
        last = self.decided()
        on()
        self.spans.append((arm, context, first, last))

    def wait(self):
        """Let the others decide some more, and go on while they do."""
        made = len(self.decisions)
        self.allowed += self.per_thread // (4 * self.turns)
        while len(self.decisions) < made + 20 and not self.errors:
            threading.Event().wait(0.0002)

    def change(self, number, _):
        decider = self.policy
        estimated = decider.estimate_contexts
        share = {} if estimated else {"probability": 0.2}
        for turn in range(self.turns):
            self.while_off(
                "a", "w", lambda: decider.set_available("a", "w", False), lambda: decider.set_available("a", "w", True)
            )
            self.while_off("b", None, lambda: decider.retire_arm("b"), lambda: decider.return_arm("b", 0.02))
            self.while_off(None, "z", lambda: decider.drop_context("z"), lambda: decider.add_context("z", **share))
            if not estimated:
                decider.set_context_probabilities({"w": 0.4, "x": 0.3, "y": 0.2, "z": 0.1})
            if decider.configuration.kind.supports_group_floors:
                decider.add_group(f"group {turn}", ["a", "b"], 0.05)
                self.wait()
                decider.set_group(f"group {turn}", arms=["c"], floor=0.01)
                decider.remove_group(f"group {turn}")
            if turn == 0:
                decider.add_arm("new", prior_mean=0.5, prior_pulls=2.5)
            restored = restore(decider.snapshot())
            assert restored.decide("x").probability > 0

    def run(self, work, *arguments):
        try:
            work(*arguments)
        except Exception as error:  # noqa: BLE001 - reported by the main thread
            self.errors.append(repr(error))
        finally:
            if work == self.change:
                self.allowed = self.per_thread


def run_all(shared, contexts, *, changed=True):
    works = [(shared.work, number, contexts) for number in range(THREADS)]
    works += [(shared.change, 0, contexts)] if changed else []
    threads = [threading.Thread(target=shared.run, args=work, daemon=True) for work in works]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()
    finally:
        sys.setswitchinterval(interval)
    assert shared.errors == []


def recount(shared):
    """Pulls, means, contexts and numbers of decisions are those that the threads have written down."""
    decider = shared.policy
    arms, contexts = list(decider.arms), list(decider.contexts)
    pulls = np.zeros((len(arms), len(contexts)))
    sums = np.zeros_like(pulls)
    for (arm, context), rewards in shared.rewards.items():
        pulls[arms.index(arm), contexts.index(context)] = len(rewards)
        sums[arms.index(arm), contexts.index(context)] = sum(rewards)
    assert (decider.pulls() == pulls).all()
    n, means = (decider.learner.statistics.by_pair[row] for row in (ByPair.PULLS, ByPair.MEAN))
    prior = n - pulls
    assert n * means == pytest.approx(sums + 0.5 * prior, rel=1e-9, abs=1e-9)
    counted = Counter(decision.context for decision in shared.decisions)
    assert decider.learner.statistics.context_counts.tolist() == [counted[context] for context in contexts]
    numbers = sorted(decision.decision_number for decision in shared.decisions)
    assert numbers == list(range(1, len(numbers) + 1))
    assert all(0 < decision.probability <= 1 for decision in shared.decisions)
    snapshot = decider.snapshot()
    assert restore(snapshot).snapshot() == snapshot


@pytest.mark.slow
@pytest.mark.parametrize("estimated", [False, True])
@pytest.mark.parametrize("name", ["blp", "thompson-lp", "optimistic3", "bandit-q", "doc"])
def test_nothing_is_lost_and_nothing_off_is_played(name, estimated):
    """Four threads of 400 decisions each, with late rewards, and one that changes what can be changed."""
    mix = {} if estimated else {"context_probabilities": [0.25] * 4}
    decider = policy(name, [0.02] * 4, arms=ARMS, contexts=CONTEXTS, reward_bounds=(0, 1), horizon=2000, seed=1, **mix)
    shared = Shared(decider, 400, turns=TURNS)
    run_all(shared, CONTEXTS)
    recount(shared)
    assert len(shared.decisions) + len(shared.refused) == THREADS * 400
    assert all("context 'z' was dropped" in words for words in shared.refused)
    assert len(shared.spans) == 3 * TURNS
    between = 0
    for arm, context, first, last in shared.spans:
        for decision in shared.decisions:
            if first <= decision.decision_number <= last:
                between += 1
                assert arm not in (None, decision.arm) or context not in (None, decision.context)
    assert between >= 3 * TURNS * 15


@pytest.mark.slow
def test_threads_that_bring_the_same_new_context_bring_it_once():
    decider = policy("blp", [0.02] * 4, arms=ARMS, contexts=["w"], admit_contexts=20, seed=1)
    shared = Shared(decider, 200, turns=0)
    names = [f"context {number}" for number in range(20)]
    run_all(shared, ["w", *names], changed=False)
    recount(shared)
    assert sorted(decider.contexts) == sorted(["w", *names])
    with pytest.raises(InvalidInputError, match="20 came before"):
        decider.decide("one more")
