import doctest
import functools
import importlib
import math

import numpy as np
import pytest

from arcbandit.compilation.compile import bound, entry_kernel
from arcbandit.compilation.packing import kind_of, packed, unpacker
from arcbandit.experiments.paper_instances import paper_instance
from arcbandit.instance import Instance
from arcbandit.kernels.confidence import ByPair, record_reward
from arcbandit.policies.learner import Outcome, Stream, observe_context
from arcbandit.policies.optimistic3 import ByArmRow
from arcbandit.policies.registry import POLICIES, policy
from arcbandit.simulation.epoch import Task, bind, find_optimum, make_run, make_world
from arcbandit.simulation.loop import player_of
from arcbandit.simulation.metrics import Total
from tests.reference.baselines import make_twin

SETTINGS = [
    pytest.param("doc", (0.01, 1.0), id="doc"),
    pytest.param("spoc", (0.01, 0.2), id="spoc"),
    pytest.param("sgoc", (0.01, 0.5), id="sgoc"),
    pytest.param("spoc", (0.01, 0.2, "ucb"), id="spoc-ucb"),
    pytest.param("sgoc", (0.01, 0.5, "ucb"), id="sgoc-ucb"),
    pytest.param("optimistic3", (2.0, "expected"), id="optimistic3"),
    pytest.param("optimistic3", (1.0, "context"), id="optimistic3-context"),
    pytest.param("optimistic3", (2.0, "realised"), id="optimistic3-realised"),
    pytest.param("loe2d", (1.0, 1.0), id="loe2d"),
    pytest.param("loe2d", (0.001, 3.0), id="loe2d-scaled"),
    pytest.param("lagrange-cb", (0.5, 1.0, 1.0), id="lagrange-cb"),
    pytest.param("lagrange-cb", (0.2, 5.0, 30.0), id="lagrange-cb-scaled"),
    pytest.param("drift-plus-penalty", (0.5,), id="drift-plus-penalty"),
    pytest.param("bandit-q", (1.0,), id="bandit-q"),
]
MODULES = ("doc", "spoc", "sgoc", "optimistic3", "loe2d", "lagrange_cb", "drift_plus_penalty", "bandit_q")
CONTEXT_FREE_DIALS = (0.01, 1.0)
# The radius of DOC, SPOC and SGOC is 0.2 after four pulls, in round 2.
FIFTH = 0.4 / math.sqrt(6 * 1.01 * math.log(2))


# What stands for the kernels of a rule, until `bound` gives each rule a copy with its own.
rule_allocate = rule_learn = unpack = None


def choose(numbers, context, t):
    learner = unpack(numbers)
    observe_context(learner.settings, learner.statistics, learner.problem.context_probabilities, context)
    return rule_allocate(learner, context, t, Stream(0, 0, t))


def take_in(numbers, context, arm, reward):
    learner = unpack(numbers)
    record_reward(learner.statistics, arm, context, reward)
    rule_learn(learner, context, arm, reward)


@functools.cache
def entries_of(kind, learner_kind):
    """`choose` and `take_in` of a rule, to be called from Python."""
    unpacks = {"unpack": unpacker(learner_kind)}
    return (
        bound(entry_kernel, choose, rule_allocate=kind.allocate, **unpacks),
        bound(entry_kernel, take_in, rule_learn=kind.learn, **unpacks),
    )


def dials_of(name, values):
    """The dials of a policy by name; the first of them have these values."""
    return dict(zip((dial.name for dial in POLICIES[name].dials), values, strict=False))


