"""Floors: the revenue per round guaranteed to each arm, and to groups of arms, in one table with a kind.

The rows of the table are the floors of all K arms, in the order of the arms, then those of G groups; M = K + G. Plans,
their prices, programs of the planner and results of a simulation number floors in this order.
"""

import enum
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import InvalidInputError, InvalidInstanceError
from arcbandit.inputs.values import checked_name, index_of, instance_of, is_whole, items, non_negative, raised_as, shown
from arcbandit.kernels.program import NO_FLOOR
from arcbandit.showing import html_of, html_table
from arcbandit.tables import FrameKind, frame_of

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

MOST_ROWS_PRINTED = 30
MOST_ARMS_PRINTED = 6  # of a group


class FloorKind(enum.StrEnum):
    """Whose revenue a floor is about; equal to the word itself."""

    ARM = "arm"
    GROUP = "group"


@dataclass(frozen=True)
class GroupFloor:
    """A floor on the total revenue per round of a subset of arms, given by name or index.

    Subsets of different group floors may overlap.

    >>> from arcbandit import Instance, plan
    >>> others = GroupFloor("others", ("guest", "new"), 2.5)
    >>> arms = ["house", "guest", "new"]
    >>> instance = Instance([[9, 3], [0, 4], [2, 2]], [0, 0, 0], [0.5, 0.5], arms=arms, group_floors=[others])
    >>> plan(instance).group_revenue.tolist()
    [2.5]
    """

    name: str
    arms: tuple[str | int, ...]
    floor: float

    def __post_init__(self) -> None:
        with raised_as(InvalidInstanceError):
            object.__setattr__(self, "name", checked_name("The name of a group floor", self.name))
            owner = f"group floor {self.name!r}"
            arms = tuple(items(f"arms of {owner}", self.arms, "arm names or indices"))
            if not arms:
                raise InvalidInstanceError(f"arms of {owner} must hold at least one arm, got none.")
            object.__setattr__(self, "arms", tuple(_arm_of_group(owner, arm) for arm in arms))
            object.__setattr__(self, "floor", non_negative(f"floor of {owner}", self.floor))

    def to_dict(self) -> dict[str, Any]:
        """Return the group floor as plain data; its keys are the arguments.

        >>> GroupFloor("others", ("guest", "new"), 2.5).to_dict()
        {'name': 'others', 'arms': ['guest', 'new'], 'floor': 2.5}
        """
        return {"name": self.name, "arms": list(self.arms), "floor": self.floor}


class Floor(NamedTuple):
    """One row of the table."""

    name: str
    kind: FloorKind
    amount: float  # revenue per round
    arms: tuple[str, ...]  # whose revenue counts, by name


class CouplingRows(NamedTuple):
    """The floors as the planner's kernels take them (`kernels.program.Program`), in arrays that the caller owns."""

    floors: Floats  # NO_FLOOR for a row that requires nothing, shape (M,)
    arm_rows: NDArray[np.int64]  # rows of each arm, counted from 1, shape (K, R)


