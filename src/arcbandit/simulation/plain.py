"""Policies that are plain Python objects, played beside the compiled ones: same draws, same meters, Python's speed."""

import copy
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from arcbandit.compilation.compile import bound, entry_kernel
from arcbandit.compilation.packing import kind_of, packed, unpacker
from arcbandit.errors import InvalidInputError
from arcbandit.floors import Floors
from arcbandit.inputs.arrays import PROBABILITY_SUM_TOLERANCE
from arcbandit.inputs.values import shown
from arcbandit.instance import Instance
from arcbandit.kernels.counter import Purpose, uniforms
from arcbandit.kernels.sampling import arm_from_uniform, context_from_uniform
from arcbandit.policies.base import Policy
from arcbandit.policies.configuration import Configuration
from arcbandit.policies.learner import Learner, Outcome, Stream
from arcbandit.policies.streams import stream_of_worker
from arcbandit.simulation.late import NEVER, delay_of_round
from arcbandit.simulation.loop import Run
from arcbandit.simulation.meters import (
    count_outcome,
    expect_of_all,
    measure_allocation,
    measure_reward,
    write_checkpoint,
)
from arcbandit.simulation.world import draw_reward

unpack: Any = None  # `bound` replaces it

# What may be wrong with an allocation; the kernel returns these negative numbers instead of an arm.
NO_NUMBER, NEGATIVE, NOT_AVAILABLE, WRONG_SUM = range(-1, -5, -1)
MUST = {
    NO_NUMBER: "hold finite numbers",
    NEGATIVE: "hold no negative share",
    NOT_AVAILABLE: "give nothing to arms that are not available",
    WRONG_SUM: "have columns that sum to 1",
}


class Problem(NamedTuple):
    """What a learner is told before round 1. Arms are rows, contexts are columns."""

    arms: tuple[str, ...]
    contexts: tuple[str, ...]
    floors: Floors  # of arms, then of groups
    context_probabilities: NDArray[np.float64]  # p, shape (C,)
    available: NDArray[np.bool_]  # shape (K, C)
    noise_scale: float  # sigma
    horizon: int  # T

    @property
    def shape(self) -> tuple[int, int]:
        """(K, C): how many arms and contexts there are."""
        return len(self.arms), len(self.contexts)

    @property
    def revenue_floors(self) -> NDArray[np.float64]:
        """lambda, the floors of the arms, shape (K,)."""
        return self.floors.amounts[: self.floors.n_arms]


@runtime_checkable
class PlainPolicy(Protocol):
    """What an object must have to be played by `simulate`. Arms and contexts are indices from 0."""

    name: str

    def begin(self, problem: Problem, seed: int) -> None:
        """Forget everything and start an epoch of a problem; derive random numbers from the seed."""

    def allocate(self, context: int) -> Any:
        """w(t): an array of shape (K, C) whose columns sum to 1; an arm is drawn from the column of the context."""

    def learn(self, context: int, arm: int, reward: float) -> None:
        """Learn from the reward of the round."""


def problem_of(instance: Instance, available: NDArray[np.bool_] | None, horizon: int) -> Problem:
    """What an instance tells a learner, in new arrays that the learner may write to."""
    everywhere = np.ones(instance.mean_rewards.shape, dtype=np.bool_)
    return Problem(
        instance.arms,
        instance.contexts,
        instance.floors,
        instance.context_probabilities.copy(),
        everywhere if available is None else available.copy(),
        instance.noise_scale,
        horizon,
    )


class PlayedElsewhere(Policy):
    """Stands for a plain object in the tuples of the kernels: its allocation comes from Python."""

    name = "played-elsewhere"
    allocate = staticmethod(lambda learner, context, t, stream: Outcome.PLANNED)


def blank_learner(instance: Instance, available: NDArray[np.bool_] | None, horizon: int) -> Learner:
    """A learner that knows the problem and is never asked."""
    told = Configuration(PlayedElsewhere, {}).for_instance(instance, horizon=horizon, available=available)
    learner: Learner = told.learner
    return learner


def meet(numbers, t):
    """The context of a round."""
    run = unpack(numbers)
    uniform, _ = uniforms(run.stream.seed, run.stream.epoch, t, Purpose.DECISION, 0)
    return context_from_uniform(run.world.probabilities, uniform)


