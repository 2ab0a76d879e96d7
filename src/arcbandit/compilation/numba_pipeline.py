"""How kernels are compiled fast: a pipeline built on Numba's internals, which its releases may move.

Nothing here is documented by Numba. Only `compilation/compile.py` imports this module; it tries it on small kernels and
uses `compilation/numba_options.py` if the import or the trial fails.
"""

import copy
import gc
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm  # type: ignore[import-untyped]
import numba
from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.cpu import CPUContext
from numba.core.imputils import user_function
from numba.core.lowering import Lower
from numba.core.typed_passes import NativeLowering, NopythonRewrites
from numba.core.types import Omitted, unliteral
from numba.core.untyped_passes import InlineClosureLikes

from arcbandit.compilation.cache import cache_folder, cache_on_disk
from arcbandit.compilation.fingerprint import fingerprint
from arcbandit.compilation.shared_code import (
    NOTHING,
    environment_of,
    keep_code,
    load_by,
    rebuild_caller,
    rebuild_shared,
    symbol_of,
)

# Stages for what kernels do not use: closures, and whole-array expressions.
NEEDLESS_STAGES = (InlineClosureLikes, NopythonRewrites)

config: Any = numba.config
compile_function: Any = numba.njit


class KernelFlags(Flags):
    """Numba's flags, compared only by those that were set: typing compares all options tens of thousands of times."""

    __slots__ = ()

    def __hash__(self) -> int:
        return hash(frozenset(self._values))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KernelFlags) and bool(self._values == other._values)


class KernelCompiler(CompilerBase):
    """Numba's own pipeline at a lower level of optimisation.

    The levels above 1 unroll loops over a handful of arms, which takes a third longer to compile and runs slower.
    """

    LEVEL = 1
    LOWERING: Any = None

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.state.flags = KernelFlags(self.state.flags)

    def define_pipelines(self) -> list[Any]:
        """Numba's stages, with our own lowering and without those that find nothing to do."""
        manager = PassManager("arcbandit")
        for stage, description in DefaultPassBuilder.define_nopython_pipeline(self.state).passes:
            if stage not in NEEDLESS_STAGES:
                manager.add_pass(self.LOWERING if stage is NativeLowering else stage, description)
        manager.finalize()
        return [manager]

    def _compile_core(self) -> Any:
        # Both are settings of the process; the compiler's lock is held while they differ. The garbage collector would
        # repeatedly walk all that the compiler has built, and find hardly any garbage.
        level, collects = config.OPT, gc.isenabled()
        config.OPT = type(level)(self.LEVEL)
        gc.disable()
        try:
            return super()._compile_core()
        finally:
            config.OPT = level
            if collects:
                gc.enable()


class KernelLibrary(JITCodeLibrary):
    """Code of a kernel."""

    def _optimize_functions(self, ll_module: Any) -> None:
        # Numba prepares this for every function, and most are declarations of others.
        ll_module.data_layout = self._codegen._data_layout
        for function in ll_module.functions:
            if not function.is_declaration:
                manager, builder = self._codegen._function_pass_manager()
                manager.run(function, builder)


class EntryLibrary(KernelLibrary):
    """Code of a kernel that Python calls, and of all kernels linked into it."""

    def _optimize_final_module(self) -> None:
        # What was linked in is called only from here, so the optimiser may drop the many unused arguments.
        for function in self._final_module.functions:
            if function.linkage.name == "linkonce_odr":
                function.linkage = "internal"
        # Unrolled, the code is about 2.5 times as long, takes 1.8 times as long to compile, and runs no faster.
        tuning = llvm.create_pipeline_tuning_options(KernelCompiler.LEVEL)
        tuning.loop_vectorization = config.LOOP_VECTORIZE
        tuning.loop_unrolling = False
        tuning.loop_interleaving = False
        builder = llvm.create_pass_builder(self._codegen._tm, tuning)
        builder.getModulePassManager().run(self._final_module, builder)


@register_pass(mutates_CFG=True, analysis_only=False)
class EntryLowering(NativeLowering):
    """Lower a kernel that Python calls."""

    _name = "arcbandit_entry_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower into a library of our kind."""
        state.library = EntryLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return bool(super().run_pass(state))


