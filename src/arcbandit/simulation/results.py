"""What every result of a simulation can tell: the metrics, and what they come to over epochs."""

import json
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import InvalidInputError, MissingExtraError, UnknownNameError
from arcbandit.inputs.values import file_path, known_name, shown
from arcbandit.simulation.metrics import FloorTotal, Total

Floats = NDArray[np.float64]

MANY_DEGREES = 200  # of freedom

# Metrics that are sums over rounds, by their row in the record.
SUMS = {
    "regret": Total.REGRET,
    "violation": Total.VIOLATION,
    "signed_regret": Total.SIGNED_REGRET,
    "performance": Total.PERFORMANCE,
    "realised_revenue": Total.REALISED,
    "regret_plus_violation": Total.REGRET_PLUS_VIOLATION,
    "signed_violation": Total.SIGNED_VIOLATION,
}
# Metrics that are shares of the rounds so far; they exist for rules that plan.
SHARES = {
    "optimal_set_share": Total.OPTIMAL_SET,
    "fallback_share": Total.ON_FALLBACK,
    "infeasible_share": Total.INFEASIBLE,
    "gave_up_share": Total.GAVE_UP,
}
# Metrics of each floor (arms, then groups).
BY_FLOOR = {
    "floor_shortfall": FloorTotal.SHORTFALL,
    "floor_realised": FloorTotal.EARNED,
    "worst_window_expected": FloorTotal.WORST_EXPECTED,
    "worst_window_realised": FloorTotal.WORST_REALISED,
}


class MetricByPolicy(Mapping[str, Floats]):
    """One metric: policy -> array of shape (epochs, checkpoints), or (epochs, checkpoints, floors)."""

    def __init__(self, values: Mapping[str, Floats]) -> None:
        self._values = dict(values)

    def __getitem__(self, policy: str) -> Floats:
        return self._values[known_name("policy", policy, self._values, " here")]

    def __contains__(self, policy: object) -> bool:
        return isinstance(policy, str) and policy in self._values

    def get(self, policy: str, default: Any = None) -> Any:
        """The values of a policy, or the default where there is no such policy."""
        return self._values.get(policy, default) if isinstance(policy, str) else default

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<metric of {', '.join(self._values)}>"


@dataclass(frozen=True)
class Estimate:
    """A mean over epochs with the half width of its 95 % interval (NaN for one epoch)."""

    mean: float
    half_width: float

    def __str__(self) -> str:
        return f"{self.mean:,.1f}" if math.isnan(self.half_width) else f"{self.mean:,.1f} ± {self.half_width:,.1f}"