def finish(numbers, t, context, shares, place):
    """Draw the arm and the reward of a round, measure it, and record it if it is the checkpoint at `place`.

    Return (arm, reward, share of the arm) or, if the shares are wrong, (what is wrong, the value, its context).
    """
    run = unpack(numbers)
    allocation = run.learner.allocation
    n_arms, n_contexts = allocation.shape
    for column in range(n_contexts):
        total = 0.0
        for arm in range(n_arms):
            share = shares[arm, column]
            if not np.isfinite(share):
                return NO_NUMBER, share, column
            if share < 0.0:
                return NEGATIVE, share, column
            if share > 0.0 and not run.learner.problem.available[arm, column]:
                return NOT_AVAILABLE, share, column
            total += share
            allocation[arm, column] = share
        if not abs(total - 1.0) <= PROBABILITY_SUM_TOLERANCE:
            return WRONG_SUM, total, column
    here = Stream(run.stream.seed, run.stream.epoch, t)
    _, uniform = uniforms(here.seed, here.epoch, t, Purpose.DECISION, 0)
    arm = arm_from_uniform(allocation, context, uniform)
    reward = draw_reward(run.world, arm, context, here)
    learner = run.learner
    planned = Outcome.PLANNED.value
    performance = expect_of_all(run.world, learner.problem, allocation, run.meters)
    measure_allocation(run.world, learner.problem, performance, run.meters)
    count_outcome(False, False, planned, run.meters)
    measure_reward(run.learner.problem, arm, reward, t, run.meters)
    if place < run.record.checkpoints.shape[0] and run.record.checkpoints[place] == t:
        write_checkpoint(run.learner.problem, run.meters, place, run.record)
    return arm, reward, context


@cache
def _kernels(kind: Any) -> tuple[Any, Any]:
    unpacked = unpacker(kind)
    return bound(entry_kernel, meet, unpack=unpacked).compiled, bound(entry_kernel, finish, unpack=unpacked).compiled


class PlainPlayer:
    """Plays the rounds of a run, from a first to a last one, by a copy of an object.

    The object itself is left unchanged: epochs may be played in parallel, each by its own copy.
    """

    def __init__(self, chosen: PlainPolicy, problem: Problem, run: Run) -> None:
        self._policy = copied(chosen)
        seed = stream_of_worker(run.stream.seed, run.stream.epoch + 1)  # epochs of one seed differ
        self._policy.begin(problem, seed)
        self._place = 0  # of the next checkpoint
        self._waiting: dict[int, list[tuple[int, int, float]]] = {}  # rewards by the round of their arrival
        self.enter(run)

    def enter(self, run: Run) -> None:
        """Go on in the world of this run."""
        self._run = run
        self._numbers = packed(run)
        self._meet, self._finish = _kernels(kind_of(run))

    def __call__(self, first: int, last: int) -> None:
        """Play these rounds."""
        policy, numbers, meet_round, finish_round = self._policy, self._numbers, self._meet, self._finish
        shape = self._run.learner.allocation.shape
        checkpoints: Sequence[int] = self._run.record.checkpoints.tolist()
        late = self._run.world.late
        for t in range(first, last + 1):
            context = meet_round(numbers, t)
            shares = _as_matrix(policy, policy.allocate(context), shape, t)
            arm, reward, column = finish_round(numbers, t, context, shares, self._place)
            if arm < 0:
                got = f"{reward:g} in context {column}"
                raise InvalidInputError(f"allocate of policy {policy.name!r} must {MUST[arm]}, got {got} in round {t}.")
            if self._place < len(checkpoints) and checkpoints[self._place] == t:
                self._place += 1
            if len(late) == 0:
                policy.learn(context, arm, reward)
                continue
            delay = delay_of_round(late, Stream(self._run.stream.seed, self._run.stream.epoch, t))
            if delay != NEVER:
                self._waiting.setdefault(t + delay, []).append((context, arm, reward))
            for old_context, old_arm, old_reward in self._waiting.pop(t, ()):
                policy.learn(old_context, old_arm, old_reward)


def copied(chosen: PlainPolicy) -> PlainPolicy:
    """A copy of an object to play with."""
    try:
        return copy.deepcopy(chosen)
    except Exception as error:
        raise InvalidInputError(
            f"policy {chosen.name!r} must be an object that copy.deepcopy can copy, since each epoch is played by a "
            f"copy; got {error!r}."
        ) from error


def _as_matrix(policy: PlainPolicy, shares: Any, shape: tuple[int, int], t: int) -> NDArray[np.float64]:
    if (
        type(shares) is np.ndarray
        and shares.dtype == np.float64
        and shares.shape == shape
        and shares.flags.c_contiguous
    ):
        return shares
    try:
        matrix = np.asarray(shares)
    except (TypeError, ValueError):
        matrix = np.empty(0)
    if matrix.shape != shape or matrix.dtype.kind not in "biuf":
        raise InvalidInputError(
            f"allocate of policy {policy.name!r} must return an array of numbers of shape {shape}, "
            f"got {shown(shares)} in round {t}."
        )
    return np.ascontiguousarray(matrix, dtype=np.float64)
