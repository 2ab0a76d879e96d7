"""What a rule is told, what it remembers, and its name: tuples of arrays that cross the compiled border."""

import enum
from typing import NamedTuple

import numpy as np

from arcbandit.kernels.program import Column

# Places of KnownProblem.settings; the dials of a rule follow from DIALS on, in the order its class lists them.
NOISE_SCALE, REWARD_LOW, REWARD_HIGH, MEAN_BOUND, ESTIMATE_CONTEXTS, HORIZON, DIALS = range(7)
N_SETTINGS = 14

# Rows of Memory.matrices, shape (K, C) each: objective and revenues, or means and roots, which are worked out anew in
# each round. No rule has any of the second and weights, which it keeps.
OBJECTIVE, REVENUE = range(2)
MEANS, ROOTS = OBJECTIVE, REVENUE
WEIGHTS = REVENUE
# Rows of Memory.by_arm; what they hold is up to the rule.
QUEUE, PREVIOUS, SCRATCH, OTHER_SCRATCH = range(4)
# How an allocation came about: PLANNED as the rule wants it, or any of the others together.
PLANNED = 0
FELL_BACK = 1  # the rule's own problem was infeasible, LP(UCB, UCB) was used
FELL_SHORT = 2  # LP(UCB, UCB) was infeasible too, the plan falls short of the floors least
STOOD_STILL = 4  # the solver found nothing, every arm is played alike
EXPLORED = 8  # some context still has arms never played

# The two bases of a rule that plans: of its own problem, and of LP(UCB, UCB).
OWN, FALLBACK = range(2)


class Rule(enum.IntEnum):
    """The rules of the compiled switch."""

    LINEAR_PROGRAM = 0
    THOMPSON_LP = 1
    OPTIMISTIC3 = 2
    DOC = 3
    SPOC = 4
    SGOC = 5
    LOE2D = 6
    LAGRANGE_CB = 7
    DRIFT_PLUS_PENALTY = 8
    BANDIT_Q = 9


# Places of Memory.scalars: the leans of the plan at hand, and whether every pair was played.
OBJECTIVE_LEAN, REVENUE_LEAN, ALL_PLAYED = range(3)


class KnownProblem(NamedTuple):
    """What the learner is told before round 1."""

    context_probabilities: np.ndarray  # p_c, or its running estimate, shape (C,)
    floors: np.ndarray  # of arms, then of groups, NO_FLOOR for a floor of zero, shape (M,)
    arm_rows: np.ndarray  # int64, shape (K, R), as in Program
    available: np.ndarray  # bool, shape (K, C)
    settings: np.ndarray  # float64, shape (N_SETTINGS,)


class Memory(NamedTuple):
    """What a rule keeps between rounds. The warm bases are part of it, or replay would differ."""

    key: np.ndarray  # int32, shape (2, C)
    slot_arm: np.ndarray  # int32, shape (2, M)
    slot_context: np.ndarray  # int32, shape (2, M)
    matrices: np.ndarray  # float64, shape (2, K, C)
    by_arm: np.ndarray  # float64, shape (4, K + 1); the last place is free for the rule
    scalars: np.ndarray  # float64, shape (3,); worked out anew in each round


def make_memory(n_arms: int, n_contexts: int, n_rows: int) -> Memory:
    """Nothing remembered."""
    return Memory(
        key=np.full((2, n_contexts), -1, dtype=np.int32),
        slot_arm=np.tile(np.arange(n_rows, dtype=np.int32), (2, 1)),
        slot_context=np.full((2, n_rows), Column.SURPLUS, dtype=np.int32),
        matrices=np.zeros((2, n_arms, n_contexts)),
        by_arm=np.zeros((4, n_arms + 1)),
        scalars=np.zeros(3),
    )
