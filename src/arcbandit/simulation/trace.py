"""What a simulation leaves: every metric of every policy and epoch, at the checkpoints."""

import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import InvalidInputError, MissingExtraError
from arcbandit.simulation import loop

Floats = NDArray[np.float64]

TRACE_VERSION = 1

# Metrics that are sums over rounds, by their row in the record.
SUMS = {
    "regret": loop.REGRET,
    "violation": loop.VIOLATION,
    "signed_regret": loop.SIGNED_REGRET,
    "performance": loop.PERFORMANCE,
    "realised_revenue": loop.REALISED,
}
# Metrics that are shares of the rounds so far; they exist for rules that plan.
SHARES = {
    "optimal_set_share": loop.OPTIMAL_SET,
    "fallback_share": loop.ON_FALLBACK,
    "infeasible_share": loop.INFEASIBLE,
    "gave_up_share": loop.GAVE_UP,
}
# Metrics of each floor (arms, then groups).
BY_FLOOR = {
    "floor_shortfall": loop.SHORTFALL,
    "floor_realised": loop.EARNED,
    "worst_window_expected": loop.WORST_EXPECTED,
    "worst_window_realised": loop.WORST_REALISED,
}


class MetricByPolicy(Mapping[str, Floats]):
    """One metric: policy -> array of shape (epochs, checkpoints), or (epochs, checkpoints, floors)."""

    def __init__(self, values: Mapping[str, Floats]) -> None:
        self._values = dict(values)

    def __getitem__(self, policy: str) -> Floats:
        return self._values[policy]

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


