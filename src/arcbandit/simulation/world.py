"""What a simulation knows but a learner is not told: the true means, the optimum, and how rewards are drawn."""

import enum
from typing import NamedTuple

import numpy as np

from arcbandit.compilation.compile import entry_kernel, kernel
from arcbandit.kernels.counter import Purpose, normal_from_uniforms, uniforms
from arcbandit.simulation.late import Late


class RewardModel(enum.IntEnum):
    """How a reward is drawn."""

    GAUSSIAN = 0
    BERNOULLI = 1
    RESAMPLED = 2


class World(NamedTuple):
    """What the learner is not told."""

    mean_rewards: np.ndarray  # mu, shape (K, C)
    revenues: np.ndarray  # p mu, shape (K, C)
    probabilities: np.ndarray  # p, shape (C,)
    optimal_value: float  # f*
    used_pairs: np.ndarray  # bool, w* > 0, shape (K, C)
    slack_floors: np.ndarray  # bool, floors that w* exceeds or that are zero, shape (M,)
    optimal_columns: int  # used pairs and slack floors together
    model: int  # RewardModel
    noise_scale: float
    samples: np.ndarray  # observed rewards, pair after pair, shape (N,)
    sample_start: np.ndarray  # int64, shape (K * C + 1,)
    audited: bool  # whether the run counts how often the paper's statements hold
    suboptimality_gap: float  # rho*, if the run is audited
    feasibility_margin: float  # gamma*, likewise
    prices: np.ndarray  # of the floors at the optimum, shape (M,)
    reduced_costs: np.ndarray  # what a share of a pair costs at these prices, shape (K, C)
    late: Late  # an empty tuple in its place, if rewards arrive at once


@kernel
def noise_from_uniforms(model, left, right):
    """What the reward of a round is made of, whichever pair is played: a standard normal or a uniform number."""
    return normal_from_uniforms(left, right) if model == RewardModel.GAUSSIAN else left


@kernel
def reward_from_noise(world, arm, context, noise):
    """A reward of the pair."""
    mean = world.mean_rewards[arm, context]
    if world.model == RewardModel.GAUSSIAN:
        return mean + world.noise_scale * noise
    if world.model == RewardModel.BERNOULLI:
        return 1.0 if noise < mean else 0.0
    pair = arm * world.mean_rewards.shape[1] + context
    first = world.sample_start[pair]
    return world.samples[first + int(noise * (world.sample_start[pair + 1] - first))]


@kernel
def draw_reward(world, arm, context, stream):
    """A reward of the pair: the same draw for every policy that plays it in this round."""
    left, right = uniforms(stream.seed, stream.epoch, stream.number, Purpose.REWARD, 0)
    return reward_from_noise(world, arm, context, noise_from_uniforms(world.model, left, right))


@entry_kernel
def reward_of_round(world, arm, context, stream):
    """`draw_reward`, for calls from Python."""
    return draw_reward(world, arm, context, stream)
