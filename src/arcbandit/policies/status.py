"""How a policy at work is: what was promised, what is earned, what is known, and how old the plan is."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from arcbandit.certificate import Certificate
from arcbandit.errors import PlanningError
from arcbandit.floors import Floors
from arcbandit.inputs.values import choice
from arcbandit.kernels.confidence import ByPair, radius_factor
from arcbandit.kernels.program import PlanStatus
from arcbandit.planning.plans import Plan
from arcbandit.planning.solve import solve_checked
from arcbandit.policies.decisions import how
from arcbandit.policies.forgetting import earned_by_arm
from arcbandit.policies.learner import Outcome, Progress
from arcbandit.policies.proof import certificate_of
from arcbandit.policies.state import Name, Prior, State
from arcbandit.showing import html_heat_map, html_of, html_table, html_title, text_table
from arcbandit.tables import FrameKind, frame_of

Floats = NDArray[np.float64]

NORMAL_QUANTILE = 1.959963984540054  # of the 95 % intervals
KEPT, AT_RISK, OUT_OF_REACH = "kept", "at risk", "out of reach"
NOT_PLANNED = "not planned yet"
MOST_TO_SIFT = 100_000  # floors times pairs; of more, all floors that conflict are named


class FloorStatus(NamedTuple):
    """A promise: revenue per round, but for `earned`."""

    name: Name
    kind: str  # "arm" or "group"
    promised: float
    expected: float  # under the plan in force, by the means so far
    low: float  # the 95 % interval of `expected`, in which the probabilities of contexts count as known
    high: float
    earned: float  # in all, by the rewards that arrived
    earned_per_round: float  # over all rounds, also those whose rewards have not come
    # What the last unit of the floor costs, by the means so far and their average for unplayed pairs; NaN if that could
    # not be proven.
    price: float
    largest: float  # that could be promised beside the others, likewise; NaN also if they cannot be, or for no floor
    state: str  # "kept", "at risk" or "out of reach"


class ContextStatus(NamedTuple):
    """A context."""

    name: Name
    probability: float
    estimated: bool
    rounds: int  # in which it was seen


class PairStatus(NamedTuple):
    """An arm in a context."""

    arm: Name
    context: Name
    pulls: float  # with those that a prior stands for
    mean: float  # NaN before the first reward
    low: float  # the confidence bounds that the rule plans with
    high: float
    share: float  # of the context's traffic, under the plan in force


class Status(NamedTuple):
    """How a policy is at a moment; `print` shows the promises, `to_frame` any of its tables.

    A floor is "kept" if with 95 % confidence the plan in force earns all of it but for the tolerance, "out of reach" if
    even by optimistic bounds no plan keeps it together with the other floors, and "at risk" otherwise.

    >>> from arcbandit import BLP
    >>> policy = BLP([0.2, 0.1], [0.5, 0.5], arms=["house", "guest"])
    >>> for number in range(2000):
    ...     decision = policy.decide(number % 2)
    ...     policy.update(number % 2, decision.arm, 0.6 if decision.arm == "house" else 0.5)
    >>> status = policy.status()
    >>> status.state, status.decisions, [floor.state for floor in status.floors]
    ('kept', 2000, ['kept', 'kept'])
    """

    floors: tuple[FloorStatus, ...]
    contexts: tuple[ContextStatus, ...]
    pairs: tuple[PairStatus, ...]
    how: str  # how the plan in force came about, as of a `Decision` by it, or "not planned yet"
    plan_age: int  # decisions since the plan in force was made
    decisions: int
    rewards: int
    expected_revenue: float  # per round, under the plan in force, by the means so far
    # That of the best plan, by the means so far; if floors cannot be met, of the least shortfall; NaN if not proven.
    best_revenue: float
    noise_scale: float
    noise_estimated: bool
    attainable_share: float  # of every floor, by optimistic bounds: 1 if all can be met, NaN if nothing can be proven
    best_certificate: Certificate | None  # the proof of `best_revenue`; None if there is none
    certificate: Certificate | None  # how far the plan in force is from that plan, at most; None if either is missing

    @property
    def state(self) -> str:
        """The worst of the floors' states."""
        found = [floor.state for floor in self.floors]
        return next((state for state in (OUT_OF_REACH, AT_RISK) if state in found), KEPT)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; infinite and unknown numbers are None.

        >>> from arcbandit import BLP
        >>> BLP([0.2, 0.1], [0.5, 0.5]).status().to_dict()["how"]
        'not planned yet'
        """
        tables = {name: [row._asdict() for row in getattr(self, name)] for name in TABLES}
        rest = {name: value for name, value in self._asdict().items() if name not in (*TABLES, *PROOFS)}
        proofs = {name: None if getattr(self, name) is None else getattr(self, name)._asdict() for name in PROOFS}
        plain: dict[str, Any] = _plain({"state": self.state, **rest, **tables, **proofs})
        return plain

    def to_frame(self, by: str = "floor", *, kind: FrameKind | None = None) -> Any:
        """A frame with one row per floor or, with `by`, per "context" or "pair".

        `kind` is "polars" or "pandas", by default whichever is installed.

        >>> from arcbandit import BLP
        >>> BLP([0.2, 0.1], [0.5, 0.5]).status().to_frame(kind="pandas")["promised"].tolist()
        [0.2, 0.1]
        """
        choice("by", by, ("floor", "context", "pair"))
        return frame_of(_columns(getattr(self, f"{by}s"), TABLES[f"{by}s"]), kind)

    def _promises(self) -> dict[str, list[Any]]:
        """The floors that promise something, as columns to be shown."""
        shown = [floor for floor in self.floors if floor.promised > 0.0]
        return {heading: [getattr(floor, field) for floor in shown] for heading, field in SHOWN.items()}

    def __str__(self) -> str:
        promises = self._promises()
        return "\n".join([repr(self)[1:-1], text_table(promises)] if promises["floor"] else [repr(self)[1:-1]])

    def _repr_html_(self) -> str:
        arms = list(dict.fromkeys(pair.arm for pair in self.pairs))
        contexts = [context.name for context in self.contexts]
        shares = np.zeros((len(arms), len(contexts)))
        rows, columns = ({name: place for place, name in enumerate(names)} for names in (arms, contexts))
        for pair in self.pairs:
            shares[rows[pair.arm], columns[pair.context]] = pair.share
        return html_of(
            html_title("Status", repr(self)[9:-1]),
            html_table(self._promises()),
            html_title("Allocation", "share of each context (column) given to each arm (row)"),
            html_heat_map(shares, [str(arm) for arm in arms], [str(name) for name in contexts], corner="arm"),
            html_title("Contexts"),
            html_table(_columns(self.contexts, ContextStatus)),
        )

    def __repr__(self) -> str:
        states = [floor.state for floor in self.floors if floor.promised > 0.0]
        found = f"{states.count(self.state)} of {len(states)} floors {self.state}" if states else "no floors"
        age = f", plan of {_counted(self.plan_age, 'decision')} ago"
        plan = f"{self.how}{'' if self.how == NOT_PLANNED else age}"
        return f"<Status: {found}, {plan}, {_counted(self.decisions, 'decision')}, {_counted(self.rewards, 'reward')}>"


TABLES: dict[str, Any] = {"floors": FloorStatus, "contexts": ContextStatus, "pairs": PairStatus}
PROOFS = ("best_certificate", "certificate")
SHOWN = {
    "floor": "name",
    "promised": "promised",
    "expected": "expected",
    "from": "low",
    "to": "high",
    "per round": "earned_per_round",
    "price": "price",
    "largest": "largest",
    "state": "state",
}


def _counted(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def _columns(rows: Sequence[Any], kind: Any) -> dict[str, list[Any]]:
    columns = {field: [getattr(row, field) for row in rows] for field in kind._fields}
    if len({type(name) for name in columns.get("name", ())}) > 1:
        columns["name"] = [str(name) for name in columns["name"]]  # arms by index, and groups by name
    return columns


class _Known(NamedTuple):
    """What a policy knows, as matrices."""

    probabilities: Floats
    pulls: Floats
    means: Floats  # 0 before the first reward
    radius: Floats  # infinite before the first reward
    shares: Floats
    available: NDArray[np.bool_]
    sigma: float


def at_rest(state: State) -> State:
    """The state with copies of what decisions and rewards change and a status tells."""
    learner = state.learner
    past: Any = learner.past
    resting = learner._replace(
        problem=learner.problem._replace(
            context_probabilities=learner.problem.context_probabilities.copy(),
            available=learner.problem.available.copy(),
        ),
        settings=learner.settings.copy(),
        statistics=learner.statistics._replace(
            by_pair=learner.statistics.by_pair.copy(), context_counts=learner.statistics.context_counts.copy()
        ),
        past=past._replace(earned=past.earned.copy()) if len(past) > 0 else past,
        progress=learner.progress.copy(),
        allocation=learner.allocation.copy(),
    )
    return replace(state, learner=resting)


def status_of(state: State, tolerance: float) -> Status:
    """The status of a policy in this state."""
    learner, floors = state.learner, state.floors
    known = _known(state)
    means = _means_to_plan_with(known)
    best = _proven(state, means, floors)
    reach = _reach(state, None)
    progress = learner.progress
    return Status(
        floors=_floors(state, known, means, best, reach, tolerance),
        contexts=_contexts(state),
        pairs=_pairs(state, known),
        how=how(int(progress[Progress.OUTCOME]) & ~Outcome.EXPLORED.value)
        if progress[Progress.DECISIONS]
        else NOT_PLANNED,
        plan_age=int(progress[Progress.DECISIONS] - progress[Progress.PLANNED_AT]),
        decisions=int(progress[Progress.DECISIONS]),
        rewards=int(progress[Progress.REWARDS]),
        expected_revenue=float((known.probabilities * known.means * known.shares).sum()),
        best_revenue=math.nan if best is None else best.value,
        noise_scale=known.sigma,
        noise_estimated=state.configuration.estimates_noise,
        attainable_share=math.nan if reach is None else reach.share,
        best_certificate=None if best is None else best.certificate,
        certificate=certificate_of(known.shares, best, means, known.probabilities, floors, known.available)
        if progress[Progress.DECISIONS] and best is not None
        else None,
    )


class Reach(NamedTuple):
    """Floors that no plan meets together, even by optimistic bounds; none of them if there is a plan."""

    rows: tuple[int, ...]
    share: float  # that every floor can have of its amount


WITHIN_REACH = Reach((), 1.0)


def out_of_reach(state: State, t: int | None = None) -> Reach | None:
    """Which floors are out of reach even by the upper confidence bounds of round t, by default of this one.

    None if there is a plan, if nothing is known that a bound could be of, and if no answer can be proven.
    """
    found = _reach(state, t)
    return None if found is None or not found.rows else found


def _reach(state: State, t: int | None) -> Reach | None:
    """The same, but None only if no answer can be proven."""
    means = _optimistic(state, t)
    if means is None:
        return WITHIN_REACH
    found = _proven(state, means, state.floors, on_infeasible="same_share")
    if found is None:
        return None
    if found.status == PlanStatus.OPTIMAL:
        return WITHIN_REACH
    return Reach(found.conflicting_floors, math.nan if found.floor_share is None else found.floor_share)


def has_unplayed(state: State) -> bool:
    """Whether a pair that may be played, in a context that comes, was never played."""
    problem = state.learner.problem
    pulls = state.learner.statistics.by_pair[ByPair.PULLS]
    return bool((problem.available & (pulls == 0.0) & (problem.context_probabilities > 0.0)).any())


def least_conflict(state: State, reach: Reach, t: int | None = None) -> tuple[str, ...]:
    """Names of floors that are out of reach together, none of which could be left out.

    Where one floor is too high, it stands alone here, though it takes from the others what they need. A floor stays if
    nothing can be proven without it.
    """
    rows = list(reach.rows)
    means = _optimistic(state, t)
    sifted = means is not None and len(rows) * means.size <= MOST_TO_SIFT
    for row in reach.rows if sifted else ():
        others = [other for other in rows if other != row]
        found = _proven(state, cast(Floats, means), _only(state.floors, others)) if others else None
        if found is not None and found.status != PlanStatus.OPTIMAL:
            rows = others
    arms = [name if state.labels.named_arms else f"arm {name}" for name in state_names(state)]
    names = [*map(str, arms), *(group.name for group in state.floors.groups)]
    return tuple(names[row] for row in rows)


def _only(floors: Floors, rows: Sequence[int]) -> Floors:
    """The same floors, all others set to 0."""
    amounts = np.zeros(len(floors.amounts))
    amounts[rows] = floors.amounts[rows]
    of_groups = zip(floors.groups, amounts[floors.n_arms :].tolist(), strict=True)
    groups = [replace(group, floor=amount) for group, amount in of_groups]
    return Floors.of(floors.arms, amounts[: floors.n_arms], groups)


def _optimistic(state: State, t: int | None) -> Floats | None:
    """The upper confidence bounds of round t, or of this one, finite; None if there are none."""
    known = _known(state, t)
    bounds = state.configuration.reward_bounds
    upper = known.means + known.radius
    seen = upper[np.isfinite(upper)]
    if seen.size == 0 and bounds is None:
        return None
    unknown = float(seen.max()) if bounds is None else bounds[1]
    return np.where(np.isfinite(upper), upper, unknown)


def _known(state: State, t: int | None = None) -> _Known:
    learner = state.learner
    by_pair = learner.statistics.by_pair
    pulls = np.array(by_pair[ByPair.PULLS])  # those of a prior included
    sigma = float(learner.settings[0].noise_scale)
    factor = _radius_factor(learner.problem.available.size, state.round_number if t is None else t, sigma)
    roots = np.divide(1.0, np.sqrt(pulls), out=np.full(pulls.shape, np.inf), where=pulls > 0)
    return _Known(
        learner.problem.context_probabilities.copy(),
        pulls,
        np.array(by_pair[ByPair.MEAN]),
        np.where(pulls > 0, factor * np.where(pulls > 0, roots, 0.0), np.inf),
        learner.allocation.copy(),
        learner.problem.available.copy(),
        sigma,
    )


def _radius_factor(n_pairs: int, round_number: int, sigma: float) -> float:
    # A kernel cannot be called from Python; the function that it was made of can.
    return float(getattr(radius_factor, "py_func", radius_factor)(n_pairs, round_number, sigma))


def _proven(
    state: State, means: Floats, floors: Floors, objective: Floats | None = None, on_infeasible: str = "least_shortfall"
) -> Plan | None:
    """The plan by these means; None if its numbers are of so many decades that nothing can be proven."""
    problem = state.learner.problem
    try:
        return solve_checked(
            means if objective is None else objective,
            means,
            problem.context_probabilities.copy(),
            floors,
            problem.available.copy(),
            "simplex",
            on_infeasible,
        )
    except PlanningError:
        return None


def _means_to_plan_with(known: _Known) -> Floats:
    """The means so far, and their average for pairs that were never played: of a newcomer, 0 would be bad news."""
    played = known.available & (known.pulls > 0)
    average = float(known.means[played].mean()) if played.any() else 0.0
    return np.where(known.pulls > 0, known.means, average)


def _floors(
    state: State, known: _Known, means: Floats, best: Plan | None, reach: Reach | None, tolerance: float
) -> tuple[FloorStatus, ...]:
    floors, progress = state.floors, state.learner.progress
    weights = known.probabilities * known.shares
    members = floors.members.astype(np.float64)
    expected = members @ (weights * known.means).sum(axis=1)
    half = half_widths(members, weights, known.pulls, known.sigma)
    earned = members @ earned_by_arm(state.learner, state.prior[Prior.PULLS] * state.prior[Prior.MEAN])
    rounds = max(int(progress[Progress.DECISIONS]), int(progress[Progress.REWARDS]), 1)
    names = [*state_names(state), *(group.name for group in floors.groups)]
    found = []
    for row, floor in enumerate(floors):
        low = float(expected[row] - half[row])
        if reach is not None and row in reach.rows:
            verdict = OUT_OF_REACH
        else:
            verdict = KEPT if floor.amount == 0.0 or low >= (1.0 - tolerance) * floor.amount else AT_RISK
        found.append(
            FloorStatus(
                name=names[row],
                kind=str(floor.kind),
                promised=floor.amount,
                expected=float(expected[row]),
                low=low,
                high=float(expected[row] + half[row]),
                earned=float(earned[row]),
                earned_per_round=float(earned[row]) / rounds,
                price=math.nan if best is None else float(best.floors.prices[row]),
                largest=_largest(state, means, row) if floor.amount > 0.0 else math.nan,
                state=verdict,
            )
        )
    return tuple(found)


def half_widths(members: Floats, weights: Floats, pulls: Floats, noise_scale: float) -> Floats:
    """Of the 95 % intervals of what each floor's members are expected to earn with these weights of pairs."""
    variance = np.divide(weights**2, pulls, out=np.zeros(weights.shape), where=pulls > 0).sum(axis=1)
    half = NORMAL_QUANTILE * noise_scale * np.sqrt(members @ variance)
    # What is given to a pair that was never played earns nobody knows what.
    unknown: Floats = np.where(members @ ((weights > 0.0) & (pulls == 0)).any(axis=1) > 0, np.inf, half)
    return unknown


