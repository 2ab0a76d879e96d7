"""Kernels compiled, kept on disk, and found there by other processes."""

import sys
import threading
from typing import NamedTuple

import numba
import numpy as np
import pytest

from arcbandit.compilation import cache
from arcbandit.compilation import compile as compile_module
from arcbandit.compilation.compile import bound, entry_kernel, kernel
from arcbandit.errors import CacheWarning
from tests.compilation.small_package import CALL_SMALL, INNER, lines
from tests.kernels.modes import COMPILED

CONSTANTS = """
from arcbandit.compilation.compile import entry_kernel, kernel, rare_kernel

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
from small.constants import called, copied, outer
print(outer(1.0, 1))
print(len(called.signatures), len(copied.signatures))
(code,) = outer.compiled.inspect_llvm().values()
print(sum(name in line for line in code.splitlines() if line.startswith("define") for name in ("called", "copied")))
"""
COLLECTS = """
import gc
from small.outer import outer
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
BOUND = """
from arcbandit.compilation.compile import bound, entry_kernel, kernel
from arcbandit.errors import CacheWarning

rule = None

def play(x):
    return rule(x) + 1.0

@kernel
def doubled(x):
    return 2.0 * x

@kernel
def tripled(x):
    return 3.0 * x

two, three = (bound(entry_kernel, play, rule=chosen) for chosen in (doubled, tripled))
"""
CALL_BOUND = """
from small.bound import two, three
for entry in (two, three, two):
    stats = entry.compiled.stats
    print(entry(10.0), sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""
# What is compiled, or found, to plan, to simulate with one rule, and to decide and learn with another.
TWO_RULES = """
from arcbandit.compilation import compile
made = []
make = compile._entry
compile._entry = lambda *arguments: made.append(make(*arguments)) or made[-1]
from arcbandit import paper_instance, plan, policy, simulate
nu = paper_instance("nu")
print(plan(nu).value)
print(float(simulate(nu, ["doc"], 100, epochs=2, jobs=1).regret["doc"].sum()))
learner = policy("loe2d", nu.revenue_floors, nu.context_probabilities, horizon=10, mean_bound=9.0)
decision = learner.decide(0)
learner.update(0, decision.arm, 1.0)
print(decision)
stats = [entry.stats for entry in made if not entry.py_func.__module__.endswith("trial")]
print(sum(sum(found.cache_hits.values()) for found in stats), sum(sum(found.cache_misses.values()) for found in stats))
"""


class TestTheFolder:
    def test_is_where_the_variable_says(self, tmp_path, monkeypatch):
        """ARCBANDIT_CACHE_DIR, and a folder in it."""
        monkeypatch.setenv(cache.CACHE_VARIABLE, str(tmp_path / "chosen"))
        folder = cache.cache_folder("word")
        assert folder == tmp_path / "chosen" / "word"
        assert folder.is_dir()

    def test_is_in_the_cache_of_the_user_otherwise(self, tmp_path, monkeypatch):
        """XDG_CACHE_HOME or, without it, the home folder."""
        monkeypatch.delenv(cache.CACHE_VARIABLE, raising=False)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert cache.cache_root() == tmp_path / "arcbandit"
        monkeypatch.delenv("XDG_CACHE_HOME")
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        monkeypatch.setattr(cache.sys, "platform", "linux")
        assert cache.cache_root() == tmp_path / "home" / ".cache" / "arcbandit"

    def test_is_where_the_platform_has_caches(self, tmp_path, monkeypatch):
        """Each has its own convention."""
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        monkeypatch.delenv("LOCALAPPDATA", raising=False)
        monkeypatch.setattr(cache.Path, "home", lambda: tmp_path)
        assert cache.user_cache("linux") == tmp_path / ".cache"
        assert cache.user_cache("darwin") == tmp_path / "Library" / "Caches"
        assert cache.user_cache("win32") == tmp_path / "AppData" / "Local"
        monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
        assert cache.user_cache("win32") == tmp_path / "local"

    def test_is_none_where_nothing_can_be_written(self, tmp_path, monkeypatch):
        """A file stands where the folder would be: no folder, no error, and one warning that says what to do."""
        (tmp_path / "file").touch()
        monkeypatch.setenv(cache.CACHE_VARIABLE, str(tmp_path / "file"))
        cache._refused.cache_clear()
        with pytest.warns(CacheWarning, match=r"cannot be kept in .*file .*ARCBANDIT_CACHE_DIR") as said:
            assert [cache.cache_folder(name) for name in ("word", "other")] == [None, None]
        assert len(said) == 1

    def test_is_none_without_a_home(self, monkeypatch):
        """Then there is no folder to name."""

        def homeless():
            raise RuntimeError("Could not determine home directory.")

        monkeypatch.setattr(cache, "cache_root", homeless)
        cache._refused.cache_clear()
        with pytest.warns(CacheWarning, match=r"cannot be kept in the cache folder \(Could not determine"):
            assert cache.cache_folder("word") is None

    def test_is_kept_once_code_is_in_it(self, tmp_path):
        assert not cache.is_kept(None)
        assert not cache.is_kept(tmp_path)
        (tmp_path / "module").mkdir()
        (tmp_path / "module" / "kernel.nbi").touch()
        assert cache.is_kept(tmp_path)

    def test_is_that_of_each_thread_and_afterwards_as_before(self, tmp_path):
        """Numba has one setting for all: threads that compile at once must not take each other's."""
        before = cache.config.CACHE_DIR
        mixed_up = []

        def compile_often(folder):
            for _ in range(2000):
                with cache.numba_caching_in(folder):
                    if str(folder) != cache.config.CACHE_DIR:
                        mixed_up.append(folder)

        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        try:
            threads = [threading.Thread(target=compile_often, args=(tmp_path / name,)) for name in ("one", "two")]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            sys.setswitchinterval(interval)
        assert not mixed_up
        assert before == cache.config.CACHE_DIR


@pytest.mark.slow
def test_without_a_folder_kernels_compile_uncached(small_package, settings, tmp_path):
    """The answer comes all the same, and no process finds anything to load."""
    (tmp_path / "file").touch()
    for _ in range(2):
        unkept = settings | {"ARCBANDIT_CACHE_DIR": tmp_path / "file", "PYTHONWARNINGS": "ignore"}
        assert lines(CALL_SMALL, **unkept) == ["21.0 0 1"]


@pytest.mark.slow
def test_editing_a_called_kernel_compiles_again(small_package, settings):
    """The caller's file is unchanged, yet the result follows the edit, and follows it back from the cache."""
    assert lines(CALL_SMALL, **settings) == ["21.0 0 1"]
    assert lines(CALL_SMALL, **settings) == ["21.0 1 0"]
    (small_package / "inner.py").write_text(INNER.format(factor="3.0"))
    assert lines(CALL_SMALL, **settings) == ["31.0 0 1"]
    (small_package / "inner.py").write_text(INNER.format(factor="2.0"))
    assert lines(CALL_SMALL, **settings) == ["21.0 1 0"]


@pytest.mark.slow
def test_edits_that_change_no_code_compile_nothing(small_package, settings):
    """Comments, docstrings and other functions beside a called kernel, and files that hold none."""
    inner = small_package / "inner.py"
    inner.write_text(inner.read_text().replace("(x):\n", '(x):\n    """Scale x."""\n'))
    assert lines(CALL_SMALL, **settings) == ["21.0 0 1"]
    inner.write_text("# A comment.\n\n" + inner.read_text().replace("Scale x.", "x, scaled.") + "\nOTHER = 1\n")
    (small_package / "__init__.py").write_text('"""A package without kernels."""\n')
    assert lines(CALL_SMALL, **settings) == ["21.0 1 0"]


@pytest.mark.slow
def test_the_order_of_fields_counts_though_no_kernel_names_their_tuple(small_package, settings):
    """Numba's own cache tells tuples apart by their class and would take the code of the other order."""
    pair = "from typing import NamedTuple\n\nclass Pair(NamedTuple):\n    {}: float\n    {}: float\n"
    (small_package / "outer.py").write_text(
        "from arcbandit.compilation.compile import entry_kernel\nfrom small.pair import Pair\n\n"
        "@entry_kernel\ndef difference(pair):\n    return pair.left - pair.right\n"
    )
    script = (
        "from small.outer import Pair, difference\nprint(difference(Pair(left=5.0, right=3.0)), "
        "sum(difference.compiled.stats.cache_misses.values()))"
    )
    (small_package / "pair.py").write_text(pair.format("left", "right"))
    assert [lines(script, **settings) for _ in range(2)] == [["2.0 1"], ["2.0 0"]]
    (small_package / "pair.py").write_text(pair.format("right", "left"))
    assert [lines(script, **settings) for _ in range(2)] == [["2.0 1"], ["2.0 0"]]


@pytest.mark.slow
def test_copies_of_a_function_for_two_rules_have_folders_of_their_own(small_package, settings, tmp_path):
    """Both play in one process, and the next process loads both."""
    (small_package / "bound.py").write_text(BOUND)
    assert lines(CALL_BOUND, **settings) == ["21.0 0 1", "31.0 0 1", "21.0 0 1"]
    folders = {index.relative_to(tmp_path / "cache").parts[0] for index in (tmp_path / "cache").rglob("*play*.nbi")}
    assert len(folders) == 2
    assert lines(CALL_BOUND, **settings) == ["21.0 1 0", "31.0 1 0", "21.0 1 0"]


def test_a_copy_of_a_function_keeps_its_defaults_and_closure():
    def make(step):
        def stepped(x, times=2):
            return x + step * times + OFFSET

        return stepped

    copy = bound(kernel, make(10.0), OFFSET=100.0)
    assert bound(entry_kernel, call_copy, OTHER=copy)(1.0) == 121.0


OFFSET = 0.0
OTHER = None


def call_copy(x):
    return OTHER(x)


class Pair(NamedTuple):
    values: np.ndarray
    nothing: tuple
    is_first: bool


PAIR = Pair(np.array([7.0, 8.0]), (), False)


@kernel
def first_or(pair, otherwise=-1.0):
    return pair.values[0] if pair.is_first and len(pair.nothing) == 0 else otherwise


@kernel
def as_first(pair):
    return Pair(pair.values, (), True)


def test_kernels_take_and_return_tuples():
    """They pass them whole, which Numba does not."""

    @entry_kernel
    def of_both(pair):
        return first_or(pair), first_or(as_first(pair), 0.5), first_or(pair, 0.25)

    assert of_both(PAIR) == (-1.0, 7.0, 0.25)


@pytest.mark.skipif(not COMPILED, reason="plain functions are not for Numba")
def test_numba_may_call_kernels_by_itself():
    """A tuple that they return would be taken for a new reference to its arrays; kernels count none."""

    @numba.njit
    def of_one(pair):
        return first_or(pair), first_or(pair, 0.25)

    assert of_one(PAIR) == (-1.0, 0.25)


def test_a_copy_is_refused_names_that_its_function_does_not_know():
    """A misspelt name would leave the placeholder where it was."""
    with pytest.raises(TypeError, match=r"names must be globals of call_copy, got \['OTTER'\]"):
        bound(kernel, call_copy, OTTER=1.0)


@pytest.mark.slow
def test_a_rare_kernel_is_called_and_constants_compile_nothing_twice(small_package, settings):
    """One signature each, and of both kernels only the rare one is left as a function of its own."""
    (small_package / "constants.py").write_text(CONSTANTS)
    assert lines(COUNT_CALLS, **settings) == ["7.0", "1 1", "1"]


@pytest.mark.slow
def test_compiling_leaves_the_garbage_collector_as_it_was(small_package, settings):
    """It rests only while the compiler runs, whether that succeeds or not."""
    assert lines(COLLECTS, **settings) == ["True", "TypingError True", "False"]


@pytest.mark.slow
def test_a_second_process_compiles_nothing():
    """The planner, a rule in the loop and another online: whatever the first had to compile, the second loads."""
    first = lines(TWO_RULES)
    second = lines(TWO_RULES)
    assert first[0] == "5.25"
    assert first[:-1] == second[:-1]
    entries = sum(map(int, first[-1].split()))
    assert entries >= 4  # plan, play, decide, learn
    assert second[-1] == f"{entries} 0"


def test_an_entry_is_compiled_at_its_first_call_and_not_before():
    """To import a room takes no compiler."""

    @entry_kernel
    def plus_one(x):
        """One more."""
        return x + 1

    assert "compiled" not in vars(plus_one)
    assert plus_one(1) == 2
    assert "compiled" in vars(plus_one)
    assert (plus_one.__name__, plus_one.__doc__) == ("plus_one", "One more.")
    assert (plus_one.compiled is plus_one.py_func) == (not COMPILED)


@pytest.mark.slow
def test_disabled_compilation_leaves_plain_functions(small_package, settings):
    """For debugging and coverage: a kernel is what it was, and an entry calls the function itself."""
    script = (
        "from small.outer import outer, scaled\n"
        "print(type(outer.compiled).__name__, outer.compiled is outer.py_func, type(scaled).__name__, outer(1))"
    )
    assert lines(script, **settings, NUMBA_DISABLE_JIT=1) == ["function True function 3.0"]


@pytest.mark.skipif(not COMPILED, reason="plain Python is not compiled")
def test_a_process_says_once_that_it_compiles_and_nothing_if_all_is_on_disk(tmp_path, monkeypatch):
    """People would wonder why nothing happens."""
    told = []
    monkeypatch.setenv(cache.CACHE_VARIABLE, str(tmp_path))
    monkeypatch.setattr(compile_module, "tell", told.append)
    monkeypatch.setattr(compile_module, "compiled_here", [])
    monkeypatch.setattr(compile_module, "loaded_here", [])
    for add in (1.0, 2.0):
        assert entry_kernel(plus(add))(1.0) == 1.0 + add
    assert len(told) == 1
    assert "compiling" in told[0]
    assert str(tmp_path) in told[0]
    assert len(compile_module.compiled_here) == 2
    monkeypatch.setattr(compile_module, "compiled_here", [])
    assert entry_kernel(plus(1.0))(1.0) == 2.0
    assert (len(told), compile_module.compiled_here, len(compile_module.loaded_here)) == (1, [], 1)


def plus(amount):
    def added(value):
        return value + amount

    return added
