"""Where compiled code is kept between processes."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numba

CACHE_VARIABLE = "ARCBANDIT_CACHE_DIR"
_setting = threading.RLock()  # held while Numba's setting is ours

config: Any = numba.config


def cache_root() -> Path:
    """Where compiled kernels are kept: ``ARCBANDIT_CACHE_DIR``, otherwise the user's cache folder."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "arcbandit"


def cache_folder(name: str) -> Path | None:
    """The folder of that name in the cache; None if it cannot be written."""
    try:
        folder = cache_root() / name
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return None
    return folder if os.access(folder, os.W_OK) else None


def cache_on_disk(dispatcher: Any, folder: Path) -> None:
    """Let a compiled function load its code from a folder, if an earlier process left it there, and save it there."""
    with numba_caching_in(folder):
        dispatcher.enable_caching()


@contextmanager
def numba_caching_in(folder: Path) -> Iterator[None]:
    """While it lasts, functions that are compiled with a cache have it in this folder."""
    # Numba reads the folder when caching is enabled, and has no argument for it.
    with _setting:
        before = config.CACHE_DIR
        config.CACHE_DIR = str(folder)
        try:
            yield
        finally:
            config.CACHE_DIR = before
