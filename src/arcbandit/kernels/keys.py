"""What is kept of the keys from one plan to the next: their coefficients, and sums of these over contexts.

With many contexts, a plan would spend most of its time looking up keys that did not change.
"""

import math

import numpy as np

from arcbandit.compilation.compile import kernel
from arcbandit.kernels.marks import BLOCK, UNCHANGED, is_marked
from arcbandit.kernels.program import ByArm, ByContext, Count

FEW_CONTEXTS = 64  # up to here it is faster to look up all keys than to keep sums over them


@kernel
def look_up_key(program, basis, context, workspace):
    """Keep the coefficients of a context's key; return its arm."""
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
def is_key(basis, arm, first, last):
    """Whether the arm is the key of a context from `first` up to but not including `last`."""
    found = False
    for context in range(np.uint64(first), np.uint64(last)):
        found |= basis.key[context] == arm
    return found


@kernel
def look_up_keys(program, basis, workspace):
    """Bring what is kept of the keys up to date: their coefficients per context and the sums of these per arm.

    Only what changed is looked up, and only the sums of the arms concerned are computed again. Each sum is always taken
    over contexts in order, so that it does not depend on what was kept.
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
    for first in range(0, n_contexts, BLOCK):
        last = min(first + BLOCK, n_contexts)
        if is_marked(program.changed, first, last):
            for context in range(first, last):
                if program.changed[context] != UNCHANGED:
                    revenue_sum[look_up_key(program, basis, context, workspace)] = np.nan
    for arm in range(revenue_sum.shape[0]):
        if math.isnan(revenue_sum[arm]):
            revenue_sum[arm] = 0.0
            root_sum[arm] = 0.0
            for first in range(0, n_contexts, BLOCK):
                last = min(first + BLOCK, n_contexts)
                if is_key(basis, arm, first, last):
                    for context in range(first, last):
                        if basis.key[context] == arm:
                            add_key(program, arm, context, workspace)
