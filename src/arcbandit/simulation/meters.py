"""The meters of the loop: what each round's allocation and reward add to the sums, by true means."""

import enum
from typing import NamedTuple, cast

import numpy as np

from arcbandit.compilation.compile import kernel, rare_kernel
from arcbandit.kernels.confidence import ByPair, radius_factor
from arcbandit.kernels.planner import (
    Place,
    basis_number,
    is_saturated,
    keeps_unplayed,
    key_of_plan,
    least_value,
    slot_of_plan,
    uses_exactly,
)
from arcbandit.kernels.program import NO_FLOOR
from arcbandit.kernels.unplayed import is_written
from arcbandit.policies.learner import Learner, Outcome
from arcbandit.simulation.explored import Explored, add_up_by_arm, make_explored
from arcbandit.simulation.metrics import N_BY_ROW, N_TOTALS, FloorTotal, Total

# With more pairs than this, adding up only those of the plan is faster than adding up all.
MANY_PAIRS = 128
POSITIVE = 1e-9  # a share or surplus above this is not zero
ROUNDING = 1e-9  # a revenue this close, relative to the revenue at stake, is equal


class Compared(enum.IntEnum):
    """Places of Meters.compared."""

    BASIS = 0  # the last basis compared with the optimum
    IS_OPTIMAL = 1  # whether it uses the same columns
    OUTCOME = 2  # of the plan in force, if not every round plans


class Windowed(enum.IntEnum):
    """Rows of Meters.window."""

    EXPECTED = 0
    REALISED = 1


class Meters(NamedTuple):
    """Running sums, and the last rounds for sums over windows."""

    totals: np.ndarray  # float64, shape (N_TOTALS,)
    by_row: np.ndarray  # float64, shape (N_BY_ROW, M)
    window: np.ndarray  # float64, revenue of the last W rounds, by Windowed, shape (2, M, W)
    compared: np.ndarray  # int64, shape (3,)
    explored: Explored  # an empty tuple in its place, unless the planner keeps unplayed pairs


class Record(NamedTuple):
    """What is kept of a run: the sums at some rounds."""

    checkpoints: np.ndarray  # int64, increasing, shape (P,)
    totals: np.ndarray  # float64, shape (N_TOTALS, P)
    by_floor: np.ndarray  # float64, shape (N_KINDS, P, M)


def make_meters(learner: Learner, window: int) -> Meters:
    """Nothing measured yet of a learner; `window` is W, 0 for no windows."""
    n_rows = learner.problem.floors.shape[0]
    shape = learner.allocation.shape
    meters = Meters(
        totals=np.zeros(N_TOTALS),
        by_row=np.zeros((N_BY_ROW, n_rows)),
        window=np.zeros((len(Windowed), n_rows, window)),
        compared=np.zeros(len(Compared), dtype=np.int64),
        explored=make_explored(shape[0], shape[1], n_rows) if keeps_unplayed(learner.planner) else cast(Explored, ()),
    )
    # If no window falls short, there is still a worst one: the maximum starts below any shortfall.
    meters.by_row[[FloorTotal.WORST_EXPECTED, FloorTotal.WORST_REALISED]] = -np.inf if window else np.nan
    return meters


@kernel
def is_of_basis(outcome):
    """Whether an allocation is the plan of a basis, and nothing else wrote to it."""
    return outcome & (Outcome.FELL_SHORT | Outcome.STOOD_STILL | Outcome.EXPLORED) == 0


@kernel
def place_of(outcome):
    """Which of the planner's problems a plan solves."""
    return Place.FALLBACK.value if outcome & Outcome.FELL_BACK else Place.OWN.value


@kernel
def uses_optimal_columns(world, planner, outcome):
    """Whether the positive columns of the plan are exactly those of the optimum."""
    return uses_exactly(
        planner, place_of(outcome), world.used_pairs, world.slack_floors, world.optimal_columns, POSITIVE
    )


@kernel
def has_optimal_set(world, planner, outcome, meters):
    """Whether I_t = I*: the basis uses the pairs, and leaves slack in the floors, that the optimum does."""
    # The answer for a basis holds for as long as all its columns are positive.
    if not least_value(planner) > POSITIVE:
        return uses_optimal_columns(world, planner, outcome)
    number = basis_number(planner, place_of(outcome))
    if meters.compared[Compared.BASIS] != number:
        meters.compared[Compared.BASIS] = number
        meters.compared[Compared.IS_OPTIMAL] = 1 if uses_optimal_columns(world, planner, outcome) else 0
    return meters.compared[Compared.IS_OPTIMAL] == 1


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
def add_expected_of_plan(world, problem, planner, place, allocation, expected):
    """`add_expected_of_all` for a plan, which uses the pairs of its basis and no others."""
    performance = 0.0
    # Two loops: one over both would ask at each of many contexts whether it is a slot by now.
    for context in range(allocation.shape[1]):
        arm = key_of_plan(planner, place, context)
        revenue = world.revenues[arm, context] * allocation[arm, context]
        add_to_rows(problem.arm_rows, arm, revenue, expected)
        performance += revenue
    for slot in range(expected.shape[0]):
        arm, context = slot_of_plan(planner, place, slot)
        if context >= 0:
            revenue = world.revenues[arm, context] * allocation[arm, context]
            add_to_rows(problem.arm_rows, arm, revenue, expected)
            performance += revenue
    return performance


