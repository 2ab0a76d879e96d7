"""The strict check of what a policy that forgets has in its snapshot, beside the statistics."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from arcbandit.errors import InvalidInputError
from arcbandit.inputs.values import LARGEST_NUMBER, shown
from arcbandit.kernels.confidence import ByPair
from arcbandit.policies.forgetting import LONGEST_WINDOW

WHERE = "snapshot['statistics']['past']"
LISTS = {
    "earned": "numbers",
    "rewards": "numbers",
    "rounds": "whole numbers",
    "arms": "whole numbers",
    "contexts": "whole numbers",
    "seen_rounds": "whole numbers",
    "seen_contexts": "whole numbers",
}
RELATIVE = 1e-9  # what rounding may do to sums


def check_memory(where: str, value: Any, size: Any) -> None:
    """A half-life, or a window as a dict, as the constructor takes it."""
    if isinstance(value, dict):
        rounds = value.get("window")
        if list(value) != ["window"] or type(rounds) is not int or not 1 <= rounds <= LONGEST_WINDOW:
            raise InvalidInputError(
                f"{where} must be a finite number or {{'window': rounds}} with 1 to {LONGEST_WINDOW} of them, "
                f"got {shown(value)}."
            )
    elif type(value) not in (int, float) or not abs(value) <= LARGEST_NUMBER:
        raise InvalidInputError(f"{where} must be a finite number or a window, got {shown(value)}.")


def check_past(configuration: Mapping[str, Any], statistics: Mapping[str, Any]) -> None:
    """Refuse a past that no policy with this memory can have written; the other fields are right."""
    memory, past = configuration["memory"], statistics["past"]
    if memory is None:
        _require("", past is None, "None without memory", past)
        return
    windowed = isinstance(memory, dict)
    fields = [*LISTS, "summed"] if windowed else ["context_counts", "earned"]
    _require("", isinstance(past, Mapping) and sorted(past) == sorted(fields), f"a dict of {', '.join(fields)}", past)
    earned = _numbers(past, "earned", whole=False)
    n_arms = len(statistics["by_pair"][0])
    _require("earned", len(earned) == n_arms, f"a list of {n_arms}", past["earned"])
    if windowed:
        _check_window(memory["window"], configuration, statistics)
        return
    counts = _numbers(past, "context_counts", whole=False)
    totals = np.array(statistics["context_counts"], dtype=np.float64)
    _require("context_counts", counts.shape == totals.shape, f"a list of {len(totals)}", past["context_counts"])
    most = totals * (1.0 + RELATIVE) if configuration["estimate_contexts"] else np.zeros_like(totals)
    within = bool(((counts >= 0.0) & (counts <= most)).all())
    _require("context_counts", within, "from 0 to the counts that do not fade", past["context_counts"])


def _check_window(length: int, configuration: Mapping[str, Any], statistics: Mapping[str, Any]) -> None:
    past = statistics["past"]
    by_pair = np.array(statistics["by_pair"], dtype=np.float64)
    _, n_arms, n_contexts = by_pair.shape
    found = {name: _numbers(past, name, whole=name != "rewards") for name in LISTS if name != "earned"}
    count, seen = len(past["rewards"]), len(past["seen_rounds"])
    latest = max(statistics["decisions"], statistics["rewards"])
    for name, values in found.items():
        wanted = seen if name.startswith("seen") else count
        _require(name, len(values) == wanted <= length, f"a list of {min(wanted, length)}", past[name])
        if name.endswith("rounds"):
            least = max(latest - length, 0)
            in_turn = bool((np.diff(values) >= 0).all() and (values >= least).all() and (values <= latest).all())
            _require(name, in_turn, f"rounds from {least} to {latest}, none before the last", past[name])
        elif name != "rewards":
            most = n_arms if name == "arms" else n_contexts
            _require(name, bool(((values >= 0) & (values < most)).all()), f"from 0 to below {most}", past[name])
    low, high = configuration["reward_bounds"] or (-LARGEST_NUMBER, LARGEST_NUMBER)
    within = bool(((found["rewards"] >= low) & (found["rewards"] <= high)).all())
    _require("rewards", within, f"from {low:g} to {high:g}", past["rewards"])
    _require("seen_rounds", configuration["estimate_contexts"] or seen == 0, "empty", past["seen_rounds"])
    summed = past["summed"]
    _require("summed", type(summed) is int and 0 <= summed <= count, f"a whole number from 0 to {count}", summed)
    pulls = np.zeros((n_arms, n_contexts))
    np.add.at(pulls, (found["arms"], found["contexts"]), 1.0)
    counted = np.array_equal(pulls, by_pair[ByPair.PULLS])
    _require("arms", counted, "as many of each pair as its count", past["arms"])
    # A mean is of the sums when it was written, which may have been added up another way since.
    totals, sizes = np.zeros((2, n_arms, n_contexts))
    np.add.at(totals, (found["arms"], found["contexts"]), found["rewards"])
    np.add.at(sizes, (found["arms"], found["contexts"]), np.abs(found["rewards"]))
    near = np.abs(totals - pulls * by_pair[ByPair.MEAN]) <= RELATIVE * sizes
    _require("rewards", bool(near.all()), "those of the means", past["rewards"])


def _numbers(past: Mapping[str, Any], name: str, *, whole: bool) -> Any:
    """A list as an array; types first, as NumPy would take True for 1."""
    values = past[name]
    kinds = {int} if whole else {int, float}
    sound = type(values) is list and set(map(type, values)) <= kinds
    sound = sound and all(abs(value) <= (2**61 if whole else LARGEST_NUMBER) for value in values)
    _require(name, sound, f"a list of {LISTS.get(name, 'numbers')}", values)
    return np.array(values, dtype=np.int64 if whole else np.float64)


def _require(field: str, holds: bool, must: str, value: Any) -> None:
    if not holds:
        where = f"{WHERE}[{field!r}]" if field else WHERE
        raise InvalidInputError(f"{where} must be what a policy can have written, {must}, got {shown(value)}.")
