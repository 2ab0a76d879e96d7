"""Everything the paper states in numbers, run from scratch.

With the default settings no claim fails for any of the seeds 0 to 29, and the limits of the tolerances are about four
or more standard deviations (over those seeds) from the means. Quantities with heavy tails are pooled (failures of the
audit's statements) or taken from the median epoch (the fallback at a margin of 0.01).
"""

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from arcbandit.errors import InvalidInputError, UnknownNameError
from arcbandit.experiments import (
    between,
    greedy_failure,
    group_floors,
    infeasible_floors,
    linear_bandit,
    lower_bound,
    many_epochs,
    margin,
    margin_families,
    nonsaturating,
    one_context,
    regret_and_violation,
    revenue_curve,
    stuck_runs,
    theory_audit,
    unknown_contexts,
    zero_entries,
)
from arcbandit.experiments.experiment import Experiment, Measured, Recorded, Statement, Verdict
from arcbandit.experiments.paper_instances import nu
from arcbandit.inputs.values import whole
from arcbandit.report.charts import Sheet
from arcbandit.report.figures import sheet_files
from arcbandit.report.files import write_whole
from arcbandit.report.look import check_matplotlib
from arcbandit.report.reproduction_page import (
    ClaimEntry,
    ExperimentEntry,
    HighlightEntry,
    StatementEntry,
    drawn_panels,
    reproduction_page,
)
from arcbandit.report.tables import NumberTable
from arcbandit.simulation.device import device_name, use_cuda
from arcbandit.simulation.run import simulate, versions_in_use

PAGE_NAME = "index.html"
FIGURE_SUFFIXES = (".png", ".pdf")

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        regret_and_violation.EXPERIMENT,
        many_epochs.EXPERIMENT,
        nonsaturating.EXPERIMENT,
        margin.EXPERIMENT,
        lower_bound.EXPERIMENT,
        greedy_failure.EXPERIMENT,
        revenue_curve.EXPERIMENT,
        zero_entries.EXPERIMENT,
        theory_audit.EXPERIMENT,
        unknown_contexts.EXPERIMENT,
        one_context.EXPERIMENT,
        stuck_runs.EXPERIMENT,
        between.EXPERIMENT,
        margin_families.EXPERIMENT,
        group_floors.EXPERIMENT,
        linear_bandit.EXPERIMENT,
        infeasible_floors.EXPERIMENT,
    )
}

# Called with the running experiment and the share of all work that is done.
Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Result:
    """An experiment, what it recorded and the verdicts on its claims."""

    experiment: Experiment
    recorded: Recorded
    verdicts: tuple[Verdict, ...]
    seconds: float

    @property
    def figure(self) -> Sheet:
        """The figure of what was recorded."""
        return self.experiment.figure(self.recorded)

    @property
    def tables(self) -> tuple[NumberTable, ...]:
        """The tables of what was recorded."""
        return self.experiment.tables(self.recorded)


