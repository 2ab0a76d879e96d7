"""The lower bound: (i) near nu^(0), R + V is of order sqrt(T) at least; (ii) exploration is not free on nu^(0).

(i) plays the worse of nu_+ and nu_- at epsilon = T^(-1/2), so that each horizon is a problem of its own. (ii) counts
the plays of arm 1 in context 3, which the best plan of nu^(0) never makes.
"""

import math
from typing import Any

import numpy as np

from arcbandit.estimates import Estimate, estimate, written
from arcbandit.experiments.epochs import EPOCHS, INTERVALS
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
from arcbandit.experiments.exploration import Epochs, Exploration, decades, explore, fitted, longer_and_shorter
from arcbandit.experiments.growth import BELOW_ROOT, high_end, low_end, mean_exponent, power, slower_than_root
from arcbandit.experiments.paper_instances import paper_instance
from arcbandit.policies.registry import POLICIES
from arcbandit.report.charts import Chart, Line, Sheet
from arcbandit.report.tables import NumberTable
from arcbandit.simulation.epoch import Progress

# The linear-program rule with default dials is BLP.
EVERY_POLICY = tuple(name for name in POLICIES if name != "linear-program")
PLANNING = ("OLP", "OPLP", "BLP", "ThompsonLP", "Greedy")
# Horizons as shares of the longest, with the epochs of each; the theorem's shortest horizon is 16.
HORIZONS = {1.0: 20, 0.1: 50, 0.01: 100, 0.001: 100, 0.00016: 100}
SHORTEST = 16
FIRST = 100  # growth is net of these rounds, in which most plays are forced
FEWER_EPOCHS = {"thompson-lp": 4}  # it plans several times as slowly, and gets this part of the epochs
# An exponent is not below 1/2 if its interval reaches this.
LEAST_EXPONENT = 0.4
NEAR_ROOT = (0.4, 0.7)  # for R + V from T/10 to T, with instances of their own

# Rules whose regret is at most of order sqrt(T) on nu^(0) and nu'; how many epochs are played to ten times the horizon.
CONSISTENT = {"olp": 20, "oplp": 5, "blp": 5}
LONGER = 10
OTHER_EPOCHS = 2  # on nu', whose regret enters the bound through its logarithm
EPSILON = 1.0  # eps' of the second bound
# The last decade adds at least this share of what a decade adds on average, as log T adds the same in each.
LEAST_SHARE = 1 / 3


def bound_on_sum(horizon: float) -> float:
    """sqrt(T) / (40 e^2), the first bound."""
    return math.sqrt(horizon) / (40 * math.e**2)


def bound_on_plays(horizon: float, sum_of_regrets: float, information: float = 1.0) -> float:
    """The second bound on E n_{1,3}(T), given the mean regrets on nu^(0) and nu' together.

    `information` is 1 as printed. Means are the cells over p_3 = 1/3, so a play tells nine times as much.
    """
    return 2 / (information * (1 + EPSILON) ** 2) * math.log(horizon * EPSILON / 8 / sum_of_regrets)


def horizons(settings: Settings) -> dict[int, int]:
    """Each horizon of the first bound with its epochs, the shortest first."""
    wanted = {
        max(SHORTEST, round(share * settings.horizon)): scaled(settings, epochs, EPOCHS)
        for share, epochs in HORIZONS.items()
    }
    return dict(sorted(wanted.items()))


