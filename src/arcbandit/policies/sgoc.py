"""SGOC: meet each floor by the mean reward of its arm, without contexts."""

from typing import TYPE_CHECKING, ClassVar, Unpack

from arcbandit.policies.context_free import SHARES_DIAL, ContextFreeRule

if TYPE_CHECKING:
    from arcbandit.inputs.frames import Column
    from arcbandit.policies.settings import ScaledSharesSettings


class SGOC(ContextFreeRule):
    """Greedy shares that ignore contexts, q = lambda / mean [baudry2024].

    If these sum to more than 1, or a mean does not exceed its floor, the shares are those of DOC. If these sum to more
    than 1 as well, lambda / mean is scaled down to 1, as in its authors' code; with shares="ucb", or as long as a mean
    is not positive, lambda / UCB is, as in DOC. Adapted like DOC. If the floors can be met without contexts, its
    violation lies between those of SPOC and DOC; BLP is its contextual form.

    >>> policy = SGOC([0.2, 0.1], [0.5, 0.5], reward_bounds=(0, 1), noise_scale=0.1, seed=1)
    >>> for round_number in range(1000):
    ...     decision = policy.decide(round_number % 2)
    ...     policy.update(decision.context, decision.arm, [0.8, 0.4][decision.arm])
    >>> policy.allocation().round(2).tolist()
    [[0.75, 0.75], [0.25, 0.25]]
    """

    name = "sgoc"
    preset: ClassVar = {"side": 0.0}
    dials: ClassVar = (*ContextFreeRule.dials, SHARES_DIAL)

    if TYPE_CHECKING:

        def __init__(
            self,
            revenue_floors: Column | None = None,
            context_probabilities: Column | None = None,
            **settings: Unpack[ScaledSharesSettings],
        ) -> None: ...
