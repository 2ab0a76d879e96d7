"""Means, variances and quantiles over epochs, in one pass, so that no epoch need be kept.

Each cell, a metric at a checkpoint (and of a floor, for metrics per floor), has a mean and a sum of squared deviations
(Welford, "Note on a method for calculating corrected sums of squares and products", Technometrics 1962) and counts of
values in bins of constant relative width, from which any quantile follows with a relative error of at most
QUANTILE_ERROR (Masson, Rim, Lee, "DDSketch: a fast and fully-mergeable quantile sketch with relative-error guarantees",
VLDB 2019).

The epochs of a cell are dealt to lanes in turn, which a GPU folds in parallel and which are merged at the end (Chan,
Golub, LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1979). A lane folds its
epochs in order, so the result depends neither on the device nor on how many epochs come at once.
"""

import enum
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcbandit.compilation.compile import entry_kernel, kernel
from arcbandit.simulation.metrics import N_KINDS, N_METRICS

Floats = NDArray[np.float64]

QUANTILE_ERROR = 0.005  # relative
# Values between these sizes are distinguished; a smaller one counts as 0, a larger one as LARGEST.
SMALLEST, LARGEST = 1e-9, 1e12
BIN_RATIO = (1.0 + QUANTILE_ERROR) / (1.0 - QUANTILE_ERROR)
LOG_RATIO = math.log(BIN_RATIO)
BINS_OF_A_SIGN = math.ceil(math.log(LARGEST / SMALLEST) / LOG_RATIO)
N_BINS = 2 * BINS_OF_A_SIGN + 1  # from the most negative to the most positive, 0 in the middle

MOST_LANES = 256
WORTHWHILE_THREADS = 2**15


class Moment(enum.IntEnum):
    """Rows of the moments of a cell."""

    MEAN = 0
    SQUARES = 1  # the sum of squared deviations from the mean
    LOWEST = 2
    HIGHEST = 3


class FoldedEpochs(NamedTuple):
    """What is known of the epochs; of the bins, only those between a cell's lowest and highest value."""

    moments: np.ndarray  # float64, shape (len(Moment), cells)
    first_bin: np.ndarray  # int64, shape (cells,)
    start: np.ndarray  # int64, shape (cells + 1,): where the counts of a cell begin
    counts: np.ndarray  # uint32, the cells one after the other


def part_of(folded: FoldedEpochs, cells: slice) -> FoldedEpochs:
    """What is known of some consecutive cells."""
    start = folded.start[cells.start : cells.stop + 1]
    counts = folded.counts[start[0] : start[-1]]
    return FoldedEpochs(folded.moments[:, cells], folded.first_bin[cells], start - start[0], counts)


def joined(parts: Sequence[FoldedEpochs]) -> FoldedEpochs:
    """The cells of all parts, one part after the other."""
    bins = np.concatenate([np.diff(part.start) for part in parts])
    return FoldedEpochs(
        np.concatenate([part.moments for part in parts], axis=1),
        np.concatenate([part.first_bin for part in parts]),
        np.concatenate([[0], np.cumsum(bins)]),
        np.concatenate([part.counts for part in parts]),
    )


def unknown_cells(count: int, epochs: int) -> FoldedEpochs:
    """Cells for which every epoch's value is NaN."""
    return FoldedEpochs(
        np.full((len(Moment), count), np.nan),
        np.full(count, BINS_OF_A_SIGN),
        np.arange(count + 1),
        np.full(count, epochs, dtype=np.uint32),
    )


def cells_of(n_checkpoints: int, n_floors: int) -> int:
    """How many cells there are: metrics by checkpoint, then kinds by checkpoint by floor, as records hold them."""
    return N_METRICS * n_checkpoints + N_KINDS * n_checkpoints * n_floors