class EntryCompiler(KernelCompiler):
    """The pipeline of kernels that Python calls."""

    LOWERING = EntryLowering


class LinkedLibrary(KernelLibrary):
    """Code of a kernel used inside others: linked into them, and optimised and turned into machine code there."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class WholePacker:
    """Passes every argument as it is. Numba passes the numbers of arrays and tuples, of a learner hundreds."""

    def __init__(self, models: Any, argument_types: Any) -> None:
        self._given = [not isinstance(kind, Omitted) for kind in argument_types]
        self.argument_types = tuple(models.lookup(kind).get_value_type() for kind in self._those_given(argument_types))

    def _those_given(self, of_all: Any) -> list[Any]:
        """Without those that a default stands for, which callers do not pass."""
        return [of_one for of_one, given in zip(of_all, self._given, strict=True) if given]

    def as_arguments(self, builder: Any, values: Any) -> list[Any]:
        """What to pass for these values."""
        return self._those_given(values)

    def from_arguments(self, builder: Any, arguments: Any) -> list[Any]:
        """The values that were passed."""
        passed = iter(arguments)
        return [next(passed) if given else None for given in self._given]

    def assign_names(self, arguments: Any, names: Any) -> None:
        """Name the arguments."""
        for argument, name in zip(arguments, self._those_given(names), strict=True):
            argument.name = name


class WholeContext(CPUContext):
    """Where functions are declared, called and lowered that take whole arguments."""

    def get_arg_packer(self, argument_types: Any) -> WholePacker:
        """What passes arguments."""
        return WholePacker(self.data_model_manager, argument_types)


def whole(context: Any) -> Any:
    """A context, for functions that take whole arguments."""
    seen = copy.copy(context)
    seen.__class__ = WholeContext
    return seen


class Copied(Lower):
    """Lowers a function that is inlined everywhere, and takes whole arguments: a third less is to be written down."""

    def setup_function(self, fndesc: Any) -> None:
        """Declare the function."""
        context = self.context
        self.context = whole(context)
        super().setup_function(fndesc)
        self.context = context

    def extract_function_arguments(self) -> Any:
        """Find the values of the arguments."""
        self.fnargs = whole(self.context).call_conv.decode_arguments(self.builder, self.fndesc.argtypes, self.function)
        return self.fnargs


def copied_call(fndesc: Any, library: Any) -> Any:
    """What writes a call of a function that takes whole arguments."""
    call = user_function(fndesc, [library])

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return call(whole(context), builder, signature, arguments)

    write.signature, write.libs = call.signature, call.libs  # type: ignore[attr-defined]
    return write


@register_pass(mutates_CFG=True, analysis_only=False)
class LinkedLowering(NativeLowering):
    """Lower a kernel for linking only; machine code of its own would take a third of all compilation."""

    _name = "arcbandit_linked_lowering"
    COPIED = True

    @property
    def lowering_class(self) -> Any:
        """The class that writes the code."""
        return Copied

    def run_pass(self, state: Any) -> bool:
        """Lower, and let callers find the code under a function that Python never calls."""
        library = LinkedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        library.enable_object_caching()
        state.library = library
        state.flags.no_compile = True
        state.flags.forceinline = self.COPIED
        super().run_pass(state)
        lowered = state["cr"]
        name = lowered.fndesc.qualname.split(".")[-1]
        stand_in = _dynfunc.make_function(lowered.fndesc.lookup_module(), name, "", 0, lowered.env, (library,))
        call = copied_call(lowered.fndesc, library) if self.COPIED else user_function(lowered.fndesc, [library])
        state.targetctx.insert_func_defn([(call, stand_in, call.signature)])
        state.reload_init.extend(library._reload_init)
        state["cr"] = lowered._replace(cfunc=stand_in)
        return True


class NeverCopied(Lower):
    """Lowers a function so that the optimiser does not inline it.

    By default it would, as inlining saves the cost of a kernel's many arguments.
    """

    def setup_function(self, fndesc: Any) -> None:
        """Declare the function, with the attribute that prevents inlining."""
        super().setup_function(fndesc)
        self.function.attributes.add("noinline")


@register_pass(mutates_CFG=True, analysis_only=False)
class CalledLowering(LinkedLowering):
    """Lower a kernel that is called, not inlined."""

    _name = "arcbandit_called_lowering"
    COPIED = False

    @property
    def lowering_class(self) -> Any:
        """The class that writes the code."""
        return NeverCopied


class SharedLibrary(EntryLibrary):
    """Machine code of a kernel that others call by its symbol, instead of each holding a copy."""

    def _get_module_for_linking(self) -> Any:
        self._ensure_finalized()
        return llvm.parse_assembly(NOTHING)


class SharedLower(Lower):
    """Lowers a function under names that are the same in every process."""

    def __init__(self, context: Any, library: Any, fndesc: Any, func_ir: Any, *arguments: Any, **named: Any) -> None:
        fndesc.mangled_name = symbol_of(func_ir.func_id.func, fndesc.argtypes)
        # Of two processes that compile it at once, the code on disk may be of one, and what Numba caches of the other.
        fndesc.env_name = environment_of(fndesc.mangled_name)
        super().__init__(context, library, fndesc, func_ir, *arguments, **named)


@register_pass(mutates_CFG=True, analysis_only=False)
class SharedLowering(NativeLowering):
    """Lower a kernel to machine code of its own, which is kept for the processes that load a caller from disk."""

    _name = "arcbandit_shared_lowering"

    @property
    def lowering_class(self) -> Any:
        """The class that writes the code."""
        return SharedLower

    def run_pass(self, state: Any) -> bool:
        """Lower, and keep the machine code under its symbol."""
        state.library = SharedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        state.flags.forceinline = False
        super().run_pass(state)
        keep_code(state["cr"].fndesc.mangled_name, state.library)
        return True


class SharedCompiler(KernelCompiler):
    """The pipeline of kernels whose machine code others share."""

    LOWERING = SharedLowering


class LinkedCompiler(KernelCompiler):
    """The pipeline of kernels that are inlined into others."""

    LOWERING = LinkedLowering


class CalledCompiler(KernelCompiler):
    """The pipeline of kernels that others call."""

    LOWERING = CalledLowering


def copied(function: Callable[..., Any]) -> Any:
    """Compile a function that is inlined into the kernels that call it."""
    return _inner(function, LinkedCompiler)


def called(function: Callable[..., Any]) -> Any:
    """Compile a function that other kernels call."""
    return _inner(function, CalledCompiler)


def shared(function: Callable[..., Any]) -> Any:
    """Compile a function once for all the kernels that call it, also those of other processes."""
    compiled = _inner(function, SharedCompiler)
    typed = compiled.get_call_template
    cached = False

    def typed_from_disk(arguments: Any, keywords: Any) -> Any:
        nonlocal cached
        if not cached:  # not before, as the names of its globals may not have been defined
            cached = True
            folder = cache_folder(fingerprint(function))
            if folder is not None:
                cache_on_disk(compiled, folder)
                load_by(compiled, rebuild_shared)
        return typed(arguments, keywords)

    compiled.get_call_template = typed_from_disk
    return compiled


def _inner(function: Callable[..., Any], compiler: type[KernelCompiler]) -> Any:
    # Wrappers for calls from Python, never used, would double the compilation time of a small kernel; without the
    # runtime (nrt) references are not counted, and a kernel that allocates does not compile.
    options = {
        "no_cpython_wrapper": True,
        "no_cfunc_wrapper": True,
        "_nrt": False,
        "forceinline": True,
        "pipeline_class": compiler,
    }
    compiled = compile_function(error_model="numpy", **options)(function)
    typed_as_given = compiled.get_call_template

    def typed_without_literals(arguments: Any, keywords: Any) -> Any:
        return typed_as_given([unliteral(argument) for argument in arguments], keywords)

    # A kernel called with the constant 0 would be compiled once for 0 and again for integers.
    compiled.get_call_template = typed_without_literals
    return compiled


def entry(function: Callable[..., Any], cache: bool = False) -> Any:
    """Compile a function that Python calls, without the interpreter's lock."""
    options = {
        "nogil": True,
        "no_cfunc_wrapper": True,
        "_nrt": False,
        "forceinline": True,
        "pipeline_class": EntryCompiler,
    }
    compiled = compile_function(error_model="numpy", cache=cache, **options)(function)
    if cache:
        load_by(compiled, rebuild_caller)
    return compiled
