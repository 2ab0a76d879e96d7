"""PricedLP with what a policy at work can be told: a budget, a cadence, a log to start from, changes, other threads."""

import json
import math
import pickle
import threading

import numpy as np
import pytest

from arcbandit import GroupFloor, Instance, PricedLP, Window, paper_instance, restore
from arcbandit.policies.learner import Outcome, Progress
from arcbandit.policies.priced_lp import ByFloor, ByPairRow, FloorScratch, PairScratch, Total
from arcbandit.simulation.delays import Delay
from tests.long import each_of
from tests.policies.test_priced_lp import follow, twin_of
from tests.reference.priced_lp import PricedTwin
from tests.simulation.twins import make_task, play_beside

NU = paper_instance("nu")
PRICES = np.array([0.0, 1.0, 1.0])  # of the floors of nu
GROUPED = Instance(
    NU.mean_rewards, NU.revenue_floors / 2, NU.context_probabilities, group_floors=[GroupFloor("two", ("1", "2"), 1.0)]
)
BUDGET, KNOWN_AFTER = 0.15, 20
MEANS = np.random.default_rng(6).uniform(0.2, 1.0, (4, 3))
MIX = np.array([0.5, 0.3, 0.2])
FLOORS = [0.04, 0.06, 0.05, 0.08]


def held(**settings):
    """A policy of four arms in three contexts with a budget, which has seen each pair a few times."""
    policy = PricedLP(
        dict(zip("abcd", FLOORS, strict=True)),
        MIX,
        exploration_budget=BUDGET,
        known_after=KNOWN_AFTER,
        noise_scale="estimate",
        seed=3,
        **settings,
    )
    rng = np.random.default_rng(1)
    for arm, context in np.ndindex(MEANS.shape):
        for _ in range(int(rng.integers(1, 40))):
            reward = float(MEANS[arm, context] + 0.3 * rng.normal())
            policy.update(context, "abcd"[arm], reward, count_context=True)
    return policy


def play(policy, rounds, seed, means=MEANS):
    """Play rounds in which all arms of a policy earn their means and noise."""
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        context = int(rng.integers(means.shape[1]))
        decision = policy.decide(context)
        row = policy.arms.index(decision.arm)
        policy.update(context, decision.arm, float(means[row, context] + 0.3 * rng.normal()))


