import numpy as np
import pytest

from arcbandit.report.labels import spread


@pytest.mark.parametrize(
    ("wanted", "heights", "given"),
    [
        ([0.5], [0.1], [0.5]),
        ([0.2, 0.8], [0.1, 0.1], [0.2, 0.8]),
        ([0.5, 0.5], [0.1, 0.1], [0.45, 0.55]),
        ([0.52, 0.5], [0.1, 0.3], [0.61, 0.41]),
        ([1.0, 1.0], [0.1, 0.1], [0.85, 0.95]),
        ([0.0, 0.0, 0.1], [0.1, 0.1, 0.1], [0.05, 0.15, 0.25]),
    ],
)
def test_labels_are_moved_no_further_than_needed(wanted, heights, given):
    """Boxes that meet share the way."""
    assert spread(wanted, heights) == pytest.approx(given)


def test_spread_never_overlaps_and_stays_inside():
    """Whatever is wanted."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        count = int(rng.integers(1, 9))
        wanted, heights = rng.random(count), rng.random(count) / count
        centres = np.array(spread(wanted.tolist(), heights.tolist()))
        order = np.argsort(centres)
        low, high = (centres - heights / 2)[order], (centres + heights / 2)[order]
        assert (low[1:] >= high[:-1] - 1e-9).all()
        assert low[0] >= -1e-9
        assert high[-1] <= 1 + 1e-9
