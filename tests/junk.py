"""Values of every type that a user may hand over by mistake, or to see what happens."""

import datetime
import decimal
import fractions
import pathlib
import types

import numpy as np
import pandas as pd
import polars as pl
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays


class Unhelpful:
    """An object whose every answer is an error."""

    def __repr__(self):
        raise RuntimeError("no repr")

    def __eq__(self, other):
        raise RuntimeError("no comparison")

    def __bool__(self):
        raise RuntimeError("no truth")

    __hash__ = object.__hash__


def recursive_list():
    """A list that holds itself."""
    cycle = [1.0]
    cycle.append(cycle)
    return cycle


def deep_list(depth=40):
    """More brackets than an array has dimensions."""
    nested = 1.0
    for _ in range(depth):
        nested = [nested]
    return nested


# Made again for each use, because some can be used up.
JUNK = {
    "None": lambda: None,
    "True": lambda: True,
    "False": lambda: False,
    "0": lambda: 0,
    "1": lambda: 1,
    "-1": lambda: -1,
    "3": lambda: 3,
    "2**63": lambda: 2**63,
    "10**400": lambda: 10**400,
    "-10**400": lambda: -(10**400),
    "10**5000": lambda: 10**5000,
    "0.5": lambda: 0.5,
    "-0.0": lambda: -0.0,
    "3.5": lambda: 3.5,
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "-inf": lambda: -float("inf"),
    "1e308": lambda: 1e308,
    "-1e308": lambda: -1e308,
    "1e150": lambda: 1e150,
    "5e-324": lambda: 5e-324,
    "complex": lambda: 1j,
    "empty string": lambda: "",
    "word": lambda: "x",
    "digit": lambda: "0",
    "word for false": lambda: "False",
    "string with a null": lambda: "a\0b",
    "bytes": lambda: b"x",
    "bytearray": lambda: bytearray(b"xy"),
    "empty tuple": lambda: (),
    "empty list": list,
    "empty dict": dict,
    "dict": lambda: {"a": 1},
    "dict of unlike keys": lambda: {1: 0.5, None: 0.5},
    "dict of lists": lambda: {"a": [1, 2], "b": [3, 4]},
    "empty set": set,
    "set": lambda: {1, 2},
    "object": object,
    "unhelpful object": Unhelpful,
    "type": lambda: int,
    "function": lambda: lambda *_: None,
    "range": lambda: range(2),
    "iterator": lambda: iter([0.5, 0.5]),
    "module": lambda: types,
    "ellipsis": lambda: ...,
    "decimal": lambda: decimal.Decimal("0.5"),
    "fraction": lambda: fractions.Fraction(1, 2),
    "huge fraction": lambda: fractions.Fraction(10**400, 3),
    "date": lambda: datetime.date(2020, 1, 1),
    "timedelta": lambda: datetime.timedelta(1),
    "path": lambda: pathlib.Path("nowhere"),
    "list": lambda: [0.5, 0.5],
    "list of booleans": lambda: [True, False],
    "list with a boolean": lambda: [True, 0.5],
    "list of strings": lambda: ["a", "b"],
    "list of one name twice": lambda: ["a", "a"],
    "list of None": lambda: [None, None],
    "list with 10**400": lambda: [10**400, 1],
    "list with 10**30": lambda: [10**30, 1],
    "list with nan": lambda: [float("nan"), 1.0],
    "list with inf": lambda: [0.5, float("inf")],
    "list of large numbers": lambda: [1e308, 1e308],
    "list of objects": lambda: [object(), Unhelpful()],
    "list of lists": lambda: [[0.5, 0.5], [0.5, 0.5]],
    "ragged list": lambda: [[1.0], [1.0, 2.0]],
    "matrix of large numbers": lambda: [[1e308, -1e308], [1e308, 1e308]],
    "recursive list": recursive_list,
    "deep list": deep_list,
    "float32": lambda: np.float32(0.5),
    "longdouble": lambda: np.longdouble("1e4000"),
    "int8": lambda: np.int8(1),
    "numpy boolean": lambda: np.bool_(True),
    "numpy string": lambda: np.str_("x"),
    "datetime64": lambda: np.datetime64("2020-01-01"),
    "timedelta64": lambda: np.timedelta64(1, "s"),
    "not a time": lambda: np.datetime64("NaT"),
    "array of no dimensions": lambda: np.array(0.5),
    "empty array": lambda: np.array([]),
    "empty matrix": lambda: np.empty((0, 2)),
    "array": lambda: np.array([0.5, 0.5]),
    "array of float16": lambda: np.array([0.5, 0.5], dtype=np.float16),
    "matrix": lambda: np.full((2, 2), 0.5),
    "matrix of integers": lambda: np.ones((2, 2), dtype=np.uint8),
    "cube": lambda: np.ones((2, 2, 2)),
    "complex array": lambda: np.ones((2, 2), dtype=complex),
    "boolean array": lambda: np.ones((2, 2), dtype=bool),
    "array of longdouble": lambda: np.full(2, np.longdouble("1e4000")),
    "object array": lambda: np.array([0.5, None], dtype=object),
    "string array": lambda: np.array(["a", "b"]),
    "datetime array": lambda: np.array(["2020-01-01", "NaT"], dtype="M8[s]"),
    "timedelta array": lambda: np.ones((2, 2), dtype="m8[s]"),
    "record array": lambda: np.zeros(2, dtype=[("a", float), ("b", int)]),
    "masked array": lambda: np.ma.masked_array([0.5, 0.5], [True, False]),
    "masked matrix": lambda: np.ma.masked_array(np.ones((2, 2)), np.eye(2)),
    "array with nothing masked": lambda: np.ma.masked_array([0.5, 0.5], [False, False]),
    "pandas frame": lambda: pd.DataFrame({"a": [0.5, 0.5], "b": [0.5, 0.5]}),
    "pandas frame of objects": lambda: pd.DataFrame({"a": [object(), 1], "b": [None, "x"]}),
    "pandas frame without columns": pd.DataFrame,
    "pandas series": lambda: pd.Series([0.5, 0.5]),
    "pandas series with an index": lambda: pd.Series({"x": 0.5, "y": 0.5}),
    "pandas series of dates": lambda: pd.Series(pd.to_datetime(["2020-01-01", None])),
    "pandas index": lambda: pd.Index([0.5, 0.5]),
    "polars frame": lambda: pl.DataFrame({"a": ["x", "y"], "b": [0.5, 0.5]}),
    "polars frame of structs": lambda: pl.DataFrame({"a": [{"x": 1}, {"x": 2}]}),
    "polars series": lambda: pl.Series([0.5, 0.5]),
    "polars series with a null": lambda: pl.Series([0.5, None]),
    "polars expression": lambda: pl.col("a"),
}

_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-4, 4),
    st.sampled_from([2**63, -(2**63), 2**64, 10**400]),
    st.floats(),
    st.text(max_size=3),
    st.binary(max_size=3),
    st.complex_numbers(),
    st.dates(),
)


def junk():
    """Any of the values above, nests of lists and dicts, and arrays of any type and shape."""
    nests = st.recursive(
        _SCALARS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_SCALARS, inner, max_size=3),
        max_leaves=8,
    )
    shapes = arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
    return st.one_of(
        st.sampled_from(sorted(JUNK)).map(lambda name: JUNK[name]()),
        nests,
        arrays.arrays(arrays.scalar_dtypes(), shapes),
    )
