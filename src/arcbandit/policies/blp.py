"""BLP."""

from typing import TYPE_CHECKING, ClassVar, Unpack

from arcbandit.policies.linear_program import LinearProgramRule

if TYPE_CHECKING:
    from arcbandit.inputs.frames import Column
    from arcbandit.policies.settings import Settings


class BLP(LinearProgramRule):
    """Balanced linear programming: upper bounds in the objective, plain means in the floors.

    The contextual form of SGOC [baudry2024]. Measured to have a far smaller sum of regret and violation than OLP and
    OPLP on most instances, not on all; there is no proof yet.

    >>> policy = BLP([0.1, 0.1], [0.5, 0.5], arms=["left", "right"], contexts=["day", "night"], seed=1)
    >>> for round_number in range(200):
    ...     context = ["day", "night"][round_number % 2]
    ...     decision = policy.decide(context)
    ...     best = {"day": "left", "night": "right"}[context]
    ...     policy.update(context, decision.arm, 1.0 if decision.arm == best else 0.5)
    >>> policy.allocation().round(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    name = "blp"
    reference = "baudry2024"
    dials = ()
    preset: ClassVar = {"optimism": 1.0, "caution": 0.0}

    if TYPE_CHECKING:

        def __init__(
            self,
            revenue_floors: Column | None = None,
            context_probabilities: Column | None = None,
            **settings: Unpack[Settings],
        ) -> None: ...
