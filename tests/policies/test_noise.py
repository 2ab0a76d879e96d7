"""Sigma, estimated where nobody told it: right, on any scale, kept in snapshots, and cheap."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arcbandit import BLP, OLP, ThompsonLP, paper_instance, restore, simulate
from arcbandit.errors import InvalidInputError
from arcbandit.kernels.noise import WEIGHT_OF_SPREAD, Noise
from tests.long import examples

MEANS = np.array([[1.0, 0.2], [0.3, 0.8]])


def played(policy, rewards):
    """The policy after these rewards, of pairs in turn."""
    for number, reward in enumerate(rewards):
        policy.update(number % 2, number // 2 % 2, float(reward))
    return policy


def by_hand(rewards):
    """The rule of the documentation, from all rewards at once."""
    pairs = [np.array(rewards[start::4]) for start in range(4)]
    residual = sum(float(((pair - pair.mean()) ** 2).sum()) for pair in pairs if pair.size)
    freedom = sum(max(pair.size - 1, 0) for pair in pairs)
    variance = float(np.var(rewards, ddof=1))
    return np.sqrt((residual + WEIGHT_OF_SPREAD * variance) / (freedom + WEIGHT_OF_SPREAD))


@examples(60, 500)
@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=40).filter(lambda rewards: np.ptp(rewards) > 1e-3))
def test_is_the_rule_of_the_documentation(rewards):
    policy = played(BLP([0.1, 0.1], [0.5, 0.5]), rewards)
    assert policy.noise_scale == pytest.approx(by_hand(rewards), rel=1e-6)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_follows_the_unit_of_money(unit):
    """Floors and rewards in another unit are the same decisions, but for rounding."""
    random = np.random.default_rng(1)
    policy = BLP([0.1 * unit, 0.1 * unit], [0.5, 0.5], seed=1)
    reference = BLP([0.1, 0.1], [0.5, 0.5], seed=1)
    for number in range(300):
        arms = [one.decide(number % 2).arm for one in (policy, reference)]
        assert arms[0] == arms[1]
        reward = MEANS[arms[0], number % 2] + 0.1 * random.normal()
        policy.update(number % 2, arms[0], reward * unit)
        reference.update(number % 2, arms[0], reward)
    assert policy.noise_scale == pytest.approx(unit * reference.noise_scale, rel=1e-9)


def test_comes_close_to_the_truth():
    """2,000 rewards of noise 0.085: the standard error is 1.6 %, so a tenth is six of them."""
    random = np.random.default_rng(7)
    policy = played(BLP([0.01, 0.01], [0.5, 0.5]), 0.013 + 0.085 * random.normal(size=2000))
    assert policy.noise_scale == pytest.approx(0.085, rel=0.1)


def test_moves_with_every_64th_of_many_rewards():
    """Until 1,024 with each; then it is the rule's estimate at the last multiple of 64, from a snapshot as well."""
    random = np.random.default_rng(3)
    rewards = random.normal(size=1400).tolist()
    policy = BLP([0.1, 0.1], [0.5, 0.5])
    for number, reward in enumerate(rewards, start=1):
        policy.update((number - 1) % 2, (number - 1) // 2 % 2, reward)
        if number == 1300:
            policy = restore(json.loads(json.dumps(policy.snapshot())))
        if number in (1000, 1023, 1024, 1025, 1087, 1088, 1151, 1152, 1300, 1343, 1344, 1399):
            taken = number if number <= 1024 else number // 64 * 64
            assert policy.noise_scale == pytest.approx(by_hand(rewards[:taken]), rel=1e-9)


def test_the_first_reward_that_differs_moves_it_however_late():
    policy = played(BLP([0.1, 0.1], [0.5, 0.5]), [0.5] * 1500)
    assert policy.noise_scale == 1.0
    policy.update(0, 0, 0.6)
    assert 0 < policy.noise_scale < 0.1


def test_stays_one_until_two_rewards_differ():
    policy = played(BLP([0.1, 0.1], [0.5, 0.5]), [0.5] * 10)
    assert policy.noise_scale == 1.0
    policy.update(0, 0, 0.6)
    assert 0 < policy.noise_scale < 0.1


def test_what_is_told_stays_as_it_is():
    for told, sigma in (({"noise_scale": 2.0}, 2.0), ({"reward_bounds": (0, 3)}, 1.5)):
        policy = played(BLP([0.1, 0.1], [0.5, 0.5], **told), [0.1, 0.9] * 20)
        assert policy.noise_scale == sigma
        assert policy.learner.noise == ()
    both = played(BLP([0.1, 0.1], [0.5, 0.5], reward_bounds=(0, 3), noise_scale="estimate"), [0.1, 0.9] * 20)
    assert both.noise_scale == pytest.approx(by_hand([0.1, 0.9] * 20))


def test_an_instance_tells_it():
    """What an instance says of its noise is known to policies that are made for it, and to simulations."""
    assert BLP().for_instance(paper_instance("nu")).noise_scale == paper_instance("nu").noise_scale
    assert BLP(noise_scale="estimate").for_instance(paper_instance("nu")).learner.noise.shape == (len(Noise),)


@pytest.mark.parametrize("bad", ["guess", "", 0, -1.0, float("nan"), True])
def test_bad_scales_are_refused(bad):
    with pytest.raises(InvalidInputError, match="noise_scale"):
        BLP([0.1, 0.1], [0.5, 0.5], noise_scale=bad)


def test_a_snapshot_keeps_the_estimate():
    policy = played(OLP([0.1, 0.1], [0.5, 0.5], seed=3), [0.1, 0.5, 0.9, 0.2, 0.4, 0.4, 0.8])
    copy = restore(json.loads(json.dumps(policy.snapshot())))
    assert copy.noise_scale == policy.noise_scale
    for number in range(50):
        arms = [one.decide(number % 2).arm for one in (policy, copy)]
        assert arms[0] == arms[1]
        for one in (policy, copy):
            one.update(number % 2, arms[0], float(MEANS[arms[0], number % 2]))
    assert copy.noise_scale == policy.noise_scale


def test_changes_of_the_problem_keep_the_estimate():
    policy = played(BLP([0.1, 0.1], [0.5, 0.5]), [0.1, 0.5, 0.9, 0.2])
    sigma = policy.noise_scale
    policy.add_arm(floor=0.1)
    policy.add_context(probability=0.1)
    assert policy.noise_scale == sigma


@examples(40, 300)
@given(st.lists(st.floats(-10, 10), min_size=9, max_size=30), st.integers(0, 4), st.integers(1, 4))
def test_merged_workers_estimate_as_one_that_saw_all(rewards, common, own):
    """With a history in common, which counts once."""
    start = played(BLP([0.1, 0.1], [0.5, 0.5]), rewards[:common])
    first, second, whole = (restore(start.snapshot()) for _ in range(3))
    cut = common + own
    played(first, rewards[common:cut])
    played(second, rewards[cut:])
    played(whole, rewards[common:cut])
    played(whole, rewards[cut:])
    first.merge(second, since=start.snapshot())
    assert first.learner.noise == pytest.approx(whole.learner.noise, rel=1e-9, abs=1e-9)
    assert first.noise_scale == pytest.approx(whole.noise_scale, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("memory", [10, 50, 1000])
def test_a_policy_that_forgets_does_not_take_few_rewards_for_little_noise(memory):
    """10 x 10 pairs, so that counts fade below one. Of 20,000 residuals chance alone moves sigma by less than 3 %."""
    random = np.random.default_rng(3)
    decider = BLP([0.0] * 10, [0.1] * 10, memory=memory, seed=1)
    pairs = random.integers(10, size=(2, 20_000)).tolist()
    decider.update_many(*pairs, (0.2 * random.normal(size=20_000)).tolist())
    # As rewards fade, a mean is of up to twice as many of them as its count says: the estimate may be low by 15 %.
    assert 0.165 <= decider.noise_scale <= 0.21


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nu", "nu-nonsaturating", "nu-nominal", "nu-margin:0.1"])
def test_costs_little_on_the_paper_s_instances(name, cases):
    """At most 5 % of R + V, by the same epochs with and without; the 95 % interval of the difference is allowed."""
    policies = {kind.__name__ + mark: kind(noise_scale=told) for kind in (OLP, BLP, ThompsonLP) for mark, told in TOLD}
    trace = simulate(paper_instance(name), policies, 20_000, cases(10, 100), seed=11, keep="epochs")
    for kind in (OLP, BLP, ThompsonLP):
        known, estimated = (trace.regret_plus_violation[kind.__name__ + mark][:, -1] for mark, _ in TOLD)
        difference = estimated - known
        error = 1.96 * difference.std(ddof=1) / np.sqrt(len(difference))
        assert difference.mean() - error <= 0.05 * known.mean()


TOLD = (("", None), (", estimated", "estimate"))
