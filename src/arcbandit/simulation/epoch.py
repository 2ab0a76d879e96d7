"""One epoch of one policy, played on this machine."""

import functools
import math
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from arcbandit.instance import Instance
from arcbandit.oracle import feasibility_margin
from arcbandit.planning import Plan, solve_lp
from arcbandit.policies.base import Policy
from arcbandit.policies.configuration import Configuration
from arcbandit.policies.learner import Learner, Stream
from arcbandit.simulation.delays import Delay
from arcbandit.simulation.draws import make_draws
from arcbandit.simulation.drift import Change, forget_optimum, recount_signed_violation, tell
from arcbandit.simulation.late import Late, make_late
from arcbandit.simulation.loop import Run, player_of
from arcbandit.simulation.meters import Record, make_meters
from arcbandit.simulation.metrics import N_KINDS, N_TOTALS
from arcbandit.simulation.plain import PlainPlayer, PlainPolicy, blank_learner, problem_of
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
    delay: Delay | None = None
    drift: tuple[Change, ...] = ()  # the worlds after the first


class Shelf:
    """Where a thread keeps the run of its last epoch: another epoch of the same task starts from the same numbers.

    To make a new run takes longer than a short epoch.
    """

    def __init__(self) -> None:
        self.of_thread = threading.local()

    def __reduce__(self) -> tuple[type["Shelf"], tuple[()]]:
        return Shelf, ()  # another process has runs of its own

    def reused(self, task: Task) -> "Reused":
        """The run of a task, as before its first round."""
        kept: Reused | None = getattr(self.of_thread, "kept", None)
        if kept is None or not kept.is_for(task):
            kept = self.of_thread.kept = Reused(task)
        else:
            kept.start_over()
        return kept


class Reused:
    """A run of a policy with compiled rules, and all that it started from."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.run, self.play = _compiled_run(task)
        arrays = _arrays((self.run.learner, self.run.meters, self.run.record, self.run.world.late))
        self.beginnings = [(array, array.copy()) for array in arrays]

    def is_for(self, task: Task) -> bool:
        """Whether it is the same task, except for the epoch."""
        return all(
            mine is its or name == "epoch" for name, mine, its in zip(Task._fields, self.task, task, strict=True)
        )

    def start_over(self) -> None:
        """Forget what was played."""
        for array, beginning in self.beginnings:
            array[...] = beginning


def _arrays(value: Any) -> list[Any]:
    if isinstance(value, tuple):
        return [array for part in value for array in _arrays(part)]
    return [value] if isinstance(value, np.ndarray) else []


def run_task(task: Task, progress: Progress | None = None, shelf: Shelf | None = None) -> tuple[Floats, Floats]:
    """Play one epoch; return its sums (N_TOTALS, P) and those of floors (4, P, M) at the checkpoints."""
    if shelf is None or not isinstance(task.policy, Configuration):
        record = play_task(task, progress).record
        return record.totals, record.by_floor
    reused = shelf.reused(task)
    _play_all(task, reused.run, functools.partial(reused.play, epoch=task.epoch), _stretch(task), progress)
    return reused.run.record.totals.copy(), reused.run.record.by_floor.copy()


def play_task(task: Task, progress: Progress | None = None) -> Run:
    """Play one epoch; return the run as its last round left it."""
    if isinstance(task.policy, Configuration):
        run, play = _compiled_run(task)
        return _play_all(task, run, play, _stretch(task), progress)
    run = make_run(make_world(task), blank_learner(task.instance, task.available, task.horizon), task)
    player = PlainPlayer(task.policy, problem_of(task.instance, task.available, task.horizon), run)
    return _play_all(task, run, player, PLAIN_ROUNDS_BETWEEN_LOOKS, progress)


def _compiled_run(task: Task) -> tuple[Run, Callable[..., None]]:
    configuration = cast(Configuration, task.policy)
    run = make_run(make_world(task), bind(task, configuration).learner, task)
    return run, player_of(configuration.kind, run)


def _stretch(task: Task) -> int:
    return max(1, WORK_BETWEEN_LOOKS // task.instance.n_pairs)


def _play_all(task: Task, run: Run, play: Callable[[int, int], None], stretch: int, progress: Progress | None) -> Run:
    """Play all rounds, some at a time, world after world; return the run in its last world."""
    rounds = task.horizon if task.rounds is None else task.rounds
    played = 0
    world = task.instance
    for change in (*task.drift, None):
        end = rounds if change is None else min(change.first - 1, rounds)
        for first in range(played + 1, end + 1, stretch):
            last = min(first + stretch - 1, end)
            play(first, last)
            if progress is not None:
                progress(last - first + 1)
        played = end
        if change is None or end == rounds:
            break
        tell(run.learner, world, change.instance)
        forget_optimum(run.meters)
        world = change.instance
        run = run._replace(world=make_world(task._replace(instance=world, optimum=change.optimum), run.world.late))
        if isinstance(play, PlainPlayer):
            play.enter(run)
        else:
            play = functools.partial(player_of(cast(Configuration, task.policy).kind, run), epoch=task.epoch)
    if task.drift:
        recount_signed_violation(run.record, [task.instance, *(change.instance for change in task.drift)])
    return run


def make_run(world: World, learner: Learner, task: Task) -> Run:
    """A run before its first round."""
    n_rows = learner.problem.floors.shape[0]
    n_places = len(task.checkpoints)
    record = Record(task.checkpoints, np.zeros((N_TOTALS, n_places)), np.zeros((N_KINDS, n_places, n_rows)))
    meters = make_meters(learner, task.window)
    return Run(world, learner, meters, Stream(task.seed, task.epoch, 0), record, make_draws())


def bind(task: Task, configuration: Configuration) -> Policy:
    """A new policy of this configuration for a task."""
    if task.drift and configuration.kind.needs_mean_bound and configuration.mean_bound is None:
        # An upper bound on the means must hold in every world.
        largest = max(world.mean_rewards.max() for world in (task.instance, *(step.instance for step in task.drift)))
        if configuration.reward_bounds is None and largest > 0.0:
            configuration = replace(configuration, mean_bound=float(largest))
    return configuration.for_instance(
        task.instance, horizon=task.horizon, available=task.available, seed=task.seed, epoch=task.epoch, worker=0
    )


def make_world(task: Task, late: Late | None = None) -> World:
    """What the policy of a task is not told; rewards may be on their way from an earlier world."""
    if late is None:
        late = cast(Late, ()) if task.delay is None else make_late(task.delay, task.horizon)
    source = RewardSource(task.rewards, task.instance)
    optimum = task.optimum
    # A floor of zero constrains no rule, even if it holds with equality.
    slack_floors = ~optimum.floors.active | (optimum.floors.amounts == 0.0)
    audited = not math.isnan(task.suboptimality_gap)
    worth = task.instance.weighted_means * (1.0 + task.instance.floors.by_arm(optimum.floors.prices))[:, np.newaxis]
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
        prices=optimum.floors.prices.copy(),
        reduced_costs=np.ascontiguousarray(optimum.context_values - worth),
        late=late,
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
