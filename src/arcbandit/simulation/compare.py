"""Policies side by side on many instances, with one result for all of them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Unpack, cast

import numpy as np

from arcbandit.errors import InvalidInputError
from arcbandit.estimates import written
from arcbandit.inputs.similar import did_you_mean
from arcbandit.inputs.values import checked_name, choice, instance_of, items, known_name, shown
from arcbandit.instance import Instance
from arcbandit.showing import counted, html_heat_map, html_of, html_table, html_title, text_table
from arcbandit.simulation.choices import Device, Keep
from arcbandit.simulation.metrics import METRICS, SHARES, SUMS
from arcbandit.simulation.playable import Policies
from arcbandit.simulation.results import Results
from arcbandit.simulation.run import Options, simulate
from arcbandit.tables import FrameKind, frame_of

Instances = Mapping[str, Instance] | Iterable[Instance]


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Mapping[str, Results]):
    """The results of the same policies on each of several instances, by the name of the instance.

    >>> from arcbandit import paper_instance
    >>> found = compare({name: paper_instance(name) for name in ("nu", "nu-plus")}, ["blp", "olp"], 200, 2)
    >>> list(found), found.policies, found["nu"].regret["blp"].shape[0]
    (['nu', 'nu-plus'], ('blp', 'olp'), 2)
    """

    results: Mapping[str, Results]

    def __getitem__(self, instance: str) -> Results:
        return self.results[known_name("instance", instance, self.results, " here")]

    def __contains__(self, instance: object) -> bool:
        return isinstance(instance, str) and instance in self.results

    def get(self, instance: str, default: Any = None) -> Any:
        """The results of an instance, or the default if there is none of that name.

        >>> from arcbandit import paper_instance
        >>> found = compare({"nu": paper_instance("nu")}, ["blp", "olp"], 200, 2)
        >>> found.get("mu") is None, found.get("nu") is found["nu"]
        (True, True)
        """
        return self.results[instance] if instance in self else default

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    @property
    def policies(self) -> tuple[str, ...]:
        """The policies, in order."""
        return next(iter(self.results.values())).policies

    def to_dict(self, by: str = "metric") -> dict[str, list[Any]]:
        """Tidy columns: a row per instance, policy and metric, with the mean and its 95 % interval at the horizon.

        With by="floor", a row per instance, policy, floor and metric of floors.

        >>> from arcbandit import paper_instance
        >>> found = compare({"nu": paper_instance("nu")}, ["blp", "olp"], 200, 2)
        >>> list(found.to_dict())
        ['instance', 'policy', 'metric', 'mean', 'low', 'high']
        """
        choice("by", by, ("metric", "floor"))
        names = [name for name, metric in METRICS.items() if metric.per_floor] if by == "floor" else [*SUMS, *SHARES]
        rows: list[dict[str, Any]] = []
        for instance, found in self.results.items():
            for policy in found.policies:
                for floor in found.floors if by == "floor" else (None,):
                    for name in names:
                        row: dict[str, Any] = {"instance": instance, "policy": policy}
                        if floor is not None:
                            row["floor"] = floor
                        one = found.estimate(name, policy, floor)
                        low, high = one.mean - one.half_width, one.mean + one.half_width
                        rows.append(row | {"metric": name, "mean": one.mean, "low": low, "high": high})
        return {name: [row[name] for row in rows] for name in rows[0]}

    def to_frame(self, by: str = "metric", *, kind: FrameKind | None = None) -> Any:
        """The columns of `to_dict` as a frame of "polars" or "pandas", by default whichever is installed.

        >>> from arcbandit import paper_instance
        >>> found = compare({"nu": paper_instance("nu")}, ["blp", "olp"], 200, 2).to_frame(kind="pandas")
        >>> found.query("metric == 'regret'")["policy"].tolist()
        ['blp', 'olp']
        """
        return frame_of(self.to_dict(by), kind)

    def table(self, metric: str = "regret_plus_violation") -> dict[str, list[str]]:
        """A metric at the horizon: a row per instance and a column per policy, as text.

        >>> from arcbandit import paper_instance
        >>> list(compare({"nu": paper_instance("nu")}, ["blp", "olp"], 200, 2).table("regret"))
        ['instance', 'blp', 'olp']
        """
        known_name("metric", metric, [*SUMS, *SHARES])
        columns: dict[str, list[str]] = {"instance": list(self.results)}
        for policy in self.policies:
            columns[policy] = [written(found.estimate(metric, policy)) for found in self.results.values()]
        return columns

    def __repr__(self) -> str:
        return f"<Comparison: {self._in_short()}; R + V>\n{text_table(self.table(), most_rows=10)}"

    def _in_short(self) -> str:
        first = next(iter(self.results.values()))
        played = f"{counted(first.epochs, 'epoch')} of {counted(first.horizon, 'round')}"
        return f"{counted(len(self.results), 'instance')}, {len(self.policies):,} policies, {played}"

    def _repr_html_(self) -> str:
        means = np.array(
            [
                [found.estimate("regret_plus_violation", policy).mean for policy in self.policies]
                for found in self.results.values()
            ]
        )
        least = np.maximum(means.min(axis=1, keepdims=True), np.finfo(float).tiny)
        return html_of(
            html_title("Comparison", self._in_short()),
            html_title("R + V", "mean over epochs with its 95 % interval"),
            html_table(self.table()),
            html_title("R + V in units of the least", "of the policies on the same instance (row)"),
            html_heat_map(means / least, list(self.results), self.policies, corner="instance", percent=False),
        )


def compare(
    instances: Instances,
    policies: Policies,
    horizon: float,
    epochs: float = 5,
    seed: int = 0,
    *,
    device: Device = "cpu",
    keep: Keep | None = None,
    **options: Unpack[Options],
) -> Comparison:
    """Simulate the same policies on each instance; the arguments after `instances` are those of `simulate`.

    Instances have the names that a mapping gives them, otherwise "1", "2" and so on.

    >>> from arcbandit import paper_instance
    >>> found = compare({name: paper_instance(name) for name in ("nu", "nu-plus")}, ["blp", "olp"], 200, 2)
    >>> found["nu"].policies
    ('blp', 'olp')
    >>> sorted(set(found.to_dict()["instance"]))
    ['nu', 'nu-plus']
    """
    named = _named(instances)
    unknown = options.keys() - Options.__annotations__.keys()
    for name in sorted(unknown):
        hint = did_you_mean(name, [*Options.__annotations__, "device", "keep", "horizon", "epochs", "seed"])
        raise TypeError(f"compare() got an unexpected keyword argument {name!r}{hint}")
    if isinstance(policies, Iterator):
        policies = cast(Policies, list(policies))  # read once for each instance
    return Comparison(
        {
            name: simulate(instance, policies, horizon, epochs, seed, device=device, keep=keep, **options)
            for name, instance in named.items()
        }
    )


def _named(instances: Any) -> dict[str, Instance]:
    if isinstance(instances, Instance):
        raise InvalidInputError(f"instances must be several, by name or in a list, got {shown(instances)}.")
    if isinstance(instances, Mapping):
        named = {checked_name("name in instances", name): instance for name, instance in instances.items()}
    else:
        given = items("instances", instances, "instances")
        named = {str(place): instance for place, instance in enumerate(given, start=1)}
    for name, instance in named.items():
        instance_of(f"instances[{name!r}]", instance, Instance, ", such as paper_instance('nu')")
    if not named:
        raise InvalidInputError("instances must hold at least one instance, got none.")
    return named
