"""The compiled loop over rounds, which reads like the protocol of the paper, and the meters beside it."""

import enum
from typing import NamedTuple

import numpy as np

from arcbandit.compilation.compile import entry_kernel, kernel, rare_kernel
from arcbandit.kernels.bounds import FEW_PAIRS
from arcbandit.kernels.confidence import ByPair, radius_factor
from arcbandit.kernels.counter import Purpose, standard_normal, uniforms
from arcbandit.kernels.program import NO_FLOOR, ByContext, ByRow, Column, Count, Scalar
from arcbandit.kernels.sampling import arm_from_uniform, context_from_uniform
from arcbandit.policies.state import (
    EXPLORED,
    FALLBACK,
    FELL_BACK,
    FELL_SHORT,
    NOISE_SCALE,
    OWN,
    PLANNED,
    STOOD_STILL,
    Rule,
)
from arcbandit.policies.switch import choose_allocation, take_in_reward

# Rows of Meters.totals: sums over rounds so far.
REGRET, VIOLATION, SIGNED_REGRET, PERFORMANCE, REALISED = range(5)
# Two that are worked out from the others at the checkpoints.
REGRET_PLUS_VIOLATION, SIGNED_VIOLATION = range(5, 7)
OPTIMAL_SET, ON_FALLBACK, INFEASIBLE, GAVE_UP = range(7, 11)
N_METRICS = 11
# The audit's: rounds in which a statement of the paper applies, and those in which it does not hold.
UNCOVERED, MATCHED_WITH_REGRET, SAFE, SAFE_WITH_VIOLATION, UNMATCHED, UNMATCHED_BELOW_GAP = range(11, 17)
N_TOTALS = 17
# Rows of Meters.by_row: sums and worst windows of each floor.
SHORTFALL, EARNED, WORST_EXPECTED, WORST_REALISED = range(4)
N_KINDS = 4  # those that are recorded
# Three more for the round and the window at hand.
EXPECTED_NOW, WINDOW_EXPECTED, WINDOW_REALISED = range(4, 7)
N_BY_ROW = 7
# Places of Meters.compared.
BASIS, IS_OPTIMAL = range(2)

POSITIVE = 1e-9  # a share or surplus above this is not zero
ROUNDING = 1e-9  # a revenue off by less than this, relative to the revenue at stake, is not


class RewardModel(enum.IntEnum):
    """How a reward is drawn."""

    GAUSSIAN = 0
    BERNOULLI = 1
    RESAMPLED = 2


class World(NamedTuple):
    """What the learner is not told."""

    mean_rewards: np.ndarray  # mu, shape (K, C)
    revenues: np.ndarray  # p mu, shape (K, C)
    probabilities: np.ndarray  # p, shape (C,)
    optimal_value: float  # f*
    used_pairs: np.ndarray  # bool, w* > 0, shape (K, C)
    slack_floors: np.ndarray  # bool, floors that w* exceeds or that ask for nothing, shape (M,)
    optimal_columns: int  # used pairs and slack floors together
    model: int  # RewardModel
    noise_scale: float
    samples: np.ndarray  # observed rewards pair by pair, shape (N,)
    sample_start: np.ndarray  # int64, shape (K * C + 1,)
    suboptimality_gap: float  # rho*, NaN if the run is not audited


class Meters(NamedTuple):
    """Running sums, and the last rounds for sums over windows."""

    totals: np.ndarray  # float64, shape (N_TOTALS,)
    by_row: np.ndarray  # float64, shape (N_BY_ROW, M)
    window: np.ndarray  # float64, expected and realised revenue of the last W rounds, shape (2, M, W)
    compared: np.ndarray  # int64, the basis last compared with the optimum, and whether it uses the same columns


