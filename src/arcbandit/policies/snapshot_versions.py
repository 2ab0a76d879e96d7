"""Converts snapshots of earlier versions to the latest one."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from arcbandit.policies.budget import KNOWN_AFTER, NO_BUDGET
from arcbandit.policies.configuration import LEAST_SHORTFALL
from arcbandit.policies.snapshot_checks import PARTS, VERSION

if TYPE_CHECKING:
    from arcbandit.policies.base import Policy

CONFIGURATION = (
    "dials",
    "arms",
    "contexts",
    "revenue_floors",
    "group_floors",
    "context_probabilities",
    "estimate_contexts",
    "noise_scale",
    "reward_bounds",
    "mean_bound",
    "horizon",
    "available",
    "retired",
    "seed",
    "epoch",
    "worker",
    "replan",
)
LATER_SETTINGS: dict[str, Any] = {
    "when_infeasible": LEAST_SHORTFALL,
    "dropped": [],
    "admit_contexts": 0,
    "admitted": 0,
    "memory": None,
    "exploration_budget": NO_BUDGET,
    "known_after": KNOWN_AFTER,
}
LATER_OF_PLANNER = ("planned_at", "outcome", "known_basis")
HEAD = ("format", "version", "policy")
OTHERS = ("stream", "next_plan", "all_played", "decisions", "rewards", "allocation", "statistics", "memory", "scales")


def of_latest_version(snapshot: Any, kind: "type[Policy]") -> Any:
    """A snapshot as one of the latest version; anything else is left for the check to refuse."""
    return _of_today(_with_later_settings(_with_later_dials(_parted(_with_workers(snapshot), kind), kind)))


def _is_version(snapshot: Any, version: int) -> bool:
    return isinstance(snapshot, Mapping) and type(snapshot.get("version")) is int and snapshot["version"] == version


def _with_workers(snapshot: Any) -> Any:
    """Version 1 as version 2: there were no workers yet, and scales were measured again."""
    added = ("worker", "stream", "scales")
    if not _is_version(snapshot, 1) or any(map(snapshot.get, added)):
        return snapshot
    n_rows = sum(len(items) for items in map(snapshot.get, ("revenue_floors", "group_floors")) if type(items) is list)
    scales = {"by_row": [1.0] * (n_rows + 1), "age": -1}
    return {**snapshot, "version": 2, "worker": 0, "stream": snapshot.get("seed"), "scales": scales}


def _parted(snapshot: Any, kind: "type[Policy]") -> Any:
    """Version 2 as version 3: the fields in three parts, and a rule's memory by names of its own."""
    if not _is_version(snapshot, 2):
        return snapshot
    unknown = {name: value for name, value in snapshot.items() if name not in (*HEAD, *CONFIGURATION, *OTHERS)}
    memory, scales = _table(snapshot, "memory"), _table(snapshot, "scales")
    statistics = _table(snapshot, "statistics")
    basis = {
        **_present(memory, {"key": "key", "slot_arm": "slot_arm", "slot_context": "slot_context"}),
        **_present(scales, {"by_row": "row_scales", "age": "scales_age"}),
    }
    return {
        **{name: snapshot[name] for name in HEAD if name in snapshot},
        **unknown,
        "version": VERSION,
        "configuration": {
            "version": 1,
            **_present(snapshot, {name: name for name in CONFIGURATION}),
        },
        "statistics": {
            "version": 1,
            **_present(snapshot, {name: name for name in ("stream", "decisions", "rewards")}),
            **statistics,
            "memory": _memory_by_name(memory, kind),
        },
        "planner": {
            "version": 1,
            **_present(snapshot, {name: name for name in ("allocation", "all_played", "next_plan")}),
            "basis": basis if kind.plans else None,
        },
    }


def _with_later_dials(snapshot: Any, kind: "type[Policy]") -> Any:
    """With dials that came after this version of the configuration, set to what the rule did before; 1 becomes 2."""
    earlier = range(1, PARTS["configuration"])
    version = next((one for one in earlier if _is_version(_table(snapshot, "configuration"), one)), None)
    if not _is_version(snapshot, VERSION) or version is None:
        return snapshot
    configuration = snapshot["configuration"]
    dials = configuration.get("dials")
    if isinstance(dials, Mapping):
        later = {dial.name: dial.before for dial in kind.dials if dial.since > version}
        configuration = {**configuration, "dials": {**later, **dials}}
    return {**snapshot, "configuration": {**configuration, "version": max(version, 2)}}


