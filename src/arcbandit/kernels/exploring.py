"""Planning while pairs are unplayed, in problems of many pairs: the plan of `find_plan`, from what is kept.

The same steps are taken from the same basis with the same numbers. If anything unusual happens, the basis is restored
and False returned: the plan must then be made by looking at every pair.
"""

import numpy as np

from arcbandit.compilation.compile import kernel, rare_kernel, shared_kernel
from arcbandit.kernels.allocation import clip_allocation
from arcbandit.kernels.basic_columns import write_least
from arcbandit.kernels.confidence import ByPair, stand_in_for_unplayed
from arcbandit.kernels.dual_step import dual_entering, most_negative, prepare_dual_row
from arcbandit.kernels.entering import price_rows
from arcbandit.kernels.evaluation import evaluate
from arcbandit.kernels.exploring_prices import best_pair_exploring, stand_in
from arcbandit.kernels.exploring_scales import write_scales
from arcbandit.kernels.keys import FEW_CONTEXTS, add_key, look_up_key
from arcbandit.kernels.marks import UNCHANGED
from arcbandit.kernels.planner import Coefficient
from arcbandit.kernels.planning import open_rows
from arcbandit.kernels.primal_step import blocking_column, move_along
from arcbandit.kernels.program import RATIO_TOLERANCE, ByArm, ByContext, ByRow, Count, Elimination, Scalar
from arcbandit.kernels.simplex import STALLED_PIVOTS, replace
from arcbandit.kernels.starts import is_usable
from arcbandit.kernels.unplayed import Bound, Kept, KeyState, OfContext, SlotPart, Tries, note_played

LONGEST_PAUSE = 64  # plans made by looking at every pair, after several tries that failed


@rare_kernel
def take_in_changes(statistics, available, weights, coefficients, unplayed, workspace):
    """Bring what is kept up to date with the contexts that are marked as changed, and unmark them.

    Return whether every pair was played by now. The allocation is that of an earlier round from here on.
    """
    means, roots = coefficients[Coefficient.OBJECTIVE], coefficients[Coefficient.REVENUE_OR_ROOT]
    for context in range(available.shape[1]):
        if statistics.changed[context] != UNCHANGED:
            statistics.changed[context] = UNCHANGED
            unplayed.bounds[Bound.VALUE, context] = np.inf
            unplayed.by_context[OfContext.KEY, context] = KeyState.UNKNOWN
            for arm in range(available.shape[0]):
                mean = statistics.by_pair[ByPair.MEAN, arm, context]
                root = statistics.by_pair[ByPair.INVERSE_ROOT, arm, context]
                differs = mean != means[arm, context] or root != roots[arm, context]
                # What stands in for a pair may happen to be what its first reward comes to.
                if root > 0.0 and (differs or unplayed.pairs[context, arm] or not available[arm, context]):
                    means[arm, context] = mean
                    roots[arm, context] = root
                    workspace.face[arm, context] = available[arm, context]
                    note_played(statistics, available, weights, unplayed, arm, context)
    unplayed.scalars[Kept.IS_WRITTEN] = 0.0
    return unplayed.scalars[Kept.COUNT] == 0.0


@rare_kernel
def begin_exploring_plan(program, statistics, unplayed, workspace):
    """Void what is kept of bounds, keys and the allocation."""
    open_rows(workspace, 0)
    for arm in range(program.available.shape[0]):
        for context in range(program.available.shape[1]):
            played = statistics.by_pair[ByPair.INVERSE_ROOT, arm, context] > 0.0
            workspace.face[arm, context] = played and program.available[arm, context]
    for context in range(program.available.shape[1]):
        unplayed.by_context[OfContext.KEY, context] = KeyState.UNKNOWN
        unplayed.by_context[OfContext.STALE, context] = 1
    unplayed.scalars[Kept.PATH] = 0.0
    unplayed.scalars[Kept.PATH_OF_ALL] = -1.0
    unplayed.scalars[Kept.LARGEST_LEAN] = 0.0
    workspace.elimination[Elimination.KEPT] = 0


@rare_kernel
def write_basic_stand_ins(program, basis, every_key, unplayed):
    """Write the coefficients of unplayed slots and of the keys of their contexts, or of all keys."""
    for slot in range(basis.slot_arm.shape[0]):
        context = basis.slot_context[slot]
        if context >= 0:
            stand_in(program, unplayed, basis.slot_arm[slot], context)
            stand_in(program, unplayed, basis.key[context], context)
    if every_key:
        for context in range(basis.key.shape[0]):
            stand_in(program, unplayed, basis.key[context], context)


