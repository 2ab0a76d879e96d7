"""What every result of a simulation offers: the metrics, and their statistics over epochs."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import ArcbanditError, InvalidInputError, UnknownNameError
from arcbandit.estimates import Estimate, student_quantile, written
from arcbandit.inputs.similar import did_you_mean
from arcbandit.inputs.values import known_name, shown
from arcbandit.showing import counted, html_heat_map, html_of, html_table, html_title, text_table
from arcbandit.simulation.metrics import METRICS, SHARES, SUMS, metric_names
from arcbandit.tables import FrameKind

if TYPE_CHECKING:
    from arcbandit.limits import LearningLimit

Floats = NDArray[np.float64]

OVERVIEW = ("regret", "violation", "regret_plus_violation", "performance")  # what a repr shows
SAME_VALUE = 1e-9  # relative: what two ways to the same best plan may differ by
HEADER_FIELDS = ("rounds", "policies", "floors", "settings")  # of every file of results


class MetricByPolicy(Mapping[str, Floats]):
    """One metric: policy -> array of shape (epochs, checkpoints), or (epochs, checkpoints, floors)."""

    def __init__(self, values: Mapping[str, Floats]) -> None:
        self._values = dict(values)

    def __getitem__(self, policy: str) -> Floats:
        return self._values[known_name("policy", policy, self._values, " here")]

    def __contains__(self, policy: object) -> bool:
        return isinstance(policy, str) and policy in self._values

    def get(self, policy: str, default: Any = None) -> Any:
        """The values of a policy, or the default if there is no such policy."""
        return self._values.get(policy, default) if isinstance(policy, str) else default

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<metric of {', '.join(self._values)}>"


class MetricOfEpochs(property):
    """An attribute of results: a metric of each single epoch, documented by the table of metrics."""

    def __init__(self, name: str) -> None:
        found = METRICS[name]
        shape = "(epochs, checkpoints, floors)" if found.per_floor else "(epochs, checkpoints)"
        super().__init__(lambda results: results.metric(name))
        self.__doc__ = f"{found.meaning[0].upper()}{found.meaning[1:]}. It is {found.definition}; shape {shape}."

    @overload
    def __get__(self, instance: None, owner: type, /) -> Self: ...
    @overload
    def __get__(self, instance: Any, owner: type | None = ..., /) -> MetricByPolicy: ...
    def __get__(self, instance: Any, owner: type | None = None, /) -> Self | MetricByPolicy:
        found: Self | MetricByPolicy = super().__get__(instance, owner)
        return found


class Results(ABC):
    """Metrics at the checkpoints `rounds`, over `epochs` runs of each policy.

    A metric is named as in `metric_names()`. Its statistics over epochs have one value per checkpoint or, for metrics
    of floors, per checkpoint and floor.
    """

    rounds: NDArray[np.int64]  # shape (P,)
    policies: tuple[str, ...]
    floors: tuple[str, ...]  # names: arms, then groups
    settings: dict[str, Any]  # instance, horizon, epochs, seed, rewards, window, device, keep, versions

    @property
    def horizon(self) -> int:
        """T."""
        return int(self.settings["horizon"])

    @property
    def epochs(self) -> int:
        """How many runs each policy made."""
        return int(self.settings["epochs"])

    @abstractmethod
    def metric(self, name: str) -> MetricByPolicy:
        """A metric of each single epoch, by name: any of `metric_names()`."""

    @abstractmethod
    def mean(self, metric: str, policy: str) -> Floats:
        """The mean over epochs, shape (P,), or (P, M) for a metric of floors."""

    @abstractmethod
    def variance(self, metric: str, policy: str) -> Floats:
        """The unbiased variance of an epoch's value; NaN for one epoch."""

    @abstractmethod
    def quantile(self, metric: str, policy: str, q: float) -> Floats:
        """The value that a share `q` of the epochs do not exceed: that of rank floor(q (epochs - 1)), from 0."""

    @abstractmethod
    def histogram(self, metric: str, policy: str, floor: str | None = None) -> tuple[Floats, NDArray[np.int64]]:
        """The distribution of epochs at the last checkpoint: the edges of bins, one more than counts, and the counts.

        The bins have constant relative width, except for one around 0.
        """

    def standard_error(self, metric: str, policy: str) -> Floats:
        """The standard error of the mean; NaN for one epoch.

        >>> from arcbandit import paper_instance, simulate
        >>> trace = simulate(paper_instance("nu"), "blp", horizon=200, epochs=4, checkpoints=4)
        >>> bool(np.allclose(trace.standard_error("regret", "blp") ** 2 * 4, trace.variance("regret", "blp")))
        True
        """
        return np.asarray(np.sqrt(self.variance(metric, policy)) / math.sqrt(self.epochs))

    def estimate(self, metric: str, policy: str, floor: str | None = None) -> Estimate:
        """The mean with its 95 % interval at the last checkpoint; for a metric of floors, of one `floor`.

        >>> from arcbandit import paper_instance, simulate
        >>> summary = simulate(paper_instance("nu"), "blp", horizon=200, epochs=4, keep="summary")
        >>> found = summary.estimate("regret", "blp")
        >>> bool(found.mean == summary.mean("regret", "blp")[-1]), found.half_width > 0
        (True, True)
        """
        place = (-1, *self._floor_place(metric, floor))
        mean = float(self.mean(metric, policy)[place])
        if self.epochs < 2:
            return Estimate(mean, math.nan)
        error = float(self.standard_error(metric, policy)[place])
        return Estimate(mean, student_quantile(self.epochs - 1) * error)

    def summary(self) -> dict[str, dict[str, Estimate]]:
        """Policy -> metric -> mean and 95 % interval over epochs, at the last checkpoint.

        >>> from arcbandit import paper_instance, simulate
        >>> trace = simulate(paper_instance("nu"), "blp", horizon=200, epochs=4)
        >>> found = trace.summary()["blp"]["regret"]
        >>> bool(found.mean == trace.regret["blp"][:, -1].mean()), found.half_width > 0
        (True, True)
        """
        return {policy: {name: self.estimate(name, policy) for name in (*SUMS, *SHARES)} for policy in self.policies}

    def learning_limit(self) -> "LearningLimit | None":
        """The least R + V that learning leaves any policy near the instance, 2 sigma G sqrt(T); None if not known.

        It is that of `analyse(instance).learning_limit(horizon)`, for normal rewards that come at once in a world that
        stays, and in which no pair of the best plan was unavailable.

        >>> from arcbandit import paper_instance, simulate
        >>> simulate(paper_instance("nu"), "blp", horizon=200, epochs=4).learning_limit()
        <LearningLimit: R + V of 15.73 (R 6.515, V 9.213) after 200 rounds>
        """
        # Here, as results are read without the compiler.
        from arcbandit.instance import Instance
        from arcbandit.limits import learning_limit
        from arcbandit.planning import plan

        settings = self.settings
        if settings["rewards"] != "gaussian" or "drift" in settings or "delay" in settings:
            return None
        instance = Instance.from_dict(settings["instance"])
        try:
            limit = learning_limit(instance, self.horizon, 1.0)
            # The best plan is unique there, so that another value is one without some of its pairs.
            same = math.isclose(plan(instance).value, settings["optimal_value"], rel_tol=SAME_VALUE)
        except ArcbanditError:
            return None
        return limit if same else None

    @abstractmethod
    def to_frame(self, by: str = ..., *, kind: FrameKind | None = None) -> Any:
        """A frame of "polars" or "pandas", by default whichever is installed."""

    def overview(self) -> dict[str, list[str]]:
        """The means of the first metrics at the last checkpoint, with their intervals, as columns of text.

        >>> from arcbandit import paper_instance, simulate
        >>> trace = simulate(paper_instance("nu"), ["blp", "olp"], horizon=200, epochs=4)
        >>> trace.overview()["policy"]
        ['blp', 'olp']
        """
        columns: dict[str, list[str]] = {"policy": list(self.policies)}
        for name in OVERVIEW:
            columns[METRICS[name].heading] = [written(self.estimate(name, policy)) for policy in self.policies]
        return columns

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._in_short()}>\n{text_table(self.overview(), most_rows=10)}"

    def _in_short(self) -> str:
        """The size of the simulation in a line."""
        played = f"{counted(self.epochs, 'epoch')} of {counted(self.horizon, 'round')}"
        return (
            f"{len(self.policies):,} {'policy' if len(self.policies) == 1 else 'policies'}, {played}, "
            f"{counted(len(self.floors), 'floor')}, {counted(len(self.rounds), 'checkpoint')}"
        )

    def _repr_html_(self) -> str:
        parts = [html_title(type(self).__name__, self._in_short()), html_table(self.overview())]
        shortfall = np.array([self.mean("floor_shortfall", policy)[-1] for policy in self.policies])
        parts += [
            html_title("Shortfall", "what each floor (column) lacked, summed over rounds"),
            html_heat_map(shortfall, self.policies, self.floors, corner="policy", percent=False),
        ]
        return html_of(*parts)

    def _check_metric(self, name: str) -> None:
        known_name("metric", name, metric_names())

    def _check_policy(self, policy: str) -> None:
        known_name("policy", policy, self.policies, " here")

    def _floor_place(self, metric: str, floor: str | None) -> tuple[int, ...]:
        """The index of a floor's values, after that of the checkpoint."""
        self._check_metric(metric)
        if not METRICS[metric].per_floor:
            if floor is not None:
                raise InvalidInputError(
                    f"Metric {metric!r} is not one of floors, so floor must be None, got {shown(floor)}."
                )
            return ()
        if not isinstance(floor, str) or floor not in self.floors:
            raise UnknownNameError(
                f"Metric {metric!r} is per floor, so floor must be one of {', '.join(self.floors)}, got {shown(floor)}"
                f"{did_you_mean(floor, self.floors)}."
            )
        return (self.floors.index(floor),)

    regret = MetricOfEpochs("regret")
    violation = MetricOfEpochs("violation")
    regret_plus_violation = MetricOfEpochs("regret_plus_violation")
    signed_regret = MetricOfEpochs("signed_regret")
    signed_violation = MetricOfEpochs("signed_violation")
    performance = MetricOfEpochs("performance")
    realised_revenue = MetricOfEpochs("realised_revenue")
    optimal_set_share = MetricOfEpochs("optimal_set_share")
    fallback_share = MetricOfEpochs("fallback_share")
    infeasible_share = MetricOfEpochs("infeasible_share")
    gave_up_share = MetricOfEpochs("gave_up_share")
    floor_shortfall = MetricOfEpochs("floor_shortfall")
    floor_realised = MetricOfEpochs("floor_realised")
    worst_window_expected = MetricOfEpochs("worst_window_expected")
    worst_window_realised = MetricOfEpochs("worst_window_realised")
