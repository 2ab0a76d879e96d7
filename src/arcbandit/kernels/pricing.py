"""Values and prices of a basis, and the search for a column that should enter it."""

import math

import numpy as np

from arcbandit.compilation.compile import kernel, rare_kernel
from arcbandit.kernels.factors import (
    factorise,
    is_peeled,
    objective_of,
    reload_columns,
    revenue_of,
    solve_columns,
    solve_rows,
)
from arcbandit.kernels.program import (
    DRIFT_ALLOWED,
    NO_FLOOR,
    PRICING_TOLERANCE,
    SOMEBODY,
    ByArm,
    ByContext,
    ByRow,
    Column,
    Count,
    Order,
    Scalar,
)

FEW_PAIRS = 128  # up to here it is faster to look at every pair than to keep bounds
FEW_CONTEXTS = 64  # up to here it is faster to look up all keys than to keep sums over them


@rare_kernel
def measure_scales(program, rows, workspace):
    """Write the sizes by which bounds are kept and, if `rows`, the largest |coefficient| of each row and the objective.

    The latter are rounded up to a power of two, so that dividing by it rounds nothing. They decide pivots, and are part
    of what a rule remembers; the former only decide which pairs need not be looked at.
    """
    n_arms, n_contexts = program.objective.shape
    n_rows = program.floors.shape[0]
    coefficient = workspace.by_row[ByRow.SCRATCH]
    for row in range(n_rows):
        coefficient[row] = 0.0
    largest_objective = 0.0
    largest_reward = 0.0
    largest_root = 0.0
    for arm in range(n_arms):
        largest = 0.0
        largest_revenue = 0.0
        for context in range(n_contexts):
            if program.available[arm, context]:
                weight = program.weights[context]
                root = program.root[arm, context]
                reward = abs(program.objective[arm, context] + program.lean[0] * root)
                revenue = abs(program.revenue[arm, context] + program.lean[1] * root)
                largest = max(largest, weight * revenue)
                largest_revenue = max(largest_revenue, revenue)
                largest_objective = max(largest_objective, weight * reward)
                largest_reward = max(largest_reward, reward)
                largest_root = max(largest_root, abs(root))
        workspace.by_arm[ByArm.REVENUE_SCALE, arm] = largest_revenue
        for place in range(program.arm_rows.shape[1]):
            row = abs(program.arm_rows[arm, place]) - 1
            if row < 0:
                break
            coefficient[row] = max(coefficient[row], largest)
    workspace.scalars[Scalar.LARGEST_ROOT] = largest_root
    workspace.scalars[Scalar.REWARD_SCALE] = largest_reward
    if not rows:
        return
    coefficient[n_rows] = largest_objective
    for row in range(n_rows + 1):
        scale = coefficient[row]
        if scale == 0.0 and row < n_rows and program.floors[row] != NO_FLOOR:
            scale = abs(program.floors[row])
        workspace.by_row[ByRow.SCALE, row] = math.ldexp(1.0, math.frexp(scale)[1]) if scale > 0.0 else 1.0


@kernel
def look_up_key(program, basis, context, workspace):
    """Write down the coefficients of a context's key; return its arm."""
    key = basis.key[context]
    workspace.by_context[ByContext.KEY_OBJECTIVE, context] = program.objective[key, context]
    workspace.by_context[ByContext.KEY_REVENUE, context] = program.revenue[key, context]
    workspace.by_context[ByContext.KEY_ROOT, context] = program.root[key, context]
    return key


@kernel
def add_key(program, arm, context, workspace):
    """Add a key's coefficients to the sums of its arm."""
    weight = program.weights[context]
    workspace.by_arm[ByArm.KEY_REVENUE_SUM, arm] += weight * workspace.by_context[ByContext.KEY_REVENUE, context]
    workspace.by_arm[ByArm.KEY_ROOT_SUM, arm] += weight * workspace.by_context[ByContext.KEY_ROOT, context]


