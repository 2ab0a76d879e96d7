"""Advice from a log: every interval covers the truth, and the numbers are those of an independent solver."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import binom

from arcbandit import GroupFloor, LogStatistics, advise, learning_times
from arcbandit.errors import InvalidInputError, UnknownNameError
from arcbandit.floors import Floors
from arcbandit.logs import evidence
from arcbandit.logs.advice import LEAST_ROWS
from arcbandit.logs.confidence import Bounds, share_bounds, student_bounds
from arcbandit.logs.programs import Programs, Worlds
from tests.long import how_many

FALSE_ALARM = 1e-6  # of each statistical test, if the rates that they check were just kept


def statistics_of(counts, sums, squares):
    arms, contexts = (tuple(f"{kind}{place}" for place in range(n)) for kind, n in zip("ac", counts.shape, strict=True))
    return LogStatistics(arms, contexts, counts.astype(np.int64), sums, squares)


# Arms, contexts and rows of the later instances: as large as 6 x 6, and logs of hundreds of rows, where most pairs of
# the larger ones are hardly known. The first ones are small, with thousands of rows.
SIZES = {
    1: (3, 3, 400),
    2: (6, 6, 20_000),
    8: (4, 4, 800),
    9: (6, 6, 6_000),
    10: (5, 6, 900),
    11: (6, 6, 500),
    12: (6, 5, 12_000),
    13: (2, 2, 150),
    14: (6, 6, 2_500),
    15: (8, 6, 30_000),
    16: (6, 8, 700),
    17: (4, 6, 5_000),
    18: (2, 6, 300),
    19: (6, 2, 600),
}


class World:
    """A known instance and the logs that it makes, drawn as their statistics."""

    def __init__(self, seed):
        random = np.random.default_rng([16, seed])
        n_arms, n_contexts = random.integers(2, 4, size=2)
        rows = int(random.integers(1_500, 6_000))
        n_arms, n_contexts, self.rows = SIZES.get(seed, (n_arms, n_contexts, rows))
        self.clicks = seed % 3 == 2
        self.mix = 0.3 / n_contexts + 0.7 * random.dirichlet(np.full(n_contexts, 4.0))
        self.means = random.uniform(0.05 if self.clicks else -0.2, 0.9, size=(n_arms, n_contexts))
        self.noise = random.uniform(0.1, 0.6, size=self.means.shape)  # each pair has its own
        self.chosen = 0.5 / n_arms + 0.5 * random.dirichlet(np.full(n_arms, 5.0), size=n_contexts).T
        self.revenue = self.mix * self.means
        reach = np.maximum(self.revenue, 0.0).sum(axis=1)
        wanted = random.choice([0.0, 1.0], p=[0.25, 0.75], size=n_arms)
        self.floors = reach * random.uniform(0.1, 0.6, size=n_arms) * wanted
        self.floors[0] = max(self.floors[0], 0.05)
        if seed % 4 == 1:  # cannot be met, but not by far
            self.floors *= 1.15 * best(self.revenue, self.floors, scale=True)

    def log(self, random):
        cells = random.multinomial(self.rows, (self.mix * self.chosen).ravel() / (self.mix * self.chosen).sum())
        counts = cells.reshape(self.means.shape)
        if self.clicks:
            sums = random.binomial(counts, self.means).astype(float)
            return statistics_of(counts, sums, sums)
        sums = counts * self.means + np.sqrt(counts) * self.noise * random.normal(size=counts.shape)
        spread = np.where(counts > 1, self.noise**2 * random.chisquare(np.maximum(counts - 1, 1)), 0.0)
        return statistics_of(counts, sums, spread + np.divide(sums**2, counts, out=0.0 * sums, where=counts > 0))

    def advice(self, log):
        return advise(log, dict(zip(log.arms, self.floors, strict=True)))


def best(revenue, floors, objective=None, scale=False, known=True):
    """The best plan by SciPy: its value, or that of the largest common scale; None if there is none.

    Pairs that are not known are not played; a context of which nothing is known earns nothing.
    """
    there = np.broadcast_to(known, revenue.shape)
    revenue = np.where(there, revenue, 0.0)
    objective = revenue if objective is None else np.where(there, objective, 0.0)
    most = np.where(there | ~there.any(axis=0), 1.0, 0.0).ravel()
    n_arms, n_contexts = revenue.shape
    n = revenue.size
    owed = floors > 0.0
    rows = np.zeros((n_arms, n + 1))
    for arm in range(n_arms):
        rows[arm, arm * n_contexts : (arm + 1) * n_contexts] = -revenue[arm]
        rows[arm, n] = floors[arm] if scale else 0.0
    cost = np.append(-objective.ravel(), 0.0)
    if scale:
        cost = np.append(np.zeros(n), -1.0)
    equations = np.hstack([np.tile(np.eye(n_contexts), n_arms), np.zeros((n_contexts, 1))])
    found = linprog(
        cost,
        A_ub=rows[owed],
        b_ub=np.zeros(owed.sum()) if scale else -floors[owed],
        A_eq=equations,
        b_eq=np.ones(n_contexts),
        bounds=[*((0.0, end) for end in most), (0, None)],
    )
    return -found.fun if found.status == 0 else None


class Truth:
    """Every number of an advice about plans of known pairs, from known weighted means."""

    def __init__(self, revenue, floors, known=True):
        n_arms = len(floors)

        def best_known(*given, **settings):
            return best(*given, **settings, known=known)

        less = [np.where(np.arange(n_arms) == arm, 0.0, floors) for arm in range(n_arms)]
        self.value = _or(best_known(revenue, floors), -math.inf)
        self.free = best_known(revenue, np.zeros(n_arms))
        self.scale = best_known(revenue, floors, scale=True)
        own = [np.where(np.arange(n_arms)[:, None] == arm, revenue, 0.0) for arm in range(n_arms)]
        self.largest = [_or(best_known(revenue, less[arm], own[arm]), -math.inf) for arm in range(n_arms)]
        self.most = [best_known(revenue, np.zeros(n_arms), own[arm]) for arm in range(n_arms)]
        without = [_or(best_known(revenue, less[arm]), math.nan) for arm in range(n_arms)]
        self.prices = [math.nan if math.isnan(one) else one - self.value for one in without]
        self.total_price = self.free - self.value


def _or(found, otherwise):
    return otherwise if found is None else found


def inside(interval, truth, rounding=1e-7):
    """Whether it holds the truth; what is said not to be known holds any."""
    return math.isnan(truth) or math.isnan(interval.low) or interval.low - rounding <= truth <= interval.high + rounding


def misses(world, truth, advice):
    """The names of the numbers whose intervals do not hold the truth."""
    pairs = [
        ("value", advice.value, truth.value),
        ("without floors", advice.value_without_floors, truth.free),
        ("scale", advice.largest_scale, truth.scale),
        ("total price", advice.total_price, truth.total_price),
    ]
    for arm in range(len(world.floors)):
        earned = float((world.revenue * world.chosen)[arm].sum())
        pairs += [
            ("earned", advice.earned[arm], earned),
            ("most", advice.most[arm], truth.most[arm]),
            ("largest", advice.largest_floors[arm], truth.largest[arm]),
            ("price", advice.prices[arm], truth.prices[arm] if world.floors[arm] > 0.0 else 0.0),
        ]
    for plan in advice.plans.values():
        if plan is not None:
            earns = np.nansum(world.revenue * plan.allocation, axis=1)
            pairs += [("revenue", one, float(is_)) for one, is_ in zip(plan.revenue, earns, strict=True)]
            pairs.append(("plan", plan.value, float(earns.sum())))
    missed = {name for name, interval, is_ in pairs if not inside(interval, is_)}
    by_name = {"mix": (advice.context_mix, world.mix), "means": (advice.evidence.means(advice.delta), world.means)}
    for name, ((low, high), is_) in by_name.items():
        if ((is_ < low) | (high < is_)).any():  # NaN where nothing is said
            missed.add(name)
    # What is promised can be kept: the pessimistic plan earns each floor in truth.
    cautious = advice.plans["pessimistic"]
    if cautious is not None:
        lacks = world.floors - np.nansum(world.revenue * cautious.allocation, axis=1) > 1e-7
        if (lacks & (world.floors > 0.0)).any():
            missed.add("promise")
    return missed


def missed_in(world, logs, random):
    """What misses the truth in each of so many logs, by name; which pairs are known, and with it the truth, differs."""
    truths, missed = {}, []
    while len(missed) < logs:
        advice = world.advice(world.log(random))
        known = advice.known.tobytes()
        if known not in truths:
            truths[known] = Truth(world.revenue, world.floors, advice.known)
        missed.append(misses(world, truths[known], advice))
    return missed


@pytest.mark.long
@pytest.mark.slow
class TestCoverage:
    """20 instances with 200 logs each, 60 for feasibility; `make test` takes 3 with 10.

    They are of up to 8 x 6 pairs, of 150 to 30,000 rows. If all intervals held at once in just 95 % of the logs, a test
    would fail wrongly once in a million.
    """

    @pytest.mark.parametrize("seed", range(how_many(3, 20)))
    def test_all_intervals_hold_at_once(self, seed):
        missed = missed_in(World(seed), how_many(10, 200), np.random.default_rng([17, seed]))
        failures = sum(map(bool, missed))
        assert failures <= binom.ppf(1 - FALSE_ALARM, len(missed), 0.05), missed

    @pytest.mark.parametrize("seed", range(how_many(3, 20)))
    def test_it_is_not_surer_of_feasibility_than_it_may_be(self, seed):
        """Floors are moved to the border of what is possible, just within or just beyond it."""
        world, logs = World(seed), how_many(10, 60)
        wanted, borders = world.floors, {}
        random = np.random.default_rng([18, seed])
        for scale, wrong in ((1.001, "feasible"), (0.999, "infeasible")):
            sure = []
            while len(sure) < logs:
                log = world.log(random)
                known = log.counts >= LEAST_ROWS
                if known.tobytes() not in borders:
                    borders[known.tobytes()] = best(world.revenue, wanted, scale=True, known=known)
                world.floors = scale * borders[known.tobytes()] * wanted
                sure.append(getattr(world.advice(log).feasibility, wrong) if world.floors.any() else 0.0)
            for confidence in (0.6, 0.9):
                failures = sum(one >= confidence for one in sure)
                assert failures <= binom.ppf(1 - FALSE_ALARM, logs, 1 - confidence)

    def test_narrower_intervals_would_be_noticed(self, monkeypatch):
        """With means bounded a fifth as far, the first test fails by far."""

        def narrow(means, counts, variances, tail):
            return student_bounds(means, counts, variances / 25.0, tail)

        world = World(0)
        truth = Truth(world.revenue, world.floors)
        monkeypatch.setattr(evidence, "student_bounds", narrow)
        random = np.random.default_rng(19)
        failures = sum(bool(misses(world, truth, world.advice(world.log(random)))) for _ in range(10))
        assert failures > binom.ppf(1 - FALSE_ALARM, 10, 0.05)


class TestBounds:
    @pytest.mark.parametrize("count", [1, 10, 1000])
    def test_shares_are_covered_by_the_exact_distribution(self, count):
        """Summed over all outcomes, each end fails with at most the probability allowed, for any share."""
        tail = 0.02
        outcomes = np.arange(count + 1)
        low, high = share_bounds(outcomes / count, float(count), tail)
        for share in (0.001, 0.03, 0.2, 0.5, 0.9, 0.999):
            chances = binom.pmf(outcomes, count, share)
            assert chances[low > share].sum() <= tail
            assert chances[high < share].sum() <= tail

    def test_shares_are_not_much_wider_than_exact_ones(self):
        low, high = share_bounds(np.array([0.2]), 1000.0, 0.01)
        assert 0.2 - 0.038 < low[0] < 0.2 - 0.029
        assert 0.2 + 0.029 < high[0] < 0.2 + 0.041

    def test_rewards_that_hardly_differ_do_not_look_certain(self):
        """Five equal rewards have no spread of their own, so that of all rewards counts."""
        counts = np.array([[10, 500]])
        sums = np.array([[0.0, 500.0]])
        squares = np.array([[0.0, 1000.0]])
        advice = advise(statistics_of(counts, sums, squares))
        low, high = advice.evidence.means(0.05)
        assert high[0, 0] > 0.9
        assert low[0, 0] < -0.9


def random_case(seed):
    random = np.random.default_rng(seed)
    shape = tuple(random.integers(1, 4, size=2))
    low = random.uniform(-0.3, 1.0, size=shape)
    high = low + random.uniform(0.0, 0.2, size=shape)
    floors = np.maximum(low, 0.0).sum(axis=1) * random.uniform(0.0, 0.7, size=shape[0])
    return random, low, high, floors


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_bounds_hold_in_every_possible_world(seed):
    """What follows from bounds on means and mix is right for any that keep them, corners included."""
    random, low, high, floors = random_case(seed)
    n_contexts = low.shape[1]
    mix = random.dirichlet(np.full(n_contexts, 5.0))
    spread = 0.3 * mix.min() * random.uniform(size=n_contexts)
    worlds = Worlds(Bounds(low, high), (low + high) / 2, Bounds(mix - spread, mix + spread), mix)
    table = Floors.of([f"a{arm}" for arm in range(len(floors))], floors)
    programs = Programs(table, np.ones(low.shape, dtype=bool), worlds, np.full(low.shape, 1 / len(floors)))
    every = tuple(range(len(floors)))
    prices = [programs.price(rows) for rows in (*((arm,) for arm in every), every)]
    largest = [programs.largest_floor(arm) for arm in every]
    scale, sure, highest = programs.largest_scale(floors), programs.sure_value(floors), programs.highest_value(floors)
    kept = programs.cautious(floors)
    assert (kept is None) == (sure == -math.inf)
    for point in range(6):
        part = random.uniform(size=low.shape) if point % 2 else random.integers(0, 2, size=low.shape)
        moved = spread * random.uniform(-1.0, 1.0, size=n_contexts)
        share = mix + (moved - moved.mean() if n_contexts > 1 else 0.0)
        if (np.abs(share - mix) > spread).any():
            share = mix
        truth = Truth(share * (low + part * (high - low)), floors)
        for (least, _, most), is_ in zip(prices, [*truth.prices, truth.total_price], strict=True):
            assert math.isnan(is_) or least - 1e-7 <= is_ <= most + 1e-7
        for (least, _, most), is_ in zip(largest, truth.largest, strict=True):
            assert least - 1e-7 <= max(is_, 0.0)
            assert is_ <= most + 1e-7
        assert scale[0] - 1e-7 <= truth.scale <= scale[2] + 1e-7
        assert sure - 1e-7 <= truth.value <= highest + 1e-7
        if kept is not None:
            earns = (share * (low + part * (high - low)) * kept).sum(axis=1)
            assert (earns >= floors - 1e-7).all()


def test_the_worst_and_the_best_mix_are_those_of_another_solver():
    random = np.random.default_rng(4)
    for _ in range(20):
        mix = random.dirichlet(np.ones(4))
        low, high = mix * random.uniform(size=4), np.minimum(mix * (1 + random.uniform(size=4)), 1.0)
        values = random.normal(size=4)
        worlds = Worlds(Bounds(values, values), values, Bounds(low, high), mix)
        least = linprog(values, A_eq=np.ones((1, 4)), b_eq=[1.0], bounds=list(zip(low, high, strict=True)))
        assert worlds.least(values) == pytest.approx(least.fun)
        assert worlds.most(-values) == pytest.approx(-least.fun)


@pytest.mark.parametrize("seed", range(12))
def test_numbers_by_the_logs_means_are_those_of_another_solver(seed):
    _, low, _, floors = random_case(100 + seed)
    counts = np.full(low.shape, 5000)
    log = statistics_of(counts, 5000.0 * low, 5000.0 * (low**2 + 1.0))
    advice = advise(log, dict(zip(log.arms, floors, strict=True)))
    truth = Truth(low / low.shape[1], floors)
    assert advice.value.plain == pytest.approx(truth.value)
    assert advice.value_without_floors.plain == pytest.approx(truth.free)
    for arm, floor in enumerate(floors):
        assert advice.most[arm].plain == pytest.approx(truth.most[arm])
        if truth.largest[arm] > 0:
            assert advice.largest_floors[arm].plain == pytest.approx(truth.largest[arm])
        if floor > 0 and not math.isnan(truth.prices[arm]):
            assert advice.prices[arm].plain == pytest.approx(truth.prices[arm], abs=1e-9)
    if advice.promises:
        assert advice.largest_scale.plain == pytest.approx(truth.scale, abs=1e-9)
        assert (advice.plans["plain"] is None) == (truth.value == -math.inf)


def small_log(rows=400):
    counts = np.full((2, 2), rows // 4)
    means = np.array([[0.6, 0.4], [0.3, 0.5]])
    return statistics_of(counts, counts * means, counts * (means**2 + 0.01))


class TestWhatItSays:
    def test_group_floors_are_counted_like_others(self):
        log = small_log(4000)
        both = GroupFloor("both", ("a0", "a1"), 0.5)
        advice = advise(log, {"a1": 0.1}, group_floors=[both])
        assert advice.floors.names == ("a0", "a1", "both")
        assert advice.most[2].plain == pytest.approx(0.55)
        assert advice.largest_floors[2].plain == pytest.approx(0.55)
        assert advice.prices[2].plain == 0.0
        assert advice.earned[2].plain == pytest.approx(0.45)

    def test_without_floors_what_arms_earn_now_is_scaled(self):
        advice = advise(small_log(4000))
        assert not advice.promises
        assert advice.largest_scale.plain == pytest.approx(0.5 / 0.41)  # a0 gets c0 and a part of c1
        assert advice.total_price == (0.0, 0.0, 0.0)

    def test_pairs_with_too_few_rewards_are_in_no_plan(self):
        counts = np.array([[500, 500], [500, 9]])
        means = np.array([[0.5, 0.5], [0.2, 9.0]])
        log = statistics_of(counts, counts * means, counts * (means**2 + 0.04))
        advice = advise(log, {"a1": 0.05})
        assert advice.known.tolist() == [[True, True], [True, False]]
        assert all(plan.allocation[1, 1] == 0.0 for plan in advice.plans.values())
        assert advice.to_dict()["unknown_pairs"] == [["a1", "c1"]]
        assert advise(log, {"a1": 0.05}, least_rows=9).known.all()

    def test_nothing_is_earned_in_a_context_of_which_nothing_is_known(self):
        counts = np.array([[500, 5], [500, 0]])
        log = statistics_of(counts, counts * 0.5, counts * 0.3)
        advice = advise(log)
        assert advice.unknown_contexts == ("c1",)
        assert advice.value.plain == pytest.approx(0.5 * 1000 / 1005)
        assert advice.to_dict()["plans"]["plain"]["allocation"][0][1] is None

    def test_clicks_are_bounded_by_zero_and_one(self):
        counts = np.full((2, 1), 300)
        sums = np.array([[0.0], [3.0]])
        advice = advise(statistics_of(counts, sums, sums))
        assert advice.evidence.reward_bounds == (0.0, 1.0)
        low, high = advice.evidence.means(0.05)
        assert low[0, 0] == 0.0
        assert 0.01 < high[0, 0] < 0.05

    def test_more_confidence_is_wider(self):
        narrow, wide = (advise(small_log(), {"a1": 0.1}, confidence=one) for one in (0.5, 0.999))
        assert wide.largest_scale.low < narrow.largest_scale.low < narrow.largest_scale.high < wide.largest_scale.high

    def test_floors_in_conflict_are_named(self):
        advice = advise(small_log(4000), {"a0": 0.4, "a1": 0.3})
        assert (advice.verdict, advice.conflicts) == ("infeasible", ("a0", "a1"))
        assert advice.plan is None
        assert advice.feasibility == (0.0, 1 - 5e-7)
        assert advice.total_price.low == math.inf
        assert advice.value.high == -math.inf

    def test_the_curve_ends_where_plans_do(self):
        advice = advise(small_log(4000), {"a1": 0.2})
        curve = advice.curve(9)
        assert curve.scales[0] == 0.0
        assert curve.scales[-1] == pytest.approx(advice.largest_scale.high)
        for view, end in ((curve.low, advice.largest_scale.low), (curve.plain, advice.largest_scale.plain)):
            assert np.isfinite(view[curve.scales <= end]).all()
            assert np.isnan(view[curve.scales > end * 1.0001]).all()
        assert (np.diff(curve.plain[np.isfinite(curve.plain)]) <= 1e-9).all()

    @pytest.mark.parametrize(
        ("arguments", "match"),
        [
            ({"revenue_floors": {"A1": 0.1}}, r"There is no arm 'A1' in the log \(did you mean 'a1'\?\)"),
            ({"revenue_floors": {"a1": -0.1}}, "revenue_floors of 'a1' must be non-negative, got -0.1"),
            ({"revenue_floors": [0.1]}, "revenue_floors must be a mapping"),
            ({"confidence": 1.0}, "confidence must be a number between 0 and 1, got 1.0"),
            ({"confidence": 95}, "confidence must be a number between 0 and 1, got 95"),
            ({"reward_bounds": (1, 0)}, "reward_bounds must be the least and the largest reward"),
            ({"reward_bounds": (0, 1, 2)}, "reward_bounds must be two numbers"),
            ({"reward_bounds": (0.5, 1)}, "reward_bounds must hold every reward, but 0.5 to 1 does not"),
            ({"least_rows": 1}, "least_rows must be a whole number from 2"),
            ({"least_rows": 101}, "at least 101 rewards of some arm in some context"),
            ({"group_floors": [GroupFloor("g", ("a9",), 0.1)]}, "There is no arm 'a9'"),
        ],
    )
    def test_wrong_arguments_are_refused(self, arguments, match):
        with pytest.raises(InvalidInputError, match=match):
            advise(small_log(), **arguments)

    def test_unknown_names_are_lookup_errors(self):
        with pytest.raises(UnknownNameError):
            advise(small_log(), {"b": 1.0})


class TestLearning:
    @pytest.mark.slow
    def test_a_lower_tolerance_takes_longer(self):
        advice = advise(small_log(), {"a1": 0.2})
        loose, strict = (
            learning_times(advice, ["blp"], tolerance=one, rounds=3000, epochs=4)[0] for one in (0.5, 0.05)
        )
        assert 0 < loose.half <= strict.half
        assert strict.half <= strict.most
        [never] = learning_times(advice, ["blp"], tolerance=1e-9, rounds=500, epochs=2)
        assert never.to_dict() == {"policy": "blp", "half": None, "most": None}

    @pytest.mark.parametrize(
        ("floors", "match"),
        [({}, "need a floor above zero"), ({"a0": 0.5, "a1": 0.4}, "but a0, a1 conflict")],
    )
    def test_floors_that_cannot_be_kept_are_refused(self, floors, match):
        with pytest.raises(InvalidInputError, match=match):
            learning_times(advise(small_log(), floors))
