"""Floors of groups of arms, and what single windows of rounds earn."""

from typing import Any

import numpy as np

from arcbandit.estimates import Estimate, estimate
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
from arcbandit.experiments.net_growth import gain, linear_runs, net_exponent, within
from arcbandit.experiments.variants import OPLPWithCountFloor
from arcbandit.report.charts import Chart, Sheet
from arcbandit.report.metric_charts import growth_guides, metric_line, metric_text
from arcbandit.report.tables import NumberTable
from arcbandit.simulation.trace import Trace

WINDOW = 1 / 20  # of the horizon
GROUP = "small"
FLOOR = 0.75
REPAIRED = "OPLP, 0.5 log² t plays"
ROOT = (0.35, 0.65)
SLOW = 0.45
FLAT = 0.01  # of the violation, gained over the last decade
STUCK = 0.2
SHORT, ENOUGH = 0.05, 0.01  # of the floor


def window_of(settings: Settings) -> int:
    """The length of sliding windows."""
    return max(1, round(WINDOW * settings.horizon))


def _runs(settings: Settings) -> tuple[Run, ...]:
    horizon, epochs, window = settings.horizon, settings.epochs, window_of(settings)
    repaired: dict[str, Any] = {**named("olp", "oplp"), REPAIRED: OPLPWithCountFloor(share=0.5)}
    return (
        Run("one group", "one-group", repaired, horizon, epochs, window=window),
        Run("groups and arms", "groups-and-arms", named("olp", "oplp"), horizon, epochs, window=window),
        Run("apart", "floors-apart", named("olp"), horizon, epochs, window=window),
    )


def _olp(recorded: Recorded) -> Measured:
    trace = recorded.traces["one group"]
    regret, violation = (net_exponent(trace, metric, "OLP") for metric in ("regret", "violation"))
    passed = regret.mean + regret.half_width < SLOW and within(violation, *ROOT)
    return Measured(passed, f"R ∝ T^({power(regret)}), V ∝ T^({power(violation)})")


def _flat(trace: Trace, policy: str) -> bool:
    return gain(trace, "violation", policy).mean < FLAT * trace.estimate("violation", policy).mean


def _oplp_as_stated(recorded: Recorded) -> Measured:
    trace = recorded.traces["one group"]
    share, regret = linear_runs(trace, "OPLP", STUCK), net_exponent(trace, "regret", "OPLP")
    passed = _flat(trace, "OPLP") and within(regret, *ROOT) and share.count == 0
    return Measured(passed, f"R ∝ T^({power(regret)}); {share} runs are linear")


def _oplp_is_stuck(recorded: Recorded) -> Measured:
    trace = recorded.traces["one group"]
    share, repaired = (linear_runs(trace, policy, STUCK) for policy in ("OPLP", REPAIRED))
    passed = _flat(trace, "OPLP") and share.count > repaired.count
    return Measured(passed, f"{share} runs are linear; with 0.5 log² t plays {repaired}")


def _per_round(recorded: Recorded, label: str) -> Estimate:
    trace = recorded.traces[label]
    return estimate(trace.performance["OLP"][:, -1] / trace.horizon)


def _cheaper(recorded: Recorded) -> Measured:
    together, apart = (_per_round(recorded, label) for label in ("one group", "apart"))
    passed = together.mean - together.half_width > apart.mean + apart.half_width
    return Measured(passed, f"{together.mean:.3f} against {apart.mean:.3f} per round")


def worst_window(trace: Trace, policy: str, floor: str, kind: str) -> Estimate:
    """What the worst window of a run is short of a floor, per round; negative if no window is."""
    return estimate(trace.metric(f"worst_window_{kind}")[policy][:, -1, trace.floors.index(floor)])


def _windows(recorded: Recorded) -> Measured:
    trace = recorded.traces["one group"]
    olp, oplp = (worst_window(trace, policy, GROUP, "expected") for policy in ("OLP", "OPLP"))
    passed = olp.mean - olp.half_width > SHORT * FLOOR and oplp.mean + oplp.half_width < ENOUGH * FLOOR
    return Measured(passed, f"short by {olp.mean:.3f} with OLP, {oplp.mean:.3f} with OPLP".replace("-", "−"))


def _noise(recorded: Recorded) -> Measured:
    expected, earned = (
        worst_window(recorded.traces["one group"], "OPLP", GROUP, kind) for kind in ("expected", "realised")
    )
    passed = earned.mean - earned.half_width > max(expected.mean + expected.half_width, ENOUGH * FLOOR)
    return Measured(passed, f"short by {earned.mean:.3f} as earned, {expected.mean:.3f} as expected".replace("-", "−"))


def _figure(recorded: Recorded) -> Sheet:
    trace = recorded.traces["one group"]
    charts = []
    for metric in ("regret", "violation"):
        lines = tuple(metric_line(trace, metric, policy) for policy in ("OLP", "OPLP"))
        lines += (metric_line(trace, metric, REPAIRED, "OPLP, repaired", 2),)
        shown = growth_guides(trace, lines)
        charts.append(Chart(*metric_text(metric), lines, shown, x_log=True, y_log=True))
    return Sheet("Floors of groups", tuple(charts))


