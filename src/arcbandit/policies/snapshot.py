"""A policy at work as plain data, and back: its configuration, its statistics, and the state of its planner.

Each of the three parts has a version of its own, so that a change in one leaves the others readable.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from arcbandit.floors import FloorKind, GroupFloor
from arcbandit.kernels.ledger import ledger_document, restore_ledger
from arcbandit.kernels.noise import Noise
from arcbandit.kernels.planner import planner_state, restore_planner
from arcbandit.policies.configuration import configured
from arcbandit.policies.forgetting import memory_document, memory_of_document, past_document, restore_past
from arcbandit.policies.learner import Learner, Progress, Rows
from arcbandit.policies.problem import told_problem
from arcbandit.policies.snapshot_checks import FORMAT, MEMORY, MEMORY_OF_SOME, OF_KNOWN, PARTS, VERSION, check_snapshot
from arcbandit.policies.snapshot_versions import of_latest_version
from arcbandit.policies.state import Labels, State, make_state, memories_of, playable
from arcbandit.policies.streams import stream_of_successor

if TYPE_CHECKING:
    from arcbandit.policies.base import Policy


def snapshot_of(state: State) -> dict[str, Any]:
    """Everything that determines future decisions."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "policy": state.configuration.name,
        "configuration": _configuration(state),
        "statistics": _statistics(state),
        "planner": _planner(state),
    }


def _configuration(state: State) -> dict[str, Any]:
    configuration, labels, problem = state.configuration, state.labels, state.learner.problem
    bounds = configuration.reward_bounds
    return {
        "version": PARTS["configuration"],
        "dials": dict(configuration.dial_values),
        "arms": list(labels.arms) if labels.named_arms else None,
        "contexts": list(labels.contexts) if labels.named_contexts else None,
        "revenue_floors": state.floors.amounts[state.floors.rows_of(FloorKind.ARM)].tolist(),
        "group_floors": [group.to_dict() for group in state.floors.groups],
        "context_probabilities": problem.context_probabilities.tolist(),
        "estimate_contexts": configuration.estimate_contexts,
        "noise_scale": configuration.noise_scale,
        "reward_bounds": None if bounds is None else list(bounds),
        "mean_bound": configuration.mean_bound,
        "horizon": configuration.horizon,
        "available": state.allowed.tolist(),
        "retired": sorted(state.retired),
        "dropped": sorted(state.dropped),
        "admit_contexts": configuration.admit_contexts,
        "admitted": state.admitted,
        "seed": configuration.seed,
        "epoch": configuration.epoch,
        "worker": configuration.worker,
        "replan": configuration.replan,
        "when_infeasible": configuration.when_infeasible,
        "memory": memory_document(configuration.memory),
        "exploration_budget": configuration.exploration_budget,
        "known_after": configuration.known_after,
        **({"guarantee": True} if configuration.guarantee else {}),
    }


def _statistics(state: State) -> dict[str, Any]:
    learner = state.learner
    return {
        "version": PARTS["statistics"],
        "stream": state.stream,
        "decisions": int(learner.progress[Progress.DECISIONS]),
        "rewards": int(learner.progress[Progress.REWARDS]),
        "by_pair": learner.statistics.by_pair.tolist(),
        "context_counts": learner.statistics.context_counts.tolist(),
        "noise": _noise(state),
        "prior": state.prior.tolist(),
        "past": past_document(learner),
        "memory": {
            part: {row.name.lower(): values[row].tolist() for row in kind or ()}
            for part, kind, values in _kept(state.configuration.kind.rows, learner)
        },
    }


def _noise(state: State) -> dict[str, float] | None:
    """The estimate of sigma and the sums behind it."""
    if not state.configuration.estimates_noise:
        return None
    learner = state.learner
    sums = {place.name.lower(): float(learner.noise[place]) for place in Noise}
    return {"scale": float(learner.settings[0].noise_scale), **sums}


def _kept(rows: Rows, learner: Learner) -> list[tuple[str, Any, Any]]:
    """The parts of a rule's memory that it keeps, and those for a second plan: name, rows and values."""
    return [
        (f"{whose}{part}", getattr(rows, part), getattr(memory, part))
        for whose, memory in zip(("", OF_KNOWN), memories_of(learner), strict=False)
        for part in MEMORY
        if part not in MEMORY_OF_SOME or getattr(rows, part) is not None
    ]


