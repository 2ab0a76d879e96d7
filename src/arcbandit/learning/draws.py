"""Numbers to draw instances with: a pure function of a key, the same with every version of NumPy."""

import enum
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

DROPPED_BITS = np.uint64(11)
UNIT = 2.0**-53


class Purpose(enum.IntEnum):
    """What numbers are drawn for."""

    INSTANCE = 0
    PLAY = 1  # the seed of contexts, noise and policies


class Draws:
    """Uniform numbers from the raw words of Philox, which NumPy keeps stable, unlike its distributions."""

    def __init__(self, seed: int, key: int, purpose: Purpose, attempt: int = 0) -> None:
        self._bits = np.random.Philox(counter=[0, 0, attempt, int(purpose)], key=[seed, key])

    def words(self, count: int) -> NDArray[np.uint64]:
        """Words of 64 random bits."""
        return np.asarray(self._bits.random_raw(count), dtype=np.uint64)

    def uniform(self, low: float, high: float, shape: tuple[int, ...] = ()) -> Any:
        """Numbers between two: an array of this shape, or one float."""
        found = low + (high - low) * ((self.words(math.prod(shape)) >> DROPPED_BITS) * UNIT)
        return found.reshape(shape) if shape else float(found[0])

    def log_uniform(self, low: float, high: float) -> float:
        """A positive number whose logarithm is uniform."""
        return math.exp(self.uniform(math.log(low), math.log(high)))

    def whole(self, low: int, high: int, shape: tuple[int, ...] = ()) -> Any:
        """Whole numbers from `low` to `high`, both included."""
        found = np.floor(self.uniform(low, high + 1, shape))
        return found.astype(np.int64) if shape else int(found)
