"""The kernels of a GPU, written out for a rule and a shape.

What the CPU keeps in a policy's arrays, a thread keeps in local arrays, whose shapes must be known when the kernel is
compiled. The kernel is therefore written out for each field of the tuples that `play_rounds` takes, and starts from the
values of a new policy.
"""

import math
from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple, cast

import numpy as np
from numba import types
from numpy.typing import NDArray

from arcbandit.compilation.compile import config, kernel
from arcbandit.compilation.cuda import compile_for_device, with_shape
from arcbandit.kernels.budget import Budget
from arcbandit.kernels.confidence import Statistics
from arcbandit.kernels.fading import Fading
from arcbandit.kernels.ledger import Ledger
from arcbandit.kernels.memory import Memory
from arcbandit.kernels.planner import Orders, Planner
from arcbandit.kernels.program import Basis, Workspace
from arcbandit.kernels.same_share import Shared
from arcbandit.kernels.soft_floors import Soft
from arcbandit.kernels.unplayed import Unplayed
from arcbandit.policies.learner import KnownProblem, Learner, Stream
from arcbandit.simulation.explored import Explored
from arcbandit.simulation.fold import bin_of, merge_lanes, pack_cell, place_of_cell, take_in_lane, value_at
from arcbandit.simulation.late import Late
from arcbandit.simulation.meters import Meters, Record, make_meters
from arcbandit.simulation.world import World

Floats = NDArray[np.float64]


# What threads only read stays in memory that all threads share; estimated probabilities belong to one epoch.
READ_ONLY = ("world", "learner.problem", "learner.settings", "learner.dials", "learner.statistics.dropped")
WRITTEN = ("learner.problem.context_probabilities",)
# Observed rewards: their number is not part of the shape, otherwise each set of them would need its own kernel.
OF_ANY_LENGTH = ("world.samples", "world.sample_start")


class Field(NamedTuple):
    """An array or number somewhere in nested tuples, shared by all threads or local.

    Without a shape it is a number or an array of any length.
    """

    path: str  # the names of the fields that lead to it, joined by dots
    shape: tuple[int, ...] = ()
    dtype: str = ""

    @property
    def variable(self) -> str:
        """Its name in the kernel."""
        return self.path.replace(".", "_")

    @property
    def view(self) -> str:
        """The name of the function that tells the compiler its shape."""
        return f"with_shape_{'_'.join(str(length) for length in self.shape)}"

    @property
    def shared(self) -> bool:
        """Whether all threads read the same one."""
        return self.path not in WRITTEN and any(
            self.path == part or self.path.startswith(f"{part}.") for part in READ_ONLY
        )


def _sparing(planner: Planner) -> Planner:
    return planner._replace(unplayed=cast(Unplayed, ()), orders=cast(Orders, ()))


def tuples_of(learner: Learner, window: int) -> dict[str, Any]:
    """The arguments of `play_rounds` that hold a policy's arrays, before anything was seen."""
    # Threads have no memory to spare for what makes a CPU fast with many pairs, or with plans of two bases in turn.
    if len(learner.planner) > 0:
        learner = learner._replace(planner=_sparing(learner.planner))
    if len(learner.budget) > 0:
        learner = learner._replace(budget=learner.budget._replace(planner=_sparing(learner.budget.planner)))
    return {"learner": learner, "meters": make_meters(learner, window)}


def entries_of(tuples: dict[str, Any]) -> list[tuple[Field, Any]]:
    """The fields of nested tuples with their values."""
    entries: list[tuple[Field, Any]] = []
    for name, value in tuples.items():
        if isinstance(value, tuple):
            named = {} if value == () else value._asdict()  # type: ignore[attr-defined]
            entries += entries_of({f"{name}.{field}": part for field, part in named.items()})
        else:
            sized = isinstance(value, np.ndarray) and name not in OF_ANY_LENGTH and value.dtype.names is None
            entries.append((Field(name, value.shape, value.dtype.name) if sized else Field(name), value))
    return entries


def tuple_source(name: str, kind: Any, fields: Iterable[Field]) -> str:
    """The source that builds a nested tuple of this type from the variables of these fields."""
    parts = []
    for part, inner in ((f"{name}.{field}", kind.__annotations__[field]) for field in kind._fields):
        if any(field.path == part for field in fields):
            parts.append(Field(part).variable)
        elif any(field.path.startswith(f"{part}.") for field in fields):
            parts.append(tuple_source(part, NESTED[inner], fields))
        else:
            parts.append("()")  # what is not kept: the planner of a rule that does not plan, the sums of a given sigma
    return f"{kind.__name__}({', '.join(parts)})"


TUPLES = (
    World,
    Late,
    Learner,
    KnownProblem,
    Statistics,
    Memory,
    Planner,
    Workspace,
    Orders,
    Unplayed,
    Shared,
    Soft,
    Basis,
    Budget,
    Ledger,
    Fading,
    Meters,
    Explored,
    Stream,
    Record,
)
NESTED: dict[Any, Any] = {kind: kind for kind in TUPLES}


