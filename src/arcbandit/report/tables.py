"""What a table of results shows, in a terminal or on a page."""

import math
import re
from typing import NamedTuple

from arcbandit.estimates import MOST_DECIMALS, NOT_A_NUMBER, Estimate, written
from arcbandit.inputs.values import instance_of
from arcbandit.report.latex import tabular
from arcbandit.showing import number
from arcbandit.simulation.compare import Comparison
from arcbandit.simulation.metrics import METRICS
from arcbandit.simulation.results import Results

LONGEST_LABEL_LINE = 18
LIMIT = "limit"  # what the least R + V is called beside that of policies


SUM_COLUMNS = tuple(METRICS[name] for name in ("regret", "violation", "regret_plus_violation", "performance"))
SHARE_COLUMNS = tuple(METRICS[name] for name in ("fallback_share", "optimal_set_share"))
COLUMNS = SUM_COLUMNS + SHARE_COLUMNS


class WindowRow(NamedTuple):
    """The worst window of one floor under one policy: shortfall per round, negative if it earned more."""

    policy: str
    floor: str
    expected: Estimate
    realised: Estimate


def best_policy(results: Results) -> str | None:
    """The policy with the lowest mean R + V; None if there is no other to compare it with."""
    if len(results.policies) < 2:
        return None
    summary = results.summary()
    return min(results.policies, key=lambda policy: summary[policy]["regret_plus_violation"].mean)


def window_rows(results: Results) -> list[WindowRow]:
    """The worst windows at the last checkpoint; none if no windows were watched."""
    if results.settings["window"] is None:
        return []
    return [
        WindowRow(
            policy,
            floor,
            results.estimate("worst_window_expected", policy, floor),
            results.estimate("worst_window_realised", policy, floor),
        )
        for policy in results.policies
        for floor in results.floors
    ]


def written_quantile(value: float) -> str:
    """Three digits, as a quantile of a summary has no more."""
    if not math.isfinite(value):
        return NOT_A_NUMBER
    decimals = 0 if value == 0 else min(max(2 - math.floor(math.log10(abs(value))), 0), MOST_DECIMALS)
    return f"{float(f'{value:.3g}'):,.{decimals}f}"


def written_share(one: Estimate) -> str:
    """A mean share as a percentage; only 0 reads as 0% and only 1 as 100%."""
    if not math.isfinite(one.mean):
        return NOT_A_NUMBER
    if one.mean in (0.0, 1.0):
        return f"{100 * one.mean:.0f}%"
    return f"{min(max(100 * one.mean, 0.1), 99.9):.1f}%"


def broken_label(policy: str) -> list[str]:
    """A label in lines of at most LONGEST_LABEL_LINE letters, broken after punctuation if it has any."""
    lines = [""]
    for part in re.findall(r"[^:,(= ]*[:,(= ]?", policy):
        while part:
            if lines[-1] and len(lines[-1]) + len(part) > LONGEST_LABEL_LINE:
                lines.append("")
            lines[-1] += part[:LONGEST_LABEL_LINE]
            part = part[LONGEST_LABEL_LINE:]
    return [line.strip() for line in lines if line.strip()] or ["?"]


def result_rows(results: Results) -> list[list[str]]:
    """For each policy its name and its entries in COLUMNS."""
    summary = results.summary()
    columns = [list(results.policies)]
    for column in SUM_COLUMNS:
        columns.append([written(summary[policy][column.name]) for policy in results.policies])
    for column in SHARE_COLUMNS:
        columns.append([written_share(summary[policy][column.name]) for policy in results.policies])
    return [list(row) for row in zip(*columns, strict=True)]


def written_limit(results: Results) -> str:
    """The least R + V that learning leaves any policy; empty if it is not known, or nothing."""
    limit = results.learning_limit()
    return "" if limit is None or limit.total == 0.0 else number(limit.total, 4)


def limit_meaning(results: Results) -> str:
    """The same in words, to go beside the meanings of the columns."""
    limit = written_limit(results)
    return f"R + V of {limit}: what learning must cost, to the order of √T" if limit else ""


class NumberTable(NamedTuple):
    """A table of numbers."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def result_table(title: str, results: Results) -> NumberTable:
    """The metrics in COLUMNS of every policy at the horizon, and below them the limit of R + V where it is known."""
    header = ("policy", *(column.heading for column in COLUMNS))
    rows = result_rows(results)
    if limit := written_limit(results):
        total = METRICS["regret_plus_violation"]
        rows.append([LIMIT, *(limit if column is total else NOT_A_NUMBER for column in COLUMNS)])
    return NumberTable(title, header, tuple(tuple(row) for row in rows))


def latex_table(results: Results | Comparison) -> str:
    """The numbers of a simulation, or R + V of a comparison, as a table for the LaTeX package booktabs.

    Where the least R + V that learning leaves any policy is known, it is the last row, or the last column.

    >>> from arcbandit import paper_instance, simulate
    >>> print(latex_table(simulate(paper_instance("nu"), ["blp"], 100, 1)).splitlines()[2])
    policy & R & V & R + V & performance & fallback & I\\_t = I* \\\\
    """
    if isinstance(results, Comparison):
        header = ("instance", *results.policies)
        means = [
            [name, *(written(found.estimate("regret_plus_violation", policy)) for policy in results.policies)]
            for name, found in results.items()
        ]
        limits = [written_limit(found) for found in results.values()]
        if any(limits):
            header = (*header, LIMIT)
            means = [[*row, limit or NOT_A_NUMBER] for row, limit in zip(means, limits, strict=True)]
        return tabular(header, means) + "\n"
    instance_of("results", results, Results, " of simulate, or a Comparison")
    table = result_table("", results)
    return tabular(table.header, table.rows) + "\n"
