"""What a plan is: an allocation, what it earns against each floor, prices, and the constraints without slack."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcbandit.certificate import Certificate
from arcbandit.floors import FloorKind, Floors
from arcbandit.inputs.values import choice
from arcbandit.kernels.program import FEASIBILITY_TOLERANCE, Basis, PlanStatus
from arcbandit.showing import counted, html_heat_map, html_of, html_table, html_title, number
from arcbandit.tables import FrameKind, frame_of

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

# A floor met, or a share used, to within this much of its row's largest coefficient counts as met exactly.
ACTIVITY_TOLERANCE = 1e-9
# A floor lacks what is beyond this part of it, and beyond what rounding of shares makes of its largest coefficient.
SHORTFALL_TOLERANCE = 4 * FEASIBILITY_TOLERANCE
ROUNDING = 2e-15
MOST_MEMBERS_SHOWN = 40  # in the repr of an active set


class ActiveSet(NamedTuple):
    """Constraints that hold with equality: floors by row (arms, then group floors), pairs as (arm, context)."""

    floors: frozenset[int]
    pairs: frozenset[tuple[int, int]]

    def __len__(self) -> int:
        return len(self.floors) + len(self.pairs)

    def __repr__(self) -> str:
        if len(self) > MOST_MEMBERS_SHOWN:
            return f"<ActiveSet: {counted(len(self.floors), 'floor')}, {counted(len(self.pairs), 'pair')}>"
        return f"ActiveSet(floors={self.floors!r}, pairs={self.pairs!r})"


@dataclass(frozen=True, eq=False, repr=False)
class PlannedFloors(Floors):
    """The table of floors, with what a plan earns against each of them and what each costs.

    >>> from arcbandit import paper_instance, plan
    >>> print(plan(paper_instance("nu")).floors)
    name  kind  floor  revenue  slack  price  active  shortfall  arms
    1     arm   1      4.5      3.5    0      no      0          1
    2     arm   0.25   0.25     0      1      yes     0          2
    3     arm   0.5    0.5      0      1      yes     0          3
    """

    revenue: Floats  # per round, shape (M,)
    prices: Floats  # revenue per unit of floor, >= 0, shape (M,)
    scale: Floats  # largest |p mu_cons| of each floor's row, shape (M,)

    def __post_init__(self) -> None:
        for column in (self.amounts, self.revenue, self.prices, self.scale):
            _read_only(column)

    @cached_property
    def slack(self) -> Floats:
        """Revenue above each floor, negative where some is missing, shape (M,)."""
        return _read_only(self.revenue - self.amounts)

    @cached_property
    def active(self) -> Flags:
        """Which floors are met exactly, to within rounding, shape (M,)."""
        return _read_only(np.abs(self.slack) <= ACTIVITY_TOLERANCE * self.scale)

    @cached_property
    def shortfall(self) -> Floats:
        """What is missing of each floor, shape (M,).

        A floor of zero promises nothing, and one that is met to within rounding lacks nothing.
        """
        gap = self.amounts - self.revenue
        missed = gap > SHORTFALL_TOLERANCE * np.abs(self.amounts) + ROUNDING * self.scale
        return _read_only(np.where((self.amounts != 0.0) & missed, gap, 0.0))

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns as plain lists, as constructors of frames take them."""
        return super().to_dict() | {
            "revenue": self.revenue.tolist(),
            "slack": self.slack.tolist(),
            "price": self.prices.tolist(),
            "active": self.active.tolist(),
            "shortfall": self.shortfall.tolist(),
        }


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """A stationary allocation with its revenue, its prices and the constraints it leaves no slack in.

    `status` is OPTIMAL, or INFEASIBLE for a plan of least shortfall or of the same share. Prices are revenue per unit
    of floor: what the last unit of a guarantee costs (for a plan of the same share, of the floors reduced to that
    share). Where several plans are optimal, or prices not unique, one of them is shown.
    What `floors` says of all floors, the other properties say of those of arms (K) and of groups (G) by themselves.

    >>> from arcbandit import paper_instance, plan
    >>> best = plan(paper_instance("nu"))
    >>> best
    <Plan: optimal, 5.25 per round, 3 arms x 3 contexts, 2 of 3 floors active>
    >>> best.allocation.tolist(), best.arm_revenue.tolist(), best.floor_prices.tolist()
    ([[1.0, 0.5, 0.5], [0.0, 0.5, 0.0], [0.0, 0.0, 0.5]], [4.5, 0.25, 0.5], [0.0, 1.0, 1.0])
    """

    status: PlanStatus
    allocation: Floats  # w_{k,c}, shape (K, C)
    value: float  # f(mu_obj, w)
    floors: PlannedFloors  # all floors with their revenue and prices, one table
    context_values: Floats  # shape (C,); value = sum of these - prices . floors
    conflicting_floors: tuple[int, ...] = ()  # rows of `floors` that cannot be met together
    basis: Basis | None = None  # to start a later plan from
    certificate: Certificate | None = None  # how far from proven it is, if we solved it
    # The part of every floor that is met, the largest for which there is a plan: 1 if OPTIMAL, None for a plan of least
    # shortfall. Below 0 if some floors above zero lose money under every plan.
    floor_share: float | None = None
    contexts: tuple[str, ...] = ()  # their names, if they are known

    def __repr__(self) -> str:
        return f"<Plan: {self._in_short()}>"

    def _in_short(self) -> str:
        """The status, the revenue, the shape and the floors in a line."""
        n_contexts = int(self.allocation.shape[1])
        active = f"{int(self.floors.active.sum()):,} of {counted(len(self.floors), 'floor')} active"
        if self.status == PlanStatus.INFEASIBLE:
            active = f"floors lack {number(self.total_shortfall)}"
            if self.floor_share is not None:
                active = f"{self.floor_share:.4g} of every floor"
        return (
            f"{self.status.name.lower()}, {number(self.value)} per round, {counted(self.n_arms, 'arm')} x "
            f"{counted(n_contexts, 'context')}, {active}"
        )

    @property
    def _context_names(self) -> tuple[str, ...]:
        return self.contexts or tuple(str(column) for column in range(int(self.allocation.shape[1])))

    def to_frame(self, by: str = "pair", *, kind: FrameKind | None = None) -> Any:
        """A frame of the allocation, one row per arm and context; with by="floor", of the floors.

        `kind` is "polars" or "pandas", by default whichever is installed.

        >>> from arcbandit import paper_instance, plan
        >>> plan(paper_instance("nu")).to_frame(kind="pandas")["share"].sum().item()
        3.0
        """
        choice("by", by, ("pair", "floor"))
        if by == "floor":
            return self.floors.to_frame(kind=kind)
        columns = {
            "arm": [arm for arm in self.floors.arms for _ in self._context_names],
            "context": list(self._context_names) * self.n_arms,
            "share": self.allocation.ravel(),
        }
        return frame_of(columns, kind)

    def _repr_html_(self) -> str:
        return html_of(html_title("Plan", self._in_short()), *self._html_parts())

    def _html_parts(self) -> tuple[str, ...]:
        shares = np.where(self.idle_pairs, 0.0, self.allocation)
        return (
            html_title("Allocation", "share of each context (column) given to each arm (row)"),
            html_heat_map(shares, self.floors.arms, self._context_names, corner="arm", highest=1.0),
            html_title("Floors", "price is what the last unit of a floor costs"),
            html_table(self.floors.to_dict()),
        )

    @property
    def n_arms(self) -> int:
        """K."""
        return int(self.allocation.shape[0])

    @property
    def arm_revenue(self) -> Floats:
        """g_k(mu_cons, w), shape (K,)."""
        return self._of_arms(self.floors.revenue)

    @property
    def revenue_floors(self) -> Floats:
        """lambda_k, shape (K,)."""
        return self._of_arms(self.floors.amounts)

    @property
    def floor_prices(self) -> Floats:
        """What the last unit of each arm's floor costs, shape (K,), >= 0."""
        return self._of_arms(self.floors.prices)

    @property
    def active_floors(self) -> Flags:
        """Which arms earn exactly their floor, shape (K,)."""
        return self._of_arms(self.floors.active)

    @property
    def shortfall(self) -> Floats:
        """(lambda_k - g_k)_+ of each arm, shape (K,), rounding left out."""
        return self._of_arms(self.floors.shortfall)

    @property
    def group_revenue(self) -> Floats:
        """What the arms of each group earn, shape (G,)."""
        return self._of_groups(self.floors.revenue)

    @property
    def group_floors(self) -> Floats:
        """The floor of each group, shape (G,)."""
        return self._of_groups(self.floors.amounts)

    @property
    def group_prices(self) -> Floats:
        """What the last unit of each group's floor costs, shape (G,), >= 0."""
        return self._of_groups(self.floors.prices)

    @property
    def active_group_floors(self) -> Flags:
        """Which groups earn exactly their floor, shape (G,)."""
        return self._of_groups(self.floors.active)

    @property
    def group_shortfall(self) -> Floats:
        """What each group floor lacks, shape (G,)."""
        return self._of_groups(self.floors.shortfall)

    @property
    def revenue_scale(self) -> Floats:
        """Largest |p mu_cons| of each floor's row, shape (M,)."""
        return self.floors.scale

    @property
    def total_shortfall(self) -> float:
        """What all floors lack together."""
        return float(self.shortfall.sum() + self.group_shortfall.sum())

    @cached_property
    def idle_pairs(self) -> Flags:
        """Which arms are never played in which contexts, shape (K, C)."""
        return np.asarray(self.allocation <= ACTIVITY_TOLERANCE)

    @cached_property
    def active_set(self) -> ActiveSet:
        """I: the active floors and idle pairs together."""
        pairs = np.argwhere(self.idle_pairs)
        floors = np.flatnonzero(self.floors.active)
        return ActiveSet(frozenset(floors.tolist()), frozenset((int(k), int(c)) for k, c in pairs))

    @property
    def degenerate(self) -> bool:
        """Whether more than kappa - C constraints are active, so that the vertex has several bases."""
        n_active = self.floors.active.sum() + self.idle_pairs.sum()
        return bool(n_active > self.allocation.size - self.allocation.shape[1])

    def _of_arms(self, column: NDArray[Any]) -> NDArray[Any]:
        return column[self.floors.rows_of(FloorKind.ARM)]

    def _of_groups(self, column: NDArray[Any]) -> NDArray[Any]:
        return column[self.floors.rows_of(FloorKind.GROUP)]


def _read_only(column: NDArray[Any]) -> NDArray[Any]:
    column.setflags(write=False)
    return column
