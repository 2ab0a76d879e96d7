"""Margins that cost least, and the normal distribution behind them."""

import math
from statistics import NormalDist

import numpy as np
import pytest

from arcbandit.compilation.compile import entry_kernel
from arcbandit.kernels.newsvendor import write_margins
from arcbandit.kernels.normal import normal_density, normal_probability, normal_quantile
from arcbandit.kernels.program import NO_FLOOR

NORMAL = NormalDist()
LEAST, MOST = -3.5, 2.5  # margins, in standard errors


@entry_kernel
def quantile(probability):
    return normal_quantile(probability)


@entry_kernel
def probability_and_density(value):
    return normal_probability(value), normal_density(value)


@entry_kernel
def margins_and_odds(prices, errors, floors, cost, weight, caution, start, odds, margins):
    return write_margins(prices, errors, floors, cost, weight, caution, start, odds, margins)


def margins_of(prices, errors, floors, cost, weight, start, margins, caution=0.0):
    """Write the margins; return q."""
    odds = np.full(len(prices), np.nan)
    return margins_and_odds(prices, errors, floors, cost, weight, caution, start, odds, margins)


def total_cost(z, prices, errors, cost, weight):
    """E[(sum of prices times surplus + cost)_+ + weight * sum of shortfalls], each surplus N(z s, s^2)."""
    mean, spread = prices @ (z * errors) + cost, math.sqrt(((prices * errors) ** 2).sum())
    above = mean * NORMAL.cdf(mean / spread) + spread * NORMAL.pdf(mean / spread)
    return above + weight * sum(s * (NORMAL.pdf(u) - u * NORMAL.cdf(-u)) for u, s in zip(z, errors, strict=True))


def test_quantiles_have_fourteen_digits():
    for probability in [*np.linspace(0.001, 0.999, 499), 1e-9, 1e-5, 0.075, 0.925, 1 - 1e-7]:
        assert quantile(probability) == pytest.approx(NORMAL.inv_cdf(probability), rel=1e-13, abs=1e-14)


def test_probabilities_and_densities():
    for value in np.linspace(-6, 6, 101):
        probability, density = probability_and_density(value)
        assert probability == pytest.approx(NORMAL.cdf(value), rel=1e-12)
        assert density == pytest.approx(NORMAL.pdf(value), rel=1e-12)


