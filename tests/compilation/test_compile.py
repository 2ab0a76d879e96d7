import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from arcbandit.compilation import compile as compiling
from tests.compilation.small_package import INNER, SOURCE, environment

CALL_SMALL = """
from small.kernels.outer import outer
print(outer(10.0), sum(outer.stats.cache_hits.values()), sum(outer.stats.cache_misses.values()))
"""
CONSTANTS = """
from small.compilation.compile import entry_kernel, kernel, rare_kernel

@kernel
def copied(x, turns):
    return x + turns

@rare_kernel
def called(x, turns):
    for turn in range(turns):
        x = x * x + turn
    return x

@entry_kernel
def outer(x, turns):
    return copied(called(x, 2), 1) + called(copied(x, turns), turns)
"""
COUNT_CALLS = """
from small.kernels.constants import called, copied, outer
print(outer(1.0, 1))
print(len(called.signatures), len(copied.signatures))
(code,) = outer.inspect_llvm().values()
print(sum(name in line for line in code.splitlines() if line.startswith("define") for name in ("called", "copied")))
"""
COLLECTS = """
import gc
from small.kernels.outer import outer
outer(10.0)
print(gc.isenabled())
try:
    outer("a word")
except Exception as error:
    print(type(error).__name__, gc.isenabled())
gc.disable()
outer(10)
print(gc.isenabled())
"""
CALL_PLAN = """
from arcbandit import paper_instance, plan
from arcbandit.kernels.planning import plan as plan_kernel
print(plan(paper_instance("nu")).value)
print(sum(plan_kernel.stats.cache_hits.values()), sum(plan_kernel.stats.cache_misses.values()))
"""


def output(script, **changes):
    """What a fresh process prints."""
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment(**changes), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.split()


@pytest.fixture
def fresh_folder():
    """Forget the folder that this process chose, before and after."""
    compiling.cache_folder.cache_clear()
    yield
    compiling.cache_folder.cache_clear()


class TestTheFingerprint:
    @pytest.fixture
    def tree(self, tmp_path):
        """A copy of the package's sources."""
        return Path(shutil.copytree(SOURCE, tmp_path / "arcbandit", ignore=shutil.ignore_patterns("__pycache__")))

    def test_is_the_same_for_the_same_sources_anywhere(self, tree):
        """A copied or installed tree finds what another compiled."""
        assert (
            compiling.source_fingerprint(tree) == compiling.source_fingerprint() == compiling.source_fingerprint(tree)
        )

    @pytest.mark.parametrize(
        "name", ["elimination.py", "evaluation.py", "program.py", "compile.py", "numba_pipeline.py", "planning.py"]
    )
    def test_changes_when_a_kernel_file_changes(self, tree, name):
        """Called kernels and constants included, which the compiler's own cache does not look at."""
        before = compiling.source_fingerprint(tree)
        with (tree / "kernels" / name).open("a") as file:
            file.write("# an edit\n")
        assert compiling.source_fingerprint(tree) != before

    def test_changes_when_a_file_appears_or_moves(self, tree):
        """Names count as well as contents."""
        prints = [compiling.source_fingerprint(tree)]
        (tree / "kernels" / "new.py").touch()
        prints.append(compiling.source_fingerprint(tree))
        (tree / "kernels" / "new.py").rename(tree / "kernels" / "renamed.py")
        prints.append(compiling.source_fingerprint(tree))
        assert len(set(prints)) == 3

    def test_ignores_files_that_hold_no_kernel(self, tree):
        """Editing the shell does not throw compiled kernels away."""
        before = compiling.source_fingerprint(tree)
        with (tree / "planning" / "solve.py").open("a") as file:
            file.write("# an edit\n")
        assert compiling.source_fingerprint(tree) == before

    def test_differs_with_bounds_checks(self, monkeypatch):
        """Checked and unchecked code do not share a folder."""
        before = compiling.source_fingerprint()
        flag = compiling.config.BOUNDSCHECK
        monkeypatch.setattr(compiling.config, "BOUNDSCHECK", None if flag else 1)
        assert compiling.source_fingerprint() != before


