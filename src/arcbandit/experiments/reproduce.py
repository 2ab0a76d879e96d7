"""Everything the paper states in numbers, run from scratch.

How often each claim held over many seeds is counted by `seeds` and kept in seeds.json. Quantities with heavy tails are
taken from the median epoch (the fallback at a margin of 0.01).
"""

import contextlib
import dataclasses
import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from arcbandit.errors import InvalidInputError
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
from arcbandit.experiments.checklist import CHECKLIST
from arcbandit.experiments.experiment import Experiment, Settings, Verdict
from arcbandit.experiments.paper import PAPER
from arcbandit.experiments.played import Played
from arcbandit.experiments.result import Result
from arcbandit.experiments.telling import FIGURES_FOLDER, Drawn, draw
from arcbandit.inputs.values import known_name, whole
from arcbandit.report.files import write_whole
from arcbandit.report.look import check_matplotlib
from arcbandit.report.pencil import draw_here, other_process
from arcbandit.report.reproduction.entries import Story
from arcbandit.report.reproduction.page import reproduction_page
from arcbandit.report.reproduction.results import results_json, results_latex, results_text
from arcbandit.simulation.device import device_name, use_cuda
from arcbandit.simulation.run import versions_in_use

PAGE_NAME = "index.html"
RESULTS = {"results.json": results_json, "results.txt": results_text, "results.tex": results_latex}
# A quick look plays a tenth of the rounds and a twentieth of the epochs, but not fewer than these.
QUICK_HORIZON_SHARE, QUICK_EPOCHS_SHARE = 10, 20
QUICK_HORIZON, QUICK_EPOCHS = 1000, 2
# Rounds that are enough to compile, or load from disk, all that an experiment needs.
FIRST_HORIZON, FIRST_EPOCHS = 20, 1

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
class Reproduction:
    """The results of some experiments."""

    results: tuple[Result, ...]
    seed: int
    own_settings: bool  # whether every experiment had its own horizon and epochs
    device: str = "cpu"  # or the name of the GPU
    quick: bool = False
    compiling: float = 0.0  # seconds before the first round, of compiling or of loading what was compiled
    # Seconds from the first round until all figures were drawn, and until the page was written, if that was timed.
    drawn_after: float | None = None
    page_after: float | None = None

    @property
    def banner(self) -> str:
        """What to know before believing it; empty with each experiment's own settings."""
        if self.own_settings:
            return ""
        exact = [one.experiment.name for one in self.results if not one.experiment.rounds(one.recorded.settings)]
        still = f" Those of {', '.join(exact)} do: they play no rounds." if exact else ""
        which = (
            "A quick look: a tenth of the rounds and a twentieth of the epochs were played, or little more."
            if self.quick
            else "Horizon or epochs were changed."
        )
        return (
            f"{which} The claims' tolerances are meant for each experiment's own horizon and epochs and do not apply: "
            f"a claim may come out otherwise for lack of rounds.{still}"
        )

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
        """How long the experiments took to play."""
        return sum(result.seconds for result in self.results)

    @property
    def time(self) -> str:
        """How long it took, in words."""
        parts = [f"played in {self.seconds:.0f} s"]
        if self.page_after is not None:
            parts.append(f"page complete after {self.page_after:.0f} s")
        elif self.drawn_after is not None:
            parts.append(f"drawn after {self.drawn_after:.0f} s")
        # What a GPU needs is compiled while it is played.
        apart = "compiling" if self.device == "cpu" else "compiling for the CPU"
        return f"{', '.join(parts)}, not counting {self.compiling:.0f} s of {apart}"


def find(names: Sequence[str], *, on_device: bool = False) -> tuple[Experiment, ...]:
    """The experiments of these names, or all; on a GPU each is followed by the one to be played after it."""
    for name in names:
        known_name("experiment", name, EXPERIMENTS)
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
    quick: bool = False,
    progress: Progress | None = None,
    on_result: Callable[[Result], None] | None = None,
) -> Reproduction:
    """Run experiments, by default all, each with its own settings except for those that are given.

    A `quick` look plays a tenth of the rounds and a twentieth of the epochs; the tolerances of the claims do not apply
    to it.

    With `device` "cuda" a GPU plays what fits on it; "auto" uses a GPU if available. The paper's main experiment is
    then also played over `many` epochs. `on_result` is called with each result as soon as it is there.
    """
    horizon, epochs, jobs = (
        None if value is None else whole(name, value, 1)
        for name, value in (("horizon", horizon), ("epochs", epochs), ("jobs", jobs))
    )
    many = whole("many", many, 1)
    seed = whole("seed", seed, 0)
    find(names)
    on_device = use_cuda(device)
    chosen = find(names, on_device=on_device)
    played_on = device_name() if on_device else "cpu"
    settings = {}
    for one in chosen:
        own_epochs = many if one.on_device_after and (one.name not in names or epochs is None) else epochs
        usual = one.settings(
            horizon=horizon, epochs=own_epochs, seed=seed, jobs=jobs, device="cuda" if on_device else "cpu"
        )
        settings[one.name] = _quick(usual, horizon, epochs) if quick else usual
    total = max(sum(one.work(settings[one.name]) for one in chosen), 1)
    compiling = _compile(chosen, settings, progress)
    done = 0.0
    played = Played()
    for one in chosen:
        one.expect(settings[one.name], played)
    results: list[Result] = []
    for one in chosen:

        def advance(work: float, name: str = one.name) -> None:
            nonlocal done
            done += work
            if progress is not None:
                progress(name, min(done / total, 1.0))

        advance(0)
        start = time.perf_counter()
        recorded = one.record(settings[one.name], advance, played)
        verdicts = one.verdicts(recorded)
        seconds = time.perf_counter() - start
        results.append(Result(one, recorded, verdicts, seconds))
        if on_result is not None:
            on_result(results[-1])
    own_settings = horizon is None and epochs is None and not quick
    return Reproduction(tuple(results), seed, own_settings, played_on, quick, compiling)


