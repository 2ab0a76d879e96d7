"""Kernels whose machine code others share, in this process and in the next ones."""

import shutil
from types import SimpleNamespace

import pytest

from arcbandit.compilation import shared_code
from tests.compilation.small_package import in_folder, lines, write_small_package

SHARED = """
from arcbandit.compilation.compile import entry_kernel, kernel, rare_kernel, shared_kernel

@kernel
def squared(x):
    return x * x

@rare_kernel
def bounded(x):
    return min(max(x, -1000.0), 1000.0)

@shared_kernel
def deep(pair):
    return bounded(squared(pair[0])) - pair[1]

@shared_kernel
def shared(values, factor):
    values[0] += factor
    return deep((values[0], factor)), factor

@rare_kernel
def between(values, factor):
    return shared(values, factor)[0]

@entry_kernel
def one(values):
    return between(values, 2.0) + 1.0

@entry_kernel
def two(values):
    return shared(values, 3.0)[0] + values[0]
"""
# Prints what an entry gives, how often its code was found on disk, and how many shared kernels were compiled here.
CALL = """
import numpy as np
from small import shared as names
for name in {entries}:
    entry = getattr(names, name)
    values = np.array([1.0])
    found = entry(values)
    hits = sum(entry.compiled.stats.cache_hits.values())
    made = sum(len(k.signatures) - sum(k.stats.cache_hits.values()) for k in (names.shared, names.deep))
    print(float(found), float(values[0]), hits, made)
"""
GIVES = {"one": "8.0 3.0", "two": "17.0 4.0"}  # (1 + 2)^2 - 2 + 1, and (1 + 3)^2 - 3 + 4


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A folder with the package and a cache, in which a process has called one entry."""
    folder = tmp_path_factory.mktemp("first")
    (write_small_package(folder) / "shared.py").write_text(SHARED)
    assert lines(CALL.format(entries=("one",)), **in_folder(folder)) == [f"{GIVES['one']} 0 2"]
    return folder


@pytest.fixture
def folder(first, tmp_path):
    """That folder, which is as before afterwards; a copy elsewhere would do for us, but Numba's caches go by paths."""
    shutil.copytree(first, tmp_path / "before")
    yield first
    shutil.rmtree(first)
    shutil.copytree(tmp_path / "before", first)


@pytest.fixture
def call(folder):
    """Call entries of the package in a fresh process: their lines."""
    return lambda *entries: lines(CALL.format(entries=entries), **in_folder(folder))


@pytest.fixture
def objects(folder):
    """The files of the package's shared code."""
    return lambda: sorted((folder / "cache").rglob("*.o"))


@pytest.mark.slow
def test_entries_share_code_in_a_process_and_between_processes(call, objects):
    kept = objects()
    assert len(kept) == 2 + 1  # the third is of the trial
    # The second entry is compiled; what it calls is there, loaded by the first.
    assert call("one", "two") == [f"{GIVES['one']} 1 0", f"{GIVES['two']} 0 0"]
    assert call("two", "one") == [f"{GIVES['two']} 1 0", f"{GIVES['one']} 1 0"]
    assert objects() == kept


@pytest.mark.slow
def test_an_entry_that_is_compiled_serves_one_that_is_loaded_later(call, folder):
    call("two")
    for path in (folder / "cache").rglob("shared.one*"):
        path.unlink()
    assert call("one", "two") == [f"{GIVES['one']} 0 0", f"{GIVES['two']} 1 0"]


@pytest.mark.slow
@pytest.mark.parametrize("harm", ["missing", "cut short", "changed"])
def test_an_entry_whose_shared_code_is_gone_or_damaged_is_compiled_again(call, objects, harm):
    for path in objects():
        data = path.read_bytes()
        if harm == "missing":
            path.unlink()
        else:
            path.write_bytes(data[:-100] if harm == "cut short" else data[:-1] + bytes([data[-1] ^ 1]))
    # Of what it calls, the kernel that calls no other is found in Numba's own cache.
    assert call("one") == [f"{GIVES['one']} 0 1"]
    assert call("one") == [f"{GIVES['one']} 1 0"]


@pytest.mark.slow
def test_code_of_two_processes_that_compiled_at_once_fits_together(call, folder, objects):
    """Each leaves its code and its record of it, and the last one wins: not of both the same one."""
    kept = {path: path.read_bytes() for path in objects()}
    for path in (folder / "cache").rglob("shared.*"):
        path.unlink()
    call("two", "one")  # numbers kernels in another order
    for path, data in kept.items():
        path.write_bytes(data)
    for path in (folder / "cache").rglob("shared.two*"):
        path.unlink()
    assert call("one", "two") == [f"{GIVES['one']} 1 0", f"{GIVES['two']} 0 0"]


def test_environments_of_kernels_inside_are_left_alone(monkeypatch):
    """The code in this process may be another's, whose kernels have other names: to write to theirs would end it."""
    symbol = "_ZN7example"
    monkeypatch.setitem(shared_code.loaded, symbol, "loaded by a caller")
    monkeypatch.setattr(shared_code, "_kept_code", lambda symbol: b"what a process kept")
    target = SimpleNamespace(codegen=lambda: SimpleNamespace(_engine=None))
    described = SimpleNamespace(mangled_name=symbol)
    payload = (("library", "object", (b"code", b"")), described, "own", "signature", False, (), "", (), ("inner",))
    assert shared_code.rebuild_shared(lambda target, payload: payload, target, payload)[2:] == (*payload[2:-1], ())


@pytest.mark.slow
def test_an_edit_of_shared_code_is_followed_and_other_types_are_told_apart(call, folder):
    edited = SHARED.replace("x * x", "x * x + 100.0")
    edited += "\n@entry_kernel\ndef three(values):\n    return between(values, 3) + values[0]\n"
    (folder / "small" / "shared.py").write_text(edited)
    assert call("one", "three") == ["108.0 3.0 0 2", "117.0 4.0 0 4"]


@pytest.mark.slow
def test_all_works_where_nothing_can_be_kept(folder):
    (folder / "file").touch()
    script = "import warnings; warnings.simplefilter('ignore')\n" + CALL.format(entries=("one", "two"))
    found = lines(script, **in_folder(folder) | {"ARCBANDIT_CACHE_DIR": folder / "file" / "cache"})
    assert found == [f"{GIVES['one']} 0 2", f"{GIVES['two']} 0 2"]
