"""Every decision draws random numbers of its own, whatever was learnt between decisions and whoever makes them.

False alarms: each statistical test below compares with a quantile that a correct sampler exceeds with probability
1e-6 (`RATE`), and is seeded, so that it passes always or never.
"""

import copy
import itertools
import json
import pickle

import numpy as np
import pytest
from scipy import stats

from arcbandit import BLP, OLP, Instance, ThompsonLP, policy, simulate
from arcbandit.errors import InvalidInputError
from arcbandit.kernels.planner import Coefficient
from arcbandit.policies.registry import POLICIES, restore
from tests.policies.earlier import before_changes

pytestmark = pytest.mark.slow  # many draws each, for few false alarms

RATE = 1e-6
DECISIONS = 20_000
WORKERS = 8
MEANS = np.array([[1.0, 0.3, 0.6], [0.2, 0.8, 0.5], [0.4, 0.5, 0.9]])
PROBABILITIES = np.array([0.5, 0.3, 0.2])
INSTANCE = Instance(MEANS, [0.25, 0.25, 0.25], PROBABILITIES, noise_scale=0.3)

EVERY_POLICY = sorted(POLICIES)
CERTAIN = {"drift-plus-penalty"}


def warm(decider, rows=30_000, seed=1):
    """Teach a policy a log in one batch: more rewards than the decisions to come, so that t stands still."""
    random = np.random.default_rng(seed)
    contexts = random.choice(3, size=rows, p=PROBABILITIES)
    arms = random.integers(3, size=rows)
    decider.update_many(contexts.tolist(), arms.tolist(), (MEANS[arms, contexts] + 0.3 * random.normal(size=rows)))
    return decider


class Tally:
    """Arms drawn, and how often each was to be expected, by context."""

    def __init__(self):
        self.drawn = np.zeros((3, 3))
        self.expected = np.zeros((3, 3))

    def decide(self, decider, context):
        decision = decider.decide(context)
        shares = decider.allocation()[:, context]
        arm = INSTANCE.arms.index(decision.arm)
        assert decision.probability == shares[arm] > 0
        self.drawn[arm, context] += 1
        self.expected[:, context] += shares
        return arm

    def check(self, least_degrees):
        """Chi-square over the pairs. Where shares differ between decisions it is the smaller for it."""
        possible = self.expected > 0
        degrees = int(possible.sum() - (self.expected.sum(axis=0) > 0).sum())
        assert degrees >= least_degrees
        assert (self.drawn[~possible] == 0).all()
        drawn, expected = self.drawn[possible], self.expected[possible]
        # Pairs expected less than 5 times are too few for the approximation, and are left to the others' sum.
        enough = expected >= 5
        statistic = (((drawn - expected) ** 2) / expected)[enough].sum()
        assert statistic <= stats.chi2.isf(RATE, max(degrees, 1))


