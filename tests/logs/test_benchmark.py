"""The benchmark of reading compares what it says; its times are for whoever runs it with a hundred million rows."""

import pytest

from benchmarks import log_reading


@pytest.mark.slow
def test_a_small_log_is_read_as_by_hand(tmp_path):
    log_reading.make_log(tmp_path, 50_000, files=3)
    found = log_reading.compare(tmp_path, repeats=1)
    assert found.statistics.rows == 50_000
    assert found.statistics.counts.shape == (100, 10)
    assert log_reading.agrees(found)
    assert found.ratio > 0
    wrong = found._replace(by_hand=[(*row[:3], row[3] + 1, *row[4:]) for row in found.by_hand])
    assert not log_reading.agrees(wrong)
