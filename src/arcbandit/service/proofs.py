"""From a policy and statistics to a plan with its proof; a plan that cannot be proven is refused."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcbandit.certificate import Certificate, certify_optimal
from arcbandit.errors import InfeasibleError, PlanningError
from arcbandit.kernels.program import PlanStatus
from arcbandit.planning.plans import Plan
from arcbandit.planning.program import make_program, writable
from arcbandit.planning.solve import solve_checked
from arcbandit.policies.growth import with_amount
from arcbandit.policies.learner import Outcome
from arcbandit.policies.linear_program import LinearProgramRule
from arcbandit.policies.serving import Served

if TYPE_CHECKING:
    from arcbandit.policies.base import Policy

Floats = NDArray[np.float64]

PRICE_STEP = 1e-6  # relative: by how much a floor is moved to see what it costs on either side
MOST_TO_PRICE = 100_000  # floors times pairs; of more, a degenerate plan shows one price of each floor
SHARE_TOLERANCE = 1e-9  # by how much the shares of a context may miss 1


class Proven(NamedTuple):
    """A plan that may be published, and what is shown of it."""

    allocation: Floats
    how: str
    document: dict[str, Any]


def proven(policy: "Policy", served: Served) -> Proven:
    """The plan with a proof that does not depend on how it was found; PlanningError if there is none.

    What is proven, the document's `certificate` says by its `kind`. "optimal": no plan earns more by the rule's own
    confidence bounds while it keeps the floors, or misses them by less. "bounded": for rules that do not plan by one
    linear program, the plan is compared with the best one by the means so far, which is proven to be that. "exploring":
    pairs are played of which too little is known, and nothing is claimed but that shares are shares.

    `certificate.by` says by which numbers; `best_value`, prices and conflicting floors are by the same. A rule that
    fell back is proven by upper confidence bounds. All else in the document is by the means so far.
    """
    allocation = _checked_shares(served)
    if served.explores:
        return _exploring(served, allocation)
    if isinstance(policy, LinearProgramRule):
        return _optimal(policy, served, allocation)
    return _bounded(policy, served, allocation)


def _checked_shares(served: Served) -> Floats:
    """The allocation, if its columns are distributions over pairs that may be played."""
    allocation = served.allocation
    sums = allocation.sum(axis=0)
    at_work = served.probabilities > 0.0
    at_work |= sums > 0.0
    sound = (
        np.isfinite(allocation).all()
        and (allocation >= 0.0).all()
        and (np.abs(sums[at_work] - 1.0) <= SHARE_TOLERANCE).all()
        and not allocation[~served.available].any()
    )
    if not sound:
        raise PlanningError("The rule's allocation is not a distribution over the arms of each context.")
    return allocation


def _means(served: Served) -> Floats:
    """The means so far, and their average for pairs that were never played."""
    played = served.available & np.isfinite(served.radius)
    average = float(served.means[played].mean()) if played.any() else 0.0
    return np.where(np.isfinite(served.radius), served.means, average)


def _solved(served: Served, objective: Floats, revenue: Floats, on_infeasible: str) -> Plan:
    """The best plan with these coefficients, proven; PlanningError if it cannot be."""
    found = solve_checked(
        objective,
        revenue,
        served.probabilities.copy(),
        served.floors,
        served.available.copy(),
        "simplex",
        on_infeasible,
    )
    if found.certificate is None or not found.certificate.holds:
        raise PlanningError("The plan could not be proven right.")
    return found


def _optimal(policy: "LinearProgramRule", served: Served, allocation: Floats) -> Proven:
    fell_back = bool(served.outcome & (Outcome.FELL_BACK | Outcome.FELL_SHORT))
    dials = {**policy.preset, **policy.dial_values}
    optimism, caution = (1.0, 1.0) if fell_back else (float(dials["optimism"]), float(dials["caution"]))
    # Pairs that were never played have no bounds; here they are not available, or their contexts do not come.
    radius = np.where(np.isfinite(served.radius), served.radius, 0.0)
    objective, revenue = served.means + optimism * radius, served.means + caution * radius
    best = _solved(served, objective, revenue, policy.when_infeasible)
    certificate = best.certificate
    assert certificate is not None
    if best.status == PlanStatus.OPTIMAL:
        rows = served.floors.coupling_rows()
        program = make_program(objective, revenue, rows, served.available.copy(), served.probabilities.copy())
        everywhere = np.where(allocation.sum(axis=0) > 0.0, allocation, best.allocation)
        own = certify_optimal(writable(program), everywhere, best.floors.prices.copy())
        if own.holds:
            certificate = own
        else:  # the plan that was proven stands in
            allocation = _without_dropped(served, best.allocation)
    else:
        allocation = _without_dropped(served, best.allocation)
    document = _document("optimal", served, allocation, best, certificate)
    document["certificate"] |= _by(optimism, caution)
    document["conflicting_floors"] = [served.floors.names[row] for row in best.conflicting_floors]
    if best.status != PlanStatus.OPTIMAL:
        document["attainable_share"] = _share(served, objective, revenue)
    elif fell_back:  # what upper bounds allow says little: by its own, the rule could not keep the floors
        means = _means(served)
        document["attainable_share"] = _share(served, means, means)
    else:
        document["attainable_share"] = 1.0
    if best.status == PlanStatus.OPTIMAL and best.degenerate:
        _tell_price_intervals(served, objective, revenue, document)
    return Proven(allocation, served.how, document)


def _by(optimism: float, caution: float) -> dict[str, Any]:
    """By which numbers a plan is proven: means plus so many radii, in its revenue and in what floors earn.

    >>> _by(1.0, 1.0)["by"], _by(0.0, 0.0)["by"], _by(1.0, 0.0)["by"]
    ('upper confidence bounds', 'means', "the rule's bounds")
    """
    names = {(1.0, 1.0): "upper confidence bounds", (0.0, 0.0): "means"}
    return {"by": names.get((optimism, caution), "the rule's bounds"), "optimism": optimism, "caution": caution}


def _tell_price_intervals(served: Served, objective: Floats, revenue: Floats, document: dict[str, Any]) -> None:
    """Say between which numbers the price of a floor lies: what its last unit costs, and what one more would.

    In a degenerate plan these differ, and any price between them is right. None is a unit that is not available, or a
    number that could not be proven.
    """
    if len(served.floors) * objective.size > MOST_TO_PRICE:
        return
    for row, (floor, shown) in enumerate(zip(served.floors, document["floors"], strict=True)):
        if floor.amount > 0.0:
            for name, factor in (("price_low", 1.0 - PRICE_STEP), ("price_high", 1.0 + PRICE_STEP)):
                moved = served._replace(floors=with_amount(served.floors, row, floor.amount * factor))
                try:
                    shown[name] = float(_solved(moved, objective, revenue, "raise").floors.prices[row])
                except (InfeasibleError, PlanningError):
                    shown[name] = None


def _share(served: Served, objective: Floats, revenue: Floats) -> float | None:
    """The largest share that every floor can have, if it can be proven."""
    try:
        return _solved(served, objective, revenue, "same_share").floor_share
    except PlanningError:
        return None


def _revenue_with_floors(served: Served, means: Floats) -> float | None:
    """What the best plan that keeps the floors earns by the means so far, if it can be proven."""
    try:
        return float(_solved(served, means, means, "least_shortfall").value)
    except PlanningError:
        return None


def _without_dropped(served: Served, allocation: Floats) -> Floats:
    """The allocation with zeros where nothing is decided."""
    return np.where(served.allocation.sum(axis=0) > 0.0, allocation, 0.0)


def _bounded(policy: "Policy", served: Served, allocation: Floats) -> Proven:
    means = _means(served)
    best = _solved(served, means, means, policy.when_infeasible)
    assert best.certificate is not None
    document = _document("bounded", served, allocation, best, best.certificate)
    document["certificate"] |= _by(0.0, 0.0)
    document["conflicting_floors"] = [served.floors.names[row] for row in best.conflicting_floors]
    document["attainable_share"] = 1.0 if best.status == PlanStatus.OPTIMAL else _share(served, means, means)
    return Proven(allocation, served.how, document)


def _exploring(served: Served, allocation: Floats) -> Proven:
    return Proven(allocation, served.how, _document("exploring", served, allocation, None, None))


def _document(
    kind: str, served: Served, allocation: Floats, best: Plan | None, certificate: Certificate | None
) -> dict[str, Any]:
    """What is shown of a plan; revenue is per round."""
    means = _means(served)
    earned = served.probabilities * means * allocation
    by_floor = served.floors.by_floor(earned.sum(axis=1))
    prices = None if best is None else best.floors.prices.tolist()
    return {
        "certificate": {"kind": kind, "holds": True, **({} if certificate is None else certificate._asdict())},
        "expected_revenue": float(earned.sum()),
        "best_value": None if best is None else float(best.value),
        "revenue_with_floors": None if best is None else _revenue_with_floors(served, means),
        "revenue_without_floors": float(
            (served.probabilities * np.where(served.available, means, -np.inf).max(axis=0))[
                served.allocation.sum(axis=0) > 0.0
            ].sum()
        ),
        "context_probabilities": served.probabilities.tolist(),
        "floors": [
            {
                "name": floor.name,
                "kind": str(floor.kind),
                "floor": float(floor.amount),
                "expected": float(by_floor[row]),
                "slack": float(by_floor[row] - floor.amount),
                "price": None if prices is None else prices[row],
                "price_low": None if prices is None else prices[row],
                "price_high": None if prices is None else prices[row],
            }
            for row, floor in enumerate(served.floors)
        ],
        "conflicting_floors": [],
        "attainable_share": None,
    }
