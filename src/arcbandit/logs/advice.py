"""What can be promised from what a log knows, and at what price."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import InvalidInputError
from arcbandit.floors import Floors, GroupFloor, named_groups
from arcbandit.inputs.values import instance_of, is_real, known_name, non_negative, shown, whole
from arcbandit.logs.answers import AdvisedPlan, Curve, Feasibility, Interval, intervals_of, plain_data
from arcbandit.logs.confidence import Bounds
from arcbandit.logs.evidence import Evidence
from arcbandit.logs.programs import Conflict, Programs, Worlds
from arcbandit.logs.statistics import LogStatistics
from arcbandit.planning import Plan

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

LEAST_ROWS = 10
POINTS = 25  # of the curve over common scales
SMALLEST_DELTA = 1e-6  # beyond this, nobody should believe the assumptions
HALVINGS = 25
VIEWS = ("pessimistic", "plain", "optimistic")
Verdict = Literal["feasible", "infeasible", "undecided"]


@dataclass(frozen=True, eq=False, repr=False)
class Advice:
    """What can be promised, from a log; `advise` makes one and states the rule of its intervals.

    Floors are by row: those of all arms, then those of groups. Revenue is per round.

    >>> import pandas
    >>> from arcbandit import read_log
    >>> arms, rewards = ["house", "guest"] * 1000, [1.0, 0.7, 0.8, 0.3] * 500
    >>> log = pandas.DataFrame({"context": "tv", "arm": arms, "reward": rewards})
    >>> advice = advise(read_log(log), {"guest": 0.2})
    >>> advice.verdict, advice.largest_scale.low > 2, round(advice.total_price.plain, 3)
    ('feasible', True, 0.16)
    """

    evidence: Evidence
    floors: Floors
    confidence: float

    @property
    def statistics(self) -> LogStatistics:
        """The log's counts, sums and squares."""
        return self.evidence.statistics

    @property
    def delta(self) -> float:
        """With what probability any of the intervals may be wrong."""
        return 1.0 - self.confidence

    @property
    def promises(self) -> bool:
        """Whether any floor is above zero."""
        return bool((self.floors.amounts > 0.0).any())

    @property
    def known(self) -> Flags:
        """Which pairs have enough rewards to be planned with, K x C."""
        return self.evidence.known

    @property
    def known_contexts(self) -> Flags:
        """Which contexts have such a pair, shape (C,)."""
        return np.asarray(self.known.any(axis=0))

    @property
    def unknown_contexts(self) -> tuple[str, ...]:
        """The contexts without any such pair, in which nothing is counted as earned."""
        return tuple(self.statistics.contexts[place] for place in np.flatnonzero(~self.known_contexts))

    @cached_property
    def context_mix(self) -> Bounds:
        """Bounds on the share of each context, shape (C,)."""
        return self.evidence.mix(self.delta)

    @cached_property
    def earned(self) -> list[Interval]:
        """What each arm or group earns now, as the log chose arms; NaN ends where there are too few rows."""
        low, high = self.evidence.earned(self.delta)
        by_floor = self.floors.by_floor
        return intervals_of(by_floor(low), by_floor(self.statistics.arm_revenue), by_floor(high))

    @cached_property
    def most(self) -> list[Interval]:
        """What each arm or group could earn at most, if it were played wherever it earns anything."""
        worlds, find = self._worlds, self.programs.most
        low = np.array([worlds.least(row) for row in find(worlds.means.low)])
        high = np.array([worlds.most(row) for row in find(worlds.means.high)])
        return intervals_of(low, find(worlds.plain_means) @ worlds.plain_mix, high)

    @cached_property
    def largest_floors(self) -> list[Interval]:
        """The largest floor of each arm or group, the others fixed; minus infinity if no plan keeps the others.

        The low end can be promised with the confidence of the advice.
        """
        return [Interval(*self.programs.largest_floor(row)) for row in range(len(self.floors))]

    @cached_property
    def scaled_amounts(self) -> Floats:
        """What is scaled together: the floors or, if there are none, what each arm earns now."""
        if self.promises:
            return self.floors.amounts
        now = np.maximum(self.statistics.arm_revenue, 0.0)
        return np.concatenate([now, np.zeros(len(self.floors.groups))])

    @cached_property
    def largest_scale(self) -> Interval:
        """The largest number by which all floors (or what arms earn now) can be multiplied together."""
        return Interval(*self.programs.largest_scale(self.scaled_amounts))

    @cached_property
    def prices(self) -> list[Interval]:
        """What each floor costs, the others kept: 0 for floors of zero, infinite where floors cannot be met."""
        owed = self.floors.amounts > 0.0
        free = Interval(0.0, 0.0, 0.0)
        return [Interval(*self.programs.price((row,))) if owed[row] else free for row in range(len(self.floors))]

    @cached_property
    def total_price(self) -> Interval:
        """What all floors cost together."""
        every = tuple(range(len(self.floors)))
        return Interval(*self.programs.price(every)) if self.promises else Interval(0.0, 0.0, 0.0)

    @cached_property
    def plans(self) -> dict[str, AdvisedPlan | None]:
        """Plans for low means ("pessimistic"), for the log's means ("plain") and for high means ("optimistic").

        None where the floors conflict. The pessimistic one keeps every floor with the confidence of the advice.
        """
        means = self._worlds.means
        found = {"plain": self._by_the_log, "optimistic": self.programs.best(means.high)}
        shares = {name: plan.allocation if isinstance(plan, Plan) else None for name, plan in found.items()}
        shares["pessimistic"] = self.programs.cautious(self.floors.amounts)
        made = {name: None if plan is None else self.plan_of(plan) for name, plan in shares.items()}
        return {view: made[view] for view in VIEWS}

    @cached_property
    def conflicts(self) -> tuple[str, ...]:
        """The names of floors that conflict by the log's means; if they do not, by low means; none if not even so."""
        for found in (self._by_the_log, self.programs.best(self._worlds.means.low)):
            if isinstance(found, Conflict):
                return tuple(self.floors.names[row] for row in found.floors)
        return ()

    @cached_property
    def verdict(self) -> Verdict:
        """What can be said of the floors with the confidence of the advice."""
        if not self.promises or self.plans["pessimistic"] is not None:
            return "feasible"
        if self.largest_scale.high < 1.0:
            return "infeasible"
        return "undecided"

    @cached_property
    def value(self) -> Interval:
        """What the best plan that keeps the floors earns; minus infinity where there is none."""
        amounts, programs = self.floors.amounts, self.programs
        plain = self._by_the_log.value if isinstance(self._by_the_log, Plan) else -math.inf
        return Interval(programs.sure_value(amounts), plain, programs.highest_value(amounts))

    @cached_property
    def value_without_floors(self) -> Interval:
        """What the best plan without any floor earns."""
        nothing, programs = np.zeros(len(self.floors)), self.programs
        return Interval(
            programs.sure_value(nothing),
            programs.value(self._worlds.plain_means, nothing),
            programs.highest_value(nothing),
        )

    @cached_property
    def feasibility(self) -> Feasibility:
        """How sure one can be that the floors can be met together at all."""
        amounts = self.floors.amounts
        if not self.promises:
            return Feasibility(1.0, 0.0)
        return Feasibility(
            _largest_confidence(lambda delta: self._programs_at(delta).cautious(amounts) is not None),
            _largest_confidence(lambda delta: self._programs_at(delta).highest_scale(amounts) < 1.0),
        )

    @property
    def plan(self) -> AdvisedPlan | None:
        """The most cautious plan that there is: pessimistic, otherwise plain; None if the floors conflict in both."""
        return self.plans["pessimistic"] or self.plans["plain"]

    def plan_of(self, shares: Floats) -> AdvisedPlan:
        """What is earned if these shares of each context are given to the arms.

        >>> import pandas
        >>> from arcbandit import read_log
        >>> arms, rewards = ["house", "guest"] * 1000, [1.0, 0.7, 0.8, 0.3] * 500
        >>> log = pandas.DataFrame({"context": "tv", "arm": arms, "reward": rewards})
        >>> found = advise(read_log(log)).plan_of(np.array([[0.25], [0.75]]))
        >>> round(found.value.plain, 3), found.value.low < found.value.plain < found.value.high
        (0.8, True)
        """
        programs, worlds = self.programs, self._worlds
        by_context = [(means * shares).sum(axis=0) for means in (worlds.means.low, worlds.means.high)]
        revenue = intervals_of(programs.guaranteed(shares), programs.earned(shares), programs.conceivable(shares))
        plain = float(programs.earned(shares)[: len(self.floors.arms)].sum())
        value = Interval(worlds.least(by_context[0]), plain, worlds.most(by_context[1]))
        return AdvisedPlan(np.where(self.known_contexts, shares, math.nan), value, revenue)

    def curve(self, points: int = POINTS) -> Curve:
        """Total revenue if all floors (or what arms earn now) are multiplied by a number, up to what is conceivable.

        >>> import pandas
        >>> from arcbandit import read_log
        >>> arms, rewards = ["house", "guest"] * 1000, [1.0, 0.7, 0.8, 0.3] * 500
        >>> log = pandas.DataFrame({"context": "tv", "arm": arms, "reward": rewards})
        >>> curve = advise(read_log(log), {"guest": 0.2}).curve(points=5)
        >>> curve.scales.round(2).tolist()
        [0.0, 0.65, 1.29, 1.94, 2.41, 2.5, 2.59]
        """
        ends = [end for end in self.largest_scale if math.isfinite(end) and end > 0.0]
        # The numbers at which plans cease to exist belong to the curve, but for what rounding may do there.
        scales = np.unique([*np.linspace(0.0, max(ends, default=1.0), points), *ends]) * (1.0 - 1e-9)
        programs, means = self.programs, self._worlds.plain_means
        owed = [scale * self.scaled_amounts for scale in scales]
        values = np.array([[programs.sure_value(a), programs.value(means, a), programs.highest_value(a)] for a in owed])
        return Curve(scales, *np.where(np.isfinite(values), values, math.nan).T)

    @cached_property
    def programs(self) -> Programs:
        """The planning problems of the known pairs."""
        return self._programs_at(self.delta)

    def _programs_at(self, delta: float) -> Programs:
        # A context of which nothing is known earns nothing, whoever gets it.
        available = self.known | ~self.known_contexts
        counts = np.where(self.known, self.statistics.counts, ~self.known_contexts)
        return Programs(self.floors, available, self.evidence.worlds(delta), counts / counts.sum(axis=0))

    @property
    def _worlds(self) -> Worlds:
        return self.programs.worlds

    @cached_property
    def _by_the_log(self) -> Plan | Conflict:
        return self.programs.best(self._worlds.plain_means)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; what is infinite or not known is None.

        >>> import pandas
        >>> from arcbandit import read_log
        >>> arms, rewards = ["house", "guest"] * 1000, [1.0, 0.7, 0.8, 0.3] * 500
        >>> log = pandas.DataFrame({"context": "tv", "arm": arms, "reward": rewards})
        >>> advise(read_log(log), {"guest": 0.2}).to_dict()["verdict"]
        'feasible'
        """
        log, names = self.statistics, self.floors.names
        curve = self.curve()
        rows = zip(
            names, self.floors.kinds, self.floors.amounts, self.earned, self.most, self.largest_floors, self.prices,
            strict=True,
        )  # fmt: skip
        document = {
            "rows": log.rows,
            "confidence": self.confidence,
            "rewards": "normal" if self.evidence.reward_bounds is None else "bounded",
            "reward_bounds": self.evidence.reward_bounds,
            "least_rows": self.evidence.least_rows,
            "arms": log.arms,
            "contexts": log.contexts,
            "context_mix": {
                "low": self.context_mix.low, "plain": log.context_probabilities, "high": self.context_mix.high,
            },
            "unknown_pairs": [[log.arms[arm], log.contexts[context]] for arm, context in np.argwhere(~self.known)],
            "floors": [
                {
                    "name": name,
                    "kind": str(kind),
                    "floor": floor,
                    "earns_now": earned._asdict(),
                    "could_earn": most._asdict(),
                    "largest_floor": largest._asdict(),
                    "price": price._asdict(),
                }
                for name, kind, floor, earned, most, largest, price in rows
            ],
            "scaled": "floors" if self.promises else "earns_now",
            "largest_scale": self.largest_scale._asdict(),
            "total_price": self.total_price._asdict(),
            "value": self.value._asdict(),
            "value_without_floors": self.value_without_floors._asdict(),
            "verdict": self.verdict,
            "feasibility": self.feasibility._asdict(),
            "conflicts": self.conflicts,
            "plans": {
                view: None
                if plan is None
                else {
                    "allocation": plan.allocation,
                    "value": plan.value._asdict(),
                    "revenue": [interval._asdict() for interval in plan.revenue],
                }
                for view, plan in self.plans.items()
            },
            "curve": curve._asdict(),
            "bad_rows": [bad.to_dict() for bad in log.bad_rows],
        }  # fmt: skip
        plain: dict[str, Any] = plain_data(document)
        return plain

    def __repr__(self) -> str:
        log = self.statistics
        shape = f"{len(log.arms)} arms x {len(log.contexts)} contexts"
        what = "of the floors" if self.promises else "of what arms earn now"
        return f"<Advice: {log.rows:,} rows, {shape}, {self.largest_scale.low:.3g} {what} can be promised>"


def advise(
    statistics: LogStatistics,
    revenue_floors: Mapping[str, float] | None = None,
    *,
    group_floors: Iterable[GroupFloor] = (),
    confidence: float = 0.95,
    reward_bounds: tuple[float, float] | None = None,
    least_rows: int = LEAST_ROWS,
) -> Advice:
    """What revenue can be promised to arms, and what proposed floors would cost, from a log.

    `revenue_floors` are by arm; arms that are not named have none. `group_floors` are those of several arms together.
    Without any floors, what arms earn now is what is scaled together.

    With probability of at least `confidence`, every interval of the advice holds, all at once. This rests on bounds on
    the share of each context and on the mean reward of each pair, of which each end may fail with probability
    delta / 2m, where delta = 1 - confidence and m is the number of all these intervals and those of what arms earn now.
    Together they say which worlds are possible. What can be promised is what one plan earns in the worst of these
    worlds; what is said to be impossible is so in the best, which weak duality proves. So the intervals are wider than
    they need be for any single number, never narrower.

    What is assumed: contexts come independently by one mix, which will stay; rewards of a pair are independent, with
    one mean, whenever they were logged; and nothing but the context decided about the arm. Shares are bounded as by
    Hoeffding (`hoeffding1963`), for every number of rows. Means are bounded by Student's t, for rewards that are about
    normal, with the variance of the pair or that of all pairs, whichever is larger; or, if `reward_bounds` gives the
    least and the largest reward, as shares are, for every distribution. Rewards that are all 0 or 1 are taken to be
    bounded by these.

    Pairs with fewer than `least_rows` rewards are left out of every plan: the advice is about plans that do not play
    them.

    >>> import pandas
    >>> from arcbandit import read_log
    >>> arms, rewards = ["house", "guest"] * 1000, [1.0, 0.7, 0.8, 0.3] * 500
    >>> log = pandas.DataFrame({"context": "tv", "arm": arms, "reward": rewards})
    >>> advice = advise(read_log(log), {"guest": 0.2})
    >>> advice
    <Advice: 2,000 rows, 2 arms x 1 contexts, 2.41 of the floors can be promised>
    >>> round(advice.prices[0].plain, 3), round(advice.largest_floors[0].low, 3)
    (0.16, 0.483)
    """
    instance_of("statistics", statistics, LogStatistics, ", as read_log returns it")
    if not is_real(confidence) or not 0.0 < confidence < 1.0:
        raise InvalidInputError(f"confidence must be a number between 0 and 1, got {shown(confidence)}.")
    amounts = dict.fromkeys(statistics.arms, 0.0)
    if revenue_floors is not None and not isinstance(revenue_floors, Mapping):
        raise InvalidInputError(f"revenue_floors must be a mapping from arms to floors, got {shown(revenue_floors)}.")
    for arm, floor in (revenue_floors or {}).items():
        name = known_name("arm", arm, amounts, " in the log")
        amounts[name] = non_negative(f"revenue_floors of {name!r}", floor)
    groups = named_groups(group_floors, statistics.arms)
    evidence = Evidence.of(statistics, reward_bounds, whole("least_rows", least_rows, 2))
    floors = Floors.of(statistics.arms, list(amounts.values()), groups)
    return Advice(evidence, floors, float(confidence))


def _largest_confidence(shown_at: Any) -> float:
    """The largest confidence at which something is shown that is the easier to show the larger delta is.

    Only one end of each interval is used, so that a box of delta fails with probability delta / 2.
    """
    if not shown_at(1.0):
        return 0.0
    if shown_at(SMALLEST_DELTA):
        return 1.0 - SMALLEST_DELTA / 2
    low, high = math.log(SMALLEST_DELTA), 0.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if shown_at(math.exp(middle)) else (middle, high)
    return 1.0 - math.exp(high) / 2
