"""Rewards that count for a number of rounds: those of the window, the sums over them, and how they leave it.

No sum is ever subtracted from, so none drifts. The oldest rewards are the *front*: beside each stands the sum of the
rewards of its pair that come after it in the front, which is the sum of the pair once it has left. Later ones are the
*back*, a plain sum per pair. When the front is used up, the back becomes the front (`turn`): once in as many rewards as
the window holds, so that a reward costs two additions.
"""

import enum
import math
from typing import NamedTuple

import numpy as np

from arcbandit.compilation.compile import kernel, rare_kernel
from arcbandit.kernels.confidence import ByPair
from arcbandit.kernels.marks import mark_pair


class Kept(enum.IntEnum):
    """Rows of Window.places."""

    ROUND = 0  # in which the reward came
    ARM = 1
    CONTEXT = 2


class Sum(enum.IntEnum):
    """Rows of Window.sums."""

    FRONT = 0
    BACK = 1


class Seen(enum.IntEnum):
    """Rows of Window.seen."""

    ROUND = 0
    CONTEXT = 1


class Count(enum.IntEnum):
    """Places of Window.counts."""

    FIRST = 0  # the slot of the oldest reward
    REWARDS = 1  # in the window
    FRONT = 2  # of these, in the front
    FIRST_SEEN = 3  # the slot of the oldest context
    SEEN = 4  # contexts in the window


class Window(NamedTuple):
    """The rewards of the last W rounds, at most W of them, and what contexts came in these rounds."""

    by_context: np.ndarray  # float64, shape (C,): how often each context came, if their probabilities are estimated
    earned: np.ndarray  # float64, shape (K,): the rewards of each arm, those that left included
    rewards: np.ndarray  # float64, by slot, shape (W,)
    after: np.ndarray  # float64, by slot, shape (W,): in the front, the sum of the pair's later rewards there
    places: np.ndarray  # int64, by Kept and slot, shape (3, W)
    sums: np.ndarray  # float64, by Sum, shape (2, K, C)
    seen: np.ndarray  # int64, by Seen and slot, shape (2, W), or (2, 1) if no contexts are counted
    counts: np.ndarray  # int64, by Count


def make_window(rounds: int, n_arms: int, n_contexts: int, *, counts_contexts: bool) -> Window:
    """An empty window."""
    return Window(
        by_context=np.zeros(n_contexts),
        earned=np.zeros(n_arms),
        rewards=np.zeros(rounds),
        after=np.zeros(rounds),
        places=np.zeros((len(Kept), rounds), dtype=np.int64),
        sums=np.zeros((len(Sum), n_arms, n_contexts)),
        seen=np.zeros((len(Seen), rounds if counts_contexts else 1), dtype=np.int64),
        counts=np.zeros(len(Count), dtype=np.int64),
    )


@rare_kernel
def turn(window):
    """Make the back the front, which is empty: sum up the rewards of each pair from the newest to the oldest."""
    length = window.rewards.shape[0]
    count = window.counts[Count.REWARDS]
    slot = window.counts[Count.FIRST] + count
    if slot > length:
        slot -= length
    for _ in range(count):
        slot = (length if slot == 0 else slot) - 1
        arm, context = window.places[Kept.ARM, slot], window.places[Kept.CONTEXT, slot]
        window.after[slot] = window.sums[Sum.FRONT, arm, context]
        window.sums[Sum.FRONT, arm, context] += window.rewards[slot]
        window.sums[Sum.BACK, arm, context] = 0.0
    window.counts[Count.FRONT] = count


@kernel
def write_mean(statistics, window, arm, context, pulls):
    """Write the count of a pair, and its mean from the sums; nothing is known of it if the count is zero."""
    statistics.by_pair[ByPair.PULLS, arm, context] = pulls
    if pulls > 0.0:
        total = window.sums[Sum.FRONT, arm, context] + window.sums[Sum.BACK, arm, context]
        statistics.by_pair[ByPair.MEAN, arm, context] = total / pulls
        statistics.by_pair[ByPair.INVERSE_ROOT, arm, context] = 1.0 / math.sqrt(pulls)
    else:
        statistics.by_pair[ByPair.MEAN, arm, context] = 0.0
        statistics.by_pair[ByPair.INVERSE_ROOT, arm, context] = 0.0
    mark_pair(statistics.changed, arm, context)


@kernel
def drop_oldest(statistics, window):
    """Let the oldest reward leave; return whether nothing is known of its pair any more."""
    counts = window.counts
    if counts[Count.FRONT] == 0:
        turn(window)
    slot = counts[Count.FIRST]
    arm, context = window.places[Kept.ARM, slot], window.places[Kept.CONTEXT, slot]
    window.sums[Sum.FRONT, arm, context] = window.after[slot]
    pulls = statistics.by_pair[ByPair.PULLS, arm, context] - 1.0
    write_mean(statistics, window, arm, context, pulls)
    counts[Count.FIRST] = 0 if slot + 1 == window.rewards.shape[0] else slot + 1
    counts[Count.REWARDS] -= 1
    counts[Count.FRONT] -= 1
    return pulls == 0.0


@kernel
def leave_window(statistics, window, now):
    """Let go what came more than W rounds before round `now`; return whether a pair has become unknown."""
    oldest = now - window.rewards.shape[0]
    counts = window.counts
    unknown = False
    while counts[Count.REWARDS] > 0 and window.places[Kept.ROUND, counts[Count.FIRST]] < oldest:
        unknown |= drop_oldest(statistics, window)
    while counts[Count.SEEN] > 0 and window.seen[Seen.ROUND, counts[Count.FIRST_SEEN]] < oldest:
        drop_oldest_context(window)
    return unknown


@kernel
def drop_oldest_context(window):
    """Count the oldest context no more."""
    counts = window.counts
    slot = counts[Count.FIRST_SEEN]
    window.by_context[window.seen[Seen.CONTEXT, slot]] -= 1.0
    counts[Count.FIRST_SEEN] = 0 if slot + 1 == window.seen.shape[1] else slot + 1
    counts[Count.SEEN] -= 1


@kernel
def record_in_window(statistics, window, arm, context, reward, now):
    """Take in the reward of a pair that came in round `now`, the oldest leaving if there are W.

    Return whether a pair may have become unknown.
    """
    length = window.rewards.shape[0]
    counts = window.counts
    unknown = False
    if counts[Count.REWARDS] == length:
        unknown = drop_oldest(statistics, window)
    slot = counts[Count.FIRST] + counts[Count.REWARDS]
    if slot >= length:
        slot -= length
    window.rewards[slot] = reward
    window.places[Kept.ROUND, slot] = now
    window.places[Kept.ARM, slot] = arm
    window.places[Kept.CONTEXT, slot] = context
    counts[Count.REWARDS] += 1
    window.sums[Sum.BACK, arm, context] += reward
    write_mean(statistics, window, arm, context, statistics.by_pair[ByPair.PULLS, arm, context] + 1.0)
    return unknown


@kernel
def see_in_window(window, context, now):
    """Count a context that came in round `now`."""
    length = window.seen.shape[1]
    counts = window.counts
    if counts[Count.SEEN] == length:
        drop_oldest_context(window)
    slot = counts[Count.FIRST_SEEN] + counts[Count.SEEN]
    if slot >= length:
        slot -= length
    window.seen[Seen.ROUND, slot] = now
    window.seen[Seen.CONTEXT, slot] = context
    window.by_context[context] += 1.0
    counts[Count.SEEN] += 1