def _tables(recorded: Recorded) -> tuple[NumberTable, ...]:
    rows, windows = [], []
    for label in ("one group", "groups and arms", "apart"):
        trace = recorded.traces[label]
        for policy in trace.policies:
            ends = [str(trace.estimate(metric, policy)) for metric in ("regret", "violation")]
            rows.append((f"{policy}, {label}", *ends, str(linear_runs(trace, policy, STUCK))))
            if label != "apart":
                for floor, amount in zip(trace.floors, _amounts(label), strict=True):
                    if amount > 0.0:
                        shorts = [worst_window(trace, policy, floor, kind).mean for kind in ("expected", "realised")]
                        told = [f"{short:.3f}".replace("-", "−") for short in shorts]
                        windows.append((f"{policy}, {label}", floor, f"{amount:g}", *told))
    return (
        NumberTable("At the horizon", ("policy and floors", "R", "V", "linear runs"), tuple(rows)),
        NumberTable(
            f"What the worst window of {max(1, round(WINDOW * recorded.settings.horizon)):,} rounds is short of, per "
            "round",
            ("policy and floors", "floor of", "floor", "expected", "earned"),
            tuple(windows),
        ),
    )


def _amounts(label: str) -> tuple[float, ...]:
    return (0.0, 0.0, 0.0, 0.0, FLOOR) if label == "one group" else (1.0, 0.0, 0.25, 0.0, FLOOR, 3.0)


def _highlights(recorded: Recorded) -> tuple[Highlight, ...]:
    trace = recorded.traces["one group"]
    share = linear_runs(trace, "OPLP", STUCK)
    ends = trace.estimate("regret", "OLP")
    median = float(np.median(trace.regret["OPLP"][:, -1]))
    told = f"; OPLP is stuck in {share} runs, and has a median regret of {median:,.0f}" if share.count else ""
    return (
        Highlight(
            Group.REPRODUCED if _olp(recorded).passed else Group.NOT_REPRODUCED,
            f"With one floor for two arms together OLP behaves as with floors of single arms (R {ends}){told}.",
            0,
        ),
    )


EXPERIMENT = Experiment(
    name="group-floors",
    title="Floors of groups, and windows of rounds",
    about="Four arms and three contexts, means (9, 3, 6), (4, 6, 2), (0, 1.5, 3) and (1, 0, 3.5). One group: the "
    "last two arms must together earn 0.75 per round, the only constraint. Groups and arms: two groups that overlap, "
    "and floors of two arms as well. Apart: each of the small arms must earn half of their group's floor. A window "
    "is any stretch of a twentieth of the horizon; of each run the worst one counts, by expected revenue and by what "
    "was earned. The repaired OPLP plays every pair at least 0.5 log² t times.",
    source="Conclusion",
    horizon=20_000,
    epochs=100,
    runs=_runs,
    claims=(
        Claim(
            "olp-generalises",
            "With a floor for a group OLP's regret grows slowly and its violation like √T.",
            paper=Statement(
                "The algorithmic and analytical framework generalizes naturally to broader constraint structures, "
                "such as ensuring that the cumulative reward from a subset of arms exceeds a given threshold.",
                f"OLP, one group: over the last two decades the exponent of R is below {SLOW} and that of V from "
                f"{ROOT[0]} to {ROOT[1]}, both with their 95 % intervals.",
                _olp,
            ),
        ),
        Claim(
            "oplp-generalises",
            "With a floor for a group OPLP's violation stops growing, but some runs are stuck.",
            paper=Statement(
                "The same of OPLP: logarithmic violation, and regret of order √T.",
                f"OPLP, one group: V gains less than {FLAT:.0%} over the last decade, the exponent of R is from "
                f"{ROOT[0]} to {ROOT[1]} with its 95 % interval, and no run loses more than {STUCK:g} per round in "
                "its second half.",
                _oplp_as_stated,
            ),
            ours=Statement(
                "The violation does stop growing; but some runs are stuck. With 0.5 log² t plays of every pair fewer "
                "are, at a regret that is higher for a long time.",
                f"V gains less than {FLAT:.0%}; at least one run is stuck, and fewer are with 0.5 log² t plays of "
                "every pair.",
                _oplp_is_stuck,
            ),
            why="The arms of a group compete to earn its floor, and one that was seldom played looks bad by its "
            "lower bound: see the experiment on stuck runs.",
        ),
        Claim(
            "a-group-is-cheaper",
            "A floor for two arms together costs less than half of it for each.",
            ours=Statement(
                "Whoever earns it at the least cost may.",
                "OLP's expected revenue per round is higher with one group than with its floors apart; the 95 % "
                "intervals do not overlap.",
                _cheaper,
            ),
        ),
        Claim(
            "windows",
            "No window falls short with OPLP, in expectation; with OLP some do.",
            ours=Statement(
                "Guarantees over the horizon allow stretches that fall short.",
                f"The group's worst window is short by more than {SHORT:.0%} of the floor with OLP, and by less than "
                f"{ENOUGH:.0%} with OPLP, in the mean over runs with its 95 % interval.",
                _windows,
            ),
        ),
        Claim(
            "windows-as-earned",
            "What is earned in a window may fall short by chance alone, also with OPLP.",
            ours=Statement(
                "The floors are about expected revenue.",
                "The worst window as earned is short by more than the worst one in expectation, and by more than "
                f"{ENOUGH:.0%} of the floor, with its 95 % interval.",
                _noise,
            ),
        ),
    ),
    figure=_figure,
    tables=_tables,
    highlights=_highlights,
)
