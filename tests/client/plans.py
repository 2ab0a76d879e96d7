"""A plan as a service tells it."""

from arcbandit.service.api_types import PlanAnswer

PLAN = PlanAnswer(
    version=1,
    revision=1,
    how="planned",
    made_at=0.0,
    age_seconds=0.0,
    is_stale=False,
    decisions=0,
    rewards=0,
    arms=["house", "guest"],
    contexts=["phone", "tv"],
    allocation=[[0.25, 1.0], [0.75, 0.0]],
    certificate=None,
    expected_revenue=None,
    best_value=None,
    revenue_with_floors=None,
    revenue_without_floors=None,
    context_probabilities=None,
    floors=[],
    conflicting_floors=[],
    attainable_share=None,
    warnings=[],
)
