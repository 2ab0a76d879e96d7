"""Many rewards taken in at once, by their counts, sums and sums of squares of each pair."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import InvalidInputError
from arcbandit.inputs.arrays import Axis, check_amounts, matrix
from arcbandit.inputs.frames import ARMS, CONTEXTS, agreed_names, by_arm_and_context, in_order
from arcbandit.kernels.confidence import ByPair
from arcbandit.kernels.noise import Noise
from arcbandit.policies.learner import Progress
from arcbandit.policies.merging import merged, refuse_memory
from arcbandit.policies.snapshot_checks import BOUNDS_TOLERANCE, MOST_PULLS
from arcbandit.policies.state import Prior, State, make_state, playable

Floats = NDArray[np.float64]

SQUARES_TOLERANCE = 1e-9  # relative: by how much rounding may make squares smaller than their means allow


def with_totals(state: State, counts: Any, sums: Any, squares: Any) -> State:
    """The state after rewards with these totals, K x C each, whose contexts are counted as seen."""
    refuse_memory(state.configuration.kind, "learn from totals")
    if state.configuration.memory is not None:
        raise InvalidInputError(
            "A policy with memory cannot learn from totals: what it forgets depends on their order."
        )
    given = _checked(state, counts, sums, squares)
    return merged(state, _that_saw(state, *given), None)


def _checked(state: State, counts: Any, sums: Any, squares: Any) -> tuple[Floats, Floats, Floats]:
    """Counts, means (0 where there is no reward) and squares about the means."""
    labels = state.labels
    shape = (len(labels.arms), len(labels.contexts))
    arms = agreed_names(ARMS, labels.arms if labels.named_arms else [str(row) for row in range(shape[0])])
    contexts = agreed_names(CONTEXTS, labels.contexts if labels.named_contexts else list(map(str, range(shape[1]))))
    arrays = []
    for field, values in (("counts", counts), ("sums", sums), ("squares", squares)):
        array = matrix(field, in_order(by_arm_and_context(field, values), arms=arms, contexts=contexts))
        if array.shape != shape:
            raise InvalidInputError(f"{field} must have the shape {shape} of arms and contexts, got {array.shape}.")
        check_amounts(field, array, Axis("arm", labels.arms), Axis("context", labels.contexts), signed=field == "sums")
        arrays.append(array)
    n, total, square = arrays
    if np.any(n != np.floor(n)) or n.sum() > MOST_PULLS:
        raise InvalidInputError(f"counts must be whole numbers, at most {MOST_PULLS:g} in all.")
    means = np.divide(total, n, out=np.zeros(shape), where=n > 0)
    if np.any((n == 0) & ((total != 0) | (square != 0))):
        raise InvalidInputError("sums and squares must be 0 where counts are 0.")
    about = square - total * means
    if np.any(about < -SQUARES_TOLERANCE * square):
        raise InvalidInputError("squares must be at least the squares of the sums over the counts.")
    _check_bounds(state, n, means)
    return n, means, np.maximum(about, 0.0)


def _check_bounds(state: State, counts: Floats, means: Floats) -> None:
    bounds = state.configuration.reward_bounds
    if bounds is None:
        return
    leeway = BOUNDS_TOLERANCE * max(abs(bounds[0]), abs(bounds[1]))
    outside = (counts > 0) & ((means < bounds[0] - leeway) | (means > bounds[1] + leeway))
    for arm, context in np.argwhere(outside):
        raise InvalidInputError(
            f"sums must be of rewards within reward_bounds, {bounds[0]:g} to {bounds[1]:g}, but the mean of arm "
            f"{state.labels.arms[arm]!r} in context {state.labels.contexts[context]!r} is {means[arm, context]:g}."
        )


def _that_saw(state: State, counts: Floats, means: Floats, about: Floats) -> State:
    """A state with the same prior that has seen these rewards, and nothing else."""
    probabilities = state.learner.problem.context_probabilities.copy()
    available = playable(state.allowed, state.retired, state.dropped)
    fresh = make_state(state.configuration, state.labels, state.floors, state.stream, probabilities, available)
    learner, prior = fresh.learner, state.prior
    before = prior[Prior.PULLS]
    pulls = counts + before
    moved = np.divide(counts, pulls, out=np.zeros_like(pulls), where=pulls > 0)
    learner.statistics.by_pair[ByPair.PULLS] = pulls
    learner.statistics.by_pair[ByPair.MEAN] = np.where(
        before > 0, prior[Prior.MEAN] + (means - prior[Prior.MEAN]) * moved, means
    )
    learner.statistics.context_counts[:] = counts.sum(axis=0)
    learner.progress[Progress.REWARDS] = int(counts.sum())
    if state.configuration.estimates_noise and counts.sum() > 0:
        total = counts.sum()
        mean = float((counts * means).sum() / total)
        learner.noise[Noise.REWARDS] = total
        learner.noise[Noise.MEAN] = mean
        learner.noise[Noise.SPREAD] = float((about + counts * np.square(means - mean)).sum())
        # A prior counts as rewards at its mean, of which the first reward already differs.
        apart = np.where(before > 0, before * moved * np.square(means - prior[Prior.MEAN]), 0.0)
        learner.noise[Noise.RESIDUAL] = float((about + apart).sum())
        learner.noise[Noise.FREEDOM] = total - int(((counts > 0) & (before == 0)).sum())
    return replace(fresh, prior=prior, allowed=state.allowed, retired=state.retired, dropped=state.dropped)
