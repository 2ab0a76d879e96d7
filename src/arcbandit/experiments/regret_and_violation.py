"""The paper's main figure: regret, violation and performance on nu."""

from typing import Any

import numpy as np

from arcbandit.experiments.epochs import EPOCHS, beside, both_tables
from arcbandit.experiments.experiment import (
    Claim,
    Experiment,
    Group,
    Highlight,
    Measured,
    Recorded,
    Run,
    Settings,
    Statement,
    named,
    scaled,
)
from arcbandit.experiments.growth import (
    BELOW_ROOT,
    NEAR_ROOT,
    at_rounds,
    decade_exponent,
    last_mean,
    like_root,
    power,
    slower_than_root,
)
from arcbandit.experiments.paper_instances import nu
from arcbandit.instance import Instance
from arcbandit.policies.linear_program import LinearProgramRule
from arcbandit.report.charts import Chart, Line, Sheet
from arcbandit.report.metric_charts import metric_chart
from arcbandit.report.tables import NumberTable
from arcbandit.simulation.epoch import Progress
from arcbandit.simulation.run import simulate

CONTEXTUAL = ("OLP", "OPLP", "Optimistic3")
CONTEXT_FREE = ("DOC", "SPOC")
COMPARED = ("OLP", "OPLP", *CONTEXT_FREE)
OURS = ("BLP", "ThompsonLP")
NEARLY_STOPPED = 0.05
CAUTIONS = (-0.75, -0.5, -0.25, 0.25, 0.5, 0.75)
# The named rules on the dial.
NAMED_CAUTIONS = {-1.0: "OPLP", 0.0: "BLP", 1.0: "OLP"}

# Without contexts the floors of nu need shares of 7/6 together; scaled by this, all four policies can meet them.
FLOORS_WITHIN_REACH = 0.5
# Each contextual rule with its counterpart: both optimistic about floors, or both pessimistic.
COUNTERPARTS = {"OLP": "DOC", "OPLP": "SPOC"}
LEAST_GAIN = 1.3  # where contexts matter
MOST_GAIN = 1.2  # where they are alike: the rules differ in what learning costs them
SIDE_EPOCHS = 20
SIDE_HORIZON = 0.4


def _runs(settings: Settings) -> tuple[Run, ...]:
    compared = named("olp", "oplp", "optimistic3", "doc", "spoc", "blp", "thompson-lp")
    dialled = {f"caution {caution:g}": LinearProgramRule(optimism=1.0, caution=caution) for caution in CAUTIONS}
    return (
        Run("nu", "nu", compared, settings.horizon, settings.epochs),
        Run("frontier", "nu", dialled, settings.horizon, settings.epochs, 1),
    )


def side_instances() -> dict[str, Instance]:
    """nu with floors that can be met without contexts; and the same with contexts that are all alike."""
    base = nu()
    floors = FLOORS_WITHIN_REACH * base.revenue_floors
    averages = base.weighted_means.sum(axis=1, keepdims=True)
    return {
        "contexts matter": Instance(base.mean_rewards, floors, base.context_probabilities),
        "contexts alike": Instance(np.repeat(averages, 3, axis=1), floors, base.context_probabilities),
    }


def _side_size(settings: Settings) -> tuple[int, int]:
    return max(1, round(SIDE_HORIZON * settings.horizon)), scaled(settings, SIDE_EPOCHS, EPOCHS)


def _compute(settings: Settings, progress: Progress) -> dict[str, Any]:
    """Revenue per round of each epoch, by instance and policy."""
    horizon, epochs = _side_size(settings)
    return {
        label: {
            policy: values[:, -1] / horizon
            for policy, values in simulate(
                instance,
                named("olp", "oplp", "doc", "spoc"),
                horizon,
                epochs,
                settings.seed,
                jobs=settings.jobs,
                checkpoints=1,
                progress=progress,
            ).performance.items()
        }
        for label, instance in side_instances().items()
    }


