"""What the word that compiled code is filed under follows, and what it leaves aside."""

import subprocess
import sys
from types import ModuleType
from typing import NamedTuple

import numpy as np
import pytest

from arcbandit.compilation import fingerprint as fingerprinting
from arcbandit.compilation.compile import bound, entry_kernel
from arcbandit.compilation.cuda import device_compiler
from arcbandit.compilation.fingerprint import COMPILERS, compiled_by, compiler_fingerprint, fingerprint
from arcbandit.compilation.packing import kind_of, unpacker
from tests.compilation.small_package import SOURCE, environment
from tests.kernels.modes import COMPILED

OTHER = """
from arcbandit.compilation.compile import kernel

SHIFT = 3.0
NEVER_USED = 4.0

@kernel
def shifted(x):
    return x + SHIFT
"""
TEXT = '''
import enum
import math
from typing import NamedTuple

import numpy as np

from arcbandit.compilation.compile import entry_kernel, kernel, rare_kernel

FACTOR = 2.0
TABLE = (1.0, (2.0, 3))
LISTED = [1.0, 2.0]
BY_NAME = {"one": 1.0}
WEIGHTS = np.array([1.0, 2.0])
KIND = np.dtype([("left", np.float64), ("right", np.float64)])
progress = object()  # shares its name with an attribute


class Row(enum.IntEnum):
    FIRST = 0
    SECOND = 1


class Inner(NamedTuple):
    low: float
    high: float


class Pair(NamedTuple):
    left: float
    right: float
    inner: Inner


@kernel
def scaled(x):
    """Scale a number."""
    return FACTOR * x


@kernel
def squared(x):
    return x * x


@rare_kernel
def sometimes(x, times=2, *, more=5.0):
    return scaled(x) * times + more


@kernel
def never_called(x):
    return 77.0 * x


def make_offset(offset):
    @kernel
    def with_offset(x):
        return x + offset

    return with_offset


with_offset = make_offset(8.0)
chosen = scaled


@entry_kernel
def entry(x, pair, state):
    """Do a little of everything."""
    made = Pair(pair.left, pair.right, pair.inner)
    total = x + math.sqrt(made.left) + TABLE[0] + LISTED[0] + BY_NAME["one"] + WEIGHTS[Row.SECOND] + state.progress
    total += other.shifted(x) + other.SHIFT + with_offset(x) + chosen(x) + squared(x) + KIND.itemsize
    return total + sometimes(x) if x in (1.0, 2.0) else total
'''
CHANGES = {
    "the entry's own code": ("total = x +", "total = x -"),
    "a constant in its code": ("(1.0, 2.0) else", "(1.0, 2.5) else"),
    "a called kernel": ("return FACTOR * x", "return x * FACTOR"),
    "a kernel that a called kernel calls": ("return scaled(x) * times", "return squared(x) * times"),
    "a number": ("FACTOR = 2.0", "FACTOR = 2.5"),
    "the type of a number": ("FACTOR = 2.0", "FACTOR = 2"),
    "the sign of zero": ("FACTOR = 2.0", "FACTOR = -0.0"),
    "a number deep in a tuple": ("(2.0, 3)", "(2.0, 4)"),
    "the nesting of a tuple": ("(1.0, (2.0, 3))", "(1.0, 2.0, 3)"),
    "a list": ("LISTED = [1.0, 2.0]", "LISTED = [1.5, 2.0]"),
    "a dictionary": ('{"one": 1.0}', '{"one": 1.5}'),
    "an array": ("np.array([1.0, 2.0])", "np.array([1.0, 2.5])"),
    "the type of an array": ("np.array([1.0, 2.0])", "np.array([1, 2])"),
    "the fields of a record": (
        '("left", np.float64), ("right", np.float64)',
        '("right", np.float64), ("left", np.float64)',
    ),
    "a member of an enum": ("SECOND = 1", "SECOND = 2"),
    "the fields of a named tuple": ("    left: float\n    right: float\n", "    right: float\n    left: float\n"),
    "the fields of one inside": ("    low: float\n    high: float\n", "    high: float\n    low: float\n"),
    "a kernel that is called instead of copied": ("@kernel\ndef squared", "@rare_kernel\ndef squared"),
    "a kernel that is copied instead of called": ("@rare_kernel", "@kernel"),
    "a default argument": ("times=2", "times=3"),
    "a default of a keyword": ("more=5.0", "more=6.0"),
    "a closure": ("make_offset(8.0)", "make_offset(9.0)"),
    "what a name stands for": ("chosen = scaled", "chosen = squared"),
    "the name of an argument": ("def squared(x):\n    return x * x", "def squared(y):\n    return y * y"),
}
CHANGES_ELSEWHERE = {
    "a number of another module": ("SHIFT = 3.0", "SHIFT = 3.5"),
    "a kernel of another module": ("return x + SHIFT", "return x - SHIFT"),
}
INDIFFERENT = {
    "a docstring": ("Scale a number.", "A number, scaled."),
    "a docstring of the entry": ("Do a little of everything.", "Everything, a little."),
    "a comment": ("@kernel\ndef squared", "# A comment.\n\n\n@kernel\ndef squared"),
    "the code of a function that is not called": ("77.0 * x", "78.0 * x"),
    "a global with the name of an attribute": ("progress = object()", "progress = open"),
    "a constant that nobody reads": ("chosen = scaled", "chosen = scaled\nUNREAD = 5"),
}


