"""How a policy changes while running: each change makes the next state from the last, whole or not at all."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import InvalidInputError, UnknownNameError
from arcbandit.floors import FloorKind, Floors, GroupFloor, without_zeros
from arcbandit.inputs.arrays import flags, vector
from arcbandit.inputs.frames import CONTEXTS, agreed_names, by_context, in_order
from arcbandit.inputs.similar import did_you_mean
from arcbandit.inputs.values import amount, checked_name, is_real, is_whole, non_negative, real, shown
from arcbandit.kernels.confidence import ByPair
from arcbandit.kernels.ledger import Account
from arcbandit.kernels.planner import start_over
from arcbandit.policies.forgetting import Window, contexts_counted
from arcbandit.policies.learner import Progress
from arcbandit.policies.state import (
    LEAST_PRIOR_PULLS,
    MOST_PRIOR_PULLS,
    Labels,
    Name,
    Prior,
    State,
    estimated_probabilities,
    forget_arm,
    forget_misses,
    playable,
    with_shape,
)

if TYPE_CHECKING:
    from arcbandit.inputs.frames import Column


def with_arm(
    state: State,
    name: str | None,
    floor: Any,
    available: "Column | None",
    prior_mean: Any = None,
    prior_pulls: Any = None,
) -> State:
    """One more arm, of which nothing is known but a prior, if there is one."""
    owed = non_negative("floor", floor)
    labels = state.labels
    floors = state.floors
    # A floor has the name of its arm or of its group.
    label = _new_name("arm", name, floors.names, len(labels.arms), labels.named_arms)
    row = np.ones(len(labels.contexts), dtype=np.bool_) if available is None else flags_by_context(labels, available)
    prior = _prior_of(state, prior_mean, prior_pulls)
    grown = with_shape(
        replace(
            state,
            labels=replace(labels, arms=(*labels.arms, label)),
            floors=Floors.of((*labels.arms, label), [*_of_arms(floors), owed], floors.groups),
            allowed=np.vstack([state.allowed, row]),
            prior=np.concatenate([state.prior, prior], axis=1),
        ),
        state.learner.problem.context_probabilities.copy(),
    )
    pulls, means = prior[Prior.PULLS, 0], prior[Prior.MEAN, 0]
    by_pair = grown.learner.statistics.by_pair
    by_pair[ByPair.PULLS, -1] = pulls
    by_pair[ByPair.MEAN, -1] = means
    by_pair[ByPair.INVERSE_ROOT, -1] = np.divide(1.0, np.sqrt(pulls), out=np.zeros_like(pulls), where=pulls > 0.0)
    return grown


def without_arm(state: State, arm: Name) -> State:
    """The state in which an arm is no longer played."""
    row = state.labels.arm(arm)
    retired = replace(state, floors=with_amount(state.floors, row, 0.0), retired=state.retired | {row})
    require_arms(retired, f"arm {arm!r} must not be retired")
    changed = with_shape(retired, state.learner.problem.context_probabilities.copy())
    forget_arm(changed.learner, row)  # a queue of what is owed to the arm would go on growing
    return changed


def with_context(state: State, name: Name | None, probability: Any) -> State:
    """One more context, of which nothing is known, or one that was dropped, with what is known of it."""
    labels = state.labels
    column = len(labels.contexts)
    known = labels.context_index.get(name) if isinstance(name, str) and labels.named_contexts else None
    if is_whole(name):
        known = int(cast(int, name))
    if known in state.dropped:
        column = known
    share = _share_of_new(state, probability)
    if column < len(labels.contexts):
        taken_back = replace(state, dropped=state.dropped - {column})
        require_arms(taken_back, f"context {name!r} must not be taken back")
    else:
        label = _new_name("context", cast(str | None, name), labels.contexts, column, labels.named_contexts)
        taken_back = with_columns(state, (label,))
    probabilities = np.zeros(len(taken_back.labels.contexts))
    probabilities[: len(labels.contexts)] = state.learner.problem.context_probabilities * (1.0 - share)
    probabilities[column] = share
    if state.configuration.estimate_contexts and column < len(labels.contexts):
        probabilities = estimated_probabilities(contexts_counted(state.learner), taken_back.dropped)
    return with_shape(taken_back, probabilities)


def with_columns(state: State, names: tuple[str, ...]) -> State:
    """The state with more contexts, in which every arm may be played; its learner is still that of before."""
    n_arms, count = len(state.labels.arms), len(names)
    return replace(
        state,
        labels=replace(state.labels, contexts=(*state.labels.contexts, *names)),
        allowed=np.hstack([state.allowed, np.ones((n_arms, count), dtype=np.bool_)]),
        prior=np.concatenate([state.prior, np.zeros((len(Prior), n_arms, count))], axis=2),
    )


def _share_of_new(state: State, probability: Any) -> float:
    """The probability of a context to come."""
    if state.configuration.estimate_contexts:
        if probability is not None:
            raise InvalidInputError("probability must be left out if probabilities are estimated.")
        probability = 1.0 / (len(state.labels.contexts) - len(state.dropped) + 1)
    elif probability is None:
        raise InvalidInputError("probability of the new context must be given if probabilities are known.")
    share = real("probability", probability)
    if not 0.0 <= share < 1.0:
        raise InvalidInputError(f"probability must be from 0 to below 1, got {shown(probability)}.")
    return share


def with_floor(state: State, arm_or_group: Name, floor: Any) -> State:
    """A new floor for an arm or, by its name, for a group."""
    owed = non_negative("floor", floor)
    floors = state.floors
    groups = [group.name for group in floors.groups]
    if isinstance(arm_or_group, str) and arm_or_group in groups:
        row = floors.n_arms + groups.index(arm_or_group)
    else:
        hint = did_you_mean(arm_or_group, groups)
        if hint and arm_or_group not in state.labels.arms:
            raise UnknownNameError(f"There is no arm or group {shown(arm_or_group)}{hint}.")
        row = state.labels.arm(arm_or_group)
        if row in state.retired:
            raise InvalidInputError(f"arm {arm_or_group!r} is retired and can have no floor.")
    changed = replace(state, floors=with_amount(floors, row, owed))
    learner = state.learner
    learner.problem.floors[row] = without_zeros([owed])[0]
    if state.configuration.kind.plans:
        start_over(learner.planner)
    if state.configuration.guarantee:
        learner.ledger.account[Account.SOLVED] = 0.0
    learner.progress[Progress.NEXT_PLAN] = 1
    forget_misses(learner, state.configuration)
    return changed


def _of_arms(floors: Floors) -> list[float]:
    amounts: list[float] = floors.amounts[floors.rows_of(FloorKind.ARM)].tolist()
    return amounts


def with_amount(floors: Floors, row: int, amount: float) -> Floors:
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


def flags_by_context(labels: Labels, available: Any) -> NDArray[np.bool_]:
    """Flags of an arm, labelled or in the order of the contexts."""
    columns = _columns_of(labels)
    mask = by_context("available", available, flags=True)
    return flags("available", in_order(mask, contexts=agreed_names(CONTEXTS, columns)), (len(columns),))


def require_arms(state: State, refusal: str) -> None:
    """Refuse a change that leaves a context without an arm; those that were dropped need none."""
    available = playable(state.allowed, state.retired, frozenset())
    for column in np.flatnonzero(~available.any(axis=0)).tolist():
        if column not in state.dropped:
            context = state.labels.contexts[column] if state.labels.named_contexts else column
            raise InvalidInputError(f"{refusal}: context {context!r} would have no arm left.")


def _columns_of(labels: Labels) -> list[str]:
    return list(labels.contexts) if labels.named_contexts else [str(place) for place in range(len(labels.contexts))]


def _prior_of(state: State, mean: Any, pulls: Any) -> NDArray[np.float64]:
    """The prior of a new arm, shape (2, 1, C)."""
    prior = np.zeros((len(Prior), 1, len(state.labels.contexts)))
    if mean is None and pulls is None:
        return prior
    if mean is None or pulls is None:
        missing = "prior_mean" if mean is None else "prior_pulls"
        raise InvalidInputError(f"prior_mean and prior_pulls must be given together, got no {missing}.")
    if isinstance(state.configuration.memory, Window):
        raise InvalidInputError("prior_mean must be None with a Window as memory, which has no round for a prior.")
    weight = real("prior_pulls", pulls)
    if not LEAST_PRIOR_PULLS <= weight <= MOST_PRIOR_PULLS:
        raise InvalidInputError(
            f"prior_pulls must be from {LEAST_PRIOR_PULLS:g} to {MOST_PRIOR_PULLS:g}, got {shown(pulls)}."
        )
    columns = _columns_of(state.labels)
    if is_real(mean):
        means = np.full(len(columns), amount("prior_mean", mean))
    else:
        given = in_order(by_context("prior_mean", mean), contexts=agreed_names(CONTEXTS, columns))
        means = vector("prior_mean", given, len(columns), f"there are {len(columns)} contexts", signed=True)
    bounds = state.configuration.reward_bounds
    for value in means.tolist():
        if bounds is not None and not bounds[0] <= value <= bounds[1]:
            raise InvalidInputError(
                f"prior_mean must be within reward_bounds, {bounds[0]:g} to {bounds[1]:g}, got {value:g}."
            )
    prior[Prior.PULLS, 0] = weight
    prior[Prior.MEAN, 0] = means
    return prior
