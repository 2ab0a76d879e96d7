"""Every statement of every claim comes out either way: results for which it holds, and results for which it fails.

The results are made up, in the shape of those that each experiment records at reduced size.
"""

import dataclasses
import math

import numpy as np
import pytest

from arcbandit.estimates import Estimate
from arcbandit.experiments import lower_bound, margin, theory_audit, zero_entries
from arcbandit.experiments.epochs import beside, both_tables, first_epochs
from arcbandit.experiments.experiment import Group
from arcbandit.experiments.exploration import Exploration, fitted, longer_and_shorter
from arcbandit.experiments.growth import decade_exponent, mean_exponent, power, ratio_exponent
from arcbandit.experiments.reproduce import EXPERIMENTS
from arcbandit.experiments.shares import wilson
from arcbandit.oracle import Regime
from arcbandit.simulation.metrics import Total

SMALL = {
    "regret": (400, 4),
    "nonsaturating": (20, 2),
    "margin": (500, 2),
    "lower-bound": (20_000, 2),
    "greedy": (100, 2),
    "figure-1": (1, 1),
    "no-free-exploration": (1, 1),
    "audit": (200, 2),
    "unknown-contexts": (400, 2),
}
R, V, PERFORMANCE, FALLBACK = Total.REGRET, Total.VIOLATION, Total.PERFORMANCE, Total.ON_FALLBACK
MANY = 1_000


@pytest.fixture(scope="module")
def small():
    """What each experiment records at reduced size."""
    return {
        name: EXPERIMENTS[name].record(EXPERIMENTS[name].settings(horizon=horizon, epochs=epochs, seed=1))
        for name, (horizon, epochs) in SMALL.items()
    }


# Shapes of growth over rounds, all with a constant for the first rounds.
def log(rounds):
    return 30 + 3 * np.log(rounds)


def log_squared(rounds):
    return 30 + np.log(rounds) ** 2


def root(rounds):
    return 30 + 5 * np.sqrt(rounds)


def linear(rounds):
    return 0.3 * rounds


def constant(rounds):
    return 30 + 0 * rounds


def times(factor, shape):
    return lambda rounds: factor * shape(rounds)


class Given:
    """Recorded results, of which parts are replaced."""

    def __init__(self, recorded):
        self.recorded = recorded

    def sums(self, rows, *, policies=None, runs=None, epochs=None):
        """Replace rows of the records by functions of the rounds, or numbers; `epochs` are those replaced."""
        traces = {}
        for label, trace in self.recorded.traces.items():
            records = dict(trace.records)
            for policy, record in trace.records.items():
                if (policies is None or policy in policies) and (runs is None or label in runs):
                    record = record.copy()
                    for row, values in rows.items():
                        made = values(trace.rounds.astype(float)) if callable(values) else values
                        record[slice(None) if epochs is None else epochs, row] = made
                    record[:, Total.REGRET_PLUS_VIOLATION] = record[:, R] + record[:, V]
                    records[policy] = record
            traces[label] = dataclasses.replace(trace, records=records)
        return Given(dataclasses.replace(self.recorded, traces=traces))

    def repeated(self, epochs):
        """Every trace with that many epochs, copies of the first."""
        traces = {
            label: dataclasses.replace(
                trace,
                records={policy: np.repeat(one[:1], epochs, axis=0) for policy, one in trace.records.items()},
                floor_records={
                    policy: np.repeat(one[:1], epochs, axis=0) for policy, one in trace.floor_records.items()
                },
                settings=trace.settings | {"epochs": epochs},
            )
            for label, trace in self.recorded.traces.items()
        }
        return Given(dataclasses.replace(self.recorded, traces=traces))

    def found(self, **findings):
        """Replace findings."""
        return Given(dataclasses.replace(self.recorded, findings=self.recorded.findings | findings))


def grows(policy, row, *shapes):
    """One example per shape of growth of a policy's sum on nu."""
    return [lambda given, shape=shape: given.sums({row: shape}, policies={policy}) for shape in shapes]


