"""Floors out of reach without contexts: what DOC, SPOC and SGOC share out."""

import itertools
from typing import Any

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
from arcbandit.experiments.net_growth import net_exponent
from arcbandit.policies.sgoc import SGOC
from arcbandit.policies.spoc import SPOC
from arcbandit.report.charts import Chart, Sheet
from arcbandit.report.metric_charts import metric_line, metric_text
from arcbandit.report.tables import NumberTable
from arcbandit.simulation.trace import Trace

UPPER = {"SPOC": "SPOC, λ/UCB", "SGOC": "SGOC, λ/UCB"}
PLACES = {UPPER["SPOC"]: 0, UPPER["SGOC"]: 1}  # in the order of colours; policies by name have their own
OWN = ("DOC", "SPOC", "SGOC")
STEEPER_THAN_A_ROOT = 0.65
CONTEXTUAL = ("OLP", "OPLP")
COMPARED = ("regret", "violation", "realised_revenue")


def _runs(settings: Settings) -> tuple[Run, ...]:
    ways: dict[str, Any] = {
        **named("doc", "spoc", "sgoc"),
        UPPER["SPOC"]: SPOC(shares="ucb"),
        UPPER["SGOC"]: SGOC(shares="ucb"),
    }
    short = max(1, settings.horizon // 4)
    return (
        Run("ν", "nu", {**named("olp", "oplp"), **ways}, settings.horizon, settings.epochs),
        Run("ν′", "nu-nonsaturating", ways, short, settings.epochs, 1),
    )


def _outperform(recorded: Recorded) -> Measured:
    trace = recorded.traces["ν"]
    found = {policy: trace.estimate("performance", policy) for policy in (*CONTEXTUAL, *OWN, *UPPER.values())}
    least = min(found[policy].mean - found[policy].half_width for policy in CONTEXTUAL)
    most = max(one.mean + one.half_width for policy, one in found.items() if policy not in CONTEXTUAL)
    shown = ", ".join(f"{policy} {one.mean / trace.horizon:.2f}" for policy, one in found.items())
    return Measured(least > most, f"revenue per round: {shown}")


def _steep(recorded: Recorded) -> Measured:
    found = {
        f"{policy} {metric[0].upper()}": net_exponent(recorded.traces["ν"], metric, policy)
        for policy in OWN
        for metric in ("regret", "violation")
    }
    passed = all(one.mean - one.half_width > STEEPER_THAN_A_ROOT for one in found.values())
    return Measured(passed, "; ".join(f"{name} ∝ T^({power(one)})" for name, one in found.items()))


def _same(trace: Trace, one: str, other: str) -> bool:
    """Whether two policies have the same sums at every checkpoint, bit for bit."""
    return all(bool((trace.metric(metric)[one] == trace.metric(metric)[other]).all()) for metric in COMPARED)


def _ends(recorded: Recorded, policy: str) -> str:
    return f"{policy} {recorded.traces['ν'].estimate('violation', policy).mean:,.0f}"


def _order(recorded: Recorded) -> Measured:
    ends = [recorded.traces["ν"].estimate("violation", policy) for policy in ("DOC", "SGOC", "SPOC")]
    passed = all(one.mean + one.half_width < other.mean - other.half_width for one, other in itertools.pairwise(ends))
    return Measured(passed, "V: " + ", ".join(_ends(recorded, policy) for policy in ("DOC", "SGOC", "SPOC")))


def _coincide(recorded: Recorded) -> Measured:
    trace = recorded.traces["ν"]
    passed = _same(trace, "DOC", UPPER["SPOC"]) and not _same(trace, "DOC", "SPOC")
    return Measured(passed, f"V: {', '.join(_ends(recorded, one) for one in ('DOC', UPPER['SPOC'], 'SPOC'))}")


def _equal_where_feasible(recorded: Recorded) -> Measured:
    trace = recorded.traces["ν′"]
    same = [_same(trace, rule, other) for rule, other in UPPER.items()]
    return Measured(all(same), f"{sum(same)} of {len(same)} rules play the same on ν′, bit for bit")


def _figure(recorded: Recorded) -> Sheet:
    trace = recorded.traces["ν"]
    charts = []
    for metric in ("regret", "violation"):
        lines = tuple(
            metric_line(trace, metric, policy, place=PLACES.get(policy))
            for policy in trace.policies
            if policy not in CONTEXTUAL
        )
        charts.append(Chart(*metric_text(metric), lines))
    return Sheet("Floors out of reach without contexts", tuple(charts))


def _tables(recorded: Recorded) -> tuple[NumberTable, ...]:
    trace = recorded.traces["ν"]
    rows = tuple(
        (policy, *(str(trace.estimate(metric, policy)) for metric in ("regret", "violation")))
        for policy in trace.policies
    )
    return (NumberTable("On ν at the horizon", ("policy", "R", "V"), rows),)


def _highlights(recorded: Recorded) -> tuple[Highlight, ...]:
    shown = ", ".join(_ends(recorded, policy) for policy in OWN)
    return (
        Highlight(
            Group.BEYOND,
            "Without contexts the floors of ν are out of reach, and what DOC, SPOC and SGOC then share out matters: "
            f"violation at the horizon {shown}; with λ/UCB for all, SPOC is DOC.",
            1,
        ),
    )


EXPERIMENT = Experiment(
    name="infeasible-floors",
    title="Floors out of reach without contexts",
    about="DOC, SPOC and SGOC ignore contexts, and on ν no plan without contexts meets the floors. Their shares must "
    "then be scaled down to 1: in their authors' code each rule's own, λ/UCB, λ/LCB and λ/mean, which is the default "
    "here; or "
    'λ/UCB for all (`shares="ucb"`). Both are shown. On ν′ the floors can be met without contexts.',
    source="Numerical Illustrations, third panel",
    horizon=20_000,
    epochs=100,
    runs=_runs,
    claims=(
        Claim(
            "contexts-outperform",
            "OLP and OPLP earn more than DOC, SPOC and SGOC, whatever these share out.",
            paper=Statement(
                "Both OLP and OPLP outperform the non-contextual baselines DOC and SPOC.",
                "On ν the expected revenue of OLP and of OPLP is above that of the others at the horizon; the 95 % "
                "intervals do not overlap.",
                _outperform,
            ),
        ),
        Claim(
            "steeper-than-a-root",
            "On ν the regret and the violation of rules without contexts grow faster than any root.",
            ours=Statement(
                "What contexts would earn is lost in every round, and floors out of reach are missed in every round.",
                f"The exponents of R and V over the last two decades are above {STEEPER_THAN_A_ROOT}, with their 95 % "
                "intervals.",
                _steep,
            ),
        ),
        Claim(
            "own-shares-differ",
            "With shares of their own DOC violates least and SPOC most.",
            ours=Statement(
                "Lower bounds ask most for the arms that were played least, which takes from the others.",
                "The 95 % intervals of V at the horizon do not overlap, in the order DOC, SGOC, SPOC.",
                _order,
            ),
        ),
        Claim(
            "upper-shares-coincide",
            "If λ/UCB is scaled down in all of them, SPOC is DOC on ν.",
            ours=Statement(
                "So they say nothing about SPOC in the paper's third panel.",
                "Regret, violation and revenue of SPOC with λ/UCB equal DOC's at every checkpoint; with its own "
                "shares they do not.",
                _coincide,
            ),
        ),
        Claim(
            "no-matter-where-feasible",
            "Where floors can be met without contexts it does not matter what is scaled down.",
            ours=Statement(
                "Upper bounds are then feasible.",
                "On ν′ regret, violation and revenue of SPOC and of SGOC are the same both ways, bit for bit.",
                _equal_where_feasible,
            ),
        ),
    ),
    figure=_figure,
    tables=_tables,
    highlights=_highlights,
)
