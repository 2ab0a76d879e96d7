"""The steps of docs/theory.md that can be computed: identities to rounding, inequalities on random problems.

What concerns whole runs is checked by the audit (tests/simulation/test_audit_counts.py) and by simulation
(tests/simulation/test_clairvoyant.py); the constant itself is in tests/test_limits.py.
"""

import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.special import log_ndtr

from arcbandit import GroupFloor, Instance, plan, simulate, solve_lp
from arcbandit.errors import InfeasibleError
from arcbandit.experiments.paper_instances import greedy_counterexample, nu, nu_nominal
from tests.long import each_of

CASES = each_of(range(25), range(1_000))


def some_instance(random, *, groups=False):
    """Floors that some plan meets; means in tenths, so that ties and degenerate optima are among them."""
    n_arms, n_contexts = int(random.integers(2, 6)), int(random.integers(1, 6))
    means = random.integers(0, 30, (n_arms, n_contexts)) / 10
    shares = random.dirichlet(np.ones(n_arms), n_contexts).T
    probabilities = random.dirichlet(np.ones(n_contexts))
    earned = (probabilities * means * shares).sum(axis=1)
    floors = random.choice([0.0, 0.5, 0.99], n_arms) * earned
    both = [GroupFloor("first two", [0, 1], 0.95 * float(earned[:2].sum()))] if groups else []
    return Instance(means, floors, probabilities, group_floors=both)


def some_plan(random, instance):
    return random.dirichlet(np.full(instance.n_arms, 0.5), instance.n_contexts).T


def of_arms(instance, means, shares):
    """g_k of each arm."""
    return (instance.context_probabilities * means * shares).sum(axis=1)


def reduced_costs(instance, means, prices):
    """r_kc = p_c (max_j (1 + a_j) mu_jc - (1 + a_k) mu_kc)."""
    worth = (1 + instance.floors.by_arm(prices))[:, np.newaxis] * means
    return instance.context_probabilities * (worth.max(axis=0) - worth)


@pytest.mark.parametrize("case", CASES)
def test_lemma_1_the_loss_of_any_plan_is_what_its_surpluses_and_its_pairs_cost(case):
    """f* - f(w) = sum a s + sum w r, whatever w is, and also where the optimum is degenerate or one of many."""
    random = np.random.default_rng([101, case])
    instance = some_instance(random, groups=case % 2 == 1)
    best = plan(instance)
    costs = reduced_costs(instance, instance.mean_rewards, best.floors.prices)
    assert costs.min() >= 0
    for _ in range(5):
        shares = some_plan(random, instance)
        earned = of_arms(instance, instance.mean_rewards, shares)
        surplus = instance.floors.by_floor(earned) - instance.floors.amounts
        loss = (best.floors.prices * surplus).sum() + (shares * costs).sum()
        assert best.value - earned.sum() == pytest.approx(loss, abs=1e-10)


class Estimated:
    """A problem with estimates in the good event, and the plan by these, without margins."""

    def __init__(self, case):
        while True:
            self.random = np.random.default_rng([103, case])
            self.instance = some_instance(self.random)
            shape = self.instance.mean_rewards.shape
            self.radii = 10 ** self.random.uniform(-2, 0.3, shape)
            self.estimates = self.instance.mean_rewards + self.radii * self.random.uniform(-1, 1, shape)
            try:
                self.first = self.plan_with(self.estimates, self.estimates)
                break
            except InfeasibleError:  # the first program would be short
                case += 10_000
        self.optimum = plan(self.instance)
        self.prices = self.first.floors.prices

    def plan_with(self, objective, revenue):
        return solve_lp(objective, revenue, self.instance.revenue_floors, self.instance.context_probabilities)

    def width(self, shares, by_arm=1.0):
        """sum p eps w, each arm times a factor."""
        return float((np.asarray(by_arm) * of_arms(self.instance, self.radii, shares)).sum())

    def second_plan(self, bonus):
        """The plan that maximises bonus . w - y - sum short, with its y and shortfalls."""
        n_arms, n_contexts = bonus.shape
        weighted = self.instance.context_probabilities * self.estimates
        pairs = n_arms * n_contexts
        rows = np.zeros((n_arms + 1, pairs + 1 + n_arms))
        for arm in range(n_arms):
            rows[arm, arm * n_contexts : (arm + 1) * n_contexts] = -weighted[arm]
            rows[arm, pairs + 1 + arm] = -1.0
        rows[n_arms, :pairs] = -weighted.ravel()
        rows[n_arms, pairs] = -1.0
        columns = np.zeros((n_contexts, rows.shape[1]))
        for context in range(n_contexts):
            columns[context, context:pairs:n_contexts] = 1.0
        floors = np.where(self.instance.revenue_floors > 0, self.instance.revenue_floors, -1e6)
        found = linprog(
            np.concatenate([-bonus.ravel(), np.ones(1 + n_arms)]),
            rows,
            -np.concatenate([floors, [self.first.value]]),
            columns,
            np.ones(n_contexts),
        )
        return found.x[:pairs].reshape(bonus.shape), found.x[pairs], found.x[pairs + 1 :]

    def true_losses(self, shares):
        """R and V of a round."""
        earned = of_arms(self.instance, self.instance.mean_rewards, shares)
        lacking = np.maximum(self.instance.revenue_floors - earned, 0) * (self.instance.revenue_floors > 0)
        return max(self.optimum.value - earned.sum(), 0.0), float(lacking.sum())


