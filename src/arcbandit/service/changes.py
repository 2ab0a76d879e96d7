"""Changes of a campaign: each is data, is kept in the store, and is made by the method of a policy that it names."""

from typing import TYPE_CHECKING, Annotated, Any

import msgspec

if TYPE_CHECKING:
    from arcbandit.policies.base import Policy

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
Number = float
LARGEST_COUNT = 10**15  # far beyond any use, and every format holds it


class Change(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="change", omit_defaults=True):
    """A change of a campaign; the field `change` says which."""

    def apply(self, policy: "Policy") -> None:
        """Make the change, whole or, if the policy refuses it, not at all."""
        raise NotImplementedError


class SetFloor(Change, frozen=True, tag="set_floor"):
    """Another floor for an arm or a group."""

    name: Name
    floor: Number

    def apply(self, policy: "Policy") -> None:
        """Make the change."""
        policy.set_floor(self.name, self.floor)


class AddArm(Change, frozen=True, tag="add_arm"):
    """One more arm, which may have a prior."""

    name: Name
    floor: Number = 0.0
    available: dict[Name, bool] | None = None
    prior_mean: Number | None = None
    prior_pulls: Number | None = None

    def apply(self, policy: "Policy") -> None:
        """Make the change."""
        policy.add_arm(
            self.name, self.floor, available=self.available, prior_mean=self.prior_mean, prior_pulls=self.prior_pulls
        )


class RetireArm(Change, frozen=True, tag="retire_arm"):
    """Stop playing an arm, and drop its floor."""

    name: Name

    def apply(self, policy: "Policy") -> None:
        """Make the change."""
        policy.retire_arm(self.name)


class ReturnArm(Change, frozen=True, tag="return_arm"):
    """Play a retired arm again, with what was learnt of it."""

    name: Name
    floor: Number = 0.0

    def apply(self, policy: "Policy") -> None:
        """Make the change."""
        policy.return_arm(self.name, self.floor)


class SetAvailable(Change, frozen=True, tag="set_available"):
    """Say whether an arm may be played in a context; without one of them, in all."""

    available: bool
    arm: Name | None = None
    context: Name | None = None

    def apply(self, policy: "Policy") -> None:
        """Make the change."""
        policy.set_available(self.arm, self.context, self.available)


class AddContext(Change, frozen=True, tag="add_context"):
    """One more context, or one that was dropped and is taken back."""

    name: Name
    probability: Number | None = None

    def apply(self, policy: "Policy") -> None:
        """Make the change."""
        policy.add_context(self.name, self.probability)


class DropContext(Change, frozen=True, tag="drop_context"):
    """Decide no more in a context."""

    name: Name

    def apply(self, policy: "Policy") -> None:
        """Make the change."""
        policy.drop_context(self.name)


class SetContextProbabilities(Change, frozen=True, tag="set_context_probabilities"):
    """Other probabilities of the contexts, if they are not estimated."""

    probabilities: dict[Name, Number]

    def apply(self, policy: "Policy") -> None:
        """Make the change."""
        policy.set_context_probabilities(self.probabilities)


class AddGroup(Change, frozen=True, tag="add_group"):
    """A floor that several arms share."""

    name: Name
    arms: list[Name]
    floor: Number

    def apply(self, policy: "Policy") -> None:
        """Make the change."""
        policy.add_group(self.name, self.arms, self.floor)


class SetGroup(Change, frozen=True, tag="set_group"):
    """Other members of a group, another floor, or both."""

    name: Name
    arms: list[Name] | None = None
    floor: Number | None = None

    def apply(self, policy: "Policy") -> None:
        """Make the change."""
        policy.set_group(self.name, arms=self.arms, floor=self.floor)


class RemoveGroup(Change, frozen=True, tag="remove_group"):
    """Drop the floor of a group."""

    name: Name

    def apply(self, policy: "Policy") -> None:
        """Make the change."""
        policy.remove_group(self.name)


class SetExplorationBudget(Change, frozen=True, tag="set_exploration_budget"):
    """Another share of each context for pairs that are not yet known."""

    exploration_budget: Number
    known_after: Annotated[int, msgspec.Meta(ge=0, le=LARGEST_COUNT)] | None = None

    def apply(self, policy: "Policy") -> None:
        """Make the change."""
        policy.set_exploration_budget(self.exploration_budget, self.known_after)


AnyChange = (
    SetFloor
    | AddArm
    | RetireArm
    | ReturnArm
    | SetAvailable
    | AddContext
    | DropContext
    | SetContextProbabilities
    | AddGroup
    | SetGroup
    | RemoveGroup
    | SetExplorationBudget
)


def change_of(document: dict[str, Any]) -> AnyChange:
    """The change of a document that was checked when it came."""
    found: AnyChange = msgspec.convert(document, type=AnyChange)
    return found


def document_of(change: AnyChange) -> dict[str, Any]:
    """A change as plain data."""
    plain: dict[str, Any] = msgspec.to_builtins(change)
    return plain
