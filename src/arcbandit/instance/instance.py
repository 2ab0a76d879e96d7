"""The MAB-ARC instance: mean rewards, revenue floors and context probabilities.

Arms are rows (K of them) and contexts are columns (C of them) everywhere. Means are per play of a pair;
weighted means, the unit of the paper's tables, are p_c * mu_{k,c}, the revenue per round of an arm that is
always played in that context.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Never, Self

import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import InvalidInputError, InvalidInstanceError
from arcbandit.floors import FloorKind, Floors, GroupFloor, named_groups
from arcbandit.inputs.arrays import Axis, check_amounts, matrix, summing_to_one, vector
from arcbandit.inputs.frames import (
    ARMS,
    CONTEXTS,
    Names,
    agreed_names,
    by_arm,
    by_arm_and_context,
    by_context,
    in_order,
)
from arcbandit.inputs.similar import refuse_keywords
from arcbandit.inputs.values import choice, fields, index_of, positive, raised_as, shown
from arcbandit.instance.files import read_instance_file, write_instance_file
from arcbandit.showing import counted, html_heat_map, html_of, html_table, html_title, short
from arcbandit.tables import FrameKind, frame_of

if TYPE_CHECKING:
    from arcbandit.inputs.frames import Column, Table

_GROUP_KEYS = ("name", "arms", "floor")
_REQUIRED_KEYS = ("revenue_floors", "context_probabilities")
_MEAN_KEYS = ("mean_rewards", "weighted_means")
_OPTIONAL_KEYS = ("arms", "contexts", "noise_scale", "group_floors")


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Instance:
    """An instance nu = (mu, lambda, p), checked once and immutable.

    Means may be a frame of any kind (pandas, polars, pyarrow ...): its index, or its only non-numeric column, names the
    arms, and its other columns name the contexts. Floors and probabilities may be mappings from names, series with an
    index, or frames with a column of names and one of numbers. Labels are used as names if `arms` or `contexts` are not
    given. Labelled input is put in the order of `arms` and `contexts`, or of the means; unlabelled input goes by
    position.

    >>> instance = Instance([[9, 3], [0, 1]], revenue_floors=[1, 0.25], context_probabilities=[0.5, 0.5])
    >>> instance.weighted_means.tolist()
    [[4.5, 1.5], [0.0, 0.5]]
    """

    mean_rewards: NDArray[np.float64]  # mu_{k,c}, shape (K, C)
    floors: Floors  # of arms and of groups, in one table
    context_probabilities: NDArray[np.float64]  # p_c, shape (C,)
    arms: tuple[str, ...]
    contexts: tuple[str, ...]
    noise_scale: float  # sigma of the sub-Gaussian rewards

    def __init__(
        self,
        mean_rewards: "Table",
        revenue_floors: "Column",
        context_probabilities: "Column",
        *,
        arms: Sequence[str] | None = None,
        contexts: Sequence[str] | None = None,
        noise_scale: float = 1.0,
        group_floors: Iterable[GroupFloor] = (),
        **unknown: Never,
    ) -> None:
        refuse_keywords(type(self), unknown)
        with raised_as(InvalidInstanceError):
            means, floors, probabilities, arms, contexts = _read_problem(
                "mean_rewards", mean_rewards, revenue_floors, context_probabilities, arms, contexts
            )
            table = Floors.of(arms, floors, named_groups(group_floors, arms))
            scale = positive("noise_scale", noise_scale)
        parts = {
            "mean_rewards": means,
            "floors": table,
            "context_probabilities": probabilities,
            "arms": arms,
            "contexts": contexts,
            "noise_scale": scale,
        }
        for part, value in parts.items():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            object.__setattr__(self, part, value)

    @classmethod
    def from_weighted_means(
        cls,
        weighted_means: "Table",
        revenue_floors: "Column",
        context_probabilities: "Column",
        *,
        arms: Sequence[str] | None = None,
        contexts: Sequence[str] | None = None,
        noise_scale: float = 1.0,
        group_floors: Iterable[GroupFloor] = (),
        **unknown: Never,
    ) -> Self:
        """Build the instance from its p_c * mu_{k,c}, shape (K, C); labels are used as for `Instance`.

        >>> Instance.from_weighted_means([[4.5, 1.5]], [1], [0.5, 0.5]).mean_rewards.tolist()
        [[9.0, 3.0]]
        """
        refuse_keywords(cls.from_weighted_means, unknown)
        with raised_as(InvalidInstanceError):
            weighted, floors, probabilities, arm_names, context_names = _read_problem(
                "weighted_means", weighted_means, revenue_floors, context_probabilities, arms, contexts
            )
        for position in np.flatnonzero(probabilities == 0).tolist():
            raise InvalidInstanceError(
                f"context_probabilities[{position}] (context {context_names[position]!r}) must be positive "
                f"to divide weighted_means by it, got 0; give mean_rewards instead."
            )
        with np.errstate(over="ignore"):  # an overflow is reported as a mean that is not finite
            means = weighted / probabilities
        return cls(
            means,
            floors,
            probabilities,
            arms=arm_names,
            contexts=context_names,
            noise_scale=noise_scale,
            group_floors=group_floors,
        )

    @property
    def n_arms(self) -> int:
        """K."""
        return len(self.arms)

    @property
    def n_contexts(self) -> int:
        """C."""
        return len(self.contexts)

    @property
    def n_pairs(self) -> int:
        """kappa = K * C."""
        return self.n_arms * self.n_contexts

    @cached_property
    def weighted_means(self) -> NDArray[np.float64]:
        """p_c * mu_{k,c}, shape (K, C), read-only."""
        weighted: NDArray[np.float64] = self.context_probabilities * self.mean_rewards
        weighted.setflags(write=False)
        return weighted

    @cached_property
    def revenue_floors(self) -> NDArray[np.float64]:
        """lambda_k, the floor of each arm: revenue per round, shape (K,), read-only."""
        return self.floors.amounts[self.floors.rows_of(FloorKind.ARM)]

    @property
    def group_floors(self) -> tuple[GroupFloor, ...]:
        """The floors of groups of arms."""
        return self.floors.groups

    @property
    def group_members(self) -> NDArray[np.bool_]:
        """Which arms (columns) each group floor (row) counts, shape (G, K), read-only."""
        return self.floors.group_members

    @cached_property
    def _row_of_arm(self) -> dict[str, int]:
        return {name: row for row, name in enumerate(self.arms)}

    @cached_property
    def _column_of_context(self) -> dict[str, int]:
        return {name: column for column, name in enumerate(self.contexts)}

    def arm_index(self, arm: str | int) -> int:
        """Return the row of an arm given by name or index.

        >>> Instance([[9], [1]], [0, 0], [1], arms=["house", "guest"]).arm_index("guest")
        1
        """
        return index_of("arm", arm, self._row_of_arm)

    def context_index(self, context: str | int) -> int:
        """Return the column of a context given by name or index.

        >>> Instance([[9, 3]], [0], [0.5, 0.5], contexts=["weekday", "weekend"]).context_index("weekend")
        1
        """
        return index_of("context", context, self._column_of_context)

    def to_dict(self) -> dict[str, Any]:
        """Return the instance as plain lists, strings and numbers; `from_dict` gives it back exactly.

        >>> Instance([[9, 3]], [1], [0.5, 0.5]).to_dict()["mean_rewards"]
        [[9.0, 3.0]]
        """
        return {
            "arms": list(self.arms),
            "contexts": list(self.contexts),
            "context_probabilities": self.context_probabilities.tolist(),
            "revenue_floors": self.revenue_floors.tolist(),
            "noise_scale": self.noise_scale,
            "mean_rewards": self.mean_rewards.tolist(),
            "group_floors": [group.to_dict() for group in self.group_floors],
        }

    def to_frame(self, by: str = "pair", *, kind: FrameKind | None = None) -> Any:
        """A frame, one row per pair of an arm and a context or, with by="floor" or "context", per one of these.

        `kind` is "polars" or "pandas", by default whichever is installed.

        >>> from arcbandit import paper_instance
        >>> paper_instance("nu").to_frame(kind="pandas").columns.tolist()
        ['arm', 'context', 'mean_reward', 'weighted_mean']
        """
        choice("by", by, ("pair", "floor", "context"))
        if by == "floor":
            return self.floors.to_frame(kind=kind)
        if by == "context":
            shares = self.context_probabilities.copy()
            return frame_of({"context": list(self.contexts), "probability": shares}, kind)
        columns = {
            "arm": [arm for arm in self.arms for _ in self.contexts],
            "context": list(self.contexts) * self.n_arms,
            "mean_reward": self.mean_rewards.ravel(),
            "weighted_mean": self.weighted_means.ravel(),
        }
        return frame_of(columns, kind)

    def _repr_html_(self) -> str:
        headings = [
            f"{short(name, 20)} ({100 * share:.3g}%)"
            for name, share in zip(self.contexts, self.context_probabilities.tolist(), strict=True)
        ]
        return html_of(
            html_title("Instance", repr(self)[len("<Instance: ") : -1]),
            html_title("Mean rewards", "arms are rows; contexts are columns, with their probabilities"),
            html_heat_map(self.mean_rewards, self.arms, headings, corner="arm", percent=False),
            html_title("Floors", "revenue per round"),
            html_table(self.floors.to_dict()),
        )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Build the instance that `to_dict` described; weighted_means may replace mean_rewards.

        >>> data = {"mean_rewards": [[9, 3]], "revenue_floors": [1], "context_probabilities": [0.5, 0.5]}
        >>> Instance.from_dict(data)
        <Instance: 1 arm x 2 contexts, noise scale 1>
        """
        with raised_as(InvalidInstanceError):
            fields("An instance", data, _REQUIRED_KEYS, (*_MEAN_KEYS, *_OPTIONAL_KEYS))
        given = [key for key in _MEAN_KEYS if key in data]
        if len(given) != 1:
            found = " and ".join(given) or "none"
            raise InvalidInstanceError(f"An instance must give either mean_rewards or weighted_means, got {found}.")
        build: Callable[..., Self] = cls if given == ["mean_rewards"] else cls.from_weighted_means
        options = {key: data[key] for key in _OPTIONAL_KEYS if key in data}
        if "group_floors" in options:
            with raised_as(InvalidInstanceError):
                options["group_floors"] = _groups_from_dicts(options["group_floors"])
        return build(data[given[0]], data["revenue_floors"], data["context_probabilities"], **options)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read an instance from a .toml or .json file.

        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder) / "shop.json"
        ...     Instance([[9, 3]], [1], [0.5, 0.5]).save(file)
        ...     Instance.load(file) == Instance([[9, 3]], [1], [0.5, 0.5])
        True
        """
        return read_instance_file(path, cls.from_dict)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the instance to a .toml or .json file, whole or not at all.

        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder) / "shop.toml"
        ...     Instance([[9, 3]], [1], [0.5, 0.5], contexts=["weekday", "weekend"]).save(file)
        ...     print(file.read_text().splitlines()[-3:])
        ['    ],', ']', 'group_floors = []']
        """
        write_instance_file(path, self.to_dict())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Instance):
            return NotImplemented
        return (
            np.array_equal(self.mean_rewards, other.mean_rewards)
            and np.array_equal(self.context_probabilities, other.context_probabilities)
            and (self.arms, self.contexts, self.noise_scale, self.floors)
            == (other.arms, other.contexts, other.noise_scale, other.floors)
        )

    def __hash__(self) -> int:
        # Tuples of floats, not bytes: 0.0 and -0.0 are equal and must hash alike.
        means = tuple(self.mean_rewards.ravel().tolist())
        return hash((means, self.floors, self.contexts, self.noise_scale))

    def __repr__(self) -> str:
        groups = f", {counted(len(self.group_floors), 'group floor')}" if self.group_floors else ""
        size = f"{counted(self.n_arms, 'arm')} x {counted(self.n_contexts, 'context')}"
        return f"<Instance: {size}, noise scale {self.noise_scale:g}{groups}>"

    # A copy made by the default protocol would have writable arrays.
    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return type(self).from_dict, (self.to_dict(),)