class TestWithinABudget:
    @pytest.mark.slow
    def test_every_allocation_is_the_one_put_together_afresh(self):
        """From two twins with averages of their own: one of all pairs, one of known pairs in what is left to them."""
        policy = held()
        first = twin_of(policy)
        second = PricedTwin(MIX, FLOORS, np.eye(4, dtype=bool), np.ones((4, 3), dtype=bool), 1.0)
        available = np.ones((4, 3), dtype=bool)
        rng = np.random.default_rng(9)
        limited = 0
        for _ in range(250):
            context = int(rng.choice(3, p=MIX))
            t = policy.round_number
            first.sigma = second.sigma = policy.noise_scale
            second.n, second.sums, second.visits = first.n, first.sums, first.visits.copy()
            decision = policy.decide(context)
            wanted = first.allocate(context, t)
            known = first.n >= KNOWN_AFTER
            usable = np.where(known.any(axis=0), known, available)
            others = np.where(usable, 0.0, wanted)
            asked = others.sum(axis=0)
            if (asked > BUDGET).any():
                limited += 1
                given = np.minimum(asked, BUDGET)
                second.p, second.available = MIX * (1 - given), usable
                second.floors = np.where(known.any(axis=1), FLOORS, 0.0)
                scaled = others * np.divide(given, asked, out=np.zeros(3), where=asked > 0)
                wanted = scaled + (1 - given) * second.allocate(context, t)
            assert policy.allocation() == pytest.approx(wanted, abs=1e-7)
            row = policy.arms.index(decision.arm)
            reward = float(MEANS[row, context] + 0.3 * rng.normal())
            policy.update(context, decision.arm, reward)
            first.learn(context, row, reward)
        assert limited > 30

    def test_the_averages_of_all_pairs_move_once_a_round(self):
        """As without a budget, if the same is seen: the second plan moves its own."""
        free, limited = held(), held()
        free.set_exploration_budget(1.0)
        rng = np.random.default_rng(2)
        moved = 0
        for _ in range(150):
            context = int(rng.integers(3))
            decision = limited.decide(context)
            free.decide(context)
            ours, theirs = limited.learner.memory, free.learner.memory
            for part in ("by_pair", "totals", "by_floor"):
                assert (getattr(ours, part) == getattr(theirs, part)).all()
            moved += bool(limited.learner.progress[Progress.OUTCOME] & Outcome.EXPLORED)
            reward = float(MEANS[limited.arms.index(decision.arm), context] + 0.3 * rng.normal())
            for policy in (free, limited):
                policy.update(context, decision.arm, reward)
        assert moved > 20
        assert limited.learner.budget.memory.by_pair[ByPairRow.PLAN].any()

    def test_a_copy_of_any_moment_goes_on_alike(self):
        """By JSON and by pickle, bit for bit."""
        policy = held()
        rng = np.random.default_rng(0)
        for step in range(120):
            snapshot = policy.snapshot()
            copy = pickle.loads(pickle.dumps(policy)) if step % 2 else restore(json.loads(json.dumps(snapshot)))
            assert copy.snapshot() == snapshot
            context = int(rng.integers(3))
            decision = policy.decide(context)
            assert copy.decide(context) == decision
            assert (copy.allocation() == policy.allocation()).all()
            assert copy.snapshot() == policy.snapshot()
            policy.update(context, decision.arm, float(rng.normal(0.6, 0.3)))
        assert set(policy.snapshot()["statistics"]["memory"]["known_by_floor"]) == {"price", "margin", "error"}

    def test_what_is_kept_of_known_pairs_stays_as_arms_and_groups_come_and_go(self):
        policy = held()
        play(policy, 60, 0)
        kept = policy.learner.budget.memory
        assert kept.by_floor[ByFloor.PRICE].any()
        policy.add_arm("e", 0.02)
        grown = policy.learner.budget.memory
        assert (grown.by_floor[:, :4] == kept.by_floor).all()
        assert (grown.by_pair[:, :4] == kept.by_pair).all()
        assert (grown.totals == kept.totals).all()
        assert not grown.by_floor[:, 4].any()
        policy.retire_arm("a")
        assert not policy.learner.budget.memory.by_floor[:, 0].any()
        means = np.vstack([MEANS, [0.9, 0.2, 0.6]])
        changes = [
            lambda: policy.return_arm("a", 0.02),
            lambda: policy.set_floor("b", 0.01),
            lambda: policy.add_group("de", ["d", "e"], 0.1),
            lambda: policy.set_available("d", 0, False),
            lambda: policy.remove_group("de"),
            lambda: policy.set_context_probabilities([0.2, 0.5, 0.3]),
            lambda: policy.set_exploration_budget(0.3, 40),
        ]
        for seed, change in enumerate(changes):
            play(policy, 25, seed, means)
            change()
            copy = restore(policy.snapshot())
            play(policy, 25, seed, means)
            play(copy, 25, seed, means)
            assert copy.snapshot() == policy.snapshot()
            assert (policy.allocation() >= 0).all()
            assert policy.allocation().sum(axis=0) == pytest.approx(np.ones(3))

    def test_workers_are_merged(self):
        """What both saw is known, the averages stay those of the first, and it goes on as its copy does."""
        origin = held().snapshot()
        first, second = restore(origin, worker=1), restore(origin, worker=2)
        play(first, 40, 1)
        play(second, 40, 2)
        averages = first.learner.memory.by_floor.copy(), first.learner.budget.memory.by_floor.copy()
        first.merge(second, since=origin)
        assert (first.learner.memory.by_floor == averages[0]).all()
        assert (first.learner.budget.memory.by_floor == averages[1]).all()
        copy = restore(first.snapshot())
        play(first, 30, 3)
        play(copy, 30, 3)
        assert copy.snapshot() == first.snapshot()

    def test_threads_share_it(self):
        policy = held()
        before = policy.learner.progress[Progress.DECISIONS]
        strange = []

        def work(number):
            for step in range(100):
                decision = policy.decide((number + step) % 3)
                if not 0 < decision.probability <= 1:
                    strange.append(decision)
                policy.update(decision.context, decision.arm, 0.5 + 0.1 * (step % 3))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert strange == []
        assert policy.learner.progress[Progress.DECISIONS] == before + 400
        assert policy.allocation().sum(axis=0) == pytest.approx(np.ones(3))

    @pytest.mark.parametrize("part", ["known_by_pair", "known_totals", "known_by_floor"])
    def test_a_snapshot_without_it_is_refused(self, part):
        snapshot = held().snapshot()
        del snapshot["statistics"]["memory"][part]
        with pytest.raises(ValueError, match=f"{part}' is missing"):
            restore(snapshot)


