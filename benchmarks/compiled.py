"""The compiled simulator from any state of learning, and two compiled loops without a linear program beside it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcbandit.compilation.compile import entry_kernel
from arcbandit.instance import GroupFloor, Instance
from arcbandit.kernels.confidence import (
    INVERSE_ROOT,
    MEAN,
    PULLS,
    Statistics,
    make_statistics,
    radius_factor,
    record_reward,
)
from arcbandit.kernels.counter import DECISION, REWARD, standard_normal, uniforms
from arcbandit.kernels.program import ARM_PRICE, PIVOTS
from arcbandit.kernels.sampling import context_from_uniform
from arcbandit.planning import Plan
from arcbandit.policies.registry import policy
from arcbandit.simulation.loop import RewardModel, World, make_meters, play_rounds
from arcbandit.simulation.metrics import N_TOTALS, Total
from arcbandit.simulation.results import BY_FLOOR

Floats = NDArray[np.float64]

FLOOR_FACTOR = 1.5  # times what uniform play would earn each arm
GROUPS = 5
GROUP_FACTOR = 1.2  # times the floors of a group's arms together
NEVER = 2**62  # a horizon, and a checkpoint, that is not reached


@entry_kernel
def play_bare_rounds(means, probabilities, noise_scale, statistics, seed, epoch, first_round, last_round):
    """UCB in each context by itself: the same draws, bounds and statistics, no program and no metric but the reward."""
    n_arms, n_contexts = means.shape
    total = 0.0
    for t in range(first_round, last_round + 1):
        context_uniform, _ = uniforms(seed, epoch, t, DECISION, 0)
        context = context_from_uniform(probabilities, context_uniform)
        factor = radius_factor(n_arms * n_contexts, t, noise_scale)
        best = -np.inf
        chosen = 0
        for arm in range(n_arms):
            root = statistics.by_pair[INVERSE_ROOT, arm, context]
            value = statistics.by_pair[MEAN, arm, context] + factor * root if root > 0.0 else np.inf
            if value > best:
                best = value
                chosen = arm
        reward = means[chosen, context] + noise_scale * standard_normal(seed, epoch, t, REWARD, 0)
        record_reward(statistics, chosen, context, reward)
        total += reward
    return total


@entry_kernel
def price_every_pair(statistics, probabilities, arm_prices, factor, context_values, passes):
    """Work out every UCB and its reduced cost, context by context the largest; return the largest of all.

    The context's value is taken off once at the end, which is the least arithmetic that finds the same pair.
    """
    n_arms, n_contexts = statistics.by_pair.shape[1:]
    largest = -np.inf
    for _ in range(passes):
        for context in range(n_contexts):
            context_values[context] = -np.inf
        for arm in range(n_arms):
            price = 1.0 + arm_prices[arm]
            for context in range(n_contexts):
                bound = statistics.by_pair[MEAN, arm, context] + factor * statistics.by_pair[INVERSE_ROOT, arm, context]
                value = probabilities[context] * (price * bound)
                if value > context_values[context]:
                    context_values[context] = value
        for context in range(n_contexts):
            largest = max(largest, context_values[context])
    return largest


@entry_kernel
def choose_among_all(statistics, probabilities, arm_prices, factor, context_values, passes):
    """The same, with each reduced cost worked out in full and the best pair remembered; return the pair's number."""
    n_arms, n_contexts = statistics.by_pair.shape[1:]
    chosen = -1
    for _ in range(passes):
        best = -np.inf
        for arm in range(n_arms):
            price = 1.0 + arm_prices[arm]
            for context in range(n_contexts):
                bound = statistics.by_pair[MEAN, arm, context] + factor * statistics.by_pair[INVERSE_ROOT, arm, context]
                excess = probabilities[context] * (price * bound) - context_values[context]
                if excess > best:
                    best = excess
                    chosen = arm * n_contexts + context
    return chosen


def steady_instance(n_arms: int, n_contexts: int, *, groups: bool = False) -> Instance:
    """Uniform means and contexts, and floors that most arms meet only by being played where they are not best."""
    rng = np.random.default_rng([n_arms, n_contexts])
    means = rng.random((n_arms, n_contexts))
    probabilities = np.full(n_contexts, 1.0 / n_contexts)
    floors = FLOOR_FACTOR * (means * probabilities).sum(axis=1) / n_arms
    together = [
        GroupFloor(f"group {place}", tuple(range(place, n_arms, GROUPS)), GROUP_FACTOR * floors[place::GROUPS].sum())
        for place in range(GROUPS if groups else 0)
    ]
    return Instance(means, floors, probabilities, group_floors=together)


