"""Kernels on a GPU: finding Numba's CUDA target, and compiling a function for it."""

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from arcbandit.errors import MissingExtraError
from arcbandit.kernels.compile import config


def import_cuda() -> Any:
    """The module `numba.cuda` of the package numba-cuda."""
    # Numba has a target of the same name, no longer maintained, which the package takes the place of.
    if importlib.util.find_spec("numba_cuda") is None:
        raise MissingExtraError("numba-cuda", "cuda")
    with _row_stack_defined():
        from numba import cuda

        if not config.ENABLE_CUDASIM:
            # Else loaded with the first kernel that is compiled, where the name would be missing.
            import numba.cuda.np.arrayobj  # noqa: F401
    return cuda


@contextmanager
def _row_stack_defined() -> Iterator[None]:
    """Define `np.row_stack`, which NumPy 2.5 took away and numba-cuda 0.30 still looks up on import."""
    if hasattr(np, "row_stack"):
        yield
        return
    names = vars(np)
    names["row_stack"] = np.vstack
    try:
        yield
    finally:
        del names["row_stack"]


def device_available() -> bool:
    """Whether the extra is installed and a GPU, its driver and the CUDA toolkit are there."""
    try:
        return bool(import_cuda().is_available())
    except MissingExtraError:
        return False


def compile_for_device(function: Callable[..., None]) -> Any:
    """A kernel of `function`, launched as `kernel[blocks, threads](*arguments)`; it may call every other kernel."""
    return import_cuda().jit(function)
