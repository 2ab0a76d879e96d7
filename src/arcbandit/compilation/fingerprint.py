"""A hash of all that determines a kernel's machine code: its code, that of all it calls, and their constants.

Numba's disk cache checks only the file of the function called from Python, so an edit in a kernel that it calls would
go unnoticed. The cache folder of an entry is therefore named after this hash. The text of docstrings, comments and
everything that compiled code does not reach are not part of it. A global that this module cannot read is refused: code
found on disk might have been made for another value of it.
"""

import dis
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
COMPILERS = ("compile.py", "numba_pipeline.py", "shared_code.py", "numba_options.py", "packing.py")
# The contents of these are determined by their versions, which are part of the hash.
KNOWN_MODULES = ("math", "cmath", "operator", "builtins", "numpy", "numba", "llvmlite")
LOAD_GLOBAL, EXTENDED_ARG = dis.opmap["LOAD_GLOBAL"], dis.opmap["EXTENDED_ARG"]
HAS_DOCSTRING = 0x4000000  # a flag of code from Python 3.14 on
SCALARS = bool | int | float | complex | str | bytes | np.generic | np.dtype | slice | type(None) | type(...)

# A part as text, and the function whose code belongs to it, if any.
Part = tuple[str, Any]


def compiler_fingerprint() -> str:
    """Hash of the compiler: Python, NumPy, Numba, LLVM, their settings, and the files here that control them."""
    return compiled_by(*COMPILERS)


@functools.cache
def compiled_by(*files: str) -> str:
    """Hash of the compiler, if these files of this room control it."""
    versions = (sys.version_info[:2], np.__version__, numba.__version__, llvmlite.__version__)
    settings = (config.BOUNDSCHECK, config.LOOP_VECTORIZE, config.SLP_VECTORIZE, int(config.OPT))
    digest = hashlib.sha256(f"{versions} {settings}".encode())
    for name in files:
        digest.update((Path(__file__).with_name(name)).read_bytes())
    return digest.hexdigest()[:16]


def fingerprint(function: Callable[..., Any], compiler: str | None = None) -> str:
    """Hash of all that determines what a function compiles to, by default with the usual compiler."""
    digest = hashlib.sha256((compiler or compiler_fingerprint()).encode())
    waiting: list[Any] = [function]
    numbers = {id(function): 0}  # in the order in which functions are met
    for found in waiting:
        for word, called in _parts(found):
            if called is not None and id(called) not in numbers:
                numbers[id(called)] = len(waiting)
                waiting.append(called)
            # Lengths keep "a" and "bc" apart from "ab" and "c"; numbers say which function a name stands for.
            number = "" if called is None else numbers[id(called)]
            digest.update(f"{len(word)} {word} {number}\n".encode())
    return digest.hexdigest()[:24]


def described_types(found: tuple[Any, ...]) -> str:
    """The Numba types of arguments as text, with the names of the fields of tuples."""
    reader = _Reader("a signature", set())
    return "\n".join(word for kind in found for word, _ in reader.of_numba_type(kind))


def _parts(function: Any) -> Iterator[Part]:
    """A function's code and constants as text, and the functions that it calls."""
    yield f"{function.__module__}.{function.__qualname__}", None
    names: set[str] = set()
    attributes: set[str] = set()
    for code in _codes(function.__code__):
        yield _described(code), None
        names |= _globals_of(code)
        attributes.update(code.co_names)
    reader = _Reader(f"{function.__module__}.{function.__qualname__}", attributes)
    values = function.__globals__
    for name in sorted(names & values.keys()):
        yield name, None
        yield from reader.parts(values[name], name)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield from reader.parts(cell.cell_contents, name)
    yield from reader.parts(function.__defaults__, "a default")
    yield from reader.parts(function.__kwdefaults__, "a default")
    # Numba tells named tuples apart by their class, not by the order of its fields. An argument's class need not occur
    # in a kernel, but stands where kernels that take it do.
    for name in sorted(name for name, value in values.items() if _is_named_tuple(value)):
        yield from reader.parts(values[name], name)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _codes(part)


@functools.cache
def _described(code: CodeType) -> str:
    """A function's instructions and what they refer to, without its docstring."""
    constants = [_constant(part) for part in code.co_consts if not isinstance(part, CodeType)]
    # The docstring is the first constant, if there is one.
    if sys.version_info >= (3, 14):
        documented = bool(code.co_flags & HAS_DOCSTRING)
    else:
        documented = bool(code.co_consts) and isinstance(code.co_consts[0], str)
    arguments = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags & ~HAS_DOCSTRING)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return f"{code.co_code.hex()} {constants[documented:]} {arguments} {names} {code.co_exceptiontable.hex()}"