def beside_oplp(shape):
    """The regret of Optimistic3, where OPLP's is a large root."""
    return lambda given: given.sums({R: times(1e3, root)}, policies={"OPLP"}).sums({R: shape}, policies={"Optimistic3"})


def earning(**per_round):
    def made(given):
        for policy, rate in per_round.items():
            given = given.sums({PERFORMANCE: lambda rounds, rate=rate: rate * rounds}, policies={policy})
        return given

    return made


def side(matter, alike):
    """Revenue per round where contexts matter, and where they are alike: OLP and OPLP, then DOC and SPOC."""

    def revenues(pair):
        return {policy: np.full(2, pair[policy in ("DOC", "SPOC")]) for policy in ("OLP", "OPLP", "DOC", "SPOC")}

    return lambda given: given.found(**{"contexts matter": revenues(matter), "contexts alike": revenues(alike)})


def balanced(factor):
    return lambda given: given.sums({R: 100.0, V: 100.0}).sums(
        {R: 100.0 * factor, V: 100.0 * factor}, policies={"BLP", "ThompsonLP"}
    )


def staying(*, leave):
    """A thousand epochs on the fallback throughout, but for some at a margin of 0.01."""

    def made(given):
        given = given.repeated(MANY).sums({FALLBACK: lambda rounds: rounds})
        return given.sums({FALLBACK: lambda rounds: rounds - 1}, runs={"0.01"}, epochs=slice(0, leave))

    return made


def on_fallback(share, worst=None):
    def made(given):
        given = given.sums({FALLBACK: lambda rounds: share * rounds})
        return given.sums({FALLBACK: lambda rounds: worst * rounds}, runs={"0.1"}, epochs=0) if worst else given

    return made


def regret_and_violation(regret, violation, *, fallback=1.0):
    return lambda given: given.sums({R: regret, V: violation, FALLBACK: lambda rounds: fallback * rounds})


def scaling(row, exponent):
    def made(given):
        for one in margin.GRID:
            given = given.sums({row: one**exponent}, runs={f"grid {one:g}"})
        return given

    return made


def stuck(*, greedy=(), others=()):
    """Runs that lose 1 per round: those of Greedy with these noise scales, and one of each of the others."""

    def made(given):
        given = given.repeated(MANY).sums({R: 1.0})
        for label, epochs in greedy:
            given = given.sums({R: linear_loss}, runs={label}, policies={"Greedy"}, epochs=slice(0, epochs))
        for label in others:
            given = given.sums({R: linear_loss}, runs={f"{label}, others"}, epochs=0)
        return given

    return made


def linear_loss(rounds):
    return rounds


def explored(regret=log, violation=root, plays=log, *, scale=1.0):
    """The same exploration for every rule, with a little noise so that there are intervals."""
    horizons = (100, 1_000, 10_000, 100_000, 1_000_000)
    ends = np.array(horizons, dtype=float)
    noise = 1 + 0.01 * np.random.default_rng(0).standard_normal((20, len(ends)))

    def made(given):
        found = Exploration(horizons, regret(ends) * noise, violation(ends) * noise, scale * plays(ends) * noise)
        names = ("OLP", "OPLP", "BLP")
        return given.found(
            exploration=dict.fromkeys(names, found), regret_on_other=dict.fromkeys(names, [50.0] * len(ends))
        )

    return made


def audited(name, *, failures=0.0, rounds=100.0, only=None):
    """Each run's statement of a claim fails so often, and applies so often (or only to one run)."""
    statement = theory_audit.STATEMENTS[name][0]

    def changed(key, one):
        applied = rounds if only is None or key == only else 0.0
        return one._replace(rounds=applied, failures=failures) if one.name == statement else one

    def made(given):
        audits = {
            key: one._replace(statements=tuple(changed(key, statement) for statement in one.statements))
            for key, one in given.recorded.findings["audits"].items()
        }
        return given.found(audits=audits)

    return made


