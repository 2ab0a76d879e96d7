"""Policies that forget: the count of a pair is a sum of weights that halve every half-life."""

import json
import math

import numpy as np
import pytest

from arcbandit import (
    BLP,
    DOC,
    OLP,
    OPLP,
    Drift,
    Greedy,
    Instance,
    InvalidInputError,
    ThompsonLP,
    paper_instance,
    policy,
    restore,
    simulate,
    solve_lp,
)
from arcbandit.kernels.confidence import ByPair
from arcbandit.kernels.fading import LEAST_PULLS, block_of, share_of
from arcbandit.simulation.delays import Delay
from arcbandit.simulation.epoch import play_task
from tests.long import each_of
from tests.policies.earlier import before_changes
from tests.simulation.twins import Twin, make_task, play_beside

NU = paper_instance("nu")


@pytest.mark.parametrize("kind", each_of([OPLP, ThompsonLP], [OLP, OPLP, BLP, Greedy, ThompsonLP]))
@pytest.mark.parametrize(
    "settings",
    each_of([{"replan": 7, "estimate_contexts": True}], [{}, {"replan": 7}, {"estimate_contexts": True}]),
    ids=str,
)
@pytest.mark.parametrize("delay", each_of([Delay(mean=10, lost=0.1)], [None, Delay(mean=10, lost=0.1)]))
def test_the_loop_forgets_as_a_policy_at_work_does(kind, settings, delay):
    play_beside(make_task(kind(memory=40, **settings), NU, 300, delay=delay))


@pytest.mark.parametrize("half_life", [1, 5, 40, 333.3])
def test_counts_and_means_are_those_of_weighted_rewards(half_life):
    """A recount with a weight for each reward: one that is b blocks of rounds old weighs share^b."""
    decider = OLP([0.1, 0.1], [0.5, 0.5], memory=half_life, seed=3)
    random = np.random.default_rng(1)
    block, share = block_of(half_life), share_of(half_life)
    weights, sums = np.zeros((2, 2)), np.zeros((2, 2))
    for t in range(1, 501):
        if t % block == 0:
            lowered = np.where(weights > 0, np.maximum(weights * share, np.minimum(weights, LEAST_PULLS)), 0.0)
            sums *= np.divide(lowered, weights, out=np.zeros((2, 2)), where=weights > 0)
            weights = lowered
        context = int(random.integers(2))
        arm = decider.decide(context).arm
        reward = float(random.normal())
        decider.update(context, arm, reward)
        weights[arm, context] += 1.0
        sums[arm, context] += reward
        np.testing.assert_allclose(decider.pulls(), weights, rtol=1e-9)
    means = decider.learner.statistics.by_pair[ByPair.MEAN]
    np.testing.assert_allclose(means, sums / weights, rtol=1e-7, atol=1e-9)


def test_a_reward_weighs_half_after_its_half_life():
    """Up to a block of a sixteenth of it."""
    decider = OLP([0.0], [1.0], memory=160)
    decider.update(0, 0, 1.0)
    decider.decide_many([0] * 159)
    assert decider.pulls()[0, 0] == pytest.approx(0.5, rel=0.05)
    decider.decide_many([0] * 160)
    assert decider.pulls()[0, 0] == pytest.approx(0.25, rel=0.05)


def test_rewards_of_a_log_grow_old_by_the_log():
    """Without a decision in between: in one batch or one by one, the last rewards weigh most."""
    batch, single = OLP([0.0], [1.0], memory=32), OLP([0.0], [1.0], memory=32)
    rewards = [0.0] * 300 + [1.0] * 32
    batch.update_many([0] * 332, [0] * 332, rewards)
    for reward in rewards:
        single.update(0, 0, reward)
    assert (batch.learner.statistics.by_pair == single.learner.statistics.by_pair).all()
    assert batch.learner.statistics.by_pair[ByPair.MEAN, 0, 0] == pytest.approx(0.5, abs=0.03)


