"""Checks of single values: numbers, names, choices, positions, files.

Each takes the name of a field and its value, and returns the value as a plain type or raises an error that names the
field. Nothing here needs NumPy, so the command line can check input before loading it.
"""

import math
import numbers
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from arcbandit.errors import InvalidInputError, UnknownNameError
from arcbandit.inputs.similar import did_you_mean

LARGEST_NUMBER = 1e150  # of rewards, floors and the like: with larger ones, sums and products could overflow
LARGEST_WHOLE = 2**63 - 1
LONGEST_HORIZON = 2**53  # above this, the round number is not exact in the record

_NAMES_SHOWN = 10
_CHARACTERS_SHOWN = 200


@contextmanager
def raised_as(kind: type[InvalidInputError]) -> Iterator[None]:
    """Raise input errors as errors of this kind."""
    try:
        yield
    except InvalidInputError as error:
        if isinstance(error, kind):
            raise
        raise kind(str(error)) from None


def shown(value: object) -> str:
    """A value of any type as an error message shows it: on one line, and not too long."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # noqa: BLE001, a repr may fail in any way (that of 10**5000 does), and must not hide the error
        return f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= _CHARACTERS_SHOWN else f"{text[:_CHARACTERS_SHOWN]}..."


def listed(names: Iterable[object]) -> str:
    """Names as an error message lists them: the first few, and how many there are."""
    names = list(names)
    more = f", ... ({len(names)} in all)" if len(names) > _NAMES_SHOWN else ""
    return ", ".join(shown(name) for name in names[:_NAMES_SHOWN]) + more


def is_whole(value: object) -> bool:
    """Whether a value is a whole number, of Python or NumPy, and not a boolean or a time span."""
    return type(value) is int or (isinstance(value, numbers.Integral) and _counts_nothing_else(value))


def is_count(value: object) -> bool:
    """Whether a value is a whole number, also one written as a float: 1e5 counts, 1.5 and True do not."""
    if is_whole(value) or not is_real(value):
        return is_whole(value)
    number: Any = value
    try:
        return bool(number == int(number))
    except (OverflowError, ValueError):  # infinite, or not a number
        return False


def is_real(value: object) -> bool:
    """Whether a value is a real number, of Python or NumPy, and not a boolean or a time span."""
    return type(value) is float or (isinstance(value, numbers.Real) and _counts_nothing_else(value))


def _counts_nothing_else(value: object) -> bool:
    # NumPy's timedelta64 is registered as an integer.
    return not isinstance(value, bool) and getattr(getattr(value, "dtype", None), "kind", "i") in "iuf"


def real(field: str, value: Any) -> float:
    """A finite number."""
    if not is_real(value):
        raise InvalidInputError(f"{field} must be a real number, got {shown(value)}.")
    try:
        number = float(value)
    except OverflowError:  # an integer beyond the largest float
        number = math.inf
    if not math.isfinite(number):
        raise InvalidInputError(f"{field} must be finite, got {number!r}.")
    return number


def amount(field: str, value: Any) -> float:
    """A number that can be added to and multiplied with others of its kind."""
    number = real(field, value)
    if abs(number) > LARGEST_NUMBER:
        raise InvalidInputError(f"{field} must be within {LARGEST_NUMBER:g} of zero, got {shown(value)}.")
    return number


def positive(field: str, value: Any) -> float:
    """An amount above zero."""
    number = amount(field, value)
    if number <= 0.0:
        raise InvalidInputError(f"{field} must be positive, got {shown(value)}.")
    return number


def non_negative(field: str, value: Any) -> float:
    """An amount of at least zero."""
    number = amount(field, value)
    if number < 0.0:
        raise InvalidInputError(f"{field} must be non-negative, got {shown(value)}.")
    return number


def share(field: str, value: Any) -> float:
    """A number from 0 to 1."""
    if not is_real(value) or not 0.0 <= value <= 1.0:
        raise InvalidInputError(f"{field} must be a number from 0 to 1, got {shown(value)}.")
    return float(value)


def whole(field: str, value: Any, least: int, most: float = LARGEST_WHOLE) -> int:
    """A whole number from `least` to `most`, by default the largest that fits 64 bits; it may be written as 1e5."""
    if not is_count(value) or not least <= int(value) <= most:
        if most == math.inf:
            limits = f"of at least {least}"
        elif most == LARGEST_WHOLE:
            limits = f"from {least} to below 2**63"
        else:
            limits = f"from {least} to {most}"
        raise InvalidInputError(f"{field} must be a whole number {limits}, got {shown(value)}.")
    return int(value)


def truth(field: str, value: Any) -> bool:
    """True or False itself: a string or a number could mean either."""
    if not isinstance(value, bool):
        raise InvalidInputError(f"{field} must be True or False, got {shown(value)}.")
    return value


def choice(field: str, value: Any, choices: Sequence[str | None]) -> Any:
    """One of a few words, or None if that is among them."""
    if not (isinstance(value, str) or value is None) or value not in choices:
        words = [repr(word) for word in choices]
        raise InvalidInputError(
            f"{field} must be {', '.join(words[:-1])} or {words[-1]}, got {shown(value)}{did_you_mean(value, choices)}."
        )
    return value


def instance_of(field: str, value: Any, kind: type, such_as: str = "") -> Any:
    """An object of a class."""
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise InvalidInputError(f"{field} must be {article} {kind.__name__}{such_as}, got {shown(value)}.")
    return value


def caller(field: str, value: Any) -> Any:
    """Something that can be called."""
    if not callable(value):
        raise InvalidInputError(f"{field} must be a function, got {shown(value)}.")
    return value


def items(field: str, value: Any, of: str) -> list[Any]:
    """The items of any iterable except a string, whose letters nobody means."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise InvalidInputError(f"{field} must be a sequence of {of}, got {shown(value)}.")
    try:
        return list(value)
    except (TypeError, ValueError):  # an array without dimensions claims to be iterable
        raise InvalidInputError(f"{field} must be a sequence of {of}, got {shown(value)}.") from None


