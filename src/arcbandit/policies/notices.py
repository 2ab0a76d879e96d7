"""What a policy at work says of itself unasked: that floors are out of reach, and that they are within reach again."""

import logging

from arcbandit.errors import FloorsOutOfReachWarning
from arcbandit.notes import warn
from arcbandit.policies.learner import Outcome, Progress
from arcbandit.policies.state import State
from arcbandit.policies.status import least_conflict, out_of_reach

FELL_SHORT = Outcome.FELL_SHORT.value
# Floors at the border come into reach and go out of it with single rewards; between two notices there are this many
# decisions with a plan that meets them.
QUIET = 1000

log = logging.getLogger("arcbandit")
log.addHandler(logging.NullHandler())  # without a handler of its own, a program would see the warning twice


class Notices:
    """Remembers what was said, so that it is said once."""

    def __init__(self) -> None:
        self.short = 0  # FELL_SHORT if the last plan was, as far as was noticed
        self._within_reach_since: int | None = None

    def notice(self, state: State, outcome: int) -> None:
        """Look at the outcome of a decision, if it differs from `short` in FELL_SHORT, and say what is new."""
        progress = state.learner.progress
        number = int(progress[Progress.DECISIONS])
        short = outcome & FELL_SHORT
        if short and not progress[Progress.ALL_PLAYED]:
            return  # what was never played may still earn what is missing
        self.short = short
        if not short:
            self._within_reach_since = number
            log.info("The floors are within reach again, by optimistic estimates, from decision %d on.", number)
        elif self._within_reach_since is None or number - self._within_reach_since >= QUIET:
            _say_out_of_reach(state, number)


def _say_out_of_reach(state: State, number: int) -> None:
    found = out_of_reach(state)
    if found is None:
        return  # by the statistics of this moment they are not
    message = (
        f"From decision {number:,} on, {_named(least_conflict(state, found))}, even by optimistic estimates: "
        f"every floor can have at most {max(found.share, 0.0):.1%} of its amount. See status()."
    )
    log.warning(message)
    warn(message, FloorsOutOfReachWarning)


def _named(conflict: tuple[str, ...]) -> str:
    if len(conflict) == 1:
        return f"the floor of {conflict[0]} is out of reach"
    return f"the floors of {', '.join(conflict)} are out of reach together"
