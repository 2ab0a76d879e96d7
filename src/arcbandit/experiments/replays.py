"""Single runs of an experiment played again, and looked at on the way."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcbandit.experiments.growth import Floats
from arcbandit.experiments.our_instances import instance_named
from arcbandit.kernels.confidence import ByPair
from arcbandit.policies.configuration import Configuration
from arcbandit.simulation.epoch import Task, bind, find_optimum, make_run, make_world
from arcbandit.simulation.loop import player_of
from arcbandit.simulation.metrics import Total


class History(NamedTuple):
    """What was counted along one run."""

    rounds: NDArray[np.int64]
    regret: Floats
    plays: Floats  # of one pair
    width: float  # rho(eps(t), w(t)) in the last round


def first_radius(n_pairs: int, t: int) -> float:
    """The radius eps(t) of a pair played once, for sigma = 1."""
    return math.sqrt(2.0 * math.log(2.0 * n_pairs * t))


def replay(
    instance_name: str,
    policy: Configuration,
    pair: tuple[int, int],
    epoch: int,
    seed: int,
    rounds: NDArray[np.int64],
) -> History:
    """Play one epoch of a run again, and look at it, and at the plays of one pair, after some of its rounds."""
    instance = instance_named(instance_name)
    horizon = int(rounds[-1])
    optimum = find_optimum(instance, None)
    task = Task(instance, "", policy, "gaussian", None, optimum, math.nan, horizon, seed, epoch, rounds, window=0)
    learner = bind(task, policy).learner
    run = make_run(make_world(task), learner, task)
    play = player_of(policy.kind, run)
    plays, last = [], 0
    for stop in rounds:
        play(last + 1, int(stop))
        last = int(stop)
        plays.append(float(learner.statistics.by_pair[(ByPair.PULLS, *pair)]))
    roots = learner.statistics.by_pair[ByPair.INVERSE_ROOT]
    width = float(2.0 * first_radius(instance.n_pairs, horizon) * (roots * learner.allocation).sum())
    return History(rounds, run.record.totals[Total.REGRET].copy(), np.array(plays), width)
