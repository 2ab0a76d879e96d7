"""The counter-based generator."""

import math

import numpy as np

from arcbandit.compilation.compile import entry_kernel
from arcbandit.kernels.counter import Purpose, philox, standard_normal, uniforms


@entry_kernel
def call_philox(first, second, third, fourth, key, other_key):
    return philox(first, second, third, fourth, key, other_key)


@entry_kernel
def fill_uniforms(seed, epoch, purpose, target):
    for place in range(target.shape[0]):
        target[place, 0], target[place, 1] = uniforms(seed, epoch, place + 1, purpose, 0)


@entry_kernel
def fill_normals(seed, epoch, purpose, target):
    for place in range(target.shape[0]):
        target[place] = standard_normal(seed, epoch, place + 1, purpose, 0)


def _words(*values):
    return tuple(np.uint64(value) for value in values)


class TestPhilox:
    def test_gives_the_published_vectors(self):
        """The known answers that Random123 publishes for philox4x32-10 come out."""
        everything = 0xFFFFFFFF
        assert call_philox(*_words(0, 0, 0, 0, 0, 0)) == (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
        assert call_philox(*_words(*[everything] * 6)) == (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)
        digits_of_pi = (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0)
        assert call_philox(*_words(*digits_of_pi)) == (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)


class TestUniforms:
    def test_is_a_pure_function_of_its_arguments(self):
        """Asking twice gives the same numbers; any other seed, epoch or purpose gives others."""
        drawn = {}
        for seed, epoch, purpose in (
            (0, 0, Purpose.DECISION),
            (1, 0, Purpose.DECISION),
            (0, 1, Purpose.DECISION),
            (0, 0, Purpose.REWARD),
        ):
            first, again = np.empty((50, 2)), np.empty((50, 2))
            fill_uniforms(seed, epoch, purpose, first)
            fill_uniforms(seed, epoch, purpose, again)
            assert (first == again).all()
            drawn[seed, epoch, purpose] = first
        values = np.concatenate([part.ravel() for part in drawn.values()])
        assert len(np.unique(values)) == values.size

    def test_a_longer_run_extends_a_shorter_one(self):
        short, long = np.empty((10, 2)), np.empty((30, 2))
        fill_uniforms(7, 3, Purpose.DECISION, short)
        fill_uniforms(7, 3, Purpose.DECISION, long)
        assert (long[:10] == short).all()

    def test_wide_seeds_differ_in_either_half(self):
        low, high = np.empty((4, 2)), np.empty((4, 2))
        fill_uniforms(1, 0, Purpose.DECISION, low)
        fill_uniforms(1 + 2**32, 0, Purpose.DECISION, high)
        assert not (low == high).any()

    def test_fills_the_unit_square_evenly(self):
        """Chi-square over 16 x 16 cells of 5,000 pairs; a sound generator fails with probability 1e-6."""
        pairs = np.empty((5000, 2))
        fill_uniforms(11, 0, Purpose.DECISION, pairs)
        assert (pairs >= 0).all()
        assert (pairs < 1).all()
        counts = np.histogram2d(pairs[:, 0], pairs[:, 1], bins=16, range=[[0, 1], [0, 1]])[0]
        expected = len(pairs) / 256
        statistic = ((counts - expected) ** 2 / expected).sum()
        # 255 degrees of freedom: the 1 - 1e-6 quantile is 373.
        assert statistic < 373


class TestStandardNormal:
    def test_has_the_moments_of_a_normal(self):
        """Mean and variance of 20,000 draws; each bound is five standard errors, failing with probability 6e-7."""
        draws = np.empty(20_000)
        fill_normals(5, 2, Purpose.POLICY, draws)
        assert np.isfinite(draws).all()
        assert abs(draws.mean()) < 5 / math.sqrt(draws.size)
        assert abs((draws**2).mean() - 1) < 5 * math.sqrt(2 / draws.size)
