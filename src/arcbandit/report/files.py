"""Files that are written whole or not at all."""

import os
from collections.abc import Sequence
from pathlib import Path

from arcbandit.errors import InvalidInputError


def check_target(path: str | os.PathLike[str], suffixes: Sequence[str]) -> Path:
    """The path, if a file of one of these suffixes can be written there."""
    target = Path(path)
    if target.suffix.lower() not in suffixes:
        raise InvalidInputError(f"{target}: must end in {_either(suffixes)}.")
    if target.is_dir():
        raise InvalidInputError(f"{target}: is a folder, but must be a file.")
    folder = Path(os.path.realpath(target)).parent
    if not folder.is_dir():
        raise InvalidInputError(f"{target}: there is no folder {str(target.parent)!r} to write it to.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InvalidInputError(f"{target}: the folder {str(target.parent)!r} cannot be written to.")
    return target


def write_whole(target: Path, content: bytes) -> None:
    """Write a file; readers find the old file or the new one, even after an interrupt."""
    destination = Path(os.path.realpath(target))  # replacing a link itself would leave its target stale
    partial = destination.with_name(f".{destination.name}.{os.getpid()}.partial")
    try:
        partial.write_bytes(content)
        os.replace(partial, destination)
    finally:
        partial.unlink(missing_ok=True)


def _either(suffixes: Sequence[str]) -> str:
    return " or ".join([", ".join(suffixes[:-1]), suffixes[-1]] if len(suffixes) > 1 else suffixes)
