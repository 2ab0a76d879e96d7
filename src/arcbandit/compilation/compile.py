"""The decorators that turn a function into a kernel, and the way it is compiled.

They compile by `numba_pipeline.py`, which is built on Numba's internals; if a release of Numba has moved these, or
``ARCBANDIT_PLAIN_NUMBA=1`` asks for it, by `numba_options.py`. The resulting code computes the same to the last bit,
but takes several times as long to compile.
"""

import functools
import os
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple, TypeVar

import numba

from arcbandit.compilation.cache import cache_folder, is_kept, numba_caching_in
from arcbandit.compilation.enum_indices import accept_members
from arcbandit.compilation.fingerprint import compiler_fingerprint, fingerprint
from arcbandit.notes import tell

PLAIN_VARIABLE = "ARCBANDIT_PLAIN_NUMBA"
# The file that records whether a way to compile works.
VERDICT_FILE = "verdict"
WORKS = "works"
LONGEST_REASON = 200  # characters of an error that a warning quotes

config: Any = numba.config

accept_members()

Function = TypeVar("Function", bound=Callable[..., Any])


class Way(NamedTuple):
    """A way to compile: a module or an object with `copied`, `called` and `entry`, imported when it is needed."""

    name: str
    find: Callable[[], Any]
    suffix: str  # of the cache folder
    costs: str = ""  # how it compares with the first


def _part(name: str) -> Any:
    return import_module(f".{name}", __package__)


WAYS = (
    Way("the fast pipeline", lambda: _part("numba_pipeline"), ""),
    Way(
        "options of njit",
        lambda: _part("numba_options").ByOptions(),
        "-options",
        "compiling takes several times as long, the rounds are as fast",
    ),
    Way(
        "documented options of njit",
        lambda: _part("numba_options").ByDocumentedOptions(),
        "-documented",
        "compiling takes several times as long, and the rounds about ten times",
    ),
)


@functools.cache
def chosen_way() -> Way:
    """The first way to compile that works with this release of Numba; warn if it is not the usual one."""
    plain = os.environ.get(PLAIN_VARIABLE, "") not in ("", "0")
    failures = []
    for way in WAYS[1:] if plain else WAYS:
        failure = _failure(way)
        if failure is None:
            break
        failures.append(failure)
    if failures:
        silence = "" if plain else f" Set {PLAIN_VARIABLE}=1 to choose this and see no warning."
        warnings.warn(
            f"Numba {numba.__version__} cannot compile kernels the usual way ({'; '.join(failures)}). They are "
            f"compiled by {way.name} instead: {way.costs}.{silence}",
            RuntimeWarning,
            stacklevel=2,
        )
    return way


def _failure(way: Way) -> str | None:
    """Why a way does not work, None if it does; tried once per version of the compiler."""
    if way is WAYS[-1]:
        return None  # if this fails, nothing works
    folder = cache_folder(compiler_fingerprint() + way.suffix)
    known = _known_verdict(folder)
    if known not in (None, WORKS):
        return known
    try:
        compiler = way.find()
        if known is None:
            _part("trial").try_out(compiler, functools.partial(_entry, compiler, folder), cached=folder is not None)
    except (OSError, MemoryError) as error:
        return _in_short(error)  # not kept: it may work next time
    except Exception as error:  # noqa: BLE001, internals that were moved may fail in any way
        verdict = _in_short(error)
    else:
        verdict = WORKS
    if verdict != known and folder is not None:
        _keep_verdict(folder, verdict)
    return None if verdict == WORKS else verdict


def _in_short(error: Exception) -> str:
    words = " ".join(f"{type(error).__name__}: {error}".split())
    return words if len(words) <= LONGEST_REASON else f"{words[:LONGEST_REASON]} ..."


def _known_verdict(folder: Path | None) -> str | None:
    """What an earlier process found, if one did."""
    if folder is None:
        return None
    try:
        return (folder / VERDICT_FILE).read_text(encoding="utf-8").strip() or None
    except (OSError, ValueError):
        return None


