"""What a reader sees first: the paper, its setting, the first figure, and the answer."""

from collections.abc import Sequence
from html import escape

from arcbandit.report.reproduction.entries import ExperimentEntry, HighlightEntry, PaperEntry, Story
from arcbandit.report.reproduction.panels import figure, image, panel_id
from arcbandit.report.reproduction.picture import PICTURE

FIRST_PANELS = 2  # of the first experiment, beside the setting
# The groups of claims that answer each question.
QUESTIONS = {
    "What reproduces": ("reproduced",),
    "What does not": ("not reproduced", "slip in the paper"),
    "What is new": ("beyond the paper",),
}


def opening(story: Story) -> str:
    """Everything above the experiments."""
    return f"{_header(story)}\n{_first(story)}\n{_answer(story.experiments)}"


def _header(story: Story) -> str:
    paper = story.paper
    banner = f'<p class="banner" role="note">{escape(story.banner)}</p>' if story.banner else ""
    return (
        f'<header><p class="quiet kicker">A reproduction of</p><h1>{escape(paper.title)}</h1>'
        f'<p class="authors">{escape(", ".join(paper.authors))} · '
        f'<a href="{escape(paper.link)}" rel="noreferrer">{escape(paper.venue)}</a></p>'
        f"{_citation(paper)}{banner}{_links()}</header>"
    )


def _citation(paper: PaperEntry) -> str:
    return (
        f'<details class="citation"><summary>Cite the paper (BibTeX)</summary>'
        f'<pre id="bibtex">{escape(paper.bibtex)}</pre></details>'
    )


def _links() -> str:
    names = {
        "setting": "Setting",
        "answer": "Answer",
        "experiments": "Experiments",
        "claims": "Claims",
        "reviewers": "For reviewers",
    }
    return (
        '<nav aria-label="Sections">'
        + "".join(f'<a href="#{anchor}">{name}</a>' for anchor, name in names.items())
        + "</nav>"
    )


def _first(story: Story) -> str:
    sentences = " ".join(escape(sentence) for sentence in story.paper.setting)
    figures = ""
    if story.experiments:
        first = story.experiments[0]
        drawn = [place for place, panel in enumerate(first.panels) if panel.svg][:FIRST_PANELS]
        panels = "".join(figure(first, place, anchored=False) for place in drawn)
        figures = (
            f'<div class="first-figure"><h2><a href="#{escape(first.name)}">{escape(first.title)}</a></h2>'
            f'<div class="panels">{panels}</div><p class="quiet">{escape(told_settings(first))}</p></div>'
        )
    return (
        f'<section class="first" id="setting"><div class="setting"><h2>The setting</h2><p>{sentences}</p>'
        f"{PICTURE}</div>{figures}</section>"
    )


def told_settings(entry: ExperimentEntry) -> str:
    """Where the rewards' noise, the horizon and the epochs stand: beside the figures."""
    wanted = ("instances", "instance", "noise", "horizon", "epochs")
    return "; ".join(f"{name}: {entry.settings[name]}" for name in wanted if name in entry.settings) + "."


def _answer(entries: Sequence[ExperimentEntry]) -> str:
    parts = []
    for question, groups in QUESTIONS.items():
        cards = "".join(
            _card(entry, highlight)
            for group in groups
            for entry in entries
            for highlight in entry.highlights
            if highlight.group == group
        )
        if cards:
            parts.append(f'<h3>{question}</h3><div class="cards">{cards}</div>')
    return f'<section id="answer"><h2>The answer</h2><p>{counted(entries)}</p>{"".join(parts)}</section>'


def _card(entry: ExperimentEntry, highlight: HighlightEntry) -> str:
    panel = entry.panels[highlight.panel]
    shown = image(panel._replace(alt=f"{panel.title}: go to the figure"))
    target = panel_id(entry.name, highlight.panel)
    slip = ' <span class="tag">slip in the paper</span>' if highlight.group == "slip in the paper" else ""
    return (
        f'<article class="card"><p>{escape(highlight.sentence)}{slip}</p>'
        f'<a href="#{escape(target)}">{shown}</a></article>'
    )


def _how_many(count: int, group: str) -> str:
    return f"{count} {group.replace('slip', 'slips') if count > 1 else group}"


def counted(entries: Sequence[ExperimentEntry]) -> str:
    """How many claims stand where."""
    groups = [claim.group for entry in entries for claim in entry.claims]
    order = [group for found in QUESTIONS.values() for group in found]
    parts = [_how_many(groups.count(group), group) for group in order if group in groups]
    judged = sum(bool(entry.claims) for entry in entries)
    experiments = "1 experiment" if judged == 1 else f"{judged} experiments"
    failed = sum(claim.failed for entry in entries for claim in entry.claims)
    ending = "" if not failed else f" {failed} came out otherwise than we state: see the claims."
    return f"{experiments}, {len(groups)} claims: {', '.join(parts)}.{ending}"
