"""Means with intervals."""

import math

import numpy as np
import pytest
from scipy import stats

from arcbandit.estimates import estimate, student_quantile


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 7, 30, 99, 199, 200, 65_535, 10**6])
def test_student_quantile_is_that_of_scipy(degrees):
    assert student_quantile(degrees) == pytest.approx(stats.t.ppf(0.975, degrees), rel=1e-9)


def test_estimates_carry_a_95_percent_interval():
    """Of one epoch there is no interval."""
    values = np.array([1.0, 2.0, 4.0])
    found = estimate(values)
    low, high = stats.t.interval(0.95, 2, loc=values.mean(), scale=stats.sem(values))
    assert found.mean - found.half_width == pytest.approx(low)
    assert found.mean + found.half_width == pytest.approx(high)
    assert math.isnan(estimate(values[:1]).half_width)
    assert str(estimate(values[:1])) == "1.0"
