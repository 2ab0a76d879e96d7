"""How kernels are compiled by `numba.njit` alone, if the fast pipeline does not work or is not wanted.

Everything that a kernel calls is optimised and turned into machine code of its own before it is inlined into its
callers, which takes several times as long as the fast pipeline. The results are the same to the last bit.
"""

from collections.abc import Callable
from typing import Any

import numba

compile_function: Any = numba.njit


class ByOptions:
    """By undocumented options of `njit`: the rounds are as fast as with the pipeline.

    Without `_nrt=False` every call of a kernel would count references to each array of its tuples, and without
    `forceinline` it would pass them all: measured on rounds of OLP, these two would take eleven twelfths of the time.
    """

    INNER = {"_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}  # noqa: RUF012, never written to
    ENTRY = {"_nrt": False, "no_cfunc_wrapper": True, "forceinline": True}  # noqa: RUF012, inlined into kernels of a GPU
    COPIED = {"forceinline": True}  # noqa: RUF012

    def copied(self, function: Callable[..., Any]) -> Any:
        """Compile a function that is inlined into the kernels that call it."""
        return compile_function(error_model="numpy", **self.INNER, **self.COPIED)(function)

    def called(self, function: Callable[..., Any]) -> Any:
        """Compile a function that other kernels call, or that the optimiser inlines as it sees fit.

        A GPU, which uses the same options, calls it too; with the pipeline it would be inlined there.
        """
        return compile_function(error_model="numpy", **self.INNER)(function)

    def shared(self, function: Callable[..., Any]) -> Any:
        """Compile a function that other kernels call, each holding a copy."""
        return self.called(function)

    def entry(self, function: Callable[..., Any], cache: bool = False) -> Any:
        """Compile a function that Python calls, without the interpreter's lock."""
        return compile_function(error_model="numpy", nogil=True, cache=cache, **self.ENTRY)(function)


class ByDocumentedOptions(ByOptions):
    """By documented options only, which every release accepts: the last resort."""

    INNER: dict[str, bool] = {}  # noqa: RUF012
    ENTRY: dict[str, bool] = {}  # noqa: RUF012
    COPIED: dict[str, bool] = {}  # noqa: RUF012
