"""Advice as a page that a manager reads, in a file that needs nothing else."""

import math
import os
from collections.abc import Sequence
from html import escape

import numpy as np

from arcbandit.logs.advice import Advice
from arcbandit.logs.answers import Interval
from arcbandit.logs.learning_time import LearningTime
from arcbandit.report.advice_words import in_one_sentence, promise, remarks, share, told_rounds
from arcbandit.report.charts import Chart, Line
from arcbandit.report.files import check_target, write_whole
from arcbandit.report.look import check_matplotlib
from arcbandit.report.page import PAGE_SUFFIX, document, panel, table_of, table_row
from arcbandit.showing import html_heat_map, number, short

MOST_ROWS = 40  # of a chart of arms
MOST_ARMS_OF_A_MAP = 20  # with more, those that are never played are left out
LONGEST_NAME = 28
LEAST_SPAN = 0.12  # of the width of a chart, for the name of a stretch to fit
MORE_STYLE = """
h1 { max-width: 46rem; }
.picture { max-width: 44rem; }
.heat { overflow-x: auto; }
""".rstrip()


def check_page_target(path: str | os.PathLike[str]) -> None:
    """Raise early whatever would keep the page from being written there."""
    check_target(path, (PAGE_SUFFIX,))
    check_matplotlib()


def save_advice_page(
    advice: Advice,
    path: str | os.PathLike[str],
    times: Sequence[LearningTime] | None = None,
    *,
    tolerance: float = 0.05,
) -> None:
    """Write the page to a .html file."""
    target = check_target(path, (PAGE_SUFFIX,))
    write_whole(target, advice_page(advice, times, tolerance=tolerance).encode(errors="replace"))


def advice_page(advice: Advice, times: Sequence[LearningTime] | None = None, *, tolerance: float = 0.05) -> str:
    """The page as HTML."""
    log = advice.statistics
    lead = (
        f"From {log.rows:,} rows of a log, with {len(log.arms):,} arms in {len(log.contexts):,} contexts. All amounts "
        f"are revenue per round, and all intervals hold at once with {share(advice.confidence)} confidence."
    )
    sections = [
        f'<header><h1>{escape(in_one_sentence(advice))}</h1><p class="quiet">{lead}</p></header>',
        _promises(advice),
        _plan(advice),
        _revenue(advice),
        _scales(advice),
        _floors(advice),
        _learning(times, tolerance),
        _reading(advice),
    ]
    return document("What can be promised", sections, MORE_STYLE)


def promise_chart(advice: Advice) -> Chart:
    """What each arm earns now, is to be promised, and can be promised."""
    rows = range(min(len(advice.floors), MOST_ROWS))
    promised = [advice.largest_floors[row].low for row in rows]
    lines = [_dots("can be promised", promised, 0), _dots("earns now", [advice.earned[row].plain for row in rows], 1)]
    if advice.promises:
        lines.append(_dots("proposed floor", [_or_none(advice.floors.amounts[row]) for row in rows], 2))
    words = "; ".join(f"{advice.floors.names[row]} {number(promise(one))}" for row, one in enumerate(promised))
    return _by_name(advice, lines, [], f"Largest promise: {words}.")


def revenue_chart(advice: Advice) -> Chart:
    """What each arm earns under the plan, with its interval, and its floor."""
    plan = advice.plan
    assert plan is not None
    revenue = plan.revenue[:MOST_ROWS]
    lines = [_dots("revenue under the plan", [one.plain for one in revenue], 0)]
    if advice.promises:
        lines.append(_dots("floor", [_or_none(floor) for floor in advice.floors.amounts[:MOST_ROWS]], 2))
    words = "; ".join(
        f"{name} {number(one.plain, 4)} ({number(one.low, 4)} to {number(one.high, 4)})"
        for name, one in zip(advice.floors.names, revenue, strict=False)
    )
    return _by_name(advice, lines, revenue, f"Revenue: {words}.")


def scale_chart(advice: Advice) -> Chart:
    """Total revenue over a common scale of all floors."""
    scales, low, plain, high = advice.curve()
    there = np.isfinite(plain)
    best = Line(
        "best plan",
        scales[there],
        plain[there],
        np.where(np.isfinite(low), low, math.nan)[there],
        high[there],
        place=0,
        shade=f"{share(advice.confidence)} interval",
    )
    end, last = advice.largest_scale.low, float(scales[there][-1])
    spans = [(0.0, min(end, last), "can be promised"), (min(end, last), last, "not sure")]
    what = "all floors" if advice.promises else "what everyone earns now"
    return Chart(
        "Total revenue",
        f"{what}, times",
        "revenue per round",
        (best,),
        spans=tuple(span for span in spans if span[1] - span[0] > LEAST_SPAN * last),
        zero=True,
        direct_labels=False,
        size=(5.0, 2.7),
    )


def _by_name(advice: Advice, lines: list[Line], intervals: Sequence[Interval], words: str) -> Chart:
    names = tuple(short(name, LONGEST_NAME) for name in advice.floors.names[:MOST_ROWS])
    guides = tuple(Line("", [one.low, one.high], [row, row]) for row, one in enumerate(intervals))
    return Chart(
        "",
        "revenue per round",
        "",
        tuple(lines),
        guides,
        y_names=names,
        zero=True,
        legend_above=True,
        direct_labels=False,
        in_words=words,
        size=(5.0, 2.7),
    )