@kernel
def look_up_keys(program, basis, workspace):
    """Bring up to date what is known of the keys: their coefficients by context and, by arm, sums of these.

    Only what changed is looked up, and only the sums of the arms concerned are worked out anew. Each is added up
    context after context in any case, so that it does not depend on what was kept.
    """
    n_contexts = basis.key.shape[0]
    revenue_sum, root_sum = workspace.by_arm[ByArm.KEY_REVENUE_SUM], workspace.by_arm[ByArm.KEY_ROOT_SUM]
    if workspace.counts[Count.KEYS_KEPT] == 0:
        for arm in range(revenue_sum.shape[0]):
            revenue_sum[arm] = 0.0
            root_sum[arm] = 0.0
        for context in range(n_contexts):
            key = look_up_key(program, basis, context, workspace)
            add_key(program, key, context, workspace)
        workspace.counts[Count.KEYS_KEPT] = 1
        return
    for context in range(n_contexts):
        if program.changed[context]:
            revenue_sum[look_up_key(program, basis, context, workspace)] = np.nan
    for arm in range(revenue_sum.shape[0]):
        if math.isnan(revenue_sum[arm]):
            revenue_sum[arm] = 0.0
            root_sum[arm] = 0.0
            for context in range(n_contexts):
                if basis.key[context] == arm:
                    add_key(program, arm, context, workspace)


@kernel
def take_from_rows(program, arm, amount, by_row):
    """Subtract what an arm earns from the rows it takes part in."""
    if program.arm_rows.shape[1] == 1:
        by_row[arm] -= amount
        return
    for place in range(program.arm_rows.shape[1]):
        signed = program.arm_rows[arm, place]
        if signed > 0:
            by_row[signed - 1] -= amount
        elif signed < 0:
            by_row[-signed - 1] += amount


@kernel
def evaluate_shares(program, basis, peeled, workspace):
    """Write the value of every basic column: the slots', then the keys' shares; return False if W is singular."""
    n_rows = basis.slot_arm.shape[0]
    gap = workspace.by_row[ByRow.DUAL_ROW]
    for row in range(n_rows):
        gap[row] = program.floors[row]
    if basis.key.shape[0] <= FEW_CONTEXTS:
        for context in range(basis.key.shape[0]):
            key = basis.key[context]
            take_from_rows(program, key, revenue_of(program, key, context), gap)
    else:
        look_up_keys(program, basis, workspace)
        revenue_sum, root_sum = workspace.by_arm[ByArm.KEY_REVENUE_SUM], workspace.by_arm[ByArm.KEY_ROOT_SUM]
        for arm in range(program.arm_rows.shape[0]):
            take_from_rows(program, arm, revenue_sum[arm] + program.lean[1] * root_sum[arm], gap)
    for context in range(basis.key.shape[0]):
        workspace.by_context[ByContext.KEY_SHARE, context] = 1.0
    sound = solve_columns(peeled, workspace, gap, workspace.by_row[ByRow.SLOT_VALUE])
    for slot in range(n_rows):
        context = basis.slot_context[slot]
        if context >= 0:
            workspace.by_context[ByContext.KEY_SHARE, context] -= workspace.by_row[ByRow.SLOT_VALUE, slot]
    return sound


@rare_kernel
def spread_over_arms(program, by_row, by_arm):
    """Add up, for each arm, the signed entries of the rows it takes part in."""
    for arm in range(by_arm.shape[0]):
        total = 0.0
        for place in range(program.arm_rows.shape[1]):
            signed = program.arm_rows[arm, place]
            if signed > 0:
                total += by_row[signed - 1]
            elif signed < 0:
                total -= by_row[-signed - 1]
        by_arm[arm] = total


@kernel
def evaluate_prices(program, basis, weight, shortfall_price, peeled, workspace):
    """Write the prices at which no basic column would rather leave."""
    n_rows = basis.slot_arm.shape[0]
    wanted = workspace.by_row[ByRow.DUAL_ROW]
    for slot in range(n_rows):
        context = basis.slot_context[slot]
        arm = basis.slot_arm[slot]
        if context == Column.SURPLUS:
            wanted[slot] = 0.0
        elif context == Column.SHORTFALL:
            wanted[slot] = workspace.by_row[ByRow.SCALE, arm] * shortfall_price
        else:
            wanted[slot] = weight * (
                objective_of(program, basis.key[context], context) - objective_of(program, arm, context)
            )
    solve_rows(peeled, workspace, wanted, workspace.by_row[ByRow.PRICE])
    if program.arm_rows.shape[1] == 1:
        for arm in range(n_rows):
            workspace.by_arm[ByArm.PRICE, arm] = workspace.by_row[ByRow.PRICE, arm]
        return
    spread_over_arms(program, workspace.by_row[ByRow.PRICE], workspace.by_arm[ByArm.PRICE])
    # The prices of an arm's rows may cancel; how far their sum can be trusted shows in their sizes.
    for arm in range(program.arm_rows.shape[0]):
        size = 0.0
        for place in range(program.arm_rows.shape[1]):
            signed = program.arm_rows[arm, place]
            if signed != 0:
                size += abs(workspace.by_row[ByRow.PRICE, abs(signed) - 1])
        workspace.by_arm[ByArm.PRICE_SIZE, arm] = size


