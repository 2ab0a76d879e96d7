"""How a policy changes while running: each change makes the next state from the last, whole or not at all."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from arcbandit.errors import InvalidInputError
from arcbandit.floors import FloorKind, Floors, GroupFloor, without_zeros
from arcbandit.inputs.arrays import flags
from arcbandit.inputs.frames import CONTEXTS, agreed_names, by_context, in_order
from arcbandit.inputs.values import checked_name, non_negative, real, shown
from arcbandit.kernels.planner import start_over
from arcbandit.policies.learner import Progress
from arcbandit.policies.state import Name, State, with_shape

if TYPE_CHECKING:
    from arcbandit.inputs.frames import Column


def with_arm(state: State, name: str | None, floor: Any, available: "Column | None") -> State:
    """One more arm, of which nothing is known."""
    owed = non_negative("floor", floor)
    labels = state.labels
    floors = state.floors
    # A floor has the name of its arm or of its group.
    label = _new_name("arm", name, floors.names, len(labels.arms), labels.named_arms)
    row = np.ones(len(labels.contexts), dtype=np.bool_)
    if available is not None:
        mask = by_context("available", available, flags=True)
        columns = labels.contexts if labels.named_contexts else [str(place) for place in range(len(labels.contexts))]
        row = flags("available", in_order(mask, contexts=agreed_names(CONTEXTS, columns)), (len(columns),))
    problem = state.learner.problem
    return with_shape(
        state,
        replace(labels, arms=(*labels.arms, label)),
        Floors.of((*labels.arms, label), [*_of_arms(floors), owed], floors.groups),
        state.retired,
        problem.context_probabilities.copy(),
        np.vstack([problem.available, row]),
    )


def without_arm(state: State, arm: Name) -> State:
    """The state in which an arm is no longer played."""
    labels, problem = state.labels, state.learner.problem
    row = labels.arm(arm)
    available = problem.available.copy()
    available[row] = False
    empty = np.flatnonzero(~available.any(axis=0))
    if empty.size:
        context = labels.contexts[empty[0]] if labels.named_contexts else int(empty[0])
        raise InvalidInputError(f"arm {arm!r} must not be retired: context {context!r} would have no arm left.")
    floors = _with_amount(state.floors, row, 0.0)
    probabilities = problem.context_probabilities.copy()
    retired = with_shape(state, labels, floors, state.retired | {row}, probabilities, available)
    retired.learner.memory.by_arm[:, row] = 0.0  # a queue of what is owed to the arm would go on growing
    return retired


def with_context(state: State, name: str | None, probability: Any) -> State:
    """One more context, of which nothing is known."""
    labels, problem = state.labels, state.learner.problem
    if state.configuration.estimate_contexts:
        if probability is not None:
            raise InvalidInputError("probability must be left out if probabilities are estimated.")
        probability = 1.0 / (len(labels.contexts) + 1)
    elif probability is None:
        raise InvalidInputError("probability of the new context must be given if probabilities are known.")
    share = real("probability", probability)
    if not 0.0 <= share < 1.0:
        raise InvalidInputError(f"probability must be from 0 to below 1, got {shown(probability)}.")
    label = _new_name("context", name, labels.contexts, len(labels.contexts), labels.named_contexts)
    column = np.ones((len(labels.arms), 1), dtype=np.bool_)
    column[sorted(state.retired)] = False
    return with_shape(
        state,
        replace(labels, contexts=(*labels.contexts, label)),
        state.floors,
        state.retired,
        np.append(problem.context_probabilities * (1.0 - share), share),
        np.hstack([problem.available, column]),
    )


def with_floor(state: State, arm_or_group: Name, floor: Any) -> State:
    """A new floor for an arm or, by its name, for a group."""
    owed = non_negative("floor", floor)
    floors = state.floors
    groups = [group.name for group in floors.groups]
    if isinstance(arm_or_group, str) and arm_or_group in groups:
        row = floors.n_arms + groups.index(arm_or_group)
    else:
        row = state.labels.arm(arm_or_group)
        if row in state.retired:
            raise InvalidInputError(f"arm {arm_or_group!r} is retired and can have no floor.")
    changed = replace(state, floors=_with_amount(floors, row, owed))
    learner = state.learner
    learner.problem.floors[row] = without_zeros([owed])[0]
    if state.configuration.kind.plans:
        start_over(learner.planner)
    learner.progress[Progress.NEXT_PLAN] = 1
    return changed


def _of_arms(floors: Floors) -> list[float]:
    amounts: list[float] = floors.amounts[floors.rows_of(FloorKind.ARM)].tolist()
    return amounts


def _with_amount(floors: Floors, row: int, amount: float) -> Floors:
    """The floors with another amount in one row."""
    amounts, groups = _of_arms(floors), list(floors.groups)
    if row < floors.n_arms:
        amounts[row] = amount
    else:
        group = groups[row - floors.n_arms]
        groups[row - floors.n_arms] = GroupFloor(group.name, group.arms, amount)
    return Floors.of(floors.arms, amounts, groups)


def _new_name(kind: str, name: str | None, taken: tuple[str, ...], count: int, named: bool) -> str:
    if not named and name is not None:
        raise InvalidInputError(f"{kind} name must be left out if {kind}s have no names, got {shown(name)}.")
    label = checked_name(f"{kind} name", name) if named else str(count + 1)
    if label in taken:
        raise InvalidInputError(f"{kind} name must be new, but {label!r} is taken.")
    return label
