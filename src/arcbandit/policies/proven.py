"""What is proven of a rule that plans, so that an audit counts how often it holds along a run."""

import enum


class Proven(enum.Enum):
    """A statement that a rule may say is proven of it; `simulation/audit.py` has each in words.

    >>> from arcbandit import OPLP
    >>> sorted(statement.name for statement in OPLP.proven)
    ['FALLBACK', 'NO_VIOLATION']
    """

    # Of rules whose plans are those of a basis.
    NO_REGRET = enum.auto()
    REGRET_WIDTH = enum.auto()
    SHORTFALL_WIDTH = enum.auto()
    NO_VIOLATION = enum.auto()
    FALLBACK = enum.auto()
    # Of rules with soft floors whose memory has the rows of PricedLP's, in which an audit looks.
    GIVEN_UP = enum.auto()
    BOUNDED = enum.auto()


OF_SOFT_FLOORS = frozenset({Proven.GIVEN_UP, Proven.BOUNDED})
