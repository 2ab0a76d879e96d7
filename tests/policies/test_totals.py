"""Totals of rewards teach a policy what the rewards themselves would."""

import json

import numpy as np
import pytest

from arcbandit import BLP, policy
from arcbandit.errors import InvalidInputError
from arcbandit.kernels.confidence import ByPair
from arcbandit.policies.registry import POLICIES, restore

WITH_MEMORY = ["optimistic3", "loe2d", "lagrange-cb", "drift-plus-penalty", "bandit-q"]
ARMS, CONTEXTS = ["a", "b"], ["x", "y", "z"]


def made(name="blp", **changes):
    return policy(name, [0.05, 0.05], **{"arms": ARMS, "contexts": CONTEXTS, "horizon": 500} | changes)


def rewards(seed=1, rows=300):
    """Columns of contexts, arms and rewards; b is never played in z."""
    random = np.random.default_rng(seed)
    contexts, arms = random.integers(3, size=rows), random.integers(2, size=rows)
    arms[contexts == 2] = 0
    return contexts, arms, random.normal(0.3, 2.0, size=rows)


def totals(contexts, arms, values):
    counts, sums, squares = (np.zeros((2, 3)) for _ in range(3))
    np.add.at(counts, (arms, contexts), 1)
    np.add.at(sums, (arms, contexts), values)
    np.add.at(squares, (arms, contexts), values**2)
    return counts, sums, squares


def assert_same(found, wanted):
    """All counts exactly; means, noise and mix up to rounding; and it can be restored."""
    ours, theirs = found.snapshot()["statistics"], wanted.snapshot()["statistics"]
    for field in ("decisions", "rewards", "context_counts", "prior"):
        assert ours[field] == theirs[field]
    assert (found.pulls() == wanted.pulls()).all()
    means = [np.array(part["by_pair"])[ByPair.MEAN] for part in (ours, theirs)]
    assert means[0] == pytest.approx(means[1], rel=1e-12, abs=1e-12)
    if ours["noise"] is not None:
        # The estimate is made with every 64th reward after many; its sums are of all.
        sums = [{name: value for name, value in part["noise"].items() if name != "scale"} for part in (ours, theirs)]
        assert sums[0] == pytest.approx(sums[1], rel=1e-11)
    mix = [part.learner.problem.context_probabilities for part in (found, wanted)]
    assert mix[0] == pytest.approx(mix[1], rel=1e-12)
    assert restore(json.loads(json.dumps(found.snapshot()))).snapshot() == found.snapshot()


@pytest.mark.parametrize("name", sorted(set(POLICIES) - set(WITH_MEMORY)))
def test_totals_are_as_good_as_rewards(name):
    found, wanted = made(name), made(name)
    log = rewards()
    found.update_from_totals(*totals(*log))
    wanted.update_many(*(part.tolist() for part in log), count_contexts=True)
    assert_same(found, wanted)
    assert found.noise_scale == pytest.approx(wanted.noise_scale, rel=1e-12)


@pytest.mark.parametrize(
    "settings", [{"noise_scale": 2.0}, {"context_probabilities": [0.5, 0.25, 0.25]}, {"reward_bounds": (-9.0, 9.0)}]
)
def test_what_is_told_is_not_learnt(settings):
    found, wanted = made(**settings), made(**settings)
    log = rewards()
    found.update_from_totals(*totals(*log))
    wanted.update_many(*(part.tolist() for part in log), count_contexts=True)
    assert_same(found, wanted)
    assert found.noise_scale == pytest.approx(wanted.noise_scale, rel=1e-12)


def test_on_top_of_what_a_policy_has_seen_and_of_a_prior():
    found, wanted = made(), made()
    for one in (found, wanted):
        one.add_arm("c", prior_mean=0.5, prior_pulls=7.5)
        one.retire_arm("b")
        for context in [0, 1, 2] * 20:
            one.update(context, one.decide(context).arm, 0.1 * context)
    contexts, arms, values = rewards(2)
    arms = arms * 2  # a and c
    sums = [np.zeros((3, 3)) for _ in range(3)]
    for table, amounts in zip(sums, (np.ones(len(values)), values, values**2), strict=True):
        np.add.at(table, (arms, contexts), amounts)
    found.update_from_totals(*sums)
    wanted.update_many(contexts.tolist(), arms.tolist(), values.tolist(), count_contexts=True)
    assert_same(found, wanted)
    assert found.decide("x").how == wanted.decide("x").how


def test_large_counts_stay_exact():
    found = made()
    found.update_from_totals(np.full((2, 3), 10**9 + 1), np.full((2, 3), 0.5 * (10**9 + 1)), np.full((2, 3), 1e9))
    assert (found.pulls() == 10**9 + 1).all()
    assert found.round_number == 6 * (10**9 + 1) + 1


@pytest.mark.parametrize("name", WITH_MEMORY)
def test_rules_that_keep_more_are_refused(name):
    one = made(name, mean_bound=2.0)
    before = one.snapshot()
    with pytest.raises(InvalidInputError, match="cannot learn from totals: what it keeps from round to round"):
        one.update_from_totals(*totals(*rewards()))
    assert one.snapshot() == before


COUNTS, SUMS, SQUARES = ([[1, 1, 1], [1, 1, 1]] for _ in range(3))


@pytest.mark.parametrize(
    ("given", "settings", "match"),
    [
        ((COUNTS, SUMS, SQUARES), {"memory": 100.0}, "policy with memory cannot learn from totals"),
        (([[1, 1], [1, 1]], SUMS, SQUARES), {}, r"counts must have the shape \(2, 3\)"),
        (([[1.5, 1, 1], [1, 1, 1]], SUMS, SQUARES), {}, "counts must be whole numbers"),
        (([[-1, 1, 1], [1, 1, 1]], SUMS, SQUARES), {}, "counts.* must be non-negative"),
        (([[0, 1, 1], [1, 1, 1]], SUMS, SQUARES), {}, "must be 0 where counts are 0"),
        ((COUNTS, [[2, 1, 1], [1, 1, 1]], SQUARES), {}, "squares must be at least"),
        ((COUNTS, [[np.nan, 1, 1], [1, 1, 1]], SQUARES), {}, r"sums\[0, 0\] \(arm 'a', context 'x'\) must be finite"),
        ((COUNTS, SUMS, SQUARES), {"reward_bounds": (0.0, 0.5)}, "mean of arm 'a' in context 'x' is 1"),
    ],
)
def test_bad_totals_change_nothing(given, settings, match):
    one = made(**settings)
    before = one.snapshot()
    with pytest.raises(InvalidInputError, match=match):
        one.update_from_totals(*given)
    assert one.snapshot() == before


def test_no_rewards_at_all_change_nothing():
    one = made()
    before = one.snapshot()["statistics"]
    one.update_from_totals(*(np.zeros((2, 3)) for _ in range(3)))
    assert one.snapshot()["statistics"] == before


def test_frames_are_aligned_by_their_labels():
    import pandas

    tables = [
        pandas.DataFrame(table[::-1, ::-1], index=ARMS[::-1], columns=CONTEXTS[::-1]) for table in totals(*rewards())
    ]
    found, wanted = made(), made()
    found.update_from_totals(*tables)
    wanted.update_from_totals(*totals(*rewards()))
    assert found.snapshot() == wanted.snapshot()


def test_it_is_a_method_of_policies_at_work():
    assert not hasattr(BLP(), "update_from_totals")
