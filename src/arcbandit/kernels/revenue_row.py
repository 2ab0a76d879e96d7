"""The plan that explores most, where revenue below a target may be missed at a price of 1 a unit, and floors at v.

    maximise    sum_kc  p_c u_kc w_kc  -  y  -  v sum_m short_m
    subject to  soft floors, and  sum_kc  p_c m_kc w_kc  +  y  >=  F

where F is what the best plan by the means m earns, the *first* plan. The row of the revenue has coefficients of its
own and would fill the working matrix. So it is priced instead: at a price b from 0 to 1 the objective is u + b m, which
is what the leans of a program are for, and the rest are soft floors. What a plan earns never falls as b rises, so there
are four cases. The first plan is best at some price: then it is the plan. At b = 1 the best plan earns no more than F:
then that is the plan. At b = 0 it earns F or more: likewise, but that is rare. Otherwise there is a price at which two
plans are equally good, of which one earns more than F and one less, and the plan is what lies between them. In most
rounds the case is proven from the bases of the last one.
"""

import enum
import math

from arcbandit.compilation.compile import kernel, rare_kernel
from arcbandit.kernels.allocation import write_allocation
from arcbandit.kernels.basic_columns import write_least
from arcbandit.kernels.coefficients import spread_over_arms
from arcbandit.kernels.elimination import factorise, is_peeled
from arcbandit.kernels.evaluation import evaluate, evaluate_prices, evaluate_shares
from arcbandit.kernels.program import PRICING_TOLERANCE, ByArm, ByContext, ByRow, Column, Lean, PlanStatus, Scalar
from arcbandit.kernels.reduced_costs import rounding_of_a_price
from arcbandit.kernels.soft_floors import (
    add_shares,
    copy_basis,
    forget_order,
    is_best,
    plan_softly,
    take_up,
    total_of,
)

CLOSE = 1e-12  # a revenue, or a value, this close relative to the largest at stake is equal
MOST_TRIALS = 50  # each finds a better plan, and few are needed


class Lies(enum.IntEnum):
    """Where a plan lies."""

    ON_FIRST = 0
    ON_UPPER = 1
    BETWEEN = 2


@kernel
def gain_of(program, basis, workspace, floor_price):
    """The bonus of an evaluated basis, less the price of what its floors lack."""
    gain = total_of(program.objective, program.weights, basis, workspace)
    for slot in range(basis.slot_arm.shape[0]):
        if basis.slot_context[slot] == Column.SHORTFALL:
            lacking = workspace.by_row[ByRow.SLOT_VALUE, slot] * workspace.by_row[ByRow.SCALE, basis.slot_arm[slot]]
            gain -= floor_price * lacking
    return gain


@kernel
def revenue_of_plan(program, basis, workspace):
    """What an evaluated basis earns; the means are the program's roots."""
    return total_of(program.root, program.weights, basis, workspace)


@kernel
def largest_mean(program, basis, workspace):
    """A size to compare revenues with: that of the terms that they are sums of."""
    size = 0.0
    for context in range(basis.key.shape[0]):
        share = workspace.by_context[ByContext.KEY_SHARE, context]
        size += abs(program.weights[context] * program.root[basis.key[context], context] * share)
    return size


@kernel
def evaluate_shares_again(program, basis, workspace):
    """Evaluate the shares of the basis last evaluated in this workspace; return whether none is below zero."""
    if not (take_up(program, basis, workspace) and factorise(program, basis, workspace)):
        return False
    if not evaluate_shares(program, basis, is_peeled(workspace), workspace):
        return False
    return write_least(basis, workspace) >= 0.0


