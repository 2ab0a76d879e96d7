"""The strict check of a snapshot: every field has exactly its type and shape, and together they are consistent.

Kernels use a snapshot's numbers as indices unchecked, and a snapshot comes from a file that anybody may have edited. So
nothing is converted here: a list must be a list of the right length, True is a boolean and 1 is not, and a restored
policy gives the same snapshot again.
"""

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import InvalidInputError
from arcbandit.inputs.arrays import PROBABILITY_SUM_TOLERANCE, SCALED_SUM_TOLERANCE
from arcbandit.inputs.values import LARGEST_NUMBER, LARGEST_WHOLE, shown
from arcbandit.kernels.confidence import ByPair
from arcbandit.kernels.ledger import Account
from arcbandit.kernels.noise import Noise
from arcbandit.kernels.planner import Place, SoftPlace
from arcbandit.kernels.program import Column
from arcbandit.policies.budget import NO_BUDGET
from arcbandit.policies.configuration import ESTIMATE
from arcbandit.policies.learner import Outcome
from arcbandit.policies.snapshot_past import check_memory, check_past
from arcbandit.policies.state import LEAST_PRIOR_PULLS, MOST_PRIOR_PULLS, Prior, playable, rewards_seen

if TYPE_CHECKING:
    from arcbandit.policies.base import Policy

MOST_PULLS = 2**53  # above this, a count is not exact
MOST_ROUNDS = 2**61  # twice as many still fit in 64 bits
COUNT_TOLERANCE = 1e-9  # relative: by how much rounding may change a count that started from a prior
BOUNDS_TOLERANCE = 1e-9  # relative: by how much rounding may take a mean out of the bounds of its rewards


class Size(NamedTuple):
    """The lengths that the lists of a snapshot may have."""

    arms: int
    contexts: int
    rows: int  # floors of arms and of groups
    places: int = len(Place)  # bases that a planner keeps

    @property
    def rows_and_one(self) -> int:
        """The floors and the objective."""
        return self.rows + 1


Check = Callable[[str, Any, Size], None]  # the path of the value, the value, the numbers of arms and contexts


def number(where: str, value: Any, size: Size) -> None:
    """A finite float, or an integer that equals one exactly, as JSON may write it."""
    if type(value) not in (int, float) or (type(value) is int and abs(value) > MOST_PULLS) or not math.isfinite(value):
        _refuse(where, "a finite number", value)


def whole_number(least: int, most: int = LARGEST_WHOLE) -> Check:
    """An integer from `least` to `most`."""

    def check(where: str, value: Any, size: Size) -> None:
        if type(value) is not int or not least <= value <= most:
            _refuse(where, f"a whole number from {least} to {most}", value)

    return check


def flag(where: str, value: Any, size: Size) -> None:
    """True or False."""
    if type(value) is not bool:
        _refuse(where, "True or False", value)


def text(where: str, value: Any, size: Size) -> None:
    """A string."""
    if type(value) is not str:
        _refuse(where, "a string", value)


def optional(check: Check) -> Check:
    """None, or what another check allows."""
    return lambda where, value, size: None if value is None else check(where, value, size)


def list_of(check: Check, *lengths: str | int | None) -> Check:
    """Nested lists, whose lengths are given by the name of a size, as a number, or as None for any length."""

    def check_list(where: str, value: Any, size: Size) -> None:
        length = getattr(size, lengths[0]) if isinstance(lengths[0], str) else lengths[0]
        if type(value) is not list or (length is not None and len(value) != length):
            _refuse(where, "a list" if length is None else f"a list of {length}", value)
        inner = list_of(check, *lengths[1:]) if len(lengths) > 1 else check
        for place, item in enumerate(value):
            inner(f"{where}[{place}]", item, size)

    return check_list


def table(**checks: Check) -> Check:
    """A dict with exactly these fields."""
    return lambda where, value, size: _check_fields(where, value, checks, size)


