"""The answers of the verbs as plain data, under the names of the Python fields."""

import contextlib
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self

from arcbandit.errors import EnumerationLimitError, InvalidInputError, PlanningError
from arcbandit.experiments.paper_instances import PAPER_INSTANCES
from arcbandit.instance import Instance
from arcbandit.limits import LearningLimit
from arcbandit.oracle import VALUE_TOLERANCE, Analysis, Candidate, Regime, analyse
from arcbandit.planning import ActiveSet, Plan, PlanStatus, plan

if TYPE_CHECKING:
    from arcbandit.estimates import Estimate
    from arcbandit.experiments.many_epochs import Exponent
    from arcbandit.experiments.result import Result
    from arcbandit.simulation.summary import Summary


LIMIT_HORIZON = 50_000  # rounds after which the learning limit is shown, those of the paper's experiments


@dataclass(frozen=True)
class Answer:
    """What `arcbandit plan` found; an infeasible instance is always analysed, for its margin."""

    name: str
    instance: Instance
    plan: Plan
    analysis: Analysis | None
    analysed: bool  # whether the constants were asked for

    @classmethod
    def of(
        cls,
        name: str,
        instance: Instance,
        *,
        solver: Literal["simplex", "highs"],
        analysed: bool,
        same_share: bool = False,
    ) -> Self:
        """Plan an instance and, if asked for or infeasible, analyse it around that plan."""
        found = plan(instance, solver=solver, on_infeasible="same_share" if same_share else "least_shortfall")
        analysis = None
        if analysed or found.status == PlanStatus.INFEASIBLE:
            # Failing to find a margin that nobody asked for must not lose the plan.
            with contextlib.nullcontext() if analysed else contextlib.suppress(PlanningError):
                analysis = analyse(instance)
            if analysis is not None:
                if analysis.plan.status != found.status:
                    raise PlanningError("The floors are so nearly feasible that the two solvers disagree about them.")
                # If several plans are optimal, the constants must be those of the one that is shown.
                analysis = replace(analysis, plan=found)
        return cls(name, instance, found, analysis, analysed)

    @property
    def feasible(self) -> bool:
        """Whether the plan meets every floor."""
        return self.plan.status == PlanStatus.OPTIMAL

    @cached_property
    def revenue_without_floors(self) -> float:
        """What the best arm of each context would earn."""
        return float(self.instance.weighted_means.max(axis=0).sum())

    @property
    def price_of_guarantees(self) -> float | None:
        """Revenue per round that the floors cost; None if they cannot be met."""
        return max(self.revenue_without_floors - self.plan.value, 0.0) if self.feasible else None

    @property
    def regime(self) -> Regime:
        """What the floors do to the revenue."""
        if not self.feasible:
            return Regime.INFEASIBLE
        cost = self.revenue_without_floors - self.plan.value
        return Regime.FREE if cost <= VALUE_TOLERANCE * max(1.0, abs(self.revenue_without_floors)) else Regime.COSTLY

    @property
    def floor_names(self) -> tuple[str, ...]:
        """Names of the rows: arms, then group floors."""
        return self.instance.floors.names

    @property
    def conflicting_floors(self) -> tuple[str, ...]:
        """Names of floors that cannot be met together."""
        return tuple(self.floor_names[row] for row in self.plan.conflicting_floors)

    def nearest_candidate(self) -> tuple[Candidate | None, str | None]:
        """The candidate that attains rho*, or None and the reason why there is none."""
        assert self.analysis is not None
        if not self.feasible:
            return None, "it is measured from an optimal plan, but no plan meets every floor"
        try:
            nearest = self.analysis.nearest_candidate
        except EnumerationLimitError as error:
            count = readable_count(error.count)
            return None, f"it needs each of {count} candidate sets, more than the limit of {error.limit:,}"
        return nearest, "there is no other candidate set" if nearest is None else None

    def learning_limit(self) -> tuple[LearningLimit | None, str | None]:
        """What learning must cost after LIMIT_HORIZON rounds, or None and the reason why that is not known."""
        assert self.analysis is not None
        if not self.feasible:
            return None, "it is measured from an optimal plan, but no plan meets every floor"
        try:
            return self.analysis.learning_limit(LIMIT_HORIZON), None
        except InvalidInputError as error:
            return None, str(error)


def plan_document(answer: Answer) -> dict[str, Any]:
    """Everything `arcbandit plan` prints; rows are arms, columns contexts, floors are named."""
    instance, found = answer.instance, answer.plan
    document = {
        "instance": answer.name,
        "arms": instance.arms,
        "contexts": instance.contexts,
        "context_probabilities": instance.context_probabilities,
        "status": found.status.name.lower(),
        "regime": answer.regime.value,
        "value": found.value,
        "revenue_without_floors": answer.revenue_without_floors,
        "price_of_guarantees": answer.price_of_guarantees,
        "allocation": found.allocation,
        "idle_pairs": found.idle_pairs,
        "context_values": found.context_values,
        "arm_revenue": found.arm_revenue,
        "revenue_floors": found.revenue_floors,
        "floor_prices": found.floor_prices,
        "active_floors": found.active_floors,
        "shortfall": found.shortfall,
        "groups": [{"name": group.name, "arms": group.arms} for group in instance.group_floors],
        "group_revenue": found.group_revenue,
        "group_floors": found.group_floors,
        "group_prices": found.group_prices,
        "active_group_floors": found.active_group_floors,
        "group_shortfall": found.group_shortfall,
        "total_shortfall": found.total_shortfall,
        "floor_share": found.floor_share,
        "conflicting_floors": answer.conflicting_floors,
        "feasibility_margin": None if answer.analysis is None else answer.analysis.feasibility_margin,
    }
    if answer.analysed and answer.analysis is not None:
        document |= _constants(answer, answer.analysis)
    plain: dict[str, Any] = plain_value(document)
    return plain


