"""No free exploration: with more than two arms and more than one context, the optimal plan leaves pairs idle."""

from typing import Any

import numpy as np

from arcbandit.experiments.experiment import Claim, Experiment, Measured, Recorded, Settings, Statement
from arcbandit.experiments.paper_instances import nu
from arcbandit.planning import plan
from arcbandit.report.charts import Chart, Line, Matrix, Sheet
from arcbandit.simulation.audit import random_feasible_instances
from arcbandit.simulation.epoch import Progress

INSTANCES = 300


def _compute(settings: Settings, progress: Progress) -> dict[str, Any]:
    rows = []
    for instance in random_feasible_instances(INSTANCES, settings.seed):
        best = plan(instance)
        rows.append((instance.n_pairs, instance.n_contexts, int(best.idle_pairs.sum()), int(best.active_floors.sum())))
    return {"instances": np.array(rows), "allocation": plan(nu()).allocation}


def _every_plan(recorded: Recorded) -> Measured:
    idle = recorded.findings["instances"][:, 2]
    return Measured(bool((idle >= 1).all()), f"{int((idle >= 1).sum())} of {len(idle)}, at least {idle.min()} each")


def _vertices(recorded: Recorded) -> Measured:
    pairs, contexts, idle, active = recorded.findings["instances"].T
    spare = idle - (pairs - contexts - active)
    share = float((idle / pairs).mean())
    return Measured(bool((spare >= 0).all()), f"never fewer; {share:.0%} of the pairs idle on average")


def _on_nu(recorded: Recorded) -> Measured:
    allocation = recorded.findings["allocation"]
    printed = np.array([[1, 1 / 2, 1 / 2], [0, 1 / 2, 0], [0, 0, 1 / 2]])
    zeros = ", ".join(f"({arm + 1},{context + 1})" for arm, context in np.argwhere(allocation < 1e-9))
    return Measured(bool(np.allclose(allocation, printed, atol=1e-9)), f"zeros at {zeros}")


def _figure(recorded: Recorded) -> Sheet:
    pairs, _, idle, _ = recorded.findings["instances"].T
    order = np.argsort(pairs, kind="stable")
    line = Line("random instances", pairs[order], (idle / pairs)[order], place=0, marks=True, joined=False)
    over = np.arange(pairs.min(), pairs.max() + 1)
    guide = Line("one pair", over, 1 / over)
    return Sheet(
        "No free exploration",
        (
            Matrix("Optimal allocation of ν", recorded.findings["allocation"].tolist(), "context", "arm"),
            Chart(
                "Idle pairs of optimal plans",
                "pairs, K × C",
                "share that is never played",
                (line,),
                (guide,),
                zero=True,
                direct_labels=False,
            ),
        ),
    )


EXPERIMENT = Experiment(
    name="no-free-exploration",
    title="No free exploration",
    about=f"The optimal allocation of ν, and of {INSTANCES} random feasible instances with 3 to 8 arms and 2 to 8 "
    "contexts: pairs that the best plan never plays, so only regret can teach anything about them.",
    source="Lemma on zero entries of the optimal allocation",
    horizon=1,
    epochs=1,
    compute=_compute,
    claims=(
        Claim(
            "zero-entry",
            "With K > 2 and C > 1 the optimal allocation has a zero entry.",
            paper=Statement(
                "With K > 2 and C > 1 the optimal allocation has a zero entry.",
                f"Each of {INSTANCES} random instances has a pair that its optimal plan never plays.",
                _every_plan,
            ),
        ),
        Claim(
            "counted-by-the-active-set",
            "A non-degenerate optimum saturates κ constraints, C of them the equations.",
            paper=Statement(
                "A non-degenerate optimum saturates κ constraints, C of them the equations.",
                "Each plan leaves at least κ − C − (number of saturated floors) pairs idle, as the proof counts.",
                _vertices,
            ),
        ),
        Claim(
            "zeros-of-nu",
            "I* contains the pairs (2,1), (3,1), (3,2), (2,3).",
            paper=Statement(
                "I* contains the pairs (2,1), (3,1), (3,2), (2,3).",
                "The optimal allocation of ν is the printed one, within 1e-9.",
                _on_nu,
            ),
        ),
    ),
    figure=_figure,
)
