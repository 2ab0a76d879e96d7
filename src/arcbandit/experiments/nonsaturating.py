"""No arm saturates its floor: both metrics logarithmic for both algorithms."""

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
)
from arcbandit.experiments.growth import BELOW_ROOT, decade_exponent, last_mean, power, slower_than_root
from arcbandit.report.charts import Sheet
from arcbandit.report.metric_charts import metric_chart
from arcbandit.report.tables import NumberTable

POLICIES = ("OLP", "OPLP")
LONGER = 100  # times the paper's horizon, where a root could no longer hide behind the first rounds
# After the first rounds a regret comes once in hundreds of rounds, so it takes more epochs to see how it grows.
MORE_EPOCHS = 5


def _runs(settings: Settings) -> tuple[Run, ...]:
    policies = named("olp", "oplp")
    return (
        Run("paper", "nu-nonsaturating", policies, settings.horizon, settings.epochs),
        Run("longer", "nu-nonsaturating", policies, LONGER * settings.horizon, MORE_EPOCHS * settings.epochs),
    )


def _slow(policy: str, metric: str) -> Claim:
    def check(recorded: Recorded) -> Measured:
        exponent = decade_exponent(recorded.traces["longer"], metric, policy)
        end = beside(recorded.traces["paper"], metric, policy)
        return Measured(slower_than_root(exponent), f"T^({power(exponent)}); {end} at the paper's horizon")

    return Claim(
        f"{policy.lower()}-{metric}",
        f"With no saturated floor, {policy}'s {metric} is logarithmic.",
        paper=Statement(
            f"The {metric} of {policy} exhibits logarithmic behavior.",
            f"Its power of T, by what the last two decades of {LONGER} times the paper's rounds add: the 95 % interval "
            f"lies below {BELOW_ROOT:g}. There log T has the power 0, log² T 0.12 and √T 0.5.",
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
    return both_tables("At the paper's horizon", recorded.traces["paper"])


def _highlights(recorded: Recorded) -> tuple[Highlight, ...]:
    longer = recorded.traces["longer"]
    regret, violation = (last_mean(longer, metric, "OLP") for metric in ("regret", "violation"))
    sentence = (
        f"Where no floor saturates, both sums nearly stop: after {longer.horizon:,} rounds OLP's regret is "
        f"{regret:.0f} and "
        f"its violation {violation:.1f}."
    )
    return (Highlight(Group.REPRODUCED, sentence, 2),)


EXPERIMENT = Experiment(
    name="nonsaturating",
    title="Non-saturating arms",
    about="OLP and OPLP on ν′, where the best plan leaves every floor slack: for the paper's 500 rounds, and for "
    "a hundred times as many and five times the epochs, as the first fifty rounds are nearly all that 500 show.",
    source="Numerical Illustrations, Non Saturating Arms",
    horizon=500,
    epochs=EPOCHS,
    runs=_runs,
    claims=tuple(_slow(policy, metric) for policy in POLICIES for metric in ("regret", "violation")),
    figure=_figure,
    tables=_tables,
    highlights=_highlights,
)
