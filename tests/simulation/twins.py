"""A policy at work beside the compiled loop: the same contexts, rewards and delays, round by round in Python."""

import math
from typing import Any, NamedTuple

import numpy as np

from arcbandit import GroupFloor, Instance
from arcbandit.compilation.compile import entry_kernel
from arcbandit.kernels.counter import Purpose, uniforms
from arcbandit.kernels.sampling import context_from_uniform
from arcbandit.policies.learner import Stream
from arcbandit.simulation.epoch import Task, bind, find_optimum, make_run, make_world
from arcbandit.simulation.late import NEVER, delay_of_round
from arcbandit.simulation.loop import player_of
from arcbandit.simulation.metrics import Total
from arcbandit.simulation.world import reward_of_round

SEED, EPOCH = 5, 2


@entry_kernel
def meet_context(probabilities, seed, epoch, round_number):
    uniform, _ = uniforms(seed, epoch, round_number, Purpose.DECISION, 0)
    return context_from_uniform(probabilities, uniform)


class Sums(NamedTuple):
    """What a recount of a run comes to."""

    regret: float
    violation: float
    performance: float
    realised: float


def grouped():
    """Three arms, two contexts, a floor for arms 1 and 2 and one for arms 2 and 3 together."""
    return Instance(
        [[3.0, 1.0], [1.0, 2.0], [0.5, 1.5]],
        [0.3, 0.4, 0.0],
        [0.5, 0.5],
        group_floors=[GroupFloor("late", ("2", "3"), 0.8)],
    )


def make_task(configuration, instance, rounds, **settings) -> Task:
    """One epoch of a policy, its record written at the end."""
    return Task(
        instance,
        "it",
        configuration,
        "gaussian",
        None,
        find_optimum(instance, None),
        math.nan,
        rounds,
        SEED,
        EPOCH,
        np.array([rounds]),
        0,
        **settings,
    )


def compiled_rounds(task):
    """The policy of a task played by the compiled loop, its run, and a function that plays a round, or several."""
    bound = bind(task, task.policy)
    run = make_run(make_world(task), bound.learner, task)
    play = player_of(type(bound), run)
    return bound, run, lambda first, last=None: play(first, first if last is None else last)


def play_beside(task, each_round=lambda bound, twin: None):
    """Play a task by the compiled loop and by a policy at work, and assert that they are one; return both.

    Same allocation in every round, same statistics to the last bit, and sums as a recount has them. `each_round` may
    look at both after each round.
    """
    bound, run, play = compiled_rounds(task)
    twin = Twin(task)
    for t in range(1, task.horizon + 1):
        play(t)
        twin.play(t)
        assert (bound.allocation() == twin.decider.allocation()).all()
        each_round(bound, twin)
    ours, theirs = bound.learner.statistics, twin.decider.learner.statistics
    assert (ours.by_pair == theirs.by_pair).all()
    assert (ours.context_counts == theirs.context_counts).all()
    found = run.record.totals[:, -1][[Total.REGRET, Total.VIOLATION, Total.PERFORMANCE, Total.REALISED]]
    np.testing.assert_allclose(found, twin.sums, rtol=1e-10)
    return bound, twin


class Twin:
    """Decides with a policy at work, and updates it when rewards arrive."""

    def __init__(self, task: Task) -> None:
        self.instance = task.instance
        self.world = make_world(task)
        self.optimal_value = task.optimum.value
        self.decider: Any = task.policy.for_instance(task.instance, horizon=task.horizon, seed=SEED, epoch=EPOCH)
        self.waiting: list[tuple[int, int, int, int, float]] = []  # sorted by arrival, then by decision
        self.heard: list[tuple[int, int]] = []  # (round of arrival, round of the decision)
        self.sums = Sums(0.0, 0.0, 0.0, 0.0)

    def play(self, t: int) -> None:
        """Play a round."""
        here = Stream(SEED, EPOCH, t)
        context = meet_context(self.world.probabilities, SEED, EPOCH, t)
        arm = self.instance.arms.index(self.decider.decide(context).arm)
        reward = reward_of_round(self.world, arm, context, here)
        self._count(reward)
        delay = delay_of_round(self.world.late, here) if len(self.world.late) else 0
        if delay != NEVER:
            self.waiting.append((t + delay, t, context, arm, reward))
        arriving = sorted(entry for entry in self.waiting if entry[0] == t)
        self.waiting = [entry for entry in self.waiting if entry[0] > t]
        for _, decided, old_context, old_arm, old_reward in arriving:
            self.decider.update(old_context, old_arm, old_reward)
            self.heard.append((t, decided))

    def _count(self, reward: float) -> None:
        instance = self.instance
        revenue = (instance.mean_rewards * instance.context_probabilities * self.decider.allocation()).sum(axis=1)
        lacking = np.maximum(instance.floors.amounts - instance.floors.by_floor(revenue), 0.0)
        regret = max(self.optimal_value - revenue.sum(), 0.0)
        now = Sums(regret, lacking.sum(), revenue.sum(), reward)
        self.sums = Sums(*(old + new for old, new in zip(self.sums, now, strict=True)))
