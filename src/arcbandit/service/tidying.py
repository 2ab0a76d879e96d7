"""Plans that nobody needs any more: replaced long ago, and named by no decision.

Decisions, rewards and the plans that decisions were drawn from stay: statistics are a recount of them, and every
decision can be drawn again.
"""

import functools
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from arcbandit.errors import InvalidInputError
from arcbandit.inputs.values import amount
from arcbandit.service.clock import SECOND
from arcbandit.service.reporting import REPORT_SECONDS
from arcbandit.service.stores import open_shelf

DAY = 24 * 3600 * SECOND
# A day longer than decisions may be reported that clients drew from such a plan: none is on its way any more.
LEAST_DAYS = REPORT_SECONDS / 86_400 + 1.0
AT_A_TIME = 100  # plans in one transaction, in which decisions wait


class Shelf(Protocol):
    """The plans of a store, for a process that tidies up while others serve."""

    def moment(self) -> int:
        """The latest time that the store knows of, in microseconds; a clock that is wrong does not matter."""

    def campaigns(self) -> list[int]:
        """Every campaign."""

    def versions(self, campaign: int) -> list[int]:
        """The versions of its plans, rising; the last is in force."""

    def made_at(self, campaign: int, version: int) -> int:
        """When a plan was made, in microseconds."""

    def named(self, campaign: int) -> set[int]:
        """The versions that decisions were drawn from."""

    def forget_plans(self, campaign: int, versions: Sequence[int]) -> None:
        """Forget plans, in one transaction."""

    def forget_requests(self, before: int, limit: int) -> int:
        """Forget request ids that were used until then, at most so many; how many were."""

    def close(self) -> None:
        """Let go of the store."""


class Tidied(NamedTuple):
    """What was forgotten, and what is left."""

    plans: int
    plans_left: int
    requests: int


def replaced(versions: Sequence[int], made_at: Callable[[int], int], until: int) -> Sequence[int]:
    """The plans that were no longer in force at a moment, which each is from when the next was made.

    >>> replaced([1, 2, 5], {1: 10, 2: 20, 5: 30}.__getitem__, until=20)
    [1]
    """
    return versions[: bisect_right(versions[1:], until, key=made_at)]


def tidied(store: str, days: float) -> Tidied:
    """Forget the plans of a store that were replaced more than so many days ago and that no decision names.

    Request ids that are no longer remembered are forgotten too. A service may run on the store meanwhile.
    """
    from arcbandit.service.store import REQUEST_MEMORY

    if amount("days", days) < LEAST_DAYS:
        raise InvalidInputError(
            f"days must be at least {LEAST_DAYS:g}, as decisions that clients drew are taken for a week, got {days:g}."
        )
    shelf = open_shelf(store)
    try:
        until = shelf.moment() - round(days * DAY)
        forgotten = left = requests = 0
        for campaign in shelf.campaigns():
            versions = shelf.versions(campaign)
            old = replaced(versions, functools.partial(shelf.made_at, campaign), until)
            named = shelf.named(campaign) if old else set()
            unused = [version for version in old if version not in named]
            for start in range(0, len(unused), AT_A_TIME):
                shelf.forget_plans(campaign, unused[start : start + AT_A_TIME])
            forgotten += len(unused)
            left += len(versions) - len(unused)
        while some := shelf.forget_requests(shelf.moment() - REQUEST_MEMORY, AT_A_TIME):
            requests += some
        return Tidied(forgotten, left, requests)
    finally:
        shelf.close()
