"""A policy that starts with what a log knows."""

from collections.abc import Iterable, Mapping
from typing import Any

from arcbandit.errors import InvalidInputError
from arcbandit.floors import GroupFloor
from arcbandit.inputs.values import instance_of, known_name, shown
from arcbandit.logs.statistics import LogStatistics
from arcbandit.policies.base import Policy
from arcbandit.policies.configuration import Configuration
from arcbandit.policies.registry import POLICIES
from arcbandit.policies.settings import PolicyName


def fit(
    statistics: LogStatistics,
    revenue_floors: Mapping[str, float] | None = None,
    policy: PolicyName | Configuration = "priced-lp",
    *,
    group_floors: Iterable[GroupFloor] = (),
    **settings: Any,
) -> Policy:
    """A policy that has learnt from a log, ready to decide.

    It has the arms and contexts of the log. `revenue_floors` are by arm; arms that are not named have none.
    `group_floors` are those of several arms together. It knows the means of the pairs as if it had seen every row, and
    has learnt from them the mix of contexts and the noise, which it goes on to estimate. `policy` is a name or a
    configuration such as ``OLP()``, and `settings` are those of its class, which may give sigma instead
    (`noise_scale`, `reward_bounds`).

    A policy that forgets, or that keeps more from round to round than counts, means and averages of its own plans,
    depends on the order of rewards, which the statistics do not have, and is refused.

    >>> import pandas
    >>> from arcbandit import read_log
    >>> log = pandas.DataFrame({"context": ["tv"] * 400, "arm": ["house", "guest"] * 200, "reward": [0.9, 0.5] * 200})
    >>> policy = fit(read_log(log), {"guest": 0.1})
    >>> policy.name, policy.round_number
    ('priced-lp', 401)
    >>> policy.decide("tv").how
    'planned'
    """
    instance_of("statistics", statistics, LogStatistics, ", as read_log returns it")
    fitted = untaught(statistics, revenue_floors, policy, group_floors=group_floors, **settings)
    fitted.update_from_totals(statistics.counts, statistics.sums, statistics.squares)
    return fitted


def untaught(
    statistics: LogStatistics,
    revenue_floors: Mapping[str, float] | None,
    policy: PolicyName | Configuration,
    **settings: Any,
) -> Policy:
    """A policy for the arms and contexts of a log, of which it knows nothing yet."""
    floors = dict.fromkeys(statistics.arms, 0.0)
    for arm, floor in _items(revenue_floors):
        floors[known_name("arm", arm, floors, " in the log")] = floor
    kind, configured = _rule(policy)
    return kind(floors, None, arms=statistics.arms, contexts=statistics.contexts, **{**configured, **settings})


def _items(revenue_floors: Any) -> Iterable[tuple[Any, Any]]:
    if revenue_floors is None:
        return ()
    if not isinstance(revenue_floors, Mapping):
        raise InvalidInputError(f"revenue_floors must be a mapping from arms to floors, got {shown(revenue_floors)}.")
    return revenue_floors.items()


def _rule(policy: Any) -> tuple[type[Policy], dict[str, Any]]:
    if isinstance(policy, Configuration):
        return policy.kind, policy.settings()
    return POLICIES[known_name("policy", policy, POLICIES)], {}