@pytest.fixture(params=CASES)
def estimated(request):
    return Estimated(request.param)


def test_lemma_2_any_prices_keep_optimism(estimated):
    """The Lagrangian with upper bounds is at least f* at any prices, and least at those of LP(UCB, UCB)."""
    upper = estimated.estimates + estimated.radii
    weights, floors = estimated.instance.context_probabilities, estimated.instance.revenue_floors

    def bound(prices):
        worth = (1 + prices)[:, np.newaxis] * upper
        return (weights * worth.max(axis=0)).sum() - (prices * floors).sum()

    hopeful = estimated.plan_with(upper, upper)
    least = bound(hopeful.floors.prices)
    assert least == pytest.approx(hopeful.value, abs=1e-9)
    assert least >= estimated.optimum.value - 1e-9
    for prices in (estimated.prices, estimated.random.exponential(2.0, len(floors)) * (floors > 0)):
        assert bound(prices) >= least - 1e-9
    best = estimated.optimum.allocation
    costs = reduced_costs(estimated.instance, estimated.estimates, estimated.prices)
    allowed = estimated.width(best, 1 + estimated.prices) - (best * costs).sum()
    assert estimated.optimum.value - estimated.first.value <= allowed + 1e-9


@pytest.mark.parametrize("exploration", [math.sqrt(0.5), 3.0])
def test_lemma_3_and_theorem_3_of_the_second_program(estimated, exploration):
    """A (y + sum short) >= w . r, and V <= 2 x rho_rad(w) + rho(w); here the radii are those of the good event."""
    dearest = max(1.0, estimated.prices.max())
    bonus = (1 + estimated.prices)[:, np.newaxis] * exploration * estimated.radii / dearest
    shares, lost, short = estimated.second_plan(estimated.instance.context_probabilities * bonus)
    costs = reduced_costs(estimated.instance, estimated.estimates, estimated.prices)
    assert dearest * (lost + short.sum()) >= (shares * costs).sum() - 1e-7
    width = estimated.width(shares)
    assert lost + short.sum() <= 2 * exploration * width + 1e-7
    assert estimated.true_losses(shares)[1] <= (2 * exploration + 1) * width + 1e-7


def test_theorem_4_of_a_round_with_the_whole_bonus(estimated):
    """R + V <= 2 B(w) + 2 rho(w), where the second program maximises 2 B(w) - y - sum short."""
    bonus = 2 * (1 + estimated.prices)[:, np.newaxis] * estimated.radii
    shares, _, _ = estimated.second_plan(estimated.instance.context_probabilities * bonus)
    regret, violation = estimated.true_losses(shares)
    allowed = 2 * estimated.width(shares, 1 + estimated.prices) + 2 * estimated.width(shares)
    assert regret + violation <= allowed + 1e-7
    hopeful = estimated.plan_with(*[estimated.estimates + estimated.radii] * 2)
    assert sum(estimated.true_losses(hopeful.allocation)) <= 4 * estimated.width(hopeful.allocation) + 1e-9


def test_the_cost_of_a_plan_grows_with_its_distance_from_a_unique_optimum():
    """Step 1 of the lower bound: (f* - f)_+ + sum (lambda - g)_+ is at least a constant times |w - w*|.

    Along a ray from w* the cost is convex and starts at zero, so that its least slope shows within any distance.
    """
    random = np.random.default_rng(107)
    for instance in (nu(), nu_nominal()):
        best = plan(instance)
        slopes = []
        for _ in range(2_000):
            shares = some_plan(random, instance)
            earned = of_arms(instance, instance.mean_rewards, shares)
            lacking = np.maximum(instance.revenue_floors - earned, 0).sum()
            slopes.append((max(best.value - earned.sum(), 0) + lacking) / np.abs(shares - best.allocation).sum())
        assert min(slopes) > 0.05


