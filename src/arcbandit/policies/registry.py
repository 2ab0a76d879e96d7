"""Policies by name."""

from typing import Any

from arcbandit.inputs.values import instance_of, known_name
from arcbandit.policies.bandit_q import BanditQ
from arcbandit.policies.base import Policy
from arcbandit.policies.blp import BLP
from arcbandit.policies.doc import DOC
from arcbandit.policies.drift_plus_penalty import DriftPlusPenalty
from arcbandit.policies.greedy import Greedy
from arcbandit.policies.lagrange_cb import LagrangeCB
from arcbandit.policies.linear_program import LinearProgramRule
from arcbandit.policies.loe2d import LOE2D
from arcbandit.policies.olp import OLP
from arcbandit.policies.oplp import OPLP
from arcbandit.policies.optimistic3 import Optimistic3
from arcbandit.policies.sgoc import SGOC
from arcbandit.policies.spoc import SPOC
from arcbandit.policies.thompson_lp import ThompsonLP

POLICIES: dict[str, type[Policy]] = {
    kind.name: kind
    for kind in (
        OLP,
        OPLP,
        BLP,
        Greedy,
        LinearProgramRule,
        ThompsonLP,
        Optimistic3,
        DOC,
        SPOC,
        SGOC,
        LOE2D,
        LagrangeCB,
        DriftPlusPenalty,
        BanditQ,
    )
}


def policy(name: str, *problem: Any, **settings: Any) -> Policy:
    """The policy of that name, with the arguments of its class.

    >>> policy("olp", [0.1, 0.2], [0.5, 0.5]).decide(0).round_number
    1
    """
    return POLICIES[known_name("policy", name, POLICIES)](*problem, **settings)


def restore(snapshot: Any, *, worker: int | None = None) -> Policy:
    """The policy of a snapshot, of whatever class it was; with `worker`, taken up by that worker."""
    instance_of("snapshot", snapshot, dict)
    return POLICIES[known_name("policy", snapshot.get("policy"), POLICIES)].restore(snapshot, worker=worker)
