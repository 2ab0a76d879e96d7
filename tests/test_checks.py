"""The checks that anyone can run on a policy: ours pass them all, and each finds the fault it is there for."""

import enum

import numpy as np
import pytest

from arcbandit import checks
from arcbandit.errors import InvalidInputError
from arcbandit.policies.registry import POLICIES, own_policies
from arcbandit.rules import Outcome, Policy, Rows, kernel, play_alike


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(own_policies()))
@pytest.mark.parametrize("check", checks.COMPILED, ids=lambda check: check.__name__)
def test_every_policy_passes(name, check):
    check(POLICIES[name])


@kernel
def play_anything(learner, context, t, stream):
    play_alike(learner.problem.available, learner.allocation)
    return Outcome.PLANNED


@kernel
def play_too_much(learner, context, t, stream):
    play_alike(learner.problem.available, learner.allocation)
    learner.allocation[0, 0] += 0.5
    return Outcome.PLANNED


@kernel
def play_only_the_first(learner, context, t, stream):
    for column in range(learner.allocation.shape[1]):
        for arm in range(learner.allocation.shape[0]):
            learner.allocation[arm, column] = 1.0 if arm == 0 else 0.0
    return Outcome.PLANNED


class Scratch(enum.IntEnum):
    COUNT = 0


@kernel
def count_in_scratch(learner, context, t, stream):
    play_alike(learner.problem.available, learner.allocation)
    learner.memory.scratch_by_arm[Scratch.COUNT, 0] += 1.0
    if learner.memory.scratch_by_arm[Scratch.COUNT, 0] > 30.0 and learner.allocation.shape[0] > 1:
        share = learner.allocation[0, context]
        learner.allocation[0, context] = 0.5 * share
        learner.allocation[1, context] += 0.5 * share
    return Outcome.PLANNED


class Even(Policy):
    """Plays every arm alike."""

    name = "even"
    allocate = staticmethod(play_anything)


class TooMuch(Even):
    """Its shares sum to more than 1."""

    allocate = staticmethod(play_too_much)


class OnlyTheFirst(Even):
    """Plays the first arm, available or not."""

    allocate = staticmethod(play_only_the_first)


class Forgetful(Even):
    """Remembers in scratch, which no snapshot holds."""

    allocate = staticmethod(count_in_scratch)
    rows = Rows(scratch_by_arm=Scratch)


class Unsaid(Even):
    allocate = staticmethod(play_anything)


@pytest.mark.slow
def test_a_sound_rule_passes():
    checks.check_policy(Even)
    checks.check_policy(Even())


@pytest.mark.parametrize(
    ("kind", "check", "message"),
    [
        (TooMuch, checks.check_shares_are_a_distribution, "sum to 1"),
        (OnlyTheFirst, checks.check_shares_are_a_distribution, "not available"),
        (OnlyTheFirst, checks.check_changes_while_running, "retired|not available"),
        (Forgetful, checks.check_snapshot_goes_on_as_the_original, "must decide as the original"),
        (Unsaid, checks.check_says_what_it_is, "docstring"),
    ],
)
def test_a_faulty_rule_is_found(kind, check, message):
    Unsaid.__doc__ = None
    with pytest.raises(AssertionError, match=message):
        check(kind)


class PlainEven:
    """Plays every arm alike."""

    name = "plain-even"

    def begin(self, problem, seed):
        self.shares = problem.available / problem.available.sum(axis=0)

    def allocate(self, context):
        return self.shares

    def learn(self, context, arm, reward):
        pass


class Lingering(PlainEven):
    """Learns, and does not forget."""

    seen = 0

    def allocate(self, context):
        return np.roll(self.shares * (1 + 0 * self.seen), 1, axis=0) if self.seen > 40 else self.first()

    def first(self):
        shares = np.zeros_like(self.shares)
        shares[0] = 1.0
        return shares

    def learn(self, context, arm, reward):
        self.seen += 1


class Blind(PlainEven):
    """Does not look at what is available."""

    def begin(self, problem, seed):
        self.shares = np.full(problem.shape, 1.0 / problem.shape[0])


class Scribbler(PlainEven):
    """Writes to what it is told."""

    def begin(self, problem, seed):
        super().begin(problem, seed)
        problem.context_probabilities[:] = 0.0


def test_a_sound_object_passes():
    checks.check_policy(PlainEven())


@pytest.mark.parametrize(
    ("kind", "check", "message"),
    [
        (Lingering, checks.check_begins_afresh, "forget everything"),
        (Blind, checks.check_masks, "not available"),
        (Scribbler, checks.check_begins_afresh, "must not be written to"),
    ],
)
def test_a_faulty_object_is_found(kind, check, message):
    with pytest.raises(AssertionError, match=message):
        check(kind())


@pytest.mark.parametrize("given", [3, "olp", PlainEven, None])
def test_only_policies_can_be_checked(given):
    with pytest.raises(InvalidInputError, match="policy must be"):
        checks.checks_of(given)
