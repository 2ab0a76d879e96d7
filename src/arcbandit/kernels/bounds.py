"""Bounds on the values of nonbasic pairs, kept from round to round so that few pairs are looked at in each.

A context's bound is its best nonbasic value at the prices and leans of the time. It is computed again only when drift
since then could have used up its distance from the key's value.
"""

import numpy as np

from arcbandit.compilation.compile import kernel, rare_kernel
from arcbandit.kernels.marks import ONE_ARM, UNCHANGED
from arcbandit.kernels.program import DRIFT_ALLOWED, SOMEBODY, ByArm, ByContext, ByRow, Count, Lean, Scalar
from arcbandit.kernels.reduced_costs import pair_excess, value_of
from arcbandit.kernels.scales import measure_scales

FEW_PAIRS = 128  # up to here it is faster to look at every pair than to keep bounds


@rare_kernel
def raise_bounds_by_arm(program, basis, allowed, weight, arm, workspace):
    """Raise the bound of each context to the value of the arm's pair there, if that is nonbasic."""
    price = workspace.by_arm[ByArm.PRICE, arm]
    lean = weight * program.lean[Lean.OBJECTIVE] + price * program.lean[Lean.REVENUE]
    bound = workspace.by_context[ByContext.VALUE_BOUND]
    set_aside = workspace.by_row[ByRow.SCRATCH]
    # The arm's slots do not count; their bounds are put back afterwards, which saves the loop below a branch.
    for slot in range(basis.slot_arm.shape[0]):
        if basis.slot_arm[slot] == arm and basis.slot_context[slot] >= 0:
            set_aside[slot] = bound[basis.slot_context[slot]]
    for context in range(basis.key.shape[0]):
        value = (
            weight * program.objective[arm, context]
            + price * program.revenue[arm, context]
            + lean * program.root[arm, context]
        )
        # Without a branch, several contexts are worked on at once.
        is_higher = (value > bound[context]) & (basis.key[context] != arm) & allowed[arm, context]
        bound[context] = value if is_higher else bound[context]
    for slot in range(basis.slot_arm.shape[0]):
        if basis.slot_arm[slot] == arm and basis.slot_context[slot] >= 0:
            bound[basis.slot_context[slot]] = set_aside[slot]
    workspace.by_arm[ByArm.PRICE_AT_BOUND, arm] = price


@kernel
def is_basic(basis, arm, context):
    """Whether a pair that is not a key fills a slot."""
    basic = False
    for slot in range(basis.slot_arm.shape[0]):
        basic |= (basis.slot_arm[slot] == arm) & (basis.slot_context[slot] == context)
    return basic


@rare_kernel
def best_nonbasic(program, basis, allowed, weight, context, workspace):
    """The best nonbasic value of a context that has slots, and its arm: (-inf, -1) if there is none."""
    best = -np.inf
    chosen = -1
    for arm in range(allowed.shape[0]):
        if allowed[arm, context] and basis.key[context] != arm:
            value = value_of(program, weight, arm, context, workspace)
            if value > best and not is_basic(basis, arm, context):
                best = value
                chosen = arm
    return best, chosen


@kernel
def take_in_sizes(program, arm, context, workspace):
    """Raise the sizes that bounds are kept by to those of a pair."""
    root = program.root[arm, context]
    revenue = abs(program.revenue[arm, context] + program.lean[Lean.REVENUE] * root)
    workspace.by_arm[ByArm.REVENUE_SCALE, arm] = max(workspace.by_arm[ByArm.REVENUE_SCALE, arm], revenue)
    # It grows where rewards are forgotten.
    workspace.scalars[Scalar.LARGEST_ROOT] = max(workspace.scalars[Scalar.LARGEST_ROOT], abs(root))


