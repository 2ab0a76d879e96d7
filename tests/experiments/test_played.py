"""Runs that several experiments share are played once, and nothing else changes."""

import numpy as np
import pytest

from arcbandit import paper_instance, policy, simulate
from arcbandit.experiments import played as module
from arcbandit.experiments.played import Played

NU = paper_instance("nu")
OPTIONS = {"jobs": 1, "keep": "epochs", "checkpoints": (10, 30), "device": "cpu", "window": None}


@pytest.fixture
def simulated(monkeypatch):
    """The labels that are really simulated, call by call."""
    calls = []

    def counting(instance, policies, *arguments, **options):
        calls.append(tuple(policies))
        return simulate(instance, policies, *arguments, **options)

    monkeypatch.setattr(module, "simulate", counting)
    return calls


def test_a_policy_is_played_once_under_any_label(simulated):
    """In any order, beside any others, by name or by its configuration."""
    played = Played()
    played.simulate(NU, {"OLP": "olp", "BLP": "blp"}, 30, 2, 5, **OPTIONS)
    found = played.simulate(NU, {"careful": "oplp", "mine": policy("blp"), "OLP": "olp"}, 30, 2, 5, **OPTIONS)
    assert simulated == [("OLP", "BLP"), ("careful",)]
    expected = simulate(NU, {"careful": "oplp", "mine": "blp", "OLP": "olp"}, 30, 2, 5, **OPTIONS)
    assert found.policies == expected.policies
    assert found.settings == expected.settings
    np.testing.assert_array_equal(found.rounds, expected.rounds)
    for label in expected.policies:
        np.testing.assert_array_equal(found.records[label], expected.records[label])
        np.testing.assert_array_equal(found.floor_records[label], expected.floor_records[label])


@pytest.mark.parametrize(
    "change",
    [
        {"instance": paper_instance("nu-plus")},
        {"policies": {"OLP": policy("olp", estimate_contexts=True)}},
        {"horizon": 31},
        {"epochs": 3},
        {"seed": 6},
        {"checkpoints": (10, 20, 30)},
        {"window": 5},
    ],
    ids=lambda change: next(iter(change)),
)
def test_whatever_differs_is_played(simulated, change):
    arguments = {"instance": NU, "policies": {"OLP": "olp"}, "horizon": 30, "epochs": 2, "seed": 5, **OPTIONS}
    played = Played()
    played.simulate(**arguments)
    played.simulate(**arguments | change)
    assert len(simulated) == 2


def test_progress_counts_what_was_not_played_again():
    """A bar that waits for all rounds gets to its end."""
    played = Played()
    for _ in range(2):
        rounds = []
        played.simulate(NU, {"OLP": "olp", "BLP": "blp"}, 30, 2, 5, progress=rounds.append, **OPTIONS)
        assert sum(rounds) == 2 * 2 * 30
