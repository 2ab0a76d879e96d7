"""Instance files: TOML or JSON, by the suffix."""

import json
import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import tomli_w

from arcbandit.errors import InvalidInputError, InvalidInstanceError
from arcbandit.inputs.values import file_path, raised_as

Built = TypeVar("Built")


def read_instance_file(path: str | os.PathLike[str], build: Callable[[Any], Built]) -> Built:
    """Build an instance from the contents of a .toml or .json file; an error begins with the name of the file."""
    with raised_as(InvalidInstanceError):
        file = file_path("path", path)
    parse = tomllib.loads if _suffix(file) == ".toml" else _parse_json
    try:
        return build(parse(file.read_text(encoding="utf-8")))
    except FileNotFoundError as error:
        raise InvalidInstanceError(f"{file}: no such file.") from error
    except OSError as error:
        raise InvalidInstanceError(f"{file}: cannot be read ({error.strerror}).") from error
    except InvalidInputError as error:
        raise InvalidInstanceError(f"{file}: {error}") from error
    except (ValueError, RecursionError) as error:
        raise InvalidInstanceError(f"{file}: is not valid {file.suffix[1:].upper()} ({error}).") from error


def write_instance_file(path: str | os.PathLike[str], data: dict[str, Any]) -> None:
    """Write plain data to a .toml or .json file, whole or not at all."""
    with raised_as(InvalidInstanceError):
        file = file_path("path", path)
    if _suffix(file) == ".toml":
        text = tomli_w.dumps(data)
    else:
        text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
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
