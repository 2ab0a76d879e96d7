"""Worlds that change while they are played: what a user says of it, and how a run goes on in the next world."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import InvalidInputError, InvalidInstanceError
from arcbandit.floors import without_zeros
from arcbandit.inputs.values import LONGEST_HORIZON, instance_of, items, non_negative, real, shown, whole
from arcbandit.instance import Instance
from arcbandit.kernels.planner import start_over
from arcbandit.planning import Plan, PlanStatus
from arcbandit.policies.learner import Learner, Progress
from arcbandit.simulation.meters import Compared, Meters, Record
from arcbandit.simulation.metrics import FloorTotal, Total

if TYPE_CHECKING:
    from arcbandit.inputs.frames import Table

CHANGING = ("mean_rewards", "weighted_means", "revenue_floors", "context_probabilities", "group_floors")


class Drift:
    """Changes of an instance at given rounds, from which on the new world holds.

    Each change is a round, from 2 on, and what the world is then: an `Instance` with the same arms, contexts and
    groups; a matrix of mean rewards; or a mapping of the fields that change (mean_rewards, revenue_floors,
    context_probabilities, as in `Instance.to_dict`). What is not given stays. Every epoch and policy meets the same
    worlds. Policies are told of new floors and, unless they estimate them, of new probabilities, but not of new means.

    >>> from arcbandit import paper_instance, simulate
    >>> nu = paper_instance("nu")
    >>> drift = Drift([(501, nu.mean_rewards[:, ::-1]), (801, {"revenue_floors": [0.5, 0.25, 0.5]})])
    >>> trace = simulate(nu, "blp", horizon=1000, epochs=2, drift=drift)
    >>> trace.settings["drift"]["rounds"], [round(value, 3) for value in trace.settings["drift"]["optimal_values"]]
    ([1, 501, 801], [5.25, 5.25, 5.25])
    """

    def __init__(self, changes: "Iterable[tuple[int, Instance | Mapping[str, Any] | Table]]") -> None:
        found: list[tuple[int, Any]] = []
        for place, change in enumerate(items("changes", changes, "pairs of a round and a world")):
            if not isinstance(change, Sequence) or isinstance(change, str) or len(change) != 2:
                raise InvalidInputError(f"changes[{place}] must be a pair of a round and a world, got {shown(change)}.")
            first = whole(f"round of changes[{place}]", change[0], 2, LONGEST_HORIZON)
            if found and first <= found[-1][0]:
                raise InvalidInputError(
                    f"rounds of changes must increase, got {first} after {found[-1][0]} in changes[{place}]."
                )
            found.append((first, _frozen(change[1])))
        self.changes: tuple[tuple[int, Any], ...] = tuple(found)

    @classmethod
    def wandering(
        cls,
        instance: Instance,
        horizon: int,
        *,
        step: float,
        every: int,
        low: float | None = None,
        high: float | None = None,
        seed: int = 0,
    ) -> "Drift":
        """Means that wander: every `every` rounds each is moved by a normal number with deviation `step`.

        At `low` and `high` (by default the least and the largest mean of the instance) they are reflected. The walk
        depends on the seed alone, and in each stretch of `every` rounds the best plan is that of its means.

        >>> from arcbandit import paper_instance
        >>> drift = Drift.wandering(paper_instance("nu"), 1000, step=0.1, every=250)
        >>> [first for first, means in drift.changes]
        [251, 501, 751]
        """
        means = np.array(instance_of("instance", instance, Instance).mean_rewards)
        horizon = whole("horizon", horizon, 1, LONGEST_HORIZON)
        size = non_negative("step", step)
        length = whole("every", every, 1)
        least = float(means.min()) if low is None else real("low", low)
        most = float(means.max()) if high is None else real("high", high)
        if not least <= means.min() <= means.max() <= most:
            raise InvalidInputError(
                f"low and high must have the means of the instance, {means.min():g} to {means.max():g}, between them, "
                f"got {least:g} and {most:g}."
            )
        random = np.random.default_rng(whole("seed", seed, 0))
        changes = []
        for first in range(1 + length, horizon + 1, length):
            means = reflected(means + size * random.standard_normal(means.shape), least, most)
            changes.append((first, means))
        return cls(changes)

    def __len__(self) -> int:
        return len(self.changes)

    def __repr__(self) -> str:
        return f"<Drift: {len(self)} changes>"


def _frozen(world: Any) -> Any:
    """A world that its giver cannot change any more: copies of arrays."""
    if isinstance(world, np.ndarray):
        world = world.copy()
        world.setflags(write=False)
    return {field: _frozen(part) for field, part in world.items()} if isinstance(world, Mapping) else world


def reflected(values: NDArray[np.float64], low: float, high: float) -> NDArray[np.float64]:
    """Numbers folded back at the bounds, as often as it takes."""
    width = high - low
    if width == 0.0:
        return np.full_like(values, low)
    folded = np.mod(values - low, 2.0 * width)
    # The minimum keeps rounding from leaving the bounds.
    return np.minimum(low + np.minimum(folded, 2.0 * width - folded), high)


class Change(NamedTuple):
    """A world that holds from a round on."""

    first: int
    instance: Instance
    optimum: Plan


def worlds_of(drift: Any, instance: Instance, horizon: int) -> tuple[tuple[int, Instance], ...]:
    """The worlds after the first, each with its first round."""
    if drift is None:
        return ()
    if not isinstance(drift, Drift):
        raise InvalidInputError(f"drift must be a Drift, got {shown(drift)}.")
    found = []
    last = instance
    for first, given in drift.changes:
        if first > horizon:
            raise InvalidInputError(f"drift must change within the horizon {horizon}, got a change in round {first}.")
        last = _next_world(last, given, f"the world of round {first}")
        found.append((first, last))
    return tuple(found)


def _next_world(last: Instance, given: Any, where: str) -> Instance:
    if isinstance(given, Instance):
        same = {
            "arms": given.arms == last.arms,
            "contexts": given.contexts == last.contexts,
            "groups": given.floors.names == last.floors.names
            and np.array_equal(given.group_members, last.group_members),
        }
        other = [part for part, equal in same.items() if not equal]
        if other:
            raise InvalidInputError(f"drift must leave {' and '.join(other)} as they are, but {where} has others.")
        return given
    fields = given if isinstance(given, Mapping) else {"mean_rewards": given}
    unknown = [field for field in fields if field not in CHANGING]
    if unknown:
        raise InvalidInputError(f"drift can change {', '.join(CHANGING)}, but {where} has {unknown[0]!r}.")
    base = last.to_dict()
    if "weighted_means" in fields:
        del base["mean_rewards"]
    try:
        new = Instance.from_dict(base | dict(fields))
    except InvalidInstanceError as error:
        raise InvalidInstanceError(f"{where[0].upper()}{where[1:]} of the drift: {error}") from error
    return _next_world(last, new, where)


def tells(last: Instance, new: Instance) -> tuple[bool, bool]:
    """Whether policies are told of other floors, and of other probabilities."""
    floors = not np.array_equal(last.floors.amounts, new.floors.amounts)
    return floors, not np.array_equal(last.context_probabilities, new.context_probabilities)


def tell(learner: Learner, last: Instance, new: Instance) -> None:
    """Tell a learner of other floors and, unless it estimates them, of other probabilities."""
    other_floors, other_probabilities = tells(last, new)
    other_probabilities = other_probabilities and learner.settings[0].estimate_contexts == 0.0
    if other_floors:
        learner.problem.floors[:] = without_zeros(new.floors.amounts)
    if other_probabilities:
        learner.problem.context_probabilities[:] = new.context_probabilities
    if other_floors or other_probabilities:
        if len(learner.planner) > 0:
            start_over(learner.planner)
        learner.progress[Progress.NEXT_PLAN] = 1


def forget_optimum(meters: Meters) -> None:
    """Compare the next plan with the optimum afresh: the optimum is another one."""
    meters.compared[Compared.BASIS] = -1
    if len(meters.explored) > 0:
        meters.explored.counts[:] = 0  # revenues that are kept are those of the world before


def recount_signed_violation(record: Record, worlds: Sequence[Instance]) -> None:
    """Count every floor that was positive at some time: the meters count those that are positive at the checkpoint."""
    positive = np.array([world.floors.amounts > 0.0 for world in worlds])
    if (positive == positive[0]).all():
        return
    shortfall = record.by_floor[FloorTotal.SHORTFALL][:, positive.any(axis=0)]
    record.totals[Total.SIGNED_VIOLATION] = np.maximum(shortfall, 0.0).sum(axis=1)


def mean_optimum(optimum: Plan, changes: Sequence[Change], horizon: int) -> float:
    """What the best plans of the moment earn per round, on average over the horizon."""
    if not changes:
        return optimum.value
    starts = np.array([1, *(change.first for change in changes), horizon + 1])
    values = np.array([optimum.value, *(change.optimum.value for change in changes)])
    return float((np.diff(starts) * values).sum() / horizon)


def drift_document(optimum: Plan, changes: Sequence[Change]) -> dict[str, Any]:
    """The first round of each world, what its best plan earns per round, and whether that meets the floors."""
    plans = [optimum, *(change.optimum for change in changes)]
    return {
        "rounds": [1, *(change.first for change in changes)],
        "optimal_values": [best.value for best in plans],
        "feasible": [best.status == PlanStatus.OPTIMAL for best in plans],
    }