@dataclass(frozen=True)
class Reproduction:
    """The results of some experiments."""

    results: tuple[Result, ...]
    seed: int
    own_settings: bool  # whether every experiment had its own horizon and epochs
    device: str = "cpu"  # or the name of the GPU

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Every verdict."""
        return tuple(verdict for result in self.results for verdict in result.verdicts)

    @property
    def failures(self) -> tuple[Verdict, ...]:
        """The claims that fail."""
        return tuple(verdict for verdict in self.verdicts if verdict.failed)

    @property
    def seconds(self) -> float:
        """How long the experiments took."""
        return sum(result.seconds for result in self.results)

    @property
    def time(self) -> str:
        """How long the experiments took, in words."""
        apart = "compiling and drawing" if self.device == "cpu" else "drawing"
        return f"{self.seconds:.0f} s, not counting {apart}"


def find(names: Sequence[str], *, on_device: bool = False) -> tuple[Experiment, ...]:
    """The experiments of these names, or all; on a GPU each is followed by the one to be played after it."""
    for name in names:
        if name not in EXPERIMENTS:
            raise UnknownNameError(f"There is no experiment {name!r}; known are {', '.join(EXPERIMENTS)}.")
    usual = [name for name, one in EXPERIMENTS.items() if one.on_device_after is None]
    chosen = []
    for name in names or usual:
        chosen.append(name)
        if on_device:
            chosen += [later for later, one in EXPERIMENTS.items() if one.on_device_after == name]
    return tuple(EXPERIMENTS[name] for name in dict.fromkeys(chosen))


def reproduce(
    names: Sequence[str] = (),
    *,
    horizon: int | None = None,
    epochs: int | None = None,
    seed: int = 0,
    jobs: int | None = None,
    device: str = "cpu",
    many: int = many_epochs.EPOCHS,
    progress: Progress | None = None,
    on_result: Callable[[Result], None] | None = None,
) -> Reproduction:
    """Run experiments, by default all, each with its own settings except for those that are given.

    With `device` "cuda" a GPU plays what fits on it; "auto" uses a GPU if available. The paper's main experiment is
    then also played over `many` epochs. `on_result` is called with each result as soon as it is there.
    """
    for name, value in (("horizon", horizon), ("epochs", epochs), ("jobs", jobs), ("many", many)):
        if value is not None:
            whole(name, value, 1)
    whole("seed", seed, 0)
    find(names)
    on_device = use_cuda(device)
    chosen = find(names, on_device=on_device)
    played_on = device_name() if on_device else "cpu"
    settings = {
        one.name: one.settings(
            horizon=horizon,
            epochs=many if one.on_device_after and (one.name not in names or epochs is None) else epochs,
            seed=seed,
            jobs=jobs,
            device="cuda" if on_device else "cpu",
        )
        for one in chosen
    }
    total = max(sum(one.work(settings[one.name]) for one in chosen), 1)
    if progress is not None:
        progress("compiling", 0.0)
    # One round, so that the first experiment's time is its own.
    simulate(nu(), ["olp"], 1, 1, jobs=1)
    done = 0.0
    results: list[Result] = []
    for one in chosen:

        def advance(work: float, name: str = one.name) -> None:
            nonlocal done
            done += work
            if progress is not None:
                progress(name, min(done / total, 1.0))

        advance(0)
        start = time.perf_counter()
        recorded = one.record(settings[one.name], advance)
        verdicts = one.verdicts(recorded)
        seconds = time.perf_counter() - start
        results.append(Result(one, recorded, verdicts, seconds))
        if on_result is not None:
            on_result(results[-1])
    return Reproduction(tuple(results), seed, horizon is None and epochs is None, played_on)


def check_folder(folder: str | os.PathLike[str], experiments: Sequence[Experiment] = ()) -> Path:
    """The folder, if the reproduction can be written there; checked before there is anything to write."""
    check_matplotlib()
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise InvalidInputError(f"{target}: is a file, but must be a folder.")
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(f"{target}: cannot be made ({error.strerror}).") from None
    if not os.access(target, os.W_OK | os.X_OK):
        raise InvalidInputError(f"{target}: cannot be written to.")
    for name in (PAGE_NAME, *(f"{one.name}{suffix}" for one in experiments for suffix in FIGURE_SUFFIXES)):
        if (target / name).is_dir():
            raise InvalidInputError(f"{target / name}: is a folder, but must be a file.")
    return target


class Drawn(NamedTuple):
    """What a page and a folder show of a result."""

    entry: ExperimentEntry
    files: dict[str, bytes]  # by name


def draw(result: Result) -> Drawn:
    """Draw the figures of a result."""
    figure = result.figure
    files = sheet_files(figure, FIGURE_SUFFIXES)
    return Drawn(
        _entry(result, figure), {f"{result.experiment.name}{suffix}": content for suffix, content in files.items()}
    )


def save(reproduction: Reproduction, folder: str | os.PathLike[str], drawn: Sequence[Drawn] | None = None) -> Path:
    """Write the figures and, last, the page; return the path of the page."""
    target = check_folder(folder, [result.experiment for result in reproduction.results])
    parts = [draw(result) for result in reproduction.results] if drawn is None else drawn
    for part in parts:
        for name, content in part.files.items():
            write_whole(target / name, content)
    page = target / PAGE_NAME
    entries = [part.entry for part in parts]
    text = reproduction_page(entries, _settings(reproduction), own_settings=reproduction.own_settings)
    write_whole(page, text.encode())
    return page


def reproduce_to(
    folder: str | os.PathLike[str],
    names: Sequence[str] = (),
    *,
    horizon: int | None = None,
    epochs: int | None = None,
    seed: int = 0,
    jobs: int | None = None,
    device: str = "cpu",
    many: int = many_epochs.EPOCHS,
    progress: Progress | None = None,
) -> tuple[Reproduction, Path]:
    """Run experiments and write their page; figures are drawn while the next experiment runs."""
    # A wrong name, or a device that is not available, must not leave a folder behind.
    find(names)
    chosen = find(names, on_device=use_cuda(device))
    target = check_folder(folder, chosen)
    with ThreadPoolExecutor(max_workers=1) as pencil:
        drawing: list[Future[Drawn]] = []
        found = reproduce(
            names,
            horizon=horizon,
            epochs=epochs,
            seed=seed,
            jobs=jobs,
            device=device,
            many=many,
            progress=progress,
            on_result=lambda result: drawing.append(pencil.submit(draw, result)),
        )
        if progress is not None:
            progress("drawing", 1.0)
        drawn = [one.result() for one in drawing]
    return found, save(found, target, drawn)


def _statement(stated: Statement | None, measured: Measured | None) -> StatementEntry | None:
    if stated is None or measured is None:
        return None
    return StatementEntry(stated.text, stated.criterion, measured.passed, measured.number)


def _entry(result: Result, figure: Sheet) -> ExperimentEntry:
    experiment, recorded = result.experiment, result.recorded
    claims = tuple(
        ClaimEntry(
            verdict.claim.name,
            verdict.claim.sentence,
            verdict.group.value,
            verdict.failed,
            _statement(verdict.claim.paper, verdict.paper),
            _statement(verdict.claim.ours, verdict.ours),
            verdict.claim.why,
        )
        for verdict in result.verdicts
    )
    return ExperimentEntry(
        experiment.name,
        experiment.title_of(recorded),
        experiment.about_of(recorded),
        experiment.source,
        claims,
        drawn_panels(figure),
        result.tables,
        tuple(HighlightEntry(*one) for one in experiment.highlights(recorded)),
        experiment.settings_of(recorded) | {"seconds": f"{result.seconds:.1f}"},
    )


def _settings(reproduction: Reproduction) -> dict[str, str]:
    rounds = sum(result.experiment.rounds(result.recorded.settings) for result in reproduction.results)
    return {
        "seed": str(reproduction.seed),
        "horizon and epochs": "each experiment's own" if reproduction.own_settings else "given on the command line",
        "device": reproduction.device,
        "rounds played": f"{rounds:,}",
        "time": reproduction.time,
        "versions": ", ".join(f"{name} {version}" for name, version in versions_in_use().items()),
    }
