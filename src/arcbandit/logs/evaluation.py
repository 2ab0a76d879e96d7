"""What a stationary plan would have earned, from a log of another one."""

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import InvalidInputError
from arcbandit.estimates import student_quantile
from arcbandit.inputs.values import is_real, shown, truth, whole
from arcbandit.logs.aggregation import PROBABILITY, REWARD, STATISTICS, Sums, check_progress, with_repeats_noticed
from arcbandit.logs.bad_rows import BadRows
from arcbandit.logs.bootstrap import resampled
from arcbandit.logs.columns import Columns, wanted_columns
from arcbandit.logs.estimators import (
    DIRECT,
    ESTIMATORS,
    ROBUST,
    PairSums,
    effective_rows,
    heaviest_share,
    unknown,
)
from arcbandit.logs.reading import SumsByPair, statistics_of, sums_by_pair
from arcbandit.logs.rows import distinct_rows
from arcbandit.logs.scarcity import Model, model_of, stretched
from arcbandit.logs.sources import OpenLog, import_ibis, opened
from arcbandit.logs.statistics import LogStatistics
from arcbandit.logs.targets import Target, target_of
from arcbandit.notes import ProgressLine, is_watched

Floats = NDArray[np.float64]

# If one row has more than this part of the variance of the weights, sums of them are not yet normal.
HEAVY = 0.01
SAMPLES = 1000  # of the bootstrap
MOST_DISTINCT_ROWS = 1_000_000  # that the bootstrap reads; each sample sums them up


