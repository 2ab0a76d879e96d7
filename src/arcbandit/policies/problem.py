"""The problem that a policy is told: a user's input, read and checked."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from arcbandit.errors import InvalidInputError
from arcbandit.floors import GroupFloor
from arcbandit.inputs.arrays import real_array
from arcbandit.inputs.frames import ARMS, CONTEXTS, agreed_names, by_arm, by_arm_and_context, by_context, in_order
from arcbandit.inputs.values import is_count, whole
from arcbandit.instance import Instance
from arcbandit.policies.dials import even_probabilities

if TYPE_CHECKING:
    from arcbandit.inputs.frames import Column, Table


class ToldProblem(NamedTuple):
    """Arms, contexts, floors and probabilities; the means are not told."""

    blank: Instance  # whose means are zero
    named_arms: bool
    named_contexts: bool
    available: Any  # which pairs may be played, in the order of rows and columns, not yet checked; None if all


def told_problem(
    revenue_floors: "Column | None",
    context_probabilities: "Column | None",
    arms: Sequence[str] | None,
    contexts: Sequence[str] | int | None,
    group_floors: Iterable[GroupFloor],
    available: "Table | None",
) -> ToldProblem:
    """The problem that a policy's arguments describe."""
    if context_probabilities is None:
        context_probabilities, contexts = even_probabilities(contexts)
    counted = whole("contexts", contexts, 1) if is_count(contexts) else None
    floors = by_arm("revenue_floors", revenue_floors)
    probabilities = by_context("context_probabilities", context_probabilities)
    mask = by_arm_and_context("available", available, flags=True)
    arm_names = agreed_names(ARMS, arms, floors, mask)
    context_names = agreed_names(CONTEXTS, contexts if counted is None else None, probabilities, mask)
    amounts = real_array("revenue_floors", in_order(floors, arms=arm_names), 1)
    shares = real_array("context_probabilities", in_order(probabilities, contexts=context_names), 1)
    for field, part in (("revenue_floors", amounts), ("context_probabilities", shares)):
        if len(part) == 0:
            raise InvalidInputError(f"{field} must hold at least one number, got none.")
    # A blank instance checks names, floors, probabilities and groups as for any instance.
    blank = Instance(
        np.zeros((len(amounts), len(shares))),
        amounts,
        shares,
        arms=None if arm_names is None else arm_names.names,
        contexts=None if context_names is None else context_names.names,
        group_floors=group_floors,
    )
    if counted not in (None, blank.n_contexts):
        raise InvalidInputError(
            f"contexts must be as many as context_probabilities, {blank.n_contexts}, got {counted}."
        )
    return ToldProblem(
        blank,
        arm_names is not None,
        context_names is not None,
        in_order(mask, arms=arm_names, contexts=context_names),
    )
