"""A tuple of arrays as one array of numbers, which is fast to pass from Python to compiled code.

Numba unboxes a tuple at every call from Python, array by array: about three microseconds for those of a policy. Here
the addresses, shapes and scalars are written down once, and compiled code makes the tuple from them, which costs next
to nothing. The caller must keep the tuple alive as long as the numbers are in use, and replace neither its arrays nor
their shapes.
"""

import functools
from collections.abc import Callable
from typing import Any, cast

import numba
import numpy as np
from numba.core import types
from numba.extending import intrinsic
from numba.np import arrayobj

config: Any = numba.config


def packed(value: Any) -> Any:
    """The numbers from which `unpacker(kind_of(value))` makes a (nested) tuple; uncompiled, the tuple itself."""
    return value if config.DISABLE_JIT else np.array(_numbers(value), dtype=np.int64)


def _numbers(value: Any) -> list[int]:
    if isinstance(value, tuple):
        return [number for part in value for number in _numbers(part)]
    if isinstance(value, np.ndarray):
        if not value.flags.c_contiguous:
            raise ValueError(f"only contiguous arrays can be packed, got strides {value.strides}")
        return [value.ctypes.data, *value.shape]
    if isinstance(value, float):
        return [int(np.float64(value).view(np.int64))]
    if isinstance(value, bool | int | np.bool_ | np.integer):
        return [int(value)]
    raise TypeError(f"only tuples, arrays, whole numbers, floats and truths can be packed, got {value!r}")


def kind_of(value: Any) -> Any:
    """The kind of a tuple, for `unpacker`: its Numba type; uncompiled, nothing."""
    if config.DISABLE_JIT:
        return None
    # Numba looks at every array again, which takes longer than playing a short epoch.
    outline = _outline(value)
    if outline not in _KINDS:
        _KINDS[outline] = numba.typeof(value)
    return _KINDS[outline]


_KINDS: dict[Any, Any] = {}


def _outline(value: Any) -> Any:
    """All that the Numba type of a value that can be packed depends on."""
    if isinstance(value, tuple):
        return (type(value), *map(_outline, value))
    if isinstance(value, np.ndarray):
        return (type(value), value.dtype, value.ndim, value.flags.num)
    return type(value)


@functools.cache
def unpacker(kind: Any) -> Callable[[Any], Any]:
    """A function for kernels that returns the packed tuple of this kind."""
    if kind is None:
        return lambda value: value

    @intrinsic
    def unpack(typing_context: Any, numbers: Any) -> Any:
        def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            start = arrayobj.make_array(signature.args[0])(context, builder, value=arguments[0]).data
            return _Reader(context, builder, start).value_of(kind)

        return kind(numbers), lower

    made: Any = unpack
    return made


class _Reader:
    """Writes code that reads the numbers one after the other."""

    def __init__(self, context: Any, builder: Any, start: Any) -> None:
        self.context, self.builder, self.start, self.place = context, builder, start, 0

    def number(self) -> Any:
        place = self.context.get_constant(types.intp, self.place)
        self.place += 1
        return self.builder.load(self.builder.gep(self.start, [place]))

    def value_of(self, kind: Any) -> Any:
        if isinstance(kind, types.BaseTuple):
            return self.context.make_tuple(self.builder, kind, [self.value_of(part) for part in cast(Any, kind)])
        if isinstance(kind, types.Array):
            return self.array_of(kind)
        number = self.number()
        if isinstance(kind, types.Float):
            return self.builder.bitcast(number, self.context.get_value_type(kind))
        return self.context.cast(self.builder, number, types.int64, kind)

    def array_of(self, kind: Any) -> Any:
        item = self.context.get_data_type(kind.dtype)
        data = self.builder.inttoptr(self.number(), item.as_pointer())
        shape = [self.number() for _ in range(kind.ndim)]
        size = self.context.get_constant(types.intp, self.context.get_abi_sizeof(item))
        strides = [size]
        for length in shape[:0:-1]:
            strides.insert(0, self.builder.mul(strides[0], length))
        array = arrayobj.make_array(kind)(self.context, self.builder)
        arrayobj.populate_array(array, data=data, shape=shape, strides=strides, itemsize=size, meminfo=None)
        return array._getvalue()
