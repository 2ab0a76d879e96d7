"""One context, stuck runs, rules between, families of margins, group floors, linear bandits, floors out of reach.

Each statement of each claim passes on made-up results that agree with it, and fails on some that contradict it.
"""

import dataclasses
import math

import numpy as np
import pytest

from arcbandit import analyse, plan, solve_lp
from arcbandit.errors import InfeasibleError, InvalidInputError, UnknownNameError
from arcbandit.estimates import Estimate
from arcbandit.experiments import (
    between,
    group_floors,
    infeasible_floors,
    linear_bandit,
    margin_families,
    one_context,
    stuck_runs,
)
from arcbandit.experiments.experiment import Group
from arcbandit.experiments.net_growth import Share, gain, gained, late_slopes, linear_runs, net_exponent, within
from arcbandit.experiments.our_instances import OUR_INSTANCES, instance_named
from arcbandit.experiments.replays import History, replay
from arcbandit.experiments.variants import OPLPWithCountFloor, OPLPWithZeroRows, SelfNormalisedOLP, SelfNormalisedOPLP
from arcbandit.kernels.confidence import ByPair
from arcbandit.policies.oplp import OPLP
from arcbandit.report.charts import alt_text
from arcbandit.report.figures import sheet_files
from arcbandit.simulation.metrics import METRICS, Total
from arcbandit.simulation.run import simulate

MODULES = (one_context, stuck_runs, between, margin_families, group_floors, linear_bandit, infeasible_floors)
EXPERIMENTS = {module.EXPERIMENT.name: module.EXPERIMENT for module in MODULES}
SMALL = {
    "one-context": (1_000, 20),
    "stuck-runs": (200, 100),
    "between": (1_000, 6),
    "margin-families": (100, 2),
    "group-floors": (1_000, 30),
    "linear-bandit": (1_000, 3),
    "infeasible-floors": (1_000, 3),
}


@pytest.fixture(scope="module")
def small():
    """What each experiment records at reduced size."""
    return {
        name: EXPERIMENTS[name].record(EXPERIMENTS[name].settings(horizon=horizon, epochs=epochs, seed=1, jobs=1))
        for name, (horizon, epochs) in SMALL.items()
    }


# Made-up results


def with_sums(recorded, label, policies, **curves):
    """The recorded results with sums of some policies replaced: by a number, or a function of rounds and of epochs.

    Epochs are passed as a column, so that a function may make them differ; a spread of 1 % is put on all.
    """
    trace = recorded.traces[label]
    rounds, epochs = trace.rounds.astype(float), np.arange(trace.epochs)[:, None]
    spread = 1.0 + 0.01 * np.cos(epochs)
    records = {policy: record.copy() for policy, record in trace.records.items()}
    for policy in policies:
        for metric, curve in curves.items():
            made = curve(rounds, epochs) if callable(curve) else np.full_like(rounds, curve)
            records[policy][:, METRICS[metric].row] = made * spread
        both = records[policy][:, Total.REGRET] + records[policy][:, Total.VIOLATION]
        records[policy][:, Total.REGRET_PLUS_VIOLATION] = both
    return dataclasses.replace(recorded, traces=recorded.traces | {label: dataclasses.replace(trace, records=records)})


def with_windows(recorded, label, policy, expected, realised):
    """The recorded results with what the worst windows are short of replaced, for every floor."""
    trace = recorded.traces[label]
    records = {name: record.copy() for name, record in trace.floor_records.items()}
    spread = 1.0 + 0.01 * np.cos(np.arange(trace.epochs))[:, None, None]
    for kind, value in (("expected", expected), ("realised", realised)):
        records[policy][:, METRICS[f"worst_window_{kind}"].row] = value * spread
    changed = dataclasses.replace(trace, floor_records=records)
    return dataclasses.replace(recorded, traces=recorded.traces | {label: changed})


def with_findings(recorded, **findings):
    return dataclasses.replace(recorded, findings=recorded.findings | findings)


def power(exponent, scale=1.0):
    return lambda rounds, epochs: scale * rounds**exponent + 0.0 * epochs


def flat(rounds, epochs):
    return 10.0 * np.minimum(rounds, 5.0) + 0.0 * epochs


def logarithm(rounds, epochs):
    return 10.0 * np.log(rounds + 1.0) + 0.0 * epochs


