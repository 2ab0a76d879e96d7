"""Runs of OPLP that are stuck: pessimism in the floors may keep a pair from ever being tried again."""

import math
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

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
    scaled,
)
from arcbandit.experiments.net_growth import Share, late_slopes, linear_runs
from arcbandit.experiments.our_instances import costly_floor
from arcbandit.experiments.replays import History, first_radius, replay
from arcbandit.experiments.variants import OPLPWithCountFloor, OPLPWithZeroRows
from arcbandit.oracle import analyse
from arcbandit.policies.configuration import Configuration
from arcbandit.policies.linear_program import LinearProgramRule
from arcbandit.policies.oplp import OPLP
from arcbandit.report.charts import Chart, Line, Sheet
from arcbandit.report.tables import NumberTable

EPOCHS = 1_000
OTHER_RUNS = 300
ZERO_RUNS = 200
ZERO_HORIZON = 0.2  # of the horizon
LONG = 60  # horizons over which stuck runs are played on
MOST_PLAYED_ON = 6
SHOWN = 3
STUCK = 0.2  # lost per round: the wrong plan costs a third or more, what OPLP still learns by then less than 0.05
STUCK_AT_ZERO = 0.1749  # the wrong plan costs 0.175 in every round
SELDOM, OFTEN = 0.001, 0.1
FEW = 1 / 3  # of the stuck runs that are played on
PAIR = (1, 1)  # the second arm in the second context
# By what the pair must exceed its radius to be tried, were all estimates exact: mu_22 (1 + price) - mu_12.
PULL = 1.2 * (1 + 2) - 2
REPAIRED = "OPLP, 0.5 log² t plays"
OTHERS: dict[str, Any] = {
    **named("olp", "blp"),
    "caution −0.5": LinearProgramRule(optimism=1.0, caution=-0.5),
    "caution −0.25": LinearProgramRule(optimism=1.0, caution=-0.25),
    "OPLP, 0.05 log² t plays": OPLPWithCountFloor(share=0.05),
    REPAIRED: OPLPWithCountFloor(share=0.5),
}


