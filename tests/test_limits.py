"""What learning must cost: the constant against direct minimisation, and where it is refused."""

import doctest
import math
import pickle

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import ndtr
from scipy.stats import norm

from arcbandit import limits
from arcbandit.errors import InfeasibleError, InvalidInputError
from arcbandit.experiments.paper_instances import nu, nu_nominal, nu_nonsaturating, nu_with_margin
from arcbandit.instance import GroupFloor, Instance
from arcbandit.limits import least_cost
from arcbandit.oracle import analyse
from tests.long import each_of

HORIZON = 50_000


def mean_above(value):
    return norm.pdf(value) + value * ndtr(value)


def cost_of(margins, prices, errors, weight):
    """G_v(m) and its gradient, from the definition: a sum of normals is a normal."""
    spread = math.sqrt(((prices * errors) ** 2).sum())
    total = (prices * margins).sum() / spread
    cost = spread * mean_above(total) + weight * (errors * mean_above(-margins / errors)).sum()
    return cost, prices * ndtr(total) - weight * ndtr(-margins / errors)


def minimised(prices, errors, weight):
    """The least cost and its margins, by a search that knows nothing of q."""
    # In units of the errors, the problem is well scaled.
    found = minimize(
        lambda z: (lambda cost, slope: (cost, slope * errors))(*cost_of(z * errors, prices, errors, weight)),
        np.zeros(len(prices)),
        jac=True,
        method="BFGS",
        options={"gtol": 1e-12, "maxiter": 10_000},
    )
    return found.fun, found.x * errors


@pytest.mark.parametrize("case", each_of((*range(40), 689, 868, 954), range(1_000)))
def test_the_least_cost_is_that_of_a_direct_search(case):
    """To nine digits, for one floor to six, cheap ones and dear ones, at any weight."""
    random = np.random.default_rng([7, case])
    count = int(random.integers(1, 7))
    prices = 10 ** random.uniform(-1.5, 1.5, count)
    errors = 10 ** random.uniform(-1.0, 0.5, count)
    weight = float(10 ** random.uniform(-1.0, 1.5))
    found = least_cost(prices, errors, weight)
    direct, margins = minimised(prices, errors, weight)
    assert found.total == pytest.approx(direct, rel=1e-9)
    assert found.total == pytest.approx(cost_of(found.margins, prices, errors, weight)[0], rel=1e-12)
    # The cost is flat at its minimum, so a search knows the margins to half the digits.
    assert found.margins == pytest.approx(margins, abs=1e-4 * errors.max())
    assert found.total == pytest.approx(found.regret + weight * found.violation, rel=1e-12)


@pytest.mark.parametrize("price", [1e-3, 0.3, 1.0, 40.0, 1e4])
@pytest.mark.parametrize("weight", [1e-9, 1e-2, 1.0, 1e3])
def test_one_floor_has_the_newsvendor_s_margin(price, weight):
    """Phi(z) = v / (v + a), and the cost is (v + a) phi(z) se."""
    found = least_cost(np.array([price]), np.array([0.5]), weight)
    z = norm.ppf(weight / (weight + price))
    assert found.margins[0] == pytest.approx(0.5 * z, rel=1e-8, abs=1e-12)
    assert found.total == pytest.approx((weight + price) * norm.pdf(z) * 0.5, rel=1e-10)


@pytest.mark.parametrize("weight", [0.3, 1.0, 20.0])
def test_the_dual_form_is_largest_where_the_margins_are_best(weight):
    """tau I(q) + v sum se I(a q / v) is at most the least cost for every q, and equal to it for one."""
    prices, errors = np.array([0.4, 3.0, 1.1]), np.array([0.7, 0.2, 0.4])
    spread = math.sqrt(((prices * errors) ** 2).sum())
    least = least_cost(prices, errors, weight).total
    q = np.linspace(1e-6, min(1.0, weight / prices.max()) - 1e-6, 20_001)
    density = norm.pdf(norm.ppf(q))
    values = spread * density + weight * sum(
        error * norm.pdf(norm.ppf(price * q / weight)) for price, error in zip(prices, errors, strict=True)
    )
    assert values.max() <= least * (1 + 1e-12)
    assert values.max() == pytest.approx(least, rel=1e-6)


@pytest.mark.parametrize(
    ("instance", "weight", "total", "regret", "violation"),
    [
        (nu(), 1.0, 248.7, 103.0, 145.7),
        (nu_nominal(), 1.0, 145.7, 72.8, 72.8),
        (nu_with_margin(0.01), 1.0, 344.9, 142.8, 202.0),
        (nu(), 3.0, 432.3, 252.0, 60.1),
        (nu(), 10.0, 644.3, 478.2, 16.6),
        (nu(), 100.0, 973.2, 849.6, 1.2),
        (nu_nonsaturating(), 1.0, 0.0, 0.0, 0.0),  # no floor is saturated: what is left grows like log T
    ],
)
def test_the_limits_of_the_paper_s_instances(instance, weight, total, regret, violation):
    found = analyse(instance).learning_limit(HORIZON, weight)
    assert found.total == pytest.approx(total, abs=0.06)
    assert (found.regret, found.violation) == pytest.approx((regret, violation), abs=0.06)