def linear_in(count, slope=1.0):
    """A line in the first epochs, nothing afterwards in the others."""
    return lambda rounds, epochs: np.where(epochs < count, slope, 0.0) * rounds


def on(label, policies, **curves):
    return lambda recorded: with_sums(recorded, label, policies, **curves)


def both(*changes):
    def change(recorded):
        for one in changes:
            recorded = one(recorded)
        return recorded

    return change


def played_on(name, slope, width=0.01):
    rounds = np.array([500, 1000])
    runs = [History(rounds, slope * rounds, np.ones(2), width) for _ in range(4)]
    return lambda recorded: with_findings(recorded, **{name: runs})


def margins(exponents):
    """Violations that are powers of the margin, one exponent for each family."""

    def change(recorded):
        for (place, family), exponent in zip(enumerate(margin_families.FAMILIES), exponents, strict=True):
            for step, margin in enumerate(margin_families.MARGINS):
                level = (1.0 + place) * margin**exponent * (1.0 + 0.01 * (-1) ** step)
                recorded = with_sums(recorded, f"{family} {margin:g}", ["OPLP"], violation=level)
        return recorded

    return change


def sums(regret, violation):
    """Sums that end at these numbers."""
    return {
        "regret": lambda rounds, epochs: regret * rounds / rounds[-1] + 0.0 * epochs,
        "violation": lambda rounds, epochs: violation * rounds / rounds[-1] + 0.0 * epochs,
    }


def rivals(label, rules, own, other):
    """OLP or OPLP with a sum at the end, and the same rule with the radii of a linear bandit."""
    return both(
        *(on(label, [rule], **sums(own, 0.0)) for rule in rules),
        *(on(label, [linear_bandit.LINEAR[rule]], **sums(other, 0.0)) for rule in rules),
    )


def copied(label, source, targets):
    """The sums of one policy given to others as well."""

    def change(recorded):
        trace = recorded.traces[label]
        records = trace.records | {target: trace.records[source].copy() for target in targets}
        changed = dataclasses.replace(trace, records=records)
        return dataclasses.replace(recorded, traces=recorded.traces | {label: changed})

    return change


