"""SPOC: meet each floor by the lower confidence bound of its arm, without contexts."""

from typing import TYPE_CHECKING, ClassVar, Unpack

from arcbandit.policies.context_free import SHARES_DIAL, ContextFreeRule

if TYPE_CHECKING:
    from arcbandit.inputs.frames import Column
    from arcbandit.policies.settings import ScaledSharesSettings


class SPOC(ContextFreeRule):
    """Pessimistic shares that ignore contexts, q = lambda / LCB [baudry2024].

    If these sum to more than 1, or a lower bound does not exceed its floor, the shares are those of DOC. If these sum
    to more than 1 as well, lambda / LCB is scaled down to 1, as in its authors' code; with shares="ucb", or as long as
    a lower bound is not positive, lambda / UCB is, as in DOC. Adapted like DOC. If the floors can be met without
    contexts, the violation stays flat; the regret against a plan with contexts is linear.

    >>> policy = SPOC([0.2, 0.1], [0.5, 0.5], reward_bounds=(0, 1), noise_scale=0.1, seed=1)
    >>> for round_number in range(1000):
    ...     decision = policy.decide(round_number % 2)
    ...     policy.update(decision.context, decision.arm, [0.8, 0.4][decision.arm])
    >>> policy.allocation().round(2).tolist()
    [[0.72, 0.72], [0.28, 0.28]]
    """

    name = "spoc"
    preset: ClassVar = {"side": -1.0}
    dials: ClassVar = (*ContextFreeRule.dials, SHARES_DIAL)

    if TYPE_CHECKING:

        def __init__(
            self,
            revenue_floors: Column | None = None,
            context_probabilities: Column | None = None,
            **settings: Unpack[ScaledSharesSettings],
        ) -> None: ...