def test_it_grows_like_the_root_of_the_horizon_and_with_the_noise():
    loud = Instance(nu().mean_rewards, nu().revenue_floors, nu().context_probabilities, noise_scale=3.0)
    one, four = analyse(nu()).learning_limit(1e4), analyse(nu()).learning_limit(4e4)
    assert four.total == pytest.approx(2 * one.total, rel=1e-12)
    assert analyse(loud).learning_limit(10_000).total == pytest.approx(3 * one.total, rel=1e-12)


def test_a_group_floor_counts_the_rounds_of_all_its_arms():
    """Two arms alike, one floor for both: the limit is that of one arm with the rounds of both."""
    means = [[9, 3, 6], [0, 1.5, 0], [0, 0, 3]]
    alone = Instance(means, [0, 0.25, 0.5], [1 / 3] * 3)
    grouped = Instance(
        means,
        [0, 0, 0],
        [1 / 3] * 3,
        group_floors=[GroupFloor("second", [1], 0.25), GroupFloor("third", [2], 0.5)],
    )
    assert analyse(grouped).learning_limit(HORIZON).total == pytest.approx(
        analyse(alone).learning_limit(HORIZON).total, rel=1e-9
    )
    both = Instance([[4, 4], [1, 0], [0, 1]], [0, 0, 0], [0.5, 0.5], group_floors=[GroupFloor("both", [1, 2], 0.6)])
    with pytest.raises(InvalidInputError, match="other plans earn as much"):
        analyse(both).learning_limit(HORIZON)


def test_two_saturated_floors_of_one_arm_are_refused_by_name():
    tight = Instance(
        [[9, 6], [1, 3], [5, 1]],
        [0, 0.9, 0],
        [0.5, 0.5],
        group_floors=[GroupFloor("late", [1, 2], 1.3)],
    )
    with pytest.raises(InvalidInputError, match="'2' and 'late' count arm '2'"):
        analyse(tight).learning_limit(HORIZON)


def test_what_is_not_known_is_refused():
    infeasible = Instance(nu().mean_rewards, nu().revenue_floors * 3, nu().context_probabilities)
    with pytest.raises(InfeasibleError, match="no allocation meets the floors"):
        analyse(infeasible).learning_limit(HORIZON)
    exactly_met = Instance([[2, 1], [1, 2]], [1.0, 0.5], [0.5, 0.5])  # arm 0 earns 1 without being asked to
    with pytest.raises(InvalidInputError, match="not degenerate"):
        analyse(exactly_met).learning_limit(HORIZON)
    tie = Instance([[2, 1], [2, 1]], [0.5, 0.0], [0.5, 0.5])
    with pytest.raises(InvalidInputError, match=r"other plans (earn as much|are optimal too)"):
        analyse(tie).learning_limit(HORIZON)


@pytest.mark.parametrize("horizon", [0, -1, 1.5, "many", None, math.inf, 10**30])
def test_a_horizon_must_be_a_number_of_rounds(horizon):
    with pytest.raises(InvalidInputError, match="horizon must be a whole number"):
        analyse(nu()).learning_limit(horizon)


@pytest.mark.parametrize("weight", [0, -1.0, 1e-300, math.nan, math.inf, "1", True])
def test_a_weight_must_be_a_positive_number(weight):
    with pytest.raises(InvalidInputError, match="violation_weight must be"):
        analyse(nu()).learning_limit(HORIZON, weight)


@pytest.mark.parametrize(("share", "means"), [(0.0, [1.0, 1.0, 1.0]), (1e-12, [2.0, 0.1, 0.5])])
def test_a_context_that_hardly_ever_comes_changes_nothing(share, means):
    """Nor need its plan be unique, if it never does."""
    shares = np.append(np.full(3, (1 - share) / 3), share)
    never = Instance(np.hstack([nu().mean_rewards, np.transpose([means])]), nu().revenue_floors, shares)
    assert analyse(never).learning_limit(HORIZON).total == pytest.approx(
        analyse(nu()).learning_limit(HORIZON).total, rel=1e-9
    )


def test_a_limit_can_be_shown_and_stored():
    found = analyse(nu()).learning_limit(HORIZON, 3)
    assert repr(found) == "<LearningLimit: R + 3 V of 432.3 (R 252, V 60.1) after 50,000 rounds>"
    assert pickle.loads(pickle.dumps(found)) == found


def test_the_examples_run():
    assert doctest.testmod(limits).failed == 0
