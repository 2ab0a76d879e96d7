"""Worlds that change while pairs of a large problem are still explored."""

import numpy as np
import pytest

from arcbandit import OLP, Drift, Instance, simulate
from arcbandit.policies import state


@pytest.mark.slow
def test_what_is_kept_of_exploring_is_of_the_world_of_the_moment(monkeypatch):
    """In problems of many pairs, meters keep what contexts with unplayed arms earn: the sums are those without."""
    random = np.random.default_rng(0)
    means = random.random((12, 100))
    instance = Instance(means, np.full(12, 0.01), np.full(100, 0.01))
    drift = Drift([(200, 1.0 - means), (300, {"context_probabilities": random.dirichlet(np.full(100, 5.0))})])
    assert instance.n_pairs > state.PAIRS_TO_LOOK_AT
    found = simulate(instance, OLP(), 400, 1, drift=drift, jobs=1)
    monkeypatch.setattr(state, "PAIRS_TO_LOOK_AT", instance.n_pairs)
    wanted = simulate(instance, OLP(), 400, 1, drift=drift, jobs=1)
    for metric in ("performance", "regret", "violation"):
        assert (getattr(found, metric)["olp"] == getattr(wanted, metric)["olp"]).all()