CAUTIONS = tuple(between.CAUTIONS)
UPPER = tuple(infeasible_floors.UPPER.values())
NOT_CONTEXTUAL = (*infeasible_floors.OWN, *UPPER)
TWO_FREE = ["OLP", "DOC"]
# For each statement: results that agree with it, and results that contradict it.
CASES = {
    ("one-context", "constant-regret", "paper"): (
        on("one context", TWO_FREE, regret=flat),
        on("one context", ["DOC"], regret=logarithm),
    ),
    ("one-context", "root-violation", "paper"): (
        on("one context", TWO_FREE, violation=power(0.5)),
        on("one context", ["OLP"], violation=power(1.0)),
    ),
    ("one-context", "not-free-with-contexts", "paper"): (
        on("contexts", ["OLP"], regret=logarithm),
        on("contexts", ["OLP"], regret=flat),
    ),
    ("one-context", "greedy-is-sublinear", "paper"): (
        on("one context", ["Greedy"], regret=power(0.5)),
        on("one context", ["Greedy"], regret=power(0.9)),
    ),
    ("one-context", "greedy-is-linear-without-a-floor", "paper"): (
        on("no floor", ["Greedy"], regret=linear_in(40)),
        on("no floor", ["Greedy"], regret=linear_in(3)),
    ),
    ("stuck-runs", "oplp-may-be-stuck", "paper"): (
        on("OPLP", ["OPLP"], regret=power(0.5)),
        on("OPLP", ["OPLP"], regret=linear_in(1)),
    ),
    ("stuck-runs", "oplp-may-be-stuck", "ours"): (
        both(on("OPLP", ["OPLP"], regret=linear_in(5)), played_on("played_on", 0.4)),
        both(on("OPLP", ["OPLP"], regret=linear_in(5)), played_on("played_on", 0.01)),
    ),
    ("stuck-runs", "the-step-of-the-proof", "paper"): (
        played_on("played_on", 0.4, width=0.1),
        played_on("played_on", 0.4, width=0.08),
    ),
    ("stuck-runs", "the-step-of-the-proof", "ours"): (
        played_on("played_on", 0.4, width=0.08),
        played_on("played_on", 0.4, width=0.1),
    ),
    ("stuck-runs", "stuck-at-a-floor-of-zero", "paper"): (
        on("zero", ["OPLP as printed"], regret=power(0.5)),
        on("zero", ["OPLP as printed"], regret=linear_in(1, 0.2)),
    ),
    ("stuck-runs", "stuck-at-a-floor-of-zero", "ours"): (
        both(on("zero", ["OPLP as printed"], regret=linear_in(9, 0.2)), on("zero", ["OPLP"], regret=flat)),
        on("zero", ["OPLP as printed", "OPLP"], regret=linear_in(9, 0.2)),
    ),
    ("stuck-runs", "olp-is-never-stuck", "ours"): (
        on("others", ["OLP"], regret=flat),
        on("others", ["OLP"], regret=linear_in(1)),
    ),
    ("stuck-runs", "less-caution-is-no-cure", "ours"): (
        both(on("OPLP", ["OPLP"], regret=linear_in(1)), on("others", CAUTIONS, regret=linear_in(15))),
        both(on("OPLP", ["OPLP"], regret=linear_in(40)), on("others", CAUTIONS, regret=linear_in(15))),
    ),
    ("stuck-runs", "a-count-floor-frees-most", "ours"): (played_on("repaired", 0.01), played_on("repaired", 0.4)),
    ("between", "oplp-is-dominated", "ours"): (
        both(on("nu", ["OPLP"], **sums(100, 100)), on("nu", CAUTIONS, **sums(50, 50))),
        both(on("nu", ["OPLP"], **sums(100, 100)), on("nu", CAUTIONS, **sums(50, 101))),
    ),
    ("between", "a-root-in-both", "ours"): (
        on("nu", between.MIDDLE, regret=power(0.5), violation=power(0.5)),
        both(
            on("nu", between.MIDDLE, regret=power(0.5), violation=power(0.5)),
            on("nu", ["BLP"], violation=logarithm),
        ),
    ),
    ("margin-families", "scales-like-the-inverse-square", "paper"): (
        margins((-2.0, -2.0, -2.0)),
        margins((-2.0, -2.0, -1.4)),
    ),
    ("margin-families", "scales-like-the-inverse-square", "ours"): (
        margins((-1.0, -1.2, -1.4)),
        margins((-1.0, -1.2, -2.0)),
    ),
    ("margin-families", "depends-on-the-family", "ours"): (margins((-1.0, -1.2, -1.4)), margins((-1.2, -1.2, -1.2))),
    ("group-floors", "olp-generalises", "paper"): (
        on("one group", ["OLP"], regret=logarithm, violation=power(0.5)),
        on("one group", ["OLP"], regret=power(0.5), violation=power(0.5)),
    ),
    ("group-floors", "oplp-generalises", "paper"): (
        on("one group", ["OPLP"], regret=power(0.5), violation=flat),
        both(
            on("one group", ["OPLP"], violation=flat),
            on("one group", ["OPLP"], regret=lambda t, e: t**0.5 + np.where(e < 1, 0.3 * t, 0.0)),
        ),
    ),
    ("group-floors", "oplp-generalises", "ours"): (
        both(
            on("one group", ["OPLP"], regret=linear_in(5), violation=flat),
            on("one group", [group_floors.REPAIRED], regret=flat),
        ),
        both(
            on("one group", ["OPLP"], regret=linear_in(5), violation=flat),
            on("one group", [group_floors.REPAIRED], regret=linear_in(5)),
        ),
    ),
    ("group-floors", "a-group-is-cheaper", "ours"): (
        both(on("one group", ["OLP"], performance=power(1.0, 7.0)), on("apart", ["OLP"], performance=power(1.0, 6.0))),
        both(on("one group", ["OLP"], performance=power(1.0, 6.0)), on("apart", ["OLP"], performance=power(1.0, 6.0))),
    ),
    ("group-floors", "windows", "ours"): (
        lambda r: with_windows(with_windows(r, "one group", "OLP", 0.1, 0.1), "one group", "OPLP", -0.1, 0.1),
        lambda r: with_windows(with_windows(r, "one group", "OLP", 0.1, 0.1), "one group", "OPLP", 0.1, 0.1),
    ),
    ("group-floors", "windows-as-earned", "ours"): (
        lambda r: with_windows(r, "one group", "OPLP", -0.1, 0.1),
        lambda r: with_windows(r, "one group", "OPLP", -0.1, -0.05),
    ),
    ("linear-bandit", "outperforms-linear-bandits", "paper"): (
        both(*(rivals(label, ("OLP", "OPLP"), 10, 20) for label in ("ν", "ν′"))),
        both(rivals("ν", ("OLP", "OPLP"), 10, 20), rivals("ν′", ("OLP", "OPLP"), 10, 10)),
    ),
    ("linear-bandit", "with-one-linear-constraint", "ours"): (
        rivals("one constraint", ("OLP",), 10, 20),
        rivals("one constraint", ("OLP",), 20, 10),
    ),
    ("linear-bandit", "by-a-factor", "ours"): (
        on("ν", ["OLP", linear_bandit.LINEAR["OLP"]], violation=power(0.5)),
        both(on("ν", ["OLP"], violation=power(0.5)), on("ν", [linear_bandit.LINEAR["OLP"]], violation=power(0.7))),
    ),
    ("infeasible-floors", "contexts-outperform", "paper"): (
        both(
            on("ν", infeasible_floors.CONTEXTUAL, performance=power(1.0, 5.0)),
            on("ν", NOT_CONTEXTUAL, performance=power(1.0, 2.0)),
        ),
        both(
            on("ν", infeasible_floors.CONTEXTUAL, performance=power(1.0, 5.0)),
            on("ν", ["SPOC"], performance=power(1.0, 5.0)),
        ),
    ),
    ("infeasible-floors", "steeper-than-a-root", "ours"): (
        on("ν", infeasible_floors.OWN, regret=power(1.0), violation=power(1.0)),
        both(
            on("ν", infeasible_floors.OWN, regret=power(1.0), violation=power(1.0)),
            on("ν", ["DOC"], violation=power(0.5)),
        ),
    ),
    ("infeasible-floors", "own-shares-differ", "ours"): (
        both(on("ν", ["DOC"], violation=10.0), on("ν", ["SGOC"], violation=20.0), on("ν", ["SPOC"], violation=30.0)),
        on("ν", ["DOC", "SGOC", "SPOC"], violation=10.0),
    ),
    ("infeasible-floors", "upper-shares-coincide", "ours"): (
        both(copied("ν", "DOC", [UPPER[0]]), on("ν", ["SPOC"], violation=10.0)),
        copied("ν", "DOC", [UPPER[0], "SPOC"]),
    ),
    ("infeasible-floors", "no-matter-where-feasible", "ours"): (
        copied("ν′", "DOC", NOT_CONTEXTUAL),
        both(copied("ν′", "DOC", NOT_CONTEXTUAL), on("ν′", [UPPER[1]], violation=10.0)),
    ),
}