class Results(ABC):
    """Metrics at the checkpoints `rounds`, over `epochs` runs of each policy.

    A metric is named as in `metric_names()`. What is asked of it over epochs has a value for each checkpoint, or, for
    the metrics of floors, for each checkpoint and floor.
    """

    rounds: NDArray[np.int64]  # shape (P,)
    policies: tuple[str, ...]
    floors: tuple[str, ...]  # names: arms, then groups
    settings: dict[str, Any]  # instance, horizon, epochs, seed, rewards, window, device, keep, versions

    @property
    def horizon(self) -> int:
        """T."""
        return int(self.settings["horizon"])

    @property
    def epochs(self) -> int:
        """How many runs each policy made."""
        return int(self.settings["epochs"])

    @abstractmethod
    def metric(self, name: str) -> MetricByPolicy:
        """A metric of each single epoch, by name: any of `metric_names()`."""

    @abstractmethod
    def mean(self, metric: str, policy: str) -> Floats:
        """The mean over epochs, shape (P,), or (P, M) for a metric of floors."""

    @abstractmethod
    def variance(self, metric: str, policy: str) -> Floats:
        """The unbiased variance of an epoch's value; NaN for one epoch."""

    @abstractmethod
    def quantile(self, metric: str, policy: str, q: float) -> Floats:
        """The value that a share `q` of the epochs do not exceed: that of rank floor(q (epochs - 1)), from 0."""

    @abstractmethod
    def histogram(self, metric: str, policy: str, floor: str | None = None) -> tuple[Floats, NDArray[np.int64]]:
        """How the epochs are spread at the last checkpoint: the edges of bins, one more than counts, and the counts.

        The bins have constant relative width, and one around 0.
        """

    def standard_error(self, metric: str, policy: str) -> Floats:
        """The standard error of the mean; NaN for one epoch."""
        return np.asarray(np.sqrt(self.variance(metric, policy)) / math.sqrt(self.epochs))

    def estimate(self, metric: str, policy: str, floor: str | None = None) -> Estimate:
        """The mean with its 95 % interval at the last checkpoint, for a metric of floors that of one `floor`."""
        place = (-1, *self._floor_place(metric, floor))
        mean = float(self.mean(metric, policy)[place])
        if self.epochs < 2:
            return Estimate(mean, math.nan)
        error = float(self.standard_error(metric, policy)[place])
        return Estimate(mean, student_quantile(self.epochs - 1) * error)

    def summary(self) -> dict[str, dict[str, Estimate]]:
        """Policy -> metric -> mean and 95 % interval over epochs, at the last checkpoint."""
        return {policy: {name: self.estimate(name, policy) for name in (*SUMS, *SHARES)} for policy in self.policies}

    def _check_metric(self, name: str) -> None:
        known_name("metric", name, metric_names())

    def _check_policy(self, policy: str) -> None:
        known_name("policy", policy, self.policies, " here")

    def _floor_place(self, metric: str, floor: str | None) -> tuple[int, ...]:
        """Where a floor's values are, behind the place of the checkpoint."""
        self._check_metric(metric)
        if metric not in BY_FLOOR:
            if floor is not None:
                raise InvalidInputError(
                    f"Metric {metric!r} is not one of floors, so floor must be None, got {shown(floor)}."
                )
            return ()
        if not isinstance(floor, str) or floor not in self.floors:
            raise UnknownNameError(
                f"Metric {metric!r} is of one floor of {', '.join(self.floors)}, got {shown(floor)}."
            )
        return (self.floors.index(floor),)

    @property
    def regret(self) -> MetricByPolicy:
        """R_T: (f* - f(w(t)))_+ summed over rounds."""
        return self.metric("regret")

    @property
    def violation(self) -> MetricByPolicy:
        """V_T: (lambda_k - g_k(w(t)))_+ summed over rounds and floors."""
        return self.metric("violation")

    @property
    def regret_plus_violation(self) -> MetricByPolicy:
        """R_T + V_T."""
        return self.metric("regret_plus_violation")

    @property
    def signed_regret(self) -> MetricByPolicy:
        """f* - f(w(t)) summed over rounds, good and bad rounds set off against each other."""
        return self.metric("signed_regret")

    @property
    def signed_violation(self) -> MetricByPolicy:
        """The sum over floors of (sum over rounds of lambda_k - g_k(w(t)))_+."""
        return self.metric("signed_violation")

    @property
    def performance(self) -> MetricByPolicy:
        """f(w(t)) summed over rounds."""
        return self.metric("performance")

    @property
    def realised_revenue(self) -> MetricByPolicy:
        """Rewards summed over rounds."""
        return self.metric("realised_revenue")

    @property
    def optimal_set_share(self) -> MetricByPolicy:
        """Share of rounds with I_t = I*."""
        return self.metric("optimal_set_share")

    @property
    def fallback_share(self) -> MetricByPolicy:
        """Share of rounds planned with LP(UCB, UCB) because the rule's own problem was infeasible."""
        return self.metric("fallback_share")

    @property
    def infeasible_share(self) -> MetricByPolicy:
        """Share of rounds in which LP(UCB, UCB) was infeasible as well."""
        return self.metric("infeasible_share")

    @property
    def floor_realised(self) -> MetricByPolicy:
        """Realised revenue of each floor's arms, shape (epochs, checkpoints, floors)."""
        return self.metric("floor_realised")

    @property
    def worst_window_expected(self) -> MetricByPolicy:
        """Worst shortfall per round of each floor's expected revenue over any window so far."""
        return self.metric("worst_window_expected")

    @property
    def worst_window_realised(self) -> MetricByPolicy:
        """Worst shortfall per round of each floor's realised revenue over any window so far."""
        return self.metric("worst_window_realised")


def metric_names() -> tuple[str, ...]:
    """Every metric that there is."""
    return (*SUMS, *SHARES, *BY_FLOOR)


