"""What a `Planner` returns: a plan by the word of the simplex method, and with it all that a proof takes."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import InvalidInputError
from arcbandit.floors import Floors
from arcbandit.kernels.program import PlanStatus, make_basis
from arcbandit.planning.plans import Plan
from arcbandit.planning.program import Solution
from arcbandit.planning.solve import solve_checked
from arcbandit.showing import counted, number

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Terms(NamedTuple):
    """What the problems of a planner share."""

    floors: Floors
    probabilities: Floats  # p, shape (C,)
    available: Flags  # shape (K, C)
    on_infeasible: str  # what is done about floors that cannot all be met


class QuickPlan:
    """What a `Planner` found, by the word of the simplex method; `certified` gives the proof.

    `status` is OPTIMAL, or INFEASIBLE for a plan of least shortfall or of the same share. `allocation`, shape (K, C),
    earns `value`. `prices`, what the last unit of each floor costs, shape (M,), are those of the arms,
    then of the groups. `floor_share` is as in `Plan`.

    >>> from arcbandit import Planner
    >>> found = Planner([0, 0.25], [0.5, 0.5]).plan([[4, 2], [1, 1]])
    >>> found
    <QuickPlan: optimal, 2.75 per round, 2 arms x 2 contexts>
    >>> found.status.name, found.allocation.tolist()
    ('OPTIMAL', [[1.0, 0.5], [0.0, 0.5]])
    """

    __slots__ = ("_problem", "_share", "allocation", "prices", "status", "value")

    def __init__(
        self,
        status: PlanStatus,
        allocation: Floats,
        value: float,
        prices: Floats,
        problem: tuple[Terms, Floats, Floats | None, Floats | None, Floats | None] | None,
        share: float | None = None,
    ) -> None:
        self.status = status
        self.allocation = allocation
        self.value = value
        self.prices = prices
        self._problem = problem  # the first arguments of `prove`
        self._share = share

    def __repr__(self) -> str:
        n_arms, n_contexts = self.allocation.shape
        shape = f"{counted(n_arms, 'arm')} x {counted(n_contexts, 'context')}"
        return f"<QuickPlan: {self.status.name.lower()}, {number(self.value)} per round, {shape}>"

    @property
    def floor_share(self) -> float | None:
        """The part of every floor that is met: 1 if OPTIMAL, None for a plan of least shortfall."""
        return 1.0 if self.status == PlanStatus.OPTIMAL else self._share

    def certified(self) -> Plan:
        """The `Plan` with its certificate; PlanningError if this plan cannot be proven right.

        An optimal plan is proven as it stands; one of least shortfall or of the same share is sought again, from
        nothing.

        >>> from arcbandit import Planner
        >>> Planner([0, 0.25], [0.5, 0.5]).plan([[4, 2], [1, 1]]).certified()
        <Plan: optimal, 2.75 per round, 2 arms x 2 contexts, 1 of 2 floors active>
        """
        if self._problem is None:
            raise InvalidInputError("copy must be True for a plan that is to be certified: its problem was not kept.")
        found = None
        if self.status == PlanStatus.OPTIMAL:
            n_rows, n_contexts = len(self.prices), self.allocation.shape[1]
            nothing = np.zeros(n_rows)
            no_basis = make_basis(n_contexts, n_rows)
            found = Solution(self.status, self.allocation.copy(), self.prices, nothing, nothing, no_basis)
        shares = self._problem[0].on_infeasible == "same_share"
        return prove(*self._problem, on_infeasible="same_share" if shares else "least_shortfall", found=found)


def prove(
    terms: Terms,
    objective: Floats,
    revenue: Floats | None,
    amounts: Floats | None,
    probabilities: Floats | None,
    *,
    on_infeasible: str,
    found: Solution | None = None,
) -> Plan:
    """The certified plan of a problem as `solve_lp` makes it; what is None is the objective, or as in the terms."""
    floors = terms.floors
    if amounts is not None:
        floors = Floors.of(floors.arms, amounts[: floors.n_arms], floors.groups)
    return solve_checked(
        objective,
        objective if revenue is None else revenue,
        terms.probabilities if probabilities is None else probabilities,
        floors,
        terms.available,
        "simplex",
        on_infeasible,
        found=found,
        say_kinds=True,
    )