def _compute_rounds(settings: Settings) -> int:
    horizon, epochs = _side_size(settings)
    return len(side_instances()) * len(COMPARED) * horizon * epochs


def _slow(policy: str, metric: str, sentence: str, printed: str) -> Claim:
    def check(recorded: Recorded) -> Measured:
        trace = recorded.traces["nu"]
        exponent = decade_exponent(trace, metric, policy)
        return Measured(
            slower_than_root(exponent), f"T^({power(exponent)}); {beside(trace, metric, policy)} in the end"
        )

    criterion = (
        f"{policy}'s {metric} as a power of T, by what the last two decades of rounds add: the 95 % interval lies "
        "below "
        f"{BELOW_ROOT:g}. There log T has the power 0, log² T 0.12 and √T 0.5."
    )
    return Claim(f"{policy.lower()}-{metric}-is-polylogarithmic", sentence, paper=Statement(printed, criterion, check))


def _like_root(policy: str, metric: str, sentence: str, printed: str) -> Claim:
    def check(recorded: Recorded) -> Measured:
        trace = recorded.traces["nu"]
        exponent = decade_exponent(trace, metric, policy)
        return Measured(like_root(exponent), f"T^({power(exponent)}); {beside(trace, metric, policy)} in the end")

    criterion = (
        f"{policy}'s {metric} as a power of T, by what the last two decades of rounds add: the 95 % interval lies from "
        f"{NEAR_ROOT[0]} to {NEAR_ROOT[1]}. There √T has the power 0.5 and √(T log T), the theorem's, 0.54."
    )
    return Claim(f"{policy.lower()}-{metric}-is-like-root-t", sentence, paper=Statement(printed, criterion, check))


def _contexts_pay(recorded: Recorded) -> Measured:
    trace = recorded.traces["nu"]
    earned = {policy: trace.performance[policy][:, -1] / trace.horizon for policy in COMPARED}
    worst = min(float(earned[policy].min()) for policy in ("OLP", "OPLP"))
    best = max(float(earned[policy].max()) for policy in CONTEXT_FREE)
    return Measured(worst > best, f"at least {worst:.2f} per round against at most {best:.2f}")


def _contexts_are_why(recorded: Recorded) -> Measured:
    gains = {
        label: {
            policy: float(recorded.findings[label][policy].mean() / recorded.findings[label][counterpart].mean())
            for policy, counterpart in COUNTERPARTS.items()
        }
        for label in side_instances()
    }
    matter, alike = gains.values()
    shown = "; ".join(
        f"{label}: " + ", ".join(f"{policy} ×{gain:.2f} {COUNTERPARTS[policy]}" for policy, gain in one.items())
        for label, one in gains.items()
    )
    return Measured(min(matter.values()) > LEAST_GAIN and max(alike.values()) < MOST_GAIN, shown)


def _optimistic3_as_printed(recorded: Recorded) -> Measured:
    exponent = decade_exponent(recorded.traces["nu"], "regret", "Optimistic3")
    return Measured(like_root(exponent), f"T^({power(exponent)})")


def _optimistic3(recorded: Recorded) -> Measured:
    trace = recorded.traces["nu"]
    added = {}
    for policy in ("Optimistic3", "OPLP"):
        before, last = at_rounds(trace, "regret", policy, [trace.horizon / 10, trace.horizon]).mean(axis=0)
        added[policy] = float(last - before)
    shown = (
        f"{added['Optimistic3']:,.1f} against {added['OPLP']:,.0f}; {beside(trace, 'regret', 'Optimistic3')} in the end"
    )
    return Measured(added["Optimistic3"] < NEARLY_STOPPED * added["OPLP"], shown)