@dataclass(frozen=True)
class ValueEstimate:
    """Revenue per round by one estimator, of every arm and, last in each array, of all arms: shape (K + 1,)."""

    values: Floats
    errors: Floats  # standard errors
    intervals: Floats  # shape (K + 1, 2), by the normal approximation
    bootstrap: Floats | None = None  # shape (K + 1, 2), by resampling
    stretched: Floats | None = None  # the better of these, shape (K + 1, 2), wider where few rows decide

    @property
    def value(self) -> float:
        """The revenue of all arms."""
        return float(self.values[-1])

    @property
    def interval(self) -> tuple[float, float]:
        """The interval of all arms: by resampling if that was done, and stretched if few rows decide."""
        low, high = self.best_intervals[-1]
        return float(low), float(high)

    @property
    def arm_revenue(self) -> Floats:
        """The revenue of each arm, shape (K,)."""
        return self.values[:-1]

    @property
    def best_intervals(self) -> Floats:
        """By resampling if that was done, otherwise by the normal approximation; stretched where few rows decide."""
        if self.stretched is not None:
            return self.stretched
        return self.intervals if self.bootstrap is None else self.bootstrap

    @property
    def is_stretched(self) -> bool:
        """Whether few rows decide about some arm, or about all."""
        plain = self.intervals if self.bootstrap is None else self.bootstrap
        return not np.array_equal(self.best_intervals, plain, equal_nan=True)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; what is not known is None."""
        return {
            "value": _plain(self.value),
            "interval": _plain(self.interval),
            "standard_error": _plain(float(self.errors[-1])),
            "asymptotic_interval": _plain(self.intervals[-1]),
            "bootstrap_interval": None if self.bootstrap is None else _plain(self.bootstrap[-1]),
            "arm_revenue": _plain(self.values[:-1]),
            "arm_intervals": _plain(self.best_intervals[:-1]),
        }


@dataclass(frozen=True, repr=False)
class Evaluation:
    """What a plan would have earned per round, by the direct method, IPS, SNIPS and the doubly robust estimator.

    `estimates` has them by name: "dm", "ips", "snips" and "dr". Where the plan plays pairs that the log never did, "dm"
    and "dr" are NaN, and the others count nothing for these pairs.

    >>> import pandas
    >>> columns = {"context": "tv", "arm": ["a", "b"] * 200, "reward": [1.0, 0.0] * 200, "probability": 0.5}
    >>> found = evaluate(pandas.DataFrame(columns), [[0.75], [0.25]])
    >>> found.best, round(found.value, 6), round(found.estimates["ips"].value, 6), found.unsupported_pairs
    ('dr', 0.75, 0.75, ())
    """

    plan: str
    arms: tuple[str, ...]
    contexts: tuple[str, ...]
    shares: Floats  # the plan, K x C
    statistics: LogStatistics
    estimates: dict[str, ValueEstimate]
    confidence: float
    effective_rows: float  # how many rows of equal weight would say as much
    largest_weight: float
    mean_weight: float  # near 1 if the probabilities are right and every pair of the plan was logged
    heavy_weights: bool
    unsupported_pairs: tuple[tuple[str, str, float], ...]  # never logged: arm, context, share of all rounds
    probabilities: str  # "logged" or "inferred"
    bad_rows: tuple[BadRows, ...]

    @property
    def rows(self) -> int:
        """How many good rows the log has."""
        return self.statistics.rows

    @property
    def unsupported_share(self) -> float:
        """The share of all rounds that the plan gives to pairs that were never logged."""
        return math.fsum(share for *_, share in self.unsupported_pairs)

    @cached_property
    def best(self) -> str:
        """The estimator to go by: "dr", or "snips" if the plan plays pairs that were never logged."""
        return "snips" if self.unsupported_pairs else ROBUST

    @property
    def value(self) -> float:
        """The revenue per round by the best estimator."""
        return self.estimates[self.best].value

    @property
    def interval(self) -> tuple[float, float]:
        """Its interval."""
        return self.estimates[self.best].interval

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; rows are arms, and what is not known is None.

        >>> import pandas
        >>> columns = {"context": "tv", "arm": ["a", "b"] * 200, "reward": [1.0, 0.0] * 200, "probability": 0.5}
        >>> found = evaluate(pandas.DataFrame(columns), [[0.75], [0.25]])
        >>> found.to_dict()["logged_value"]
        0.5
        """
        return {
            "plan": self.plan,
            "arms": list(self.arms),
            "contexts": list(self.contexts),
            "shares": self.shares.tolist(),
            "rows": self.rows,
            "logged_value": self.statistics.value,
            "best": self.best,
            "confidence": self.confidence,
            "estimates": {name: estimate.to_dict() for name, estimate in self.estimates.items()},
            "effective_rows": _plain(self.effective_rows),
            "largest_weight": _plain(self.largest_weight),
            "mean_weight": _plain(self.mean_weight),
            "heavy_weights": self.heavy_weights,
            "probabilities": self.probabilities,
            "unsupported_pairs": [list(pair) for pair in self.unsupported_pairs],
            "unsupported_share": self.unsupported_share,
            "bad_rows": [bad.to_dict() for bad in self.bad_rows],
        }

    def __repr__(self) -> str:
        low, high = self.interval
        said = f"{self.value:.4g} per round ({low:.4g} to {high:.4g})"
        return f"<Evaluation of {self.plan}: {said}, {self.rows:,} rows worth {self.effective_rows:,.0f}>"


