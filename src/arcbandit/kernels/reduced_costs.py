"""The values of pairs at the prices of a basis, and which differences from the key's value are beyond rounding."""

from arcbandit.compilation.compile import kernel
from arcbandit.kernels.coefficients import objective_of, revenue_of
from arcbandit.kernels.keys import FEW_CONTEXTS
from arcbandit.kernels.program import PRICING_TOLERANCE, ByArm, ByContext, ByRow, Lean


@kernel
def worth(program, weight, price, objective, revenue, root):
    """The value of a pair with these coefficients at its arm's price, per unit of the context's weight."""
    lean = weight * program.lean[Lean.OBJECTIVE] + price * program.lean[Lean.REVENUE]
    return weight * objective + price * revenue + lean * root


@kernel
def value_of(program, weight, arm, context, workspace):
    """`worth` of a pair."""
    price = workspace.by_arm[ByArm.PRICE, arm]
    objective, revenue = program.objective[arm, context], program.revenue[arm, context]
    return worth(program, weight, price, objective, revenue, program.root[arm, context])


@kernel
def value_of_key(program, basis, weight, context, workspace):
    """`value_of` a context's key, from what is kept of the keys if there are many contexts."""
    key = basis.key[context]
    if basis.key.shape[0] <= FEW_CONTEXTS:
        return value_of(program, weight, key, context, workspace)
    price = workspace.by_arm[ByArm.PRICE, key]
    objective = workspace.by_context[ByContext.KEY_OBJECTIVE, context]
    revenue = workspace.by_context[ByContext.KEY_REVENUE, context]
    return worth(program, weight, price, objective, revenue, workspace.by_context[ByContext.KEY_ROOT, context])


@kernel
def key_value_beyond_rounding(program, basis, weight, context, workspace):
    """The value that a pair must exceed to beat its context's key."""
    value = value_of_key(program, basis, weight, context, workspace)
    # By rounding, basic pairs are worth a little more than the key.
    return value + PRICING_TOLERANCE * abs(value)


@kernel
def pair_excess(program, basis, weight, arm, context, workspace):
    """The reduced cost of a pair, what a unit of it adds to the objective; 0 if it is not beyond rounding."""
    key = basis.key[context]
    arm_price = workspace.by_arm[ByArm.PRICE]
    # With one row per arm nothing cancels.
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


@kernel
def rounding_of_a_price(weight, workspace):
    """The rounding of a price times its row's scale, which is a quotient of rewards and revenues of that row."""
    n_rows = workspace.nucleus.shape[0]
    return PRICING_TOLERANCE * max(weight * workspace.by_row[ByRow.SCALE, n_rows], 1e-300)
