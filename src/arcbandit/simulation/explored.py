"""What a plan earns while pairs are unplayed, in problems of many pairs: the same sums as over every pair, but faster.

Contexts with unplayed arms play these alike, so what they earn changes only when one of these arms is played. It is
kept context by context, so that the sums of many arms are added up side by side, and only from the first context on
that changed. Each arm's sum is over contexts in order, as it would be without: the sums are the same to the last bit.
"""

from typing import NamedTuple

import numpy as np

from arcbandit.compilation.compile import kernel, rare_kernel
from arcbandit.kernels.planner import key_of_plan, slot_of_plan
from arcbandit.kernels.unplayed import unplayed_arms

BLOCK = 32  # contexts


class Explored(NamedTuple):
    """What is kept between rounds, and scratch space."""

    revenues: np.ndarray  # float64, shape (C, K): what a pair earns in expectation, in contexts with unplayed arms
    counts: np.ndarray  # int32, shape (C,): how many unplayed arms there were when the context's revenues were written
    by_arm: np.ndarray  # float64, shape (K,)
    sums: np.ndarray  # float64, shape (B, K): what each arm earns in the contexts before each block of contexts
    first_slot: np.ndarray  # int32, shape (C,): a slot of the context, -1 if there is none
    next_slot: np.ndarray  # int32, shape (M,): another slot of the same context, likewise


def make_explored(n_arms: int, n_contexts: int, n_rows: int) -> Explored:
    """Nothing is kept yet."""
    return Explored(
        revenues=np.zeros((n_contexts, n_arms)),
        counts=np.zeros(n_contexts, dtype=np.int32),
        by_arm=np.zeros(n_arms),
        sums=np.zeros((1 + (n_contexts - 1) // BLOCK, n_arms)),
        first_slot=np.full(n_contexts, -1, dtype=np.int32),
        next_slot=np.full(n_rows, -1, dtype=np.int32),
    )


@kernel
def keep_revenues(world, unplayed, context, count, explored):
    """Write what the arms of a context earn, each of the unplayed ones with the same share."""
    explored.counts[context] = count
    for arm in range(explored.by_arm.shape[0]):
        share = 1.0 / count if unplayed.pairs[context, arm] else 0.0
        explored.revenues[context, arm] = world.revenues[arm, context] * share


@kernel
def link_slots(planner, place, explored):
    """Chain up the slots of each context."""
    for context in range(explored.first_slot.shape[0]):
        explored.first_slot[context] = -1
    for slot in range(explored.next_slot.shape[0]):
        _, context = slot_of_plan(planner, place, slot)
        if context >= 0:
            explored.next_slot[slot] = explored.first_slot[context]
            explored.first_slot[context] = slot


@kernel
def add_side_by_side(amounts, sums):
    """Add an amount to each sum."""
    for place in range(sums.shape[0]):
        sums[place] += amounts[place]


@kernel
def unchanged_blocks(unplayed, explored):
    """How many blocks come before the first context that earns something else than when sums were last written."""
    n_contexts = explored.counts.shape[0]
    for first in range(0, n_contexts, BLOCK):
        for context in range(first, min(first + BLOCK, n_contexts)):
            count = unplayed_arms(unplayed, context)
            if count == 0 or count != explored.counts[context]:
                return first // BLOCK
    return explored.sums.shape[0]


@rare_kernel
def add_up_by_arm(world, planner, unplayed, place, allocation, explored):
    """Write what each arm earns by a plan in which contexts with unplayed arms play these alike."""
    by_arm, sums = explored.by_arm, explored.sums
    link_slots(planner, place, explored)
    # The sums before the first block are zero. All of the last block is added up again even if nothing changed.
    block = min(unchanged_blocks(unplayed, explored), sums.shape[0] - 1)
    for arm in range(by_arm.shape[0]):
        by_arm[arm] = sums[block, arm]
    for context in range(block * BLOCK, explored.counts.shape[0]):
        if context % BLOCK == 0:
            for arm in range(by_arm.shape[0]):
                sums[context // BLOCK, arm] = by_arm[arm]
        count = unplayed_arms(unplayed, context)
        if count > 0:
            if count != explored.counts[context]:
                keep_revenues(world, unplayed, context, count, explored)
            add_side_by_side(explored.revenues[context], by_arm)
        else:
            arm = key_of_plan(planner, place, context)
            by_arm[arm] += world.revenues[arm, context] * allocation[arm, context]
            slot = explored.first_slot[context]
            while slot >= 0:
                arm, _ = slot_of_plan(planner, place, slot)
                by_arm[arm] += world.revenues[arm, context] * allocation[arm, context]
                slot = explored.next_slot[slot]