def error_sums(before, last):
    """Both sums in units of the printed bounds, a decade apart; the corrected bounds are larger."""

    def made(given):
        given_sums = next(iter(given.recorded.findings["error_sums"].values()))[-1]
        ones = np.ones((3, 3))

        def at(ratio):
            base = given_sums._replace(log_plays=3 * ones, root_plays=10 * ones)
            return base._replace(
                squares=ratio * 2 * base.logarithm * base.log_plays,
                sums=ratio * math.sqrt(base.logarithm / 2) * (base.root_plays + 1),
            )

        return given.found(error_sums={"olp": (at(before), at(last))})

    return made


def constants(**replaced):
    return lambda given: given.found(
        constants=given.recorded.findings["constants"]
        | {name: given.recorded.findings["constants"][other] for name, other in replaced.items()}
    )


def nominal_margin(value):
    def made(given):
        found = given.recorded.findings["constants"]
        return given.found(
            constants=found | {"nu-nominal": dataclasses.replace(found["nu-nominal"], feasibility_margin=value)}
        )

    return made


def as_it_is(given):
    return given


def an_entry_off(given):
    allocations = dict(given.recorded.findings["allocations"])
    allocations["nu-minus:0.1"] = allocations["nu-minus:0.1"] + 1e-6
    return given.found(allocations=allocations)


def rows_with(column, value):
    def made(given):
        rows = given.recorded.findings["instances"].copy()
        rows[0, column] = value
        return given.found(instances=rows)

    return made


def regimes(*names):
    floors = (0.0, 0.1, 0.49, 0.8)
    return lambda given: given.found(regimes=dict(zip(floors, names, strict=True)))


def estimated(**rows):
    """The sums of those that estimate the context probabilities."""
    return lambda given: given.sums(
        {getattr(Total, row): shape for row, shape in rows.items()},
        policies={policy for policy in given.recorded.traces["nu"].policies if "estimated" in policy},
    )


def costs(factor, *policies):
    def made(given):
        given = given.sums({R: 100.0, V: 100.0})
        labels = {f"{policy}, p estimated" for policy in policies}
        return given.sums({R: 100.0 * factor, V: 100.0 * factor}, policies=labels)

    return made


