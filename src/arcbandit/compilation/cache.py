"""Where compiled code is kept between processes."""

import functools
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numba

from arcbandit.errors import CacheWarning
from arcbandit.notes import warn

CACHE_VARIABLE = "ARCBANDIT_CACHE_DIR"
_setting = threading.RLock()  # held while Numba's setting is ours

config: Any = numba.config


def cache_root() -> Path:
    """Where compiled kernels are kept: ``ARCBANDIT_CACHE_DIR``, otherwise the user's cache folder of the platform."""
    chosen = os.environ.get(CACHE_VARIABLE)
    return Path(chosen) if chosen else user_cache(sys.platform) / "arcbandit"


def user_cache(platform: str) -> Path:
    """The folder for caches of the user, by the conventions of a platform; XDG_CACHE_HOME names it on any."""
    chosen = os.environ.get("XDG_CACHE_HOME")
    if chosen:
        return Path(chosen)
    if platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    return Path.home() / "Library" / "Caches" if platform == "darwin" else Path.home() / ".cache"


def cache_folder(name: str) -> Path | None:
    """The folder of that name in the cache; None, with a warning, if it cannot be written."""
    try:
        folder = cache_root() / name
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError) as error:
        return _refused(getattr(error, "strerror", None) or str(error))
    return folder if os.access(folder, os.W_OK) else _refused("Permission denied")


@functools.cache
def _refused(reason: str) -> None:
    """Say once that nothing can be kept."""
    warn(
        f"Compiled code cannot be kept in {_called(cache_root)} ({reason}), so every process compiles it again, for "
        f"about half a minute per policy. Let {CACHE_VARIABLE} name a folder that can be written.",
        CacheWarning,
    )


def _called(root: Callable[[], Path]) -> str:
    try:
        return str(root())
    except RuntimeError:  # there is no home folder
        return "the cache folder"


def is_kept(folder: Path | None) -> bool:
    """Whether compiled code is in a folder of the cache."""
    return folder is not None and next(folder.rglob("*.nbi"), None) is not None


def cache_on_disk(dispatcher: Any, folder: Path) -> None:
    """Let a compiled function load its code from a folder, if an earlier process left it there, and save it there."""
    with numba_caching_in(folder):
        dispatcher.enable_caching()


@contextmanager
def numba_caching_in(folder: Path) -> Iterator[None]:
    """A context in which functions compiled with a cache have it in this folder."""
    # Numba reads the folder from its configuration when caching is enabled, and has no argument for it.
    with _setting:
        before = config.CACHE_DIR
        config.CACHE_DIR = str(folder)
        try:
            yield
        finally:
            config.CACHE_DIR = before