class TestDecisions:
    @pytest.mark.parametrize("name", EVERY_POLICY)
    def test_arms_come_as_often_as_logged_after_a_warm_start(self, name):
        decider = warm(policy(name).for_instance(INSTANCE, horizon=DECISIONS, seed=3))
        tally = Tally()
        for context in np.random.default_rng(0).choice(3, size=DECISIONS, p=PROBABILITIES).tolist():
            tally.decide(decider, context)
        tally.check(least_degrees=0 if name in CERTAIN else 1)

    @pytest.mark.parametrize("name", ["blp", "olp", "thompson-lp", "optimistic3"])
    def test_arms_come_as_often_as_logged_where_rewards_come_in_batches(self, name):
        decider = warm(policy(name).for_instance(INSTANCE, horizon=DECISIONS, seed=4), rows=2_000)
        random = np.random.default_rng(0)
        tally = Tally()
        for _ in range(DECISIONS // 500):
            contexts = random.choice(3, size=500, p=PROBABILITIES).tolist()
            arms = [tally.decide(decider, context) for context in contexts]
            decider.update_many(contexts, arms, MEANS[arms, contexts] + 0.3 * random.normal(size=500))
        tally.check(least_degrees=1)

    def test_successive_decisions_are_independent(self):
        """Pairs of successive arms in one context come as often as the product of the probabilities says."""
        decider = warm(BLP().for_instance(INSTANCE, seed=5))
        context = mixed_context(decider)
        arms = [INSTANCE.arms.index(decider.decide(context).arm) for _ in range(DECISIONS)]
        shares = decider.allocation()[:, context]
        used = np.flatnonzero(shares)
        counts = np.zeros((3, 3))
        np.add.at(counts, (arms[:-1:2], arms[1::2]), 1)
        expected = np.outer(shares, shares)[np.ix_(used, used)] * (DECISIONS // 2)
        statistic = ((counts[np.ix_(used, used)] - expected) ** 2 / expected).sum()
        assert statistic <= stats.chi2.isf(RATE, used.size**2 - 1)

    def test_decisions_are_numbered_apart_from_rounds(self):
        decider = OLP([0.1, 0.1], [0.5, 0.5], seed=1)
        assert decider.decide(0)[3:5] == (1, 1)
        decider.update_many([0, 1, 0, 1, 0], [0, 1, 1, 0, 0], [1.0] * 5)
        first, second = decider.decide(0), decider.decide(1)
        assert (first.round_number, first.decision_number) == (6, 2)
        assert (second.round_number, second.decision_number) == (6, 3)
        assert OLP.restore(decider.snapshot()).decide(0).decision_number == 4

    def test_means_are_drawn_for_each_decision_anew(self):
        """Between two updates t stands still, and what ThompsonLP draws must not."""
        decider = warm(ThompsonLP().for_instance(INSTANCE, seed=2), rows=300)
        seen = set()
        for _ in range(50):
            decider.decide(0)
            seen.add(decider.learner.planner.coefficients[Coefficient.OBJECTIVE].tobytes())
        assert len(seen) == 50

    def test_the_numbers_of_a_decision_do_not_depend_on_rewards(self):
        """Arms never played are alike: without rewards for them, the draws show through."""
        quiet, taught = (BLP(np.zeros(50), [0.5, 0.5], seed=1) for _ in range(2))
        arms = []
        for _ in range(200):
            arms.append(quiet.decide(0).arm)
            taught.update_many([1] * 3, [0] * 3, [1.0] * 3)
            assert taught.decide(0).arm == arms[-1]
        assert len(set(arms)) > 30


class TestWorkers:
    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["blp", "thompson-lp", "optimistic3"])
    @pytest.mark.parametrize("how", ["restored", "told"])
    def test_arms_of_workers_come_as_often_as_logged(self, name, how):
        """Eight workers with one seed make 20,000 decisions in all."""
        workers = deploy(name, how)
        tally = Tally()
        for context in np.random.default_rng(0).choice(3, size=DECISIONS // WORKERS, p=PROBABILITIES).tolist():
            for worker in workers:
                tally.decide(worker, context)
        tally.check(least_degrees=1)

    @pytest.mark.slow
    @pytest.mark.parametrize("how", ["restored", "told"])
    def test_workers_decide_independently(self, how):
        """How many of the eight play the same arm in the same decision has the binomial distribution.

        Numbers shared by any two would make equal choices more frequent; each pair of workers is looked at as well.
        """
        workers = deploy("blp", how)
        context = mixed_context(workers[0])
        chosen = [[worker.decide(context).arm for worker in workers] for _ in range(DECISIONS // WORKERS)]
        shares = workers[0].allocation()[:, context]
        assert all((worker.allocation()[:, context] == shares).all() for worker in workers)
        arm = int(np.abs(shares - 0.5).argmin())
        share = shares[arm]
        hits = np.array(chosen) == INSTANCE.arms[arm]
        expected = stats.binom.pmf(np.arange(WORKERS + 1), WORKERS, share) * len(hits)
        counts = np.bincount(hits.sum(axis=1), minlength=WORKERS + 1)
        enough = expected >= 5
        statistic = ((counts - expected) ** 2 / expected)[enough].sum()
        assert statistic <= stats.chi2.isf(RATE, int(enough.sum()))
        deviation = np.sqrt(len(hits)) * share * (1 - share)
        for one, other in itertools.combinations(range(WORKERS), 2):
            together = ((hits[:, one] - share) * (hits[:, other] - share)).sum()
            assert abs(together) <= stats.norm.isf(RATE / 56) * deviation

    def test_worker_0_is_the_policy_without_workers(self):
        """Hence a simulation and online use stay the same."""
        one, other = BLP([0.1] * 9, [1.0], seed=6), BLP([0.1] * 9, [1.0], seed=6, worker=0)
        assert [one.decide(0) for _ in range(50)] == [other.decide(0) for _ in range(50)]

    @pytest.mark.parametrize("worker", [1, 7, 2**40])
    def test_the_stream_of_a_worker_is_derived_as_documented(self, worker):
        """As NumPy derives the seeds of children; 63 bits of it are the seed of the stream."""
        child = np.random.SeedSequence(6, spawn_key=(worker,)).generate_state(1, np.uint64)[0]
        one, other = BLP([0.1] * 9, [1.0], seed=6, worker=worker), BLP([0.1] * 9, [1.0], seed=int(child) >> 1)
        assert [one.decide(0) for _ in range(50)] == [other.decide(0) for _ in range(50)]

    def test_a_worker_goes_on_from_its_snapshot_as_it_would_have(self):
        first = BLP([0.1] * 9, [1.0], seed=6, worker=3)
        taken_up = restore(json.loads(json.dumps(first.snapshot())), worker=5)
        for decider in (first, taken_up):
            for _ in range(20):
                decider.decide(0)
            snapshot = json.loads(json.dumps(decider.snapshot()))
            again, told = restore(snapshot), restore(snapshot, worker=decider.worker)
            assert again.worker == told.worker == decider.worker
            ahead = [decider.decide(0) for _ in range(50)]
            assert [again.decide(0) for _ in range(50)] == ahead
            assert [told.decide(0) for _ in range(50)] == ahead

    @pytest.mark.parametrize("others", [0, 400], ids=["which only learns", "which decides as well"])
    def test_a_worker_never_meets_its_numbers_again(self, others):
        """Worker 3 takes up the snapshots of worker 0 twice, and had come further than it in between.

        Arms never played are alike, so that arms show the numbers: of 9 arms one in 9 agrees by chance, and in 400
        decisions a third do with probability below 1e-30.
        """
        origin = BLP([0.1] * 9, [0.5, 0.5], seed=6)
        worker = restore(origin.snapshot(), worker=3)
        before = [worker.decide(0).arm for _ in range(1000)]
        for _ in range(others):
            origin.decide(0)
        origin.update(1, 0, 1.0)
        worker = restore(origin.snapshot(), worker=3)
        after = [worker.decide(0).arm for _ in range(400)]
        for lag in range(600):
            assert agreement(before[lag : lag + 400], after) < 1 / 3

    def test_configurations_carry_the_worker(self):
        configured = policy("blp", worker=2, seed=9)
        assert configured.for_instance(INSTANCE).worker == 2
        assert configured.for_instance(INSTANCE, worker=4).worker == 4
        assert configured.for_instance(INSTANCE).unbound().worker == 2
        assert restore(configured.for_instance(INSTANCE).snapshot()).worker == 2

    def test_simulations_know_no_workers(self):
        """A configured policy plays by the seed of the simulation, whatever worker it was meant for."""
        plain = simulate(INSTANCE, {"p": ThompsonLP()}, horizon=300, epochs=2, seed=4, jobs=1)
        other = simulate(INSTANCE, {"p": ThompsonLP(worker=5, seed=None)}, horizon=300, epochs=2, seed=4, jobs=1)
        assert (plain.regret["p"] == other.regret["p"]).all()

    @pytest.mark.parametrize("worker", [-1, 1.5, True, "1", 2**63])
    def test_a_bad_worker_is_named(self, worker):
        with pytest.raises(InvalidInputError, match="worker must be a whole number"):
            BLP(worker=worker)
        with pytest.raises(InvalidInputError, match="worker must be a whole number"):
            restore(BLP([0.1], [1.0]).snapshot(), worker=worker)


class TestSeeds:
    def test_none_takes_a_seed_from_the_system(self):
        one, other = (BLP([0.1] * 9, [1.0], seed=None) for _ in range(2))
        assert one.seed != other.seed
        assert 0 <= one.seed < 2**63
        assert agreement(*([decider.decide(0).arm for _ in range(400)] for decider in (one, other))) < 1 / 3

    def test_the_seed_taken_is_kept(self):
        one = BLP([0.1] * 9, [1.0], seed=None, worker=2)
        one.decide(0)
        again = restore(json.loads(json.dumps(one.snapshot())))
        assert (again.seed, again.worker) == (one.seed, 2)
        assert [again.decide(0) for _ in range(50)] == [one.decide(0) for _ in range(50)]
        assert one.unbound().seed == one.seed

    def test_a_configuration_takes_a_seed_for_each_problem(self):
        configured = policy("blp", seed=None)
        one, other = configured.for_instance(INSTANCE), configured.for_instance(INSTANCE)
        assert configured.seed is None
        assert one.seed != other.seed
        assert configured.for_instance(INSTANCE, seed=5).seed == 5

    def test_snapshots_from_before_there_were_workers_are_read(self):
        decider = warm(BLP().for_instance(INSTANCE, seed=3), rows=100)
        snapshot = decider.snapshot()
        second = of_second_version(snapshot)
        assert restore(second).snapshot() == snapshot
        first = {key: value for key, value in second.items() if key not in ("worker", "stream", "scales")}
        measured_again = snapshot["planner"]["basis"] | {"row_scales": [1.0] * 4, "scales_age": -1}
        planner = snapshot["planner"] | {"basis": measured_again}
        assert restore(first | {"version": 1}).snapshot() == snapshot | {"planner": planner}

    @pytest.mark.parametrize(
        "change",
        [{"stream": -1}, {"stream": None}, {"stream": 2**63}, {"seed": None}, {"worker": -1}, {"worker": None}],
    )
    def test_a_snapshot_with_a_bad_stream_is_refused(self, change):
        (name,) = change
        snapshot = BLP([0.1], [1.0]).snapshot()
        part = "statistics" if name == "stream" else "configuration"
        for edited in (snapshot | {part: snapshot[part] | change}, of_second_version(snapshot) | change):
            with pytest.raises(InvalidInputError, match=rf"{name}'\] must be a whole number"):
                restore(edited)


class TestCopies:
    @pytest.mark.parametrize("name", EVERY_POLICY)
    @pytest.mark.parametrize("make", [copy.deepcopy, copy.copy, lambda it: pickle.loads(pickle.dumps(it))])
    def test_a_copy_goes_on_as_the_original_would_and_leaves_it_alone(self, name, make):
        original = warm(policy(name, worker=1).for_instance(INSTANCE, horizon=1000, seed=2), rows=50)
        other = make(original)
        assert type(other) is type(original)
        assert other.snapshot() == original.snapshot()
        before = original.snapshot()
        ahead = [other.decide(context) for context in (0, 1, 2, 1)]
        other.update(0, 0, 0.5)
        assert original.snapshot() == before
        assert [original.decide(context) for context in (0, 1, 2, 1)] == ahead

    @pytest.mark.parametrize("make", [copy.deepcopy, copy.copy, lambda it: pickle.loads(pickle.dumps(it))])
    def test_configurations_are_copied_with_all_settings(self, make):
        settings = {
            "noise_scale": 0.5,
            "reward_bounds": (0.0, 2.0),
            "mean_bound": 1.5,
            "horizon": 77,
            "estimate_contexts": True,
            "replan": 10,
            "when_infeasible": "same_share",
            "admit_contexts": 5,
            "seed": None,
            "epoch": 4,
            "worker": 6,
            "optimism": 0.5,
        }
        original = policy("linear-program", **settings)
        other = make(original)
        assert type(other) is type(original)
        assert repr(other) == repr(original)
        dials = {"optimism"}
        for name, value in settings.items():
            assert (other.dial_values[name] if name in dials else getattr(other, name)) == value


def of_second_version(snapshot):
    """A snapshot of a rule that keeps nothing of its own, as version 2 wrote it."""
    snapshot = before_changes(snapshot)
    configuration, statistics, planner = (dict(snapshot[part]) for part in ("configuration", "statistics", "planner"))
    n_arms, n_contexts = len(configuration["revenue_floors"]), len(configuration["context_probabilities"])
    basis = planner.pop("basis")
    old = {
        **snapshot,
        **configuration,
        **statistics,
        **planner,
        "version": 2,
        "statistics": {name: statistics[name] for name in ("by_pair", "context_counts")},
        "memory": {
            **{name: basis[name] for name in ("key", "slot_arm", "slot_context")},
            "weights": [[0.0] * n_contexts] * n_arms,
            "by_arm": [[0.0] * (n_arms + 1)] * 4,
        },
        "scales": {"by_row": basis["row_scales"], "age": basis["scales_age"]},
    }
    later = ("configuration", "planner", *old["statistics"])
    return {name: part for name, part in old.items() if name not in later}


def deploy(name, how):
    """A policy fitted once and taken up by eight workers, or eight that each are told a number and the log."""
    if how == "told":
        return [warm(policy(name, worker=n).for_instance(INSTANCE, seed=1)) for n in range(WORKERS)]
    snapshot = warm(policy(name).for_instance(INSTANCE, seed=1)).snapshot()
    return [restore(json.loads(json.dumps(snapshot)), worker=n) for n in range(WORKERS)]


def mixed_context(decider):
    """A context in which no arm is all but certain."""
    trial = restore(decider.snapshot())
    trial.decide(0)
    largest = trial.allocation().max(axis=0)
    assert largest.min() < 0.8
    return int(largest.argmin())


def agreement(one, other):
    return np.mean(np.array(one) == np.array(other))
