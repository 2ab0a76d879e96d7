"""From results to what the page shows: figures drawn, claims and settings in words."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from arcbandit.experiments.experiment import Measured, Recorded, Statement, Verdict
from arcbandit.experiments.kept_seeds import held_in_words
from arcbandit.experiments.result import Result
from arcbandit.report.charts import Sheet, is_zero
from arcbandit.report.figures import sheet_files
from arcbandit.report.fonts import small_families
from arcbandit.report.print_sizes import COLUMN_WIDTHS, column_file
from arcbandit.report.reproduction.entries import (
    ClaimEntry,
    ExperimentEntry,
    HighlightEntry,
    StatementEntry,
)
from arcbandit.report.reproduction.panels import drawn_panels

FIGURE_SUFFIXES = (".png", ".pdf")  # of all charts of an experiment on one sheet
FIGURES_FOLDER = "figures"  # of single charts at print size
COLUMN_NAMES = {"single": "one column", "double": "two columns"}


class Drawn(NamedTuple):
    """What a page and a folder show of a result."""

    entry: ExperimentEntry
    files: dict[str, bytes]  # by path in the folder


def draw(result: Result, *, quick: bool = False) -> Drawn:
    """Draw the figures of a result; a quick look draws those of the page alone."""
    figure, name = result.figure, result.experiment.name
    if quick:
        return Drawn(entry_of(result, figure, [{} for _ in figure.charts]), {})
    sheets = sheet_files(figure, FIGURE_SUFFIXES, small_families())
    files = {f"{name}{suffix}": content for suffix, content in sheets.items()}
    links: list[dict[str, str]] = []
    for place, chart in enumerate(figure.charts, start=1):
        links.append({})
        for column in () if is_zero(chart) else COLUMN_WIDTHS:
            content = column_file(chart, column)
            if content is not None:
                path = f"{FIGURES_FOLDER}/{name}-{place}-{column}.pdf"
                files[path] = content
                links[-1][COLUMN_NAMES[column]] = path
    return Drawn(entry_of(result, figure, links), files)


def entry_of(result: Result, figure: Sheet, links: Sequence[dict[str, str]]) -> ExperimentEntry:
    """A result as the page shows it; `links` are the files of each chart."""
    experiment, recorded = result.experiment, result.recorded
    return ExperimentEntry(
        experiment.name,
        experiment.title_of(recorded),
        experiment.about_of(recorded),
        experiment.source,
        tuple(claim_entry(verdict) for verdict in result.verdicts),
        drawn_panels(figure, links),
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
