"""Epochs on a GPU: one thread plays one epoch, by the kernels that the CPU runs.

What the CPU keeps in arrays of a policy, a thread keeps in local arrays, whose shapes must be known when the kernel is
compiled. The kernel is therefore written out for each rule and shape, field by field of the tuples that
`play_rounds` takes, and starts from the values that a policy fresh from its shell has.
"""

import math
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from arcbandit.errors import InvalidInputError
from arcbandit.kernels.compile import config, kernel
from arcbandit.kernels.confidence import Statistics
from arcbandit.kernels.cuda import compile_for_device, device_available, import_cuda
from arcbandit.kernels.program import Workspace
from arcbandit.policies.base import Policy
from arcbandit.policies.olp import OLP
from arcbandit.policies.state import KnownProblem, Memory
from arcbandit.simulation.fold import (
    N_BINS,
    N_MOMENTS,
    FoldedEpochs,
    bins_in_use,
    cells_of,
    pack_cell,
    take_in_cell,
)
from arcbandit.simulation.loop import N_KINDS, N_TOTALS, Meters, World, make_meters, play_rounds

Floats = NDArray[np.float64]

DEVICES = ("cpu", "cuda", "auto")
# CUDA gives a thread 512 KiB of local memory; half of it is left for what the compiler keeps there.
LARGEST_STATE = 256 * 1024
# A launch of more epochs keeps no more of a GPU busy.
LARGEST_CHUNK = 2**17
THREADS_OF_A_BLOCK = 64
# Of the memory that is free: the rest is for the local arrays of the threads, and for other programs.
SHARE_FOR_RECORDS = 0.5
SHARE_FOR_STATES = 0.5


class Allocation(NamedTuple):
    """The allocation as a tuple of one array, so that it is written out as the others are."""

    shares: NDArray[np.float64]  # w(t), shape (K, C)


# The arguments of play_rounds that hold arrays, by name and in its order.
TUPLES: dict[str, type] = {
    "world": World,
    "problem": KnownProblem,
    "statistics": Statistics,
    "memory": Memory,
    "workspace": Workspace,
    "allocation": Allocation,
    "meters": Meters,
}
# What no rule writes to stays in the memory that all threads share; estimated probabilities are an epoch's own.
READ_ONLY = {("world", field) for field in World._fields} | {
    ("problem", field) for field in KnownProblem._fields if field != "context_probabilities"
}


class Field(NamedTuple):
    """One field of one tuple: shared by all threads, or a local array of this shape and type."""

    tuple_name: str
    name: str
    shape: tuple[int, ...] = ()
    dtype: str = ""

    @property
    def variable(self) -> str:
        """Its name in the kernel."""
        return f"{self.tuple_name}_{self.name}"

    @property
    def shared(self) -> bool:
        """Whether all threads read the same one."""
        return (self.tuple_name, self.name) in READ_ONLY


def use_cuda(device: str) -> bool:
    """Whether to play on a GPU; refuse a device that is unknown or not there."""
    if device not in DEVICES:
        raise InvalidInputError(f"device must be 'cpu', 'cuda' or 'auto', got {device!r}.")
    if device != "cuda":
        return device == "auto" and device_available()
    import_cuda()  # raises where the extra is missing
    if not device_available():
        raise InvalidInputError(
            "device 'cuda' needs an NVIDIA GPU with its driver, and the CUDA toolkit that comes with the extra 'cuda' "
            "(pip install 'arcbandit[cuda]'), but one of them is missing; play with device 'cpu' or 'auto'."
        )
    return True


def simulated() -> bool:
    """Whether Numba plays the device itself, in Python, which shows what the kernels do where there is no GPU."""
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
    n_rows = bound._problem.floors.shape[0]
    entries = entries_of({"world": world} | tuples_of(bound, window))
    play = play_kernel(int(bound.rule), tuple(field for field, _ in entries))
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
        play[blocks_for(count), THREADS_OF_A_BLOCK](
            *shared, start, bound.seed, first, count, horizon, places, records, floor_records
        )
        cuda.synchronize()
        yield records[:count], floor_records[:count]


def to_host(array: Any) -> Floats:
    """The array, copied from the device's memory if it is there."""
    return np.asarray(array.copy_to_host() if hasattr(array, "copy_to_host") else array)


