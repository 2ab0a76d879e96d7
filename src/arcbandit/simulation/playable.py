"""The policies that a simulation plays, by label: compiled rules, by name or configured, and plain objects."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import InvalidInputError
from arcbandit.floors import Floors
from arcbandit.inputs.values import checked_name, items, shown
from arcbandit.instance import Instance
from arcbandit.policies.base import Policy
from arcbandit.policies.configuration import Configuration
from arcbandit.policies.registry import policy as policy_by_name
from arcbandit.policies.settings import PolicyName
from arcbandit.simulation.clairvoyant import CLAIRVOYANTS, ClairvoyantName
from arcbandit.simulation.plain import PlainPolicy

# Names that no type checker knows, of policies from other packages, are also taken; `policy(name)` is typed for them.
Playable = PolicyName | ClairvoyantName | Policy | Configuration | PlainPolicy
Policies = Sequence[Playable] | Mapping[str, Playable]

# What a rule declares; any other part of Policy that a subclass replaced would not be played.
SAID_BY_A_RULE = {
    "name",
    "allocate",
    "learn",
    "plans",
    "reference",
    "dials",
    "preset",
    "rows",
    "needs_horizon",
    "needs_mean_bound",
    "supports_group_floors",
}
PARTS_OF_A_PLAIN_POLICY = ("name", "begin", "allocate", "learn")
# Floors and probabilities closer than this are equal up to rounding.
ROUNDING = 1e-9


def labelled_policies(
    policies: Policies, instance: Instance, available: NDArray[np.bool_] | None
) -> dict[str, Configuration | PlainPolicy]:
    """The policies of a simulation, by label."""
    if isinstance(policies, str | Policy | Configuration) or (
        not isinstance(policies, type) and isinstance(policies, PlainPolicy)
    ):
        policies = [policies]
    labelled: dict[str, Configuration | PlainPolicy] = {}
    pairs: list[tuple[str | None, Any]]
    if isinstance(policies, Mapping):
        pairs = [(checked_name("label in policies", label), chosen) for label, chosen in policies.items()]
    else:
        pairs = [(None, chosen) for chosen in items("policies", policies, "names or policies")]
    for label, chosen in pairs:
        found = playable(chosen, instance, available)
        if isinstance(found, Configuration):
            name = found.label if label is None else label
        else:
            name = found.name if label is None else label
        if name in labelled:
            raise InvalidInputError(f"policies must have different labels, but two are {name!r}; give a mapping.")
        labelled[name] = found
    if not labelled:
        raise InvalidInputError("policies must hold at least one policy, got none.")
    return labelled


def playable(
    choice: Any, instance: Instance, available: NDArray[np.bool_] | None, parameter: str = "policies"
) -> Configuration | PlainPolicy:
    """What is played for a policy given by name or as an object; refuse one that would not be played as it is.

    That is a policy with methods of its own, which the compiled loop would not call; one that has learnt, as every
    epoch starts from nothing; and one made for another problem.
    """
    if isinstance(choice, str):
        make: Any = CLAIRVOYANTS.get(choice, functools.partial(policy_by_name, choice))
        named: Configuration = make()
        return named
    if isinstance(choice, Configuration):
        _refuse_methods(choice.kind, {}, parameter)
        return choice
    if isinstance(choice, Policy):
        _refuse_methods(type(choice), vars(choice), parameter)
        _refuse_used(choice, instance, available, parameter)
        return choice.unbound()
    if isinstance(choice, type) or not any(hasattr(choice, part) for part in PARTS_OF_A_PLAIN_POLICY[1:]):
        raise InvalidInputError(f"{parameter} must be names or policies, got {choice!r}.")
    missing = [part for part in PARTS_OF_A_PLAIN_POLICY if not hasattr(choice, part)]
    missing += [
        part for part in PARTS_OF_A_PLAIN_POLICY[1:] if part not in missing and not callable(getattr(choice, part))
    ]
    if missing:
        raise InvalidInputError(
            f"{parameter} must have {', '.join(PARTS_OF_A_PLAIN_POLICY)} to be played as plain objects, but "
            f"{shown(choice)} has no {' and no '.join(missing)}."
        )
    checked_name(f"name of {shown(choice)}", choice.name)
    plain: PlainPolicy = choice
    return plain


def _refuse_methods(kind: type[Policy], own: Mapping[str, Any], parameter: str) -> None:
    """Refuse a subclass, or an object, that has replaced methods or properties of Policy."""
    replaced: set[str] = set(own)
    for part in kind.__mro__[: kind.__mro__.index(Policy)]:
        replaced |= set(vars(part))
    methods = {
        name
        for name, value in vars(Policy).items()
        if not name.startswith("__") and (callable(value) or isinstance(value, (property, classmethod, staticmethod)))
    }
    found = sorted(replaced & methods - SAID_BY_A_RULE)
    if found:
        raise InvalidInputError(
            f"{parameter} must leave the methods of Policy as they are, since a simulation plays by the compiled rule "
            f"and would not call them, but {kind.__name__} has its own {', '.join(found)}."
        )


def _refuse_used(choice: Policy, instance: Instance, available: NDArray[np.bool_] | None, parameter: str) -> None:
    if choice.round_number > 1:
        raise InvalidInputError(
            f"{parameter} must be new, since each epoch of a simulation starts from nothing, but {choice!r} has "
            "decided or learnt; give one that has not, such as its unbound()."
        )
    difference = _difference(choice, instance, available)
    if difference:
        raise InvalidInputError(
            f"{parameter} must be made for the problem of the instance, or for none, but {choice!r} has "
            f"{difference}; give its unbound() to play it here."
        )


def _difference(bound: Policy, instance: Instance, available: NDArray[np.bool_] | None) -> str | None:
    """How the problem that a policy was told differs from the instance; None if it does not."""
    problem, floors = bound.learner.problem, bound.floors
    n_arms, n_contexts = problem.available.shape
    if (n_arms, n_contexts) != instance.mean_rewards.shape:
        return f"{n_arms} arms and {n_contexts} contexts, not {instance.n_arms} and {instance.n_contexts}"
    owed = floors.amounts[:n_arms]
    if not _close(owed, instance.revenue_floors):
        return f"other revenue_floors, {owed.tolist()}, not {instance.revenue_floors.tolist()}"
    if not _same_groups(floors, instance.floors):
        return "other group_floors"
    if not bound.estimate_contexts and not _close(problem.context_probabilities, instance.context_probabilities):
        told, true = problem.context_probabilities.tolist(), instance.context_probabilities.tolist()
        return f"other context_probabilities, {told}, not {true}"
    if bound.knows_optimum:  # its pairs are those of the best plan, whichever are available
        return None
    everywhere = np.ones((n_arms, n_contexts), dtype=np.bool_)
    if not np.array_equal(problem.available, everywhere if available is None else available):
        return "other available pairs than the argument `available`"
    return None


def _same_groups(told: Floors, true: Floors) -> bool:
    """Whether the groups have the same members and floors, in any order: the rows of a plan are the same."""
    left = [(members.tobytes(), group.floor) for members, group in zip(told.group_members, told.groups, strict=True)]
    for members, group in zip(true.group_members, true.groups, strict=True):
        match = next((one for one in left if one[0] == members.tobytes() and _close(one[1], group.floor)), None)
        if match is None:
            return False
        left.remove(match)
    return not left


def _close(told: Any, true: Any) -> bool:
    return bool(np.allclose(told, true, rtol=ROUNDING, atol=0.0))
