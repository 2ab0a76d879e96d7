"""What a policy returns: an arm, and everything to log with it."""

import functools
from collections.abc import Iterator, Sequence
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from arcbandit.policies.learner import Outcome
from arcbandit.policies.state import Labels, Name


class Decision(NamedTuple):
    """An arm to play and the probability with which it was drawn, to be logged with it.

    >>> from arcbandit import BLP
    >>> decision = BLP([0.1, 0.2], [0.5, 0.5], arms=["house", "guest"], contexts=["tv", "phone"]).decide("tv")
    >>> decision.arm, decision.probability, decision.how
    ('guest', 0.5, 'exploring')
    """

    arm: Name  # a name if the arms have names, otherwise an index
    probability: float
    context: Name
    round_number: int  # t of the confidence bounds, which late, batched or logged rewards also advance
    decision_number: int  # from 1; it determines the random numbers of the decision
    outcome: int = 0  # how its plan came about, as a sum of `Outcome`s; `how` says it in words

    @property
    def how(self) -> str:
        """How the decision came about.

        "exploring": the arm was never seen in this context. "floors out of reach": no plan met the floors even by
        optimistic estimates. "fallback": the rule's own problem had no plan, so that a plan by optimistic estimates
        stood in. "planned": otherwise, as the rule intends.
        """
        return how(self.outcome)


def how(outcome: int) -> str:
    """An Outcome in words."""
    if outcome & Outcome.EXPLORED:
        return "exploring"
    if outcome & Outcome.STOOD_STILL:
        return "no plan found"
    if outcome & Outcome.FELL_SHORT:
        return "floors out of reach"
    return "fallback" if outcome & Outcome.FELL_BACK else "planned"


# What NamedTuple's own constructor does, in half its time.
decision_of = functools.partial(tuple.__new__, Decision)


class Decisions(Sequence[Decision]):
    """The decisions of a batch, in order: a sequence of `Decision`, and the arrays behind it for fast access.

    >>> from arcbandit import BLP
    >>> policy = BLP([0.1, 0.2], [0.5, 0.5], arms=["house", "guest"], contexts=["tv", "phone"])
    >>> decisions = policy.decide_many(["tv", "phone", "tv"])
    >>> decisions, [decision.arm for decision in decisions], decisions.probabilities.tolist()
    (<3 decisions>, ['guest', 'house', 'guest'], [0.5, 0.5, 0.5])
    """

    def __init__(
        self,
        arms: NDArray[np.int64],
        probabilities: NDArray[np.float64],
        contexts: Sequence[Name],
        round_numbers: NDArray[np.int64],
        outcomes: NDArray[np.int64],
        first_number: int,
        labels: Labels,
    ) -> None:
        self.arms = arms  # indices, int64
        self.probabilities = probabilities
        self.contexts = contexts
        self.round_numbers = round_numbers
        self.outcomes = outcomes
        self.first_number = first_number
        self._labels = labels

    def __len__(self) -> int:
        return len(self.arms)

    @overload
    def __getitem__(self, place: int) -> Decision: ...
    @overload
    def __getitem__(self, place: slice) -> list[Decision]: ...
    def __getitem__(self, place: int | slice) -> Decision | list[Decision]:
        if isinstance(place, slice):
            return [self[index] for index in range(*place.indices(len(self)))]
        index = range(len(self))[place]
        arm = int(self.arms[index])
        return Decision(
            self._labels.arms[arm] if self._labels.named_arms else arm,
            float(self.probabilities[index]),
            self.contexts[index],
            int(self.round_numbers[index]),
            self.first_number + index,
            int(self.outcomes[index]),
        )

    def __iter__(self) -> Iterator[Decision]:
        return (self[index] for index in range(len(self)))

    def __repr__(self) -> str:
        return f"<{len(self)} decisions>"
