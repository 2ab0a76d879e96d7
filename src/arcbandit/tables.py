"""Frames from columns, and tables in Parquet files, each written whole or not at all, with a header."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, Literal, get_args

from arcbandit.errors import InvalidInputError, MissingExtraError
from arcbandit.inputs.values import choice, file_path

HEADER_KEY = "arcbandit"  # of the header in the file's metadata
FIRST_KIND = "trace"  # of the first files, whose headers do not name their kind

FrameKind = Literal["polars", "pandas"]  # of these, the first that is installed is the default


def frame_of(columns: Mapping[str, Any], kind: FrameKind | None = None) -> Any:
    """A frame of polars or pandas from columns of equal length.

    >>> frame_of({"arm": ["a", "b"], "share": [0.5, 0.5]}, "pandas").shape
    (2, 2)
    """
    choice("kind", kind, (*get_args(FrameKind), None))
    if kind is None:
        kind = "polars" if _is_installed("polars") or not _is_installed("pandas") else "pandas"
    if kind == "polars":
        return import_polars().DataFrame(dict(columns))
    try:
        import pandas
    except ImportError:
        raise MissingExtraError("pandas", "pandas") from None
    return pandas.DataFrame(dict(columns))


def _is_installed(module: str) -> bool:
    return find_spec(module) is not None


def write_table(
    path: str | os.PathLike[str], kind: str, version: int, rows: Mapping[str, Any], header: Mapping[str, Any]
) -> None:
    """Write columns and their header to one Parquet file, whole or not at all."""
    polars = import_polars()
    target = file_path("path", path)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    described = json.dumps({"kind": kind, "version": version, **header})
    try:
        polars.DataFrame(rows).write_parquet(partial, metadata={HEADER_KEY: described})
        os.replace(partial, target)
    except OSError as error:
        raise InvalidInputError(f"{target}: cannot be written ({error.strerror or error}).") from error
    finally:
        partial.unlink(missing_ok=True)


def read_table(
    path: str | os.PathLike[str], kind: str, versions: Sequence[int], fields: Sequence[str]
) -> tuple[Any, dict[str, Any]]:
    """The frame and the header that `write_table` wrote, if they are a `kind` of one of these versions.

    The header must have all of `fields`.
    """
    polars = import_polars()
    if not file_path("path", path).is_file():
        raise InvalidInputError(f"There is no {kind} file {os.fspath(path)!r}.")
    try:
        header = json.loads(polars.read_parquet_metadata(path)[HEADER_KEY])
        frame = polars.read_parquet(path)
    except (KeyError, ValueError, polars.exceptions.PolarsError) as error:
        raise InvalidInputError(f"{os.fspath(path)!r} must be a {kind} saved by arcbandit: {error}.") from None
    unfit = f"{os.fspath(path)!r} must be a {kind} saved by arcbandit: its header"
    if not isinstance(header, dict):
        raise InvalidInputError(f"{unfit} is not a table.")
    found = header.get("kind", FIRST_KIND)
    if found != kind:
        raise InvalidInputError(f"{os.fspath(path)!r} must be a {kind}, but is a {found}; load it as one.")
    if header.get("version") not in versions:
        wanted = " or ".join(str(version) for version in versions)
        raise InvalidInputError(f"The {kind} must be of version {wanted}, got {header.get('version')}.")
    for field in fields:
        if field not in header:
            raise InvalidInputError(f"{unfit} has no field {field!r}.")
    return frame, header


@contextmanager
def reading(path: str | os.PathLike[str], kind: str) -> Iterator[None]:
    """Refuse a file whose contents do not match its header."""
    try:
        yield
    except (KeyError, TypeError, ValueError, import_polars().exceptions.PolarsError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(f"{os.fspath(path)!r} must be a complete {kind}, but it is damaged: {error}.") from None


def import_polars() -> Any:
    """The package that frames and Parquet files need."""
    try:
        import polars
    except ImportError:
        raise MissingExtraError("polars", "frames") from None
    return polars
