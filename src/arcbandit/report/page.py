"""One page that shows a simulation, in a file that needs nothing else."""

import base64
import os
from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from arcbandit.estimates import written
from arcbandit.instance import Instance
from arcbandit.report.charts import Chart, alt_text
from arcbandit.report.figures import PLOT_SUFFIXES, chart_file
from arcbandit.report.files import check_target, write_whole
from arcbandit.report.look import check_matplotlib
from arcbandit.report.metric_charts import DRAWN, save_plot, simulation_chart
from arcbandit.report.tables import COLUMNS, LIMIT, best_policy, limit_meaning, result_rows, window_rows
from arcbandit.simulation.results import Results
from arcbandit.simulation.summary import Summary

PAGE_SUFFIX = ".html"
REPORT_SUFFIXES = (PAGE_SUFFIX, *PLOT_SUFFIXES)
# An instance with more numbers than this is not shown: nobody would read them.
MOST_ARMS, MOST_CONTEXTS = 20, 12

STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1.5rem; background: #fff; color: #222;
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
p { margin: .25rem 0 .75rem; max-width: 46rem; }
.quiet { color: #555; }
.table { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .6rem; text-align: right; white-space: nowrap; border-bottom: 1px solid #e4e4e4; }
thead th { border-bottom-color: #888; font-weight: 600; }
th:first-child, .windows :is(th, td):nth-child(2) { text-align: left; }
tr.best > * { background: #eef5fb; }
.tag { background: #0072b2; color: #fff; border-radius: .25rem; font-size: .75rem; font-weight: 600;
  margin-left: .4rem; padding: .05rem .4rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; margin: .25rem 0 1rem; }
dt { font-weight: 600; }
dd { margin: 0; overflow-wrap: anywhere; }
.panels { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; }
figure { margin: 0; }
img { display: block; width: 100%; height: auto; }
@media (max-width: 44rem) {
  body { padding: 1rem; }
  .panels { grid-template-columns: 1fr; }
  dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: .5rem; }
}
@media screen and (max-width: 44rem) {
  .windows, .instance { font-size: .8rem; }
  .windows :is(th, td), .instance :is(th, td) { padding: .3rem .25rem; }
  .results table, .results tbody, .results tr, .results th, .results td { display: block; }
  .results thead { display: none; }
  .results tr { border-bottom: 1px solid #888; padding: .4rem 0; }
  .results th, .results td { border: 0; padding: .1rem .6rem; white-space: normal; }
  .results td { display: flex; justify-content: space-between; }
  .results td::before { content: attr(data-heading); color: #555; }
  .results tr.best { background: #eef5fb; }
}
@media print {
  @page { margin: 1.5cm; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  h2 { break-after: avoid; }
  figure, tr, dl { break-inside: avoid; }
  .table { overflow: visible; }
  tr.best > *, .tag { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
""".strip()


def page(results: Results, title: str = "Simulation") -> str:
    """The page as HTML."""
    lead = (
        f"{_counted(len(results.policies), 'policy', 'policies')}, {_counted(results.epochs, 'epoch')} of "
        f"{results.horizon:,} rounds each."
    )
    sections = [
        f'<header><h1>{escape(title)}</h1><p class="quiet">{lead}</p></header>',
        _warning(results),
        f"<section><h2>Results after {results.horizon:,} rounds</h2>{_results(results)}{_reading(results)}</section>",
        _windows(results),
        f'<section><h2>Over the rounds</h2>{_legend(results)}<div class="panels">{_panels(results)}</div></section>',
        f"<section><h2>Settings</h2>{_settings(results)}</section>",
        f"<section><h2>Instance</h2>{_instance(Instance.from_dict(results.settings['instance']))}</section>",
    ]
    return document(title, sections)


def document(title: str, sections: Iterable[str], more_style: str = "") -> str:
    """A whole page of these sections, those that are empty left out, which loads nothing from anywhere."""
    body = "\n".join(section for section in sections if section)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<title>{escape(title)}</title>
<style>
{STYLE}{more_style}
</style>
</head>
<body>
{body}
</body>
</html>
"""


def save_page(results: Results, path: str | os.PathLike[str], title: str = "Simulation") -> None:
    """Write the page to a .html file."""
    target = check_target(path, (PAGE_SUFFIX,))
    # A name that cannot be encoded must not prevent the page.
    write_whole(target, page(results, title).encode(errors="replace"))


def check_report_target(path: str | os.PathLike[str]) -> None:
    """Raise early whatever would keep `save_report` from writing there."""
    check_target(path, REPORT_SUFFIXES)
    check_matplotlib()


def save_report(results: Results, path: str | os.PathLike[str], title: str = "Simulation") -> None:
    """Write a page to a .html file, or only the figure to any other."""
    if check_target(path, REPORT_SUFFIXES).suffix.lower() == PAGE_SUFFIX:
        save_page(results, path, title)
    else:
        save_plot(results, path, title)


def _counted(count: int, one: str, many: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def table_of(kind: str, header: Sequence[str], rows: Iterable[str]) -> str:
    """A table of the given class, its rows already written."""
    cells = "".join(f'<th scope="col">{escape(name)}</th>' for name in header)
    body = "\n".join(rows)
    return f'<div class="table {kind}"><table><thead><tr>{cells}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>'


def table_row(name: str, cells: Iterable[str], header: Sequence[str], *, best: bool = False) -> str:
    """A row; each cell knows its heading, which a phone shows beside it."""
    tag = '<span class="tag">lowest R + V</span>' if best else ""
    opening = '<tr class="best">' if best else "<tr>"
    shown = "".join(
        f'<td data-heading="{escape(heading)}">{escape(cell)}</td>'
        for heading, cell in zip(header[1:], cells, strict=True)
    )
    return f'{opening}<th scope="row">{escape(name)}{tag}</th>{shown}</tr>'


def _results(results: Results) -> str:
    best = best_policy(results)
    header = ["policy", *(column.heading for column in COLUMNS)]
    rows = (table_row(policy, cells, header, best=policy == best) for policy, *cells in result_rows(results))
    return table_of("results", header, rows)


def _reading(results: Results) -> str:
    interval = (
        f"Means over {results.epochs:,} epochs ± the half width of a 95 % interval."
        if results.epochs > 1
        else "One epoch, so without intervals."
    )
    meanings = {column.heading: column.meaning for column in COLUMNS}
    if meaning := limit_meaning(results):
        meanings[LIMIT] = meaning
    terms = "".join(f"<dt>{escape(name)}</dt><dd>{escape(meaning)}</dd>" for name, meaning in meanings.items())
    return f'<p class="quiet">{interval}</p><dl>{terms}</dl>'


def _warning(results: Results) -> str:
    if results.settings["feasible"]:
        return ""
    return (
        "<p><strong>The floors of this instance cannot be met together.</strong> "
        "Regret is counted against the plan of least shortfall, and no policy can keep the violation from growing.</p>"
    )


def _windows(results: Results) -> str:
    rows = window_rows(results)
    if not rows:
        return ""
    header = ["policy", "floor of", "expected", "realised"]
    lines = (table_row(row.policy, [row.floor, written(row.expected), written(row.realised)], header) for row in rows)
    table = table_of("windows", header, lines)
    length = results.settings["window"]
    return (
        f"<section><h2>Worst window of {length:,} rounds</h2>{table}"
        '<p class="quiet">Shortfall per round below the floor; if negative, revenue above it.</p></section>'
    )


def _legend(results: Results) -> str:
    shade = f"Lines are means of {results.epochs:,} epochs, shades their 95 % intervals. " if results.epochs > 1 else ""
    if results.epochs > 1 and isinstance(results, Summary):
        shade += "The lighter shades reach from the 5 % to the 95 % quantile of the epochs. "
    return (
        f'<p class="quiet">{shade}In the log-log panels a straight line is a power of the round: grey guides grow like '
        "√T and log² T. The grey line beside the performance is what the best plan earns.</p>"
    )


def _panels(results: Results) -> str:
    charts = (simulation_chart(results, metric, logarithmic) for metric in DRAWN for logarithmic in (False, True))
    return "\n".join(panel(chart) for chart in charts)


def panel(chart: Chart) -> str:
    """A chart as a figure of a page, with its words."""
    content = base64.b64encode(chart_file(chart, ".svg")).decode()
    return f'<figure><img alt="{escape(alt_text(chart))}" src="data:image/svg+xml;base64,{content}"></figure>'


def _settings(results: Results) -> str:
    settings = results.settings
    optimum = "revenue per round of the best plan" if settings["feasible"] else "of the plan of least shortfall"
    entries = {
        "horizon": f"{results.horizon:,} rounds",
        "epochs": f"{results.epochs:,}",
        "seed": str(settings["seed"]),
        "rewards": str(settings["rewards"]),
        "device": str(settings["device"]),
        "kept": "every epoch" if settings["keep"] == "epochs" else "means, variances and quantiles over epochs",
        "window": "none" if settings["window"] is None else f"{settings['window']:,} rounds",
        "f*": f"{settings['optimal_value']:.6g}, {optimum}",
        "versions": ", ".join(f"{name} {version}" for name, version in settings["versions"].items()),
    }
    return (
        "<dl>" + "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in entries.items()) + "</dl>"
    )


def _instance(instance: Instance) -> str:
    shape = (
        f"{_counted(instance.n_arms, 'arm')}, {_counted(instance.n_contexts, 'context')}, "
        f"noise scale {instance.noise_scale:g}"
    )
    if instance.n_arms > MOST_ARMS or instance.n_contexts > MOST_CONTEXTS:
        return f'<p class="quiet">{shape}.</p>'
    header = ["mean reward of arm", *(f"in {context}" for context in instance.contexts), "floor"]
    numbers = np.column_stack([instance.mean_rewards, instance.revenue_floors]).tolist()
    rows = [
        table_row(arm, [f"{number:.4g}" for number in row], header)
        for arm, row in zip(instance.arms, numbers, strict=True)
    ]
    shares = [f"{100 * probability:.4g}%" for probability in instance.context_probabilities.tolist()]
    rows.append(table_row("share of rounds", [*shares, ""], header))
    groups = "".join(
        f"<p>{escape(group.name)}: {escape(', '.join(map(str, group.arms)))} together at least {group.floor:.4g}.</p>"
        for group in instance.group_floors
    )
    units = "Rewards are per play; floors are revenue per round."
    return f'<p class="quiet">{shape}. {units}</p>{table_of("instance", header, rows)}{groups}'
