"""A rule that plans, held to a guarantee: where its plans cost too much for too long, LP(UCB, UCB) stands in.

The arithmetic is in `kernels/ledger.py`, what is guaranteed in `simulation/guarantee.py`.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from arcbandit.compilation.compile import bound, kernel, rare_kernel
from arcbandit.errors import InvalidInputError
from arcbandit.kernels.confidence import Statistics, radius_factor
from arcbandit.kernels.ledger import (
    GROWTH,
    Account,
    LedgerRow,
    allowed_until,
    bounds_of_plan,
    optimistic_value,
    price_of_floors,
)
from arcbandit.kernels.planner import Place, forget_allocation, measure_soon, price_of_row
from arcbandit.kernels.program import NO_FLOOR, PlanStatus
from arcbandit.policies.learner import Learner, Outcome, Progress
from arcbandit.policies.plans import begin_planning, have_all_that_come, plan_with_bounds

# Stands for a rule's kernel, until `bound` gives each rule a copy with its own.
rule_allocate: Any = None


@rare_kernel
def find_optimistic(learner, ledger, t):
    """Plan LP(UCB, UCB), and write down its value and prices; return whether there is a plan."""
    statistics, account = learner.statistics, ledger.account
    # Its planner is not asked in every round: it takes up nothing but its basis, and no marks of what has changed.
    forget_allocation(ledger.planner)
    measure_soon(ledger.planner)
    optimist = Learner(
        learner.problem,
        learner.settings,
        learner.dials,
        Statistics(statistics.by_pair, statistics.context_counts, ledger.changed, statistics.dropped),
        learner.memory,
        ledger.planner,
        learner.noise,
        learner.past,
        ledger.progress,
        ledger.allocation,
        learner.budget,
        ledger,
    )
    ledger.progress[Progress.ALL_PLAYED] = 0
    begin_planning(optimist)
    account[Account.SOLVED] = 0.0
    if plan_with_bounds(optimist, t, Place.OWN.value, 1.0, 1.0, False) != PlanStatus.OPTIMAL:
        return False
    factor = radius_factor(learner.allocation.size, t, learner.settings[0].noise_scale)
    account[Account.VALUE] = optimistic_value(learner.problem, statistics.by_pair, factor, ledger.allocation)
    account[Account.SOLVED] = t
    prices = ledger.by_floor[LedgerRow.PRICE]
    for row in range(prices.shape[0]):
        has_floor = learner.problem.floors[row] != NO_FLOOR
        prices[row] = max(price_of_row(ledger.planner, row), 0.0) if has_floor else 0.0
    for arm in range(learner.allocation.shape[0]):
        price = price_of_floors(learner.problem.arm_rows, arm, prices)
        account[Account.LARGEST_PRICE] = max(account[Account.LARGEST_PRICE], price)
    return True


@rare_kernel
def hold(learner, ledger, t, outcome):
    """Enter a plan into the ledger; if it would spend more than is allowed, play LP(UCB, UCB). Return the Outcome."""
    account = ledger.account
    solved = t < GROWTH * account[Account.SOLVED] or find_optimistic(learner, ledger, t)
    if not solved:
        return outcome  # the floors are out of reach even by optimistic bounds: nothing is guaranteed
    problem, by_pair = learner.problem, learner.statistics.by_pair
    n_pairs, noise_scale = learner.allocation.size, learner.settings[0].noise_scale
    factor = radius_factor(n_pairs, t, noise_scale)
    most, explained = bounds_of_plan(problem, by_pair, factor, learner.allocation, ledger)
    spent = max(most - explained, 0.0)
    if account[Account.SPENT] + spent <= allowed_until(n_pairs, t, noise_scale):
        account[Account.SPENT] += spent
        account[Account.CERTIFIED] += most
        return outcome
    if account[Account.SOLVED] != t and not find_optimistic(learner, ledger, t):
        return outcome
    for arm in range(learner.allocation.shape[0]):
        for context in range(learner.allocation.shape[1]):
            learner.allocation[arm, context] = ledger.allocation[arm, context]
    forget_allocation(learner.planner)
    most, _ = bounds_of_plan(problem, by_pair, factor, learner.allocation, ledger)
    account[Account.CERTIFIED] += most
    account[Account.HELD] += 1.0
    # Meters must not take it for the plan of the rule's own basis, as one within a budget.
    return Outcome.FELL_BACK.value | Outcome.EXPLORED.value


def allocate_guaranteed(learner, context, t, stream):
    """Allocate by the rule, within its ledger; enter nothing while pairs that come are unplayed. Return an Outcome.

    What is proven is of plans that do not depend on the context at hand: the rule does not see this visit yet.
    """
    visits = learner.statistics.context_counts
    visits[context] -= 1.0
    outcome = rule_allocate(learner, context, t, stream)
    visits[context] += 1.0
    if learner.progress[Progress.ALL_PLAYED] == 0 and not have_all_that_come(learner):
        return outcome
    return hold(learner, learner.ledger, t, outcome)


@functools.cache
def guaranteed(allocate: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel of a rule within its ledger."""
    held: Callable[..., Any] = bound(kernel, allocate_guaranteed, rule_allocate=allocate)
    return held


class LedgerStatus(NamedTuple):
    """How the ledger of a policy with a guarantee stands.

    >>> from arcbandit import BLP
    >>> policy = BLP([0.2, 0.1], [0.5, 0.5], noise_scale=0.1, guarantee=True)
    >>> policy.ledger().rounds_held, policy.ledger().certified
    (0, 0.0)
    """

    # Regret and violation are at most this, while means are within their radii, in all rounds from when on every pair
    # was played that may come: 0 says that there was no such round yet.
    certified: float
    rounds_held: int  # decisions in which the plan of LP(UCB, UCB) stood in
    spent: float  # of what is allowed
    allowed: float  # up to the next round
    largest_price: float  # of an arm's floors together, so far


def ledger_of(learner: Learner, round_number: int) -> LedgerStatus:
    """How the ledger of a learner stands, before the decision of this round."""
    if len(learner.ledger) == 0:
        raise InvalidInputError("guarantee must be True for a policy to have a ledger, got False.")
    account = learner.ledger.account
    n_pairs, noise_scale = learner.allocation.size, float(learner.settings[0].noise_scale)
    return LedgerStatus(
        certified=float(account[Account.CERTIFIED]),
        rounds_held=int(account[Account.HELD]),
        spent=float(account[Account.SPENT]),
        allowed=float(getattr(allowed_until, "py_func", allowed_until)(n_pairs, round_number, noise_scale)),
        largest_price=float(account[Account.LARGEST_PRICE]),
    )