@kernel
def evaluate(program, basis, weight, shortfall_price, workspace):
    """Factorise the basis and write its shares and prices; return False if it is singular."""
    if not factorise(program, basis, workspace):
        return False
    peeled = is_peeled(workspace)
    if not evaluate_shares(program, basis, peeled, workspace):
        return False
    evaluate_prices(program, basis, weight, shortfall_price, peeled, workspace)
    return True


@kernel
def evaluate_again(program, basis, workspace):
    """`evaluate` for the basis evaluated last; return False if it is singular, or not of the kind that is soon done."""
    if workspace.counts[Count.ORDER_KEPT] == 0 or program.arm_rows.shape[1] != 1 or not is_peeled(workspace):
        return False
    reload_columns(program, basis, workspace)
    if not evaluate_shares(program, basis, True, workspace):
        return False
    evaluate_prices(program, basis, 1.0, 0.0, True, workspace)
    return True


@kernel
def pair_excess(program, basis, weight, arm, context, workspace):
    """Reduced cost of a pair if it is beyond rounding, else 0: what a unit of it adds to the objective."""
    key = basis.key[context]
    arm_price = workspace.by_arm[ByArm.PRICE]
    # The size of a single row's price is its own.
    price_size = workspace.by_arm[ByArm.PRICE if program.arm_rows.shape[1] == 1 else ByArm.PRICE_SIZE]
    objective = weight * objective_of(program, arm, context)
    key_objective = weight * objective_of(program, key, context)
    revenue = revenue_of(program, arm, context)
    key_revenue = revenue_of(program, key, context)
    excess = (objective + arm_price[arm] * revenue) - (key_objective + arm_price[key] * key_revenue)
    magnitude = (abs(objective) + abs(price_size[arm] * revenue)) + (
        abs(key_objective) + abs(price_size[key] * key_revenue)
    )
    return excess if abs(excess) > PRICING_TOLERANCE * magnitude else 0.0


@rare_kernel
def raise_bounds_by_arm(program, basis, allowed, weight, arm, workspace):
    """Take the values of an arm's nonbasic pairs into the bounds of their contexts."""
    price = workspace.by_arm[ByArm.PRICE, arm]
    lean = weight * program.lean[0] + price * program.lean[1]
    bound = workspace.by_context[ByContext.VALUE_BOUND]
    set_aside = workspace.by_row[ByRow.SCRATCH]
    # The arm's slots are left out, without a branch in the loop below: their bounds are put back afterwards.
    for slot in range(basis.slot_arm.shape[0]):
        if basis.slot_arm[slot] == arm and basis.slot_context[slot] >= 0:
            set_aside[slot] = bound[basis.slot_context[slot]]
    for context in range(basis.key.shape[0]):
        value = (
            weight * program.objective[arm, context]
            + price * program.revenue[arm, context]
            + lean * program.root[arm, context]
        )
        if value > bound[context] and basis.key[context] != arm and allowed[arm, context]:
            bound[context] = value
    for slot in range(basis.slot_arm.shape[0]):
        if basis.slot_arm[slot] == arm and basis.slot_context[slot] >= 0:
            bound[basis.slot_context[slot]] = set_aside[slot]
    workspace.by_arm[ByArm.PRICE_AT_BOUND, arm] = price


@kernel
def worth(program, weight, price, objective, revenue, root):
    """What a pair with these coefficients is worth at its arm's price, per unit of the context's probability."""
    return weight * objective + price * revenue + (weight * program.lean[0] + price * program.lean[1]) * root


@kernel
def value_of(program, weight, arm, context, workspace):
    """`worth` of a pair."""
    price = workspace.by_arm[ByArm.PRICE, arm]
    objective, revenue = program.objective[arm, context], program.revenue[arm, context]
    return worth(program, weight, price, objective, revenue, program.root[arm, context])


