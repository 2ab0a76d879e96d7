"""Optimistic^3: optimism in the estimates, the plan and the dual."""

from arcbandit.policies.base import Policy
from arcbandit.policies.checks import Dial
from arcbandit.policies.state import Rule


class Optimistic3(Policy):
    """Optimistic primal-dual with softmax [guo2025].

    Each context has a logit for each arm, which grows by its upper bound times 1 + Q, Q the price of the arm's floor;
    w(t) is their softmax, and Q follows the shortfall expected of it, extrapolated by one round. No step size.
    Adapted: several floors, one softmax for each context, and the expected shortfall summed over contexts by their
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
    rule = Rule.OPTIMISTIC3
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