def replan(where: str, value: Any, size: Size) -> None:
    """What the constructor takes, but as a plain string or int."""
    if type(value) not in (str, int):
        _refuse(where, "'always', 'doubling' or a number of rounds", value)


def number_or_estimate(where: str, value: Any, size: Size) -> None:
    """A finite number, or the word for a number that is estimated."""
    if type(value) is not str:
        number(where, value, size)
    elif value != ESTIMATE:
        _refuse(where, f"a finite number or {ESTIMATE!r}", value)


def anything(where: str, value: Any, size: Size) -> None:
    """What is checked elsewhere: the head by `check_snapshot`, the dials by the policy, which knows them, and so on."""


FORMAT = "arcbandit-policy"
VERSION = 3
PARTS = {"configuration": 4, "statistics": 2, "planner": 2}  # with their versions

# What each field must be. The constructor checks whether names are unique, floors non-negative and so on; the functions
# below check what must hold between fields.
HEAD: dict[str, Check] = {"format": anything, "version": anything, "policy": anything, **dict.fromkeys(PARTS, anything)}
CONFIGURATION: dict[str, Check] = {
    "version": anything,
    "dials": anything,
    "arms": optional(list_of(text, "arms")),
    "contexts": optional(list_of(text, "contexts")),
    "revenue_floors": list_of(number, "arms"),
    "group_floors": list_of(table(name=text, arms=list_of(text, None), floor=number), None),
    "context_probabilities": list_of(number, "contexts"),
    "estimate_contexts": flag,
    "noise_scale": optional(number_or_estimate),
    "reward_bounds": optional(list_of(number, 2)),
    "mean_bound": optional(number),
    "horizon": optional(whole_number(1)),
    "available": list_of(flag, "arms", "contexts"),
    "retired": list_of(whole_number(0), None),
    "dropped": list_of(whole_number(0), None),
    "admit_contexts": whole_number(0),
    "admitted": whole_number(0),
    "seed": whole_number(0),
    "epoch": whole_number(0),
    "worker": whole_number(0),
    "replan": replan,
    "when_infeasible": text,
    "memory": optional(check_memory),
    "exploration_budget": number,
    "known_after": whole_number(1),
}
STATISTICS: dict[str, Check] = {
    "version": anything,
    "stream": whole_number(0),
    "decisions": whole_number(0, MOST_ROUNDS),
    "rewards": whole_number(0, MOST_ROUNDS),
    "by_pair": list_of(number, 3, "arms", "contexts"),
    "context_counts": list_of(number, "contexts"),
    "noise": optional(table(scale=number, **{place.name.lower(): number for place in Noise})),
    "prior": list_of(number, 2, "arms", "contexts"),
    "past": anything,
    "memory": anything,
}
PLANNER: dict[str, Check] = {
    "version": anything,
    "allocation": list_of(number, "arms", "contexts"),
    "all_played": flag,
    "next_plan": whole_number(1),
    "planned_at": whole_number(0, MOST_ROUNDS),
    "outcome": whole_number(0, sum(Outcome)),
    "basis": anything,
    "known_basis": anything,
}
BASIS = table(
    key=list_of(whole_number(-1), "places", "contexts"),
    slot_arm=list_of(whole_number(0), "places", "rows"),
    slot_context=list_of(whole_number(Column.SHORTFALL.value), "places", "rows"),
    row_scales=list_of(number, "rows_and_one"),
    scales_age=whole_number(-1),
)
# Of a policy with a guarantee alone, so that the snapshots of others are as they were before there was one.
LEDGER = table(
    account=table(**{place.name.lower(): number for place in Account}), prices=list_of(number, "rows"), basis=anything
)
# What a rule keeps, per kind of row.
MEMORY: dict[str, Check] = {
    "by_pair": list_of(number, "arms", "contexts"),
    "by_arm": list_of(number, "arms"),
    "totals": number,
    "by_floor": list_of(number, "rows"),
}
MEMORY_OF_SOME = ("by_floor",)  # kinds of rows that a snapshot has only if the rule does
OF_KNOWN = "known_"  # before the name of what is kept for the second plan within an exploration budget


