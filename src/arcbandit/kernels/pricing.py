"""Values and prices of a basis, and the search for a column that should enter it."""

from arcbandit.kernels.compile import kernel
from arcbandit.kernels.factors import factorise, solve_columns, solve_rows
from arcbandit.kernels.program import (
    ARM_PRICE,
    ARM_PRICE_SIZE,
    BEST_VALUE,
    CONTEXT_BLOCK,
    DUAL_ROW,
    KEY_SHARE,
    PRICE,
    PRICING_TOLERANCE,
    ROW_SCALE,
    SHORTFALL,
    SHORTFALL_OPEN,
    SLOT_VALUE,
    SURPLUS,
    SURPLUS_OPEN,
)


@kernel
def measure_scales(program, workspace):
    """Write the largest |coefficient| of each row and of the objective, over available pairs."""
    n_arms, n_contexts = program.objective.shape
    n_rows = program.floors.shape[0]
    for row in range(n_rows):
        workspace.by_row[ROW_SCALE, row] = 0.0
    largest_objective = 0.0
    for arm in range(n_arms):
        largest = 0.0
        for context in range(n_contexts):
            if program.available[arm, context]:
                largest = max(largest, abs(program.revenue[arm, context]))
                largest_objective = max(largest_objective, abs(program.objective[arm, context]))
        for place in range(program.arm_rows.shape[1]):
            row = abs(program.arm_rows[arm, place]) - 1
            if row < 0:
                break
            workspace.by_row[ROW_SCALE, row] = max(workspace.by_row[ROW_SCALE, row], largest)
    for row in range(n_rows):
        if workspace.by_row[ROW_SCALE, row] == 0.0:
            floor = abs(program.floors[row])
            workspace.by_row[ROW_SCALE, row] = floor if floor > 0.0 else 1.0
    workspace.by_row[ROW_SCALE, n_rows] = largest_objective if largest_objective > 0.0 else 1.0


@kernel
def evaluate_shares(program, basis, workspace):
    """Write the value of every basic column: the slots', then the keys' shares."""
    n_contexts = basis.key.shape[0]
    n_rows = basis.slot_arm.shape[0]
    gap = workspace.by_row[DUAL_ROW]
    for row in range(n_rows):
        gap[row] = program.floors[row]
    for context in range(n_contexts):
        key = basis.key[context]
        coefficient = program.revenue[key, context]
        workspace.by_context[KEY_SHARE, context] = 1.0
        for place in range(program.arm_rows.shape[1]):
            signed = program.arm_rows[key, place]
            if signed > 0:
                gap[signed - 1] -= coefficient
            elif signed < 0:
                gap[-signed - 1] += coefficient
    solve_columns(workspace, gap, workspace.by_row[SLOT_VALUE])
    for slot in range(n_rows):
        context = basis.slot_context[slot]
        if context >= 0:
            workspace.by_context[KEY_SHARE, context] -= workspace.by_row[SLOT_VALUE, slot]


@kernel
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
def evaluate_prices(program, basis, weight, shortfall_price, workspace):
    """Write the prices at which no basic column would rather leave."""
    n_rows = basis.slot_arm.shape[0]
    wanted = workspace.by_row[DUAL_ROW]
    for slot in range(n_rows):
        context = basis.slot_context[slot]
        arm = basis.slot_arm[slot]
        if context == SURPLUS:
            wanted[slot] = 0.0
        elif context == SHORTFALL:
            wanted[slot] = workspace.by_row[ROW_SCALE, arm] * shortfall_price
        else:
            wanted[slot] = weight * (program.objective[basis.key[context], context] - program.objective[arm, context])
    solve_rows(workspace, wanted, workspace.by_row[PRICE])
    spread_over_arms(program, workspace.by_row[PRICE], workspace.by_arm[ARM_PRICE])
    # The prices of an arm's rows may cancel; how far their sum can be trusted shows in their sizes.
    for arm in range(program.arm_rows.shape[0]):
        size = 0.0
        for place in range(program.arm_rows.shape[1]):
            signed = program.arm_rows[arm, place]
            if signed != 0:
                size += abs(workspace.by_row[PRICE, abs(signed) - 1])
        workspace.by_arm[ARM_PRICE_SIZE, arm] = size


