"""Whether kernels are compiled: plain Python is a few hundred times slower."""

import numba.core.config

COMPILED = not numba.core.config.DISABLE_JIT