class Player:
    """The compiled kernels of one rule, called round by round."""

    def __init__(
        self, name, dials, floors, probabilities=(1.0,), *, available=None, noise_scale=1.0, bound=1.0, horizon=100
    ):
        self.policy = policy(
            name,
            [0.0] * len(floors),
            np.full(len(probabilities), 1 / len(probabilities)),
            available=available,
            noise_scale=noise_scale,
            horizon=horizon,
            mean_bound=1.0,
            **dials_of(name, dials),
        )
        self.learner = self.policy.learner
        # Written past the constructor, which refuses the numbers at the edge of arithmetic that kernels must bear.
        self.learner.problem.floors[:] = floors
        self.learner.problem.context_probabilities[:] = probabilities
        self.learner.settings[0].mean_bound = bound
        self.learner.allocation[:] = 1 / len(floors)
        self.numbers = packed(self.learner)
        self.choose, self.take_in = entries_of(type(self.policy), kind_of(self.learner))

    def has_seen(self, means, pulls):
        """Set the statistics."""
        by_pair = self.learner.statistics.by_pair
        by_pair[ByPair.PULLS] = pulls
        by_pair[ByPair.MEAN] = means
        with np.errstate(divide="ignore"):
            inverse_root = 1 / np.sqrt(by_pair[ByPair.PULLS])
        by_pair[ByPair.INVERSE_ROOT] = np.where(by_pair[ByPair.PULLS] > 0, inverse_root, 0)
        return self

    def allocate(self, t, context=0):
        """How w(t) came about, and w(t)."""
        outcome = self.choose(self.numbers, context, t)
        return outcome, self.learner.allocation.copy()

    def learn(self, t, context, arm, reward):
        """Take in a reward."""
        self.take_in(self.numbers, context, arm, reward)

    def queues(self):
        """Q of each arm, or what the rule keeps in its place."""
        return self.learner.memory.by_arm[0]


def two_inverse_gaps(gap):
    """1 / eta and 1 / (eta + gap), which sum to 1."""
    normaliser = (2 - gap + math.sqrt(gap**2 + 4)) / 2
    return [[1 / normaliser], [1 / (normaliser + gap)]]


def play_on(instance, name, dials, horizon=50_000, epochs=5, checkpoints=(5_000, 12_500, 50_000), seed=42):
    """Regret and violation at the checkpoints, shape (2, epochs, checkpoints)."""
    places = np.array(checkpoints)
    sums = np.zeros((2, epochs, len(places)))
    optimum = find_optimum(instance, None)
    chosen = policy(name, **dials_of(name, dials))
    for epoch in range(epochs):
        task = Task(instance, name, chosen, "gaussian", None, optimum, math.nan, horizon, seed, epoch, places, window=0)
        played = make_run(make_world(task), bind(task, chosen).learner, task)
        player_of(chosen.kind, played)(1, horizon)
        sums[:, epoch] = played.record.totals[[Total.REGRET, Total.VIOLATION]]
    return sums


