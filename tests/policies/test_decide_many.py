"""Many decisions at once are the ones that would have been made one after the other."""

import json

import numpy as np
import pytest

from arcbandit import BLP, OLP, Decision, policy, restore
from arcbandit.errors import InvalidInputError, UnknownNameError
from arcbandit.policies.registry import POLICIES
from tests.recorded.plays import random_instance

INSTANCE = random_instance(4, 5, seed=3)
EVERY_POLICY = sorted(POLICIES)
PLANNING = [name for name, kind in POLICIES.items() if kind.plans]


def play_both(name, **settings):
    """A policy that decides in batches and its twin that decides one by one, through rewards late and at once."""
    random = np.random.default_rng(4)
    many, one = (policy(name, **settings).for_instance(INSTANCE, horizon=2000, seed=9, epoch=2) for _ in range(2))
    for size in (1, 7, 40, 1, 120, 0, 33):
        contexts = random.integers(INSTANCE.n_contexts, size=size).tolist()
        together = many.decide_many(contexts)
        singly = [one.decide(context) for context in contexts]
        assert list(together) == singly
        assert many.allocation().tobytes() == one.allocation().tobytes()
        assert many.snapshot() == one.snapshot()
        rows = [INSTANCE.arms.index(decision.arm) for decision in singly]
        rewards = INSTANCE.mean_rewards[rows, contexts] + 0.3 * random.normal(size=size)
        for decider in (many, one):
            decider.update_many(contexts, rows, rewards.tolist())
    return many


@pytest.mark.parametrize("estimate", [False, True], ids=["known", "estimated"])
@pytest.mark.parametrize("name", EVERY_POLICY)
def test_a_batch_is_decided_as_one_by_one(name, estimate):
    """Bit for bit: the decisions, the allocation, and everything that a snapshot holds."""
    played = play_both(name, estimate_contexts=estimate)
    assert played.snapshot()["statistics"]["decisions"] == 202


@pytest.mark.parametrize("estimate", [False, True], ids=["known", "estimated"])
@pytest.mark.parametrize("replan", [5, "doubling"])
@pytest.mark.parametrize("name", PLANNING)
def test_so_is_one_that_does_not_plan_each_time(name, replan, estimate):
    """The rounds in which it plans again lie within the batches."""
    play_both(name, replan=replan, estimate_contexts=estimate)


def test_a_batch_goes_on_from_a_snapshot():
    many = play_both("thompson-lp")
    twin = restore(json.loads(json.dumps(many.snapshot())))
    assert list(twin.decide_many([0, 1, 2, 3, 4])) == list(many.decide_many([0, 1, 2, 3, 4]))


