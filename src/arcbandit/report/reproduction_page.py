"""One page of all experiments: a verdict on each claim, the number behind it, the figures."""

import base64
from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

from arcbandit.report.charts import Sheet, alt_text
from arcbandit.report.figures import chart_file
from arcbandit.report.page import STYLE, table_of, table_row
from arcbandit.report.tables import NumberTable

TITLE = "Reproduction of Multi-Armed Bandits with Minimum Aggregated Revenue Constraints"

OWN_STYLE = """
.verdicts td, .verdicts th { text-align: left; white-space: normal; vertical-align: top; }
.verdict { border-radius: .25rem; color: #fff; font-size: .8rem; font-weight: 600; padding: .05rem .45rem;
  white-space: nowrap; }
.holds { background: #00694a; }
.differs { background: #8a5a00; }
.fails { background: #a3210a; }
.claims { list-style: none; margin: .75rem 0 1rem; padding: 0; }
.claims li { border-left: .25rem solid #ddd; margin: .6rem 0; padding: .1rem 0 .1rem .75rem; }
.claims p { margin: .15rem 0; max-width: 52rem; }
.number { font-variant-numeric: tabular-nums; }
.claims .number { font-weight: 600; }
.experiment { border-top: 1px solid #ccc; margin-top: 2.5rem; padding-top: .25rem; }
.experiment h2 { font-size: 1.3rem; margin-top: 1rem; }
.experiment h3 { font-size: 1rem; margin: 1.25rem 0 .25rem; }
.panels { align-items: end; margin: 1rem 0; }
a { color: #0b5a8c; }
@media screen and (max-width: 44rem) {
  .panels { grid-template-columns: 1fr; }
  .verdicts table, .verdicts tbody, .verdicts tr, .verdicts th, .verdicts td { display: block; border: 0; }
  .verdicts thead { display: none; }
  .verdicts tr { border-bottom: 1px solid #ccc; padding: .4rem 0; }
  .verdicts :is(th, td) { padding: .05rem 0; }
  .results td { gap: 1rem; text-align: right; }
}
@media print {
  .experiment { break-before: page; border: 0; }
  .claims li { break-inside: avoid; }
  h3 { break-after: avoid; }
  .panels { grid-template-columns: 1fr 1fr; }
  .verdict { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
""".strip()


class DrawnPanel(NamedTuple):
    """A chart with its description."""

    alt: str
    svg: bytes


class StatementEntry(NamedTuple):
    """A statement, the paper's or ours, with what was measured."""

    text: str
    criterion: str
    holds: bool
    number: str


class ClaimEntry(NamedTuple):
    """A claim as the page shows it."""

    name: str
    sentence: str
    group: str  # reproduced, not reproduced, slip in the paper or beyond the paper
    failed: bool  # whether what we state, or the paper where we state nothing else, does not hold
    paper: StatementEntry | None
    ours: StatementEntry | None
    why: str


class HighlightEntry(NamedTuple):
    """An answer for the top of the page."""

    group: str
    sentence: str
    panel: int


class ExperimentEntry(NamedTuple):
    """An experiment as the page shows it."""

    name: str
    title: str
    about: str
    source: str  # where in the paper; empty for what is beyond it
    claims: tuple[ClaimEntry, ...]
    panels: tuple[DrawnPanel, ...]
    tables: tuple[NumberTable, ...]
    highlights: tuple[HighlightEntry, ...]
    settings: Mapping[str, str]


def reproduction_page(
    entries: Sequence[ExperimentEntry], settings: Mapping[str, str], *, own_settings: bool = True
) -> str:
    """The page as self-contained HTML."""
    remark = (
        ""
        if own_settings
        else "<p><strong>Horizon or epochs were changed.</strong> The tolerances are meant for each experiment's own "
        "settings; with others, a claim may fail for lack of rounds.</p>"
    )
    sections = [
        f'<header><h1>{escape(TITLE)}</h1><p class="quiet">{_summary(entries)}</p>{remark}</header>',
        f"<section><h2>Verdicts</h2>{_verdicts(entries)}{_reading()}</section>",
        *(_experiment(entry) for entry in entries),
        f'<section class="experiment" id="settings"><h2>Settings</h2>{_definitions(settings)}</section>',
    ]
    body = "\n".join(sections)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<title>{escape(TITLE)}</title>