def _dots(label: str, values: Sequence[float | None], place: int) -> Line:
    """A dot for each name, in the order of the rows; none for what is not known."""
    rows = [row for row, value in enumerate(values) if value is not None and math.isfinite(value)]
    return Line(label, [values[row] for row in rows], rows, place=place, marks=True, joined=False)  # type: ignore[arg-type]


def _or_none(floor: float) -> float | None:
    return float(floor) if floor > 0.0 else None


def _promises(advice: Advice) -> str:
    fixed = "if the other floors are kept" if advice.promises else "if nobody else is promised anything"
    text = f"What can be promised to each, {fixed}."
    if len(advice.floors) > MOST_ROWS:
        text += f" The first {MOST_ROWS} of {len(advice.floors):,} are shown."
    return f'<section class="picture">{panel(promise_chart(advice))}<p class="quiet">{text}</p></section>'


def _plan(advice: Advice) -> str:
    plan, log = advice.plan, advice.statistics
    if plan is None:
        return (
            "<section><h2>No plan</h2><p>By the log's means no plan keeps all floors. In conflict: "
            f"{escape(', '.join(advice.conflicts))}.</p></section>"
        )
    cautious = plan is advice.plans["pessimistic"]
    keeps = (
        f"keeps every floor with {share(advice.confidence)} confidence" if cautious else "keeps the floors only just"
    )
    text = f"This plan {keeps}." if advice.promises else "This plan earns the most by cautious means."
    played = np.arange(len(log.arms))
    if len(played) > MOST_ARMS_OF_A_MAP:
        total = np.nan_to_num(plan.allocation) @ log.context_probabilities
        played = np.argsort(-total, kind="stable")[: int((total > 0.0).sum())]
        text += f" It plays {len(played):,} of {len(log.arms):,} arms."
    names = [log.arms[arm] for arm in played]
    heat = html_heat_map(plan.allocation[played], names, log.contexts, corner="share of rounds in", highest=1.0)
    return f'<section><h2>The plan</h2><p>{text}</p><div class="heat">{heat}</div></section>'


def _revenue(advice: Advice) -> str:
    if advice.plan is None:
        return ""
    title = "Revenue against floors" if advice.promises else "Revenue"
    text = "Dots are revenue by the log's means, grey lines their intervals."
    return (
        f'<section class="picture"><h2>{title}, if the plan is followed</h2><p class="quiet">{text}</p>'
        f"{panel(revenue_chart(advice))}</section>"
    )


def _scales(advice: Advice) -> str:
    if not math.isfinite(advice.largest_scale.plain) or advice.largest_scale.plain <= 0.0:
        return ""
    what = "all floors are" if advice.promises else "everyone is promised what they earn now,"
    text = (
        f"What the best plan earns if {what} multiplied by the same number. The shade is the interval; it ends where "
        "cautious bounds know no plan any more, the line where the log's means know none."
    )
    return (
        f'<section class="picture"><h2>What higher promises cost</h2><p class="quiet">{text}</p>'
        f"{panel(scale_chart(advice))}</section>"
    )


def _floors(advice: Advice) -> str:
    header = ["", "floor", "can be promised", "earns now", "could earn at most", "price of its floor"]
    if not advice.promises:
        header = [header[0], *header[2:-1]]
    rows = []
    for row, name in enumerate(advice.floors.names):
        price = advice.prices[row]
        cells = [
            number(float(advice.floors.amounts[row]), 4),
            number(promise(advice.largest_floors[row].low)),
            _range(advice.earned[row]),
            _range(advice.most[row]),
            "cannot be kept" if price.low == math.inf else _range(price),
        ]
        if not advice.promises:
            cells = cells[1:-1]
        rows.append(table_row(name, cells, header))
    return f"<section><h2>In numbers</h2>{table_of('instance', header, rows)}</section>"


def _range(one: Interval) -> str:
    if one.low == one.plain == one.high:
        return number(one.plain, 3)
    return f"{number(one.plain, 3)} ({number(one.low, 3)} to {number(one.high, 3)})"


def _learning(times: Sequence[LearningTime] | None, tolerance: float) -> str:
    if times is None:
        return ""
    header = ["policy", "in half of the runs", "in nine of ten runs"]
    rows = [table_row(one.policy, [told_rounds(one.half), told_rounds(one.most)], header) for one in times]
    text = (
        f"Rounds until a policy that starts from nothing lacks at most {share(tolerance)} of the floors on average, in "
        "a simulation with the means, the noise and the contexts of the log."
    )
    table = table_of("instance", header, rows)
    return f'<section><h2>How long learning takes</h2><p class="quiet">{text}</p>{table}</section>'


def _reading(advice: Advice) -> str:
    lines = "".join(f"<p>{escape(remark)}</p>" for remark in remarks(advice))
    return (
        f"<section><h2>How to read this</h2>{lines}<p>What can be promised is what a plan earns even if every mean and "
        "every share of contexts is as low as the log allows. It holds if contexts and rewards stay as they were, and "
        "if nothing but the context decided about the log's arms.</p></section>"
    )
