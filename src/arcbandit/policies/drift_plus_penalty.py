"""Drift plus penalty: play the arm of the largest upper bound, weighted by what its floor is owed."""

from arcbandit.policies.base import Policy
from arcbandit.policies.checks import Dial
from arcbandit.policies.state import Rule


class DriftPlusPenalty(Policy):
    """Drift-plus-penalty with upper confidence bounds, after LFG [li2019].

    A queue Q gathers what each arm's realised rewards miss of its floor; the arm of the largest (eta + Q) UCB is
    played, eta = sqrt(T). No linear program, and no use of the contexts' probabilities. Adapted: floors on revenue
    in place of floors on how often an arm is played. Its choices are deterministic, so regret and violation summed
    round by round look worse than their sums with sign.

    >>> policy = DriftPlusPenalty([0.1, 0.1], [0.5, 0.5], reward_bounds=(0, 1), horizon=1000, seed=1)
    >>> for round_number in range(1000):
    ...     decision = policy.decide(round_number % 2)
    ...     policy.update(decision.context, decision.arm, float(decision.arm == decision.context))
    >>> policy.allocation().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    name = "drift-plus-penalty"
    rule = Rule.DRIFT_PLUS_PENALTY
    dials = (Dial("penalty_scale", 1.0, "eta, the weight of revenue, in units of sqrt(T)", low=0.0),)
    needs_horizon = True
    needs_mean_bound = True
    supports_group_floors = False
