"""The decorators that turn a function into a kernel.

They compile by `numba_pipeline.py`, which is built from parts inside Numba; where a release of Numba has moved these,
or ``ARCBANDIT_PLAIN_NUMBA=1`` asks for it, by `numba_options.py`. The code that comes of it computes the same to the
last bit, but takes several times as long to compile.

Numba's own disk cache looks only at the file of the function it compiles, so an edit in a *called* kernel would go
unnoticed. The cache folder is therefore named after a hash of every source that may hold a kernel.
"""

import functools
import hashlib
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import llvmlite  # type: ignore[import-untyped]
import numba

PACKAGE = Path(__file__).resolve().parents[1]
ROOMS_WITH_KERNELS = ("compilation", "kernels", "policies", "simulation")
CACHE_VARIABLE = "ARCBANDIT_CACHE_DIR"
PLAIN_VARIABLE = "ARCBANDIT_PLAIN_NUMBA"
# Whether a way to compile works, kept beside the kernels that are compiled that way.
VERDICT_FILE = "verdict"
WORKS = "works"
LONGEST_REASON = 200  # letters of what went wrong that a warning quotes

config: Any = numba.config

Function = TypeVar("Function", bound=Callable[..., Any])


def source_fingerprint(package: Path = PACKAGE) -> str:
    """Hash of all that decides what a kernel compiles to."""
    digest = hashlib.sha256()
    compiler = f"{numba.__version__} {llvmlite.__version__}"
    digest.update(f"{sys.version_info[:2]} {compiler} {config.BOUNDSCHECK}".encode())
    for room in ROOMS_WITH_KERNELS:
        for source in sorted((package / room).rglob("*.py")):
            digest.update(source.relative_to(package).as_posix().encode())
            digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def cache_root() -> Path:
    """Where compiled kernels are kept: ``ARCBANDIT_CACHE_DIR``, else the user's cache folder."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "arcbandit"


@functools.cache
def cache_folder() -> Path | None:
    """The folder of this version of the sources and this way to compile; None where it cannot be written."""
    return _made(source_fingerprint() + ("" if config.DISABLE_JIT else chosen_way().suffix))


def _made(name: str) -> Path | None:
    """A folder of that name in the cache; None where it cannot be written."""
    try:
        folder = cache_root() / name
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return None
    return folder if os.access(folder, os.W_OK) else None


class Way(NamedTuple):
    """A way to compile: a module or an object with `copied`, `called` and `entry`, found when it is needed."""

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
    """The first way to compile that works with this release of Numba; a warning says if it is not the usual one."""
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
            f"Numba {numba.__version__} does not compile kernels as is usual here ({'; '.join(failures)}). They are "
            f"compiled by {way.name} instead: {way.costs}.{silence}",
            RuntimeWarning,
            stacklevel=2,
        )
    return way


def _failure(way: Way) -> str | None:
    """Why a way does not work, None if it does; tried out once for a cache folder."""
    if way is WAYS[-1]:
        return None  # if this fails, nothing works
    folder = _made(source_fingerprint() + way.suffix)
    known = _known_verdict(folder)
    if known not in (None, WORKS):
        return known
    try:
        compiler = way.find()
        if known is None:
            _part("trial").try_out(compiler, functools.partial(_entry, compiler, folder), cached=folder is not None)
    except (OSError, MemoryError) as error:
        return _in_short(error)  # not kept: it may be over the next time
    except Exception as error:  # noqa: BLE001, parts that were moved may fail in any way
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
    """Compile `function` for use inside other kernels, copied into its callers by the optimiser.

    With ``NUMBA_DISABLE_JIT=1`` it stays plain Python; with ``NUMBA_BOUNDSCHECK=1`` every index is checked.
    """
    if config.DISABLE_JIT:
        return function
    compiled: Function = chosen_way().find().copied(function)
    return compiled


def rare_kernel(function: Function) -> Function:
    """Like `kernel`, but called rather than copied: for what few rounds need, or several places call.

    A call passes what it reads of the arrays in its tuples, and costs as much as a small kernel's work.
    """
    if config.DISABLE_JIT:
        return function
    compiled: Function = chosen_way().find().called(function)
    return compiled


def entry_kernel(function: Function) -> Function:
    """Compile `function` for calls from Python, without the interpreter's lock, cached on disk with all it calls."""
    if config.DISABLE_JIT:
        return function
    compiled: Function = _entry(chosen_way().find(), cache_folder(), function)
    return compiled


def _entry(compiler: Any, folder: Path | None, function: Callable[..., Any]) -> Any:
    if folder is not None:
        with _numba_caching_in(folder):
            compiled = compiler.entry(function, cache=True)
        # A release of Numba that would cache elsewhere would not notice an edit in a called kernel.
        found = getattr(getattr(compiled, "stats", None), "cache_path", None)
        if found is not None and Path(found).is_relative_to(folder):
            return compiled
    return compiler.entry(function)


def cache_on_disk(dispatcher: Any, folder: Path) -> None:
    """Let a compiled function find its code of an earlier process in a folder, and leave it there."""
    with _numba_caching_in(folder):
        dispatcher.enable_caching()


@contextmanager
def _numba_caching_in(folder: Path) -> Iterator[None]:
    # Numba reads the folder when caching is enabled, and has no argument for it.
    before = config.CACHE_DIR
    config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        config.CACHE_DIR = before