def check_snapshot(snapshot: Any, kind: "type[Policy]") -> None:
    """Refuse a snapshot that no policy of this class can have written."""
    if not isinstance(snapshot, Mapping):
        raise InvalidInputError(f"snapshot must be a dict, got {type(snapshot).__name__}.")
    if not _same(snapshot.get("format"), FORMAT):
        raise InvalidInputError(f"snapshot must have format {FORMAT!r}, got {shown(snapshot.get('format'))}.")
    if not _same(snapshot.get("version"), VERSION):
        raise InvalidInputError(f"snapshot must be of version {VERSION}, got {shown(snapshot.get('version'))}.")
    if not _same(snapshot.get("policy"), kind.name):
        raise InvalidInputError(f"snapshot must be of a policy {kind.name!r}, got {shown(snapshot.get('policy'))}.")
    _check_fields("snapshot", snapshot, HEAD, Size(0, 0, 0))
    for part, version in PARTS.items():
        if not isinstance(snapshot[part], Mapping):
            _refuse(f"snapshot[{part!r}]", "a dict", snapshot[part])
        if not _same(snapshot[part].get("version"), version):
            found = shown(snapshot[part].get("version"))
            raise InvalidInputError(f"snapshot[{part!r}] must be of version {version}, got {found}.")
    configuration, statistics, planner = (snapshot[part] for part in PARTS)
    for field in ("revenue_floors", "context_probabilities", "group_floors"):
        if type(configuration.get(field, [])) is not list:
            _refuse(f"snapshot['configuration'][{field!r}]", "a list", configuration[field])
    n_arms = len(configuration.get("revenue_floors", []))
    n_contexts = len(configuration.get("context_probabilities", []))
    places = len(SoftPlace) if kind.soft_floors else len(Place)
    size = Size(n_arms, n_contexts, n_arms + len(configuration.get("group_floors", [])), places)
    guarantee = _has_guarantee(configuration)
    of_parts = {
        "configuration": CONFIGURATION | ({"guarantee": flag} if guarantee else {}),
        "statistics": STATISTICS,
        "planner": PLANNER | ({"ledger": LEDGER} if guarantee else {}),
    }
    for part, checks in of_parts.items():
        _check_fields(f"snapshot[{part!r}]", snapshot[part], checks, size)
    dials = {dial.name: anything for dial in kind.dials}
    _check_fields("snapshot['configuration']['dials']", configuration["dials"], dials, size)
    has_budget = configuration["exploration_budget"] != NO_BUDGET
    memory = table(
        **{
            f"{whose}{part}": table(**{row.name.lower(): check for row in getattr(kind.rows, part) or ()})
            for whose in (("", OF_KNOWN) if has_budget and kind.keeps_averages else ("",))
            for part, check in MEMORY.items()
            if part not in MEMORY_OF_SOME or getattr(kind.rows, part) is not None
        }
    )
    memory("snapshot['statistics']['memory']", statistics["memory"], size)
    if kind.plans:
        BASIS("snapshot['planner']['basis']", planner["basis"], size)
    elif planner["basis"] is not None:
        _refuse("snapshot['planner']['basis']", "None for a rule that does not plan", planner["basis"])
    if has_budget:
        BASIS("snapshot['planner']['known_basis']", planner["known_basis"], size)
    elif planner["known_basis"] is not None:
        _refuse("snapshot['planner']['known_basis']", "None without an exploration budget", planner["known_basis"])
    if n_arms and n_contexts:  # if not, the constructor says so
        _check_probabilities(configuration["context_probabilities"])
        _check_retired(configuration)
        _check_contexts(configuration)
        _check_prior(configuration, statistics)
        _check_statistics(configuration, statistics)
        _check_noise(configuration, statistics)
        check_past(configuration, statistics)
        _check_allocation(configuration, planner)
        _check_progress(configuration, statistics, planner, kind.plans)
        if kind.plans:
            _check_basis("basis", planner["basis"], size)
        if has_budget:
            _check_basis("known_basis", planner["known_basis"], size)
        if guarantee:
            of_ledger = size._replace(places=len(Place))
            BASIS("snapshot['planner']['ledger']['basis']", planner["ledger"]["basis"], of_ledger)
            _check_basis("ledger.basis", planner["ledger"]["basis"], of_ledger)
            _check_ledger(planner["ledger"])


