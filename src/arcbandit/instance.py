"""The MAB-ARC instance: mean rewards, revenue floors and context probabilities.

Arms are rows (K of them) and contexts are columns (C of them) everywhere. Means are per play of a pair;
weighted means, the unit of the paper's tables, are p_c * mu_{k,c}, the revenue per round of an arm that is
always played in that context.
"""

import json
import math
import numbers
import operator
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import tomli_w
from numpy.typing import ArrayLike, NDArray

from arcbandit.errors import InvalidInputError, InvalidInstanceError, UnknownNameError

PROBABILITY_SUM_TOLERANCE = 1e-9

_NAMES_SHOWN = 10
_GROUP_KEYS = ("name", "arms", "floor")
_REQUIRED_KEYS = ("revenue_floors", "context_probabilities")
_MEAN_KEYS = ("mean_rewards", "weighted_means")
_OPTIONAL_KEYS = ("arms", "contexts", "noise_scale", "group_floors")


@dataclass(frozen=True)
class GroupFloor:
    """A floor on the total revenue per round of a subset of arms, given by name or index.

    Subsets of different group floors may overlap.
    """

    name: str
    arms: tuple[str | int, ...]
    floor: float

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise InvalidInstanceError(f"The name of a group floor must be a non-empty string, got {self.name!r}.")
        arms: object = self.arms
        if isinstance(arms, str) or not isinstance(arms, Iterable):
            raise InvalidInstanceError(
                f"arms of group floor {self.name!r} must be a sequence of arm names or indices, got {arms!r}."
            )
        object.__setattr__(self, "arms", tuple(arms))
        if not self.arms:
            raise InvalidInstanceError(f"arms of group floor {self.name!r} must hold at least one arm, got none.")
        floor = _real_number(f"floor of group floor {self.name!r}", self.floor)
        if floor < 0:
            raise InvalidInstanceError(f"floor of group floor {self.name!r} must be non-negative, got {self.floor!r}.")
        object.__setattr__(self, "floor", floor)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Instance:
    """An instance nu = (mu, lambda, p), checked once and immutable.

    >>> instance = Instance([[9, 3], [0, 1]], revenue_floors=[1, 0.25], context_probabilities=[0.5, 0.5])
    >>> instance.weighted_means.tolist()
    [[4.5, 1.5], [0.0, 0.5]]
    """

    mean_rewards: NDArray[np.float64]  # mu_{k,c}, shape (K, C)
    revenue_floors: NDArray[np.float64]  # lambda_k, revenue per round, shape (K,)
    context_probabilities: NDArray[np.float64]  # p_c, shape (C,)
    arms: tuple[str, ...]
    contexts: tuple[str, ...]
    noise_scale: float  # sigma of the sub-Gaussian rewards
    group_floors: tuple[GroupFloor, ...]

    def __init__(
        self,
        mean_rewards: ArrayLike,
        revenue_floors: ArrayLike,
        context_probabilities: ArrayLike,
        *,
        arms: Sequence[str] | None = None,
        contexts: Sequence[str] | None = None,
        noise_scale: float = 1.0,
        group_floors: Iterable[GroupFloor] = (),
    ) -> None:
        means = _matrix("mean_rewards", mean_rewards)
        n_arms, n_contexts = means.shape
        arms = _names("arms", arms, n_arms, "arms (rows)")
        contexts = _names("contexts", contexts, n_contexts, "contexts (columns)")
        _refuse_non_finite("mean_rewards", means, arms, contexts)
        fields = {
            "mean_rewards": means,
            "revenue_floors": _floors(revenue_floors, arms),
            "context_probabilities": _probabilities(context_probabilities, contexts, "mean_rewards"),
            "arms": arms,
            "contexts": contexts,
            "noise_scale": _noise_scale(noise_scale),
            "group_floors": _groups(group_floors, arms),
        }
        for name, value in fields.items():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            object.__setattr__(self, name, value)

    @classmethod
    def from_weighted_means(
        cls,
        weighted_means: ArrayLike,
        revenue_floors: ArrayLike,
        context_probabilities: ArrayLike,
        *,
        arms: Sequence[str] | None = None,
        contexts: Sequence[str] | None = None,
        noise_scale: float = 1.0,
        group_floors: Iterable[GroupFloor] = (),
    ) -> Self:
        """Build the instance whose p_c * mu_{k,c}, shape (K, C), is given."""
        weighted = _matrix("weighted_means", weighted_means)
        n_arms, n_contexts = weighted.shape
        arm_names = _names("arms", arms, n_arms, "arms (rows)")
        context_names = _names("contexts", contexts, n_contexts, "contexts (columns)")
        _refuse_non_finite("weighted_means", weighted, arm_names, context_names)
        probabilities = _probabilities(context_probabilities, context_names, "weighted_means")
        for position in np.flatnonzero(probabilities == 0).tolist():
            raise InvalidInstanceError(
                f"context_probabilities[{position}] (context {context_names[position]!r}) must be positive "
                f"to divide weighted_means by it, got 0; give mean_rewards instead."
            )
        with np.errstate(over="ignore"):  # an overflow is reported as a mean that is not finite
            means = weighted / probabilities
        return cls(
            means,
            revenue_floors,
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
    def group_members(self) -> NDArray[np.bool_]:
        """Which arms (columns) each group floor (row) counts, shape (G, K), read-only."""
        members = np.zeros((len(self.group_floors), self.n_arms), dtype=np.bool_)
        for row, group in enumerate(self.group_floors):
            members[row, [self.arm_index(arm) for arm in group.arms]] = True
        members.setflags(write=False)
        return members

    def arm_index(self, arm: str | int) -> int:
        """Return the row of an arm given by name or index."""
        return _index("arm", arm, self.arms)

    def context_index(self, context: str | int) -> int:
        """Return the column of a context given by name or index."""
        return _index("context", context, self.contexts)

    def to_dict(self) -> dict[str, Any]:
        """Return the instance as plain lists, strings and numbers; `from_dict` gives it back exactly."""
        return {
            "arms": list(self.arms),
            "contexts": list(self.contexts),
            "context_probabilities": self.context_probabilities.tolist(),
            "revenue_floors": self.revenue_floors.tolist(),
            "noise_scale": self.noise_scale,
            "mean_rewards": self.mean_rewards.tolist(),
            "group_floors": [
                {"name": group.name, "arms": list(group.arms), "floor": group.floor} for group in self.group_floors
            ],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Build the instance that `to_dict` described; weighted_means may stand for mean_rewards."""
        _check_keys("An instance", data, _REQUIRED_KEYS, (*_MEAN_KEYS, *_OPTIONAL_KEYS))
        given = [key for key in _MEAN_KEYS if key in data]
        if len(given) != 1:
            found = " and ".join(given) or "none"
            raise InvalidInstanceError(f"An instance must give either mean_rewards or weighted_means, got {found}.")
        build: Callable[..., Self] = cls if given == ["mean_rewards"] else cls.from_weighted_means
        options = {key: data[key] for key in _OPTIONAL_KEYS if key in data}
        if "group_floors" in options:
            options["group_floors"] = _groups_from_dicts(options["group_floors"])
        return build(data[given[0]], data["revenue_floors"], data["context_probabilities"], **options)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read an instance from a .toml or .json file."""
        file = Path(path)
        parse = tomllib.loads if _suffix(file) == ".toml" else _parse_json
        try:
            return cls.from_dict(parse(file.read_text(encoding="utf-8")))
        except FileNotFoundError as error:
            raise InvalidInstanceError(f"{file}: no such file.") from error
        except OSError as error:
            raise InvalidInstanceError(f"{file}: cannot be read ({error.strerror}).") from error
        except InvalidInputError as error:
            raise InvalidInstanceError(f"{file}: {error}") from error
        except (ValueError, RecursionError) as error:
            raise InvalidInstanceError(f"{file}: is not valid {file.suffix[1:].upper()} ({error}).") from error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the instance to a .toml or .json file, whole or not at all."""
        file = Path(path)
        if _suffix(file) == ".toml":
            text = tomli_w.dumps(self.to_dict())
        else:
            text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        destination = Path(os.path.realpath(file))  # replacing a link itself would leave its target stale
        partial = destination.with_name(f".{destination.name}.{os.getpid()}.partial")
        try:
            try:
                partial.write_bytes(text.encode())
                os.replace(partial, destination)
            finally:
                partial.unlink(missing_ok=True)
        except OSError as error:
            raise InvalidInstanceError(f"{file}: cannot be written ({error.strerror}).") from error

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Instance):
            return NotImplemented
        return (
            np.array_equal(self.mean_rewards, other.mean_rewards)
            and np.array_equal(self.revenue_floors, other.revenue_floors)
            and np.array_equal(self.context_probabilities, other.context_probabilities)
            and (self.arms, self.contexts, self.noise_scale, self.group_floors)
            == (other.arms, other.contexts, other.noise_scale, other.group_floors)
        )

    def __hash__(self) -> int:
        # Tuples of floats, not bytes: 0.0 and -0.0 are equal and must hash alike.
        means = tuple(self.mean_rewards.ravel().tolist())
        return hash((means, tuple(self.revenue_floors.tolist()), self.arms, self.contexts, self.noise_scale))

    def __repr__(self) -> str:
        groups = f", {len(self.group_floors)} group floors" if self.group_floors else ""
        size = f"{self.n_arms} arms x {self.n_contexts} contexts"
        return f"<Instance: {size}, noise scale {self.noise_scale:g}{groups}>"

    # A copy made by the default protocol would have writable arrays.
    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return type(self).from_dict, (self.to_dict(),)


def _real_array(field: str, values: ArrayLike, n_dimensions: int) -> NDArray[np.float64]:
    """Return a fresh float64 copy; its entries may still be infinite or NaN."""
    try:
        array = np.asarray(values)
    except (ValueError, TypeError) as error:
        raise InvalidInstanceError(f"{field} must have rows of equal length, got ragged rows.") from error
    if array.size and array.dtype.kind not in "iuf":
        raise InvalidInstanceError(f"{field} must hold real numbers, got dtype {array.dtype}.")
    if array.ndim != n_dimensions:
        raise InvalidInstanceError(f"{field} must be {n_dimensions}-dimensional, got shape {array.shape}.")
    return np.array(array, dtype=np.float64, order="C")


def _real_number(field: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InvalidInstanceError(f"{field} must be a real number, got {value!r}.")
    try:
        number = float(value)
    except OverflowError:  # an integer beyond the largest float
        number = math.inf
    if not math.isfinite(number):
        raise InvalidInstanceError(f"{field} must be finite, got {number!r}.")
    return number


def _noise_scale(value: object) -> float:
    scale = _real_number("noise_scale", value)
    if scale <= 0:
        raise InvalidInstanceError(f"noise_scale must be positive, got {value!r}.")
    return scale


def _matrix(field: str, values: ArrayLike) -> NDArray[np.float64]:
    matrix = _real_array(field, values, 2)
    if matrix.size == 0:
        raise InvalidInstanceError(f"{field} must have at least one arm and one context, got shape {matrix.shape}.")
    return matrix


def _refuse_non_finite(field: str, matrix: NDArray[np.float64], arms: Sequence[str], contexts: Sequence[str]) -> None:
    for arm, context in np.argwhere(~np.isfinite(matrix)):
        raise InvalidInstanceError(
            f"{field}[{arm}, {context}] (arm {arms[arm]!r}, context {contexts[context]!r}) must be finite, "
            f"got {matrix[arm, context]}."
        )


def _vector(field: str, values: ArrayLike, names: Sequence[str], kind: str, shaped_by: str) -> NDArray[np.float64]:
    """Return finite, non-negative entries, one per name."""
    vector = _real_array(field, values, 1)
    if len(vector) != len(names):
        raise InvalidInstanceError(f"{field} has shape {vector.shape}, but {shaped_by}.")
    for rule, broken in (("finite", ~np.isfinite(vector)), ("non-negative", vector < 0)):
        for position in np.flatnonzero(broken).tolist():
            raise InvalidInstanceError(
                f"{field}[{position}] ({kind} {names[position]!r}) must be {rule}, got {vector[position]}."
            )
    return vector


def _floors(values: ArrayLike, arms: Sequence[str]) -> NDArray[np.float64]:
    return _vector("revenue_floors", values, arms, "arm", f"mean_rewards has {len(arms)} arms (rows)")


def _probabilities(values: ArrayLike, contexts: Sequence[str], means_field: str) -> NDArray[np.float64]:
    shaped_by = f"{means_field} has {len(contexts)} contexts (columns)"
    probabilities = _vector("context_probabilities", values, contexts, "context", shaped_by)
    total = math.fsum(probabilities)
    if abs(total - 1) > PROBABILITY_SUM_TOLERANCE:
        raise InvalidInstanceError(
            f"context_probabilities must sum to 1 (within {PROBABILITY_SUM_TOLERANCE:g}), got {total!r}."
        )
    return probabilities


def _names(field: str, names: Sequence[str] | None, count: int, counted: str) -> tuple[str, ...]:
    """Return the names; by default "1", "2", ..., as the paper counts."""
    if names is None:
        return tuple(str(number) for number in range(1, count + 1))
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InvalidInstanceError(f"{field} must be a sequence of names, got {names!r}.")
    names = tuple(names)
    if len(names) != count:
        raise InvalidInstanceError(f"{field} has {len(names)} names, but the means have {count} {counted}.")
    first_positions: dict[str, int] = {}
    for position, name in enumerate(names):
        if not isinstance(name, str) or not name.strip():
            raise InvalidInstanceError(f"{field}[{position}] must be a non-empty string, got {name!r}.")
        first = first_positions.setdefault(name, position)
        if first != position:
            raise InvalidInstanceError(f"{field} must be unique, got {name!r} at positions {first} and {position}.")
    return tuple(str(name) for name in names)


def _index(kind: str, wanted: object, names: tuple[str, ...]) -> int:
    if isinstance(wanted, str):
        if wanted in names:
            return names.index(wanted)
        shown = ", ".join(repr(name) for name in names[:_NAMES_SHOWN])
        more = f", ... ({len(names)} in all)" if len(names) > _NAMES_SHOWN else ""
        raise UnknownNameError(f"{kind} must be one of {shown}{more}, got {wanted!r}.")
    if isinstance(wanted, bool | np.bool_) or not hasattr(wanted, "__index__"):
        raise UnknownNameError(f"{kind} must be a name or an index, got {wanted!r}.")
    index = operator.index(wanted)
    if not 0 <= index < len(names):
        raise UnknownNameError(f"{kind} index must be between 0 and {len(names) - 1}, got {index}.")
    return index


def _groups(groups: Iterable[GroupFloor], arms: tuple[str, ...]) -> tuple[GroupFloor, ...]:
    """Return the group floors with their arms by name, so that equal groups compare equal."""
    if not isinstance(groups, Iterable):
        raise InvalidInstanceError(f"group_floors must be a sequence of GroupFloor, got {groups!r}.")
    taken = set(arms)
    named = []
    for position, group in enumerate(groups):
        if not isinstance(group, GroupFloor):
            raise InvalidInstanceError(f"group_floors[{position}] must be a GroupFloor, got {group!r}.")
        if group.name in taken:
            raise InvalidInstanceError(
                f"group_floors[{position}] must have a name that no arm and no other group floor has, "
                f"got {group.name!r}."
            )
        taken.add(group.name)
        try:
            members = tuple(arms[_index("arm", arm, arms)] for arm in group.arms)
        except UnknownNameError as error:
            raise InvalidInstanceError(f"arms of group floor {group.name!r}: {error}") from error
        for place, member in enumerate(members):
            if member in members[:place]:
                raise InvalidInstanceError(
                    f"arms of group floor {group.name!r} must be unique, got {member!r} more than once."
                )
        named.append(GroupFloor(group.name, members, group.floor))
    return tuple(named)


def _groups_from_dicts(groups: object) -> list[GroupFloor]:
    if not isinstance(groups, list | tuple):
        raise InvalidInstanceError(f"group_floors must be a list of tables, got {groups!r}.")
    for position, group in enumerate(groups):
        _check_keys(f"group_floors[{position}]", group, _GROUP_KEYS, ())
    return [GroupFloor(**group) for group in groups]


def _check_keys(owner: str, data: object, required: tuple[str, ...], optional: tuple[str, ...]) -> None:
    if not isinstance(data, Mapping):
        raise InvalidInstanceError(f"{owner} must be a table of named fields, got {type(data).__name__}.")
    for key in data:
        if key not in required + optional:
            raise InvalidInstanceError(
                f"{owner} must have only the fields {', '.join(required + optional)}, got {key!r}."
            )
    for key in required:
        if key not in data:
            raise InvalidInstanceError(f"{owner} must have the field {key}, got {', '.join(data) or 'none'}.")


def _suffix(file: Path) -> str:
    suffix = file.suffix.lower()
    if suffix not in (".toml", ".json"):
        raise InvalidInstanceError(f"{file}: an instance file must end in .toml or .json, got {file.suffix!r}.")
    return suffix


def _parse_json(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_unique_keys)


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        raise ValueError("a key is given twice")
    return data
