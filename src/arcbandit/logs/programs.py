"""The planning problems behind advice: plans, largest floors, the largest common scale, and prices, all with bounds.

The means of pairs are known to lie in a box, and the context probabilities in another, with a sum of 1. What no such
world exceeds is found by weak duality: with prices y >= 0 of the floors, no plan earns more than
sum_c p_c max_k (1 + y_k) mu_kc - y . floors. What can be reached in every such world is what one plan earns at its
worst: with means as low as can be, and the worst mix. Any prices and any plan will do for a bound to be right, so they
are sought by ordinary plans at the ends of the box; good ones make it tight.
"""

from dataclasses import dataclass
from functools import cached_property
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
JUST_BELOW = 1.0 - 1e-6  # of the largest scale, where there is a plan whatever rounding does
TRIES = 8  # at a plan that keeps the floors at its worst
SPARE = 1.05  # by how much a plan that fell short aims higher than it fell short
BETWEEN = (0.1, 0.25, 0.5, 0.75, 0.9, 1.0)  # of the way from the best plan found to that of the log
ROUNDING = 1e-12


class Conflict(NamedTuple):
    """Floors that no plan meets together, by row."""

    floors: tuple[int, ...]


class Worlds(NamedTuple):
    """What the log leaves possible: means K x C, and context probabilities of shape (C,) that sum to 1."""

    means: Bounds
    plain_means: Floats
    mix: Bounds
    plain_mix: Floats

    def least(self, values: Floats) -> float:
        """The least sum_c p_c values_c over all mixes."""
        mix = self.mix.low.copy()
        left = 1.0 - mix.sum()
        for context in np.argsort(values, kind="stable"):
            more = min(self.mix.high[context] - mix[context], left)
            mix[context] += more
            left -= more
        return float(mix @ values)

    def most(self, values: Floats) -> float:
        """The largest."""
        return -self.least(-values)


