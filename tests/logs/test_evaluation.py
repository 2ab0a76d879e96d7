"""Off-policy estimates agree with a twin, cover the truth, and say what a log cannot know."""

import json
import math

import numpy as np
import pandas
import polars
import psycopg
import pytest

from arcbandit import BLP, Instance, evaluate, plan, read_log, replay
from arcbandit.errors import InvalidInputError
from arcbandit.logs.bootstrap import pair_sums, resampled
from arcbandit.logs.estimators import ESTIMATORS, PairSums
from arcbandit.logs.rows import Rows
from tests.logs import twin
from tests.long import each_of


def world(seed, n_arms=3, n_contexts=2):
    """Means, the mix of contexts and a plan."""
    random = np.random.default_rng(seed)
    means = random.uniform(0.1, 0.9, size=(n_arms, n_contexts))
    mix = random.dirichlet(np.full(n_contexts, 5.0))
    return means, mix, random.dirichlet(np.ones(n_arms), size=n_contexts).T


def drawn(random, means, mix, rows, evenness=20.0):
    """Rows of a policy whose probabilities differ from row to row, as those of one that learns do."""
    n_arms, n_contexts = means.shape
    contexts = random.choice(n_contexts, size=rows, p=mix)
    chances = random.dirichlet(np.full(n_arms, evenness), size=rows)
    arms = (chances.cumsum(axis=1) > random.random((rows, 1))).argmax(axis=1)
    rewards = (random.random(rows) < means[arms, contexts]).astype(float) + 0.1 * random.normal(size=rows)
    return arms, contexts, rewards, chances[np.arange(rows), arms]


def frame(arms, contexts, rewards, probabilities):
    return polars.DataFrame({"context": contexts, "arm": arms, "reward": rewards, "probability": probabilities})


def sums_of(arms, contexts, rewards, probabilities, shape):
    pairs = arms * shape[1] + contexts
    u = 1.0 / probabilities

    def total(values):
        return np.bincount(pairs, values, shape[0] * shape[1]).reshape(shape)

    ones = np.ones(len(rewards))
    parts = (ones, rewards, rewards**2, u, u * u, u * rewards, u * u * rewards, (u * rewards) ** 2)
    largest = np.zeros(shape)
    np.maximum.at(largest, (arms, contexts), u)
    return PairSums(*map(total, parts), largest)


class TestTwin:
    @pytest.mark.slow
    @pytest.mark.parametrize("seed", range(3))
    def test_all_four_agree_with_it(self, seed):
        means, mix, shares = world(seed, 4, 3)
        rows = drawn(np.random.default_rng(seed + 100), means, mix, 700)
        found = evaluate(frame(*rows), shares, bootstrap=0)
        for name, (values, errors) in twin.estimates(*rows, shares).items():
            assert found.estimates[name].values == pytest.approx(values, rel=1e-12, abs=1e-12)
            assert found.estimates[name].errors == pytest.approx(errors, rel=1e-9)
        weights = shares[rows[0], rows[1]] / rows[3]
        assert found.effective_rows == pytest.approx(weights.sum() ** 2 / (weights**2).sum(), rel=1e-12)
        assert found.largest_weight == pytest.approx(weights.max(), rel=1e-12)
        assert found.mean_weight == pytest.approx(weights.mean(), rel=1e-12)

    def test_wherever_the_log_lies(self, tmp_path):
        means, mix, shares = world(1)
        log = frame(*drawn(np.random.default_rng(1), means, mix, 300))
        log.write_csv(tmp_path / "log.csv")
        log.write_parquet(tmp_path / "log.parquet")
        wanted = evaluate(log, shares, bootstrap=20)
        for name in ("log.csv", "log.parquet"):
            found = evaluate(tmp_path / name, shares, bootstrap=20)
            for method in ESTIMATORS:
                ours, theirs = found.estimates[method], wanted.estimates[method]
                assert ours.values == pytest.approx(theirs.values, rel=1e-12, abs=1e-12)
                assert ours.errors == pytest.approx(theirs.errors, rel=1e-9)

    @pytest.mark.slow
    def test_in_postgresql(self, postgres):
        means, mix, shares = world(1)
        log = frame(*drawn(np.random.default_rng(1), means, mix, 300)).with_columns(timestamp=np.arange(300)[::-1])
        with psycopg.connect(postgres) as connection:
            connection.execute(
                "CREATE TABLE evaluated (context integer, arm integer, reward double precision, "
                "probability double precision, timestamp integer)"
            )
            with connection.cursor().copy("COPY evaluated FROM STDIN") as copy:
                for row in log.iter_rows():
                    copy.write_row(row)
                copy.write_row((0, 0, 1.0, 0.0, 0))  # by which no other database divides
        found, wanted = evaluate(postgres, shares, table="evaluated", skip_bad_rows=True), evaluate(log, shares)
        for method in ESTIMATORS:
            assert found.estimates[method].values == pytest.approx(wanted.estimates[method].values, rel=1e-12)
        assert found.bad_rows[0].count == 1
        played = replay(postgres, "olp", table="evaluated", skip_bad_rows=True, rounds=50)
        assert played.learner.snapshot() == replay(log, "olp", rounds=50).learner.snapshot()


