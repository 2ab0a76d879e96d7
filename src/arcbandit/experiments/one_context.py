"""One context: the setting without contexts, where exploration is free."""

import numpy as np

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
from arcbandit.experiments.growth import power
from arcbandit.experiments.net_growth import gain, late_slopes, linear_runs, net_exponent, within
from arcbandit.report.charts import Chart, Line, Sheet
from arcbandit.report.metric_charts import growth_guides, metric_line, metric_text
from arcbandit.report.tables import NumberTable

EPOCHS = 100
UNPROMISED_RUNS = 1_000
UNPROMISED_HORIZON = 1 / 10  # of the horizon
NOTHING = 0.1  # of regret, gained over nine tenths of the rounds
SOMETHING = 1.0
ROOT = (0.35, 0.7)  # sqrt(T log T) is a little steeper than a root
SUBLINEAR = 0.8
STUCK = 0.1  # lost per round; a run that has settled on the second best arm loses 0.3 or more
OFTEN = 0.05
FREE = ("OLP", "DOC")


def _runs(settings: Settings) -> tuple[Run, ...]:
    short = max(2, round(UNPROMISED_HORIZON * settings.horizon))
    many = scaled(settings, UNPROMISED_RUNS, EPOCHS)
    return (
        Run("one context", "one-context", named("olp", "doc", "greedy"), settings.horizon, settings.epochs),
        Run("contexts", "nu-nominal", named("olp"), settings.horizon, settings.epochs),
        Run("all floors", "one-context", named("greedy"), short, many, (short // 2,)),
        Run("no floor", "one-context-unpromised", named("greedy", "olp"), short, many, (short // 2,)),
    )


def _constant(recorded: Recorded) -> Measured:
    gains = {policy: gain(recorded.traces["one context"], "regret", policy) for policy in FREE}
    passed = all(one.mean + one.half_width < NOTHING for one in gains.values())
    return Measured(passed, "; ".join(f"{policy} gains {one.mean:.3f}" for policy, one in gains.items()))


def _root(recorded: Recorded) -> Measured:
    powers = {policy: net_exponent(recorded.traces["one context"], "violation", policy) for policy in FREE}
    passed = all(within(one, *ROOT) for one in powers.values())
    return Measured(passed, "; ".join(f"{policy} V ∝ T^({power(one)})" for policy, one in powers.items()))


def _not_free(recorded: Recorded) -> Measured:
    gained = gain(recorded.traces["contexts"], "regret", "OLP")
    return Measured(gained.mean - gained.half_width > SOMETHING, f"OLP gains {gained} on ν⁽⁰⁾")


def _sublinear(recorded: Recorded) -> Measured:
    exponent = net_exponent(recorded.traces["one context"], "regret", "Greedy")
    return Measured(exponent.mean + exponent.half_width < SUBLINEAR, f"R ∝ T^({power(exponent)})")


def _linear(recorded: Recorded) -> Measured:
    without, promised = (linear_runs(recorded.traces[label], "Greedy", STUCK) for label in ("no floor", "all floors"))
    passed = without.interval[0] > OFTEN
    return Measured(passed, f"{without} without a floor; {promised} with all floors")


def _figure(recorded: Recorded) -> Sheet:
    trace = recorded.traces["one context"]
    regret = (
        *(metric_line(trace, "regret", policy) for policy in ("OLP", "DOC", "Greedy")),
        metric_line(recorded.traces["contexts"], "regret", "OLP", "OLP, three contexts", 6),
    )
    violation = tuple(metric_line(trace, "violation", policy) for policy in ("OLP", "DOC", "Greedy"))
    slopes = []
    for place, (label, name) in enumerate((("no floor", "best arm without a floor"), ("all floors", "all floors"))):
        lost = np.sort(late_slopes(recorded.traces[label], "Greedy"))
        slopes.append(Line(name, np.maximum(lost, 1e-4), 1.0 - np.arange(len(lost)) / len(lost), place=2 + place))
    return Sheet(
        "One context",
        (
            Chart(*metric_text("regret"), regret, x_log=True),
            Chart(*metric_text("violation"), violation, growth_guides(trace, violation), x_log=True, y_log=True),
            Chart(
                "Greedy's runs",
                "regret per round in the second half",
                "share of runs with at least that",
                tuple(slopes),
                x_log=True,
                y_log=True,
                direct_labels=False,
                end_labels=True,
            ),
        ),
    )


def _tables(recorded: Recorded) -> tuple[NumberTable, ...]:
    rows = []
    for label, policies in (("one context", ("OLP", "DOC", "Greedy")), ("contexts", ("OLP",))):
        for policy in policies:
            trace = recorded.traces[label]
            ends = [str(trace.estimate(metric, policy)) for metric in ("regret", "violation")]
            name = f"{policy}, {'ν⁽⁰⁾' if label == 'contexts' else label}"
            rows.append((name, *ends, str(gain(trace, "regret", policy))))
    heading = ("policy", "R", "V", "R gained in the last decade")
    return (NumberTable("At the horizon", heading, tuple(rows)),)


def _highlights(recorded: Recorded) -> tuple[Highlight, ...]:
    ends = {policy: recorded.traces["one context"].estimate("regret", policy) for policy in FREE}
    gained = gain(recorded.traces["contexts"], "regret", "OLP")
    share = linear_runs(recorded.traces["no floor"], "Greedy", STUCK)
    stops = _constant(recorded).passed
    return (
        Highlight(
            Group.REPRODUCED if stops else Group.NOT_REPRODUCED,
            f"With one context exploration is free: the regret of OLP ({ends['OLP']}) and DOC ({ends['DOC']}) "
            f"{'stops' if stops else 'does not stop'} growing; with the three contexts of ν⁽⁰⁾ OLP's still grows by "
            f"{gained} in the last decade of rounds.",
            0,
        ),
        Highlight(
            Group.REPRODUCED if _linear(recorded).passed else Group.NOT_REPRODUCED,
            f"Without contexts Greedy's regret is linear in {share} runs if the best arm has no floor.",
            2,
        ),
    )


EXPERIMENT = Experiment(
    name="one-context",
    title="One context, where exploration is free",
    about="Three arms without contexts, means 1, 2 and 1.5 and floors of 1/4, played by OLP, DOC and Greedy; beside "
    "it OLP on ν⁽⁰⁾, which has three contexts. For the last chart Greedy is played many times over fewer rounds, "
    "with these floors and with none for the best arm.",
    source="Related Work; Lower Bound; Counterexample Demonstrating the Inefficiency of Greedy Behavior",
    horizon=20_000,
    epochs=EPOCHS,
    runs=_runs,
    claims=(
        Claim(
            "constant-regret",
            "With one context the regret of OLP and DOC is constant.",
            paper=Statement(
                "One can favor constant performance regret; it is attained thanks to the free exploration induced by "
                "the optimal allocation structure, where all arms are sampled with constant probability.",
                f"Over the last decade of rounds the mean regret of OLP and of DOC grows by less than {NOTHING:g}, "
                "with its 95 % interval.",
                _constant,
            ),
        ),
        Claim(
            "root-violation",
            "Their violation grows like √T.",
            paper=Statement(
                "Constant regret comes at the cost of √T constraint violation.",
                f"The exponent of V over the last two decades, with its 95 % interval, lies from {ROOT[0]} to "
                f"{ROOT[1]}.",
                _root,
            ),
        ),
        Claim(
            "not-free-with-contexts",
            "With several contexts OLP's regret goes on growing.",
            paper=Statement(
                "This refutes the free exploration property as soon as there is more than one context.",
                f"On ν⁽⁰⁾ OLP's mean regret grows by more than {SOMETHING:g} over the last decade of rounds, with its "
                "95 % interval.",
                _not_free,
            ),
        ),
        Claim(
            "greedy-is-sublinear",
            "With one context, and floors for all arms, Greedy's regret is sublinear.",
            paper=Statement(
                "Greedy achieves sublinear regret in the single-context setting because the constraints enforce "
                "exploration.",
                f"The exponent of its regret over the last two decades is below {SUBLINEAR}, with its 95 % interval.",
                _sublinear,
            ),
        ),
        Claim(
            "greedy-is-linear-without-a-floor",
            "With one context Greedy's regret may be linear if the best arm has no floor.",
            paper=Statement(
                "Greedy may also yield linear regret if λ_k = 0 for the best arm in the instance.",
                f"More than {OFTEN:.0%} of its runs, by the lower end of Wilson's 95 % interval, lose more than "
                f"{STUCK:g} per round in their second half.",
                _linear,
            ),
        ),
    ),
    figure=_figure,
    tables=_tables,
    highlights=_highlights,
)
