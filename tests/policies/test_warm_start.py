"""Starting from a log: rewards that answer no decision of the policy teach it how often contexts come as well."""

import json

import numpy as np
import pytest

from arcbandit import BLP, OLP, Instance, policy, solve_lp
from arcbandit.errors import ArcbanditError, InvalidInputError
from arcbandit.kernels.confidence import ByPair
from arcbandit.policies.learner import Progress
from arcbandit.policies.registry import POLICIES, restore
from tests.long import each_of

EVERY_POLICY = sorted(POLICIES)
SHARES = [0.15, 0.6, 0.25]
INSTANCE = Instance([[1.0, 0.3, 0.6], [0.2, 0.8, 0.5]], [0.2, 0.2], SHARES, noise_scale=0.3)


def make_log(rows, n_arms=2, shares=SHARES, seed=0):
    random = np.random.default_rng(seed)
    contexts = random.choice(len(shares), size=rows, p=shares)
    arms = random.integers(n_arms, size=rows)
    return contexts.tolist(), arms.tolist(), random.random(rows).tolist()


def mix(decider):
    return decider.snapshot()["configuration"]["context_probabilities"]


def estimate(counts):
    """The share of what was seen, one more spread evenly."""
    counts = np.asarray(counts, dtype=float)
    return ((counts + 1 / counts.size) / (counts.sum() + 1)).tolist()


class TestCounting:
    def test_a_log_teaches_the_context_mix(self):
        """200,000 rows in which a context has a share of 0.15."""
        contexts, arms, rewards = make_log(200_000)
        decider = BLP([0.2, 0.2], contexts=3, noise_scale=0.3, seed=1)
        decider.update_many(contexts, arms, rewards, count_contexts=True)
        assert mix(decider) == estimate(np.bincount(contexts))
        assert mix(decider) == pytest.approx(SHARES, abs=0.005)

    def test_it_is_left_alone_unless_told(self):
        """A reward that answers a decision must not count its context twice."""
        decider = BLP([0.2, 0.2], contexts=3, seed=1)
        decider.update_many(*make_log(1000))
        decider.update(0, 0, 1.0)
        assert mix(decider) == pytest.approx([1 / 3] * 3)
        for context in (0, 0, 1):
            decider.update(context, decider.decide(context).arm, 1.0)
        assert mix(decider) == estimate([2, 1, 0])

    def test_decisions_and_rewards_of_others_count_alike(self):
        decider = BLP([0.2, 0.2], contexts=3, seed=1)
        decider.decide(0)
        decider.update(1, 0, 1.0, count_context=True)
        assert mix(decider) == estimate([1, 1, 0])
        decider.decide(1)
        assert mix(decider) == estimate([1, 2, 0])

    def test_known_probabilities_stay(self):
        decider = BLP([0.2, 0.2], SHARES, seed=1)
        decider.update_many([0, 0, 2], [0, 1, 0], [1.0, 0.5, 0.2], count_contexts=True)
        assert mix(decider) == SHARES
        assert decider.snapshot()["statistics"]["context_counts"] == [2, 0, 1]

    def test_contexts_may_come_along_the_way(self):
        decider = BLP([0.2, 0.2], contexts=2, seed=1)
        decider.update_many([0, 0, 1], [0, 1, 0], [1.0] * 3, count_contexts=True)
        new = decider.add_context()
        decider.update_many([new, 0], [1, 1], [1.0] * 2, count_contexts=True)
        assert mix(decider) == estimate([3, 1, 1])
        decider.decide(new)
        assert mix(decider) == estimate([3, 1, 2])

    def test_no_rewards_change_nothing(self):
        decider = BLP([0.2, 0.2], contexts=3, seed=1)
        before = decider.snapshot()
        decider.update_many([], [], [], count_contexts=True)
        assert decider.snapshot() == before

    @pytest.mark.parametrize("estimated", [False, True])
    @pytest.mark.parametrize("name", EVERY_POLICY)
    def test_a_batch_counts_as_one_by_one(self, name, estimated):
        together, singly = (
            policy(name, estimate_contexts=estimated).for_instance(INSTANCE, horizon=300, seed=3) for _ in range(2)
        )
        log = make_log(60)
        for decider in (together, singly):
            decider.decide(1)
        together.update_many(*log, count_contexts=True)
        for context, arm, reward in zip(*log, strict=True):
            singly.update(context, arm, reward, count_context=True)
        assert together.snapshot() == singly.snapshot()
        again = restore(json.loads(json.dumps(together.snapshot())))
        assert [again.decide(context) for context in (0, 1, 2)] == [singly.decide(context) for context in (0, 1, 2)]

    @pytest.mark.parametrize("name", ["blp", "optimistic3"])
    def test_all_are_counted_or_none(self, name):
        """A bad row, rows that break off, or a flag that is none, leave no trace."""
        decider = policy(name, estimate_contexts=True).for_instance(INSTANCE, horizon=300, seed=3)
        decider.update_many(*make_log(60), count_contexts=True)
        before = decider.snapshot()

        def breaks_off(values):
            yield from values
            raise OSError("the log ended")

        good = ([0, 1], [0, 1], [1.0, 0.5])
        for place, bad in ((0, [0, 3]), (1, [0, 2]), (2, [1.0, float("nan")]), (0, [0]), (1, [0] * 3)):
            rows = [bad if part == place else good[part] for part in range(3)]
            with pytest.raises(ArcbanditError):
                decider.update_many(*rows, count_contexts=True)
        for place in range(3):
            rows = [breaks_off(good[part]) if part == place else good[part] for part in range(3)]
            with pytest.raises(OSError, match="ended"):
                decider.update_many(*rows, count_contexts=True)
        for flag in (1, 0, "yes", None, np.True_):
            with pytest.raises(InvalidInputError, match="count_contexts must be True or False"):
                decider.update_many(*good, count_contexts=flag)
            with pytest.raises(InvalidInputError, match="count_context must be True or False"):
                decider.update(0, 0, 1.0, count_context=flag)
        assert decider.snapshot() == before


