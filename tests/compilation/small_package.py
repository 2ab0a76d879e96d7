"""A small package of kernels, for processes that compile it in other circumstances."""

import os
import subprocess
import sys
from pathlib import Path

import arcbandit
from arcbandit.compilation.compile import PLAIN_VARIABLE
from tests.compilation.forks import can_copy, run_copy

SOURCE = Path(arcbandit.__file__).resolve().parent

OUTER = """
from arcbandit.compilation.compile import entry_kernel
from small.inner import scaled

@entry_kernel
def outer(x):
    return scaled(x) + 1.0
"""
INNER = """
from arcbandit.compilation.compile import kernel

@kernel
def scaled(x):
    return {factor} * x
"""
# Prints what a kernel gives, and how often its code was found on disk and was not.
CALL_SMALL = """
from small.outer import outer
print(outer(10.0), sum(outer.compiled.stats.cache_hits.values()), sum(outer.compiled.stats.cache_misses.values()))
"""


def environment(**changes):
    """The environment of a process that compiles, whatever the mode of this one, with the package under test.

    It writes no bytecode: Python would take that of a module which is edited within the same second for current.
    """
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith("NUMBA_") and name != PLAIN_VARIABLE
    }
    own = {"PYTHONPATH": str(SOURCE.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    return kept | own | {name: str(value) for name, value in changes.items()}


def in_folder(folder):
    """Changes of the environment: the packages in a folder can be imported, and a cache is there."""
    return {"PYTHONPATH": f"{folder}{os.pathsep}{SOURCE.parent}", "ARCBANDIT_CACHE_DIR": folder / "cache"}


def lines(script, **changes):
    """What a process prints into which nothing of ours was imported, line by line, with nothing on standard error."""
    if can_copy(changes):
        done = run_copy(script, environment(**changes))
    else:
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment(**changes), capture_output=True, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.splitlines()


def write_small_package(folder):
    """Write it into a folder; return its own folder, with a kernel in one file that calls a kernel in another."""
    package = folder / "small"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "outer.py").write_text(OUTER)
    (package / "inner.py").write_text(INNER.format(factor="2.0"))
    return package
