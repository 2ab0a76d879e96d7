"""Sensitivity of OPLP to the feasibility margin gamma*."""

from collections.abc import Mapping

import numpy as np

from arcbandit.estimates import Estimate, estimate, written
from arcbandit.experiments.epochs import EPOCHS, PAPER_EPOCHS, beside, first_epochs
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
from arcbandit.experiments.growth import (
    BELOW_ROOT,
    NEAR_ROOT,
    decade_exponent,
    fitted_exponent,
    high_end,
    like_root,
    low_end,
    power,
    ratio_exponent,
    slower_than_root,
)
from arcbandit.experiments.shares import wilson
from arcbandit.report.charts import Chart, Line, Sheet
from arcbandit.report.metric_charts import GUIDE_DISTANCE, metric_line, metric_text
from arcbandit.report.tables import NumberTable
from arcbandit.simulation.trace import Trace

MARGINS = (0.001, 0.01, 0.1, 1.0)
GRID = (0.05, 0.07, 0.1, 0.14, 0.2, 0.28, 0.4, 0.56, 0.8, 1.0)
# The violation stops growing when LP(UCB, LCB) becomes feasible, long before this share of the horizon on the grid.
GRID_HORIZON = 1 / 5

MOST_THAT_LEAVE = 0.3  # of the epochs at a margin of 0.01
SELDOM = 0.1
PRINTED_SCALING = -2.0
SCALING = (-1.9, -0.9)
FALLBACK_SCALING = (-2.2, -1.2)


def _runs(settings: Settings) -> tuple[Run, ...]:
    paper = [
        Run(f"{margin:g}", f"nu-margin:{margin}", named("oplp"), settings.horizon, settings.epochs)
        for margin in MARGINS
    ]
    horizon = max(1, round(GRID_HORIZON * settings.horizon))
    grid = [
        Run(f"grid {margin:g}", f"nu-margin:{margin}", named("oplp"), horizon, settings.epochs, 1) for margin in GRID
    ]
    return (*paper, *grid)


def _trace(recorded: Recorded, margin: float) -> Trace:
    return recorded.traces[f"{margin:g}"]


def _left(trace: Trace) -> int:
    """In how many epochs LP(UCB, LCB) was feasible at least once."""
    return int((trace.fallback_share["OPLP"][:, -1] < 1.0).sum())


def _never_feasible(recorded: Recorded) -> Measured:
    left = {margin: _left(_trace(recorded, margin)) for margin in MARGINS[:2]}
    five = {margin: _left(first_epochs(_trace(recorded, margin))) for margin in MARGINS[:2]}
    shown = f"{_listed(left, '{}')} of {_trace(recorded, 0.01).epochs} epochs left the fallback"
    return Measured(not any(left.values()), f"{shown}; of the first {PAPER_EPOCHS}, {_listed(five, '{}')}")


def _seldom_feasible(recorded: Recorded) -> Measured:
    left, epochs = _left(_trace(recorded, 0.01)), _trace(recorded, 0.01).epochs
    low, high = wilson(left, epochs)
    never = (1.0 - left / epochs) ** PAPER_EPOCHS
    passed = _left(_trace(recorded, 0.001)) == 0 and high < MOST_THAT_LEAVE
    shown = f"{left} of {epochs} epochs ({low:.0%} to {high:.0%}) left it at γ* = 0.01"
    return Measured(passed, f"{shown}; that {PAPER_EPOCHS} epochs all stay has probability {never:.0%}")


def _leaves(recorded: Recorded) -> Measured:
    shares = {margin: _trace(recorded, margin).fallback_share["OPLP"][:, -1] for margin in MARGINS[2:]}
    shown = _listed({margin: float(one.mean()) for margin, one in shares.items()}, "{:.2%}")
    return Measured(max(float(one.max()) for one in shares.values()) < SELDOM, f"{shown} of the rounds on the fallback")


def _staying(recorded: Recorded, margin: float) -> Trace:
    """The epochs that never left the fallback."""
    trace = _trace(recorded, margin)
    stayed = trace.fallback_share["OPLP"][:, -1] == 1.0
    records = {policy: record[stayed] for policy, record in trace.records.items()}
    return Trace(
        trace.rounds, trace.policies, trace.floors, records, {}, trace.settings | {"epochs": int(stayed.sum())}
    )


def _like_olp(recorded: Recorded) -> Measured:
    exponents = {}
    for margin in MARGINS[:2]:
        trace = _staying(recorded, margin)
        if trace.epochs == 0:
            return Measured(False, f"no epoch stayed on the fallback at γ* = {margin:g}")
        exponents[margin] = (decade_exponent(trace, "regret", "OPLP"), decade_exponent(trace, "violation", "OPLP"))
    passed = all(slower_than_root(regret) and like_root(violation) for regret, violation in exponents.values())
    shown = "; ".join(
        f"R T^({power(regret)}), V T^({power(violation)}) at γ* = {margin:g}"
        for margin, (regret, violation) in exponents.items()
    )
    return Measured(passed, shown)


