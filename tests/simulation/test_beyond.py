"""The audit of what docs/theory.md says beyond the paper: it holds along runs, and would be seen if it did not."""

import math

import numpy as np
import pytest

from arcbandit import PricedLP, audit, paper_instance
from arcbandit.compilation.compile import entry_kernel
from arcbandit.errors import InvalidInputError
from arcbandit.policies.learner import Outcome
from arcbandit.simulation import audit as statements
from arcbandit.simulation.beyond import audit_identity, audit_priced
from arcbandit.simulation.epoch import Task, bind, find_optimum, make_run, make_world
from arcbandit.simulation.loop import player_of
from arcbandit.simulation.metrics import FloorTotal, Total
from tests.long import LONG
from tests.simulation.twins import grouped

ROUNDS = 3_000
LOOKS = 200  # rounds that are looked at from outside
ALONE = pytest.mark.skipif(not LONG, reason="an audited loop of the priced LP would be compiled for it alone")


@entry_kernel
def look_at(world, learner, t, outcome, performance, violation, meters):
    audit_identity(world, learner.problem, learner.allocation, performance, meters)
    audit_priced(world, learner, t, outcome, violation, meters)


@pytest.mark.long
@pytest.mark.slow
@ALONE
@pytest.mark.parametrize("weight", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("instance", [paper_instance("nu"), paper_instance("nu-margin:0.01"), grouped()], ids=str)
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


@pytest.mark.long
@pytest.mark.slow
@ALONE
def test_told_too_little_noise_the_bound_on_violation_fails():
    """What is exact still holds."""
    found = audit(paper_instance("nu"), PricedLP(noise_scale=0.02), ROUNDS, epochs=2, seed=1)
    identity, given_up, bounded = found.beyond
    assert not found.holds
    assert bounded.failures > bounded.allowed
    assert identity.failures == given_up.failures == 0


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