@dataclass(frozen=True, eq=False, repr=False)
class Floors:
    """The floors of the arms and of groups of them; immutable.

    >>> floors = Floors.of(["house", "guest"], [1.0, 0.25], [GroupFloor("both", ("house", "guest"), 1.5)])
    >>> floors.amounts.tolist(), floors.members.astype(int).tolist()
    ([1.0, 0.25, 1.5], [[1, 0], [0, 1], [1, 1]])
    >>> print(floors)
    name   kind   floor  arms
    house  arm    1      house
    guest  arm    0.25   guest
    both   group  1.5    house, guest
    """

    arms: tuple[str, ...]  # names of all arms, K of them
    amounts: Floats  # revenue per round, shape (M,), read-only
    groups: tuple[GroupFloor, ...]  # the floors of groups as they were given, their arms by name, G of them

    def __post_init__(self) -> None:
        self.amounts.setflags(write=False)

    @staticmethod
    def of(arms: Sequence[str], amounts: Sequence[float] | Floats, groups: Sequence[GroupFloor] = ()) -> "Floors":
        """Make the table of checked floors: `amounts` are those of the arms, and `groups` give their arms by name."""
        of_arms = np.array(amounts, dtype=np.float64)
        of_all = np.concatenate([of_arms, [group.floor for group in groups]]) if groups else of_arms
        return Floors(tuple(arms), of_all, tuple(groups))

    def __len__(self) -> int:
        return len(self.amounts)

    def __iter__(self) -> Iterator[Floor]:
        return map(Floor, self.names, self.kinds, self.amounts.tolist(), self._arms_counted)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        # A tuple of floats, not bytes: 0.0 and -0.0 are equal and must hash alike.
        return hash((self.arms, tuple(self.amounts.tolist())))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {_counted(self.n_arms, 'arm')}, {_counted(len(self.groups), 'group')}>"

    def __str__(self) -> str:
        columns = {name: [_printed(value) for value in column] for name, column in self.to_dict().items()}
        columns["arms"] = columns.pop("arms")  # the widest goes last
        lines = zip(*([name, *column[:MOST_ROWS_PRINTED]] for name, column in columns.items()), strict=True)
        widths = [max(map(len, [name, *column[:MOST_ROWS_PRINTED]])) for name, column in columns.items()]
        rows = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
        more = len(self) - MOST_ROWS_PRINTED
        return "\n".join([*rows, f"... and {more:,} more"] if more > 0 else rows)

    # A copy made by the default protocol would have writable arrays.
    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        return type(self), tuple(getattr(self, part.name) for part in fields(self))

    @property
    def n_arms(self) -> int:
        """K."""
        return len(self.arms)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The name of the arm or of the group of each floor, M of them."""
        return (*self.arms, *(group.name for group in self.groups))

    @cached_property
    def kinds(self) -> tuple[FloorKind, ...]:
        """Whether each floor is of an arm or of a group, M of them."""
        return (FloorKind.ARM,) * self.n_arms + (FloorKind.GROUP,) * len(self.groups)

    @cached_property
    def members(self) -> Flags:
        """Which arms (columns) each floor (row) counts, shape (M, K), read-only."""
        members = np.vstack([np.eye(self.n_arms, dtype=np.bool_), self.group_members])
        members.setflags(write=False)
        return members

    @cached_property
    def group_members(self) -> Flags:
        """Which arms (columns) each floor of a group (row) counts, shape (G, K), read-only."""
        members = np.zeros((len(self.groups), self.n_arms), dtype=np.bool_)
        for row, columns in enumerate(self._places_of_groups()):
            members[row, columns] = True
        members.setflags(write=False)
        return members

    def rows_of(self, kind: str) -> slice:
        """The rows of one kind, to index anything that has one entry per floor."""
        return slice(0, self.n_arms) if FloorKind(kind) == FloorKind.ARM else slice(self.n_arms, len(self))

    def by_floor(self, by_arm: Floats) -> Floats:
        """For each floor, the sum over the arms that it counts, shape (M,), of one number per arm."""
        return np.concatenate([by_arm, self.group_members @ by_arm]) if self.groups else by_arm

    def by_arm(self, by_floor: Floats) -> Floats:
        """For each arm, the sum over the floors that count it, shape (K,), of one number per floor."""
        n_arms = self.n_arms
        return by_floor[:n_arms] + by_floor[n_arms:] @ self.group_members if self.groups else by_floor

    def rows_of_arms(self) -> list[list[int]]:
        """The rows of each arm, counted from 1: its own floor, then those of its groups."""
        rows = [[arm + 1] for arm in range(self.n_arms)]
        for number, places in enumerate(self._places_of_groups(), start=self.n_arms + 1):
            for arm in places:
                rows[arm].append(number)
        return rows

    def coupling_rows(self, *, zero_floors: bool = False) -> CouplingRows:
        """The floors as rows of a program, in new arrays; those of zero require nothing, unless `zero_floors`."""
        floors = self.amounts.copy() if zero_floors else without_zeros(self.amounts)
        return CouplingRows(floors, arm_rows_of(self.rows_of_arms(), len(self)))

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns as plain lists, as constructors of frames take them."""
        return {
            "name": list(self.names),
            "kind": [str(kind) for kind in self.kinds],
            "arms": [list(counted) for counted in self._arms_counted],
            "floor": self.amounts.tolist(),
        }

    def to_frame(self, *, kind: FrameKind | None = None) -> Any:
        """A frame, one row per floor: of `kind` "polars" or "pandas", by default whichever is installed."""
        return frame_of(self.to_dict(), kind)

    def _repr_html_(self) -> str:
        return html_of(html_table(self.to_dict()))

    def _places_of_groups(self) -> list[list[int]]:
        place = {arm: column for column, arm in enumerate(self.arms)} if self.groups else {}
        return [[place[str(arm)] for arm in group.arms] for group in self.groups]

    @property
    def _arms_counted(self) -> list[tuple[str, ...]]:
        """The arms of each floor by name; those of a group in the order in which they were given."""
        return [(arm,) for arm in self.arms] + [tuple(map(str, group.arms)) for group in self.groups]


