"""Kernels on a GPU: finding Numba's CUDA target, and compiling a function for it."""

import hashlib
import importlib.util
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from arcbandit.compilation.cache import cache_folder, cache_on_disk, config
from arcbandit.compilation.fingerprint import COMPILERS, compiled_by, fingerprint
from arcbandit.errors import MissingExtraError


def import_cuda() -> Any:
    """The module `numba.cuda` of the package numba-cuda."""
    # The package replaces Numba's own target of the same name, which is no longer maintained.
    if importlib.util.find_spec("numba_cuda") is None:
        raise MissingExtraError("numba-cuda", "cuda")
    with _row_stack_defined():
        from numba import cuda

        if not config.ENABLE_CUDASIM:
            # Otherwise it is imported with the first kernel that is compiled, when the name would be missing.
            import numba.cuda.np.arrayobj  # noqa: F401
    return cuda


@contextmanager
def _row_stack_defined() -> Iterator[None]:
    """Define `np.row_stack`, which NumPy 2.5 removed and numba-cuda 0.30 still looks up on import."""
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
    """Whether the extra is installed and a GPU, its driver and the CUDA toolkit are available."""
    try:
        return bool(import_cuda().is_available())
    except MissingExtraError:
        return False


class DeviceKernel:
    """A kernel of a GPU, compiled when it is first launched and cached on disk."""

    def __init__(self, dispatcher: Any) -> None:
        self._dispatcher = dispatcher

    def __getitem__(self, threads: tuple[int, int]) -> Callable[..., None]:
        from arcbandit.compilation.device_code import device_code

        launch = self._dispatcher[threads]

        def run(*arguments: Any) -> None:
            with device_code():
                launch(*arguments)

        return run


def compile_for_device(name: str, source: str, names: dict[str, Any]) -> Any:
    """The kernel of that name in source that uses `cuda` and `names`, launched as `kernel[blocks, threads](...)`."""
    cuda = import_cuda()
    # Numba's simulator looks for `cuda` in the globals of a kernel, and its cache for the file of the kernel.
    scope = {"cuda": cuda} | names
    exec(compile(source, f"<kernel {name}>", "exec"), scope)
    folder = cache_folder(fingerprint(scope[name], device_compiler()))
    file = None if folder is None else _written(source, folder, name)
    if file is not None:
        exec(compile(source, str(file), "exec"), scope)
    if config.ENABLE_CUDASIM:
        return cuda.jit(scope[name])
    dispatcher = cuda.jit(scope[name], lto=False)  # nothing is linked: device_code gives the driver PTX
    if folder is not None and file is not None:
        cache_on_disk(dispatcher, folder)
    return DeviceKernel(dispatcher)


def device_compiler() -> str:
    """Hash of what compiles for a GPU."""
    return f"{compiled_by(*COMPILERS, 'cuda.py', 'device_code.py')} {version('numba-cuda')}"


def _written(source: str, folder: Path, name: str) -> Path | None:
    """The file with a kernel's source, None if it could not be written."""
    file = folder / f"{name}_{hashlib.sha256(source.encode()).hexdigest()[:16]}.py"
    partial = file.with_suffix(f".{os.getpid()}")
    try:
        if not file.exists():
            partial.write_text(source)
            os.replace(partial, file)
    except OSError:
        return None
    return file


def with_shape(shape: tuple[int, ...]) -> Callable[[Any], Any]:
    """A function for kernels of a GPU: an array, known to have this shape."""
    if config.ENABLE_CUDASIM:
        return lambda array: array
    from arcbandit.compilation import device_code

    return device_code.with_shape(shape)
