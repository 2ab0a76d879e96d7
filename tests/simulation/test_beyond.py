"""The audit of what docs/theory.md says beyond the paper: it holds along runs, and would be seen if it did not."""

import math

import numpy as np
import pytest

from arcbandit import BLP, Instance, PricedLP, audit, paper_instance, plan, solve_lp
from arcbandit.compilation.compile import entry_kernel
from arcbandit.errors import InfeasibleError, InvalidInputError
from arcbandit.kernels.confidence import ByPair
from arcbandit.policies.learner import Outcome
from arcbandit.policies.priced_lp import FloorScratch
from arcbandit.simulation import audit as statements
from arcbandit.simulation.beyond import audit_identity, audit_priced
from arcbandit.simulation.epoch import Task, bind, find_optimum, make_run, make_world
from arcbandit.simulation.loop import player_of
from arcbandit.simulation.metrics import FloorTotal, Total
from tests.long import each_of
from tests.simulation.twins import compiled_rounds, grouped, make_task

ROUNDS = 3_000
LOOKS = 200  # rounds that are looked at from outside


@entry_kernel
def look_at(world, learner, t, outcome, performance, violation, meters):
    audit_identity(world, learner.problem, learner.allocation, performance, meters)
    audit_priced(world, learner, t, outcome, violation, meters)


NU, GROUPED = paper_instance("nu"), grouped()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("instance", "weight"),
    each_of(
        [(NU, 1.0), (GROUPED, 1.0)],
        [(one, weight) for one in (NU, paper_instance("nu-margin:0.01"), GROUPED) for weight in (0.1, 1.0, 10.0)],
    ),
    ids=str,
)
def test_the_bounds_of_the_priced_lp_hold_along_runs(instance, weight):
    """Exact ones in every round, the others as often as the good event."""
    found = audit(instance, PricedLP(violation_weight=weight), ROUNDS, epochs=2, seed=1)
    assert [one.name for one in found.statements] == [statements.COVERAGE]
    identity, given_up, bounded = found.beyond
    assert found.holds
    assert (identity.name, identity.rounds, identity.failures, identity.allowed) == (statements.IDENTITY, ROUNDS, 0, 0)
    assert (given_up.name, given_up.failures, given_up.allowed) == (statements.GIVEN_UP, 0, 0)
    assert bounded.name == statements.BOUNDED
    assert given_up.rounds == bounded.rounds > 0.9 * ROUNDS


@pytest.mark.slow
def test_told_too_little_noise_the_bound_on_violation_fails():
    """What is exact still holds."""
    found = audit(paper_instance("nu"), PricedLP(noise_scale=0.02), ROUNDS, epochs=2, seed=1)
    identity, given_up, bounded = found.beyond
    assert not found.holds
    assert bounded.failures > bounded.allowed
    assert identity.failures == given_up.failures == 0


def some_floors(seed):
    """Four arms, three contexts, and floors of nine tenths of what some plan earns, two of them above zero."""
    random = np.random.default_rng(seed)
    means, shares = random.uniform(0.5, 3.0, (4, 3)), random.dirichlet(np.ones(4), 3).T
    probabilities = random.dirichlet(np.full(3, 5.0))
    floors = 0.9 * (probabilities * means * shares).sum(axis=1) * [1, 0, 1, 0]
    return Instance(means, floors, probabilities, noise_scale=0.5)


class HopefulRounds:
    """Rounds of a run in the good event: the estimates that a round is planned with, and the optimum."""

    def __init__(self, policy, instance, rounds):
        self.instance, self.rounds = instance, rounds
        self.bound, _, self.play = compiled_rounds(make_task(policy, instance, rounds))
        self.optimum = plan(instance)

    def __iter__(self):
        """The means and radii that each round of the good event was planned with; it has been played by then."""
        by_pair = self.bound.learner.statistics.by_pair
        for t in range(1, self.rounds + 1):
            pulls, means = by_pair[ByPair.PULLS].copy(), by_pair[ByPair.MEAN].copy()
            self.play(t)
            if pulls.min() > 0.0:
                logarithm = math.log(2 * self.instance.n_pairs * t)
                radii = self.instance.noise_scale * np.sqrt(2 * logarithm / pulls)
                if (np.abs(means - self.instance.mean_rewards) <= radii).all():
                    yield means, radii

    def solve(self, means):
        """LP(means, means)."""
        return solve_lp(means, means, self.instance.revenue_floors, self.instance.context_probabilities)

    def bound_at(self, prices, upper):
        """max_w sum p (1 + a) (mean + radius) w - sum a lambda."""
        worth = ((1 + prices)[:, np.newaxis] * upper).max(axis=0)
        return self.instance.context_probabilities @ worth - prices @ self.instance.revenue_floors


