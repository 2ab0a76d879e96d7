"""Proofs that a plan is right, by weak duality: one pass over the problem, independent of how the plan was found.

For any prices y >= 0, no allocation that meets the floors earns more than sum_c max_k (a_kc + Y_k b_kc) - y . r, where
Y_k is the sum of the prices of the rows that arm k counts for. So an allocation that meets the floors and earns that
much is optimal, and prices with sum_c max_k Y_k b_kc < y . r prove that no allocation meets them.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcbandit.floors import Floors
from arcbandit.kernels.certificate import measure_errors
from arcbandit.kernels.program import NO_FLOOR, Program

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

TOLERANCE = 1e-8  # of the sizes below
# Shares of a context sum to 1, so rounding changes each share, however small, by a few units in the last place of 1,
# and a sum over pairs by that much of the coefficients in use. Relative to TOLERANCE:
ROUNDING = 8 * 2.2e-16 / TOLERANCE
# If coefficients of floors span more than this factor, rounding errors of the largest may be large compared with the
# others, so errors are measured more strictly.
WIDE = 1e9
MOST_PER_LOSS = 1e150  # of a price per unit of loss: its products with amounts are finite
LOSS_ROUNDING = 1e-13  # of the terms of a loss


class Certificate(NamedTuple):
    """How far a plan is from proven optimal: relative errors, of the size of rounding if the plan is right."""

    floor_error: float  # the largest missing part of a floor; 0 for a plan of least shortfall
    value_error: float  # the gap between the revenue and its bound by the prices
    shortfall_error: float = 0.0  # the gap between the total shortfall and its bound by the prices
    share_error: float = 0.0  # the gap between the share of the floors and its bound by the prices

    @property
    def holds(self) -> bool:
        """Whether the plan is proven to be right."""
        return max(self) <= TOLERANCE


class Coefficients(NamedTuple):
    """A planning problem with weighted means."""

    objective: Floats  # a, shape (K, C)
    revenue: Floats  # b, shape (K, C)
    available: Flags  # shape (K, C)
    floors: Floors
    required: Floats  # what the row of each floor requires, NO_FLOOR for nothing, shape (M,)

    def best(self, worth: Floats) -> Floats:
        """The most that any available pair of each context is worth, shape (C,)."""
        return np.asarray((worth if self.available.all() else np.where(self.available, worth, -np.inf)).max(axis=0))


class _Account(NamedTuple):
    """What an allocation amounts to, row by row."""

    asked: Floats  # floors, 0 for none, shape (M,)
    lacking: Floats  # what each floor misses, shape (M,)
    terms: Floats  # the sum of |floor| and |revenues|, shape (M,)
    rounding: Floats  # how much rounding of shares may change, over TOLERANCE, shape (M,)
    value: float


def _account(problem: Coefficients, allocation: Floats) -> _Account:
    asked = np.where(problem.required == NO_FLOOR, 0.0, problem.required)
    size = np.abs(problem.revenue)
    return _Account(
        asked=asked,
        lacking=np.maximum(problem.required - problem.floors.by_floor(_by_arm(problem.revenue, allocation)), 0.0),
        terms=np.abs(asked) + problem.floors.by_floor(_by_arm(size, allocation)),
        rounding=ROUNDING * problem.floors.by_floor(_by_arm(size, (allocation > 0.0).astype(np.float64))),
        value=float(np.vdot(problem.objective, allocation)),
    )


def _by_arm(coefficients: Floats, shares: Floats) -> Floats:
    """The sums over contexts, shape (K,)."""
    return np.asarray(np.einsum("kc,kc->k", coefficients, shares))


def certify_optimal(program: Program, allocation: Floats, prices: Floats) -> Certificate:
    """Check that an allocation meets the floors, and that the prices, shape (M,), prove that none earns more."""
    n_arms, n_rows = len(program.objective), len(program.floors)
    errors = np.empty(3)
    measure_errors(program, prices, allocation, ROUNDING, np.empty((3, n_rows)), np.empty(n_arms), errors)
    floor_error, value_error, strict_floor_error = errors.tolist()
    if floor_error <= TOLERANCE < strict_floor_error:
        counts = np.array(
            [any(program.floors[abs(row) - 1] != NO_FLOOR for row in own if row) for own in program.arm_rows]
        )
        if _is_wide(program.weights * program.revenue, program.available & counts[:, np.newaxis]):
            floor_error = strict_floor_error
    return Certificate(floor_error, value_error)


def proves_infeasible(problem: Coefficients, prices: Floats) -> bool:
    """Whether prices, shape (M,), prove beyond rounding that no allocation meets the floors."""
    needed = prices * np.where(problem.required == NO_FLOOR, 0.0, problem.required)
    reachable = problem.best(problem.revenue * problem.floors.by_arm(prices)[:, np.newaxis])
    rounding = np.finfo(np.float64).eps * (needed.size + reachable.size + len(problem.floors.groups) + 4)
    return bool(needed.sum() - reachable.sum() > rounding * (np.abs(needed).sum() + np.abs(reachable).sum()))


def prices_among_all(problem: Coefficients, allocation: Floats, shortfall_prices: Floats, prices: Floats) -> Floats:
    """Prices that prove a plan optimal among all plans, from prices for the plans of least shortfall.

    The latter ignore columns that the shortfall prices exclude. Enough of the shortfall prices is added that none of
    these columns has a positive reduced cost.
    """
    short_prices = np.clip(shortfall_prices, 0.0, 1.0)
    short_worth = problem.revenue * problem.floors.by_arm(short_prices)[:, np.newaxis]
    worth = problem.objective + problem.revenue * problem.floors.by_arm(prices)[:, np.newaxis]
    multiple = max(
        _largest_ratio(-prices, short_prices), _largest_ratio(*_losses(problem, worth, short_worth, allocation))
    )
    return np.maximum(prices + multiple * short_prices, 0.0)


def certify_least_shortfall(
    problem: Coefficients, allocation: Floats, shortfall_prices: Floats, prices: Floats
) -> Certificate:
    """Check that an allocation has the least total shortfall and, among those that do, earns the most.

    That is to within TOLERANCE: for a little more shortfall there may be plans that earn much more or less.
    `shortfall_prices` (from 0 to 1) are those of the total shortfall; `prices`, of either sign, are those of the
    revenue among plans of least shortfall. Both have shape (M,).
    """
    found = _account(problem, allocation)
    owed = problem.floors.by_arm((problem.required != NO_FLOOR).astype(np.float64)) > 0.0
    wide = _is_wide(problem.revenue, problem.available & owed[:, np.newaxis])
    total = found.lacking.sum()
    short_prices = np.clip(shortfall_prices, 0.0, 1.0)
    short_worth = problem.revenue * problem.floors.by_arm(short_prices)[:, np.newaxis]
    least = short_prices @ found.asked - problem.best(short_worth).sum()
    short_size = total + short_prices @ found.terms + (0.0 if wide else found.rounding.sum())
    # A plan may not fall short by more, however much it would earn: with a large enough price per unit of total
    # shortfall, none does. The prices of the revenue are then `prices` plus that price times the shortfall prices.
    worth = problem.objective + problem.revenue * problem.floors.by_arm(prices)[:, np.newaxis]
    multiple = max(
        _largest_ratio(-prices, short_prices),
        _largest_ratio(prices, 1.0 - short_prices),
        _largest_ratio(*_losses(problem, worth, short_worth, allocation)),
    )
    combined = prices + multiple * short_prices
    bound = problem.best(worth + multiple * short_worth).sum() - combined @ found.asked + multiple * total
    at_stake = problem.best(np.abs(problem.objective)).sum()
    size = at_stake + (0.0 if wide else np.abs(combined) @ found.terms + multiple * total)
    return Certificate(0.0, _relative(abs(bound - found.value), size), _relative(abs(total - least), short_size))


def certify_same_share(
    problem: Coefficients, program: Program, allocation: Floats, prices: Floats, ray: Floats
) -> Certificate:
    """Check that an allocation earns most among those that give every floor its share, and that none gives more.

    The floors of `program` are those of the problem, the ones above zero reduced to the share. `prices` >= 0 are those
    of the reduced floors; `ray` are prices that prove that with a larger share they would conflict. Both have shape
    (M,).
    """
    required, reduced = problem.required, program.floors
    weights = np.where(required == NO_FLOOR, 0.0, np.maximum(ray, 0.0))
    needed = weights * np.where(required == NO_FLOOR, 0.0, reduced)
    reachable = problem.best(problem.revenue * problem.floors.by_arm(weights)[:, np.newaxis])
    size = np.abs(needed).sum() + np.abs(reachable).sum()
    limits = (weights * np.maximum(required, 0.0)).sum() > 0.0  # otherwise the ray would limit no share
    gap = abs(reachable.sum() - needed.sum()) if limits else math.inf
    return certify_optimal(program, allocation, prices)._replace(share_error=_relative(float(gap), float(size)))


def _losses(problem: Coefficients, worth: Floats, short_worth: Floats, allocation: Floats) -> tuple[Floats, Floats]:
    """What pairs would add to the revenue and to the shortfall, for those that add more shortfall than rounding."""
    gain = worth - (worth * allocation).sum(axis=0)
    loss = (short_worth * allocation).sum(axis=0) - short_worth
    size = np.abs(short_worth)
    beyond = problem.available & (loss > LOSS_ROUNDING * (size + (size * allocation).sum(axis=0)))
    return gain[beyond], loss[beyond]


def _relative(error: float, size: float) -> float:
    """An error over its size; 0 for no error, infinite for an error of size zero."""
    if error == 0.0:
        return 0.0
    return float(error / size) if size > 0.0 else math.inf


def _largest_ratio(gain: Floats, loss: Floats) -> float:
    """The price per unit of loss above which no entry gains, or the largest that sums can be taken with."""
    counts = (gain > 0.0) & (loss > 0.0)
    with np.errstate(over="ignore"):  # a loss may be next to nothing
        ratios = gain[counts] / loss[counts]
    return min(float(ratios.max(initial=0.0)), MOST_PER_LOSS)


def _is_wide(revenue: Floats, counts: Flags) -> bool:
    """Whether the coefficients that count for a floor span many decades."""
    sizes = np.abs(revenue[counts & (revenue != 0.0)])
    return bool(sizes.size and sizes.max() > WIDE * sizes.min())