def planned_afresh(decider, t):
    by_pair, problem = decider.learner.statistics.by_pair, decider.learner.problem
    upper = (
        by_pair[ByPair.MEAN]
        + 0.05 * np.sqrt(2 * np.log(2 * by_pair[ByPair.MEAN].size * t)) * by_pair[ByPair.INVERSE_ROOT]
    )
    return solve_lp(
        upper, upper, problem.floors, problem.context_probabilities, on_infeasible="least_shortfall"
    ).allocation


@pytest.mark.parametrize("shape", [(3, 3), (6, 80)], ids=str)
@pytest.mark.parametrize("replan", ["always", 7])
@pytest.mark.parametrize("seed", each_of(range(2), range(5)))
def test_plans_follow_a_mix_that_moves_in_leaps(shape, replan, seed):
    """The planner goes on from what it kept of the last plan; weights that updates moved, by far, must not be kept.

    Every plan is the one planned afresh, and one from a snapshot, which has kept nothing, has the same shares.
    """
    random = np.random.default_rng(seed)
    means = random.random(shape)
    floors = 0.5 * means.mean(axis=1) / shape[0]
    decider = OLP(floors, contexts=shape[1], noise_scale=0.05, replan=replan, seed=seed)
    pairs = np.argwhere(np.ones(shape)).tolist()
    decider.update_many([c for _, c in pairs], [a for a, _ in pairs], [means[a, c] for a, c in pairs])
    planned = 0
    rows = 1
    for step in range(60):
        if step % 6 == 3:
            rows *= 3  # leaps as far as all that came before
            shares = random.dirichlet(np.full(shape[1], 0.2))
            contexts = random.choice(shape[1], size=rows, p=shares)
            arms = random.integers(shape[0], size=rows)
            rewards = means[arms, contexts] + 0.05 * random.normal(size=rows)
            if step % 12 == 3:
                decider.update_many(contexts.tolist(), arms.tolist(), rewards.tolist(), count_contexts=True)
            else:
                for row in zip(contexts[:100].tolist(), arms[:100].tolist(), rewards[:100].tolist(), strict=True):
                    decider.update(*row, count_context=True)
        t = decider.round_number
        plans = replan == "always" or t >= decider.learner.progress[Progress.NEXT_PLAN]
        context = int(random.integers(shape[1]))
        twin = restore(decider.snapshot())
        decision = decider.decide(context)
        assert twin.decide(context) == decision
        assert twin.allocation().tobytes() == decider.allocation().tobytes()
        if plans:
            planned += 1
            np.testing.assert_allclose(decider.allocation(), planned_afresh(decider, t), atol=1e-9)
        arm = decision.arm
        decider.update(context, arm, means[arm, context] + 0.05 * random.normal())
    assert planned == 60 if replan == "always" else planned >= 8  # it plans after a leap of seven rows or more


@pytest.mark.slow
@pytest.mark.parametrize("batch", [True, False], ids=["in a batch", "one by one"])
def test_a_floor_is_met_after_its_context_became_rare(batch):
    """By the scale of when it was frequent, what the floor lacks would pass for rounding: 5e-10 of 1, not of 1e-4."""
    rows = 100_000
    often, seldom = estimate([10, rows + 1])[::-1]
    decider = policy("greedy", [seldom + 5e-10, 0.0], contexts=2, seed=1)
    for context, arm, reward in ((0, 0, 1.0), (1, 0, 1e-5), (0, 1, 0.0), (1, 1, 1.0)):
        decider.update(context, arm, reward)
    for _ in range(10):
        assert decider.decide(0).arm == 0
    if batch:
        decider.update_many([1] * rows, [1] * rows, [1.0] * rows, count_contexts=True)
    else:
        for _ in range(rows):
            decider.update(1, 1, 1.0, count_context=True)
    decider.decide(1)
    assert mix(decider) == [seldom, often]
    assert decider.allocation()[0] == pytest.approx([1.0, 5e-10 / (often * 1e-5)], rel=1e-4)
