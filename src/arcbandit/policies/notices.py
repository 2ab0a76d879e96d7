"""What a policy at work says of itself unasked: that floors are out of reach, and that they are within reach again."""

import logging
import sys

from arcbandit.errors import FloorsOutOfReachWarning
from arcbandit.notes import warn
from arcbandit.policies.learner import Outcome
from arcbandit.policies.state import State
from arcbandit.policies.status import has_unplayed, least_conflict, out_of_reach

FELL_SHORT = Outcome.FELL_SHORT.value
NOT_NOTICED = -1
# Floors at the border come into reach and go out of it with single rewards; between two notices there are this many
# decisions with a plan that meets them. After as many, what was never played is not waited for any longer.
QUIET = 1000
# Rules that do not plan are looked at again whenever they have decided twice as often, or this many times more.
FIRST_LOOK = 128
BETWEEN_LOOKS = 10_000
WAIT = 100  # decisions, if nothing can be said yet
WAIT_FOR_UNPLAYED = 5
MOST_PAIRS = 20_000  # of more, a decision does not wait for the plan that says how much of the floors is attainable

log = logging.getLogger("arcbandit")
log.addHandler(logging.NullHandler())  # without a handler of its own, a program would see the warning twice


class Notices:
    """Remembers what was said, so that it is said once."""

    def __init__(self, *, plans: bool) -> None:
        self._plans = plans
        self._said = False  # that floors are out of reach, and nothing since
        self.forget()

    def forget(self) -> None:
        """Say again what holds, as something else may: floors, arms or pairs have changed."""
        self.short = NOT_NOTICED  # or FELL_SHORT if floors were out of reach, as far as was noticed, otherwise 0
        self.next_look = sys.maxsize if self._plans else FIRST_LOOK
        self._within_reach_since: int | None = None
        self._ask_from = 0

    def notice(self, state: State, outcome: int, t: int, number: int) -> None:
        """Say what is new after a decision with this number, made with the bounds of round t.

        Decisions ask for it if their outcome differs from `short` in FELL_SHORT, and from `next_look` on.
        """
        if self._plans:
            short = outcome & FELL_SHORT
        elif number < self.next_look:
            return
        else:
            self.next_look = number + min(number, BETWEEN_LOOKS)
            short = FELL_SHORT if out_of_reach(state, t) is not None else 0
        if short == self.short or number < self._ask_from:
            return
        if not short:
            self.short = short
            if self._said:
                self._said = False
                self._within_reach_since = number
                log.info("The floors are within reach again, by optimistic estimates, from decision %d on.", number)
        elif number < QUIET and has_unplayed(state):
            self._ask_from = number + WAIT_FOR_UNPLAYED  # they may still earn what is missing
        elif self._within_reach_since is None or number - self._within_reach_since >= QUIET:
            self._say_out_of_reach(state, t, number)
        else:
            self.short = short

    def _say_out_of_reach(self, state: State, t: int, number: int) -> None:
        begin = f"From decision {number:,} on, "
        if state.learner.allocation.size > MOST_PAIRS:
            message = f"{begin}the floors are out of reach together, even by optimistic estimates. See status()."
        else:
            found = out_of_reach(state, t)
            if found is None:  # by estimates of pairs that were never played, or as it could not be proven
                self._ask_from = number + WAIT
                return
            message = (
                f"{begin}{_named(least_conflict(state, found, t))}, even by optimistic estimates: "
                f"every floor can have at most {max(found.share, 0.0):.1%} of its amount. See status()."
            )
        self.short = FELL_SHORT
        self._said = True
        log.warning(message)
        warn(message, FloorsOutOfReachWarning)


def _named(conflict: tuple[str, ...]) -> str:
    if len(conflict) == 1:
        return f"the floor of {conflict[0]} is out of reach"
    return f"the floors of {', '.join(conflict)} are out of reach together"