def named_groups(
    groups: Iterable[GroupFloor], arms: Sequence[str], *, arms_have_names: bool = True
) -> tuple[GroupFloor, ...]:
    """Return the group floors with their arms by name, so that equal groups compare equal.

    If the arms were not named, groups must give them by index.
    """
    taken = set(arms) if arms_have_names else set()
    place = {arm: row for row, arm in enumerate(arms)}
    named = []
    for position, group in enumerate(items("group_floors", groups, "GroupFloor")):
        instance_of(f"group_floors[{position}]", group, GroupFloor)
        if group.name in taken:
            raise InvalidInputError(
                f"group_floors[{position}] must have a name that no arm and no other group floor has, "
                f"got {group.name!r}."
            )
        taken.add(group.name)
        try:
            members = tuple(arms[index_of("arm", arm, place, named=arms_have_names)] for arm in group.arms)
        except InvalidInputError as error:
            raise InvalidInputError(f"arms of group floor {group.name!r}: {error}") from None
        for at, member in enumerate(members):
            if member in members[:at]:
                raise InvalidInputError(
                    f"arms of group floor {group.name!r} must be unique, got {member!r} more than once."
                )
        named.append(GroupFloor(group.name, members, group.floor))
    return tuple(named)


def without_zeros(amounts: Sequence[float] | Floats) -> Floats:
    """The floors as rows of a program take them: a floor of zero promises nothing, so it has no row.

    With a row, an arm could not be played as soon as its reward is estimated below zero, and could never show that it
    is not.
    """
    floors = np.array(amounts, dtype=np.float64)
    return np.where(floors == 0.0, NO_FLOOR, floors)


def arm_rows_of(rows: Sequence[Sequence[int]], n_rows: int) -> NDArray[np.int64]:
    """`Program.arm_rows`, shape (K, R): arm k is in the rows rows[k], counted from 1, negative for sign -1."""
    # A single column means that row k belongs to arm k alone, so any other single rows get a second column.
    own_row_only = n_rows == len(rows) and all(list(own) == [arm + 1] for arm, own in enumerate(rows))
    if own_row_only:
        return np.arange(1, n_rows + 1, dtype=np.int64).reshape(-1, 1)
    width = max(2, *map(len, rows))
    arm_rows = np.zeros((len(rows), width), dtype=np.int64)
    for arm, own in enumerate(rows):
        arm_rows[arm, : len(own)] = own
    return arm_rows


def _arm_of_group(owner: str, arm: Any) -> str | int:
    if isinstance(arm, str):
        return str(arm)
    if is_whole(arm) and arm >= 0:
        return int(arm)
    raise InvalidInputError(f"arms of {owner} must be names or indices from 0, got {shown(arm)}.")


def _counted(count: int, thing: str) -> str:
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def _printed(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        more = len(value) - MOST_ARMS_PRINTED
        return ", ".join(value[:MOST_ARMS_PRINTED]) + (f" and {more:,} more" if more > 0 else "")
    return f"{value:g}" if isinstance(value, float) else str(value)