def _check_probabilities(probabilities: list[float]) -> None:
    """Refuse a sum that the constructor would scale: no policy has written it. It refuses what is further off."""
    if PROBABILITY_SUM_TOLERANCE < abs(math.fsum(probabilities) - 1.0) <= 2.0 * SCALED_SUM_TOLERANCE:
        _refuse("snapshot['configuration']['context_probabilities']", "numbers that sum to 1", probabilities)


def _check_fields(where: str, value: Any, checks: Mapping[str, Check], size: Size) -> None:
    if not isinstance(value, Mapping):
        _refuse(where, "a dict", value)
    for field in checks:
        if field not in value:
            raise InvalidInputError(f"{where} must be complete, but the field {field!r} is missing.")
    for field, part in value.items():
        if field not in checks:
            raise InvalidInputError(f"{where} must have only the fields {', '.join(checks)}, got {shown(field)}.")
        checks[field](f"{where}[{field!r}]", part, size)


def _check_retired(configuration: Mapping[str, Any]) -> None:
    retired = configuration["retired"]
    _require("configuration.retired", retired == sorted(set(retired)), "arms in increasing order", retired)
    n_arms = len(configuration["revenue_floors"])
    _require("configuration.retired", all(arm < n_arms for arm in retired), f"arms below {n_arms}", retired)
    for arm in retired:
        owed = configuration["revenue_floors"][arm]
        _require("configuration.revenue_floors", owed == 0, f"0 for the retired arm {arm}", owed)


def _check_contexts(configuration: Mapping[str, Any]) -> None:
    """Contexts that were dropped and admitted, and that each of the others has an arm."""
    dropped, n_contexts = configuration["dropped"], len(configuration["context_probabilities"])
    where = "configuration.dropped"
    _require(where, dropped == sorted(set(dropped)), "contexts in increasing order", dropped)
    _require(where, all(context < n_contexts for context in dropped), f"contexts below {n_contexts}", dropped)
    _require(where, len(dropped) < n_contexts, "not all contexts", dropped)
    for context in dropped:
        share = configuration["context_probabilities"][context]
        where = "configuration.context_probabilities"
        _require(where, share == 0, f"0 for the dropped context {context}", share)
    available = _playable(configuration)
    arms = available.sum(axis=0)
    _require_all("configuration.available", arms > 0, "an arm for each context", arms)
    admitted, most = configuration["admitted"], min(configuration["admit_contexts"], n_contexts - 1)
    _require("configuration.admitted", admitted <= most, f"at most {most}", admitted)


def _playable(configuration: Mapping[str, Any]) -> NDArray[np.bool_]:
    return playable(
        np.array(configuration["available"], dtype=np.bool_),
        frozenset(configuration["retired"]),
        frozenset(configuration["dropped"]),
    )


def _check_prior(configuration: Mapping[str, Any], statistics: Mapping[str, Any]) -> None:
    pulls, means = np.array(statistics["prior"], dtype=np.float64)
    given = pulls != 0
    within = ~given | ((pulls >= LEAST_PRIOR_PULLS) & (pulls <= MOST_PRIOR_PULLS))
    _require_all("statistics.prior", within, f"pulls of 0 or from {LEAST_PRIOR_PULLS:g} to {MOST_PRIOR_PULLS:g}", pulls)
    _require_all("statistics.prior", given | (means == 0), "a mean of 0 where there are no pulls", means)
    low, high = configuration["reward_bounds"] or (-LARGEST_NUMBER, LARGEST_NUMBER)
    _require_all("statistics.prior", (~given) | ((means >= low) & (means <= high)), f"from {low:g} to {high:g}", means)


