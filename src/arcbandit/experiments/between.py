"""Between OLP and OPLP: cautions that beat OPLP in both sums on nu, and rules that grow like a root in both."""

from typing import Any

from arcbandit.estimates import Estimate, written
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
from arcbandit.experiments.growth import power
from arcbandit.experiments.net_growth import net_exponent, within
from arcbandit.policies.linear_program import LinearProgramRule
from arcbandit.report.charts import Chart, Line, Sheet
from arcbandit.report.metric_charts import metric_chart
from arcbandit.report.tables import NumberTable

CAUTIONS = {"caution −0.5": -0.5, "caution −0.25": -0.25}
PLACES = {"caution −0.5": 3, "caution −0.25": 2}  # in the order of colours; policies by name have their own
MIDDLE = ("BLP", "ThompsonLP")
SUMS = ("regret", "violation")
ROOT = (0.2, 0.8)


def _runs(settings: Settings) -> tuple[Run, ...]:
    between: dict[str, Any] = {
        name: LinearProgramRule(optimism=1.0, caution=caution) for name, caution in CAUTIONS.items()
    }
    policies = {**named("olp", "oplp"), **between, **named("blp", "thompson-lp")}
    return (Run("nu", "nu", policies, settings.horizon, settings.epochs),)


def _ends(recorded: Recorded, policy: str) -> dict[str, Estimate]:
    return {metric: recorded.traces["nu"].estimate(metric, policy) for metric in SUMS}


def _pair(recorded: Recorded, policy: str) -> str:
    found = _ends(recorded, policy)
    return f"R {written(found['regret'])}, V {written(found['violation'])}"


def _dominated(recorded: Recorded) -> Measured:
    oplp = _ends(recorded, "OPLP")
    passed = all(
        found[metric].mean + found[metric].half_width < oplp[metric].mean - oplp[metric].half_width
        for found in (_ends(recorded, policy) for policy in CAUTIONS)
        for metric in SUMS
    )
    return Measured(passed, "; ".join(f"{policy}: {_pair(recorded, policy)}" for policy in ("OPLP", *CAUTIONS)))


def _roots(recorded: Recorded) -> Measured:
    found = {
        f"{policy} {metric[0].upper()}": net_exponent(recorded.traces["nu"], metric, policy)
        for policy in MIDDLE
        for metric in SUMS
    }
    passed = all(within(one, *ROOT) for one in found.values())
    return Measured(passed, "; ".join(f"{name} ∝ T^({power(one)})" for name, one in found.items()))


def _figure(recorded: Recorded) -> Sheet:
    trace = recorded.traces["nu"]
    ends = [
        Line(
            policy,
            [_ends(recorded, policy)["regret"].mean],
            [_ends(recorded, policy)["violation"].mean],
            marks=True,
            joined=False,
            place=PLACES.get(policy),
        )
        for policy in trace.policies
    ]
    return Sheet(
        "Between OLP and OPLP",
        (
            Chart(
                "Both sums at the horizon",
                "regret R",
                "violation V",
                tuple(ends),
                x_log=True,
                y_log=True,
                direct_labels=False,
                legend=True,
                in_words="; ".join(f"{policy}: {_pair(recorded, policy)}" for policy in trace.policies) + ".",
            ),
            *(metric_chart(trace, metric, MIDDLE, logarithmic=True) for metric in SUMS),
        ),
    )


def _tables(recorded: Recorded) -> tuple[NumberTable, ...]:
    trace = recorded.traces["nu"]
    rows = tuple(
        (
            policy,
            *(str(one) for one in _ends(recorded, policy).values()),
            *(power(net_exponent(trace, metric, policy)).replace("−inf ± 0.00", "—") for metric in SUMS),
        )
        for policy in trace.policies
    )
    return (NumberTable("On ν at the horizon", ("policy", "R", "V", "exponent of R", "exponent of V"), rows),)


def _highlights(recorded: Recorded) -> tuple[Highlight, ...]:
    if not _dominated(recorded).passed:
        return ()
    first, second = CAUTIONS
    return (
        Highlight(
            Group.BEYOND,
            f"On ν less caution is better in both sums: OPLP has {_pair(recorded, 'OPLP')}; {first} has "
            f"{_pair(recorded, first)}, and {second} {_pair(recorded, second)}.",
            0,
        ),
    )


EXPERIMENT = Experiment(
    name="between",
    title="Between OLP and OPLP",
    about="Rules that plan with lower bounds of half or a quarter of a radius in the floors (cautions −0.5 and "
    "−0.25), with means (BLP) and with draws in the objective (ThompsonLP), on ν beside OLP and OPLP. Exponents are "
    "those of the last two decades of rounds, net of the rounds before.",
    source="",
    horizon=50_000,
    epochs=100,
    runs=_runs,
    claims=(
        Claim(
            "oplp-is-dominated",
            "On ν OPLP has more regret and more violation than cautions −0.5 and −0.25.",
            ours=Statement(
                "Half a radius of caution, or a quarter, leaves the fallback earlier and gives up less revenue "
                "afterwards. On other instances these cautions are stuck more often than OPLP: see the experiment on "
                "stuck runs.",
                "For both cautions the 95 % intervals of R and of V are below those of OPLP.",
                _dominated,
            ),
        ),
        Claim(
            "a-root-in-both",
            "BLP's and ThompsonLP's regret and violation both grow like √T.",
            ours=Statement(
                "Neither sum is polylogarithmic, and both are much smaller than the roots of OLP and OPLP.",
                f"The exponents of R and V, with their 95 % intervals, lie from {ROOT[0]} to {ROOT[1]}.",
                _roots,
            ),
        ),
    ),
    figure=_figure,
    tables=_tables,
    highlights=_highlights,
)
