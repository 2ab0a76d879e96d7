"""The paper's main figure: regret, violation and performance on nu."""

from arcbandit.experiments.experiment import Claim, Experiment, Measured, Recorded, Run, Settings, Statement, named
from arcbandit.experiments.growth import ROOT_GROWTH, SLOW_GROWTH, last_mean, late_exponent, late_growth, power
from arcbandit.policies.linear_program import LinearProgramRule
from arcbandit.report.charts import Chart, Line, Sheet
from arcbandit.report.metric_charts import metric_chart
from arcbandit.report.tables import NumberTable, result_table

CONTEXTUAL = ("OLP", "OPLP", "Optimistic3")
CONTEXT_FREE = ("DOC", "SPOC")
OURS = ("BLP", "ThompsonLP")
CAUTIONS = (-0.75, -0.5, -0.25, 0.25, 0.5, 0.75)
# The named rules on the dial.
NAMED_CAUTIONS = {-1.0: "OPLP", 0.0: "BLP", 1.0: "OLP"}

NEAR_ROOT = (0.35, 0.65)


def _runs(settings: Settings) -> tuple[Run, ...]:
    compared = named("olp", "oplp", "optimistic3", "doc", "spoc", "blp", "thompson-lp")
    dialled = {f"caution {caution:g}": LinearProgramRule(optimism=1.0, caution=caution) for caution in CAUTIONS}
    return (
        Run("nu", "nu", compared, settings.horizon, settings.epochs),
        Run("frontier", "nu", dialled, settings.horizon, settings.epochs, 1),
    )


def _slow(policy: str, metric: str, paper: str) -> Claim:
    def check(recorded: Recorded) -> Measured:
        trace = recorded.traces["nu"]
        growth = late_growth(trace, metric, policy)
        return Measured(growth < SLOW_GROWTH, f"×{growth:.2f}, against ×{ROOT_GROWTH:.2f} for √T")

    return Claim(
        f"{policy.lower()}-{metric}-is-polylogarithmic",
        paper,
        paper=Statement(
            paper,
            (
                f"{policy}'s mean {metric} grows by less than a factor {SLOW_GROWTH:g} over the last decade of rounds, where "
                f"log² T grows by 1.61 and √T by {ROOT_GROWTH:.2f}."
            ),
            check,
        ),
    )


def _like_root(policy: str, metric: str, paper: str) -> Claim:
    def check(recorded: Recorded) -> Measured:
        exponent = late_exponent(recorded.traces["nu"], metric, policy)
        low, high = NEAR_ROOT
        return Measured(low <= exponent.mean <= high, f"T^({power(exponent)})")

    return Claim(
        f"{policy.lower()}-{metric}-is-like-root-t",
        paper,
        paper=Statement(
            paper,
            (
                f"{policy}'s {metric} is a power of T from {NEAR_ROOT[0]} to {NEAR_ROOT[1]} over the last decade of rounds "
                "(log-log slope, mean over epochs). The theorem's √(T log T) has slope 0.55 there."
            ),
            check,
        ),
    )


def _contexts_pay(recorded: Recorded) -> Measured:
    trace = recorded.traces["nu"]
    worst = min(float(trace.performance[policy][:, -1].min()) for policy in CONTEXTUAL)
    best = max(float(trace.performance[policy][:, -1].max()) for policy in CONTEXT_FREE)
    return Measured(worst > best, f"at least {worst:,.0f} against at most {best:,.0f}")


def _optimistic3(recorded: Recorded) -> Measured:
    trace = recorded.traces["nu"]
    regret, root = last_mean(trace, "regret", "Optimistic3"), last_mean(trace, "regret", "OPLP")
    growth = late_growth(trace, "regret", "Optimistic3")
    return Measured(regret < root / 2, f"R = {regret:,.0f}, ×{growth:.2f} over the last decade; OPLP {root:,.0f}")


def _ours(recorded: Recorded) -> Measured:
    trace = recorded.traces["nu"]
    sums = {policy: last_mean(trace, "regret_plus_violation", policy) for policy in (*OURS, "OLP", "OPLP")}
    passed = max(sums[policy] for policy in OURS) < min(sums["OLP"], sums["OPLP"]) / 2
    return Measured(passed, ", ".join(f"{policy} {total:,.0f}" for policy, total in sums.items()))


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
    return (result_table("At the horizon, on ν", recorded.traces["nu"]),)


def _as_printed(recorded: Recorded) -> Measured:
    return Measured(False, "to be measured")


EXPERIMENT = Experiment(
    name="regret",
    title="Regret, violation and performance",
    about="OLP, OPLP and Optimistic3 on ν, and the performance of the context-free DOC and SPOC beside them. "
    "Then what the paper does not have: BLP, ThompsonLP, and the rule between OPLP (caution −1) and OLP (caution 1), "
    "whose dial trades regret for violation.",
    source="Numerical Illustrations, first figure",
    horizon=50_000,
    epochs=5,
    runs=_runs,
    claims=(
        _slow("OLP", "regret", "OLP exhibits logarithmic regret."),
        _like_root("OLP", "violation", "OLP has O(√T) violation."),
        _slow("OPLP", "violation", "OPLP achieves logarithmic violation."),
        _like_root("OPLP", "regret", "OPLP has O(√T) regret."),
        Claim(
            "contexts-pay",
            "OLP and OPLP outperform the non-contextual DOC and SPOC.",
            paper=Statement(
                "OLP and OPLP outperform the non-contextual DOC and SPOC.",
                "In every epoch OLP, OPLP and Optimistic3 earn more than DOC and SPOC do in any.",
                _contexts_pay,
            ),
        ),
        _like_root("Optimistic3", "violation", "Optimistic3 yields O(√T) for violation."),
        Claim(
            "optimistic3-regret",
            "Optimistic3's mean regret is below half of OPLP's, which is like √T.",
            paper=Statement("Optimistic3 yields O(√T) for regret.", "as printed", _as_printed),
            ours=Statement(
                "Optimistic3's mean regret is below half of OPLP's, which is like √T.",
                "Optimistic3's mean regret is below half of OPLP's, which is like √T.",
                _optimistic3,
            ),
            why=(
                "√T is the worst case of its analysis. As we read its update equations, it behaves like OLP on ν: "
                "its regret nearly stops growing. The paper does not describe its implementation."
            ),
        ),
        Claim(
            "balanced-rules",
            "The mean R + V of BLP and of ThompsonLP is below half of the smaller of OLP's and OPLP's.",
            ours=Statement(
                "The mean R + V of BLP and of ThompsonLP is below half of the smaller of OLP's and OPLP's.",
                "The mean R + V of BLP and of ThompsonLP is below half of the smaller of OLP's and OPLP's.",
                _ours,
            ),
        ),
        Claim(
            "dial",
            "The least mean R + V on the dial lies strictly between OPLP and OLP, and is below half of the better end.",
            ours=Statement(
                "The least mean R + V on the dial lies strictly between OPLP and OLP, and is below half of the better end.",
                "The least mean R + V on the dial lies strictly between OPLP and OLP, and is below half of the better end.",
                _dial,
            ),
        ),
    ),
    figure=_figure,
    tables=_tables,
)