@rare_kernel
def keep_keys(program, basis, unplayed, workspace):
    """`look_up_keys`, where those of unplayed pairs are known and those of others are kept."""
    middle, root = unplayed.scalars[Kept.MIDDLE], unplayed.scalars[Kept.ROOT]
    state = unplayed.by_context[OfContext.KEY]
    for arm in range(program.arm_rows.shape[0]):
        workspace.by_arm[ByArm.KEY_REVENUE_SUM, arm] = 0.0
        workspace.by_arm[ByArm.KEY_ROOT_SUM, arm] = 0.0
    for context in range(basis.key.shape[0]):
        if state[context] == KeyState.UNKNOWN:
            is_unplayed = unplayed.pairs[context, basis.key[context]]
            state[context] = KeyState.UNPLAYED if is_unplayed else KeyState.PLAYED
            look_up_key(program, basis, context, workspace)
        if state[context] == KeyState.UNPLAYED:
            workspace.by_context[ByContext.KEY_OBJECTIVE, context] = middle
            workspace.by_context[ByContext.KEY_REVENUE, context] = middle
            workspace.by_context[ByContext.KEY_ROOT, context] = root
        add_key(program, basis.key[context], context, workspace)
    workspace.counts[Count.KEYS_KEPT] = 1


@kernel
def note_pivot(basis, leaving, unplayed):
    """Note that the context of the column that leaves has another bound, key and column of the allocation."""
    n_rows = basis.slot_arm.shape[0]
    emptied = basis.slot_context[leaving] if leaving < n_rows else leaving - n_rows
    if emptied >= 0:
        unplayed.bounds[Bound.VALUE, emptied] = np.inf
        unplayed.by_context[OfContext.KEY, emptied] = KeyState.UNKNOWN
        unplayed.by_context[OfContext.STALE, emptied] = 1


@rare_kernel
def keep_basis(basis, unplayed):
    """Remember a basis."""
    for context in range(basis.key.shape[0]):
        unplayed.by_context[OfContext.KEY_BEFORE, context] = basis.key[context]
    for slot in range(basis.slot_arm.shape[0]):
        unplayed.slots_before[SlotPart.ARM, slot] = basis.slot_arm[slot]
        unplayed.slots_before[SlotPart.CONTEXT, slot] = basis.slot_context[slot]


@rare_kernel
def put_back_basis(basis, unplayed):
    """Go back to the basis remembered."""
    for context in range(basis.key.shape[0]):
        basis.key[context] = unplayed.by_context[OfContext.KEY_BEFORE, context]
    for slot in range(basis.slot_arm.shape[0]):
        basis.slot_arm[slot] = unplayed.slots_before[SlotPart.ARM, slot]
        basis.slot_context[slot] = unplayed.slots_before[SlotPart.CONTEXT, slot]


@rare_kernel
def find_optimal_basis(program, known, basis, statistics, unplayed, workspace, allocation):
    """`simplex` in the usual case: return whether it led to an optimal basis, and after how many pivots."""
    n_rows = basis.slot_arm.shape[0]
    n_contexts = basis.key.shape[0]
    stalled = 0
    for pivots in range(STALLED_PIVOTS + 3 * (n_rows + n_contexts)):
        if not evaluate(program, basis, 1.0, 0.0, workspace):
            return False, pivots
        leaving = -1
        if write_least(basis, workspace) < 0.0:
            write_basic_stand_ins(program, basis, True, unplayed)
            leaving = most_negative(program, basis, workspace)
        if leaving >= 0:
            prepare_dual_row(program, basis, leaving, workspace)
            middle, root = unplayed.scalars[Kept.MIDDLE], unplayed.scalars[Kept.ROOT]
            stand_in_for_unplayed(statistics, middle, root, program.objective, program.root)
            arm, context = dual_entering(program, basis, workspace)
            if arm < 0:
                return False, pivots
        else:
            excess, arm, context = best_pair_exploring(program, known, basis, pivots == 0, unplayed, workspace)
            row_excess, row, kind = price_rows(program, basis, 1.0, 0.0, workspace)
            if row_excess > excess:
                excess, arm, context = row_excess, row, kind
            if not excess > 0.0:
                return True, pivots
            move_along(program, basis, arm, context, workspace)
            step, leaving = blocking_column(program, basis, context, False, workspace)
            stalled = stalled + 1 if step <= RATIO_TOLERANCE else 0
            if leaving < 0 or stalled > STALLED_PIVOTS + n_rows:
                return False, pivots
        if pivots == 0:
            keep_basis(basis, unplayed)
        note_pivot(basis, leaving, unplayed)
        replace(program, basis, leaving, arm, context, False, workspace, allocation)
        workspace.counts[Count.PIVOTS] += 1
    return False, 1