def _constants(answer: Answer, analysis: Analysis) -> dict[str, Any]:
    nearest, reason = answer.nearest_candidate()
    limit, unknown = answer.learning_limit()
    return {
        "performance_sensitivity": analysis.performance_sensitivity,
        "largest_floors": analysis.largest_floors,
        "active_set": None if analysis.active_set is None else _named(answer, analysis.active_set),
        "degenerate": analysis.degenerate,
        "suboptimality_gap": None if nearest is None else nearest.suboptimality_gap,
        "suboptimality_gap_reason": reason,
        "nearest_candidate": None
        if nearest is None
        else nearest._asdict() | {"active_set": _named(answer, nearest.active_set)},
        "candidate_count": analysis.candidate_count,
        "candidate_limit": analysis.candidate_limit,
        "learning_limit": None if limit is None else limit._asdict(),
        "learning_limit_reason": unknown,
    }


def _named(answer: Answer, active_set: ActiveSet) -> dict[str, Any]:
    floors, pairs = named_members(answer, active_set)
    return {"floors": floors, "pairs": pairs}


def named_members(answer: Answer, active_set: ActiveSet) -> tuple[list[str], list[tuple[str, str]]]:
    """The floors and the (arm, context) pairs of a set by name, in the instance's order."""
    instance = answer.instance
    floors = [answer.floor_names[row] for row in sorted(active_set.floors)]
    return floors, [(instance.arms[arm], instance.contexts[context]) for arm, context in sorted(active_set.pairs)]


def instances_document() -> dict[str, Any]:
    """Everything `arcbandit instances` prints."""
    entries = []
    for entry in PAPER_INSTANCES.values():
        built = entry.build()
        entries.append(
            {
                "name": entry.name,
                "parameter": entry.parameter,
                "n_arms": built.n_arms,
                "n_contexts": built.n_contexts,
                "summary": entry.summary,
                "where": entry.where,
            }
        )
    return {"instances": entries}


def estimate_document(value: "Estimate") -> dict[str, float | None]:
    """A mean and the half width of its interval, which is None for a single epoch."""
    return {"mean": plain_value(value.mean), "half_width": plain_value(value.half_width)}


def many_epochs_document(result: "Result") -> dict[str, Any]:
    """The numbers behind the figures and the table of an experiment over many epochs."""
    from arcbandit.experiments.many_epochs import exponents_of, fitted_epochs, summary_of

    summary = summary_of(result.recorded)
    return {
        "device": summary.settings["device"],
        "horizon": summary.horizon,
        "epochs": summary.epochs,
        "fitted_epochs": fitted_epochs(result.recorded),
        "seconds": result.seconds,
        "rounds": plain_value(summary.rounds),
        "policies": {
            policy: {
                metric: _sum_over_many_epochs(summary, metric, policy, exponent)
                for metric, exponent in by_metric.items()
            }
            for policy, by_metric in exponents_of(result.recorded).items()
        },
    }


def _sum_over_many_epochs(summary: "Summary", metric: str, policy: str, exponent: "Exponent") -> dict[str, Any]:
    """Means and quantiles at each of the `rounds`; the rest at the last of them."""
    from arcbandit.simulation.summary import QUANTILES

    edges, counts = summary.histogram(metric, policy)
    return {
        **estimate_document(summary.estimate(metric, policy)),
        "exponent": estimate_document(exponent.estimate) | {"epochs_left_out": exponent.left_out},
        "means": plain_value(summary.mean(metric, policy)),
        **{name: plain_value(summary.quantile(metric, policy, share)) for name, share in QUANTILES.items()},
        "histogram": {"edges": plain_value(edges), "counts": plain_value(counts)},
    }


def readable_count(count: int) -> str:
    """A count in full, or as a power of ten if it has too many digits to read."""
    return f"{count:,}" if count < 10**12 else f"about 10^{math.log10(count):.0f}"


def print_json(document: dict[str, Any]) -> None:
    """Print a document in ASCII, which every terminal and every pipe can carry."""
    # One line per field: an indented matrix would take one line per number.
    fields = (f"  {json.dumps(key)}: {json.dumps(value, allow_nan=False)}" for key, value in document.items())
    print("{\n" + ",\n".join(fields) + "\n}")


def plain_value(value: Any) -> Any:
    """The value as lists, strings and numbers; a number that JSON cannot express is None."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {key: plain_value(item) for key, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [plain_value(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, int) and value > 10**308:  # most JSON readers would make it infinite
        return None
    return value
