"""Context probabilities estimated while playing, compared with being told them."""

from arcbandit.experiments.epochs import EPOCHS, both_tables
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
)
from arcbandit.experiments.growth import BELOW_ROOT, decade_exponent, high_end, last_mean, power, slower_than_root
from arcbandit.policies.registry import POLICIES as KINDS
from arcbandit.policies.settings import PolicyName
from arcbandit.report.charts import Sheet
from arcbandit.report.metric_charts import metric_chart
from arcbandit.report.tables import NumberTable
from arcbandit.simulation.playable import Playable

NAMES: tuple[PolicyName, ...] = ("olp", "oplp", "blp")
ESTIMATED = ", p estimated"
MODERATE = 1.2
BALANCED = 2.0  # BLP's sum is small, so the same error is more of it
SUBLINEAR = 0.7


def _runs(settings: Settings) -> tuple[Run, ...]:
    policies: dict[str, Playable] = {}
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


def _vanishes(recorded: Recorded) -> Measured:
    found = {
        KINDS[name].__name__: decade_exponent(
            recorded.traces["nu"], "regret_plus_violation", KINDS[name].__name__ + ESTIMATED
        )
        for name in NAMES
    }
    shown = ", ".join(f"{policy} T^({power(one)})" for policy, one in found.items())
    return Measured(all(high_end(one) < SUBLINEAR for one in found.values()), shown)


def _same_order(recorded: Recorded) -> Measured:
    trace = recorded.traces["nu"]
    regret = decade_exponent(trace, "regret", "OLP" + ESTIMATED)
    violation = decade_exponent(trace, "violation", "OPLP" + ESTIMATED)
    passed = slower_than_root(regret) and slower_than_root(violation)
    return Measured(passed, f"OLP's R T^({power(regret)}), OPLP's V T^({power(violation)})")


def _figure(recorded: Recorded) -> Sheet:
    trace = recorded.traces["nu"]
    charts = (metric_chart(trace, metric, trace.policies, logarithmic=True) for metric in ("regret", "violation"))
    return Sheet("Unknown context probabilities", tuple(charts))


def _tables(recorded: Recorded) -> tuple[NumberTable, ...]:
    return both_tables("At the horizon, on ν", recorded.traces["nu"])


def _highlights(recorded: Recorded) -> tuple[Highlight, ...]:
    texts = [_ratio(recorded, policy) for policy in ("OLP", "OPLP", "BLP")]
    sentence = "Estimating the context probabilities instead of knowing them changes R + V on ν as follows: "
    return (Highlight(Group.BEYOND, f"{sentence}{', '.join(text for _, text in texts)}.", 1),)


EXPERIMENT = Experiment(
    name="unknown-contexts",
    title="Unknown context probabilities",
    about="OLP, OPLP and BLP on ν, told the context probabilities or estimating them from the contexts seen.",
    source="Remark after Assumption 2",
    horizon=50_000,
    epochs=EPOCHS,
    runs=_runs,
    claims=(
        Claim(
            "same-order",
            "The error of estimating context probabilities vanishes.",
            paper=Statement(
                "Although this may introduce an additive estimation error, the error vanishes naturally.",
                "With estimated probabilities the R + V of OLP, OPLP and BLP as a power of T, by what the last two "
                "decades "
                f"of rounds add: the 95 % interval lies below {SUBLINEAR:g}. An error that stays makes it 1.",
                _vanishes,
            ),
            ours=Statement(
                "OLP's regret and OPLP's violation keep their order.",
                "With estimated probabilities their powers of T, by what the last two decades add, are below "
                f"{BELOW_ROOT:g} (95 % "
                "intervals).",
                _same_order,
            ),
        ),
        Claim(
            "moderate-cost",
            f"Estimating costs OLP and OPLP less than {MODERATE - 1:.0%} more R + V.",
            ours=Statement(
                "Not knowing the probabilities costs OLP and OPLP little.",
                f"Estimating multiplies the mean R + V of OLP and of OPLP by less than {MODERATE:g}.",
                _moderate,
            ),
        ),
        Claim(
            "cost-for-blp",
            f"Estimating multiplies BLP's R + V by less than {BALANCED:g}.",
            ours=Statement(
                "It costs BLP relatively more, as its sum is small, but does not double it.",
                f"Estimating multiplies the mean R + V of BLP by less than {BALANCED:g}.",
                _balanced,
            ),
        ),
    ),
    figure=_figure,
    tables=_tables,
    highlights=_highlights,
)
