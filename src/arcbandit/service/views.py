"""What the API shows of campaigns, plans and statistics."""

from collections.abc import Sequence

from arcbandit.service.amounts import MICRO
from arcbandit.service.api_types import (
    CampaignAnswer,
    FloorAnswer,
    PairAnswer,
    PlanAnswer,
    StatisticsAnswer,
)
from arcbandit.service.campaigns import Campaign, PlanRecord
from arcbandit.service.clock import SECOND
from arcbandit.service.service import Punctuality
from arcbandit.service.store import Statistics


def campaign_view(campaign: Campaign) -> CampaignAnswer:
    """A campaign."""
    record, settings = campaign.record, campaign.record.settings
    told = record.policy["configuration"]
    floors = [
        FloorAnswer(arm, "arm", [arm], floor) for arm, floor in zip(campaign.arms, told["revenue_floors"], strict=True)
    ]
    floors += [
        FloorAnswer(group["name"], "group", list(group["arms"]), group["floor"]) for group in told["group_floors"]
    ]
    return CampaignAnswer(
        name=record.name,
        revision=record.revision,
        policy=record.policy["policy"],
        dials=record.policy["configuration"]["dials"],
        noise_scale=record.policy["configuration"]["noise_scale"],
        arms=list(campaign.arms),
        retired_arms=[campaign.arms[row] for row in sorted(campaign.retired)],
        contexts=list(campaign.contexts),
        dropped_contexts=[campaign.contexts[column] for column in sorted(campaign.dropped)],
        floors=floors,
        reward_bounds=campaign.reward_bounds,
        reward_window_seconds=settings.reward_window_seconds,
        default_reward=settings.default_reward,
        retention_seconds=settings.retention_seconds,
        admit_contexts=settings.admit_contexts,
        replan_every_seconds=settings.replan_every_seconds,
        replan_after_rewards=settings.replan_after_rewards,
        plan_version=campaign.plan.version,
    )


def plan_view(
    campaign: Campaign,
    plan: PlanRecord,
    now: int,
    troubles: Sequence[str] = (),
    punctuality: Punctuality | None = None,
) -> PlanAnswer:
    """A plan of a campaign; an earlier one has the arms and contexts that it knew."""
    matrix, shown = plan.matrix, plan.document
    n_arms, n_contexts = matrix.shape
    behind = plan.revision != campaign.record.revision
    warnings = [*troubles, *shown.get("warnings", [])]
    conflicting = shown.get("conflicting_floors", [])
    if conflicting:
        warnings.append(f"The floors of {', '.join(conflicting)} are out of reach.")
    return PlanAnswer(
        version=plan.version,
        revision=plan.revision,
        how=plan.how,
        made_at=plan.made_at / SECOND,
        age_seconds=max(0, now - plan.made_at) / SECOND,
        is_stale=behind or bool(troubles),
        decisions=plan.decisions,
        rewards=plan.rewards,
        arms=list(campaign.arms[:n_arms]),
        contexts=list(campaign.contexts[:n_contexts]),
        allocation=matrix.tolist(),
        certificate=shown.get("certificate"),
        expected_revenue=shown.get("expected_revenue"),
        best_value=shown.get("best_value"),
        revenue_with_floors=shown.get("revenue_with_floors"),
        revenue_without_floors=shown.get("revenue_without_floors"),
        context_probabilities=shown.get("context_probabilities"),
        floors=shown.get("floors", []),
        conflicting_floors=conflicting,
        attainable_share=shown.get("attainable_share"),
        warnings=warnings,
        replan_every_seconds=None if punctuality is None else punctuality.every_seconds,
        overdue_seconds=None if punctuality is None else punctuality.overdue_seconds,
        is_late=punctuality is not None and punctuality.is_late,
    )


def statistics_view(campaign: Campaign, statistics: Statistics) -> StatisticsAnswer:
    """What was counted, pair by pair."""
    pairs = [
        PairAnswer(
            arm=campaign.arms[arm],
            context=campaign.contexts[context],
            decisions=totals.decisions,
            rewards=totals.rewards,
            total_micro=totals.total,
            squares_micro=str(totals.squares),
            mean=totals.total / totals.rewards / MICRO if totals.rewards else None,
        )
        for (arm, context), totals in sorted(statistics.pairs.items())
    ]
    revenue = sum(totals.total for totals in statistics.pairs.values())
    return StatisticsAnswer(statistics.decisions, statistics.rewards, revenue / MICRO, pairs)
