"""The arithmetic of the rules with duals or queues: a price for each floor in place of a linear program.

Rewards and floors are counted in units of an upper bound on the mean rewards.
"""

import math

from arcbandit.compilation.compile import kernel, rare_kernel
from arcbandit.kernels.confidence import ByPair, explore_unplayed, radius_factor
from arcbandit.policies.state import (
    DIALS,
    EXPLORED,
    HORIZON,
    MEAN_BOUND,
    NOISE_SCALE,
    OBJECTIVE,
    PLANNED,
    PREVIOUS,
    QUEUE,
    REVENUE,
    SCRATCH,
    WEIGHTS,
)

LARGEST = 1e9  # scaled numbers are cut here, so that no reward, however large, makes an infinity
NEGLIGIBLE = 1e-100  # a floor this low is none
NEWTON_STEPS = 60
NEWTON_TOLERANCE = 1e-15

# Dials of OPTIMISTIC3, and what its dual may see.
ALPHA, DUAL = DIALS, DIALS + 1
EXPECTED, CONTEXT, REALISED = range(3)
# Dials of LOE2D.
PENALTY_SCALE, GAP_SCALE = DIALS, DIALS + 1
# Dials of LAGRANGE_CB.
MARGIN, SQUARE_SCALE, HEDGE_SCALE = DIALS, DIALS + 1, DIALS + 2
# Dial of DRIFT_PLUS_PENALTY.
REWARD_WEIGHT = DIALS
# Dial of BANDIT_Q.
RATE_SCALE = DIALS


@kernel
def scaled(value, unit):
    """A value in units of `unit`, finite."""
    return max(-LARGEST, min(LARGEST, value / unit))


@kernel
def scaled_bound(problem, statistics, arm, context, factor):
    """The mean reward of a pair plus `factor` times n^(-1/2), scaled; 1 for a pair never played."""
    inverse_root = statistics.by_pair[ByPair.INVERSE_ROOT, arm, context]
    if inverse_root > 0.0:
        return scaled(
            statistics.by_pair[ByPair.MEAN, arm, context] + factor * inverse_root, problem.settings[MEAN_BOUND]
        )
    return 1.0


@kernel
def scaled_floor(problem, arm):
    """lambda_k, scaled."""
    return scaled(problem.floors[arm], problem.settings[MEAN_BOUND])


@rare_kernel
def add_to_queues(problem, arm, reward, queues):
    """Q_k = max(0, Q_k + lambda_k - r 1{k played})."""
    for other in range(problem.available.shape[0]):
        earned = scaled(reward, problem.settings[MEAN_BOUND]) if other == arm else 0.0
        queues[other] = max(0.0, queues[other] + scaled_floor(problem, other) - earned)


@kernel
def squared_regression_error(problem):
    """kappa log T: what estimating all pairs by their means costs in squared error, up to a constant."""
    return problem.available.size * math.log(max(problem.settings[HORIZON], 2.0))


@kernel
def write_inverse_gaps(scores, available, context, rate, allocation):
    """Write 1 / (eta + rate (max score - score)) over the arms available, eta such that the column sums to 1.

    Newton's method for 1 / sum = 1, which is concave in eta: from eta = 1 it rises to the root and never passes it.
    """
    n_arms = available.shape[0]
    top = -math.inf
    for arm in range(n_arms):
        if available[arm, context]:
            top = max(top, scores[arm, context])
    normaliser = 1.0
    total = 0.0
    for _ in range(NEWTON_STEPS):
        total = 0.0
        squares = 0.0
        for arm in range(n_arms):
            allocation[arm, context] = 0.0
            if available[arm, context]:
                gap = top - scores[arm, context]
                share = 1.0 / (normaliser + (rate * gap if gap > 0.0 else 0.0))
                allocation[arm, context] = share
                total += share
                squares += share * share
        step = total * (total - 1.0) / squares
        if step <= NEWTON_TOLERANCE * normaliser:
            break
        normaliser += step
    for arm in range(n_arms):
        allocation[arm, context] /= total


@rare_kernel
def step_optimistic_dual(n_arms, queues, before, gaps):
    """Q = max(0, Q + 2 G - G_prev); G_prev = G."""
    for arm in range(n_arms):
        queues[arm] = max(0.0, queues[arm] + 2.0 * gaps[arm] - before[arm])
        before[arm] = gaps[arm]


