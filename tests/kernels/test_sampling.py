"""From uniform numbers to contexts."""

import numpy as np
import pytest

from arcbandit.compilation.compile import entry_kernel
from arcbandit.kernels.sampling import context_from_uniform, contexts_from_uniforms


@entry_kernel
def one_by_one(probabilities, uniform, contexts):
    for place in range(uniform.shape[0]):
        contexts[place] = context_from_uniform(probabilities, uniform[place])


@entry_kernel
def at_once(probabilities, uniform, count, contexts):
    contexts_from_uniforms(probabilities, uniform, count, contexts)


def _both(probabilities, uniform):
    found = np.full((2, len(uniform)), -1, dtype=np.int64)
    one_by_one(probabilities, uniform, found[0])
    at_once(probabilities, uniform, len(uniform), found[1])
    return found


@pytest.mark.parametrize(
    "probabilities",
    [[1.0], [0.0, 1.0], [1.0, 0.0], [0.0, 0.25, 0.0, 0.0, 0.75, 0.0], [1 / 3, 1 / 3, 1 / 3], [0.1] * 10],
    ids=str,
)
def test_at_the_ends_of_intervals_the_contexts_are_those_drawn_one_by_one(probabilities):
    """Also where rounding leaves the sum below 1 and the number above it, and where no context is likely."""
    given = np.array(probabilities)
    ends = np.concatenate([[0.0, 1.0 - 2.0**-53], np.cumsum(given)])
    uniform = np.concatenate([ends, np.nextafter(ends, 0.0), np.nextafter(ends, 1.0)])
    apart, together = _both(given, uniform[uniform < 1.0])
    assert (apart == together).all()
    assert (given[together] > 0.0).all()


def test_contexts_drawn_at_once_are_those_drawn_one_by_one(n_cases):
    rng = np.random.default_rng(1)
    for _ in range(n_cases):
        weights = rng.random(rng.integers(1, 9)) * (rng.random() < rng.random(1))
        weights[rng.integers(len(weights))] += 0.1
        apart, together = _both(weights / weights.sum(), rng.random(20))
        assert (apart == together).all()


def test_no_more_contexts_are_written_than_asked_for():
    contexts = np.full(5, -1, dtype=np.int64)
    at_once(np.array([0.5, 0.5]), np.full(5, 0.75), 3, contexts)
    assert contexts.tolist() == [1, 1, 1, -1, -1]
