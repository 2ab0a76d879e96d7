"""Two workers merged know what one would that saw both of their logs."""

import json
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcbandit import BLP, OLP, policy
from arcbandit.errors import InvalidInputError
from arcbandit.kernels.confidence import ByPair
from arcbandit.policies.registry import POLICIES, restore

WITH_MEMORY = ["optimistic3", "loe2d", "lagrange-cb", "drift-plus-penalty", "bandit-q"]
WITHOUT_MEMORY = sorted(set(POLICIES) - set(WITH_MEMORY))
PATIENCE = 20.0


def made(name="blp", **changes):
    told = {"arms": ["a", "b"], "contexts": ["x", "y", "z"], "horizon": 500, "seed": 3} | changes
    return policy(name, [0.05, 0.05], **told)


def work(worker, rounds, seed, *others):
    """Decide and learn; others are told of it as if from a log."""
    random = np.random.default_rng(seed)
    for _ in range(rounds):
        context = int(random.integers(3))
        arm = worker.decide(context).arm
        reward = float(random.normal(0.3, 2.0))
        worker.update(context, arm, reward)
        for other in others:
            other.update(context, arm, reward, count_context=True)


def assert_alike(merged, one, decisions):
    """All counts exactly, means up to rounding."""
    found, wanted = merged.snapshot()["statistics"], one.snapshot()["statistics"]
    assert (merged.pulls() == one.pulls()).all()
    assert found["context_counts"] == wanted["context_counts"]
    assert found["rewards"] == wanted["rewards"]
    assert found["decisions"] == decisions
    ours, theirs = (np.array(part["by_pair"]) for part in (found, wanted))
    assert ours[ByPair.MEAN] == pytest.approx(theirs[ByPair.MEAN], rel=1e-12, abs=1e-12)
    assert (ours[ByPair.INVERSE_ROOT] == theirs[ByPair.INVERSE_ROOT]).all()
    mix = [part.learner.problem.context_probabilities for part in (merged, one)]
    assert mix[0] == pytest.approx(mix[1], rel=1e-12)
    assert restore(json.loads(json.dumps(merged.snapshot()))).snapshot() == merged.snapshot()


class TestAddingUp:
    @pytest.mark.parametrize("name", WITHOUT_MEMORY)
    def test_two_workers_are_as_one_that_saw_both_logs(self, name):
        first, second, one = made(name, worker=1), made(name, worker=2), made(name)
        work(first, 150, 1, one)
        work(second, 100, 2, one)
        first.merge(second)
        assert_alike(first, one, decisions=250)
        decision = first.decide("x")
        assert decision.decision_number == 251
        assert decision.probability > 0

    @pytest.mark.parametrize("name", WITHOUT_MEMORY)
    def test_what_both_started_from_counts_once(self, name):
        one = made(name)
        work(one, 80, 0)
        since = json.loads(json.dumps(one.snapshot()))
        first, second = (restore(since, worker=worker) for worker in (1, 2))
        work(first, 150, 1, one)
        work(second, 100, 2, one)
        first.merge(second, since=since)
        assert_alike(first, one, decisions=80 + 250)

    def test_many_workers_merge_one_by_one(self):
        """Each with what it learnt since the common snapshot."""
        one = made()
        work(one, 50, 9)
        since = one.snapshot()
        workers = [restore(since, worker=number + 1) for number in range(5)]
        for seed, worker in enumerate(workers):
            work(worker, 60, seed, one)
        for worker in workers[1:]:
            workers[0].merge(worker.snapshot(), since=since)
        assert_alike(workers[0], one, decisions=50 + 300)

    def test_a_prior_counts_once(self):
        first, second, one = made(worker=1), made(worker=2), made()
        for decider in (first, second, one):
            decider.add_arm("c", prior_mean=[0.1, 0.2, 0.3], prior_pulls=2.5)
        work(first, 150, 1, one)
        work(second, 100, 2, one)
        assert first.pulls()[2].sum() > 0
        first.merge(second)
        assert_alike(first, one, decisions=250)

    def test_arms_and_contexts_may_have_come_since(self):
        one = made()
        work(one, 50, 0)
        since = one.snapshot()
        first, second = (restore(since, worker=worker) for worker in (1, 2))
        for decider in (first, second, one):
            decider.add_arm("c", prior_mean=0.5, prior_pulls=3)
            decider.add_context("new")
        work(first, 60, 1, one)
        work(second, 60, 2, one)
        first.merge(second, since=since)
        assert_alike(first, one, decisions=50 + 120)

    def test_each_keeps_its_own_room_for_new_contexts(self):
        first, second = made(admit_contexts=1), made(admit_contexts=3)
        first.add_context("p")
        first.decide("q")
        second.decide_many(["p", "q"])
        first.merge(second)
        assert first.pulls().sum() == 0
        assert first.learner.statistics.context_counts.tolist() == [0, 0, 0, 1, 2]
        assert restore(first.snapshot()).snapshot() == first.snapshot()
        with pytest.raises(InvalidInputError, match="1 came before, 1 would come now, and admit_contexts is 1"):
            first.decide("r")

    def test_what_only_one_saw_stays_to_the_last_bit(self):
        first, second = OLP([0.1], [0.5, 0.5]), OLP([0.1], [0.5, 0.5])
        first.update_many([0] * 3, [0] * 3, [0.1, 0.2, 0.4])
        second.update_many([1] * 3, [0] * 3, [0.1, 0.7, 0.4])
        means = [
            float(decider.learner.statistics.by_pair[ByPair.MEAN, 0, column])
            for column, decider in enumerate((first, second))
        ]
        first.merge(second)
        assert first.learner.statistics.by_pair[ByPair.MEAN, 0].tolist() == means

    @settings(deadline=None, max_examples=40)
    @given(
        rewards=st.tuples(*[st.lists(st.floats(-1e6, 1e6), max_size=20)] * 3),
        offset=st.sampled_from([0.0, 1e6]),
    )
    def test_sums_add_up_whatever_the_rewards(self, rewards, offset):
        """Common, ours and theirs; up to 1e-12 of the largest reward."""
        common, ours, theirs = ([value + offset for value in values] for values in rewards)
        one = OLP([0.1], [1.0])
        one.update_many([0] * len(common), [0] * len(common), common)
        since = one.snapshot()
        first, second = restore(since), restore(since)
        for decider, values in ((first, ours), (second, theirs)):
            decider.update_many([0] * len(values), [0] * len(values), values)
        first.merge(second, since=since)
        together = common + ours + theirs
        size = max(map(abs, together), default=0.0)
        assert first.pulls().tolist() == [[len(together)]]
        mean = float(first.learner.statistics.by_pair[ByPair.MEAN, 0, 0])
        assert mean == pytest.approx(np.mean(together) if together else 0.0, rel=0, abs=1e-12 * size)

    def test_the_next_plan_is_made_of_both(self):
        first, second = (BLP([0.0, 0.0], [1.0], noise_scale=0.01, replan="doubling", seed=1) for _ in range(2))
        for _ in range(100):
            first.update(0, first.decide(0).arm, 0.5)
        second.update_many([0] * 200, [1] * 200, [1.0] * 200)
        first.merge(second)
        first.decide(0)
        assert first.allocation()[:, 0].tolist() == [0.0, 1.0]


