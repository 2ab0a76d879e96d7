"""LagrangeCBwLC: a game between SquareCB, which plays, and Hedge, which prices the floors."""

from arcbandit.policies.base import Policy
from arcbandit.policies.checks import Dial
from arcbandit.policies.state import Rule


class LagrangeCB(Policy):
    """LagrangeCBwLC, SquareCB against Hedge [slivkins2024].

    SquareCB plays on mean * (1 + eta nu / lambda); Hedge moves nu, a distribution over the floors and time, towards
    floors that the realised rewards miss. eta = 2 / `margin`, where `margin` is by what fraction all floors could be
    exceeded at once. Adapted: means of pairs are the regression, gamma = sqrt(K T / (kappa log T)), a pair never
    played counts as the best, floors of zero are left out. Slow at the rates of theory, and oscillates at higher
    ones: the sum of its shortfalls looks far worse than its shortfall in total.

    >>> policy = LagrangeCB([0.1, 0.1], [0.5, 0.5], reward_bounds=(0, 1), horizon=1000, seed=1)
    >>> for round_number in range(1000):
    ...     decision = policy.decide(round_number % 2)
    ...     policy.update(decision.context, decision.arm, float(decision.arm == decision.context))
    >>> policy.allocation().round(2).tolist()
    [[0.9, 0.1], [0.1, 0.9]]
    """

    name = "lagrange-cb"
    rule = Rule.LAGRANGE_CB
    dials = (
        Dial("margin", 0.5, "fraction by which all floors could be exceeded at once", low=0.0, exclusive=True),
        Dial("exploration_scale", 1.0, "gamma of SquareCB in units of its theoretical value", low=0.0, exclusive=True),
        Dial("dual_scale", 1.0, "step of Hedge in units of its theoretical value", low=0.0, exclusive=True),
    )
    needs_horizon = True
    needs_mean_bound = True
    supports_group_floors = False
