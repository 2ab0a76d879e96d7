"""What learning must cost: the constant of the square root of T in R + v V, near an instance.

Once a learner knows which pairs the best plan uses, it still estimates their means. Its plan then misses a saturated
floor k, or exceeds it, by a margin of its choice and an error of standard deviation sigma sqrt(pi_k / t), where pi_k
is the share of rounds that the arms of the floor have. Too much costs the price a_k of the floor in revenue, too little
the weight v in violation. The least expected cost of a round, for sigma^2 / t = 1, is

    G = max over q of  tau I(q) + v sum_k sqrt(pi_k) I(a_k q / v),    tau^2 = sum_k a_k^2 pi_k,

with I(q) the density of a standard normal at its quantile of q; over T rounds this is 2 sigma G sqrt(T). The page
docs/theory.md proves that for normal rewards and as T grows no policy is below it on all instances near this one, and
has a sketch of why PricedLP with a count floor attains it.
"""

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import InfeasibleError, InvalidInputError
from arcbandit.inputs.values import LONGEST_HORIZON, positive, whole
from arcbandit.instance import Instance
from arcbandit.planning import Plan, PlanStatus, plan
from arcbandit.showing import number

Floats = NDArray[np.float64]

NORMAL = NormalDist()
WIDEST = 37.0  # standard deviations: beyond, the probability of a tail is not a normal float
HALVINGS = 200
LEAST_WEIGHT = 1e-200  # below, margins are wider than WIDEST
NO_PRICE = 1e-9  # a price, or a reduced cost over what its context is worth, that is zero


class LearningLimit(NamedTuple):
    """The least R + v V that a learner can have after so many rounds, to the order of the square root of T.

    `regret` and `violation` are those of the margins that attain it; another split costs more in sum.

    >>> from arcbandit import analyse, paper_instance
    >>> limit = analyse(paper_instance("nu")).learning_limit(50_000, violation_weight=10)
    >>> round(limit.regret), round(limit.violation), round(limit.total)
    (478, 17, 644)
    """

    total: float  # R + v V
    regret: float
    violation: float
    horizon: int
    violation_weight: float = 1.0

    def __repr__(self) -> str:
        weight = "" if self.violation_weight == 1.0 else f"{number(self.violation_weight)} "
        split = f"R {number(self.regret, 4)}, V {number(self.violation, 4)}"
        return f"<LearningLimit: R + {weight}V of {number(self.total, 4)} ({split}) after {self.horizon:,} rounds>"


class LeastCost(NamedTuple):
    """The least expected cost of margins, with its parts: `total` is `regret` plus the weight times `violation`."""

    total: float
    regret: float
    violation: float
    margins: Floats  # in units of revenue, shape (floors,)


def least_cost(prices: Floats, errors: Floats, weight: float) -> LeastCost:
    """The least of E[(sum_k a_k s_k)_+ + v sum_k (-s_k)_+] over margins m, where s_k ~ N(m_k, errors_k^2).

    The best margins satisfy v P(s_k < 0) = a_k P(sum_j a_j s_j > 0): with q for the last probability, that is one
    equation for one unknown, whose two sides cross once. The unknown is chosen so that no probability next to 1 decides
    it, which has no digits to tell a tail by: the margin of the dearest floor if that costs more than a violation,
    otherwise that of the sum.
    """
    if len(prices) == 0:
        return LeastCost(0.0, 0.0, 0.0, np.zeros(0))
    spread = math.sqrt(float(((prices * errors) ** 2).sum()))
    odds = prices / weight
    margins_at = _margins_by_dearest if odds.max() > 1.0 else _margins_by_sum
    # As the unknown rises, one side of the equation rises and the other falls.
    low, high = -WIDEST, WIDEST
    for _ in range(HALVINGS):
        z, u = margins_at(odds, 0.5 * (low + high))
        if float((prices * errors * z).sum()) < spread * u:
            low = 0.5 * (low + high)
        else:
            high = 0.5 * (low + high)
    z, _ = margins_at(odds, 0.5 * (low + high))
    # The sum's own margin is that of the parts, even where u is known to fewer digits than they are.
    regret = _mean_above(float((prices * errors * z).sum()) / spread) * spread
    violation = sum(_mean_above(-value) * error for value, error in zip(z.tolist(), errors.tolist(), strict=True))
    return LeastCost(regret + weight * violation, regret, violation, z * errors)


def _margins_by_dearest(odds: Floats, dearest: float) -> tuple[Floats, float]:
    """Margins of all floors and of the sum, in standard deviations, if that of the dearest floor is `dearest`."""
    met = _probability(dearest)
    shares = odds / odds.max()
    z = [-_quantile(share * _probability(-dearest), (1.0 - share) + share * met) for share in shares.tolist()]
    return np.array(z), _quantile(_probability(-dearest) / float(odds.max()))