@kernel
def take_in_pair(program, basis, allowed, weight, context, workspace):
    """Raise a context's bound to the value of the only pair that changed there, if that is nonbasic; unmark it.

    If the value fell, the bound is higher than it need be: then the context is looked at when that leaves a doubt.
    """
    arm = np.int64(program.changed[context]) - ONE_ARM
    program.changed[context] = UNCHANGED
    take_in_sizes(program, arm, context, workspace)
    value = value_of(program, weight, arm, context, workspace)
    bound = workspace.by_context[ByContext.VALUE_BOUND, context]
    # One branch is foretold more often than three.
    is_higher = (value > bound) & (arm != basis.key[context]) & allowed[arm, context]
    if is_higher and not is_basic(basis, arm, context):
        workspace.by_context[ByContext.VALUE_BOUND, context] = value


@rare_kernel
def set_bound_of_context(program, basis, allowed, weight, context, workspace):
    """Set a context's bound to its best nonbasic value; return (reduced cost, arm), reduced cost 0 if none improves."""
    n_arms = allowed.shape[0]
    if program.changed[context] != UNCHANGED:
        for arm in range(n_arms):
            take_in_sizes(program, arm, context, workspace)
        program.changed[context] = UNCHANGED
    best = -np.inf
    chosen = -1
    key = basis.key[context]
    # Most contexts have no slot: whether the best pair fills one is asked once, afterwards, which saves branches.
    for arm in range(n_arms):
        value = value_of(program, weight, arm, context, workspace)
        is_better = (value > best) & (arm != key) & allowed[arm, context]
        best = value if is_better else best
        chosen = arm if is_better else chosen
    if is_basic(basis, chosen, context):
        best, chosen = best_nonbasic(program, basis, allowed, weight, context, workspace)
    workspace.by_context[ByContext.VALUE_BOUND, context] = best
    if chosen < 0:
        return 0.0, -1
    return pair_excess(program, basis, weight, chosen, context, workspace), chosen


@kernel
def refresh_bounds(program, basis, allowed, weight, workspace):
    """Bring the bounds up to date with the prices and leans; return how far they may still be off.

    The values of an arm are taken in again if its price moved too far, those of all arms if the leans did.
    """
    n_arms = allowed.shape[0]
    off = DRIFT_ALLOWED * workspace.scalars[Scalar.REWARD_SCALE]
    largest_price = 0.0
    for arm in range(n_arms):
        largest_price = max(largest_price, abs(workspace.by_arm[ByArm.PRICE, arm]))
    drift = workspace.scalars[Scalar.LARGEST_ROOT] * (
        weight * abs(program.lean[Lean.OBJECTIVE] - workspace.scalars[Scalar.OBJECTIVE_LEAN_AT_BOUND])
        + largest_price * abs(program.lean[Lean.REVENUE] - workspace.scalars[Scalar.REVENUE_LEAN_AT_BOUND])
    )
    if workspace.counts[Count.BOUNDS_OF] == 0 or drift > off:
        if workspace.counts[Count.BOUNDS_OF] != 0:
            measure_scales(program, False, workspace)
        for context in range(basis.key.shape[0]):
            workspace.by_context[ByContext.VALUE_BOUND, context] = -np.inf
            program.changed[context] = UNCHANGED
        for arm in range(n_arms):
            raise_bounds_by_arm(program, basis, allowed, weight, arm, workspace)
        workspace.scalars[Scalar.OBJECTIVE_LEAN_AT_BOUND] = program.lean[Lean.OBJECTIVE]
        workspace.scalars[Scalar.REVENUE_LEAN_AT_BOUND] = program.lean[Lean.REVENUE]
        workspace.counts[Count.BOUNDS_OF] = SOMEBODY
        return 0.0
    for arm in range(n_arms):
        moved = abs(workspace.by_arm[ByArm.PRICE, arm] - workspace.by_arm[ByArm.PRICE_AT_BOUND, arm])
        if moved * workspace.by_arm[ByArm.REVENUE_SCALE, arm] > 0.5 * off:
            raise_bounds_by_arm(program, basis, allowed, weight, arm, workspace)
    return 2.0 * off
