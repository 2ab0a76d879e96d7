"""What a workload is, how contenders take turns on the clock, and what is kept of their times."""

import os
import platform
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from arcbandit.compilation.cuda import device_available
from arcbandit.simulation.device import device_name

# Relative; HiGHS stops at 1e-7 by default, so a smaller difference may be its own.
ERROR_LIMIT = 1e-6
LIBRARIES = ("numpy", "numba", "numba-cuda", "highspy", "scipy", "mabwiser", "river", "vowpalwabbit", "quantecon")


class Spread(NamedTuple):
    """Median and quartiles of what was measured again and again."""

    median: float
    lower_quartile: float
    upper_quartile: float

    @classmethod
    def of(cls, samples: Sequence[float]) -> "Spread":
        """Summarise at least one sample."""
        if len(samples) == 1:
            return cls(samples[0], samples[0], samples[0])
        lower, median, upper = statistics.quantiles(samples, n=4, method="inclusive")
        return cls(median, lower, upper)


@dataclass(frozen=True)
class Requirement:
    """What a workload must show, all of it at once.

    `ratio` is how many times longer the alternative takes, at least: 1/10 says that ours may take ten times as long.
    """

    ratio: float | None = None
    seconds: float | None = None  # the median is below
    rate: float | None = None  # operations per second, at least
    limits: dict[str, float] = field(default_factory=dict)  # details that are at most so much

    def __str__(self) -> str:
        parts = []
        if self.ratio is not None:
            parts.append(f">= {times_as_text(self.ratio)}")
        if self.seconds is not None:
            parts.append(f"< {self.seconds:g} s")
        if self.rate is not None:
            parts.append(f">= {self.rate:,.0f} per second")
        parts.extend(f"{name.replace('_', ' ')} <= {limit:g}" for name, limit in self.limits.items())
        return "\n".join(parts)


@dataclass(frozen=True)
class Outcome:
    """Seconds per operation of ours and, in the same order, of the alternative; and the worst errors of ours."""

    ours: list[float]
    alternative: list[float] = field(default_factory=list)
    alternative_name: str | None = None
    objective_error: float | None = None  # relative, against the alternative or a known value
    floor_error: float | None = None  # largest shortfall of a floor, relative to its row's largest coefficient
    details: dict[str, float] = field(default_factory=dict)

    @property
    def ratio(self) -> Spread | None:
        """How many times longer the alternative takes, turn by turn."""
        if not self.alternative:
            return None
        return Spread.of([other / own for own, other in zip(self.ours, self.alternative, strict=True)])

    @property
    def error(self) -> float | None:
        """The worse of both errors."""
        errors = [error for error in (self.objective_error, self.floor_error) if error is not None]
        return max(errors) if errors else None

    def meets(self, requirement: Requirement) -> bool:
        """Whether it was fast enough, and right."""
        if self.error is not None and not self.error <= ERROR_LIMIT:
            return False
        median = Spread.of(self.ours).median
        if requirement.seconds is not None and not median < requirement.seconds:
            return False
        if requirement.rate is not None and not median * requirement.rate <= 1.0:
            return False
        if not all(self.details[name] <= limit for name, limit in requirement.limits.items()):
            return False
        return requirement.ratio is None or (self.ratio is not None and self.ratio.median >= requirement.ratio)


@dataclass(frozen=True)
class Workload:
    """A named measurement; `run` is told how many turns to take. It is left out where a library it needs is missing."""

    name: str
    summary: str
    run: Callable[[int], Outcome]
    turns: int
    quick_turns: int
    requirement: Requirement | None = None
    needs: str | None = None  # a library beyond those that every workload has
    long: bool = False  # run only if long ones are asked for
    on_device: bool = False  # left out where there is no GPU


def times_as_text(ratio: float) -> str:
    """A ratio to about three digits; below 1 the other way round."""
    if ratio < 1.0:
        return f"1/{1.0 / ratio:.{4 if ratio > 0.95 else 3}g}x"  # "1/1x" would not say which side of 1 it is
    return f"{ratio:.3g}x" if ratio < 100.0 else f"{ratio:,.0f}x"


def take_turns(contenders: Sequence[Callable[[int], float]], turns: int) -> list[list[float]]:
    """Seconds per operation of each contender, in each turn.

    A contender is told the turn and returns what it measured. One turn before the first is thrown away: it compiles
    and fills caches. Who goes first alternates, so that nobody always follows the other.
    """
    samples: list[list[float]] = [[] for _ in contenders]
    for contender in contenders:
        contender(0)
    for turn in range(turns):
        order = range(len(contenders))
        for place in order if turn % 2 == 0 else reversed(order):
            samples[place].append(contenders[place](turn))
    return samples


def seconds(action: Callable[[], object]) -> float:
    """Wall time of one call."""
    start = perf_counter()
    action()
    return perf_counter() - start


def machine() -> dict[str, Any]:
    """What the times depend on besides the code."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "device": device_name() if device_available() else None,
        "load": round(os.getloadavg()[0], 1),  # runnable processes in the last minute, ours among them
        **{library: found for library in LIBRARIES if (found := version_of(library))},
    }


def version_of(library: str) -> str | None:
    """The installed version, None if there is none."""
    try:
        return version(library)
    except PackageNotFoundError:
        return None


def record(workload: Workload, outcome: Outcome) -> dict[str, Any]:
    """All that is known of one workload, as plain data."""
    requirement = workload.requirement
    ratio = outcome.ratio
    return {
        "name": workload.name,
        "summary": workload.summary,
        "requirement": None if requirement is None else asdict(requirement),
        "required": "" if requirement is None else str(requirement).replace("\n", ", "),
        "met": None if requirement is None else outcome.meets(requirement),
        "ratio": None if ratio is None else ratio._asdict(),
        "objective_error": outcome.objective_error,
        "floor_error": outcome.floor_error,
        "seconds": {**Spread.of(outcome.ours)._asdict(), "samples": outcome.ours},
        "alternative": None
        if not outcome.alternative
        else {
            "name": outcome.alternative_name,
            "seconds": {**Spread.of(outcome.alternative)._asdict(), "samples": outcome.alternative},
        },
        "details": outcome.details,
    }


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()
