"""The decorators that turn a function into a kernel.

Numba's own disk cache looks only at the file of the function it compiles, so an edit in a *called* kernel would go
unnoticed. The cache folder is therefore named after a hash of every source that may hold a kernel.
"""

import functools
import gc
import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import llvmlite.binding as llvm  # type: ignore[import-untyped]
import numba
import numba.core.config
from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import NativeLowering, NopythonRewrites
from numba.core.types import unliteral
from numba.core.untyped_passes import InlineClosureLikes

PACKAGE = Path(__file__).resolve().parents[1]
ROOMS_WITH_KERNELS = ("kernels", "policies", "simulation")
CACHE_VARIABLE = "ARCBANDIT_CACHE_DIR"

# Stages for what kernels do not have: closures, and expressions of whole arrays.
NEEDLESS_STAGES = (InlineClosureLikes, NopythonRewrites)

config: Any = numba.core.config
compile_function: Any = numba.njit

Function = TypeVar("Function", bound=Callable[..., Any])


def source_fingerprint(package: Path = PACKAGE) -> str:
    """Hash of all that decides what a kernel compiles to."""
    digest = hashlib.sha256()
    digest.update(f"{sys.version_info[:2]} {numba.__version__} {config.BOUNDSCHECK}".encode())
    for room in ROOMS_WITH_KERNELS:
        for source in sorted((package / room).rglob("*.py")):
            digest.update(source.relative_to(package).as_posix().encode())
            digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def cache_root() -> Path:
    """Where compiled kernels are kept: ``ARCBANDIT_CACHE_DIR``, else the user's cache folder."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "arcbandit"


@functools.cache
def cache_folder() -> Path | None:
    """The folder of this version of the sources; None where it cannot be written."""
    try:
        folder = cache_root() / source_fingerprint()
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return None
    return folder if os.access(folder, os.W_OK) else None


class KernelFlags(Flags):
    """Numba's flags, compared by what was set: typing compares them tens of thousands of times, option by option."""

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
        """Numba's stages, with another one for lowering, less those that find nothing to do."""
        manager = PassManager("arcbandit")
        for stage, description in DefaultPassBuilder.define_nopython_pipeline(self.state).passes:
            if stage not in NEEDLESS_STAGES:
                manager.add_pass(self.LOWERING if stage is NativeLowering else stage, description)
        manager.finalize()
        return [manager]

    def _compile_core(self) -> Any:
        # Both are settings of the process; the compiler's lock is held while they differ. The collector would walk all
        # that the compiler has built, again and again, and find next to no garbage.
        level, collects = config.OPT, gc.isenabled()
        config.OPT = type(level)(self.LEVEL)
        gc.disable()
        try:
            return super()._compile_core()
        finally:
            config.OPT = level
            if collects:
                gc.enable()


class EntryLibrary(JITCodeLibrary):
    """Code of a kernel that Python calls, and of all kernels linked into it."""

    def _optimize_final_module(self) -> None:
        # What was linked in is called from here alone: the optimiser may then drop the many arguments nobody reads.
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


class LinkedLibrary(JITCodeLibrary):
    """Code of a kernel inside others: linked into them, and optimised and turned into machine code there."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class LinkedLowering(NativeLowering):
    """Lower a kernel for linking only; machine code of its own would take a third of all compilation."""

    _name = "arcbandit_linked_lowering"
    COPIED = True

    def run_pass(self, state: Any) -> bool:
        """Lower, and let callers find the code under a function that Python never calls."""
        library = LinkedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        library.enable_object_caching()
        state.library = library
        state.flags.no_compile = True
        state.flags.forceinline = self.COPIED
        super().run_pass(state)
        lowered = state["cr"]
        if not self.COPIED:
            # Left to itself the optimiser copies these as well, for each of their many arguments is a cost saved.
            library.get_function(lowered.fndesc.llvm_func_name).add_function_attribute("noinline")
        name = lowered.fndesc.qualname.split(".")[-1]
        stand_in = _dynfunc.make_function(lowered.fndesc.lookup_module(), name, "", 0, lowered.env, (library,))
        state.targetctx.insert_user_function(stand_in, lowered.fndesc, [library])
        state.reload_init.extend(library._reload_init)
        state["cr"] = lowered._replace(cfunc=stand_in)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class CalledLowering(LinkedLowering):
    """Lower a kernel that is called where others are copied."""

    _name = "arcbandit_called_lowering"
    COPIED = False


class LinkedCompiler(KernelCompiler):
    """The pipeline of kernels that are copied into others."""

    LOWERING = LinkedLowering


class CalledCompiler(KernelCompiler):
    """The pipeline of kernels that others call."""

    LOWERING = CalledLowering


def kernel(function: Function) -> Function:
    """Compile `function` for use inside other kernels, copied into its callers by the optimiser.

    With ``NUMBA_DISABLE_JIT=1`` it stays plain Python; with ``NUMBA_BOUNDSCHECK=1`` every index is checked.
    """
    return _inner(function, LinkedCompiler)


def rare_kernel(function: Function) -> Function:
    """Like `kernel`, but called rather than copied: for what few rounds need, or several places call.

    A call passes what it reads of the arrays in its tuples, and costs as much as a small kernel's work.
    """
    return _inner(function, CalledCompiler)


def _inner(function: Function, compiler: type[KernelCompiler]) -> Function:
    if config.DISABLE_JIT:
        return function
    # Wrappers that nobody calls from Python would double the compilation time of a small kernel; without the runtime
    # (nrt) nothing counts references, and a kernel that allocates does not compile.
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

    # A kernel called with the constant 0 would be compiled once for it and once more for integers.
    compiled.get_call_template = typed_without_literals
    kept: Function = compiled
    return kept


def entry_kernel(function: Function) -> Function:
    """Compile `function` for calls from Python, without the interpreter's lock, cached on disk with all it calls."""
    if config.DISABLE_JIT:
        return function
    options = {
        "nogil": True,
        "no_cfunc_wrapper": True,
        "_nrt": False,
        "forceinline": True,
        "pipeline_class": EntryCompiler,
    }
    dispatcher = compile_function(error_model="numpy", **options)(function)
    folder = cache_folder()
    if folder is not None:
        cache_on_disk(dispatcher, folder)
    compiled: Function = dispatcher
    return compiled


def cache_on_disk(dispatcher: Any, folder: Path) -> None:
    """Let a compiled function find its code of an earlier process in a folder, and leave it there."""
    # Numba reads the folder when caching is enabled, and has no argument for it.
    before = config.CACHE_DIR
    config.CACHE_DIR = str(folder)
    try:
        dispatcher.enable_caching()
    finally:
        config.CACHE_DIR = before
