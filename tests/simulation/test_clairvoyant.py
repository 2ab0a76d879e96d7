"""Policies that are told the basis of the best plan: what they play, what they lose, and where they are refused."""

import copy
import math

import numpy as np
import pytest

from arcbandit import Clairvoyant, ClairvoyantWithMargins, Drift, GroupFloor, Instance, audit, compare, simulate
from arcbandit.errors import InvalidInputError
from arcbandit.experiments.paper_instances import nu, nu_lower_bound, nu_nominal
from arcbandit.limits import least_cost
from arcbandit.oracle import analyse
from arcbandit.planning import plan
from arcbandit.policies.registry import POLICIES
from arcbandit.simulation.clairvoyant import CLAIRVOYANTS
from tests.long import LONG
from tests.policies.test_contract import play_online
from tests.simulation.twins import EPOCH, SEED, compiled_rounds, make_task

HORIZON = 50_000


def grouped(instance):
    """The same problem, the floors of its second and third arm written as those of groups."""
    floors = instance.revenue_floors
    groups = [GroupFloor("second", [instance.arms[1]], floors[1]), GroupFloor("third", [instance.arms[2]], floors[2])]
    return Instance(
        instance.mean_rewards,
        [floors[0], 0, 0],
        instance.context_probabilities,
        arms=instance.arms,
        noise_scale=instance.noise_scale,
        group_floors=groups,
    )


LOUD = Instance(
    nu_lower_bound(0.5).mean_rewards, nu().revenue_floors * [1, 1, 2], nu().context_probabilities, noise_scale=3.0
)


def round_by_round(configuration, instance, rounds):
    """The policy of a compiled run after each round; its allocation is that of the round."""
    bound, _, play = compiled_rounds(make_task(configuration, instance, rounds))
    for t in range(1, rounds + 1):
        before = bound.learner.statistics.by_pair[:2].copy()
        play(t)
        yield before, bound


def solution(instance, means, floors):
    """The plan with the pairs of the optimum that meets its saturated floors exactly by these means."""
    best = plan(instance)
    pairs = np.argwhere(~best.idle_pairs)
    saturated = np.flatnonzero(best.floors.active)
    rows = [[float(context == column) for _, context in pairs] for column in range(instance.n_contexts)]
    sums = [1.0] * instance.n_contexts
    for floor in saturated:
        counted = instance.floors.members[floor]
        rows.append([instance.context_probabilities[c] * means[k, c] * counted[k] for k, c in pairs])
        sums.append(floors[floor])
    shares = np.zeros(means.shape)
    shares[tuple(pairs.T)] = np.linalg.solve(rows, sums)
    return shares


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Clairvoyant, ClairvoyantWithMargins])
@pytest.mark.parametrize("instance", [LOUD, grouped(LOUD)], ids=["arms", "groups"])
def test_it_plays_the_solution_of_the_basis_equations(kind, instance):
    """By a dense solve; where that has a negative share, a distribution over the same pairs.

    Its estimates settle: an unlucky start does not make it leave a pair alone.
    """
    best = plan(instance)
    active = best.floors.active
    floors = instance.floors.amounts.copy()
    solved = lifted = 0
    known = False  # whether the last round played what its margins were computed for, and nothing to explore
    for (pulls, means), bound in round_by_round(kind(), instance, 400):
        shares = bound.allocation()
        assert (shares >= 0).all()
        assert shares.sum(axis=0) == pytest.approx(np.ones(3), abs=1e-12)
        assert not shares[best.idle_pairs].any()
        if pulls[~best.idle_pairs].min() > 0:
            wanted = solution(instance, means, floors)
            if known and (wanted >= 0).all():
                solved += 1
                assert shares == pytest.approx(wanted, abs=1e-9)
            elif known:
                lifted += 1
            known = True
        if kind is ClairvoyantWithMargins:
            per_arm = ((instance.context_probabilities * shares) ** 2 / np.maximum(pulls, 1)).sum(axis=1)
            errors = instance.noise_scale * np.sqrt(instance.floors.by_floor(per_arm))[active]
            floors[active] = instance.floors.amounts[active]
            floors[active] += least_cost(best.floors.prices[active], errors, 1.0).margins
    assert solved > 200
    assert lifted > 2
    assert pulls[~best.idle_pairs].min() > 30


@pytest.mark.slow
def test_with_margins_it_loses_the_learning_limit(cases):
    """On nu at 50,000 rounds, R + V of 248.7, and its parts: no mean is more than 5 standard errors away.

    The error of an epoch is about 79, so the short version would see a limit that is wrong by a third, the long one by
    a twenty-fifth. False alarms by the t distribution: 1e-4 in the short version, 2e-6 in the long one.
    """
    epochs = cases(25, 1_500)
    found = simulate(nu(), "clairvoyant-margins", HORIZON, epochs, seed=8, checkpoints=1)
    for metric, limit in zip(
        ("regret_plus_violation", "regret", "violation"), analyse(nu()).learning_limit(HORIZON)[:3], strict=True
    ):
        values = found.metric(metric)["clairvoyant-margins"][:, -1]
        assert abs(values.mean() - limit) < 5 * values.std(ddof=1) / math.sqrt(epochs), metric


