"""A replayed policy meets the log's contexts in order and gets each of its rewards once."""

import numpy as np
import polars
import pytest

from arcbandit import BLP, OLP, Instance, fit, read_log, replay, simulate
from arcbandit.errors import InvalidInputError

pytestmark = pytest.mark.filterwarnings("ignore::arcbandit.errors.FloorsOutOfReachWarning")

MEANS = np.array([[0.9, 0.2], [0.3, 0.7]])


def uniform_log(rows, seed=1, noise=0.1):
    random = np.random.default_rng(seed)
    contexts, arms = random.integers(2, size=rows), random.integers(2, size=rows)
    rewards = MEANS[arms, contexts] + noise * random.normal(size=rows)
    return polars.DataFrame({"context": contexts, "arm": arms, "reward": rewards, "timestamp": np.arange(rows)})


def test_it_plays_as_the_policy_would_by_itself():
    """The same decisions as a loop written by hand, with queues of rewards."""
    log = uniform_log(600)
    found = replay(log, "blp", {"1": 0.1}, seed=4, noise_scale=0.1)
    policy = BLP({"0": 0.0, "1": 0.1}, contexts=["0", "1"], seed=4, noise_scale=0.1)
    queues = {(arm, context): [] for arm in ("0", "1") for context in ("0", "1")}
    for row in log.iter_rows(named=True):
        queues[str(row["arm"]), str(row["context"])].append(row["reward"])
    earned = []
    for context in log["context"]:
        arm = policy.decide(str(context)).arm
        if not queues[arm, str(context)]:
            assert found.ran_out == (arm, str(context))
            break
        earned.append(queues[arm, str(context)].pop(0))
        policy.update(str(context), arm, earned[-1])
    assert found.rounds == len(earned) < 600
    assert found.value == pytest.approx(np.mean(earned), rel=1e-12)
    assert found.arm_revenue.sum() == pytest.approx(found.value)
    assert found.plays.sum() == found.rounds
    assert found.learner.snapshot() == policy.snapshot()
    low, high = found.interval
    assert high - low == pytest.approx(2 * 1.965 * np.std(earned, ddof=1) / np.sqrt(len(earned)), rel=0.01)


@pytest.mark.slow
def test_it_earns_what_a_simulation_of_the_truth_does(cases):
    """Mean revenue over replays and over simulated epochs, within five standard errors: false alarms below 1e-6."""
    logs = cases(8, 300)
    rounds = 200
    instance = Instance(MEANS, [0.1, 0.1], [0.5, 0.5], noise_scale=0.1)
    values = [
        replay(uniform_log(2000, seed), OLP(noise_scale=0.1), {"0": 0.1, "1": 0.1}, rounds=rounds, seed=seed).value
        for seed in range(logs)
    ]
    trace = simulate(instance, OLP(estimate_contexts=True), rounds, epochs=cases(100, 400), jobs=1)
    performance = trace.mean("performance", trace.policies[0])[-1] / rounds
    error = np.std(values, ddof=1) / np.sqrt(logs)
    assert np.mean(values) == pytest.approx(performance, abs=5 * error + 1e-3)


def test_rows_come_in_the_order_of_time(tmp_path):
    log = uniform_log(300)
    shuffled = log.sample(fraction=1.0, shuffle=True, seed=3)
    shuffled.write_parquet(tmp_path / "log.parquet")
    wanted = replay(log, "olp").learner.snapshot()
    assert replay(tmp_path / "log.parquet", "olp").learner.snapshot() == wanted
    assert replay(shuffled.drop("timestamp"), "olp").learner.snapshot() != wanted


def test_times_in_a_csv_are_numbers_if_they_can_be(tmp_path):
    log = uniform_log(300).with_columns(polars.col("timestamp") + 950)  # 950 to 1249
    log.sample(fraction=1.0, shuffle=True, seed=3).write_csv(tmp_path / "log.csv")
    assert replay(tmp_path / "log.csv", "olp").learner.snapshot() == replay(log, "olp").learner.snapshot()


def test_a_log_without_an_order_is_refused():
    import ibis

    log = ibis.memtable(uniform_log(30).drop("timestamp"))
    with pytest.raises(InvalidInputError, match="has no order: name the column of times"):
        replay(log, "olp")


def test_a_policy_at_work_goes_on_and_is_left_as_it_was():
    log = uniform_log(400)
    policy = fit(read_log(log[:200]), {"1": 0.05})
    before = policy.snapshot()
    found = replay(log[200:], policy)
    assert policy.snapshot() == before
    assert found.learner.pulls().sum() == 200 + found.rounds
    blank = replay(log[200:], "blp", {"1": 0.05}, rounds=found.rounds)
    assert blank.learner.pulls().sum() == blank.rounds


def test_pairs_that_the_log_never_played_are_not_wanted():
    log = polars.DataFrame(
        {"context": ["x", "x", "y"] * 30, "arm": ["a", "b", "a"] * 30, "reward": [0.1, 0.2, 0.3] * 30}
    )
    found = replay(log, "blp")
    assert found.plays[1, 1] == 0
    assert found.rounds > 3


@pytest.mark.parametrize(
    ("arguments", "settings", "match"),
    [
        (("bpl",), {}, "There is no policy 'bpl'"),
        (("blp", {"7": 0.1}), {}, "There is no arm '7' in the log"),
        (("blp",), {"rounds": 0}, "rounds must be a whole number"),
        (("blp",), {"confidence": 2}, "confidence must be"),
        ((BLP([0.1, 0.1], [1.0]),), {}, "policy must have every context of the log, but lacks '1'"),
        ((BLP([0.1, 0.1], [0.5, 0.5]), {"0": 1.0}), {}, "revenue_floors must not be given with a policy at work"),
        ((BLP([0.1, 0.1], [0.5, 0.5]),), {"seed": 1}, "seed must not be given with a policy at work"),
    ],
)
def test_wrong_arguments_are_refused(arguments, settings, match):
    with pytest.raises(InvalidInputError, match=match):
        replay(uniform_log(20), *arguments, **settings)


def test_a_policy_that_wants_what_no_row_has_is_refused():
    log = polars.DataFrame({"context": ["0"], "arm": ["2"], "reward": [1.0]})
    with pytest.raises(InvalidInputError, match="must have a reward of the first pair that is played"):
        replay(log, BLP([0.1, 0.1], [1.0]))