class TestSingleSteps:
    @pytest.mark.parametrize("name", ["doc", "spoc", "sgoc"])
    def test_each_arm_is_pulled_once_first(self, name):
        """An arm pulled in one context is not fresh in another, and an arm that is not available is not played."""
        available = np.array([[True, True], [True, True], [True, False]])
        player = Player(name, CONTEXT_FREE_DIALS, [0.1, 0.1, 0.1], [0.5, 0.5], available=available)
        player.learn(1, 0, 0, 0.5)
        outcome, allocation = player.allocate(2)
        assert outcome & Outcome.EXPLORED
        assert allocation.tolist() == [[0, 0], [0.5, 1], [0.5, 0]]

    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("doc", [0.15 + (1 - 0.15 - 1 / 6), 1 / 6]),  # 0.15 / 1 and 0.1 / 0.6
            ("spoc", [0.25 + 0.25, 0.5]),  # 0.15 / 0.6 and 0.1 / 0.2
            ("sgoc", [0.75, 0.25]),  # 0.15 / 0.8 and 0.1 / 0.4, the rest to arm 1
        ],
    )
    def test_floors_are_met_by_upper_bounds_lower_bounds_or_means(self, name, expected):
        """Arms of mean 0.8 and 0.4, radius 0.2; the rest goes to arm 1."""
        player = Player(name, CONTEXT_FREE_DIALS, [0.15, 0.1], noise_scale=FIFTH).has_seen([[0.8], [0.4]], 4)
        outcome, allocation = player.allocate(2)
        assert outcome == Outcome.PLANNED
        assert allocation[:, 0] == pytest.approx(expected, abs=1e-15)

    @pytest.mark.parametrize("name", ["doc", "spoc"])
    def test_infeasible_lower_bounds_give_way_to_upper_ones(self, name):
        """0.2 / 0.6 and 0.15 / 0.2 exceed 1; 0.2 / 1 and 0.15 / 0.6 do not."""
        player = Player(name, CONTEXT_FREE_DIALS, [0.2, 0.15], noise_scale=FIFTH).has_seen([[0.8], [0.4]], 4)
        outcome, allocation = player.allocate(2)
        assert outcome == Outcome.PLANNED
        assert allocation[:, 0] == pytest.approx([0.75, 0.25], abs=1e-15)

    @pytest.mark.parametrize(
        ("name", "shares", "by"),
        [
            ("doc", (), (1.0, 0.6)),
            ("spoc", (), (0.6, 0.2)),
            ("sgoc", (), (0.8, 0.4)),
            ("spoc", ("ucb",), (1.0, 0.6)),
            ("sgoc", ("ucb",), (1.0, 0.6)),
        ],
    )
    def test_floors_out_of_reach_share_in_proportion(self, name, shares, by):
        """Floors of 0.8 and 0.54, by the rule's own bounds or by upper ones, scaled to 1; the best arm gets no more."""
        player = Player(name, (*CONTEXT_FREE_DIALS, *shares), [0.8, 0.54], noise_scale=FIFTH)
        outcome, allocation = player.has_seen([[0.8], [0.4]], 4).allocate(2)
        assert outcome == Outcome.FELL_BACK
        wanted = np.array([0.8, 0.54]) / by
        assert allocation[:, 0] == pytest.approx(wanted / wanted.sum(), abs=1e-15)

    @pytest.mark.parametrize("name", ["spoc", "sgoc"])
    def test_without_a_positive_bound_of_its_own_an_arm_is_shared_by_upper_ones(self, name):
        """Arm 2 has mean -0.1 and upper bound 0.1: 0.8 / 1 and 0.05 / 0.1, scaled to 1."""
        player = Player(name, CONTEXT_FREE_DIALS, [0.8, 0.05], noise_scale=FIFTH).has_seen([[0.8], [-0.1]], 4)
        outcome, allocation = player.allocate(2)
        assert outcome == Outcome.FELL_BACK
        assert allocation[:, 0] == pytest.approx([0.8 / 1.3, 0.5 / 1.3], abs=1e-12)

    @pytest.mark.parametrize("name", ["doc", "spoc", "sgoc"])
    def test_means_are_pooled_over_contexts(self, name):
        """Three rewards of 1 and one of 0 have mean 3/4; without noise every branch is lambda / mean."""
        player = Player(name, (0.01, 0.0), [0.15, 0.1], [0.9, 0.1]).has_seen([[1, 0], [0.4, 0.4]], [[3, 1], [1, 1]])
        _, allocation = player.allocate(7)
        assert allocation == pytest.approx(np.array([[0.75, 0.75], [0.25, 0.25]]), abs=1e-15)

    @pytest.mark.parametrize("name", ["doc", "spoc", "sgoc"])
    def test_an_arm_that_cannot_earn_does_not_starve_the_others(self, name):
        """An upper bound below zero leaves its arm out, and is never a negative share."""
        player = Player(name, (0.01, 0.0), [0.1, 0.2, 0.0]).has_seen([[-1.0], [0.5], [0.6]], 4)
        outcome, allocation = player.allocate(20)
        assert outcome == Outcome.FELL_BACK
        assert allocation[:, 0].tolist() == [0, 1, 0]

    def test_optimistic3_prices_a_floor_that_even_shares_would_miss(self):
        """Round 1: U = 1, w even, G = (0.2, -0.4), Q = (0.4, 0). Round 2: logits (1.2, 1)."""
        player = Player("optimistic3", (2.0, "expected"), [0.7, 0.1])
        _, first = player.allocate(1)
        assert first[:, 0].tolist() == [0.5, 0.5]
        assert player.queues() == pytest.approx([0.4, 0], abs=1e-15)
        assert player.learner.memory.by_arm[ByArmRow.PREVIOUS] == pytest.approx([0.2, -0.4], abs=1e-15)
        _, second = player.allocate(2)
        favoured = 1 / (1 + math.exp(-0.2))
        assert second[:, 0] == pytest.approx([favoured, 1 - favoured], abs=1e-15)
        gap = 0.7 - favoured
        assert player.queues()[0] == pytest.approx(0.4 + 2 * gap - 0.2, abs=1e-15)

    def test_optimistic3_may_see_realised_rewards(self):
        """G = (0.7 - 0.5, 0.1) after a reward of 1 on a scale of 2."""
        player = Player("optimistic3", (2.0, "realised"), [1.4, 0.2], bound=2.0)
        player.allocate(1)
        assert player.queues().tolist() == [0, 0]
        player.learn(1, 0, 0, 1.0)
        assert player.queues() == pytest.approx([0.4, 0.2], abs=1e-15)

    def test_loe2d_weighs_inverse_gaps(self):
        """T = 100, K = 2, C = 1: U = 2 log 100, gamma = 2 sqrt(100 / U); the gap in means is 0.2 on the scale."""
        player = Player("loe2d", (1.0, 1.0), [0.7, 0.1], bound=2.0).has_seen([[1.0], [0.6]], 4)
        _, allocation = player.allocate(9)
        gamma = 2 * math.sqrt(100 / (2 * math.log(100)))
        assert allocation == pytest.approx(np.array(two_inverse_gaps(2 * gamma * 0.2)), abs=1e-15)

    @pytest.mark.parametrize("name", ["loe2d", "drift-plus-penalty", "bandit-q"])
    def test_queues_gather_what_floors_are_owed(self, name):
        """On a scale of 2, floors 0.6 and 0.4 are 0.3 and 0.2, and rewards 1 and 0.8 are 0.5 and 0.4."""
        player = Player(name, (1.0, 1.0), [0.6, 0.4], bound=2.0)
        player.allocate(1)
        player.learn(1, 0, 0, 1.0)
        assert player.queues() == pytest.approx([0, 0.2], abs=1e-15)
        player.allocate(2)
        player.learn(2, 0, 1, 0.8)
        assert player.queues() == pytest.approx([0.3, 0], abs=1e-15)

    def test_lagrange_cb_starts_from_even_prices(self):
        """nu = 1/3 each with time, eta = 4: scores 1/2 + 4/3 and 1/4 + 4/3; Hedge moves by h = sqrt(log 3 / T) / 4."""
        player = Player("lagrange-cb", (0.5, 1.0, 1.0), [0.5, 0.25]).has_seen([[0.5], [0.25]], 4)
        _, allocation = player.allocate(9)
        gamma = math.sqrt(2 * 100 / (2 * math.log(100)))
        assert allocation[1, 0] == pytest.approx(1 / (2 + gamma / 4), abs=1e-15)
        assert allocation[:, 0].sum() == pytest.approx(1, abs=1e-15)
        player.learn(9, 0, 0, 2.0)
        step = 0.25 * math.sqrt(math.log(3) / 100)
        assert player.queues() == pytest.approx([-3 * step, step], abs=1e-15)

    def test_drift_plus_penalty_plays_the_arm_that_is_owed_most(self):
        """With eta = sqrt(100) = 10 and UCBs near 0.8 and 0.4, arm 1 is played until the queue of arm 2 exceeds 10."""
        player = Player("drift-plus-penalty", (1.0,), [0.1, 0.1]).has_seen([[0.8], [0.4]], 1e12)
        player.queues()[1] = 9.99
        assert player.allocate(9)[1][:, 0].tolist() == [1, 0]
        player.queues()[1] = 10.01
        assert player.allocate(10)[1][:, 0].tolist() == [0, 1]

    def test_drift_plus_penalty_plays_pairs_never_played(self):
        """Their upper bound is infinite."""
        player = Player("drift-plus-penalty", (1.0,), [0.1, 0.1], [0.5, 0.5])
        player.has_seen([[0.8, 0.8], [0.4, 0]], [[4, 4], [4, 0]])
        outcome, allocation = player.allocate(9)
        assert outcome == Outcome.EXPLORED
        assert allocation.tolist() == [[1, 0], [0, 1]]

    def test_bandit_q_follows_its_surrogates(self):
        """A first reward of 1, played with 1/2: the surrogate is sqrt(100), its estimate 20, its square 100."""
        player = Player("bandit-q", (1.0,), [0.3, 0.2])
        assert player.allocate(1)[1][:, 0].tolist() == [0.5, 0.5]
        player.learn(1, 0, 0, 1.0)
        _, allocation = player.allocate(50)
        rate = math.sqrt(2 * math.log(100) / (100 + 100))
        even = math.sqrt(2 / 50)
        expected = (1 - even) * np.array(two_inverse_gaps(20 * rate)) + even / 2
        assert allocation == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("everywhere", [True, False], ids=["all-available", "some-not"])
