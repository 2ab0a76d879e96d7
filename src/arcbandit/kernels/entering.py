"""Choosing the column that enters the basis in a primal step, by its reduced cost."""

import numpy as np

from arcbandit.compilation.compile import kernel, rare_kernel
from arcbandit.kernels.bounds import FEW_PAIRS, refresh_bounds, set_bound_of_context, take_in_pair
from arcbandit.kernels.keys import FEW_CONTEXTS
from arcbandit.kernels.marks import BLOCK, ONE_ARM, UNCHANGED, is_marked
from arcbandit.kernels.program import PRICING_TOLERANCE, ByContext, ByRow, Column, Order
from arcbandit.kernels.reduced_costs import (
    key_value_beyond_rounding,
    pair_excess,
    rounding_of_a_price,
    value_of,
    value_of_key,
)


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
def is_in_doubt(program, basis, weight, off, first, last, workspace):
    """Whether `best_among` is to look at one of the contexts from `first` up to but not including `last`."""
    found = False
    for context in range(np.uint64(first), np.uint64(last)):
        value = value_of_key(program, basis, weight, context, workspace)
        bound = workspace.by_context[ByContext.VALUE_BOUND, context] + off
        found |= value <= bound
    return found or is_marked(program.changed, first, last)


@kernel
def best_among(program, basis, allowed, weight, off, first, last, so_far, workspace):
    """The better of the pair `so_far` and the best one of the contexts from `first` up to but not including `last`."""
    best, chosen, where = so_far
    for context in range(first, last):
        if program.changed[context] >= ONE_ARM:
            take_in_pair(program, basis, allowed, weight, context, workspace)
        value = value_of_key(program, basis, weight, context, workspace)
        bound = workspace.by_context[ByContext.VALUE_BOUND, context] + off
        if value <= bound or program.changed[context] != UNCHANGED:
            excess, arm = set_bound_of_context(program, basis, allowed, weight, context, workspace)
            if excess > best:
                best = excess
                chosen = arm
                where = context
    return best, chosen, where


@kernel
def best_pair(program, basis, allowed, weight, workspace):
    """The nonbasic pair of largest reduced cost: (reduced cost, arm, context), reduced cost 0 if none improves."""
    if allowed.size <= FEW_PAIRS:
        return best_of_few(program, basis, allowed, weight, workspace)
    off = refresh_bounds(program, basis, allowed, weight, workspace)
    best = (0.0, -1, -1)
    n_contexts = basis.key.shape[0]
    if n_contexts <= FEW_CONTEXTS:
        return best_among(program, basis, allowed, weight, off, 0, n_contexts, best, workspace)
    for first in range(0, n_contexts, BLOCK):
        last = min(first + BLOCK, n_contexts)
        if is_in_doubt(program, basis, weight, off, first, last, workspace):
            best = best_among(program, basis, allowed, weight, off, first, last, best, workspace)
    return best


@rare_kernel
def first_improving(program, basis, allowed, weight, workspace):
    """Bland's choice, the improving pair of least index: (reduced cost, arm, context), reduced cost 0 if none does."""
    n_arms, n_contexts = allowed.shape
    for arm in range(n_arms):
        for context in range(n_contexts):
            if allowed[arm, context] and basis.key[context] != arm:
                excess = pair_excess(program, basis, weight, arm, context, workspace)
                if excess > 0.0:
                    return excess, arm, context
    return 0.0, -1, 0


@kernel
def price_rows(program, basis, weight, shortfall_price, workspace):
    """The best surplus or shortfall to enter: (reduced cost, row, kind), reduced cost 0 if none improves."""
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


@kernel
def improving_column(program, basis, allowed, weight, shortfall_price, bland, workspace):
    """A column that improves: (reduced cost, arm or row, context or kind), reduced cost 0 if none does."""
    if bland:
        excess, arm, context = first_improving(program, basis, allowed, weight, workspace)
        if excess > 0.0:
            return excess, arm, context
    else:
        excess, arm, context = best_pair(program, basis, allowed, weight, workspace)
    row_excess, row, kind = price_rows(program, basis, weight, shortfall_price, workspace)
    if row_excess > excess:
        return row_excess, row, kind
    return excess, arm, context


@kernel
def may_improve(program, basis, workspace):
    """Whether a pair or a surplus seems to improve; branch-free for few pairs, to avoid warp divergence on a GPU."""
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
