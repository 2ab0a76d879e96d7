"""No kernel counts an index from the end: on a GPU a negative one is taken as it is, and leads out of the array."""

import numpy as np
import pytest

from arcbandit import Instance, policy
from arcbandit.policies.registry import POLICIES
from arcbandit.simulation import run
from arcbandit.simulation.loop import make_meters
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


def watched(arrays):
    """The same tuple, whose arrays refuse negative indices."""
    return type(arrays)(*(one.view(FromTheStart) if isinstance(one, np.ndarray) else one for one in arrays))


def play(instance, name, rounds, available=None, **settings):
    """Play an epoch in arrays that refuse negative indices."""
    end = np.array([rounds])
    optimum = run._optimum(instance, available)
    chosen = policy(name, **settings)
    task = run.Task(instance, name, chosen, "gaussian", available, optimum, 0.1, rounds, 0, 0, end, 7)
    bound = run.bind(task)
    n_rows = bound._problem.floors.shape[0]
    record, floor_record = np.zeros((run.N_TOTALS, 1)), np.zeros((run.N_KINDS, 1, n_rows))
    tuples = (bound._problem, bound._statistics, bound._memory, bound._workspace)
    problem, statistics, memory, workspace = (watched(arrays) for arrays in tuples)
    run.play_rounds(
        int(bound.rule),
        watched(run.make_world(task)),
        problem,
        statistics,
        memory,
        workspace,
        bound._allocation.view(FromTheStart),
        watched(make_meters(n_rows, 7)),
        0,
        0,
        1,
        rounds,
        end,
        record,
        floor_record,
    )
    return record


def test_the_array_does_refuse():
    with pytest.raises(IndexError, match="-1 counts from the end"):
        np.zeros((2, 2)).view(FromTheStart)[0, -1]


@pytest.mark.parametrize("name", POLICIES)
def test_every_rule(name):
    assert np.isfinite(play(NU, name, 150)[run.N_TOTALS - 1, 0])


@pytest.mark.parametrize("name", ["olp", "oplp", "thompson-lp"])
@pytest.mark.parametrize("instance", [GROUPS, INFEASIBLE], ids=["groups", "infeasible"])
def test_rules_that_plan(instance, name):
    play(instance, name, 80, estimate_contexts=True)


def test_pairs_that_are_away():
    play(NU, "oplp", 80, available=AWAY)
