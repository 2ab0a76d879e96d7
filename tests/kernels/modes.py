"""How many cases a kernel test tries: plain Python is a few hundred times slower than compiled code."""

import numba.core.config

COMPILED = not numba.core.config.DISABLE_JIT
CASES = 400 if COMPILED else 100
