"""Which way kernels are compiled, and what happens where a release of Numba does not take it."""

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

from arcbandit.compilation.compile import config
from tests.compilation.small_package import INNER, lines
from tests.kernels.modes import COMPILED
from tests.long import each_of

pytestmark = [
    pytest.mark.slow,  # each test starts processes of its own
    pytest.mark.skipif(not COMPILED or bool(config.BOUNDSCHECK), reason="in processes of its own, so once is enough"),
]

SMALL_WAY = """
import warnings
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    from arcbandit.compilation import compile
    from small.outer import outer
    value = outer(10.0)
stats = outer.compiled.stats
print(value, sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
print(compile.chosen_way().suffix or "fast", len(seen))
for warning in seen:
    print(warning.category.__name__, warning.message)
"""
# How a release of Numba may differ: what to do before anything of ours is imported.
CHANGES_IN_NUMBA = {
    "a part was renamed": "import numba.core.typed_passes as passes; del passes.NativeLowering",
    "a stage fails": (
        "from numba.core.lowering import Lower; setup = Lower.setup_function\n"
        "def refuse(self, *given):\n"
        "    if type(self) is not Lower:\n"
        "        raise RuntimeError('no other lowering')\n"
        "    setup(self, *given)\n"
        "Lower.setup_function = refuse"
    ),
    "an option is unknown": (
        "from numba.core.compiler import CompilerBase\n"
        "import numba.core.decorators as d; jit = d.jit\n"
        "def strict(*given, **options):\n"
        "    if 'pipeline_class' in options:\n"
        "        raise TypeError('unknown option pipeline_class')\n"
        "    return jit(*given, **options)\n"
        "d.jit = strict"
    ),
}
ONLY_DOCUMENTED = """
import numba.core.decorators as d; jit = d.jit
known = {"nopython", "nogil", "cache", "error_model", "boundscheck", "fastmath", "parallel", "forceobj", "locals"}
def strict(*given, **options):
    if set(options) - known:
        raise KeyError(f"Unrecognized options: {set(options) - known}")
    return jit(*given, **options)
d.jit = strict
"""