def _margins_by_sum(odds: Floats, falling: float) -> tuple[Floats, float]:
    """Margins of all floors and of the sum, in standard deviations, if that of the sum is minus `falling`."""
    q = _probability(-falling)
    return np.array([-_quantile(each * q) for each in odds.tolist()]), -falling


def _probability(value: float) -> float:
    """The probability that a standard normal is below `value`, to all digits in its tail as well."""
    return 0.5 * math.erfc(-value * math.sqrt(0.5))


def _quantile(probability: float, rest: float | None = None) -> float:
    """The quantile of a standard normal, within WIDEST; `rest` is what is left to 1, if more digits of it are known."""
    if rest is not None and rest < probability:
        return -_quantile(rest)
    if probability <= 0.0:
        return -WIDEST
    return WIDEST if probability >= 1.0 else max(NORMAL.inv_cdf(probability), -WIDEST)


def _mean_above(value: float) -> float:
    """The mean of (x + value)_+ for a standard normal x."""
    return NORMAL.pdf(value) + value * _probability(value)


def learning_limit(instance: Instance, horizon: float, violation_weight: float) -> LearningLimit:
    """2 sigma G sqrt(T) of an instance; raise where it does not hold, or is not known."""
    rounds = whole("horizon", horizon, 1, LONGEST_HORIZON)
    weight = positive("violation_weight", violation_weight)
    if weight < LEAST_WEIGHT:
        raise InvalidInputError(f"violation_weight must be at least {LEAST_WEIGHT:g}, got {violation_weight}.")
    best = plan(instance, on_infeasible="least_shortfall")
    if best.status == PlanStatus.INFEASIBLE:
        conflicting = tuple(instance.floors.names[row] for row in best.conflicting_floors)
        raise InfeasibleError(
            f"The learning limit is measured from the optimum, but no allocation meets the floors of "
            f"{', '.join(conflicting)} together.",
            conflicting_floors=conflicting,
            least_shortfall=best.total_shortfall,
        )
    saturated = np.flatnonzero(best.floors.active & (best.floors.amounts != 0.0))
    _refuse_several_optima(instance, best, saturated)
    _refuse_shared_arms(instance, saturated)
    shares = instance.floors.by_floor((instance.context_probabilities * best.allocation).sum(axis=1))[saturated]
    found = least_cost(best.floors.prices[saturated], np.sqrt(shares), weight)
    unit = 2.0 * instance.noise_scale * math.sqrt(rounds)
    return LearningLimit(unit * found.total, unit * found.regret, unit * found.violation, rounds, weight)


def _refuse_several_optima(instance: Instance, best: Plan, saturated: NDArray[np.intp]) -> None:
    """Refuse an optimum that has several bases or is one of many: what is learnt there is not known to be exact."""
    comes = instance.context_probabilities > 0.0  # what is played in a context that never comes changes nothing
    idle = best.idle_pairs[:, comes]
    used, needed = int((~idle).sum()), int(comes.sum()) + len(saturated)
    if used < needed:
        raise InvalidInputError(
            "The learning limit is known for an optimum that is not degenerate, but more constraints hold with "
            "equality there than determine it."
        )
    free = [best.floors.names[row] for row in saturated if best.floors.prices[row] <= NO_PRICE]
    if free:
        raise InvalidInputError(
            f"The learning limit is known if each floor that is met with equality has a price, but that of {free[0]!r} "
            "has none: its margin costs nothing, and other plans are optimal too."
        )
    worth = instance.weighted_means * (1.0 + instance.floors.by_arm(best.floors.prices))[:, np.newaxis]
    costs = (best.context_values - worth)[:, comes]
    at_stake = np.abs(worth[:, comes]).max(axis=0)  # by context: one that is rare has small costs
    if used > needed or (costs <= NO_PRICE * at_stake)[idle].any():
        raise InvalidInputError("The learning limit is known for a unique optimum, but other plans earn as much.")


def _refuse_shared_arms(instance: Instance, saturated: NDArray[np.intp]) -> None:
    """Refuse saturated floors that count the same arm: their errors are not independent."""
    counted = instance.floors.members[saturated].sum(axis=0)
    if (counted > 1).any():
        arm = int(np.argmax(counted > 1))
        names = [instance.floors.names[row] for row in saturated if instance.floors.members[row, arm]]
        raise InvalidInputError(
            f"The learning limit is known if no two floors that are met with equality count the same arm, but those of "
            f"{' and '.join(map(repr, names))} count arm {instance.arms[arm]!r}."
        )
