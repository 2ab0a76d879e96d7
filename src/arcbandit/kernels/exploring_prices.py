"""The pair that should enter the basis while pairs are unplayed, by looking at few of them.

All unplayed pairs of an arm are worth the same per unit of weight, so one value per arm tells whether any may improve.
For the others each context has a bound, as in `bounds`. A context is looked at if either leaves a doubt.
"""

import numpy as np

from arcbandit.compilation.compile import kernel, rare_kernel
from arcbandit.kernels.bounds import raise_bounds_by_arm, set_bound_of_context
from arcbandit.kernels.program import ByArm, ByContext, Lean
from arcbandit.kernels.reduced_costs import pair_excess, value_of_key, worth
from arcbandit.kernels.unplayed import ROUNDING, ArmPlace, Bound, Kept, OfArm, OfContext

# How far values may drift, relative to the rewards, before bounds are set again.
DRIFT_ALLOWED = 1e-3


@kernel
def stand_in(program, unplayed, arm, context):
    """Write the coefficients of a pair, if it is unplayed."""
    if unplayed.pairs[context, arm]:
        program.objective[arm, context] = unplayed.scalars[Kept.MIDDLE]
        program.root[arm, context] = unplayed.scalars[Kept.ROOT]


@rare_kernel
def value_arms(program, unplayed, workspace):
    """Write the value of the unplayed pairs of each arm, and the order of the arms by it."""
    values, by_value = unplayed.by_arm[OfArm.VALUE], unplayed.arm_places[ArmPlace.BY_VALUE]
    middle, root = unplayed.scalars[Kept.MIDDLE], unplayed.scalars[Kept.ROOT]
    for arm in range(values.shape[0]):
        values[arm] = worth(program, 1.0, workspace.by_arm[ByArm.PRICE, arm], middle, middle, root)
    # The order seldom changes, so insertion takes few steps.
    for place in range(1, values.shape[0]):
        arm = by_value[place]
        before = place - 1
        while before >= 0 and (
            values[by_value[before]] < values[arm]
            or (values[by_value[before]] == values[arm] and by_value[before] > arm)
        ):
            by_value[before + 1] = by_value[before]
            before -= 1
        by_value[before + 1] = arm


@rare_kernel
def refresh_bounds(program, known, basis, lasting, unplayed, workspace):
    """Write bounds on the values of played pairs; return how far drift may have taken these values above them.

    That is by the first number, and by the second one times how far the leans moved since a context's bound was set.
    The third is the rounding of a value. The bounds that are kept stay as they are, unless `lasting` or void: the
    prices between two pivots do not last, and bounds raised to them would make later plans look at contexts without
    need.

    With price p, mean m and root r <= 1, a value is (1 + p) m + (x + p y) r at leans x and y. From p' to p it moves by
    (p - p') (m + y r), from x' and y' to x and y by ((x - x') + p (y - y')) r.
    """
    n_arms, n_contexts = program.available.shape
    scalars = unplayed.scalars
    bound = workspace.by_context[ByContext.VALUE_BOUND]
    kept_price = unplayed.by_arm[OfArm.PRICE]
    # Of all leans since bounds were void: which one goes with a kept price is not known.
    lean = max(scalars[Kept.LARGEST_LEAN], abs(program.lean[Lean.OBJECTIVE]), abs(program.lean[Lean.REVENUE]))
    scalars[Kept.LARGEST_LEAN] = lean
    size = 0.0
    largest_price = 0.0
    for arm in range(n_arms):
        size = max(size, unplayed.by_arm[OfArm.MEAN_SIZE, arm] + lean)
        largest_price = max(largest_price, abs(workspace.by_arm[ByArm.PRICE, arm]))
    allowed = DRIFT_ALLOWED * size
    rate = 1.0 + largest_price
    is_void = scalars[Kept.PATH_OF_ALL] < 0.0
    keeps = lasting or is_void
    set_all = is_void or (lasting and rate * (scalars[Kept.PATH] - scalars[Kept.PATH_OF_ALL]) > allowed)
    if set_all:
        scalars[Kept.PATH_OF_ALL] = scalars[Kept.PATH]
        for context in range(n_contexts):
            unplayed.bounds[Bound.VALUE, context] = -np.inf
            unplayed.bounds[Bound.PATH, context] = scalars[Kept.PATH]
    for context in range(n_contexts):
        bound[context] = unplayed.bounds[Bound.VALUE, context]
    moved_most = 0.0
    raised = False
    for arm in range(n_arms):
        moved = abs(workspace.by_arm[ByArm.PRICE, arm] - kept_price[arm])
        moved *= unplayed.by_arm[OfArm.MEAN_SIZE, arm] + lean
        if set_all or moved > allowed:
            raised = True
            raise_bounds_by_arm(known, basis, workspace.face, 1.0, arm, workspace)
            if keeps:
                kept_price[arm] = workspace.by_arm[ByArm.PRICE, arm]
        else:
            moved_most = max(moved_most, moved)
    if raised and keeps:
        for context in range(n_contexts):
            unplayed.bounds[Bound.VALUE, context] = bound[context]
    of_unplayed = abs(scalars[Kept.MIDDLE]) + lean * scalars[Kept.ROOT]
    rounding = ROUNDING * rate * (size + of_unplayed + scalars[Kept.PATH])
    return moved_most + rounding, rate, rounding


