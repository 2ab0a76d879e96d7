"""Advice as a terminal shows it."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from arcbandit.cli.log_options import skipped_rows
from arcbandit.cli.wide_tables import print_in_parts
from arcbandit.cli.wording import decimals_of, figures, label, percent
from arcbandit.report.advice_words import in_one_sentence, remarks, told_rounds

if TYPE_CHECKING:
    from arcbandit.logs.advice import Advice
    from arcbandit.logs.answers import Interval
    from arcbandit.logs.learning_time import LearningTime

MOST_ROWS = 40
NOTHING = "–"


def show_advice(
    console: Console, log: str, advice: "Advice", times: "list[LearningTime] | None", tolerance: float
) -> None:
    """Print the answer in a sentence, then tables."""
    statistics = advice.statistics
    shape = f"{statistics.rows:,} rows, {len(statistics.arms):,} arms, {len(statistics.contexts):,} contexts"
    console.print(Text(label(log, 40), style="bold").append(f"  {shape}", style="not bold dim"))
    console.print()
    console.print(Text(in_one_sentence(advice)))
    for remark in (*remarks(advice), *skipped_rows(statistics)):
        console.print(Text(remark))
    _show_mix(console, advice)
    _show_floors(console, advice)
    if advice.promises:
        _show_values(console, advice)
    _show_plan(console, advice)
    if times is not None:
        _show_learning(console, times, tolerance)


def _show_mix(console: Console, advice: "Advice") -> None:
    log = advice.statistics
    _heading(console, "Contexts", "share of rounds")
    table = _table("context", "of rounds", "interval")
    shown = range(min(len(log.contexts), MOST_ROWS))
    for place in shown:
        shares = [log.context_probabilities[place], advice.context_mix.low[place], advice.context_mix.high[place]]
        middle, low, high = (percent(float(share), decimals=1) for share in shares)
        table.add_row(label(log.contexts[place]), middle, f"{low} to {high}")
    console.print(table)
    _more(console, len(log.contexts))


def _show_floors(console: Console, advice: "Advice") -> None:
    floors, shown = advice.floors, range(min(len(advice.floors), MOST_ROWS))
    fixed = ", the others fixed" if advice.promises else ""
    _heading(console, "Arms" if not floors.groups else "Arms and groups", f"revenue per round{fixed}")
    columns = {
        "floor": figures(float(floors.amounts[row]) for row in shown),
        "can be promised": _numbers(rounded_down([advice.largest_floors[row].low for row in shown])),
        "earns now": _ranges([advice.earned[row] for row in shown]),
        "could earn at most": _ranges([advice.most[row] for row in shown]),
        "price of its floor": _prices([advice.prices[row] for row in shown]),
    }
    if not advice.promises:
        del columns["floor"], columns["price of its floor"]

    def table_of(headings: Sequence[str]) -> Table:
        table = _table("arm", *headings)
        for row in shown:
            table.add_row(label(floors.names[row]), *(columns[heading][row] for heading in headings))
        return table

    print_in_parts(console, table_of, list(columns))
    _more(console, len(floors))


def _show_values(console: Console, advice: "Advice") -> None:
    _heading(console, "Revenue", "of the best plan, per round")
    names = ["by cautious means", "by the log's means", "by hopeful means"]
    table = _table("", "with the floors", "without floors")
    with_floors, without = _numbers(advice.value), _numbers(advice.value_without_floors)
    for name, kept, free in zip(names, with_floors, without, strict=True):
        table.add_row(name, "cannot be kept" if kept == NOTHING else kept, free)
    console.print(table)


def _show_plan(console: Console, advice: "Advice") -> None:
    found = advice.plan
    if found is None:
        return
    log = advice.statistics
    view = next(name for name, plan in advice.plans.items() if plan is found)
    remark = {
        "pessimistic": "keeps the floors with this confidence",
        "plain": "keeps the floors by the log's means alone",
    }[view]
    if not advice.promises:
        remark = "the best by cautious means"
    _heading(console, f"Plan, {view}", f"{remark}; shares of contexts")
    shown = range(min(len(log.arms), MOST_ROWS))
    decimals = decimals_of(found.allocation[np.isfinite(found.allocation)].tolist())
    revenue = _ranges([found.revenue[row] for row in shown])
    # By number: short names of contexts may be the same.
    headings = {str(place): label(name) for place, name in enumerate(log.contexts[:MOST_ROWS])} | {"": "revenue"}

    def cell(row: int, key: str) -> str:
        if not key:
            return revenue[row]
        share = float(found.allocation[row, int(key)])
        return NOTHING if math.isnan(share) else percent(share, decimals=decimals) if share > 1e-9 else "·"

    def table_of(chosen: Sequence[str]) -> Table:
        table = _table("arm", *(headings[key] for key in chosen))
        for row in shown:
            table.add_row(label(log.arms[row]), *(cell(row, key) for key in chosen))
        return table

    print_in_parts(console, table_of, list(headings))
    _more(console, max(len(log.arms), len(log.contexts)))


def _show_learning(console: Console, times: "list[LearningTime]", tolerance: float) -> None:
    share = percent(min(tolerance, 1.0), decimals=decimals_of([tolerance]))
    _heading(console, "Learning", f"rounds until floors lack at most {share} on average, in a simulation")
    table = _table("policy", "half of runs", "nine of ten runs")
    for one in times:
        table.add_row(label(one.policy, 40), told_rounds(one.half), told_rounds(one.most))
    console.print(table)


def _ranges(intervals: "Sequence[Interval]") -> list[str]:
    texts = _numbers([number for one in intervals for number in (one.plain, one.low, one.high)])
    cells = []
    for place, one in enumerate(intervals):
        plain, low, high = texts[3 * place : 3 * place + 3]
        cells.append(plain if one.low == one.plain == one.high else f"{plain} ({low} to {high})")
    return cells


def _prices(intervals: "Sequence[Interval]") -> list[str]:
    cells = _ranges([one._replace(plain=math.nan) if one.plain == math.inf else one for one in intervals])
    return ["cannot be kept" if one.low == math.inf else cell for one, cell in zip(intervals, cells, strict=True)]


def rounded_down(values: Sequence[float]) -> list[float]:
    """Five digits of the largest number, and as many decimals of others, none of which is larger than it was."""
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    if not 1e-4 <= largest < 1e12:
        return list(values)
    unit = 10.0 ** max(4 - math.floor(math.log10(largest)), 0)
    return [math.floor(value * unit) / unit if math.isfinite(value) else value for value in values]


def _numbers(values: Sequence[float]) -> list[str]:
    """Numbers with the same decimals; what is infinite or not known is said in a word."""
    texts = iter(figures(value for value in values if math.isfinite(value)))
    return [next(texts) if math.isfinite(value) else "no limit" if value == math.inf else NOTHING for value in values]


def _heading(console: Console, title: str, remark: str) -> None:
    console.print()
    console.print(Text(title, style="bold").append(f"  {remark}", style="not bold dim"))


def _more(console: Console, count: int) -> None:
    if count > MOST_ROWS:
        console.print(Text(f"and {count - MOST_ROWS:,} more; --json prints all", style="dim"))


def _table(*columns: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    for place, name in enumerate(columns):
        table.add_column(name, justify="right" if place else "left", no_wrap=True)
    return table
