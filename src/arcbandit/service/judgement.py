"""What a reward does, decided without a store, a clock or an outside world: (what stands, a reward) -> a verdict."""

import enum
from typing import NamedTuple

from arcbandit.service.amounts import PairTotals


class Verdict(enum.IntEnum):
    """What became of a reward."""

    COUNTED = 0
    REPLACED_DEFAULT = 1  # it took the place of the default reward, which had been counted meanwhile
    REPEATED = 2  # the same reward was counted before
    CONFLICT = 3  # another reward was counted before, and stands
    UNKNOWN = 4  # there is no such decision
    GONE = 5  # the decision is older than rewards are taken for

    @property
    def is_kept(self) -> bool:
        """Whether the reward is in the statistics, by this delivery or an earlier one."""
        return self <= Verdict.REPEATED


class Standing(NamedTuple):
    """What stands of the reward of a decision."""

    decided_at: int  # microseconds
    reward: int | None = None  # in millionths
    default: int | None = None  # the default reward, if it was counted


def judged(standing: Standing | None, micro: int, now: int, retention: int) -> Verdict:
    """What a reward that arrives now does. `retention` is for how long rewards are taken, in microseconds.

    >>> judged(Standing(decided_at=0), 5, now=10, retention=100).name
    'COUNTED'
    >>> judged(Standing(0, reward=5), 6, now=10, retention=100).name
    'CONFLICT'
    """
    if standing is None:
        return Verdict.UNKNOWN
    if standing.reward is not None:
        return Verdict.REPEATED if standing.reward == micro else Verdict.CONFLICT
    if now - standing.decided_at >= retention:
        return Verdict.GONE
    return Verdict.COUNTED if standing.default is None else Verdict.REPLACED_DEFAULT


def settled(totals: PairTotals, standing: Standing, verdict: Verdict, micro: int) -> PairTotals:
    """The totals of a pair after a reward of this verdict."""
    if verdict == Verdict.COUNTED:
        return totals.rewarded(micro)
    if verdict == Verdict.REPLACED_DEFAULT and standing.default is not None:
        return totals.replaced(standing.default, micro)
    return totals


def default_is_due(standing: Standing, now: int, window: int) -> bool:
    """Whether the default reward is to be counted, as no reward came within the window, in microseconds."""
    return standing.reward is None and standing.default is None and now - standing.decided_at >= window
