"""Along whole runs, the plan of each round is the one a reference solver finds."""

import numpy as np
import pytest

from arcbandit import Instance, policy, solve_lp
from arcbandit.kernels.confidence import INVERSE_ROOT, MEAN
from arcbandit.policies.state import ALL_PLAYED

ROUNDS = 2_000
SHAPES = [(3, 3), (3, 3), (4, 6), (6, 4), (5, 10), (10, 10), (10, 20), (20, 30), (20, 50), (50, 200)]


def random_instance(shape, seed):
    random = np.random.default_rng(seed)
    means = random.random(shape)
    probabilities = random.dirichlet(np.full(shape[1], 5.0))
    shares = random.dirichlet(np.ones(shape[0]), shape[1]).T
    floors = 0.8 * (probabilities * means * shares).sum(axis=1)
    return Instance(means, floors, probabilities / probabilities.sum(), noise_scale=0.05)


def bounds(decider, t):
    """UCB and LCB of round t, worked out afresh."""
    by_pair = decider._statistics.by_pair
    radius = 0.05 * np.sqrt(2 * np.log(2 * by_pair[MEAN].size * t)) * by_pair[INVERSE_ROOT]
    return by_pair[MEAN] + radius, by_pair[MEAN] - radius


@pytest.mark.parametrize("name", ["olp", "oplp"])
@pytest.mark.parametrize("place", range(len(SHAPES)))
def test_every_plan_is_that_of_the_reference_solver(name, place):
    """Allocations to 1e-9, 2,000 rounds each; larger shapes are solved by the reference every 4th or 40th round.

    Statistics start from one quiet pull of each pair, so that every round plans with bounds.
    """
    shape = SHAPES[place]
    instance = random_instance(shape, seed=place)
    random = np.random.default_rng(place)
    decider = policy(name).for_instance(instance, seed=place)
    for arm in range(shape[0]):
        for context in range(shape[1]):
            decider.update(context, arm, instance.mean_rewards[arm, context] + 0.05 * random.normal())
    every = 40 if shape[0] * shape[1] > 60 else 1 if shape == (3, 3) else 4
    compared = 0
    for step in range(ROUNDS):
        t = decider.round_number
        high, low = bounds(decider, t)
        context = int(random.choice(shape[1], p=instance.context_probabilities))
        decision = decider.decide(context)
        assert decider._memory.scalars[ALL_PLAYED] == 1.0
        if step % every == 0:
            floors = (instance.revenue_floors, instance.context_probabilities)
            cautious = solve_lp(high, low, *floors, solver="highs", on_infeasible="least_shortfall")
            wanted = (
                cautious if name == "oplp" and cautious.status == 0 else solve_lp(high, high, *floors, solver="highs")
            )
            np.testing.assert_allclose(decider.allocation(), wanted.allocation, atol=1e-9)
            compared += 1
        arm = instance.arms.index(decision.arm)
        decider.update(context, arm, instance.mean_rewards[arm, context] + 0.05 * random.normal())
    assert compared >= ROUNDS // 40