def test_every_statement_has_a_case():
    """So that none is left without results that contradict it."""
    stated = {
        (name, claim.name, side)
        for name, experiment in EXPERIMENTS.items()
        for claim in experiment.claims
        for side in ("paper", "ours")
        if getattr(claim, side) is not None
    }
    assert stated == set(CASES)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids="/".join)
def test_a_statement_passes_or_fails_by_what_was_recorded(case, small):
    """By the results alone: the same check passes on some and fails on others."""
    name, claim, side = case
    check = next(getattr(one, side).check for one in EXPERIMENTS[name].claims if one.name == claim)
    agreeing, contradicting = CASES[case]
    assert check(agreeing(small[name])).passed
    assert not check(contradicting(small[name])).passed


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_has_words_a_figure_and_highlights(name, small):
    """Whatever the size; a highlight names a chart that there is."""
    experiment, recorded = EXPERIMENTS[name], small[name]
    verdicts = experiment.verdicts(recorded)
    assert all(one.number for verdict in verdicts for one in (verdict.paper, verdict.ours) if one is not None)
    assert all(claim.sentence.endswith(".") for claim in experiment.claims)
    figure = experiment.figure(recorded)
    assert all(len(alt_text(chart)) > 40 for chart in figure.charts)
    assert sheet_files(figure, (".png",))[".png"].startswith(b"\x89PNG")
    assert all(len(row) == len(table.rows[0]) for table in experiment.tables(recorded) for row in table.rows)
    for highlight in experiment.highlights(recorded):
        assert highlight.group in Group
        assert 0 <= highlight.chart < len(figure.charts)
        assert any(letter.isdigit() for letter in highlight.sentence)


