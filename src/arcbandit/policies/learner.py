"""What a rule is told, what it remembers and what it plans with: one nested tuple, passed to compiled code."""

import enum
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import numpy as np

from arcbandit.compilation.compile import kernel, rare_kernel
from arcbandit.kernels.budget import Budget
from arcbandit.kernels.confidence import Statistics, record_reward
from arcbandit.kernels.fading import Fading, fade
from arcbandit.kernels.ledger import Ledger
from arcbandit.kernels.memory import Memory
from arcbandit.kernels.noise import take_in_noise
from arcbandit.kernels.planner import Planner, look_at_all
from arcbandit.kernels.window import leave_window, record_in_window, see_in_window


class Outcome(enum.IntEnum):
    """How an allocation came about: PLANNED as the rule intends, or any combination of the others."""

    PLANNED = 0
    FELL_BACK = 1  # the rule's own problem was infeasible, or its ledger spent: LP(UCB, UCB) was used
    FELL_SHORT = 2  # LP(UCB, UCB) was infeasible too, the plan of least shortfall or of the same share was used
    STOOD_STILL = 4  # the solver found nothing, every arm is equally likely
    EXPLORED = 8  # some context has arms that were never played, or pairs were held to the exploration budget


class Progress(enum.IntEnum):
    """Places of Learner.progress."""

    DECISIONS = 0
    REWARDS = 1
    NEXT_PLAN = 2  # the first round that plans again, if not every round does
    ALL_PLAYED = 3  # 1 once every available pair was played
    PLANNED_AT = 4  # the decision that the allocation in force was made for
    OUTCOME = 5  # how it came about


class Replan(enum.IntEnum):
    """Values of the setting `replan` that are not a number of rounds."""

    ALWAYS = 0
    DOUBLING = -1


LONGEST_WAIT = 2**62  # rounds between plans: added to the number of any round it fits into an int64


SETTINGS = np.dtype(
    [
        ("noise_scale", np.float64),  # sigma, or its running estimate
        ("has_reward_bounds", np.float64),  # 1 or 0
        ("reward_low", np.float64),
        ("reward_high", np.float64),
        ("mean_bound", np.float64),  # the unit of rewards, for rules that ask for it
        ("horizon", np.float64),  # T, for rules that ask for it
        ("estimate_contexts", np.float64),  # 1 or 0
        ("replan", np.int64),  # Replan, or a number of rounds
        ("fade_every", np.int64),  # rounds between two times that old rewards lose weight, 0 for never
        ("fade_share", np.float64),  # what is then left of it
    ],
    align=True,
)


class KnownProblem(NamedTuple):
    """What the learner is told before round 1."""

    context_probabilities: np.ndarray  # p_c, or its running estimate, shape (C,)
    floors: np.ndarray  # of arms, then of groups, NO_FLOOR for a floor of zero, shape (M,)
    arm_rows: np.ndarray  # int64, shape (K, R), as in Program
    available: np.ndarray  # bool, shape (K, C)


class Learner(NamedTuple):
    """A policy as compiled code sees it."""

    problem: KnownProblem
    settings: np.ndarray  # record array of SETTINGS, shape (1,)
    dials: np.ndarray  # record array with the rule's dials by name, shape (1,)
    statistics: Statistics
    memory: Memory
    planner: Planner  # an empty tuple in its place, if the rule does not plan
    noise: np.ndarray  # float64, by Noise; an empty tuple in its place, if sigma is given
    past: Fading  # or a Window, for a policy that forgets; an empty tuple in its place for others
    progress: np.ndarray  # int64, by Progress
    allocation: np.ndarray  # w(t), float64, shape (K, C)
    budget: Budget  # an empty tuple in its place, unless exploration has a budget
    ledger: Ledger  # an empty tuple in its place, unless the policy has a guarantee


class Stream(NamedTuple):
    """Where the random numbers of a round come from: a pure function of these three."""

    seed: int
    epoch: int
    number: int  # of the decision, from 1


class Rows(NamedTuple):
    """The rows of a rule's memory, as enumerations that name them; None for none."""

    by_pair: Any = None
    by_arm: Any = None
    totals: Any = None
    scratch_by_pair: Any = None
    scratch_by_arm: Any = None
    by_floor: Any = None
    scratch_by_floor: Any = None