class TestCoverage:
    """The 95 % intervals of every arm's revenue and of all of them cover the truth at their rate.

    A rate of exactly 95 % leaves the limits, five standard deviations, with probability 6e-7 for each of 16 numbers:
    2e-5 in the two worlds of the short version, 2e-4 in the twenty of the long one.
    """

    @pytest.mark.slow
    @pytest.mark.parametrize("seed", each_of(range(2), range(20)))
    def test_by_the_normal_approximation(self, seed, cases):
        logs = cases(250, 2000)
        means, mix, shares = world(seed)
        by_arm = (shares * means) @ mix
        truth = np.append(by_arm, by_arm.sum())
        random = np.random.default_rng(seed)
        covered = {name: np.zeros(4) for name in ESTIMATORS}
        for _ in range(logs):
            sums = sums_of(*drawn(random, means, mix, 600), means.shape)
            for name, estimator in ESTIMATORS.items():
                values, errors = estimator(sums, shares, sums.means)
                covered[name] += np.abs(values - truth) <= 1.9639 * errors  # of Student's t with 599 degrees
        slack = 5.0 * math.sqrt(0.95 * 0.05 / logs)
        # Quotients and models are unbiased only in the limit: at this size rates may be off by a hundredth.
        for name, times in covered.items():
            assert times / logs == pytest.approx(0.95, abs=slack + 0.01), name

    @pytest.mark.slow
    def test_by_resampling_heavy_weights(self, cases):
        """A plan that likes what the log hardly played; a rate of 90 % misses the limit with probability 1e-4."""
        logs = cases(15, 1000)
        means, mix, _ = world(9)
        shares = np.array([[0.0, 0.1], [0.1, 0.0], [0.9, 0.9]])
        truth = float(((shares * means) @ mix).sum())
        random = np.random.default_rng(9)
        covered = dict.fromkeys(ESTIMATORS, 0)
        for log in range(logs):
            arms, contexts, rewards, probabilities = drawn(random, means, mix, 300, evenness=6.0)
            rows = Rows(arms, contexts, rewards, 1.0 / probabilities, np.ones(300))
            sums = sums_of(arms, contexts, rewards, probabilities, means.shape)
            ends = resampled(rows, shares, sums.means, samples=cases(60, 100), confidence=0.95, seed=log)
            for name, found in ends.items():
                covered[name] += found[-1, 0] <= truth <= found[-1, 1]
        least = 0.90 * logs - 3.7 * math.sqrt(0.09 * logs)
        assert min(covered.values()) >= least, covered


