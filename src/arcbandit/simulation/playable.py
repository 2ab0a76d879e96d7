"""Which policies a simulation can play: those whose rule the compiled loop knows, on the problem it is given."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import InvalidInputError
from arcbandit.instance import Instance
from arcbandit.policies.base import Policy
from arcbandit.policies.registry import policy as policy_by_name

# What a simulation asks of a policy before the first round; from then on it calls the kernels of the rule.
ASKED = {
    "for_instance",
    "unbound",
    "label",
    "_check_dials",
    "_check_replan",
    "_start",
    "_make_problem",
    "_make_settings",
    "_make_room",
}
# Floors and probabilities closer than this are the same, but for rounding.
ROUNDING = 1e-9


def playable(
    choice: Any, instance: Instance, available: NDArray[np.bool_] | None, parameter: str = "policies"
) -> Policy:
    """The configuration of a policy that is given by name or as an object; refuse one that would be played otherwise.

    That is a policy with methods of its own, which the compiled loop would not call; one that has learnt, which would
    start afresh; and one made for another problem.
    """
    if isinstance(choice, str):
        return policy_by_name(choice)
    if not isinstance(choice, Policy):
        raise InvalidInputError(f"{parameter} must be names or policies, got {choice!r}.")
    own = _own_methods(choice)
    if own:
        raise InvalidInputError(
            f"{parameter} must leave the methods of Policy as they are, since a simulation plays by the compiled rule "
            f"and would not call them, but {type(choice).__name__} has its own {', '.join(own)}."
        )
    if choice._bound:
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
    return choice.unbound()


def _own_methods(choice: Policy) -> list[str]:
    """The methods and properties of Policy that a subclass, or the object itself, has replaced."""
    replaced: set[str] = set(vars(choice))
    for kind in type(choice).__mro__[: type(choice).__mro__.index(Policy)]:
        replaced |= set(vars(kind))
    methods = {
        name
        for name, value in vars(Policy).items()
        if not name.startswith("__") and (callable(value) or isinstance(value, (property, classmethod, staticmethod)))
    }
    return sorted(replaced & methods - ASKED)


def _difference(bound: Policy, instance: Instance, available: NDArray[np.bool_] | None) -> str | None:
    """What a policy was told otherwise than the instance has it; None if nothing."""
    problem = bound._problem
    n_arms, n_contexts = problem.available.shape
    if (n_arms, n_contexts) != instance.mean_rewards.shape:
        return f"{n_arms} arms and {n_contexts} contexts, not {instance.n_arms} and {instance.n_contexts}"
    if not _close(bound._arm_floors, instance.revenue_floors):
        return f"other revenue_floors, {bound._arm_floors}, not {instance.revenue_floors.tolist()}"
    if not _same_groups(bound, instance):
        return "other group_floors"
    if not bound.estimate_contexts and not _close(problem.context_probabilities, instance.context_probabilities):
        told, true = problem.context_probabilities.tolist(), instance.context_probabilities.tolist()
        return f"other context_probabilities, {told}, not {true}"
    everywhere = np.ones((n_arms, n_contexts), dtype=np.bool_)
    if not np.array_equal(problem.available, everywhere if available is None else available):
        return "other pairs available than the argument `available` says"
    return None


def _same_groups(bound: Policy, instance: Instance) -> bool:
    told = [(frozenset(bound._arm_names.index(str(arm)) for arm in group.arms), group.floor) for group in bound._groups]
    true = [
        (frozenset(np.flatnonzero(members).tolist()), group.floor)
        for members, group in zip(instance.group_members, instance.group_floors, strict=True)
    ]
    # In any order: the rows of a plan are the same.
    for members, floor in true:
        match = next((one for one in told if one[0] == members and _close(one[1], floor)), None)
        if match is None:
            return False
        told.remove(match)
    return not told


def _close(told: Any, true: Any) -> bool:
    return bool(np.allclose(told, true, rtol=ROUNDING, atol=0.0))