@kernel
def evaluate(program, basis, weight, shortfall_price, workspace):
    """Factorise the basis and write its shares and prices; return False if it is singular."""
    if not factorise(program, basis, workspace):
        return False
    evaluate_shares(program, basis, workspace)
    evaluate_prices(program, basis, weight, shortfall_price, workspace)
    return True


@kernel
def pair_excess(program, basis, weight, arm, context, workspace):
    """Reduced cost of a pair if it is beyond rounding, else 0: what a unit of it adds to the objective."""
    key = basis.key[context]
    arm_price = workspace.by_arm[ARM_PRICE]
    price_size = workspace.by_arm[ARM_PRICE_SIZE]
    objective = weight * program.objective[arm, context]
    key_objective = weight * program.objective[key, context]
    revenue = program.revenue[arm, context]
    key_revenue = program.revenue[key, context]
    excess = (objective + arm_price[arm] * revenue) - (key_objective + arm_price[key] * key_revenue)
    magnitude = (abs(objective) + price_size[arm] * abs(revenue)) + (
        abs(key_objective) + price_size[key] * abs(key_revenue)
    )
    return excess if abs(excess) > PRICING_TOLERANCE * magnitude else 0.0


@kernel
def price_block(program, basis, allowed, weight, first, last, workspace):
    """Best pair of the contexts first..last by reduced cost: (excess, arm, context), excess 0 if none is positive."""
    best_value = workspace.by_context[BEST_VALUE]
    best_arm = workspace.best_arm
    arm_price = workspace.by_arm[ARM_PRICE]
    for context in range(first, last):
        key = basis.key[context]
        best_arm[context] = key
        best_value[context] = weight * program.objective[key, context] + arm_price[key] * program.revenue[key, context]
    for arm in range(allowed.shape[0]):
        price = arm_price[arm]
        for context in range(first, last):
            value = weight * program.objective[arm, context] + price * program.revenue[arm, context]
            if value > best_value[context] and allowed[arm, context]:
                best_value[context] = value
                best_arm[context] = arm
    best = 0.0
    arm = -1
    where = -1
    for context in range(first, last):
        if best_arm[context] != basis.key[context]:
            excess = pair_excess(program, basis, weight, best_arm[context], context, workspace)
            if excess > best:
                best = excess
                arm = best_arm[context]
                where = context
    return best, arm, where


@kernel
def price_rows(program, basis, weight, shortfall_price, workspace):
    """Best surplus or shortfall to enter: (excess, row, kind), excess 0 if none is positive."""
    # A price is the quotient of rewards and revenues; below this it is rounding.
    n_rows = program.floors.shape[0]
    tolerance = PRICING_TOLERANCE * max(weight * workspace.by_row[ROW_SCALE, n_rows], 1e-300)
    best = 0.0
    best_row = -1
    kind = SURPLUS
    for row in range(n_rows):
        scale = workspace.by_row[ROW_SCALE, row]
        excess = -scale * workspace.by_row[PRICE, row]
        limit = max(tolerance, PRICING_TOLERANCE * scale * shortfall_price)
        if workspace.order[SURPLUS_OPEN, row] == 1 and excess > limit and excess > best:
            best = excess
            best_row = row
            kind = SURPLUS
        excess = scale * (workspace.by_row[PRICE, row] - shortfall_price)
        if workspace.order[SHORTFALL_OPEN, row] == 1 and excess > limit and excess > best:
            best = excess
            best_row = row
            kind = SHORTFALL
    return best, best_row, kind


@kernel
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


@kernel
def next_block(first, n_contexts):
    """Where the block after the one at `first` begins, round and round."""
    first += CONTEXT_BLOCK
    return first if first < n_contexts else 0
