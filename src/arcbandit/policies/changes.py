"""Changes of what a policy at work is told: where arms are played, how often contexts come, who is in which group.

Each makes the next state from the last, whole or not at all. What was learnt stays.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import InvalidInputError, UnknownNameError
from arcbandit.floors import Floors, GroupFloor, named_groups
from arcbandit.inputs.arrays import summing_to_one, vector
from arcbandit.inputs.frames import CONTEXTS, agreed_names, by_context, in_order
from arcbandit.inputs.similar import did_you_mean
from arcbandit.inputs.values import listed, non_negative, shown, truth, whole
from arcbandit.policies.configuration import check_guarantee, checked_budget
from arcbandit.policies.forgetting import contexts_counted
from arcbandit.policies.growth import flags_by_context, require_arms, with_amount
from arcbandit.policies.state import Name, State, estimated_probabilities, forget_arm, with_shape

if TYPE_CHECKING:
    from arcbandit.inputs.frames import Column


def with_available(state: State, arm: Name | None, context: Name | None, available: Any) -> State:
    """Pairs that may be played from now on, or may not: of one arm or all of them, in one context or all."""
    switched = truth("available", available)
    labels = state.labels
    if arm is None:
        rows = [row for row in range(len(labels.arms)) if row not in state.retired]
    else:
        rows = [labels.arm(arm)]
        if rows[0] in state.retired:
            raise InvalidInputError(f"arm {arm!r} is retired and available nowhere; return_arm takes it back.")
    columns = range(len(labels.contexts)) if context is None else [labels.context(context)]
    allowed = state.allowed.copy()
    allowed[np.ix_(rows, list(columns))] = switched
    changed = replace(state, allowed=allowed)
    whose = "every arm" if arm is None else f"arm {arm!r}"
    require_arms(changed, f"{whose} must stay available")
    return with_shape(changed, _probabilities(state))


def with_returned_arm(state: State, arm: Name, floor: Any, available: "Column | None") -> State:
    """The state in which a retired arm is played again, where it was before unless told otherwise."""
    owed = non_negative("floor", floor)
    row = state.labels.arm(arm)
    if row not in state.retired:
        raise InvalidInputError(f"arm {arm!r} must be retired to be taken back, but it is not.")
    allowed = state.allowed.copy()
    if available is not None:
        allowed[row] = flags_by_context(state.labels, available)
    changed = with_shape(
        replace(state, allowed=allowed, floors=with_amount(state.floors, row, owed), retired=state.retired - {row}),
        _probabilities(state),
    )
    # Rewards that came late may have moved what a rule keeps of the arm.
    forget_arm(changed.learner, row)
    return changed


def without_context(state: State, context: Name) -> State:
    """The state in which nothing is decided in a context any more; its column stays, with a probability of 0."""
    column = state.labels.context(context)
    if column in state.dropped:
        raise InvalidInputError(f"context {context!r} must not be dropped: it was dropped before.")
    dropped = state.dropped | {column}
    if len(dropped) == len(state.labels.contexts):
        raise InvalidInputError(f"context {context!r} must not be dropped: it is the only one left.")
    if state.configuration.estimate_contexts:
        probabilities = estimated_probabilities(contexts_counted(state.learner), dropped)
    else:
        probabilities = _probabilities(state)
        probabilities[column] = 0.0
        rest = probabilities.sum()
        if not rest > 0.0:
            raise InvalidInputError(f"context {context!r} must not be dropped: no other has a probability above 0.")
        probabilities /= rest
    return with_shape(replace(state, dropped=dropped), probabilities)


def with_probabilities(state: State, given: "Column") -> State:
    """Other probabilities of the contexts that are decided in."""
    field, labels = "context_probabilities", state.labels
    if state.configuration.estimate_contexts:
        raise InvalidInputError(f"{field} must not be set if they are estimated.")
    at_work = [column for column in range(len(labels.contexts)) if column not in state.dropped]
    names = [labels.contexts[column] if labels.named_contexts else str(column) for column in at_work]
    in_turn = in_order(by_context(field, given), contexts=agreed_names(CONTEXTS, names))
    besides = ", those dropped left out" if state.dropped else ""
    shares = vector(field, in_turn, len(names), f"there are {len(names)} contexts{besides}")
    probabilities = np.zeros(len(labels.contexts))
    probabilities[at_work] = summing_to_one(field, shares)
    return with_shape(state, probabilities)


def with_budget(state: State, exploration_budget: Any, known_after: Any) -> State:
    """Another exploration budget; the count from which on pairs are known stays if None is given for it."""
    configuration = state.configuration
    budget = checked_budget(configuration.kind, exploration_budget)
    count = configuration.known_after if known_after is None else whole("known_after", known_after, 1)
    changed = replace(configuration, exploration_budget=budget, known_after=count)
    check_guarantee(changed)
    return with_shape(replace(state, configuration=changed), _probabilities(state))


def with_new_group(state: State, name: str, arms: Iterable[Name], floor: Any) -> State:
    """One more group floor."""
    kind = state.configuration.kind
    if not kind.supports_group_floors:
        raise InvalidInputError(f"{kind.__name__} does not keep group floors; add none.")
    group = _checked_group(state, name, arms, floor)
    names = [other.name for other in state.floors.groups]
    if group.name in names:
        raise InvalidInputError(f"group name must be new, but {group.name!r} is taken.")
    return _with_groups(state, [*state.floors.groups, group])


def with_group(state: State, name: str, arms: Iterable[Name] | None, floor: Any) -> State:
    """Other members or another floor of a group."""
    if arms is None and floor is None:
        raise InvalidInputError("arms or floor of the group must be given, got neither.")
    place = _place_of_group(state, name)
    groups = list(state.floors.groups)
    before = groups[place]
    amount = before.floor if floor is None else floor
    if arms is None:
        groups[place] = GroupFloor(before.name, before.arms, amount)
    else:
        groups[place] = _checked_group(state, before.name, arms, amount)
    return _with_groups(state, groups)


def without_group(state: State, name: str) -> State:
    """One group floor fewer."""
    place = _place_of_group(state, name)
    return _with_groups(state, [group for at, group in enumerate(state.floors.groups) if at != place])


def _probabilities(state: State) -> NDArray[np.float64]:
    return state.learner.problem.context_probabilities.copy()


def _checked_group(state: State, name: str, arms: Iterable[Name], floor: Any) -> GroupFloor:
    """A group floor with its arms by name."""
    labels = state.labels
    group = GroupFloor(name, cast(tuple[Name, ...], arms), floor)
    return named_groups([group], labels.arms, arms_have_names=labels.named_arms)[0]


def _place_of_group(state: State, name: Any) -> int:
    names = [group.name for group in state.floors.groups]
    if not isinstance(name, str) or name not in names:
        known = f"known are {listed(names)}" if names else "there are none"
        raise UnknownNameError(f"There is no group {shown(name)}{did_you_mean(name, names)}; {known}.")
    return names.index(name)


def _with_groups(state: State, groups: list[GroupFloor]) -> State:
    floors = state.floors
    changed = Floors.of(floors.arms, floors.amounts[: floors.n_arms], groups)
    return with_shape(replace(state, floors=changed), _probabilities(state))
