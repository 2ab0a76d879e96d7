import numpy as np
import pytest

from arcbandit import Instance
from arcbandit.simulation.fold import EpochFolder
from arcbandit.simulation.metrics import BY_FLOOR, N_TOTALS, Total
from arcbandit.simulation.summary import Summary
from arcbandit.simulation.trace import Trace

POLICIES = ("olp", "linear-program:caution=-0.5", "<b>&odd")


def make_trace(epochs=3, policies=POLICIES, window=None, feasible=True):
    """A made-up trace whose metrics grow like sqrt(T), the policies close to each other at the end."""
    instance = Instance([[2.0, 1.0], [0.5, 1.5]], [0.5, 0.25], [0.5, 0.5], arms=["house", "<i>guest"])
    rounds = np.unique(np.geomspace(1, 10_000, 60).astype(np.int64))
    records, floor_records = {}, {}
    for place, policy in enumerate(policies):
        noise = 1.0 + 0.05 * np.random.default_rng(place).random((epochs, 1))
        record = np.zeros((epochs, N_TOTALS, len(rounds)))
        record[:, Total.REGRET] = noise * (10 + place / 10) * np.sqrt(rounds)
        record[:, Total.VIOLATION] = noise * (place + 1) * np.log(rounds) ** 2
        record[:, Total.REGRET_PLUS_VIOLATION] = record[:, Total.REGRET] + record[:, Total.VIOLATION]
        record[:, Total.PERFORMANCE] = 1.75 * rounds - record[:, Total.REGRET]
        record[:, Total.OPTIMAL_SET] = 0.5 * rounds
        records[policy] = record
        floor_records[policy] = np.full((epochs, len(BY_FLOOR), len(rounds), 2), 0.125 if window else np.nan)
    return Trace(
        rounds=rounds,
        policies=tuple(policies),
        floors=instance.arms,
        records=records,
        floor_records=floor_records,
        settings={
            "instance": instance.to_dict(),
            "optimal_value": 1.75,
            "feasible": feasible,
            "horizon": 10_000,
            "epochs": epochs,
            "seed": 7,
            "rewards": "gaussian",
            "window": window,
            "device": "cpu",
            "keep": "epochs",
            "versions": {"arcbandit": "0.0.0"},
        },
    )


@pytest.fixture(scope="session")
def trace():
    return make_trace()


@pytest.fixture
def trace_with():
    return make_trace


@pytest.fixture(scope="session")
def summary(trace):
    """What the epochs of the trace come to."""
    folded = {}
    for policy in trace.policies:
        folder = EpochFolder(len(trace.rounds), len(trace.floors))
        folder.take_in(trace.records[policy], trace.floor_records[policy])
        folded[policy] = folder.finish()
    return Summary(trace.rounds, trace.policies, trace.floors, folded, trace.settings | {"keep": "summary"})
