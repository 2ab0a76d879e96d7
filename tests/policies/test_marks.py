"""The planner looks at what is marked as changed, and plans as if it had looked at everything."""

import numpy as np
import pytest

from arcbandit import BLP, OLP, OPLP, GroupFloor, Instance, Window
from arcbandit.kernels.bounds import FEW_PAIRS
from arcbandit.kernels.keys import FEW_CONTEXTS
from arcbandit.kernels.marks import CHANGED, MOST_NAMED, ONE_ARM
from arcbandit.kernels.program import Count
from arcbandit.policies.learner import Progress
from arcbandit.simulation.delays import Delay
from tests.long import each_of
from tests.simulation.twins import compiled_rounds, make_task

# Few contexts, so that several pairs of one change between two plans; many, of whose keys sums are kept; more arms than
# a mark can name.
SHAPES = {"22x6": (22, 6), "4x70": (4, FEW_CONTEXTS + 6), "many arms": (MOST_NAMED + 6, 2)}
NOISE = 3e-4
MEMORIES = {"all": None, "half-life": 800, "window": Window(1_500)}


def instance_of(shape, *, grouped):
    """Means nearly equal, so that plans change often; noise so small that bounds are kept for many rounds."""
    random = np.random.default_rng(shape)
    means = 1.0 + NOISE * random.random(shape)
    floors = np.zeros(shape[0])
    floors[:4] = 1.5 / max(shape[0], 8)
    groups = [GroupFloor("two", ("5", "6"), 0.1)] if grouped else []
    return Instance(means, floors, np.full(shape[1], 1.0 / shape[1]), group_floors=groups, noise_scale=NOISE)


@pytest.mark.parametrize("shape", list(SHAPES.values()), ids=list(SHAPES))
@pytest.mark.parametrize("memory", list(MEMORIES.values()), ids=list(MEMORIES))
@pytest.mark.parametrize(
    ("kind", "settings", "delay"),
    each_of(
        [(OLP, {}, None), (BLP, {"replan": 3}, None)],
        [
            (OLP, {}, None),
            (OLP, {"replan": 3}, None),
            (BLP, {}, Delay(mean=5)),
            (OPLP, {}, None),
            (OLP, {"noise_scale": "estimate"}, None),
        ],
    ),
    ids=str,
)
def test_marks_of_single_pairs_lead_to_the_plans_of_looking_at_everything(shape, memory, kind, settings, delay):
    """A twin whose every context is marked before each round has the same allocations and means, to the last bit.

    Between two plans one pair of a context changes, or several: by a plan every few rounds, late rewards, or a reward
    that leaves the context in which another comes.
    """
    assert shape[0] * shape[1] > FEW_PAIRS
    rounds = 3_000
    task = make_task(kind(memory=memory, **settings), instance_of(shape, grouped=shape[1] == 6), rounds, delay=delay)
    bound, _, play = compiled_rounds(task)
    twin, _, play_twin = compiled_rounds(task)
    mine, other = bound.learner, twin.learner
    named = several = known = 0
    for t in range(1, rounds + 1):
        if mine.progress[Progress.ALL_PLAYED] == 1:
            known += 1
            named += (mine.statistics.changed >= ONE_ARM).any()
            several += (mine.statistics.changed == CHANGED).any()
        other.statistics.changed[:] = CHANGED
        play(t)
        play_twin(t)
        assert mine.allocation.tobytes() == other.allocation.tobytes()
        assert mine.statistics.by_pair.tobytes() == other.statistics.by_pair.tobytes()
    pivots = [learner.planner.workspace.counts[Count.PIVOTS] for learner in (mine, other)]
    assert pivots[0] == pivots[1] > 50
    assert known > 500
    assert named > 0
    if shape[1] == 6 and ("replan" in settings or delay or isinstance(memory, Window)):
        assert several > 0
