"""The result of a simulation that keeps no single epochs: means, variances and quantiles over all of them."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import InvalidInputError
from arcbandit.inputs.values import choice, share
from arcbandit.simulation.fold import (
    FoldedEpochs,
    Moment,
    bin_values,
    histogram_of_bins,
    joined,
    part_of,
    unknown_cells,
)
from arcbandit.simulation.metrics import (
    BY_FLOOR,
    METRICS,
    N_METRICS,
    SHARES,
    SUMS,
    UNNAMED_FLOOR_TOTALS,
    UNNAMED_TOTALS,
    Kind,
    metric_names,
)
from arcbandit.simulation.results import HEADER_FIELDS, MetricByPolicy, Results
from arcbandit.tables import FrameKind, frame_of, read_table, reading, write_table

Floats = NDArray[np.float64]

SUMMARY_VERSION = 2
UNNAMED_VERSION = 1  # its files hold cells in order, without the names of their metrics
UNNAMED_METRICS = 11  # how many of UNNAMED_TOTALS those files fold
# Columns of a frame, each with the share of epochs below its value.
QUANTILES = {"quantile_05": 0.05, "median": 0.5, "quantile_95": 0.95}


@dataclass(frozen=True, eq=False, repr=False)
class Summary(Results):
    """Metrics at the checkpoints `rounds` over all epochs of each policy; no single epoch is kept.

    Quantiles have a relative error of at most `fold.QUANTILE_ERROR`.

    >>> from arcbandit import paper_instance, simulate
    >>> summary = simulate(paper_instance("nu"), "blp", horizon=200, epochs=5, keep="summary")
    >>> trace = simulate(paper_instance("nu"), "blp", horizon=200, epochs=5, keep="epochs")
    >>> round(float(summary.mean("regret", "blp")[-1] / trace.mean("regret", "blp")[-1]), 9)
    1.0
    """

    rounds: NDArray[np.int64]  # shape (P,)
    policies: tuple[str, ...]
    floors: tuple[str, ...]  # names: arms, then groups
    folded: dict[str, FoldedEpochs]
    settings: dict[str, Any]  # instance, horizon, epochs, seed, rewards, window, device, keep, versions

    def metric(self, name: str) -> MetricByPolicy:
        """Raise, as no single epoch was kept.

        >>> from arcbandit import paper_instance, simulate
        >>> summary = simulate(paper_instance("nu"), "blp", horizon=200, epochs=5, keep="summary")
        >>> try:
        ...     summary.metric("regret")
        ... except InvalidInputError as error:
        ...     print(str(error)[:50])
        Metric 'regret' of single epochs was not kept; sim
        """
        self._check_metric(name)
        self._refuse(f"Metric {name!r}")

    @property
    def records(self) -> Mapping[str, Floats]:
        """Raise, as no record was kept."""
        self._refuse("A record")

    @property
    def floor_records(self) -> Mapping[str, Floats]:
        """Raise, as no record was kept."""
        self._refuse("A record")

    def _refuse(self, what: str) -> NoReturn:
        raise InvalidInputError(
            f"{what} of single epochs was not kept; simulate with keep='epochs' for it, or ask this summary for mean, "
            "standard_error, quantile or histogram."
        )

    def mean(self, metric: str, policy: str) -> Floats:
        """The mean over epochs, shape (P,), or (P, M) for a metric of floors.

        >>> from arcbandit import paper_instance, simulate
        >>> summary = simulate(paper_instance("nu"), "blp", horizon=200, epochs=5, keep="summary", checkpoints=4)
        >>> summary.mean("floor_shortfall", "blp").shape
        (4, 3)
        """
        return np.asarray(self._moment(Moment.MEAN, metric, policy) * self._scale(metric))

    def variance(self, metric: str, policy: str) -> Floats:
        """The unbiased variance of an epoch's value; NaN for one epoch.

        >>> from arcbandit import paper_instance, simulate
        >>> summary = simulate(paper_instance("nu"), "blp", horizon=200, epochs=5, keep="summary", checkpoints=4)
        >>> bool(summary.variance("regret", "blp")[-1] > 0)
        True
        """
        squares = self._moment(Moment.SQUARES, metric, policy) * self._scale(metric) ** 2
        return squares / (self.epochs - 1) if self.epochs > 1 else np.full(squares.shape, np.nan)

    def quantile(self, metric: str, policy: str, q: float) -> Floats:
        """The value that a share `q` of the epochs do not exceed: that of rank floor(q (epochs - 1)), from 0.

        >>> from arcbandit import paper_instance, simulate
        >>> summary = simulate(paper_instance("nu"), "blp", horizon=200, epochs=5, keep="summary", checkpoints=4)
        >>> low, high = summary.quantile("regret", "blp", 0.05), summary.quantile("regret", "blp", 0.95)
        >>> bool((low <= high).all())
        True
        """
        rank = int(share("q", q) * (self.epochs - 1))
        cells = self._cells(metric, policy)
        folded = self.folded[policy]
        centres = bin_values()
        values = np.empty(cells.size)
        for place, cell in enumerate(cells.ravel()):
            counts = folded.counts[folded.start[cell] : folded.start[cell + 1]]
            within = int(np.searchsorted(np.cumsum(counts, dtype=np.int64), rank, side="right"))
            values[place] = centres[folded.first_bin[cell] + within]
        lowest, highest = self._moment(Moment.LOWEST, metric, policy), self._moment(Moment.HIGHEST, metric, policy)
        bounded = np.clip(values.reshape(cells.shape), lowest, highest)
        unknown = np.isnan(self._moment(Moment.MEAN, metric, policy))
        return np.asarray(np.where(unknown, np.nan, bounded) * self._scale(metric))

    def histogram(self, metric: str, policy: str, floor: str | None = None) -> tuple[Floats, NDArray[np.int64]]:
        """The distribution of epochs at the last checkpoint: the edges of bins, one more than counts, and the counts.

        The bins have constant relative width, except for one around 0.

        >>> from arcbandit import paper_instance, simulate
        >>> summary = simulate(paper_instance("nu"), "blp", horizon=200, epochs=5, keep="summary")
        >>> summary.histogram("regret", "blp")[1].sum().item()
        5
        """
        cell = self._cells(metric, policy)[(-1, *self._floor_place(metric, floor))]
        folded = self.folded[policy]
        edges, counts = histogram_of_bins(
            int(folded.first_bin[cell]), folded.counts[folded.start[cell] : folded.start[cell + 1]]
        )
        return edges * float(np.broadcast_to(self._scale(metric), len(self.rounds))[-1]), counts

    def _cells(self, metric: str, policy: str) -> NDArray[np.int64]:
        """The cells of a metric, shape (P,) or (P, M), in the order of `fold.cells_of`."""
        self._check_metric(metric)
        self._check_policy(policy)
        cells = cells_of_metric(metric, len(self.rounds), len(self.floors))
        shape = (len(self.rounds), len(self.floors)) if METRICS[metric].per_floor else (len(self.rounds),)
        return np.arange(cells.start, cells.stop).reshape(shape)

    def _moment(self, row: int, metric: str, policy: str) -> Floats:
        cells = self._cells(metric, policy)
        return np.asarray(self.folded[policy].moments[row, cells])

    def _scale(self, metric: str) -> Any:
        """The factor of a recorded sum: a share is a count over the rounds so far."""
        return 1.0 / self.rounds if METRICS[metric].kind == Kind.SHARE else 1.0

    def to_frame(self, by: str = "policy", *, kind: FrameKind | None = None) -> Any:
        """A frame, one row per policy, metric and checkpoint; with by="floor", the metrics of each floor.

        `kind` is "polars" or "pandas", by default whichever is installed.

        >>> from arcbandit import paper_instance, simulate
        >>> summary = simulate(paper_instance("nu"), "blp", horizon=200, epochs=5, keep="summary")
        >>> summary.to_frame(kind="pandas").columns.tolist()
        ['policy', 'metric', 'round', 'mean', 'standard_error', 'quantile_05', 'median', 'quantile_95']
        """
        choice("by", by, ("policy", "floor"))
        names = BY_FLOOR if by == "floor" else (*SUMS, *SHARES)
        parts = [self._columns(policy, name, by) for policy in self.policies for name in names]
        return frame_of({name: np.concatenate([part[name] for part in parts]) for name in parts[0]}, kind)

    def _columns(self, policy: str, metric: str, by: str) -> dict[str, Any]:
        repeat = len(self.floors) if by == "floor" else 1
        size = len(self.rounds) * repeat
        columns: dict[str, Any] = {
            "policy": np.full(size, policy, dtype=object),
            "metric": np.full(size, metric, dtype=object),
        }
        columns["round"] = np.repeat(self.rounds, repeat)
        if by == "floor":
            columns["floor"] = np.tile(np.array(self.floors, dtype=object), len(self.rounds))
        columns["mean"] = self.mean(metric, policy).ravel()
        columns["standard_error"] = self.standard_error(metric, policy).ravel()
        for name, q in QUANTILES.items():
            columns[name] = self.quantile(metric, policy, q).ravel()
        return columns

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one Parquet file, whole or not at all.

        >>> import pathlib, tempfile
        >>> from arcbandit import paper_instance, simulate
        >>> summary = simulate(paper_instance("nu"), "blp", horizon=200, epochs=5, keep="summary")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     summary.save(pathlib.Path(folder) / "nu.parquet")
        ...     [file.name for file in pathlib.Path(folder).iterdir()]
        ['nu.parquet']
        """
        rows: dict[str, list[Any]] = {name: [] for name in ("policy", "metric", *FoldedEpochs._fields)}
        for policy in self.policies:
            for metric in metric_names():
                part = part_of(self.folded[policy], cells_of_metric(metric, len(self.rounds), len(self.floors)))
                rows["policy"].append(policy)
                rows["metric"].append(metric)
                for field, values in part._asdict().items():
                    rows[field].append(values.ravel())
        header = {
            "rounds": self.rounds.tolist(),
            "policies": self.policies,
            "floors": self.floors,
            "settings": self.settings,
        }
        write_table(path, "summary", SUMMARY_VERSION, rows, header)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Summary":
        """Read what `save` wrote, in this version or an earlier one; a metric that was not recorded then is NaN.

        >>> import pathlib, tempfile
        >>> from arcbandit import paper_instance, simulate
        >>> summary = simulate(paper_instance("nu"), "blp", horizon=200, epochs=5, keep="summary")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     summary.save(pathlib.Path(folder) / "nu.parquet")
        ...     again = Summary.load(pathlib.Path(folder) / "nu.parquet")
        >>> bool((again.mean("regret", "blp") == summary.mean("regret", "blp")).all())
        True
        """
        frame, header = read_table(path, "summary", (UNNAMED_VERSION, SUMMARY_VERSION), HEADER_FIELDS)
        with reading(path, "summary"):
            n_checkpoints, n_floors = len(header["rounds"]), len(header["floors"])
            parts = _named_parts(frame, header["version"] != UNNAMED_VERSION, n_checkpoints, n_floors)
            epochs = int(header["settings"]["epochs"])
            folded = {}
            for policy in header["policies"]:
                cells = []
                for metric in _in_order_of_cells():
                    size = _size(metric, n_checkpoints, n_floors)
                    cells.append(parts[policy].get(metric) or unknown_cells(size, epochs))
                    if cells[-1].first_bin.shape != (size,) or cells[-1].start[-1] != cells[-1].counts.size:
                        raise ValueError(f"{metric} of policy {policy!r} is not whole")
                folded[policy] = joined(cells)
            return cls(
                rounds=np.array(header["rounds"], dtype=np.int64),
                policies=tuple(header["policies"]),
                floors=tuple(header["floors"]),
                folded=folded,
                settings=header["settings"],
            )