def _compile(chosen: Sequence[Experiment], settings: Mapping[str, Settings], progress: Progress | None) -> float:
    """Play a few rounds of each experiment, so that afterwards times are those of playing; return the seconds."""
    start = time.perf_counter()
    played = [one for one in chosen if one.rounds(settings[one.name]) and not one.on_device_after]
    for place, one in enumerate(played, start=1):
        if progress is not None:
            progress(f"compiling, {place} of {len(played)}", 0.0)
        own = settings[one.name]
        few = own._replace(
            horizon=min(own.horizon, FIRST_HORIZON), epochs=min(own.epochs, FIRST_EPOCHS), jobs=1, device="cpu"
        )
        one.record(few)
    return time.perf_counter() - start


def _quick(usual: Settings, horizon: int | None, epochs: int | None) -> Settings:
    """Fewer rounds and epochs, except where they are given."""
    return usual._replace(
        horizon=horizon or max(usual.horizon // QUICK_HORIZON_SHARE, min(usual.horizon, QUICK_HORIZON)),
        epochs=epochs or max(usual.epochs // QUICK_EPOCHS_SHARE, min(usual.epochs, QUICK_EPOCHS)),
    )


def check_folder(folder: str | os.PathLike[str]) -> Path:
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
    if (target / FIGURES_FOLDER).exists() and not (target / FIGURES_FOLDER).is_dir():
        raise InvalidInputError(f"{target / FIGURES_FOLDER}: is a file, but must be a folder.")
    for name in (PAGE_NAME, *RESULTS):
        if (target / name).is_dir():
            raise InvalidInputError(f"{target / name}: is a folder, but must be a file.")
    return target


def save(reproduction: Reproduction, folder: str | os.PathLike[str], drawn: Sequence[Drawn] | None = None) -> Path:
    """Write the figures, the results and, last, the page; return the path of the page."""
    target = check_folder(folder)
    parts = [draw(result, quick=reproduction.quick) for result in reproduction.results] if drawn is None else drawn
    for part in parts:
        for name, content in part.files.items():
            (target / name).parent.mkdir(exist_ok=True)
            write_whole(target / name, content)
    story = Story(PAPER, tuple(part.entry for part in parts), CHECKLIST, _settings(reproduction), reproduction.banner)
    for name, written in RESULTS.items():
        write_whole(target / name, written(story).encode())
    page = target / PAGE_NAME
    write_whole(page, reproduction_page(story).encode())
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
    quick: bool = False,
    progress: Progress | None = None,
) -> tuple[Reproduction, Path]:
    """Run experiments and write their page; figures are drawn while the next experiment runs."""
    # A wrong name, or a device that is not available, must not leave a folder behind.
    find(names)
    on_device = use_cuda(device)
    target = check_folder(folder)
    with contextlib.ExitStack() as stack:
        # With one experiment there is nothing to do while it is drawn.
        several = len(find(names, on_device=on_device)) > 1
        draw_chart = stack.enter_context(other_process()) if several else draw_here
        pencil = stack.enter_context(ThreadPoolExecutor(max_workers=1))
        drawing: list[Future[Drawn]] = []
        start = time.perf_counter()
        found = reproduce(
            names,
            horizon=horizon,
            epochs=epochs,
            seed=seed,
            jobs=jobs,
            device=device,
            many=many,
            quick=quick,
            progress=progress,
            on_result=lambda result: drawing.append(pencil.submit(draw, result, quick=quick, draw_chart=draw_chart)),
        )
        if progress is not None:
            progress("drawing", 1.0)
        drawn = [one.result() for one in drawing]
        start += found.compiling
        found = dataclasses.replace(found, drawn_after=time.perf_counter() - start)
    page = save(found, target, drawn)
    return dataclasses.replace(found, page_after=time.perf_counter() - start), page


def _settings(reproduction: Reproduction) -> dict[str, str]:
    rounds = sum(result.experiment.rounds(result.recorded.settings) for result in reproduction.results)
    return {
        "seed": str(reproduction.seed),
        "horizon and epochs": _how_long(reproduction),
        "device": reproduction.device,
        "rounds played": f"{rounds:,}",
        "time": reproduction.time,
        "versions": ", ".join(f"{name} {version}" for name, version in versions_in_use().items()),
    }


def _how_long(reproduction: Reproduction) -> str:
    if reproduction.quick:
        return "those of a quick look"
    return "each experiment's own" if reproduction.own_settings else "given on the command line"