@kernel
def value_of_key(program, basis, weight, context, workspace):
    """`value_of` for a context's key, from what is kept of it where there are many."""
    key = basis.key[context]
    if basis.key.shape[0] <= FEW_CONTEXTS:
        return value_of(program, weight, key, context, workspace)
    price = workspace.by_arm[ByArm.PRICE, key]
    objective = workspace.by_context[ByContext.KEY_OBJECTIVE, context]
    revenue = workspace.by_context[ByContext.KEY_REVENUE, context]
    return worth(program, weight, price, objective, revenue, workspace.by_context[ByContext.KEY_ROOT, context])


@rare_kernel
def set_bound_of_context(program, basis, allowed, weight, context, workspace):
    """Set a context's bound to its best nonbasic value; return (excess, arm), excess 0 if none is worth entering."""
    best = -np.inf
    chosen = -1
    changed = program.changed[context]
    for arm in range(allowed.shape[0]):
        if changed:
            workspace.by_arm[ByArm.REVENUE_SCALE, arm] = max(
                workspace.by_arm[ByArm.REVENUE_SCALE, arm],
                abs(program.revenue[arm, context] + program.lean[1] * program.root[arm, context]),
            )
        if allowed[arm, context] and basis.key[context] != arm:
            value = value_of(program, weight, arm, context, workspace)
            if value > best:
                basic = False
                for slot in range(basis.slot_arm.shape[0]):
                    if basis.slot_arm[slot] == arm and basis.slot_context[slot] == context:
                        basic = True
                if not basic:
                    best = value
                    chosen = arm
    workspace.by_context[ByContext.VALUE_BOUND, context] = best
    program.changed[context] = False
    if chosen < 0:
        return 0.0, -1
    return pair_excess(program, basis, weight, chosen, context, workspace), chosen


@kernel
def refresh_bounds(program, basis, allowed, weight, workspace):
    """Bring the bounds on nonbasic values up to date with the prices and leans; return how far they may be off.

    A bound is looked at again only when drift could have used it up: an arm's when its price moved, all of them when
    the leans did.
    """
    n_arms = allowed.shape[0]
    off = DRIFT_ALLOWED * workspace.scalars[Scalar.REWARD_SCALE]
    largest_price = 0.0
    for arm in range(n_arms):
        largest_price = max(largest_price, abs(workspace.by_arm[ByArm.PRICE, arm]))
    drift = workspace.scalars[Scalar.LARGEST_ROOT] * (
        weight * abs(program.lean[0] - workspace.scalars[Scalar.OBJECTIVE_LEAN_AT_BOUND])
        + largest_price * abs(program.lean[1] - workspace.scalars[Scalar.REVENUE_LEAN_AT_BOUND])
    )
    if workspace.counts[Count.BOUNDS_OF] == 0 or drift > off:
        if workspace.counts[Count.BOUNDS_OF] != 0:
            measure_scales(program, False, workspace)
        for context in range(basis.key.shape[0]):
            workspace.by_context[ByContext.VALUE_BOUND, context] = -np.inf
            program.changed[context] = False
        for arm in range(n_arms):
            raise_bounds_by_arm(program, basis, allowed, weight, arm, workspace)
        workspace.scalars[Scalar.OBJECTIVE_LEAN_AT_BOUND] = program.lean[0]
        workspace.scalars[Scalar.REVENUE_LEAN_AT_BOUND] = program.lean[1]
        workspace.counts[Count.BOUNDS_OF] = SOMEBODY
        return 0.0
    for arm in range(n_arms):
        moved = abs(workspace.by_arm[ByArm.PRICE, arm] - workspace.by_arm[ByArm.PRICE_AT_BOUND, arm])
        if moved * workspace.by_arm[ByArm.REVENUE_SCALE, arm] > 0.5 * off:
            raise_bounds_by_arm(program, basis, allowed, weight, arm, workspace)
    return 2.0 * off


@kernel
def key_value_beyond_rounding(program, basis, weight, context, workspace):
    """What a pair must be worth more than to be worth more than its context's key."""
    value = value_of_key(program, basis, weight, context, workspace)
    # Rounding makes basic pairs worth a little more than the key. What is beyond rounding exceeds this.
    return value + PRICING_TOLERANCE * abs(value)


