"""Random numbers drawn for many rounds at a time."""

import numpy as np
import pytest

from arcbandit import Instance, ObservedRewards, policy
from arcbandit.compilation.compile import entry_kernel
from arcbandit.policies.learner import Stream
from arcbandit.simulation.draws import ROUNDS_AT_A_TIME, draw_round, make_draws
from arcbandit.simulation.epoch import make_world
from arcbandit.simulation.world import RewardModel
from tests.simulation.twins import Twin, compiled_rounds, make_task

UNEVEN = Instance([[0.2, 0.9, 0.4], [0.5, 0.1, 0.7]], [0.05, 0.05], [0.2, 0.5, 0.3])
REWARDS = {
    RewardModel.GAUSSIAN: "gaussian",
    RewardModel.BERNOULLI: "bernoulli",
    RewardModel.RESAMPLED: ObservedRewards([[[0.1, 0.3], [0.9], [0.4]], [[0.5], [0.0, 0.1, 0.2], [0.6, 0.8]]]),
}


@entry_kernel
def draw_stretch(world, seed, epoch, first, last, draws, found):
    for t in range(first, last + 1):
        context, arm, noise = draw_round(world, Stream(seed, epoch, 0), t, first, last, draws)
        found[t - first, 0] = context
        found[t - first, 1] = arm
        found[t - first, 2] = noise


def _drawn(world, first, last, draws):
    found = np.zeros((last + 1 - first, 3))
    draw_stretch(world, 3, 1, first, last, draws, found)
    return found


def _task(model):
    return make_task(policy("olp"), UNEVEN, 2 * ROUNDS_AT_A_TIME + 10)._replace(rewards=REWARDS[model])


@pytest.mark.parametrize("model", RewardModel)
def test_the_numbers_of_a_round_do_not_depend_on_how_many_are_drawn_with_it(model):
    """Not to the last bit: not on the length of a stretch, nor on where it begins."""
    world = make_world(_task(model))
    assert world.model == model
    alone = _drawn(world, 1, 3 * ROUNDS_AT_A_TIME, ())
    assert set(alone[:, 0]) == {0.0, 1.0, 2.0}
    for first, last in (
        (1, 1),
        (1, 2),
        (1, ROUNDS_AT_A_TIME),
        (1, ROUNDS_AT_A_TIME + 1),
        (2, 2 * ROUNDS_AT_A_TIME),
        (ROUNDS_AT_A_TIME, 3 * ROUNDS_AT_A_TIME),
    ):
        assert (_drawn(world, first, last, make_draws()) == alone[first - 1 : last]).all()


@pytest.mark.parametrize("model", RewardModel)
def test_rounds_played_in_one_go_meet_the_contexts_and_rewards_of_a_policy_at_work(model):
    task = _task(model)
    bound, _, play = compiled_rounds(task)
    twin = Twin(task)
    play(1, task.horizon)
    for t in range(1, task.horizon + 1):
        twin.play(t)
    assert (bound.learner.statistics.by_pair == twin.decider.learner.statistics.by_pair).all()
    assert (bound.learner.statistics.context_counts == twin.decider.learner.statistics.context_counts).all()