def start_values(entries: list[tuple[Field, Any]]) -> Floats:
    """What the local arrays hold before round 1, concatenated; whole numbers are small enough to be exact floats."""
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
def play_kernel(play_rounds: Any, fields: tuple[Field, ...]) -> Any:
    """The kernel in which each thread plays an epoch by the loop of a rule."""
    types_by_name = {name: getattr(types, name) for name in ("float64", "int64", "int32", "int8", "uint8")} | {
        "bool": types.boolean
    }
    tuples = {kind.__name__: kind for kind in TUPLES}
    copies = {"copy_1": copy_1, "copy_2": copy_2, "copy_3": copy_3}
    views = {field.view: with_shape(field.shape) for field in fields if field.shared and field.shape}
    names = copies | views | tuples | types_by_name | {"play_rounds": play_rounds}
    return compile_for_device("play_epochs", play_source(fields), names)


def play_source(fields: tuple[Field, ...]) -> str:
    """The source of the kernel."""
    local = []
    offset = 0
    # Whole numbers of 32 bits are arms, contexts, rows or indices of an array. A thread should keep little in memory,
    # as all threads of a multiprocessor share a cache.
    # Not in the simulator, which would compute sums of bytes in a byte, as NumPy does and Numba does not.
    small = max(length for field in fields for length in field.shape) < 2**7 and not config.ENABLE_CUDASIM
    for field in fields:
        if field.shared:
            if field.shape:
                local.append(f"{field.variable} = {field.view}({field.variable})")
            continue
        # A local array has at least one element; an empty one is a slice of it.
        shape = field.shape if math.prod(field.shape) else (1,) * len(field.shape)
        part = "" if shape == field.shape else f"[{', '.join(':0' if length == 0 else ':1' for length in field.shape)}]"
        dtype = "int8" if small and field.dtype == "int32" else field.dtype
        local.append(f"{field.variable} = cuda.local.array({shape}, {dtype}){part}")
        local.append(f"copy_{len(shape)}(start, {offset}, {field.variable})")
        offset += math.prod(field.shape)
    world, learner, meters = (tuple_source(kind.__name__.lower(), kind, fields) for kind in (World, Learner, Meters))
    lines = [
        "place = cuda.grid(1)",
        "if place >= count:",
        "    return",
        *local,
        f"play_rounds({world}, {learner}, {meters}, Stream(seed, first_epoch + place, 0), 1, horizon, "
        "Record(checkpoints, records[place], floor_records[place]), (), 0)",
    ]
    shared = ", ".join(field.variable for field in fields if field.shared)
    head = f"def play_epochs({shared}, start, seed, first_epoch, count, horizon, checkpoints, records, floor_records):"
    return "\n    ".join([head, *lines]) + "\n"


CLEAR_SOURCE = """
def clear_counts(counts):
    cell = cuda.grid(1)
    if cell < counts.shape[0]:
        for place in range(counts.shape[1]):
            counts[cell, place] = 0
"""

FOLD_SOURCE = """
def fold_epochs(records, floor_records, taken, moments, counts):
    place = cuda.grid(1)
    if place >= moments.shape[0] * moments.shape[2]:
        return
    lane, cell = place // moments.shape[2], place % moments.shape[2]
    take_in_lane(records, floor_records, taken, cell, lane, moments)
    metric, checkpoint, floor = place_of_cell(cell, records.shape[2], floor_records.shape[3])
    for epoch in range(lane, records.shape[0], moments.shape[0]):
        value = value_at(records, floor_records, epoch, metric, checkpoint, floor)
        cuda.atomic.add(counts, (cell, bin_of(value)), 1)
"""

MERGE_SOURCE = """
def merge_cells(taken, moments):
    cell = cuda.grid(1)
    if cell < moments.shape[2]:
        merge_lanes(taken, cell, moments)
"""

PACK_SOURCE = """
def pack_counts(counts, first_bin, start, packed):
    cell = cuda.grid(1)
    if cell < counts.shape[0]:
        pack_cell(counts, cell, first_bin, start, packed)
"""


@cache
def clear_kernel() -> Any:
    """The kernel in which each thread sets the counts of one cell to 0."""
    return compile_for_device("clear_counts", CLEAR_SOURCE, {})


@cache
def fold_kernel() -> Any:
    """The kernel in which each thread folds one lane's epochs of a chunk into one cell."""
    names = {kernel.__name__: kernel for kernel in (take_in_lane, place_of_cell, value_at, bin_of)}
    return compile_for_device("fold_epochs", FOLD_SOURCE, names)


@cache
def merge_kernel() -> Any:
    """The kernel in which each thread merges the lanes of one cell."""
    return compile_for_device("merge_cells", MERGE_SOURCE, {"merge_lanes": merge_lanes})


@cache
def pack_kernel() -> Any:
    """The kernel in which each thread copies the counts of one cell."""
    return compile_for_device("pack_counts", PACK_SOURCE, {"pack_cell": pack_cell})
