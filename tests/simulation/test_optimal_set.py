"""The share of rounds with I_t = I*, which the loop works out when its basis changes, against plans from scratch."""

import numpy as np
import pytest

from arcbandit import Instance, paper_instance, plan, policy, simulate, solve_lp
from arcbandit.kernels.confidence import ByPair
from tests.policies.test_contract import meet_context, meet_reward, world_of

PLAIN = paper_instance("nu")
# So noisy that the answer changes often.
NU = Instance(PLAIN.mean_rewards, PLAIN.revenue_floors, PLAIN.context_probabilities, noise_scale=3.0)
# The radii that are added to the means in the objective and in the floors.
LEANS = {"olp": (1.0, 1.0), "oplp": (1.0, -1.0), "blp": (1.0, 0.0)}


def active_set(planned):
    return planned.idle_pairs.tolist(), planned.active_floors.tolist()


OPTIMAL = active_set(plan(NU))


def is_optimal(statistics, t, name):
    """Whether the plan of round t has the active set of the optimum."""
    if (statistics[ByPair.PULLS] == 0).any():
        return False
    radius = NU.noise_scale * np.sqrt(2 * np.log(2 * NU.n_pairs * t)) * statistics[ByPair.INVERSE_ROOT]
    problem = (NU.revenue_floors, NU.context_probabilities)
    for objective, floors in (LEANS[name], LEANS["olp"]):
        bounds = (statistics[ByPair.MEAN] + objective * radius, statistics[ByPair.MEAN] + floors * radius)
        found = solve_lp(*bounds, *problem, on_infeasible="least_shortfall")
        if found.status == 0:
            return active_set(found) == OPTIMAL
    return False


@pytest.mark.parametrize("name", LEANS)
def test_every_round_is_told_right(name, cases):
    horizon = cases(700, 1_500)
    rounds = np.arange(1, horizon + 1)
    trace = simulate(NU, [name], horizon, 1, seed=3, checkpoints=rounds)
    told = np.diff(trace.optimal_set_share[name][0] * rounds, prepend=0.0).round() == 1.0
    world = world_of(NU)
    decider = policy(name).for_instance(NU, horizon=horizon, seed=3, epoch=0)
    wanted = []
    for t in rounds.tolist():
        wanted.append(is_optimal(decider.learner.statistics.by_pair, t, name))
        context = meet_context(world, 3, 0, t)
        decision = decider.decide(context)
        arm = NU.arms.index(decision.arm)
        decider.update(context, decision.arm, meet_reward(world, arm, context, 3, 0, t))
    assert told.tolist() == wanted
    assert np.count_nonzero(np.diff(told)) > 20