def make_meters(n_rows: int, window: int) -> Meters:
    """Nothing measured yet; `window` is W, 0 for no windows."""
    compared = np.zeros(2, dtype=np.int64)
    meters = Meters(np.zeros(N_TOTALS), np.zeros((N_BY_ROW, n_rows)), np.zeros((2, n_rows, window)), compared)
    # A window that never fell short still has a worst one: the maximum starts below any shortfall.
    meters.by_row[[WORST_EXPECTED, WORST_REALISED]] = -np.inf if window else np.nan
    return meters


@kernel
def draw_reward(world, arm, context, seed, epoch, round_number):
    """A reward of the pair: the same draw for every policy that plays it in this round."""
    mean = world.mean_rewards[arm, context]
    if world.model == RewardModel.GAUSSIAN:
        return mean + world.noise_scale * standard_normal(seed, epoch, round_number, Purpose.REWARD, 0)
    uniform, _ = uniforms(seed, epoch, round_number, Purpose.REWARD, 0)
    if world.model == RewardModel.BERNOULLI:
        return 1.0 if uniform < mean else 0.0
    pair = arm * world.mean_rewards.shape[1] + context
    first = world.sample_start[pair]
    return world.samples[first + int(uniform * (world.sample_start[pair + 1] - first))]


@kernel
def has_optimal_set(world, memory, outcome, workspace, meters):
    """Whether I_t = I*: the basis uses the pairs, and leaves slack in the floors, that the optimum does."""
    if outcome & (FELL_SHORT | STOOD_STILL | EXPLORED):
        return False
    place = FALLBACK if outcome & FELL_BACK else OWN
    # The answer for a basis whose columns are all positive holds for as long as they are.
    if not workspace.scalars[Scalar.LEAST_SHARE] > POSITIVE:
        return uses_optimal_columns(world, memory, place, workspace)
    if meters.compared[BASIS] != workspace.counts[Count.ORDERS]:
        meters.compared[BASIS] = workspace.counts[Count.ORDERS]
        meters.compared[IS_OPTIMAL] = 1 if uses_optimal_columns(world, memory, place, workspace) else 0
    return meters.compared[IS_OPTIMAL] == 1


@kernel
def uses_optimal_columns(world, memory, place, workspace):
    """Whether the positive columns of a basis are exactly those of the optimum."""
    positive = 0
    differ = 0  # sums of truths rather than branches, which would part the threads of a GPU
    for context in range(world.probabilities.shape[0]):
        is_positive = workspace.by_context[ByContext.KEY_SHARE, context] > POSITIVE
        positive += is_positive
        differ += is_positive != world.used_pairs[memory.key[place, context], context]
    for slot in range(memory.slot_arm.shape[1]):
        is_positive = workspace.by_row[ByRow.SLOT_VALUE, slot] > POSITIVE
        positive += is_positive
        arm = memory.slot_arm[place, slot]
        context = memory.slot_context[place, slot]
        if context >= 0:
            differ += is_positive != world.used_pairs[arm, context]
        else:
            differ += is_positive != (context == Column.SURPLUS and world.slack_floors[arm])
    return differ == 0 and positive == world.optimal_columns


@kernel
def add_to_rows(arm_rows, arm, amount, by_row):
    """Add an arm's revenue to the rows it takes part in."""
    if arm_rows.shape[1] == 1:
        by_row[arm] += amount
        return
    for place in range(arm_rows.shape[1]):
        row = arm_rows[arm, place] - 1
        if row < 0:
            break
        by_row[row] += amount


@kernel
def add_expected(world, problem, arm, context, allocation, expected):
    """Add a pair's expected revenue to its rows; return it."""
    revenue = world.revenues[arm, context] * allocation[arm, context]
    add_to_rows(problem.arm_rows, arm, revenue, expected)
    return revenue


@kernel
def add_expected_of_all(world, problem, allocation, expected):
    """Add the expected revenue of every pair to its rows; return their sum."""
    n_arms, n_contexts = allocation.shape
    performance = 0.0
    for arm in range(n_arms):
        revenue = 0.0
        for context in range(n_contexts):
            revenue += world.revenues[arm, context] * allocation[arm, context]
        add_to_rows(problem.arm_rows, arm, revenue, expected)
        performance += revenue
    return performance


