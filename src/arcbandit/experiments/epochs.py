"""The paper's five epochs beside all of ours: the first epochs of a trace are those of a shorter one."""

import dataclasses

from arcbandit.estimates import Estimate, estimate, written
from arcbandit.report.tables import NumberTable, result_table
from arcbandit.simulation.trace import Trace

PAPER_EPOCHS = 5
EPOCHS = 100  # ours, wherever a number is quoted
# On a logarithmic axis an interval cannot reach 0.
INTERVALS = "over their 95 % intervals, at most down to a tenth of the mean"


def first_epochs(trace: Trace, count: int = PAPER_EPOCHS) -> Trace:
    """The first epochs of a trace."""
    kept = min(count, trace.epochs)
    return dataclasses.replace(
        trace,
        records={policy: record[:kept] for policy, record in trace.records.items()},
        floor_records={policy: record[:kept] for policy, record in trace.floor_records.items()},
        settings=trace.settings | {"epochs": kept},
    )


def beside(trace: Trace, metric: str, policy: str) -> str:
    """A mean at the horizon over all epochs, and over the first five."""
    return _beside(estimate(trace.metric(metric)[policy][:, -1]), first_epochs(trace), metric, policy)


def _beside(mean: Estimate, first: Trace, metric: str, policy: str) -> str:
    of_five = written(estimate(first.metric(metric)[policy][:, -1]))
    return f"{written(mean)} (first {first.epochs} epochs: {of_five})"


def both_tables(title: str, trace: Trace) -> tuple[NumberTable, ...]:
    """The results at the horizon over all epochs, and over the first five."""
    tables = [result_table(f"{title}, {trace.epochs:,} epochs", trace)]
    if trace.epochs > PAPER_EPOCHS:
        tables.append(
            result_table(f"{title}, the first {PAPER_EPOCHS} epochs, as many as the paper's", first_epochs(trace))
        )
    return tuple(tables)
