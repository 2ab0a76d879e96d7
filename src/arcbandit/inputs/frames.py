"""Labelled input: frames and series of any kind, and mappings, with their labels.

Narwhals reads pandas, polars, pyarrow, Modin and others without depending on any of them. It is loaded only for
objects that are not lists, arrays or numbers.
"""

import numbers
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from arcbandit.errors import InvalidInputError
from arcbandit.inputs.values import checked_names, items, listed, shown

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
    from narwhals.typing import IntoFrame, IntoSeries

    Table: TypeAlias = ArrayLike | IntoFrame  # by arm and context
    Column: TypeAlias = ArrayLike | Mapping[Any, Any] | IntoFrame | IntoSeries  # by arm, or by context

ARMS, CONTEXTS = "arms", "contexts"

_PLAIN = (list, tuple, np.ndarray, str, bytes, int, float, np.generic, numbers.Number)


class Labelled(NamedTuple):
    """What was given for a field: its values without labels, and the labels of each axis, None if it has none."""

    field: str
    values: Any
    labels: dict[str, tuple[str, ...] | None]  # by axis, in the order of the axes


class Names(NamedTuple):
    """The names of arms or contexts, in order, and the field that they come from."""

    names: tuple[str, ...]
    source: str


def by_arm_and_context(field: str, given: Any, *, flags: bool = False) -> Labelled:
    """A matrix: a frame whose index, or only column of names, labels the arms, and whose columns label the contexts."""
    frame = None if _is_plain(given) else _read(field, given)
    if frame is None:
        return Labelled(field, given, {ARMS: None, CONTEXTS: None})
    rows, columns, series = _table(field, frame, flags=flags)
    return Labelled(field, _values(field, series, flags=flags), {ARMS: rows, CONTEXTS: columns})


def by_arm(field: str, given: Any) -> Labelled:
    """One number per arm: a series with an index, a mapping, or a frame of names and numbers."""
    return _by(ARMS, field, given, flags=False)


def by_context(field: str, given: Any, *, flags: bool = False) -> Labelled:
    """One number, or flag, per context."""
    return _by(CONTEXTS, field, given, flags=flags)


def agreed_names(axis: str, given: Any, *inputs: Labelled) -> Names | None:
    """The names given, otherwise the labels of the first input that has any; None if nothing is named."""
    if given is not None:
        return Names(checked_names(axis, given), axis)
    for labelled in inputs:
        labels = labelled.labels.get(axis)
        if labels is not None:
            return Names(labels, labelled.field)
    return None


def in_order(labelled: Labelled, **agreed: Names | None) -> Any:
    """The values of an input, with labelled axes in the order of the agreed names."""
    values = labelled.values
    for place, (axis, labels) in enumerate(labelled.labels.items()):
        wanted = agreed[axis]
        if labels is None or wanted is None or labels == wanted.names:
            continue
        _check_same(axis, labelled.field, labels, wanted)
        position = {label: at for at, label in enumerate(labels)}
        order = [position[name] for name in wanted.names]
        values = [values[at] for at in order] if isinstance(values, list) else np.take(values, order, axis=place)
    return values


def has_labels(value: Any) -> bool:
    """Whether a value is a mapping, a frame, or a series with an index other than the default."""
    if _is_plain(value) or isinstance(value, Mapping):
        return not _is_plain(value)
    import narwhals.stable.v2 as nw

    found = _from_native(value)
    if isinstance(found, nw.Series):
        index = nw.maybe_get_index(found)
        return index is not None and not _is_default_index(index)
    return found is not None


def _check_same(axis: str, field: str, labels: Sequence[str], wanted: Names) -> None:
    given, known = set(labels), set(wanted.names)
    missing = [name for name in wanted.names if name not in given]
    extra = [name for name in labels if name not in known]
    if missing or extra:
        parts = [f"lacks {listed(missing)}"] if missing else []
        parts += [f"has {listed(extra)} besides"] if extra else []
        raise InvalidInputError(
            f"{field} must be labelled by the {axis} of {wanted.source}, but it {' and '.join(parts)}."
            if wanted.source != axis
            else f"{field} must be labelled by the names in {axis}, but it {' and '.join(parts)}."
        )


def _is_plain(given: Any) -> bool:
    return given is None or isinstance(given, _PLAIN)


def _from_native(given: Any) -> "nw.DataFrame[Any] | nw.Series[Any] | None":
    import narwhals.stable.v2 as nw

    found = nw.from_native(given, allow_series=True, pass_through=True)
    if isinstance(found, nw.LazyFrame):
        found = found.collect()
    return found if isinstance(found, nw.DataFrame | nw.Series) else None


def _read(field: str, given: Any) -> "nw.DataFrame[Any] | nw.Series[Any] | None":
    try:
        return _from_native(given)
    except ValueError as error:  # columns of the same name, for instance
        raise InvalidInputError(f"{field} must be a frame that can be read: {' '.join(str(error).split())}.") from None


def _by(axis: str, field: str, given: Any, *, flags: bool) -> Labelled:
    if isinstance(given, Mapping):
        return Labelled(field, list(given.values()), {axis: _labels(field, axis, given)})
    frame = None if _is_plain(given) else _read(field, given)
    if frame is None:
        return Labelled(field, given, {axis: None})
    labels, series = _column(axis, field, frame, flags=flags)
    return Labelled(field, _values(field, [series], flags=flags)[:, 0], {axis: labels})