def _like_oplp(recorded: Recorded) -> Measured:
    exponents = {
        margin: (_late_regret(_trace(recorded, margin)), decade_exponent(_trace(recorded, margin), "violation", "OPLP"))
        for margin in MARGINS[2:]
    }
    passed = all(like_root(regret) and slower_than_root(violation) for regret, violation in exponents.values())
    shown = "; ".join(
        f"R T^({power(regret)}), V T^({power(violation)}) at γ* = {margin:g}"
        for margin, (regret, violation) in exponents.items()
    )
    return Measured(passed, shown)


def _late_regret(trace: Trace) -> Estimate:
    """The exponent by the two halves, on a log axis, of the last decade: the regret begins when the fallback ends."""
    places = [int(np.abs(trace.rounds - trace.horizon / factor).argmin()) for factor in (10.0, 10.0**0.5, 1.0)]
    before, middle, last = trace.regret["OPLP"][:, places].T
    return ratio_exponent(
        middle - before, last - middle, float(np.log(trace.rounds[places[2]] / trace.rounds[places[1]]))
    )


def _listed(numbers: Mapping[float, float], form: str) -> str:
    return ", ".join(f"{form.format(number)} at γ* = {margin:g}" for margin, number in numbers.items())


def grid_estimates(recorded: Recorded) -> dict[str, list[Estimate]]:
    """Violation, and rounds on the fallback, at each margin of the grid."""
    traces = [recorded.traces[f"grid {margin:g}"] for margin in GRID]
    return {
        "violation": [estimate(trace.violation["OPLP"][:, -1]) for trace in traces],
        "fallback": [estimate(trace.fallback_share["OPLP"][:, -1] * trace.horizon) for trace in traces],
    }


def _exponent(recorded: Recorded, quantity: str) -> Estimate:
    return fitted_exponent(GRID, [one.mean for one in grid_estimates(recorded)[quantity]])


def _as_the_inverse_square(recorded: Recorded) -> Measured:
    exponent = _exponent(recorded, "violation")
    return Measured(low_end(exponent) <= PRINTED_SCALING <= high_end(exponent), f"V ∝ γ*^({power(exponent)})")


def _violation_scaling(recorded: Recorded) -> Measured:
    exponent = _exponent(recorded, "violation")
    passed = SCALING[0] < low_end(exponent) and high_end(exponent) < SCALING[1]
    return Measured(passed, f"V ∝ γ*^({power(exponent)})")


def _fallback_scaling(recorded: Recorded) -> Measured:
    exponent = _exponent(recorded, "fallback")
    passed = FALLBACK_SCALING[0] <= low_end(exponent) and high_end(exponent) <= FALLBACK_SCALING[1]
    return Measured(passed, f"rounds ∝ γ*^({power(exponent)})")


def _figure(recorded: Recorded) -> Sheet:
    charts = []
    for metric in ("regret", "violation"):
        lines = tuple(
            metric_line(recorded.traces[f"{margin:g}"], metric, "OPLP", f"γ* = {margin:g}", place)
            for place, margin in enumerate(MARGINS)
        )
        charts.append(Chart(*metric_text(metric, prefix="OPLP, "), lines))
    found = grid_estimates(recorded)
    for quantity, title, unit in (
        ("violation", "Violation against the margin", "violation V at the end"),
        ("fallback", "Rounds on the fallback", "rounds until LP(UCB, LCB) stays feasible"),
    ):
        means = [one.mean for one in found[quantity]]
        halves = [0.0 if one.half_width != one.half_width else one.half_width for one in found[quantity]]
        line = Line(
            "measured",
            GRID,
            means,
            [max(mean - half, mean / 10) for mean, half in zip(means, halves, strict=True)],
            [mean + half for mean, half in zip(means, halves, strict=True)],
            place=1,
            marks=True,
        )
        above = GUIDE_DISTANCE * max(mean * margin**2 for mean, margin in zip(means, GRID, strict=True))
        below = min(mean * margin for mean, margin in zip(means, GRID, strict=True)) / GUIDE_DISTANCE
        guides = (
            Line("γ*⁻²", GRID, [above / margin**2 for margin in GRID]),
            Line("γ*⁻¹", GRID, [below / margin for margin in GRID], below=True),
        )
        charts.append(Chart(title, "feasibility margin γ*", unit, (line,), guides, x_log=True, y_log=True))
    return Sheet("Sensitivity of OPLP to the feasibility margin", tuple(charts))


def _tables(recorded: Recorded) -> tuple[NumberTable, ...]:
    rows = []
    for margin in MARGINS:
        trace = _trace(recorded, margin)
        share = trace.summary()["OPLP"]["fallback_share"].mean
        rows.append(
            (
                f"γ* = {margin:g}",
                f"{_left(trace)} of {trace.epochs}",
                f"{share:.2%}",
                beside(trace, "regret", "OPLP"),
                beside(trace, "violation", "OPLP"),
            )
        )
    header = ("margin", "epochs that left the fallback", "rounds on the fallback", "R", "V")
    return (NumberTable("OPLP at the horizon", header, tuple(rows)),)


