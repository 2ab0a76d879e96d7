"""Figure 1 as a curve: what the second floor costs, from free to out of reach."""

from typing import Any

import numpy as np

from arcbandit.experiments.experiment import (
    Claim,
    Experiment,
    Group,
    Highlight,
    Measured,
    Recorded,
    Settings,
    Statement,
)
from arcbandit.experiments.paper_instances import figure_1
from arcbandit.oracle import Regime, analyse
from arcbandit.planning import plan
from arcbandit.report.charts import Chart, Line, Sheet
from arcbandit.report.tables import NumberTable
from arcbandit.simulation.epoch import Progress

PAPER_FLOORS = (0.1, 0.49, 0.8)  # lambda_2 as drawn
POINTS = 120


def _compute(settings: Settings, progress: Progress) -> dict[str, Any]:
    without = analyse(figure_1(0.0))
    assert without.largest_floors is not None
    largest = float(without.largest_floors[1])
    # Just short of the boundary, where rounding could call the floor infeasible.
    floors = np.linspace(0.0, largest * (1 - 1e-9), POINTS)
    plans = [plan(figure_1(float(floor))) for floor in floors]
    return {
        "largest": largest,
        "floors": floors,
        "revenue": np.array([one.value for one in plans]),
        "price": np.array([one.floor_prices[1] for one in plans]),
        "without_floors": without.revenue_without_floors,
        "regimes": {floor: analyse(figure_1(floor)).regime for floor in (0.0, *PAPER_FLOORS)},
        "contexts": (np.flatnonzero(plan(figure_1(PAPER_FLOORS[0])).allocation[1] > 0) + 1).tolist(),
    }


def _regimes(recorded: Recorded) -> Measured:
    found = recorded.findings["regimes"]
    expected = (Regime.FREE, Regime.COSTLY, Regime.INFEASIBLE, Regime.INFEASIBLE)
    shown = ", ".join(f"λ₂ = {floor:g} {regime}" for floor, regime in found.items())
    largest = recorded.findings["largest"]
    return Measured(tuple(found.values()) == expected, f"{shown}; feasible up to {largest:.4f}")


def _regimes_as_drawn(recorded: Recorded) -> Measured:
    found = [recorded.findings["regimes"][floor] for floor in PAPER_FLOORS]
    shown = ", ".join(f"λ₂ = {floor:g} {regime}" for floor, regime in zip(PAPER_FLOORS, found, strict=True))
    return Measured(found == [Regime.COSTLY, Regime.COSTLY, Regime.INFEASIBLE], shown)


def _low_floor(recorded: Recorded) -> Measured:
    contexts = recorded.findings["contexts"]
    return Measured(max(contexts) <= 5, f"played in contexts {', '.join(map(str, contexts))}")


def _concave(recorded: Recorded) -> Measured:
    prices = recorded.findings["price"]
    # Prices along a concave curve never fall.
    steps = np.diff(prices)
    slope = -np.diff(recorded.findings["revenue"]) / np.diff(recorded.findings["floors"])
    between = bool((slope >= prices[:-1] - 1e-6).all() and (slope <= prices[1:] + 1e-6).all())
    return Measured(
        bool((steps >= -1e-9).all()) and between and bool(prices[-1] > 1.2 * prices[1]),
        f"price from {prices[1]:.3f} to {prices[-1]:.3f}",
    )


def _figure(recorded: Recorded) -> Sheet:
    found = recorded.findings
    floors, largest = found["floors"].tolist(), found["largest"]
    beyond = 0.36
    spans = ((0.0, largest, "costly"), (largest, beyond, "infeasible"))
    charts = []
    for key, title, unit in (
        ("revenue", "Optimal revenue", "revenue per round"),
        ("price", "What the last unit of the floor costs", "revenue per unit of λ₂"),
    ):
        # At 0 the floor is free, so its price jumps there.
        line = Line("optimal plan", floors[1:], found[key].tolist()[1:], place=0)
        guides: tuple[Line, ...] = ()
        if key == "revenue":
            over = np.linspace(0.0, beyond, 5)
            guides = (Line("without floors", over, np.full(5, found["without_floors"]), below=True),)
        charts.append(
            Chart(
                title,
                "floor of arm 2, λ₂",
                unit,
                (line,),
                guides,
                spans=spans,
                marks_at=((0.0, "free at 0 only"), (PAPER_FLOORS[0], "λ₂⁽¹⁾")),
                direct_labels=False,
                zero=key == "price",
            )
        )
    return Sheet("Figure 1 as a curve", tuple(charts))


def _tables(recorded: Recorded) -> tuple[NumberTable, ...]:
    found = recorded.findings
    drawn = ("moderate cost", "high cost", "infeasible")
    rows = [
        (f"λ₂ = {floor:g}", paper, str(found["regimes"][floor]))
        for floor, paper in zip(PAPER_FLOORS, drawn, strict=True)
    ]
    rows.append(("boundary free / costly", "–", "0"))
    rows.append(("boundary costly / infeasible", "–", f"{found['largest']:.6f}"))
    return (NumberTable("Regimes", ("floor", "as drawn", "computed"), tuple(rows)),)


def _highlights(recorded: Recorded) -> tuple[Highlight, ...]:
    sentence = (
        f"In Figure 1 the second floor can be met up to λ₂ = {recorded.findings['largest']:.3f}; the level drawn as "
        "high "
        "cost, 0.49, is out of reach."
    )
    return (Highlight(Group.SLIP, sentence, 0),)


EXPERIMENT = Experiment(
    name="figure-1",
    title="Figure 1 as a curve",
    about="Two arms, ten contexts, λ₁ = 0.25: the optimal revenue and the marginal price of arm 2's floor, from λ₂ = 0 "
    "to where no plan meets both floors.",
    source="Introduction, Figure 1",
    horizon=1,
    epochs=1,
    compute=_compute,
    claims=(
        Claim(
            "regimes",
            "λ₂ = 0.1 is costly, 0.49 very costly, 0.8 infeasible.",
            paper=Statement(
                "λ₂⁽¹⁾ = 0.1 has a moderate cost, λ₂⁽²⁾ = 0.49 a high cost, and λ₂⁽³⁾ = 0.8 is infeasible.",
                "By the planner, exactly: costly, costly, infeasible.",
                _regimes_as_drawn,
            ),
            ours=Statement(
                "λ₂ = 0 is free and 0.1 costly; 0.49 and 0.8 are both infeasible.",
                "By the planner, exactly: free, costly, infeasible, infeasible.",
                _regimes,
            ),
            why="The figure draws means and floors on one axis, but a floor is a revenue per round: with p_c = 1/10 "
            "arm 2 earns 0.42 if always played, and at most 0.277 beside arm 1's floor. The figure is schematic.",
            is_slip=True,
        ),
        Claim(
            "low-floor-is-met-in-low-contexts",
            "A low floor is met in the contexts where that costs least.",
            paper=Statement(
                "It is sufficient to play arm 2 in contexts c ≤ 5.",
                "At λ₂ = 0.1 the optimal plan plays arm 2 in contexts up to 5 only.",
                _low_floor,
            ),
        ),
        Claim(
            "prices-rise",
            "Each further unit of a floor costs more than the last.",
            paper=Statement(
                "High floors substantially reduce the performance, low ones preserve it.",
                "The price of the floor never falls as λ₂ rises, lies between the slopes of the revenue on either side "
                "(within 1e-6), and at the boundary is more than 1.2 times what it is near 0.",
                _concave,
            ),
        ),
    ),
    figure=_figure,
    tables=_tables,
    highlights=_highlights,
)