FREE, COSTLY, INFEASIBLE = Regime.FREE, Regime.COSTLY, Regime.INFEASIBLE
# For each statement, results for which it holds and results for which it fails.
EXAMPLES = {
    "regret/olp-regret-is-polylogarithmic paper": (grows("OLP", R, log, log_squared), grows("OLP", R, root, linear)),
    "regret/olp-violation-is-like-root-t paper": (grows("OLP", V, root), grows("OLP", V, log_squared, linear)),
    "regret/oplp-violation-is-polylogarithmic paper": (grows("OPLP", V, constant, log), grows("OPLP", V, root)),
    "regret/oplp-regret-is-like-root-t paper": (grows("OPLP", R, root), grows("OPLP", R, log_squared, linear)),
    "regret/optimistic3-violation-is-like-root-t paper": (
        grows("Optimistic3", V, root),
        grows("Optimistic3", V, log_squared, linear),
    ),
    "regret/optimistic3-regret paper": (grows("Optimistic3", R, root), grows("Optimistic3", R, log_squared, linear)),
    "regret/optimistic3-regret ours": (
        [beside_oplp(log_squared), beside_oplp(constant)],
        [beside_oplp(times(1e3, root)), beside_oplp(times(1e2, root))],
    ),
    "regret/contexts-pay paper": (
        [earning(OLP=5.0, OPLP=5.0, DOC=2.0, SPOC=2.0)],
        [earning(OLP=5.0, OPLP=5.0, DOC=5.1, SPOC=2.0), earning(OLP=5.0, OPLP=1.9, DOC=2.0, SPOC=2.0)],
    ),
    "regret/contexts-pay ours": (
        [side((5.0, 3.0), (4.0, 4.0))],
        [side((5.0, 4.5), (4.0, 4.0)), side((5.0, 3.0), (5.0, 3.0))],
    ),
    "regret/balanced-rules ours": ([balanced(0.2)], [balanced(0.6)]),
    "regret/dial ours": (
        [lambda given: given.sums({R: 100.0, V: 100.0}).sums({R: 10.0, V: 10.0}, policies={"BLP"})],
        [
            lambda given: given.sums({R: 100.0, V: 100.0}),
            lambda given: given.sums({R: 100.0, V: 100.0}).sums({R: 10.0, V: 10.0}, policies={"OLP"}),
        ],
    ),
    **{
        f"nonsaturating/{policy.lower()}-{name} paper": (grows(policy, row, log, constant), grows(policy, row, root))
        for policy in ("OLP", "OPLP")
        for name, row in (("regret", R), ("violation", V))
    },
    "margin/small-margins-stay-on-the-fallback paper": ([staying(leave=0)], [staying(leave=1)]),
    "margin/small-margins-stay-on-the-fallback ours": (
        [staying(leave=0), staying(leave=100)],
        [
            staying(leave=400),
            lambda given: staying(leave=0)(given).sums({FALLBACK: linear}, runs={"0.001"}, epochs=0),
        ],
    ),
    "margin/small-margins-behave-like-olp paper": (
        [regret_and_violation(log, root)],
        [
            regret_and_violation(root, root),
            regret_and_violation(log, log),
            regret_and_violation(log, root, fallback=0.5),
        ],
    ),
    "margin/large-margins-leave-the-fallback paper": ([on_fallback(0.01)], [on_fallback(0.01, worst=0.5)]),
    "margin/large-margins-behave-like-oplp paper": (
        [regret_and_violation(root, constant), regret_and_violation(root, log)],
        [regret_and_violation(log, constant), regret_and_violation(root, root), regret_and_violation(linear, log)],
    ),
    "margin/time-on-the-fallback paper": ([scaling(FALLBACK, -1.8)], [scaling(FALLBACK, -1), scaling(FALLBACK, -2.5)]),
    "margin/scaling-of-the-violation paper": ([scaling(V, -2)], [scaling(V, -1.4), scaling(V, -2.5)]),
    "margin/scaling-of-the-violation ours": ([scaling(V, -1.4)], [scaling(V, -2), scaling(V, -0.5)]),
    "lower-bound/nobody-below-the-root paper": (
        [regret_and_violation(root, root)],
        [
            lambda given: given.sums({R: root, V: root}).sums({R: log, V: log}, policies={"BLP"}),
            regret_and_violation(times(1e-6, root), times(1e-6, root)),
        ],
    ),
    "lower-bound/olp-and-oplp-have-the-right-order paper": (
        [regret_and_violation(root, root)],
        [
            lambda given: given.sums({R: root, V: root}).sums({R: linear}, policies={"OLP"}),
            lambda given: given.sums({R: root, V: root}).sums({R: log, V: log}, policies={"OPLP"}),
        ],
    ),
    "lower-bound/no-free-exploration paper": ([explored(scale=1.0)], [explored(scale=0.0), explored(scale=0.04)]),
    "lower-bound/no-free-exploration ours": ([explored(plays=log)], [explored(plays=constant), explored(plays=root)]),
    "lower-bound/logarithmic-regret paper": (
        [explored(regret=log), explored(regret=root)],
        [explored(regret=constant), explored(regret=lambda ends: 60 - 1000 / ends)],
    ),
    "lower-bound/logarithmic-regret ours": ([explored(regret=log)], [explored(regret=root)]),
    "lower-bound/nobody-beats-both paper": (
        [explored(log, root), explored(root, log)],
        [explored(log, log), explored(log, log_squared)],
    ),
    "greedy/greedy-is-stuck paper": (
        [stuck(greedy=[("σ = 1", 1), ("σ = 3", 100)])],
        [stuck(), stuck(greedy=[("σ = 3", 100)])],
    ),
    "greedy/greedy-is-stuck ours": ([stuck(greedy=[("σ = 3", 100)])], [stuck(greedy=[("σ = 3", 40)])]),
    "greedy/seldom-with-little-noise ours": ([stuck(greedy=[("σ = 1", 2)])], [stuck(greedy=[("σ = 1", 20)])]),
    "greedy/optimism-is-never-stuck ours": ([stuck()], [stuck(others=["σ = 1"]), stuck(others=["σ = 3"])]),
    "figure-1/regimes paper": (
        [regimes(FREE, COSTLY, COSTLY, INFEASIBLE)],
        [regimes(FREE, COSTLY, INFEASIBLE, INFEASIBLE)],
    ),
    "figure-1/regimes ours": (
        [regimes(FREE, COSTLY, INFEASIBLE, INFEASIBLE)],
        [regimes(FREE, COSTLY, COSTLY, INFEASIBLE), regimes(COSTLY, COSTLY, INFEASIBLE, INFEASIBLE)],
    ),
    "figure-1/low-floor-is-met-in-low-contexts paper": ([as_it_is], [lambda given: given.found(contexts=[1, 6])]),
    "figure-1/prices-rise paper": (
        [as_it_is],
        [lambda given: given.found(price=given.recorded.findings["price"][::-1])],
    ),
    "no-free-exploration/zero-entry paper": ([as_it_is], [rows_with(2, 0)]),
    "no-free-exploration/counted-by-the-active-set paper": ([as_it_is], [rows_with(2, 1), rows_with(2, 1_000)]),
    "no-free-exploration/best-arms paper": (
        [as_it_is],
        [
            lambda given: given.found(best_arms=np.array([[3, 0.0], [1, 0.01]])),
            lambda given: given.found(best_arms=np.array([[0, 0.0]])),
        ],
    ),
    "no-free-exploration/zeros-of-nu paper": (
        [as_it_is],
        [lambda given: given.found(allocation=np.full((3, 3), 1 / 3)), lambda given: given.found(allocation=np.eye(3))],
    ),
    "no-free-exploration/printed-allocations paper": ([as_it_is], [an_entry_off]),
    **{
        f"audit/{name} paper": (
            [audited(name), audited(name, only=("nu-nominal", "olp" if "OLP has" in statement[0] else "oplp"))]
            if name not in ("regret-within-the-width", "violation-within-the-width")
            else [audited(name), audited(name, only=("nu", "olp"))],
            [audited(name, failures=11.0), audited(name, rounds=0.0)],
        )
        for name, statement in theory_audit.STATEMENTS.items()
    },
    "audit/order-of-the-error-sums paper": ([error_sums(5, 5)], [error_sums(5, 8)]),
    "audit/constants-of-the-error-sums paper": ([error_sums(0.9, 0.9)], [error_sums(2, 2)]),
    "audit/constants-of-the-error-sums ours": ([error_sums(2, 2)], [error_sums(20, 20)]),
    "audit/saturated-floors paper": ([as_it_is], [constants(nu="nu-nonsaturating")]),
    "audit/gaps-are-positive paper": (
        [as_it_is],
        [
            lambda given: given.found(
                constants=given.recorded.findings["constants"]
                | {
                    "nu": dataclasses.replace(
                        given.recorded.findings["constants"]["nu"],
                        plan=given.recorded.findings["constants"]["figure-1"].plan,
                    )
                }
            )
        ],
    ),
    "audit/margin-of-the-nominal-instance paper": ([nominal_margin(1 / 8)], [nominal_margin(1 / 4)]),
    "audit/margin-of-the-nominal-instance ours": ([nominal_margin(1 / 4)], [nominal_margin(1 / 8)]),
    "unknown-contexts/same-order paper": ([estimated(REGRET=root, VIOLATION=root)], [estimated(REGRET=linear)]),
    "unknown-contexts/same-order ours": (
        [estimated(REGRET=log, VIOLATION=log)],
        [estimated(REGRET=root, VIOLATION=log), estimated(REGRET=log, VIOLATION=root)],
    ),
    "unknown-contexts/moderate-cost ours": ([costs(1.1, "OLP", "OPLP")], [costs(1.3, "OLP"), costs(1.3, "OPLP")]),
    "unknown-contexts/cost-for-blp ours": ([costs(1.5, "BLP")], [costs(2.5, "BLP")]),
}