def word_of(text=TEXT, other=OTHER):
    """The fingerprint of the entry of a module with this text, beside a module with another."""
    modules = {}
    for name, source in (("other", other), ("text", text)):
        modules[name] = ModuleType(name)
        vars(modules[name]).update(modules)
        sys.modules[name] = modules[name]  # classes look for theirs
        try:
            exec(compile(source, f"<{name}>", "exec"), vars(modules[name]))
        finally:
            del sys.modules[name]
    return fingerprint(modules["text"].entry.py_func)


def edited(text, old, new):
    assert text.count(old) == 1
    return text.replace(old, new)


class TestItFollows:
    @pytest.mark.parametrize("change", [change for change in CHANGES if COMPILED or "instead of" not in change])
    def test_edits_of_what_the_entry_reaches(self, change):
        assert word_of(edited(TEXT, *CHANGES[change])) != word_of()

    @pytest.mark.parametrize("change", CHANGES_ELSEWHERE)
    def test_edits_of_what_it_reaches_through_a_module(self, change):
        """module.kernel(...) and module.NUMBER as well as names of its own."""
        assert word_of(other=edited(OTHER, *CHANGES_ELSEWHERE[change])) != word_of()

    def test_which_name_stands_for_which_kernel(self):
        """Though the kernels are the same, all of them."""
        text = "from arcbandit.compilation.compile import entry_kernel, kernel\n"
        text += "@kernel\ndef one(x): return x\n@kernel\ndef two(x): return -x\n"
        text += "first, second = {}\n@entry_kernel\ndef entry(x): return first(x) + 2.0 * second(x) + one(x) + two(x)\n"
        words = {word_of(text.format(names)) for names in ("one, two", "two, one", "one, one", "two, two")}
        assert len(words) == 4

    def test_the_fields_of_tuples_that_are_packed(self):
        """Numba's name of a tuple has its types, not the names of its fields."""

        def class_of(*names):
            return NamedTuple("Same", [(name, float) for name in names])

        kinds = [class_of("left", "right"), class_of("right", "left")]
        for nest in (lambda value: value, lambda value: (value, 1)):
            words = {
                fingerprint(bound(entry_kernel, unpacked, unpack=unpacker(kind_of(nest(kind(1.0, 2.0))))).py_func)
                for kind in kinds
            }
            assert len(words) == (2 if COMPILED else 1)  # uncompiled, tuples are passed as they are

    @pytest.mark.parametrize("name", COMPILERS)
    def test_the_files_that_steer_the_compiler(self, name, tmp_path, monkeypatch):
        for file in COMPILERS:
            (tmp_path / file).write_bytes((SOURCE / "compilation" / file).read_bytes())
        compiled_by.cache_clear()
        monkeypatch.setattr(fingerprinting, "__file__", str(tmp_path / "fingerprint.py"))
        before = compiler_fingerprint()
        with (tmp_path / name).open("a") as file:
            file.write("# an edit\n")
        compiled_by.cache_clear()
        after = compiler_fingerprint()
        compiled_by.cache_clear()
        assert before != after

    @pytest.mark.parametrize("setting", ["BOUNDSCHECK", "LOOP_VECTORIZE"])
    def test_settings_of_numba(self, setting, monkeypatch):
        """Checked and unchecked code do not share a folder."""
        before = compiler_fingerprint()
        flag = getattr(fingerprinting.config, setting)
        monkeypatch.setattr(fingerprinting.config, setting, None if flag else 1)
        compiled_by.cache_clear()
        after = compiler_fingerprint()
        monkeypatch.undo()
        compiled_by.cache_clear()
        assert before != after == compiled_by_with(setting, flag)

    @pytest.mark.skipif(sys.platform == "darwin", reason="numba-cuda is not made for macOS")
    def test_the_compiler_of_a_gpu(self):
        """Which other files steer."""
        assert not device_compiler().startswith(compiler_fingerprint())
        assert word_of() == word_of()
        assert fingerprint(unpacked) != fingerprint(unpacked, device_compiler())


