"""The load of `make bench-service`: what it says a service must have counted is what it counted."""

from dataclasses import replace

import pytest
import uvloop

from arcbandit.service.campaigns import Campaign
from arcbandit.service.sqlite_store import SQLiteReader
from benchmarks.service.load import Load, Task
from tests.service.processes import Process, made_store


def pressed(folder, seconds, patient):
    """A store that had a mixed load for so long, and what the load saw."""
    folder.mkdir()
    path = made_store(folder, contexts=["c0", "c1"])
    server = Process(path, at_once=4)
    task = Task(server.port, "/v1/campaigns/films", 12, seconds, 2, mixed=True, name="one", warm_up_seconds=0.1)
    try:
        return path, uvloop.run(Load(replace(task, patient=patient)).run())
    finally:
        server.kill()


@pytest.mark.slow
@pytest.mark.parametrize("patient", [False, True])
def test_a_mixed_load_knows_what_it_caused(tmp_path, patient):
    """Every decision and reward once, though a fifth of the requests are repeats and many are turned away."""
    # On a busy machine hardly anything is answered in a short time: then it is tried for longer.
    for seconds in (0.3, 3.0, 30.0):
        path, seen = pressed(tmp_path / str(seconds), seconds, patient)
        if sum(seen.decisions.values()) > 10 and seen.repeats > 0:
            break
    assert (seen.wrong, seen.timeouts, seen.broken) == ([], 0, 0)
    assert "200" in seen.statuses
    assert "503" in seen.statuses or patient  # whose turn to be told to wait may be over before it is measured
    assert sum(seen.decisions.values()) > 10
    assert seen.repeats > 0
    reader = SQLiteReader(path)
    statistics = reader.statistics(1)
    reader.close()
    arms = Campaign(statistics.campaign, statistics.plan).arms
    pairs = {f"{arms[arm]} c{context}": totals for (arm, context), totals in statistics.pairs.items()}
    assert {pair: totals.decisions for pair, totals in pairs.items()} == seen.decisions
    assert {pair: totals.rewards for pair, totals in pairs.items() if totals.rewards} == seen.rewards
    assert {pair: totals.total for pair, totals in pairs.items() if totals.rewards} == seen.millionths