<style>
{STYLE}
{OWN_STYLE}
</style>
</head>
<body>
{body}
</body>
</html>
"""


def _summary(entries: Sequence[ExperimentEntry]) -> str:
    outcomes = [claim.group for entry in entries for claim in entry.claims]
    parts = [f"{outcomes.count(group)} {group}" for group in dict.fromkeys(outcomes)]
    judged = sum(bool(entry.claims) for entry in entries)
    experiments = "1 experiment" if judged == 1 else f"{judged} experiments"
    return f"{experiments}, {len(outcomes)} claims: {', '.join(parts)}."


def _reading() -> str:
    return (
        '<dl><dt><span class="verdict holds">holds</span></dt><dd>measured within the stated tolerance</dd>'
        '<dt><span class="verdict differs">differs</span></dt>'
        "<dd>measured as stated, which is not what the paper says; the claim says why</dd>"
        '<dt><span class="verdict fails">fails</span></dt><dd>not within the stated tolerance</dd></dl>'
    )


def _tag(outcome: str) -> str:
    return f'<span class="verdict {escape(outcome)}">{escape(outcome)}</span>'


def _verdicts(entries: Sequence[ExperimentEntry]) -> str:
    rows = []
    for entry in entries:
        for claim in entry.claims:
            anchor = f"{entry.name}-{claim.name}"
            rows.append(
                f'<tr><th scope="row"><a href="#{escape(anchor)}">{escape(entry.name)}/{escape(claim.name)}</a></th>'
                f'<td>{_tag(claim.group)}</td><td class="number">{escape(_decisive(claim).number)}</td></tr>'
            )
    return table_of("verdicts", ("claim", "verdict", "number behind it"), rows)


def _experiment(entry: ExperimentEntry) -> str:
    source = f'<p class="quiet">In the paper: {escape(entry.source)}.</p>' if entry.source else ""
    claims = "\n".join(_claim(entry.name, claim) for claim in entry.claims)
    listed = f'<ul class="claims">{claims}</ul>' if entry.claims else ""
    return (
        f'<section class="experiment" id="{escape(entry.name)}"><h2>{escape(entry.title)}</h2>'
        f"<p>{escape(entry.about)}</p>{source}{_panels(entry.panels)}{listed}{_tables(entry.tables)}"
        f"{_how_it_was_run(entry.settings)}</section>"
    )


def _how_it_was_run(settings: Mapping[str, str]) -> str:
    played = "; ".join(f"{escape(name)}: {escape(text)}" for name, text in settings.items())
    return f'<p class="quiet">How it was run: {played}.</p>'


def _decisive(claim: ClaimEntry) -> StatementEntry:
    found = claim.ours or claim.paper
    assert found is not None
    return found


def _claim(experiment: str, claim: ClaimEntry) -> str:
    parts = "".join(
        f'<p>{who}: {escape(one.text)} <span class="number">{"holds" if one.holds else "does not hold"}: '
        f"{escape(one.number)}</span> ({escape(one.criterion)})</p>"
        for who, one in (("The paper", claim.paper), ("We", claim.ours))
        if one is not None
    )
    why = f"<p>{escape(claim.why)}</p>" if claim.why else ""
    return (
        f'<li id="{escape(experiment)}-{escape(claim.name)}" data-claim="{escape(experiment)}/{escape(claim.name)}" '
        f'data-group="{escape(claim.group)}"><p>{_tag(claim.group)} '
        f'<span class="statement">{escape(claim.sentence)}</span></p>{parts}{why}</li>'
    )


def drawn_panels(figure: Sheet) -> tuple[DrawnPanel, ...]:
    """The charts of a figure, each drawn on its own."""
    return tuple(DrawnPanel(alt_text(chart), chart_file(chart, ".svg")) for chart in figure.charts)


def _panels(panels: Sequence[DrawnPanel]) -> str:
    drawn = "\n".join(_panel(panel) for panel in panels)
    return f'<div class="panels">{drawn}</div>'


def _panel(panel: DrawnPanel) -> str:
    content = base64.b64encode(panel.svg).decode()
    return f'<figure><img alt="{escape(panel.alt)}" src="data:image/svg+xml;base64,{content}"></figure>'


def _tables(tables: Sequence[NumberTable]) -> str:
    return "\n".join(_numbers(table) for table in tables)


def _numbers(table: NumberTable) -> str:
    rows = (table_row(name, cells, table.header) for name, *cells in table.rows)
    return f"<h3>{escape(table.title)}</h3>{table_of('results', table.header, rows)}"


def _definitions(entries: Mapping[str, str]) -> str:
    items = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in entries.items())
    return f"<dl>{items}</dl>"
