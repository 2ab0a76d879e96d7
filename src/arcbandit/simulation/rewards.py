"""How rewards are drawn in a simulation."""

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arcbandit.errors import InvalidInputError
from arcbandit.inputs.arrays import check_amounts, real_array
from arcbandit.inputs.values import items, shown
from arcbandit.instance import Instance
from arcbandit.simulation.world import RewardModel

if TYPE_CHECKING:
    from arcbandit.inputs.frames import Column

MEAN_TOLERANCE = 1e-9


class ObservedRewards:
    """Observed rewards of each pair, to draw from with replacement.

    `samples[k][c]` are the rewards observed for arm k in context c; each pair needs at least one.

    >>> observed = ObservedRewards([[[1.0, 3.0], [0.0]], [[2.0], [4.0]]])
    >>> observed.instance(revenue_floors=[0.5, 0.5], context_probabilities=[0.5, 0.5]).mean_rewards.tolist()
    [[2.0, 0.0], [2.0, 4.0]]
    """

    def __init__(self, samples: Sequence[Sequence[ArrayLike]]) -> None:
        rows = [
            [
                _rewards(f"samples[{arm}][{context}]", pair)
                for context, pair in enumerate(items(f"samples[{arm}]", row, "contexts"))
            ]
            for arm, row in enumerate(items("samples", samples, "arms"))
        ]
        if not rows or not rows[0] or any(len(row) != len(rows[0]) for row in rows):
            raise InvalidInputError("samples must be a table of arms by contexts with rows of equal length.")
        flat = list(chain.from_iterable(rows))
        self.means: NDArray[np.float64] = np.array([[pair.mean() for pair in row] for row in rows])
        self.samples = np.concatenate(flat)
        self.sample_start = np.concatenate([[0], np.cumsum([pair.size for pair in flat])]).astype(np.int64)

    def instance(self, revenue_floors: "Column", context_probabilities: "Column", **names: Any) -> Instance:
        """The instance whose mean rewards are the observed means.

        >>> observed = ObservedRewards([[[1.0, 3.0]], [[2.0]]])
        >>> observed.instance([0.5, 0.5], [1.0], arms=["house", "guest"])
        <Instance: 2 arms x 1 context, noise scale 1>
        """
        return Instance(self.means, revenue_floors, context_probabilities, **names)


def _rewards(field: str, observed: Any) -> NDArray[np.float64]:
    """The rewards of one pair, at least one; an index that they may have numbers events and is ignored."""
    rewards = real_array(field, observed, 1)
    if rewards.size == 0:
        raise InvalidInputError(f"{field} must hold at least one reward, got none.")
    check_amounts(field, rewards)
    return rewards


class RewardSource:
    """A reward model with the data it needs, checked against its instance."""

    def __init__(self, rewards: "str | ObservedRewards", instance: Instance) -> None:
        self.samples = np.zeros(1)
        self.sample_start = np.zeros(instance.n_pairs + 1, dtype=np.int64)
        if isinstance(rewards, ObservedRewards):
            self.model = RewardModel.RESAMPLED
            self.name = "resampled"
            if rewards.means.shape != instance.mean_rewards.shape or not np.allclose(
                rewards.means, instance.mean_rewards, rtol=MEAN_TOLERANCE, atol=MEAN_TOLERANCE
            ):
                raise InvalidInputError(
                    "mean_rewards of the instance must be the means of the observed rewards; "
                    "build it with ObservedRewards.instance()."
                )
            self.samples, self.sample_start = rewards.samples, rewards.sample_start
        elif isinstance(rewards, str) and rewards == "gaussian":
            self.model, self.name = RewardModel.GAUSSIAN, "gaussian"
        elif isinstance(rewards, str) and rewards == "bernoulli":
            self.model, self.name = RewardModel.BERNOULLI, "bernoulli"
            low, high = instance.mean_rewards.min(), instance.mean_rewards.max()
            if low < 0.0 or high > 1.0:
                raise InvalidInputError(
                    f"mean_rewards must be from 0 to 1 for Bernoulli rewards, got {low:g} to {high:g}."
                )
        else:
            raise InvalidInputError(
                f"rewards must be 'gaussian', 'bernoulli' or ObservedRewards, got {shown(rewards)}."
            )
