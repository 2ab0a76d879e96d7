"""BanditQ: an adversarial bandit on rewards weighted by what each arm's floor is owed, without contexts."""

from arcbandit.policies.base import Policy
from arcbandit.policies.checks import Dial
from arcbandit.policies.state import Rule


class BanditQ(Policy):
    """BanditQ, log-barrier FTRL on queue-weighted rewards [sinha2024].

    A queue Q gathers what each arm's realised rewards miss of its floor; an arm's surrogate reward is
    r (Q + sqrt(T)), and a follow-the-leader rule with log barrier, which assumes nothing of how rewards come about,
    plays on estimates of these, mixed with playing evenly. Adapted: contexts are ignored, and the rate is
    sqrt(K log T / (T + sum of squared surrogates)). Slow: a queue must first outgrow sqrt(T) times the ratio of means.

    >>> policy = BanditQ([0.2, 0.1], [0.5, 0.5], reward_bounds=(0, 1), horizon=1000, seed=1)
    >>> for round_number in range(1000):
    ...     decision = policy.decide(round_number % 2)
    ...     policy.update(decision.context, decision.arm, [0.8, 0.4][decision.arm])
    >>> policy.allocation().round(2).tolist()
    [[0.93, 0.93], [0.07, 0.07]]
    """

    name = "bandit-q"
    rule = Rule.BANDIT_Q
    dials = (Dial("rate_scale", 1.0, "learning rate in units of the default", low=0.0, exclusive=True),)
    needs_horizon = True
    needs_mean_bound = True
    supports_group_floors = False