@dataclass(frozen=True, eq=False)
class Trace:
    """Metrics at the checkpoints `rounds`; `records` and `floor_records` hold the sums they come from."""

    rounds: NDArray[np.int64]  # shape (P,)
    policies: tuple[str, ...]
    floors: tuple[str, ...]  # names: arms, then groups
    records: dict[str, Floats]  # shape (epochs, N_TOTALS, P)
    floor_records: dict[str, Floats]  # shape (epochs, 4, P, M)
    settings: dict[str, Any]  # instance, horizon, epochs, seed, rewards, window, versions

    @property
    def horizon(self) -> int:
        """T."""
        return int(self.settings["horizon"])

    @property
    def epochs(self) -> int:
        """How many runs each policy made."""
        return int(self.settings["epochs"])

    def metric(self, name: str) -> MetricByPolicy:
        """A metric by name: any of `metric_names()`."""
        if name in SUMS:
            return MetricByPolicy({policy: record[:, SUMS[name]] for policy, record in self.records.items()})
        if name in SHARES:
            return MetricByPolicy(
                {policy: record[:, SHARES[name]] / self.rounds for policy, record in self.records.items()}
            )
        if name == "signed_violation":
            row = BY_FLOOR["floor_shortfall"]
            return MetricByPolicy(
                {policy: np.maximum(record[:, row], 0.0).sum(axis=2) for policy, record in self.floor_records.items()}
            )
        if name == "regret_plus_violation":
            return MetricByPolicy(
                {
                    policy: record[:, SUMS["regret"]] + record[:, SUMS["violation"]]
                    for policy, record in self.records.items()
                }
            )
        if name in BY_FLOOR:
            return MetricByPolicy({policy: record[:, BY_FLOOR[name]] for policy, record in self.floor_records.items()})
        raise InvalidInputError(f"There is no metric {name!r}; known are {', '.join(metric_names())}.")

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

    def summary(self) -> dict[str, dict[str, Estimate]]:
        """Policy -> metric -> mean and 95 % interval over epochs, at the last checkpoint."""
        table: dict[str, dict[str, Estimate]] = {policy: {} for policy in self.policies}
        for name in (*SUMS, "regret_plus_violation", "signed_violation", *SHARES):
            for policy, values in self.metric(name).items():
                table[policy][name] = estimate(values[:, -1])
        return table

    def to_frame(self, by: str = "epoch") -> Any:
        """A polars frame, a row for each policy, epoch and checkpoint; with by="floor", for each floor as well."""
        polars = _polars()
        if by not in ("epoch", "floor"):
            raise InvalidInputError(f"by must be 'epoch' or 'floor', got {by!r}.")
        n_epochs, n_rounds, n_floors = self.epochs, len(self.rounds), len(self.floors)
        repeat = n_floors if by == "floor" else 1
        columns: dict[str, Any] = {
            "policy": np.repeat(np.array(self.policies, dtype=object), n_epochs * n_rounds * repeat).tolist(),
            "epoch": np.tile(np.repeat(np.arange(n_epochs), n_rounds * repeat), len(self.policies)),
            "round": np.tile(np.repeat(self.rounds, repeat), len(self.policies) * n_epochs),
        }
        if by == "floor":
            columns["floor"] = list(self.floors) * (len(self.policies) * n_epochs * n_rounds)
            names = tuple(BY_FLOOR)
        else:
            names = (*SUMS, "regret_plus_violation", "signed_violation", *SHARES)
        for name in names:
            columns[name] = np.concatenate([self.metric(name)[policy].ravel() for policy in self.policies])
        return polars.DataFrame(columns)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one Parquet file, whole or not at all."""
        polars = _polars()
        target = Path(path)
        rows: dict[str, list[Any]] = {"policy": [], "epoch": [], "record": [], "floor_record": []}
        for policy in self.policies:
            for epoch in range(self.epochs):
                rows["policy"].append(policy)
                rows["epoch"].append(epoch)
                rows["record"].append(self.records[policy][epoch].ravel().tolist())
                rows["floor_record"].append(self.floor_records[policy][epoch].ravel().tolist())
        header = json.dumps(
            {
                "version": TRACE_VERSION,
                "rounds": self.rounds.tolist(),
                "policies": self.policies,
                "floors": self.floors,
                "settings": self.settings,
            }
        )
        partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
        try:
            polars.DataFrame(rows).write_parquet(partial, metadata={"arcbandit": header})
            os.replace(partial, target)
        finally:
            partial.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Trace":
        """Read what `save` wrote."""
        polars = _polars()
        if not Path(path).is_file():
            raise InvalidInputError(f"There is no trace file {os.fspath(path)!r}.")
        try:
            header = json.loads(polars.read_parquet_metadata(path)["arcbandit"])
            frame = polars.read_parquet(path)
        except (KeyError, ValueError, polars.exceptions.PolarsError) as error:
            raise InvalidInputError(f"{os.fspath(path)!r} must be a trace saved by arcbandit: {error}.") from None
        if header["version"] != TRACE_VERSION:
            raise InvalidInputError(f"The trace must be of version {TRACE_VERSION}, got {header['version']}.")
        rounds = np.array(header["rounds"], dtype=np.int64)
        shape = (loop.N_TOTALS, len(rounds))
        floor_shape = (len(BY_FLOOR), len(rounds), len(header["floors"]))
        records: dict[str, list[Floats]] = {policy: [] for policy in header["policies"]}
        floor_records: dict[str, list[Floats]] = {policy: [] for policy in header["policies"]}
        for row in frame.sort("epoch").iter_rows(named=True):
            records[row["policy"]].append(np.array(row["record"]).reshape(shape))
            floor_records[row["policy"]].append(np.array(row["floor_record"]).reshape(floor_shape))
        return cls(
            rounds=rounds,
            policies=tuple(header["policies"]),
            floors=tuple(header["floors"]),
            records={policy: np.array(parts) for policy, parts in records.items()},
            floor_records={policy: np.array(parts) for policy, parts in floor_records.items()},
            settings=header["settings"],
        )


def metric_names() -> tuple[str, ...]:
    """Every metric that `Trace.metric` knows."""
    return (*SUMS, "regret_plus_violation", "signed_violation", *SHARES, *BY_FLOOR)


def estimate(values: Floats) -> Estimate:
    """Mean of independent runs with the half width of its 95 % interval, by Student's t."""
    if values.size < 2:
        return Estimate(float(values.mean()), math.nan)
    deviation = float(values.std(ddof=1)) / math.sqrt(values.size)
    return Estimate(float(values.mean()), student_quantile(values.size - 1) * deviation)


def student_quantile(degrees: int, coverage: float = 0.95) -> float:
    """t with P(|T| < t) = coverage, by bisection on the finite series for whole degrees of freedom.

    Abramowitz and Stegun, 26.7.3 and 26.7.4.
    """
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


def _polars() -> Any:
    try:
        import polars
    except ImportError:
        raise MissingExtraError("polars", "frames") from None
    return polars