@rare_kernel
def allocate_optimistic3(problem, statistics, round_number, context, memory, allocation):
    """Write the softmax of logits that grow by (1 + Q) U / alpha each round, then move the dual as it expects to earn.

    The logits are kept relative to the largest of their column.
    """
    n_arms, n_contexts = allocation.shape
    settings = problem.settings
    logits = memory.matrices[WEIGHTS]
    bounds = memory.matrices[OBJECTIVE]
    gaps = memory.by_arm[SCRATCH]
    factor = radius_factor(allocation.size, round_number, settings[NOISE_SCALE])
    for arm in range(n_arms):
        gaps[arm] = scaled_floor(problem, arm)
    for column in range(n_contexts):
        top = -math.inf
        for arm in range(n_arms):
            if problem.available[arm, column]:
                bounds[arm, column] = min(scaled_bound(problem, statistics, arm, column, factor), 1.0)
                logits[arm, column] += scaled((1.0 + memory.by_arm[QUEUE, arm]) * bounds[arm, column], settings[ALPHA])
                top = max(top, logits[arm, column])
        total = 0.0
        for arm in range(n_arms):
            allocation[arm, column] = 0.0
            if problem.available[arm, column]:
                logits[arm, column] -= top
                allocation[arm, column] = math.exp(logits[arm, column])
                total += allocation[arm, column]
        weight = problem.context_probabilities[column]
        if settings[DUAL] == CONTEXT:
            weight = 1.0 if column == context else 0.0
        for arm in range(n_arms):
            allocation[arm, column] /= total
            gaps[arm] -= weight * allocation[arm, column] * bounds[arm, column]
    if settings[DUAL] != REALISED:
        step_optimistic_dual(n_arms, memory.by_arm[QUEUE], memory.by_arm[PREVIOUS], gaps)
    return PLANNED


@rare_kernel
def learn_optimistic3(problem, arm, reward, memory):
    """Move the dual as the round earned, if that is what it sees."""
    if problem.settings[DUAL] == REALISED:
        n_arms = problem.available.shape[0]
        gaps = memory.by_arm[SCRATCH]
        for other in range(n_arms):
            gaps[other] = scaled_floor(problem, other)
        gaps[arm] -= scaled(reward, problem.settings[MEAN_BOUND])
        step_optimistic_dual(n_arms, memory.by_arm[QUEUE], memory.by_arm[PREVIOUS], gaps)


@rare_kernel
def allocate_loe2d(problem, statistics, memory, allocation):
    """Write inverse gaps of L = mean (1 + Q / V), at rate 2 gamma beta with beta = V / (V + sum Q)."""
    n_arms, n_contexts = allocation.shape
    settings = problem.settings
    horizon = max(settings[HORIZON], 2.0)
    error = squared_regression_error(problem)
    penalty = max(settings[PENALTY_SCALE] * math.sqrt(horizon * error) * math.log(horizon), 1.0 / LARGEST)
    rate = 2.0 * min(settings[GAP_SCALE] * n_arms * math.sqrt(horizon / error), LARGEST)
    queues = memory.by_arm[QUEUE]
    scores = memory.matrices[OBJECTIVE]
    length = penalty
    for arm in range(n_arms):
        length += queues[arm]
    for context in range(n_contexts):
        for arm in range(n_arms):
            # beta is taken into the score, where it cancels the V that L is divided by.
            weight = (penalty + queues[arm]) / length
            scores[arm, context] = weight * scaled_bound(problem, statistics, arm, context, 0.0)
        write_inverse_gaps(scores, problem.available, context, rate, allocation)
    return PLANNED


@kernel
def write_hedge_weights(problem, logs, weights):
    """Write nu, the exponential weights over the positive floors and time, whose logarithm stays 0."""
    n_arms = problem.available.shape[0]
    top = 0.0
    for arm in range(n_arms):
        if scaled_floor(problem, arm) > NEGLIGIBLE:
            top = max(top, logs[arm])
    total = math.exp(-top)
    for arm in range(n_arms):
        weights[arm] = math.exp(logs[arm] - top) if scaled_floor(problem, arm) > NEGLIGIBLE else 0.0
        total += weights[arm]
    for arm in range(n_arms):
        weights[arm] /= total


@rare_kernel
def allocate_lagrange_cb(problem, statistics, memory, allocation):
    """SquareCB on mean (1 + eta nu / lambda): others get 1 / (K + gamma gap), the best arm gets the rest."""
    n_arms, n_contexts = allocation.shape
    settings = problem.settings
    error = squared_regression_error(problem)
    rate = min(settings[SQUARE_SCALE] * math.sqrt(n_arms * max(settings[HORIZON], 2.0) / error), LARGEST)
    weights = memory.by_arm[SCRATCH]
    scores = memory.matrices[OBJECTIVE]
    write_hedge_weights(problem, memory.by_arm[QUEUE], weights)
    for context in range(n_contexts):
        best = -1
        count = 0
        for arm in range(n_arms):
            if problem.available[arm, context]:
                count += 1
                price = 0.0
                if weights[arm] > 0.0:
                    price = scaled(2.0 * weights[arm], settings[MARGIN] * scaled_floor(problem, arm))
                mean = scaled_bound(problem, statistics, arm, context, 0.0)
                scores[arm, context] = mean * (1.0 + price)
                if best < 0 or scores[arm, context] > scores[best, context]:
                    best = arm
        rest = 1.0
        for arm in range(n_arms):
            allocation[arm, context] = 0.0
            if problem.available[arm, context] and arm != best:
                gap = scores[best, context] - scores[arm, context]
                allocation[arm, context] = 1.0 / (count + rate * gap)
                rest -= allocation[arm, context]
        allocation[best, context] = rest
    return PLANNED


