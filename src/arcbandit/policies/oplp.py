"""OPLP."""

from typing import TYPE_CHECKING, ClassVar, Unpack

from arcbandit.policies.linear_program import LinearProgramRule
from arcbandit.policies.proven import Proven

if TYPE_CHECKING:
    from arcbandit.inputs.frames import Column
    from arcbandit.policies.settings import Settings


class OPLP(LinearProgramRule):
    """Optimistic-pessimistic linear programming: LP(UCB, LCB) each round (Ben Yahmed et al., MAB-ARC [benyahmed2025]).

    While that is infeasible, as in the first rounds, LP(UCB, UCB) is used instead. Violation of the floors grows like
    log(T)^2, regret like sqrt(T).

    >>> policy = OPLP([0.1, 0.1], [0.5, 0.5], arms=["left", "right"], contexts=["day", "night"], seed=1)
    >>> for round_number in range(200):
    ...     context = ["day", "night"][round_number % 2]
    ...     decision = policy.decide(context)
    ...     best = {"day": "left", "night": "right"}[context]
    ...     policy.update(context, decision.arm, 1.0 if decision.arm == best else 0.5)
    >>> policy.allocation().round(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    name = "oplp"
    reference = "benyahmed2025"
    dials = ()
    proven = frozenset({Proven.NO_VIOLATION, Proven.FALLBACK})
    preset: ClassVar = {"optimism": 1.0, "caution": -1.0}

    if TYPE_CHECKING:

        def __init__(
            self,
            revenue_floors: Column | None = None,
            context_probabilities: Column | None = None,
            **settings: Unpack[Settings],
        ) -> None: ...