def seen_before(instance: Instance, pulls: int) -> Statistics:
    """Every pair played `pulls` times, its mean as far off as that leaves it."""
    n_arms, n_contexts = instance.mean_rewards.shape
    statistics = make_statistics(n_arms, n_contexts)
    noise = np.random.default_rng([n_arms, n_contexts, pulls]).standard_normal((n_arms, n_contexts))
    statistics.by_pair[PULLS] = pulls
    statistics.by_pair[MEAN] = instance.mean_rewards + instance.noise_scale * noise / np.sqrt(pulls)
    statistics.by_pair[INVERSE_ROOT] = 1.0 / np.sqrt(pulls)
    return statistics


class CompiledLearner:
    """A policy that plays on in the compiled loop, with every metric, from where `seen_before` left it (0: nowhere)."""

    def __init__(self, instance: Instance, optimum: Plan, name: str, pulls: int) -> None:
        self.instance = instance
        self.policy: Any = policy(name).for_instance(instance, horizon=NEVER, seed=0)
        self.round_number = pulls * instance.n_pairs
        if pulls > 0:
            self.policy._statistics.by_pair[...] = seen_before(instance, pulls).by_pair
        slack_floors = ~optimum.floors.active
        self.world = World(
            mean_rewards=instance.mean_rewards.copy(),
            revenues=instance.mean_rewards * instance.context_probabilities,
            probabilities=instance.context_probabilities.copy(),
            optimal_value=optimum.value,
            used_pairs=np.ascontiguousarray(~optimum.idle_pairs),
            slack_floors=slack_floors,
            optimal_columns=int((~optimum.idle_pairs).sum() + slack_floors.sum()),
            model=int(RewardModel.GAUSSIAN),
            noise_scale=instance.noise_scale,
            samples=np.zeros(1),
            sample_start=np.zeros(instance.n_pairs + 1, dtype=np.int64),
            suboptimality_gap=np.nan,
        )
        n_rows = len(slack_floors)
        self.meters = make_meters(n_rows, window=0)
        self.no_record = np.array([NEVER]), np.zeros((N_TOTALS, 1)), np.zeros((len(BY_FLOOR), 1, n_rows))
        self.played = 0

    def play(self, rounds: int) -> None:
        """Play on."""
        state = self.policy
        first = self.round_number + 1
        play_rounds(
            int(state.rule),
            self.world,
            state._problem,
            state._statistics,
            state._memory,
            state._workspace,
            state._allocation,
            self.meters,
            0,
            0,
            first,
            first + rounds - 1,
            *self.no_record,
        )
        self.round_number += rounds
        self.played += rounds

    def forget_counts(self) -> None:
        """Count pivots and fallbacks from here on."""
        self.policy._workspace.counts[Count.PIVOTS] = 0
        self.meters.totals[Total.ON_FALLBACK] = 0.0
        self.played = 0

    @property
    def allocation(self) -> Floats:
        """w(t) of the last round."""
        return self.policy._allocation

    @property
    def arm_prices(self) -> Floats:
        """The floors' prices of the last round, by arm."""
        return self.policy._workspace.by_arm[ARM_PRICE]

    @property
    def statistics(self) -> Statistics:
        """What it has seen."""
        return self.policy._statistics

    @property
    def pulls_and_means(self) -> tuple[Floats, Floats]:
        """n and the mean rewards, copied."""
        return self.statistics.by_pair[PULLS].copy(), self.statistics.by_pair[MEAN].copy()

    def details(self) -> dict[str, float]:
        """Size, pivots and fallbacks by round, and all memory that the policy holds."""
        state = self.policy
        held = (*state._problem, *state._statistics, *state._memory, *state._workspace, state._allocation)
        n_pairs = self.instance.n_pairs
        return {
            "pairs": n_pairs,
            "pivots_per_round": float(state._workspace.counts[Count.PIVOTS]) / self.played,
            "fallback_share": float(self.meters.totals[Total.ON_FALLBACK]) / self.played,
            "doubles_per_pair": sum(array.nbytes for array in held) / 8 / n_pairs,
        }
