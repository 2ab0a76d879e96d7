"""The least R + V that learning leaves any policy, as results know it."""

import numpy as np
import pytest

from arcbandit import Drift, Instance, Trace, analyse, paper_instance, plan, simulate

NU = paper_instance("nu")
ROUNDS = 40
DEGENERATE = Instance([[2.0], [1.0]], [0.0, 1.0], [1.0])  # the floor takes all that there is


def played(instance=NU, **settings):
    return simulate(instance, "olp", ROUNDS, 1, checkpoints=1, **settings)


@pytest.mark.parametrize("keep", ["epochs", "summary"])
def test_it_is_that_of_the_instance_at_the_horizon(keep):
    assert played(keep=keep).learning_limit() == analyse(NU).learning_limit(ROUNDS)


def test_it_is_known_of_a_file(tmp_path):
    played().save(tmp_path / "trace.parquet")
    assert Trace.load(tmp_path / "trace.parquet").learning_limit() == analyse(NU).learning_limit(ROUNDS)


def test_it_is_nothing_where_no_floor_binds():
    assert played(paper_instance("nu-nonsaturating")).learning_limit().total == 0.0


@pytest.mark.parametrize(
    ("instance", "settings"),
    [
        (NU, {"delay": 3}),
        (NU, {"drift": Drift([(20, NU.mean_rewards[:, ::-1])])}),
        (Instance([[0.9, 0.4], [0.2, 0.3]], [0.1, 0.1], [0.5, 0.5]), {"rewards": "bernoulli"}),
        (DEGENERATE, {}),
        (Instance([[1.0]], [2.0], [1.0]), {}),
    ],
    ids=["delay", "drift", "bernoulli", "degenerate", "infeasible"],
)
def test_there_is_none_where_it_is_not_known(instance, settings):
    assert played(instance, **settings).learning_limit() is None


def test_pairs_that_may_not_be_played_matter_if_the_best_plan_has_them():
    """Without an idle pair the best plan, its prices and its shares are the same; without another they are not."""
    shares = plan(NU).allocation
    for pair, wanted in ((np.argmin(shares), analyse(NU).learning_limit(ROUNDS)), (np.argmax(shares), None)):
        available = np.ones(shares.shape, dtype=bool)
        available.flat[pair] = False
        assert played(available=available).learning_limit() == wanted