def test_a_batch_of_decisions_is_the_same_as_one_by_one():
    many, single = BLP([0.1, 0.1], [0.5, 0.5], memory=20, seed=2), BLP([0.1, 0.1], [0.5, 0.5], memory=20, seed=2)
    for decider in (many, single):
        decider.update_many([0, 0, 1, 1] * 5, [0, 1, 0, 1] * 5, [1.0, 0.5, 0.2, 0.3] * 5)
    contexts = [0, 1, 1, 0, 1] * 30
    arms = [decision.arm for decision in many.decide_many(contexts)]
    assert arms == [single.decide(context).arm for context in contexts]
    assert (many.pulls() == single.pulls()).all()


def test_a_pair_that_is_never_played_again_keeps_a_little():
    """So that its bounds stay finite: 32 times as wide as after one reward."""
    decider = Greedy([0.0, 0.0], [1.0], memory=1, seed=1)
    decider.update_many([0, 0], [0, 1], [1.0, 0.0])
    for _ in range(500):
        decision = decider.decide(0)
        decider.update(0, decision.arm, 1.0)
    pulls, roots = decider.learner.statistics.by_pair[[ByPair.PULLS, ByPair.INVERSE_ROOT]]
    assert pulls[1, 0] == LEAST_PULLS
    assert roots[1, 0] == 32.0
    assert np.isfinite(decider.allocation()).all()


@pytest.mark.parametrize("name", ["olp", "oplp"])
@pytest.mark.parametrize("shape", [(4, 6), (5, 300)], ids=["few", "many"])
def test_every_plan_is_the_one_planned_afresh(name, shape):
    """What the planner keeps from round to round takes in that all counts have fallen."""
    random = np.random.default_rng(5)
    means = random.random(shape)
    mix = np.full(shape[1], 1 / shape[1])
    floors = 0.5 * (mix * means * random.dirichlet(np.ones(shape[0]), shape[1]).T).sum(axis=1)
    instance = Instance(means, floors, mix, noise_scale=0.02)
    decider = policy(name, memory=1000 if shape[1] == 6 else 32_000).for_instance(instance, seed=1)
    for arm, context in np.ndindex(shape):
        for _ in range(20):
            decider.update(context, arm, means[arm, context] + 0.02 * random.normal())
    block = block_of(decider.memory)
    compared = 0
    for step in range(1, 4 * block):
        t = decider.round_number
        context = int(random.integers(shape[1]))
        decision = decider.decide(context)
        if t % block < 3 or step % 100 == 0:
            by_pair = decider.learner.statistics.by_pair
            radius = 0.02 * math.sqrt(2 * math.log(2 * means.size * t)) * by_pair[ByPair.INVERSE_ROOT]
            high, low = by_pair[ByPair.MEAN] + radius, by_pair[ByPair.MEAN] - radius
            own = solve_lp(high, low if name == "oplp" else high, floors, mix, on_infeasible="least_shortfall")
            wanted = own if own.status == 0 else solve_lp(high, high, floors, mix, on_infeasible="least_shortfall")
            np.testing.assert_allclose(decider.allocation(), wanted.allocation, atol=1e-8)
            compared += 1
        arm = instance.arms.index(decision.arm)
        decider.update(context, arm, means[arm, context] + 0.02 * random.normal())
    assert compared > 8


def test_it_forgets_while_pairs_are_still_to_be_played():
    """Where the planner keeps what is known of unplayed pairs: a twin restored in between plays the same."""
    instance = Instance(np.random.default_rng(0).random((8, 150)), np.full(8, 0.01), np.full(150, 1 / 150))
    task = make_task(OLP(memory=200), instance, 3000)
    played = play_task(task)
    twin = Twin(task)
    for t in range(1, 3001):
        if t % 400 == 37:
            twin.decider = restore(json.loads(json.dumps(twin.decider.snapshot())))
        twin.play(t)
    assert (played.learner.statistics.by_pair == twin.decider.learner.statistics.by_pair).all()
    assert (played.learner.allocation == twin.decider.allocation()).all()