@pytest.mark.parametrize(("name", "dials"), SETTINGS)
def test_kernels_and_their_slow_twins_agree_round_by_round(name, dials, everywhere, cases):
    """The kernels keep running means, relative logits and scratch; the twins keep everything and follow the papers."""
    rng = np.random.default_rng(20)
    probabilities = np.array([0.5, 0.3, 0.2])
    means = np.array([[3, 1, 2], [0, 1.5, 0.5], [0.2, 0, 1], [1, 1, 1]])
    floors = np.array([0.3, 0.3, 0.15, 0.0])
    available = np.ones(means.shape, dtype=np.bool_)
    if not everywhere:
        available[[0, 2], [2, 1]] = False
    noise_scale, bound, horizon = 0.7, 3.0, 400
    player = Player(
        name,
        dials,
        floors,
        probabilities,
        available=available,
        noise_scale=noise_scale,
        bound=bound,
        horizon=horizon,
    )
    twin = make_twin(name, probabilities, floors, available, noise_scale, bound, horizon, dials)
    for t in range(1, cases(120, horizon) + 1):
        context = rng.choice(3, p=probabilities)
        _, allocation = player.allocate(t, context)
        expected = twin.allocate(t, context)
        np.testing.assert_allclose(allocation, expected, rtol=0, atol=1e-12, err_msg=f"round {t}")
        arm = rng.choice(4, p=allocation[:, context])
        reward = means[arm, context] + noise_scale * rng.standard_normal()
        player.learn(t, context, arm, reward)
        twin.learn(t, context, arm, reward)


