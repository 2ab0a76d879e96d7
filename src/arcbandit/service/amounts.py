"""Revenue in whole millionths, so that a recount of the log equals the statistics to the last digit."""

from typing import NamedTuple

MICRO = 1_000_000
LARGEST_REWARD = 1e12  # a reward in millionths fits 64 bits


def micro_of(reward: float) -> int:
    """A reward in millionths, the nearest one.

    >>> micro_of(0.1), micro_of(-2)
    (100000, -2000000)
    """
    return round(reward * MICRO)


def reward_of(micro: int) -> float:
    """The reward of so many millionths."""
    return micro / MICRO


def whole_bounds(low: float, high: float) -> tuple[float, float]:
    """The narrowest bounds in whole millionths around given ones: a reward within the given ones is rounded into them.

    >>> whole_bounds(0.1, 2 / 3)
    (0.1, 0.666667)
    """
    below, above = micro_of(low), micro_of(high)
    return (
        reward_of(below if reward_of(below) <= low else below - 1),
        reward_of(above if reward_of(above) >= high else above + 1),
    )


class PairTotals(NamedTuple):
    """What is known of an arm in a context, in millionths and their squares: whole numbers of any size."""

    decisions: int = 0
    rewards: int = 0
    total: int = 0
    squares: int = 0

    def decided(self) -> "PairTotals":
        """The totals after one more decision."""
        return PairTotals(self.decisions + 1, self.rewards, self.total, self.squares)

    def rewarded(self, micro: int) -> "PairTotals":
        """The totals after one more reward."""
        return PairTotals(self.decisions, self.rewards + 1, self.total + micro, self.squares + micro * micro)

    def replaced(self, before: int, micro: int) -> "PairTotals":
        """The totals after a reward took the place of another."""
        return PairTotals(
            self.decisions, self.rewards, self.total + micro - before, self.squares + micro * micro - before * before
        )
