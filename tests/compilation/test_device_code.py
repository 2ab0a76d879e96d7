"""Code for a GPU, made where there is none: as far as PTX, which the driver of a GPU would take over."""

import re
import sys

import llvmlite.binding as llvm
import numpy as np
import pytest
from numba import typeof, types
from numba.np.numpy_support import from_dtype

from arcbandit import DOC, OLP, policy
from arcbandit.compilation.cuda import import_cuda
from arcbandit.simulation.device_kernels import entries_of, play_kernel, play_source, start_values, tuples_of
from arcbandit.simulation.loop import loop_of
from arcbandit.simulation.world import World
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


def entries(window=0, name="olp"):
    learner = policy(name, [0.1, 0.2], [0.5, 0.5]).learner
    arrays = {"mean_rewards": np.ones((2, 2)), "revenues": np.ones((2, 2)), "probabilities": np.ones(2)}
    arrays |= {"used_pairs": np.ones((2, 2), dtype=bool), "prices": np.zeros(2), "reduced_costs": np.zeros((2, 2))}
    arrays |= {"slack_floors": np.ones(2, dtype=bool), "samples": np.ones(1), "sample_start": np.zeros(5, np.int64)}
    whole = {"optimal_columns": 4, "model": 0, "audited": False}
    world = World(**{name: arrays.get(name, whole.get(name, 1.0)) for name in World._fields})
    return entries_of({"world": world} | tuples_of(learner, window))


def ptx_of_a_round(rule):
    """PTX of the kernel that plays by the rule with two arms in two contexts."""
    from arcbandit.compilation.device_code import device_code

    named = entries(name=rule.name)
    kernel = play_kernel(loop_of(rule.allocate, rule.learn, rule.plans), tuple(field for field, _ in named))
    records = (np.zeros((1, 1, 1)), np.zeros((1, 1, 1, 1)))
    arguments = [value for field, value in named if field.shared]
    arguments += [start_values(named), 0, 0, 1, 1, np.zeros(1, np.int64), *records]
    signature = types.void(*(argument_type(argument) for argument in arguments))
    with device_code():
        ptx, _ = import_cuda().compile_ptx(kernel._dispatcher.py_func, signature, cc=(9, 0))
    return ptx


def argument_type(argument):
    # Records are packed as NumPy packs them; other arrays are those that a GPU's memory holds.
    if isinstance(argument, np.ndarray):
        return types.Array(from_dtype(argument.dtype), argument.ndim, "C")
    return typeof(argument)


class TestPtx:
    @pytest.mark.system
    def test_a_round_is_one_function_that_calls_no_other_of_ours(self, no_gpu, cases):
        """The long version compiles a rule that plans, for which the compiler takes half a minute."""
        ptx = ptx_of_a_round(cases(DOC, OLP))
        assert ".target sm_90" in ptx
        assert ptx.count(".entry") == 1
        called = set(re.findall(r"call(?:\.uni)?\s+(?:\([^)]*\),\s*)?(\w+)", ptx))
        assert called, "logarithm, cosine and square root come from the toolkit"
        assert all(name.startswith("__nv_") for name in called)

    def test_the_driver_is_given_ptx_and_not_what_a_linker_makes_of_it(self):
        from arcbandit.compilation.device_code import DeviceLibrary

        library = DeviceLibrary(None, "round")
        library._ptx_cache[9, 0] = ["the PTX"]
        image = library.get_cubin(cc=(9, 0))
        assert (image.code_type, image.code) == ("ptx", b"the PTX")
        assert library.get_cubin(cc=(9, 0)) is image

    def test_numba_cuda_is_left_as_it_was(self, no_gpu):
        from numba.cuda import codegen
        from numba.cuda.np import arrayobj
        from numba.cuda.typing import arraydecl

        from arcbandit.compilation.device_code import DeviceLibrary, device_code, index_as_given

        def changed():
            return (
                codegen.JITCUDACodegen._library_class,
                arrayobj.fix_integer_index,
                arraydecl.get_array_index_type,
            )

        def interrupted():
            with device_code():
                assert changed()[:2] == (DeviceLibrary, index_as_given)
                assert changed()[2] is not before[2]
                raise KeyboardInterrupt

        before = changed()
        with pytest.raises(KeyboardInterrupt):
            interrupted()
        assert changed() == before


class TestHints:
    TEXT = """
define void @one(i64 %n, double %x) {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %body, label %tail
body:
  %next = add i64 %i, 1
  %product = fmul double 2.0, %x
  %sum = fadd double %product, %x
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
        from arcbandit.compilation.device_code import with_hints

        marked = with_hints(self.TEXT)
        assert [line for line in marked.splitlines() if "!llvm.loop" in line] == ["  br label %head, !llvm.loop !1"]
        llvm.parse_assembly(marked).verify()

    def test_sums_and_products_may_be_fused(self):
        from arcbandit.compilation.device_code import with_hints

        marked = with_hints(self.TEXT)
        assert "fmul contract double 2.0" in marked
        assert "fadd contract double %product" in marked


class TestSource:
    @pytest.mark.parametrize(("window", "kept_as"), [(0, "int8"), (127, "int8"), (128, "int32")])
    def test_places_are_kept_in_a_byte_where_they_fit(self, window, kept_as):
        """Which a window of many rounds rules out as well, for simplicity."""
        text = play_source(tuple(field for field, _ in entries(window)))
        assert f"learner_planner_key = cuda.local.array((2, 2), {kept_as})" in text

    def test_a_kernel_of_another_shape_is_another_text(self):
        """Numba's cache on disk tells kernels apart by their file."""
        texts = {play_source(tuple(field for field, _ in entries(window))) for window in (0, 3, 4)}
        assert len(texts) == 3