@pytest.mark.parametrize(("price", "weight"), [(0.2, 1.0), (1.0, 1.0), (5.0, 1.0), (1.0, 10.0), (3.0, 0.5)])
def test_one_floor_is_the_classical_newsvendor(price, weight):
    """Phi(z) = v / (v + price)."""
    margins = np.zeros(1)
    margins_of(np.array([price]), np.array([0.3]), np.array([1.0]), 0.0, weight, 0.5, margins)
    assert margins[0] == pytest.approx(NORMAL.inv_cdf(weight / (weight + price)), abs=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_no_other_margins_cost_less(seed):
    """Where no margin is at its limit, each step away from them costs more; the search may start anywhere."""
    rng = np.random.default_rng(seed)
    margins = np.full(1, MOST)
    while margins.max() >= MOST or margins.min() <= LEAST:
        size = int(rng.integers(1, 5))
        prices, errors = rng.uniform(0.3, 3.0, size), rng.uniform(0.01, 1.0, size)
        cost, weight = float(rng.exponential(0.1)), float(rng.uniform(0.5, 5.0))
        margins, others = np.zeros(size), np.zeros(size)
        q = margins_of(prices, errors, np.ones(size), cost, weight, 0.5, margins)
    for start in (0.0, 1e-6, 0.999999, 1.0, -3.0, 1e300, math.nan):
        assert margins_of(prices, errors, np.ones(size), cost, weight, start, others) == pytest.approx(q, abs=1e-10)
    least = total_cost(margins, prices, errors, cost, weight)
    for row in range(size):
        for step in (-0.02, 0.02):
            moved = margins.copy()
            moved[row] += step
            assert total_cost(moved, prices, errors, cost, weight) > least


def test_floors_without_a_price_have_the_largest_margin_and_rows_without_a_floor_none():
    margins = np.zeros(3)
    prices, errors = np.array([0.0, 1.0, 0.0]), np.full(3, 0.1)
    margins_of(prices, errors, np.array([1.0, 1.0, NO_FLOOR]), 0.0, 1.0, 0.5, margins)
    assert margins.tolist() == [2.5, pytest.approx(0.0, abs=1e-9), 0.0]
    margins_of(prices, errors, np.array([1.0, 1.0, NO_FLOOR]), 0.0, 100.0, 0.5, margins)
    assert margins[0] == 3.5


def test_dear_floors_have_the_least_margin():
    margins = np.zeros(1)
    margins_of(np.array([1e6]), np.array([0.1]), np.array([1.0]), 0.0, 1.0, 0.5, margins)
    assert margins[0] == -3.5
    margins_of(np.array([1.0]), np.array([0.0]), np.array([1.0]), 0.0, 1.0, 0.5, margins)
    assert margins[0] == pytest.approx(0.0, abs=1e-12)  # without an error q is 1/2


def test_caution_is_for_floors_that_are_dearer_than_a_violation():
    """Odds of 9 count as 9^1.5 = 27, those of 1/9 as they are."""
    for price, odds in ((9.0, 27.0), (1.0 / 9.0, 1.0 / 9.0)):
        for weight in (1.0, 4.0):
            margins = np.zeros(1)
            q = margins_of(np.array([weight * price]), np.array([0.3]), np.ones(1), 0.0, weight, 0.5, margins, 0.5)
            assert margins[0] == pytest.approx(NORMAL.inv_cdf(1 - odds * q), abs=1e-9)
            assert NORMAL.cdf(margins[0]) == pytest.approx(q, abs=1e-9)


def quantile_by_halving(prices, odds, errors, cost, most):
    """q, where its defining equation changes sign."""
    spread = math.sqrt(((prices * errors) ** 2).sum())
    low, high = 0.0, 1.0
    for _ in range(100):
        q = 0.5 * (low + high)
        margins = [margin_by_quantile(one, q, most) for one in odds]
        total = cost + float((prices * errors * margins).sum())
        low, high = (q, high) if NORMAL.cdf(total / spread) > q else (low, q)
    return low


def margin_by_quantile(odds, q, most):
    """z of a floor, within its limits."""
    missed = odds * q
    if missed <= NORMAL.cdf(-most):
        return most
    return LEAST if missed >= NORMAL.cdf(-LEAST) else -NORMAL.inv_cdf(missed)


@pytest.mark.parametrize("seed", range(10))
def test_any_prices_errors_weights_and_starts(seed):
    """Where violations are dear, margins lie far out, where a little of q is much of a margin."""
    rng = np.random.default_rng(seed)
    for _ in range(20):
        count, weight = int(rng.integers(1, 6)), 10 ** rng.uniform(-3, 6)
        prices, errors = 10 ** rng.uniform(-6, 4.2, count), 10 ** rng.uniform(-6, 2, count)
        cost = 10 ** rng.uniform(-8, 2) * (rng.random() < 0.5)
        start = rng.choice([0.5, rng.random(), 0.0, 1.0, 1e-12])
        most = MOST + 0.5 * max(math.log10(weight), 0.0)
        caution = rng.choice([0.0, rng.random()])
        margins = np.zeros(count)
        margins_of(prices, errors, np.ones(count), cost, weight, start, margins, caution)
        odds = prices / weight
        odds = np.where(odds > 1, odds ** (1 + caution), odds)
        q = quantile_by_halving(prices, odds, errors, cost, most)
        expected = [margin_by_quantile(one, q, most) for one in odds]
        assert margins == pytest.approx(expected, abs=1e-6)
