"""From an evaluated basis to an allocation."""

from arcbandit.compilation.compile import kernel, rare_kernel
from arcbandit.kernels.program import ByContext, ByRow, Scalar


@rare_kernel
def clip_allocation(basis, workspace, allocation):
    """Clip shares that rounding left below zero, and scale the columns concerned so that they sum to 1."""
    total = workspace.by_context[ByContext.KEY_DIRECTION]
    for slot in range(basis.slot_arm.shape[0]):
        context = basis.slot_context[slot]
        if context >= 0:
            total[context] = max(workspace.by_context[ByContext.KEY_SHARE, context], 0.0)
    for slot in range(basis.slot_arm.shape[0]):
        context = basis.slot_context[slot]
        if context >= 0:
            total[context] += max(workspace.by_row[ByRow.SLOT_VALUE, slot], 0.0)
    for slot in range(basis.slot_arm.shape[0]):
        context = basis.slot_context[slot]
        if context >= 0:
            share = max(workspace.by_row[ByRow.SLOT_VALUE, slot], 0.0)
            key_share = max(workspace.by_context[ByContext.KEY_SHARE, context], 0.0)
            allocation[basis.slot_arm[slot], context] = share / total[context]
            allocation[basis.key[context], context] = key_share / total[context]


@kernel
def write_shares(basis, kept, workspace, allocation):
    """Write the shares of an evaluated basis as they are, shape (K, C), be they below zero or not.

    If `allocation` is `kept`, it holds an earlier plan without the pairs that left the basis since: then only contexts
    with slots are written, as in any other the key has a share of 1.
    """
    n_arms, n_contexts = allocation.shape
    if not kept:
        for arm in range(n_arms):
            for context in range(n_contexts):
                allocation[arm, context] = 0.0
        for context in range(n_contexts):
            allocation[basis.key[context], context] = 1.0
    for slot in range(basis.slot_arm.shape[0]):
        context = basis.slot_context[slot]
        if context >= 0:
            allocation[basis.slot_arm[slot], context] = workspace.by_row[ByRow.SLOT_VALUE, slot]
            allocation[basis.key[context], context] = workspace.by_context[ByContext.KEY_SHARE, context]


@kernel
def write_allocation(basis, kept, workspace, allocation):
    """`write_shares`, but with no share below zero, and columns that sum to 1."""
    write_shares(basis, kept, workspace, allocation)
    if workspace.scalars[Scalar.LEAST_SHARE] < 0.0:
        clip_allocation(basis, workspace, allocation)