@pytest.mark.slow
@pytest.mark.parametrize("policy", [PricedLP(), BLP()], ids=["priced-lp", "blp"])
@pytest.mark.parametrize("instance", [NU, some_floors(3)], ids=["nu", "random"])
def test_lemma_2_holds_in_every_round_of_the_good_event(policy, instance):
    """LP(UCB, UCB) is worth f* at least, and so is its Lagrangian at prices that are only estimated: those of the
    plan by the means, if there is one, and of PricedLP's first program. And f* - F <= B(w*) - w* . r.
    """
    run = HopefulRounds(policy, instance, 600)
    best, weights = run.optimum, instance.context_probabilities
    checked = by_means = 0
    for means, radii in run:
        checked += 1
        upper = means + radii
        hopeful = run.solve(upper).value
        assert hopeful >= best.value - 1e-9
        estimated = []
        if isinstance(run.bound, PricedLP):
            estimated.append(run.bound.learner.memory.scratch_by_floor[FloorScratch.PRICE].copy())
        try:
            first = run.solve(means)
        except InfeasibleError:
            first = None
        if first is not None:
            by_means += 1
            prices = first.floors.prices
            estimated.append(prices)
            worth = (1 + prices)[:, np.newaxis] * means
            costs = weights * (worth.max(axis=0) - worth) * best.allocation
            allowed = ((1 + prices)[:, np.newaxis] * weights * radii * best.allocation).sum() - costs.sum()
            assert best.value - first.value <= allowed + 1e-9
        for prices in estimated:
            assert run.bound_at(prices, upper) >= hopeful - 1e-9 * (1 + prices.sum())
    assert checked > 500
    assert by_means > 300


def run_of(instance):
    """A run of the priced LP that is not audited itself, before its last rounds, and what plays them."""
    policy = PricedLP(count_floor=0.0)
    end = np.array([ROUNDS], dtype=np.int64)
    optimum = find_optimum(instance, None)
    task = Task(instance, "it", policy, "gaussian", None, optimum, math.nan, ROUNDS, 3, 0, end, 0)
    run = make_run(make_world(task), bind(task, policy).learner, task)
    play = player_of(policy.kind, run)
    play(1, ROUNDS - LOOKS)
    return run, play


def counts_of(run, instance, t=ROUNDS):
    """What one more look at the allocation of round t adds to the counts."""
    earned = (instance.weighted_means * run.learner.allocation).sum(axis=1)
    run.meters.by_row[FloorTotal.EXPECTED_NOW] = instance.floors.by_floor(earned)
    floors = instance.floors.amounts
    violation = np.maximum(floors - instance.floors.by_floor(earned), 0)[floors > 0].sum()
    before = run.meters.totals.copy()
    arguments = (t, int(Outcome.PLANNED), float(earned.sum()), float(violation))
    look_at(run.world, run.learner, *arguments, run.meters)
    added = run.meters.totals - before
    return {row: added[row] for row in (Total.SAFE, Total.OFF_IDENTITY, Total.ABOVE_BONUS, Total.ABOVE_BOUND)}


@pytest.mark.slow
@pytest.mark.parametrize("instance", [paper_instance("nu"), grouped()], ids=str)
def test_what_does_not_hold_is_counted(instance):
    """Nothing along a run; but another plan than the rule's gives up more than its bonus, and other prices than the
    optimum's break the identity.
    """
    run, play = run_of(instance)
    nothing = dict.fromkeys((Total.OFF_IDENTITY, Total.ABOVE_BONUS, Total.ABOVE_BOUND), 0.0)
    for t in range(ROUNDS - LOOKS + 1, ROUNDS + 1):
        play(t, t)
        assert counts_of(run, instance, t) == {Total.SAFE: 1.0, **nothing}
    run.learner.allocation[:] = 1 / instance.n_arms
    assert counts_of(run, instance) == {Total.SAFE: 1.0, **nothing, Total.ABOVE_BONUS: 1.0}
    run.learner.allocation[:] = 0.0
    run.learner.allocation[0] = 1.0  # the first arm alone, so that others' floors lack all
    found = counts_of(run, instance)
    assert (found[Total.OFF_IDENTITY], found[Total.ABOVE_BONUS]) == (0.0, 1.0)
    if not instance.group_floors:  # with these, pairs that are hardly ever played have a bonus that allows it
        assert found[Total.ABOVE_BOUND] == 1.0
    run.world.prices[:] += 0.1
    assert counts_of(run, instance)[Total.OFF_IDENTITY] == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["olp", "blp"])
def test_the_identity_is_looked_at_for_every_policy_that_plans(policy):
    (identity,) = audit(paper_instance("nu"), policy, 500, epochs=2).beyond
    assert (identity.rounds, identity.failures) == (500, 0)


def test_a_policy_that_does_not_plan_is_refused():
    with pytest.raises(InvalidInputError, match="needs a policy that plans"):
        audit(paper_instance("nu"), "doc", 10)