@kernel
def expect_of_all(world, problem, allocation, meters):
    """Write what each row earns in expectation; return the sum over all pairs."""
    expected = meters.by_row[FloorTotal.EXPECTED_NOW]
    for row in range(expected.shape[0]):
        expected[row] = 0.0
    return add_expected_of_all(world, problem, allocation, expected)


@rare_kernel
def add_expected_of_exploring(world, problem, planner, unplayed, outcome, allocation, explored, expected):
    """`add_expected_of_all`, faster for a plan in which contexts with unplayed arms play these alike."""
    if len(explored) == 0 or not (outcome & Outcome.EXPLORED and is_written(unplayed)):
        return add_expected_of_all(world, problem, allocation, expected)
    add_up_by_arm(world, planner, unplayed, place_of(outcome), allocation, explored)
    performance = 0.0
    for arm in range(explored.by_arm.shape[0]):
        add_to_rows(problem.arm_rows, arm, explored.by_arm[arm], expected)
        performance += explored.by_arm[arm]
    return performance


@kernel
def expect_of_plan(world, problem, allocation, planner, outcome, meters):
    """`expect_of_all` for a rule that plans: by the pairs of the plan alone, where that is faster."""
    if allocation.size <= MANY_PAIRS:
        return expect_of_all(world, problem, allocation, meters)
    expected = meters.by_row[FloorTotal.EXPECTED_NOW]
    for row in range(expected.shape[0]):
        expected[row] = 0.0
    if is_of_basis(outcome):
        return add_expected_of_plan(world, problem, planner, place_of(outcome), allocation, expected)
    return add_expected_of_exploring(
        world, problem, planner, planner.unplayed, outcome, allocation, meters.explored, expected
    )


@kernel
def measure_allocation(world, problem, performance, meters):
    """Add the round's regret, violation and performance, by true means; return (regret, violation) of the round."""
    expected = meters.by_row[FloorTotal.EXPECTED_NOW]
    violation = 0.0
    for row in range(expected.shape[0]):
        floor = problem.floors[row]
        violation += max(floor - expected[row], 0.0)  # 0 for NO_FLOOR
        meters.by_row[FloorTotal.SHORTFALL, row] += max(floor, 0.0) - expected[row]
    regret = world.optimal_value - performance
    meters.totals[Total.REGRET] += max(regret, 0.0)
    meters.totals[Total.SIGNED_REGRET] += regret
    meters.totals[Total.VIOLATION] += violation
    meters.totals[Total.PERFORMANCE] += performance
    return regret, violation


@kernel
def count_outcome(plans, plays_bases, outcome, meters):
    """Count a round by how its allocation came about."""
    if outcome != Outcome.PLANNED:
        meters.totals[Total.ON_FALLBACK] += 1.0 if outcome & Outcome.FELL_BACK else 0.0
        meters.totals[Total.INFEASIBLE] += 1.0 if plans and outcome & Outcome.FELL_SHORT else 0.0
        meters.totals[Total.GAVE_UP] += 1.0 if plans and outcome & Outcome.STOOD_STILL else 0.0
    if not plays_bases:
        meters.totals[Total.OPTIMAL_SET] = np.nan  # without a plan, or between two, there is no active set


@kernel
def measure_reward(problem, arm, reward, round_number, meters):
    """Add the realised revenue, and move the windows on by one round."""
    meters.totals[Total.REALISED] += reward
    add_to_rows(problem.arm_rows, arm, reward, meters.by_row[FloorTotal.EARNED])
    length = meters.window.shape[2]
    if length == 0:
        return
    place = (round_number - 1) % length
    for row in range(meters.by_row.shape[1]):
        expected = meters.by_row[FloorTotal.EXPECTED_NOW, row]
        meters.by_row[FloorTotal.WINDOW_EXPECTED, row] += expected - meters.window[Windowed.EXPECTED, row, place]
        meters.window[Windowed.EXPECTED, row, place] = expected
        meters.by_row[FloorTotal.WINDOW_REALISED, row] -= meters.window[Windowed.REALISED, row, place]
        meters.window[Windowed.REALISED, row, place] = 0.0
    add_to_rows(problem.arm_rows, arm, reward, meters.window[Windowed.REALISED, :, place])
    add_to_rows(problem.arm_rows, arm, reward, meters.by_row[FloorTotal.WINDOW_REALISED])
    if round_number >= length:
        worst_expected = meters.by_row[FloorTotal.WORST_EXPECTED]
        worst_realised = meters.by_row[FloorTotal.WORST_REALISED]
        for row in range(meters.by_row.shape[1]):
            floor = max(problem.floors[row], 0.0)
            expected_gap = floor - meters.by_row[FloorTotal.WINDOW_EXPECTED, row] / length
            realised_gap = floor - meters.by_row[FloorTotal.WINDOW_REALISED, row] / length
            worst_expected[row] = max(worst_expected[row], expected_gap)
            worst_realised[row] = max(worst_realised[row], realised_gap)