def lanes_of(n_cells: int) -> int:
    """How many lanes the epochs are dealt to: enough threads for a GPU if there are few cells."""
    return max(1, min(MOST_LANES, WORTHWHILE_THREADS // n_cells))


def make_moments(n_cells: int) -> Floats:
    """Moments before the first epoch, shape (lanes, len(Moment), cells)."""
    return np.zeros((lanes_of(n_cells), len(Moment), n_cells))


@kernel
def bin_of(value):
    """The bin of a value."""
    size = abs(value)
    if not size >= SMALLEST:  # NaN too; its quantiles are known to be NaN from the mean
        return BINS_OF_A_SIGN
    steps = min(int(math.log(min(size, LARGEST) / SMALLEST) / LOG_RATIO) + 1, BINS_OF_A_SIGN)
    return BINS_OF_A_SIGN + steps if value > 0.0 else BINS_OF_A_SIGN - steps


@kernel
def take_in_value(value, number, moments, cell):
    """Fold the value of epoch `number`, counted from 1, into the moments of a cell."""
    if number == 1:
        moments[Moment.MEAN, cell], moments[Moment.SQUARES, cell] = 0.0, 0.0
        moments[Moment.LOWEST, cell], moments[Moment.HIGHEST, cell] = value, value
    mean = moments[Moment.MEAN, cell]
    # If every value is the same infinity, their difference is zero, not NaN.
    distance = 0.0 if value == mean else value - mean
    mean += distance / number
    moments[Moment.MEAN, cell] = mean
    moments[Moment.SQUARES, cell] += distance * (value - mean)
    moments[Moment.LOWEST, cell] = min(moments[Moment.LOWEST, cell], value)
    moments[Moment.HIGHEST, cell] = max(moments[Moment.HIGHEST, cell], value)


@kernel
def place_of_cell(cell, n_checkpoints, n_floors):
    """What a cell stands for: (metric, checkpoint, -1) or (kind, checkpoint, floor)."""
    if cell < N_METRICS * n_checkpoints:
        return cell // n_checkpoints, cell % n_checkpoints, -1
    rest = cell - N_METRICS * n_checkpoints
    return rest // (n_checkpoints * n_floors), rest // n_floors % n_checkpoints, rest % n_floors


@kernel
def value_at(records, floor_records, epoch, metric, checkpoint, floor):
    """What an epoch's records hold at the place of a cell."""
    if floor < 0:
        return records[epoch, metric, checkpoint]
    return floor_records[epoch, metric, checkpoint, floor]


@kernel
def take_in_lane(records, floor_records, taken, cell, lane, moments):
    """Fold a lane's epochs of the records into one cell, after `taken` earlier epochs."""
    # Computed once: integer divisions take a GPU longer than all the rest.
    metric, checkpoint, floor = place_of_cell(cell, records.shape[2], floor_records.shape[3])
    n_lanes = moments.shape[0]
    first = (lane - taken) % n_lanes
    number = (taken + first) // n_lanes
    for epoch in range(first, records.shape[0], n_lanes):
        number += 1
        value = value_at(records, floor_records, epoch, metric, checkpoint, floor)
        take_in_value(value, number, moments[lane], cell)


@kernel
def merge_lanes(taken, cell, moments):
    """Merge what the lanes know of a cell, after `taken` epochs, into the first."""
    n_lanes = moments.shape[0]
    for lane in range(1, min(n_lanes, taken)):
        merged = taken // n_lanes * lane + min(taken % n_lanes, lane)
        number = (taken - lane - 1) // n_lanes + 1
        distance = 0.0
        if moments[lane, Moment.MEAN, cell] != moments[0, Moment.MEAN, cell]:
            distance = moments[lane, Moment.MEAN, cell] - moments[0, Moment.MEAN, cell]
        moments[0, Moment.MEAN, cell] += distance * (number / (merged + number))
        moments[0, Moment.SQUARES, cell] += moments[lane, Moment.SQUARES, cell] + distance * distance * (
            merged * (number / (merged + number))
        )
        moments[0, Moment.LOWEST, cell] = min(moments[0, Moment.LOWEST, cell], moments[lane, Moment.LOWEST, cell])
        moments[0, Moment.HIGHEST, cell] = max(moments[0, Moment.HIGHEST, cell], moments[lane, Moment.HIGHEST, cell])


@kernel
def pack_cell(counts, cell, first_bin, start, packed):
    """Copy the counts of the bins that a cell uses to their place among those of all cells."""
    for place in range(start[cell], start[cell + 1]):
        packed[place] = counts[cell, first_bin[cell] + place - start[cell]]


@entry_kernel
def take_in_epochs(records, floor_records, taken, moments, counts):
    """Fold the epochs of the records, after `taken` earlier epochs, into every cell."""
    n_lanes = moments.shape[0]
    for cell in range(moments.shape[2]):
        metric, checkpoint, floor = place_of_cell(cell, records.shape[2], floor_records.shape[3])
        lane, number = taken % n_lanes, taken // n_lanes + 1
        for epoch in range(records.shape[0]):
            value = value_at(records, floor_records, epoch, metric, checkpoint, floor)
            take_in_value(value, number, moments[lane], cell)
            counts[cell, bin_of(value)] += 1
            lane += 1
            if lane == n_lanes:
                lane = 0
                number += 1


@entry_kernel
def merge_all_lanes(taken, moments):
    """`merge_lanes` for every cell."""
    for cell in range(moments.shape[2]):
        merge_lanes(taken, cell, moments)


@entry_kernel
def take_in_values(values, moments, counts):
    """Fold values, one per epoch, into the only cell."""
    for place in range(values.shape[0]):
        take_in_value(values[place], place + 1, moments, 0)
        counts[0, bin_of(values[place])] += 1


@entry_kernel
def find_bins(moments, first_bin, last_bin):
    """Write the first and the last bin that a cell may use, for every cell."""
    for cell in range(moments.shape[1]):
        # The logarithm may round differently on another device: one more bin at either end.
        first_bin[cell] = max(bin_of(moments[Moment.LOWEST, cell]) - 1, 0)
        last_bin[cell] = min(bin_of(moments[Moment.HIGHEST, cell]) + 1, N_BINS - 1)


@entry_kernel
def pack_cells(counts, first_bin, start, packed):
    """`pack_cell` for every cell."""
    for cell in range(counts.shape[0]):
        pack_cell(counts, cell, first_bin, start, packed)


class EpochFolder:
    """Folds the epochs of one policy on the CPU."""

    def __init__(self, n_checkpoints: int, n_floors: int) -> None:
        n_cells = cells_of(n_checkpoints, n_floors)
        self._moments = make_moments(n_cells)
        self._counts = np.zeros((n_cells, N_BINS), dtype=np.uint32)
        self._taken = 0

    def take_in(self, records: Floats, floor_records: Floats) -> None:
        """Fold in the next epochs."""
        take_in_epochs(records, floor_records, self._taken, self._moments, self._counts)
        self._taken += len(records)

    def finish(self) -> FoldedEpochs:
        """The result; no more epochs can be folded in."""
        merge_all_lanes(self._taken, self._moments)
        moments = self._moments[0]
        first_bin, start = bins_in_use(moments)
        packed = np.zeros(start[-1], dtype=np.uint32)
        pack_cells(self._counts, first_bin, start, packed)
        return FoldedEpochs(moments, first_bin, start, packed)


def bins_in_use(moments: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first bin in use of each cell, shape (cells,), and where its counts start among all, shape (cells + 1,)."""
    first_bin, last_bin = (np.zeros(moments.shape[1], dtype=np.int64) for _ in range(2))
    find_bins(moments, first_bin, last_bin)
    return first_bin, np.concatenate([[0], np.cumsum(last_bin - first_bin + 1)])


def bin_edges() -> Floats:
    """The ends of all bins, shape (N_BINS + 1,)."""
    sizes = SMALLEST * BIN_RATIO ** np.arange(BINS_OF_A_SIGN + 1)
    return np.concatenate([-sizes[::-1], sizes])


def bin_values() -> Floats:
    """For each bin a value within a relative QUANTILE_ERROR of every value in it, shape (N_BINS,)."""
    values = bin_edges()[BINS_OF_A_SIGN + 1 : -1] * 2.0 * BIN_RATIO / (1.0 + BIN_RATIO)
    return np.concatenate([-values[::-1], [0.0], values])


def histogram_of_values(values: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """The edges and counts of the bins that these values use."""
    moments, counts = np.zeros((len(Moment), 1)), np.zeros((1, N_BINS), dtype=np.uint32)
    take_in_values(np.ascontiguousarray(values), moments, counts)
    first_bin, start = bins_in_use(moments)
    return histogram_of_bins(int(first_bin[0]), counts[0, first_bin[0] : first_bin[0] + start[1]])


def histogram_of_bins(first_bin: int, counts: NDArray[np.uint32]) -> tuple[Floats, NDArray[np.int64]]:
    """The edges and counts of bins from the first in use to the last."""
    used = np.flatnonzero(counts)
    first, last = used[0], used[-1]
    edges = bin_edges()[first_bin + first : first_bin + last + 2]
    return edges, counts[first : last + 1].astype(np.int64)
