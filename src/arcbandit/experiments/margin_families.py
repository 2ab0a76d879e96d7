"""How OPLP's violation scales with the feasibility margin, in three families of instances."""

from arcbandit.estimates import Estimate, estimate
from arcbandit.experiments.epochs import INTERVALS
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
from arcbandit.experiments.growth import fitted_exponent, power
from arcbandit.report.charts import Chart, Line, Sheet
from arcbandit.report.metric_charts import GUIDE_DISTANCE
from arcbandit.report.tables import NumberTable

MARGINS = (0.05, 0.08, 0.12, 0.18, 0.27, 0.4)
FAMILIES = {
    "ν, means scaled": "nu-margin",
    "ν, floors moved": "floors-moved",
    "one context, means scaled": "one-context-scaled",
}
STEEPEST = -1.75  # halfway to -2 from the steepest that was measured
FLATTEST = -0.85


def _runs(settings: Settings) -> tuple[Run, ...]:
    return tuple(
        Run(f"{family} {margin:g}", f"{name}:{margin}", named("oplp"), settings.horizon, settings.epochs, 1)
        for family, name in FAMILIES.items()
        for margin in MARGINS
    )


def violations(recorded: Recorded, family: str) -> list[Estimate]:
    """The violation at the end, for each margin."""
    return [estimate(recorded.traces[f"{family} {margin:g}"].violation["OPLP"][:, -1]) for margin in MARGINS]


def exponents(recorded: Recorded) -> dict[str, Estimate]:
    """The exponent of the violation in the margin, for each family."""
    return {family: fitted_exponent(MARGINS, [one.mean for one in violations(recorded, family)]) for family in FAMILIES}


def _shown(found: dict[str, Estimate]) -> str:
    return "; ".join(f"{family}: {power(one)}" for family, one in found.items())


def _square(recorded: Recorded) -> Measured:
    found = exponents(recorded)
    passed = all(one.mean - one.half_width <= -2.0 <= one.mean + one.half_width for one in found.values())
    return Measured(passed, _shown(found))


def _less_steep(recorded: Recorded) -> Measured:
    found = exponents(recorded)
    return Measured(all(STEEPEST < one.mean < FLATTEST for one in found.values()), _shown(found))


def _depends(recorded: Recorded) -> Measured:
    found = exponents(recorded)
    steepest = min(found.values(), key=lambda one: one.mean)
    flattest = max(found.values(), key=lambda one: one.mean)
    passed = steepest.mean + steepest.half_width < flattest.mean - flattest.half_width
    return Measured(passed, f"from {power(steepest)} to {power(flattest)}")


def _figure(recorded: Recorded) -> Sheet:
    lines = []
    above, below = 0.0, float("inf")  # what keeps guides clear of every line
    for place, family in enumerate(FAMILIES):
        found = violations(recorded, family)
        halves = [0.0 if one.half_width != one.half_width else one.half_width for one in found]
        means = [max(one.mean, 1e-9) for one in found]
        low = [max(mean - half, mean / 10) for mean, half in zip(means, halves, strict=True)]
        high = [mean + half for mean, half in zip(means, halves, strict=True)]
        lines.append(Line(family, MARGINS, means, low, high, place=place, marks=True, shade=INTERVALS))
        for mean, margin in zip(means, MARGINS, strict=True):
            above = max(above, GUIDE_DISTANCE * mean * margin**2)
            below = min(below, mean * margin / GUIDE_DISTANCE)
    guides = (
        Line("γ*⁻²", MARGINS, [above / margin**2 for margin in MARGINS]),
        Line("γ*⁻¹", MARGINS, [below / margin for margin in MARGINS], below=True),
    )
    chart = Chart(
        "Violation against the margin",
        "feasibility margin γ*",
        "violation V at the end",
        tuple(lines),
        guides,
        x_log=True,
        y_log=True,
    )
    return Sheet("The margin, in three families", (chart,))


def _tables(recorded: Recorded) -> tuple[NumberTable, ...]:
    found = exponents(recorded)
    rows = tuple(
        (family, power(found[family]), *(str(one) for one in violations(recorded, family)[:: len(MARGINS) // 2]))
        for family in FAMILIES
    )
    shown = [f"V at γ* = {margin:g}" for margin in MARGINS[:: len(MARGINS) // 2]]
    return (NumberTable("Violation of OPLP", ("family", "exponent", *shown), rows),)


def _highlights(recorded: Recorded) -> tuple[Highlight, ...]:
    found = sorted(exponents(recorded).values(), key=lambda one: one.mean)
    return (
        Highlight(
            Group.REPRODUCED if _square(recorded).passed else Group.NOT_REPRODUCED,
            f"OPLP's violation scales with the margin like γ*^({power(found[-1])}) to γ*^({power(found[0])}), "
            "depending on the family of instances; the paper reports γ*^(−2).",
            0,
        ),
    )


EXPERIMENT = Experiment(
    name="margin-families",
    title="The feasibility margin, in three families",
    about="OPLP on three families of instances with a chosen margin γ*: ν with its means scaled, as in the "
    "experiment on the margin; ν with all floors moved by as much; and two arms without contexts, their means "
    "scaled. The violation has stopped growing well before the end.",
    source="Numerical Illustrations, Sensitivity of OPLP to the Feasibility Margin",
    horizon=10_000,
    epochs=100,
    runs=_runs,
    claims=(
        Claim(
            "scales-like-the-inverse-square",
            "In no family does OPLP's violation scale like 1/γ*².",
            paper=Statement(
                "We observe the expected rate of 1/γ*² scaling in front of the logarithmic behavior of the violation.",
                "−2 is in the 95 % interval of the exponent of each family, fitted over six margins from 0.05 to 0.4.",
                _square,
            ),
            ours=Statement(
                "It scales like a smaller power of 1/γ*.",
                f"In each family the exponent is from {STEEPEST} to {FLATTEST}.".replace("-", "−"),
                _less_steep,
            ),
            why="The rounds on the fallback scale nearly like 1/γ*², but what they fall short by shrinks with the "
            "confidence radius. An upper bound of 1/γ*² is not contradicted.",
        ),
        Claim(
            "depends-on-the-family",
            "The exponent depends on the family.",
            ours=Statement(
                "There is no one exponent.",
                "The 95 % intervals of the steepest and the flattest exponent do not overlap.",
                _depends,
            ),
        ),
    ),
    figure=_figure,
    tables=_tables,
    highlights=_highlights,
)
