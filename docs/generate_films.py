"""Write the table and the pictures of the page of the film platform: python -m docs.generate_films.

The simulations of all policies take some minutes, most of them to compile what was not played before.
"""

from pathlib import Path

import numpy as np

from arcbandit import advise, plan, read_log
from arcbandit.examples.films import COLUMNS, EPOCHS, FLOOR, ROUNDS, TOLERANCE, Platform
from arcbandit.logs.learning_time import times_in
from arcbandit.logs.statistics import LogStatistics
from arcbandit.policies.registry import own_policies
from arcbandit.report.advice_words import told_rounds
from arcbandit.report.charts import Chart, Line
from arcbandit.report.figures import chart_file
from arcbandit.report.tables import written
from arcbandit.simulation.trace import Trace

PAGE = Path(__file__).with_name("films.md")
FIGURES = Path(__file__).with_name("figures")
BEGIN, END = "<!-- the table is written by docs/generate_films.py -->", "<!-- its end -->"
SAME = "linear-program"  # with its default dials it is BLP
DRAWN = ("olp", "oplp", "blp", "priced-lp", "thompson-lp", "greedy", "optimistic3", "drift-plus-penalty")


def policies() -> list[str]:
    """The names of all that are played."""
    return [name for name in own_policies() if name != SAME]


def row_of(trace: Trace, policy: str) -> str:
    """A row of the table."""
    metrics = trace.summary()[policy]
    floors = float(Platform().instance(FLOOR).revenue_floors.sum())
    [time] = [one for one in times_in(trace, floors, TOLERANCE) if one.policy == policy]
    cells = [written(metrics[metric]) for metric in ("regret", "violation", "regret_plus_violation")]
    return f"| {policy} | {' | '.join(cells)} | {told_rounds(time.half)} | {told_rounds(time.most)} |"


def table_of(trace: Trace) -> str:
    """A row for each policy, the one that loses least first."""
    order = sorted(trace.policies, key=lambda policy: trace.mean("regret_plus_violation", policy)[-1])
    header = "| policy | R | V | R + V | half of the runs | nine of ten runs |\n|---|---:|---:|---:|---:|---:|"
    return "\n".join([header, *(row_of(trace, policy) for policy in order)])


def promise_chart(statistics: LogStatistics, platform: Platform) -> Chart:
    """What the same floor for each provider costs: as the log has it, and in truth."""
    some = advise(statistics, dict.fromkeys(statistics.arms, FLOOR)).largest_scale
    sure, last = some.low * FLOOR, some.plain * FLOOR
    floors = np.append(np.linspace(0.0, sure, 17), np.linspace(sure, last, 5)[1:]) * (1.0 - 1e-6)
    advices = [advise(statistics, dict.fromkeys(statistics.arms, float(floor))) for floor in floors]
    low, plain, high = np.array([advice.total_price for advice in advices]).T
    free = plan(platform.instance(0.0)).value
    truth = [free - plan(platform.instance(floor)).value for floor in floors]
    return Chart(
        "What promises cost",
        "floor of each provider, liking per visit",
        "lost liking per visit",
        (
            Line(
                "by the log",
                floors,
                plain,
                np.where(np.isfinite(high), low, np.nan),
                np.where(np.isfinite(high), high, np.nan),
                place=0,
                shade="95 % interval",
            ),
            Line("in truth", floors, truth, place=1),
        ),
        spans=((0.0, sure, ""), (sure, last, "")),
        zero=True,
        size=(4.6, 2.7),
    )


def learning_chart(trace: Trace) -> Chart:
    """What the promises lacked so far, on average over rounds, in percent of them."""
    floors = float(Platform().instance(FLOOR).revenue_floors.sum())
    rounds = trace.rounds
    shown = np.unique(np.geomspace(1, len(rounds), 120).astype(int)) - 1
    shown = shown[rounds[shown] >= 100]
    lines = tuple(
        Line(name, rounds[shown], 100 * trace.mean("violation", name)[shown] / rounds[shown] / floors)
        for name in DRAWN
        if name in trace.policies
    )
    few = Line("5 %", [100, ROUNDS], [100 * TOLERANCE] * 2)
    return Chart(
        "What the promises lacked so far",
        "visits",
        "percent of all promises",
        lines,
        (few,),
        x_log=True,
        y_log=True,
        size=(4.6, 3.2),
    )


def films_page(trace: Trace) -> str:
    """The page with the table that the simulation has."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{table_of(trace)}\n{END}{rest.partition(END)[2]}"


def main() -> None:
    """Simulate, and write the page and its pictures."""
    platform = Platform()
    trace = platform.play(policies())
    PAGE.write_text(films_page(trace), encoding="utf-8")
    statistics = read_log(platform.log(), **COLUMNS)
    for name, chart in (("promises", promise_chart(statistics, platform)), ("learning", learning_chart(trace))):
        (FIGURES / f"films-{name}.svg").write_bytes(chart_file(chart, ".svg"))
    print(table_of(trace))
    print(f"{EPOCHS} epochs of {ROUNDS:,} rounds; wrote {PAGE.name} and two pictures.")


if __name__ == "__main__":
    main()