class _Problem(NamedTuple):
    """What an instance says about arms and contexts, checked and aligned."""

    means: NDArray[np.float64]  # shape (K, C)
    floors: NDArray[np.float64]  # shape (K,)
    probabilities: NDArray[np.float64]  # shape (C,)
    arms: tuple[str, ...]
    contexts: tuple[str, ...]


def _read_problem(field: str, means: Any, floors: Any, probabilities: Any, arms: Any, contexts: Any) -> _Problem:
    """Align labelled input and check all of it; `field` is the name of the means."""
    table = by_arm_and_context(field, means)
    by_floor = by_arm("revenue_floors", floors)
    by_probability = by_context("context_probabilities", probabilities)
    arm_names = agreed_names(ARMS, arms, table, by_floor)
    context_names = agreed_names(CONTEXTS, contexts, table, by_probability)
    checked = matrix(field, in_order(table, arms=arm_names, contexts=context_names))
    arm_axis = Axis("arm", _names(ARMS, arm_names, checked.shape[0], "arms (rows)"))
    context_axis = Axis("context", _names(CONTEXTS, context_names, checked.shape[1], "contexts (columns)"))
    check_amounts(field, checked, arm_axis, context_axis)
    n_arms, n_contexts = checked.shape
    amounts = vector(
        "revenue_floors", in_order(by_floor, arms=arm_names), n_arms, f"{field} has {n_arms} arms (rows)", arm_axis
    )
    shares = vector(
        "context_probabilities",
        in_order(by_probability, contexts=context_names),
        n_contexts,
        f"{field} has {n_contexts} contexts (columns)",
        context_axis,
    )
    return _Problem(
        checked,
        amounts,
        summing_to_one("context_probabilities", shares),
        tuple(arm_axis.names),
        tuple(context_axis.names),
    )


def _names(axis: str, agreed: Names | None, count: int, counted: str) -> tuple[str, ...]:
    """Return the names; by default "1", "2", ..., as the paper counts."""
    if agreed is None:
        return tuple(str(number) for number in range(1, count + 1))
    if len(agreed.names) != count:
        source = axis if agreed.source == axis else f"{agreed.source}, which names the {axis},"
        raise InvalidInputError(f"{source} has {len(agreed.names)} names, but the means have {count} {counted}.")
    return agreed.names


def _groups_from_dicts(groups: object) -> list[GroupFloor]:
    if not isinstance(groups, list | tuple):
        raise InvalidInputError(f"group_floors must be a list of tables, got {shown(groups)}.")
    return [
        GroupFloor(**fields(f"group_floors[{position}]", group, _GROUP_KEYS)) for position, group in enumerate(groups)
    ]