def _planner(state: State) -> dict[str, Any]:
    learner = state.learner
    return {
        "version": PARTS["planner"],
        "allocation": learner.allocation.tolist(),
        "all_played": bool(learner.progress[Progress.ALL_PLAYED]),
        "next_plan": int(learner.progress[Progress.NEXT_PLAN]),
        "planned_at": int(learner.progress[Progress.PLANNED_AT]),
        "outcome": int(learner.progress[Progress.OUTCOME]),
        "basis": planner_state(learner.planner) if state.configuration.kind.plans else None,
        "known_basis": planner_state(learner.budget.planner) if state.configuration.has_budget else None,
        **({"ledger": ledger_document(learner.ledger)} if state.configuration.guarantee else {}),
    }


def restored_state(kind: "type[Policy]", snapshot: Mapping[str, Any], worker: int | None) -> State:
    """The state of a snapshot; with a different `worker` number, on a stream of its own."""
    configured(kind)  # refuses a class that is not a rule
    latest = of_latest_version(snapshot, kind)
    check_snapshot(latest, kind)
    state = _restored(kind, latest["configuration"], latest["statistics"], latest["planner"])
    if worker is None or worker == state.configuration.worker:
        return state
    progress = state.learner.progress
    counts = int(progress[Progress.DECISIONS]), int(progress[Progress.REWARDS])
    return replace(
        state,
        configuration=replace(state.configuration, worker=worker),
        stream=stream_of_successor(state.stream, worker, *counts),
    )


def _restored(
    kind: "type[Policy]", given: Mapping[str, Any], statistics: Mapping[str, Any], planner: Mapping[str, Any]
) -> State:
    bounds = given["reward_bounds"]
    configuration = configured(
        kind,
        noise_scale=given["noise_scale"],
        reward_bounds=None if bounds is None else (bounds[0], bounds[1]),
        mean_bound=given["mean_bound"],
        horizon=given["horizon"],
        estimate_contexts=given["estimate_contexts"],
        replan=given["replan"],
        when_infeasible=given["when_infeasible"],
        admit_contexts=given["admit_contexts"],
        memory=memory_of_document(given["memory"]),
        exploration_budget=given["exploration_budget"],
        known_after=given["known_after"],
        guarantee=given.get("guarantee", False),
        seed=given["seed"],
        epoch=given["epoch"],
        worker=given["worker"],
        **given["dials"],
    )
    groups = [GroupFloor(group["name"], tuple(group["arms"]), group["floor"]) for group in given["group_floors"]]
    told = told_problem(
        given["revenue_floors"], given["context_probabilities"], given["arms"], given["contexts"], groups, None
    )
    blank = told.blank
    retired, dropped = frozenset(given["retired"]), frozenset(given["dropped"])
    allowed = np.array(given["available"], dtype=np.bool_)
    state = make_state(
        configuration,
        Labels(blank.arms, blank.contexts, told.named_arms, told.named_contexts),
        blank.floors,
        statistics["stream"],
        blank.context_probabilities.copy(),
        playable(allowed, retired, dropped),
    )
    learner = state.learner
    learner.statistics.dropped[given["dropped"]] = True
    learner.statistics.by_pair[:] = statistics["by_pair"]
    learner.statistics.context_counts[:] = statistics["context_counts"]
    for part, rows, values in _kept(kind.rows, learner):
        for row in rows or ():
            values[row] = np.array(statistics["memory"][part][row.name.lower()], dtype=np.float64)
    learner.progress[Progress.DECISIONS] = statistics["decisions"]
    learner.progress[Progress.REWARDS] = statistics["rewards"]
    learner.progress[Progress.ALL_PLAYED] = planner["all_played"]
    learner.progress[Progress.NEXT_PLAN] = planner["next_plan"]
    learner.progress[Progress.PLANNED_AT] = planner["planned_at"]
    learner.progress[Progress.OUTCOME] = planner["outcome"]
    noise = statistics["noise"]
    if noise is not None:
        learner.settings[0].noise_scale = noise["scale"]
        learner.noise[:] = [noise[place.name.lower()] for place in Noise]
    restore_past(learner, statistics["past"])
    learner.allocation[:] = planner["allocation"]
    if kind.plans:
        restore_planner(learner.planner, planner["basis"])
    if configuration.has_budget:
        restore_planner(learner.budget.planner, planner["known_basis"])
    if configuration.guarantee:
        restore_ledger(learner.ledger, planner["ledger"])
    return replace(
        state,
        allowed=allowed,
        prior=np.array(statistics["prior"], dtype=np.float64),
        retired=retired,
        dropped=dropped,
        admitted=given["admitted"],
    )
