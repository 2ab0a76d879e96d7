"""Every number of the page in files that need no browser: JSON, plain text, and tables for LaTeX."""

import json
import textwrap
from collections.abc import Sequence
from typing import Any

from arcbandit.report.latex import latex, tabular
from arcbandit.report.reproduction.entries import ClaimEntry, ExperimentEntry, StatementEntry, Story

TEXT_WIDTH = 100


def results_document(story: Story) -> dict[str, Any]:
    """Every number of the page."""
    return {
        "paper": {"title": story.paper.title, "authors": list(story.paper.authors), "link": story.paper.link},
        "settings": dict(story.settings),
        "banner": story.banner or None,
        "experiments": [_experiment(entry) for entry in story.experiments],
    }


def results_json(story: Story) -> str:
    """The document as text."""
    return json.dumps(results_document(story), ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def _experiment(entry: ExperimentEntry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "title": entry.title,
        "source": entry.source or None,
        "settings": dict(entry.settings),
        "highlights": [one._asdict() for one in entry.highlights],
        "claims": [claim_document(claim) for claim in entry.claims],
        "tables": [
            {"title": table.title, "header": list(table.header), "rows": [list(row) for row in table.rows]}
            for table in entry.tables
        ],
        "charts": [panel.data for panel in entry.panels],
    }


def claim_document(claim: ClaimEntry) -> dict[str, Any]:
    """A claim, with what was measured of both its statements."""
    return {
        "name": claim.name,
        "sentence": claim.sentence,
        "group": claim.group,
        "failed": claim.failed,
        "paper": None if claim.paper is None else claim.paper._asdict(),
        "ours": None if claim.ours is None else claim.ours._asdict(),
        "why": claim.why or None,
        "seeds": claim.seeds or None,
    }


def results_text(story: Story) -> str:
    """Claims and tables as plain text."""
    lines = [story.paper.title, *([story.banner] if story.banner else [])]
    for entry in story.experiments:
        lines += ["", entry.title, "=" * len(entry.title)]
        lines += [f"{name}: {text}" for name, text in entry.settings.items()]
        for claim in entry.claims:
            lines += ["", *textwrap.wrap(f"[{claim.group}] {claim.sentence}", TEXT_WIDTH)]
            for who, stated in (("paper", claim.paper), ("we", claim.ours)):
                if stated is not None:
                    told = f"{who}: {_outcome(stated)}, {stated.number}"
                    lines += textwrap.wrap(told, TEXT_WIDTH, initial_indent="    ", subsequent_indent="        ")
        for table in entry.tables:
            lines += ["", table.title, *_columns([table.header, *table.rows])]
    return "\n".join(lines) + "\n"


def _outcome(stated: StatementEntry) -> str:
    return "holds" if stated.holds else "does not hold"


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def results_latex(story: Story) -> str:
    """The claims, and the tables of each experiment, for the package booktabs."""
    parts = [
        "% Needs \\usepackage{booktabs,longtable}.",
        "\\begin{longtable}{p{0.36\\linewidth}p{0.16\\linewidth}p{0.2\\linewidth}p{0.2\\linewidth}}",
        "\\toprule",
        "Claim & Outcome & The paper's statement & Ours \\\\",
        "\\midrule",
        "\\endhead",
    ]
    for entry in story.experiments:
        parts += [
            " & ".join((latex(claim.sentence), claim.group, _measured(claim.paper), _measured(claim.ours))) + " \\\\"
            for claim in entry.claims
        ]
    parts += ["\\bottomrule", "\\end{longtable}"]
    for entry in story.experiments:
        for table in entry.tables:
            parts += ["", f"% {latex(entry.title)}: {latex(table.title)}", tabular(table.header, table.rows)]
    return "\n".join(parts) + "\n"


def _measured(stated: StatementEntry | None) -> str:
    return "--" if stated is None else f"{_outcome(stated)}: {latex(stated.number)}"
