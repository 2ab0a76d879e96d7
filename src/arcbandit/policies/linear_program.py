"""The rule behind OLP, OPLP, BLP and Greedy: plan with confidence bounds that two dials set."""

from typing import TYPE_CHECKING, ClassVar, Unpack

from arcbandit.compilation.compile import kernel
from arcbandit.kernels.planner import Place
from arcbandit.kernels.program import PlanStatus
from arcbandit.policies.base import Policy
from arcbandit.policies.dials import Dial
from arcbandit.policies.learner import Outcome
from arcbandit.policies.plans import begin_planning, explore, outcome_of_fallback, plan_with_bounds

if TYPE_CHECKING:
    from arcbandit.inputs.frames import Column
    from arcbandit.policies.settings import LinearProgramSettings


@kernel
def allocate(learner, context, t, stream):
    """Write the plan of the rule's own problem, or of LP(UCB, UCB) if that is infeasible; return an Outcome.

    If LP(UCB, UCB) is infeasible as well, the plan is the one of least shortfall or, if the policy was set up for it,
    of the same share. In contexts with arms that were never played, the column is uniform over these.
    """
    dials = learner.dials[0]
    begin_planning(learner)
    attempts = 1
    if dials.optimism == 1.0 and dials.caution == 1.0:
        attempts = 0  # the rule's own problem is LP(UCB, UCB)
    outcome = Outcome.PLANNED.value
    for attempt in range(attempts + 1):
        own = attempt < attempts
        place = Place.OWN.value if own or attempts == 0 else Place.FALLBACK.value
        optimism = dials.optimism if own else 1.0
        caution = dials.caution if own else 1.0
        status = plan_with_bounds(learner, t, place, optimism, caution, not own)
        if not own:
            outcome |= Outcome.FELL_BACK if attempts > 0 else Outcome.PLANNED
            outcome |= outcome_of_fallback(learner, status)
        if status == PlanStatus.OPTIMAL:
            break
    return outcome | explore(learner)


class LinearProgramRule(Policy):
    """Plan each round with objective mean + optimism * radius and constraints mean + caution * radius.

    OLP is (1, 1) and OPLP (1, -1) [benyahmed2025], Greedy (0, 0) and BLP (1, 0). A caution between -1 and 1 moves along
    the frontier between violation of the floors (caution 1) and regret (caution -1). If the problem is infeasible,
    LP(UCB, UCB) is used instead and, if that is infeasible too, the plan of least shortfall, or of the same share with
    `when_infeasible="same_share"`.

    >>> policy = LinearProgramRule([0.1, 0.1], [0.5, 0.5], optimism=1, caution=-0.5, seed=1)
    >>> for round_number in range(200):
    ...     context = round_number % 2
    ...     decision = policy.decide(context)
    ...     policy.update(context, decision.arm, 1.0 if decision.arm == context else 0.5)
    >>> policy.allocation().round(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    name = "linear-program"
    reference = "benyahmed2025"
    allocate = staticmethod(allocate)
    plans = True
    dials: ClassVar[tuple[Dial, ...]] = (
        Dial("optimism", 1.0, "radii added to the means in the objective", low=-10.0, high=10.0),
        Dial("caution", 0.0, "radii added to the means in the floors: -1 is cautious, 1 hopeful", low=-10.0, high=10.0),
    )

    if TYPE_CHECKING:

        def __init__(
            self,
            revenue_floors: Column | None = None,
            context_probabilities: Column | None = None,
            **settings: Unpack[LinearProgramSettings],
        ) -> None: ...
