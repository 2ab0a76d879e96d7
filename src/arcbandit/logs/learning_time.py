"""How long learning takes in the world of a log: policies play it from nothing, by the log's own statistics."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from arcbandit.errors import InvalidInputError
from arcbandit.inputs.values import instance_of, positive, whole
from arcbandit.instance import Instance
from arcbandit.logs.advice import Advice
from arcbandit.simulation.playable import Policies
from arcbandit.simulation.run import simulate
from arcbandit.simulation.trace import Trace

POLICIES: Policies = ("priced-lp", "olp")
ROUNDS = 50_000
EPOCHS = 10
TOLERANCE = 0.05
CHECKPOINTS = 400
MOST = 0.9  # the share of epochs of which the later number of rounds is told


@dataclass(frozen=True)
class LearningTime:
    """After how many rounds a policy's average shortfall is and stays below the tolerance; infinite if never.

    >>> LearningTime("blp", half=120.0, most=480.0).most
    480.0
    """

    policy: str
    half: float  # in half of the epochs
    most: float  # in nine of ten epochs

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; None if it took longer than was simulated.

        >>> LearningTime("olp", half=120.0, most=math.inf).to_dict()
        {'policy': 'olp', 'half': 120, 'most': None}
        """
        return {
            "policy": self.policy,
            "half": _finite(self.half),
            "most": _finite(self.most),
        }


def learning_times(
    advice: Advice,
    policies: Policies = POLICIES,
    *,
    tolerance: float = TOLERANCE,
    rounds: int = ROUNDS,
    epochs: int = EPOCHS,
    seed: int = 0,
    progress: bool | None = None,
) -> list[LearningTime]:
    """After how many rounds each policy keeps the floors of an advice but for a small part of them.

    `policies` are as for `simulate`. They play `epochs` times in a world with the means, the noise and the mix of the
    log, and know none of the means at first. The time is the first round from which on the shortfall of all floors,
    averaged over the rounds so far, is at most `tolerance` times the sum of the floors. It is what a simulation says,
    not a bound: the world may differ from the log's means. Pairs that are hardly known are played as if they earned the
    least of their context.

    >>> import pandas
    >>> from arcbandit import advise, read_log
    >>> arms, rewards = ["house", "guest"] * 100, [0.9, 0.5, 0.7, 0.4] * 50
    >>> log = pandas.DataFrame({"context": "tv", "arm": arms, "reward": rewards})
    >>> [found] = learning_times(advise(read_log(log), {"guest": 0.2}), ["blp"], rounds=2000, epochs=3)
    >>> found.policy, 0 < found.half <= found.most
    ('blp', True)
    """
    instance_of("advice", advice, Advice, ", as advise returns it")
    tolerance = positive("tolerance", tolerance)
    rounds = whole("rounds", rounds, 1)
    world = world_of(advice)
    trace = simulate(
        world, policies, rounds, whole("epochs", epochs, 1), whole("seed", seed, 0),
        checkpoints=min(CHECKPOINTS, rounds), progress=progress, keep="epochs",
    )  # fmt: skip
    return times_in(trace, float(advice.floors.amounts.sum()), tolerance)


def times_in(trace: Trace, floors: float, tolerance: float) -> list[LearningTime]:
    """The same from a simulation, of floors with this sum."""
    found = []
    for policy in trace.policies:
        lacking = trace.violation[policy] / trace.rounds > tolerance * floors
        # Each epoch's first checkpoint after which nothing lacks too much; after the last one there is none.
        last = np.where(lacking.any(axis=1), lacking.shape[1] - np.argmax(lacking[:, ::-1], axis=1), 0)
        times = np.sort(np.append(trace.rounds, math.inf)[last])
        found.append(LearningTime(policy, _of_rank(times, 0.5), _of_rank(times, MOST)))
    return found


def world_of(advice: Advice) -> Instance:
    """The instance that a log describes, with the floors of the advice."""
    if not advice.promises:
        raise InvalidInputError("Learning times need a floor above zero, got none.")
    if advice.plans["plain"] is None:
        names = ", ".join(advice.conflicts)
        raise InvalidInputError(f"Learning times need floors that can be met by the log's means, but {names} conflict.")
    log, known = advice.statistics, advice.known
    means = np.where(known, log.means, math.nan)
    least = np.where(known, log.means, math.inf).min(axis=0)
    least = np.where(np.isfinite(least), least, 0.0)
    noise = log.noise_scale
    return Instance(
        np.where(known, means, least),
        advice.floors.amounts[: len(log.arms)],
        log.context_probabilities,
        arms=log.arms,
        contexts=log.contexts,
        noise_scale=noise if noise > 0.0 else 1e-9,
        group_floors=[
            type(group)(group.name, group.arms, float(amount))
            for group, amount in zip(advice.floors.groups, advice.floors.amounts[len(log.arms) :], strict=True)
        ],
    )


def _of_rank(times: Any, share: float) -> float:
    return float(times[math.ceil(share * len(times)) - 1])


def _finite(number: float) -> int | None:
    return int(number) if math.isfinite(number) else None