@np.errstate(all="ignore")  # uncompiled kernels warn where they cut an infinity
@pytest.mark.parametrize(("name", "dials"), SETTINGS)
def test_columns_are_distributions_whatever_was_seen(name, dials, cases):
    """Huge, tiny, negative and zero rewards, floors of zero and out of reach, pairs never played or not available."""
    rng = np.random.default_rng(21)
    rewards = [0.0, -0.0, 1.0, -1.0, 1e-320, -1e-320, 1e300, -1e300, 1e9, -1e9]
    for case in range(cases(20, 60)):
        n_arms, n_contexts = rng.integers(1, 5, size=2)
        available = rng.random((n_arms, n_contexts)) < 0.7
        available[rng.integers(n_arms, size=n_contexts), np.arange(n_contexts)] = True
        player = Player(
            name,
            dials,
            rng.choice([0.0, 1e-300, 1e-9, 0.1, 1.0, 1e3, 1e300], size=n_arms),
            np.full(n_contexts, 1 / n_contexts),
            available=available,
            noise_scale=rng.choice([1e-6, 1.0, 1e6]),
            bound=rng.choice([1e-300, 1e-3, 1.0, 9.0, 1e300]),
            horizon=int(rng.choice([1, 2, 100, 10**9])),
        )
        if case % 2:
            pulls = np.where(available, rng.choice([0, 1, 5, 1e6, 1e12], size=available.shape), 0)
            player.has_seen(np.where(pulls > 0, rng.choice(rewards, size=available.shape), 0), pulls)
        for t in range(1, 40):
            context = int(rng.integers(n_contexts))
            _, allocation = player.allocate(t, context)
            assert np.isfinite(allocation).all()
            assert (allocation >= 0).all()
            assert (allocation[~available] == 0).all()
            assert allocation.sum(axis=0) == pytest.approx(np.ones(n_contexts), abs=1e-12)
            arm = int(rng.choice(np.flatnonzero(allocation[:, context] > 0)))
            player.learn(t, context, arm, float(rng.choice(rewards)))
            assert all(np.isfinite(part).all() for part in player.learner.memory)