@pytest.mark.usefixtures("fresh_folder")
class TestTheFolder:
    def test_is_where_the_variable_says(self, tmp_path, monkeypatch):
        """ARCBANDIT_CACHE_DIR, then the fingerprint."""
        monkeypatch.setenv(compiling.CACHE_VARIABLE, str(tmp_path / "chosen"))
        folder = compiling.cache_folder()
        way = "" if compiling.config.DISABLE_JIT else compiling.chosen_way().suffix
        assert folder == tmp_path / "chosen" / (compiling.source_fingerprint() + way)
        assert folder.is_dir()

    def test_is_in_the_cache_of_the_user_otherwise(self, tmp_path, monkeypatch):
        """XDG_CACHE_HOME, else the home folder."""
        monkeypatch.delenv(compiling.CACHE_VARIABLE, raising=False)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert compiling.cache_root() == tmp_path / "arcbandit"
        monkeypatch.delenv("XDG_CACHE_HOME")
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        assert compiling.cache_root() == tmp_path / "home" / ".cache" / "arcbandit"

    def test_is_none_where_nothing_can_be_written(self, tmp_path, monkeypatch):
        """A file stands where the folder would be: no folder, no error."""
        (tmp_path / "file").touch()
        monkeypatch.setenv(compiling.CACHE_VARIABLE, str(tmp_path / "file"))
        assert compiling.cache_folder() is None


def test_without_a_folder_kernels_compile_uncached(small_package, tmp_path):
    """The answer comes all the same, and no process finds anything to load."""
    (tmp_path / "file").touch()
    for _ in range(2):
        found = output(CALL_SMALL, PYTHONPATH=tmp_path, ARCBANDIT_CACHE_DIR=tmp_path / "file")
        assert found == ["21.0", "0", "1"]


def test_editing_a_called_kernel_compiles_anew(small_package, tmp_path):
    """The caller's file is unchanged, yet the result follows the edit, and follows it back from the cache."""
    settings = {"PYTHONPATH": tmp_path, "ARCBANDIT_CACHE_DIR": tmp_path / "cache"}
    assert output(CALL_SMALL, **settings) == ["21.0", "0", "1"]
    assert output(CALL_SMALL, **settings) == ["21.0", "1", "0"]
    (small_package / "inner.py").write_text(INNER.format(factor="3.0"))
    assert output(CALL_SMALL, **settings) == ["31.0", "0", "1"]
    (small_package / "inner.py").write_text(INNER.format(factor="2.0"))
    assert output(CALL_SMALL, **settings) == ["21.0", "1", "0"]


def test_a_rare_kernel_is_called_and_constants_compile_nothing_twice(small_package, tmp_path):
    """One signature each, and of both kernels only the rare one is left as a function of its own."""
    (small_package / "constants.py").write_text(CONSTANTS)
    found = output(COUNT_CALLS, PYTHONPATH=tmp_path, ARCBANDIT_CACHE_DIR=tmp_path / "cache")
    assert found == ["7.0", "1", "1", "1"]


def test_compiling_leaves_the_garbage_collector_as_it_was(small_package, tmp_path):
    """It rests only while the compiler runs, whether that succeeds or not."""
    found = output(COLLECTS, PYTHONPATH=tmp_path, ARCBANDIT_CACHE_DIR=tmp_path / "cache")
    assert found == ["True", "TypingError", "True", "False"]


def test_a_second_process_loads_the_planning_kernel_from_the_cache(tmp_path):
    """The first compiles and stores it, the second only loads it, and both plan the same."""
    first = output(CALL_PLAN, ARCBANDIT_CACHE_DIR=tmp_path)
    second = output(CALL_PLAN, ARCBANDIT_CACHE_DIR=tmp_path)
    assert first == ["5.25", "0", "1"]
    assert second == ["5.25", "1", "0"]


def test_disabled_compilation_leaves_plain_functions(tmp_path, small_package):
    """For debugging and coverage: the decorators give back what they are given."""
    script = (
        "from small.kernels.outer import outer, scaled; print(type(outer).__name__, type(scaled).__name__, outer(1))"
    )
    assert output(script, PYTHONPATH=tmp_path, NUMBA_DISABLE_JIT=1) == ["function", "function", "3.0"]