@kernel
def rounding_of_a_price(weight, workspace):
    """A price, times its row's scale, is the quotient of rewards and revenues; below this it is rounding."""
    n_rows = workspace.nucleus.shape[0]
    return PRICING_TOLERANCE * max(weight * workspace.by_row[ByRow.SCALE, n_rows], 1e-300)


@kernel
def may_improve(program, basis, workspace):
    """Whether a pair or a surplus seems worth entering; sums of truths, as branches would part the threads of a GPU."""
    found = False
    tolerance = rounding_of_a_price(1.0, workspace)
    for row in range(program.floors.shape[0]):
        found |= -workspace.by_row[ByRow.SCALE, row] * workspace.by_row[ByRow.PRICE, row] > tolerance
    if program.available.size > FEW_PAIRS:
        return found or best_pair(program, basis, program.available, 1.0, workspace)[0] > 0.0
    for context in range(basis.key.shape[0]):
        key_value = key_value_beyond_rounding(program, basis, 1.0, context, workspace)
        for arm in range(program.available.shape[0]):
            gains = value_of(program, 1.0, arm, context, workspace) > key_value
            found |= gains & program.available[arm, context]
    return found


@kernel
def best_of_few(program, basis, allowed, weight, workspace):
    """`best_pair` by looking at every pair, without bounds."""
    best = 0.0
    chosen = -1
    where = -1
    for context in range(basis.key.shape[0]):
        key_value = key_value_beyond_rounding(program, basis, weight, context, workspace)
        for arm in range(allowed.shape[0]):
            if value_of(program, weight, arm, context, workspace) > key_value and allowed[arm, context]:
                excess = pair_excess(program, basis, weight, arm, context, workspace)
                if excess > best:
                    best = excess
                    chosen = arm
                    where = context
    return best, chosen, where


@kernel
def best_pair(program, basis, allowed, weight, workspace):
    """The nonbasic pair whose entering gains most: (excess, arm, context), excess 0 if none gains."""
    if allowed.size <= FEW_PAIRS:
        return best_of_few(program, basis, allowed, weight, workspace)
    off = refresh_bounds(program, basis, allowed, weight, workspace)
    best = 0.0
    chosen = -1
    where = -1
    for context in range(basis.key.shape[0]):
        value = value_of_key(program, basis, weight, context, workspace)
        if value <= workspace.by_context[ByContext.VALUE_BOUND, context] + off or program.changed[context]:
            excess, arm = set_bound_of_context(program, basis, allowed, weight, context, workspace)
            if excess > best:
                best = excess
                chosen = arm
                where = context
    return best, chosen, where


@kernel
def price_rows(program, basis, weight, shortfall_price, workspace):
    """Best surplus or shortfall to enter: (excess, row, kind), excess 0 if none is positive."""
    tolerance = rounding_of_a_price(weight, workspace)
    best = 0.0
    best_row = -1
    kind = Column.SURPLUS
    for row in range(program.floors.shape[0]):
        price = workspace.by_row[ByRow.PRICE, row]
        if price >= 0.0 and workspace.order[Order.SHORTFALL_OPEN, row] == 0:
            continue
        scale = workspace.by_row[ByRow.SCALE, row]
        excess = -scale * price
        limit = max(tolerance, PRICING_TOLERANCE * scale * shortfall_price)
        if workspace.order[Order.SURPLUS_OPEN, row] == 1 and excess > limit and excess > best:
            best = excess
            best_row = row
            kind = Column.SURPLUS
        excess = scale * (price - shortfall_price)
        if workspace.order[Order.SHORTFALL_OPEN, row] == 1 and excess > limit and excess > best:
            best = excess
            best_row = row
            kind = Column.SHORTFALL
    return best, best_row, kind


@rare_kernel
def first_improving(program, basis, allowed, weight, workspace):
    """Bland's choice: the improving pair of least index, (excess, arm, context), excess 0 if there is none."""
    n_arms, n_contexts = allowed.shape
    for arm in range(n_arms):
        for context in range(n_contexts):
            if allowed[arm, context] and basis.key[context] != arm:
                excess = pair_excess(program, basis, weight, arm, context, workspace)
                if excess > 0.0:
                    return excess, arm, context
    return 0.0, -1, 0