@pytest.mark.slow
def test_r_plus_v_is_shown_beside_its_limit(small):
    """On ν and with one group floor; on ν′ no floor binds, and it is nothing."""
    recorded = small["linear-bandit"]
    charts = dict(zip(recorded.traces, EXPERIMENTS["linear-bandit"].figure(recorded).charts, strict=True))
    assert not charts["ν′"].guides
    for label, name in (("ν", "nu"), ("one constraint", "one-group")):
        (guide,) = charts[label].guides
        limit = analyse(instance_named(name)).learning_limit(recorded.traces[label].horizon)
        assert guide.label == "limit"
        assert guide.y[-1] == limit.total > 0.0


@pytest.mark.slow
def test_nobody_stuck_is_told_as_well(small):
    """Without a stuck run there is nothing to say at the top of the page, and both claims say so."""
    recorded = on("OPLP", ["OPLP"], regret=flat)(small["stuck-runs"])
    recorded = with_findings(recorded, stuck=np.array([], dtype=int), played_on=[], repaired=[], looked_at=[])
    experiment = EXPERIMENTS["stuck-runs"]
    assert experiment.highlights(recorded) == ()
    verdicts = {verdict.claim.name: verdict for verdict in experiment.verdicts(recorded)}
    assert verdicts["oplp-may-be-stuck"].group == Group.REPRODUCED
    assert verdicts["oplp-may-be-stuck"].failed
    assert verdicts["a-count-floor-frees-most"].failed
    assert experiment.figure(recorded).charts
    assert len(experiment.tables(recorded)) == 1


# What they are made of


class TestNetGrowth:
    @pytest.mark.slow
    @pytest.mark.parametrize("exponent", [0.25, 0.5, 1.0])
    def test_a_power_has_its_exponent_whatever_the_first_rounds_cost(self, exponent, small):
        recorded = on("nu", ["BLP"], regret=lambda t, e: 1e3 + t**exponent + 0.0 * e)(small["between"])
        found = net_exponent(recorded.traces["nu"], "regret", "BLP")
        assert found.mean == pytest.approx(exponent, abs=0.02)
        assert found.half_width < 0.05

    @pytest.mark.slow
    def test_a_logarithm_has_exponent_zero_and_a_constant_none(self, small):
        recorded = on("nu", ["BLP"], regret=lambda t, e: np.log(t) + 0.0 * e, violation=5.0)(small["between"])
        trace = recorded.traces["nu"]
        assert net_exponent(trace, "regret", "BLP").mean == pytest.approx(0.0, abs=0.03)
        assert math.isnan(net_exponent(trace, "violation", "BLP").mean)
        assert gained(trace, "violation", "BLP") == pytest.approx(np.zeros(trace.epochs))
        stopped = on("nu", ["BLP"], regret=lambda t, e: np.minimum(t, 50.0) + 0.0 * e)(small["between"])
        assert net_exponent(stopped.traces["nu"], "regret", "BLP").mean == -math.inf

    @pytest.mark.slow
    def test_slopes_are_those_of_the_second_half(self, small):
        recorded = on("OPLP", ["OPLP"], regret=lambda t, e: np.maximum(t - 100.0, 0.0) * (e < 3))(small["stuck-runs"])
        trace = recorded.traces["OPLP"]
        assert late_slopes(trace, "OPLP")[:4] == pytest.approx([1.0, 1.0, 1.0, 0.0], abs=0.02)
        assert linear_runs(trace, "OPLP", 0.5) == Share(3, 100)
        assert gain(trace, "regret", "OPLP").mean == pytest.approx(3.0, rel=0.05)

    def test_an_estimate_without_an_interval_is_within_nothing(self):
        one = Estimate(0.5, math.nan)
        assert not within(one, 0.0, 1.0)
        assert within(Estimate(0.5, 0.1), 0.4, 0.6)
        assert not within(Estimate(0.5, 0.11), 0.4, 0.6)

    def test_a_share_has_wilsons_interval(self):
        """By hand: 10 of 100 is 5.5 % to 17.4 %."""
        assert Share(10, 100).interval == pytest.approx((0.0552, 0.1744), abs=1e-4)
        assert Share(0, 50).interval[0] == 0.0
        assert str(Share(10, 1000)) == "10 of 1,000 (0.5% to 1.8%)"