def _with_later_settings(snapshot: Any) -> Any:
    """Parts from before policies changed at work as those after: what came later is set to what was before.

    A part that holds a field of later is left for the check to refuse.
    """
    if not _is_version(snapshot, VERSION):
        return snapshot
    parts = {part: snapshot.get(part) for part in PARTS}
    if _is_earlier(parts["statistics"], 1, ("noise", "prior", "past")):
        parts["statistics"] = _with_prior(parts["statistics"], _table(snapshot, "configuration").get("available"))
    if _is_earlier(parts["planner"], 1, LATER_OF_PLANNER):
        last = _table(snapshot, "statistics").get("decisions")
        later = {"planned_at": last, "outcome": 0, "known_basis": None}
        parts["planner"] = {**parts["planner"], **later, "version": 2}
    if _is_earlier(parts["configuration"], 2, LATER_SETTINGS):
        noise = _table(parts, "statistics").get("noise")
        parts["configuration"] = _with_changes(parts["configuration"], estimates_noise=noise is not None)
    return {**snapshot, **{part: fields for part, fields in parts.items() if part in snapshot}}


def _of_today(snapshot: Any) -> Any:
    """Version 3 of the configuration as version 4: dials came, which it has by now."""
    if not _is_version(snapshot, VERSION) or not _is_version(_table(snapshot, "configuration"), 3):
        return snapshot
    return {**snapshot, "configuration": {**snapshot["configuration"], "version": 4}}


def _is_earlier(part: Any, version: int, later: Iterable[str]) -> bool:
    return _is_version(part, version) and not any(field in part for field in later)


def _with_changes(configuration: Mapping[str, Any], *, estimates_noise: bool) -> dict[str, Any]:
    """Version 2 of the configuration as version 3: if nothing was said of sigma, it was 1.

    `available` had forgotten where a retired arm was played; if it comes back, then everywhere.
    """
    told = {**configuration, **LATER_SETTINGS, "version": 3}
    if told.get("noise_scale") is None and told.get("reward_bounds") is None and not estimates_noise:
        told["noise_scale"] = 1.0
    available, retired = told.get("available"), told.get("retired")
    if type(available) is list and type(retired) is list and all(type(row) is list for row in available):
        told["available"] = [
            [True] * len(row) if place in retired and not any(row) else row for place, row in enumerate(available)
        ]
    return told


def _with_prior(statistics: Mapping[str, Any], available: Any) -> Mapping[str, Any]:
    """Version 1 of the statistics as version 2: pairs had no prior, sigma was given, and nothing forgotten."""
    if type(available) is not list or not all(type(row) is list for row in available):
        return statistics
    prior = [[[0.0] * len(row) for row in available] for _ in range(2)]
    return {**statistics, "noise": None, "prior": prior, "past": None, "version": 2}


def _table(snapshot: Any, name: str) -> Mapping[str, Any]:
    value = snapshot.get(name) if isinstance(snapshot, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _present(values: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {new: values[old] for old, new in names.items() if old in values}


def _memory_by_name(memory: Mapping[str, Any], kind: "type[Policy]") -> dict[str, dict[str, Any]]:
    """A rule's memory by name; it used to be one array, with an extra place after those of the arms, and one matrix."""
    rows = kind.rows
    by_arm = memory.get("by_arm")
    by_arm = by_arm if type(by_arm) is list and all(type(row) is list and row for row in by_arm) else []
    return {
        "by_pair": {row.name.lower(): memory.get("weights") for row in rows.by_pair or ()},
        "by_arm": {row.name.lower(): by_arm[row][:-1] for row in rows.by_arm or () if row < len(by_arm)},
        "totals": {row.name.lower(): by_arm[row][-1] for row in rows.totals or () if row < len(by_arm)},
    }
