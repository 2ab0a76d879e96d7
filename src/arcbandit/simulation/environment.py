"""A Gymnasium environment over an instance, for learners that are not ours."""

import os
from typing import Any

import numpy as np

from arcbandit.errors import InvalidInputError, MissingExtraError
from arcbandit.inputs.values import LONGEST_HORIZON, file_path, is_whole, shown, whole
from arcbandit.instance import Instance
from arcbandit.simulation.rewards import ObservedRewards, RewardSource
from arcbandit.simulation.world import RewardModel

try:
    import gymnasium
    from gymnasium import spaces
except ImportError:
    raise MissingExtraError("gymnasium", "gym") from None

ENVIRONMENT_ID = "arcbandit/MabArc-v1"
DEFAULT_HORIZON = 1000


def small_instance() -> Instance:
    """The default instance: two arms, two contexts, means from 0 to 1."""
    return Instance([[0.9, 0.6], [0.2, 0.5]], revenue_floors=[0.3, 0.1], context_probabilities=[0.5, 0.5])


class MabArc(gymnasium.Env[np.int64, np.int64]):
    """Rounds of an instance: the observation is the context, the action an arm, the reward a draw of the pair.

    `instance` is an Instance or its file; `rewards` is as for `simulate`. An episode is truncated after `horizon`
    rounds and never terminates. `info` holds the rounds played, the revenue of each arm so far, the floors per round,
    how far the revenue of each arm (or group) so far is below its floors so far, and after a step the mean reward of
    the pair played.

    Gymnasium does not look for environments in installed packages: importing this module registers this one. If only a
    name can be given, `arcbandit.simulation.environment:arcbandit/MabArc-v1` lets Gymnasium import it.

    >>> import gymnasium
    >>> import arcbandit.simulation.environment
    >>> rounds = gymnasium.make("arcbandit/MabArc-v1", horizon=3)
    >>> context, info = rounds.reset(seed=7)
    >>> ended = False
    >>> while not ended:
    ...     context, reward, _, ended, info = rounds.step(0)
    >>> info["round_number"], info["arm_revenue"].shape, float(info["arm_revenue"][1])
    (3, (2,), 0.0)
    >>> [round(float(lacking), 3) for lacking in info["shortfall"]][1]
    0.3
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012, the base class declares it so

    def __init__(
        self,
        instance: "Instance | str | os.PathLike[str] | None" = None,
        horizon: int = DEFAULT_HORIZON,
        rewards: "str | ObservedRewards" = "gaussian",
        render_mode: str | None = None,
    ) -> None:
        if instance is None:
            instance = small_instance()
        elif not isinstance(instance, Instance):
            instance = Instance.load(file_path("instance, if not an Instance,", instance))
        if render_mode is not None:
            raise InvalidInputError(f"render_mode must be None, as nothing can be rendered, got {shown(render_mode)}.")
        self.instance = instance
        self.horizon = whole("horizon", horizon, 1, LONGEST_HORIZON)
        self.render_mode = None
        self.observation_space = spaces.Discrete(instance.n_contexts)
        self.action_space = spaces.Discrete(instance.n_arms)
        self._source = RewardSource(rewards, instance)
        self._context: np.int64 | None = None
        self._round_number = 0
        self._arm_revenue = np.zeros(instance.n_arms)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.int64, dict[str, Any]]:
        """Begin an episode."""
        super().reset(seed=None if seed is None else whole("seed", seed, 0))
        self._round_number = 0
        self._arm_revenue = np.zeros(self.instance.n_arms)
        self._context = self._next_context()
        return self._context, self._info()

    def step(self, action: np.int64) -> tuple[np.int64, float, bool, bool, dict[str, Any]]:
        """Play an arm in the context that was observed."""
        if self._context is None or self._round_number >= self.horizon:
            raise InvalidInputError("An episode must be started by reset and played for no more than horizon rounds.")
        given: Any = action
        arm = given[()] if isinstance(given, np.ndarray) and given.shape == () else given
        if not is_whole(arm) or not 0 <= arm < self.instance.n_arms:
            raise InvalidInputError(f"action must be an arm from 0 to {self.instance.n_arms - 1}, got {shown(action)}.")
        mean = float(self.instance.mean_rewards[arm, self._context])
        reward = self._draw_reward(int(arm), int(self._context), mean)
        self._arm_revenue[arm] += reward
        self._round_number += 1
        self._context = self._next_context()
        info = self._info() | {"expected_revenue": mean}
        return self._context, reward, False, self._round_number >= self.horizon, info

    def _next_context(self) -> np.int64:
        return np.int64(self.np_random.choice(self.instance.n_contexts, p=self.instance.context_probabilities))

    def _draw_reward(self, arm: int, context: int, mean: float) -> float:
        source = self._source
        if source.model == RewardModel.GAUSSIAN:
            return float(self.np_random.normal(mean, self.instance.noise_scale))
        if source.model == RewardModel.BERNOULLI:
            return float(self.np_random.random() < mean)
        pair = arm * self.instance.n_contexts + context
        place = self.np_random.integers(source.sample_start[pair], source.sample_start[pair + 1])
        return float(source.samples[place])

    def _info(self) -> dict[str, Any]:
        floors = self.instance.floors
        lacking = np.maximum(self._round_number * floors.amounts - floors.by_floor(self._arm_revenue), 0.0)
        return {
            "round_number": self._round_number,
            "arm_revenue": self._arm_revenue.copy(),
            "revenue_floors": self.instance.revenue_floors.copy(),
            "shortfall": lacking[floors.rows_of("arm")],
            "group_shortfall": lacking[floors.rows_of("group")],
        }


def register() -> None:
    """Make the environment known to Gymnasium by its name, once."""
    if ENVIRONMENT_ID not in gymnasium.registry:
        gymnasium.register(ENVIRONMENT_ID, entry_point=f"{__name__}:{MabArc.__name__}")


register()
