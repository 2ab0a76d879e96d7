"""The result of a simulation that keeps every epoch: each metric of each policy, at the checkpoints."""

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcbandit.estimates import Estimate, estimate
from arcbandit.inputs.values import choice, share
from arcbandit.simulation.fold import histogram_of_values
from arcbandit.simulation.metrics import (
    BY_FLOOR,
    METRICS,
    N_KINDS,
    N_TOTALS,
    SHARES,
    SUMS,
    UNNAMED_FLOOR_TOTALS,
    UNNAMED_TOTALS,
    Kind,
)
from arcbandit.simulation.results import HEADER_FIELDS, MetricByPolicy, Results
from arcbandit.tables import FrameKind, frame_of, import_polars, read_table, reading, write_table

Floats = NDArray[np.float64]

TRACE_VERSION = 3
UNNAMED_VERSION = 2  # its files hold records by row, without the names of their metrics


@dataclass(frozen=True, eq=False, repr=False)
class Trace(Results):
    """Metrics at the checkpoints `rounds`; `records` and `floor_records` hold the sums behind them.

    >>> from arcbandit import paper_instance, simulate
    >>> trace = simulate(paper_instance("nu"), ["blp", "olp"], horizon=200, epochs=3)
    >>> trace.policies, trace.floors, trace.regret["blp"].shape == (3, len(trace.rounds))
    (('blp', 'olp'), ('1', '2', '3'), True)
    >>> bool(trace.mean("violation", "blp")[-1] < trace.mean("violation", "olp")[-1])
    True
    """

    rounds: NDArray[np.int64]  # shape (P,)
    policies: tuple[str, ...]
    floors: tuple[str, ...]  # names: arms, then groups
    records: dict[str, Floats]  # shape (epochs, N_TOTALS, P)
    floor_records: dict[str, Floats]  # shape (epochs, N_KINDS, P, M)
    settings: dict[str, Any]  # instance, horizon, epochs, seed, rewards, window, device, keep, versions

    def metric(self, name: str) -> MetricByPolicy:
        """A metric of each single epoch, by name, as in docs/metrics.md.

        >>> from arcbandit import paper_instance, simulate
        >>> trace = simulate(paper_instance("nu"), "blp", horizon=200, epochs=3, checkpoints=4)
        >>> trace.metric("regret")["blp"].shape
        (3, 4)
        """
        self._check_metric(name)
        found = METRICS[name]
        records = self.floor_records if found.per_floor else self.records
        values = {policy: record[:, found.row] for policy, record in records.items()}
        if found.kind == Kind.SHARE:
            values = {policy: rounds / self.rounds for policy, rounds in values.items()}
        return MetricByPolicy(values)

    def mean(self, metric: str, policy: str) -> Floats:
        """The mean over epochs, shape (P,), or (P, M) for a metric of floors.

        >>> from arcbandit import paper_instance, simulate
        >>> trace = simulate(paper_instance("nu"), "blp", horizon=200, epochs=3, checkpoints=4)
        >>> bool((trace.mean("regret", "blp") == trace.regret["blp"].mean(axis=0)).all())
        True
        """
        return np.asarray(self._values(metric, policy).mean(axis=0))

    def variance(self, metric: str, policy: str) -> Floats:
        """The unbiased variance of an epoch's value; NaN for one epoch.

        >>> from arcbandit import paper_instance, simulate
        >>> trace = simulate(paper_instance("nu"), "blp", horizon=200, epochs=3, checkpoints=4)
        >>> bool(trace.variance("regret", "blp")[-1] > 0)
        True
        """
        values = self._values(metric, policy)
        if len(values) < 2:
            return np.full(values.shape[1:], np.nan)
        with np.errstate(invalid="ignore"):  # before the first window is full, the worst one is minus infinity
            return np.asarray(values.var(axis=0, ddof=1))

    def quantile(self, metric: str, policy: str, q: float) -> Floats:
        """The value that a share `q` of the epochs do not exceed: that of rank floor(q (epochs - 1)), from 0.

        >>> from arcbandit import paper_instance, simulate
        >>> trace = simulate(paper_instance("nu"), "blp", horizon=200, epochs=3, checkpoints=4)
        >>> bool((trace.quantile("regret", "blp", 1.0) == trace.regret["blp"].max(axis=0)).all())
        True
        """
        values = self._values(metric, policy)
        rank = int(share("q", q) * (len(values) - 1))
        return np.asarray(np.sort(values, axis=0)[rank])

    def histogram(self, metric: str, policy: str, floor: str | None = None) -> tuple[Floats, NDArray[np.int64]]:
        """The distribution of epochs at the last checkpoint: the edges of bins, one more than counts, and the counts.

        The bins have constant relative width, except for one around 0.

        >>> from arcbandit import paper_instance, simulate
        >>> trace = simulate(paper_instance("nu"), "blp", horizon=200, epochs=3)
        >>> edges, counts = trace.histogram("regret", "blp")
        >>> counts.sum().item(), len(edges) == len(counts) + 1
        (3, True)
        """
        return histogram_of_values(self._at_the_end(metric, policy, floor))

    def estimate(self, metric: str, policy: str, floor: str | None = None) -> Estimate:
        """The mean with its 95 % interval at the last checkpoint; for a metric of floors, of one `floor`.

        >>> from arcbandit import paper_instance, simulate
        >>> trace = simulate(paper_instance("nu"), "blp", horizon=200, epochs=3)
        >>> found = trace.estimate("floor_shortfall", "blp", floor="2")
        >>> bool(found.mean == trace.mean("floor_shortfall", "blp")[-1, 1]), found.half_width > 0
        (True, True)
        """
        return estimate(self._at_the_end(metric, policy, floor))

    def _at_the_end(self, metric: str, policy: str, floor: str | None) -> Floats:
        at_floor = self._floor_place(metric, floor)
        last = self._values(metric, policy)[:, -1]
        return last[:, at_floor[0]] if at_floor else last

    def _values(self, metric: str, policy: str) -> Floats:
        self._check_metric(metric)
        self._check_policy(policy)
        return self.metric(metric)[policy]

    def to_frame(self, by: str = "epoch", *, kind: FrameKind | None = None) -> Any:
        """A frame, one row per policy, epoch and checkpoint; with by="floor", per floor as well.

        `kind` is "polars" or "pandas", by default whichever is installed.

        >>> from arcbandit import paper_instance, simulate
        >>> trace = simulate(paper_instance("nu"), "blp", horizon=200, epochs=3, checkpoints=4)
        >>> trace.to_frame(kind="pandas").groupby("round")["regret"].mean().index.tolist()
        [1, 6, 34, 200]
        """
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
            names = BY_FLOOR
        else:
            names = (*SUMS, *SHARES)
        for name in names:
            columns[name] = np.concatenate([self.metric(name)[policy].ravel() for policy in self.policies])
        return frame_of(columns, kind)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one Parquet file, whole or not at all.

        >>> import pathlib, tempfile
        >>> from arcbandit import paper_instance, simulate
        >>> trace = simulate(paper_instance("nu"), "blp", horizon=200, epochs=3)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     trace.save(pathlib.Path(folder) / "nu.parquet")
        ...     [file.name for file in pathlib.Path(folder).iterdir()]
        ['nu.parquet']
        """
        rows: dict[str, Any] = {
            "policy": [policy for policy in self.policies for _ in range(self.epochs)],
            "epoch": list(range(self.epochs)) * len(self.policies),
        }
        for name, metric in METRICS.items():
            records = self.floor_records if metric.per_floor else self.records
            values = np.concatenate([records[policy][:, metric.row] for policy in self.policies])
            rows[name] = values.reshape(len(values), -1)
        header = {
            "metrics": list(METRICS),
            "rounds": self.rounds.tolist(),
            "policies": self.policies,
            "floors": self.floors,
            "settings": self.settings,
        }
        write_table(path, "trace", TRACE_VERSION, rows, header)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Trace":
        """Read what `save` wrote, in this version or an earlier one; a metric that was not recorded then is NaN.

        >>> import pathlib, tempfile
        >>> from arcbandit import paper_instance, simulate
        >>> trace = simulate(paper_instance("nu"), "blp", horizon=200, epochs=3)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     trace.save(pathlib.Path(folder) / "nu.parquet")
        ...     again = Trace.load(pathlib.Path(folder) / "nu.parquet")
        >>> bool((again.regret["blp"] == trace.regret["blp"]).all())
        True
        """
        frame, header = read_table(path, "trace", (UNNAMED_VERSION, TRACE_VERSION), HEADER_FIELDS)
        with reading(path, "trace"):
            frame = frame.sort("epoch")
            n_rounds, n_floors = len(header["rounds"]), len(header["floors"])
            recorded = _named_records(frame, header, n_rounds, n_floors)
            records = np.full((frame.height, N_TOTALS, n_rounds), np.nan)
            floor_records = np.full((frame.height, N_KINDS, n_rounds, n_floors), np.nan)
            for name, metric in METRICS.items():
                if name in recorded:
                    part = floor_records if metric.per_floor else records
                    part[:, metric.row] = recorded[name].reshape(part[:, metric.row].shape)
            played_by = frame["policy"].to_numpy()
            for policy in header["policies"]:
                if (played_by == policy).sum() != header["settings"]["epochs"]:
                    raise ValueError(f"policy {policy!r} does not have every epoch")
            return cls(
                rounds=np.array(header["rounds"], dtype=np.int64),
                policies=tuple(header["policies"]),
                floors=tuple(header["floors"]),
                records={policy: records[played_by == policy] for policy in header["policies"]},
                floor_records={policy: floor_records[played_by == policy] for policy in header["policies"]},
                settings=header["settings"],
            )


def _named_records(frame: Any, header: dict[str, Any], n_rounds: int, n_floors: int) -> dict[str, Floats]:
    """The contents of a file by name of metric, in the order of its rows."""
    if header["version"] != UNNAMED_VERSION:
        per_floor = {name for name, metric in METRICS.items() if metric.per_floor}
        return {
            name: _matrix(frame[name], n_rounds * (n_floors if name in per_floor else 1))
            for name in header["metrics"]
            if name in METRICS
        }
    named: dict[str, Floats] = {}
    for column, names, width in (
        ("record", UNNAMED_TOTALS, n_rounds),
        ("floor_record", UNNAMED_FLOOR_TOTALS, n_rounds * n_floors),
    ):
        records = _matrix(frame[column], len(names) * width)
        named |= {name: records[:, place * width : (place + 1) * width] for place, name in enumerate(names)}
    return named


def _matrix(lists: Any, width: int) -> Floats:
    """A column of lists, which must be this long, as rows of a matrix."""
    polars = import_polars()
    return np.asarray(lists.cast(polars.Array(polars.Float64, width)).to_numpy())
