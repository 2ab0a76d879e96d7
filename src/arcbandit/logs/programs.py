"""The planning problems behind advice: plans, largest floors, the largest common scale, and prices with bounds.

Everything here is in weighted means, r_kc = p_c mu_kc: the revenue per round of arm k if it always gets context c. What
arms and groups can earn, and what the best plan earns, grows with every r_kc. So if low <= r <= high in every entry,
what is found at `low` and at `high` bounds the truth.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import InfeasibleError
from arcbandit.floors import Floors
from arcbandit.logs.confidence import Bounds
from arcbandit.planning import Plan
from arcbandit.planning.solve import solve_checked

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

BEYOND = 1.5  # how far above the largest floor of some row floors are scaled, so that they surely conflict


class Conflict(NamedTuple):
    """Floors that no plan meets together, by row, and what they lack in total at least."""

    floors: tuple[int, ...]
    shortfall: float


@dataclass(frozen=True, eq=False)
class Programs:
    """Problems that share their floors and the pairs that may be played."""

    floors: Floors
    available: Flags  # K x C, some arm in every context

    def best(self, revenue: Floats, amounts: Floats | None = None, objective: Floats | None = None) -> Plan | Conflict:
        """The plan that earns the most, or the floors that conflict; `amounts` stand in for those of the floors."""
        floors = self.floors if amounts is None else Floors(self.floors.arms, amounts, self.floors.groups)
        try:
            return solve_checked(
                revenue if objective is None else objective,
                revenue,
                np.ones(revenue.shape[1]),
                floors,
                self.available,
                "simplex",
                "raise",
            )
        except InfeasibleError as error:
            names = error.conflicting_floors
            rows = tuple(row for row, name in enumerate(floors.names) if name in names)
            return Conflict(rows, error.least_shortfall)

    def value(self, revenue: Floats, amounts: Floats | None = None) -> float:
        """What the best plan earns; minus infinity if the floors conflict."""
        found = self.best(revenue, amounts)
        return found.value if isinstance(found, Plan) else -np.inf

    def most(self, revenue: Floats) -> Floats:
        """What each arm or group could earn if nobody else had a floor, shape (M,)."""
        members = self.floors.members
        best = np.empty(len(self.floors))
        for row, counted in enumerate(members):
            own = np.where(counted[:, np.newaxis] & self.available, revenue, -np.inf).max(axis=0)
            others = (self.available & ~counted[:, np.newaxis]).any(axis=0)
            best[row] = np.where(others, np.maximum(own, 0.0), own).sum()
        return best

    def largest_floor(self, revenue: Floats, row: int) -> float:
        """The largest floor of one arm or group, the others fixed; minus infinity if those conflict already."""
        amounts = self.without(row)
        found = self.best(revenue, amounts, np.where(self.floors.members[row][:, np.newaxis], revenue, 0.0))
        return max(found.value, 0.0) if isinstance(found, Plan) else -np.inf

    def largest_scale(self, revenue: Floats, amounts: Floats) -> float:
        """The largest number by which all floors can be multiplied together; infinity if there are none above 0."""
        owed = amounts > 0.0
        if not owed.any():
            return np.inf
        reach = float((self.most(revenue)[owed] / amounts[owed]).min())
        if reach <= 0.0:
            return 0.0
        scaled = Floors(self.floors.arms, BEYOND * reach * amounts, self.floors.groups)
        found = solve_checked(
            revenue, revenue, np.ones(revenue.shape[1]), scaled, self.available, "simplex", "same_share"
        )
        assert found.floor_share is not None
        return max(found.floor_share * BEYOND * reach, 0.0)

    def without(self, *rows: int) -> Floats:
        """The floors, those of some rows left out."""
        amounts = self.floors.amounts.copy()
        amounts[list(rows)] = 0.0
        return amounts

    def price(self, box: Bounds, plain: Floats, rows: tuple[int, ...]) -> tuple[float, float, float]:
        """What the floors of these rows cost, the others kept: at least, as the log has it, at most.

        The price is the revenue of the best plan without them less that with them; infinity if they cannot be met, and
        NaN if the others cannot be met without them, either.

        Both revenues move together with r, so that their ends would be far too wide. Instead, with a plan w that keeps
        all floors everywhere in the box, and any prices y >= 0 of the other floors, weak duality gives

            price <= sum_c max_j (1 + y_j) r_jc - y . floors - sum_jc r_jc w_jc,

        whose largest value over the box is found context by context. Likewise from below, with a plan that keeps the
        other floors, and prices of all.
        """
        amounts, less = self.floors.amounts, self.without(*rows)
        before, after = self.value(plain, less), self.value(plain)
        middle = np.nan if before == -np.inf else max(before - after, 0.0)
        keeping = self.best(box.low, None, plain)
        high = np.inf
        if isinstance(keeping, Plan):
            gaps = [self._gap(box, keeping.allocation, y, less) for y in self._prices(box, plain, less)]
            high = min([*gaps, self.value(box.high, less) - self.value(box.low)])
        others = self.best(box.low, less, plain)
        low = 0.0
        if isinstance(others, Plan):
            gaps = [-self._gap(box, others.allocation, y, amounts) for y in self._prices(box, plain, amounts)]
            low = max([0.0, *gaps])
            if self.value(box.high) == -np.inf:
                low = np.inf
        return low, middle, high

    def _prices(self, box: Bounds, plain: Floats, amounts: Floats) -> list[Floats]:
        """Prices of floors that may serve in a bound: any would be right, those of plans near the truth are tight."""
        plans = [self.best(revenue, amounts) for revenue in (plain, *box)]
        return [np.maximum(plan.floors.prices, 0.0) for plan in plans if isinstance(plan, Plan)]

    def _gap(self, box: Bounds, shares: Floats, prices: Floats, amounts: Floats) -> float:
        """The most, over the box, by which the dual value at these prices exceeds what a plan earns."""
        worth = 1.0 + self.floors.by_arm(prices)[:, np.newaxis]
        earned = np.where(self.available, box.low * shares, 0.0)
        gaps = (worth - shares) * box.high - (earned.sum(axis=0) - earned)
        largest = np.where(self.available, gaps, -np.inf).max(axis=0)
        return float(largest.sum() - prices @ amounts)
