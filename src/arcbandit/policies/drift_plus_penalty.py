"""Drift plus penalty: play the arm with the largest upper bound, weighted by its unmet floor."""

import enum
import math
from typing import TYPE_CHECKING, Unpack

from arcbandit.compilation.compile import kernel
from arcbandit.kernels.confidence import explore_unplayed, radius_factor
from arcbandit.policies.base import Policy
from arcbandit.policies.dials import Dial
from arcbandit.policies.learner import Outcome, Rows
from arcbandit.policies.scaling import (
    add_to_queues,
    scaled_bound,
)

if TYPE_CHECKING:
    from arcbandit.inputs.frames import Column
    from arcbandit.policies.settings import DriftPlusPenaltySettings


class ByArmRow(enum.IntEnum):
    """What is kept per arm."""

    QUEUE = 0


@kernel
def allocate(learner, context, t, stream):
    """Play argmax (eta + Q) UCB, eta = scale * sqrt(T); the UCB of a pair never played is infinite."""
    allocation = learner.allocation
    n_arms, n_contexts = allocation.shape
    settings = learner.settings[0]
    unit = settings.mean_bound
    factor = radius_factor(allocation.size, t, settings.noise_scale)
    weight = learner.dials[0].penalty_scale * math.sqrt(settings.horizon)
    for column in range(n_contexts):
        best = -1
        largest = -math.inf
        for arm in range(n_arms):
            allocation[arm, column] = 0.0
            if learner.problem.available[arm, column]:
                bound = scaled_bound(learner.statistics, unit, arm, column, factor)
                score = (weight + learner.memory.by_arm[ByArmRow.QUEUE, arm]) * bound
                if best < 0 or score > largest:
                    best = arm
                    largest = score
        allocation[best, column] = 1.0
    if explore_unplayed(learner.statistics, learner.problem.available, allocation) > 0:
        return Outcome.EXPLORED
    return Outcome.PLANNED


@kernel
def learn(learner, context, arm, reward):
    """Grow all queues by their floors, and reduce that of the arm by its reward."""
    queues = learner.memory.by_arm[ByArmRow.QUEUE]
    add_to_queues(learner.problem.floors, learner.settings[0].mean_bound, arm, reward, queues)


class DriftPlusPenalty(Policy):
    """Drift-plus-penalty with upper confidence bounds, after LFG [li2019].

    A queue Q accumulates how far each arm's realised rewards fall short of its floor; the arm with the largest
    (eta + Q) UCB is played, eta = sqrt(T). It needs no linear program and no context probabilities. Adapted: floors on
    revenue instead of on how often an arm is played. Its choices are deterministic, so regret and violation summed
    round by round look worse than the signed sums.

    >>> policy = DriftPlusPenalty([0.1, 0.1], [0.5, 0.5], reward_bounds=(0, 1), horizon=1000, seed=1)
    >>> for round_number in range(1000):
    ...     decision = policy.decide(round_number % 2)
    ...     policy.update(decision.context, decision.arm, float(decision.arm == decision.context))
    >>> policy.allocation().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    name = "drift-plus-penalty"
    reference = "li2019"
    allocate = staticmethod(allocate)
    learn = staticmethod(learn)
    rows = Rows(by_arm=ByArmRow)
    dials = (Dial("penalty_scale", 1.0, "eta, the weight of revenue, in units of sqrt(T)", low=0.0),)
    needs_horizon = True
    needs_mean_bound = True
    supports_group_floors = False

    if TYPE_CHECKING:

        def __init__(
            self,
            revenue_floors: Column | None = None,
            context_probabilities: Column | None = None,
            **settings: Unpack[DriftPlusPenaltySettings],
        ) -> None: ...
