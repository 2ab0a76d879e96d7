"""Estimates from one log of the fashion shop hold what the other says, and the page tells them."""

import importlib

import pytest

from arcbandit import read_log
from arcbandit.errors import InvalidInputError
from arcbandit.examples.open_bandit import BRANDED, COLUMNS, THOMPSON, UNIFORM, both_ways, branded, larger

generate = importlib.import_module("docs.generate_open_bandit")


@pytest.fixture(scope="module")
def found():
    return both_ways()


@pytest.mark.slow
def test_every_interval_holds_what_the_other_log_says(found):
    """By all four estimators, both ways; no test of the intervals, for which tests/logs has thousands of logs."""
    for policy, rate in (("uniform", 0.0046), ("thompson", 0.0069)):
        evaluation, truth = found[policy]
        assert truth == pytest.approx(rate)
        assert evaluation.unsupported_pairs == ()
        for estimate in evaluation.estimates.values():
            low, high = estimate.interval
            assert 0.0 < low < rate < high < 3 * rate


@pytest.mark.slow
def test_probabilities_are_those_of_the_policies(found):
    """The weights of a log whose probabilities are right are 1 on average."""
    for evaluation, _ in found.values():
        assert evaluation.probabilities == "logged"
        assert evaluation.mean_weight == pytest.approx(1.0, abs=0.1)


def test_brands_have_the_rows_of_their_items():
    log = branded(5)
    items, brands = log["item"].to_pylist(), log["brand"].to_pylist()
    assert len(set(zip(items, brands, strict=True))) == 34
    sizes = [len({item for item, one in zip(items, brands, strict=True) if one == brand}) for brand in set(brands)]
    assert sorted(sizes) == [6, 7, 7, 7, 7]
    clicks = read_log(UNIFORM, **COLUMNS).sums.sum() + read_log(THOMPSON, **COLUMNS).sums.sum()
    assert read_log(log, **BRANDED).sums.sum() == clicks == 115


def test_a_larger_log_has_the_same_means():
    log = read_log(UNIFORM, **COLUMNS)
    more = larger(log, 7)
    assert more.rows == 70_000
    assert (more.means == log.means).all()
    assert more.noise_scale == pytest.approx(log.noise_scale, rel=0.01)


@pytest.mark.parametrize(
    "asked", [lambda: branded(0), lambda: branded(35), lambda: larger(read_log(UNIFORM, **COLUMNS), 0)]
)
def test_what_makes_no_log_is_refused(asked):
    with pytest.raises(InvalidInputError, match="must be a whole number"):
        asked()


@pytest.mark.slow
def test_the_tables_of_the_page_are_up_to_date(found):
    """`python -m docs.generate_open_bandit` writes them again."""
    text = generate.PAGE.read_text(encoding="utf-8")
    assert generate.with_tables(text, found) == text
    assert text.count("\n| ") > 10