def _runs(settings: Settings) -> tuple[Run, ...]:
    runs = []
    for horizon, epochs in horizons(settings).items():
        # At T = 16 the theorem's epsilon is at the open end of its range.
        epsilon = min(horizon**-0.5, math.nextafter(0.25, 0.0))
        places = tuple(sorted({min(FIRST, horizon), horizon}))
        for sign in ("plus", "minus"):
            for part in sorted({FEWER_EPOCHS.get(name, 1) for name in EVERY_POLICY}):
                policies = named(*(name for name in EVERY_POLICY if FEWER_EPOCHS.get(name, 1) == part))
                label, instance = f"{sign} {horizon}", f"nu-{sign}:{epsilon!r}"
                count = max(1, epochs // part)
                runs.append(Run(label if part == 1 else f"{label}, slow", instance, policies, horizon, count, places))
    return tuple(runs)


def _long_horizon(settings: Settings) -> int:
    return LONGER * settings.horizon


def _compute(settings: Settings, progress: Progress) -> dict[str, Any]:
    """Each consistent rule on nu^(0), some epochs to the long horizon, and on nu'."""
    nominal, other = paper_instance("nu-nominal"), paper_instance(f"nu-lower-bound:{EPSILON}")
    ends = decades(settings.horizon)
    long = _long_horizon(settings)
    parts: list[Epochs] = []
    for name, wanted in CONSISTENT.items():
        epochs = max(2, scaled(settings, wanted, EPOCHS))
        rest = range(epochs, max(settings.epochs, epochs + 1))
        parts += [
            Epochs(name, nominal, (*ends, long), settings.seed, range(epochs)),
            Epochs(name, other, (*ends, long), settings.seed, range(OTHER_EPOCHS)),
            Epochs(name, nominal, ends, settings.seed, rest),
        ]
    # The longest first, so that no processor waits long for the last one.
    order = sorted(range(len(parts)), key=lambda place: -parts[place].horizons[-1])
    played = dict(zip(order, explore([parts[place] for place in order], settings.jobs), strict=True))
    found: dict[str, Exploration] = {}
    regrets: dict[str, list[float]] = {}
    for place, name in enumerate(CONSISTENT):
        longer, elsewhere, shorter = (played[3 * place + part] for part in range(3))
        label = POLICIES[name].__name__
        found[label] = longer_and_shorter(longer, shorter)
        regrets[label] = elsewhere.regret.mean(axis=0).tolist()
    progress(sum(len(part.numbers) * part.horizons[-1] for part in parts))
    return {"exploration": found, "regret_on_other": regrets}


def _compute_rounds(settings: Settings) -> int:
    rounds = 0
    for wanted in CONSISTENT.values():
        epochs = max(2, scaled(settings, wanted, EPOCHS))
        rest = max(settings.epochs - epochs, 1)
        rounds += (epochs + OTHER_EPOCHS) * _long_horizon(settings) + rest * settings.horizon
    return rounds


def worst_sums(recorded: Recorded, *, net: bool = False) -> dict[str, dict[int, Estimate]]:
    """The mean R + V on the worse of nu_+ and nu_-, by policy and horizon; net of the first rounds if asked for."""
    found: dict[str, dict[int, Estimate]] = {policy: {} for policy in named(*EVERY_POLICY)}
    for horizon in horizons(recorded.settings):
        for policy, sums in found.items():
            means = []
            for sign in ("plus", "minus"):
                label = f"{sign} {horizon}"
                trace = recorded.traces[label if policy in recorded.traces[label].policies else f"{label}, slow"]
                values = trace.regret_plus_violation[policy]
                means.append(estimate(values[:, -1] - (values[:, 0] if net and horizon > FIRST else 0.0)))
            sums[horizon] = max(means, key=lambda one: one.mean)
    return found


def exponents(recorded: Recorded) -> dict[str, Estimate]:
    """The worst R + V as a power of T over the last two horizons, net of the first rounds."""
    *_, before, last = horizons(recorded.settings)
    return {
        policy: mean_exponent(sums[before], sums[last], last / before)
        for policy, sums in worst_sums(recorded, net=True).items()
    }


def _ratios(recorded: Recorded) -> dict[str, float]:
    """The worst R + V at the longest horizon, in units of the bound there."""
    last = max(horizons(recorded.settings))
    return {policy: sums[last].mean / bound_on_sum(last) for policy, sums in worst_sums(recorded).items()}


def _nobody_below(recorded: Recorded) -> Measured:
    found, ratios = exponents(recorded), _ratios(recorded)
    slowest = min(found, key=lambda policy: found[policy].mean)
    closest = min(ratios, key=lambda policy: ratios[policy])
    above = all(
        sums[horizon].mean >= bound_on_sum(horizon)
        for sums in worst_sums(recorded).values()
        for horizon in horizons(recorded.settings)
    )
    shown = (
        f"slowest: {slowest}, T^({power(found[slowest])}); closest: {closest}, {ratios[closest]:,.0f} times the bound"
    )
    passed = above and all(high_end(one) >= LEAST_EXPONENT for one in found.values())
    return Measured(passed, f"{shown} at T = {max(horizons(recorded.settings)):,}")


def _right_order(recorded: Recorded) -> Measured:
    found = {policy: exponents(recorded)[policy] for policy in ("OLP", "OPLP")}
    passed = all(NEAR_ROOT[0] <= low_end(one) and high_end(one) <= NEAR_ROOT[1] for one in found.values())
    return Measured(passed, ", ".join(f"{policy} T^({power(one)})" for policy, one in found.items()))


def explorations(recorded: Recorded) -> dict[str, Exploration]:
    """What was found on nu^(0), by policy."""
    found: dict[str, Exploration] = recorded.findings["exploration"]
    return found


def plays_against_bound(recorded: Recorded) -> dict[str, list[tuple[int, float, float]]]:
    """By policy: horizon, mean plays of arm 1 in context 3, the bound on them as printed."""
    return {
        policy: [
            (
                horizon,
                found.mean("plays", place).mean,
                bound_on_plays(
                    horizon, found.mean("regret", place).mean + recorded.findings["regret_on_other"][policy][place]
                ),
            )
            for place, horizon in enumerate(found.horizons)
        ]
        for policy, found in explorations(recorded).items()
    }


def _plays_as_printed(recorded: Recorded) -> Measured:
    found = plays_against_bound(recorded)
    passed = all(plays >= bound for rows in found.values() for _, plays, bound in rows)
    last = {policy: rows[-1] for policy, rows in found.items()}
    shown = ", ".join(f"{policy} {plays:.1f} (bound {bound:.1f})" for policy, (_, plays, bound) in last.items())
    return Measured(passed, f"at T = {next(iter(last.values()))[0]:,}: {shown}")


def _plays_go_on(recorded: Recorded) -> Measured:
    passed, shown = True, []
    for policy, found in explorations(recorded).items():
        fits = fitted(found, "plays")
        rate = fits["log T"].rate
        passed = passed and low_end(rate) > 0.0 and fits["log T"].misfit < fits["√T"].misfit
        misfits = ", ".join(f"{fit.misfit:.0f} for {shape}" for shape, fit in fits.items())
        shown.append(f"{policy} {math.log(10) * rate.mean:.2f} plays per decade (misfit {misfits})")
    return Measured(passed, "; ".join(shown))


def _at_least_logarithmic(recorded: Recorded) -> Measured:
    passed, shown = True, []
    for policy, found in explorations(recorded).items():
        added = [estimate(step) for step in found.added("regret")]
        if len(added) < 3:
            return Measured(False, "the horizon is too short")
        average = float(np.mean([one.mean for one in added]))
        # All epochs reach the end of the last decade but one; few that of the last.
        up_to_horizon = low_end(added[-2]) > LEAST_SHARE * max(added[-3].mean, 0.0)
        passed = passed and up_to_horizon and added[-1].mean > LEAST_SHARE * max(average, 0.0)
        shown.append(f"{policy} {', '.join(written(one) for one in added)}")
    return Measured(passed, f"added from decade to decade: {'; '.join(shown)}")


def _olp_is_logarithmic(recorded: Recorded) -> Measured:
    found = explorations(recorded)["OLP"]
    fits, exponent = fitted(found, "regret"), found.exponent("regret")
    misfits = ", ".join(f"{fit.misfit:.1f} for {shape}" for shape, fit in fits.items())
    passed = slower_than_root(exponent) and fits["log T"].misfit < fits["√T"].misfit
    return Measured(passed, f"T^({power(exponent)}), misfit {misfits}; up to T = {found.horizons[-1]:,}")


def _nobody_beats_both(recorded: Recorded) -> Measured:
    found = {policy: one.exponent("regret_plus_violation", -2) for policy, one in explorations(recorded).items()}
    shown = ", ".join(f"{policy} T^({power(one)})" for policy, one in found.items())
    return Measured(all(high_end(one) >= LEAST_EXPONENT for one in found.values()), f"R + V: {shown}")


def _line(label: str, over: list[int], found: list[Estimate]) -> Line:
    """Means with their intervals, which on a log axis may not reach 0: they are drawn down to a tenth of the mean."""
    means = [one.mean for one in found]
    halves = [0.0 if math.isnan(one.half_width) else one.half_width for one in found]
    low = [max(mean - half, mean / 10) for mean, half in zip(means, halves, strict=True)]
    high = [mean + half for mean, half in zip(means, halves, strict=True)]
    return Line(label, over, means, low, high, marks=True, shade=INTERVALS)


def _figure(recorded: Recorded) -> Sheet:
    sums = worst_sums(recorded)
    over = list(horizons(recorded.settings))
    bound = Line("bound", over, [bound_on_sum(horizon) for horizon in over])
    charts = []
    for title, policies in (
        ("(i) policies that plan", PLANNING),
        ("(i) the other policies", tuple(policy for policy in sums if policy not in PLANNING)),
    ):
        lines = tuple(_line(policy, over, list(sums[policy].values())) for policy in policies)
        charts.append(Chart(title, "horizon T", "worst R + V", lines, (bound,), x_log=True, y_log=True))
    plays, regrets = [], []
    for policy, found in explorations(recorded).items():
        places = range(len(found.horizons))
        ends = list(found.horizons)
        plays.append(_line(policy, ends, [found.mean("plays", place) for place in places]))
        regrets.append(_line(policy, ends, [found.mean("regret", place) for place in places]))
    rows = [row for row in plays_against_bound(recorded)["OLP"] if row[2] > 0]
    guide = Line("printed bound for OLP", [row[0] for row in rows], [row[2] for row in rows])
    ends = list(next(iter(explorations(recorded).values())).horizons)
    logarithm = Line("log T", ends, [math.log(horizon) for horizon in ends])
    charts.append(Chart("(ii) arm 1 in context 3 of ν⁽⁰⁾", "horizon T", "plays", tuple(plays), (guide,), x_log=True))
    charts.append(
        Chart("(ii) regret on ν⁽⁰⁾", "horizon T", "regret R", tuple(regrets), (logarithm,), x_log=True, y_log=True)
    )
    return Sheet("The lower bound, and how near policies come", tuple(charts))


def _tables(recorded: Recorded) -> tuple[NumberTable, ...]:
    *_, before, last = horizons(recorded.settings)
    found, ratios = exponents(recorded), _ratios(recorded)
    rows = tuple(
        (policy, power(found[policy]), written(sums[last]), f"{ratios[policy]:,.0f}")
        for policy, sums in worst_sums(recorded).items()
    )
    heading = (
        "policy",
        f"power of T from {before:,} to {last:,}",
        f"worst R + V at T = {last:,}",
        "times the bound there",
    )
    explored = []
    for policy, one in explorations(recorded).items():
        for place, horizon in enumerate(one.horizons):
            _, _, bound = plays_against_bound(recorded)[policy][place]
            epochs = int(np.isfinite(one.plays[:, place]).sum())
            numbers = (written(one.mean(quantity, place)) for quantity in ("regret", "violation", "plays"))
            explored.append((policy, f"{horizon:,}", str(epochs), *numbers, f"{bound:.2f}", f"{bound / 9:.2f}"))
    header = ("policy", "T", "epochs", "R", "V", "plays of (1, 3)", "bound as printed", "bound with the factor 9")
    return (
        NumberTable("The worse of ν₊ and ν₋ at ε = T^(−1/2)", heading, rows),
        NumberTable("On ν⁽⁰⁾", header, tuple(explored)),
    )


def _highlights(recorded: Recorded) -> tuple[Highlight, ...]:
    found = explorations(recorded)["OLP"]
    before, last = (found.mean("regret", place).mean for place in (0, -1))
    per_decade = math.log(10) * fitted(found, "plays")["log T"].rate.mean
    ratios = _ratios(recorded)
    closest = min(ratios, key=lambda policy: ratios[policy])
    return (
        Highlight(
            Group.REPRODUCED,
            f"Exploration is not free: on ν⁽⁰⁾ OLP returns to a pair that the best plan never plays {per_decade:.2f} "
            "times per "
            f"decade of rounds, and its regret grows from {before:.0f} at {found.horizons[0]} rounds to {last:.0f} at "
            f"{found.horizons[-1]:,}.",
            2,
        ),
        Highlight(
            Group.REPRODUCED,
            f"No policy beats √T near ν⁽⁰⁾; the closest, {closest}, is {ratios[closest]:,.0f} times above the "
            "printed constant "
            f"at T = {max(horizons(recorded.settings)):,}.",
            0,
        ),
    )


EXPERIMENT = Experiment(
    name="lower-bound",
    title="The lower bound",
    about="(i) Every policy on the worse of ν₊ and ν₋ at ε = T^(−1/2), for horizons from 16 on, against √T / (40 e²): "
    f"{', '.join(f'{epochs}' for epochs in HORIZONS.values())} epochs from the longest horizon to the shortest "
    "(ThompsonLP, which plans several times as slowly, a quarter of them). (ii) On ν⁽⁰⁾, how often consistent "
    "policies play "
    "arm 1 in context 3, which the best plan never does, and their regret, to ten times that horizon. Bars are 95 % "
    "intervals.",
    source="Lower Bound, the theorem and its proof",
    horizon=100_000,
    epochs=EPOCHS,
    runs=_runs,
    compute=_compute,
    compute_rounds=_compute_rounds,
    claims=(
        Claim(
            "nobody-below-the-root",
            "Near ν⁽⁰⁾ no policy has R + V below the order of √T.",
            paper=Statement(
                "For T ≥ 16, min over policies of max over nearby instances of E[R + V] is Ω(√T), at least √T / (40 "
                "e²).",
                "No policy's mean R + V on the worse instance is below √T / (40 e²) at any horizon; and from T/10 to "
                "T, net of "
                f"the first {FIRST} rounds, none grows with a power of T whose 95 % interval is below "
                f"{LEAST_EXPONENT}.",
                _nobody_below,
            ),
        ),
        Claim(
            "olp-and-oplp-have-the-right-order",
            "OLP and OPLP attain the order √T of the lower bound.",
            paper=Statement(
                "Both OLP and OPLP offer the correct √T dependency (but for logarithmic factors).",
                f"From T/10 to T, net of the first {FIRST} rounds, the worst R + V of OLP and OPLP is a power of T "
                "from "
                f"{NEAR_ROOT[0]} to {NEAR_ROOT[1]} (95 % interval).",
                _right_order,
            ),
        ),
        Claim(
            "no-free-exploration",
            "Every consistent policy keeps playing a pair that the best plan never plays.",
            paper=Statement(
                "E n₁₃(T) ≥ 2/(1 + ε′)² (log(T ε′/8) − log E[R + R′]).",
                "The inequality as printed, with each policy's own mean plays and regrets and ε′ = 1, at every "
                "horizon.",
                _plays_as_printed,
            ),
            ours=Statement(
                "Such plays go on and on, like log T.",
                f"What the decades from {FIRST} rounds on add to n₁₃: the rate per log T is above 0 (95 % interval), "
                "and log T "
                "fits better than √T, each decade weighted by its standard error.",
                _plays_go_on,
            ),
            why="With μ the cell over p₃ = 1/3, a play tells the instances apart nine times as well as the proof "
            "counts: what it proves has 2/9 in place of 2. The printed inequality is stronger, and the first plays "
            "alone may "
            "meet it; so we look at what comes after them.",
        ),
        Claim(
            "logarithmic-regret",
            "On ν⁽⁰⁾ regret grows at least like log T.",
            paper=Statement(
                "E[R(T)] = Ω(log T) for any consistent policy.",
                f"What a decade of rounds adds to the regret stays up, for every consistent policy: up to T more than "
                f"{LEAST_SHARE:.2f} of the decade before (95 % interval), up to 10 T more than {LEAST_SHARE:.2f} of "
                "the average "
                "decade (mean of fewer epochs).",
                _at_least_logarithmic,
            ),
            ours=Statement(
                "OLP's regret grows no faster than that.",
                f"By what the last two decades add, OLP's regret is a power of T below {BELOW_ROOT:g} (95 % "
                "interval), and log T "
                "fits what "
                "the decades add better than √T.",
                _olp_is_logarithmic,
            ),
        ),
        Claim(
            "nobody-beats-both",
            "No policy is polylogarithmic in both regret and violation on ν⁽⁰⁾.",
            paper=Statement(
                "No policy can offer better guarantees than √T violation and log T regret on ν⁽⁰⁾.",
                "By what the last two decades up to the horizon add, no consistent policy's R + V grows with a power "
                "of T "
                f"whose 95 % interval is below {LEAST_EXPONENT}.",
                _nobody_beats_both,
            ),
        ),
    ),
    figure=_figure,
    tables=_tables,
    highlights=_highlights,
)
