"""Charts of the metrics of recorded results over rounds, and the figure of a whole simulation."""

import os
from collections.abc import Sequence

import numpy as np

from arcbandit.estimates import student_quantile, written
from arcbandit.report.charts import Chart, Line, Sheet
from arcbandit.report.figures import PLOT_SUFFIXES, sheet_files
from arcbandit.report.files import check_target, write_whole
from arcbandit.report.tables import LIMIT
from arcbandit.simulation.metrics import METRICS, Scale
from arcbandit.simulation.results import Results
from arcbandit.simulation.summary import Summary

BAND = (0.05, 0.95)  # the quantiles of epochs between which a band lies
GUIDE_DISTANCE = 1.6  # the factor by which a guide keeps clear of the curves
LATE = 100  # a guide shows a slope over the last two decades
# The columns of a simulation's figure, linear above and log-log below.
DRAWN = ("regret", "violation", "performance")


def metric_text(metric: str, prefix: str = "") -> tuple[str, str, str]:
    """Title and labels of a metric over rounds."""
    drawing = METRICS[metric].drawing
    title = drawing.title
    return (prefix + title[0].lower() + title[1:] if prefix else title), "round t", drawing.axis


def metric_line(results: Results, metric: str, policy: str, label: str | None = None, place: int | None = None) -> Line:
    """The mean of a metric over epochs, in the band between the quantiles of BAND.

    Unlike mean ± half width, a band of quantiles cannot leave the range of what was recorded: that of a running sum
    does not dip, nor below zero.
    """
    line = Line(label or policy, results.rounds, results.mean(metric, policy), place=place)
    if results.epochs < 2:
        return line
    low, high = (results.quantile(metric, policy, share) for share in BAND)
    return line._replace(low=low, high=high, shade=f"from the 5 % to the 95 % quantile of {results.epochs:,} epochs")


def interval_line(results: Results, metric: str, policy: str) -> Line:
    """The mean of a metric over epochs with its 95 % interval."""
    mean = results.mean(metric, policy)
    line = Line(policy, results.rounds, mean)
    if results.epochs < 2:
        return line
    half = student_quantile(results.epochs - 1) * results.standard_error(metric, policy)
    return line._replace(low=mean - half, high=mean + half)


def metric_chart(results: Results, metric: str, policies: Sequence[str], *, logarithmic: bool = False) -> Chart:
    """A metric of some policies over rounds, with the lines of `guides`."""
    lines = tuple(metric_line(results, metric, policy) for policy in policies)
    shown = guides(results, metric, lines, logarithmic=logarithmic)
    return Chart(*metric_text(metric), lines, shown, x_log=logarithmic, y_log=logarithmic)


def guides(results: Results, metric: str, lines: Sequence[Line], *, logarithmic: bool) -> tuple[Line, ...]:
    """What the best plan earns, for the performance; the limit of R + V; slopes to compare growth with, if log-log."""
    if metric == "performance":
        first, spaced = (1.0, np.geomspace) if logarithmic else (0.0, np.linspace)
        rounds = spaced(first, results.horizon, 100)
        return (Line("best plan, f* T  ", rounds, float(results.settings["optimal_value"]) * rounds),)
    slopes = logarithmic and METRICS[metric].drawing.scale == Scale.LOG_LOG
    return (*limit_guides(results, metric), *(growth_guides(results, lines) if slopes else ()))


def limit_guides(results: Results, metric: str) -> tuple[Line, ...]:
    """The least that learning leaves of R + V, like sqrt(t) over rounds; none of another metric, or if not known."""
    limit = results.learning_limit() if metric == "regret_plus_violation" else None
    if limit is None or limit.total == 0.0:
        return ()
    least = limit.total * np.sqrt(results.rounds / limit.horizon)
    return (Line(LIMIT, results.rounds, least, below=True, dashed=True),)


def growth_guides(results: Results, lines: Sequence[Line]) -> tuple[Line, ...]:
    """Lines like sqrt(T), above the others, and like log(T)^2, below them; none if the others are not positive."""
    late = results.rounds >= max(results.horizon / LATE, 2.0)
    rounds = results.rounds[late].astype(np.float64)
    curves = [np.asarray(line.y, dtype=np.float64)[late] for line in lines]
    curves = [curve for curve in curves if len(curve) > 1 and (curve > 0).all()]
    if not curves:
        return ()
    found = []
    for name, shape, above in (("√T", np.sqrt(rounds), True), ("log² T", np.log(rounds) ** 2, False)):
        ratios = [curve / shape for curve in curves]
        level = max(float(ratio.max()) for ratio in ratios) * GUIDE_DISTANCE
        if not above:
            level = min(float(ratio.min()) for ratio in ratios) / GUIDE_DISTANCE
        found.append(Line(name, rounds, level * shape, below=not above))
    return tuple(found)


def simulation_sheet(results: Results, title: str = "Simulation") -> Sheet:
    """Every chart of a simulation: linear scales above, logarithmic ones below."""
    charts = tuple(simulation_chart(results, metric, logarithmic) for logarithmic in (False, True) for metric in DRAWN)
    ends = " ".join(_ends(results, metric) for metric in DRAWN)
    *first, last = DRAWN
    about = f"Line plot of {', '.join(first)} and {last} over rounds 1 to {results.horizon:,}, linear and log-log"
    return Sheet(title, charts, _how_many(results), f"{about}; {_how_many(results)}. {ends}")


def simulation_chart(results: Results, metric: str, logarithmic: bool) -> Chart:
    """A metric of every policy; for a summary of many epochs, with the band between the quantiles of BAND."""
    lines = []
    for policy in results.policies:
        line = interval_line(results, metric, policy)
        if isinstance(results, Summary) and results.epochs > 1:
            low, high = (results.quantile(metric, policy, share) for share in BAND)
            line = line._replace(band_low=low, band_high=high)
        lines.append(line)
    title, x_label, y_label = metric_text(metric)
    explained = METRICS[metric].drawing.explained
    return Chart(
        f"{title}: {explained}" if explained else title,
        x_label,
        y_label,
        tuple(lines),
        guides(results, metric, lines, logarithmic=logarithmic),
        x_log=logarithmic,
        y_log=logarithmic,
        in_words=f"Over rounds 1 to {results.horizon:,}; {_how_many(results)}. {_ends(results, metric)}",
    )


def save_plot(results: Results, path: str | os.PathLike[str], title: str = "Simulation") -> None:
    """Write the figure of a simulation to a .png, .pdf or .svg file."""
    target = check_target(path, PLOT_SUFFIXES)
    suffix = target.suffix.lower()
    write_whole(target, sheet_files(simulation_sheet(results, title), (suffix,))[suffix])


def _how_many(results: Results) -> str:
    if results.epochs == 1:
        return "one epoch, so without intervals"
    band = "; lighter, from the 5 % to the 95 % quantile of epochs" if isinstance(results, Summary) else ""
    return f"means of {results.epochs:,} epochs, shaded with their 95 % intervals{band}"


def _ends(results: Results, metric: str) -> str:
    ends = "; ".join(f"{policy} {written(results.estimate(metric, policy))}" for policy in results.policies)
    return f"{metric.capitalize()} at the end: {ends}."