def compiled_by_with(setting, flag):
    """The fingerprint of the compiler with a setting turned round, once more."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fingerprinting.config, setting, None if flag else 1)
        compiled_by.cache_clear()
        found = compiler_fingerprint()
    compiled_by.cache_clear()
    return found


unpack = None


def unpacked(numbers):
    return unpack(numbers)


class TestItLeavesAside:
    @pytest.mark.parametrize("edit", INDIFFERENT)
    def test_edits_of_what_compiled_code_does_not_see(self, edit):
        assert word_of(edited(TEXT, *INDIFFERENT[edit])) == word_of()

    def test_what_else_there_is_in_a_module_that_it_uses(self):
        assert word_of(other=edited(OTHER, "NEVER_USED = 4.0", "NEVER_USED = 5.0")) == word_of()

    @pytest.mark.slow
    def test_the_process_and_its_hash_seed(self):
        """Sets have another order in each."""
        script = (
            "from arcbandit.compilation.fingerprint import fingerprint\n"
            "def entry(x):\n    return x in {'one', 'two', 'three', 'four'}\n"
            "print(fingerprint(entry))"
        )
        words = {
            subprocess.run(
                [sys.executable, "-c", script],
                env=environment(PYTHONHASHSEED=seed),
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            for seed in range(3)
        }
        assert len(words) == 1

    def test_that_a_function_ran_uncompiled(self):
        """Python rewrites code that runs often."""
        scope = {}
        exec("def entry(x):\n    total = 0.0\n    for i in range(100): total += x * i\n    return total", scope)
        before = fingerprint(scope["entry"])
        for _ in range(100):
            scope["entry"](1.5)
        assert fingerprint(scope["entry"]) == before


class Unreadable:
    factor = 2.0


class TestItRefuses:
    @pytest.mark.parametrize("value", [Unreadable(), (1, Unreadable()), [Unreadable()], {"a": Unreadable()}, {1, 2}])
    def test_values_it_cannot_read(self, value):
        """Code made for another value must not be found in their place."""
        with pytest.raises(TypeError, match=r"unpacked must use only kernels, numbers, .* but unpack is "):
            fingerprint(bound(entry_kernel, unpacked, unpack=value).py_func)

    def test_no_kernel_of_ours(self):
        """Every value that kernels use is readable, as their tests show by running; here the largest of them."""
        from arcbandit.kernels.planning import plan
        from arcbandit.policies.olp import OLP
        from arcbandit.simulation.loop import loop_of

        loop = loop_of(OLP.allocate, OLP.learn, OLP.plans)
        words = [fingerprint(getattr(function, "py_func", function)) for function in (plan, loop)]
        assert len(set(words)) == 2

    @pytest.mark.parametrize("value", [None, 1, 1.5, True, "a", np.float64(2), np.zeros(2), (1, (2.0,)), [1], {"a": 1}])
    def test_no_value_that_compiled_code_may_use(self, value):
        other = fingerprint(bound(entry_kernel, unpacked, unpack="another").py_func)
        assert fingerprint(bound(entry_kernel, unpacked, unpack=value).py_func) != other
