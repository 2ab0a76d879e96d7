"""The experiments, the claims and the checklist."""

from collections.abc import Mapping, Sequence
from html import escape

from arcbandit.report.page import table_of, table_row
from arcbandit.report.reproduction.entries import ChecklistEntry, ClaimEntry, ExperimentEntry, StatementEntry
from arcbandit.report.reproduction.opening import QUESTIONS, told_settings
from arcbandit.report.reproduction.panels import figure
from arcbandit.report.tables import NumberTable

HEADINGS = {
    "reproduced": ("Reproduced", "The paper's statement holds as printed."),
    "not reproduced": ("Not reproduced", "The paper's statement does not hold as printed; ours stands beside it."),
    "slip in the paper": ("Slips in the paper", "Slips of the pen, with what is meant beside them."),
    "beyond the paper": ("Beyond the paper", "What the paper does not say."),
}


def experiments(entries: Sequence[ExperimentEntry]) -> str:
    """A section per experiment."""
    drawn = "\n".join(_experiment(entry) for entry in entries)
    return f'<div id="experiments">{drawn}</div>'


def _experiment(entry: ExperimentEntry) -> str:
    source = f'<p class="quiet">In the paper: {escape(entry.source)}.</p>' if entry.source else ""
    settings = told_settings(entry)
    panels = "\n".join(figure(entry, place, caption=_first_capital(settings)) for place in range(len(entry.panels)))
    return (
        f'<section class="experiment" id="{escape(entry.name)}"><h2>{escape(entry.title)}</h2>'
        f'<p>{escape(entry.about)}</p>{source}<div class="panels">{panels}</div>'
        f"{_tables(entry.tables)}{_tested(entry)}{_how_it_was_run(entry.settings)}</section>"
    )


def _first_capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _tested(entry: ExperimentEntry) -> str:
    if not entry.claims:
        return ""
    links = "; ".join(
        f'<a href="#{escape(claim_id(entry.name, claim))}">{escape(claim.sentence.rstrip("."))}</a> '
        f"({escape(claim.group)})"
        for claim in entry.claims
    )
    return f'<p class="tested">Claims tested here: {links}.</p>'


def _how_it_was_run(settings: Mapping[str, str]) -> str:
    played = "; ".join(f"{escape(name)}: {escape(text)}" for name, text in settings.items())
    return f'<p class="quiet">How it was run: {played}.</p>'


def _tables(tables: Sequence[NumberTable]) -> str:
    return "\n".join(_numbers(table) for table in tables)


def _numbers(table: NumberTable) -> str:
    rows = (table_row(name, cells, table.header) for name, *cells in table.rows)
    interval = any("±" in cell for row in table.rows for cell in row)
    note = '<p class="quiet">± is the half width of a 95 % interval of the mean.</p>' if interval else ""
    return f"<h3>{escape(table.title)}</h3>{table_of('results', table.header, rows)}{note}"


def claim_id(experiment: str, claim: ClaimEntry) -> str:
    """The anchor of a claim."""
    return f"{experiment}-{claim.name}"


def claims(entries: Sequence[ExperimentEntry]) -> str:
    """Every claim in a sentence, grouped by where it stands, with what was measured."""
    order = [group for found in QUESTIONS.values() for group in found]
    tables = []
    for group in order:
        rows = [_claim(entry, claim) for entry in entries for claim in entry.claims if claim.group == group]
        if rows:
            heading, about = HEADINGS[group]
            header = ("claim", "the paper, as printed", "what we state")
            tables.append(f"<h3>{heading}</h3><p>{about}</p>{table_of('claims', header, rows)}")
    return (
        '<section class="experiment" id="claims"><h2>Every claim, and what was measured</h2>'
        f"{''.join(tables)}</section>"
    )


def _claim(entry: ExperimentEntry, claim: ClaimEntry) -> str:
    failed = '<p><span class="verdict fails">not as we state</span></p>' if claim.failed else ""
    why = f'<p class="quiet">{escape(claim.why)}</p>' if claim.why else ""
    seeds = f'<p class="quiet">{escape(claim.seeds)}</p>' if claim.seeds else ""
    return (
        f'<tr id="{escape(claim_id(entry.name, claim))}" data-claim="{escape(entry.name)}/{escape(claim.name)}" '
        f'data-group="{escape(claim.group)}" data-failed="{str(claim.failed).lower()}">'
        f'<th scope="row"><p>{escape(claim.sentence)}</p>{failed}{why}{seeds}'
        f'<p class="quiet"><a href="#{escape(entry.name)}">{escape(entry.title)}</a></p></th>'
        f"{_statement('The paper, as printed', claim.paper, claim, 'not in the paper')}"
        f"{_statement('What we state', claim.ours, claim, 'the same')}</tr>"
    )


def _statement(heading: str, stated: StatementEntry | None, claim: ClaimEntry, otherwise: str) -> str:
    if stated is None:
        return f'<td class="none"><p class="quiet">{otherwise}</p></td>'
    outcome, kind = ("holds", "holds") if stated.holds else ("does not hold", "fails")
    # What was read just before is not said again.
    text = f"<p>{escape(stated.text)}</p>" if stated.text not in (stated.criterion, claim.sentence) else ""
    return (
        f'<td data-heading="{escape(heading)}">{text}<p><span class="verdict {kind}">{outcome}</span> '
        f'<span class="number">{escape(stated.number)}</span></p><p class="quiet">{escape(stated.criterion)}</p></td>'
    )


def checklist(entries: Sequence[ChecklistEntry], shown: Sequence[ExperimentEntry]) -> str:
    """Every item of the paper, with where it is tested or shown, or why it is not implemented."""
    titles = {entry.name: entry.title for entry in shown}
    header = ("in the paper", "where it is tested or shown")
    rows = [_item(item, titles) for item in entries]
    return (
        '<section class="experiment" id="reviewers"><h2>For reviewers: the paper, item by item</h2>'
        f"{table_of('checklist', header, rows)}</section>"
    )


def _item(item: ChecklistEntry, titles: Mapping[str, str]) -> str:
    places = [
        f'<a href="#{escape(name)}">{escape(titles[name])}</a>'
        if name in titles
        else f"experiment <code>{escape(name)}</code>"
        for name in item.experiments
    ]
    places += [f"<code>{escape(test)}</code>" for test in item.tests]
    places += [escape(page) for page in item.docs]
    where = f"<p>{'; '.join(places)}</p>" if places else ""
    remark = f'<p class="quiet">{escape(item.remark)}</p>' if item.remark else ""
    label = f' <code class="label">{escape(item.label)}</code>' if item.label else ""
    return (
        f'<tr data-item="{escape(item.label or item.title)}"><th scope="row">{escape(item.kind)}: '
        f"{escape(item.title)}{label}</th>"
        f'<td data-heading="Where">{where}{remark}</td></tr>'
    )


def settings(entries: Mapping[str, str]) -> str:
    """How the whole reproduction was run."""
    items = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in entries.items())
    return f'<section class="experiment" id="settings"><h2>How it was run</h2><dl>{items}</dl></section>'