def cells_of_metric(metric: str, n_checkpoints: int, n_floors: int) -> slice:
    """The cells of a metric among those that `fold.cells_of` counts."""
    found, size = METRICS[metric], _size(metric, n_checkpoints, n_floors)
    first = N_METRICS * n_checkpoints if found.per_floor else 0
    return slice(first + found.row * size, first + (found.row + 1) * size)


def _size(metric: str, n_checkpoints: int, n_floors: int) -> int:
    return n_checkpoints * n_floors if METRICS[metric].per_floor else n_checkpoints


def _in_order_of_cells() -> list[str]:
    return sorted(metric_names(), key=lambda name: (METRICS[name].per_floor, METRICS[name].row))


def _named_parts(frame: Any, named: bool, n_checkpoints: int, n_floors: int) -> dict[str, dict[str, FoldedEpochs]]:
    """The contents of a file by policy and metric."""
    parts: dict[str, dict[str, FoldedEpochs]] = {policy: {} for policy in frame["policy"]}
    for place, policy in enumerate(frame["policy"]):
        flat = FoldedEpochs(*(frame[field][place].to_numpy() for field in FoldedEpochs._fields))
        folded = flat._replace(moments=flat.moments.reshape(len(Moment), -1))
        if named:
            parts[policy][frame["metric"][place]] = folded
            continue
        first = 0
        for names, size in (
            (UNNAMED_TOTALS[:UNNAMED_METRICS], n_checkpoints),
            (UNNAMED_FLOOR_TOTALS, n_checkpoints * n_floors),
        ):
            for name in names:
                parts[policy][name] = part_of(folded, slice(first, first + size))
                first += size
    return parts
