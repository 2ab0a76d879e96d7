"""How the rounds call a rule's `allocate`: as a part of them, or compiled once for all of the rule's rounds.

Most rules are small and become part of the loop and of `decide`. One whose floors are soft solves several programs,
which is much to compile for every variant of the loop: its `allocate` is a shared kernel. To pass a learner to it would
take as long as a small plan, so it is passed where the learner's numbers are (`packing.py`).
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from arcbandit.compilation.compile import bound, kernel, shared_kernel
from arcbandit.compilation.packing import kind_of, unpacker
from arcbandit.policies.learner import Learner, Stream

rule_allocate: Any = None
shared_allocate: Any = None
unpack_learner: Any = None


def allocate_inside(numbers, learner, context, t, stream):
    """Allocate by code that is part of the caller's."""
    return rule_allocate(learner, context, t, stream)


def allocate_by_numbers(numbers, context, t, seed, epoch, number):
    """Allocate for the learner with these numbers."""
    return rule_allocate(unpack_learner(numbers), context, t, Stream(seed, epoch, number))


def allocate_elsewhere(numbers, learner, context, t, stream):
    """Allocate by code that all callers share; whole numbers are of the same type for all of them."""
    return shared_allocate(
        numbers, np.int64(context), np.int64(t), np.int64(stream.seed), np.int64(stream.epoch), np.int64(stream.number)
    )


def kind_to_share(learner: Learner) -> Any:
    """The kind of learners that share the code of `allocate`; None for those whose code is small."""
    planner: Any = learner.planner
    return kind_of(learner) if len(planner) > 0 and len(planner.soft) > 0 else None


@functools.cache
def calling_kernel(allocate: Callable[..., Any], learner_kind: Any) -> Any:
    """A kernel `(numbers, learner, context, t, stream)` that allocates; shared by learners of this kind unless None."""
    if learner_kind is None:
        return bound(kernel, allocate_inside, rule_allocate=allocate)
    shared = bound(shared_kernel, allocate_by_numbers, rule_allocate=allocate, unpack_learner=unpacker(learner_kind))
    return bound(kernel, allocate_elsewhere, shared_allocate=shared)