@kernel
def is_first_best(program, first, prices, workspace, floor_price):
    """Whether the first plan is the best at some price b of revenue.

    Its basis was evaluated in this workspace, with `prices` of the floors, shape (M,). At a price b, its reduced costs
    are those of the bonus plus b times those of the first program, of which none is above zero.
    """
    program.lean[Lean.OBJECTIVE] = 0.0
    evaluate_prices(program, first, 1.0, 0.0, is_peeled(workspace), workspace)
    bonus_price, mean_price = workspace.by_arm[ByArm.PRICE], workspace.by_arm[ByArm.DUAL_ROW]
    spread_over_arms(program, prices, mean_price)
    low = 0.0
    high = 1.0
    tolerance = rounding_of_a_price(1.0, workspace)
    for row in range(prices.shape[0]):
        of_bonus = workspace.by_row[ByRow.PRICE, row]
        if of_bonus * workspace.by_row[ByRow.SCALE, row] < -tolerance:
            low = max(low, -of_bonus / prices[row]) if prices[row] > 0.0 else math.inf
        if of_bonus + prices[row] > floor_price:
            high = min(high, (floor_price - of_bonus) / prices[row]) if prices[row] > 0.0 else -1.0
    for context in range(first.key.shape[0]):
        key = first.key[context]
        key_bonus = program.objective[key, context]
        key_floor = bonus_price[key] * program.revenue[key, context]
        key_mean = program.root[key, context] + mean_price[key] * program.revenue[key, context]
        for arm in range(program.available.shape[0]):
            bonus = program.objective[arm, context]
            of_floor = bonus_price[arm] * program.revenue[arm, context]
            excess = (bonus + of_floor) - (key_bonus + key_floor)
            size = abs(bonus) + abs(of_floor) + abs(key_bonus) + abs(key_floor)
            # By rounding, basic pairs are worth a little more or less than the key.
            if excess > PRICING_TOLERANCE * size and program.available[arm, context]:
                mean = program.root[arm, context] + mean_price[arm] * program.revenue[arm, context]
                low = max(low, excess / (key_mean - mean)) if key_mean > mean else math.inf
    return low <= high


@rare_kernel
def is_between_still(program, target, upper, upper_workspace, lower, lower_workspace, floor_price):
    """Whether the plan is still between these two, and the share of the upper one in it."""
    if not evaluate_shares_again(program, lower, lower_workspace):
        return False, 0.0
    if not evaluate_shares_again(program, upper, upper_workspace):
        return False, 0.0
    most, least = revenue_of_plan(program, upper, upper_workspace), revenue_of_plan(program, lower, lower_workspace)
    if not least <= target < most:
        return False, 0.0
    price = gain_of(program, lower, lower_workspace, floor_price)
    price -= gain_of(program, upper, upper_workspace, floor_price)
    price /= most - least
    if not 0.0 <= price <= 1.0:
        return False, 0.0
    program.lean[Lean.OBJECTIVE] = price
    evaluate_prices(program, upper, 1.0, floor_price, is_peeled(upper_workspace), upper_workspace)
    # As both are worth the same, one proof is enough.
    return is_best(program, upper, floor_price, upper_workspace), (target - least) / (most - least)


