"""How late rewards are: what a user says of it."""

from dataclasses import dataclass
from typing import Any

from arcbandit.errors import InvalidInputError
from arcbandit.inputs.values import LONGEST_HORIZON, is_count, non_negative, real, shown, whole


@dataclass(frozen=True)
class Delay:
    """How late the policy hears of its rewards: by a fixed number of rounds, or by one drawn with a given mean.

    A reward that is d rounds late is learnt from at the end of the d-th round after its own: d = 0 is the usual
    simulation. With `mean` each delay is geometric: 0, 1, 2 ... rounds, with that mean. Each reward is lost with the
    probability `lost`. Rewards that arrive in the same round are learnt from in the order of their decisions, and what
    has not arrived by the horizon never is. Delays depend on seed, epoch and round alone: all policies meet the same.

    >>> from arcbandit import paper_instance, simulate
    >>> on_time = simulate(paper_instance("nu"), "blp", horizon=2000)
    >>> late = simulate(paper_instance("nu"), "blp", horizon=2000, delay=Delay(mean=100, lost=0.1))
    >>> bool(late.regret_plus_violation["blp"][:, -1].mean() > on_time.regret_plus_violation["blp"][:, -1].mean())
    True
    """

    rounds: int = 0
    mean: float | None = None
    lost: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "rounds", whole("rounds of a delay", self.rounds, 0, LONGEST_HORIZON))
        if self.mean is not None:
            object.__setattr__(self, "mean", non_negative("mean of a delay", self.mean))
            if self.rounds != 0:
                raise InvalidInputError(
                    f"a delay must have either rounds or a mean, got rounds {self.rounds} and mean {self.mean:g}."
                )
        object.__setattr__(self, "lost", real("lost", self.lost))
        if not 0.0 <= self.lost <= 1.0:
            raise InvalidInputError(f"lost must be a probability from 0 to 1, got {shown(self.lost)}.")

    @property
    def is_none(self) -> bool:
        """Whether every reward arrives at once."""
        return self.rounds == 0 and not self.mean and self.lost == 0.0

    def to_dict(self) -> dict[str, Any]:
        """The three numbers, as plain data.

        >>> Delay(mean=100, lost=0.1).to_dict()
        {'rounds': 0, 'mean': 100.0, 'lost': 0.1}
        """
        return {"rounds": self.rounds, "mean": self.mean, "lost": self.lost}


def read_delay(delay: Any) -> Delay | None:
    """The argument `delay` of `simulate`: a Delay or a number of rounds; None if rewards arrive at once."""
    if delay is None:
        return None
    if is_count(delay):
        delay = Delay(whole("delay", delay, 0, LONGEST_HORIZON))
    if not isinstance(delay, Delay):
        raise InvalidInputError(f"delay must be a number of rounds or a Delay, got {shown(delay)}.")
    return None if delay.is_none else delay
