"""Policies by name: every class with a rule in the files of this room, and those that other packages offer.

A package offers its own by an entry point of the group ``arcbandit.policies``, whose name is that of the policy.
"""

import functools
import pkgutil
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from arcbandit import policies
from arcbandit.errors import InvalidInputError
from arcbandit.inputs.values import instance_of, known_name, shown
from arcbandit.policies.base import Policy
from arcbandit.policies.settings import PolicyName

GROUP = "arcbandit.policies"


@functools.cache
def own_policies() -> dict[str, type[Policy]]:
    """Those of this package: rules that plan first, then by name."""
    found = {}
    for module in pkgutil.iter_modules(policies.__path__):
        if not module.ispkg:
            members = vars(import_module(f"{policies.__name__}.{module.name}")).values()
            found.update({kind.name: kind for kind in members if is_rule(kind)})
    return dict(sorted(found.items(), key=lambda item: (not item[1].plans, item[0])))


def is_rule(kind: Any) -> bool:
    """Whether it is a policy class with a rule and a name."""
    return isinstance(kind, type) and issubclass(kind, Policy) and hasattr(kind, "allocate") and hasattr(kind, "name")


@functools.cache
def _offered() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


class Policies(Mapping[str, type[Policy]]):
    """All policies by name; a class of another package is loaded when it is asked for."""

    def __getitem__(self, name: str) -> type[Policy]:
        own = own_policies()
        return own[name] if name in own else _loaded(_offered()[name])

    def __contains__(self, name: object) -> bool:
        return name in own_policies() or name in _offered()

    def __iter__(self) -> Iterator[str]:
        own = own_policies()
        return iter((*own, *(name for name in sorted(_offered()) if name not in own)))

    def __len__(self) -> int:
        return len(list(iter(self)))


def _loaded(point: EntryPoint) -> type[Policy]:
    where = f"the entry point {point.name!r} of the group {GROUP!r} ({point.value})"
    try:
        kind = point.load()
    except Exception as error:
        raise InvalidInputError(f"Policy {point.name!r} cannot be loaded by {where}: {error!r}.") from error
    if not is_rule(kind):
        raise InvalidInputError(
            f"Policy {point.name!r} must be a subclass of Policy with a rule, but {where} is {shown(kind)}."
        )
    if kind.name != point.name:
        raise InvalidInputError(f"Policy {point.name!r} must have the name of {where}, but its name is {kind.name!r}.")
    return kind  # type: ignore[no-any-return]


POLICIES: Mapping[str, type[Policy]] = Policies()


def policy(name: PolicyName | str, *problem: Any, **settings: Any) -> Any:
    """The policy of that name, with the arguments of its class: at work or, without a problem, a configuration.

    >>> policy("olp", [0.1, 0.2], [0.5, 0.5]).decide(0).round_number
    1
    """
    return POLICIES[known_name("policy", name, POLICIES)](*problem, **settings)


def restore(snapshot: Any, *, worker: int | None = None) -> Policy:
    """The policy of a snapshot, of any class; with `worker`, it continues as that worker.

    >>> import json
    >>> fitted = policy("olp", [0.1, 0.2], [0.5, 0.5])
    >>> fitted.update(0, 1, 0.7)
    >>> kept = json.dumps(fitted.snapshot())
    >>> restore(json.loads(kept), worker=1).pulls().tolist()
    [[0.0, 0.0], [1.0, 0.0]]
    """
    instance_of("snapshot", snapshot, dict)
    return POLICIES[known_name("policy", snapshot.get("policy"), POLICIES)].restore(snapshot, worker=worker)
