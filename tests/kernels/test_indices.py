"""No kernel counts an index from the end: on a GPU a negative one is taken as it is, and leads out of the array."""

import numpy as np
import pytest

from arcbandit import Instance, policy
from arcbandit.policies.registry import POLICIES
from arcbandit.simulation.epoch import Task, bind, find_optimum, make_run, make_world
from arcbandit.simulation.loop import player_of
from arcbandit.simulation.metrics import N_TOTALS
from tests.kernels.modes import COMPILED
from tests.simulation.play_on_device import GROUPS, NU

pytestmark = pytest.mark.skipif(
    COMPILED, reason="compiled code does not ask the array: `make test` runs this uncompiled"
)

INFEASIBLE = Instance(NU.mean_rewards, [9.0, 9.0, 9.0], NU.context_probabilities)
AWAY = np.array([[True, True, True], [True, True, True], [False, True, True]])


class FromTheStart(np.ndarray):
    """An array that refuses negative indices."""

    def __getitem__(self, index):
        self.check(index)
        return super().__getitem__(index)

    def __setitem__(self, index, value):
        self.check(index)
        super().__setitem__(index, value)

    @staticmethod
    def check(index):
        for one in index if isinstance(index, tuple) else (index,):
            if isinstance(one, (int, np.integer)) and one < 0:
                raise IndexError(f"index {one} counts from the end")


def watched(value):
    """The same (nested) tuple, whose arrays refuse negative indices."""
    if isinstance(value, tuple):
        return type(value)(*map(watched, value))
    # A record array has one record, which is always the first.
    return value.view(FromTheStart) if isinstance(value, np.ndarray) and value.dtype.names is None else value


def play(instance, name, rounds, available=None, **settings):
    """Play an epoch in arrays that refuse negative indices."""
    optimum = find_optimum(instance, available)
    chosen = policy(name, **settings)
    end = np.array([rounds])
    task = Task(instance, name, chosen, "gaussian", available, optimum, 0.1, rounds, 0, 0, end, 7)
    run = watched(make_run(make_world(task), bind(task, chosen).learner, task))
    player_of(chosen.kind, run)(1, rounds)
    return run.record.totals


def test_the_array_does_refuse():
    with pytest.raises(IndexError, match="-1 counts from the end"):
        np.zeros((2, 2)).view(FromTheStart)[0, -1]


@pytest.mark.parametrize("name", POLICIES)
def test_every_rule(name):
    assert np.isfinite(play(NU, name, 150)[N_TOTALS - 1, 0])


@pytest.mark.parametrize("name", ["olp", "oplp", "thompson-lp"])
@pytest.mark.parametrize("instance", [GROUPS, INFEASIBLE], ids=["groups", "infeasible"])
def test_rules_that_plan(instance, name):
    play(instance, name, 80, estimate_contexts=True)


def test_pairs_that_are_away():
    play(NU, "oplp", 80, available=AWAY)
