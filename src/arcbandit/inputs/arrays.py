"""Checks of arrays: real numbers, probabilities, flags. They return new arrays in C order."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import InvalidInputError, ScaledProbabilitiesWarning
from arcbandit.inputs.frames import has_labels
from arcbandit.inputs.values import LARGEST_NUMBER, is_whole
from arcbandit.notes import warn

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

PROBABILITY_SUM_TOLERANCE = 1e-9  # by how much rounding may make a sum miss 1
SCALED_SUM_TOLERANCE = 1e-6  # sums that miss 1 by less, as those of printed decimals do, are scaled


class Axis(NamedTuple):
    """What an axis of an array counts, with the names of its entries for errors."""

    kind: str  # "arm" or "context"
    names: Sequence[str]


def real_array(field: str, values: Any, n_dimensions: int) -> Floats:
    """Real numbers; they may still be infinite or NaN."""
    array = _plain_array(field, values)
    if array.dtype == object and isinstance(values, (list, tuple)) and all(map(is_whole, array.ravel().tolist())):
        array = _large_whole_numbers(array)
    if array.dtype.kind not in "iuf":
        raise InvalidInputError(f"{field} must hold real numbers, got dtype {array.dtype}.")
    if array.ndim != n_dimensions:
        raise InvalidInputError(f"{field} must be {n_dimensions}-dimensional, got shape {array.shape}.")
    _check_items(field, values, flags=False)
    with np.errstate(over="ignore"):  # numbers beyond the largest float become infinite
        return np.array(array, dtype=np.float64, order="C")


def matrix(field: str, values: Any) -> Floats:
    """Real numbers, one per pair, for at least one arm and one context; they may still be infinite or NaN."""
    array = real_array(field, values, 2)
    if array.size == 0:
        raise InvalidInputError(f"{field} must have at least one arm and one context, got shape {array.shape}.")
    return array


def vector(field: str, values: Any, count: int, shaped_by: str, *axes: Axis, signed: bool = False) -> Floats:
    """Amounts, as many as `shaped_by` says, at least zero unless `signed`."""
    array = real_array(field, values, 1)
    if len(array) != count:
        raise InvalidInputError(f"{field} has shape {array.shape}, but {shaped_by}.")
    check_amounts(field, array, *axes, signed=signed)
    return array


def check_amounts(field: str, array: Floats, *axes: Axis, signed: bool = True) -> None:
    """Refuse numbers that are not finite, too large to compute with or, unless `signed`, negative.

    The axes, if given, name the entry in the error.
    """
    largest = np.abs(array).max(initial=0.0)
    if largest <= LARGEST_NUMBER and (signed or array.min(initial=0.0) >= 0):
        return
    rules = [
        ("finite", ~np.isfinite(array)),
        (f"within {LARGEST_NUMBER:g} of zero", np.abs(array) > LARGEST_NUMBER),
    ]
    if not signed:
        rules.append(("non-negative", array < 0))
    for rule, broken in rules:
        for place in np.argwhere(broken).tolist():
            called = ", ".join(f"{axis.kind} {axis.names[at]!r}" for axis, at in zip(axes, place, strict=False))
            raise InvalidInputError(
                f"{field}[{', '.join(map(str, place))}]{f' ({called})' if called else ''} must be {rule}, "
                f"got {array[tuple(place)]}."
            )


def summing_to_one(field: str, probabilities: Floats) -> Floats:
    """The probabilities, scaled with a warning if they miss a sum of 1 by more than rounding; refused if by much."""
    total = math.fsum(probabilities)
    if abs(total - 1) <= PROBABILITY_SUM_TOLERANCE:
        return probabilities
    if not abs(total - 1) <= SCALED_SUM_TOLERANCE + PROBABILITY_SUM_TOLERANCE:
        raise InvalidInputError(f"{field} must sum to 1 (within {SCALED_SUM_TOLERANCE:g}), got {total!r}.")
    warn(f"{field} sum to {total!r}; they are divided by it, to sum to 1.", ScaledProbabilitiesWarning)
    return probabilities / total


def flags(field: str, values: Any, shape: tuple[int, ...]) -> Flags:
    """Booleans of this shape."""
    array = _plain_array(field, values)
    if array.dtype != np.bool_ or array.shape != shape:
        raise InvalidInputError(f"{field} must be booleans of shape {shape}, got {array.dtype} of {array.shape}.")
    _check_items(field, values, flags=True)
    return np.array(array, order="C")


def availability(field: str, values: Any, shape: tuple[int, int], contexts: Sequence[Any]) -> Flags:
    """Which arms may be played in which contexts: at least one in each, by default all."""
    if values is None:
        return np.ones(shape, dtype=np.bool_)
    array = flags(field, values, shape)
    empty = np.flatnonzero(~array.any(axis=0))
    if empty.size:
        raise InvalidInputError(f"{field} must leave each context an arm, but context {contexts[empty[0]]} has none.")
    return array


def _plain_array(field: str, values: Any) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise InvalidInputError(f"{field} must have rows of equal length, got ragged rows.") from None
    if np.ma.is_masked(values):
        raise InvalidInputError(f"{field} must have no masked entries, got {int(np.ma.getmaskarray(values).sum())}.")
    return array


def _large_whole_numbers(array: NDArray[Any]) -> NDArray[Any]:
    """Floats from integers too large for NumPy's integer types; infinite beyond the largest float."""
    numbers = np.full(array.shape, math.inf)
    for place, value in np.ndenumerate(array):
        try:
            numbers[place] = float(value)
        except OverflowError:
            numbers[place] = math.inf if value > 0 else -math.inf
    return numbers


def _check_items(field: str, values: Any, *, flags: bool, where: str = "") -> None:
    """Refuse booleans among numbers, which NumPy takes for 0 and 1, and rows whose labels it would drop."""
    if not isinstance(values, (list, tuple)):
        return
    for position, value in enumerate(values):
        kind = type(value)
        if kind is float or kind is int:
            continue
        place = f"{where}[{position}]"
        if kind is list or kind is tuple:
            _check_items(field, value, flags=flags, where=place)
        elif not flags and (kind is bool or kind is np.bool_):
            raise InvalidInputError(f"{field}{place} must be a real number, got {value!r}.")
        elif has_labels(value):
            raise InvalidInputError(
                f"{field}{place} has labels, which a list of such rows would lose; give one frame instead."
            )
