"""Thompson LP: plan with means drawn from their posterior."""

from typing import TYPE_CHECKING, Unpack

from arcbandit.compilation.compile import kernel, rare_kernel
from arcbandit.kernels.confidence import ByPair, radius_factor
from arcbandit.kernels.counter import Purpose, standard_normal
from arcbandit.kernels.planner import Coefficient, Place, set_leans
from arcbandit.kernels.program import PlanStatus
from arcbandit.policies.base import Policy
from arcbandit.policies.dials import Dial
from arcbandit.policies.learner import Outcome
from arcbandit.policies.plans import (
    begin_planning,
    explore,
    outcome_of_fallback,
    plan_prepared,
    prepare_bounds,
    reward_bounds,
)

if TYPE_CHECKING:
    from arcbandit.inputs.frames import Column
    from arcbandit.policies.settings import ThompsonLPSettings


@rare_kernel
def write_draws(statistics, noise_scale, share, high, attempt, stream, coefficients):
    """Draw theta ~ N(mean, sigma^2 / n) for each pair; a `share` of its deviation goes into the constraints as well."""
    _, n_arms, n_contexts = coefficients.shape
    for arm in range(n_arms):
        for context in range(n_contexts):
            inverse_root = statistics.by_pair[ByPair.INVERSE_ROOT, arm, context]
            drawn = high
            steady = high
            if inverse_root > 0.0:
                index = (attempt * n_arms + arm) * n_contexts + context
                normal = standard_normal(stream.seed, stream.epoch, stream.number, Purpose.POLICY, index)
                deviation = noise_scale * inverse_root * normal
                drawn = statistics.by_pair[ByPair.MEAN, arm, context] + deviation
                steady = statistics.by_pair[ByPair.MEAN, arm, context] + share * deviation
            coefficients[Coefficient.OBJECTIVE, arm, context] = drawn
            coefficients[Coefficient.REVENUE_OR_ROOT, arm, context] = steady


@kernel
def allocate(learner, context, t, stream):
    """Write the plan of the first feasible draw or, after too many draws, of LP(UCB, UCB); return an Outcome."""
    dials = learner.dials[0]
    noise_scale = learner.settings[0].noise_scale
    begin_planning(learner)
    attempts = 1 + dials.redraws
    outcome = Outcome.PLANNED.value
    for attempt in range(attempts + 1):
        own = attempt < attempts
        known = False
        if own:
            factor = radius_factor(learner.problem.available.size, t, noise_scale)
            _, high = reward_bounds(learner, factor)
            set_leans(learner.planner, 0.0, 0.0)
            write_draws(
                learner.statistics, noise_scale, dials.share, high, attempt, stream, learner.planner.coefficients
            )
        else:
            known = prepare_bounds(learner, t, 1.0, 1.0)
        place = Place.OWN.value if own else Place.FALLBACK.value
        status = plan_prepared(learner, place, known, own, not own)
        if not own:
            outcome |= Outcome.FELL_BACK
            outcome |= outcome_of_fallback(learner, status)
        if status == PlanStatus.OPTIMAL:
            break
    return outcome | explore(learner)


class ThompsonLP(Policy):
    """Plan with a mean drawn for each pair (after LinConTS [saxena2020] and COLTS [gangrade2025]).

    theta ~ N(mean, sigma^2 / n) is drawn once per pair; a `share` of its deviation goes into the floors as well as into
    the objective: 1 plans with the draw throughout, 0 meets the floors with plain means. An infeasible draw is drawn
    again up to `redraws` times; then LP(UCB, UCB) is used instead.

    >>> policy = ThompsonLP([0.1, 0.1], [0.5, 0.5], seed=1)
    >>> for round_number in range(200):
    ...     context = round_number % 2
    ...     decision = policy.decide(context)
    ...     policy.update(context, decision.arm, 1.0 if decision.arm == context else 0.5)
    >>> bool(policy.allocation()[0, 0] > 0.5)
    True
    """

    name = "thompson-lp"
    reference = "saxena2020"
    allocate = staticmethod(allocate)
    plans = True
    dials = (
        Dial("share", 0.0, "share of the draw's deviation in the floors", low=0.0, high=1.0),
        Dial("redraws", 10, "draws after an infeasible one", low=0.0, high=1000.0, whole=True),
    )

    if TYPE_CHECKING:

        def __init__(
            self,
            revenue_floors: Column | None = None,
            context_probabilities: Column | None = None,
            **settings: Unpack[ThompsonLPSettings],
        ) -> None: ...
