"""Thompson LP: plan with means drawn from what they may be."""

from arcbandit.compilation.compile import rare_kernel
from arcbandit.kernels.confidence import ByPair
from arcbandit.kernels.counter import Purpose, standard_normal
from arcbandit.policies.base import Policy
from arcbandit.policies.checks import Dial
from arcbandit.policies.state import DIALS, OBJECTIVE, REVENUE, Rule

# Places of the dials.
SHARE, REDRAWS = DIALS, DIALS + 1


@rare_kernel
def write_draws(problem, statistics, noise_scale, share, high, decision_number, attempt, seed, epoch, memory):
    """Draw theta ~ N(mean, sigma^2 / n) for each pair; its `share` goes into the constraints as well."""
    n_arms, n_contexts = problem.available.shape
    for arm in range(n_arms):
        for context in range(n_contexts):
            inverse_root = statistics.by_pair[ByPair.INVERSE_ROOT, arm, context]
            drawn = high
            steady = high
            if inverse_root > 0.0:
                index = (attempt * n_arms + arm) * n_contexts + context
                deviation = (
                    noise_scale * inverse_root * standard_normal(seed, epoch, decision_number, Purpose.POLICY, index)
                )
                drawn = statistics.by_pair[ByPair.MEAN, arm, context] + deviation
                steady = statistics.by_pair[ByPair.MEAN, arm, context] + share * deviation
            memory.matrices[OBJECTIVE, arm, context] = drawn
            memory.matrices[REVENUE, arm, context] = steady


class ThompsonLP(Policy):
    """Plan with a mean drawn for each pair (after LinConTS [saxena2020] and COLTS [gangrade2025]).

    theta ~ N(mean, sigma^2 / n) is drawn once a pair; `share` of its deviation goes into the floors as well as into the
    objective: 1 plans with the draw throughout, 0 meets the floors with plain means. An infeasible draw is drawn anew
    up to `redraws` times, then LP(UCB, UCB) takes its place.

    >>> policy = ThompsonLP([0.1, 0.1], [0.5, 0.5], seed=1)
    >>> for round_number in range(200):
    ...     context = round_number % 2
    ...     decision = policy.decide(context)
    ...     policy.update(context, decision.arm, 1.0 if decision.arm == context else 0.5)
    >>> bool(policy.allocation()[0, 0] > 0.5)
    True
    """

    name = "thompson-lp"
    rule = Rule.THOMPSON_LP
    dials = (
        Dial("share", 0.0, "share of the draw's deviation in the floors", low=0.0, high=1.0),
        Dial("redraws", 10, "draws after an infeasible one", low=0.0, high=1000.0, whole=True),
    )