@rare_kernel
def look_at_context(program, known, basis, unplayed, context, workspace):
    """The best nonbasic pair of a context: (reduced cost, arm), reduced cost 0 if none improves.

    The value of the best played one is left in the workspace as the context's bound.
    """
    _, chosen = set_bound_of_context(known, basis, workspace.face, 1.0, context, workspace)
    best = workspace.by_context[ByContext.VALUE_BOUND, context]
    if unplayed.by_context[OfContext.UNPLAYED, context] > 0:
        for place in range(program.available.shape[0]):
            arm = unplayed.arm_places[ArmPlace.BY_VALUE, place]
            if unplayed.pairs[context, arm] and arm != basis.key[context]:
                basic = False
                for slot in range(basis.slot_arm.shape[0]):
                    basic |= basis.slot_arm[slot] == arm and basis.slot_context[slot] == context
                if not basic:
                    value = unplayed.by_arm[OfArm.VALUE, arm]
                    if value > best or (value == best and arm < chosen):
                        chosen = arm
                    break
    if chosen < 0:
        return 0.0, -1
    stand_in(program, unplayed, chosen, context)
    stand_in(program, unplayed, basis.key[context], context)
    return pair_excess(program, basis, 1.0, chosen, context, workspace), chosen


@rare_kernel
def best_unplayed_value(unplayed, context, key, least):
    """The largest value of an unplayed pair of the context other than the key; `least` if none is larger than that."""
    for place in range(unplayed.by_arm.shape[1]):
        arm = unplayed.arm_places[ArmPlace.BY_VALUE, place]
        if not unplayed.by_arm[OfArm.VALUE, arm] > least:
            return least
        if unplayed.pairs[context, arm] and arm != key:
            return unplayed.by_arm[OfArm.VALUE, arm]
    return least


@kernel
def is_capped(program, unplayed, workspace):
    """Whether no played pair is worth more than an unplayed one of its arm.

    So it is if what stands in for unplayed pairs is the largest upper bound of all, and both sides lean as far. Rewards
    of few values make many pairs worth exactly that.
    """
    capped = (
        unplayed.scalars[Kept.IS_LARGEST_BOUND] != 0.0 and program.lean[Lean.OBJECTIVE] == program.lean[Lean.REVENUE]
    )
    for arm in range(program.available.shape[0]):
        capped &= workspace.by_arm[ByArm.PRICE, arm] > -1.0
    return capped


@kernel
def bound_excesses(program, basis, off, rate, rounding, unplayed, workspace):
    """Write a bound on the reduced costs of each context, negative if none improves; return the context of the largest.

    It is -1 if there is none in which a pair may improve.
    """
    best_value = unplayed.by_arm[OfArm.VALUE, unplayed.arm_places[ArmPlace.BY_VALUE, 0]]
    path = unplayed.scalars[Kept.PATH]
    cap = best_value if is_capped(program, unplayed, workspace) else np.inf
    first = -1
    largest = -1.0
    for context in range(basis.key.shape[0]):
        value = value_of_key(program, basis, 1.0, context, workspace)
        bound = workspace.by_context[ByContext.VALUE_BOUND, context] + off
        bound += rate * (path - unplayed.bounds[Bound.PATH, context])
        # A reduced cost is not beyond rounding if the values differ by less than this part.
        least = value + ROUNDING * abs(value)
        excess = -1.0
        if best_value > least and unplayed.by_context[OfContext.UNPLAYED, context] > 0:
            better = best_unplayed_value(unplayed, context, basis.key[context], least)
            bound = better if better > least and better > bound else bound
        if value <= bound and least < cap:
            excess = program.weights[context] * (bound - value + rounding)
            if excess > largest:
                largest = excess
                first = context
        unplayed.bounds[Bound.EXCESS, context] = excess
    return first


@rare_kernel
def best_pair_exploring(program, known, basis, lasting, unplayed, workspace):
    """`entering.best_pair` while pairs are unplayed: the same pair. `lasting` is as in `refresh_bounds`."""
    value_arms(program, unplayed, workspace)
    off, rate, rounding = refresh_bounds(program, known, basis, lasting, unplayed, workspace)
    first = bound_excesses(program, basis, off, rate, rounding, unplayed, workspace)
    best = 0.0
    chosen = -1
    where = -1
    # The context that seems best comes first: most others then need not be looked at.
    for turn in range(-1, basis.key.shape[0]):
        context = first if turn < 0 else turn
        if context < 0 or (turn == first and turn >= 0):
            continue
        limit = unplayed.bounds[Bound.EXCESS, context]
        if limit >= 0.0 and limit >= best:
            excess, arm = look_at_context(program, known, basis, unplayed, context, workspace)
            if lasting:
                # Kept for the prices at which bounds are kept, from which those at hand may be off.
                found = workspace.by_context[ByContext.VALUE_BOUND, context]
                unplayed.bounds[Bound.VALUE, context] = found + off
                unplayed.bounds[Bound.PATH, context] = unplayed.scalars[Kept.PATH]
            if excess > best or (excess == best > 0.0 and context < where):
                best = excess
                chosen = arm
                where = context
    return best, chosen, where
