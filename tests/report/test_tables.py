import pytest

from arcbandit.estimates import Estimate
from arcbandit.report.tables import best_policy, broken_label, result_rows, written, written_share


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (Estimate(1841.77, 159.4), "1,842 ± 159"),
        (Estimate(11.68, 7.66), "11.7 ± 7.7"),
        (Estimate(0.01234, 0.00051), "0.01234 ± 0.00051"),
        (Estimate(45.04009, float("nan")), "45.040"),
        (Estimate(0.0, 0.0), "0 ± 0"),
        (Estimate(float("-inf"), float("nan")), "–"),
    ],
)
def test_means_are_written_to_the_digits_that_mean_something(one, text):
    """Two digits of the half width."""
    assert written(one) == text


@pytest.mark.parametrize(
    ("share", "text"), [(0.0, "0%"), (1.0, "100%"), (1e-5, "0.1%"), (0.99999, "99.9%"), (1 / 3, "33.3%")]
)
def test_shares_near_nothing_and_everything_do_not_read_so(share, text):
    """0% and 100% mean exactly that."""
    assert written_share(Estimate(share, 0.0)) == text


def test_the_best_policy_has_the_lowest_sum(trace, trace_with):
    """And one alone is not the best of anything."""
    sums = {policy: values["regret_plus_violation"].mean for policy, values in trace.summary().items()}
    assert best_policy(trace) == min(sums, key=sums.get)
    assert best_policy(trace_with(policies=["olp"])) is None
    assert [row[0] for row in result_rows(trace)] == list(trace.policies)


def test_labels_break_after_punctuation():
    """Nothing is lost."""
    lines = broken_label("linear-program:caution=-0.5,optimism=1")
    assert lines == ["linear-program:", "caution=-0.5,", "optimism=1"]
    assert "".join(broken_label("x" * 50)) == "x" * 50
    assert broken_label("priced-lp:violation_weight=10") == ["priced-lp:", "violation_weight=", "10"]  # not 1 and 0
