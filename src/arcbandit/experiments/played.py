"""Runs of one reproduction, remembered: several experiments look at the same policies on the same instance."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcbandit.policies.configuration import Configuration
from arcbandit.policies.registry import policy
from arcbandit.simulation.arguments import read_checkpoints
from arcbandit.simulation.epoch import Progress
from arcbandit.simulation.run import simulate
from arcbandit.simulation.summary import Summary
from arcbandit.simulation.trace import Trace


class _Extent(NamedTuple):
    """How far a run goes, and where it is looked at."""

    horizon: int
    epochs: int
    rounds: NDArray[np.int64]

    def is_within(self, horizon: int, epochs: int) -> bool:
        """Whether a run of this size has all of its rounds."""
        return self.horizon <= horizon and self.epochs <= epochs


class _Part(NamedTuple):
    """What one policy recorded."""

    trace: Trace
    label: str

    def shows(self, extent: _Extent) -> bool:
        """Whether it has all that is to be looked at."""
        return extent.is_within(self.trace.horizon, self.trace.epochs) and bool(
            np.isin(extent.rounds, self.trace.rounds).all()
        )


class Played:
    """Simulates, and plays nothing again that was simulated before.

    What a policy plays depends on neither the others nor its label, so each is remembered by itself. Nor do its first
    rounds depend on the horizon, unless it asks for it, or its first epochs on their number: a run may be the beginning
    of a longer one, if that was looked at where this one is. So that it was, `expect` tells beforehand what will be
    asked for.
    """

    def __init__(self) -> None:
        self._parts: dict[Any, list[_Part]] = {}
        self._expected: dict[Any, list[_Extent]] = {}

    def expect(
        self, instance: Any, policies: Mapping[str, Any], horizon: int, epochs: int, seed: int, **options: Any
    ) -> None:
        """Note that `simulate` will be called with these arguments."""
        if options.get("keep") != "epochs":
            return
        extent = _Extent(horizon, epochs, read_checkpoints(options.get("checkpoints"), horizon))
        for chosen in policies.values():
            self._expected.setdefault(_key(chosen, instance, horizon, seed, options), []).append(extent)

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
        extent = _Extent(horizon, epochs, read_checkpoints(options.pop("checkpoints", None), horizon))
        keys = {label: _key(chosen, instance, horizon, seed, options) for label, chosen in policies.items()}
        parts = {label: self._found(key, extent) for label, key in keys.items()}
        # Policies that are looked at in the same rounds are played together.
        together: dict[tuple[int, ...], dict[str, Any]] = {}
        for label, part in parts.items():
            if part is None:
                together.setdefault(self._looked_at(keys[label], extent), {})[label] = policies[label]
        for rounds, some in together.items():
            found: Any = simulate(
                instance, some, horizon, epochs, seed, checkpoints=rounds, progress=progress, **options
            )
            for label in some:
                parts[label] = _Part(found, label)
                self._parts.setdefault(keys[label], []).append(_Part(found, label))
        known = len(policies) - sum(len(some) for some in together.values())
        if progress is not None and known:
            progress(known * horizon * epochs)
        return _joined({label: part for label, part in parts.items() if part is not None}, extent)

    def _found(self, key: Any, extent: _Extent) -> _Part | None:
        return next((part for part in self._parts.get(key, []) if part.shows(extent)), None)

    def _looked_at(self, key: Any, extent: _Extent) -> tuple[int, ...]:
        """The rounds at which a run is looked at, also for the sake of those that are the beginning of it."""
        within = [one.rounds for one in self._expected.get(key, []) if one.is_within(extent.horizon, extent.epochs)]
        return tuple(np.unique(np.concatenate([extent.rounds, *within])).tolist())


def _key(chosen: Any, instance: Any, horizon: int, seed: int, options: Mapping[str, Any]) -> Any:
    """What runs have in common of which one may be the beginning of another."""
    configured = policy(chosen) if isinstance(chosen, str) else chosen
    is_told = not isinstance(configured, Configuration) or configured.kind.needs_horizon
    others = sorted((name, value) for name, value in options.items() if name not in ("checkpoints", "jobs"))
    return configured, instance, horizon if is_told else None, seed, *others


def _joined(parts: Mapping[str, _Part], extent: _Extent) -> Trace:
    """What was recorded of each policy, in the rounds and epochs that were asked for."""
    records, floor_records = {}, {}
    for label, part in parts.items():
        trace = part.trace
        record, by_floor = trace.records[part.label], trace.floor_records[part.label]
        if trace.epochs > extent.epochs or len(trace.rounds) > len(extent.rounds):
            places = np.searchsorted(trace.rounds, extent.rounds)
            record, by_floor = record[: extent.epochs, :, places], by_floor[: extent.epochs, :, places]
        records[label], floor_records[label] = record, by_floor
    trace = next(iter(parts.values())).trace
    settings = trace.settings | {"horizon": extent.horizon, "epochs": extent.epochs}
    return Trace(extent.rounds, tuple(parts), trace.floors, records, floor_records, settings)