class TestInstances:
    @pytest.mark.parametrize("margin", [0.05, 0.2, 0.4])
    @pytest.mark.parametrize("name", ["floors-moved", "one-context-scaled"])
    def test_a_family_has_the_margin_it_is_asked_for(self, name, margin):
        assert analyse(instance_named(f"{name}:{margin}")).feasibility_margin == pytest.approx(margin)

    def test_the_instance_of_stuck_runs_meets_the_assumptions(self):
        """Strictly feasible, with a gap, and so not degenerate; the pair that is left is part of the optimal plan."""
        found = analyse(instance_named("costly-floor"))
        assert found.feasibility_margin == pytest.approx(0.6125)
        assert found.suboptimality_gap == pytest.approx(1 / 12)
        assert plan(instance_named("costly-floor")).allocation[stuck_runs.PAIR] == pytest.approx(5 / 12)
        assert analyse(instance_named("zero-floor")).feasibility_margin == pytest.approx(7 / 18)

    def test_names_are_found_and_others_refused(self):
        for name in OUR_INSTANCES:
            assert instance_named(name).n_arms >= 2
        assert instance_named("nu-margin:0.1").n_arms == 3
        with pytest.raises(UnknownNameError, match="'mu'"):
            instance_named("mu")
        for text in ("floors-moved:0.5", "one-context-scaled:-1", "floors-moved:nan"):
            with pytest.raises(InvalidInputError, match="margin must be"):
                instance_named(text)


class TestVariants:
    @pytest.mark.slow
    def test_without_floors_of_zero_the_printed_rows_change_nothing(self):
        """Bit for bit; nor does a count floor of zero plays."""
        same = {"own": OPLP(), "rows": OPLPWithZeroRows(), "plays": OPLPWithCountFloor(share=0.0)}
        trace = simulate(instance_named("nu"), same, 500, 2, seed=3, jobs=1)
        for name in ("rows", "plays"):
            assert (trace.regret[name] == trace.regret["own"]).all()

    @pytest.mark.slow
    def test_a_count_floor_is_kept_and_plans_go_on_as_before(self):
        """Between forced plays the plan is OPLP's own, so that the regret stays far below that of playing at random."""
        rounds = np.array([2_000], dtype=np.int64)
        for share, least in ((0.5, 28), (2.0, 115)):
            found = replay("costly-floor", OPLPWithCountFloor(share=share), (1, 1), 0, 0, rounds)
            assert found.plays[-1] >= least
            assert found.regret[-1] < 0.35 * 2_000

    @pytest.mark.slow
    def test_a_replay_is_the_run_itself(self):
        trace = simulate(instance_named("costly-floor"), ["oplp"], 300, 4, seed=2, checkpoints=(100, 300), jobs=1)
        again = replay("costly-floor", OPLP(), (1, 1), 3, 2, np.array([100, 300], dtype=np.int64))
        assert again.regret == pytest.approx(trace.regret["oplp"][3, -2:], abs=0)

    @pytest.mark.parametrize(("kind", "caution"), [(SelfNormalisedOLP, 1.0), (SelfNormalisedOPLP, -1.0)])
    def test_self_normalised_radii_are_those_of_a_linear_bandit(self, kind, caution):
        """The plan of a round is that of means and radii computed here; they are wider than the paper's."""
        instance = instance_named("nu")
        random = np.random.default_rng(4)
        decider = kind().for_instance(instance, seed=1)
        feasible = 0
        for t in range(1, 1_501):
            context = int(random.integers(3))
            pulls, means = (decider.learner.statistics.by_pair[row].copy() for row in (ByPair.PULLS, ByPair.MEAN))
            row = decider.arms.index(decider.decide(context).arm)
            if t > 200 and t % 100 == 0:
                width = 2 * math.log(t) + np.log1p(pulls).sum()
                assert width > 1.1**2 * 2 * math.log(18 * t)
                radii = np.sqrt(width / pulls)
                bounds = (means + radii, means + caution * radii)
                try:
                    wanted = solve_lp(*bounds, instance.revenue_floors, instance.context_probabilities)
                except InfeasibleError:
                    wanted = solve_lp(bounds[0], bounds[0], instance.revenue_floors, instance.context_probabilities)
                else:
                    feasible += 1
                assert decider.allocation() == pytest.approx(wanted.allocation, abs=1e-9)
            decider.update(context, row, float(instance.mean_rewards[row, context] + random.normal()))
        assert feasible > 0