def _check_statistics(configuration: Mapping[str, Any], statistics: Mapping[str, Any]) -> None:
    by_pair = np.array(statistics["by_pair"], dtype=np.float64)
    counts = np.array(statistics["context_counts"], dtype=np.float64)
    pulls, means, roots = by_pair[ByPair.PULLS], by_pair[ByPair.MEAN], by_pair[ByPair.INVERSE_ROOT]
    prior = np.array(statistics["prior"], dtype=np.float64)
    forgets = configuration["memory"] is not None  # counts are sums of weights then
    seen = pulls if forgets else rewards_seen(pulls, prior)
    if not forgets:
        rounded = np.abs(pulls - (seen + prior[Prior.PULLS])) <= COUNT_TOLERANCE * np.maximum(pulls, 1.0)
        _require_all("statistics.by_pair", rounded, "whole numbers above the pulls of the prior", pulls)
    for field, values, whole in (("by_pair", seen, not forgets), ("context_counts", counts, True)):
        counted = (values >= 0) & (values <= MOST_PULLS) & ((values == np.floor(values)) | (not whole))
        _require_all(f"statistics.{field}", counted, f"non-negative {'whole ' * whole}numbers as counts", values)
    played = pulls > 0
    # The square root and the quotient round the same way here and in the kernel that records a reward.
    exact = np.divide(1.0, np.sqrt(pulls), out=np.zeros_like(pulls), where=played)
    _require_all("statistics.by_pair", roots == exact, "n^(-1/2) of its own counts n", roots)
    _require_all("statistics.by_pair", played | (means == 0), "a mean of 0 where nothing was played", means)
    low, high = configuration["reward_bounds"] or (-LARGEST_NUMBER, LARGEST_NUMBER)
    leeway = BOUNDS_TOLERANCE * max(abs(low), abs(high)) if configuration["reward_bounds"] else 0.0
    within = ~played | ((means >= low - leeway) & (means <= high + leeway))
    _require_all("statistics.by_pair", within, f"means from {low:g} to {high:g}", means)
    rewards, decisions = statistics["rewards"], statistics["decisions"]
    if forgets:
        enough = rewards * (1.0 + BOUNDS_TOLERANCE) >= (pulls - prior[Prior.PULLS]).sum()
        _require("statistics.rewards", bool(enough), "at least the sum of the counts of pairs", rewards)
    else:
        _require("statistics.rewards", rewards == sum(map(int, seen.flat)), "the sum of the counts of pairs", rewards)
    # Contexts are counted with decisions and, on request, with rewards of a log.
    _require(
        "statistics.decisions",
        decisions <= sum(map(int, counts)),
        "at most the sum of the counts of contexts",
        decisions,
    )


def _check_noise(configuration: Mapping[str, Any], statistics: Mapping[str, Any]) -> None:
    noise = statistics["noise"]
    given, bounds = configuration["noise_scale"], configuration["reward_bounds"]
    estimated = given == ESTIMATE or (given is None and bounds is None)
    _require("statistics.noise", (noise is not None) == estimated, "there if and only if sigma is estimated", noise)
    if noise is not None:
        for place in ("scale", "rewards", "spread", "residual", "freedom"):
            _require(f"statistics.noise.{place}", noise[place] >= 0, "not negative", noise[place])


