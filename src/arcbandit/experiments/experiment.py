"""What an experiment is: runs as data, claims that can fail, and a figure of what was recorded."""

import enum
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from arcbandit.experiments.our_instances import instance_named
from arcbandit.experiments.played import Played
from arcbandit.policies.registry import POLICIES
from arcbandit.policies.settings import PolicyName
from arcbandit.report.charts import Sheet
from arcbandit.report.tables import NumberTable
from arcbandit.simulation.choices import Device
from arcbandit.simulation.epoch import Progress
from arcbandit.simulation.playable import Playable
from arcbandit.simulation.run import fits_device
from arcbandit.simulation.summary import Summary
from arcbandit.simulation.trace import Trace

Work = Callable[[float], None]  # called with the work done since the last call, in the unit of `Experiment.work`

# A GPU plays a few epochs no faster than a thousand, and must first compile a kernel per rule and shape.
FEWEST_ON_DEVICE = 1000
EPOCHS_OF_WORK = 5  # the CPU plays these in about the time in which a GPU plays all that it is given


class Settings(NamedTuple):
    """The settings with which an experiment is run."""

    horizon: int
    epochs: int
    seed: int
    jobs: int | None
    device: Device = "cpu"  # or "cuda", which must be available


class Run(NamedTuple):
    """Policies on one instance: what `simulate` is called with."""

    label: str
    instance: str  # as `instance_named` reads it
    policies: Mapping[str, Playable]  # by the label that figures show
    horizon: int
    epochs: int
    checkpoints: int | tuple[int, ...] | None = None
    keep: str = "epochs"  # or "summary"
    window: int | None = None  # the length of sliding windows, as for `simulate`

    @property
    def rounds(self) -> int:
        """The total number of rounds."""
        return self.horizon * self.epochs * len(self.policies)

    def work(self, settings: Settings) -> int:
        """Its share of a progress bar, in rounds; those on a GPU count for less."""
        if device_for(self.epochs, settings) == "cpu":
            return self.rounds
        return self.horizon * EPOCHS_OF_WORK * len(self.policies)


@dataclass(frozen=True)
class Recorded:
    """What an experiment recorded, by the label of the run, and whatever else it computed."""

    settings: Settings
    traces: dict[str, Trace] = field(default_factory=dict)
    summaries: dict[str, Summary] = field(default_factory=dict)  # of runs that keep no single epochs
    findings: dict[str, Any] = field(default_factory=dict)


class Group(enum.StrEnum):
    """Where a claim stands, by what was measured."""

    REPRODUCED = "reproduced"  # the paper's statement holds as printed
    NOT_REPRODUCED = "not reproduced"
    SLIP = "slip in the paper"  # not reproduced, for a slip of the pen that `Claim.why` names
    BEYOND = "beyond the paper"  # ours alone


class Measured(NamedTuple):
    """What a check found: whether it passed, and the number behind it."""

    passed: bool
    number: str


class Statement(NamedTuple):
    """A statement that the recorded results may contradict."""

    text: str  # what is said, the paper's words or ours
    criterion: str  # what is measured, and with which tolerance
    check: Callable[[Recorded], Measured]


@dataclass(frozen=True)
class Claim:
    """What the paper states, what we state, or both; each is measured by itself."""

    name: str
    sentence: str  # the claim in one sentence, for the table: "OLP's regret grows like log² T."
    paper: Statement | None = None  # as printed
    ours: Statement | None = None  # where we say otherwise, or more
    why: str = ""  # how the two differ, and why
    is_slip: bool = False  # whether the paper's statement, if it does not hold, is a slip of the pen


class Verdict(NamedTuple):
    """A claim with what was measured of both its statements."""

    experiment: str
    claim: Claim
    paper: Measured | None
    ours: Measured | None

    @property
    def name(self) -> str:
        """The claim's name, prefixed by that of its experiment."""
        return f"{self.experiment}/{self.claim.name}"

    @property
    def group(self) -> Group:
        """Where the claim stands."""
        if self.paper is None:
            return Group.BEYOND
        if self.paper.passed:
            return Group.REPRODUCED
        return Group.SLIP if self.claim.is_slip else Group.NOT_REPRODUCED

    @property
    def failed(self) -> bool:
        """Whether what we state, or the paper where we state nothing else, does not hold."""
        decisive = self.ours or self.paper
        return decisive is None or not decisive.passed


class Highlight(NamedTuple):
    """An answer for the top of the page: a sentence with its numbers, and the chart that shows it."""

    group: Group
    sentence: str
    chart: int  # the place of the chart among those of the experiment's figure