FOLD_SOURCE = """
def fold_epochs(records, floor_records, taken, moments, counts):
    cell = cuda.grid(1)
    if cell >= counts.shape[0]:
        return
    if taken == 0:
        counts[cell] = 0
    take_in_cell(records, floor_records, taken, cell, moments, counts)
"""

PACK_SOURCE = """
def pack_counts(counts, first_bin, start, packed):
    cell = cuda.grid(1)
    if cell < counts.shape[0]:
        pack_cell(counts, cell, first_bin, start, packed)
"""


@cache
def fold_kernel() -> Any:
    """The kernel in which each thread takes the epochs of a chunk into one cell, in their order."""
    return compile_source("fold_epochs", FOLD_SOURCE, take_in_cell=take_in_cell)


@cache
def pack_kernel() -> Any:
    """The kernel in which each thread copies the counts of one cell."""
    return compile_source("pack_counts", PACK_SOURCE, pack_cell=pack_cell)


class DeviceFolder:
    """Takes in the epochs of one policy on the device, as `EpochFolder` does on the CPU."""

    def __init__(self, n_checkpoints: int, n_floors: int) -> None:
        cuda = import_cuda()
        n_cells = cells_of(n_checkpoints, n_floors)
        self._moments = cuda.device_array((N_MOMENTS, n_cells))
        self._counts = cuda.device_array((n_cells, N_BINS), dtype=np.uint32)
        self._blocks = blocks_for(n_cells)
        self._taken = 0

    def take_in(self, records: Any, floor_records: Any) -> None:
        """Take in epochs that follow those so far."""
        fold_kernel()[self._blocks, THREADS_OF_A_BLOCK](
            records, floor_records, self._taken, self._moments, self._counts
        )
        self._taken += len(records)

    def finish(self) -> FoldedEpochs:
        """What they come to."""
        cuda = import_cuda()
        moments = to_host(self._moments)
        first_bin, start = bins_in_use(moments)
        packed = cuda.device_array(int(start[-1]), dtype=np.uint32)
        pack_kernel()[self._blocks, THREADS_OF_A_BLOCK](
            self._counts, cuda.to_device(first_bin), cuda.to_device(start), packed
        )
        return FoldedEpochs(moments, first_bin, start, packed.copy_to_host())


