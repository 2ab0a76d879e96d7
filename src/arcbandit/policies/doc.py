"""DOC: meet each floor by the upper confidence bound of its arm, without contexts."""

from typing import TYPE_CHECKING, ClassVar, Unpack

from arcbandit.policies.context_free import OWN, ContextFreeRule

if TYPE_CHECKING:
    from arcbandit.inputs.frames import Column
    from arcbandit.policies.settings import ContextFreeSettings


class DOC(ContextFreeRule):
    """Optimistic shares that ignore contexts, q = lambda / UCB [baudry2024].

    Each arm is pulled once; then an arm's share is the least that would earn its floor if its upper bound were its
    mean, and the rest goes to the arm with the largest upper bound. Shares that sum to more than 1 are scaled down
    to 1 (counted as a fallback). Adapted: the rewards of an arm are pooled over contexts and w has the same column in
    each, so regret against a plan with contexts grows linearly, and floors that only such a plan can meet are missed
    for ever. If the floors can be met without contexts, the violation grows like sqrt(T).

    >>> policy = DOC([0.2, 0.1], [0.5, 0.5], reward_bounds=(0, 1), noise_scale=0.1, seed=1)
    >>> for round_number in range(1000):
    ...     decision = policy.decide(round_number % 2)
    ...     policy.update(decision.context, decision.arm, [0.8, 0.4][decision.arm])
    >>> policy.allocation().round(2).tolist()
    [[0.78, 0.78], [0.22, 0.22]]
    """

    name = "doc"
    preset: ClassVar = {"side": 1.0, "shares": OWN}

    if TYPE_CHECKING:

        def __init__(
            self,
            revenue_floors: Column | None = None,
            context_probabilities: Column | None = None,
            **settings: Unpack[ContextFreeSettings],
        ) -> None: ...
