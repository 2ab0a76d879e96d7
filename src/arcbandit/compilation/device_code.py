"""How a kernel becomes code for a GPU: by the optimiser and code generator of llvmlite, as on the CPU.

numba-cuda compiles by NVVM, whose older optimiser makes twice as much code, most of it address arithmetic and unrolled
loops: measured on rounds of OLP, a GPU spends its time waiting for instructions. Only `compilation/cuda.py` imports
this module, as it needs the package numba-cuda.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import llvmlite.binding as llvm  # type: ignore[import-untyped]
import llvmlite.ir.types as ir_types  # type: ignore[import-untyped]
from numba.core import types
from numba.cuda import codegen
from numba.cuda.core.compiler_lock import global_compiler_lock
from numba.cuda.cudadrv import nvvm
from numba.cuda.cudadrv.driver import ObjectCode  # type: ignore[attr-defined]
from numba.cuda.extending import intrinsic
from numba.cuda.np import arrayobj
from numba.cuda.typing import arraydecl

from arcbandit.compilation.enum_indices import members_as_integers

TRIPLE = "nvptx64-nvidia-cuda"
OPTIMISATION = 3
# All kernels are marked to be inlined, rare ones too: a call would hide local arrays from the optimiser. The threshold
# is high enough that the helpers of Numba and of the toolkit are inlined as well.
INLINING_THRESHOLD = 100_000
LAUNCHED = re.compile(r'@"?([\w.$]+)"?, !"kernel"')  # how a module names a kernel that the host launches
DEFINITION = re.compile(r"^define ")
LABEL = re.compile(r'^"?([\w.$]+)"?:')
SUM_OR_PRODUCT = re.compile(r"= f(mul|add|sub) double")
JUMP = re.compile(r'^\s+br label %"?([\w.$]+)"?(?:, *!dbg !\d+)?\s*$')


class DeviceLibrary(codegen.CUDACodeLibrary):
    """Code of a kernel and of all it calls, turned into PTX here instead of by NVVM."""

    def get_asm_strs(self, cc: Any = None) -> list[str]:
        """The PTX for a compute capability."""
        cc = self._ensure_cc(cc)
        if cc not in self._ptx_cache:
            self._ptx_cache[cc] = [ptx_of(self.modules, f"sm_{cc[0]}{cc[1]}")]
        kept: list[str] = self._ptx_cache[cc]
        return kept

    def get_cubin(self, cc: Any = None) -> Any:
        """The PTX, for the driver to turn into machine code.

        A linker would make relocatable code, with which a GPU plays a tenth fewer rounds per second.
        """
        cc = self._ensure_cc(cc)
        if cc not in self._cubin_cache:
            self._cubin_cache[cc] = ObjectCode.from_ptx(self.get_asm_strs(cc)[0].encode())
        return self._cubin_cache[cc]

    @property
    def llvm_strs(self) -> list[str]:
        """Nothing: the PTX is made from the modules themselves, and a cached kernel needs no more than that."""
        return []


@contextmanager
def device_code() -> Iterator[None]:
    """A context in which numba-cuda compiles by this module, and no other thread compiles."""
    with global_compiler_lock:
        library, fix_index = codegen.JITCUDACodegen._library_class, arrayobj.fix_integer_index
        type_of_index = arraydecl.get_array_index_type
        codegen.JITCUDACodegen._library_class = DeviceLibrary
        arrayobj.fix_integer_index = index_as_given
        arraydecl.get_array_index_type = lambda array, index: type_of_index(array, members_as_integers(index))
        try:
            yield
        finally:
            codegen.JITCUDACodegen._library_class = library
            arrayobj.fix_integer_index = fix_index
            arraydecl.get_array_index_type = type_of_index


def index_as_given(context: Any, builder: Any, index_type: Any, index: Any, size: Any) -> Any:
    """An index without the check for a negative one: no kernel counts from the end, and the check is costly."""
    return context.cast(builder, index, index_type, types.intp)


def with_shape(shape: tuple[int, ...]) -> Callable[[Any], Any]:
    """A function that tells the compiler the shape of an array, so that it knows the lengths of loops over it."""

    @intrinsic
    def view(typing_context: Any, array: Any) -> Any:
        def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = signature.return_type
            given = arrayobj.make_array(kind)(context, builder, value=arguments[0])
            seen = arrayobj.make_array(kind)(context, builder)
            size = context.get_abi_sizeof(context.get_data_type(kind.dtype))
            strides = [size]
            for length in shape[:0:-1]:
                strides.insert(0, strides[0] * length)
            arrayobj.populate_array(
                seen,
                data=given.data,
                shape=[context.get_constant(types.intp, length) for length in shape],
                strides=[context.get_constant(types.intp, stride) for stride in strides],
                itemsize=context.get_constant(types.intp, size),
                meminfo=None,
            )
            return seen._getvalue()

        return array(array), lower

    sized: Any = view
    return sized


def ptx_of(modules: list[Any], processor: str) -> str:
    """The PTX of the linked modules."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=processor, opt=OPTIMISATION)
    with _opaque_pointers():
        texts = [str(module) for module in modules]
    whole = llvm.parse_assembly(with_hints(texts[0]))
    for text in texts[1:]:
        whole.link_in(llvm.parse_assembly(with_hints(text)))
    library = llvm.parse_bitcode(nvvm.LibDevice().get())
    for part in (whole, library):
        part.triple = TRIPLE
        part.data_layout = str(machine.target_data)
    whole.link_in(library)
    launched = {name for text in texts for name in LAUNCHED.findall(text)}
    for function in whole.functions:
        if not function.is_declaration and function.name not in launched:
            function.linkage = "internal"
    settings = llvm.PipelineTuningOptions(speed_level=OPTIMISATION)
    settings.inlining_threshold = INLINING_THRESHOLD
    settings.loop_vectorization = False
    settings.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, settings)
    builder.getModulePassManager().run(whole, builder)
    ptx: str = machine.emit_assembly(whole)
    return ptx


def with_hints(text: str) -> str:
    """The module, with hints for the optimiser.

    Runtime unrolling is disabled for every loop: most loops of unknown length have one or two iterations, and a GPU
    waits for instructions more than for anything else. Loops of known length, over arms and contexts, may be unrolled.
    A product and a sum may be fused, which takes one instruction instead of two.
    """
    text = SUM_OR_PRODUCT.sub(r"= f\1 contract double", text)
    lines: list[str] = []
    notes: list[str] = []
    labels: set[str] = set()
    first_note = 1 + max((int(number) for number in re.findall(r"^!(\d+) = ", text, flags=re.MULTILINE)), default=0)
    for line in text.splitlines():
        if DEFINITION.match(line):
            labels = set()
        if label := LABEL.match(line):
            labels.add(label[1])
        if (jump := JUMP.match(line)) and jump[1] in labels:
            number = first_note + 2 * len(notes)
            notes.append(
                f"!{number} = distinct !{{ !{number}, !{number + 1} }}\n"
                f'!{number + 1} = !{{ !"llvm.loop.unroll.runtime.disable" }}'
            )
            line = f"{line.rstrip()}, !llvm.loop !{number}"
        lines.append(line)
    return "\n".join(lines + notes)


@contextmanager
def _opaque_pointers() -> Iterator[None]:
    # NVVM wants typed pointers, which the LLVM of llvmlite no longer supports.
    before = ir_types.ir_layer_typed_pointers_enabled
    ir_types.ir_layer_typed_pointers_enabled = False
    try:
        yield
    finally:
        ir_types.ir_layer_typed_pointers_enabled = before