class TestRefusing:
    @pytest.mark.parametrize("name", WITH_MEMORY)
    def test_rules_that_keep_more_are_refused_by_name(self, name):
        first, second = (made(name, reward_bounds=(0, 1)) for _ in range(2))
        with pytest.raises(InvalidInputError, match="cannot be merged: what it keeps from round to round"):
            first.merge(second)

    @pytest.mark.parametrize(
        ("other", "words"),
        [
            (lambda: made("olp"), "other must be of class BLP, got OLP"),
            (lambda: made("olp").snapshot(), "snapshot must be of a policy 'blp', got 'olp'"),
            (lambda: made(arms=["a", "c"]), "other must have the same arms in the same order, got 'c' instead of 'b'"),
            (lambda: made(contexts=["y", "x", "z"]), "the same contexts in the same order, got 'y' instead of 'x'"),
            (lambda: made(contexts=["x", "y"]), "the same contexts in the same order, got 2 instead of 3"),
            (lambda: 7, "other must be a policy or a snapshot of one, got 7"),
        ],
    )
    def test_another_problem_is_refused(self, other, words):
        decider = made()
        work(decider, 20, 0)
        before = decider.snapshot()
        with pytest.raises(InvalidInputError, match=words):
            decider.merge(other())
        with pytest.raises(InvalidInputError, match="the policy itself"):
            decider.merge(decider)
        assert decider.snapshot() == before

    def test_other_priors_are_refused(self):
        first, second = made(), made()
        first.add_arm("c", prior_mean=0.5, prior_pulls=1)
        second.add_arm("c", prior_mean=0.5, prior_pulls=2)
        with pytest.raises(InvalidInputError, match="the same priors"):
            first.merge(second)

    def test_a_snapshot_that_was_not_the_start_is_refused(self):
        first, second, stranger = made(), made(), made()
        work(first, 60, 1)
        work(second, 60, 2)
        work(stranger, 100, 3)
        before = first.snapshot()
        with pytest.raises(InvalidInputError, match="since must be a snapshot from which both policies went on"):
            first.merge(second, since=stranger)
        early = made()
        early.update("x", "a", 55.0)
        untouched = made()
        untouched.update("x", "a", 1.0)
        with pytest.raises(InvalidInputError, match="since must be a snapshot"):
            untouched.merge(second, since=early)
        with pytest.raises(InvalidInputError, match="since must be a policy or a snapshot of one"):
            first.merge(second, since=[])
        assert first.snapshot() == before

    def test_rewards_beyond_the_bounds_are_refused(self):
        first, second = made(reward_bounds=(0, 1)), made(reward_bounds=(0, 10))
        second.update("x", "a", 5.0)
        before = first.snapshot()
        with pytest.raises(InvalidInputError, match="other must have the same reward_bounds"):
            first.merge(second)
        assert first.snapshot() == before


def test_two_may_merge_each_other_at_once():
    """Neither waits for the other while it is locked itself."""
    first, second = made(), made()
    work(first, 20, 1)
    work(second, 20, 2)
    start = threading.Barrier(2)

    def merge(one, other):
        start.wait()
        for _ in range(10):
            one.merge(other)

    threads = [threading.Thread(target=merge, args=pair, daemon=True) for pair in ((first, second), (second, first))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert restore(first.snapshot()).snapshot() == first.snapshot()
