"""A package with the real decorators and two small kernels, for processes that compile it in other circumstances."""

import os
import shutil
from pathlib import Path

from arcbandit.compilation import compile as compiling

SOURCE = Path(compiling.__file__).resolve().parents[1]
DECORATORS = ("compile.py", "numba_pipeline.py", "numba_options.py", "trial.py")

OUTER = """
from small.compilation.compile import entry_kernel
from small.kernels.inner import scaled

@entry_kernel
def outer(x):
    return scaled(x) + 1.0
"""
INNER = """
from small.compilation.compile import kernel

@kernel
def scaled(x):
    return {factor} * x
"""


def environment(**changes):
    """The environment of a process that compiles, whatever the mode of this one."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("NUMBA_") and name != compiling.PLAIN_VARIABLE
    }
    return kept | {name: str(value) for name, value in changes.items()}


def write_small_package(folder):
    """Write it into a folder; return the folder of its kernels, one of which calls the other."""
    kernels = folder / "small" / "kernels"
    compilation = folder / "small" / "compilation"
    kernels.mkdir(parents=True)
    compilation.mkdir()
    for name in DECORATORS:
        shutil.copy(SOURCE / "compilation" / name, compilation)
    for package in (kernels, compilation, kernels.parent):
        (package / "__init__.py").touch()
    (kernels / "outer.py").write_text(OUTER)
    (kernels / "inner.py").write_text(INNER.format(factor="2.0"))
    return kernels
