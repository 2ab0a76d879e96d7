"""The figure of docs/performance.md."""

import pytest

from arcbandit.report.charts import alt_text
from arcbandit.report.figures import draw_chart
from benchmarks.plot import SERIES, chart


def workload(name, pairs, seconds, alternative=None):
    other = None if alternative is None else {"name": alternative, "seconds": {"samples": [10 * s for s in seconds]}}
    return {"name": name, "details": {"pairs": pairs}, "seconds": {"samples": seconds}, "alternative": other}


RESULTS = {
    "workloads": [
        workload("steady-olp-3x3", 9, [1e-6, 2e-6, 3e-6], "scipy linprog"),
        workload("steady-olp-100x100", 10_000, [4e-6, 5e-6, 6e-6], "scipy linprog"),
        workload("steady-oplp-3x3", 9, [2e-6] * 3, "scipy linprog"),
        workload("online-olp-3x3", 9, [3e-6] * 3, "river UCB"),
        workload("plan-3x3", 9, [1.0]),
    ]
}


def test_has_the_median_of_each_series_between_its_quartiles():
    lines = {line.label: line for line in chart(RESULTS).lines}
    assert set(lines) == {SERIES[name] for name in ("scipy linprog", "river UCB", "OLP, from Python", "OPLP", "OLP")}
    assert (list(lines["OLP"].x), list(lines["OLP"].y)) == ([9, 10_000], [2e-6, 5e-6])
    assert list(lines["OLP"].low) == pytest.approx([1.5e-6, 4.5e-6])
    assert list(lines["OLP"].high) == pytest.approx([2.5e-6, 5.5e-6])
    # Once, though the rows of OPLP measured it again.
    assert list(lines[SERIES["scipy linprog"]].y) == pytest.approx([2e-5, 5e-5])


@pytest.mark.slow
def test_is_drawn_with_times_on_its_axis():
    (axes,) = draw_chart(chart(RESULTS)).get_axes()
    assert "10 µs" in [label.get_text() for label in axes.get_yticklabels()]
    assert "OLP 5e-06" in alt_text(chart(RESULTS))
