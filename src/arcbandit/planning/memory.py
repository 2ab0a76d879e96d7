"""The memory that the planner's kernel works in, and the one compiled function that plans in it.

A plan needs some twenty arrays. They lie in one piece of memory, in places that depend on the shape alone, so that it
takes one allocation to have them and one addition to tell compiled code where they are.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcbandit.compilation.compile import bound, entry_kernel
from arcbandit.compilation.packing import config, kind_of, packed, unpacker
from arcbandit.kernels.marks import make_marks
from arcbandit.kernels.planning import Task, plan
from arcbandit.kernels.program import Basis, ByRow, Program, Workspace, make_basis, make_workspace
from arcbandit.kernels.same_share import plan_same_share

Floats = NDArray[np.float64]

WORD = 8  # bytes, to a multiple of which every array is aligned
SHAPES_REMEMBERED = 64

# Arguments of the kernel: a problem that was checked before, and one in whose memory nobody plans again.
TRUSTED = 0.0
NOBODY = 0


class Shape(NamedTuple):
    """What decides how much memory a problem needs."""

    n_arms: int
    n_contexts: int
    n_rows: int  # coupling rows, M
    rows_per_arm: int

    @staticmethod
    def of(program: Program) -> "Shape":
        """The shape of a problem."""
        n_arms, n_contexts = program.objective.shape
        return Shape(n_arms, n_contexts, len(program.floors), program.arm_rows.shape[1])


class Place(NamedTuple):
    """Where an array lies in the memory."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    offset: int  # in bytes


class Layout(NamedTuple):
    """Where the arrays of a shape lie, and the numbers of a packed task less the address of the memory."""

    places: Any  # a Task with a Place for each array
    n_words: int
    numbers: NDArray[np.int64]  # shapes, and offsets in place of addresses
    is_address: NDArray[np.int64]  # 1 in place of an address, otherwise 0
    of_program: dict[str, int]  # where the address of each array of the program stands among the numbers


@functools.lru_cache(SHAPES_REMEMBERED)
def layout_of(shape: Shape) -> Layout:
    """Lay out the memory for problems of this shape."""
    numbers: list[int] = []
    addresses: list[int] = []
    n_bytes = 0

    def place_of(array: NDArray[Any]) -> Any:
        nonlocal n_bytes
        place = Place(array.shape, array.dtype, n_bytes)
        addresses.append(len(numbers))
        numbers.extend([n_bytes, *array.shape])
        n_bytes += -(-array.nbytes // WORD) * WORD
        return place

    program, basis, workspace, *vectors = _example(shape)
    places = Task(
        Program(*map(place_of, program)),
        Basis(*map(place_of, basis)),
        Workspace(*map(place_of, workspace)),
        *map(place_of, vectors),
    )
    is_address = np.zeros(len(numbers), dtype=np.int64)
    is_address[addresses] = 1
    of_program = dict(zip(Program._fields, addresses, strict=False))
    return Layout(places, n_bytes // WORD, np.array(numbers, dtype=np.int64), is_address, of_program)


def _example(shape: Shape) -> Task:
    """A task of this shape, for the shapes and types of its arrays."""
    n_arms, n_contexts, n_rows, rows_per_arm = shape
    matrix = np.empty((n_arms, n_contexts))
    flags = np.empty((n_arms, n_contexts), dtype=np.bool_)
    by_row = np.empty(n_rows)
    arm_rows = np.empty((n_arms, rows_per_arm), dtype=np.int64)
    program = Program(matrix, matrix, matrix, np.empty(2), matrix[0], make_marks(n_contexts), flags, by_row, arm_rows)
    workspace = make_workspace(*shape, shortfall_prices=True)
    return Task(program, make_basis(n_contexts, n_rows), workspace, matrix, by_row, by_row)


class Memory:
    """Memory for plans of one shape, all zero at first."""

    def __init__(self, shape: Shape) -> None:
        self._layout = layout_of(shape)
        self._words = np.zeros(self._layout.n_words)
        places = self.places
        self.basis = Basis(*map(self.array, places.basis))
        self.allocation = self.array(places.allocation)

    @property
    def places(self) -> Any:
        """Where the arrays lie: a Task with a Place for each."""
        return self._layout.places

    def array(self, place: Place) -> NDArray[Any]:
        """The array that lies there."""
        return np.ndarray(place.shape, place.dtype, self._words, place.offset)

    def rows(self, *which: ByRow) -> list[Floats]:
        """Numbers of the workspace, one per coupling row, each of shape (M,)."""
        by_row = self.array(self.places.workspace.by_row)
        return [by_row[row, :-1] for row in which]

    def load(self, program: Program) -> Any:
        """Copy a program of this shape into the memory; return its task, packed."""
        alike = []
        for name, given, place in zip(Program._fields, program, self.places.program, strict=True):
            if given is program.objective and name != "objective":
                alike.append(name)  # which saves a copy
            else:
                self.array(place)[...] = given
        return self.task(*alike)

    def task(self, *alike: str) -> Any:
        """The task to plan what is in this memory, packed, with the objective for the matrices of these names as well.

        It is good for as long as there is the memory.
        """
        if config.DISABLE_JIT:
            program, _, workspace, *vectors = self.places
            own = Program(*map(self.array, program))
            own = own._replace(**dict.fromkeys(alike, own.objective))
            return packed(Task(own, self.basis, Workspace(*map(self.array, workspace)), *map(self.array, vectors)))
        layout = self._layout
        numbers = layout.numbers + self._words.ctypes.data * layout.is_address
        for name in alike:
            numbers[layout.of_program[name]] = numbers[layout.of_program["objective"]]
        return numbers


@functools.cache
def planning_kernel() -> Callable[..., tuple[int, bool, float]]:
    """`kernels.planning.plan`, compiled once for all who plan from Python."""
    kind = kind_of(_example(Shape(1, 1, 1, 1)))
    compiled: Callable[..., tuple[int, bool, float]] = bound(entry_kernel, plan, unpack_task=unpacker(kind)).compiled
    return compiled


@functools.cache
def sharing_kernel() -> Callable[..., tuple[int, float]]:
    """`kernels.same_share.plan_same_share`, compiled once for all who plan from Python, when one first needs it."""
    kind = kind_of(_example(Shape(1, 1, 1, 1)))
    entry = bound(entry_kernel, plan_same_share, unpack_task=unpacker(kind))
    compiled: Callable[..., tuple[int, float]] = entry.compiled
    return compiled
