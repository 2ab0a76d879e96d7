"""One epoch of one policy, played on this machine."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcbandit.instance import Instance
from arcbandit.oracle import feasibility_margin
from arcbandit.planning import Plan, solve_lp
from arcbandit.policies.base import Policy
from arcbandit.policies.configuration import Configuration
from arcbandit.policies.learner import Learner, Stream
from arcbandit.simulation.loop import Run, player_of
from arcbandit.simulation.meters import Record, make_meters
from arcbandit.simulation.metrics import N_KINDS, N_TOTALS
from arcbandit.simulation.plain import PlainPolicy, blank_learner, plain_player, problem_of
from arcbandit.simulation.rewards import ObservedRewards, RewardSource
from arcbandit.simulation.world import World

Floats = NDArray[np.float64]
Progress = Callable[[int], None]  # called with the number of rounds played since the last call

# Pairs times rounds between two checks for progress and interrupts: about a tenth of a second.
WORK_BETWEEN_LOOKS = 2_000_000
PLAIN_ROUNDS_BETWEEN_LOOKS = 1_000  # for a plain object


class Task(NamedTuple):
    """One epoch of one policy."""

    instance: Instance
    label: str
    policy: Configuration | PlainPolicy
    rewards: "str | ObservedRewards"
    available: NDArray[np.bool_] | None
    optimum: Plan
    suboptimality_gap: float
    horizon: int
    seed: int
    epoch: int
    checkpoints: NDArray[np.int64]
    window: int
    rounds: int | None = None  # how many are played, if not all


def run_task(task: Task, progress: Progress | None = None) -> tuple[Floats, Floats]:
    """Play one epoch; return its sums (N_TOTALS, P) and those of floors (4, P, M) at the checkpoints."""
    record = play_task(task, progress).record
    return record.totals, record.by_floor


def play_task(task: Task, progress: Progress | None = None) -> Run:
    """Play one epoch; return the run as its last round left it."""
    world = make_world(task)
    if isinstance(task.policy, Configuration):
        stretch = max(1, WORK_BETWEEN_LOOKS // task.instance.n_pairs)
        run = make_run(world, bind(task, task.policy).learner, task)
        play = player_of(task.policy.kind, run)
    else:
        stretch = PLAIN_ROUNDS_BETWEEN_LOOKS
        run = make_run(world, blank_learner(task.instance, task.available, task.horizon), task)
        play = plain_player(task.policy, problem_of(task.instance, task.available, task.horizon), run)
    rounds = task.horizon if task.rounds is None else task.rounds
    for first in range(1, rounds + 1, stretch):
        last = min(first + stretch - 1, rounds)
        play(first, last)
        if progress is not None:
            progress(last - first + 1)
    return run


def make_run(world: World, learner: Learner, task: Task) -> Run:
    """A run before its first round."""
    n_rows = learner.problem.floors.shape[0]
    n_places = len(task.checkpoints)
    record = Record(task.checkpoints, np.zeros((N_TOTALS, n_places)), np.zeros((N_KINDS, n_places, n_rows)))
    return Run(world, learner, make_meters(learner, task.window), Stream(task.seed, task.epoch, 0), record)


def bind(task: Task, configuration: Configuration) -> Policy:
    """A new policy of this configuration for a task."""
    return configuration.for_instance(
        task.instance, horizon=task.horizon, available=task.available, seed=task.seed, epoch=task.epoch, worker=0
    )


def make_world(task: Task) -> World:
    """What the policy of a task is not told."""
    source = RewardSource(task.rewards, task.instance)
    optimum = task.optimum
    # A floor of zero constrains no rule, even if it holds with equality.
    slack_floors = ~optimum.floors.active | (optimum.floors.amounts == 0.0)
    audited = not math.isnan(task.suboptimality_gap)
    return World(
        mean_rewards=task.instance.mean_rewards.copy(),
        revenues=task.instance.mean_rewards * task.instance.context_probabilities,
        probabilities=task.instance.context_probabilities.copy(),
        optimal_value=optimum.value,
        used_pairs=np.ascontiguousarray(~optimum.idle_pairs),
        slack_floors=slack_floors,
        optimal_columns=int((~optimum.idle_pairs).sum() + slack_floors.sum()),
        model=int(source.model),
        noise_scale=task.instance.noise_scale,
        samples=source.samples,
        sample_start=source.sample_start,
        audited=audited,
        suboptimality_gap=float(task.suboptimality_gap),
        feasibility_margin=feasibility_margin(task.instance) if audited else math.nan,
    )


def find_optimum(instance: Instance, available: NDArray[np.bool_] | None) -> Plan:
    """The plan with the true means, against which regret is measured; of least shortfall if floors are infeasible."""
    index = {name: place for place, name in enumerate(instance.arms)}
    groups = [
        type(group)(group.name, tuple(index[str(arm)] for arm in group.arms), group.floor)
        for group in instance.group_floors
    ]
    return solve_lp(
        instance.mean_rewards,
        instance.mean_rewards,
        instance.revenue_floors,
        instance.context_probabilities,
        group_floors=groups,
        available=available,
        on_infeasible="least_shortfall",
    )


def one_round(task: Task) -> Task:
    """The same task, ended after the first round: it compiles the kernels and fails early if something is wrong."""
    return task._replace(rounds=1, checkpoints=np.ones(1, dtype=np.int64), window=min(task.window, 1))
