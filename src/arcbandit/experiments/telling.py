"""From results to what the page shows: figures drawn, claims and settings in words."""

from collections.abc import Iterable
from typing import NamedTuple

from arcbandit.experiments.experiment import Measured, Recorded, Statement, Verdict
from arcbandit.experiments.kept_seeds import held_in_words
from arcbandit.experiments.result import Result
from arcbandit.report.pencil import Draw, draw_here
from arcbandit.report.reproduction.entries import (
    ClaimEntry,
    DrawnPanel,
    ExperimentEntry,
    HighlightEntry,
    StatementEntry,
)
from arcbandit.report.reproduction.panels import drawn_panels

FIGURES_FOLDER = "figures"  # of single charts at print size
COLUMN_NAMES = {"single": "one column", "double": "two columns"}


class Drawn(NamedTuple):
    """What a page and a folder show of a result."""

    entry: ExperimentEntry
    files: dict[str, bytes]  # by path in the folder


def draw(result: Result, *, quick: bool = False, draw_chart: Draw = draw_here) -> Drawn:
    """Draw the figures of a result; a quick look draws those of the page alone."""
    figure, name = result.figure, result.experiment.name
    files: dict[str, bytes] = {}
    pictures: list[bytes] = []
    links: list[dict[str, str]] = []
    for place, chart in enumerate(figure.charts, start=1):
        svg, columns = draw_chart(chart, for_print=not quick)
        pictures.append(svg)
        paths = {column: f"{FIGURES_FOLDER}/{name}-{place}-{column}.pdf" for column in columns}
        links.append({COLUMN_NAMES[column]: path for column, path in paths.items()})
        files |= {path: columns[column] for column, path in paths.items()}
    return Drawn(entry_of(result, drawn_panels(figure, pictures, links)), files)


def entry_of(result: Result, panels: tuple[DrawnPanel, ...]) -> ExperimentEntry:
    """A result as the page shows it."""
    experiment, recorded = result.experiment, result.recorded
    return ExperimentEntry(
        experiment.name,
        experiment.title_of(recorded),
        experiment.about_of(recorded),
        experiment.source,
        tuple(claim_entry(verdict) for verdict in result.verdicts),
        panels,
        result.tables,
        tuple(HighlightEntry(one.group.value, one.sentence, one.chart) for one in experiment.highlights(recorded)),
        _settings(result) | {"seconds": f"{result.seconds:.1f}"},
    )


def claim_entry(verdict: Verdict) -> ClaimEntry:
    """A claim as the page shows it."""
    return ClaimEntry(
        verdict.claim.name,
        verdict.claim.sentence,
        verdict.group.value,
        verdict.failed,
        _statement(verdict.claim.paper, verdict.paper),
        _statement(verdict.claim.ours, verdict.ours),
        verdict.claim.why,
        held_in_words(verdict.name),
    )


def _statement(stated: Statement | None, measured: Measured | None) -> StatementEntry | None:
    if stated is None or measured is None:
        return None
    return StatementEntry(stated.text, stated.criterion, measured.passed, measured.number)


def _settings(result: Result) -> dict[str, str]:
    """How it was run, with the noise of the rewards, and with what was played where runs differ."""
    told = result.experiment.settings_of(result.recorded)
    played = (*result.recorded.traces.values(), *result.recorded.summaries.values())
    if not played or result.experiment.told_settings:
        return told | _noise(result.recorded)
    return told | {
        "horizon": _span(one.horizon for one in played),
        "epochs": _span(one.epochs for one in played),
        **_noise(result.recorded),
    }


def _noise(recorded: Recorded) -> dict[str, str]:
    played = (*recorded.traces.values(), *recorded.summaries.values())
    scales = sorted({float(one.settings["instance"]["noise_scale"]) for one in played})
    kinds = dict.fromkeys(str(one.settings["rewards"]) for one in played)
    return {"noise": f"{', '.join(kinds)}, σ = {', '.join(f'{scale:g}' for scale in scales)}"} if played else {}


def _span(values: Iterable[int]) -> str:
    found = sorted(set(values))
    return f"{found[0]:,}" if len(found) == 1 else f"{found[0]:,} to {found[-1]:,}"