@pytest.mark.slow
def test_margins_pay_where_prices_are_not_1(cases):
    """nu' of the lower bound, with a price of a quarter: the same noise, R + V lower by what the theory says.

    Plain floors cost (tau + sum se) phi(0) in the limit. The difference of the two has an error of about 60 an epoch;
    false alarms 5e-4 in the short version, 6e-5 in the long one.
    """
    epochs = cases(25, 1_500)
    instance = nu_lower_bound(0.5)
    found = simulate(instance, ["clairvoyant", "clairvoyant-margins"], HORIZON, epochs, seed=8, checkpoints=1)
    plain, best = (found.metric("regret_plus_violation")[name][:, -1] for name in found.policies)
    prices = plan(instance).floors.prices
    shares = (instance.context_probabilities * plan(instance).allocation).sum(axis=1)[prices > 0]
    prices = prices[prices > 0]
    of_plain = 2 / math.sqrt(2 * math.pi) * (math.sqrt((prices**2 * shares).sum()) + np.sqrt(shares).sum())
    expected = of_plain * math.sqrt(HORIZON) - analyse(instance).learning_limit(HORIZON).total
    saved = plain - best
    assert expected > 30
    assert abs(saved.mean() - expected) < 4 * saved.std(ddof=1) / math.sqrt(epochs)


def test_a_weight_moves_loss_from_violation_to_regret():
    weights = {f"v={v}": ClairvoyantWithMargins(violation_weight=v) for v in (0.1, 1, 10)}
    found = simulate(nu(), weights, 20_000, 8, seed=2, checkpoints=1)
    regret, violation = ([found.metric(m)[name][:, -1].mean() for name in weights] for m in ("regret", "violation"))
    assert regret == sorted(regret)
    assert violation == sorted(violation, reverse=True)


@pytest.mark.long
@pytest.mark.skipif(not LONG, reason="rounds of a policy at work would be compiled for it alone")
def test_online_it_plays_what_the_compiled_loop_plays():
    instance, rounds = nu_nominal(), 200
    played = list(round_by_round(ClairvoyantWithMargins(), instance, rounds))[-1][1]
    online = ClairvoyantWithMargins(seed=SEED, epoch=EPOCH).for_instance(instance, horizon=rounds)
    half = play_online(online, instance, SEED, EPOCH, rounds // 2)
    twin = copy.deepcopy(online)
    restored = ClairvoyantWithMargins.restore(online.snapshot())
    for goes_on in (online, twin, restored):
        rest = play_online(goes_on, instance, SEED, EPOCH, rounds // 2, first=rounds // 2 + 1)
        assert len(half + rest) == rounds
        assert (goes_on.learner.statistics.by_pair == played.learner.statistics.by_pair).all()
        assert (goes_on.allocation() == played.allocation()).all()


def test_by_name_configured_or_at_work_it_is_the_same():
    by_name = simulate(nu(), "clairvoyant", 300, 2)
    for other in (Clairvoyant(), Clairvoyant.of(nu())):
        assert (simulate(nu(), [other], 300, 2).regret["clairvoyant"] == by_name.regret["clairvoyant"]).all()
    compared = compare([nu(), nu_nominal()], list(CLAIRVOYANTS), horizon=300, epochs=4)
    assert compared.policies == ("clairvoyant", "clairvoyant-margins")


def test_it_keeps_to_the_pairs_that_are_available():
    """Told the best plan among these: without arm 1 in context 2, arm 3 serves it."""
    available = np.ones((3, 3), dtype=bool)
    available[0, 1] = False
    found = simulate(nu(), ["clairvoyant"], 5_000, 2, available=available, checkpoints=1)
    assert (found.metric("regret")["clairvoyant"][:, -1] < 500).all()


@pytest.mark.parametrize("rewards", ["bernoulli", "gaussian"])
def test_rewards_of_zero_do_not_stop_it(rewards):
    """Estimates of exactly 0 leave the equations without a solution: then all its pairs are played alike."""
    rare = Instance([[0.9, 0.5], [0.05, 0.03]], [0.0, 0.01], [0.5, 0.5], noise_scale=0.5)
    found = simulate(rare, ["clairvoyant", "clairvoyant-margins"], 3_000, 4, rewards=rewards, checkpoints=1)
    for name in found.policies:
        assert np.isfinite(found.metric("regret_plus_violation")[name]).all()


def test_it_is_no_policy_for_anybody_who_learns():
    """Neither listed nor made for a problem without means; nor for floors that cannot be met, or worlds that change."""
    assert not set(CLAIRVOYANTS) & set(POLICIES)
    for kind in CLAIRVOYANTS.values():
        with pytest.raises(InvalidInputError, match=rf"use {kind.__name__}\.of\(instance\)"):
            kind([0.1, 0.1], [0.5, 0.5])
    with pytest.raises(InvalidInputError, match="needs floors that can be met"):
        simulate(Instance(nu().mean_rewards, nu().revenue_floors * 3, nu().context_probabilities), "clairvoyant", 10)
    with pytest.raises(InvalidInputError, match="drift must be None for 'clairvoyant'"):
        simulate(nu(), "clairvoyant", 10, drift=Drift([(5, 2 * nu().mean_rewards)]))
    with pytest.raises(InvalidInputError, match="exploration_budget must be 1 for Clairvoyant"):
        Clairvoyant(exploration_budget=0.1)
    with pytest.raises(InvalidInputError, match="guarantee must be False for ClairvoyantWithMargins"):
        ClairvoyantWithMargins(guarantee=True)
    with pytest.raises(InvalidInputError, match="'clairvoyant-margins' is told the best plan"):
        audit(nu(), ClairvoyantWithMargins(), 10)
