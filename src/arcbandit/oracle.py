"""The constants of the paper's analysis, exactly: margins, sensitivities and gaps of an instance.

All of them are linear programs with one more scalar s, the slack given to every floor at once. It is modelled as a
further context with two artificial arms, so that the planning kernel solves these problems too: the share of the arm
`rise` in that context, times a span, is s. Slopes of the concave functions of s are found by Newton steps, each of
which lands on a vertex, so the last one is exact.
"""

import enum
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import EnumerationLimitError, InfeasibleError, InvalidInputError, PlanningError
from arcbandit.inputs.values import choice, instance_of, is_whole, items, shown, whole
from arcbandit.instance import Instance
from arcbandit.kernels.program import NO_FLOOR, Basis, PlanStatus, make_basis
from arcbandit.limits import LearningLimit, learning_limit
from arcbandit.planning import (
    ActiveSet,
    Plan,
    assemble_program,
    make_program,
    plan_over_all_floors,
    solve_program,
)
from arcbandit.showing import counted, html_facts, html_of, html_title, number
from arcbandit.tables import FrameKind, frame_of

__all__ = ["CANDIDATE_LIMIT", "Analysis", "Candidate", "Regime", "analyse"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

CANDIDATE_LIMIT = 100_000  # candidate sets that are enumerated by default
VALUE_TOLERANCE = 1e-10  # of the revenue at stake: two values this close are equal


class Regime(enum.StrEnum):
    """What the floors do to the revenue."""

    FREE = "free"
    COSTLY = "costly"
    INFEASIBLE = "infeasible"


class Candidate(NamedTuple):
    """A candidate set I with its gaps; a gap of infinity means that some context is left without an arm."""

    active_set: ActiveSet
    feasibility_gap: float  # s(I)
    performance_sensitivity: float  # L(I)
    performance_gap: float  # P(I)
    suboptimality_gap: float  # rho(I)


class _Point(NamedTuple):
    """A vertex of a problem with slack: its revenue f and its slack s."""

    revenue: float
    slack: float


@dataclass(frozen=True, eq=False, repr=False)
class Analysis:
    """Everything the oracle knows about an instance. What needs feasible floors is None if they are infeasible.

    As the paper defines them, its constants count the floors of all K arms, including those of zero, which planning and
    learning leave out. Both agree unless a mean reward is negative.

    >>> from arcbandit import paper_instance
    >>> found = analyse(paper_instance("nu"))
    >>> found
    <Analysis: floors are costly, margin 0.25, 3 arms x 3 contexts>
    >>> str(found.regime), found.price_of_guarantees, round(found.suboptimality_gap, 4)
    ('costly', 0.75, 0.0833)
    >>> found.largest_floors.tolist()
    [4.5, 0.5, 1.0]
    """

    instance: Instance
    plan: Plan  # optimal, or of least shortfall
    regime: Regime
    feasibility_margin: float  # gamma*; if the floors are infeasible, minus how far they must all fall
    revenue_without_floors: float
    performance_sensitivity: float | None  # S_gamma*
    largest_floors: Floats | None  # each arm's largest feasible floor, the others fixed, shape (K,)
    candidate_limit: int = field(default=CANDIDATE_LIMIT, repr=False)

    def __repr__(self) -> str:
        shape = f"{counted(self.instance.n_arms, 'arm')} x {counted(self.instance.n_contexts, 'context')}"
        return f"<Analysis: floors are {self.regime}, margin {number(self.feasibility_margin)}, {shape}>"

    def to_dict(self) -> dict[str, float | str | None]:
        """The constants by name, except the suboptimality gap, whose computation may take long.

        >>> from arcbandit import paper_instance
        >>> analyse(paper_instance("nu")).to_dict()["revenue_without_floors"]
        6.0
        """
        return {
            "regime": str(self.regime),
            "value": self.value,
            "revenue_without_floors": self.revenue_without_floors,
            "price_of_guarantees": self.price_of_guarantees,
            "feasibility_margin": self.feasibility_margin,
            "performance_sensitivity": self.performance_sensitivity,
        }

    def to_frame(self, by: str = "constant", *, kind: FrameKind | None = None) -> Any:
        """A frame of the constants, NaN where there is none; with by="floor" or "pair", of the plan.

        `kind` is "polars" or "pandas", by default whichever is installed.

        >>> from arcbandit import paper_instance
        >>> analyse(paper_instance("nu")).to_frame(kind="pandas").set_index("constant").loc["value"].item()
        5.25
        """
        if choice("by", by, ("constant", "floor", "pair")) != "constant":
            return self.plan.to_frame(by, kind=kind)
        constants = {name: value for name, value in self.to_dict().items() if name != "regime"}
        values = [math.nan if value is None else value for value in constants.values()]
        return frame_of({"constant": list(constants), "value": values}, kind)

    def _repr_html_(self) -> str:
        title = html_title("Analysis", f"the floors are {self.regime}")
        return html_of(title, html_facts(self.to_dict()), *self.plan._html_parts())

    @property
    def value(self) -> float | None:
        """f*, the optimal revenue per round."""
        return None if self.regime == Regime.INFEASIBLE else self.plan.value

    @property
    def price_of_guarantees(self) -> float | None:
        """Revenue per round that the floors cost."""
        return None if self.value is None else max(self.revenue_without_floors - self.value, 0.0)

    @property
    def floor_prices(self) -> Floats | None:
        """Revenue lost for the last unit of each arm's floor, shape (K,)."""
        return None if self.regime == Regime.INFEASIBLE else self.plan.floor_prices

    @property
    def active_set(self) -> ActiveSet | None:
        """I*, the constraints that hold with equality at the optimum."""
        return None if self.regime == Regime.INFEASIBLE else self.plan.active_set

    @property
    def degenerate(self) -> bool | None:
        """Whether more than kappa - C constraints are active, which the paper's second assumption excludes."""
        return None if self.regime == Regime.INFEASIBLE else self.plan.degenerate

    @property
    def candidate_count(self) -> int:
        """Number of sets with kappa - C members, as the paper counts them."""
        n_constraints = self.instance.n_pairs + len(self.instance.floors)
        return math.comb(n_constraints, self.instance.n_pairs - self.instance.n_contexts)

    @property
    def suboptimality_gap(self) -> float | None:
        """rho*, the least gap of any candidate but I*; raise EnumerationLimitError if there are too many."""
        return None if self.nearest_candidate is None else self.nearest_candidate.suboptimality_gap

    @cached_property
    def nearest_candidate(self) -> Candidate | None:
        """The candidate that attains rho*; None if the floors are infeasible or there is no other candidate."""
        if self.regime == Regime.INFEASIBLE:
            return None
        if self.candidate_count > self.candidate_limit:
            raise EnumerationLimitError(
                f"The suboptimality gap needs all {self.candidate_count:,} candidate sets, "
                f"more than the limit of {self.candidate_limit:,}.",
                count=self.candidate_count,
                limit=self.candidate_limit,
            )
        best: Candidate | None = None
        for active_set in _candidates(self.instance):
            if active_set == self.active_set:
                continue
            limit = math.inf if best is None else best.suboptimality_gap
            candidate = self._candidate(active_set, limit)
            if candidate is not None and candidate.suboptimality_gap < limit:
                best = candidate
        return best

    def candidate(self, active_set: ActiveSet) -> Candidate:
        """s(I), L(I), P(I) and rho(I) of any set of constraints; floors by row, pairs as (arm, context) indices.

        >>> from arcbandit import paper_instance
        >>> found = analyse(paper_instance("nu"))
        >>> found.candidate(found.active_set).suboptimality_gap
        0.0
        """
        if self.regime == Regime.INFEASIBLE:
            raise InfeasibleError(
                "The gaps of a candidate are measured from the optimum, but no allocation meets the floors.",
                conflicting_floors=tuple(self.instance.floors.names[row] for row in self.plan.conflicting_floors),
                least_shortfall=self.plan.total_shortfall,
            )
        _check(self.instance, active_set)
        found = self._candidate(active_set, math.inf)
        assert found is not None  # no gap is above an infinite limit
        return found

    def feasibility_gap(self, active_set: ActiveSet) -> float:
        """s(I): the least slack with which the floors of I hold with equality and its pairs stay idle.

        >>> from arcbandit import paper_instance
        >>> found = analyse(paper_instance("nu"))
        >>> found.feasibility_gap(found.active_set)
        0.0
        """
        return self.candidate(active_set).feasibility_gap

    def performance_sensitivity_of(self, active_set: ActiveSet) -> float:
        """L(I): what the first unit of slack beyond s(I) earns.

        >>> from arcbandit import paper_instance
        >>> found = analyse(paper_instance("nu"))
        >>> round(found.performance_sensitivity_of(found.active_set), 6)
        2.0
        """
        return self.candidate(active_set).performance_sensitivity

    def performance_gap(self, active_set: ActiveSet) -> float:
        """P(I): the revenue that I forgoes at its least slack, over max(1, S_gamma*) + L(I).

        >>> from arcbandit import paper_instance
        >>> found = analyse(paper_instance("nu"))
        >>> found.performance_gap(found.active_set)
        0.0
        """
        return self.candidate(active_set).performance_gap

    def gap(self, active_set: ActiveSet) -> float:
        """rho(I) = max(s(I), P(I)).

        >>> from arcbandit import paper_instance
        >>> found = analyse(paper_instance("nu"))
        >>> found.gap(found.active_set)
        0.0
        """
        return self.candidate(active_set).suboptimality_gap

    def learning_limit(self, horizon: float, violation_weight: float = 1.0) -> LearningLimit:
        """The least R + v V that learning leaves any policy near this instance, to the order of sqrt(T).

        T is the `horizon`. It holds in the sense of local asymptotic minimax: for Gaussian rewards, in the worst case
        over instances near this one, even for a policy that is told which pairs the best plan uses. It is exact for a
        unique optimum that is not degenerate, whose saturated floors count no arm twice; others are refused.
        docs/theory.md has the proof.

        >>> from arcbandit import paper_instance
        >>> analyse(paper_instance("nu")).learning_limit(50_000)
        <LearningLimit: R + V of 248.7 (R 103, V 145.7) after 50,000 rounds>
        """
        return learning_limit(self.instance, horizon, violation_weight)

    def _candidate(self, active_set: ActiveSet, limit: float) -> Candidate | None:
        """The candidate's gaps, or None as soon as its gap is seen to reach `limit`."""
        problem = _SlackProblem.around(self.instance, active_set)
        if problem is None:
            return Candidate(active_set, math.inf, 0.0, 0.0, math.inf) if math.isinf(limit) else None
        least = problem.least_slack()
        if least >= limit:
            return None
        at_least = problem.best(0.0, slack=(least, least))
        wide = (least, least + problem.span)
        scale = _at_stake(self.instance)
        sensitivity = _steepest(problem, at_least, wide, problem.best(0.0, slack=wide), scale)
        assert self.performance_sensitivity is not None
        loss = self.plan.value - at_least.revenue
        if abs(loss) <= VALUE_TOLERANCE * scale:
            loss = 0.0
        gap = loss / (max(1.0, self.performance_sensitivity) + sensitivity)
        return Candidate(active_set, least, sensitivity, gap, max(least, gap))


def analyse(instance: Instance, *, candidate_limit: int = CANDIDATE_LIMIT) -> Analysis:
    """Compute the oracle's constants; those that need an enumeration are computed on first access.

    An enumeration of more than `candidate_limit` sets is refused.

    >>> from arcbandit import paper_instance
    >>> found = analyse(paper_instance("nu"))
    >>> found.value, found.feasibility_margin, found.performance_sensitivity
    (5.25, 0.25, 2.0)
    """
    candidate_limit = whole("candidate_limit", candidate_limit, 0, math.inf)
    best = plan_over_all_floors(instance)
    without_floors = float(instance.weighted_means.max(axis=0).sum())
    problem = _SlackProblem.above(instance)
    margin = problem.largest_margin()
    if best.status == PlanStatus.INFEASIBLE:
        return Analysis(instance, best, Regime.INFEASIBLE, margin, without_floors, None, None, candidate_limit)
    # The optimal plan proves that the margin is not negative, despite rounding.
    margin = max(margin, 0.0)
    cost = without_floors - best.value
    scale = _at_stake(instance)
    free = cost <= VALUE_TOLERANCE * scale
    sensitivity = 0.0
    if margin > 0.0:
        at_margin = problem.best(0.0, slack=(margin, margin))
        at_most = (0.0, margin)
        sensitivity = _steepest(problem, at_margin, at_most, problem.best(0.0, slack=at_most), scale)
    return Analysis(
        instance,
        best,
        Regime.FREE if free else Regime.COSTLY,
        margin,
        without_floors,
        sensitivity,
        _largest_floors(instance),
        candidate_limit,
    )


def feasibility_margin(instance: Instance) -> float:
    """gamma* alone."""
    return _SlackProblem.above(instance).largest_margin()


class _SlackProblem:
    """The planning problem with a slack s in every row, in favour of the floors or against them.

    Rows: the floors, then the same floors as upper limits if a candidate requires equality.
    """

    def __init__(self, instance: Instance, *, met_exactly: list[int], idle: Flags, favour: float) -> None:
        self.weighted = instance.weighted_means
        self.n_arms, self.n_contexts = self.weighted.shape
        self.favour = favour
        lower = instance.floors.amounts
        self.floors = np.concatenate([lower, -lower[met_exactly]])
        self.rows = instance.floors.rows_of_arms()
        for place, row in enumerate(met_exactly):
            for own in self.rows:
                if row + 1 in own:
                    own.append(-(len(lower) + place + 1))
        everywhere = list(range(1, len(self.floors) + 1))
        self.rows += [everywhere, []]
        self.available = np.zeros((self.n_arms + 2, self.n_contexts + 1), dtype=np.bool_)
        self.available[:-2, :-1] = ~idle
        self.available[-2:, -1] = True
        # No floor can be missed, or exceeded, by more than this; a tight span keeps the slack's column in scale.
        reach = instance.floors.by_floor(np.abs(self.weighted).sum(axis=1)).max()
        self.span = float(reach + np.abs(self.floors).max()) or 1.0

    @classmethod
    def above(cls, instance: Instance) -> "_SlackProblem":
        """Phi(s): every floor raised by s."""
        return cls(instance, met_exactly=[], idle=np.zeros(instance.weighted_means.shape, dtype=np.bool_), favour=-1)

    @classmethod
    def around(cls, instance: Instance, active_set: ActiveSet) -> "_SlackProblem | None":
        """psi(s, I): floors lowered by s, those of I met to within s; None if a context is left without an arm."""
        idle = np.zeros(instance.weighted_means.shape, dtype=np.bool_)
        for arm, context in active_set.pairs:
            idle[arm, context] = True
        if idle.all(axis=0).any():
            return None
        return cls(instance, met_exactly=sorted(active_set.floors), idle=idle, favour=1)

    def _solve(self, weight: float, slack_weight: float, slack: tuple[float, float]) -> _Point:
        """Maximise weight * f + slack_weight * s over the plans with s between the two bounds."""
        low, high = slack
        objective = np.zeros((self.n_arms + 2, self.n_contexts + 1))
        revenue = np.zeros_like(objective)
        objective[:-2, :-1] = weight * self.weighted
        revenue[:-2, :-1] = self.weighted
        objective[-2, -1] = slack_weight * (high - low)
        revenue[-2, -1] = self.favour * (high - low)
        program = assemble_program(objective, revenue, self.floors - self.favour * low, self.rows, self.available)
        found = solve_program(program, start=self._start())
        if found.status != PlanStatus.OPTIMAL:
            raise PlanningError("The solver gave up on one of the oracle's problems.")
        allocation = found.allocation[:-2, :-1]
        return _Point(float((self.weighted * allocation).sum()), self._slack_of(allocation, slack))

    def _start(self) -> Basis:
        """A basis, feasible if the bounds allow: the best arm of every context, and the slack that meets all floors."""
        start = make_basis(self.n_contexts + 1, len(self.floors))
        start.key[:-1] = np.where(self.available[:-2, :-1], self.weighted, -np.inf).argmax(axis=0)
        start.key[-1] = self.n_arms if self.favour > 0 else self.n_arms + 1
        return start

    def _slack_of(self, allocation: Floats, slack: tuple[float, float]) -> float:
        """The extreme s within the bounds for which an allocation is in the set; more precise than from its share."""
        earned = (self.weighted * allocation).sum(axis=1)
        reached = np.zeros(len(self.floors))
        for arm, own in enumerate(self.rows[:-2]):
            for signed in own:
                reached[abs(signed) - 1] += earned[arm] if signed > 0 else -earned[arm]
        spare = float((reached - self.floors).min())
        return min(max(-self.favour * spare, slack[0]), slack[1])

    def largest_margin(self) -> float:
        """The largest s with which every floor can be raised; negative if the floors are out of reach."""
        return self._solve(0.0, 1.0, (-self.span, self.span)).slack

    def least_slack(self) -> float:
        """The least s >= 0 for which the set is not empty."""
        slack = self._solve(0.0, -1.0, (0.0, self.span)).slack
        return slack if slack > VALUE_TOLERANCE * self.span else 0.0

    def best(self, slack_price: float, slack: tuple[float, float]) -> _Point:
        """The point that maximises f + slack_price * s."""
        return self._solve(1.0, slack_price, slack)


def _steepest(problem: _SlackProblem, end: _Point, slack: tuple[float, float], start: _Point, scale: float) -> float:
    """Absolute slope of the best revenue, as a function of s, where it reaches `end`.

    The function is concave, and `end` lies at the end of `slack` where it is steepest. The chord from any other point
    to `end` is less steep; the point furthest above the chord gives the next chord, and if none is above, the chord is
    the last linear piece itself.
    """
    point = start
    while True:
        run = abs(point.slack - end.slack)
        rise = point.revenue - end.revenue
        if rise <= VALUE_TOLERANCE * scale or run == 0.0:
            return 0.0
        slope = rise / run
        price = slope if end.slack == slack[1] else -slope
        higher = problem.best(price, slack)
        gain = (higher.revenue + price * higher.slack) - (end.revenue + price * end.slack)
        if gain <= VALUE_TOLERANCE * scale or abs(higher.slack - end.slack) >= run:
            return slope
        point = higher


def _largest_floors(instance: Instance) -> Floats:
    """The most that each arm can earn while the other floors are met, shape (K,)."""
    weighted = instance.weighted_means
    rows = instance.floors.coupling_rows(zero_floors=True)
    largest = np.empty(instance.n_arms)
    for arm in range(instance.n_arms):
        objective = np.zeros_like(weighted)
        objective[arm] = weighted[arm]
        others = rows.floors.copy()
        others[arm] = NO_FLOOR
        found = solve_program(make_program(objective, weighted, rows._replace(floors=others)))
        if found.status != PlanStatus.OPTIMAL:
            raise PlanningError(f"The solver gave up on the largest floor of arm {instance.arms[arm]!r}.")
        largest[arm] = (objective * found.allocation).sum()
    return largest


def _at_stake(instance: Instance) -> float:
    """The unit of revenue: the sum over contexts of the largest |p mu|."""
    return float(np.abs(instance.weighted_means).max(axis=0).sum())


def _candidates(instance: Instance) -> Iterator[ActiveSet]:
    """Every set of kappa - C constraints, in the order floors, then pairs arm by arm."""
    n_rows = len(instance.floors)
    pairs = list(itertools.product(range(instance.n_arms), range(instance.n_contexts)))
    members = instance.n_pairs - instance.n_contexts
    for chosen in itertools.combinations(range(n_rows + len(pairs)), members):
        floors = frozenset(index for index in chosen if index < n_rows)
        yield ActiveSet(floors, frozenset(pairs[index - n_rows] for index in chosen if index >= n_rows))


def _check(instance: Instance, active_set: ActiveSet) -> None:
    instance_of("active_set", active_set, ActiveSet)
    for row in items("floors of a candidate", active_set.floors, "rows"):
        if not is_whole(row) or not 0 <= row < len(instance.floors):
            raise InvalidInputError(
                f"floors of a candidate must be rows from 0 to {len(instance.floors) - 1}, got {shown(row)}."
            )
    shape = (instance.n_arms, instance.n_contexts)
    for pair in items("pairs of a candidate", active_set.pairs, "(arm, context)"):
        known = isinstance(pair, tuple) and len(pair) == 2
        if not known or not all(is_whole(at) and 0 <= at < size for at, size in zip(pair, shape, strict=True)):
            raise InvalidInputError(f"pairs of a candidate must be (arm, context) below {shape}, got {shown(pair)}.")
