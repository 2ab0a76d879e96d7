"""Orders of elimination, kept for each of a planner's places: plans of two bases in turn, to the same bits."""

import numpy as np
import pytest

from arcbandit import BLP, OLP, OPLP, Greedy, Instance, ThompsonLP, paper_instance
from arcbandit.kernels.program import Elimination
from arcbandit.policies.learner import Progress
from arcbandit.simulation.epoch import bind, make_run, make_world
from arcbandit.simulation.loop import player_of
from arcbandit.simulation.metrics import Total
from tests.kernels.modes import COMPILED
from tests.simulation.twins import make_task

ROUNDS = 2000 if COMPILED else 60
TIGHT = paper_instance("nu-margin:0.01")
OUT_OF_REACH = Instance([[1.0, 0.2], [0.3, 0.6]], [0.6, 0.4], [0.5, 0.5])  # the floors can only just not be met
SKEWED = Instance([[1.0, 0.2], [0.3, 0.6]], [0.45, 0.25], [0.9, 0.1])
PLAYED = {
    "OPLP falls back": (OPLP(), TIGHT),
    "OPLP falls short": (OPLP(), OUT_OF_REACH),
    "OPLP on a likely context": (OPLP(), SKEWED),
    "OPLP within a budget": (OPLP(exploration_budget=0.1), TIGHT),
    "BLP falls back": (BLP(), TIGHT),
    "BLP falls short": (BLP(), OUT_OF_REACH),
    "Greedy": (Greedy(), OUT_OF_REACH),
    "OLP": (OLP(), OUT_OF_REACH),
    "ThompsonLP": (ThompsonLP(), TIGHT),
    "ThompsonLP draws again": (ThompsonLP(share=1.0, redraws=2), TIGHT),
    "rewards fade": (OPLP(memory=200.0), TIGHT),
}


def _without_orders(learner):
    planner = learner.planner._replace(orders=())
    budget = learner.budget
    if len(budget) > 0:
        budget = budget._replace(planner=budget.planner._replace(orders=()))
    return learner._replace(planner=planner, budget=budget)


@pytest.mark.parametrize(("policy", "instance"), PLAYED.values(), ids=PLAYED)
def test_a_planner_that_keeps_orders_plays_as_one_that_does_not(policy, instance):
    """The same rewards, sums and bases, to the last bit, and as many pivots."""
    task = make_task(policy, instance, ROUNDS)
    runs = []
    for change in (lambda learner: learner, _without_orders):
        run = make_run(make_world(task), change(bind(task, policy).learner), task)
        player_of(policy.kind, run)(1, ROUNDS)
        runs.append(run)
    kept, plain = runs
    assert len(kept.learner.planner.orders) > 0
    assert kept.learner.progress[Progress.ALL_PLAYED] == 1
    np.testing.assert_array_equal(kept.record.totals, plain.record.totals)
    for part in ("key", "slot_arm", "slot_context"):
        np.testing.assert_array_equal(getattr(kept.learner.planner, part), getattr(plain.learner.planner, part))
    np.testing.assert_array_equal(kept.learner.statistics.by_pair, plain.learner.statistics.by_pair)
    np.testing.assert_array_equal(kept.learner.allocation, plain.learner.allocation)
    np.testing.assert_array_equal(kept.learner.planner.workspace.counts, plain.learner.planner.workspace.counts)


@pytest.mark.skipif(not COMPILED, reason="too few rounds are played uncompiled to stay on the fallback")
def test_on_the_fallback_no_order_is_found_again_while_both_bases_stay():
    task = make_task(OPLP(), TIGHT, ROUNDS)
    found = {}
    for keeps in (True, False):
        learner = bind(task, task.policy).learner
        run = make_run(make_world(task), learner if keeps else _without_orders(learner), task)
        player_of(task.policy.kind, run)(1, ROUNDS)
        planner = run.learner.planner
        found[keeps] = planner.workspace.elimination[Elimination.ORDERS]
        if keeps:
            assert planner.workspace.elimination[Elimination.KEPT] == 1
            found[keeps] += planner.orders.elimination[Elimination.ORDERS]
    on_fallback = run.record.totals[Total.ON_FALLBACK, -1]
    assert on_fallback > ROUNDS / 2
    assert found[False] > 2 * on_fallback - 10
    assert found[True] < found[False] / 4