class TestWhatIsExpectedOfThem:
    """The bounds lie at least five deviations from the mean of 40 repetitions with another seed, and beyond all 40."""

    def test_sharing_by_upper_bounds_doc_and_spoc_coincide_on_nu_and_grow_linearly(self):
        """False-alarm rate below 1e-6.

        Without contexts the floors take 7/6 of the rounds, so that lower bounds are never feasible.
        """
        doc = play_on(paper_instance("nu"), "doc", CONTEXT_FREE_DIALS)
        spoc = play_on(paper_instance("nu"), "spoc", (*CONTEXT_FREE_DIALS, "ucb"))
        assert (doc == spoc).all()
        assert (doc != play_on(paper_instance("nu"), "spoc", CONTEXT_FREE_DIALS)).any()
        regret, violation = doc.mean(axis=1)
        assert 170_000 < regret[-1] < 188_000
        assert 6_000 < violation[-1] < 12_000
        assert (regret[2] - regret[1]) / (regret[1] - regret[0]) == pytest.approx(5, abs=0.6)

    def test_without_saturation_violation_is_flat_for_spoc_and_like_a_root_for_doc(self):
        """False-alarm rate below 1e-4.

        Rewards pooled over contexts have deviation 3. Told sigma = 1, SPOC's violation still grows after round 5,000
        in one run of ten; told 3, in none of 200.
        """
        instance = paper_instance("nu-nonsaturating")
        doc_regret, doc = play_on(instance, "doc", CONTEXT_FREE_DIALS).mean(axis=1)
        spoc_regret, spoc = play_on(instance, "spoc", (0.01, 3.0)).mean(axis=1)
        assert spoc[2] - spoc[0] < 1
        assert doc[2] > 1_000
        assert 1.3 < doc[2] / doc[1] < 3.5
        for regret in (doc_regret, spoc_regret):
            assert 205_000 < regret[2] < 220_000

    @pytest.mark.parametrize("name", ["spoc", "sgoc"])
    def test_where_floors_can_be_met_it_does_not_matter_what_is_shared_otherwise(self, name):
        """Bit for bit: upper bounds are feasible from the first round on, as they are larger than the means."""
        instance = paper_instance("nu-nonsaturating")
        own, upper = (
            play_on(instance, name, (*CONTEXT_FREE_DIALS, shares), 5_000, checkpoints=(500, 5_000))
            for shares in ("own", "ucb")
        )
        assert (own == upper).all()

    def test_optimistic3_behaves_like_olp_on_nu(self):
        """False-alarm rate below 1e-4: over runs, R is 51 with deviation 21, V is 1,796 with deviation 219."""
        regret, violation = play_on(paper_instance("nu"), "optimistic3", (2.0, "expected")).mean(axis=1)
        assert 5 < regret[-1] < 120
        assert regret[-1] - regret[0] < 60
        assert 1_300 < violation[-1] < 2_300
        assert 1.5 < violation[2] / violation[1] < 2.8

    @pytest.mark.parametrize("margin", [0.0, 0.1, 0.5, 0.9])
    def test_the_case_of_the_paper_without_contexts(self, margin):
        """False-alarm rate below 1e-4. mu = (.8, .9, .7), lambda = mu (1 - margin) / 3, noise 0.5.

        DOC: no regret to speak of, violation like a root. SPOC: the reverse, once the margin lets lower bounds be
        feasible. SGOC: little of both.
        """
        means = np.array([0.8, 0.9, 0.7])
        instance = Instance(means[:, None], means * (1 - margin) / 3, [1.0], noise_scale=0.5)
        doc = play_on(instance, "doc", CONTEXT_FREE_DIALS)
        spoc = play_on(instance, "spoc", CONTEXT_FREE_DIALS)
        sgoc = play_on(instance, "sgoc", CONTEXT_FREE_DIALS)
        doc_regret, doc_violation = doc.mean(axis=1)
        spoc_regret, spoc_violation = spoc.mean(axis=1)
        sgoc_regret, sgoc_violation = sgoc.mean(axis=1)
        assert doc_regret[2] - doc_regret[1] < 20
        assert 1.8 < doc_violation[2] / doc_violation[1] < 3.6
        assert sgoc_regret[2] < 150
        if margin == 0:
            assert (doc == spoc).all()
        else:
            assert spoc_violation[2] == pytest.approx(spoc_violation[1], abs=1)
            assert sgoc_violation[2] < doc_violation[2]
            assert spoc_violation[2] < 0.5 * doc_violation[2]
            assert spoc_regret[2] > sgoc_regret[2]


@pytest.mark.parametrize("module", MODULES)
def test_docstring_examples_give_what_they_show(module):
    """An example in a docstring is an assertion."""
    failed, attempted = doctest.testmod(importlib.import_module(f"arcbandit.policies.{module}"))
    assert attempted
    assert failed == 0
