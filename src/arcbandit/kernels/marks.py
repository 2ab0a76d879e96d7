"""Marks of what has changed since the planner last looked: one byte per context.

Most often a single pair of a context changes between two plans: then the mark names its arm, and the planner looks at
that pair instead of all of them.
"""

import numpy as np

from arcbandit.compilation.compile import kernel

UNCHANGED = 0
CHANGED = 1  # several pairs, or one that a byte cannot name; True is the same mark
ONE_ARM = 2  # this much more than the arm whose pair is the only one that changed
MOST_NAMED = 256 - ONE_ARM  # arms that can be named

# Contexts that are first asked together whether any of them needs to be looked at. Their numbers are unsigned in such
# loops: a number that may be below zero would count from the end, and that keeps a processor from several at once.
BLOCK = 32

MARK = np.uint8  # a thread of a GPU has no memory for more


def make_marks(n_contexts: int) -> np.ndarray:
    """Nothing has changed."""
    return np.zeros(n_contexts, dtype=MARK)


@kernel
def mark_pair(changed, arm, context):
    """Mark a pair as changed; if another one of the context is, too, the mark is for all of them."""
    mark = arm + ONE_ARM if arm < MOST_NAMED else CHANGED
    is_first = (changed[context] == UNCHANGED) | (changed[context] == mark)
    changed[context] = mark if is_first else CHANGED


@kernel
def is_marked(changed, first, last):
    """Whether something changed in a context from `first` up to but not including `last`."""
    marks = 0
    for context in range(np.uint64(first), np.uint64(last)):
        marks |= changed[context]
    return marks != UNCHANGED
