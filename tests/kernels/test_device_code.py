"""Code for a GPU, made where there is none: as far as PTX, which the driver of a GPU would take over."""

import re
import sys

import llvmlite.binding as llvm
import numpy as np
import pytest
from numba import types

from arcbandit import policy
from arcbandit.kernels.cuda import import_cuda
from arcbandit.simulation.device_kernels import entries_of, play_kernel, play_source, start_values, tuples_of
from tests.kernels.modes import COMPILED

pytestmark = [
    pytest.mark.skipif(sys.platform == "darwin", reason="numba-cuda is not made for macOS"),
    pytest.mark.skipif(not COMPILED, reason="without a compiler there is no code: `make test` runs this compiled"),
]


class HopperGpu:
    compute_capability = (9, 0)


@pytest.fixture
def no_gpu(monkeypatch):
    """Compile for a GPU that is not there, without the library of mathematical functions of the CUDA toolkit."""
    import_cuda()
    from numba.cuda import dispatcher
    from numba.cuda.cudadrv import nvvm

    class NoFunctions:
        def get(self):
            return llvm.parse_assembly("").as_bitcode()

    monkeypatch.setattr(dispatcher, "get_current_device", HopperGpu)
    monkeypatch.setattr(nvvm, "LibDevice", NoFunctions)


def entries(window=0):
    from arcbandit.simulation.loop import World

    bound = policy("olp", [0.1, 0.2], [0.5, 0.5])
    arrays = {"mean_rewards": np.ones((2, 2)), "probabilities": np.ones(2), "used_pairs": np.ones((2, 2), dtype=bool)}
    arrays |= {"slack_floors": np.ones(2, dtype=bool), "samples": np.ones(1), "sample_start": np.zeros(5, np.int64)}
    whole = {"optimal_columns": 4, "model": 0}
    world = World(**{name: arrays.get(name, whole.get(name, 1.0)) for name in World._fields})
    return entries_of({"world": world} | tuples_of(bound, window))


def ptx_of_a_round():
    """PTX of the kernel that plays OLP with two arms in two contexts."""
    from arcbandit.kernels.device_code import device_code

    named = entries()
    kernel = play_kernel(0, tuple(field for field, _ in named))
    records = (np.zeros((1, 1, 1)), np.zeros((1, 1, 1, 1)))
    arguments = [value for field, value in named if field.shared]
    arguments += [start_values(named), 0, 0, 1, 1, np.zeros(1, np.int64), *records]
    signature = types.void(*(argument_type(argument) for argument in arguments))
    with device_code():
        ptx, _ = import_cuda().compile_ptx(kernel._dispatcher.py_func, signature, cc=(9, 0))
    return ptx


def argument_type(argument):
    if isinstance(argument, np.ndarray):
        kind = types.boolean if argument.dtype == bool else getattr(types, argument.dtype.name)
        return types.Array(kind, argument.ndim, "C")
    return types.int64 if isinstance(argument, int) else types.float64


class TestPtx:
    def test_a_round_is_one_function_that_calls_no_other_of_ours(self, no_gpu):
        ptx = ptx_of_a_round()
        assert ".target sm_90" in ptx
        assert ptx.count(".entry") == 1
        called = set(re.findall(r"call(?:\.uni)?\s+(?:\([^)]*\),\s*)?(\w+)", ptx))
        assert called, "logarithm, cosine and square root come from the toolkit"
        assert all(name.startswith("__nv_") for name in called)

    def test_numba_cuda_is_left_as_it_was(self, no_gpu):
        from numba.cuda import codegen
        from numba.cuda.np import arrayobj

        from arcbandit.kernels.device_code import DeviceLibrary, device_code, index_as_given

        def interrupted():
            with device_code():
                assert codegen.JITCUDACodegen._library_class is DeviceLibrary
                assert arrayobj.fix_integer_index is index_as_given
                raise KeyboardInterrupt

        before = codegen.JITCUDACodegen._library_class, arrayobj.fix_integer_index
        with pytest.raises(KeyboardInterrupt):
            interrupted()
        assert (codegen.JITCUDACodegen._library_class, arrayobj.fix_integer_index) == before


class TestLoops:
    TEXT = """
define void @one(i64 %n) {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %body, label %tail
body:
  %next = add i64 %i, 1
  br label %head
tail:
  br label %"end"
"end":
  ret void
}
define void @two() {
entry:
  br label %head
head:
  ret void
}
!0 = !{ !"a note" }
"""

    def test_only_jumps_back_are_marked(self):
        from arcbandit.kernels.device_code import keep_loops_rolled

        marked = keep_loops_rolled(self.TEXT)
        assert [line for line in marked.splitlines() if "!llvm.loop" in line] == ["  br label %head, !llvm.loop !1"]
        llvm.parse_assembly(marked).verify()


class TestSource:
    def test_a_kernel_of_another_shape_is_another_text(self):
        """Numba's cache on disk tells kernels apart by their file."""
        texts = {play_source(0, tuple(field for field, _ in entries(window))) for window in (0, 3, 4)}
        assert len(texts) == 3
