"""What an audit counts beyond the paper: the identity of losses, and the bounds of the priced LP (docs/theory.md)."""

import math

import numpy as np

from arcbandit.compilation.compile import kernel, rare_kernel
from arcbandit.kernels.confidence import ByPair, radius_factor
from arcbandit.kernels.program import NO_FLOOR
from arcbandit.policies.learner import Outcome
from arcbandit.policies.priced_lp import (
    LEAST_PRIOR,
    ArmScratch,
    FloorScratch,
    PairScratch,
    count_factor,
    is_worth_a_try,
    least_count,
    worth_of,
    write_arm_prices,
)
from arcbandit.policies.priced_lp import Total as PricedTotal
from arcbandit.simulation.metrics import FloorTotal, Total

ROUNDING = 1e-9  # relative to the terms of a sum


@kernel
def audit_identity(world, problem, allocation, performance, meters):
    """Count a round in which f* - f(w) is not what surpluses and pairs cost at the optimal prices (Lemma 1)."""
    loss = 0.0
    size = abs(world.optimal_value) + abs(performance)
    for row in range(world.prices.shape[0]):
        if problem.floors[row] != NO_FLOOR:
            earned = meters.by_row[FloorTotal.EXPECTED_NOW, row]
            loss += world.prices[row] * (earned - problem.floors[row])
            size += world.prices[row] * (abs(earned) + abs(problem.floors[row]))
    n_arms, n_contexts = allocation.shape
    for arm in range(n_arms):
        for context in range(n_contexts):
            cost = world.reduced_costs[arm, context] * allocation[arm, context]
            loss += cost
            size += abs(cost)
    if not abs(world.optimal_value - performance - loss) <= ROUNDING * size:
        meters.totals[Total.OFF_IDENTITY] += 1.0


@rare_kernel
def best_worth(learner, context, prices):
    """max_k of what arms are worth a play in the first program: the mean, and at its floors' prices what they count."""
    memory, arm_rows = learner.memory, learner.problem.arm_rows
    most = -np.inf
    for arm in range(arm_rows.shape[0]):
        if learner.problem.available[arm, context]:
            price = 0.0
            for place in range(arm_rows.shape[1]):
                row = arm_rows[arm, place] - 1
                if row >= 0:
                    price += prices[row]
            mean = memory.scratch_by_pair[PairScratch.MEAN, arm, context]
            counted = memory.scratch_by_pair[PairScratch.REVENUE, arm, context]
            most = max(most, mean + price * counted)
    return most


@rare_kernel
def is_held(learner, t):
    """Whether a pair with too few plays has the place of the second plan in some context, by `hold_counts`."""
    if learner.memory.totals[PricedTotal.MOVED] != t:
        return False
    by_pair, available = learner.statistics.by_pair, learner.problem.available
    n_arms, n_contexts = available.shape
    least, factor = least_count(learner, t), count_factor(learner, t)
    prices = learner.memory.scratch_by_arm[ArmScratch.PRICE]
    write_arm_prices(learner, prices)
    for context in range(n_contexts):
        best = -np.inf
        for arm in range(n_arms):
            if available[arm, context]:
                best = max(best, worth_of(learner, prices, arm, context))
        for arm in range(n_arms):
            few = available[arm, context] and by_pair[ByPair.PULLS, arm, context] < least
            if few and is_worth_a_try(learner, prices, arm, context, best, factor):
                return True
    return False


@rare_kernel
def audit_priced(world, learner, t, outcome, violation, meters):
    """Count rounds of the priced LP in which the first program met its floors, and in which a bound fails.

    By Lemma 3, A (y + v sum short) >= w . r, and as the second plan is the best, y + v sum short is at most its bonus:
    both are exact. By Theorem 3 no more is violated than what it gives up in floors, negative margins, and what means
    are off; that holds in the good event.
    """
    problem, memory, allocation = learner.problem, learner.memory, learner.allocation
    by_pair, scratch, weights = (
        learner.statistics.by_pair,
        learner.memory.scratch_by_pair,
        problem.context_probabilities,
    )
    prices, floors = memory.scratch_by_floor[FloorScratch.PRICE], memory.scratch_by_floor[FloorScratch.FLOOR]
    weight = learner.dials[0].violation_weight
    n_arms, n_contexts = allocation.shape
    factor = radius_factor(allocation.size, t, learner.settings[0].noise_scale)
    covered = True
    for arm in range(n_arms):
        for context in range(n_contexts):
            root = by_pair[ByPair.INVERSE_ROOT, arm, context]
            off = abs(by_pair[ByPair.MEAN, arm, context] - world.mean_rewards[arm, context])
            covered = covered and not (root > 0.0 and off > factor * root)
    if not covered:
        meters.totals[Total.UNCOVERED] += 1.0
    if outcome != Outcome.PLANNED or is_held(learner, t):
        return
    meters.totals[Total.SAFE] += 1.0
    centre = memory.totals[PricedTotal.CENTRE]
    prior = min(max(memory.totals[PricedTotal.PRIOR], LEAST_PRIOR), 1.0)
    # The dual value of the first program, which is its revenue F; at most rounding is above what any plan earns.
    planned = 0.0
    size = 0.0
    for context in range(n_contexts):
        worth = weights[context] * best_worth(learner, context, prices)
        planned += worth
        size += abs(worth)
    dearest = 1.0
    for row in range(floors.shape[0]):
        if floors[row] != NO_FLOOR:
            planned -= prices[row] * floors[row]
            size += prices[row] * abs(floors[row])
            dearest = max(dearest, prices[row] / weight)
    earned = 0.0
    bonus = 0.0
    for arm in range(n_arms):
        for context in range(n_contexts):
            played = weights[context] * allocation[arm, context]
            earned += played * scratch[PairScratch.MEAN, arm, context]
            bonus += played * scratch[PairScratch.BONUS, arm, context]
    surplus_cost = 0.0
    short = 0.0
    allowed = 0.0
    for row in range(floors.shape[0]):
        if floors[row] != NO_FLOOR:
            counted = 0.0
            taken = floors[row] - problem.floors[row]
            width = 0.0
            for arm in range(n_arms):
                for place in range(problem.arm_rows.shape[1]):
                    if problem.arm_rows[arm, place] - 1 == row:
                        for context in range(n_contexts):
                            played = weights[context] * allocation[arm, context]
                            mean = scratch[PairScratch.MEAN, arm, context]
                            revenue = scratch[PairScratch.REVENUE, arm, context]
                            counted += played * revenue
                            taken += played * (mean - revenue)
                            n = by_pair[ByPair.PULLS, arm, context]
                            bias = prior * abs(centre - world.mean_rewards[arm, context])
                            width += played * (factor * math.sqrt(n) + bias) / (n + prior)
            surplus_cost += prices[row] * (counted - floors[row])
            short += max(floors[row] - counted, 0.0)
            allowed += max(-taken, 0.0) + width
    given_up = max(planned - earned, 0.0) + weight * short
    scale = ROUNDING * (1.0 + dearest) * (size + abs(earned))
    of_pairs = planned - earned - surplus_cost  # w . r, by Lemma 1 for the first program
    if of_pairs > dearest * given_up + scale or given_up > bonus + scale:
        meters.totals[Total.ABOVE_BONUS] += 1.0
    if violation > bonus / weight + allowed + scale:
        meters.totals[Total.ABOVE_BOUND] += 1.0