def estimate(values: Floats) -> Estimate:
    """Mean of independent runs with the half width of its 95 % interval, by Student's t."""
    if values.size < 2:
        return Estimate(float(values.mean()), math.nan)
    deviation = float(values.std(ddof=1)) / math.sqrt(values.size)
    return Estimate(float(values.mean()), student_quantile(values.size - 1) * deviation)


def student_quantile(degrees: int, coverage: float = 0.95) -> float:
    """t with P(|T| < t) = coverage, by bisection on the finite series for whole degrees of freedom.

    Abramowitz and Stegun, 26.7.3 and 26.7.4; for many degrees the expansion about the normal quantile, 26.7.5, whose
    next term is then below 1e-11.
    """
    if degrees >= MANY_DEGREES:
        return _expanded_quantile(degrees, coverage)
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        angle = (low + high) / 2
        low, high = (angle, high) if _coverage_of_angle(angle, degrees) < coverage else (low, angle)
    return math.sqrt(degrees) * math.tan((low + high) / 2)


def _coverage_of_angle(angle: float, degrees: int) -> float:
    cosine = math.cos(angle)
    term = cosine if degrees % 2 else 1.0
    total = term if degrees > 1 else 0.0
    for step in range(3 if degrees % 2 else 2, degrees - 1, 2):
        term *= cosine * cosine * (step - 1) / step
        total += term
    if degrees % 2:
        return 2.0 / math.pi * (angle + math.sin(angle) * total)
    return math.sin(angle) * total


def _expanded_quantile(degrees: int, coverage: float) -> float:
    x = NormalDist().inv_cdf((1.0 + coverage) / 2.0)
    terms = (
        x,
        (x**3 + x) / 4,
        (5 * x**5 + 16 * x**3 + 3 * x) / 96,
        (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384,
        (79 * x**9 + 776 * x**7 + 1482 * x**5 - 1920 * x**3 - 945 * x) / 92160,
    )
    return math.fsum(term / degrees**power for power, term in enumerate(terms))


def write_table(path: str | os.PathLike[str], rows: Mapping[str, Any], header: Mapping[str, Any]) -> None:
    """Write rows and what goes with them to one Parquet file, whole or not at all."""
    polars = import_polars()
    target = file_path("path", path)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        polars.DataFrame(rows).write_parquet(partial, metadata={"arcbandit": json.dumps(header)})
        os.replace(partial, target)
    except OSError as error:
        raise InvalidInputError(f"{target}: cannot be written ({error.strerror or error}).") from error
    finally:
        partial.unlink(missing_ok=True)


def read_table(path: str | os.PathLike[str], kind: str, version: int) -> tuple[Any, dict[str, Any]]:
    """The rows and the header that `write_table` wrote, if they are a `kind` of this version."""
    polars = import_polars()
    if not file_path("path", path).is_file():
        raise InvalidInputError(f"There is no {kind} file {os.fspath(path)!r}.")
    try:
        header = json.loads(polars.read_parquet_metadata(path)["arcbandit"])
        frame = polars.read_parquet(path)
    except (KeyError, ValueError, polars.exceptions.PolarsError) as error:
        raise InvalidInputError(f"{os.fspath(path)!r} must be a {kind} saved by arcbandit: {error}.") from None
    unfit = f"{os.fspath(path)!r} must be a {kind} saved by arcbandit: its header"
    if not isinstance(header, dict):
        raise InvalidInputError(f"{unfit} is no table.")
    found = header.get("kind", "trace")  # the first traces did not say
    if found != kind:
        raise InvalidInputError(f"{os.fspath(path)!r} must be a {kind}, but is a {found}; load it as one.")
    if header.get("version") != version:
        raise InvalidInputError(f"The {kind} must be of version {version}, got {header.get('version')}.")
    for field in ("rounds", "policies", "floors", "settings"):
        if field not in header:
            raise InvalidInputError(f"{unfit} has no field {field!r}.")
    return frame, header


@contextmanager
def reading(path: str | os.PathLike[str], kind: str) -> Iterator[None]:
    """Refuse a file that says what it is but does not hold it."""
    try:
        yield
    except (KeyError, TypeError, ValueError, import_polars().exceptions.PolarsError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(f"{os.fspath(path)!r} must be a whole {kind}, but it is damaged: {error}.") from None


def import_polars() -> Any:
    """The package that frames and Parquet files need."""
    try:
        import polars
    except ImportError:
        raise MissingExtraError("polars", "frames") from None
    return polars
