"""Contexts as callers name them: of any type, dropped, or never seen and admitted up to a cap."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

import numpy as np

from arcbandit.errors import InvalidInputError, UnknownNameError
from arcbandit.inputs.values import checked_name, shown
from arcbandit.policies.forgetting import contexts_counted
from arcbandit.policies.growth import with_columns
from arcbandit.policies.state import Name, State, estimated_probabilities, with_shape

NEW = -1  # the column of a context that may be admitted


def column_finder(state: State) -> Callable[[Name], int]:
    """A function from a context to its column, or to NEW."""
    return partial(_column_or_new, state) if state.configuration.admit_contexts else state.labels.context


def _column_or_new(state: State, context: Name) -> int:
    labels = state.labels
    if not isinstance(context, str) or context in labels.context_index:
        return labels.context(context)
    _require_room(state, (checked_name("context", context),))
    return NEW


def with_admitted(state: State, contexts: Iterable[Name]) -> State:
    """The state in which these contexts are known, all of them or none."""
    known = state.labels.context_index
    names = tuple(dict.fromkeys(str(context) for context in contexts if context not in known))
    if not names:
        return state
    _require_room(state, names)
    grown = with_columns(state, names)
    counts = np.append(contexts_counted(state.learner), np.zeros(len(names)))
    return with_shape(
        replace(grown, admitted=state.admitted + len(names)), estimated_probabilities(counts, state.dropped)
    )


def require_at_work(state: State, columns: Iterable[int]) -> None:
    """Refuse to decide in a context that was dropped."""
    for column in state.dropped.intersection(columns):
        context = state.labels.contexts[column] if state.labels.named_contexts else column
        raise InvalidInputError(f"context {context!r} was dropped and is not decided in; add_context takes it back.")


def _require_room(state: State, names: tuple[str, ...]) -> None:
    most = state.configuration.admit_contexts
    if state.admitted + len(names) > most:
        raise UnknownNameError(
            f"There is no context {shown(names[0])}, and it is not admitted: {state.admitted} came before, "
            f"{len(names)} would come now, and admit_contexts is {most}."
        )
