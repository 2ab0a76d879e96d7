"""The random numbers of the rounds: of many at a time on a CPU, of one at a time on a GPU.

They depend on nothing that is played, so a CPU draws those of many rounds in loops without a branch, several at once.
Drawn in its round, a context is known so late that the processor has guessed it, wrongly for the most part, and must do
half of the round again. A thread of a GPU has no memory to spare for numbers that it draws as fast by itself.
"""

import enum
from typing import NamedTuple

import numpy as np

from arcbandit.compilation.compile import kernel, shared_kernel
from arcbandit.kernels.counter import Purpose, uniforms
from arcbandit.kernels.sampling import context_from_uniform, contexts_from_uniforms
from arcbandit.simulation.world import noise_from_uniforms

ROUNDS_AT_A_TIME = 64  # few enough for the fastest cache; a power of two, by which it is quick to divide


class Drawn(enum.IntEnum):
    """Rows of Draws.numbers, one number per round."""

    CONTEXT = 0  # uniform
    ARM = 1  # uniform
    NOISE = 2  # what a reward is made of: of two uniform numbers the first, then `noise_from_uniforms` of both
    OTHER_NOISE = 3  # the second of the two


class Draws(NamedTuple):
    """What was drawn for some rounds."""

    numbers: np.ndarray  # float64, shape (4, N)
    contexts: np.ndarray  # int64, shape (N,)


def make_draws() -> Draws:
    """Memory for what is drawn at a time."""
    return Draws(np.zeros((len(Drawn), ROUNDS_AT_A_TIME)), np.zeros(ROUNDS_AT_A_TIME, dtype=np.int64))


@shared_kernel
def draw_rounds(probabilities, model, seed, epoch, first, last, draws):
    """Draw for the rounds `first` .. `last`, or for as many of them as are drawn at a time."""
    numbers = draws.numbers
    count = min(ROUNDS_AT_A_TIME, last + 1 - first)
    for place in range(count):
        context, arm = uniforms(seed, epoch, first + place, Purpose.DECISION, 0)
        noise, other_noise = uniforms(seed, epoch, first + place, Purpose.REWARD, 0)
        numbers[Drawn.CONTEXT, place] = context
        numbers[Drawn.ARM, place] = arm
        numbers[Drawn.NOISE, place] = noise
        numbers[Drawn.OTHER_NOISE, place] = other_noise
    # A loop of its own: the logarithms and cosines in it are drawn one by one.
    for place in range(count):
        numbers[Drawn.NOISE, place] = noise_from_uniforms(
            model, numbers[Drawn.NOISE, place], numbers[Drawn.OTHER_NOISE, place]
        )
    contexts_from_uniforms(probabilities, numbers[Drawn.CONTEXT], count, draws.contexts)


@kernel
def draw_round(world, stream, t, first, last, draws):
    """The draws of round t, of the rounds `first` .. `last` that are played one after the other.

    (context, uniform number for the arm, noise of the reward)
    """
    if len(draws) == 0:
        context_uniform, arm_uniform = uniforms(stream.seed, stream.epoch, t, Purpose.DECISION, 0)
        # Drawn here, as the processor then works on both draws at once.
        left, right = uniforms(stream.seed, stream.epoch, t, Purpose.REWARD, 0)
        context = context_from_uniform(world.probabilities, context_uniform)
        return context, arm_uniform, noise_from_uniforms(world.model, left, right)
    place = (t - first) % ROUNDS_AT_A_TIME
    if place == 0:
        draw_rounds(world.probabilities, world.model, stream.seed, stream.epoch, t, last, draws)
    return draws.contexts[place], draws.numbers[Drawn.ARM, place], draws.numbers[Drawn.NOISE, place]
