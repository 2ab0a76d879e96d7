"""Rewards that arrive some rounds after the decision, or never: how late each is drawn, and where they wait."""

import enum
import math
from typing import NamedTuple

import numpy as np

from arcbandit.compilation.compile import entry_kernel, kernel
from arcbandit.kernels.counter import Purpose, uniforms
from arcbandit.simulation.delays import Delay

NEVER = -1  # the delay of a reward that is lost
NOBODY = -1  # in place of a slot
LARGEST_LOGARITHM = 37.0  # -log of the smallest 1 - u is 53 log 2, a little less


class Waiting(enum.IntEnum):
    """Rows of Late.queue. The slot of a reward and the day of its arrival are rounds modulo the length."""

    FIRST = 0  # by day: the slot of the first reward that arrives then
    LAST = 1  # by day
    NEXT = 2  # by slot: the slot of the next reward that arrives on the same day
    CONTEXT = 3
    ARM = 4


class Late(NamedTuple):
    """How late rewards are, and those that are on their way."""

    rounds: int  # of a fixed delay
    log_ratio: float  # log(mean / (1 + mean)) of a geometric delay, 0 for a fixed one
    lost: float
    queue: np.ndarray  # int64, shape (5, L)
    rewards: np.ndarray  # float64, by slot, shape (L,)


def make_late(delay: Delay, horizon: int) -> Late:
    """An empty queue, as long as the longest delay after which a reward still arrives within the horizon."""
    log_ratio = 0.0
    longest = float(delay.rounds)
    if delay.mean:
        log_ratio = -math.log1p(1.0 / delay.mean)
        longest = LARGEST_LOGARITHM / -log_ratio
    length = 1 + int(min(longest, horizon))
    queue = np.full((len(Waiting), length), NOBODY, dtype=np.int64)
    return Late(delay.rounds, log_ratio, float(delay.lost), queue, np.zeros(length))


@kernel
def delay_of(late, stream):
    """How many rounds the reward of a round is late; NEVER if it is lost."""
    left, right = uniforms(stream.seed, stream.epoch, stream.number, Purpose.DELAY, 0)
    if right < late.lost:
        return NEVER
    if late.log_ratio == 0.0:
        return late.rounds
    # Longer than the queue is too late in any case.
    return int(min(math.log(1.0 - left) / late.log_ratio, float(late.rewards.shape[0])))


@entry_kernel
def delay_of_round(late, stream):
    """`delay_of`, for calls from Python."""
    return delay_of(late, stream)


@kernel
def send(late, stream, context, arm, reward):
    """Put the reward of a round in the queue, unless it is lost or too late."""
    delay = delay_of(late, stream)
    length = late.rewards.shape[0]
    if 0 <= delay < length:
        # The last reward of this slot has arrived: at the latest length - 1 rounds after its own.
        slot = stream.number % length
        day = (stream.number + delay) % length
        late.queue[Waiting.CONTEXT, slot] = context
        late.queue[Waiting.ARM, slot] = arm
        late.queue[Waiting.NEXT, slot] = NOBODY
        late.rewards[slot] = reward
        last = late.queue[Waiting.LAST, day]
        if last == NOBODY:
            late.queue[Waiting.FIRST, day] = slot
        else:
            late.queue[Waiting.NEXT, last] = slot
        late.queue[Waiting.LAST, day] = slot


@kernel
def first_arrival(late, round_number):
    """The slot of the first reward that arrives in a round, NOBODY if there is none; the day is closed with it."""
    day = round_number % late.rewards.shape[0]
    slot = late.queue[Waiting.FIRST, day]
    late.queue[Waiting.FIRST, day] = NOBODY
    late.queue[Waiting.LAST, day] = NOBODY
    return slot


@kernel
def arrived(late, slot):
    """The reward in a slot: (context, arm, reward)."""
    return late.queue[Waiting.CONTEXT, slot], late.queue[Waiting.ARM, slot], late.rewards[slot]


@kernel
def next_arrival(late, slot):
    """The slot of the reward that arrives after the one in this slot, NOBODY if there is none."""
    return late.queue[Waiting.NEXT, slot]
