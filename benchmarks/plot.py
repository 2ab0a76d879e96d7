"""The figure of `docs/performance.md`: time of a round against the number of pairs, from recorded results."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.measure import Spread

FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "benchmarks.svg"
# Colour-blind safe (Okabe and Ito); ours are drawn thick.
STYLES: dict[str, dict[str, Any]] = {
    "scipy linprog": {"color": "#D55E00", "marker": "s"},
    "HiGHS warm": {"color": "#E69F00", "marker": "D"},
    "MABWiser UCB1": {"color": "#999999", "marker": "v", "linestyle": ":"},
    "Vowpal Wabbit": {"color": "#999999", "marker": "^", "linestyle": ":"},
    "river UCB": {"color": "#999999", "marker": "o", "linestyle": ":"},
    "OLP from Python": {"color": "#0072B2", "marker": "o", "linestyle": "--"},
    "OPLP": {"color": "#009E73", "marker": "o", "linewidth": 2.2},
    "OLP": {"color": "#0072B2", "marker": "o", "linewidth": 2.2},
    "bare UCB": {"color": "#000000", "marker": "x"},
}
NOTES = {
    "scipy linprog": " in a NumPy loop",
    "HiGHS warm": " in a NumPy loop",
    "MABWiser UCB1": ", no floors, from Python",
    "Vowpal Wabbit": ", no floors, from Python",
    "river UCB": ", no floors, from Python",
    "OPLP": ", compiled, every metric",
    "OLP": ", compiled, every metric",
    "bare UCB": ", no floors, compiled",
}


def samples(results: dict[str, Any]) -> Iterator[tuple[str, int, list[float]]]:
    """(series, pairs, seconds of a round) of every recorded workload that measures settled rounds of a shape."""
    for workload in results["workloads"]:
        subject, *rest = workload["name"].split("-")
        if subject not in ("rounds", "steady", "online") or "pairs" not in workload["details"] or "groups" in rest:
            continue
        pairs = int(workload["details"]["pairs"])
        own = "OLP from Python" if subject == "online" else "OPLP" if rest[0] == "oplp" else "OLP"
        if subject == "online" or (subject == "steady" and rest[0] in ("olp", "oplp")):
            yield own, pairs, workload["seconds"]["samples"]
        other = workload["alternative"]
        # The rows of OPLP measure the same alternatives once more.
        if other is not None and own != "OPLP" and other["name"] in STYLES:
            yield other["name"], pairs, other["seconds"]["samples"]


def draw(results: dict[str, Any]) -> Path:
    """Write the figure; return where."""
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    series: dict[str, dict[int, list[float]]] = {name: {} for name in STYLES}
    for name, pairs, seconds in samples(results):
        series[name].setdefault(pairs, []).extend(seconds)
    with mpl.rc_context({"svg.hashsalt": "arcbandit", "svg.fonttype": "none", "font.size": 10}):
        figure, axes = plt.subplots(figsize=(9.5, 5.2), layout="constrained")
        for name, found in series.items():
            if not found:
                continue
            line = [Spread.of(found[pairs]) for pairs in sorted(found)]
            below = [spread.median - spread.lower_quartile for spread in line]
            above = [spread.upper_quartile - spread.median for spread in line]
            axes.errorbar(
                sorted(found),
                [spread.median for spread in line],
                yerr=[below, above],
                label=name + NOTES.get(name, ""),
                capsize=2,
                markersize=5,
                **STYLES[name],
            )
        axes.set(xscale="log", yscale="log", xlabel="pairs of an arm and a context", ylabel="time of a round")
        ticks = {
            1e-7: "100 ns",
            1e-6: "1 µs",
            1e-5: "10 µs",
            1e-4: "100 µs",
            1e-3: "1 ms",
            1e-2: "10 ms",
            1e-1: "100 ms",
        }
        axes.set_yticks(list(ticks), list(ticks.values()))
        axes.grid(visible=True, which="major", color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        figure.legend(loc="outside right upper", frameon=False)
        FIGURE.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(FIGURE, metadata={"Date": None})
        plt.close(figure)
    return FIGURE
