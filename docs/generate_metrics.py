"""Write the page of the metrics: python -m docs.generate_metrics."""

from pathlib import Path

from arcbandit.simulation.metrics import METRICS, metric_names

PAGE = Path(__file__).with_name("metrics.md")

INTRODUCTION = """\
# Metrics

This page is written by `make docs` from the table in `arcbandit.simulation.metrics`.

A simulation records these metrics at its checkpoints, for each policy and epoch. Each is an attribute of a `Trace`
(`trace.regret["olp"]`, shape (epochs, checkpoints), or (epochs, checkpoints, floors) for a metric per floor), and its
name is an argument of `metric`, `mean`, `variance`, `standard_error`, `quantile`, `histogram` and `estimate`. Files
written by `Trace.save` and `Summary.save` hold them under these names, as columns of a trace's table and rows of a
summary's. A share is saved as the count of rounds so far.
"""

HEADER = ("name", "meaning", "definition", "unit", "kind", "drawn")


def metrics_page() -> str:
    """The page as it should be."""
    rows = [HEADER, ("---",) * len(HEADER)]
    for metric in (METRICS[name] for name in metric_names()):
        drawn = f"{metric.drawing.axis}; {metric.drawing.scale.value}"
        rows.append((f"`{metric.name}`", metric.meaning, metric.definition, metric.unit, metric.kind.value, drawn))
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"{INTRODUCTION}\n{table}\n"


if __name__ == "__main__":
    PAGE.write_text(metrics_page(), encoding="utf-8")