def _table(
    field: str, frame: "nw.DataFrame[Any] | nw.Series[Any]", *, flags: bool
) -> "tuple[tuple[str, ...] | None, tuple[str, ...] | None, list[nw.Series[Any]]]":
    """The labels of the rows and of the columns, and the columns of values."""
    import narwhals.stable.v2 as nw

    if isinstance(frame, nw.Series):
        raise InvalidInputError(f"{field} must be 2-dimensional, got a series.")
    columns = _columns(field, frame)
    rows = _index_labels(field, ARMS, frame)
    naming = [column for column in columns if not _holds_values(column, flags=flags)]
    if rows is None and len(naming) == 1 and _may_be_names(naming[0]):
        rows = _labels(field, ARMS, naming[0].to_list())
        columns = [column for column in columns if column is not naming[0]]
    for column in columns:
        _check_kind(field, column, flags=flags)
    native_columns = getattr(frame.to_native(), "columns", None)
    if naming or not _is_default_index(native_columns):
        return rows, _labels(field, CONTEXTS, [column.name for column in columns]), columns
    return rows, None, columns


def _column(
    axis: str, field: str, frame: "nw.DataFrame[Any] | nw.Series[Any]", *, flags: bool
) -> "tuple[tuple[str, ...] | None, nw.Series[Any]]":
    """The labels of the entries, and the entries."""
    import narwhals.stable.v2 as nw

    labels = _index_labels(field, axis, frame)
    columns = [frame] if isinstance(frame, nw.Series) else _columns(field, frame)
    if labels is None and len(columns) == 2:
        # Names and numbers; if the names are numbers too, they are whole and come first.
        naming = [column for column in columns if not _holds_values(column, flags=flags)]
        if not naming and columns[0].dtype.is_integer() and columns[1].dtype.is_float():
            naming = columns[:1]
        if len(naming) == 1 and _may_be_names(naming[0]):
            labels = _labels(field, axis, naming[0].to_list())
            columns = [column for column in columns if column is not naming[0]]
    if len(columns) != 1:
        raise InvalidInputError(
            f"{field} must be a column of {'flags' if flags else 'numbers'}, or one of names and one of "
            f"{'flags' if flags else 'numbers'}, got the columns {listed(column.name for column in columns)}."
        )
    _check_kind(field, columns[0], flags=flags)
    return labels, columns[0]


def _columns(field: str, frame: "nw.DataFrame[Any]") -> "list[nw.Series[Any]]":
    try:
        columns: list[Any] = list(frame.iter_columns())
    except ValueError as error:
        raise InvalidInputError(f"{field} must be a frame that can be read: {' '.join(str(error).split())}.") from None
    return columns


def _holds_values(column: "nw.Series[Any]", *, flags: bool) -> bool:
    import narwhals.stable.v2 as nw

    return column.dtype == nw.Boolean if flags else column.dtype.is_numeric()


def _may_be_names(column: "nw.Series[Any]") -> bool:
    import narwhals.stable.v2 as nw

    dtype = column.dtype
    return dtype.is_integer() or dtype in (nw.String, nw.Categorical, nw.Enum, nw.Object, nw.Date, nw.Datetime)


def _check_kind(field: str, column: "nw.Series[Any]", *, flags: bool) -> None:
    if not _holds_values(column, flags=flags):
        wanted = "booleans" if flags else "real numbers"
        raise InvalidInputError(f"{field} must hold {wanted}, but column {column.name!r} has dtype {column.dtype}.")
    if column.is_null().any():
        raise InvalidInputError(f"{field} must have no missing values, but column {column.name!r} has.")


def _values(field: str, columns: "Sequence[nw.Series[Any]]", *, flags: bool) -> np.ndarray[Any, Any]:
    """The columns side by side, shape (rows, columns)."""
    import narwhals.stable.v2 as nw

    if not columns:
        raise InvalidInputError(f"{field} must have a column of {'flags' if flags else 'numbers'}, got none.")
    kind: Any = nw.Boolean if flags else nw.Float64
    return np.column_stack([column.cast(kind).to_numpy().astype(bool if flags else np.float64) for column in columns])


def _index_labels(field: str, axis: str, frame: "nw.DataFrame[Any] | nw.Series[Any]") -> tuple[str, ...] | None:
    """The labels of the index, if there is one other than the default."""
    import narwhals.stable.v2 as nw

    index = nw.maybe_get_index(frame)
    return None if index is None or _is_default_index(index) else _labels(field, axis, index)


def _is_default_index(index: Any) -> bool:
    """Whether an index only counts from 0, as the default index does."""
    return (
        type(index).__name__ == "RangeIndex"
        and (index.start, index.step) == (0, 1)
        and getattr(index, "name", None) is None
    )


def _labels(field: str, axis: str, given: Any) -> tuple[str, ...]:
    """Labels as names: labels of any type become strings, which must be unique."""
    labels = items(f"{axis} of {field}", given, "labels")
    for label in labels:
        if isinstance(label, tuple) and len(label) > 1:
            raise InvalidInputError(f"The {axis} of {field} must have labels of one level, got {shown(label)}.")
    labels = [label[0] if isinstance(label, tuple) and label else label for label in labels]
    for position, label in enumerate(labels):
        if label is None or type(label).__name__ == "NAType" or label != label:  # as NaN and NaT are not
            raise InvalidInputError(f"The {axis} of {field} must all have labels, but the one at {position} has none.")
    return checked_names(f"the {axis} of {field}", [str(label) for label in labels])
