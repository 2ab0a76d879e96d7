"""Policies with more than LARGE_PROBLEM pairs, of which most are unplayed: what they leave out changes no decision."""

import json

import numpy as np
import pytest

from arcbandit import Instance, policy, restore
from arcbandit.kernels.program import ByRow, Count
from arcbandit.kernels.starts import LARGE_PROBLEM
from arcbandit.policies.learner import Outcome, Progress

SHAPE = (21, 100)
PLANNING = ("olp", "oplp", "blp", "thompson-lp", "priced-lp")


def large_instance(tightness=0.5, noise_scale=0.2):
    assert SHAPE[0] * SHAPE[1] > LARGE_PROBLEM
    random = np.random.default_rng(SHAPE)
    means = random.random(SHAPE) + 0.2
    return Instance(
        means, tightness * means.mean(axis=1) / SHAPE[0], np.full(SHAPE[1], 1 / SHAPE[1]), noise_scale=noise_scale
    )


def seen_but_for(deciders, instance, unplayed):
    """Give the policies a reward of each pair but some: arms of contexts, as (arm, context)."""
    random = np.random.default_rng(3)
    log = [
        (decider_context, decider_arm, float(instance.mean_rewards[row, column] + 0.2 * random.normal()))
        for row, decider_arm in enumerate(deciders[0].arms)
        for column, decider_context in enumerate(deciders[0].contexts)
        if (row, column) not in unplayed
    ]
    for decider in deciders:
        decider.update_many(*zip(*log, strict=True))


def played(decider, instance, context, random):
    """One round; return the decision."""
    decision = decider.decide(context)
    row, column = decider.arms.index(decision.arm), decider.contexts.index(context)
    decider.update(context, decision.arm, float(instance.mean_rewards[row, column] + 0.2 * random.normal()))
    return decision


def bases(decider):
    """What later plans start from."""
    planner = decider.learner.planner
    places = [
        (key.tolist(), arms.tolist(), contexts.tolist()) if key.min() >= 0 else key.tolist()
        for key, arms, contexts in zip(planner.key, planner.slot_arm, planner.slot_context, strict=True)
    ]
    return places, planner.workspace.by_row[ByRow.SCALE].tolist()


def assert_round_is_alike(decider, twin, instance, random):
    """Play a round with both, in the same context and with the same noise."""
    context = decider.contexts[int(random.integers(SHAPE[1]))]
    state = random.bit_generator.state
    decision = played(decider, instance, context, random)
    random.bit_generator.state = state
    assert played(twin, instance, context, random) == decision
    assert bases(twin) == bases(decider)
    assert np.array_equal(twin.learner.allocation, decider.learner.allocation)


@pytest.mark.parametrize("name", PLANNING)
def test_no_decision_takes_many_pivots(name):
    """Before the first reward all pairs are alike, and after a few most still are."""
    instance = large_instance()
    decider = policy(name).for_instance(instance, horizon=1000, seed=1)
    random = np.random.default_rng(5)
    pivots = decider.learner.planner.workspace.counts
    for _ in range(50):
        before = int(pivots[Count.PIVOTS])
        played(decider, instance, decider.contexts[int(random.integers(SHAPE[1]))], random)
        assert pivots[Count.PIVOTS] - before <= sum(SHAPE)


@pytest.mark.parametrize("start", ["nothing seen", "a third unplayed", "all seen once"])
@pytest.mark.parametrize("name", PLANNING)
def test_a_restored_policy_decides_alike(name, start):
    """It has no proof of infeasible floors, and looks for one where the other still has it."""
    instance = large_instance()
    decider = policy(name).for_instance(instance, horizon=1000, seed=1)
    random = np.random.default_rng(7)
    if start != "nothing seen":
        share = 0.33 if start == "a third unplayed" else 0.0
        mask = random.random(SHAPE) < share
        mask[:, : SHAPE[1] // 2] = False
        seen_but_for([decider], instance, {(row, column) for row, column in np.argwhere(mask).tolist()})
    for step in range(60):
        if step % 6 == 0:
            twin = restore(json.loads(json.dumps(decider.snapshot())))
        assert_round_is_alike(decider, twin, instance, random)


@pytest.mark.parametrize("name", ["oplp", "blp"])
def test_an_old_proof_gives_the_plans_of_a_search(name):
    """A twin whose proof is taken away before each decision searches each time."""
    instance = large_instance(tightness=0.8)
    decider, twin = (policy(name).for_instance(instance, horizon=1000, seed=1) for _ in range(2))
    unplayed = {(row, column) for row in range(5) for column in range(60, SHAPE[1])}
    seen_but_for([decider, twin], instance, unplayed)
    random = np.random.default_rng(11)
    fell_back = 0
    for _ in range(80):
        twin.learner.planner.workspace.by_row[ByRow.RAY] = 0.0
        assert_round_is_alike(decider, twin, instance, random)
        fell_back += decider.learner.planner.key[0, 0] < 0
    assert (fell_back > 0) == (name == "oplp")


def test_a_place_plans_again_once_its_floors_are_within_reach():
    """A proof that holds no longer is given up, and the plan is that of a policy that never had it."""
    instance = large_instance(tightness=0.3, noise_scale=0.01)
    decider, fresh = (policy("oplp").for_instance(instance, horizon=1000, seed=1) for _ in range(2))
    decider.decide(decider.contexts[0])
    assert decider.learner.planner.key[0, 0] < 0
    fresh.learner.progress[:2] = decider.learner.progress[:2]
    for _ in range(10):
        seen_but_for([decider, fresh], instance, set())
    assert decider.decide(decider.contexts[0]) == fresh.decide(fresh.contexts[0])
    assert decider.learner.planner.key[0, 0] >= 0
    assert np.array_equal(decider.learner.allocation, fresh.learner.allocation)


class TestPricedLPWhileEveryContextHasUnplayedArms:
    def test_plays_unplayed_arms_alike(self):
        instance = large_instance()
        decider = policy("priced-lp").for_instance(instance, horizon=1000, seed=1)
        decider.update(decider.contexts[4], decider.arms[2], 0.5)
        decision = decider.decide(decider.contexts[4])
        assert decision.arm != decider.arms[2]
        expected = np.full(SHAPE, 1 / SHAPE[0])
        expected[:, 4] = 1 / (SHAPE[0] - 1)
        expected[2, 4] = 0.0
        np.testing.assert_allclose(decider.learner.allocation, expected, rtol=1e-15)

    def test_plans_as_soon_as_one_context_has_none(self):
        instance = large_instance()
        decider = policy("priced-lp").for_instance(instance, horizon=1000, seed=1)
        for arm in decider.arms:
            decider.update(decider.contexts[9], arm, 0.5)
        decider.decide(decider.contexts[9])
        column = decider.learner.allocation[:, 9]
        assert column.sum() == pytest.approx(1.0)
        assert np.ptp(column) > 0.1

    def test_tells_that_floors_are_out_of_reach(self):
        instance = large_instance()
        decider = policy("priced-lp", reward_bounds=(0, 1)).for_instance(instance, horizon=1000, seed=1)
        fine = decider.decide(decider.contexts[0])
        decider.set_floor(decider.arms[0], 0.9)
        decider.set_floor(decider.arms[1], 0.9)
        short = decider.decide(decider.contexts[0])
        assert fine.probability == pytest.approx(1 / SHAPE[0])
        assert short.probability == pytest.approx(1 / SHAPE[0])
        assert int(decider.learner.progress[Progress.OUTCOME]) & Outcome.FELL_SHORT
