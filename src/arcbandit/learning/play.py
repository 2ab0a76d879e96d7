"""Playing the families: instance by instance, each kept as soon as it is played."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import joblib
import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import InvalidInputError
from arcbandit.instance import Instance
from arcbandit.learning.contestants import PLAYED_ON
from arcbandit.learning.families import FAMILIES, Drawn, Half, drawn
from arcbandit.learning.results import FRONTIER, TUNING, FamilyResults, Row, Settings, made_folder, opened
from arcbandit.limits import learning_limit
from arcbandit.policies.configuration import Configuration
from arcbandit.simulation.epoch import Shelf, Task, find_optimum, run_task
from arcbandit.simulation.metrics import Total
from arcbandit.simulation.playable import Playable, labelled_policies
from arcbandit.simulation.progress import one_at_a_time
from arcbandit.simulation.run import simulate
from arcbandit.simulation.workers import done_in_order, workers_are_threads

Floats = NDArray[np.float64]

EARLIER = 5  # exponents are between a fifth of the horizon and the horizon
STEEP = 0.8  # an exponent above this is looked at again
LATE = (2, 10)  # between these multiples of the horizon
LEAST_HORIZON = 10
# What a round takes, in the time of one pair: so much at least, and twice as much per pair where they are so many. It
# serves to estimate the time left.
LEAST_WORK = 20
MANY_PAIRS = 1200


class Watch(Protocol):
    """Whoever waits: told of work ahead and work done."""

    def expect(self, work: float) -> None:
        """More work is ahead."""

    def begin(self, what: str) -> None:
        """Something else is being played."""

    def advance(self, work: float) -> None:
        """So much is done."""


class Nobody:
    """Whom nobody tells anything."""

    def expect(self, work: float) -> None:
        """Nothing."""

    def begin(self, what: str) -> None:
        """Nothing."""

    def advance(self, work: float) -> None:
        """Nothing."""


class Plan(NamedTuple):
    """What is to be played."""

    part: str
    families: tuple[str, ...]
    contestants: Mapping[str, Playable]
    instances: int
    epochs: int
    horizon: int
    seed: int = 0
    jobs: int | None = None
    again: bool = False  # whether what is there is played again, and replaced

    @property
    def half(self) -> Half:
        """Which instances are played: a frontier is one of tuning."""
        return Half.TUNING if self.part in (TUNING, FRONTIER) else Half.SCORED

    def settings(self, family: str) -> Settings:
        """Those of a family's file."""
        return Settings(self.part, family, self.seed, self.horizon, FAMILIES[family].epochs(self.epochs))


def play(plan: Plan, folder: Path, command: str, watch: Watch | None = None) -> dict[str, FamilyResults]:
    """Play what a folder does not hold yet, or all again, and keep it there; return all that it holds then."""
    watch = watch or Nobody()
    # All files are looked at before the first round, so that one that does not fit is refused at once.
    found = {family: opened(folder, plan.settings(family)) for family in plan.families}
    missing = []
    for family, results in found.items():
        if plan.again:
            results.drop(plan.contestants)
        for number in range(FAMILIES[family].size(plan.instances)):
            labels = [label for label in plan.contestants if not results.has(number, label)]
            if labels:
                one = drawn(family, plan.half, number, plan.seed)
                missing.append((one, labels))
                watch.expect(len(labels) * results.settings.epochs * work_of(one.instance, plan.horizon))
    if missing:
        made_folder(folder)
    if plan.again:
        # Else an interruption would leave old rows beside new ones, and nobody could tell which are which.
        for results in found.values():
            results.save(folder, command)
    for one, labels in missing:
        results = found[one.family]
        watch.begin(f"{one.family} {one.number + 1}/{FAMILIES[one.family].size(plan.instances)}")
        chosen = {label: plan.contestants[label] for label in labels}
        results.add(played(one, chosen, plan.horizon, results.settings.epochs, plan.jobs, watch))
        results.save(folder, command)
    return found