@pytest.mark.parametrize("kind", [BLP, ThompsonLP])
def test_goes_on_from_a_snapshot_as_it_would_have(kind):
    original = kind([0.1, 0.1], [0.5, 0.5], memory=25, seed=4)
    for step in range(60):
        decision = original.decide(step % 2)
        original.update(step % 2, decision.arm, 0.1 * step)
    copy = restore(json.loads(json.dumps(original.snapshot())))
    assert copy.memory == 25.0
    assert copy.snapshot() == original.snapshot()
    for step in range(60):
        decision = original.decide(step % 2)
        assert copy.decide(step % 2) == decision
        for decider in (original, copy):
            decider.update(step % 2, decision.arm, 0.3)
    assert (copy.pulls() == original.pulls()).all()


def test_a_snapshot_without_memory_holds_nothing_of_it():
    snapshot = BLP([0.1], [1.0]).snapshot()
    assert snapshot["configuration"]["memory"] is snapshot["statistics"]["past"] is None


def test_a_snapshot_from_before_there_was_memory_has_none():
    assert restore(before_changes(BLP([0.1], [1.0], noise_scale=1).snapshot())).memory is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda snapshot: snapshot["configuration"].update(memory="long"), "a finite number"),
        (lambda snapshot: snapshot["configuration"].update(memory=0.5), "memory must be None or a half-life"),
        (lambda snapshot: snapshot["statistics"].update(rewards=1), "at least the sum of the counts"),
        (lambda snapshot: snapshot["configuration"].update(memory=None), "whole numbers as counts"),
        (lambda snapshot: snapshot["statistics"].update(past=None), "a dict of context_counts"),
        (lambda snapshot: snapshot["statistics"]["past"].update(context_counts=[1.0, 0.0]), "from 0 to the counts"),
        (lambda snapshot: snapshot["statistics"]["by_pair"][0][0].__setitem__(0, -1.0), "numbers as counts"),
    ],
)
def test_a_snapshot_that_no_policy_wrote_is_refused(change, words):
    decider = BLP([0.1, 0.1], [0.5, 0.5], memory=25, seed=4)
    for step in range(60):
        decider.update(step % 2, decider.decide(step % 2).arm, 1.0)
    edited = json.loads(json.dumps(decider.snapshot()))
    change(edited)
    with pytest.raises(InvalidInputError, match=words):
        restore(edited)


@pytest.mark.parametrize("memory", [0, 0.5, -1, math.nan, math.inf, "long", True, 10**30])
def test_a_memory_that_cannot_be_is_refused(memory):
    with pytest.raises(InvalidInputError, match="memory must be None or a half-life"):
        OLP(memory=memory)


def test_a_rule_that_does_not_plan_has_no_memory():
    with pytest.raises(InvalidInputError, match="memory must be None for DOC"):
        DOC(memory=100)


def test_labels_tell_policies_apart():
    trace = simulate(NU, [OLP(), OLP(memory=100), OLP(memory=100, replan=3)], horizon=10)
    assert trace.policies == ("olp", "olp(memory=100)", "olp(replan=3, memory=100)")


@pytest.mark.slow
def test_after_a_jump_memory_pays(cases):
    """In the second half of the rounds the arms have changed roles: without memory the old half weighs as much.

    By three standard errors over epochs, 10 or in the long version 30: if memory made no difference, each comparison
    would pass by chance less than once in 100 (Student's t).
    """
    turned = NU.mean_rewards[:, [2, 1, 0]]
    horizon = 20_000
    policies = {"all": BLP(), "some": BLP(memory=2000)}
    settings = {"epochs": cases(10, 30), "checkpoints": [horizon // 2, horizon]}
    jump = simulate(NU, policies, horizon, drift=Drift([(horizon // 2 + 1, turned)]), **settings)
    lost = {name: np.diff(jump.regret_plus_violation[name], axis=1)[:, 0] for name in policies}
    assert is_clearly_positive(lost["all"] - lost["some"])
    # Where nothing changes, forgetting costs.
    still = simulate(NU, policies, horizon, **settings).regret_plus_violation
    assert is_clearly_positive(still["some"][:, -1] - still["all"][:, -1])


def is_clearly_positive(differences):
    return differences.mean() > 3 * differences.std(ddof=1) / math.sqrt(len(differences))
