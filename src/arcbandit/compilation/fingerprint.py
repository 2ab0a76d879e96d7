"""A hash of all that determines a kernel's machine code: its code, that of all it calls, and their constants.

Numba's disk cache checks only the file of the function called from Python, so an edit in a kernel that it calls would
go unnoticed. The cache folder of an entry is therefore named after this hash. Docstrings, comments and everything that
compiled code does not reach are not part of it.
"""

import enum
import functools
import hashlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import llvmlite  # type: ignore[import-untyped]
import numba
import numpy as np
from numba.core import types

config: Any = numba.config

# The files of this room that determine the code made from a kernel.
COMPILERS = ("compile.py", "numba_pipeline.py", "numba_options.py", "packing.py")


@functools.cache
def compiler_fingerprint() -> str:
    """Hash of the compiler: Python, Numba, LLVM, and the files of this room that control them."""
    digest = hashlib.sha256(
        f"{sys.version_info[:2]} {numba.__version__} {llvmlite.__version__} {config.BOUNDSCHECK}".encode()
    )
    for name in COMPILERS:
        digest.update((Path(__file__).with_name(name)).read_bytes())
    return digest.hexdigest()[:16]


def fingerprint(function: Callable[..., Any]) -> str:
    """Hash of all that determines what a function compiles to."""
    digest = hashlib.sha256(compiler_fingerprint().encode())
    waiting = [function]
    seen: set[int] = set()
    while waiting:
        found = waiting.pop()
        if id(found) in seen:
            continue
        seen.add(id(found))
        digest.update(f"{found.__module__}.{found.__qualname__}".encode())
        for word, called in _parts(found):
            digest.update(word.encode())
            if called is not None:
                waiting.append(called)
    return digest.hexdigest()[:24]


def _parts(function: Any) -> Iterator[tuple[str, Any]]:
    """A function's code and constants as text, and the functions that it calls."""
    names: set[str] = set()
    for code in _codes(function.__code__):
        constants = [part for part in code.co_consts if not isinstance(part, CodeType)]
        # Skip the docstring, which is the first constant if there is one.
        if constants and isinstance(constants[0], str):
            del constants[0]
        yield f"{code.co_code.hex()} {constants} {code.co_names} {code.co_varnames} {code.co_freevars}", None
        names.update(code.co_names)
    for name in sorted(names & function.__globals__.keys()):
        yield name, None
        yield from _value(function.__globals__[name])
    for cell in function.__closure__ or ():
        yield from _value(cell.cell_contents)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _codes(part)


def _value(value: Any) -> Iterator[tuple[str, Any]]:
    function = getattr(value, "py_func", None) or getattr(value, "_defn", None)  # a kernel, or an intrinsic of Numba
    if isinstance(function, FunctionType):
        options = getattr(value, "targetoptions", {})
        yield str(sorted((name, str(option)) for name, option in options.items())), function
    elif isinstance(value, FunctionType):
        yield "", value
    elif isinstance(value, ModuleType):
        yield value.__name__, None
    elif isinstance(value, type) and issubclass(value, enum.Enum):
        yield str([(member.name, member.value) for member in value]), None
    elif isinstance(value, type):
        yield f"{value.__module__}.{value.__qualname__} {getattr(value, '_fields', '')}", None
    elif isinstance(value, bool | int | float | complex | str | bytes | np.generic | types.Type | None):
        yield f"{type(value).__name__} {value!s}", None
    elif isinstance(value, tuple):
        for part in value:
            yield from _value(part)
    elif isinstance(value, np.ndarray):
        yield f"{value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}", None
    else:
        yield f"{type(value).__module__}.{type(value).__qualname__}", None
