"""Runs of one reproduction, remembered: several experiments look at the same policies on the same instance."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from arcbandit.policies.registry import policy
from arcbandit.simulation.epoch import Progress
from arcbandit.simulation.run import simulate
from arcbandit.simulation.summary import Summary
from arcbandit.simulation.trace import Trace


class _Part(NamedTuple):
    """What one policy recorded."""

    trace: Trace
    label: str


class Played:
    """Simulates, and returns what was simulated before with the same arguments without playing it again.

    What a policy plays depends on neither the others nor its label, so each is remembered by itself.
    """

    def __init__(self) -> None:
        self._parts: dict[Any, _Part] = {}

    def simulate(
        self,
        instance: Any,
        policies: Mapping[str, Any],
        horizon: int,
        epochs: int,
        seed: int,
        *,
        progress: Progress | None = None,
        **options: Any,
    ) -> Trace | Summary:
        """`simulate` with the same arguments."""
        if options.get("keep") != "epochs":
            whole: Trace | Summary = simulate(instance, policies, horizon, epochs, seed, progress=progress, **options)
            return whole
        told = (instance, horizon, epochs, seed, *sorted(options.items()))
        keys = {
            label: (policy(chosen) if isinstance(chosen, str) else chosen, *told) for label, chosen in policies.items()
        }
        missing = {label: chosen for label, chosen in policies.items() if keys[label] not in self._parts}
        if missing:
            found: Any = simulate(instance, missing, horizon, epochs, seed, progress=progress, **options)
            for label in missing:
                self._parts[keys[label]] = _Part(found, label)
        parts = {label: self._parts[key] for label, key in keys.items()}
        if progress is not None and len(missing) < len(policies):
            progress((len(policies) - len(missing)) * horizon * epochs)
        trace = next(iter(parts.values())).trace
        return Trace(
            trace.rounds,
            tuple(policies),
            trace.floors,
            {label: part.trace.records[part.label] for label, part in parts.items()},
            {label: part.trace.floor_records[part.label] for label, part in parts.items()},
            trace.settings,
        )
