"""Rules that plan now and then, in the compiled loop."""

import numpy as np
import pytest

from arcbandit import BLP, OLP, OPLP, InvalidInputError, ThompsonLP, paper_instance, simulate
from arcbandit.policies.learner import Progress
from arcbandit.simulation.metrics import Total
from tests.long import each_of
from tests.simulation.twins import compiled_rounds, make_task, play_beside

NU = paper_instance("nu")
ROUNDS = 300


@pytest.mark.parametrize("kind", each_of([OPLP, ThompsonLP], [OLP, OPLP, BLP, ThompsonLP]))
@pytest.mark.parametrize("replan", [7, "doubling"])
@pytest.mark.parametrize("estimate", [False, True], ids=["known", "estimated"])
def test_the_loop_keeps_plans_as_a_policy_at_work_does(kind, replan, estimate):
    play_beside(make_task(kind(replan=replan, estimate_contexts=estimate), NU, ROUNDS))


@pytest.mark.parametrize("kind", [OLP, OPLP, ThompsonLP])
def test_a_plan_every_round_is_the_usual_simulation(kind):
    """Two kernels, one with the cadence and one without: every metric is the same to the last bit."""
    trace = simulate(NU, {"always": kind(), "one": kind(replan=1)}, horizon=2000, epochs=3, window=50)
    assert trace.records["one"].tobytes() == trace.records["always"].tobytes()
    assert trace.floor_records["one"].tobytes() == trace.floor_records["always"].tobytes()


@pytest.mark.parametrize("kind", [OLP, OPLP])
def test_metrics_are_those_of_the_plan_in_force(kind):
    """Between two plans every round counts as the round of the plan did: regret, violation, active set, outcome."""
    task = make_task(kind(replan=10), NU, ROUNDS)
    bound, run, play = compiled_rounds(task)
    kept, before, last = 0, run.meters.totals.copy(), None
    watched = [Total.REGRET, Total.VIOLATION, Total.OPTIMAL_SET, Total.ON_FALLBACK, Total.INFEASIBLE]
    for t in range(1, ROUNDS + 1):
        progress = bound.learner.progress
        keeps = t < progress[Progress.NEXT_PLAN] and progress[Progress.ALL_PLAYED]
        play(t)
        now = (run.meters.totals - before)[watched]
        before = run.meters.totals.copy()
        if keeps:
            kept += 1
            np.testing.assert_allclose(now, last, rtol=1e-9, atol=1e-9)
        last = now
    assert 0.8 * ROUNDS < kept < ROUNDS


def test_the_cadence_goes_on_from_one_stretch_of_rounds_to_the_next():
    """The loop is called for some thousands of rounds at a time; where it is cut changes nothing."""
    whole = make_task(OPLP(replan="doubling"), NU, ROUNDS)
    _, run, play = compiled_rounds(whole)
    for t in range(1, ROUNDS + 1):
        play(t)
    trace = simulate(NU, OPLP(replan="doubling"), horizon=ROUNDS, epochs=3, seed=5, checkpoints=[ROUNDS])
    assert trace.records["oplp(replan=doubling)"][2, :, -1].tobytes() == run.record.totals[:, -1].tobytes()


def test_the_papers_statements_are_not_counted_for_old_plans():
    with pytest.raises(InvalidInputError, match=r"every round plans.*'olp\(replan=5\)' is 5"):
        simulate(NU, OLP(replan=5), horizon=10, suboptimality_gap=0.1)
    with pytest.raises(InvalidInputError, match=r"with all rewards.* its memory 50\.0"):
        simulate(NU, OLP(memory=50), horizon=10, suboptimality_gap=0.1)