@pytest.mark.parametrize("exploration", [math.sqrt(0.5), 0.85])
def test_proposition_3_the_probability_of_a_stall_falls_like_a_power(exploration):
    """One sample so low that its bound stays below the other arm's mean until T: T^(-x^2), up to lower orders."""
    logarithms = np.array([1e6, 4e6])  # of T: the lower order is the root of it
    gap = 0.5
    logs = log_ndtr(-gap - exploration * np.sqrt(2 * logarithms))
    assert np.diff(logs)[0] / np.diff(logarithms)[0] == pytest.approx(-(exploration**2), rel=1e-3)


@pytest.mark.slow
def test_theorem_7_oplp_as_printed_may_leave_the_best_arm_for_ever():
    """A floor of zero has a row there, LCB_1 w_1 >= 0: once LCB_1 < 0 the arm is out, and its LCB never rises.

    4,000 runs of 2,000 rounds at mu = (1, 1/2), lambda = (0, 1/4), by the closed form of its plans. About 20 of them
    never play arm 1 in the second half; fewer than 5 or more than 40 would be seen once in 30,000 times.
    """
    runs, rounds, second_floor = 4_000, 2_000, 0.25
    means = np.array([1.0, 0.5])
    random = np.random.default_rng(11)
    pulls = np.zeros((runs, 2))
    sums = np.zeros((runs, 2))
    everyone = np.arange(runs)
    for t in range(1, rounds + 1):
        if t <= 2:
            arm = np.where(t == 1, random.integers(0, 2, runs), pulls[:, 1] == 0).astype(int)
        else:
            estimates = sums / pulls
            radii = np.sqrt(2 * math.log(2 * 2 * t) / pulls)
            upper, lower = estimates + radii, estimates - radii
            share = _second_share(upper, lower, second_floor)
            arm = (random.random(runs) < share).astype(int)
        pulls[everyone, arm] += 1
        sums[everyone, arm] += means[arm] + random.standard_normal(runs)
        if t == rounds // 2:
            halfway = pulls[:, 0].copy()
    stuck = pulls[:, 0] == halfway
    assert 5 <= stuck.sum() <= 40
    # Nothing will bring it back: its plan is (0, 1) as long as LCB_1 < 0 and LCB_2 meets the floor.
    radii = np.sqrt(2 * math.log(4 * rounds) / pulls[stuck])
    lower = sums[stuck] / pulls[stuck] - radii
    assert (lower[:, 0] < 0).all()
    assert (lower[:, 1] > second_floor).all()


def _second_share(upper, lower, floor):
    """w_2 of LP(UCB, LCB), or of LP(UCB, UCB) where that is infeasible, with a row for the first arm's floor of 0."""

    def answer(revenue):
        least = np.where(revenue[:, 1] > 0, floor / np.where(revenue[:, 1] > 0, revenue[:, 1], 1), np.inf)
        least = np.where(revenue[:, 0] < 0, np.maximum(least, 1.0), least)
        share = np.where(upper[:, 1] > upper[:, 0], 1.0, least)
        return share, least <= 1.0

    cautious, feasible = answer(lower)
    hopeful, reachable = answer(upper)
    return np.where(feasible, cautious, np.where(reachable, hopeful, 1.0))


@pytest.mark.slow
@pytest.mark.parametrize(("mean", "is_met"), [(0.002, True), (0.0002, False)])
def test_a_price_above_that_of_a_shortfall_leaves_a_floor_unmet_until_that_has_grown(mean, is_met):
    """Prices of 1,499 and 14,999; a shortfall costs 1,000 (1 + log t), which is 10,900 at the end."""
    dear = Instance([[3.0], [mean]], [0.0, mean / 2], [1.0], noise_scale=1e-5)
    assert plan(dear).floors.prices[1] == pytest.approx(3 / mean - 1)
    found = simulate(dear, "priced-lp", 20_000, 2, checkpoints=[10_000])
    lacking = np.diff(found.violation["priced-lp"], axis=1)[:, -1] / (10_000 * mean / 2)
    assert lacking == pytest.approx(np.full(2, 0.0 if is_met else 1.0), abs=0.02)


def test_the_counterexample_of_greedy_has_no_limit():
    """No floor is saturated there, so what remains to learn costs less than any multiple of the root of T."""
    assert plan(greedy_counterexample()).floors.prices.max() == 0.0
