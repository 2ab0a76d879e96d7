"""What two policies learnt, taken together: counts add up, and means are those of all rewards."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import InvalidInputError
from arcbandit.inputs.values import LARGEST_NUMBER
from arcbandit.kernels.confidence import ByPair
from arcbandit.kernels.ledger import Account
from arcbandit.policies.learner import Progress
from arcbandit.policies.merged_noise import Part, merged_noise, require_same_estimate, scale_of
from arcbandit.policies.snapshot_checks import BOUNDS_TOLERANCE
from arcbandit.policies.state import Prior, State, estimated_probabilities, rewards_seen, with_shape

if TYPE_CHECKING:
    from arcbandit.policies.base import Policy

Floats = NDArray[np.float64]
NO_ANCESTOR = "since must be a snapshot from which both policies went on"


class Seen(NamedTuple):
    """What a policy has seen."""

    rewards: Floats  # of each pair, those of a prior not counted, shape (K, C)
    means: Floats  # shape (K, C)
    contexts: Floats  # how often each came, shape (C,)
    counters: NDArray[np.int64]  # decisions and rewards


def refuse_memory(kind: "type[Policy]", to: str = "be merged") -> None:
    """Refuse a rule that keeps more than the statistics."""
    if kind.keeps_averages:
        return
    rows = kind.rows
    parts = (rows.by_pair, rows.by_arm, rows.totals, rows.by_floor)
    kept = [row.name.lower() for part in parts for row in part or ()]
    if kept:
        raise InvalidInputError(
            f"{kind.__name__} cannot {to}: what it keeps from round to round ({', '.join(kept)}) does not add up."
        )


def merged(state: State, other: State, since: State | None) -> State:
    """The state after what both have seen, of which what they had in common, `since`, counts once."""
    refuse_memory(state.configuration.kind)
    if state.configuration.memory is not None or other.configuration.memory is not None:
        raise InvalidInputError(
            "Policies with memory cannot be merged: what they forgot depends on the order of rounds."
        )
    _require_same_problem("other", other, state)
    require_same_estimate("other", other, state)
    if since is not None:
        _require_same_problem("since", since, state, earlier=True)
        require_same_estimate("since", since, state)
    ours, theirs = _seen(state), _seen(other)
    common = _prior_alone(state) if since is None else _grown(_seen(since), _prior_alone(state))
    both = _together(ours, theirs, common, state.prior)
    _require_within_bounds(state, both, since)
    probabilities = state.learner.problem.context_probabilities.copy()
    if state.configuration.estimate_contexts:
        probabilities = estimated_probabilities(both.contexts, state.dropped)
    changed = with_shape(state, probabilities)
    pulls = both.rewards + state.prior[Prior.PULLS]
    by_pair = changed.learner.statistics.by_pair
    by_pair[ByPair.PULLS] = pulls
    by_pair[ByPair.MEAN] = both.means
    by_pair[ByPair.INVERSE_ROOT] = np.divide(1.0, np.sqrt(pulls), out=np.zeros_like(pulls), where=pulls > 0.0)
    changed.learner.statistics.context_counts[:] = both.contexts
    changed.learner.progress[[Progress.DECISIONS, Progress.REWARDS]] = both.counters
    if state.configuration.guarantee and other.configuration.guarantee:
        # What either spent and certified was for rounds of its own.
        for place in (Account.SPENT, Account.CERTIFIED, Account.HELD):
            since_then = (
                0.0 if since is None or not since.configuration.guarantee else since.learner.ledger.account[place]
            )
            changed.learner.ledger.account[place] += other.learner.ledger.account[place] - since_then
    # The plan in force stays as old as it was.
    changed.learner.progress[Progress.PLANNED_AT] += both.counters[0] - ours.counters[0]
    if state.configuration.estimates_noise:
        prior = state.prior[Prior.PULLS]
        none = np.zeros_like(state.learner.noise)
        sums = merged_noise(
            Part(state.learner.noise, ours.rewards + prior, ours.means),
            Part(other.learner.noise, theirs.rewards + prior, theirs.means),
            Part(none if since is None else since.learner.noise, common.rewards + prior, common.means),
            int(((both.rewards > 0) & (prior == 0)).sum()),
        )
        changed.learner.noise[:] = sums
        changed.learner.settings[0].noise_scale = scale_of(sums)
    return changed


def _seen(state: State) -> Seen:
    statistics, progress = state.learner.statistics, state.learner.progress
    return Seen(
        rewards_seen(statistics.by_pair[ByPair.PULLS], state.prior),
        statistics.by_pair[ByPair.MEAN].copy(),
        statistics.context_counts.copy(),
        progress[[Progress.DECISIONS, Progress.REWARDS]],
    )


def _prior_alone(state: State) -> Seen:
    """What a policy has seen that has only its prior."""
    nothing = np.zeros_like(state.prior[Prior.PULLS])
    return Seen(nothing, state.prior[Prior.MEAN].copy(), np.zeros(nothing.shape[1]), np.zeros(2, dtype=np.int64))


def _grown(seen: Seen, fresh: Seen) -> Seen:
    """What was seen, and of arms and contexts that came later what a fresh policy has seen."""
    n_arms, n_contexts = seen.rewards.shape
    fresh.rewards[:n_arms, :n_contexts] = seen.rewards
    fresh.means[:n_arms, :n_contexts] = seen.means
    fresh.contexts[:n_contexts] = seen.contexts
    return fresh._replace(counters=seen.counters)


def _together(ours: Seen, theirs: Seen, common: Seen, prior: Floats) -> Seen:
    for mine in (ours, theirs):
        fewer = [np.any(had < of_common) for had, of_common in zip(mine, common, strict=True) if had is not mine.means]
        untouched = mine.rewards == common.rewards
        if any(fewer) or np.any(untouched & (mine.means != common.means)):
            raise InvalidInputError(f"{NO_ANCESTOR}, but one of them lacks something that is in it.")
    rewards = ours.rewards + theirs.rewards - common.rewards
    pulls = rewards + prior[Prior.PULLS]
    of_theirs, of_common = theirs.rewards + prior[Prior.PULLS], common.rewards + prior[Prior.PULLS]
    # Relative to our means, so that sums of large and equal numbers do not round.
    moved = of_theirs * (theirs.means - ours.means) - of_common * (common.means - ours.means)
    means = ours.means + np.divide(moved, pulls, out=np.zeros_like(pulls), where=pulls > 0.0)
    means = np.where(theirs.rewards == common.rewards, ours.means, means)
    means = np.where(ours.rewards == common.rewards, theirs.means, means)
    return Seen(
        rewards,
        means,
        ours.contexts + theirs.contexts - common.contexts,
        ours.counters + theirs.counters - common.counters,
    )


def _require_within_bounds(state: State, both: Seen, since: State | None) -> None:
    """Means of rewards are within their bounds; if these are not, what was subtracted was not in both."""
    low, high = state.configuration.reward_bounds or (-LARGEST_NUMBER, LARGEST_NUMBER)
    leeway = BOUNDS_TOLERANCE * max(abs(low), abs(high))
    seen = both.rewards > 0
    if np.any(seen & ((both.means < low - leeway) | (both.means > high + leeway))):
        field = "other must have the same reward_bounds" if since is None else NO_ANCESTOR
        raise InvalidInputError(f"{field}: the means of both together are not from {low:g} to {high:g}.")


def _require_same_problem(field: str, other: State, state: State, *, earlier: bool = False) -> None:
    """Refuse a policy with other arms or contexts; an `earlier` one may lack those that came last."""
    for part in ("arms", "contexts"):
        given, own = getattr(other.labels, part), getattr(state.labels, part)
        wanted = own[: len(given)] if earlier else own
        if given != wanted:
            raise InvalidInputError(
                f"{field} must have the same {part} in the same order, got {_listed(given, wanted)}."
            )
    n_arms, n_contexts = other.prior.shape[1:]
    if not np.array_equal(other.prior, state.prior[:, :n_arms, :n_contexts]):
        raise InvalidInputError(f"{field} must have the same priors of its arms, got others.")


def _listed(given: tuple[str, ...], own: tuple[str, ...]) -> str:
    """Where two sequences of names differ."""
    if len(given) != len(own):
        return f"{len(given)} instead of {len(own)}"
    place = next(at for at, (one, two) in enumerate(zip(given, own, strict=True)) if one != two)
    return f"{given[place]!r} instead of {own[place]!r}"
