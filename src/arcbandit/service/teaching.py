"""Library policies for campaigns: made, changed, taught from statistics, and asked for plans. Runs in the worker."""

import logging
import math
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import ArcbanditError, InvalidInputError
from arcbandit.floors import GroupFloor
from arcbandit.inputs.values import amount, known_name, shown
from arcbandit.instance import Instance
from arcbandit.policies.base import Policy
from arcbandit.policies.learner import Outcome
from arcbandit.policies.registry import POLICIES, restore
from arcbandit.policies.serving import (
    contexts_seen,
    decisions_made,
    half_widths_of,
    learns_from_totals,
    see,
    served_plan,
)
from arcbandit.service.amounts import LARGEST_REWARD, MICRO, reward_of, whole_bounds
from arcbandit.service.api_types import CreateCampaign
from arcbandit.service.campaigns import CampaignSettings, PlanRecord, bytes_of
from arcbandit.service.changes import AnyChange, change_of
from arcbandit.service.proofs import Proven, proven
from arcbandit.service.store import LearnerRecord, Reader, Statistics

log = logging.getLogger("arcbandit.service")

Floats = NDArray[np.float64]

REFOLD = 5000  # rewards that are learnt at a time
# A snapshot that was stored and cannot be restored: what is wrong with it may show anywhere in it.
WRONG = (ArcbanditError, LookupError, TypeError, ValueError)
UNREADABLE = "it cannot be decoded"
LOST = "What the rule had kept from its last plan could not be used, and it has learnt from the log again"
TOLD = ("noise_scale", "mean_bound", "horizon", "memory")


class Created(NamedTuple):
    """A campaign that may be stored."""

    settings: CampaignSettings
    policy: dict[str, Any]


def created(body: CreateCampaign) -> Created:
    """The settings and the policy of a new campaign; InvalidInputError if something is wrong with it."""
    policy = _in_millionths(_policy_of(body))
    settings = CampaignSettings(
        reward_window_seconds=body.reward_window_seconds,
        default_reward=body.default_reward,
        retention_seconds=body.retention_seconds,
        admit_contexts=body.admit_contexts,
        replan_every_seconds=body.replan_every_seconds,
        replan_after_rewards=body.replan_after_rewards,
    )
    _check_default(settings, policy)
    if settings.admit_contexts and not policy.estimate_contexts:
        raise InvalidInputError("admit_contexts must be 0 if context probabilities are given.")
    return Created(settings, policy.snapshot())


def _in_millionths(policy: Policy) -> Policy:
    """The policy with bounds that hold rewards as they are kept, which is rounded."""
    bounds = policy.reward_bounds
    if bounds is None:
        return policy
    if max(map(abs, bounds)) > LARGEST_REWARD:
        raise InvalidInputError(
            f"reward_bounds must be from {-LARGEST_REWARD:g} to {LARGEST_REWARD:g}, got {shown(bounds)}."
        )
    wider = whole_bounds(*bounds)
    if wider == bounds:
        return policy
    told = policy.snapshot()
    return restore(told | {"configuration": told["configuration"] | {"reward_bounds": list(wider)}})


def _check_default(settings: CampaignSettings, policy: Policy) -> None:
    if (settings.default_reward is None) != (settings.reward_window_seconds is None):
        raise InvalidInputError("default_reward and reward_window_seconds must be given together, got one of them.")
    if settings.default_reward is None:
        return
    if settings.reward_window_seconds is not None and settings.retention_seconds < settings.reward_window_seconds:
        raise InvalidInputError("retention_seconds must be at least reward_window_seconds.")
    default = amount("default_reward", settings.default_reward)
    low, high = policy.reward_bounds or (-LARGEST_REWARD, LARGEST_REWARD)
    if not low <= default <= high:
        raise InvalidInputError(f"default_reward must be from {low:g} to {high:g}, got {default:g}.")
    if not learns_from_totals(policy):
        raise InvalidInputError(
            f"default_reward must be left out with {policy.label}: it learns in order, and cannot take a default back."
        )