@rare_kernel
def write_column(basis, unplayed, context, allocation):
    """Write the column of a context: its unplayed arms alike if there are any, otherwise the key alone."""
    count = unplayed.by_context[OfContext.UNPLAYED, context]
    for arm in range(allocation.shape[0]):
        allocation[arm, context] = 1.0 / count if unplayed.pairs[context, arm] else 0.0
    if count == 0:
        allocation[basis.key[context], context] = 1.0
    unplayed.by_context[OfContext.STALE, context] = 0


@rare_kernel
def write_exploring_allocation(basis, unplayed, workspace, allocation):
    """Write what changed in the allocation: the plan, but in contexts with unplayed arms these alike."""
    count = unplayed.by_context[OfContext.UNPLAYED]
    for context in range(basis.key.shape[0]):
        if unplayed.by_context[OfContext.STALE, context] != 0:
            write_column(basis, unplayed, context, allocation)
    for slot in range(basis.slot_arm.shape[0]):
        context = basis.slot_context[slot]
        if context >= 0 and count[context] == 0:
            allocation[basis.slot_arm[slot], context] = workspace.by_row[ByRow.SLOT_VALUE, slot]
            allocation[basis.key[context], context] = workspace.by_context[ByContext.KEY_SHARE, context]
    if workspace.scalars[Scalar.LEAST_SHARE] < 0.0:
        clip_allocation(basis, workspace, allocation)
        for slot in range(basis.slot_arm.shape[0]):
            context = basis.slot_context[slot]
            if context >= 0 and count[context] > 0:
                write_column(basis, unplayed, context, allocation)


@kernel
def sits_out(place, unplayed):
    """Whether a plan of this place is to be made by looking at every pair, as earlier tries failed; count it if so."""
    if unplayed.tries[Tries.PAUSE, place] > 0.0:
        unplayed.tries[Tries.PAUSE, place] -= 1.0
        return True
    return False


@kernel
def note_failure(place, unplayed):
    """Sit out the next plans of this place: after each failure in a row twice as many and one more, up to a limit."""
    pause = min(2.0 * unplayed.tries[Tries.LAST_PAUSE, place] + 1.0, LONGEST_PAUSE)
    unplayed.tries[Tries.LAST_PAUSE, place] = pause
    unplayed.tries[Tries.PAUSE, place] = pause


@shared_kernel
def plan_exploring(program, known, basis, place, statistics, moved, unplayed, workspace, allocation):
    """Plan as `find_plan` does and write the allocation with its exploring columns; return whether that was possible.

    `program` has the leans at hand, and means and roots that are right for played pairs; `known` is the same with the
    statistics themselves. `moved` is how far the leans moved since the last round.
    """
    scalars = unplayed.scalars
    scalars[Kept.PATH] += moved
    if scalars[Kept.PLAN_OF] != 1.0 + place:
        if not is_usable(program, basis):
            return False
        begin_exploring_plan(program, statistics, unplayed, workspace)
    scalars[Kept.PLAN_OF] = 0.0
    write_scales(program, statistics, unplayed, workspace)
    write_basic_stand_ins(program, basis, basis.key.shape[0] <= FEW_CONTEXTS, unplayed)
    if basis.key.shape[0] > FEW_CONTEXTS:
        keep_keys(program, basis, unplayed, workspace)
    workspace.counts[Count.BOUNDS_OF] = 0
    before = workspace.counts[Count.PIVOTS]
    found, pivots = find_optimal_basis(program, known, basis, statistics, unplayed, workspace, allocation)
    if not found:
        if pivots > 0:
            put_back_basis(basis, unplayed)
        workspace.counts[Count.PIVOTS] = before
        note_failure(place, unplayed)
        return False
    unplayed.tries[Tries.LAST_PAUSE, place] = 0.0
    write_exploring_allocation(basis, unplayed, workspace, allocation)
    scalars[Kept.PLAN_OF] = 1.0 + place
    scalars[Kept.IS_WRITTEN] = 1.0
    return True