def _check_allocation(configuration: Mapping[str, Any], planner: Mapping[str, Any]) -> None:
    shares = np.array(planner["allocation"], dtype=np.float64)
    available = _playable(configuration)
    _require_all("planner.allocation", shares >= 0, "non-negative", shares)
    _require_all("planner.allocation", available | (shares == 0), "0 where an arm is not available", shares)
    sums = np.minimum(shares, 2.0).sum(axis=0)
    _require_all("planner.allocation", np.abs(sums - 1) <= PROBABILITY_SUM_TOLERANCE, "columns that sum to 1", sums)


def _check_progress(
    configuration: Mapping[str, Any], statistics: Mapping[str, Any], planner: Mapping[str, Any], plans: bool
) -> None:
    """Whether every pair was played, and when the next plan is due."""
    if planner["all_played"]:
        pulls = np.array(statistics["by_pair"][ByPair.PULLS])
        to_play = _playable(configuration)
        to_play[:, configuration["dropped"]] = False
        played = bool((pulls[to_play] > 0).all())
        _require("planner.all_played", plans and played, "False while a pair is still to be played", True)
    latest = max(statistics["decisions"], statistics["rewards"]) + 1  # round that can have been planned for
    rhythm, due = configuration["replan"], planner["next_plan"]
    last = 1 if rhythm == "always" else 2 * latest if isinstance(rhythm, str) else latest + rhythm
    _require("planner.next_plan", due <= last, f"at most {last}", due)
    decided = statistics["decisions"]
    _require("planner.planned_at", planner["planned_at"] <= decided, f"at most {decided}", planner["planned_at"])


def _has_guarantee(configuration: Mapping[str, Any]) -> bool:
    """Whether there is a guarantee; the field is there only if there is one."""
    if "guarantee" in configuration and configuration["guarantee"] is not True:
        _refuse("snapshot['configuration']['guarantee']", "True or left out", configuration["guarantee"])
    return "guarantee" in configuration


def _check_ledger(ledger: Mapping[str, Any]) -> None:
    for place in Account:
        held = ledger["account"][place.name.lower()]
        signed = place is Account.VALUE
        _require(f"planner.ledger.account.{place.name.lower()}", signed or held >= 0, "not negative", held)
    prices = np.array(ledger["prices"], dtype=np.float64)
    _require_all("planner.ledger.prices", prices >= 0, "not negative", prices)


def _check_basis(name: str, basis: Mapping[str, Any], size: Size) -> None:
    """The pairs and rows that the planner will look up, and the scales, which must not cause rounding."""
    key, slot_arm, slot_context = (np.array(basis[part]) for part in ("key", "slot_arm", "slot_context"))
    where = f"planner.{name}"
    _require_all(f"{where}.key", key < size.arms, f"arms below {size.arms}, or -1", key)
    _require_all(f"{where}.slot_context", slot_context < size.contexts, f"contexts below {size.contexts}", slot_context)
    limit = np.where(slot_context >= 0, size.arms, size.rows)
    _require_all(f"{where}.slot_arm", slot_arm < limit, "arms of pairs and rows of floors", slot_arm)
    scales = np.array(basis["row_scales"], dtype=np.float64)
    _require_all(f"{where}.row_scales", np.frexp(scales)[0] == 0.5, "powers of two", scales)


def _same(value: Any, wanted: str | int) -> bool:
    return type(value) is type(wanted) and bool(value == wanted)


def _require_all(field: str, holds: NDArray[np.bool_], must: str, values: NDArray[Any]) -> None:
    for place in np.argwhere(~holds).tolist():
        _require(field, False, must, f"{values[tuple(place)]} at {place}")


def _require(field: str, holds: bool, must: str, value: Any) -> None:
    if not holds:
        where = "".join(f"[{part!r}]" for part in field.split("."))
        got = value if isinstance(value, str) else shown(value)
        raise InvalidInputError(f"snapshot{where} must be what a policy can have written, {must}, got {got}.")


def _refuse(where: str, must: str, value: Any) -> NoReturn:
    raise InvalidInputError(f"{where} must be {must}, got {shown(value)}.")