def _policy_of(body: CreateCampaign) -> Policy:
    given = [name for name in ("floors", "instance", "snapshot") if getattr(body, name) is not None]
    if len(given) != 1:
        raise InvalidInputError(f"floors, instance or snapshot must be given, one of them, got {given or 'none'}.")
    if body.snapshot is not None:
        return _policy_of_snapshot(body)
    kind = POLICIES[known_name("policy", body.policy, POLICIES)]
    dials = [dial.name for dial in kind.dials]
    for name in body.dials:
        if name not in dials:
            known = ", ".join(dials) or "it has none"
            raise InvalidInputError(f"dials must be those of {body.policy} ({known}), got {shown(name)}.")
    settings: dict[str, Any] = {
        "reward_bounds": body.reward_bounds,
        "when_infeasible": body.when_infeasible,
        "exploration_budget": body.exploration_budget,
        "known_after": body.known_after,
        **{name: getattr(body, name) for name in TOLD if getattr(body, name) is not None},
        **body.dials,
    }
    if body.instance is not None:
        if body.contexts is not None or body.group_floors:
            raise InvalidInputError("contexts and group_floors must be left out with an instance, which has its own.")
        instance = Instance.from_dict(body.instance)
        settings.setdefault("noise_scale", None if body.reward_bounds else instance.noise_scale)
        of_instance: Policy = kind(
            instance.revenue_floors,
            instance.context_probabilities,
            arms=instance.arms,
            contexts=instance.contexts,
            group_floors=instance.group_floors,
            **settings,
        )
        return of_instance
    if body.contexts is None:
        raise InvalidInputError("contexts must be given with floors, got none.")
    probabilities = body.contexts if isinstance(body.contexts, dict) else None
    made: Policy = kind(
        body.floors,
        probabilities,
        contexts=list(body.contexts),
        group_floors=[GroupFloor(group.name, tuple(group.arms), group.floor) for group in body.group_floors],
        **settings,
    )
    return made


def _policy_of_snapshot(body: CreateCampaign) -> Policy:
    """The policy of a snapshot, which plans when the service asks it to."""
    assert body.snapshot is not None
    restored = restore(body.snapshot)
    told = restored.snapshot()
    configuration = told["configuration"]
    if configuration["arms"] is None or configuration["contexts"] is None:
        raise InvalidInputError("snapshot must be of a policy whose arms and contexts have names.")
    if configuration.get("guarantee"):
        raise InvalidInputError("snapshot must be of a policy without guarantee: none is proven of plans that stand.")
    changed = {"replan": "always", "admit_contexts": 0, "admitted": 0}
    return restore(told | {"configuration": configuration | changed})


def changed(policy: dict[str, Any], change: AnyChange) -> dict[str, Any]:
    """The policy after a change; InvalidInputError if it is refused."""
    at_work = restore(policy)
    change.apply(at_work)
    return at_work.snapshot()


def _matrices(statistics: Statistics, shape: tuple[int, int]) -> tuple[Floats, Floats, Floats, Floats]:
    """Counts, sums and squares of rewards, and the decisions of each pair."""
    counts, sums, squares, decisions = (np.zeros(shape) for _ in range(4))
    for pair, totals in statistics.pairs.items():
        counts[pair] = totals.rewards
        sums[pair] = totals.total / MICRO
        squares[pair] = totals.squares / MICRO**2
        decisions[pair] = totals.decisions
    return counts, sums, squares, decisions


class Taught(NamedTuple):
    """A policy that knows all that the store knows."""

    policy: Policy
    arrival: int | None  # up to which it has learnt, if it learns in order
    lost: str = ""  # why what it kept from its last plan was of no use, if that is so


def taught(statistics: Statistics, reader: Reader) -> Taught:
    """The policy of a campaign, with what the service has seen."""
    base = restore(statistics.campaign.policy)
    shape = (len(base.arms), len(base.contexts))
    counts, sums, squares, decisions = _matrices(statistics, shape)
    visits = contexts_seen(base) + decisions.sum(axis=0)
    number = decisions_made(base) + int(decisions.sum())
    if not learns_from_totals(base):
        return _taught_in_order(statistics, reader, base)
    if counts.any():
        base.update_from_totals(counts, sums, squares)
    see(base, visits, number)
    lost = UNREADABLE if statistics.learner_is_lost else ""
    if type(base).keeps_averages and statistics.learner is not None:
        try:
            base = _with_averages(base, statistics.learner, changed=bool(statistics.changes))
        except WRONG as error:
            lost = str(error) or type(error).__name__
    return Taught(base, None, lost)


def _with_averages(policy: Policy, learner: LearnerRecord, *, changed: bool) -> Policy:
    """The policy with the averages of its earlier plans, if these are of the same shape.

    As in a policy at work, averages of plans that missed floors are not kept when the campaign has changed since.
    """
    own, earlier = policy.snapshot(), learner.snapshot
    if changed and earlier["planner"]["outcome"] & Outcome.FELL_BACK:
        return policy
    for part in ("arms", "contexts", "group_floors"):
        if own["configuration"][part] != earlier["configuration"][part]:
            return policy
    kept = own["statistics"] | {"memory": earlier["statistics"]["memory"]}
    return restore(own | {"statistics": kept})


def _taught_in_order(statistics: Statistics, reader: Reader, base: Policy) -> Taught:
    """The policy after the rewards that came since its last plan, one by one; each counts its context as seen.

    If what it kept is of no use, it learns all rewards again, from the first.
    """
    campaign, learner = statistics.campaign, statistics.learner
    after = 0
    policy = base
    lost = UNREADABLE if statistics.learner_is_lost else ""
    if learner is not None:
        try:
            policy = _as_it_was(learner, statistics, base)
            after = learner.arrival
        except WRONG as error:
            lost = str(error) or type(error).__name__
    until = reader.last_arrival()
    batch: list[tuple[Any, Any, float]] = []
    for arrival in reader.arrivals(campaign.id, after, until):
        batch.append((policy.contexts[arrival.context], policy.arms[arrival.arm], reward_of(arrival.micro)))
        if len(batch) == REFOLD:
            policy.update_many(*zip(*batch, strict=True), count_contexts=True)
            batch = []
    if batch:
        policy.update_many(*zip(*batch, strict=True), count_contexts=True)
    return Taught(policy, until, lost)


