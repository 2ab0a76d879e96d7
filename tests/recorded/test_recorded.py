"""Policies play as they did when they were recorded: bit for bit where the arithmetic is the same.

Where exp, log and the like round otherwise, the arms are still the same, and sums are to nine digits.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from arcbandit import restore
from tests.long import each_of
from tests.recorded import plays
from tests.recorded.arithmetic import arithmetic

FOLDER = Path(__file__).parent
COMPILED, UNCOMPILED, SNAPSHOTS, PLATFORM = (
    json.loads((FOLDER / f"{name}.json").read_text()) for name in ("compiled", "uncompiled", "snapshots_v2", "platform")
)
SNAPSHOTS |= json.loads((FOLDER / "snapshots_v3.json").read_text())
SAME_ARITHMETIC = arithmetic() == PLATFORM
CASES = plays.cases()
LONG = ("loop olp 100x1000",)  # left to `make test-long`
CHOSEN = [key for key in CASES if key not in LONG] + each_of([], LONG)
PROCESSES = 2  # that play uncompiled

pytestmark = pytest.mark.skipif(not plays.COMPILED, reason="what is played uncompiled is played by a test of its own")


def assert_same(found, wanted):
    """The same play, or one that differs by rounding alone."""
    if SAME_ARITHMETIC:
        assert found == wanted
        return
    assert found.keys() == wanted.keys()
    assert found.get("arms") == wanted.get("arms")
    if "last" in wanted:
        assert found["last"] == pytest.approx(wanted["last"], rel=1e-9, abs=1e-9)
    elif "arms" not in wanted:  # an audit counts rounds
        assert found == wanted


def test_everything_recorded_is_played():
    assert list(CASES) == list(COMPILED)


@pytest.mark.slow
@pytest.mark.parametrize("key", CHOSEN)
def test_compiled(key):
    assert_same(CASES[key](), COMPILED[key])


@pytest.mark.system
@pytest.mark.parametrize("part", range(PROCESSES))
def test_uncompiled(part):
    """Numba decides on import whether it compiles: in processes of their own, each of which plays some policies."""
    play_uncompiled(plays.NAMES[part::PROCESSES])


@pytest.mark.slow
def test_some_uncompiled():
    """One that plans and one that does not."""
    play_uncompiled(("blp", "doc"))


def play_uncompiled(names):
    done = subprocess.run(
        [sys.executable, "-m", plays.__name__, *names],
        cwd=FOLDER.parents[1],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    wanted = {key: played for key, played in UNCOMPILED.items() if plays.policy_of(key) in names}
    assert list(found) == list(wanted)
    for key, played in wanted.items():
        assert_same(found[key], played)


@pytest.mark.parametrize("key", SNAPSHOTS)
def test_snapshots_of_earlier_versions_play_on(key):
    """As the policies would have that they were taken of; and through a snapshot of the latest version as well."""
    recorded = SNAPSHOTS[key]
    instance = plays.instances()[recorded["instance"]]
    decider = restore(recorded["snapshot"])
    twin = restore(json.loads(json.dumps(decider.snapshot())))
    random = np.random.default_rng(5)
    rows, shares = [], []
    for _ in recorded["next"]:
        context = int(random.integers(instance.n_contexts))
        decision = decider.decide(context)
        assert twin.decide(context) == decision
        row = decider.arms.index(decision.arm)
        rows.append(row)
        shares.append(decision.probability)
        reward = float(instance.mean_rewards[row, context] + 0.3 * random.normal())
        for one in (decider, twin):
            one.update(context, row, reward)
    wanted_rows, wanted_shares = zip(*recorded["next"], strict=True)
    assert rows == list(wanted_rows)
    assert shares == (list(wanted_shares) if SAME_ARITHMETIC else pytest.approx(wanted_shares, rel=1e-9, abs=1e-9))
