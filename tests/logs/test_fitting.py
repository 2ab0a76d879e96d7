"""A policy fitted to a log has learnt what the rows would have taught it."""

import json

import numpy as np
import polars
import pytest

from arcbandit import OLP, GroupFloor, PricedLP, fit, read_log, restore
from arcbandit.errors import InvalidInputError, UnknownNameError


@pytest.fixture(scope="module")
def short_log(log):
    return log[:2000]


@pytest.mark.slow
def test_it_knows_what_the_rows_would_have_taught_it(short_log):
    fitted = fit(read_log(short_log), {"3": 0.1}, seed=5, noise_scale=10.0)
    floors = {arm: 0.1 * (arm == "3") for arm in fitted.arms}
    taught = PricedLP(floors, contexts=fitted.contexts, seed=5, noise_scale=10.0)
    taught.update_many(
        short_log["context"].to_list(),
        [str(arm) for arm in short_log["arm"]],
        short_log["reward"].to_list(),
        count_contexts=True,
    )
    assert (fitted.pulls() == taught.pulls()).all()
    assert fitted.floors == taught.floors
    contexts = short_log["context"].to_list()[:50]
    assert list(fitted.decide_many(contexts).arms) == list(taught.decide_many(contexts).arms)
    assert fitted.allocation() == pytest.approx(taught.allocation(), abs=1e-9)


def test_its_mix_and_its_noise_are_those_of_the_log(short_log):
    statistics = read_log(short_log)
    fitted = fit(statistics)
    assert fitted.estimate_contexts
    assert fitted.noise_scale == pytest.approx(statistics.noise_scale, rel=1e-3)
    mix = fitted.learner.problem.context_probabilities
    assert mix == pytest.approx(statistics.context_probabilities, abs=1e-3)


def test_configurations_settings_and_groups(short_log):
    statistics = read_log(short_log)
    group = GroupFloor("pair", ("1", "2"), 0.4)
    fitted = fit(statistics, {"1": 0.1}, OLP(replan=100), group_floors=[group], noise_scale=3.0)
    assert type(fitted) is OLP
    assert (fitted.replan, fitted.noise_scale) == (100, 3.0)
    assert fitted.floors.names[-1] == "pair"


@pytest.mark.parametrize(
    ("arguments", "settings", "match"),
    [
        (({"13": 1.0},), {}, r"There is no arm '13' in the log"),
        (([1.0],), {}, "revenue_floors must be a mapping"),
        (({"1": -1.0},), {}, "must be non-negative"),
        (({}, "bpl"), {}, r"There is no policy 'bpl' \(did you mean 'blp'\?\)"),
        (({}, "blp"), {"memory": 100.0}, "cannot learn from totals"),
        (({}, "blp"), {"reward_bounds": (0.0, 1.0)}, "sums must be of rewards within reward_bounds"),
        (({}, "blp"), {"sgima": 1.0}, "has no dial 'sgima'"),
    ],
)
def test_wrong_arguments_are_refused(short_log, arguments, settings, match):
    with pytest.raises(InvalidInputError, match=match):
        fit(read_log(short_log), *arguments, **settings)


def test_a_frame_is_not_yet_statistics(short_log):
    with pytest.raises(InvalidInputError, match="statistics must be a LogStatistics, as read_log returns it"):
        fit(short_log)


def test_a_snapshot_of_it_decides_as_it_would(short_log):
    fitted = fit(read_log(short_log), {"0": 0.05})
    copy = restore(json.loads(json.dumps(fitted.snapshot())))
    assert list(copy.decide_many(["tv"] * 20).arms) == list(fitted.decide_many(["tv"] * 20).arms)


def test_pairs_that_were_never_played_are_explored():
    log = polars.DataFrame(
        {"context": ["x", "x", "y"] * 50, "arm": ["a", "b", "a"] * 50, "reward": [1.0, 2.0, 3.0] * 50}
    )
    fitted = fit(read_log(log))
    assert fitted.decide("y").arm == "b"
    assert np.isnan(read_log(log).means[1, 1])


def test_unknown_names_are_lookup_errors(short_log):
    with pytest.raises(UnknownNameError):
        fit(read_log(short_log), {"zero": 1.0})