def checked_name(field: str, value: Any) -> str:
    """A string that is not blank."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidInputError(f"{field} must be a non-empty string, got {shown(value)}.")
    return str(value)


def checked_names(field: str, value: Any) -> tuple[str, ...]:
    """Strings that are not blank and all distinct."""
    found: dict[str, int] = {}
    for position, given in enumerate(items(field, value, "names")):
        checked = checked_name(f"{field}[{position}]", given)
        first = found.setdefault(checked, position)
        if first != position:
            raise InvalidInputError(f"{field} must be unique, got {checked!r} at positions {first} and {position}.")
    return tuple(found)


def known_name(kind: str, value: Any, known: Iterable[str], here: str = "") -> str:
    """One of the known names."""
    if not isinstance(value, str) or value not in known:
        joint = "there are" if here else "known are"
        hint = did_you_mean(value, known)
        raise UnknownNameError(f"There is no {kind} {shown(value)}{here}{hint}; {joint} {', '.join(known)}.")
    return value


def index_of(kind: str, value: Any, known: Mapping[str, int], *, named: bool = True) -> int:
    """The row or column of a name (if there are names) or of an index from 0."""
    if isinstance(value, str):
        if named and value in known:
            return known[value]
    elif is_whole(value) and 0 <= value < len(known):
        return int(value)
    names_known = f"one of {listed(known)}, or " if named else ""
    hint = did_you_mean(value, known) if named else ""
    raise UnknownNameError(
        f"There is no {kind} {shown(value)}{hint}: it must be {names_known}an index from 0 to {len(known) - 1}."
    )


def file_path(field: str, value: Any) -> Path:
    """The path of a file that exists or will be written."""
    path = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    if not isinstance(path, str) or "\0" in path or not Path(path).name:
        raise InvalidInputError(f"{field} must be the path of a file, got {shown(value)}.")
    return Path(path)


def fields(owner: str, value: Any, required: Sequence[str], optional: Sequence[str] = ()) -> Mapping[str, Any]:
    """A table with all of the required fields and no unknown ones."""
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{owner} must be a table of named fields, got {type(value).__name__}.")
    for key in value:
        if key not in (*required, *optional):
            raise InvalidInputError(
                f"{owner} must have only the fields {', '.join((*required, *optional))}, "
                f"got {shown(key)}{did_you_mean(key, (*required, *optional))}."
            )
    for key in required:
        if key not in value:
            raise InvalidInputError(f"{owner} must have the field {key}, got {', '.join(value) or 'none'}.")
    return value
