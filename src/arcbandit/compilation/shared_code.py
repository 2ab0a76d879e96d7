"""Machine code that several kernels call, in this process and in others: its names, its files, and how it is loaded.

Numba links a copy of every kernel into its callers. A shared kernel is instead compiled once, under a name that is the
same in every process; its callers hold that name, and find the code in the process when they are loaded. Like the
pipeline, this is built on internals of Numba.
"""

import functools
import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm  # type: ignore[import-untyped]

from arcbandit.compilation.cache import cache_folder
from arcbandit.compilation.fingerprint import described_types, fingerprint

# What a shared kernel was made from, and for which arguments. Numba's own names hold a number that differs from process
# to process.
SYMBOL = re.compile(rb"_ZN\d+arcbandit_([0-9a-f]{24})_[0-9a-f]{16}Ev")
# Stands where Numba would link the code of a kernel into its caller: a module must have a function, at least declared.
NOTHING = "declare void @arcbandit_nothing()"
DIGEST_BYTES = 32
# What this process can call, by symbol. Kept for ever: code that others refer to must not be unloaded.
loaded: dict[str, Any] = {}


def symbol_of(function: Callable[..., Any], argument_types: tuple[Any, ...]) -> str:
    """The name of a kernel's machine code for these arguments, in the form that Numba expects of a C++ compiler."""
    types_hash = hashlib.sha256(described_types(argument_types).encode()).hexdigest()[:16]
    name = f"arcbandit_{fingerprint(function)}_{types_hash}"
    return f"_ZN{len(name)}{name}Ev"


def environment_of(symbol: str) -> str:
    """The name of what Numba keeps beside a kernel's code, in its own form."""
    return f"_ZN08NumbaEnv{symbol.removeprefix('_ZN')}"


def _file_of(symbol: str) -> Path | None:
    found = SYMBOL.fullmatch(symbol.encode())
    folder = cache_folder(found[1].decode()) if found else None
    return None if folder is None else folder / f"{symbol}.o"


def keep_code(symbol: str, library: Any) -> None:
    """Keep a kernel that was just compiled, here and on disk."""
    loaded[symbol] = library
    _write(symbol, library._get_compiled_object())


def _write(symbol: str, code: bytes) -> None:
    """Keep machine code on disk; if that fails, other processes compile it again."""
    path = _file_of(symbol)
    if path is None:
        return
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        partial.write_bytes(hashlib.sha256(code).digest() + code)
        os.replace(partial, path)
    except OSError:
        partial.unlink(missing_ok=True)


def _kept_code(symbol: str) -> bytes | None:
    """What a process kept on disk, if it is there and whole: code that was cut short would end the process."""
    path = _file_of(symbol)
    try:
        data = path.read_bytes() if path is not None else b""
    except OSError:
        return None
    digest, code = data[:DIGEST_BYTES], data[DIGEST_BYTES:]
    return code if code and hashlib.sha256(code).digest() == digest else None


def _load(engine: Any, symbol: str, code: bytes | None) -> bool:
    """Make a shared kernel callable, after those that it calls itself; False if the code of one is not there."""
    if symbol in loaded:
        return True
    if code is None or not _load_callees(engine, code, symbol):
        return False
    found = llvm.ObjectFileRef.from_data(code)
    engine._ee.add_object_file(found)
    engine.finalize_object()
    loaded[symbol] = found
    return True


def _load_callees(engine: Any, code: bytes, itself: str = "") -> bool:
    """Load the shared kernels that machine code calls, which it names in its table of symbols."""
    symbols = {match[0].decode() for match in SYMBOL.finditer(code)} - {itself}
    return all(symbol in loaded or _load(engine, symbol, _kept_code(symbol)) for symbol in sorted(symbols))


def rebuild_caller(rebuild: Callable[..., Any], target: Any, payload: Any) -> Any:
    """Load a kernel from Numba's cache; None if shared code that it calls is missing, upon which Numba compiles it."""
    code, _ = payload[0][2]
    return rebuild(target, payload) if _load_callees(target.codegen()._engine, code) else None


def rebuild_shared(rebuild: Callable[..., Any], target: Any, payload: Any) -> Any:
    """Load a shared kernel from Numba's cache, unless a caller has loaded it: a symbol may be defined only once."""
    (name, _, (code, _)), fndesc, *rest, _ = payload
    symbol = fndesc.mangled_name
    if not _load(target.codegen()._engine, symbol, code):
        return None
    if _kept_code(symbol) is None:  # without it, no process could load a caller
        _write(symbol, code)
    nothing = llvm.parse_assembly(NOTHING).as_bitcode()
    # The last part are environments of the kernels inside, for errors that ours never raise. Of two processes that
    # compiled at once, one may have kept its code and the other this payload, whose kernels have other numbers in their
    # names: Numba would write to environments that are not there.
    return rebuild(target, ((name, "bitcode", nothing), fndesc, *rest, ()))


def load_by(compiled: Any, way: Callable[..., Any]) -> None:
    """Let a function that is cached be loaded by one of the two ways above."""
    cached = compiled._cache._impl
    cached.rebuild = functools.partial(way, cached.rebuild)