@rare_kernel
def learn_lagrange_cb(problem, arm, reward, memory):
    """Hedge: log nu_k -= h (r 1{k played} / lambda_k - 1), h = lambda_min sqrt(log d / T)."""
    n_arms = problem.available.shape[0]
    settings = problem.settings
    smallest = LARGEST
    resources = 1
    for other in range(n_arms):
        if scaled_floor(problem, other) > NEGLIGIBLE:
            resources += 1
            smallest = min(smallest, scaled_floor(problem, other))
    root = settings[HEDGE_SCALE] * math.sqrt(math.log(resources) / settings[HORIZON])
    for other in range(n_arms):
        if scaled_floor(problem, other) > NEGLIGIBLE:
            memory.by_arm[QUEUE, other] += root * smallest
            if other == arm:
                earned = scaled(reward, settings[MEAN_BOUND])
                memory.by_arm[QUEUE, other] -= root * earned * (smallest / scaled_floor(problem, other))


@rare_kernel
def allocate_drift_plus_penalty(problem, statistics, round_number, memory, allocation):
    """Play argmax (eta + Q) UCB, eta = scale * sqrt(T); a pair never played has an infinite one."""
    n_arms, n_contexts = allocation.shape
    settings = problem.settings
    factor = radius_factor(allocation.size, round_number, settings[NOISE_SCALE])
    weight = settings[REWARD_WEIGHT] * math.sqrt(settings[HORIZON])
    for context in range(n_contexts):
        best = -1
        largest = -math.inf
        for arm in range(n_arms):
            allocation[arm, context] = 0.0
            if problem.available[arm, context]:
                bound = scaled_bound(problem, statistics, arm, context, factor)
                score = (weight + memory.by_arm[QUEUE, arm]) * bound
                if best < 0 or score > largest:
                    best = arm
                    largest = score
        allocation[best, context] = 1.0
    if explore_unplayed(statistics, problem.available, allocation) > 0:
        return EXPLORED
    return PLANNED


@rare_kernel
def allocate_bandit_q(problem, round_number, memory, allocation):
    """Log-barrier FTRL on the surrogate rewards so far, mixed with g = min(1/2, sqrt(K / t)) of playing evenly.

    The rate is sqrt(K log T / (T + sum of squared surrogates)), which balances the terms of its regret.
    """
    n_arms, n_contexts = allocation.shape
    settings = problem.settings
    horizon = max(settings[HORIZON], 2.0)
    squares = horizon + memory.by_arm[QUEUE, n_arms]
    rate = min(settings[RATE_SCALE], LARGEST) * math.sqrt(n_arms * math.log(horizon) / squares)
    even = min(0.5, math.sqrt(n_arms / round_number))
    scores = memory.matrices[REVENUE]
    for context in range(n_contexts):
        count = 0
        for arm in range(n_arms):
            scores[arm, context] = memory.by_arm[PREVIOUS, arm]
            if problem.available[arm, context]:
                count += 1
        write_inverse_gaps(scores, problem.available, context, rate, allocation)
        for arm in range(n_arms):
            if problem.available[arm, context]:
                allocation[arm, context] = (1.0 - even) * allocation[arm, context] + even / count
    return PLANNED


@rare_kernel
def learn_bandit_q(problem, context, arm, reward, memory, allocation):
    """Move the queues, and add r (Q + sqrt T) / x to the surrogate reward of the arm played with probability x.

    Surrogates are kept relative to the largest. An arm that could not be played now (a late reward) adds none.
    """
    n_arms = problem.available.shape[0]
    queues = memory.by_arm[QUEUE]
    sums = memory.by_arm[PREVIOUS]
    add_to_queues(problem, arm, reward, queues)
    share = allocation[arm, context]
    if share > 0.0:
        surrogate = scaled(reward, problem.settings[MEAN_BOUND]) * (queues[arm] + math.sqrt(problem.settings[HORIZON]))
        queues[n_arms] += surrogate * surrogate
        sums[arm] += surrogate / share
        top = sums[0]
        for other in range(n_arms):
            top = max(top, sums[other])
        for other in range(n_arms):
            sums[other] -= top