@pytest.mark.usefixtures("small_package")
class TestTheWayToCompile:
    def test_is_the_fast_one_without_a_word(self, settings):
        for counts in ("0 1", "1 0"):
            assert lines(SMALL_WAY, **settings) == [f"21.0 {counts}", "fast 0"]

    def test_is_another_if_the_user_asks_for_it_without_a_warning(self, settings):
        """Compiled apart, and cached as well."""
        lines(SMALL_WAY, **settings)
        for counts in ("0 1", "1 0"):
            found = lines(SMALL_WAY, **settings, ARCBANDIT_PLAIN_NUMBA="1")
            assert found == [f"21.0 {counts}", "-options 0"]

    def test_is_the_fast_one_if_the_variable_says_no(self, settings):
        assert lines(SMALL_WAY, **settings, ARCBANDIT_PLAIN_NUMBA="0")[-1] == "fast 0"

    @pytest.mark.parametrize("change", each_of(["a stage fails"], CHANGES_IN_NUMBA))
    def test_is_another_with_one_warning_where_numba_has_changed(self, settings, change):
        """Whether on import or with the first compilation; the answer comes all the same, and is cached."""
        for counts in ("0 1", "1 0"):
            found = lines(f"{CHANGES_IN_NUMBA[change]}\n{SMALL_WAY}", **settings)
            assert found[:2] == [f"21.0 {counts}", "-options 1"]
            (said,) = found[2:]
            assert said.startswith(f"RuntimeWarning Numba {version('numba')} cannot compile kernels the usual way (")
            assert "compiling takes several times as long, the rounds are as fast" in said
            assert "Set ARCBANDIT_PLAIN_NUMBA=1" in said

    def test_is_the_documented_one_where_nothing_else_is_left(self, settings):
        """The warning says that the rounds are slower, even if another way was asked for."""
        for counts in ("0 1", "1 0"):
            found = lines(f"{ONLY_DOCUMENTED}\n{SMALL_WAY}", **settings)
            assert found[:2] == [f"21.0 {counts}", "-documented 1"]
            assert "Unrecognized options" in found[2]
            assert "and the rounds about ten times" in found[2]
        found = lines(f"{ONLY_DOCUMENTED}\n{SMALL_WAY}", **settings, ARCBANDIT_PLAIN_NUMBA="1")
        assert found[:2] == ["21.0 1 0", "-documented 1"]

    def test_is_another_where_the_code_computes_something_else(self, settings):
        """A pipeline that compiles is not yet one that is right."""
        wrong = (
            "import arcbandit.compilation.numba_pipeline as pipeline\n"
            "pipeline.called = lambda function: pipeline.copied(lambda sample, count: 0.0)"
        )
        found = lines(f"{wrong}\n{SMALL_WAY}", **settings)
        assert found[:2] == ["21.0 0 1", "-options 1"]
        assert "a kernel gave (3, 5.0), but must give (3, 18.75)" in found[2]

    def test_is_another_where_code_that_was_stored_cannot_be_loaded(self, settings):
        """Otherwise every process would compile everything."""
        broken = (
            "from numba.core.codegen import JITCodeLibrary as L\n"
            "def lost(*_): raise AttributeError('object code moved')\n"
            "original = L.serialize_using_object_code\n"
            "L.serialize_using_object_code = lambda self: lost() if type(self) is not L else original(self)"
        )
        found = lines(f"{broken}\n{SMALL_WAY}", **settings)
        assert found[:2] == ["21.0 0 1", "-options 1"]
        assert "object code moved" in found[2]

    def test_is_found_out_once_per_cache(self, settings):
        """Each verdict is read from disk from then on: a trial that would fail is not made again."""
        assert lines(SMALL_WAY, **settings)[-1] == "fast 0"
        broken = "import arcbandit.compilation.trial as trial; trial.try_out = None"
        assert lines(f"{broken}\n{SMALL_WAY}", **settings)[-1] == "fast 0"
        found = lines(f"{broken}\n{SMALL_WAY}", **settings, ARCBANDIT_PLAIN_NUMBA="1")
        assert found[1] == "-documented 1"  # had not been tried yet
        again = lines(SMALL_WAY, **settings, ARCBANDIT_PLAIN_NUMBA="1")
        assert again[1:] == found[1:]

    def test_is_tried_again_after_a_full_disk(self, settings):
        """What may be over next time is not kept."""
        full = "import arcbandit.compilation.trial as trial\ndef full(*_, **__): raise OSError(28, 'No space left')\n"
        found = lines(f"{full}trial.try_out = full\n{SMALL_WAY}", **settings)
        assert found[1] == "-documented 1"
        assert "No space left" in found[2]
        assert lines(SMALL_WAY, **settings)[1:] == ["fast 0"]

    def test_does_without_a_folder(self, settings, tmp_path):
        (tmp_path / "file").touch()
        settings["ARCBANDIT_CACHE_DIR"] = tmp_path / "file"
        found = lines(SMALL_WAY, **settings)
        assert found[:2] == ["21.0 0 1", "fast 1"]
        assert found[2].startswith("CacheWarning Compiled code cannot be kept")
        found = lines(f"{CHANGES_IN_NUMBA['a part was renamed']}\n{SMALL_WAY}", **settings)
        assert found[:2] == ["21.0 0 1", "-options 2"]

    def test_caches_nothing_where_numba_would_cache_elsewhere(self, settings, small_package):
        """There an edit in a called kernel would go unnoticed."""
        elsewhere = (
            "import numba\n"
            "class Fixed(type(numba.config)):\n"
            "    CACHE_DIR = property(lambda self: '', lambda self, value: None)\n"
            "del numba.config.CACHE_DIR; numba.config.__class__ = Fixed"
        )
        for factor, value in (("2.0", "21.0"), ("3.0", "31.0")):
            (small_package / "inner.py").write_text(INNER.format(factor=factor))
            for plain in ("0", "1"):
                found = lines(f"{elsewhere}\n{SMALL_WAY}", **settings, ARCBANDIT_PLAIN_NUMBA=plain)
                assert found[0] == f"{value} 0 1"

    def test_follows_edits_of_called_kernels_in_any_way(self, settings, small_package):
        settings["ARCBANDIT_PLAIN_NUMBA"] = "1"
        assert lines(SMALL_WAY, **settings)[0] == "21.0 0 1"
        (small_package / "inner.py").write_text(INNER.format(factor="3.0"))
        assert lines(SMALL_WAY, **settings)[0] == "31.0 0 1"

    def test_is_not_looked_for_where_nothing_is_compiled(self, settings, tmp_path):
        script = "import small.outer, sys; print(small.outer.outer(10.0))\n"
        script += "print('arcbandit.compilation.numba_pipeline' in sys.modules)"
        assert lines(f"{ONLY_DOCUMENTED}\n{script}", **settings, NUMBA_DISABLE_JIT="1") == ["21.0", "False"]
        assert not (tmp_path / "cache").exists()


def test_the_oldest_numba_that_is_tested_is_the_oldest_that_is_allowed():
    """`make test-numba` installs exactly what the lower bound says; the newest end is the lock's."""
    root = Path(__file__).parents[2]
    (declared,) = [
        requirement
        for requirement in tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"][
            "dependencies"
        ]
        if re.match(r"numba\b", requirement)
    ]
    bound = re.fullmatch(r"numba>=([\d.]+)", declared)[1]
    locked = re.search(r"^numba==([\d.]+)$", (root / "requirements.lock").read_text(encoding="utf-8"), re.MULTILINE)[1]
    stated = f"{bound} to {'.'.join(locked.split('.')[:2])}"
    for page in ("README.md", "CONTRIBUTING.md"):
        assert stated in (root / page).read_text(encoding="utf-8")
    assert "make test-numba" in (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
