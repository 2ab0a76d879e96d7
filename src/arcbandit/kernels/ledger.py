"""A ledger of what a rule's plans may cost: where that is too much for too long, an optimistic plan stands in.

While every mean is within its radius epsilon of the truth, the value F of LP(UCB, UCB) is at least f*. So a plan w has

    regret at most     F - f(mean, w) + rho(w),         rho(w) = sum_kc p_c epsilon_kc w_kc
    violation at most  sum_m (lambda_m - g_m(mean, w))_+ + rho'(w),

where rho' counts the width of an arm once for each floor that it has part in. A good plan is not far from what its
widths explain, A = 1.5 (B + rho + rho') with B = sum_kc p_c (1 + price_k) epsilon_kc w_kc, at the prices of
LP(UCB, UCB). What the bound on regret and violation exceeds A by is spent, and the ledger allows
4 sigma sqrt(KC t log(2KCt)) of it up to round t; in rounds that would spend more, the plan of LP(UCB, UCB) is played.
"""

import enum
import math
from typing import Any, NamedTuple

import numpy as np

from arcbandit.compilation.compile import kernel, rare_kernel
from arcbandit.kernels.confidence import ByPair
from arcbandit.kernels.marks import make_marks
from arcbandit.kernels.planner import Planner, planner_state, restore_planner
from arcbandit.kernels.program import NO_FLOOR

ALLOWED = 4.0  # sigma sqrt(KC t log(2KCt)), in all
EXPLAINED = 1.5  # widths of a plan, not counted
# F is found again after each tenth of the rounds. The last one is used, not the least so far: one that was too low by
# bad luck, which is likely in early rounds alone, would otherwise be believed for ever.
GROWTH = 1.1


class Account(enum.IntEnum):
    """Places of Ledger.account."""

    VALUE = 0  # F
    SOLVED = 1  # the round in which it was found, 0 for none
    SPENT = 2
    CERTIFIED = 3  # the sum of the bounds on regret and violation, of the rounds that have one
    HELD = 4  # rounds in which the plan of LP(UCB, UCB) stood in
    LARGEST_PRICE = 5  # of an arm, over all its floors, so far


class LedgerRow(enum.IntEnum):
    """Rows of Ledger.by_floor."""

    PRICE = 0  # of LP(UCB, UCB)
    REVENUE = 1  # of the plan at hand, by means
    WIDTH = 2


class Ledger(NamedTuple):
    """What is kept to hold a rule to its guarantee."""

    account: np.ndarray  # float64, by Account
    by_floor: np.ndarray  # float64, by LedgerRow, shape (3, M)
    planner: Planner  # of LP(UCB, UCB)
    changed: np.ndarray  # uint8, shape (C,), as that of statistics
    progress: np.ndarray  # int64, as that of a learner
    allocation: np.ndarray  # float64, shape (K, C): the plan of LP(UCB, UCB)


def make_ledger(planner: Planner, n_rows: int, progress: Any) -> Ledger:
    """A ledger before the first round."""
    shape = planner.coefficients.shape[1:]
    return Ledger(
        account=np.zeros(len(Account)),
        by_floor=np.zeros((len(LedgerRow), n_rows)),
        planner=planner,
        changed=make_marks(shape[1]),
        progress=np.zeros_like(progress),
        allocation=np.zeros(shape),
    )


@kernel
def allowed_until(n_pairs, t, noise_scale):
    """What may have been spent up to round t."""
    return ALLOWED * noise_scale * math.sqrt(n_pairs * t * math.log(2.0 * n_pairs * t))


@kernel
def optimistic_value(problem, by_pair, factor, allocation):
    """What an allocation earns by upper bounds of the means."""
    n_arms, n_contexts = allocation.shape
    value = 0.0
    for arm in range(n_arms):
        for context in range(n_contexts):
            bound = by_pair[ByPair.MEAN, arm, context] + factor * by_pair[ByPair.INVERSE_ROOT, arm, context]
            value += problem.context_probabilities[context] * bound * allocation[arm, context]
    return value


@rare_kernel
def price_of_floors(arm_rows, arm, prices):
    """The price of an arm's floors together."""
    price = 0.0
    for place in range(arm_rows.shape[1]):
        row = arm_rows[arm, place] - 1
        if row >= 0:
            price += prices[row]
    return price


@rare_kernel
def bounds_of_plan(problem, by_pair, factor, allocation, ledger):
    """The bound on regret and violation of an allocation, and what its widths explain of it: (bound, A)."""
    n_arms, n_contexts = allocation.shape
    by_floor = ledger.by_floor
    for row in range(by_floor.shape[1]):
        by_floor[LedgerRow.REVENUE, row] = 0.0
        by_floor[LedgerRow.WIDTH, row] = 0.0
    earned = 0.0
    width = 0.0
    priced = 0.0
    for arm in range(n_arms):
        of_arm = 0.0
        width_of_arm = 0.0
        for context in range(n_contexts):
            played = problem.context_probabilities[context] * allocation[arm, context]
            of_arm += played * by_pair[ByPair.MEAN, arm, context]
            width_of_arm += played * factor * by_pair[ByPair.INVERSE_ROOT, arm, context]
        earned += of_arm
        width += width_of_arm
        priced += (1.0 + price_of_floors(problem.arm_rows, arm, by_floor[LedgerRow.PRICE])) * width_of_arm
        for place in range(problem.arm_rows.shape[1]):
            row = problem.arm_rows[arm, place] - 1
            if row >= 0:
                by_floor[LedgerRow.REVENUE, row] += of_arm
                by_floor[LedgerRow.WIDTH, row] += width_of_arm
    lacking = 0.0
    width_of_floors = 0.0
    for row in range(by_floor.shape[1]):
        if problem.floors[row] != NO_FLOOR:
            lacking += max(problem.floors[row] - by_floor[LedgerRow.REVENUE, row], 0.0)
            width_of_floors += by_floor[LedgerRow.WIDTH, row]
    regret = max(ledger.account[Account.VALUE] - earned + width, 0.0)
    return regret + lacking + width_of_floors, EXPLAINED * (priced + width + width_of_floors)


def ledger_document(ledger: Ledger) -> dict[str, Any]:
    """What a ledger must be given back to go on as it would have: plain data."""
    return {
        "account": {place.name.lower(): float(ledger.account[place]) for place in Account},
        "prices": ledger.by_floor[LedgerRow.PRICE].tolist(),
        "basis": planner_state(ledger.planner),
    }


def restore_ledger(ledger: Ledger, state: dict[str, Any]) -> None:
    """Give a new ledger the state of another."""
    ledger.account[:] = [state["account"][place.name.lower()] for place in Account]
    ledger.by_floor[LedgerRow.PRICE] = state["prices"]
    restore_planner(ledger.planner, state["basis"])
