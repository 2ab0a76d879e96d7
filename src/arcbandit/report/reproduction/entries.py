"""What the page of a reproduction shows, as data."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from arcbandit.report.tables import NumberTable


class PaperEntry(NamedTuple):
    """The paper that is reproduced."""

    title: str
    authors: tuple[str, ...]
    venue: str  # where it is, in words
    link: str
    bibtex: str
    setting: tuple[str, ...]  # what it is about, in sentences


class DrawnPanel(NamedTuple):
    """A chart with its description."""

    title: str
    alt: str
    svg: bytes  # empty if there is nothing to see; `note` says why
    note: str  # what lines and shades are
    data: Mapping[str, Any]  # as `chart_data` gives it
    interactive: bool
    files: Mapping[str, str]  # paths of files at print size, by what they are for


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
    seeds: str = ""  # how often it held over many seeds, in words


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


class ChecklistEntry(NamedTuple):
    """An item of the paper, and where it is tested or shown."""

    label: str  # as the paper labels it; empty if it does not
    kind: str  # definition, theorem, figure ...
    title: str
    experiments: tuple[str, ...]  # names of experiments of this page or of a whole reproduction
    tests: tuple[str, ...]  # file::name
    docs: tuple[str, ...]
    remark: str  # what to know; why it is not implemented, if it is not


class Story(NamedTuple):
    """Everything the page shows."""

    paper: PaperEntry
    experiments: tuple[ExperimentEntry, ...]
    checklist: tuple[ChecklistEntry, ...]
    settings: Mapping[str, str]
    banner: str  # what to know before believing it; empty with each experiment's own settings