def blocks_for(count: int) -> int:
    """How many blocks hold that many threads."""
    return -(-count // THREADS_OF_A_BLOCK)


def epochs_of_a_chunk(epochs: int, bytes_of_an_epoch: int) -> int:
    """How many epochs are played at once."""
    free = import_cuda().current_context().get_memory_info().free
    return max(1, min(epochs, LARGEST_CHUNK, int(min(SHARE_FOR_RECORDS * free / bytes_of_an_epoch, LARGEST_CHUNK))))


def tuples_of(bound: Policy, window: int) -> dict[str, Any]:
    """The tuples of TUPLES that a policy brings, nothing seen yet."""
    return {
        "problem": bound._problem,
        "statistics": bound._statistics,
        "memory": bound._memory,
        "workspace": bound._workspace,
        "allocation": Allocation(bound._allocation),
        "meters": make_meters(bound._problem.floors.shape[0], window),
    }


def entries_of(tuples: dict[str, Any]) -> list[tuple[Field, Any]]:
    """The fields of the tuples with their values."""
    entries = []
    for tuple_name, values in tuples.items():
        for name, value in zip(values._fields, values, strict=True):
            own = (tuple_name, name) not in READ_ONLY
            field = Field(tuple_name, name, value.shape, value.dtype.name) if own else Field(tuple_name, name)
            entries.append((field, value))
    return entries


def start_values(entries: list[tuple[Field, Any]]) -> Floats:
    """What the local arrays hold before round 1, one after the other; whole numbers are small enough to be floats."""
    return np.concatenate([value.ravel().astype(np.float64) for field, value in entries if not field.shared])


@kernel
def copy_1(start: Any, offset: int, target: Any) -> None:
    """Copy a stretch of `start` into a vector."""
    for place in range(target.shape[0]):
        target[place] = start[offset + place]


@kernel
def copy_2(start: Any, offset: int, target: Any) -> None:
    """Copy a stretch of `start` into a matrix."""
    for row in range(target.shape[0]):
        copy_1(start, offset + row * target.shape[1], target[row])


@kernel
def copy_3(start: Any, offset: int, target: Any) -> None:
    """Copy a stretch of `start` into a stack of matrices."""
    for layer in range(target.shape[0]):
        copy_2(start, offset + layer * target.shape[1] * target.shape[2], target[layer])


@cache
def play_kernel(rule: int, fields: tuple[Field, ...]) -> Any:
    """The kernel in which each thread plays an epoch of this rule.

    The rule is a constant of it, so that the compiler drops the code of all others.
    """
    types_by_name = {"float64": types.float64, "int64": types.int64, "bool": types.boolean}
    tuples = {kind.__name__: kind for kind in TUPLES.values()}
    copies = {"copy_1": copy_1, "copy_2": copy_2, "copy_3": copy_3}
    return compile_source(
        "play_epochs", play_source(rule, fields), play_rounds=play_rounds, **copies, **tuples, **types_by_name
    )


def compile_source(name: str, source: str, **names: Any) -> Any:
    """The kernel of that name in a text that uses `cuda` and the names given."""
    # Numba's simulator puts its own module in place of `cuda`, which it looks for among the kernel's globals.
    scope = {"cuda": import_cuda()} | names
    exec(compile(source, f"<kernel {name}>", "exec"), scope)
    return compile_for_device(scope[name])


def play_source(rule: int, fields: tuple[Field, ...]) -> str:
    """The kernel as text."""
    local = []
    offset = 0
    for field in fields:
        if field.shared:
            continue
        # A local array has at least one element; an empty one is a slice of it.
        shape = tuple(max(1, length) for length in field.shape)
        part = "" if shape == field.shape else f"[{', '.join(f':{length}' for length in field.shape)}]"
        local.append(f"{field.variable} = cuda.local.array({shape}, {field.dtype}){part}")
        local.append(f"copy_{len(shape)}(start, {offset}, {field.variable})")
        offset += math.prod(field.shape)
    tuples = [
        f"{kind.__name__}({', '.join(field.variable for field in fields if field.tuple_name == name)})"
        for name, kind in TUPLES.items()
    ]
    tuples = [text + ".shares" if text.startswith(Allocation.__name__) else text for text in tuples]
    lines = [
        "place = cuda.grid(1)",
        "if place >= count:",
        "    return",
        *local,
        f"play_rounds({rule}, {', '.join(tuples)}, seed, first_epoch + place, 1, horizon, checkpoints, "
        "records[place], floor_records[place])",
    ]
    shared = ", ".join(field.variable for field in fields if field.shared)
    head = f"def play_epochs({shared}, start, seed, first_epoch, count, horizon, checkpoints, records, floor_records):"
    return "\n    ".join([head, *lines]) + "\n"


def state_bytes(bound: Policy, window: int = 0) -> int:
    """Bytes of the local arrays with which a thread plays this policy."""
    return sum(value.nbytes for field, value in entries_of(tuples_of(bound, window)) if not field.shared)


def check_state(bound: Policy, window: int) -> None:
    """Refuse a policy whose state is more than a thread may have."""
    needed, allowed = state_bytes(bound, window), largest_state_bytes()
    if needed > allowed:
        n_arms, n_contexts = bound._problem.available.shape
        watched = f" and a window of {window:,} rounds" if window else ""
        raise InvalidInputError(
            f"{n_arms} arms, {n_contexts} contexts, {bound._problem.floors.shape[0]} floors{watched} need {needed:,} "
            f"bytes for each epoch on device 'cuda', which allows {allowed:,}; play with device 'cpu'."
        )


def largest_state_bytes() -> int:
    """What the state of one epoch may take: a thread has so much, and every thread that can run must find room."""
    if simulated():
        return LARGEST_STATE
    cuda = import_cuda()
    device = cuda.get_current_device()
    threads = device.MULTIPROCESSOR_COUNT * device.MAX_THREADS_PER_MULTIPROCESSOR
    return int(min(SHARE_FOR_STATES * cuda.current_context().get_memory_info().total / threads, LARGEST_STATE))


def most_contexts(n_arms: int, allowed: int = LARGEST_STATE) -> int:
    """The most contexts that so many arms, each with its floor, may have; 0 if none."""
    n_contexts = 0
    while state_bytes(OLP(np.zeros(n_arms), contexts=n_contexts + 1)) <= allowed:
        n_contexts += 1
    return n_contexts
