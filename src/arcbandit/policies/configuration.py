"""How a policy is set up, without a problem: its rule, its dials and its settings."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from arcbandit.errors import InvalidInputError
from arcbandit.inputs.similar import did_you_mean
from arcbandit.inputs.values import (
    choice,
    instance_of,
    is_count,
    is_real,
    positive,
    shown,
    truth,
    whole,
)
from arcbandit.instance import Instance
from arcbandit.policies.budget import KNOWN_AFTER, LEAST_BUDGET, NO_BUDGET
from arcbandit.policies.dials import bounds_of_rewards
from arcbandit.policies.forgetting import Window, checked_memory, memory_label

if TYPE_CHECKING:
    from arcbandit.inputs.frames import Table
    from arcbandit.policies.base import Policy

REPLAN_WORDS = ("always", "doubling")
ESTIMATE = "estimate"
LEAST_SHORTFALL = "least_shortfall"
SAME_SHARE = "same_share"


@dataclass(frozen=True, repr=False)
class Configuration:
    """A rule with its dials and settings, which `for_instance`, the simulator or an experiment apply to a problem.

    Calling a policy class without `revenue_floors`, as in ``OLP()``, makes one; see `Policy` for the arguments.

    >>> from arcbandit import BLP, OLP, paper_instance, simulate
    >>> OLP(replan="doubling")
    OLP(replan='doubling')
    >>> simulate(paper_instance("nu"), [BLP(), OLP(replan="doubling")], 100, epochs=1).policies
    ('blp', 'olp(replan=doubling)')
    """

    kind: "type[Policy]"
    dial_values: Mapping[str, Any]
    noise_scale: float | Literal["estimate"] | None = None
    reward_bounds: tuple[float, float] | None = None
    mean_bound: float | None = None
    horizon: int | None = None
    estimate_contexts: bool = False
    replan: str | int = "always"
    when_infeasible: str = LEAST_SHORTFALL
    admit_contexts: int = 0
    memory: float | Window | None = None
    exploration_budget: float = NO_BUDGET
    known_after: int = KNOWN_AFTER
    guarantee: bool = False
    seed: int | None = 0
    epoch: int = 0
    worker: int = 0

    def __post_init__(self) -> None:
        # Read-only, so that what was checked cannot change.
        object.__setattr__(self, "dial_values", MappingProxyType(dict(self.dial_values)))

    def __hash__(self) -> int:
        return hash((self.kind, *self.settings().items()))

    @property
    def name(self) -> str:
        """The name of the rule."""
        return self.kind.name

    @property
    def estimates_noise(self) -> bool:
        """Whether sigma is estimated: because that was asked for, or because nothing was said of it."""
        return self.noise_scale == ESTIMATE or (self.noise_scale is None and self.reward_bounds is None)

    @property
    def has_budget(self) -> bool:
        """Whether pairs that are not yet known are held to a share of the traffic."""
        return self.exploration_budget < NO_BUDGET

    @property
    def label(self) -> str:
        """The name, the dials that are not at their default, and what else makes it play differently.

        p=? if context probabilities are estimated, σ=? if sigma is, same_share if floors out of reach all get the same
        share, replan if it does not plan always, memory if it forgets, budget if exploration has one, and guarantee.
        """
        changed = [
            f"{dial.name}={self.dial_values[dial.name]:{'' if dial.choices else 'g'}}"
            for dial in self.kind.dials
            if self.dial_values[dial.name] != dial.default
        ]
        if self.estimate_contexts:
            changed.append("p=?")
        if self.noise_scale == ESTIMATE:
            changed.append("σ=?")
        if self.when_infeasible != LEAST_SHORTFALL:
            changed.append(self.when_infeasible)
        if self.replan != "always":
            changed.append(f"replan={self.replan}")
        if self.memory is not None:
            changed.append(memory_label(self.memory))
        if self.has_budget:
            changed.append(f"budget={self.exploration_budget:g}")
            if self.known_after != KNOWN_AFTER:
                changed.append(f"known_after={self.known_after}")
        if self.guarantee:
            changed.append("guarantee")
        return f"{self.name}({', '.join(changed)})" if changed else self.name

    def unbound(self) -> "Configuration":
        """Return itself, for symmetry with a policy at work.

        >>> from arcbandit import BLP
        >>> configured = BLP(replan=10)
        >>> configured.unbound() is configured
        True
        """
        return self

    def for_instance(
        self,
        instance: Instance,
        *,
        horizon: int | None = None,
        available: "Table | None" = None,
        seed: int | None = None,
        epoch: int | None = None,
        worker: int | None = None,
    ) -> "Policy":
        """A policy at work with these dials, ready for the arms, contexts and floors of an instance.

        It is told what a learner may know of the instance: not the means, but, for rules that scale rewards, an upper
        bound on them. Only a clairvoyant, which is for simulations, is told the best plan. `seed`, `epoch` and `worker`
        default to those of this configuration.

        >>> from arcbandit import BLP, paper_instance
        >>> BLP().for_instance(paper_instance("nu"), seed=3)
        <BLP(): 3 arms x 3 contexts, round 1>
        """
        instance_of("instance", instance, Instance, ", such as paper_instance('nu')")
        mean_bound = self.mean_bound
        if mean_bound is None and self.reward_bounds is None and self.kind.needs_mean_bound:
            largest = float(instance.mean_rewards.max())
            mean_bound = largest if largest > 0.0 else None
        told = replace(
            self,
            noise_scale=instance.noise_scale if self.noise_scale is None else self.noise_scale,
            mean_bound=mean_bound,
            horizon=self.horizon if horizon is None else whole("horizon", horizon, 1),
            seed=self.seed if seed is None else whole("seed", seed, 0),
            epoch=self.epoch if epoch is None else whole("epoch", epoch, 0),
            worker=self.worker if worker is None else whole("worker", worker, 0),
        )
        beyond: dict[str, Any] = {"instance": instance} if self.kind.knows_optimum else {}
        return self.kind(
            instance.revenue_floors,
            None if self.estimate_contexts else instance.context_probabilities,
            arms=instance.arms,
            contexts=instance.contexts,
            group_floors=instance.group_floors,
            available=available,
            **beyond,
            **told.settings(),
        )

    def settings(self) -> dict[str, Any]:
        """The arguments that make this configuration.

        >>> from arcbandit import BLP
        >>> BLP(replan=10).settings()["replan"]
        10
        """
        return {
            "noise_scale": self.noise_scale,
            "reward_bounds": self.reward_bounds,
            "mean_bound": self.mean_bound,
            "horizon": self.horizon,
            "estimate_contexts": self.estimate_contexts,
            "replan": self.replan,
            "when_infeasible": self.when_infeasible,
            "admit_contexts": self.admit_contexts,
            "memory": self.memory,
            "exploration_budget": self.exploration_budget,
            "known_after": self.known_after,
            "guarantee": self.guarantee,
            "seed": self.seed,
            "epoch": self.epoch,
            "worker": self.worker,
            **self.dial_values,
        }

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _configured, (self.kind, self.settings())

    def __repr__(self) -> str:
        return f"{self.kind.__name__}({shown_dials(self)})"


SHOWN = ("replan", "when_infeasible", "memory", "exploration_budget", "known_after", "guarantee", "estimate_contexts")


def shown_dials(configuration: Configuration) -> str:
    """The dials as a constructor takes them, and settings that are not as usual."""
    values = dict(configuration.dial_values)
    for name in SHOWN:
        value = getattr(configuration, name)
        if value != Configuration.__dataclass_fields__[name].default:
            values[name] = value
    return ", ".join(f"{name}={value!r}" for name, value in values.items())


def configured(
    kind: "type[Policy]",
    *,
    noise_scale: Any = None,
    reward_bounds: Any = None,
    mean_bound: Any = None,
    horizon: Any = None,
    estimate_contexts: Any = False,
    replan: Any = "always",
    when_infeasible: Any = LEAST_SHORTFALL,
    admit_contexts: Any = 0,
    memory: Any = None,
    exploration_budget: Any = NO_BUDGET,
    known_after: Any = KNOWN_AFTER,
    guarantee: Any = False,
    seed: Any = 0,
    epoch: Any = 0,
    worker: Any = 0,
    **dials: Any,
) -> Configuration:
    """The configuration with these arguments, each checked."""
    if not hasattr(kind, "allocate") or not hasattr(kind, "name"):
        raise InvalidInputError(f"{kind.__name__} itself has no rule to decide by; use a policy such as BLP.")
    made = Configuration(
        kind=kind,
        dial_values=_checked_dials(kind, dials),
        noise_scale=_checked_noise(noise_scale),
        reward_bounds=bounds_of_rewards(reward_bounds),
        mean_bound=None if mean_bound is None else positive("mean_bound", mean_bound),
        horizon=None if horizon is None else whole("horizon", horizon, 1),
        estimate_contexts=truth("estimate_contexts", estimate_contexts),
        replan=_checked_replan(kind, replan),
        when_infeasible=_checked_when_infeasible(kind, when_infeasible),
        admit_contexts=whole("admit_contexts", admit_contexts, 0),
        memory=checked_memory(kind, memory),
        exploration_budget=checked_budget(kind, exploration_budget),
        known_after=whole("known_after", known_after, 1),
        guarantee=truth("guarantee", guarantee),
        seed=None if seed is None else whole("seed", seed, 0),
        epoch=whole("epoch", epoch, 0),
        worker=whole("worker", worker, 0),
    )
    check_guarantee(made)
    return made


def check_guarantee(configuration: Configuration) -> None:
    """Refuse a guarantee beside settings of which nothing is proven."""
    if not configuration.guarantee:
        return
    kind = configuration.kind
    if not kind.plans:
        raise InvalidInputError(f"guarantee must be False for {kind.__name__}, which does not plan, got True.")
    beside = {
        "replan": configuration.replan != "always",
        "memory": configuration.memory is not None,
        "exploration_budget": configuration.has_budget,
        "estimate_contexts": configuration.estimate_contexts,
        "noise_scale": configuration.noise_scale == ESTIMATE,
    }
    for name, given in beside.items():
        if given:
            got = shown(getattr(configuration, name))
            usual = shown(Configuration.__dataclass_fields__[name].default)
            must = "a number or left out" if name == "noise_scale" else usual
            raise InvalidInputError(
                f"{name} must be {must} with guarantee=True, which is proven for no other, got {got}."
            )


def _configured(kind: "type[Policy]", settings: dict[str, Any]) -> Configuration:
    """A configuration, for unpickling."""
    return configured(kind, **settings)


def _checked_noise(noise_scale: Any) -> float | Literal["estimate"] | None:
    if noise_scale is None:
        return None
    if isinstance(noise_scale, str):
        if noise_scale != ESTIMATE:
            raise InvalidInputError(f"noise_scale must be a number above 0 or {ESTIMATE!r}, got {shown(noise_scale)}.")
        return "estimate"
    return positive("noise_scale", noise_scale)


def _checked_replan(kind: "type[Policy]", replan: Any) -> str | int:
    if isinstance(replan, str) and replan in REPLAN_WORDS:
        chosen: str | int = replan
    elif is_count(replan):
        chosen = whole("replan", replan, 1)
    else:
        raise InvalidInputError(
            f"replan must be 'always', 'doubling' or a number of rounds, "
            f"got {shown(replan)}{did_you_mean(replan, REPLAN_WORDS)}."
        )
    if chosen != "always" and not kind.plans:
        raise InvalidInputError(f"replan must be 'always' for {kind.__name__}, which does not plan, got {replan!r}.")
    return chosen


def _checked_when_infeasible(kind: "type[Policy]", chosen: Any) -> str:
    choice("when_infeasible", chosen, (LEAST_SHORTFALL, SAME_SHARE))
    if chosen != LEAST_SHORTFALL and not kind.plans:
        raise InvalidInputError(
            f"when_infeasible must be {LEAST_SHORTFALL!r} for {kind.__name__}, which does not plan, got {chosen!r}."
        )
    return str(chosen)


def checked_budget(kind: "type[Policy]", budget: Any) -> float:
    """The share of a context that pairs not yet known may have together, checked for a class of policies."""
    if not is_real(budget) or not LEAST_BUDGET <= budget <= NO_BUDGET:
        raise InvalidInputError(
            f"exploration_budget must be a share from {LEAST_BUDGET:g} to 1, which is no budget, got {shown(budget)}."
        )
    if budget < NO_BUDGET and not kind.plans:
        raise InvalidInputError(
            f"exploration_budget must be 1 for {kind.__name__}, which does not plan, got {shown(budget)}."
        )
    return float(budget)


def _checked_dials(kind: "type[Policy]", given: Mapping[str, Any]) -> dict[str, Any]:
    known = {dial.name: dial for dial in kind.dials}
    for name in given:
        if name not in known:
            has = f"its dials are {', '.join(known)}" if known else "it has no dials"
            hint = did_you_mean(name, (*known, *inspect.signature(kind).parameters))
            raise InvalidInputError(f"{kind.__name__} has no dial {name!r}{hint}: {has}.")
    return {name: dial.plain(given.get(name, dial.default)) for name, dial in known.items()}
