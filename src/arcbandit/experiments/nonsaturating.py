"""No arm saturates its floor: both metrics logarithmic for both algorithms."""

from arcbandit.experiments.experiment import Claim, Experiment, Measured, Recorded, Run, Settings, Statement, named
from arcbandit.experiments.growth import ROOT_GROWTH, last_mean, late_growth
from arcbandit.report.charts import Sheet
from arcbandit.report.metric_charts import metric_chart
from arcbandit.report.tables import NumberTable, result_table

POLICIES = ("OLP", "OPLP")
# Over the last decade: log(T) gives 1.6 at T = 500, sqrt(T) 3.2.
SLOW = 1.6
LONGER = 100  # times the paper's horizon, where a root could no longer hide behind the first rounds


def _runs(settings: Settings) -> tuple[Run, ...]:
    policies = named("olp", "oplp")
    return (
        Run("paper", "nu-nonsaturating", policies, settings.horizon, settings.epochs),
        Run("longer", "nu-nonsaturating", policies, LONGER * settings.horizon, settings.epochs),
    )


def _slow(policy: str, metric: str) -> Claim:
    def check(recorded: Recorded) -> Measured:
        growth = {run: late_growth(trace, metric, policy) for run, trace in recorded.traces.items()}
        end = last_mean(recorded.traces["paper"], metric, policy)
        shown = f"×{growth['paper']:.2f} to {end:.1f}, ×{growth['longer']:.2f} at {LONGER} T"
        return Measured(max(growth.values()) < SLOW, f"{shown}; against ×{ROOT_GROWTH:.2f} for √T")

    return Claim(
        f"{policy.lower()}-{metric}",
        f"The {metric} of {policy} exhibits logarithmic behavior.",
        paper=Statement(
            f"The {metric} of {policy} exhibits logarithmic behavior.",
            (
                f"{policy}'s mean {metric} grows by less than a factor {SLOW:g}, that of log T, over the last decade of rounds,"
                f" both at the paper's horizon and at {LONGER} times it."
            ),
            check,
        ),
    )


def _figure(recorded: Recorded) -> Sheet:
    paper, longer = recorded.traces["paper"], recorded.traces["longer"]
    return Sheet(
        "No arm saturates its floor",
        (
            metric_chart(paper, "regret", POLICIES),
            metric_chart(paper, "violation", POLICIES),
            metric_chart(longer, "regret", POLICIES, logarithmic=True),
            metric_chart(longer, "violation", POLICIES, logarithmic=True),
        ),
    )


def _tables(recorded: Recorded) -> tuple[NumberTable, ...]:
    return (result_table("At the paper's horizon", recorded.traces["paper"]),)


EXPERIMENT = Experiment(
    name="nonsaturating",
    title="Non-saturating arms",
    about="OLP and OPLP on ν′, where the best plan leaves every floor slack: for the paper's 500 rounds, and for "
    "a hundred times as many, as the first twenty rounds are most of what 500 show.",
    source="Numerical Illustrations, Non Saturating Arms",
    horizon=500,
    epochs=5,
    runs=_runs,
    claims=tuple(_slow(policy, metric) for policy in POLICIES for metric in ("regret", "violation")),
    figure=_figure,
    tables=_tables,
)
