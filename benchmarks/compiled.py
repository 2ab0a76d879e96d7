"""The compiled simulator from any state of learning, and two compiled loops without a linear program beside it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcbandit.compilation.compile import entry_kernel
from arcbandit.instance import GroupFloor, Instance
from arcbandit.kernels.confidence import ByPair, Statistics, make_statistics, radius_factor, record_reward
from arcbandit.kernels.counter import Purpose, standard_normal, uniforms
from arcbandit.kernels.program import ByArm, Count
from arcbandit.kernels.sampling import context_from_uniform
from arcbandit.planning import Plan
from arcbandit.policies.learner import Learner
from arcbandit.policies.registry import policy
from arcbandit.simulation.epoch import Task, bind, make_run, make_world
from arcbandit.simulation.loop import player_of
from arcbandit.simulation.metrics import Total

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
        context_uniform, _ = uniforms(seed, epoch, t, Purpose.DECISION, 0)
        context = context_from_uniform(probabilities, context_uniform)
        factor = radius_factor(n_arms * n_contexts, t, noise_scale)
        best = -np.inf
        chosen = 0
        for arm in range(n_arms):
            root = statistics.by_pair[ByPair.INVERSE_ROOT, arm, context]
            value = statistics.by_pair[ByPair.MEAN, arm, context] + factor * root if root > 0.0 else np.inf
            if value > best:
                best = value
                chosen = arm
        reward = means[chosen, context] + noise_scale * standard_normal(seed, epoch, t, Purpose.REWARD, 0)
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
                root = statistics.by_pair[ByPair.INVERSE_ROOT, arm, context]
                bound = statistics.by_pair[ByPair.MEAN, arm, context] + factor * root
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
                root = statistics.by_pair[ByPair.INVERSE_ROOT, arm, context]
                bound = statistics.by_pair[ByPair.MEAN, arm, context] + factor * root
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
    statistics.by_pair[ByPair.PULLS] = pulls
    statistics.by_pair[ByPair.MEAN] = instance.mean_rewards + instance.noise_scale * noise / np.sqrt(pulls)
    statistics.by_pair[ByPair.INVERSE_ROOT] = 1.0 / np.sqrt(pulls)
    return statistics


def learner_arrays(value: Learner | NDArray[np.generic]) -> list[NDArray[np.generic]]:
    """Every array of a nested tuple."""
    return [array for part in value for array in learner_arrays(part)] if isinstance(value, tuple) else [value]


class CompiledLearner:
    """A policy that plays on in the compiled loop, with every metric, from where `seen_before` left it (0: nowhere)."""

    def __init__(self, instance: Instance, optimum: Plan, name: str, pulls: int, **settings: Any) -> None:
        self.instance = instance
        chosen = policy(name, **settings)
        never = np.array([NEVER])
        task = Task(instance, name, chosen, "gaussian", None, optimum, np.nan, NEVER, 0, 0, never, 0)
        self.world = make_world(task)
        self.learner: Learner = bind(task, chosen).learner
        self.round_number = pulls * instance.n_pairs
        if pulls > 0:
            self.statistics.by_pair[...] = seen_before(instance, pulls).by_pair
        run = make_run(self.world, self.learner, task)
        self.meters = run.meters
        self._play = player_of(chosen.kind, run)
        self.played = 0

    def play(self, rounds: int) -> None:
        """Play on."""
        self._play(self.round_number + 1, self.round_number + rounds)
        self.round_number += rounds
        self.played += rounds

    def forget_counts(self) -> None:
        """Count pivots and fallbacks from here on."""
        self.learner.planner.workspace.counts[Count.PIVOTS] = 0
        self.meters.totals[Total.ON_FALLBACK] = 0.0
        self.played = 0

    @property
    def allocation(self) -> Floats:
        """w(t) of the last round."""
        return self.learner.allocation

    @property
    def arm_prices(self) -> Floats:
        """The floors' prices of the last round, by arm."""
        return self.learner.planner.workspace.by_arm[ByArm.PRICE]

    @property
    def statistics(self) -> Statistics:
        """What it has seen."""
        return self.learner.statistics

    @property
    def pulls_and_means(self) -> tuple[Floats, Floats]:
        """n and the mean rewards, copied."""
        return self.statistics.by_pair[ByPair.PULLS].copy(), self.statistics.by_pair[ByPair.MEAN].copy()

    def details(self) -> dict[str, float]:
        """Size, pivots and fallbacks by round, and all memory that the policy holds."""
        n_pairs = self.instance.n_pairs
        return {
            "pairs": n_pairs,
            "pivots_per_round": float(self.learner.planner.workspace.counts[Count.PIVOTS]) / self.played,
            "fallback_share": float(self.meters.totals[Total.ON_FALLBACK]) / self.played,
            "doubles_per_pair": sum(array.nbytes for array in learner_arrays(self.learner)) / 8 / n_pairs,
        }
