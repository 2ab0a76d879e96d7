"""What the theory says about an instance, where it says something."""

import math

from arcbandit.instance import Instance


def limit_of(instance: Instance, horizon: int) -> float:
    """The least R + V that a rule can have, to the first order; NaN if it is not known."""
    return math.nan