ALL_AT_ONCE = {"replan": 3, "estimate_contexts": True, "noise_scale": "estimate"}
ONE_BY_ONE = [
    {},
    *({name: value} for name, value in ALL_AT_ONCE.items()),
    {"replan": "doubling"},
    {"when_infeasible": "same_share"},
    {"memory": 60},
    {"memory": Window(80)},
    {"memory": 60, "estimate_contexts": True, "noise_scale": "estimate", "replan": 5},
    {"memory": Window(80), "estimate_contexts": True, "noise_scale": "estimate"},
    {"reward_bounds": (-20.0, 20.0)},
]


WITHIN_BUDGET, LATE = (0.1, None), (1.0, Delay(mean=10, lost=0.1))


# Each is a loop of its own to compile, which takes half a minute.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::arcbandit.errors.FloorsOutOfReachWarning")
@pytest.mark.parametrize(
    ("settings", "budget", "delay"),
    each_of(
        [(ALL_AT_ONCE, *WITHIN_BUDGET)],
        [(settings, *case) for settings in (ALL_AT_ONCE, *ONE_BY_ONE) for case in (WITHIN_BUDGET, LATE)],
    ),
    ids=str,
)
def test_the_loop_plays_as_a_policy_at_work_does(settings, budget, delay):
    policy = PricedLP(exploration_budget=budget, known_after=15, **settings)
    play_beside(make_task(policy, GROUPED, 300, delay=delay))


class TestPlansThatStandForManyRounds:
    @pytest.mark.parametrize("replan", ["doubling", 50])
    def test_prices_are_averages_over_rounds_not_plans(self, replan):
        """After 1,000 quiet rounds they are those of the optimum; ten or twenty plans alone would come to a third."""
        policy = PricedLP(noise_scale=0.01, replan=replan).for_instance(NU, seed=1)
        for t in range(1100):
            decision = policy.decide(t % 3)
            policy.update(t % 3, decision.arm, float(NU.mean_rewards[policy.arms.index(decision.arm), t % 3]))
        assert policy.learner.memory.by_floor[ByFloor.PRICE] == pytest.approx(PRICES, rel=0.05, abs=0.05)

    def test_in_every_round_the_share_is_the_dial(self):
        policy = PricedLP(noise_scale=0.01, price_memory=0.1).for_instance(NU, seed=1)
        capped = 0
        for t in range(60):
            before = policy.learner.memory.by_floor[ByFloor.PRICE].copy()
            decision = policy.decide(t % 3)
            memory = policy.learner.memory
            price = memory.scratch_by_floor[FloorScratch.PRICE]
            if decision.outcome & Outcome.FELL_BACK:  # M is not what floors are worth: ten averages or weights at most
                price = np.minimum(price, 10.0 * np.maximum(before, 1.0))
                capped += 1
            assert memory.by_floor[ByFloor.PRICE] == pytest.approx(0.9 * before + 0.1 * price)
            policy.update(t % 3, decision.arm, float(NU.mean_rewards[policy.arms.index(decision.arm), t % 3]))
        assert 0 < capped < 30
        assert policy.learner.memory.totals[Total.MOVED] == 60
        assert policy.learner.memory.by_floor[ByFloor.PRICE, 1:].min() > 0.5

    def test_a_log_to_start_from_counts_as_its_rounds(self):
        """The first plan after it stands for all of them, so that margins are right at once."""
        policy = PricedLP(noise_scale=0.1).for_instance(NU, seed=1)
        rows, columns = (index.ravel().repeat(200).tolist() for index in np.indices((3, 3)))
        rewards = [float(NU.mean_rewards[row, column]) for row, column in zip(rows, columns, strict=True)]
        policy.update_many(columns, [policy.arms[row] for row in rows], rewards, count_contexts=True)
        policy.decide(0)
        assert policy.learner.memory.by_floor[ByFloor.PRICE] == pytest.approx(PRICES, abs=1e-4)


