"""Epochs on a GPU: one thread plays one epoch, by the kernels that the CPU runs."""

import math
import warnings
from collections.abc import Iterator
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from arcbandit.compilation.compile import config
from arcbandit.compilation.cuda import device_available, import_cuda
from arcbandit.errors import InvalidInputError
from arcbandit.inputs.values import choice
from arcbandit.policies.base import Policy
from arcbandit.policies.budget import allocating_kernel
from arcbandit.policies.learner import forgets
from arcbandit.policies.olp import OLP
from arcbandit.simulation.choices import Device
from arcbandit.simulation.device_kernels import (
    clear_kernel,
    entries_of,
    fold_kernel,
    merge_kernel,
    pack_kernel,
    play_kernel,
    start_values,
    tuples_of,
)
from arcbandit.simulation.fold import N_BINS, FoldedEpochs, bins_in_use, cells_of, make_moments
from arcbandit.simulation.loop import audits_soft_floors, is_on_cadence, loop_of
from arcbandit.simulation.metrics import N_KINDS, N_TOTALS
from arcbandit.simulation.world import World

Floats = NDArray[np.float64]

DEVICES = get_args(Device)
# CUDA gives each thread 512 KiB of local memory; half of it is left to the compiler.
LARGEST_STATE = 256 * 1024
# Eight times as many as an H200 runs at once: a larger launch hardly keeps a GPU busier.
LARGEST_CHUNK = 8 * 33_792
THREADS_OF_A_BLOCK = 64
# Shares of the device's memory: of what is free, for the records of a chunk; of all, for the local arrays of threads.
SHARE_FOR_RECORDS = 0.25
SHARE_FOR_STATES = 0.5


def use_cuda(device: str) -> bool:
    """Whether to play on a GPU; refuse a device that is unknown or not available."""
    choice("device", device, DEVICES)
    if device != "cuda":
        return device == "auto" and device_available()
    import_cuda()  # raises if the extra is missing
    if not device_available():
        raise InvalidInputError(
            "device 'cuda' needs an NVIDIA GPU with its driver, and the CUDA toolkit that comes with the extra 'cuda' "
            "(pip install 'arcbandit[cuda]'), but one of them is missing; play with device 'cpu' or 'auto'."
        )
    return True


def simulated() -> bool:
    """Whether Numba simulates the device in Python, which shows what the kernels do without a GPU."""
    return bool(config.ENABLE_CUDASIM)


def device_name() -> str:
    """What the GPU calls itself."""
    return "CUDA simulator" if simulated() else str(import_cuda().get_current_device().name)


def play_on_device(
    bound: Policy, world: World, horizon: int, epochs: int, checkpoints: NDArray[np.int64], window: int
) -> Iterator[tuple[Any, Any]]:
    """Play the epochs in chunks that fit the device's memory.

    Yields the records in that memory, shapes (chunk, N_TOTALS, P) and (chunk, N_KINDS, P, M), valid until the next.
    """
    cuda = import_cuda()
    learner, rule = bound.learner, type(bound)
    n_rows = learner.problem.floors.shape[0]
    entries = entries_of({"world": world} | tuples_of(learner, window))
    loop = loop_of(
        allocating_kernel(rule.allocate, learner),
        rule.learn,
        rule.plans,
        world.audited,
        on_cadence=is_on_cadence(learner),
        fades=forgets(learner),
        soft_floors=rule.soft_floors,
        audits_soft_floors=audits_soft_floors(rule),
    )
    play = play_kernel(loop, tuple(field for field, _ in entries))
    shared = [
        cuda.to_device(value) if isinstance(value, np.ndarray) else value for field, value in entries if field.shared
    ]
    start = cuda.to_device(start_values(entries))
    places = cuda.to_device(checkpoints)
    shape, floor_shape = (N_TOTALS, len(checkpoints)), (N_KINDS, len(checkpoints), n_rows)
    chunk = epochs_of_a_chunk(epochs, 8 * (math.prod(shape) + math.prod(floor_shape)))
    records = cuda.device_array((chunk, *shape))
    floor_records = cuda.device_array((chunk, *floor_shape))
    for first in range(0, epochs, chunk):
        count = min(chunk, epochs - first)
        launch(play, count, *shared, start, bound.seed, first, count, horizon, places, records, floor_records)
        cuda.synchronize()
        yield records[:count], floor_records[:count]


