"""A rule that plans, held to an exploration budget: its own plan, and where that goes beyond it, a second one.

>>> from arcbandit import BLP, KNOWN_AFTER, SERVICE_EXPLORATION_BUDGET
>>> policy = BLP([0.2, 0.1], [0.5, 0.5], exploration_budget=SERVICE_EXPLORATION_BUDGET)
>>> policy.exploration_budget, policy.known_after == KNOWN_AFTER
(0.1, True)
"""

import functools
from collections.abc import Callable
from typing import Any

from arcbandit.compilation.compile import bound, kernel, rare_kernel
from arcbandit.kernels.budget import Limit, exceeds_budget, find_known, prepare_second_plan, write_within_budget
from arcbandit.kernels.memory import own_or_shared
from arcbandit.kernels.planner import forget_allocation
from arcbandit.policies.guarantee import guaranteed
from arcbandit.policies.learner import KnownProblem, Learner, Outcome

NO_BUDGET = 1.0
LEAST_BUDGET = 1e-6  # with less, nothing would ever become known
# For a service: newcomers that earn nothing cost a context at most a tenth of its revenue, and one alone is known after
# 2,000 visits of its context.
SERVICE_EXPLORATION_BUDGET = 0.1
# The mean of so many rewards has a standard error of 7 % of sigma.
KNOWN_AFTER = 200

# Stands for a rule's kernel, until `bound` gives each rule a copy with its own.
rule_allocate: Any = None


@rare_kernel
def goes_beyond(learner, budget):
    """Whether the allocation gives pairs that are not yet known more than their budget, in some context."""
    if budget.limits[Limit.ALL_KNOWN] != 0.0:
        return False
    problem = learner.problem
    forgets = len(learner.past) > 0
    if not find_known(learner.statistics, problem.available, forgets, budget):
        return False
    return exceeds_budget(problem.context_probabilities, problem.available, learner.allocation, budget)


def allocate_within(learner, context, t, stream):
    """Allocate by the rule, and if that goes beyond the budget, once more with known pairs alone; return an Outcome.

    The outcome is then that of the second plan, and EXPLORED.
    """
    outcome = rule_allocate(learner, context, t, stream)
    budget = learner.budget
    if not goes_beyond(learner, budget):
        return outcome
    problem = learner.problem
    prepare_second_plan(learner.statistics, problem, budget)
    second = Learner(
        KnownProblem(budget.left, budget.floors, problem.arm_rows, budget.playable),
        learner.settings,
        learner.dials,
        learner.statistics,
        own_or_shared(budget.memory, learner.memory),
        budget.planner,
        learner.noise,
        learner.past,
        budget.progress,
        budget.allocation,
        budget,
        learner.ledger,
    )
    # Floors that all pairs together cannot meet are out of reach, whatever the known ones among them promise.
    short = outcome & Outcome.FELL_SHORT.value
    outcome = rule_allocate(second, context, t, stream)
    write_within_budget(problem.available, budget, learner.allocation)
    forget_allocation(learner.planner)
    return outcome | short | Outcome.EXPLORED.value


@functools.cache
def _within_budget(allocate: Callable[..., Any]) -> Callable[..., Any]:
    kept: Callable[..., Any] = bound(kernel, allocate_within, rule_allocate=allocate)
    return kept


def allocating_kernel(allocate: Callable[..., Any], learner: Learner) -> Callable[..., Any]:
    """The kernel by which a learner allocates: that of its rule or, with a budget or a guarantee, one that holds it."""
    if len(learner.ledger) > 0:
        return guaranteed(allocate)
    return allocate if len(learner.budget) == 0 else _within_budget(allocate)
