"""Runs that several experiments share are played once, and nothing else changes."""

import numpy as np
import pytest

from arcbandit import paper_instance, policy, simulate
from arcbandit.experiments import played as module
from arcbandit.experiments.played import Played
from arcbandit.policies.registry import POLICIES

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


def assert_same(found, expected):
    assert found.policies == expected.policies
    assert found.settings == expected.settings
    assert found.floors == expected.floors
    np.testing.assert_array_equal(found.rounds, expected.rounds)
    for label in expected.policies:
        np.testing.assert_array_equal(found.records[label], expected.records[label])
        np.testing.assert_array_equal(found.floor_records[label], expected.floor_records[label])


def test_a_policy_is_played_once_under_any_label(simulated):
    """In any order, beside any others, by name or by its configuration."""
    played = Played()
    played.simulate(NU, {"OLP": "olp", "BLP": "blp"}, 30, 2, 5, **OPTIONS)
    found = played.simulate(NU, {"careful": "oplp", "mine": policy("blp"), "OLP": "olp"}, 30, 2, 5, **OPTIONS)
    assert simulated == [("OLP", "BLP"), ("careful",)]
    expected = simulate(NU, {"careful": "oplp", "mine": "blp", "OLP": "olp"}, 30, 2, 5, **OPTIONS)
    assert_same(found, expected)


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


LONGER = {"instance": NU, "horizon": 90, "epochs": 3, "seed": 5, **OPTIONS, "checkpoints": (10, 90)}
BEGINNING = LONGER | {"horizon": 30, "epochs": 2, "checkpoints": (7, 30)}


def test_the_beginning_of_a_longer_run_is_not_played_again(simulated):
    """If it was expected, so that the longer one was looked at where this one is; neither shows anything else."""
    played = Played()
    policies = {"OLP": "olp", "BLP": "blp"}
    played.expect(policies=policies, **LONGER)
    played.expect(policies={"mine": "blp"}, **BEGINNING)
    longer = played.simulate(policies=policies, **LONGER)
    beginning = played.simulate(policies={"mine": "blp"}, **BEGINNING)
    assert sorted(simulated) == [("BLP",), ("OLP",)]
    assert_same(longer, simulate(policies=policies, **LONGER))
    assert_same(beginning, simulate(policies={"mine": "blp"}, **BEGINNING))


def test_a_beginning_that_nobody_expected_is_played(simulated):
    """The longer run was looked at elsewhere."""
    played = Played()
    played.simulate(policies={"OLP": "olp"}, **LONGER)
    assert_same(played.simulate(policies={"OLP": "olp"}, **BEGINNING), simulate(policies={"OLP": "olp"}, **BEGINNING))
    assert len(simulated) == 2


@pytest.mark.parametrize("change", [{"horizon": 91, "checkpoints": (10,)}, {"epochs": 4, "checkpoints": (10,)}])
def test_what_goes_further_is_no_beginning(simulated, change):
    """In rounds or in epochs."""
    played = Played()
    for arguments in (LONGER, LONGER | change):
        played.expect(policies={"OLP": "olp"}, **arguments)
    for arguments in (LONGER, LONGER | change):
        found = played.simulate(policies={"OLP": "olp"}, **arguments)
        assert_same(found, simulate(policies={"OLP": "olp"}, **arguments))
    assert len(simulated) == 2


def test_a_policy_that_is_told_the_horizon_plays_another_beginning(simulated):
    """So it is played by itself."""
    chosen = {"queues": "drift-plus-penalty"}
    played = Played()
    for arguments in (LONGER, BEGINNING):
        played.expect(policies=chosen, **arguments)
    for arguments in (LONGER, BEGINNING):
        assert_same(played.simulate(policies=chosen, **arguments), simulate(policies=chosen, **arguments))
    assert len(simulated) == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, kind in POLICIES.items() if not kind.needs_horizon])
def test_the_first_rounds_do_not_depend_on_the_horizon(name):
    """Nor on the number of epochs, for a policy that does not ask for it."""
    places = (7, 60, 150)
    short = simulate(NU, [name], 150, 2, 5, checkpoints=places)
    long = simulate(NU, [name], 400, 3, 5, checkpoints=places)
    np.testing.assert_array_equal(short.records[name], long.records[name][:2, :, :3])
    np.testing.assert_array_equal(short.floor_records[name], long.floor_records[name][:2, :, :3])


def test_progress_counts_what_was_not_played_again():
    """A bar that waits for all rounds gets to its end."""
    played = Played()
    for _ in range(2):
        rounds = []
        played.simulate(NU, {"OLP": "olp", "BLP": "blp"}, 30, 2, 5, progress=rounds.append, **OPTIONS)
        assert sum(rounds) == 2 * 2 * 30
