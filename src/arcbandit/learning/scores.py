"""Scores: what policies lose, beside each other and beside what cannot be beaten."""

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arcbandit.estimates import estimate
from arcbandit.learning.contestants import CAUTIOUS, CLAIRVOYANTS, DEFAULT, HOPEFUL
from arcbandit.learning.results import FamilyResults, Results, Row

Floats = NDArray[np.float64]

LEAST_SUM = 1.0  # a smaller sum over all rounds counts as this: a ratio of two such sums says nothing
METRICS = ("total", "regret", "violation")
TAIL = 0.9
LINEAR = 0.9  # a late exponent above this is that of a run that does not learn any more


class Ratios(NamedTuple):
    """How a sum of a policy, of regret, violation or both, compares with that of another, instance by instance."""

    instances: int
    mean: float  # geometric
    median: float
    tail: float  # what nine in ten instances do not exceed
    worst: float


class Growth(NamedTuple):
    """Runs whose R + V still grew steeply at the horizon, and what became of those that were played on."""

    runs: int
    steep: int
    played_on: int
    linear: int  # of those, with an exponent above LINEAR
    largest: float  # exponent of those; NaN if there are none

    @property
    def share(self) -> float:
        """Of the runs that are steep."""
        return self.steep / self.runs if self.runs else np.nan


class Score(NamedTuple):
    """A policy on the instances of one family: geometric means of its sums, and comparisons where there are any."""

    family: str
    policy: str
    instances: int
    regret: float
    violation: float
    total: float
    to_default: Ratios | None
    to_clairvoyants: dict[str, dict[str, Ratios]]  # by clairvoyant and sum; empty if it was not played
    beats_both: tuple[int, int] | None  # on how many of how many instances R + V is below OLP's and OPLP's
    growth: Growth
    to_limit: float | None  # geometric mean of the ratio to what the theory has as a limit


def geometric_mean(values: ArrayLike) -> float:
    """The geometric mean, values below LEAST_SUM counted as that; NaN of none.

    >>> round(geometric_mean([10.0, 1000.0]), 6), round(geometric_mean([0.0, 100.0]), 6)
    (100.0, 10.0)
    """
    kept = np.maximum(np.asarray(values, dtype=np.float64), LEAST_SUM)
    return float(np.exp(np.log(kept).mean())) if kept.size else np.nan


def in_common(found: FamilyResults, *policies: str) -> list[tuple[Row, ...]]:
    """The rows of some policies on the instances that all of them were played on."""
    columns = [found.of(policy) for policy in policies]
    shared = sorted(set.intersection(*(set(column) for column in columns)))
    return [tuple(column[number] for column in columns) for number in shared]


def quotients(found: FamilyResults, policy: str, other: str, metric: str = "total") -> Floats:
    """A metric of a policy over that of another, on the instances that both were played on."""
    return np.array([_quotient(mine, its, metric) for mine, its in in_common(found, policy, other)])


def ratios(values: Floats) -> Ratios | None:
    """Quotients in a few numbers; None if there are none."""
    if not values.size:
        return None
    mean = float(np.exp(np.log(values).mean()))
    return Ratios(values.size, mean, float(np.median(values)), float(np.quantile(values, TAIL)), float(values.max()))


def interval(values: Floats) -> tuple[float, float]:
    """The 95 % interval of the geometric mean of quotients, over instances; NaN of a single one."""
    found = estimate(np.log(values))
    return math.exp(found.mean - found.half_width), math.exp(found.mean + found.half_width)


def to_clairvoyant(families: Iterable[FamilyResults], policy: str, clairvoyant: str) -> dict[str, Ratios]:
    """Ratios to a clairvoyant of each sum, where it loses anything; if no floor is active it loses nothing."""
    pairs = [pair for found in families for pair in in_common(found, policy, clairvoyant)]
    loses = [pair for pair in pairs if pair[1].total > LEAST_SUM]
    compared = {metric: ratios(np.array([_quotient(mine, its, metric) for mine, its in loses])) for metric in METRICS}
    return {metric: found for metric, found in compared.items() if found is not None}


def _quotient(row: Row, other: Row, metric: str) -> float:
    mine, its = (max(float(getattr(one, metric)), LEAST_SUM) for one in (row, other))
    return mine / its


def beats_both(found: FamilyResults, policy: str) -> tuple[int, int] | None:
    """On how many of how many instances R + V is below that of both rules of the paper; None of these."""
    rows = in_common(found, policy, HOPEFUL, CAUTIOUS)
    if not rows or policy in (HOPEFUL, CAUTIOUS):
        return None
    return sum(mine.total < min(one.total, other.total) for mine, one, other in rows), len(rows)


def growth(rows: Iterable[Row], epochs: int) -> Growth:
    """How many runs are steep, and how those grew that were played on."""
    all_rows = list(rows)
    late = [exponent for row in all_rows for exponent in row.late]
    steep = sum(len(row.steep) for row in all_rows)
    linear = sum(exponent > LINEAR for exponent in late)
    return Growth(epochs * len(all_rows), steep, len(late), linear, max(late, default=np.nan))


def score(found: FamilyResults, policy: str) -> Score:
    """The score of a policy on a family."""
    rows = found.of(policy)
    limits = np.array([row.total / row.limit for row in rows.values() if row.limit > LEAST_SUM])
    return Score(
        found.settings.family,
        policy,
        len(rows),
        geometric_mean([row.regret for row in rows.values()]),
        geometric_mean([row.violation for row in rows.values()]),
        geometric_mean([row.total for row in rows.values()]),
        ratios(quotients(found, policy, DEFAULT)),
        {name: to_clairvoyant([found], policy, name) for name in CLAIRVOYANTS},
        beats_both(found, policy),
        growth(rows.values(), found.settings.epochs),
        float(np.exp(np.log(limits).mean())) if limits.size else None,
    )


def better_than(results: Results, policy: str, others: Iterable[str]) -> dict[str, dict[str, float]]:
    """By which of the others it is beaten, in two decimals: their R + V over its own, by policy and by family."""
    found: dict[str, dict[str, float]] = {}
    for other in others:
        for family, one in results.items():
            compared = ratios(quotients(one, other, policy))
            if compared is not None and round(compared.mean, 2) < 1.0:
                found.setdefault(other, {})[family] = compared.mean
    return found


def scores(results: Results) -> list[Score]:
    """Every policy on every family, the policy that loses least first."""
    return [
        one
        for found in results.values()
        for one in sorted((score(found, policy) for policy in found.policies), key=lambda one: one.total)
    ]