def _largest(state: State, means: Floats, row: int) -> float:
    """The most that the arms of a floor can earn while the others are kept; NaN if these cannot be kept."""
    floors = state.floors
    others = _only(floors, [other for other in range(len(floors.amounts)) if other != row])
    revenue = means * floors.members[row][:, np.newaxis]
    found = _proven(state, means, others, objective=revenue)
    return found.value if found is not None and found.status == PlanStatus.OPTIMAL else math.nan


def state_names(state: State) -> tuple[Name, ...]:
    """The arms by name, or by index if they have none."""
    labels = state.labels
    return labels.arms if labels.named_arms else tuple(range(len(labels.arms)))


def _context_names(state: State) -> tuple[Name, ...]:
    labels = state.labels
    return labels.contexts if labels.named_contexts else tuple(range(len(labels.contexts)))


def _contexts(state: State) -> tuple[ContextStatus, ...]:
    learner = state.learner
    counts = learner.statistics.context_counts
    probabilities = learner.problem.context_probabilities
    estimated = state.configuration.estimate_contexts
    return tuple(
        ContextStatus(name, float(probabilities[place]), estimated, int(counts[place]))
        for place, name in enumerate(_context_names(state))
    )


def _pairs(state: State, known: _Known) -> tuple[PairStatus, ...]:
    return tuple(
        PairStatus(
            arm,
            context,
            float(known.pulls[row, column]),
            float(known.means[row, column]) if known.pulls[row, column] > 0 else math.nan,
            float(known.means[row, column] - known.radius[row, column]),
            float(known.means[row, column] + known.radius[row, column]),
            float(known.shares[row, column]),
        )
        for row, arm in enumerate(state_names(state))
        for column, context in enumerate(_context_names(state))
        if known.available[row, column]
    )


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
