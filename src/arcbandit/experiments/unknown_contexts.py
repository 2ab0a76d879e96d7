"""Context probabilities estimated while playing, compared with being told them."""

from arcbandit.experiments.experiment import Claim, Experiment, Measured, Recorded, Run, Settings, Statement
from arcbandit.experiments.growth import SLOW_GROWTH, last_mean, late_growth
from arcbandit.policies.base import Policy
from arcbandit.policies.registry import POLICIES as KINDS
from arcbandit.report.charts import Sheet
from arcbandit.report.metric_charts import metric_chart
from arcbandit.report.tables import NumberTable, result_table

NAMES = ("olp", "oplp", "blp")
ESTIMATED = ", p estimated"
FLAT = 1.2
MODERATE = 1.6
BALANCED = 5.0  # BLP's sum is small, so runs differ more


def _runs(settings: Settings) -> tuple[Run, ...]:
    policies: dict[str, str | Policy] = {}
    for name in NAMES:
        kind = KINDS[name]
        policies[kind.__name__] = name
        policies[kind.__name__ + ESTIMATED] = kind(estimate_contexts=True)
    return (Run("nu", "nu", policies, settings.horizon, settings.epochs),)


def _ratio(recorded: Recorded, policy: str) -> tuple[float, str]:
    trace = recorded.traces["nu"]
    known = last_mean(trace, "regret_plus_violation", policy)
    estimated = last_mean(trace, "regret_plus_violation", policy + ESTIMATED)
    return estimated / known, f"{policy} {known:,.0f} → {estimated:,.0f}"


def _moderate(recorded: Recorded) -> Measured:
    ratios = [_ratio(recorded, policy) for policy in ("OLP", "OPLP")]
    return Measured(max(ratio for ratio, _ in ratios) < MODERATE, ", ".join(text for _, text in ratios))


def _balanced(recorded: Recorded) -> Measured:
    ratio, text = _ratio(recorded, "BLP")
    return Measured(ratio < BALANCED, f"{text}, ×{ratio:.2f}")


def _same_order(recorded: Recorded) -> Measured:
    trace = recorded.traces["nu"]
    regret = late_growth(trace, "regret", "OLP" + ESTIMATED)
    violation = late_growth(trace, "violation", "OPLP" + ESTIMATED)
    return Measured(regret < SLOW_GROWTH and violation < FLAT, f"OLP R ×{regret:.2f}, OPLP V ×{violation:.2f}")


def _figure(recorded: Recorded) -> Sheet:
    trace = recorded.traces["nu"]
    charts = (metric_chart(trace, metric, trace.policies, logarithmic=True) for metric in ("regret", "violation"))
    return Sheet("Unknown context probabilities", tuple(charts))


def _tables(recorded: Recorded) -> tuple[NumberTable, ...]:
    return (result_table("At the horizon, on ν", recorded.traces["nu"]),)


EXPERIMENT = Experiment(
    name="unknown-contexts",
    title="Unknown context probabilities",
    about="OLP, OPLP and BLP on ν, told the context probabilities or estimating them from the contexts seen.",
    source="Remark after Assumption 2",
    horizon=50_000,
    epochs=5,
    runs=_runs,
    claims=(
        Claim(
            "same-order",
            "Estimating them online may introduce an additive error, which vanishes naturally.",
            paper=Statement(
                "Estimating them online may introduce an additive error, which vanishes naturally.",
                (
                    f"With estimated probabilities OLP's regret grows by less than a factor {SLOW_GROWTH:g}, and OPLP's "
                    f"violation by less than {FLAT:g} over the last decade of rounds."
                ),
                _same_order,
            ),
        ),
        Claim(
            "moderate-cost",
            f"Estimating multiplies the mean R + V of OLP and of OPLP by less than {MODERATE:g}.",
            ours=Statement(
                f"Estimating multiplies the mean R + V of OLP and of OPLP by less than {MODERATE:g}.",
                f"Estimating multiplies the mean R + V of OLP and of OPLP by less than {MODERATE:g}.",
                _moderate,
            ),
        ),
        Claim(
            "cost-for-blp",
            f"It multiplies BLP's mean R + V by less than {BALANCED:g}.",
            ours=Statement(
                f"It multiplies BLP's mean R + V by less than {BALANCED:g}.",
                f"It multiplies BLP's mean R + V by less than {BALANCED:g}.",
                _balanced,
            ),
        ),
    ),
    figure=_figure,
    tables=_tables,
)
