"""What a policy with `guarantee=True` is proven to cost at most, and the proof checked along runs."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import InvalidInputError
from arcbandit.inputs.values import LONGEST_HORIZON, instance_of, non_negative, whole
from arcbandit.instance import Instance
from arcbandit.kernels.confidence import ByPair, radius_factor
from arcbandit.kernels.ledger import ALLOWED, EXPLAINED, GROWTH, Account
from arcbandit.oracle import feasibility_margin
from arcbandit.planning import plan
from arcbandit.policies.base import Policy
from arcbandit.policies.configuration import Configuration
from arcbandit.policies.learner import Progress
from arcbandit.policies.plans import have_all_that_come

ROUNDING = 1e-9  # relative to the revenue at stake


class GuaranteeBound(NamedTuple):
    """What E[R_T + V_T] is at most, for any rule that plans with `guarantee=True`: the sum of its parts.

    >>> from arcbandit import paper_instance
    >>> bound = guarantee_bound(paper_instance("nu"), 10**8, largest_price=2.0)
    >>> round((bound.spent + bound.explained + bound.start + bound.unlucky) / bound.total, 6)
    1.0
    """

    total: float
    spent: float  # 4 sigma sqrt(KC T log(2KCT)), what the ledger allows
    explained: float  # by the widths of the plans that are played
    start: float  # rounds until every pair was played, each at the worst
    unlucky: float  # rounds in which a mean may be outside its radius, or was when LP(UCB, UCB) was solved
    largest_price: float  # of an arm's floors together, that it counts with


class GuaranteeAudit(NamedTuple):
    """The statements behind the bound, along runs.

    >>> from arcbandit import BLP, paper_instance
    >>> found = audit_guarantee(paper_instance("nu"), BLP(guarantee=True), 300)
    >>> found.above, found.measured < found.certified
    (0, True)
    """

    rounds: int  # that were entered into the ledger
    uncovered: int  # of these, where a mean was outside its radius, or was when LP(UCB, UCB) was solved
    above: int  # of the others, where regret and violation were more than the ledger certified: none, if it is right
    held: int  # of all, where the plan of LP(UCB, UCB) stood in
    measured: float  # regret and violation of all rounds, as a mean of the epochs
    certified: float  # what the ledger certified of the rounds that were entered, likewise
    largest_price: float  # that a ledger saw


def guarantee_bound(instance: Instance, horizon: int, *, largest_price: float | None = None) -> GuaranteeBound:
    """What any rule that plans costs at most with `guarantee=True`: a bound on E[R_T + V_T].

    It is proven for rewards that come before the next decision, and for all rules of this package; one from outside
    must not plan by the context at hand, which it is told. `largest_price` is the most that the floors of an arm are
    thought to cost by optimistic bounds, together and per unit; by default, what the feasibility margin allows. It is a
    bound of the order of sqrt(T log T), which says little below hundreds of thousands of rounds.

    >>> from arcbandit import paper_instance
    >>> bound = guarantee_bound(paper_instance("nu"), 10**8, largest_price=2.0)
    >>> round(bound.spent), round(bound.total / 10**8, 3)
    (553967, 0.036)
    """
    instance_of("instance", instance, Instance, ", such as paper_instance('nu')")
    horizon = whole("horizon", horizon, 1, LONGEST_HORIZON)
    margin = feasibility_margin(instance)
    if not margin > 0.0:
        raise InvalidInputError(
            f"instance must have floors that can be met with room to spare, got a feasibility margin of {margin:g}."
        )
    means, probabilities = instance.mean_rewards, instance.context_probabilities
    n_pairs, sigma = instance.n_pairs, instance.noise_scale
    logarithm = math.log(2.0 * n_pairs * horizon)
    best, worst = float(probabilities @ means.max(axis=0)), float(probabilities @ means.min(axis=0))
    if largest_price is None:
        # With room to spare the prices are bounded; a mean may be too high by two radii, of one reward at least.
        largest_price = (best - worst + 2.0 * sigma * math.sqrt(2.0 * logarithm)) / margin
    price = non_negative("largest_price", largest_price)
    members = instance.floors.members[instance.floors.amounts > 0.0]
    rows = int(members.sum(axis=0).max(initial=0)) if len(members) else 0
    widths = 2.0 * math.sqrt(2.0) * sigma * math.sqrt(n_pairs * horizon * logarithm)  # of all rounds, at most
    factor = max(EXPLAINED * (2.0 + rows + price), 2.0 + 2.0 * rows)
    lowest = np.array([probabilities @ np.minimum(means[who], 0.0).min(axis=0, initial=0.0) for who in members])
    owed = float(np.maximum(instance.floors.amounts[instance.floors.amounts > 0.0] - lowest, 0.0).sum())
    at_worst = plan(instance).value - worst + owed
    start = min(float(horizon), float((instance.n_arms / probabilities[probabilities > 0.0]).sum()))
    parts = {
        "spent": ALLOWED * sigma * math.sqrt(n_pairs * horizon * logarithm),
        "explained": factor * widths,
        "start": at_worst * start,
        "unlucky": at_worst * _unlucky_rounds(n_pairs, horizon),
    }
    return GuaranteeBound(total=sum(parts.values()), **parts, largest_price=price)


def _unlucky_rounds(n_pairs: int, horizon: int) -> float:
    """The expected number of rounds t in which a mean is outside its radius, now or when F was found, at most.

    The radius holds for all counts n up to t at once. By Doob's inequality on stretches of n from N to (1 + 1/L) N,
    with L = log(2KCt), it fails with a probability of at most e (1 + (L + 1) log t) / t; when F was found, at most a
    tenth of the rounds ago, with 1.1 times as much.
    """
    factor = 1.0 + GROWTH
    exact = np.arange(1.0, min(horizon, 10**6) + 1.0)
    total = float(np.minimum(1.0, factor * _failure(n_pairs, exact)).sum())
    if horizon > len(exact):
        places = np.geomspace(len(exact), horizon, 1000)
        chances = factor * _failure(n_pairs, places)
        total += float((np.diff(places) * chances[:-1]).sum())  # it falls with t
    return total


def _failure(n_pairs: int, t: NDArray[np.float64]) -> NDArray[np.float64]:
    logarithm = np.log(2.0 * n_pairs * t)
    chances: NDArray[np.float64] = math.e * (1.0 + (logarithm + 1.0) * np.log(t)) / t
    return chances


def audit_guarantee(
    instance: Instance, policy: Configuration, horizon: int, *, epochs: int = 1, seed: int = 0
) -> GuaranteeAudit:
    """Play a policy that has a guarantee, and check in every round what its ledger certified.

    It plays `epochs` runs, whose contexts and noise depend on `seed` alone.

    >>> from arcbandit import BLP, paper_instance
    >>> audit_guarantee(paper_instance("nu"), BLP(guarantee=True), 300).above
    0
    """
    instance_of("instance", instance, Instance, ", such as paper_instance('nu')")
    instance_of("policy", policy, Configuration, ", such as BLP(guarantee=True)")
    horizon, epochs = whole("horizon", horizon, 1, LONGEST_HORIZON), whole("epochs", epochs, 1)
    found = [_audited_epoch(instance, policy, horizon, whole("seed", seed, 0), epoch) for epoch in range(epochs)]
    return GuaranteeAudit(
        rounds=sum(one.rounds for one in found),
        uncovered=sum(one.uncovered for one in found),
        above=sum(one.above for one in found),
        held=sum(one.held for one in found),
        measured=math.fsum(one.measured for one in found) / epochs,
        certified=math.fsum(one.certified for one in found) / epochs,
        largest_price=max(one.largest_price for one in found),
    )


def _audited_epoch(
    instance: Instance, configuration: Configuration, horizon: int, seed: int, epoch: int
) -> GuaranteeAudit:
    policy: Policy = configuration.for_instance(instance, seed=seed, epoch=epoch)
    policy.ledger()  # refuses one that has none
    rng = np.random.default_rng([seed, epoch])
    optimum = plan(instance).value
    weighted, amounts = instance.weighted_means, instance.floors.amounts
    asked = amounts > 0.0  # a floor of zero asks for nothing, even of means below zero
    learner = policy.learner
    account, by_pair = learner.ledger.account, learner.statistics.by_pair
    rounding = ROUNDING * (abs(optimum) + float(np.abs(weighted).sum()))
    factor_of = getattr(radius_factor, "py_func", radius_factor)
    have_all = getattr(have_all_that_come, "py_func", have_all_that_come)
    rounds = uncovered = above = 0
    measured = 0.0
    covered_at_solve = True
    comes = instance.context_probabilities > 0.0
    contexts = rng.choice(instance.n_contexts, size=horizon, p=instance.context_probabilities)
    noises = rng.normal(scale=instance.noise_scale, size=horizon)
    for t, (context, noise) in enumerate(zip(contexts.tolist(), noises.tolist(), strict=True), start=1):
        before = account[Account.CERTIFIED]
        decision = policy.decide(context)
        revenue = (weighted * learner.allocation).sum(axis=1)
        cost = max(optimum - revenue.sum(), 0.0)
        cost += float(np.maximum(amounts - instance.floors.by_floor(revenue), 0.0)[asked].sum())
        measured += cost
        if learner.progress[Progress.ALL_PLAYED] or have_all(learner):
            rounds += 1
            radii = factor_of(instance.n_pairs, t, policy.noise_scale) * by_pair[ByPair.INVERSE_ROOT]
            off = np.abs(by_pair[ByPair.MEAN] - instance.mean_rewards)[:, comes]
            covered = bool((off <= radii[:, comes]).all())
            if account[Account.SOLVED] == t:
                covered_at_solve = covered
            covered = covered and covered_at_solve
            uncovered += not covered
            above += covered and bool(cost > account[Account.CERTIFIED] - before + rounding)
        row = policy.arms.index(decision.arm)
        policy.update(context, decision.arm, float(instance.mean_rewards[row, context] + noise))
    held = policy.ledger().rounds_held
    return GuaranteeAudit(
        rounds,
        uncovered,
        above,
        held,
        measured,
        float(account[Account.CERTIFIED]),
        float(account[Account.LARGEST_PRICE]),
    )