def evaluate(
    source: Any,
    plan: Any,
    *,
    table: str | None = None,
    context: str | Sequence[str] = "context",
    arm: str = "arm",
    reward: str = "reward",
    probability: str | None = None,
    timestamp: str | None = None,
    decision_id: str | None = None,
    skip_bad_rows: bool = False,
    infer_probabilities: bool = False,
    confidence: float = 0.95,
    bootstrap: int | None = None,
    seed: int = 0,
    progress: bool | None = None,
) -> Evaluation:
    """What a plan would have earned per round in the world of a log, with intervals.

    `source` and the columns are as for `read_log`. The log must have the probabilities with which its arms were chosen;
    with `infer_probabilities` they are the shares of arms in each context, which is right only if nothing but the
    context decided about the arm, in the same way all the time.

    `plan` is "uniform", a `Plan`, shares by arm and context (a frame with labels, or an array in the order of the log),
    or a policy at work, of which the plan of its next decision is taken. To let a policy learn, use `replay`.

    Intervals have the given `confidence`. `bootstrap` is how many samples of rows they are made of, drawn by `seed`:
    by default 1,000 if weights are heavy, that is if one row has more than 1 % of the sum of squared weights, and none
    otherwise. A log of more than a million different rows is not resampled. Where so few rows decide that one more of
    them would add 1 % to the variance, as for an arm that was hardly ever shown or never clicked, intervals are
    stretched: by the weights of all rows, by one more row, and by what the weights of an arm lack.

    >>> import pandas
    >>> rewards = [1, 0, 1, 0, 0, 1, 1, 0] * 50
    >>> log = pandas.DataFrame({"context": ["tv"] * 400, "arm": ["a", "b"] * 200, "reward": rewards})
    >>> found = evaluate(log.assign(probability=0.5), pandas.DataFrame({"tv": [0.8, 0.2]}, index=["a", "b"]))
    >>> found
    <Evaluation of plan: 0.65 per round (0.5996 to 0.7012), 400 rows worth 294>
    >>> found.estimates["ips"].arm_revenue.round(3).tolist()
    [0.6, 0.05]
    """
    for field, value in (("skip_bad_rows", skip_bad_rows), ("infer_probabilities", infer_probabilities)):
        truth(field, value)
    samples = None if bootstrap is None else whole("bootstrap", bootstrap, 0, 1_000_000)
    first = whole("seed", seed, 0)
    level = checked_confidence(confidence)
    wanted = wanted_columns(context, arm, reward, probability, timestamp, decision_id)
    check_progress(progress)
    with opened(source, table) as log:
        columns = wanted.found_in(log.table.columns)
        if columns.probability is None and not infer_probabilities:
            raise InvalidInputError(
                f"{log.name} has no column `probability`: without the probabilities with which its arms were chosen, "
                "what another plan would have earned cannot be told. Name the column; or, if nothing but the context "
                "decided about the arm, let them be inferred (infer_probabilities, --infer-probabilities)."
            )
        inferred = columns.probability is None
        log = with_repeats_noticed(log, columns, progress=progress)
        asked = {**STATISTICS, **EXTREMES} if inferred else {**STATISTICS, **EXTREMES, **WEIGHTED}
        summed = sums_by_pair(log, columns, asked, skip_bad_rows=skip_bad_rows, progress=progress)
        statistics = statistics_of(summed, columns)
        target = target_of(plan, statistics.arms, statistics.contexts)
        sums = _grown(_inferred(statistics) if inferred else _weighted(summed, statistics), len(target.arms))
        heavy = heaviest_share(sums, target.shares) > HEAVY
        if samples is None:
            samples = SAMPLES if heavy else 0
        intervals = {}
        if samples:
            intervals = _resampled(log, columns, statistics, sums, target, samples, level, first, progress)
    model = model_of(sums, target.shares, _extremes(summed))
    return _evaluation(statistics, sums, target, model, intervals, level, heavy=heavy, inferred=inferred)


def checked_confidence(confidence: Any) -> float:
    """A confidence strictly between 0 and 1."""
    if not is_real(confidence) or not 0.0 < confidence < 1.0:
        raise InvalidInputError(f"confidence must be a number between 0 and 1, got {shown(confidence)}.")
    return float(confidence)


def _u(rows: Any) -> Any:
    """1 / probability, of good rows alone."""
    return import_ibis().cases((rows[REWARD].notnull(), 1.0 / rows[PROBABILITY]))


EXTREMES: Sums = {"least": lambda rows: rows[REWARD].min(), "most": lambda rows: rows[REWARD].max()}
WEIGHTED: Sums = {
    "inverse": lambda rows: _u(rows).sum(),
    "inverse_squares": lambda rows: (_u(rows) * _u(rows)).sum(),
    "weighted": lambda rows: (_u(rows) * rows[REWARD]).sum(),
    "weighted_inverse": lambda rows: (_u(rows) * _u(rows) * rows[REWARD]).sum(),
    "weighted_squares": lambda rows: (_u(rows) * _u(rows) * rows[REWARD] * rows[REWARD]).sum(),
    "largest": lambda rows: _u(rows).max(),
}


