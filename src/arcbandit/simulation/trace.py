"""What a simulation leaves of every single epoch: each metric of each policy, at the checkpoints."""

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcbandit.inputs.values import choice, share
from arcbandit.simulation.fold import histogram_of_values
from arcbandit.simulation.metrics import N_KINDS, N_TOTALS
from arcbandit.simulation.results import (
    BY_FLOOR,
    SHARES,
    SUMS,
    Estimate,
    MetricByPolicy,
    Results,
    estimate,
    import_polars,
    read_table,
    reading,
    write_table,
)

Floats = NDArray[np.float64]

TRACE_VERSION = 2


@dataclass(frozen=True, eq=False)
class Trace(Results):
    """Metrics at the checkpoints `rounds`; `records` and `floor_records` hold the sums they come from."""

    rounds: NDArray[np.int64]  # shape (P,)
    policies: tuple[str, ...]
    floors: tuple[str, ...]  # names: arms, then groups
    records: dict[str, Floats]  # shape (epochs, N_TOTALS, P)
    floor_records: dict[str, Floats]  # shape (epochs, N_KINDS, P, M)
    settings: dict[str, Any]  # instance, horizon, epochs, seed, rewards, window, device, keep, versions

    def metric(self, name: str) -> MetricByPolicy:
        """A metric of each single epoch, by name: any of `metric_names()`."""
        self._check_metric(name)
        if name in SUMS:
            return MetricByPolicy({policy: record[:, SUMS[name]] for policy, record in self.records.items()})
        if name in SHARES:
            return MetricByPolicy(
                {policy: record[:, SHARES[name]] / self.rounds for policy, record in self.records.items()}
            )
        return MetricByPolicy({policy: record[:, BY_FLOOR[name]] for policy, record in self.floor_records.items()})

    def mean(self, metric: str, policy: str) -> Floats:
        """The mean over epochs, shape (P,), or (P, M) for a metric of floors."""
        return np.asarray(self._values(metric, policy).mean(axis=0))

    def variance(self, metric: str, policy: str) -> Floats:
        """The unbiased variance of an epoch's value; NaN for one epoch."""
        values = self._values(metric, policy)
        if len(values) < 2:
            return np.full(values.shape[1:], np.nan)
        with np.errstate(invalid="ignore"):  # a window not yet full has no worst one, but minus infinity
            return np.asarray(values.var(axis=0, ddof=1))

    def quantile(self, metric: str, policy: str, q: float) -> Floats:
        """The value that a share `q` of the epochs do not exceed: that of rank floor(q (epochs - 1)), from 0."""
        values = self._values(metric, policy)
        rank = int(share("q", q) * (len(values) - 1))
        return np.asarray(np.sort(values, axis=0)[rank])

    def histogram(self, metric: str, policy: str, floor: str | None = None) -> tuple[Floats, NDArray[np.int64]]:
        """How the epochs are spread at the last checkpoint: the edges of bins, one more than counts, and the counts.

        The bins have constant relative width, and one around 0.
        """
        return histogram_of_values(self._at_the_end(metric, policy, floor))

    def estimate(self, metric: str, policy: str, floor: str | None = None) -> Estimate:
        """The mean with its 95 % interval at the last checkpoint, for a metric of floors that of one `floor`."""
        return estimate(self._at_the_end(metric, policy, floor))

    def _at_the_end(self, metric: str, policy: str, floor: str | None) -> Floats:
        at_floor = self._floor_place(metric, floor)
        last = self._values(metric, policy)[:, -1]
        return last[:, at_floor[0]] if at_floor else last

    def _values(self, metric: str, policy: str) -> Floats:
        self._check_metric(metric)
        self._check_policy(policy)
        return self.metric(metric)[policy]

    def to_frame(self, by: str = "epoch") -> Any:
        """A polars frame, a row for each policy, epoch and checkpoint; with by="floor", for each floor as well."""
        polars = import_polars()
        choice("by", by, ("epoch", "floor"))
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
            names = (*SUMS, *SHARES)
        for name in names:
            columns[name] = np.concatenate([self.metric(name)[policy].ravel() for policy in self.policies])
        return polars.DataFrame(columns)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one Parquet file, whole or not at all."""
        rows: dict[str, list[Any]] = {"policy": [], "epoch": [], "record": [], "floor_record": []}
        for policy in self.policies:
            for epoch in range(self.epochs):
                rows["policy"].append(policy)
                rows["epoch"].append(epoch)
                rows["record"].append(self.records[policy][epoch].ravel().tolist())
                rows["floor_record"].append(self.floor_records[policy][epoch].ravel().tolist())
        header = {
            "kind": "trace",
            "version": TRACE_VERSION,
            "rounds": self.rounds.tolist(),
            "policies": self.policies,
            "floors": self.floors,
            "settings": self.settings,
        }
        write_table(path, rows, header)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Trace":
        """Read what `save` wrote."""
        frame, header = read_table(path, "trace", TRACE_VERSION)
        with reading(path, "trace"):
            rounds = np.array(header["rounds"], dtype=np.int64)
            shape = (N_TOTALS, len(rounds))
            floor_shape = (N_KINDS, len(rounds), len(header["floors"]))
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
