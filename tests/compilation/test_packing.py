"""Tuples of arrays as arrays of numbers: what compiled code finds is what was packed."""

import math
from typing import NamedTuple

import numba
import numpy as np
import pytest

from arcbandit.compilation.compile import bound, entry_kernel
from arcbandit.compilation.packing import kind_of, packed, unpacker
from arcbandit.policies.learner import SETTINGS, record_of
from tests.kernels.modes import COMPILED

compiled_only = pytest.mark.skipif(not COMPILED, reason="uncompiled, a tuple is passed as it is")

unpack = None


class Scalars(NamedTuple):
    count: int
    rate: float
    asked: bool


class Arrays(NamedTuple):
    cube: np.ndarray  # float64
    whole: np.ndarray  # int64
    places: np.ndarray  # int32
    flags: np.ndarray  # bool
    record: np.ndarray
    nothing: np.ndarray
    flat: np.ndarray


class Everything(NamedTuple):
    first: Scalars
    arrays: Arrays
    plain: tuple
    last: Scalars


def everything(**changes):
    """A nested tuple of every type that kernels use."""
    rng = np.random.default_rng(1)
    arrays = Arrays(
        cube=rng.random((2, 3, 4)),
        whole=rng.integers(-(2**62), 2**62, 5),
        places=rng.integers(-(2**31), 2**31, (3, 2)).astype(np.int32),
        flags=np.array([True, False, True]),
        record=record_of({"share": -0.25, "redraws": 7}),
        nothing=np.zeros(0),
        flat=np.zeros((0, 3), dtype=np.int64),
    )
    return Everything(Scalars(-5, -2.5, True), arrays, (1, 2.5, (3,)), Scalars(2**62, 1e-300, False))._replace(
        **changes
    )


def look(value, found):
    """Copy numbers of everything into a vector, in an order that shapes and strides decide; write to what was given."""
    for place in range(found.shape[0]):
        found[place] = 0.0
    place = 0
    for scalars in (value.first, value.last):
        found[place] = scalars.count
        found[place + 1] = scalars.rate
        found[place + 2] = 1.0 if scalars.asked else 0.0
        place += 3
    found[place] = value.plain[0] + value.plain[1] + value.plain[2][0]
    place += 1
    arrays = value.arrays
    for layer in range(arrays.cube.shape[0]):
        for row in range(arrays.cube.shape[1]):
            for column in range(arrays.cube.shape[2]):
                found[place] = arrays.cube[layer, row, column]
                place += 1
                arrays.cube[layer, row, column] += 1.0
    for row in range(arrays.whole.shape[0]):
        found[place] = arrays.whole[row] % 1000003
        place += 1
    for row in range(arrays.places.shape[0]):
        for column in range(arrays.places.shape[1]):
            found[place] = arrays.places[row, column]
            place += 1
            arrays.places[row, column] = row - column
    for row in range(arrays.flags.shape[0]):
        found[place] = 1.0 if arrays.flags[row] else 0.0
        place += 1
        arrays.flags[row] = not arrays.flags[row]
    found[place] = arrays.record[0].share
    found[place + 1] = arrays.record[0].redraws
    arrays.record[0].redraws = 8
    found[place + 2] = arrays.nothing.shape[0] + 10 * arrays.flat.shape[0] + 100 * arrays.flat.shape[1]
    return place + 3


def look_packed(numbers, found):
    value = unpack(numbers)
    return look_kernel(value, found)


look_kernel = None


@pytest.fixture(scope="module")
def look_at():
    """`look`, called with a tuple."""
    return entry_kernel(look)


@pytest.fixture(scope="module")
def look_at_packed():
    """`look`, called with numbers."""
    from arcbandit.compilation.compile import kernel

    return bound(entry_kernel, look_packed, unpack=unpacker(kind_of(everything())), look_kernel=kernel(look))


def flattened(value):
    return [part for inner in value for part in flattened(inner)] if isinstance(value, tuple) else [value]


def agree(one, other):
    return all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in zip(one, other, strict=True))


SCALARS = [
    Scalars(0, 0.0, False),
    Scalars(-1, -0.0, True),
    Scalars(-(2**63), math.nan, True),
    Scalars(2**63 - 1, math.inf, False),
    Scalars(1, -math.inf, True),
    Scalars(1, 5e-324, True),
]


