"""What a rule itself keeps between rounds."""

from typing import NamedTuple

import numpy as np

from arcbandit.compilation.compile import kernel


class Memory(NamedTuple):
    """What a rule itself keeps between rounds, and scratch space for each round; its class says how much."""

    by_pair: np.ndarray  # float64, shape (rows, K, C)
    by_arm: np.ndarray  # float64, shape (rows, K)
    totals: np.ndarray  # float64, shape (rows,)
    scratch_by_pair: np.ndarray  # float64, shape (rows, K, C)
    scratch_by_arm: np.ndarray  # float64, shape (rows, K)
    # Of the next two, an empty tuple is in its place unless the rule has such rows.
    by_floor: np.ndarray  # float64, shape (rows, M)
    scratch_by_floor: np.ndarray  # float64, shape (rows, M)


@kernel
def own_or_shared(own, shared):
    """A memory of one's own or, if an empty tuple is in its place, one that is shared."""
    if len(own) == 0:
        return shared
    return own