@rare_kernel
def close_in(
    program, target, upper, upper_workspace, lower, lower_workspace, trial, trial_workspace, allocation, floor_price
):
    """Find the two plans that the best one is between, from one above the target and one that is not.

    Return a PlanStatus and the share of the upper one. The workspace of trials is left with no basis.
    """
    most, least = revenue_of_plan(program, upper, upper_workspace), revenue_of_plan(program, lower, lower_workspace)
    most_gain = gain_of(program, upper, upper_workspace, floor_price)
    least_gain = gain_of(program, lower, lower_workspace, floor_price)
    upper_alone = False
    for _ in range(MOST_TRIALS):
        price = min((least_gain - most_gain) / (most - least), 1.0)
        # Even for nothing more is earned than the target, if missing floors costs less than the bonus that it brings.
        for_nothing = price <= 0.0
        price = max(price, 0.0)
        program.lean[Lean.OBJECTIVE] = price
        value = most_gain + price * most
        copy_basis(upper, trial)
        forget_order(trial_workspace)
        if plan_softly(program, trial, floor_price, trial_workspace, allocation) != PlanStatus.OPTIMAL:
            break
        revenue = revenue_of_plan(program, trial, trial_workspace)
        gain = gain_of(program, trial, trial_workspace, floor_price)
        if for_nothing and revenue >= target:
            copy_basis(trial, upper)
            upper_alone = True
            break
        if gain + price * revenue <= value + CLOSE * (abs(gain) + abs(price * revenue)):
            break
        if revenue > target:
            copy_basis(trial, upper)
            most, most_gain = revenue, gain
        else:
            copy_basis(trial, lower)
            least, least_gain = revenue, gain
    forget_order(trial_workspace)
    forget_order(upper_workspace)
    forget_order(lower_workspace)
    sound = evaluate(program, upper, 1.0, floor_price, upper_workspace)
    sound &= evaluate(program, lower, 1.0, floor_price, lower_workspace)
    write_least(upper, upper_workspace)
    write_least(lower, lower_workspace)
    share = 1.0 if upper_alone else (target - least) / (most - least)
    return PlanStatus.OPTIMAL if sound else PlanStatus.PIVOT_LIMIT, share


@kernel
def explore_most(program, target, lies, prices, first, first_workspace, upper, lower, soft, allocation, floor_price):
    """Lead two bases to those that tell the best plan; return a PlanStatus, what it lies on, and the upper one's share.

    The program's objective is u and its root m; its first lean is overwritten. `floor_price` is v, and `lies` is where
    the last plan lay. The first plan's basis was evaluated in its workspace, which may be left with no basis; `prices`,
    shape (M,), are its.
    """
    if lies == Lies.BETWEEN:
        between, share = is_between_still(program, target, upper, soft.upper, lower, soft.lower, floor_price)
        if between:
            return PlanStatus.OPTIMAL, Lies.BETWEEN.value, share
    if is_first_best(program, first, prices, first_workspace, floor_price):
        return PlanStatus.OPTIMAL, Lies.ON_FIRST.value, 0.0
    if lies != Lies.ON_UPPER:
        copy_basis(first, upper)
        forget_order(soft.upper)
    program.lean[Lean.OBJECTIVE] = 1.0
    status = plan_softly(program, upper, floor_price, soft.upper, allocation)
    rounding = CLOSE * max(abs(target), largest_mean(program, upper, soft.upper))
    if status != PlanStatus.OPTIMAL or revenue_of_plan(program, upper, soft.upper) <= target + rounding:
        return status, Lies.ON_UPPER.value, 1.0
    copy_basis(first, lower)
    forget_order(soft.lower)
    if not evaluate(program, lower, 1.0, floor_price, soft.lower):
        return PlanStatus.PIVOT_LIMIT, Lies.ON_FIRST.value, 0.0
    status, share = close_in(
        program, target, upper, soft.upper, lower, soft.lower, soft.trial, first_workspace, allocation, floor_price
    )
    return status, Lies.BETWEEN.value, share


@kernel
def write_between(basis, workspace, other, other_workspace, share, allocation):
    """Write the plan between two, with shares below zero clipped: `share` of one plus the rest of the other."""
    if share == 1.0:
        write_allocation(basis, False, workspace, allocation)
        return
    write_allocation(other, False, other_workspace, allocation)
    if share == 0.0:
        return
    n_arms, n_contexts = allocation.shape
    for arm in range(n_arms):
        for context in range(n_contexts):
            allocation[arm, context] *= 1.0 - share
    add_shares(basis, workspace, share, allocation)
    if workspace.scalars[Scalar.LEAST_SHARE] < 0.0:
        for context in range(n_contexts):
            total = 0.0
            for arm in range(n_arms):
                total += allocation[arm, context]
            for arm in range(n_arms):
                allocation[arm, context] /= total
