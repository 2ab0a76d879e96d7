"""How the rounds call a rule's `allocate`: as a part of them, or compiled once for all of the rule's rounds.

Most rules are small and become part of the loop and of `decide`. One whose floors are soft solves several programs,
which is much to compile for every variant of the loop: its `allocate` is a shared kernel. To pass a learner to it would
take as long as a small plan, so it is passed where the learner's numbers are (`packing.py`).
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from arcbandit.compilation.compile import bound, kernel, shared_kernel
from arcbandit.compilation.packing import kind_of, unpacker
from arcbandit.policies.learner import Learner, Stream

rule_allocate: Any = None
shared_allocate: Any = None
unpack_learner: Any = None


def allocate_by_numbers(numbers, context, t, seed, epoch, number):
    """Allocate for the learner with these numbers."""
    return rule_allocate(unpack_learner(numbers), context, t, Stream(seed, epoch, number))


def allocate_elsewhere(numbers, context, t, stream):
    """Allocate by code that all callers share; whole numbers are of the same type for all of them."""
    return shared_allocate(
        numbers, np.int64(context), np.int64(t), np.int64(stream.seed), np.int64(stream.epoch), np.int64(stream.number)
    )


def kind_to_share(learner: Learner) -> Any:
    """The kind of learners that share the code of `allocate`; None for those whose code is small."""
    planner: Any = learner.planner
    return kind_of(learner) if len(planner) > 0 and len(planner.soft) > 0 else None


class Calling(NamedTuple):
    """What rounds that call a rule are bound to; of the two kernels they call the one that `SHARED` says."""

    SHARED: bool
    rule_allocate: Any  # (learner, context, t, stream)
    allocate_elsewhere: Any  # (numbers, context, t, stream)


@functools.cache
def calling(allocate: Callable[..., Any], learner_kind: Any) -> Calling:
    """How rounds call `allocate`: by code that learners of this kind share, or by their own if it is None."""
    if learner_kind is None:
        return Calling(False, allocate, None)
    shared = bound(shared_kernel, allocate_by_numbers, rule_allocate=allocate, unpack_learner=unpacker(learner_kind))
    return Calling(True, None, bound(kernel, allocate_elsewhere, shared_allocate=shared))
