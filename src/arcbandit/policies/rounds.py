"""The rounds of a policy at work, compiled per rule: decide, and learn from rewards whenever they arrive."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np

from arcbandit.compilation.compile import bound, entry_kernel, kernel
from arcbandit.compilation.packing import kind_of, packed, unpacker
from arcbandit.kernels.confidence import ByPair, record_reward
from arcbandit.kernels.counter import Purpose, uniforms
from arcbandit.kernels.noise import take_in_noise
from arcbandit.kernels.planner import measure_soon
from arcbandit.kernels.sampling import arm_from_uniform
from arcbandit.policies.calling import Calling, calling, kind_to_share
from arcbandit.policies.learner import (
    Learner,
    Outcome,
    Progress,
    Stream,
    estimate_again,
    estimate_probabilities,
    forgets,
    keeps_plan,
    observe_context,
    pass_rounds,
    see_context,
    set_next_plan,
    take_in_reward,
)

# Placeholders for a rule's kernels in the functions below: `bound` gives each rule copies with its own.
rule_allocate: Any = None
allocate_elsewhere: Any = None
rule_learn: Any = None
unpack_work: Any = None
unpack_batch: Any = None
unpack_log: Any = None
SHARED: bool = False
PLANS: bool = False
EXPLORED = Outcome.EXPLORED.value
FORGETS: bool = False


class Work(NamedTuple):
    """A policy at work as compiled code sees it.

    Rules are shown a learner without the sums behind an estimate of sigma, so that they are the same code as with a
    sigma that is given. They read the estimate in the settings.
    """

    learner: Learner
    noise: np.ndarray
    stream: Stream  # its number is set for each decision


class Batch(NamedTuple):
    """Many decisions: the contexts, and room for the results."""

    contexts: np.ndarray  # int64, shape (N,)
    arms: np.ndarray  # int64, shape (N,)
    probabilities: np.ndarray  # float64, shape (N,)
    round_numbers: np.ndarray  # int64, shape (N,)
    outcomes: np.ndarray  # int64, shape (N,)


def make_work(learner: Learner, stream: Stream) -> Work:
    """A learner, to be put to work."""
    return Work(learner._replace(noise=cast(Any, ())), learner.noise, stream)


def make_batch(contexts: "np.ndarray[Any, np.dtype[np.int64]]") -> Batch:
    """Room for the decisions in these contexts."""
    shape = contexts.shape
    return Batch(
        contexts, np.zeros(shape, np.int64), np.zeros(shape), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    )


class Log(NamedTuple):
    """Many rewards."""

    contexts: np.ndarray  # int64, shape (N,)
    arms: np.ndarray  # int64, shape (N,)
    rewards: np.ndarray  # float64, shape (N,)
    counted: bool  # whether their contexts count as seen


NO_BATCH = make_batch(np.zeros(0, np.int64))
NO_LOG = Log(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), False)
PACKED_NO_BATCH = packed(NO_BATCH)
PACKED_NO_LOG = packed(NO_LOG)


@kernel
def learn_nothing(learner, context, arm, reward):
    """The `learn` of a rule that needs only the statistics."""


def decide(numbers, context, batch_numbers):
    """Decide for each context of a batch in turn or, if it is empty, for one context.

    Return (arm, probability, t, number of the decision, Outcome) of the last one. Its outcome is that of the plan in
    force, but EXPLORED only if the arm was never played in the context.
    """
    learner, _, stream = unpack_work(numbers)
    batch = unpack_batch(batch_numbers)
    progress = learner.progress
    many = batch.contexts.shape[0]
    arm = 0
    probability = 0.0
    t = 0
    number = 0
    outcome = 0
    for place in range(max(1, many)):
        if many > 0:
            context = batch.contexts[place]
        t = max(progress[Progress.DECISIONS], progress[Progress.REWARDS]) + 1
        number = progress[Progress.DECISIONS] + 1
        if FORGETS:
            now = max(number, progress[Progress.REWARDS])
            pass_rounds(learner, learner.past, now)
            see_context(learner, learner.past, context, now)
        if keeps_plan(progress, t):
            if not FORGETS:
                learner.statistics.context_counts[context] += 1.0
        else:
            if FORGETS:
                estimate_again(learner, learner.past)
            else:
                observe_context(learner.settings, learner.statistics, learner.problem.context_probabilities, context)
            # Random numbers depend on the decision's number, confidence bounds on t. The two differ: rewards that
            # arrive in batches, or from elsewhere, advance t without a decision, and t may stay the same from one
            # decision to the next.
            here = Stream(stream.seed, stream.epoch, number)
            if SHARED:
                progress[Progress.OUTCOME] = allocate_elsewhere(numbers, context, t, here)
            else:
                progress[Progress.OUTCOME] = rule_allocate(learner, context, t, here)
            progress[Progress.PLANNED_AT] = number
            set_next_plan(learner.settings, progress, t)
        _, uniform = uniforms(stream.seed, stream.epoch, number, Purpose.DECISION, 0)
        arm = arm_from_uniform(learner.allocation, context, uniform)
        probability = float(learner.allocation[arm, context])
        progress[Progress.DECISIONS] = number
        outcome = progress[Progress.OUTCOME] & ~EXPLORED
        if learner.statistics.by_pair[ByPair.PULLS, arm, context] == 0.0:
            outcome |= EXPLORED
        if many > 0:
            batch.arms[place] = arm
            batch.probabilities[place] = probability
            batch.round_numbers[place] = t
            batch.outcomes[place] = outcome
    return arm, probability, t, number, outcome


def learn(numbers, context, arm, reward, log_numbers):
    """Learn from the rewards of a log in turn or, if it is empty, from one reward."""
    learner, noise, _ = unpack_work(numbers)
    log = unpack_log(log_numbers)
    many = log.rewards.shape[0]
    if log.counted:
        if PLANS:  # noqa: SIM102, the compiler leaves out what stands under a constant alone
            if learner.settings[0].estimate_contexts != 0.0:
                measure_soon(learner.planner)
        if not FORGETS:
            for place in range(many):
                learner.statistics.context_counts[log.contexts[place]] += 1.0
            estimate_probabilities(
                learner.settings,
                learner.statistics,
                learner.statistics.context_counts,
                learner.problem.context_probabilities,
            )
    for place in range(max(1, many)):
        if many > 0:
            context = log.contexts[place]
            arm = log.arms[place]
            reward = log.rewards[place]
        if FORGETS:
            now = max(learner.progress[Progress.DECISIONS], learner.progress[Progress.REWARDS] + place + 1)
            pass_rounds(learner, learner.past, now)
            if log.counted:
                see_context(learner, learner.past, context, now)
            take_in_reward(learner, noise, learner.past, arm, context, reward, now)
        else:
            take_in_noise(learner.settings, noise, learner.statistics, arm, context, reward)
            record_reward(learner.statistics, arm, context, reward)
        rule_learn(learner, context, arm, reward)
    if FORGETS:  # noqa: SIM102, likewise
        if log.counted:
            estimate_again(learner, learner.past)
    learner.progress[Progress.REWARDS] += max(1, many)


class WorkKernels(NamedTuple):
    """The kernels of a policy at work that Python calls, with `packed` numbers instead of tuples."""

    decide: Callable[..., Any]
    learn: Callable[..., Any]


def work_kernels(allocate: Callable[..., Any], learn: Callable[..., Any], plans: bool, work: Work) -> WorkKernels:
    """The compiled rounds of a rule, for learners of this kind."""
    kind = kind_of(work)
    fades = forgets(work.learner)
    called = calling(allocate, kind_to_share(work.learner))
    return WorkKernels(_decide_kernel(called, kind, fades), _learn_kernel(learn, plans, kind, fades))


@functools.cache
def _decide_kernel(called: Calling, kind: Any, fades: bool) -> Callable[..., Any]:
    unpack = {"unpack_work": unpacker(kind), "unpack_batch": unpacker(kind_of(NO_BATCH))}
    return bound(entry_kernel, decide, FORGETS=fades, **called._asdict(), **unpack).compiled


# Rules that learn alike share the kernel.
@functools.cache
def _learn_kernel(rule_learn: Callable[..., Any], plans: bool, kind: Any, fades: bool) -> Callable[..., Any]:
    unpack = {"unpack_work": unpacker(kind), "unpack_log": unpacker(kind_of(NO_LOG))}
    return bound(entry_kernel, learn, rule_learn=rule_learn, PLANS=plans, FORGETS=fades, **unpack).compiled