class TestPackedCalls:
    @pytest.mark.parametrize("scalars", SCALARS, ids=str)
    def test_find_and_write_what_a_call_with_the_tuple_does(self, scalars, look_at, look_at_packed):
        """Every type, shape and kind of number, and nothing beside the arrays is touched."""
        one, two = everything(first=scalars), everything(first=scalars)
        found = np.full((2, 60), -1.0)
        counts = look_at(one, found[0]), look_at_packed(packed(two), found[1])
        assert counts[0] == counts[1]
        assert np.array_equal(found[0], found[1], equal_nan=True)
        assert np.array_equal(np.signbit(found[0]), np.signbit(found[1]))
        assert found[0][1] == scalars.rate or math.isnan(scalars.rate)
        assert agree([np.asarray(part) for part in flattened(one)], [np.asarray(part) for part in flattened(two)])
        assert two.arrays.record[0].redraws == 8
        assert two.arrays.places.tolist() == [[0, -1], [1, 0], [2, 1]]

    def test_see_what_python_writes_later(self, look_at_packed):
        """Packed once, for all calls."""
        value = everything()
        numbers = packed(value)
        found = np.zeros(60)
        look_at_packed(numbers, found)
        value.arrays.cube[...] = 42.0
        look_at_packed(numbers, found)
        assert found[7:31].tolist() == [42.0] * 24

    def test_take_other_lengths_of_the_same_kind(self, look_at, look_at_packed):
        """Shapes are among the numbers; a kind is a matter of types alone."""
        found = np.zeros((2, 60))
        for place, (called, given) in enumerate(((look_at, lambda value: value), (look_at_packed, packed))):
            cube = np.arange(12.0).reshape(3, 4, 1)
            value = everything(arrays=everything().arrays._replace(cube=cube, whole=np.arange(0), nothing=np.ones(3)))
            called(given(value), found[place])
        assert found[1][7:19].tolist() == list(range(12))
        assert found[0].tolist() == found[1].tolist()

    def test_take_records_of_settings(self):
        """Whose fields have two types."""
        settings = np.zeros(1, dtype=SETTINGS).view(np.recarray)
        settings[0].noise_scale, settings[0].replan = 0.5, -1
        read = bound(entry_kernel, read_settings, unpack=unpacker(kind_of((settings,))))
        assert read(packed((settings,))) == (0.5, -1)


def read_settings(numbers):
    (settings,) = unpack(numbers)
    return settings[0].noise_scale, settings[0].replan


class TestPacking:
    @pytest.mark.skipif(COMPILED, reason="compiled, a tuple is packed")
    def test_leaves_tuples_as_they_are_if_nothing_is_compiled(self):
        value = everything()
        assert packed(value) is value
        assert unpacker(kind_of(value))(packed(value)) is value

    @compiled_only
    def test_leaves_one_array_of_numbers(self):
        """One per scalar, one per array and one per length."""
        numbers = packed(everything())
        assert numbers.dtype == np.int64
        assert numbers.shape == (3 + (4 + 2 + 3 + 2 + 2 + 2 + 3) + 3 + 3,)
        assert packed(()).shape == (0,)

    @compiled_only
    @pytest.mark.parametrize(
        "array", [np.zeros((3, 4)).T, np.zeros(6)[::2], np.zeros((4, 4))[:, 1:3], np.zeros(3)[::-1]], ids=str
    )
    def test_refuses_arrays_that_are_not_contiguous(self, array):
        with pytest.raises(ValueError, match="only contiguous arrays can be packed, got strides"):
            packed((1, (array,)))

    @compiled_only
    @pytest.mark.parametrize("value", [np.float32(1.5), "word", 1j, None, [1, 2], 2**63, np.uint64(2**63)], ids=repr)
    def test_refuses_what_is_no_such_number(self, value):
        """It would be cut to size without a word."""
        with pytest.raises((TypeError, OverflowError)):
            packed((value,))

    @compiled_only
    def test_takes_numbers_of_numpy(self):
        value = (np.int64(-3), np.float64(-0.5), np.bool_(True))
        read = bound(entry_kernel, read_three, unpack=unpacker(kind_of(value)))
        assert read(packed(value)) == (-3, -0.5, True)

    @compiled_only
    def test_makes_one_unpacker_per_kind(self):
        """Or kernels would be compiled for each policy."""
        assert unpacker(kind_of(everything())) is unpacker(kind_of(everything(first=Scalars(1, 1.0, False))))
        assert unpacker(kind_of((1.0,))) is not unpacker(kind_of((1,)))

    @compiled_only
    def test_kinds_are_told_apart_as_numba_does(self):
        """They are kept by outline: all that a type depends on must be in it."""
        fixed = np.zeros((2, 3))
        fixed.flags.writeable = False
        parts = [1, 1.0, True, np.int64(1), np.bool_(True), np.zeros(3), np.zeros((2, 3)), np.zeros((2, 3)).T, fixed]
        parts += [np.zeros(3, dtype=np.int32), np.zeros(3, dtype=bool), np.zeros((2, 1, 3)), Scalars(1, 1.0, False)]
        values = [(one,) for one in parts] + [((one,), 1.0) for one in parts] + [everything()]
        for value in values + values:
            assert kind_of(value) == numba.typeof(value)


def read_three(numbers):
    return unpack(numbers)
