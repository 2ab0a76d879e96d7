"""BanditQ: an adversarial bandit on rewards weighted by each arm's unmet floor, without contexts."""

import enum
import math
from typing import TYPE_CHECKING, Unpack

from arcbandit.compilation.compile import kernel
from arcbandit.policies.base import Policy
from arcbandit.policies.dials import Dial
from arcbandit.policies.inverse_gaps import write_inverse_gaps
from arcbandit.policies.learner import Outcome, Rows
from arcbandit.policies.scaling import (
    LARGEST,
    add_to_queues,
    scaled,
)

if TYPE_CHECKING:
    from arcbandit.inputs.frames import Column
    from arcbandit.policies.settings import BanditQSettings


class ByArmRow(enum.IntEnum):
    """What is kept per arm."""

    QUEUE = 0
    SURROGATE = 1  # the sum of surrogate rewards, relative to the largest


class TotalRow(enum.IntEnum):
    """What is kept once."""

    SQUARES = 0  # the sum of squared surrogate rewards so far


class PairScratch(enum.IntEnum):
    """What is computed per pair."""

    SCORES = 0


@kernel
def allocate(learner, context, t, stream):
    """Log-barrier FTRL on the surrogate rewards so far, mixed with a share g = min(1/2, sqrt(K / t)) of uniform play.

    The rate is sqrt(K log T / (T + sum of squared surrogates)), which balances the terms of its regret.
    """
    allocation = learner.allocation
    n_arms, n_contexts = allocation.shape
    settings = learner.settings
    horizon = max(settings[0].horizon, 2.0)
    squares = horizon + learner.memory.totals[TotalRow.SQUARES]
    rate = min(learner.dials[0].rate_scale, LARGEST) * math.sqrt(n_arms * math.log(horizon) / squares)
    even = min(0.5, math.sqrt(n_arms / t))
    scores = learner.memory.scratch_by_pair[PairScratch.SCORES]
    for context in range(n_contexts):
        count = 0
        for arm in range(n_arms):
            scores[arm, context] = learner.memory.by_arm[ByArmRow.SURROGATE, arm]
            if learner.problem.available[arm, context]:
                count += 1
        write_inverse_gaps(scores, learner.problem.available, context, rate, allocation)
        for arm in range(n_arms):
            if learner.problem.available[arm, context]:
                allocation[arm, context] = (1.0 - even) * allocation[arm, context] + even / count
    return Outcome.PLANNED


@kernel
def learn(learner, context, arm, reward):
    """Update the queues, and add r (Q + sqrt T) / x to the surrogate reward of the arm played with probability x.

    Surrogates are kept relative to the largest. A late reward of an arm that cannot be played now adds none.
    """
    n_arms = learner.problem.available.shape[0]
    queues = learner.memory.by_arm[ByArmRow.QUEUE]
    sums = learner.memory.by_arm[ByArmRow.SURROGATE]
    add_to_queues(learner.problem.floors, learner.settings[0].mean_bound, arm, reward, queues)
    share = learner.allocation[arm, context]
    if share > 0.0:
        surrogate = scaled(reward, learner.settings[0].mean_bound) * (
            queues[arm] + math.sqrt(learner.settings[0].horizon)
        )
        learner.memory.totals[TotalRow.SQUARES] += surrogate * surrogate
        sums[arm] += surrogate / share
        top = sums[0]
        for other in range(n_arms):
            top = max(top, sums[other])
        for other in range(n_arms):
            sums[other] -= top


class BanditQ(Policy):
    """BanditQ, log-barrier FTRL on queue-weighted rewards [sinha2024].

    A queue Q accumulates how far each arm's realised rewards fall short of its floor; an arm's surrogate reward is
    r (Q + sqrt(T)). Follow the regularised leader (FTRL) with a log barrier, which assumes nothing about rewards,
    plays on estimates of these, mixed with uniform play. Adapted: contexts are ignored, and the rate is
    sqrt(K log T / (T + sum of squared surrogates)). Slow: a queue must first outgrow sqrt(T) times the ratio of means.

    >>> policy = BanditQ([0.2, 0.1], [0.5, 0.5], reward_bounds=(0, 1), horizon=1000, seed=1)
    >>> for round_number in range(1000):
    ...     decision = policy.decide(round_number % 2)
    ...     policy.update(decision.context, decision.arm, [0.8, 0.4][decision.arm])
    >>> policy.allocation().round(2).tolist()
    [[0.93, 0.93], [0.07, 0.07]]
    """

    name = "bandit-q"
    reference = "sinha2024"
    allocate = staticmethod(allocate)
    learn = staticmethod(learn)
    rows = Rows(by_arm=ByArmRow, totals=TotalRow, scratch_by_pair=PairScratch)
    dials = (Dial("rate_scale", 1.0, "learning rate in units of the default", low=0.0, exclusive=True),)
    needs_horizon = True
    needs_mean_bound = True
    supports_group_floors = False

    if TYPE_CHECKING:

        def __init__(
            self,
            revenue_floors: Column | None = None,
            context_probabilities: Column | None = None,
            **settings: Unpack[BanditQSettings],
        ) -> None: ...