def _constant(value: Any) -> str:
    if isinstance(value, frozenset):  # in an order that differs from process to process
        return f"{{{sorted(_constant(part) for part in value)}}}"
    return f"({[_constant(part) for part in value]})" if isinstance(value, tuple) else repr(value)


@functools.cache
def _globals_of(code: CodeType) -> frozenset[str]:
    """The globals that a code loads; co_names has names of attributes as well, which other globals may share."""
    found = set()
    extended = 0
    for operation, argument in zip(code.co_code[::2], code.co_code[1::2], strict=True):
        number = extended << 8 | argument
        if operation == LOAD_GLOBAL:
            found.add(code.co_names[number >> 1])
        extended = number if operation == EXTENDED_ARG else 0
    return frozenset(found)


def _is_named_tuple(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields")


def _is_known(name: str | None) -> bool:
    return name is not None and name.partition(".")[0] in KNOWN_MODULES


class _Reader:
    """Describes in text the values of a function's names."""

    def __init__(self, function: str, attributes: set[str]) -> None:
        self.function = function
        self.attributes = attributes  # all attribute names in its code
        self.modules: set[str] = set()

    def parts(self, value: Any, name: str) -> Iterator[Part]:
        """The text of a value that has this name."""
        # A kernel, or an intrinsic of Numba.
        function = getattr(value, "py_func", None) or getattr(value, "_defn", None)
        if isinstance(function, FunctionType):
            options = getattr(value, "targetoptions", {})
            decorator = getattr(value, "made_by", "")
            yield f"{decorator} {sorted((key, str(option)) for key, option in options.items())}", function
        elif isinstance(value, FunctionType):
            known = _is_known(value.__module__)
            yield f"{value.__module__}.{value.__qualname__}", None if known else value
        elif isinstance(value, ModuleType):
            yield from self.of_module(value)
        elif isinstance(value, type):
            yield from self.of_class(value)
        elif isinstance(value, enum.Enum):
            yield f"{value.name}", None
            yield from self.of_class(type(value))
        elif isinstance(value, types.Type):
            yield from self.of_numba_type(value)
        elif isinstance(value, SCALARS):
            yield f"{type(value).__name__} {value!r}", None
        elif isinstance(value, np.ndarray):
            yield f"{value.dtype!r} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}", None
        elif isinstance(value, tuple | list):
            yield f"{type(value).__name__} {len(value)}", None
            for part in value:
                yield from self.parts(part, name)
        elif isinstance(value, dict):
            yield f"dict {len(value)}", None
            for key, part in value.items():
                yield from self.parts(key, name)
                yield from self.parts(part, name)
        elif callable(value) and _is_known(getattr(value, "__module__", type(value).__module__)):
            yield f"{type(value).__name__} {value.__name__}", None
        else:
            raise TypeError(
                f"{self.function} must use only kernels, numbers, arrays, tuples, enums and modules of these, so that "
                f"its compiled code can be kept, but {name} is {value!r}."
            )

    def of_module(self, module: ModuleType) -> Iterator[Part]:
        """The text of those parts of a module that the function may look up."""
        yield module.__name__, None
        if _is_known(module.__name__) or module.__name__ in self.modules:
            return
        self.modules.add(module.__name__)
        for name in sorted(self.attributes & vars(module).keys()):
            yield name, None
            yield from self.parts(vars(module)[name], f"{module.__name__}.{name}")

    def of_class(self, kind: type) -> Iterator[Part]:
        """The text of the members of an enum, or of the fields of a named tuple and of those inside it."""
        yield f"{kind.__module__}.{kind.__qualname__}", None
        if issubclass(kind, enum.Enum):
            yield str([(name, member.value) for name, member in kind.__members__.items()]), None
        elif _is_named_tuple(kind):
            yield str(kind._fields), None  # type: ignore[attr-defined]
            for part in getattr(kind, "__annotations__", {}).values():
                if _is_named_tuple(part):
                    yield from self.of_class(part)

    def of_numba_type(self, kind: Any) -> Iterator[Part]:
        """The text of a Numba type, whose own name omits the names of a tuple's fields."""
        yield str(kind), None
        if isinstance(kind, types.BaseTuple):
            yield from self.of_class(getattr(kind, "instance_class", tuple))
            for part in getattr(kind, "types", ()):
                if isinstance(part, types.BaseTuple):
                    yield from self.of_numba_type(part)
