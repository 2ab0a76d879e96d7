"""No free exploration: with more than two arms and more than one context, the optimal plan leaves pairs idle.

And the optimal allocations that the paper prints, entry by entry.
"""

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
from arcbandit.experiments.paper_instances import nu, paper_instance
from arcbandit.planning import plan
from arcbandit.report.charts import Chart, Line, Matrix, Sheet
from arcbandit.report.tables import NumberTable
from arcbandit.simulation.audit import random_feasible_instances
from arcbandit.simulation.epoch import Progress

INSTANCES = 300
TOLERANCE = 1e-9
PRINTED_ZEROS = {(2, 1), (3, 1), (3, 2), (2, 3)}  # I* of nu, without its floors
# For each parameter the allocation is compared with the formula that the paper prints.
PERTURBATIONS = (0.01, 0.1, 0.2)
LARGER = (0.1, 0.5, 1.0)


def _shared(second: float) -> list[list[float]]:
    """The allocation of the lower bound's instances, in which arms 1 and 2 share context 2."""
    return [[1, 1 - second, 0], [0, second, 0], [0, 0, 1]]


def printed_allocations() -> dict[str, list[list[float]]]:
    """The optimal allocations as the paper prints them, by instance, arms in rows.

    Of nu^(0) it prints w_22 = 1/2; the other entries are those of both tables at epsilon = 0.
    """
    half = [[1, 1 / 2, 1 / 2], [0, 1 / 2, 0], [0, 0, 1 / 2]]
    found = {"nu": half, "nu-nonsaturating": np.eye(3).tolist(), "nu-nominal": _shared(1 / 2)}
    for epsilon in PERTURBATIONS:
        found[f"nu-plus:{epsilon:g}"] = [
            [1, (1 + 2 * epsilon) / (2 * (1 + epsilon)), 0],
            [0, 1 / (2 * (1 + epsilon)), 0],
            [0, 0, 1],
        ]
        found[f"nu-minus:{epsilon:g}"] = [
            [1, (1 - 2 * epsilon) / (2 * (1 - epsilon)), 0],
            [0, 1 / (2 * (1 - epsilon)), 0],
            [0, 0, 1],
        ]
    return found | {f"nu-lower-bound:{epsilon:g}": half for epsilon in LARGER}


def _compute(settings: Settings, progress: Progress) -> dict[str, Any]:
    rows = []
    best_arms = []
    for instance in random_feasible_instances(INSTANCES, settings.seed):
        best = plan(instance)
        rows.append((instance.n_pairs, instance.n_contexts, int(best.idle_pairs.sum()), int(best.active_floors.sum())))
        slack = ~best.idle_pairs & ~best.active_floors[:, None]
        behind = instance.mean_rewards.max(axis=0) - instance.mean_rewards
        best_arms.append((int(slack.sum()), float(behind[slack].max(initial=0.0))))
    return {
        "instances": np.array(rows),
        "best_arms": np.array(best_arms),
        "allocation": plan(nu()).allocation,
        "allocations": {name: plan(paper_instance(name)).allocation for name in printed_allocations()},
    }


def _every_plan(recorded: Recorded) -> Measured:
    idle = recorded.findings["instances"][:, 2]
    return Measured(bool((idle >= 1).all()), f"{int((idle >= 1).sum())} of {len(idle)}, at least {idle.min()} each")


def _vertices(recorded: Recorded) -> Measured:
    pairs, contexts, idle, active = recorded.findings["instances"].T
    exact = idle == pairs - contexts - active
    share = float((idle / pairs).mean())
    return Measured(bool(exact.all()), f"{int(exact.sum())} of {len(exact)}; {share:.0%} of the pairs idle on average")


def _best_arms(recorded: Recorded) -> Measured:
    counts, behind = recorded.findings["best_arms"].T
    applied = int(counts.sum())
    shown = f"applied to {applied:,} pairs; at most {behind.max():.2g} behind the best arm"
    return Measured(applied > 0 and bool((behind <= TOLERANCE).all()), shown)


def _on_nu(recorded: Recorded) -> Measured:
    allocation = recorded.findings["allocation"]
    zeros = {(int(arm) + 1, int(context) + 1) for arm, context in np.argwhere(allocation < TOLERANCE)}
    return Measured(zeros == PRINTED_ZEROS, "zeros at " + ", ".join(f"({k},{c})" for k, c in sorted(zeros)))