class TestBootstrap:
    def test_rows_that_are_alike_are_counted_not_repeated(self):
        means, mix, shares = world(2)
        arms, contexts, rewards, _ = drawn(np.random.default_rng(2), means, mix, 500)
        log = frame(arms, contexts, (rewards > 0.5).astype(float), np.full(500, 1 / 3))
        found = evaluate(log, shares, bootstrap=150)
        # The same rows, one by one: other random numbers, the same distribution.
        told_apart = log.with_columns(polars.col("probability") + np.arange(500) * 1e-12)
        other = evaluate(told_apart, shares, bootstrap=150)
        for name in ESTIMATORS:
            assert found.estimates[name].value == pytest.approx(other.estimates[name].value, rel=1e-6)
            assert found.estimates[name].bootstrap == pytest.approx(other.estimates[name].bootstrap, abs=0.03)
            # Wide as the normal approximation is: 150 samples tell a width to a tenth.
            widths = np.diff(found.estimates[name].bootstrap) / np.diff(found.estimates[name].intervals)
            assert widths == pytest.approx(np.ones((4, 1)), abs=0.4)

    def test_the_order_of_rows_does_not_matter(self):
        """A database groups rows as its threads are done; the samples that a seed draws are the same."""
        means, mix, shares = world(2)
        log = frame(*drawn(np.random.default_rng(2), means, mix, 500))
        found, other = (
            evaluate(one, shares, bootstrap=50) for one in (log, log.sample(fraction=1.0, shuffle=True, seed=1))
        )
        for name in ESTIMATORS:
            assert (found.estimates[name].bootstrap == other.estimates[name].bootstrap).all()

    def test_it_is_done_if_weights_are_heavy(self, monkeypatch):
        monkeypatch.setattr("arcbandit.logs.evaluation.SAMPLES", 30)
        means, mix, _ = world(3)
        log = frame(*drawn(np.random.default_rng(3), means, mix, 2000))
        light = evaluate(log, "uniform")
        assert not light.heavy_weights
        assert light.estimates["dr"].bootstrap is None
        rare = log.with_columns(
            polars.when(polars.int_range(2000) == 7)
            .then(0.001)
            .otherwise(polars.col("probability"))
            .alias("probability")
        )
        heavy = evaluate(rare, "uniform")
        assert heavy.heavy_weights
        assert heavy.estimates["ips"].bootstrap.shape == (4, 2)
        low, high = heavy.estimates["dr"].bootstrap[-1]
        assert heavy.interval[0] <= low < high <= heavy.interval[1]
        assert evaluate(rare, "uniform", bootstrap=0).estimates["ips"].bootstrap is None

    def test_too_many_rows_are_not_resampled(self, monkeypatch):
        monkeypatch.setattr("arcbandit.logs.evaluation.MOST_DISTINCT_ROWS", 99)
        means, mix, _ = world(3)
        log = frame(*drawn(np.random.default_rng(3), means, mix, 100))
        assert evaluate(log, "uniform", bootstrap=10).estimates["ips"].bootstrap is None

    def test_sums_of_a_sample(self):
        rows = Rows(np.array([0, 1]), np.array([0, 0]), np.array([2.0, 3.0]), np.array([4.0, 5.0]), np.ones(2))
        sums = pair_sums(rows, np.array([0, 1]), np.array([3.0, 0.0]), (2, 1))
        assert sums.counts.tolist() == [[3.0], [0.0]]
        assert sums.weighted.tolist() == [[24.0], [0.0]]


class TestWhatALogCannotKnow:
    def test_pairs_never_logged_are_named(self):
        log = pandas.DataFrame({"context": ["x", "x", "y", "y"], "arm": ["a", "b", "a", "a"], "reward": [1.0, 0, 1, 0]})
        shares = pandas.DataFrame({"x": [0.5, 0.2, 0.3], "y": [0.6, 0.4, 0.0]}, index=["a", "b", "c"])
        found = evaluate(log.assign(probability=[0.5, 0.5, 1.0, 1.0]), shares, bootstrap=0)
        assert found.unsupported_pairs == (("b", "y", 0.2), ("c", "x", 0.15))
        assert found.unsupported_share == pytest.approx(0.35)
        assert math.isnan(found.estimates["dm"].value)
        assert math.isnan(found.estimates["dr"].value)
        assert found.best == "snips"
        # By hand: weights 1, 0.4, 0.6, 0.6, rewards 1, 0, 1, 0.
        assert found.estimates["ips"].value == pytest.approx(1.6 / 4)
        assert found.estimates["snips"].value == pytest.approx(1.6 / 2.6)
        assert found.mean_weight == pytest.approx(1 - 0.35)
        assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["estimates"]["dr"]["value"] is None

    def test_rounding_of_a_plan_is_no_pair_of_it(self):
        log = polars.DataFrame(
            {"context": ["x", "y"], "arm": ["a", "b"], "reward": [1.0, 2.0], "probability": [1.0, 1.0]}
        )
        found = evaluate(log, [[1.0, 1e-15], [1e-15, 1.0]], bootstrap=0)
        assert found.unsupported_pairs == ()
        assert found.estimates["dr"].value == pytest.approx(1.5)

    def test_a_log_without_probabilities_is_refused(self):
        log = polars.DataFrame({"context": ["x"] * 4, "arm": ["a", "b"] * 2, "reward": [1.0, 0.0, 1.0, 1.0]})
        with pytest.raises(InvalidInputError, match=r"has no column `probability`.*--infer-probabilities"):
            evaluate(log, "uniform")
        inferred = evaluate(log, "uniform", infer_probabilities=True, bootstrap=0)
        told = evaluate(log.with_columns(probability=0.5), "uniform", bootstrap=0)
        assert inferred.probabilities == "inferred"
        for name in ESTIMATORS:
            assert inferred.estimates[name].values == pytest.approx(told.estimates[name].values)
            assert inferred.estimates[name].errors == pytest.approx(told.estimates[name].errors)

    def test_probabilities_that_cannot_be_divided_by_are_refused(self):
        log = polars.DataFrame({"context": ["x"], "arm": ["a"], "reward": [1.0], "probability": [1e-200]})
        with pytest.raises(InvalidInputError, match="probabilities of the frame must be large enough"):
            evaluate(log, "uniform")

    def test_a_single_row_has_no_interval(self):
        log = polars.DataFrame({"context": ["x"], "arm": ["a"], "reward": [1.0], "probability": [0.5]})
        found = evaluate(log, "uniform", bootstrap=0)
        assert found.estimates["ips"].value == 2.0
        assert math.isnan(found.estimates["ips"].errors[-1])