def _statements():
    return [
        f"{name}/{claim.name} {side}"
        for name in SMALL
        for claim in EXPERIMENTS[name].claims
        for side in ("paper", "ours")
        if getattr(claim, side) is not None
    ]


def test_every_statement_has_its_examples():
    assert sorted(EXAMPLES) == sorted(_statements())


@pytest.mark.slow
@pytest.mark.parametrize("statement", _statements())
def test_a_statement_comes_out_either_way(statement, small):
    """A claim that nothing can contradict would prove nothing, and one that nothing can confirm is preset."""
    name, side = statement.split()
    experiment = name.partition("/")[0]
    claim = next(one for one in EXPERIMENTS[experiment].claims if f"{experiment}/{one.name}" == name)
    for examples, expected in zip(EXAMPLES[statement], (True, False), strict=True):
        for place, example in enumerate(examples):
            found = getattr(claim, side).check(example(Given(small[experiment])).recorded)
            assert found.passed == expected, (place, found.number)
            assert found.number


@pytest.mark.slow
def test_a_verdict_is_measured(small):
    """The same claim is reproduced or not, a slip or not, by the results alone."""
    experiment = EXPERIMENTS["audit"]
    groups = {}
    for value in (1 / 8, 1 / 4):
        verdicts = experiment.verdicts(nominal_margin(value)(Given(small["audit"])).recorded)
        groups[value] = next(one for one in verdicts if one.claim.name == "margin-of-the-nominal-instance")
    assert (groups[1 / 8].group, groups[1 / 8].failed) == (Group.REPRODUCED, True)
    assert (groups[1 / 4].group, groups[1 / 4].failed) == (Group.SLIP, False)


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_claims_read_like_sentences(name, small):
    """Short ones, with the criterion apart; and the highlights point to charts that there are."""
    for claim in EXPERIMENTS[name].claims:
        assert claim.sentence.endswith(".")
        assert len(claim.sentence) < 100
        for stated in (claim.paper, claim.ours):
            if stated is not None:
                assert stated.text.endswith(".")
                assert stated.criterion.endswith((".", ".)"))
                assert stated.text != stated.criterion
    highlights = EXPERIMENTS[name].highlights(small[name])
    assert 1 <= len(highlights) <= 2
    assert all(0 <= one.chart < len(EXPERIMENTS[name].figure(small[name]).charts) for one in highlights)
    assert all(any(letter.isdigit() for letter in one.sentence) for one in highlights)


