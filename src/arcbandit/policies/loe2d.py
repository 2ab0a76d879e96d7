"""LOE2D: queues of unmet floors, and exploration by inverse gaps."""

from arcbandit.policies.base import Policy
from arcbandit.policies.checks import Dial
from arcbandit.policies.state import Rule


class LOE2D(Policy):
    """Lyapunov optimisation, from estimation to decision [guo2024].

    A queue Q gathers what each arm's realised rewards miss of its floor. Shares fall with the gap in
    mean * (1 + Q / V): pi = 1 / (eta + 2 gamma beta gap). By theory V = sqrt(T U) log T and gamma = K sqrt(T / U)
    with U = kappa log T. Adapted: means of pairs are the regression, and a pair never played counts as the best.
    With V that large floors are hardly enforced before T = 50,000: turn `penalty_scale` down.

    >>> policy = LOE2D([0.1, 0.1], [0.5, 0.5], reward_bounds=(0, 1), horizon=1000, seed=1)
    >>> for round_number in range(1000):
    ...     decision = policy.decide(round_number % 2)
    ...     policy.update(decision.context, decision.arm, float(decision.arm == decision.context))
    >>> policy.allocation().round(2).tolist()
    [[0.96, 0.04], [0.04, 0.96]]
    """

    name = "loe2d"
    rule = Rule.LOE2D
    dials = (
        Dial("penalty_scale", 1.0, "V in units of its theoretical value", low=0.0, exclusive=True),
        Dial("exploration_scale", 1.0, "gamma in units of its theoretical value", low=0.0, exclusive=True),
    )
    needs_horizon = True
    needs_mean_bound = True
    supports_group_floors = False