class TestPlans:
    LOG = polars.DataFrame(
        {
            "context": ["x", "y", "y", "x"] * 40,
            "arm": ["a", "b", "a", "b"] * 40,
            "reward": [1.0, 2.0, 3.0, 4.0] * 40,
            "probability": [0.5] * 160,
        }
    )

    @pytest.mark.slow
    def test_plans_and_policies_are_aligned_by_name(self):
        instance = Instance([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0], [0.5, 0.5], arms=["b", "a"], contexts=["y", "x"])
        found = evaluate(self.LOG, plan(instance), bootstrap=0)  # a in x, b in y
        assert found.arms == ("a", "b")
        assert found.shares.tolist() == [[1.0, 0.0], [0.0, 1.0]]
        assert found.value == pytest.approx(1.5)

    def test_the_plan_of_a_policy_at_work_which_is_left_as_it_was(self):
        policy = BLP([0.0, 0.0], arms=["b", "a"], contexts=["y", "x", "z"])
        for _ in range(200):
            for context, arm, reward in (
                ("x", "a", 1.0),
                ("x", "b", 4.0),
                ("y", "a", 3.0),
                ("y", "b", 2.0),
                ("z", "a", 0.0),
            ):
                policy.update(context, arm, reward, count_context=True)
            policy.update("z", "b", 1.0)
        before = policy.snapshot()
        found = evaluate(self.LOG, policy, bootstrap=0)
        assert policy.snapshot() == before
        assert found.shares.tolist() == [[0.0, 1.0], [1.0, 0.0]]
        assert found.plan.endswith("frozen")
        assert found.estimates["dm"].value == pytest.approx(3.5)

    @pytest.mark.parametrize(
        ("given", "settings", "match"),
        [
            ("unifrom", {}, "plan must be 'uniform', a Plan, a policy or shares"),
            ([[0.5, 0.5], [0.4, 0.5]], {}, "plan must share out each context: its column 0 sums to 0.9"),
            ([[1.5, 0.5], [-0.5, 0.5]], {}, "plan must hold shares of at least 0"),
            ([[1.0, 1.0]], {}, "plan must have a row for each of 2 arms"),
            (pandas.DataFrame({"x": [1.0]}, index=["a"]), {}, "plan must have every context of the log, but lacks 'y'"),
            ("uniform", {"confidence": 1.0}, "confidence must be a number between 0 and 1"),
            ("uniform", {"bootstrap": -1}, "bootstrap must be a whole number"),
            ("uniform", {"infer_probabilities": 1}, "infer_probabilities must be True or False"),
        ],
    )
    def test_what_is_no_plan_is_refused(self, given, settings, match):
        with pytest.raises(InvalidInputError, match=match):
            evaluate(self.LOG, given, **settings)

    def test_higher_confidence_is_wider(self):
        shares = [[0.9, 0.9], [0.1, 0.1]]
        ninety, more = (evaluate(self.LOG, shares, confidence=level, bootstrap=0).interval for level in (0.9, 0.99))
        assert more[0] < ninety[0] < ninety[1] < more[1]

    def test_its_log_is_told(self):
        found = evaluate(self.LOG, "uniform")
        assert found.statistics.counts.tolist() == read_log(self.LOG).counts.tolist()
        assert repr(found).startswith("<Evaluation of uniform: 2.5 per round")