def make_memory(rows: Rows, n_arms: int, n_contexts: int, n_floors: int) -> Memory:
    """An empty memory."""
    counts = [0 if kind is None else len(kind) for kind in rows]
    return Memory(
        by_pair=np.zeros((counts[0], n_arms, n_contexts)),
        by_arm=np.zeros((counts[1], n_arms)),
        totals=np.zeros(counts[2]),
        scratch_by_pair=np.zeros((counts[3], n_arms, n_contexts)),
        scratch_by_arm=np.zeros((counts[4], n_arms)),
        by_floor=np.zeros((counts[5], n_floors)) if counts[5] else cast(Any, ()),
        scratch_by_floor=np.zeros((counts[6], n_floors)) if counts[6] else cast(Any, ()),
    )


def record_of(values: Mapping[str, float]) -> np.ndarray:
    """A record array of one record, shape (1,), with these numbers by name; integers stay integers."""
    kinds = [(name, np.int64 if isinstance(value, int) else np.float64) for name, value in values.items()]
    # Compiled code cannot handle a record without fields, whose size is zero.
    record = np.zeros(1, dtype=np.dtype(kinds or [("nothing", np.float64)], align=True)).view(np.recarray)
    for name, value in values.items():
        record[0][name] = value
    return record


@kernel
def estimate_probabilities(settings, statistics, counts, probabilities):
    """Estimate the probabilities of the contexts from how often each came, if they are not known.

    The estimate is the share of rounds seen, with a prior weight of one round spread evenly, so that a context that
    has not occurred yet is planned for. Contexts that were dropped are left out.
    """
    if settings[0].estimate_contexts != 0.0:
        dropped = statistics.dropped
        at_work = 0
        total = 1.0
        for other in range(counts.shape[0]):
            if not dropped[other]:
                at_work += 1
                total += counts[other]
        for other in range(counts.shape[0]):
            probabilities[other] = 0.0 if dropped[other] else (counts[other] + 1.0 / at_work) / total


@kernel
def keeps_plan(progress, t):
    """Whether round t goes by the last plan; while some pair was never played, every round plans."""
    return t < progress[Progress.NEXT_PLAN] and progress[Progress.ALL_PLAYED] != 0


@kernel
def set_next_plan(settings, progress, t):
    """Set when to plan again, after a plan in round t."""
    replan = settings[0].replan
    if replan == Replan.DOUBLING:
        progress[Progress.NEXT_PLAN] = 2 * t
    elif replan != Replan.ALWAYS:
        progress[Progress.NEXT_PLAN] = t + min(replan, LONGEST_WAIT)


@kernel
def observe_context(settings, statistics, probabilities, context):
    """Count a context and, if their probabilities are not known, estimate them again."""
    statistics.context_counts[context] += 1.0
    estimate_probabilities(settings, statistics, statistics.context_counts, probabilities)


# Policies that forget. A kernel asks for the length of `past` first: it is part of the type, so the compiler leaves out
# what is not for fading (three fields) or for a window.


def forgets(learner: Learner) -> bool:
    """Whether old rewards lose weight, or leave a window."""
    return len(learner.past) > 0


@rare_kernel
def fade_until(learner, past, now):
    """Lower all counts by the blocks of rounds that have gone by up to `now`."""
    every = learner.settings[0].fade_every
    blocks = 1 + (now - past.next_fade[0]) // every
    past.next_fade[0] += blocks * every
    fade(learner.statistics, past.by_context, learner.settings[0].fade_share ** float(blocks))
    look_at_all(learner.planner)


@kernel
def pass_rounds(learner, past, now):
    """Let old rewards lose weight, or leave, as the rounds go by up to `now`; for rules that plan."""
    if len(past) == 3:
        if now >= past.next_fade[0]:
            fade_until(learner, past, now)
        return
    if leave_window(learner.statistics, past, now):
        learner.progress[Progress.ALL_PLAYED] = 0


@kernel
def see_context(learner, past, context, now):
    """Count a context of round `now`, also among those from which probabilities are estimated, if they are."""
    learner.statistics.context_counts[context] += 1.0
    if learner.settings[0].estimate_contexts != 0.0:
        if len(past) == 3:
            past.by_context[context] += 1.0
            return
        see_in_window(past, context, now)


@kernel
def estimate_again(learner, past):
    """Estimate the probabilities of the contexts from those that are not forgotten, if they are not known."""
    estimate_probabilities(learner.settings, learner.statistics, past.by_context, learner.problem.context_probabilities)


@kernel
def take_in_reward(learner, noise, past, arm, context, reward, now):
    """Take a reward that came in round `now` into the estimate of sigma and the statistics."""
    take_in_noise(learner.settings, noise, learner.statistics, arm, context, reward)
    past.earned[arm] += reward
    if len(past) == 3:
        record_reward(learner.statistics, arm, context, reward)
        return
    if record_in_window(learner.statistics, past, arm, context, reward, now):
        learner.progress[Progress.ALL_PLAYED] = 0
