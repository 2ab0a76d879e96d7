"""The one compiled switch over rules, and what every rule has in common.

An enumeration chooses the rule, not a function passed in: functions as arguments would miss the disk cache in every
process.
"""

from arcbandit.compilation.compile import entry_kernel, kernel
from arcbandit.kernels.confidence import record_reward
from arcbandit.kernels.counter import Purpose, uniforms
from arcbandit.kernels.sampling import arm_from_uniform
from arcbandit.policies.context_free import allocate_context_free
from arcbandit.policies.linear_program import plan_with_bounds
from arcbandit.policies.primal_dual import (
    add_to_queues,
    allocate_bandit_q,
    allocate_drift_plus_penalty,
    allocate_lagrange_cb,
    allocate_loe2d,
    allocate_optimistic3,
    learn_bandit_q,
    learn_lagrange_cb,
    learn_optimistic3,
)
from arcbandit.policies.state import ESTIMATE_CONTEXTS, QUEUE, Rule


@kernel
def estimate_probabilities(problem, statistics):
    """Estimate the probabilities of the contexts, if they are not known.

    The estimate is the share of rounds seen, with one round's weight spread evenly beforehand, so that a context that
    has not occurred yet is planned for.
    """
    if problem.settings[ESTIMATE_CONTEXTS] != 0.0:
        n_contexts = statistics.context_counts.shape[0]
        total = 1.0
        for other in range(n_contexts):
            total += statistics.context_counts[other]
        for other in range(n_contexts):
            problem.context_probabilities[other] = (statistics.context_counts[other] + 1.0 / n_contexts) / total


@kernel
def observe_context(problem, statistics, context):
    """Count a context and, if their probabilities are not known, estimate them anew."""
    statistics.context_counts[context] += 1.0
    estimate_probabilities(problem, statistics)


@kernel
def choose_allocation(
    rule, problem, statistics, round_number, decision_number, context, seed, epoch, memory, workspace, allocation
):
    """Write w(t), shape (K, C), for the round whose context was just seen; return how it came about.

    Random numbers go by `decision_number`, and what was learnt by `round_number`, t: rewards that come in batches, or
    from others, move t on without a decision, and leave it where it was between two of them.
    """
    observe_context(problem, statistics, context)
    if rule <= Rule.THOMPSON_LP:
        return plan_with_bounds(
            rule, problem, statistics, round_number, decision_number, seed, epoch, memory, workspace, allocation
        )
    if rule == Rule.OPTIMISTIC3:
        return allocate_optimistic3(problem, statistics, round_number, context, memory, allocation)
    if rule <= Rule.SGOC:
        return allocate_context_free(rule, problem, statistics, round_number, memory, allocation)
    if rule == Rule.LOE2D:
        return allocate_loe2d(problem, statistics, memory, allocation)
    if rule == Rule.LAGRANGE_CB:
        return allocate_lagrange_cb(problem, statistics, memory, allocation)
    if rule == Rule.DRIFT_PLUS_PENALTY:
        return allocate_drift_plus_penalty(problem, statistics, round_number, memory, allocation)
    return allocate_bandit_q(problem, round_number, memory, allocation)


@kernel
def take_in_reward(rule, problem, statistics, round_number, context, arm, reward, memory, allocation):
    """Take in the reward of a round."""
    record_reward(statistics, arm, context, reward)
    if rule == Rule.OPTIMISTIC3:
        learn_optimistic3(problem, arm, reward, memory)
    elif rule == Rule.LAGRANGE_CB:
        learn_lagrange_cb(problem, arm, reward, memory)
    elif rule == Rule.LOE2D or rule == Rule.DRIFT_PLUS_PENALTY:
        add_to_queues(problem, arm, reward, memory.by_arm[QUEUE])
    elif rule == Rule.BANDIT_Q:
        learn_bandit_q(problem, context, arm, reward, memory, allocation)


@entry_kernel
def allocate(
    rule, problem, statistics, round_number, decision_number, context, seed, epoch, memory, workspace, allocation
):
    """`choose_allocation`, for calls from Python."""
    return choose_allocation(
        rule, problem, statistics, round_number, decision_number, context, seed, epoch, memory, workspace, allocation
    )


@entry_kernel
def learn(rule, problem, statistics, round_number, context, arm, reward, memory, allocation):
    """`take_in_reward`, for calls from Python."""
    take_in_reward(rule, problem, statistics, round_number, context, arm, reward, memory, allocation)


@entry_kernel
def learn_many(
    rule, problem, statistics, decisions, rewards_seen, contexts, arms, rewards, counted, memory, allocation
):
    """Take in rewards one after the other, the round number moving on as if each came by itself.

    If `counted`, their contexts count as seen.
    """
    if counted:
        for place in range(contexts.shape[0]):
            statistics.context_counts[contexts[place]] += 1.0
        estimate_probabilities(problem, statistics)
    for place in range(rewards.shape[0]):
        round_number = max(decisions, rewards_seen + place + 1)
        take_in_reward(
            rule, problem, statistics, round_number, contexts[place], arms[place], rewards[place], memory, allocation
        )


@entry_kernel
def draw_arm(allocation, context, seed, epoch, decision_number):
    """The arm that the decision's uniform number draws from the context's column."""
    _, uniform = uniforms(seed, epoch, decision_number, Purpose.DECISION, 0)
    return arm_from_uniform(allocation, context, uniform)
