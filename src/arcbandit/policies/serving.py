"""A policy whose plan is served by others: it is told what they saw, and gives the allocation for every context."""

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import FloorsOutOfReachWarning, InvalidInputError
from arcbandit.floors import Floors
from arcbandit.kernels.confidence import ByPair, radius_factor
from arcbandit.policies.decisions import how
from arcbandit.policies.learner import Outcome, Progress
from arcbandit.policies.merging import refuse_memory
from arcbandit.policies.state import estimated_probabilities, playable
from arcbandit.policies.status import half_widths

if TYPE_CHECKING:
    from arcbandit.policies.base import Policy

Floats = NDArray[np.float64]


class Served(NamedTuple):
    """A plan for every context, and what it was made from."""

    allocation: Floats  # shape (K, C); a context that was dropped has a column of zeros
    outcome: int  # a sum of `Outcome`s
    means: Floats  # of each pair, 0 before the first reward, shape (K, C)
    radius: Floats  # of its confidence bounds, infinite before the first reward, shape (K, C)
    probabilities: Floats  # of the contexts, shape (C,)
    available: NDArray[np.bool_]  # shape (K, C)
    floors: Floors

    @property
    def how(self) -> str:
        """How the plan came about, as of a `Decision` by it."""
        return how(self.outcome)

    @property
    def explores(self) -> bool:
        """Whether some pairs are played because too little is known of them."""
        return bool(self.outcome & Outcome.EXPLORED)


def learns_from_totals(policy: "Policy") -> bool:
    """Whether counts, sums and squares are all that its rewards tell it, so that their order does not matter."""
    try:
        refuse_memory(type(policy))
    except InvalidInputError:
        return False
    return policy.memory is None


def see(policy: "Policy", visits: Floats, decisions: int) -> None:
    """Count decisions that others made, by context, in place of the contexts of rewards that `policy` was told."""
    with policy._lock:
        state = policy._state
        learner = state.learner
        learner.statistics.context_counts[:] = visits
        if state.configuration.estimate_contexts:
            learner.problem.context_probabilities[:] = estimated_probabilities(visits, state.dropped)
        learner.progress[Progress.DECISIONS] = decisions
        policy._told = decisions


def contexts_seen(policy: "Policy") -> Floats:
    """How often each context came, shape (C,)."""
    counts: Floats = policy.learner.statistics.context_counts.copy()
    return counts


def decisions_made(policy: "Policy") -> int:
    """How many decisions it made or was told of."""
    return int(policy.learner.progress[Progress.DECISIONS])


def half_widths_of(policy: "Policy", served: Served, allocation: Floats) -> Floats:
    """Half the 95 % interval of what each floor's members are expected to earn per round with this allocation.

    It is infinite where a pair is played of which nothing is known.
    """
    learner = policy.learner
    members = served.floors.members.astype(np.float64)
    pulls = np.array(learner.statistics.by_pair[ByPair.PULLS])
    return half_widths(members, served.probabilities * allocation, pulls, float(learner.settings[0].noise_scale))


def served_plan(policy: "Policy") -> Served:
    """The allocation that it would draw its next decision from, for every context.

    The policy itself is not to be used afterwards, nor kept: it has decided once, in a context that did not come.
    """
    state = policy._state
    t = state.round_number
    learner = state.learner
    counts = learner.statistics.context_counts
    at_work = [column for column in range(len(counts)) if column not in state.dropped]
    allocation = np.zeros(learner.allocation.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FloorsOutOfReachWarning)  # the outcome tells
        if type(policy).plans:
            # A policy that forgets counts the contexts of all time, and beside them those that it remembers.
            kept = [counts] if len(learner.past) == 0 else [counts, learner.past.by_context]
            most = max(at_work, key=lambda column: kept[-1][column])
            # The decision counts its context, which was counted already.
            for seen in kept:
                seen[most] = max(seen[most] - 1.0, 0.0)
            policy.decide(policy.contexts[most])
            allocation[:, at_work] = policy._state.learner.allocation[:, at_work]
            outcome = int(policy._state.learner.progress[Progress.OUTCOME])
        else:
            snapshot: Mapping[str, Any] = policy.snapshot()
            outcome = 0
            for column in at_work:
                copy = type(policy).restore(snapshot)
                copy.decide(copy.contexts[column])
                allocation[:, column] = copy._state.learner.allocation[:, column]
                outcome |= int(copy._state.learner.progress[Progress.OUTCOME])
    pulls = np.array(learner.statistics.by_pair[ByPair.PULLS])
    sigma = float(learner.settings[0].noise_scale)
    # A kernel cannot be called from Python; the function that it was made of can.
    factor = float(getattr(radius_factor, "py_func", radius_factor)(pulls.size, t, sigma))
    roots = np.divide(1.0, np.sqrt(pulls), out=np.full(pulls.shape, np.inf), where=pulls > 0)
    return Served(
        allocation,
        outcome,
        np.array(learner.statistics.by_pair[ByPair.MEAN]),
        np.where(pulls > 0, factor * np.where(pulls > 0, roots, 0.0), np.inf),
        learner.problem.context_probabilities.copy(),
        playable(state.allowed, state.retired, state.dropped),
        state.floors,
    )
