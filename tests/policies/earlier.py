"""Snapshots as earlier versions wrote them."""

import json

# What the parts of a snapshot hold since policies change at work.
LATER = {
    "configuration": (
        "when_infeasible",
        "dropped",
        "admit_contexts",
        "admitted",
        "memory",
        "exploration_budget",
        "known_after",
    ),
    "statistics": ("noise", "prior", "past"),
    "planner": ("planned_at", "outcome", "known_basis"),
}
VERSIONS = {"configuration": 2, "statistics": 1, "planner": 1}


def before_changes(snapshot):
    """The snapshot of a policy that uses nothing of later, as written before policies changed at work."""
    snapshot = json.loads(json.dumps(snapshot))
    for part, fields in LATER.items():
        for field in fields:
            del snapshot[part][field]
        snapshot[part]["version"] = VERSIONS[part]
    return snapshot