def differences(recorded: Recorded) -> dict[str, float]:
    """By instance, the largest difference between an entry of the optimal plan and the printed one."""
    found = recorded.findings["allocations"]
    return {name: float(np.abs(found[name] - printed).max()) for name, printed in printed_allocations().items()}


def _as_printed(recorded: Recorded) -> Measured:
    worst = differences(recorded)
    differ = [name for name, one in worst.items() if not one <= TOLERANCE]
    shown = f"{9 * len(worst)} entries of {len(worst)} instances, at most {max(worst.values()):.2g} apart"
    return Measured(not differ, shown + (f"; {', '.join(differ)} differ" if differ else ""))


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


def _tables(recorded: Recorded) -> tuple[NumberTable, ...]:
    rows = []
    for name, allocation in recorded.findings["allocations"].items():
        arms = (", ".join(f"{share:.4g}" for share in arm) for arm in np.abs(allocation))
        rows.append((name, *arms, f"{differences(recorded)[name]:.1g}"))
    header = ("instance", "arm 1 in contexts 1, 2, 3", "arm 2", "arm 3", "largest difference from the printed entries")
    return (NumberTable("Optimal allocations", header, tuple(rows)),)


def _highlights(recorded: Recorded) -> tuple[Highlight, ...]:
    pairs, _, idle, _ = recorded.findings["instances"].T
    sentence = (
        f"Optimal plans leave pairs idle: {float((idle / pairs).mean()):.0%} of them on average over {len(pairs)} "
        "random "
        "instances, so only regret can teach anything about them."
    )
    return (Highlight(Group.REPRODUCED, sentence, 1),)


EXPERIMENT = Experiment(
    name="no-free-exploration",
    title="No free exploration",
    about=f"The optimal allocation of ν, and of {INSTANCES} random feasible instances with 3 to 8 arms and 2 to 8 "
    "contexts: pairs that the best plan never plays, so only regret can teach anything about them. And every "
    "optimal allocation that the paper prints, entry by entry.",
    source="Lemma on zero entries of the optimal allocation, lemma on best arms, tables of optimal allocations",
    horizon=1,
    epochs=1,
    compute=_compute,
    claims=(
        Claim(
            "zero-entry",
            "With more than two arms and one context, the optimal plan leaves a pair idle.",
            paper=Statement(
                "With K > 2 and C > 1 the optimal allocation has a zero entry.",
                f"Each of {INSTANCES} random instances has a pair that its optimal plan never plays.",
                _every_plan,
            ),
        ),
        Claim(
            "counted-by-the-active-set",
            "An optimal plan saturates exactly κ constraints.",
            paper=Statement(
                "A non-degenerate optimum saturates exactly κ constraints, C of them the equations.",
                "Each plan leaves exactly κ − C − (number of saturated floors) pairs idle.",
                _vertices,
            ),
        ),
        Claim(
            "best-arms",
            "An arm above its floor is played only where it is the best arm.",
            paper=Statement(
                "If w*_kc > 0 and arm k exceeds its floor, then μ_kc is the largest mean of context c.",
                f"In the optimal plans of {INSTANCES} random instances every such pair is within {TOLERANCE:g} of "
                "the best.",
                _best_arms,
            ),
        ),
        Claim(
            "zeros-of-nu",
            "The optimal plan of ν never plays four pairs.",
            paper=Statement(
                "I* of ν contains the pairs (2,1), (3,1), (3,2), (2,3).",
                f"These are the entries of the optimal allocation below {TOLERANCE:g}.",
                _on_nu,
            ),
        ),
        Claim(
            "printed-allocations",
            "The optimal allocations are the printed ones, entry by entry.",
            paper=Statement(
                "The optimal allocations of ν, ν′, ν₊, ν₋ and of the ν′ of the lower bound, and w₂₂ = 1/2 of ν⁽⁰⁾.",
                f"Every entry is within {TOLERANCE:g} of the printed one, with three values of ε and of ε′.",
                _as_printed,
            ),
        ),
    ),
    figure=_figure,
    tables=_tables,
    highlights=_highlights,
)