class TestWhatIsReturned:
    @staticmethod
    def named():
        return BLP([0.1, 0.1, 0.1], [0.5, 0.5], arms=["a", "b", "c"], contexts=["x", "y"], seed=3)

    def test_names_are_those_of_single_decisions(self):
        """Contexts as they were given, by name or by index."""
        contexts = ["x", 1, "y", 0, np.int64(1)]
        found = self.named().decide_many(contexts)
        other = self.named()
        assert list(found) == [other.decide(context) for context in contexts]
        assert {decision.arm for decision in found} <= {"a", "b", "c"}
        assert [decision.context for decision in found] == contexts
        unnamed = BLP([0.1, 0.1], [0.5, 0.5]).decide_many([0, 1])
        assert all(type(decision.arm) is int for decision in unnamed)

    def test_it_is_a_sequence(self):
        found = self.named().decide_many(["x", "y"] * 10)
        every = list(found)
        assert len(found) == len(every) == 20
        assert all(type(decision) is Decision for decision in every)
        assert found[0] == every[0]
        assert found[19] == found[-1] == every[-1]
        assert found[-20] == every[0]
        assert every[3] in found
        assert found.index(every[3]) == 3
        assert list(reversed(found)) == every[::-1]
        for place in (20, -21):
            with pytest.raises(IndexError):
                found[place]
        with pytest.raises(TypeError):
            found["x"]

    @pytest.mark.parametrize(
        "part",
        [slice(None), slice(3, 9), slice(-4, None), slice(None, None, -1), slice(15, 99), slice(9, 3), slice(1, 18, 5)],
    )
    def test_slices_are_lists_of_decisions(self, part):
        found = self.named().decide_many(["x", "y"] * 10)
        assert found[part] == list(found)[part]

    def test_the_arrays_behind_it_say_the_same(self):
        decider = self.named()
        decider.decide("x")
        found = decider.decide_many(["x", "y"] * 10)
        assert found.arms.tolist() == [decider.arms.index(decision.arm) for decision in found]
        assert found.probabilities.tolist() == [decision.probability for decision in found]
        assert found.round_numbers.tolist() == [decision.round_number for decision in found] == list(range(2, 22))
        assert [decision.decision_number for decision in found] == list(range(2, 22))
        assert repr(found) == "<20 decisions>"

    def test_it_does_not_change_with_the_policy_or_the_list(self):
        decider, contexts = self.named(), ["x", "y", "x"]
        found = decider.decide_many(contexts)
        before = list(found)
        contexts[0] = "y"
        decider.add_arm("d")
        decider.decide_many(["x"] * 50)
        assert list(found) == before

    def test_numbers_go_on_from_one_batch_to_the_next(self):
        decider = OLP([0.1, 0.1], [0.5, 0.5])
        numbers = [decision.decision_number for size in (2, 3, 1) for decision in decider.decide_many([0] * size)]
        numbers.append(decider.decide(1).decision_number)
        assert numbers == [1, 2, 3, 4, 5, 6, 7]

    def test_any_iterable_will_do(self):
        decider = OLP([0.1, 0.1], [0.5, 0.5])
        for contexts in ((0, 1), np.array([0, 1]), iter([0, 1]), (context for context in (0, 1)), range(2)):
            assert [decision.context for decision in decider.decide_many(contexts)] == [0, 1]


class TestNothingIsDecided:
    @pytest.mark.parametrize("empty", [[], (), np.zeros(0, dtype=int), iter([])])
    def test_without_contexts(self, empty):
        decider = OLP([0.1, 0.1], [0.5, 0.5], seed=1)
        before = decider.snapshot()
        found = decider.decide_many(empty)
        assert len(found) == 0
        assert list(found) == found[:] == []
        with pytest.raises(IndexError):
            found[0]
        assert decider.snapshot() == before

    @pytest.mark.parametrize("name", EVERY_POLICY)
    @pytest.mark.parametrize("bad", ["nowhere", -1, 5, 1.5, True, None])
    @pytest.mark.parametrize("place", [0, 2])
    def test_where_one_context_is_bad(self, name, bad, place):
        decider = policy(name).for_instance(INSTANCE, horizon=100, seed=1)
        before = decider.snapshot()
        contexts = [0, 1, 2]
        contexts[place] = bad
        with pytest.raises(UnknownNameError, match="no context"):
            decider.decide_many(contexts)
        assert decider.snapshot() == before

    @pytest.mark.parametrize("contexts", ["x", 3, None, 1.5, np.float64(1.0), np.array(1)])
    def test_where_contexts_are_no_sequence(self, contexts):
        decider = OLP([0.1, 0.1], [0.5, 0.5], contexts=["x", "y"])
        before = decider.snapshot()
        with pytest.raises(InvalidInputError, match="contexts must be a sequence of contexts"):
            decider.decide_many(contexts)
        assert decider.snapshot() == before

    def test_where_the_contexts_break_off(self):
        decider = OLP([0.1, 0.1], [0.5, 0.5])
        before = decider.snapshot()

        def breaks_off():
            yield 0
            raise OSError("the log ended")

        with pytest.raises(OSError, match="ended"):
            decider.decide_many(breaks_off())
        assert decider.snapshot() == before