@dataclass(frozen=True)
class Experiment:
    """One numerical statement, or figure, of the paper or beyond it."""

    name: str
    title: str
    about: str  # what is played, and what the figure shows
    source: str  # where in the paper; empty for what is beyond it
    horizon: int
    epochs: int
    claims: tuple[Claim, ...]
    figure: Callable[[Recorded], Sheet]
    runs: Callable[[Settings], tuple[Run, ...]] = lambda settings: ()
    compute: Callable[[Settings, Progress], dict[str, Any]] = lambda settings, progress: {}
    compute_rounds: Callable[[Settings], int] = lambda settings: 0  # the share of a progress bar that `compute` takes
    derive: Callable[[Recorded], dict[str, Any]] = lambda recorded: {}  # findings from what the runs recorded
    tables: Callable[[Recorded], tuple[NumberTable, ...]] = lambda recorded: ()
    highlights: Callable[[Recorded], tuple[Highlight, ...]] = lambda recorded: ()
    # What a page says if it depends on the results.
    told_title: Callable[[Recorded], str] | None = None
    told_about: Callable[[Recorded], str] | None = None
    told_settings: Callable[[Recorded], dict[str, str]] | None = None
    # The experiment after which a GPU plays it, over many epochs, even if nobody asks for it by name.
    on_device_after: str | None = None

    def settings(
        self,
        *,
        horizon: int | None = None,
        epochs: int | None = None,
        seed: int = 0,
        jobs: int | None = None,
        device: Device = "cpu",
    ) -> Settings:
        """The experiment's own settings, except for those that are given."""
        return Settings(horizon or self.horizon, epochs or self.epochs, seed, jobs, device)

    def rounds(self, settings: Settings) -> int:
        """How many rounds it plays."""
        return sum(run.rounds for run in self.runs(settings)) + self.compute_rounds(settings)

    def work(self, settings: Settings) -> int:
        """Its share of a progress bar."""
        return sum(run.work(settings) for run in self.runs(settings)) + self.compute_rounds(settings)

    def expect(self, settings: Settings, played: Played) -> None:
        """Say which runs it will ask for."""
        for run in self.runs(settings):
            played.expect(**_arguments(run, settings))

    def record(self, settings: Settings, progress: Work | None = None, played: Played | None = None) -> Recorded:
        """Run it from scratch, except for runs that other experiments have played."""
        advance: Work = progress if progress is not None else lambda work: None
        recorded = Recorded(settings)
        for run in self.runs(settings):
            kept = play(run, settings, _counted(advance, run.work(settings) / run.rounds), played)
            if isinstance(kept, Summary):
                recorded.summaries[run.label] = kept
            else:
                recorded.traces[run.label] = kept
        recorded.findings.update(self.compute(settings, advance))
        recorded.findings.update(self.derive(recorded))
        return recorded

    def title_of(self, recorded: Recorded) -> str:
        """The title of a page's section."""
        return self.told_title(recorded) if self.told_title else self.title

    def about_of(self, recorded: Recorded) -> str:
        """What was played, and what the figure shows."""
        return self.told_about(recorded) if self.told_about else self.about

    def settings_of(self, recorded: Recorded) -> dict[str, str]:
        """How it was run, except for the time it took."""
        if self.told_settings:
            return self.told_settings(recorded)
        settings = recorded.settings
        runs = self.runs(settings)
        told = {}
        if runs:
            told = {
                "instances": _instances(dict.fromkeys(run.instance for run in runs)),
                "policies": ", ".join(dict.fromkeys(policy for run in runs for policy in run.policies)),
            }
        if self.rounds(settings):
            told |= {"horizon": f"{settings.horizon:,}", "epochs": f"{settings.epochs:,}"}
        devices = dict.fromkeys(str(trace.settings["device"]) for trace in recorded.traces.values())
        if devices:
            told["device"] = ", ".join(devices)
        return told

    def verdicts(self, recorded: Recorded) -> tuple[Verdict, ...]:
        """Every claim, checked."""
        return tuple(
            Verdict(self.name, claim, *(one and one.check(recorded) for one in (claim.paper, claim.ours)))
            for claim in self.claims
        )


def device_for(epochs: int, settings: Settings) -> Device:
    """The device of the settings if that many epochs are worth it, otherwise the CPU."""
    return settings.device if epochs >= FEWEST_ON_DEVICE else "cpu"


def _counted(advance: Work, worth: float) -> Progress:
    """Progress in rounds, each of which counts as `worth` units of work."""
    return lambda rounds: advance(rounds * worth)


def _instances(names: Iterable[str]) -> str:
    """Instances by name, with how many values of its parameter each was played with."""
    values = Counter(name.partition(":")[0] for name in names)
    return ", ".join(name if count == 1 else f"{name} ({count} values)" for name, count in values.items())


def play(
    run: Run, settings: Settings, progress: Progress | None = None, played: Played | None = None
) -> Trace | Summary:
    """Simulate a run, on the CPU if it is small or does not fit on the device."""
    return (played or Played()).simulate(**_arguments(run, settings), progress=progress)


def _arguments(run: Run, settings: Settings) -> dict[str, Any]:
    """What `simulate` is called with for a run."""
    instance = instance_named(run.instance)
    device = device_for(run.epochs, settings)
    fits = device == "cpu" or fits_device(instance, run.policies, run.horizon)
    return {
        "instance": instance,
        "policies": run.policies,
        "horizon": run.horizon,
        "epochs": run.epochs,
        "seed": settings.seed,
        "jobs": settings.jobs,
        "checkpoints": run.checkpoints,
        "device": device if fits else "cpu",
        "keep": run.keep,
        "window": run.window,
    }


def named(*policies: str) -> dict[str, Playable]:
    """Policies under the names of their classes, which the literature uses."""
    return {POLICIES[name].__name__: cast(PolicyName, name) for name in policies}


def scaled(settings: Settings, epochs: float, usual: int) -> int:
    """`epochs`, scaled by the ratio of the settings' epochs to the `usual` number; at least one."""
    return max(1, round(epochs * settings.epochs / usual))
