"""From a plan and a uniform number to an arm: what is logged is what was drawn from, to the last bit."""

from bisect import bisect_right
from collections.abc import Collection, Sequence
from itertools import accumulate
from typing import NamedTuple


class Shares(NamedTuple):
    """The arms of a context that are played, with their probabilities and the running sums of these."""

    arms: tuple[int, ...]
    probabilities: tuple[float, ...]
    sums: tuple[float, ...]


def shares_of(column: Sequence[float]) -> Shares:
    """The shares of a column of an allocation, in the order of the arms."""
    played = [(arm, share) for arm, share in enumerate(column) if share > 0.0]
    probabilities = tuple(share for _, share in played)
    return Shares(tuple(arm for arm, _ in played), probabilities, tuple(accumulate(probabilities)))


def drawn(shares: Shares, uniform: float) -> tuple[int, float]:
    """The arm that a uniform number in [0, 1) chooses, and its probability.

    >>> drawn(shares_of([0.25, 0.0, 0.75]), 0.3)
    (2, 0.75)
    """
    # Rounding may leave the last sum below 1: what lies beyond is the last arm's.
    place = min(bisect_right(shares.sums, uniform), len(shares.arms) - 1)
    return shares.arms[place], shares.probabilities[place]


def without(shares: Shares, excluded: Collection[int], playable: Sequence[int]) -> Shares | None:
    """The shares scaled up to 1 without some arms; None if no playable arm is left.

    If the plan gives nothing to those that are left, they are equally likely.
    """
    left = [(arm, share) for arm, share in zip(shares.arms, shares.probabilities, strict=True) if arm not in excluded]
    total = sum(share for _, share in left)
    if total > 0.0:
        rest = [(arm, share / total) for arm, share in left]
    else:
        arms = [arm for arm in playable if arm not in excluded]
        rest = [(arm, 1.0 / len(arms)) for arm in arms]
    if not rest:
        return None
    probabilities = tuple(share for _, share in rest)
    return Shares(tuple(arm for arm, _ in rest), probabilities, tuple(accumulate(probabilities)))
