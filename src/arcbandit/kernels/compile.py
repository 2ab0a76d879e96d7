"""The decorators that turn a function into a kernel.

Numba's own disk cache looks only at the file of the function it compiles, so an edit in a *called* kernel would go
unnoticed. The cache folder is therefore named after a hash of every source that may hold a kernel.
"""

import functools
import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
import numba.core.config
from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import NativeLowering

PACKAGE = Path(__file__).resolve().parents[1]
ROOMS_WITH_KERNELS = ("kernels", "policies", "simulation")
CACHE_VARIABLE = "ARCBANDIT_CACHE_DIR"

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


class KernelCompiler(CompilerBase):
    """Numba's own pipeline at a lower level of optimisation.

    The levels above 1 unroll loops over a handful of arms, which takes a third longer to compile and runs slower.
    """

    LEVEL = 1

    def define_pipelines(self) -> list[Any]:
        """The stages of compilation, as Numba defines them."""
        return [DefaultPassBuilder.define_nopython_pipeline(self.state)]

    def _compile_core(self) -> Any:
        # The level is a setting of the process; the compiler's lock is held while it differs.
        before = config.OPT
        config.OPT = type(before)(self.LEVEL)
        try:
            return super()._compile_core()
        finally:
            config.OPT = before


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

    def run_pass(self, state: Any) -> bool:
        """Lower, and let callers find the code under a function that Python never calls."""
        library = LinkedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        library.enable_object_caching()
        state.library = library
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state["cr"]
        name = lowered.fndesc.qualname.split(".")[-1]
        stand_in = _dynfunc.make_function(lowered.fndesc.lookup_module(), name, "", 0, lowered.env, (library,))
        state.targetctx.insert_user_function(stand_in, lowered.fndesc, [library])
        state.reload_init.extend(library._reload_init)
        state["cr"] = lowered._replace(cfunc=stand_in)
        return True


class LinkedCompiler(KernelCompiler):
    """The pipeline of kernels inside others."""

    def define_pipelines(self) -> list[Any]:
        """Numba's stages with another last one."""
        manager = PassManager("arcbandit_linked")
        for part in (
            DefaultPassBuilder.define_untyped_pipeline(self.state),
            DefaultPassBuilder.define_typed_pipeline(self.state),
            DefaultPassBuilder.define_nopython_lowering_pipeline(self.state),
        ):
            for stage, description in part.passes:
                manager.add_pass(LinkedLowering if stage is NativeLowering else stage, description)
        manager.finalize()
        return [manager]


def kernel(function: Function) -> Function:
    """Compile `function` for use inside other kernels, copied into its callers by the optimiser.

    With ``NUMBA_DISABLE_JIT=1`` it stays plain Python; with ``NUMBA_BOUNDSCHECK=1`` every index is checked.
    """
    return _inner(function, forceinline=True)


def rare_kernel(function: Function) -> Function:
    """Like `kernel`, but called rather than copied: for what few rounds need, or several places call.

    A call passes some hundred words, the arrays of its tuples, and costs as much as a small kernel's work.
    """
    return _inner(function)


def _inner(function: Function, **how: Any) -> Function:
    if config.DISABLE_JIT:
        return function
    # Wrappers that nobody calls from Python would double the compilation time of a small kernel; without the runtime
    # (nrt) nothing counts references, and a kernel that allocates does not compile.
    options = {
        "no_cpython_wrapper": True,
        "no_cfunc_wrapper": True,
        "_nrt": False,
        "pipeline_class": LinkedCompiler,
        **how,
    }
    compiled: Function = compile_function(error_model="numpy", **options)(function)
    return compiled


def entry_kernel(function: Function) -> Function:
    """Compile `function` for calls from Python, without the interpreter's lock, cached on disk with all it calls."""
    if config.DISABLE_JIT:
        return function
    options = {
        "nogil": True,
        "no_cfunc_wrapper": True,
        "_nrt": False,
        "forceinline": True,
        "pipeline_class": KernelCompiler,
    }
    dispatcher = compile_function(error_model="numpy", **options)(function)
    folder = cache_folder()
    if folder is not None:
        # Numba reads the folder when caching is enabled, and has no argument for it.
        before = config.CACHE_DIR
        config.CACHE_DIR = str(folder)
        try:
            dispatcher.enable_caching()
        finally:
            config.CACHE_DIR = before
    compiled: Function = dispatcher
    return compiled