@pytest.mark.slow
class TestGrowth:
    def test_the_exponent_of_a_power_is_its_own(self, small):
        """Whatever constant the first rounds add; that of log T is 0."""
        given = Given(small["unknown-contexts"])
        for shape, exponent, error in ((root, 0.5, 0.02), (linear, 1.0, 0.02), (log, 0.0, 0.03)):
            trace = given.sums({R: shape}).recorded.traces["nu"]
            found = decade_exponent(trace, "regret", "OLP")
            assert found.mean == pytest.approx(exponent, abs=error)
            assert found.half_width == pytest.approx(0.0, abs=1e-9)
        stopped = given.sums({R: constant}).recorded.traces["nu"]
        assert decade_exponent(stopped, "regret", "OLP").mean == -math.inf
        assert power(decade_exponent(stopped, "regret", "OLP")) == "0, it stopped growing"

    def test_the_first_epochs_are_those_of_a_shorter_trace(self, small):
        trace = small["regret"].traces["nu"]
        first = first_epochs(trace, 2)
        assert first.epochs == 2
        np.testing.assert_array_equal(first.regret["OLP"], trace.regret["OLP"][:2])
        assert "(first 4 epochs: " in beside(trace, "regret", "OLP")
        assert len(both_tables("here", trace)) == 1
        assert [
            table.title for table in both_tables("here", Given(small["regret"]).repeated(9).recorded.traces["nu"])
        ] == [
            "here, 9 epochs",
            "here, the first 5 epochs, as many as the paper's",
        ]


