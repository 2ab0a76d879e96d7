"""The figure of `docs/performance.md`: time of a round against the number of pairs, from recorded results."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from arcbandit.report.charts import Chart, Line
from arcbandit.report.figures import chart_file
from arcbandit.report.files import write_whole
from benchmarks.measure import Spread

FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "benchmarks.svg"
OWN, OWN_FROM_PYTHON, OWN_CAUTIOUS = "OLP", "OLP, from Python", "OPLP"
# The series by their names in the results, and how they are called here.
SERIES = {
    "scipy linprog": "scipy linprog in a NumPy loop",
    "HiGHS warm": "HiGHS warm in a NumPy loop",
    "MABWiser UCB1": "MABWiser UCB1 without\u00a0floors",
    "Vowpal Wabbit": "Vowpal Wabbit without\u00a0floors",
    "river UCB": "river UCB without\u00a0floors",
    OWN_FROM_PYTHON: OWN_FROM_PYTHON,
    OWN_CAUTIOUS: OWN_CAUTIOUS,
    OWN: OWN,
    "bare UCB": "bare UCB without\u00a0floors",
}
PLACES = {"bare UCB": 6, "MABWiser UCB1": 13}  # in the order of colours: two black ones far from each other
TIMES = (
    (1e-7, "100 ns"),
    (1e-6, "1 µs"),
    (1e-5, "10 µs"),
    (1e-4, "100 µs"),
    (1e-3, "1 ms"),
    (1e-2, "10 ms"),
    (1e-1, "100 ms"),
)


def samples(results: dict[str, Any]) -> Iterator[tuple[str, int, list[float]]]:
    """(series, pairs, seconds of a round) of every recorded workload that measures settled rounds of a shape."""
    for workload in results["workloads"]:
        subject, *rest = workload["name"].split("-")
        if subject not in ("rounds", "steady", "online") or "pairs" not in workload["details"] or "groups" in rest:
            continue
        pairs = int(workload["details"]["pairs"])
        own = OWN_FROM_PYTHON if subject == "online" else OWN_CAUTIOUS if rest[0] == "oplp" else OWN
        if subject == "online" or (subject == "steady" and rest[0] in ("olp", "oplp")):
            yield own, pairs, workload["seconds"]["samples"]
        other = workload["alternative"]
        # The rows of OPLP measure the same alternatives once more.
        if other is not None and own != OWN_CAUTIOUS and other["name"] in SERIES:
            yield other["name"], pairs, other["seconds"]["samples"]


def chart(results: dict[str, Any]) -> Chart:
    """Medians, shaded from the lower to the upper quartile."""
    series: dict[str, dict[int, list[float]]] = {name: {} for name in SERIES}
    for name, pairs, seconds in samples(results):
        series[name].setdefault(pairs, []).extend(seconds)
    lines = []
    for name, found in series.items():
        if found:
            spreads = [Spread.of(found[pairs]) for pairs in sorted(found)]
            lines.append(
                Line(
                    SERIES[name],
                    sorted(found),
                    [spread.median for spread in spreads],
                    [spread.lower_quartile for spread in spreads],
                    [spread.upper_quartile for spread in spreads],
                    place=PLACES.get(name),
                    marks=True,
                )
            )
    return Chart(
        "Time of a round",
        "pairs of an arm and a context",
        "median, shaded between the quartiles",
        tuple(lines),
        x_log=True,
        y_log=True,
        y_ticks=TIMES,
        size=(6.0, 4.2),
    )


def draw(results: dict[str, Any]) -> Path:
    """Write the figure; return where."""
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    write_whole(FIGURE, chart_file(chart(results), ".svg"))
    return FIGURE
