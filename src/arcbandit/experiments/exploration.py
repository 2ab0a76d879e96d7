"""How often a policy returns to a pair that the best plan of nu^(0) never plays, and what it loses by then.

Each epoch is one run, looked at after 100, 1,000, 10,000 ... rounds: what a decade adds is net of the first rounds.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import joblib
import numpy as np
from numpy.typing import NDArray

from arcbandit.estimates import Estimate, estimate, student_quantile
from arcbandit.experiments.growth import ratio_exponent
from arcbandit.instance import Instance
from arcbandit.kernels.confidence import ByPair
from arcbandit.planning import Plan, plan
from arcbandit.policies.configuration import Configuration
from arcbandit.policies.registry import policy as policy_by_name
from arcbandit.simulation.epoch import Task, bind, make_run, make_world
from arcbandit.simulation.loop import player_of
from arcbandit.simulation.metrics import Total

Floats = NDArray[np.float64]

PAIR = (0, 2)  # arm 1 in context 3


class Exploration(NamedTuple):
    """Of one policy, after each of the horizons; NaN in epochs that ended earlier."""

    horizons: tuple[int, ...]
    regret: Floats  # shape (epochs, horizons)
    violation: Floats
    plays: Floats  # of the pair

    def mean(self, quantity: str, place: int = -1) -> Estimate:
        """The mean at a horizon over the epochs that reached it."""
        values = getattr(self, quantity)[:, place]
        return estimate(values[np.isfinite(values)])

    def added(self, quantity: str) -> list[Floats]:
        """What each decade adds in each epoch that reached its end."""
        steps = np.diff(getattr(self, quantity), axis=1).T
        return [step[np.isfinite(step)] for step in steps]

    def exponent(self, quantity: str, end: int = -1) -> Estimate:
        """The power of T, by what the two decades up to a horizon add; 0 for log T."""
        if len(self.horizons) < 2 - end:
            return Estimate(math.nan, math.nan)
        values = getattr(self, quantity)
        values = values[np.isfinite(values[:, end])]
        first, second = values[:, end - 1] - values[:, end - 2], values[:, end] - values[:, end - 1]
        return ratio_exponent(first, second, math.log(self.horizons[end] / self.horizons[end - 1]))

    @property
    def regret_plus_violation(self) -> Floats:
        """R + V, shape (epochs, horizons)."""
        return self.regret + self.violation


class Fit(NamedTuple):
    """One shape of growth fitted to what the decades add."""

    rate: Estimate  # what multiplies the shape
    misfit: float  # the sum of squared residuals in standard errors


def decades(horizon: int, count: int = 4) -> tuple[int, ...]:
    """The horizon, a tenth of it, a hundredth ..., the least first."""
    return tuple(sorted({horizon // 10**place for place in range(count)} - {0}))


class Epochs(NamedTuple):
    """Epochs of a policy, by their numbers, played to the last of some horizons."""

    name: str
    instance: Instance
    horizons: tuple[int, ...]
    seed: int
    numbers: range


def explore(parts: Sequence[Epochs], jobs: int | None) -> list[Exploration]:
    """Play all parts, in parallel over their epochs."""
    tasks = [(part, plan(part.instance), policy_by_name(part.name), epoch) for part in parts for epoch in part.numbers]
    parallel = joblib.Parallel(n_jobs=-1 if jobs is None else jobs, prefer="threads", batch_size=1)
    played = iter(parallel(joblib.delayed(_explored)(*task) for task in tasks))
    found = []
    for part in parts:
        own = [next(played) for _ in part.numbers]
        found.append(Exploration(part.horizons, *(np.array(values) for values in zip(*own, strict=True))))
    return found


def _explored(part: Epochs, optimum: Plan, policy: Configuration, epoch: int) -> tuple[Floats, Floats, list[float]]:
    """The regret, the violation and the plays of the pair at each horizon of an epoch."""
    ends = part.horizons
    checkpoints = np.array(ends, dtype=np.int64)
    task = Task(
        part.instance,
        part.name,
        policy,
        "gaussian",
        None,
        optimum,
        math.nan,
        ends[-1],
        part.seed,
        epoch,
        checkpoints,
        0,
    )
    run = make_run(make_world(task), bind(task, policy).learner, task)
    stretch = player_of(policy.kind, run)
    plays = []
    for first, last in zip((0, *ends), ends, strict=False):
        stretch(first + 1, last)
        plays.append(float(run.learner.statistics.by_pair[ByPair.PULLS][PAIR]))
    return run.record.totals[Total.REGRET], run.record.totals[Total.VIOLATION], plays


def longer_and_shorter(longer: Exploration, shorter: Exploration) -> Exploration:
    """The epochs of both, those of the shorter with NaN where they had ended."""
    missing = len(longer.horizons) - len(shorter.horizons)

    def joined(first: Floats, second: Floats) -> Floats:
        return np.concatenate([first, np.pad(second, ((0, 0), (0, missing)), constant_values=math.nan)])

    return Exploration(longer.horizons, *(joined(*pair) for pair in zip(longer[1:], shorter[1:], strict=True)))


def fitted(found: Exploration, quantity: str) -> dict[str, Fit]:
    """log T and √T fitted to what the decades add, each decade weighted by its standard error."""
    added = found.added(quantity)
    means = np.array([step.mean() for step in added])
    # A decade in which no epoch differs from another has no error of its own; one event in all bounds it.
    errors = np.array([max(float(step.std(ddof=1)), 1 / len(step)) / math.sqrt(len(step)) for step in added])
    ends = np.array(found.horizons, dtype=np.float64)
    fits = {}
    for shape, values in (("log T", np.diff(np.log(ends))), ("√T", np.diff(np.sqrt(ends)))):
        precision = float(((values / errors) ** 2).sum())
        rate = float((values * means / errors**2).sum()) / precision
        misfit = float((((means - rate * values) / errors) ** 2).sum())
        half = student_quantile(min(len(step) for step in added) - 1) / math.sqrt(precision)
        fits[shape] = Fit(Estimate(rate, half), misfit)
    return fits
