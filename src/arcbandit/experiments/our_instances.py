"""Instances of our own, for experiments that go beyond the paper's instances."""

import sys
from collections.abc import Callable

import numpy as np

from arcbandit.errors import InvalidInputError
from arcbandit.experiments.paper_instances import PAPER_INSTANCES, nu, paper_instance
from arcbandit.floors import GroupFloor
from arcbandit.inputs.values import is_real, shown
from arcbandit.instance import Instance


def one_context() -> Instance:
    """Three arms without contexts; each has a floor, so that the optimal plan plays all of them."""
    return Instance([[1.0], [2.0], [1.5]], [0.25, 0.25, 0.25], [1.0])


def one_context_unpromised() -> Instance:
    """The same, but the best arm has no floor."""
    return Instance([[1.0], [2.0], [1.5]], [0.25, 0.0, 0.25], [1.0])


def costly_floor() -> Instance:
    """Two arms, two contexts, all floors positive: the second floor is best met in context 2.

    Met in context 1, it costs twice as much. gamma* = 0.6125, rho* = 1/12, non-degenerate.
    """
    return Instance([[3.0, 2.0], [1.0, 1.2]], [0.1, 0.25], [0.5, 0.5])


def zero_floor() -> Instance:
    """Two arms without contexts; the better one has a floor of zero. gamma* = 7/18, non-degenerate."""
    return Instance([[1.0], [0.8]], [0.0, 0.1], [1.0])


def floors_moved(margin: float = 0.1) -> Instance:
    """Instance nu with all floors moved by as much, so that gamma* is `margin`, below 1/2."""
    # gamma* is how far all floors can rise together: 1/4 for nu, whose smallest floor is 1/4 too.
    if not is_real(margin) or not 0 <= margin < 1 / 2:
        raise InvalidInputError(f"margin must be from 0 and below 1/2, got {shown(margin)}.")
    base = nu()
    return Instance(base.mean_rewards, base.revenue_floors + (1 / 4 - margin), base.context_probabilities)


def one_context_scaled(margin: float = 0.1) -> Instance:
    """Two arms without contexts and floors of 1/2 each, their means scaled so that gamma* is `margin`."""
    # With means (2 m, m) the floors 1/2 + s fit if 3 (1/2 + s) / (2 m) is at most 1.
    if not is_real(margin) or not 0 <= margin <= sys.float_info.max / 4:
        raise InvalidInputError(f"margin must be finite and non-negative, got {shown(margin)}.")
    smaller = 1.5 * (margin + 0.5)
    return Instance([[2 * smaller], [smaller]], [0.5, 0.5], [1.0])


def _label(means: list[list[float]], floors: list[float], groups: tuple[GroupFloor, ...]) -> Instance:
    names = ["major", "independent", "local", "newcomer"]
    return Instance(means, floors, np.full(3, 1 / 3), arms=names, group_floors=groups)


LABEL_MEANS = [[9.0, 3.0, 6.0], [4.0, 6.0, 2.0], [0.0, 1.5, 3.0], [1.0, 0.0, 3.5]]


def one_group() -> Instance:
    """Four arms, three contexts and one constraint: two of the arms must together earn 3/4 per round."""
    return _label(LABEL_MEANS, [0.0, 0.0, 0.0, 0.0], (GroupFloor("small", ("local", "newcomer"), 0.75),))


def groups_and_arms() -> Instance:
    """The same arms with floors of single arms and of two groups that overlap."""
    groups = (
        GroupFloor("small", ("local", "newcomer"), 0.75),
        GroupFloor("not the major", ("independent", "local", "newcomer"), 3.0),
    )
    return _label(LABEL_MEANS, [1.0, 0.0, 0.25, 0.0], groups)


def floors_apart() -> Instance:
    """The same arms, each of the small ones with half of the floor of their group."""
    return _label(LABEL_MEANS, [0.0, 0.0, 0.375, 0.375], ())


OUR_INSTANCES: dict[str, Callable[..., Instance]] = {
    "one-context": one_context,
    "one-context-unpromised": one_context_unpromised,
    "costly-floor": costly_floor,
    "zero-floor": zero_floor,
    "floors-moved": floors_moved,
    "one-context-scaled": one_context_scaled,
    "one-group": one_group,
    "groups-and-arms": groups_and_arms,
    "floors-apart": floors_apart,
}


def instance_named(text: str) -> Instance:
    """An instance of the paper or of ours, by its name and, after a colon, its parameter."""
    name, colon, argument = text.partition(":")
    if name in PAPER_INSTANCES or name not in OUR_INSTANCES:
        return paper_instance(text)
    return OUR_INSTANCES[name](float(argument)) if colon else OUR_INSTANCES[name]()