def _weighted(summed: SumsByPair, statistics: LogStatistics) -> PairSums:
    found = {name: summed.sums[name].astype(np.float64) for name in WEIGHTED}
    if not all(np.isfinite(values).all() for values in found.values()):
        raise InvalidInputError(
            f"The probabilities of {summed.source} must be large enough to divide by and to square."
        )
    return PairSums(statistics.counts.astype(np.float64), statistics.sums, statistics.squares, **found)


def _extremes(summed: SumsByPair) -> tuple[float, float]:
    """The smallest and the largest reward of the log."""
    played = summed.sums["counts"] > 0
    return float(summed.sums["least"][played].min()), float(summed.sums["most"][played].max())


def _inferred(statistics: LogStatistics) -> PairSums:
    """With the shares of arms in each context as probabilities."""
    counts = statistics.counts.astype(np.float64)
    u = np.divide(statistics.context_counts, counts, out=np.zeros(counts.shape), where=counts > 0)
    return PairSums(
        counts,
        statistics.sums,
        statistics.squares,
        inverse=counts * u,
        inverse_squares=counts * u * u,
        weighted=statistics.sums * u,
        weighted_inverse=statistics.sums * u * u,
        weighted_squares=statistics.squares * u * u,
        largest=u,
    )


def _grown(sums: PairSums, n_arms: int) -> PairSums:
    """With rows for arms that the log does not have."""
    missing = n_arms - len(sums.counts)
    return PairSums(*(np.pad(values, ((0, missing), (0, 0))) for values in sums)) if missing else sums


def _resampled(
    log: OpenLog,
    columns: Columns,
    statistics: LogStatistics,
    sums: PairSums,
    target: Target,
    samples: int,
    confidence: float,
    seed: int,
    progress: bool | None,
) -> dict[str, Floats]:
    rows = distinct_rows(log, columns, statistics.arms, statistics.contexts, MOST_DISTINCT_ROWS)
    if rows is None:
        return {}
    if columns.probability is None:
        rows = rows._replace(inverse=sums.largest[rows.arms, rows.contexts])
    with contextlib.ExitStack() as shown:
        settings: dict[str, Any] = {"samples": samples, "confidence": confidence, "seed": seed}
        if is_watched() if progress is None else progress:
            settings["advance"] = shown.enter_context(ProgressLine(samples, "samples of the rows"))
        return resampled(rows, target.shares, sums.means, **settings)


def _evaluation(
    statistics: LogStatistics,
    sums: PairSums,
    target: Target,
    model: Model,
    intervals: dict[str, Floats],
    confidence: float,
    *,
    heavy: bool,
    inferred: bool,
) -> Evaluation:
    never = np.argwhere((sums.counts == 0) & (target.shares > 0))
    mix = statistics.context_probabilities
    unsupported = tuple(
        (target.arms[row], statistics.contexts[column], float(target.shares[row, column] * mix[column]))
        for row, column in never
    )
    quantile = student_quantile(max(statistics.rows - 1, 1), confidence)
    estimates = {}
    for name, estimator in ESTIMATORS.items():
        parts = estimator(sums, target.shares, sums.means)
        resampled_ends = intervals.get(name)
        if unsupported and name in (DIRECT, ROBUST):
            parts, resampled_ends = unknown(len(target.arms)), None
        values, errors = parts
        ends = np.column_stack([values - quantile * errors, values + quantile * errors])
        better = ends if resampled_ends is None else resampled_ends
        wider = stretched(name, sums, target.shares, model, parts, better, quantile)
        estimates[name] = ValueEstimate(values, errors, ends, resampled_ends, wider)
    return Evaluation(
        plan=target.name,
        arms=target.arms,
        contexts=statistics.contexts,
        shares=target.shares,
        statistics=statistics,
        estimates=estimates,
        confidence=confidence,
        effective_rows=effective_rows(sums, target.shares),
        largest_weight=float((target.shares * sums.largest).max()),
        mean_weight=float((target.shares * sums.inverse).sum() / sums.rows),
        heavy_weights=heavy,
        unsupported_pairs=unsupported,
        probabilities="inferred" if inferred else "logged",
        bad_rows=statistics.bad_rows,
    )


def _plain(value: Any) -> Any:
    """Numbers as lists; those that are not finite are None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return [_plain(item) for item in np.asarray(value).tolist()]