@kernel
def is_in_row(arm_rows, arm, row):
    """Whether an arm's revenue counts towards a row."""
    if arm_rows.shape[1] == 1:
        return arm == row
    found = False
    for place in range(arm_rows.shape[1]):
        found = found or arm_rows[arm, place] - 1 == row
    return found


@kernel
def width_of_row(arm_rows, row, by_pair, factor, allocation):
    """rho_k of the arms of a row; all pairs that the allocation plays have been played."""
    width = 0.0
    for arm in range(allocation.shape[0]):
        if is_in_row(arm_rows, arm, row):
            for context in range(allocation.shape[1]):
                width += 2.0 * factor * by_pair[ByPair.INVERSE_ROOT, arm, context] * allocation[arm, context]
    return width


@rare_kernel
def audit_floors(world, learner, factor, width, scale, meters):
    """Count a planned round in which a floor lacks more than its width, or w(t) is outside psi(width, I_t)."""
    short, outside = False, False
    for row in range(learner.problem.floors.shape[0]):
        floor = learner.problem.floors[row]
        if floor != NO_FLOOR:
            surplus = meters.by_row[FloorTotal.EXPECTED_NOW, row] - floor
            of_row = width_of_row(learner.problem.arm_rows, row, learner.statistics.by_pair, factor, learner.allocation)
            short = short or -surplus > of_row + scale
            outside = outside or -surplus > width + scale
            outside = outside or (surplus > width + scale and is_saturated(learner.planner, Place.OWN.value, row))
    if short:
        meters.totals[Total.SHORTFALL_ABOVE_WIDTH] += 1.0
    if outside:
        meters.totals[Total.OUTSIDE_ITS_SET] += 1.0


@rare_kernel
def audit(world, learner, noise_scale, t, outcome, matched, regret, violation, meters):
    """Count the rounds in which the statements that the paper proves with probability 1 - 1/t apply and fail."""
    by_pair = learner.statistics.by_pair
    allocation = learner.allocation
    n_arms, n_contexts = allocation.shape
    factor = radius_factor(allocation.size, t, noise_scale)
    covered = True
    width = 0.0
    at_stake = 0.0
    for arm in range(n_arms):
        for context in range(n_contexts):
            at_stake = max(at_stake, abs(world.revenues[arm, context]))
            inverse_root = by_pair[ByPair.INVERSE_ROOT, arm, context]
            if inverse_root > 0.0:
                radius = factor * inverse_root
                width += 2.0 * radius * allocation[arm, context]
                if abs(by_pair[ByPair.MEAN, arm, context] - world.mean_rewards[arm, context]) > radius:
                    covered = False
            elif allocation[arm, context] > 0.0:
                width = np.inf
    scale = ROUNDING * max(n_contexts * at_stake, abs(world.optimal_value))
    if not covered:
        meters.totals[Total.UNCOVERED] += 1.0
    if matched and regret > scale:
        meters.totals[Total.MATCHED_WITH_REGRET] += 1.0
    if outcome == Outcome.PLANNED:
        meters.totals[Total.SAFE] += 1.0
        if violation > scale:
            meters.totals[Total.SAFE_WITH_VIOLATION] += 1.0
        if regret > width + scale:
            meters.totals[Total.REGRET_ABOVE_WIDTH] += 1.0
        if width < np.inf:
            audit_floors(world, learner, factor, width, scale, meters)
    if outcome == Outcome.FELL_BACK:
        meters.totals[Total.FELL_BACK] += 1.0
        if width < world.feasibility_margin:
            meters.totals[Total.FELL_BACK_BELOW_MARGIN] += 1.0
    if not matched and outcome == Outcome.PLANNED:
        meters.totals[Total.UNMATCHED] += 1.0
        if width < world.suboptimality_gap:
            meters.totals[Total.UNMATCHED_BELOW_GAP] += 1.0


@rare_kernel
def write_checkpoint(problem, meters, place, record):
    """Copy the sums so far into the record, with those computed from them."""
    meters.totals[Total.REGRET_PLUS_VIOLATION] = meters.totals[Total.REGRET] + meters.totals[Total.VIOLATION]
    signed_violation = 0.0
    for row in range(meters.by_row.shape[1]):
        if problem.floors[row] != NO_FLOOR:
            signed_violation += max(meters.by_row[FloorTotal.SHORTFALL, row], 0.0)
    meters.totals[Total.SIGNED_VIOLATION] = signed_violation
    for total in range(N_TOTALS):
        record.totals[total, place] = meters.totals[total]
    for kind in range(record.by_floor.shape[0]):
        for row in range(record.by_floor.shape[2]):
            record.by_floor[kind, place, row] = meters.by_row[kind, row]