@pytest.mark.slow
def test_the_interval_of_an_exponent_covers_it():
    """In about 95 % of draws: 2,000 of them, so that 93 % to 97 % has a false-alarm rate below 1 in 10,000."""
    random = np.random.default_rng(3)
    covered = 0
    for _ in range(2_000):
        first = random.gamma(4.0, 1.0, 100)
        second = 2.0 * (first + random.gamma(4.0, 1.0, 100)) / 2.0
        found = ratio_exponent(first, second, math.log(10))
        covered += abs(found.mean - math.log10(2.0)) <= found.half_width
    assert 0.93 < covered / 2_000 < 0.97


def test_exponents_without_growth_are_no_numbers():
    """So that no claim holds by them."""
    assert math.isnan(ratio_exponent(np.zeros(3), np.ones(3), 1.0).mean)
    assert math.isnan(mean_exponent(Estimate(0.0, 1.0), Estimate(1.0, 1.0), 10).mean)
    assert mean_exponent(Estimate(1.0, 0.03), Estimate(10.0, 0.4), 10) == Estimate(
        pytest.approx(1.0), pytest.approx(0.05 / math.log(10))
    )


def test_shapes_are_told_apart_by_what_decades_add():
    """With epochs that ended earlier."""
    horizons = (100, 1_000, 10_000, 100_000)
    ends = np.array(horizons, dtype=float)
    noise = 1 + 0.01 * np.random.default_rng(1).standard_normal((30, 4))
    for better, worse, shape in (("log T", "√T", log), ("√T", "log T", root)):
        values = shape(ends) * noise
        longer = Exploration(horizons, values[:10], values[:10], values[:10])
        shorter = Exploration(horizons[:3], *(values[10:, :3],) * 3)
        both = longer_and_shorter(longer, shorter)
        fits = fitted(both, "plays")
        assert fits[better].misfit < fits[worse].misfit
        assert [len(step) for step in both.added("plays")] == [30, 30, 10]
        assert both.exponent("regret").mean == pytest.approx(0.0 if better == "log T" else 0.5, abs=0.1)


def test_shares_have_intervals():
    """Wilson's, against his own formula solved the other way round."""
    for count, runs in ((0, 10), (3, 10), (10, 10), (14, 1_000)):
        low, high = wilson(count, runs)
        for bound in (low, high):
            if 0 < bound < 1:
                assert (count / runs - bound) ** 2 == pytest.approx(1.96**2 * bound * (1 - bound) / runs)
        assert low <= count / runs <= high


def test_the_printed_allocations_are_allocations():
    """What is compared with: columns that sum to one."""
    for allocation in zero_entries.printed_allocations().values():
        np.testing.assert_allclose(np.sum(allocation, axis=0), 1.0)


def test_bounds_stand_as_printed():
    """The first at its shortest horizon; the second with its factor."""
    assert lower_bound.bound_on_sum(16) == pytest.approx(4 / (40 * math.e**2))
    assert lower_bound.bound_on_plays(8 * math.e**3, 1.0) == pytest.approx(2 / 4 * 3)
    assert lower_bound.bound_on_plays(8 * math.e**3, 1.0, 9) == pytest.approx(2 / 36 * 3)
