"""How promises stood in the past, from the plans that a store keeps."""

from arcbandit.service.api_errors import invalid
from arcbandit.service.api_types import FloorMoment, HistoryAnswer, HistoryPoint
from arcbandit.service.campaigns import Campaign, PlanRecord
from arcbandit.service.clock import SECOND
from arcbandit.service.store import Store

POINTS = 60  # if nobody says how many
MOST_POINTS = 200
MOST_NUMBERS = 6000  # points times floors: an answer stays small however many arms there are


def picked(last: int, points: int) -> list[int]:
    """At most so many versions from 1 to the last, evenly spaced, the last among them.

    >>> picked(5, 10), picked(100, 4), picked(1, 1)
    ([1, 2, 3, 4, 5], [1, 34, 67, 100], [1])
    """
    if last <= points:
        return list(range(1, last + 1))
    if points == 1:
        return [last]
    return [1 + place * (last - 1) // (points - 1) for place in range(points)]


async def history_of(store: Store, campaign: Campaign, points: int | None) -> HistoryAnswer:
    """The promises of a campaign, plan by plan; plans that no rule made say nothing of them and are left out."""
    wanted = POINTS if points is None else points
    if not 1 <= wanted <= MOST_POINTS:
        raise invalid(f"points must be from 1 to {MOST_POINTS}.", "points")
    in_force = campaign.plan
    n_floors = max(len(in_force.document.get("floors", ())), 1)
    versions = picked(in_force.version, min(wanted, max(MOST_NUMBERS // n_floors, 2)))
    found = []
    for version in versions[:-1]:
        plan = await store.plan(campaign.record.id, version)
        if plan is not None:
            found.append(plan)
    # The one in force may know more than the store: one that stays the same is told again without being stored again.
    return HistoryAnswer([_point(plan) for plan in (*found, in_force) if plan.document.get("floors")])


def _point(plan: PlanRecord) -> HistoryPoint:
    return HistoryPoint(
        plan.version,
        plan.made_at / SECOND,
        plan.decisions,
        plan.rewards,
        [
            FloorMoment(
                floor["name"],
                floor["floor"],
                floor["expected"],
                floor.get("low"),
                floor.get("high"),
                floor.get("earned", 0.0),
            )
            for floor in plan.document["floors"]
        ],
    )
