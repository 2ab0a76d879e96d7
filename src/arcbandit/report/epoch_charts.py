"""Charts of the distribution of a summary's epochs: at the end, and on the way there."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcbandit.report.charts import Chart, Line, Range
from arcbandit.report.metric_charts import BAND, growth_guides, metric_text
from arcbandit.report.tables import written_quantile
from arcbandit.simulation.metrics import METRICS
from arcbandit.simulation.summary import Summary

Floats = NDArray[np.float64]

# The quantiles that are named: the ends of the band and its middle.
NAMED_SHARES = {"5 %": BAND[0], "50 %": 0.5, "95 %": BAND[1]}
# Share of epochs left out at either end; an axis that reached the last of them would leave little room for the others.
UNSHOWN = 0.0005


class Density(NamedTuple):
    """The density of the logarithm (to base 10) of positive values, in steps; an area is a share of epochs."""

    edges: Floats  # one more than heights
    heights: Floats


def density(summary: Summary, metric: str, policy: str) -> Density | None:
    """The density of a metric at the last checkpoint; None if it is positive in no epoch."""
    edges, counts = summary.histogram(metric, policy)
    below = np.cumsum(counts)
    few = UNSHOWN * summary.epochs
    shown = np.flatnonzero((edges[:-1] > 0) & (below > few) & (below - counts < summary.epochs - few))
    if shown.size == 0:
        return None
    first, last = int(shown[0]), int(shown[-1])
    # Rice's rule: as many steps as can be distinguished from noise.
    steps = math.ceil(2 * summary.epochs ** (1 / 3))
    starts = np.arange(first, last + 1, math.ceil((last + 1 - first) / steps))
    ends = np.append(edges[starts], edges[last + 1])
    shares = np.add.reduceat(counts[: last + 1], starts) / summary.epochs
    return Density(ends, shares / np.diff(np.log10(ends)))


def density_chart(summary: Summary, metric: str, policies: Sequence[str]) -> Chart | None:
    """Where the epochs end, with the quantiles that NAMED_SHARES names; None if all end at 0."""
    lines, ranges = [], []
    for policy in policies:
        found = density(summary, metric, policy)
        if found is not None:
            heights = np.concatenate([[0.0], np.repeat(found.heights, 2), [0.0]])
            lines.append(Line(policy, np.repeat(found.edges, 2), heights, np.zeros_like(heights), heights))
            # A quantile of 0 can only be shown at the left end of the axis.
            low, middle, high = (
                max(value, float(found.edges[0])) for value in quantiles(summary, metric, policy).values()
            )
            ranges.append(Range(low, middle, high))
    if not lines:
        return None
    title, _, unit = metric_text(metric)
    in_words = "; ".join(f"{policy} {_in_words(quantiles(summary, metric, policy))}" for policy in policies)
    return Chart(
        f"{title} after {summary.horizon:,} rounds",
        unit,
        f"density of log₁₀ {METRICS[metric].heading}",
        tuple(lines),
        x_log=True,
        ranges=tuple(ranges),
        range_names=tuple(NAMED_SHARES),
        in_words=f"Over {summary.epochs:,} epochs: {in_words}.",
    )


def share_at_zero(summary: Summary, metric: str, policy: str) -> float:
    """The share of epochs at zero, which a logarithmic axis cannot show."""
    edges, counts = summary.histogram(metric, policy)
    return float(counts[edges[:-1] < 0].sum()) / summary.epochs


def quantiles(summary: Summary, metric: str, policy: str) -> dict[str, float]:
    """The quantiles at the last checkpoint, by the names of NAMED_SHARES."""
    return {name: float(summary.quantile(metric, policy, share)[-1]) for name, share in NAMED_SHARES.items()}


def _in_words(found: dict[str, float]) -> str:
    return ", ".join(f"{name} up to {written_quantile(value)}" for name, value in found.items())


def band_chart(summary: Summary, metric: str, policies: Sequence[str]) -> Chart:
    """The mean over rounds, log-log, in the band between the quantiles that BAND names."""
    lines, ends = [], []
    for policy in policies:
        mean = summary.mean(metric, policy)
        low, high = (summary.quantile(metric, policy, share) for share in BAND)
        shade = f"from the 5 % to the 95 % quantile of {summary.epochs:,} epochs"
        lines.append(Line(policy, summary.rounds, mean, low, high, shade=shade))
        last, least, most = (written_quantile(float(values[-1])) for values in (mean, low, high))
        ends.append(f"{policy} {last}, shaded from {least} to {most}")
    title, x_label, unit = metric_text(metric)
    return Chart(
        f"{title}, 5 % to 95 % of epochs",
        x_label,
        unit,
        tuple(lines),
        growth_guides(summary, lines),
        x_log=True,
        y_log=True,
        in_words=f"Means over {summary.epochs:,} epochs at the right end: {'; '.join(ends)}.",
    )