def work_of(instance: Instance, rounds: int) -> float:
    """What rounds on an instance take, in units that only have a meaning beside each other."""
    return rounds * (LEAST_WORK + instance.n_pairs * (1.0 + instance.n_pairs / MANY_PAIRS))


def played(
    one: Drawn, policies: Mapping[str, Playable], horizon: int, epochs: int, jobs: int | None, watch: Watch
) -> list[Row]:
    """A row for each policy on one instance."""
    share = work_of(one.instance, 1)
    trace = simulate(
        one.instance,
        policies,
        horizon,
        epochs,
        one.seed,
        jobs=jobs,
        checkpoints=(horizon // EARLIER, horizon),
        rewards=one.rewards,
        progress=lambda rounds: watch.advance(rounds * share),
        keep="epochs",
    )
    limit = limit_of(one, horizon)
    steep = {}
    for label in trace.policies:
        early, last = trace.regret_plus_violation[label].T
        steep[label] = tuple(np.flatnonzero(exponents(early, last, EARLIER) > STEEP).tolist())
    late = played_on(one, policies, steep, horizon, jobs, watch)
    rows = []
    for label in trace.policies:
        regret, violation = trace.regret[label][:, -1], trace.violation[label][:, -1]
        rows.append(
            Row(
                one.number,
                label,
                float(regret.mean()),
                float(violation.mean()),
                _error(regret),
                _error(violation),
                float((regret + violation).max()),
                limit,
                steep[label],
                late.get(label, ()),
            )
        )
    return rows


def played_on(
    one: Drawn,
    policies: Mapping[str, Playable],
    epochs: Mapping[str, Sequence[int]],
    horizon: int,
    jobs: int | None,
    watch: Watch,
) -> dict[str, tuple[float, ...]]:
    """The late exponents of some epochs of each policy, played again with the same draws, and on."""
    first, last = (multiple * horizon for multiple in LATE)
    ends = np.array([first, last], dtype=np.int64)
    optimum = find_optimum(one.instance, None)
    labelled = labelled_policies(policies, one.instance, None)
    tasks = [
        Task(one.instance, label, chosen, one.rewards, None, optimum, math.nan, last, one.seed, epoch, ends, window=0)
        for label, chosen in labelled.items()
        if isinstance(chosen, Configuration) and chosen.kind.name in PLAYED_ON
        for epoch in epochs[label]
    ]
    if not tasks:
        return {}
    share = work_of(one.instance, 1)
    watch.expect(len(tasks) * last * share)
    # Of workers in other processes we hear when an epoch is done.
    inside = one_at_a_time(lambda rounds: watch.advance(rounds * share)) if workers_are_threads() else None
    shelf = Shelf()
    calls = (joblib.delayed(run_task)(task, inside, shelf) for task in tasks)
    records = done_in_order(calls, None if jobs is None else min(jobs, len(tasks)))
    found: dict[str, tuple[float, ...]] = {}
    for task, (totals, _) in zip(tasks, records, strict=True):
        if inside is None:
            watch.advance(last * share)
        sums = totals[Total.REGRET_PLUS_VIOLATION]
        exponent = float(exponents(sums[:1], sums[1:], last / first)[0])
        found[task.label] = (*found.get(task.label, ()), exponent)
    return found


def exponents(early: Floats, last: Floats, factor: float) -> Floats:
    """By which power of the rounds each sum grew while these grew by a factor: 0 if it did not, infinite from 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.log(last / early) / math.log(factor)
    return np.where(last <= early, 0.0, found)


def limit_of(one: Drawn, horizon: int) -> float:
    """The least R + V that a learner can have, to the order of √T; NaN where that is not known."""
    if one.rewards != "gaussian":
        return math.nan  # the noise scale of bounded rewards is a bound, and they may vary less
    try:
        return learning_limit(one.instance, horizon, 1.0).total
    except InvalidInputError:
        return math.nan


def _error(values: Floats) -> float:
    return float(values.std(ddof=1)) / math.sqrt(values.size) if values.size > 1 else math.nan