@dataclass(frozen=True, eq=False)
class Programs:
    """Problems that share their floors, the pairs that may be played and the worlds that are possible."""

    floors: Floors
    available: Flags  # K x C, some arm in every context
    worlds: Worlds
    logged: Floats  # the shares of the log, K x C: a plan that spreads arms over contexts, as optimal ones do not

    def best(self, means: Floats, amounts: Floats | None = None, objective: Floats | None = None) -> Plan | Conflict:
        """The best plan for these means and the log's mix, or the floors that conflict.

        `amounts` stand in for those of the floors, and `objective` for what is to be earned.
        """
        floors = self._floors(self.floors.amounts if amounts is None else amounts)
        earned = means if objective is None else objective
        try:
            return solve_checked(earned, means, self.worlds.plain_mix, floors, self.available, "simplex", "raise")
        except InfeasibleError as error:
            names = error.conflicting_floors
            return Conflict(tuple(row for row, name in enumerate(floors.names) if name in names))

    def guaranteed(self, shares: Floats) -> Floats:
        """What a plan earns for each floor at its worst, shape (M,)."""
        return np.array([self.worlds.least(row) for row in self._by_floor(self.worlds.means.low * shares)])

    def conceivable(self, shares: Floats) -> Floats:
        """What it earns at its best."""
        return np.array([self.worlds.most(row) for row in self._by_floor(self.worlds.means.high * shares)])

    def earned(self, shares: Floats) -> Floats:
        """What it earns by the log's means and mix."""
        earned: Floats = self._by_floor(self.worlds.plain_means * shares) @ self.worlds.plain_mix
        return earned

    def cautious(self, amounts: Floats, objective: Floats | None = None) -> Floats | None:
        """A plan that keeps the floors in every possible world, good for the objective; None if none is found.

        It is planned for low means and the log's mix. Where it would fall short at its worst, it aims higher.
        """
        means, target = self.worlds.means.low, amounts
        for _ in range(TRIES):
            found = self.best(means, target, objective)
            if not isinstance(found, Plan):
                break
            sure = self.guaranteed(found.allocation)
            if not ((sure < amounts - ROUNDING) & (amounts > 0.0)).any():
                return found.allocation
            usual = self._by_floor(means * found.allocation) @ self.worlds.plain_mix
            target = np.where(amounts > 0.0, amounts + SPARE * np.maximum(usual - sure, 0.0), 0.0)
        scale, shares = self.surest_scale(amounts)
        return shares if scale >= 1.0 else None

    def value(self, means: Floats, amounts: Floats | None = None) -> float:
        """What the best plan earns by these means and the log's mix; minus infinity if the floors conflict."""
        found = self.best(means, amounts)
        return found.value if isinstance(found, Plan) else -np.inf

    def sure_value(self, amounts: Floats) -> float:
        """What can be earned at least while the floors are kept; minus infinity if no plan surely keeps them."""
        shares = self.cautious(amounts)
        return -np.inf if shares is None else self.worlds.least((self.worlds.means.low * shares).sum(axis=0))

    def highest_value(self, amounts: Floats) -> float:
        """What can be earned at most while the floors are kept; minus infinity if they surely conflict."""
        if self.highest_scale(amounts) < 1.0:
            return -np.inf
        return min(self._dual(1.0, prices, amounts) for prices in self._prices(amounts))

    def most(self, means: Floats) -> Floats:
        """Context by context, what each arm or group could earn there if nobody else had a floor, M x C."""
        best = np.empty((len(self.floors), means.shape[1]))
        for row, counted in enumerate(self.floors.members):
            own = np.where(counted[:, np.newaxis] & self.available, means, -np.inf).max(axis=0)
            others = (self.available & ~counted[:, np.newaxis]).any(axis=0)
            best[row] = np.where(others, np.maximum(own, 0.0), own)
        return best

    def largest_floor(self, row: int) -> tuple[float, float, float]:
        """The largest floor of one arm or group, the others fixed: surely, by the log, at most.

        Minus infinity where there is no plan that keeps the others.
        """
        less = self.without(row)
        mine = self.floors.members[row].astype(np.float64)[:, np.newaxis]
        shares = self.cautious(less, mine * self.worlds.means.low)
        low = -np.inf if shares is None else max(float(self.guaranteed(shares)[row]), 0.0)
        usual = self.best(self.worlds.plain_means, less, mine * self.worlds.plain_means)
        middle = max(usual.value, 0.0) if isinstance(usual, Plan) else -np.inf
        high = min(self._dual(mine, prices, less) for prices in self._prices(less, mine))
        return low, middle, max(high, 0.0)

    def largest_scale(self, amounts: Floats) -> tuple[float, float, float]:
        """The largest number by which all these floors can be multiplied together: surely, by the log, at most."""
        if not (amounts > 0.0).any():
            return np.inf, np.inf, np.inf
        return (
            max(self.surest_scale(amounts)[0], 0.0),
            self._scale(self.worlds.plain_means, amounts)[0],
            self.highest_scale(amounts),
        )

    def surest_scale(self, amounts: Floats) -> tuple[float, Floats]:
        """The largest scale that a plan was found for that keeps it in every possible world, and the plan."""
        owed = amounts > 0.0
        best, kept = -np.inf, np.zeros(self.available.shape)
        target, means = amounts, self.worlds.means.low
        for _ in range(TRIES):
            scale, shares = self._scale(means, target)
            sure = self.guaranteed(shares)
            reached = float((sure[owed] / amounts[owed]).min()) if owed.any() else np.inf
            if reached > best:
                best, kept = reached, shares
            if scale <= 0.0 or reached <= 0.0 or reached == np.inf:
                break
            usual = self._by_floor(means * shares) @ self.worlds.plain_mix
            target = np.where(owed, amounts + np.maximum(usual - sure, 0.0) / reached, 0.0)
        # What a plan earns at its worst is concave in the plan, so one in between may be better than both.
        between = [(1.0 - part) * kept + part * self.logged for part in BETWEEN] if owed.any() else []
        for shares in between:
            reached = float((self.guaranteed(shares)[owed] / amounts[owed]).min())
            if reached > best:
                best, kept = reached, shares
        return best, kept

    def highest_scale(self, amounts: Floats) -> float:
        """A scale above which the floors surely conflict."""
        asked = amounts.tobytes()
        if asked not in self._highest_scales:
            self._highest_scales[asked] = self._highest_scale(amounts)
        return self._highest_scales[asked]

    @cached_property
    def _highest_scales(self) -> dict[bytes, float]:
        """What was found before: each price asks again."""
        return {}

    def _highest_scale(self, amounts: Floats) -> float:
        owed = np.flatnonzero(amounts > 0.0)
        if not owed.size:
            return np.inf
        high = self.worlds.means.high
        reach = np.array([self.worlds.most(row) for row in self.most(high)])
        bound = float((reach[owed] / amounts[owed]).min())
        # Whose revenue is largest while the others get nearly as much as they can: its prices tell what all can get.
        scale = self._scale(high, amounts)[0] * JUST_BELOW
        for row in owed:
            less = scale * amounts
            less[row] = 0.0
            mine = self.floors.members[row].astype(np.float64)[:, np.newaxis]
            found = self.best(high, less, mine * high)
            if isinstance(found, Plan):
                prices = np.maximum(found.floors.prices, 0.0)
                prices[row] += 1.0
                total = self._dual(0.0, prices, np.zeros(len(amounts)))
                bound = min(bound, total / float(prices @ amounts))
        return bound if bound > 0.0 else 0.0

    def without(self, *rows: int) -> Floats:
        """The floors, those of some rows left out."""
        amounts = self.floors.amounts.copy()
        amounts[list(rows)] = 0.0
        return amounts

    def price(self, rows: tuple[int, ...]) -> tuple[float, float, float]:
        """What the floors of these rows cost, the others kept: at least, as the log has it, at most.

        The price is the revenue of the best plan without them less that with them; infinity if they cannot be met, and
        NaN if the others cannot be met without them, either.

        Both revenues move together with the means, so that their ends would be far too wide. Instead, with a plan that
        keeps all floors in every possible world, and prices of the other floors, the price is at most the dual value
        less what the plan earns, the largest difference of which is found context by context. Likewise from below, with
        a plan that keeps the other floors, and prices of all.
        """
        amounts, less, plain = self.floors.amounts, self.without(*rows), self.worlds.plain_means
        before, after = self.value(plain, less), self.value(plain)
        middle = np.nan if before == -np.inf else max(before - after, 0.0)
        keeping, others = self._keeping, self.cautious(less, plain)
        low, high = 0.0, np.inf
        if keeping is not None:
            high = max(min(self._gap(keeping, prices, less) for prices in self._prices(less)), 0.0)
        if others is not None:
            low = max(0.0, *(-self._gap(others, prices, amounts) for prices in self._prices_of_all))
            if self.highest_scale(amounts) < 1.0:
                low = np.inf
        return low, middle, high

    @cached_property
    def _keeping(self) -> Floats | None:
        """A plan that surely keeps all floors, good by the log's means."""
        return self.cautious(self.floors.amounts, self.worlds.plain_means)

    @cached_property
    def _prices_of_all(self) -> list[Floats]:
        return self._prices(self.floors.amounts)

    def _floors(self, amounts: Floats) -> Floors:
        return Floors(self.floors.arms, np.array(amounts), self.floors.groups)

    def _by_floor(self, by_pair: Floats) -> Floats:
        """Sums over the arms that each floor counts, M x C."""
        return np.asarray(self.floors.members.astype(np.float64) @ by_pair)

    def _scale(self, means: Floats, amounts: Floats) -> tuple[float, Floats]:
        """The largest scale for these means and the log's mix, 0 if even nothing is too much, and a plan for it."""
        owed = amounts > 0.0
        most = self.most(means) @ self.worlds.plain_mix
        reach = max(float((most[owed] / amounts[owed]).min()), 0.0) if owed.any() else 0.0
        beyond = self._floors(BEYOND * reach * amounts)
        found = solve_checked(means, means, self.worlds.plain_mix, beyond, self.available, "simplex", "same_share")
        scale = (1.0 if found.floor_share is None else found.floor_share) * BEYOND * reach
        return max(scale, 0.0), found.allocation

    @cached_property
    def _no_prices(self) -> Floats:
        return np.zeros(len(self.floors))

    def _prices(self, amounts: Floats, counted: Floats | float = 1.0) -> list[Floats]:
        """Prices of floors that may serve in a bound: any would be right, those of plans near the truth are tight."""
        views = (self.worlds.plain_means, *self.worlds.means)
        plans = [self.best(means, amounts, counted * means) for means in views]
        return [self._no_prices, *(np.maximum(p.floors.prices, 0.0) for p in plans if isinstance(p, Plan))]

    def _dual(self, counted: Floats | float, prices: Floats, amounts: Floats) -> float:
        """The most that plans can earn for `counted` arms while keeping floors, by their prices."""
        worth = (counted + self.floors.by_arm(prices)[:, np.newaxis]) * self.worlds.means.high
        best = np.where(self.available, worth, -np.inf).max(axis=0)
        return self.worlds.most(best) - float(prices @ amounts)

    def _gap(self, shares: Floats, prices: Floats, amounts: Floats) -> float:
        """The most, over all worlds, by which the dual value at these prices exceeds what a plan earns."""
        worth = 1.0 + self.floors.by_arm(prices)[:, np.newaxis]
        earned = self.worlds.means.low * shares
        gaps = (worth - shares) * self.worlds.means.high - (earned.sum(axis=0) - earned)
        largest = np.where(self.available, gaps, -np.inf).max(axis=0)
        return self.worlds.most(largest) - float(prices @ amounts)