@kernel
def add_expected_of_basis(world, problem, memory, place, allocation, expected):
    """`add_expected_of_all` for a plan, which uses the pairs of its basis and no others."""
    performance = 0.0
    for context in range(allocation.shape[1]):
        performance += add_expected(world, problem, memory.key[place, context], context, allocation, expected)
    for slot in range(memory.slot_arm.shape[1]):
        context = memory.slot_context[place, slot]
        if context >= 0:
            performance += add_expected(world, problem, memory.slot_arm[place, slot], context, allocation, expected)
    return performance


@kernel
def measure_allocation(world, problem, planned, memory, outcome, allocation, meters):
    """Add the round's regret, violation and performance, by true means; return (regret, violation) of the round."""
    expected = meters.by_row[EXPECTED_NOW]
    for row in range(expected.shape[0]):
        expected[row] = 0.0
    if allocation.size > FEW_PAIRS and planned and outcome & (FELL_SHORT | STOOD_STILL | EXPLORED) == 0:
        place = FALLBACK if outcome & FELL_BACK else OWN
        performance = add_expected_of_basis(world, problem, memory, place, allocation, expected)
    else:
        performance = add_expected_of_all(world, problem, allocation, expected)
    violation = 0.0
    for row in range(expected.shape[0]):
        floor = problem.floors[row]
        violation += max(floor - expected[row], 0.0)  # nothing where there is no floor
        meters.by_row[SHORTFALL, row] += max(floor, 0.0) - expected[row]
    regret = world.optimal_value - performance
    meters.totals[REGRET] += max(regret, 0.0)
    meters.totals[SIGNED_REGRET] += regret
    meters.totals[VIOLATION] += violation
    meters.totals[PERFORMANCE] += performance
    return regret, violation


@kernel
def measure_reward(problem, arm, reward, round_number, meters):
    """Add the realised revenue, and move the windows on by one round."""
    meters.totals[REALISED] += reward
    add_to_rows(problem.arm_rows, arm, reward, meters.by_row[EARNED])
    length = meters.window.shape[2]
    if length == 0:
        return
    place = (round_number - 1) % length
    for row in range(meters.by_row.shape[1]):
        meters.by_row[WINDOW_EXPECTED, row] += meters.by_row[EXPECTED_NOW, row] - meters.window[0, row, place]
        meters.window[0, row, place] = meters.by_row[EXPECTED_NOW, row]
        meters.by_row[WINDOW_REALISED, row] -= meters.window[1, row, place]
        meters.window[1, row, place] = 0.0
    add_to_rows(problem.arm_rows, arm, reward, meters.window[1, :, place])
    add_to_rows(problem.arm_rows, arm, reward, meters.by_row[WINDOW_REALISED])
    if round_number >= length:
        for row in range(meters.by_row.shape[1]):
            floor = max(problem.floors[row], 0.0)
            expected_gap = floor - meters.by_row[WINDOW_EXPECTED, row] / length
            realised_gap = floor - meters.by_row[WINDOW_REALISED, row] / length
            meters.by_row[WORST_EXPECTED, row] = max(meters.by_row[WORST_EXPECTED, row], expected_gap)
            meters.by_row[WORST_REALISED, row] = max(meters.by_row[WORST_REALISED, row], realised_gap)