def _highlights(recorded: Recorded) -> tuple[Highlight, ...]:
    exponent = _exponent(recorded, "violation")
    largest, smallest = (written(grid_estimates(recorded)["violation"][place]) for place in (0, -1))
    sentence = (
        f"OPLP's violation falls with the feasibility margin like γ*^({power(exponent)}), from {largest} at γ* = "
        f"{GRID[0]:g} to "
        f"{smallest} at γ* = {GRID[-1]:g}: not as steeply as the γ*⁻² of the paper."
    )
    return (Highlight(Group.NOT_REPRODUCED, sentence, 2),)


EXPERIMENT = Experiment(
    name="margin",
    title="Sensitivity of OPLP to the feasibility margin",
    about="OPLP on ν with its means scaled so that γ* is 0.001, 0.01, 0.1 and 1, and on a finer grid of margins, over "
    "a fifth of the rounds, for the scaling of the violation. The paper plays 5 epochs; these are the first of ours.",
    source="Numerical Illustrations, Sensitivity of OPLP to the Feasibility Margin",
    horizon=50_000,
    epochs=EPOCHS,
    runs=_runs,
    claims=(
        Claim(
            "small-margins-stay-on-the-fallback",
            "With a margin of 0.001 or 0.01 the pessimistic problem is never feasible.",
            paper=Statement(
                "For γ* = 0.001 and 0.01 the LCB estimator was never feasible during the entire time horizon.",
                "At both margins every epoch plays every round on its fallback.",
                _never_feasible,
            ),
            ours=Statement(
                "At 0.001 it never is; at 0.01 it becomes feasible in a few epochs.",
                "At 0.001 every epoch plays every round on its fallback; at 0.01 Wilson's 95 % interval of the "
                "share of "
                f"epochs that leave it lies below {MOST_THAT_LEAVE:.0%}.",
                _seldom_feasible,
            ),
            why="About one epoch in ten leaves the fallback at 0.01, so five epochs show none more often than not.",
        ),
        Claim(
            "small-margins-behave-like-olp",
            "On its fallback OPLP behaves like OLP.",
            paper=Statement(
                "The behavior of OLP was observed instead, yielding logarithmic regret and O(√T) violations.",
                "In the epochs that never leave the fallback, by what the last two decades of rounds add: the power "
                "of T of "
                f"the violation is from {NEAR_ROOT[0]} to {NEAR_ROOT[1]}, that of the regret below {BELOW_ROOT:g} "
                "(95 % "
                "intervals).",
                _like_olp,
            ),
        ),
        Claim(
            "large-margins-leave-the-fallback",
            "With a margin of 0.1 or 1 the pessimistic problem becomes feasible.",
            paper=Statement(
                "For γ* = 0.1 and 1 the LCB estimator becomes feasible.",
                f"In every epoch OPLP plays less than {SELDOM:.0%} of the rounds on its fallback.",
                _leaves,
            ),
        ),
        Claim(
            "large-margins-behave-like-oplp",
            "Once it is feasible, violation is logarithmic and regret like √T.",
            paper=Statement(
                "The standard behavior of OPLP, logarithmic violations and O(√T) regret, is recovered.",
                "By what the two halves of the last decade add, the power of T of the regret is from "
                f"{NEAR_ROOT[0]} to {NEAR_ROOT[1]}; by what the last two decades add, that of the violation is below "
                f"{BELOW_ROOT:g} "
                "(95 % intervals).",
                _like_oplp,
            ),
        ),
        Claim(
            "time-on-the-fallback",
            "OPLP stays on its fallback for about γ*⁻² rounds.",
            paper=Statement(
                "The expected rounds without a feasible LP(UCB, LCB) are bounded by κ² log²(T)/γ*², up to constants.",
                f"Rounds on the fallback are a power of γ* from {FALLBACK_SCALING[0]:g} to {FALLBACK_SCALING[1]:g}, "
                "with its "
                f"95 % interval, fitted over ten margins from {GRID[0]:g} to {GRID[-1]:g}.".replace("-", "−"),
                _fallback_scaling,
            ),
        ),
        Claim(
            "scaling-of-the-violation",
            "OPLP's violation scales like γ*⁻².",
            paper=Statement(
                "We observe the expected rate of 1/γ*² scaling in front of the logarithmic violation.",
                "The 95 % interval of the power of γ*, fitted over the same margins, contains −2.",
                _as_the_inverse_square,
            ),
            ours=Statement(
                "It scales less steeply, between γ*⁻¹ and γ*⁻².",
                f"That interval lies between {SCALING[0]:g} and {SCALING[1]:g}.".replace("-", "−"),
                _violation_scaling,
            ),
            why="1/γ*² is how long OPLP stays on its fallback, and the bound charges every such round the whole "
            "floor. But the shortfall of those rounds falls with the confidence radius, as OLP's does, so that their "
            "sum grows with the root of their number if there are many: nearer to 1/γ* for small margins.",
        ),
    ),
    figure=_figure,
    tables=_tables,
    highlights=_highlights,
)