def _ours(recorded: Recorded) -> Measured:
    trace = recorded.traces["nu"]
    sums = {policy: last_mean(trace, "regret_plus_violation", policy) for policy in (*OURS, "OLP", "OPLP")}
    passed = max(sums[policy] for policy in OURS) < min(sums["OLP"], sums["OPLP"]) / 2
    return Measured(passed, ", ".join(f"{policy} {beside(trace, 'regret_plus_violation', policy)}" for policy in sums))


def frontier(recorded: Recorded) -> dict[float, tuple[float, float]]:
    """Regret and violation at the horizon, by caution."""
    points = {caution: _point(recorded, "nu", policy) for caution, policy in NAMED_CAUTIONS.items()} | {
        caution: _point(recorded, "frontier", f"caution {caution:g}") for caution in CAUTIONS
    }
    return dict(sorted(points.items()))


def _point(recorded: Recorded, run: str, policy: str) -> tuple[float, float]:
    trace = recorded.traces[run]
    return last_mean(trace, "regret", policy), last_mean(trace, "violation", policy)


def _dial(recorded: Recorded) -> Measured:
    sums = {caution: sum(point) for caution, point in frontier(recorded).items()}
    best = min(sums, key=lambda caution: sums[caution])
    ends = min(sums[-1.0], sums[1.0])
    passed = -1.0 < best < 1.0 and sums[best] < ends / 2
    return Measured(passed, f"R + V = {sums[best]:,.0f} at caution {best:g}, {ends:,.0f} at the better end")


def _figure(recorded: Recorded) -> Sheet:
    trace = recorded.traces["nu"]
    points = frontier(recorded)
    regrets = [point[0] for point in points.values()]
    violations = [point[1] for point in points.values()]
    names = [
        f"{caution:g}".replace("-", "−") + (f" ({NAMED_CAUTIONS[caution]})" if caution in NAMED_CAUTIONS else "")
        for caution in points
    ]
    charts = (
        metric_chart(trace, "regret", CONTEXTUAL),
        metric_chart(trace, "violation", CONTEXTUAL),
        metric_chart(trace, "performance", CONTEXTUAL + CONTEXT_FREE),
        metric_chart(trace, "regret", CONTEXTUAL + OURS, logarithmic=True),
        metric_chart(trace, "violation", CONTEXTUAL + OURS, logarithmic=True),
        Chart(
            "The frontier of the caution dial",
            "regret R",
            "violation V",
            (Line("caution", regrets, violations, place=0, marks=True, point_names=tuple(names)),),
            x_log=True,
            y_log=True,
            direct_labels=False,
        ),
    )
    return Sheet("Regret, violation and performance on ν", charts)


def _tables(recorded: Recorded) -> tuple[NumberTable, ...]:
    rows = tuple(
        (policy, *(f"{recorded.findings[label][policy].mean():.3f}" for label in side_instances()))
        for policy in COMPARED
    )
    side = NumberTable(
        "Revenue per round with half the floors of ν, and then with contexts all alike",
        ("policy", *side_instances()),
        rows,
    )
    return (*both_tables("At the horizon, on ν", recorded.traces["nu"]), side)


def _highlights(recorded: Recorded) -> tuple[Highlight, ...]:
    trace = recorded.traces["nu"]
    regret = decade_exponent(trace, "regret", "OLP")
    violation = decade_exponent(trace, "violation", "OLP")
    sums = {policy: f"{last_mean(trace, 'regret_plus_violation', policy):,.0f}" for policy in ("BLP", "OLP", "OPLP")}
    return (
        Highlight(
            Group.REPRODUCED,
            f"On ν OLP's regret is polylogarithmic, T^({power(regret)}), and its violation like √T, "
            f"T^({power(violation)}); for OPLP it is the other way round.",
            0,
        ),
        Highlight(
            Group.BEYOND,
            f"Between them lies BLP: R + V is {sums['BLP']} after {trace.horizon:,} rounds, against {sums['OLP']} "
            "for OLP "
            f"and {sums['OPLP']} for OPLP.",
            5,
        ),
    )


