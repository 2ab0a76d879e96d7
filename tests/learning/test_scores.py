"""Scores, on numbers that can be checked by hand."""

import math

import numpy as np
import pytest

from arcbandit.learning.contestants import CAUTIOUS, CLAIRVOYANT, CLAIRVOYANT_WITH_MARGINS, DEFAULT, HOPEFUL, JUDGED
from arcbandit.learning.play import exponents
from arcbandit.learning.scores import geometric_mean, growth, in_common, quotients, ratios, score, scores
from tests.learning.made_up import EPOCHS, INSTANCES, results, row


def test_a_geometric_mean_counts_nothing_as_one():
    """So that one instance without violation does not hide all the others."""
    assert geometric_mean([10.0, 1000.0]) == pytest.approx(100.0)
    assert geometric_mean([0.0, 100.0]) == pytest.approx(10.0)
    assert math.isnan(geometric_mean([]))


def test_exponents_are_of_growth():
    """√T grows like 0.5; a sum that stands still like 0, also at zero; one that begins late like no power."""
    early, last = np.array([1.0, 5.0, 0.0, 0.0, 1.0]), np.array([math.sqrt(5.0), 5.0, 0.0, 3.0, 5.0])
    assert exponents(early, last, 5.0).tolist() == pytest.approx([0.5, 0.0, 0.0, math.inf, 1.0])


def test_ratios_in_a_few_numbers():
    found = ratios(np.array([0.5, 2.0, 1.0, 4.0, 0.25, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]))
    assert found.instances == 11
    assert found.mean == pytest.approx(1.0)
    assert found.median == 1.0
    assert found.tail == 2.0
    assert found.worst == 4.0
    assert ratios(np.zeros(0)) is None


def test_policies_are_compared_where_both_were_played():
    """An instance that only one has does not count."""
    found = results(families=("small",))["small"]
    found._rows.pop((3, DEFAULT))
    assert len(in_common(found, JUDGED, DEFAULT)) == INSTANCES - 1
    assert quotients(found, JUDGED, DEFAULT).tolist() == [0.5] * (INSTANCES - 1)
    assert quotients(found, JUDGED, "nobody").size == 0


def test_sums_below_one_count_as_one_in_ratios():
    found = results(("small", row(0, JUDGED, 0.0, 0.1)), ("small", row(1, DEFAULT, 0.0, 0.0)), families=("small",))
    assert quotients(found["small"], JUDGED, DEFAULT)[:3].tolist() == [0.01, 50.0, 0.5]


def test_a_score_has_every_number():
    found = results(
        ("small", row(0, JUDGED, 400.0, 100.0, steep=(1, 5), late=(0.4, 0.95))),
        ("small", row(1, JUDGED, 99.0, 7.0, steep=(0,), late=(0.5,))),
        ("small", row(2, HOPEFUL, 5.0, 5.0)),
        families=("small",),
    )["small"]
    one = score(found, JUDGED)
    assert (one.family, one.policy, one.instances) == ("small", JUDGED, INSTANCES)
    assert one.regret == pytest.approx(40.0 * (10.0 * 99.0 / 40.0) ** (1 / INSTANCES))
    assert one.violation == pytest.approx(10.0 * (10.0 * 0.7) ** (1 / INSTANCES))
    assert one.total == pytest.approx(50.0 * (10.0 * 106.0 / 50.0) ** (1 / INSTANCES))
    assert one.to_default.worst == 5.0
    assert one.to_default.median == 0.5
    # Instance 0 and 1 are above OPLP's 105, and instance 2 above OLP's 10.
    assert one.beats_both == (INSTANCES - 3, INSTANCES)
    assert one.growth == (EPOCHS * INSTANCES, 3, 3, 1, 0.95)
    assert one.growth.share == 3 / (EPOCHS * INSTANCES)
    beside = one.to_clairvoyants[CLAIRVOYANT]
    assert beside["total"].worst == 20.0
    assert beside["total"].median == 2.0
    assert beside["regret"].worst == pytest.approx(400.0 / 15.0)
    assert beside["regret"].median == pytest.approx(40.0 / 15.0)
    assert beside["violation"].worst == 10.0
    assert one.to_clairvoyants[CLAIRVOYANT_WITH_MARGINS] == {}
    assert one.to_limit == pytest.approx(one.total / 25.0)


def test_a_clairvoyant_that_loses_nothing_is_no_measure():
    """Without an active floor there is nothing to estimate."""
    found = results(("small", row(4, CLAIRVOYANT, 0.0, 0.0)), families=("small",))["small"]
    compared = score(found, JUDGED).to_clairvoyants[CLAIRVOYANT]["total"]
    assert compared.instances == INSTANCES - 1
    assert compared.worst == 2.0


def test_growth_without_steep_runs_has_no_exponent():
    found = growth([row(0, JUDGED), row(1, JUDGED)], 3)
    assert found[:4] == (6, 0, 0, 0)
    assert math.isnan(found.largest)


def test_the_policy_that_loses_least_comes_first():
    found = scores(results(families=("small", "dear")))
    assert [one.family for one in found] == ["small"] * 7 + ["dear"] * 7
    assert [one.policy for one in found][:2] == [CLAIRVOYANT, JUDGED]
    assert found[6].policy == HOPEFUL
    assert score(results(families=("small",))["small"], CAUTIOUS).beats_both is None
