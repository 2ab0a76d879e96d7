"""Optimistic^3: optimism in the estimates, the plan and the dual."""

import enum
import math
from typing import TYPE_CHECKING, Unpack

from arcbandit.compilation.compile import kernel, rare_kernel
from arcbandit.kernels.confidence import radius_factor
from arcbandit.kernels.program import NO_FLOOR
from arcbandit.policies.base import Policy
from arcbandit.policies.dials import Dial
from arcbandit.policies.learner import Outcome, Rows
from arcbandit.policies.scaling import (
    scaled,
    scaled_bound,
    scaled_floor,
)

if TYPE_CHECKING:
    from arcbandit.inputs.frames import Column
    from arcbandit.policies.settings import Optimistic3Settings


class Dual(enum.IntEnum):
    """What the dual sees, in the order of the dial's choices."""

    EXPECTED = 0
    CONTEXT = 1
    REALISED = 2


class ByPairRow(enum.IntEnum):
    """What is kept per pair."""

    LOGITS = 0


class ByArmRow(enum.IntEnum):
    """What is kept per arm."""

    QUEUE = 0
    PREVIOUS = 1  # the shortfall that the dual saw last


class PairScratch(enum.IntEnum):
    """What is computed per pair."""

    BOUNDS = 0


class ArmScratch(enum.IntEnum):
    """What is computed per arm."""

    GAPS = 0


@rare_kernel
def step_optimistic_dual(floors, queues, before, gaps):
    """Q = max(0, Q + 2 G - G_prev); G_prev = G, or 0 without a floor, so that one that comes finds no debt."""
    for arm in range(queues.shape[0]):
        queues[arm] = max(0.0, queues[arm] + 2.0 * gaps[arm] - before[arm])
        before[arm] = gaps[arm] if floors[arm] > NO_FLOOR else 0.0


@kernel
def allocate(learner, context, t, stream):
    """Write the softmax of logits that grow by (1 + Q) U / alpha each round, then step the dual by expected revenue.

    The logits are kept relative to the largest of their column.
    """
    allocation = learner.allocation
    n_arms, n_contexts = allocation.shape
    unit = learner.settings[0].mean_bound
    floors = learner.problem.floors
    settings = learner.settings
    logits = learner.memory.by_pair[ByPairRow.LOGITS]
    bounds = learner.memory.scratch_by_pair[PairScratch.BOUNDS]
    gaps = learner.memory.scratch_by_arm[ArmScratch.GAPS]
    factor = radius_factor(allocation.size, t, settings[0].noise_scale)
    for arm in range(n_arms):
        gaps[arm] = scaled_floor(floors, unit, arm)
    for column in range(n_contexts):
        top = -math.inf
        for arm in range(n_arms):
            if learner.problem.available[arm, column]:
                bounds[arm, column] = min(scaled_bound(learner.statistics, unit, arm, column, factor), 1.0)
                logits[arm, column] += scaled(
                    (1.0 + learner.memory.by_arm[ByArmRow.QUEUE, arm]) * bounds[arm, column], learner.dials[0].alpha
                )
                top = max(top, logits[arm, column])
        total = 0.0
        for arm in range(n_arms):
            allocation[arm, column] = 0.0
            if learner.problem.available[arm, column]:
                logits[arm, column] -= top
                allocation[arm, column] = math.exp(logits[arm, column])
                total += allocation[arm, column]
        weight = learner.problem.context_probabilities[column]
        if learner.dials[0].dual == Dual.CONTEXT:
            weight = 1.0 if column == context else 0.0
        for arm in range(n_arms):
            allocation[arm, column] /= total
            gaps[arm] -= weight * allocation[arm, column] * bounds[arm, column]
    if learner.dials[0].dual != Dual.REALISED:
        step_optimistic_dual(
            floors, learner.memory.by_arm[ByArmRow.QUEUE], learner.memory.by_arm[ByArmRow.PREVIOUS], gaps
        )
    return Outcome.PLANNED


@kernel
def learn(learner, context, arm, reward):
    """Step the dual by the realised reward, if that is what it sees."""
    if learner.dials[0].dual == Dual.REALISED:
        unit = learner.settings[0].mean_bound
        floors = learner.problem.floors
        n_arms = learner.problem.available.shape[0]
        gaps = learner.memory.scratch_by_arm[ArmScratch.GAPS]
        for other in range(n_arms):
            gaps[other] = scaled_floor(floors, unit, other)
        gaps[arm] -= scaled(reward, learner.settings[0].mean_bound)
        step_optimistic_dual(
            floors, learner.memory.by_arm[ByArmRow.QUEUE], learner.memory.by_arm[ByArmRow.PREVIOUS], gaps
        )


class Optimistic3(Policy):
    """Optimistic primal-dual with softmax [guo2025].

    Each pair has a logit that grows by its upper bound times 1 + Q, where Q is the price of the arm's floor; w(t) is
    the softmax over arms, and Q follows its expected shortfall, extrapolated by one round. There is no step size.
    Adapted: several floors, one softmax per context, and the expected shortfall summed over contexts by their
    probabilities. On the paper's instance nu it behaves like OLP: regret flat, violation like sqrt(T). With `dual`
    "context" or "realised" it oscillates and does far worse.

    >>> policy = Optimistic3([0.1, 0.1], [0.5, 0.5], reward_bounds=(0, 1), seed=1)
    >>> for round_number in range(1000):
    ...     decision = policy.decide(round_number % 2)
    ...     policy.update(decision.context, decision.arm, float(decision.arm == decision.context))
    >>> float(policy.allocation().diagonal().min()) > 0.99
    True
    """

    name = "optimistic3"
    reference = "guo2025"
    allocate = staticmethod(allocate)
    learn = staticmethod(learn)
    rows = Rows(by_pair=ByPairRow, by_arm=ByArmRow, scratch_by_pair=PairScratch, scratch_by_arm=ArmScratch)
    dials = (
        Dial("alpha", 2.0, "what the logits' increments are divided by", low=0.0, exclusive=True),
        Dial(
            "dual",
            "expected",
            "what the dual sees: the plan over all contexts, over the context met, or the reward",
            choices=("expected", "context", "realised"),
        ),
    )
    needs_mean_bound = True
    supports_group_floors = False

    if TYPE_CHECKING:

        def __init__(
            self,
            revenue_floors: Column | None = None,
            context_probabilities: Column | None = None,
            **settings: Unpack[Optimistic3Settings],
        ) -> None: ...
