import dataclasses

import numpy as np
import pytest

from arcbandit import paper_instance, simulate
from arcbandit.report.charts import alt_text
from arcbandit.report.epoch_charts import band_chart, density, density_chart, quantiles, share_at_zero
from arcbandit.report.figures import draw_chart
from arcbandit.report.tables import written_quantile
from arcbandit.simulation.fold import EpochFolder
from arcbandit.simulation.metrics import Total

POLICIES = ("olp", "oplp")


@pytest.fixture(scope="module")
def played():
    """Twenty short epochs, kept, and what they come to."""
    case = {"instance": paper_instance("nu"), "policies": POLICIES, "horizon": 200, "epochs": 20}
    return simulate(**case, keep="epochs"), simulate(**case, keep="summary")


def with_violations(trace, summary, ends):
    """The summary of epochs whose violations end so."""
    record = trace.records["olp"].copy()
    record[:, Total.VIOLATION, -1] = ends
    folder = EpochFolder(len(trace.rounds), len(trace.floors))
    folder.take_in(record, trace.floor_records["olp"])
    return dataclasses.replace(summary, folded=summary.folded | {"olp": folder.finish()})


@pytest.mark.parametrize("metric", ["regret", "violation"])
@pytest.mark.parametrize("policy", POLICIES)
def test_the_area_of_a_density_is_the_share_of_epochs(played, metric, policy):
    trace, summary = played
    found = density(summary, metric, policy)
    assert (found.heights * np.diff(np.log10(found.edges))).sum() == pytest.approx(1.0)
    ends = trace.metric(metric)[policy][:, -1]
    assert found.edges[0] <= ends.min() <= ends.max() <= found.edges[-1]


def test_epochs_that_end_at_zero_are_counted_but_not_drawn(played):
    """A logarithmic axis has no zero."""
    some = with_violations(*played, np.repeat([0.0, 3.0], [5, 15]))
    found = density(some, "violation", "olp")
    assert share_at_zero(some, "violation", "olp") == 0.25
    assert (found.heights * np.diff(np.log10(found.edges))).sum() == pytest.approx(0.75)
    draw_chart(density_chart(some, "violation", ("olp",)))
    none = with_violations(*played, np.zeros(20))
    assert density(none, "violation", "olp") is None
    assert density_chart(none, "violation", ("olp",)) is None
    assert [line.label for line in density_chart(none, "violation", POLICIES).lines] == ["oplp"]


def test_a_density_chart_names_the_quantiles(played):
    """In rows under the lines, and in words."""
    _, summary = played
    chart = density_chart(summary, "regret", POLICIES)
    for policy, shown in zip(POLICIES, chart.ranges, strict=True):
        assert shown == tuple(quantiles(summary, "regret", policy).values())
    words = alt_text(chart)
    assert words.startswith("Regret R after 200 rounds. Line plot of density of log₁₀ R")
    for policy in POLICIES:
        low, middle, high = map(written_quantile, quantiles(summary, "regret", policy).values())
        assert f"{policy} 5 % up to {low}, 50 % up to {middle}, 95 % up to {high}" in words
    texts = [text.get_text() for text in draw_chart(chart).axes[0].texts]
    assert texts.count("5 %") == texts.count("50 %") == texts.count("95 %") == 1
    assert set(POLICIES) < set(texts)


def test_a_band_chart_shows_means_between_quantiles(played):
    """Those of the epochs themselves, to within what a summary promises."""
    trace, summary = played
    chart = band_chart(summary, "violation", POLICIES)
    assert chart.x_log
    assert chart.y_log
    for policy, line in zip(POLICIES, chart.lines, strict=True):
        assert np.allclose(line.y, trace.mean("violation", policy))
        assert np.allclose(line.low, trace.quantile("violation", policy, 0.05), rtol=0.005, atol=1e-9)
        assert np.allclose(line.high, trace.quantile("violation", policy, 0.95), rtol=0.005, atol=1e-9)
    assert "Means over 20 epochs at the right end: olp " in alt_text(chart)
    draw_chart(chart)


@pytest.mark.parametrize(
    ("value", "text"),
    [(1757.8, "1,760"), (88.04, "88.0"), (0.123456, "0.123"), (0.0, "0"), (123_456.0, "123,000"), (np.nan, "–")],
)
def test_a_quantile_has_three_digits(value, text):
    assert written_quantile(value) == text