def _keep_verdict(folder: Path, verdict: str) -> None:
    partial = folder / f"{VERDICT_FILE}.{os.getpid()}"
    try:
        partial.write_text(verdict, encoding="utf-8")
        os.replace(partial, folder / VERDICT_FILE)
    except OSError:
        return  # the next process tries for itself


def kernel(function: Function) -> Function:
    """Compile `function` for use inside other kernels, inlined into its callers.

    With ``NUMBA_DISABLE_JIT=1`` it stays plain Python; with ``NUMBA_BOUNDSCHECK=1`` every index is checked.
    """
    if config.DISABLE_JIT:
        return function
    return _marked(chosen_way().find().copied(function), "kernel")


def rare_kernel(function: Function) -> Function:
    """Like `kernel`, but called, not inlined: for code that few rounds need, or that has several callers.

    The overhead of a call, which passes the parts of its tuples that it reads, is about the work of a small kernel.
    """
    if config.DISABLE_JIT:
        return function
    return _marked(chosen_way().find().called(function), "rare_kernel")


def shared_kernel(function: Function) -> Function:
    """Like `rare_kernel`, but compiled once for all callers, which refer to its machine code instead of holding it.

    A call passes every part of its tuples: for large kernels that few rounds need, and that many entries call.
    """
    if config.DISABLE_JIT:
        return function
    return _marked(chosen_way().find().shared(function), "shared_kernel")


def _marked(compiled: Any, decorator: str) -> Any:
    compiled.made_by = decorator  # for the fingerprint: Numba does not show it among a kernel's options
    return compiled


# The entries that this process asked for: those that it had to compile, and those that it found on disk.
compiled_here: list[str] = []
loaded_here: list[str] = []


def _announce(folder: Path | None) -> None:
    """Say once per process that it compiles, to people who would wonder why nothing happens."""
    if len(compiled_here) > 1:
        return
    kept = f", and is kept in {folder.parent}" if folder is not None else ""
    tell(f"compiling, which takes about half a minute for the first policy and less for others{kept}")


class Entry:
    """A kernel that Python calls: compiled at its first call, or loaded from disk, with all that it calls."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.py_func = function
        functools.update_wrapper(self, function)

    @functools.cached_property
    def compiled(self) -> Any:
        """The compiled function, to be called directly if the overhead of this object matters."""
        if config.DISABLE_JIT:
            return self.py_func
        way = chosen_way()
        folder = cache_folder(fingerprint(self.py_func) + way.suffix)
        if is_kept(folder):
            loaded_here.append(self.py_func.__qualname__)
        else:
            compiled_here.append(self.py_func.__qualname__)
            _announce(folder)
        return _entry(way.find(), folder, self.py_func)

    def __call__(self, *arguments: Any) -> Any:
        """Call the kernel."""
        return self.compiled(*arguments)


def entry_kernel(function: Callable[..., Any]) -> Entry:
    """Compile `function` for calls from Python, without the interpreter's lock, cached on disk with all it calls."""
    return Entry(function)


def bound(decorator: Callable[[Any], Any], function: Callable[..., Any], **names: Any) -> Any:
    """A kernel, made by one of the decorators, in whose code these names mean the given kernels and constants.

    A function that takes kernels as arguments would be compiled again in every process. A copy of the function with
    other globals is a separate function, whose code is found on disk, by a fingerprint that covers the given kernels.
    """
    unknown = names.keys() - function.__globals__.keys()
    if unknown:
        raise TypeError(f"names must be globals of {function.__qualname__}, got {sorted(unknown)}.")
    scope = {**function.__globals__, **names}
    copy = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__module__, copy.__qualname__, copy.__doc__ = function.__module__, function.__qualname__, function.__doc__
    return decorator(copy)


def _entry(compiler: Any, folder: Path | None, function: Callable[..., Any]) -> Any:
    if folder is not None:
        with numba_caching_in(folder):
            compiled = compiler.entry(function, cache=True)
        # If a release of Numba cached elsewhere, an edit in a called kernel would go unnoticed.
        found = getattr(getattr(compiled, "stats", None), "cache_path", None)
        if found is not None and Path(found).is_relative_to(folder):
            return compiled
    return compiler.entry(function)
