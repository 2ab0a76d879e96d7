"""Random numbers as a pure function of (seed, epoch, round, purpose, index): Philox4x32-10.

A round here is a round of a simulation or, online, a decision: numbers are counted by decisions alone.

Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. Nothing is stored, so every
policy, worker and device meets the same numbers, and a longer run only extends a shorter one.
"""

import enum
import math

import numpy as np

from arcbandit.compilation.compile import kernel

LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
FIRST_MULTIPLIER = np.uint64(0xD2511F53)
SECOND_MULTIPLIER = np.uint64(0xCD9E8D57)
FIRST_STEP = np.uint64(0x9E3779B9)
SECOND_STEP = np.uint64(0xBB67AE85)
DROPPED_BITS = np.uint64(11)
UNIT = 2.0**-53


class Purpose(enum.IntEnum):
    """What a number is drawn for."""

    DECISION = 0  # the context's uniform and the arm's
    REWARD = 1
    POLICY = 2
    DELAY = 3  # how late a reward is, and whether it is lost


@kernel
def philox(first, second, third, fourth, key, other_key):
    """Ten rounds on a counter of four 32-bit words under a key of two, all as uint64; return four such words."""
    for _ in range(10):
        product = FIRST_MULTIPLIER * first
        other = SECOND_MULTIPLIER * third
        first = (other >> HALF) ^ second ^ key
        second = other & LOW
        third = (product >> HALF) ^ fourth ^ other_key
        fourth = product & LOW
        key = (key + FIRST_STEP) & LOW
        other_key = (other_key + SECOND_STEP) & LOW
    return first, second, third, fourth


@kernel
def uniforms(seed, epoch, round_number, purpose, index):
    """Two independent numbers in [0, 1), of 53 bits each; every argument is a non-negative integer."""
    wide_seed = np.uint64(seed)
    one, two, three, four = philox(
        np.uint64(round_number) & LOW,
        np.uint64(index) & LOW,
        np.uint64(epoch) & LOW,
        (np.uint64(round_number) >> HALF << np.uint64(8)) | np.uint64(purpose),
        wide_seed & LOW,
        wide_seed >> HALF,
    )
    left = ((one << HALF) | two) >> DROPPED_BITS
    right = ((three << HALF) | four) >> DROPPED_BITS
    return float(left) * UNIT, float(right) * UNIT


@kernel
def normal_from_uniforms(left, right):
    """A standard normal number from two uniform ones, by Box and Muller."""
    return math.sqrt(-2.0 * math.log(1.0 - left)) * math.cos(2.0 * math.pi * right)


@kernel
def standard_normal(seed, epoch, round_number, purpose, index):
    """A standard normal number."""
    left, right = uniforms(seed, epoch, round_number, purpose, index)
    return normal_from_uniforms(left, right)
