"""Basic columns by position: a slot, or M + c for the key of context c.

A ratio test meets them by place: each slot, then the key of each slot's context (a key shared by two slots is met
twice, harmlessly), then the key of the entering column's context.
"""

from arcbandit.compilation.compile import kernel
from arcbandit.kernels.program import ByContext, ByRow, Column, Scalar

NOTHING_ENTERS = -1  # in place of the context of the column that enters


@kernel
def position_of(basis, place, entering_context):
    """The position of the basic column at a place of the ratio test."""
    n_rows = basis.slot_arm.shape[0]
    if place < n_rows:
        return place
    return n_rows + (entering_context if place == 2 * n_rows else basis.slot_context[place - n_rows])


@kernel
def step_of(basis, place, entering_context, workspace):
    """The value of the basic column at a place of the ratio test and how fast it falls; zeros if there is none."""
    n_rows = basis.slot_arm.shape[0]
    if place < n_rows:
        return workspace.by_row[ByRow.SLOT_VALUE, place], workspace.by_row[ByRow.DIRECTION, place]
    context = entering_context if place == 2 * n_rows else basis.slot_context[place - n_rows]
    if context < 0:
        return 0.0, 0.0
    return workspace.by_context[ByContext.KEY_SHARE, context], workspace.by_context[ByContext.KEY_DIRECTION, context]


@kernel
def column_index(basis, position, n_contexts, n_pairs):
    """A number for a basic column that does not depend on its position."""
    n_rows = basis.slot_arm.shape[0]
    if position >= n_rows:
        context = position - n_rows
        return basis.key[context] * n_contexts + context
    context = basis.slot_context[position]
    if context == Column.SURPLUS:
        return n_pairs + basis.slot_arm[position]
    if context == Column.SHORTFALL:
        return n_pairs + n_rows + basis.slot_arm[position]
    return basis.slot_arm[position] * n_contexts + context


@kernel
def least_share_of_pairs(basis, workspace):
    """The least share of a pair of an evaluated basis, whatever surpluses and shortfalls are."""
    least = 1.0
    for slot in range(basis.slot_arm.shape[0]):
        context = basis.slot_context[slot]
        if context >= 0:
            least = min(least, workspace.by_row[ByRow.SLOT_VALUE, slot])
            least = min(least, workspace.by_context[ByContext.KEY_SHARE, context])
    return least


@kernel
def write_least(basis, workspace):
    """Write the least value of a basic column, at most 1, and return it."""
    least = 1.0
    for slot in range(basis.slot_arm.shape[0]):
        value = workspace.by_row[ByRow.SLOT_VALUE, slot]
        least = value if value < least else least
        context = basis.slot_context[slot]
        if context >= 0:
            share = workspace.by_context[ByContext.KEY_SHARE, context]
            least = share if share < least else least
    workspace.scalars[Scalar.LEAST_SHARE] = least
    return least
