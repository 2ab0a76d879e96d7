"""LOE2D: queues of unmet floors, and exploration by inverse gap weighting."""

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
    scaled_bound,
    squared_regression_error,
)

if TYPE_CHECKING:
    from arcbandit.inputs.frames import Column
    from arcbandit.policies.settings import LOE2DSettings


class ByArmRow(enum.IntEnum):
    """What is kept per arm."""

    QUEUE = 0


class PairScratch(enum.IntEnum):
    """What is computed per pair."""

    SCORES = 0


@kernel
def allocate(learner, context, t, stream):
    """Write the inverse gap weights of L = mean (1 + Q / V), at rate 2 gamma beta with beta = V / (V + sum Q)."""
    allocation = learner.allocation
    n_arms, n_contexts = allocation.shape
    unit = learner.settings[0].mean_bound
    settings = learner.settings
    horizon = max(settings[0].horizon, 2.0)
    error = squared_regression_error(allocation.size, learner.settings[0].horizon)
    penalty = max(learner.dials[0].penalty_scale * math.sqrt(horizon * error) * math.log(horizon), 1.0 / LARGEST)
    rate = 2.0 * min(learner.dials[0].exploration_scale * n_arms * math.sqrt(horizon / error), LARGEST)
    queues = learner.memory.by_arm[ByArmRow.QUEUE]
    scores = learner.memory.scratch_by_pair[PairScratch.SCORES]
    length = penalty
    for arm in range(n_arms):
        length += queues[arm]
    for column in range(n_contexts):
        for arm in range(n_arms):
            # beta is moved into the score, where it cancels the division by V in L.
            weight = (penalty + queues[arm]) / length
            scores[arm, column] = weight * scaled_bound(learner.statistics, unit, arm, column, 0.0)
        write_inverse_gaps(scores, learner.problem.available, column, rate, allocation)
    return Outcome.PLANNED


@kernel
def learn(learner, context, arm, reward):
    """Grow all queues by their floors, and reduce that of the arm by its reward."""
    queues = learner.memory.by_arm[ByArmRow.QUEUE]
    add_to_queues(learner.problem.floors, learner.settings[0].mean_bound, arm, reward, queues)


class LOE2D(Policy):
    """Lyapunov optimisation, from estimation to decision [guo2024].

    A queue Q accumulates how far each arm's realised rewards fall short of its floor. Shares fall with the gap in
    mean * (1 + Q / V): pi = 1 / (eta + 2 gamma beta gap). In theory V = sqrt(T U) log T and gamma = K sqrt(T / U)
    with U = kappa log T. Adapted: means of pairs are the regression, and a pair never played counts as the best.
    With such a large V, floors are hardly enforced before T = 50,000: turn `penalty_scale` down.

    >>> policy = LOE2D([0.1, 0.1], [0.5, 0.5], reward_bounds=(0, 1), horizon=1000, seed=1)
    >>> for round_number in range(1000):
    ...     decision = policy.decide(round_number % 2)
    ...     policy.update(decision.context, decision.arm, float(decision.arm == decision.context))
    >>> policy.allocation().round(2).tolist()
    [[0.96, 0.04], [0.04, 0.96]]
    """

    name = "loe2d"
    reference = "guo2024"
    allocate = staticmethod(allocate)
    learn = staticmethod(learn)
    rows = Rows(by_arm=ByArmRow, scratch_by_pair=PairScratch)
    dials = (
        Dial("penalty_scale", 1.0, "V in units of its theoretical value", low=0.0, exclusive=True),
        Dial("exploration_scale", 1.0, "gamma in units of its theoretical value", low=0.0, exclusive=True),
    )
    needs_horizon = True
    needs_mean_bound = True
    supports_group_floors = False

    if TYPE_CHECKING:

        def __init__(
            self,
            revenue_floors: Column | None = None,
            context_probabilities: Column | None = None,
            **settings: Unpack[LOE2DSettings],
        ) -> None: ...