EXPERIMENT = Experiment(
    name="regret",
    title="Regret, violation and performance",
    about="OLP, OPLP and Optimistic3 on ν, and the performance of the context-free DOC and SPOC beside them. "
    "Then what the paper does not have: BLP, ThompsonLP, and the rule between OPLP (caution −1) and OLP (caution 1), "
    "whose dial trades regret for violation. The paper plays 5 epochs; these are the first of ours.",
    source="Numerical Illustrations, first figure",
    horizon=50_000,
    epochs=EPOCHS,
    runs=_runs,
    compute=_compute,
    compute_rounds=_compute_rounds,
    claims=(
        _slow("OLP", "regret", "OLP's regret grows like log² T.", "OLP exhibits logarithmic regret."),
        _like_root("OLP", "violation", "OLP's violation grows like √T.", "OLP has O(√T) constraint violation."),
        _slow("OPLP", "violation", "OPLP's violation grows like log² T.", "OPLP achieves logarithmic violation."),
        _like_root("OPLP", "regret", "OPLP's regret grows like √T.", "OPLP has O(√T) regret."),
        Claim(
            "contexts-pay",
            "OLP and OPLP earn more than DOC and SPOC, which ignore contexts.",
            paper=Statement(
                "Both OLP and OPLP outperform the non-contextual baselines DOC and SPOC.",
                "On ν, OLP and OPLP earn more in every epoch than DOC and SPOC in any.",
                _contexts_pay,
            ),
            ours=Statement(
                "They earn more because of the contexts, not because DOC and SPOC chase floors out of their reach.",
                f"With {FLOORS_WITHIN_REACH:g} times ν's floors, which can be met without contexts, OLP earns more "
                "than "
                f"{LEAST_GAIN:g} times as much as DOC and OPLP as SPOC; with contexts all alike, less than "
                f"{MOST_GAIN:g} times.",
                _contexts_are_why,
            ),
            why="Without contexts the floors of ν need 7/6 of all rounds, so DOC and SPOC spend every round on floors: "
            "that alone would make them earn less.",
        ),
        _like_root(
            "Optimistic3", "violation", "Optimistic3's violation grows like √T.", "Optimistic3 yields O(√T) violation."
        ),
        Claim(
            "optimistic3-regret",
            "Optimistic3's regret grows like √T.",
            paper=Statement(
                "Optimistic3 yields O(√T) regret, in contrast with the polylogarithmic regime of OLP.",
                "Its regret as a power of T, by what the last two decades add: the interval lies from "
                f"{NEAR_ROOT[0]} to "
                f"{NEAR_ROOT[1]}.",
                _optimistic3_as_printed,
            ),
            ours=Statement(
                "Its regret nearly stops growing, as OLP's does.",
                f"The last decade of rounds adds less than {NEARLY_STOPPED:.0%} of what it adds to the regret of "
                "OPLP, which "
                "grows like √T.",
                _optimistic3,
            ),
            why="√T is the worst case of its analysis, which holds. As we read its update equations it behaves like "
            "OLP on ν. The paper does not describe its implementation.",
        ),
        Claim(
            "balanced-rules",
            "BLP and ThompsonLP have less than half the R + V of OLP and of OPLP.",
            ours=Statement(
                "A rule between OLP and OPLP has far less regret and violation together.",
                "The mean R + V of BLP and of ThompsonLP is below half of the smaller of OLP's and OPLP's.",
                _ours,
            ),
        ),
        Claim(
            "dial",
            "The best caution lies between those of OPLP and OLP.",
            ours=Statement(
                "The least R + V on the dial lies between its ends, and is less than half of either's.",
                "The least mean R + V is at a caution above −1 and below 1, and below half of that of the better end.",
                _dial,
            ),
        ),
    ),
    figure=_figure,
    tables=_tables,
    highlights=_highlights,
)
