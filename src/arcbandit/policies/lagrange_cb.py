"""LagrangeCBwLC: a game between SquareCB, which plays, and Hedge, which prices the floors."""

import enum
import math
from typing import TYPE_CHECKING, Unpack

from arcbandit.compilation.compile import kernel
from arcbandit.policies.base import Policy
from arcbandit.policies.dials import Dial
from arcbandit.policies.learner import Outcome, Rows
from arcbandit.policies.scaling import (
    LARGEST,
    NEGLIGIBLE,
    scaled,
    scaled_bound,
    scaled_floor,
    squared_regression_error,
)

if TYPE_CHECKING:
    from arcbandit.inputs.frames import Column
    from arcbandit.policies.settings import LagrangeCBSettings


class ByArmRow(enum.IntEnum):
    """What is kept per arm."""

    LOG_WEIGHT = 0  # of Hedge


class PairScratch(enum.IntEnum):
    """What is computed per pair."""

    SCORES = 0


class ArmScratch(enum.IntEnum):
    """What is computed per arm."""

    WEIGHTS = 0


@kernel
def write_hedge_weights(floors, unit, logs, weights):
    """Write nu, the exponential weights over the positive floors and time, whose logarithm stays 0."""
    n_arms = logs.shape[0]
    top = 0.0
    for arm in range(n_arms):
        if scaled_floor(floors, unit, arm) > NEGLIGIBLE:
            top = max(top, logs[arm])
    total = math.exp(-top)
    for arm in range(n_arms):
        weights[arm] = math.exp(logs[arm] - top) if scaled_floor(floors, unit, arm) > NEGLIGIBLE else 0.0
        total += weights[arm]
    for arm in range(n_arms):
        weights[arm] /= total


@kernel
def allocate(learner, context, t, stream):
    """SquareCB on mean (1 + eta nu / lambda): others get 1 / (K + gamma gap), the best arm gets the rest."""
    allocation = learner.allocation
    n_arms, n_contexts = allocation.shape
    unit = learner.settings[0].mean_bound
    floors = learner.problem.floors
    settings = learner.settings
    error = squared_regression_error(allocation.size, learner.settings[0].horizon)
    rate = min(learner.dials[0].exploration_scale * math.sqrt(n_arms * max(settings[0].horizon, 2.0) / error), LARGEST)
    weights = learner.memory.scratch_by_arm[ArmScratch.WEIGHTS]
    scores = learner.memory.scratch_by_pair[PairScratch.SCORES]
    write_hedge_weights(floors, unit, learner.memory.by_arm[ByArmRow.LOG_WEIGHT], weights)
    for column in range(n_contexts):
        best = -1
        count = 0
        for arm in range(n_arms):
            if learner.problem.available[arm, column]:
                count += 1
                price = 0.0
                if weights[arm] > 0.0:
                    price = scaled(2.0 * weights[arm], learner.dials[0].margin * scaled_floor(floors, unit, arm))
                mean = scaled_bound(learner.statistics, unit, arm, column, 0.0)
                scores[arm, column] = mean * (1.0 + price)
                if best < 0 or scores[arm, column] > scores[best, column]:
                    best = arm
        rest = 1.0
        for arm in range(n_arms):
            allocation[arm, column] = 0.0
            if learner.problem.available[arm, column] and arm != best:
                gap = scores[best, column] - scores[arm, column]
                allocation[arm, column] = 1.0 / (count + rate * gap)
                rest -= allocation[arm, column]
        allocation[best, column] = rest
    return Outcome.PLANNED


@kernel
def learn(learner, context, arm, reward):
    """Hedge: log nu_k -= h (r 1{k played} / lambda_k - 1), h = lambda_min sqrt(log d / T)."""
    unit = learner.settings[0].mean_bound
    floors = learner.problem.floors
    n_arms = learner.problem.available.shape[0]
    settings = learner.settings
    smallest = LARGEST
    resources = 1
    for other in range(n_arms):
        if scaled_floor(floors, unit, other) > NEGLIGIBLE:
            resources += 1
            smallest = min(smallest, scaled_floor(floors, unit, other))
    root = learner.dials[0].dual_scale * math.sqrt(math.log(resources) / settings[0].horizon)
    for other in range(n_arms):
        if scaled_floor(floors, unit, other) > NEGLIGIBLE:
            learner.memory.by_arm[ByArmRow.LOG_WEIGHT, other] += root * smallest
            if other == arm:
                earned = scaled(reward, settings[0].mean_bound)
                learner.memory.by_arm[ByArmRow.LOG_WEIGHT, other] -= (
                    root * earned * (smallest / scaled_floor(floors, unit, other))
                )


class LagrangeCB(Policy):
    """LagrangeCBwLC, SquareCB against Hedge [slivkins2024].

    SquareCB plays on mean * (1 + eta nu / lambda); Hedge moves nu, a distribution over the floors and time, towards
    floors that the realised rewards miss. eta = 2 / `margin`, where `margin` is the fraction by which all floors could
    be exceeded at once. Adapted: means of pairs are the regression, gamma = sqrt(K T / (kappa log T)), a pair never
    played counts as the best, floors of zero are left out. Slow at the theoretical rates, and oscillates at higher
    ones: its shortfalls summed round by round look far worse than its total shortfall.

    >>> policy = LagrangeCB([0.1, 0.1], [0.5, 0.5], reward_bounds=(0, 1), horizon=1000, seed=1)
    >>> for round_number in range(1000):
    ...     decision = policy.decide(round_number % 2)
    ...     policy.update(decision.context, decision.arm, float(decision.arm == decision.context))
    >>> policy.allocation().round(2).tolist()
    [[0.9, 0.1], [0.1, 0.9]]
    """

    name = "lagrange-cb"
    reference = "slivkins2024"
    allocate = staticmethod(allocate)
    learn = staticmethod(learn)
    rows = Rows(by_arm=ByArmRow, scratch_by_pair=PairScratch, scratch_by_arm=ArmScratch)
    dials = (
        Dial("margin", 0.5, "fraction by which all floors could be exceeded at once", low=0.0, exclusive=True),
        Dial("exploration_scale", 1.0, "gamma of SquareCB in units of its theoretical value", low=0.0, exclusive=True),
        Dial("dual_scale", 1.0, "step of Hedge in units of its theoretical value", low=0.0, exclusive=True),
    )
    needs_horizon = True
    needs_mean_bound = True
    supports_group_floors = False

    if TYPE_CHECKING:

        def __init__(
            self,
            revenue_floors: Column | None = None,
            context_probabilities: Column | None = None,
            **settings: Unpack[LagrangeCBSettings],
        ) -> None: ...