class TestALogToStartFrom:
    def test_contexts_that_were_not_counted_are_explored_all_the_same(self):
        """Rewards are visits, too: without them radii would be next to nothing, and no arm tried again."""
        means = np.array([[0.5, 0.4], [0.45, 0.6]])
        radii = []
        for counted in (False, True):
            policy = PricedLP([0.1, 0.1], [0.5, 0.5], noise_scale=1.0, seed=1)
            rng = np.random.default_rng(3)
            rows, columns = rng.integers(2, size=400), rng.integers(2, size=400)
            rewards = means[rows, columns] + rng.normal(size=400)
            policy.update_many(columns.tolist(), rows.tolist(), rewards.tolist(), count_contexts=counted)
            policy.decide(0)
            radii.append(policy.learner.memory.scratch_by_pair.copy())
        assert radii[0][PairScratch.VISITS, 0] == pytest.approx(radii[1][PairScratch.VISITS, 0], abs=1)
        assert (radii[0][PairScratch.BONUS] > 0.05).all()

    @pytest.mark.slow
    def test_it_goes_on_as_defined(self):
        rng = np.random.default_rng(5)
        policy = PricedLP([0.1, 0.2, 0.1], NU.context_probabilities, noise_scale=1.0, seed=1)
        rows, columns = rng.integers(3, size=120), rng.integers(3, size=120)
        rewards = NU.mean_rewards[rows, columns] + rng.normal(size=120)
        policy.update_many(columns.tolist(), rows.tolist(), rewards.tolist())
        assert follow(policy, NU.mean_rewards, 100, 2)["compared"] == 100

    def test_a_prior_does_not_count_as_visits(self):
        policy = PricedLP({"a": 0.1, "b": 0.1}, [1.0], noise_scale=1.0, seed=1)
        policy.add_arm("c", prior_mean=0.2, prior_pulls=1e9)
        for _ in range(20):
            policy.update(0, policy.decide(0).arm, 1.0)
        assert policy.learner.memory.scratch_by_pair[PairScratch.VISITS, 0, 0] <= 21


class TestOddRewards:
    @pytest.mark.filterwarnings("ignore::arcbandit.errors.FloorsOutOfReachWarning")
    @pytest.mark.parametrize("value", [0.0, 1.0, -3.0, 1e-140, 1e140])
    def test_rewards_that_are_all_alike(self, value):
        """Their noise is estimated as nothing."""
        policy = PricedLP([0.1, 0.1], [0.5, 0.5], seed=1)
        for t in range(150):
            policy.update(t % 2, policy.decide(t % 2).arm, value)
            assert np.isfinite(policy.allocation()).all()
            assert policy.allocation().sum(axis=0) == pytest.approx(np.ones(2))

    def test_zeros_and_ones(self):
        """Means that are equal, as those of few rewards of two values often are, leave many plans equally good."""
        policy = PricedLP([0.05, 0.05, 0.05], [0.5, 0.5], reward_bounds=(0, 1), seed=1)
        rng = np.random.default_rng(1)
        for t in range(400):
            policy.update(t % 2, policy.decide(t % 2).arm, float(rng.random() < 0.4))
            assert policy.allocation().sum(axis=0) == pytest.approx(np.ones(2))
        assert (policy.pulls() > 0).all()
        assert math.isclose(policy.noise_scale, 0.5)