def to_host(array: Any) -> Floats:
    """The array, copied from the device's memory if it is there."""
    return np.asarray(array.copy_to_host() if hasattr(array, "copy_to_host") else array)


class DeviceFolder:
    """Folds the epochs of one policy on the device, as `EpochFolder` does on the CPU."""

    def __init__(self, n_checkpoints: int, n_floors: int) -> None:
        cuda = import_cuda()
        self._n_cells = cells_of(n_checkpoints, n_floors)
        self._moments = cuda.to_device(make_moments(self._n_cells))
        self._counts = cuda.device_array((self._n_cells, N_BINS), dtype=np.uint32)
        launch(clear_kernel(), self._n_cells, self._counts)
        self._taken = 0

    def take_in(self, records: Any, floor_records: Any) -> None:
        """Fold in the next epochs."""
        threads = self._moments.shape[0] * self._n_cells
        launch(fold_kernel(), threads, records, floor_records, self._taken, self._moments, self._counts)
        self._taken += records.shape[0]

    def finish(self) -> FoldedEpochs:
        """The result; no more epochs can be folded in."""
        cuda = import_cuda()
        launch(merge_kernel(), self._n_cells, self._taken, self._moments)
        moments = to_host(self._moments[0])
        first_bin, start = bins_in_use(moments)
        packed = cuda.device_array(int(start[-1]), dtype=np.uint32)
        places = (cuda.to_device(first_bin), cuda.to_device(start))
        launch(pack_kernel(), self._n_cells, self._counts, *places, packed)
        return FoldedEpochs(moments, first_bin, start, packed.copy_to_host())


def launch(compiled: Any, threads: int, *arguments: Any) -> None:
    """Run a kernel on at least this many threads."""
    blocks = -(-threads // THREADS_OF_A_BLOCK)
    with warnings.catch_warnings():
        # A user who asks for few epochs knows that they do not fill a GPU.
        warnings.filterwarnings("ignore", message=".*Grid size")
        compiled[blocks, THREADS_OF_A_BLOCK](*arguments)


def epochs_of_a_chunk(epochs: int, bytes_of_an_epoch: int) -> int:
    """How many epochs are played at once."""
    free = import_cuda().current_context().get_memory_info().free
    return max(1, int(min(epochs, LARGEST_CHUNK, SHARE_FOR_RECORDS * free / bytes_of_an_epoch)))


def state_bytes(bound: Policy, window: int = 0) -> int:
    """Bytes of the local arrays in which a thread plays this policy, if no integer were stored in a single byte."""
    return sum(value.nbytes for field, value in entries_of(tuples_of(bound.learner, window)) if not field.shared)


def state_fits(bound: Policy, window: int) -> bool:
    """Whether the state of a policy fits in a thread."""
    return state_bytes(bound, window) <= largest_state_bytes()


def check_state(bound: Policy, window: int) -> None:
    """Refuse a policy whose state does not fit in a thread."""
    if not state_fits(bound, window):
        needed, allowed = state_bytes(bound, window), largest_state_bytes()
        n_arms, n_contexts = bound.learner.problem.available.shape
        n_floors = bound.learner.problem.floors.shape[0]
        watched = f" and a window of {window:,} rounds" if window else ""
        raise InvalidInputError(
            f"{n_arms} arms, {n_contexts} contexts, {n_floors} floors{watched} need {needed:,} "
            f"bytes per epoch on device 'cuda', which allows {allowed:,}; play with device 'cpu'."
        )


def largest_state_bytes() -> int:
    """The most bytes that the state of one epoch may take, so that all threads that can run at once have room."""
    if simulated():
        return LARGEST_STATE
    cuda = import_cuda()
    device = cuda.get_current_device()
    threads = device.MULTIPROCESSOR_COUNT * device.MAX_THREADS_PER_MULTIPROCESSOR
    return int(min(SHARE_FOR_STATES * cuda.current_context().get_memory_info().total / threads, LARGEST_STATE))


def most_contexts(n_arms: int, allowed: int = LARGEST_STATE) -> int:
    """The most contexts that an instance with this many arms, each with its floor, may have; 0 if none."""
    n_contexts = 0
    while state_bytes(OLP(np.zeros(n_arms), contexts=n_contexts + 1)) <= allowed:
        n_contexts += 1
    return n_contexts