def _checkpoints(horizon: int) -> tuple[int, ...]:
    spaced = np.unique(np.geomspace(1, horizon, 30).round().astype(int))
    return tuple(sorted({*(int(one) for one in spaced), max(1, horizon // 2)}))


def _runs(settings: Settings) -> tuple[Run, ...]:
    horizon, places = settings.horizon, _checkpoints(settings.horizon)
    others = scaled(settings, OTHER_RUNS, EPOCHS)
    short = max(2, round(ZERO_HORIZON * horizon))
    zero = scaled(settings, ZERO_RUNS, EPOCHS)
    printed: dict[str, Any] = {"OPLP as printed": OPLPWithZeroRows(), "OPLP": "oplp"}
    return (
        Run("OPLP", "costly-floor", named("oplp"), horizon, settings.epochs, places),
        Run("others", "costly-floor", OTHERS, horizon, others, places),
        Run("zero", "zero-floor", printed, short, zero, (short // 2,)),
    )


def _derive(recorded: Recorded) -> dict[str, Any]:
    """Stuck runs, played on for longer, and two runs looked at closely."""
    settings = recorded.settings
    slopes = late_slopes(recorded.traces["OPLP"], "OPLP")
    found = np.flatnonzero(slopes > STUCK)
    long = LONG * settings.horizon
    ends = np.array([max(1, long // 2), long], dtype=np.int64)
    own = np.flatnonzero(late_slopes(recorded.traces["others"], REPAIRED) > STUCK)
    chosen: dict[str, tuple[Configuration, NDArray[np.intp]]] = {
        "played_on": (OPLP().unbound(), found[:MOST_PLAYED_ON]),
        "repaired": (OTHERS[REPAIRED], np.union1d(own, found[:MOST_PLAYED_ON])),
    }
    close = np.array(_checkpoints(settings.horizon), dtype=np.int64)
    typical = int(np.argsort(slopes)[len(slopes) // 2])
    chosen["looked_at"] = (OPLP().unbound(), np.array((*found[:SHOWN], typical)))
    parallel = joblib.Parallel(n_jobs=-1 if settings.jobs is None else settings.jobs, prefer="threads", batch_size=1)
    histories = iter(
        parallel(
            joblib.delayed(replay)(
                "costly-floor", policy, PAIR, int(epoch), settings.seed, close if name == "looked_at" else ends
            )
            for name, (policy, epochs) in chosen.items()
            for epoch in epochs
        )
    )
    played = {name: [next(histories) for _ in epochs] for name, (_, epochs) in chosen.items()}
    *looked_at, ordinary = played.pop("looked_at")
    return {
        "stuck": found,
        **played,
        "ordinary": ordinary,
        "looked_at": looked_at,
        "gap": float(analyse(costly_floor()).suboptimality_gap or math.nan),
    }


def _share(recorded: Recorded, policy: str) -> Share:
    return linear_runs(recorded.traces["OPLP" if policy == "OPLP" else "others"], policy, STUCK)


def _still_stuck(played: list[History]) -> Share:
    """How many of the runs that were played on are stuck at the end."""
    slopes = [float(one.regret[1] - one.regret[0]) / int(one.rounds[1] - one.rounds[0]) for one in played]
    return Share(sum(slope > STUCK for slope in slopes), len(slopes))


def _played_on(recorded: Recorded) -> list[History]:
    played: list[History] = recorded.findings["played_on"]
    return played


def _no_linear_run(recorded: Recorded) -> Measured:
    share = _share(recorded, "OPLP")
    return Measured(share.count == 0, f"{share} are linear")


def _stuck(recorded: Recorded) -> Measured:
    share, still = _share(recorded, "OPLP"), _still_stuck(_played_on(recorded))
    passed = share.interval[0] > SELDOM and still.runs > 0 and 2 * still.count >= still.runs
    long = LONG * recorded.settings.horizon
    return Measured(passed, f"{share} are linear; of {still.runs} played on, {still.count} still are at {long:,}")


def _no_linear_run_at_zero(recorded: Recorded) -> Measured:
    share = linear_runs(recorded.traces["zero"], "OPLP as printed", STUCK_AT_ZERO)
    return Measured(share.count == 0, f"{share} are linear")


def _stuck_at_zero(recorded: Recorded) -> Measured:
    printed, ours = (
        linear_runs(recorded.traces["zero"], policy, STUCK_AT_ZERO) for policy in ("OPLP as printed", "OPLP")
    )
    passed = printed.interval[0] > OFTEN and ours.count == 0
    return Measured(passed, f"{printed} with the row, {ours} without")


def _widths(recorded: Recorded) -> tuple[float, int, int]:
    """The least width of a stuck run, how many are below rho*, and of how many."""
    widths = [one.width for one in _played_on(recorded)]
    return min(widths, default=math.nan), sum(one < recorded.findings["gap"] for one in widths), len(widths)


def _width_stays(recorded: Recorded) -> Measured:
    least, below, runs = _widths(recorded)
    return Measured(below == 0, f"ρ(ε, w) < ρ* in {below} of {runs} stuck runs, least {least:.3f}")


def _width_falls(recorded: Recorded) -> Measured:
    least, below, runs = _widths(recorded)
    return Measured(below > 0, f"ρ(ε, w) < ρ* in {below} of {runs} stuck runs, least {least:.3f}")


def _olp_never(recorded: Recorded) -> Measured:
    share = _share(recorded, "OLP")
    return Measured(share.count == 0, str(share))


def _between_is_worse(recorded: Recorded) -> Measured:
    shares = [_share(recorded, policy) for policy in ("caution −0.5", "caution −0.25")]
    both = Share(sum(one.count for one in shares), sum(one.runs for one in shares))
    limit = _share(recorded, "OPLP").interval[1]
    return Measured(both.interval[0] > limit, f"{both}, OPLP at most {limit:.1%}")


def _repaired(recorded: Recorded) -> Measured:
    share, still = _share(recorded, REPAIRED), _still_stuck(recorded.findings["repaired"])
    passed = still.runs > 0 and still.count <= FEW * still.runs
    long = LONG * recorded.settings.horizon
    return Measured(passed, f"{share} at the horizon; {still.count} of {still.runs} played on are at {long:,}")


def _figure(recorded: Recorded) -> Sheet:
    trace = recorded.traces["OPLP"]
    regret = trace.regret["OPLP"]
    lines = [
        Line(f"stuck run {number}", trace.rounds, regret[epoch], place=4)
        for number, epoch in enumerate(recorded.findings["stuck"][:SHOWN], start=1)
    ]
    low, middle, high = np.quantile(regret, (0.05, 0.5, 0.95), axis=0)
    lines.append(Line("median of all", trace.rounds, middle, low, high, place=1))
    slopes = []
    for place, policy in enumerate(("OPLP", "OLP", "BLP", "caution −0.5", REPAIRED)):
        lost = np.sort(late_slopes(recorded.traces["OPLP" if policy == "OPLP" else "others"], policy))
        share = 1.0 - np.arange(len(lost)) / len(lost)
        slopes.append(Line(policy, np.maximum(lost, 1e-4), share, place=(1, 0, 5, 3, 2)[place]))
    ordinary: History = recorded.findings["ordinary"]
    plays = [
        Line(f"stuck run {number}", one.rounds, np.maximum(one.plays, 0.5), place=4)
        for number, one in enumerate(recorded.findings["looked_at"], start=1)
    ]
    plays.append(Line("ordinary run", ordinary.rounds, np.maximum(ordinary.plays, 0.5), place=1))
    needed = [(first_radius(4, int(one)) / PULL) ** 2 for one in ordinary.rounds]
    return Sheet(
        "Runs of OPLP that are stuck",
        (
            Chart("Single runs of OPLP", "round t", "regret R of a run", tuple(lines)),
            Chart(
                "Plays of arm 2 in context 2",
                "round t",
                "plays so far",
                tuple(plays),
                (Line("needed to look worth a try", ordinary.rounds, needed),),
                x_log=True,
                y_log=True,
            ),
            Chart(
                "What runs still lose",
                "regret per round in the second half",
                "share of runs with at least that",
                tuple(slopes),
                x_log=True,
                y_log=True,
            ),
        ),
    )


def _tables(recorded: Recorded) -> tuple[NumberTable, ...]:
    rows = []
    for policy in ("OPLP", *OTHERS):
        trace = recorded.traces["OPLP" if policy == "OPLP" else "others"]
        medians = [f"{np.median(trace.metric(metric)[policy][:, -1]):,.0f}" for metric in ("regret", "violation")]
        means = [str(trace.estimate(metric, policy)) for metric in ("regret", "violation")]
        rows.append((policy, str(_share(recorded, policy)), means[0], medians[0], means[1], medians[1]))
    played = [
        (f"stuck run {number}", f"{one.plays[-1]:,.0f}", f"{one.width:.3f}", f"{one.regret[-1]:,.0f}")
        for number, one in enumerate(_played_on(recorded), start=1)
    ]
    heading = ("rule", "stuck runs (95 % interval)", "mean R", "median R", "mean V", "median V")
    tables = [NumberTable("Repairs, at the horizon", heading, tuple(rows))]
    if played:
        long = LONG * recorded.settings.horizon
        title = f"Stuck runs of OPLP after {long:,} rounds; ρ* = {recorded.findings['gap']:.3f}"
        tables.append(NumberTable(title, ("run", "plays of (2, 2)", "ρ(ε, w)", "R"), tuple(played)))
    return tuple(tables)


def _highlights(recorded: Recorded) -> tuple[Highlight, ...]:
    share, still = _share(recorded, "OPLP"), _still_stuck(_played_on(recorded))
    repaired = _still_stuck(recorded.findings["repaired"])
    if share.count == 0:
        return ()
    long = LONG * recorded.settings.horizon
    return (
        Highlight(
            Group.NOT_REPRODUCED,
            f"OPLP's regret is linear in {share} runs on a small instance that satisfies the paper's assumptions; "
            f"{still.count} of the {still.runs} that were played on still are after {long:,} rounds. OLP's "
            f"is in none of {_share(recorded, 'OLP').runs}.",
            0,
        ),
        Highlight(
            Group.BEYOND,
            f"A repair: with at least 0.5 log² t plays of every pair, {repaired.count} of {repaired.runs} such runs "
            f"are stuck after {long:,} rounds.",
            2,
        ),
    )


EXPERIMENT = Experiment(
    name="stuck-runs",
    title="Runs of OPLP that are stuck",
    about="Two arms and two equally likely contexts, means (3, 2) and (1, 1.2), floors 0.1 and 0.25, σ = 1: strictly "
    "feasible and non-degenerate, with γ* = 0.61 and ρ* = 1/12. The optimal plan meets the second floor in context "
    "2. A run is stuck if it loses more than 0.2 per round in its second half; the wrong plan, which meets that "
    "floor in context 1, loses a third or more. In it the floor has price 2, so that to OPLP the pair (2, 2) is "
    "worth its upper bound plus twice its lower bound, three means minus one radius: the less it was played the "
    "worse it looks, and worse in every round without it. Even with exact estimates it is tried only if its radius "
    "is below 1.6 (the grey line). For the other rules there are 300 runs per 1,000 of OPLP, and for a floor of zero "
    "200 of a fifth of the rounds. Some stuck runs are played on for 60 times as long.",
    source="Theorem 2 and its proof",
    horizon=5_000,
    epochs=EPOCHS,
    runs=_runs,
    derive=_derive,
    claims=(
        Claim(
            "oplp-may-be-stuck",
            "With positive probability OPLP settles on a wrong plan, and its regret is linear.",
            paper=Statement(
                "Under Assumptions 1 to 3, E[R_T] is of order (1/γ*² + 1/ρ*²) log² T + √(T log T), which excludes "
                "linear regret with positive probability.",
                f"No run of OPLP loses more than {STUCK:g} per round in its second half.",
                _no_linear_run,
            ),
            ours=Statement(
                "On this instance a small share of runs is stuck, and stays so.",
                f"More than {SELDOM:.1%} of runs are stuck, by the lower end of Wilson's 95 % interval, and at least "
                f"half of those that are played on are still stuck after {LONG} times as many rounds.",
                _stuck,
            ),
            why="As we read it, in the proof of the proposition on suboptimal active constraints under pessimism, "
            "point 1, a plan of Φ(ρ) is compared with LP(μ, LCB): it must be feasible with lower bounds, which takes "
            "the radii of that plan, but ρ(ε(t), w(t)) has those of the plan that is played. They differ if the "
            "better plan uses a pair that was seldom played. The bound on the violation in feasible rounds, and the "
            "theorem on OLP, do not use that step.",
        ),
        Claim(
            "the-step-of-the-proof",
            "In a stuck run the width of the played plan falls below ρ*.",
            paper=Statement(
                "If I_t ≠ I* and LP(UCB, LCB) is feasible, then ρ(ε(t), w(t)) ≥ ρ* with high probability.",
                f"In the last of {LONG} times as many rounds, ρ(ε(t), w(t)) ≥ ρ* in every stuck run.",
                _width_stays,
            ),
            ours=Statement(
                "A stuck run narrows the radii of its own plan, and of no other.",
                "In at least one stuck run ρ(ε(t), w(t)) < ρ* then.",
                _width_falls,
            ),
            why="It is the same step: the radii that matter are those of the plan not played.",
        ),
        Claim(
            "stuck-at-a-floor-of-zero",
            "With the row of a floor of zero as printed, OPLP may drop the best arm for ever.",
            paper=Statement(
                "The theorem does not ask that floors be positive.",
                f"With the printed row, no run on the instance with a floor of zero loses more than {STUCK_AT_ZERO:g} "
                "per round in its second half.",
                _no_linear_run_at_zero,
            ),
            ours=Statement(
                "A low first reward makes LCB₁ negative; the row LCB₁ w₁ ≥ 0 then forces w₁ = 0, and LCB₁ never "
                "changes for the better. Without the row, as in this library, that does not happen.",
                f"More than {OFTEN:.0%} of runs are stuck, by the lower end of Wilson's 95 % interval; none without "
                "the row.",
                _stuck_at_zero,
            ),
            why="Two arms, one context, means 1 and 0.8, floors 0 and 0.1; the wrong plan (0, 1) loses 0.175 per "
            "round.",
        ),
        Claim(
            "olp-is-never-stuck",
            "OLP is not stuck on this instance.",
            ours=Statement("To OLP the pair looks better the less it was played.", "No run is stuck.", _olp_never),
        ),
        Claim(
            "less-caution-is-no-cure",
            "Cautions between OPLP's and none are stuck more often.",
            ours=Statement(
                "They leave the fallback earlier, when the pair was played less.",
                "Of the runs with cautions −0.5 and −0.25 together, the lower end of the interval is above the upper "
                "end of OPLP's.",
                _between_is_worse,
            ),
        ),
        Claim(
            "a-count-floor-frees-most",
            "OPLP that plays every pair at least 0.5 log² t times seldom stays stuck.",
            ours=Statement(
                "Plays that do not depend on estimates take the pair over the grey line; 0.05 log² t of them do so "
                "only after millions of rounds.",
                "Of the runs that are stuck at the horizon, OPLP's or its own, at most a third are after "
                f"{LONG} times as many rounds.",
                _repaired,
            ),
        ),
    ),
    figure=_figure,
    tables=_tables,
    highlights=_highlights,
)