def _as_it_was(learner: LearnerRecord, statistics: Statistics, base: Policy) -> Policy:
    """The policy after its last plan, with the changes of the campaign since then."""
    policy = restore(learner.snapshot)
    for change in statistics.changes:
        change_of(change).apply(policy)
    if (type(policy), policy.arms, policy.contexts) != (type(base), base.arms, base.contexts):
        raise InvalidInputError("it is of another campaign.")
    return policy


class Planned(NamedTuple):
    """A plan that may be published, and what its rule keeps, if anything."""

    plan: PlanRecord
    learner: LearnerRecord | None


def planned(statistics: Statistics, reader: Reader) -> Planned:
    """The next plan of a campaign, proven; PlanningError if it cannot be."""
    told = taught(statistics, reader)
    policy = told.policy
    keeps = told.arrival is not None or type(policy).keeps_averages
    before = policy.snapshot() if keeps else None
    found = _proven(policy, statistics)
    if told.lost:
        found.document["warnings"] = [f"{LOST} ({told.lost.rstrip('.')})."]
        log.warning("Campaign %s: %s (%s)", statistics.campaign.name, LOST, told.lost)
    learner = None
    if before is not None:
        kept = _without_the_decision(before, policy.snapshot())
        learner = LearnerRecord(statistics.campaign.revision, told.arrival or 0, kept)
    return Planned(_record(statistics, found), learner)


def _without_the_decision(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """A policy as it was before a plan was asked of it, with what the plan adds: averages, its number and its outcome.

    To be asked, the policy decides in a context that did not come. That visit is not kept, and its number, from which
    random numbers follow, only while it does not make a round of its own: memories fade by rounds.
    """
    own, later = before["statistics"], after["statistics"]
    rounds = min(own["rewards"], int(sum(own["context_counts"])))
    number = min(later["decisions"], max(own["decisions"], rounds))
    kept = {"memory": later["memory"], "decisions": number}
    planner = before["planner"] | {"outcome": after["planner"]["outcome"]}
    return before | {"statistics": own | kept, "planner": planner}


def _proven(policy: Policy, statistics: Statistics) -> Proven:
    """The plan of a policy with its proof, the interval of what each floor is expected to earn, and what it earned."""
    served = served_plan(policy)
    found = proven(policy, served)
    earned = np.zeros(found.allocation.shape[0])
    for (arm, _), totals in statistics.pairs.items():
        earned[arm] += totals.total / MICRO
    half = half_widths_of(policy, served, found.allocation).tolist()
    totals_of = served.floors.by_floor(earned).tolist()
    for floor, width, total in zip(found.document["floors"], half, totals_of, strict=True):
        known = math.isfinite(width)
        floor["low"] = floor["expected"] - width if known else None
        floor["high"] = floor["expected"] + width if known else None
        floor["earned"] = total
    return found


def _record(statistics: Statistics, found: Proven) -> PlanRecord:
    return PlanRecord(
        version=statistics.plan.version + 1,
        revision=statistics.campaign.revision,
        made_at=0,  # the store says when
        decisions=statistics.decisions,
        rewards=statistics.rewards,
        how=found.how,
        n_contexts=found.allocation.shape[1],
        allocation=bytes_of(found.allocation),
        document=found.document,
    )


def what_if(statistics: Statistics, reader: Reader, floors: dict[str, float]) -> PlanRecord:
    """The plan that would be made with other floors, of which nothing is kept."""
    policy = taught(statistics, reader).policy
    for name, floor in floors.items():
        policy.set_floor(name, floor)
    return _record(statistics, _proven(policy, statistics))


def status(statistics: Statistics, reader: Reader) -> dict[str, Any]:
    """How the campaign is, under the plan in force."""
    policy = taught(statistics, reader).policy
    allocation = policy.learner.allocation
    matrix = statistics.plan.matrix
    if matrix.shape != allocation.shape:
        raise InvalidInputError(f"The plan must have the shape {allocation.shape}, got {shown(matrix.shape)}.")
    allocation[:] = matrix
    document = policy.status().to_dict()
    return document | {
        "how": statistics.plan.how,
        "plan_version": statistics.plan.version,
        "plan_age": statistics.decisions - statistics.plan.decisions,
        "decisions": statistics.decisions,
        "rewards": statistics.rewards,
    }


def body_of(document: dict[str, Any]) -> CreateCampaign:
    """The body of a request that was checked when it came."""
    return msgspec.convert(document, type=CreateCampaign)