@rare_kernel
def audit(rule, world, problem, statistics, round_number, allocation, outcome, matched, regret, violation, meters):
    """Count where the statements that the paper proves with probability 1 - 1/t apply, and where they fail."""
    n_arms, n_contexts = allocation.shape
    factor = radius_factor(allocation.size, round_number, problem.settings[NOISE_SCALE])
    covered = True
    width = 0.0
    at_stake = 0.0
    for arm in range(n_arms):
        for context in range(n_contexts):
            at_stake = max(at_stake, abs(world.revenues[arm, context]))
            inverse_root = statistics.by_pair[ByPair.INVERSE_ROOT, arm, context]
            if inverse_root > 0.0:
                radius = factor * inverse_root
                width += 2.0 * radius * allocation[arm, context]
                if abs(statistics.by_pair[ByPair.MEAN, arm, context] - world.mean_rewards[arm, context]) > radius:
                    covered = False
            elif allocation[arm, context] > 0.0:
                width = np.inf
    scale = ROUNDING * max(n_contexts * at_stake, abs(world.optimal_value))
    if not covered:
        meters.totals[UNCOVERED] += 1.0
    if matched and regret > scale:
        meters.totals[MATCHED_WITH_REGRET] += 1.0
    if rule == Rule.LINEAR_PROGRAM and outcome == PLANNED:
        meters.totals[SAFE] += 1.0
        if violation > scale:
            meters.totals[SAFE_WITH_VIOLATION] += 1.0
    if not matched and outcome == PLANNED:
        meters.totals[UNMATCHED] += 1.0
        if width < world.suboptimality_gap:
            meters.totals[UNMATCHED_BELOW_GAP] += 1.0


@rare_kernel
def write_checkpoint(problem, meters, place, record, record_by_row):
    """Copy the sums so far into the record, with what follows from them."""
    meters.totals[REGRET_PLUS_VIOLATION] = meters.totals[REGRET] + meters.totals[VIOLATION]
    signed_violation = 0.0
    for row in range(meters.by_row.shape[1]):
        if problem.floors[row] != NO_FLOOR:
            signed_violation += max(meters.by_row[SHORTFALL, row], 0.0)
    meters.totals[SIGNED_VIOLATION] = signed_violation
    for total in range(N_TOTALS):
        record[total, place] = meters.totals[total]
    for kind in range(record_by_row.shape[0]):
        for row in range(record_by_row.shape[2]):
            record_by_row[kind, place, row] = meters.by_row[kind, row]


@entry_kernel
def play_rounds(
    rule,
    world,
    problem,
    statistics,
    memory,
    workspace,
    allocation,
    meters,
    seed,
    epoch,
    first_round,
    last_round,
    checkpoints,
    record,
    record_by_row,
):
    """Play the rounds first_round .. last_round and record the sums at the checkpoints among them."""
    place = 0
    while place < checkpoints.shape[0] and checkpoints[place] < first_round:
        place += 1
    audited = world.suboptimality_gap == world.suboptimality_gap
    for t in range(first_round, last_round + 1):
        context_uniform, arm_uniform = uniforms(seed, epoch, t, Purpose.DECISION, 0)
        context = context_from_uniform(world.probabilities, context_uniform)
        outcome = choose_allocation(
            rule, problem, statistics, t, t, context, seed, epoch, memory, workspace, allocation
        )
        arm = arm_from_uniform(allocation, context, arm_uniform)
        reward = draw_reward(world, arm, context, seed, epoch, t)
        planned = rule <= Rule.THOMPSON_LP
        regret, violation = measure_allocation(world, problem, planned, memory, outcome, allocation, meters)
        if outcome != PLANNED:
            meters.totals[ON_FALLBACK] += 1.0 if outcome & FELL_BACK else 0.0
            meters.totals[INFEASIBLE] += 1.0 if planned and outcome & FELL_SHORT else 0.0
            meters.totals[GAVE_UP] += 1.0 if planned and outcome & STOOD_STILL else 0.0
        if planned:
            matched = has_optimal_set(world, memory, outcome, workspace, meters)
            meters.totals[OPTIMAL_SET] += 1.0 if matched else 0.0
            if audited:
                audit(rule, world, problem, statistics, t, allocation, outcome, matched, regret, violation, meters)
        else:
            meters.totals[OPTIMAL_SET] = np.nan  # without a plan there is no active set
        take_in_reward(rule, problem, statistics, t, context, arm, reward, memory, allocation)
        measure_reward(problem, arm, reward, t, meters)
        if place < checkpoints.shape[0] and checkpoints[place] == t:
            write_checkpoint(problem, meters, place, record, record_by_row)
            place += 1
