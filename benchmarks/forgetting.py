"""Rounds of policies that forget, or estimate sigma, against those of the same rule without.

What a policy has seen decides how often its plan changes, which costs far more than keeping count. So both start from
the same statistics, and the memory is as long as they are: a half-life, or a window, that holds as many rewards.
"""

import math
from functools import partial
from typing import Any

import numpy as np

from arcbandit.experiments.paper_instances import nu
from arcbandit.instance import Instance
from arcbandit.kernels.confidence import ByPair
from arcbandit.kernels.noise import Noise
from arcbandit.planning import plan
from arcbandit.policies.base import Policy
from arcbandit.policies.forgetting import Window, restore_past
from arcbandit.policies.learner import Learner, Progress
from arcbandit.policies.registry import policy
from benchmarks.compiled import CompiledLearner, learner_arrays, seen_before, steady_instance
from benchmarks.measure import Outcome, Requirement, Workload, seconds, take_turns

SHAPES = ((3, 3), (10, 20))  # of nu, and of a problem whose bounds are kept from round to round
PULLS = 1000  # of every pair: the plan changes seldom on nu, and every other round at 10 x 20
FEW_PULLS = 10  # where it changes in every round
ROUNDS = 20_000
FEW_ROUNDS = 1_000
ONLINE_ROUNDS = 4_000
MOST = 1.2  # times as long as without


def instance_of(shape: tuple[int, int]) -> Instance:
    """Nu, or the instance of steady state."""
    return nu() if shape == (3, 3) else steady_instance(*shape)


def settings_of(feature: str, n_pairs: int, pulls: int) -> dict[str, Any]:
    """What a policy is given, for one of the features, or for none."""
    rewards = n_pairs * pulls
    return {
        "none": {},
        "half-life": {"memory": math.log(2.0) * rewards},
        "window": {"memory": Window(rewards)},
        "sigma": {"noise_scale": "estimate"},
    }[feature]


def start_from(learner: Learner, instance: Instance, pulls: int, feature: str) -> None:
    """Put every pair to `pulls` pulls, as `seen_before` has them, with the past and the noise that belong to them."""
    by_pair = seen_before(instance, pulls).by_pair
    learner.statistics.by_pair[...] = by_pair
    n_contexts = instance.n_contexts
    rewards = instance.n_pairs * pulls
    learner.progress[[Progress.DECISIONS, Progress.REWARDS]] = rewards
    learner.statistics.context_counts[:] = rewards / n_contexts
    if feature == "half-life":
        restore_past(learner, {"context_counts": [0.0] * n_contexts, "earned": [0.0] * instance.n_arms})
    if feature == "window":
        pairs = np.tile(np.random.default_rng(7).permutation(instance.n_pairs), pulls)
        past = {
            "rewards": by_pair[ByPair.MEAN].ravel()[pairs],
            "rounds": np.arange(1, rewards + 1),
            "arms": pairs // n_contexts,
            "contexts": pairs % n_contexts,
            "earned": np.zeros(instance.n_arms),
            "summed": rewards // 2,
            "seen_rounds": [],
            "seen_contexts": [],
        }
        restore_past(learner, past)
    if feature == "sigma":
        learner.noise[[Noise.REWARDS, Noise.SPREAD, Noise.RESIDUAL, Noise.FREEDOM]] = rewards
        learner.settings[0].noise_scale = 1.0


def compiled(name: str, shape: tuple[int, int], feature: str, pulls: int, rounds: int, turns: int) -> Outcome:
    """Rounds of the compiled loop with every metric, played from the same state in each turn."""
    instance = instance_of(shape)
    optimum = plan(instance)
    learners, starts = [], []
    for chosen in (feature, "none"):
        learner = CompiledLearner(instance, optimum, name, pulls, **settings_of(chosen, instance.n_pairs, pulls))
        start_from(learner.learner, instance, pulls, chosen)
        learner.play(10)
        arrays = learner_arrays(learner.learner) + learner_arrays(learner.meters)
        learners.append(learner)
        starts.append((learner.round_number, [(array, array.copy()) for array in arrays]))

    def played(place: int, turn: int) -> float:
        learner, (round_number, arrays) = learners[place], starts[place]
        for array, start in arrays:
            array[...] = start
        learner.round_number = round_number
        learner.forget_counts()
        return seconds(lambda: learner.play(rounds)) / rounds

    own, other = take_turns([partial(played, 0), partial(played, 1)], turns)
    pivots = [learner.details()["pivots_per_round"] for learner in learners]
    details = {"pivots_per_round": pivots[0], "without": pivots[1]}
    return Outcome(own, other, "without", details=details)


def online(name: str, shape: tuple[int, int], feature: str, turns: int) -> Outcome:
    """Decide and update from Python, on contexts and noise drawn beforehand."""
    instance = instance_of(shape)
    means = instance.mean_rewards.tolist()
    rng = np.random.default_rng([*shape, 1])
    contexts = rng.integers(shape[1], size=ONLINE_ROUNDS).tolist()
    noise = rng.standard_normal(ONLINE_ROUNDS).tolist()
    given = {"noise_scale": 1.0, "contexts": shape[1]}

    def policy_of(chosen: str) -> Policy:
        made: Any = policy(name).kind(
            instance.revenue_floors,
            instance.context_probabilities,
            **{**given, **settings_of(chosen, instance.n_pairs, PULLS)},
        )
        start_from(made.learner, instance, PULLS, chosen)
        return made

    def played(chosen: str, turn: int) -> float:
        learner: Any = policy_of(chosen)
        decide, update = learner.decide, learner.update
        decide(0)

        def loop() -> None:
            for context, shock in zip(contexts, noise, strict=True):
                arm = decide(context).arm
                update(context, arm, means[arm][context] + shock)

        return seconds(loop) / ONLINE_ROUNDS

    own, other = take_turns([partial(played, feature), partial(played, "none")], turns)
    return Outcome(own, other, "without")


def _workload(name: str, summary: str, run: Any) -> Workload:
    return Workload(name, summary, run, turns=31, quick_turns=5, requirement=Requirement(ratio=1.0 / MOST))


WORDS = {
    "half-life": "by a half-life",
    "window": "by a window",
    "sigma": "that estimates sigma",
}
WORKLOADS = [
    *(
        _workload(
            f"{feature}-{name}-{shape[0]}x{shape[1]}",
            f"a round of {name.upper()} {words}, {shape[0]} x {shape[1]}, against one without",
            partial(compiled, name, shape, feature, PULLS, ROUNDS),
        )
        for feature, words in WORDS.items()
        for name in ("olp", "blp")
        for shape in SHAPES
    ),
    *(
        _workload(
            f"{feature}-olp-10x20-few",
            f"a round of OLP {words}, 10 x 20, of {FEW_PULLS} pulls per pair, against one without",
            partial(compiled, "olp", (10, 20), feature, FEW_PULLS, FEW_ROUNDS),
        )
        for feature, words in WORDS.items()
    ),
    *(
        _workload(
            f"online-{feature}-{shape[0]}x{shape[1]}",
            f"decide and update of OLP {words}, {shape[0]} x {shape[1]}, against one without",
            partial(online, "olp", shape, feature),
        )
        for feature, words in WORDS.items()
        for shape in SHAPES
    ),
]
