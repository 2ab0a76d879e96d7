"""How often the paper's proven statements hold along a run with known means, against what it guarantees."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from arcbandit.errors import InvalidInputError
from arcbandit.inputs.values import instance_of, shown
from arcbandit.instance import Instance
from arcbandit.oracle import Analysis, Regime, analyse
from arcbandit.planning import plan
from arcbandit.policies.base import Policy
from arcbandit.policies.configuration import Configuration
from arcbandit.policies.proven import Proven
from arcbandit.simulation.choices import Device
from arcbandit.simulation.epoch import Progress
from arcbandit.simulation.loop import audits_soft_floors
from arcbandit.simulation.metrics import Total
from arcbandit.simulation.playable import playable
from arcbandit.simulation.run import simulate

LARGEST_SUM = 10**6  # terms that are added up one by one

# The statements. The width of w(t) is rho(eps(t), w(t)), of which a floor has a part rho_k.
COVERAGE = "the confidence set covers the means"
GAP = "where I_t is not I*, the width of w(t) is at least the suboptimality gap"
MEMBERSHIP = "w(t) is in psi(its width, I_t)"
NO_REGRET = "where I_t = I*, OLP has no regret"
REGRET_WIDTH = "the regret of a round is at most the width of w(t)"
SHORTFALL_WIDTH = "no floor lacks more than its part of the width of w(t)"
NO_VIOLATION = "while LP(UCB, LCB) is feasible, OPLP violates no floor"
FALLBACK = "on the fallback, the width of w(t) is at least the feasibility margin"
# Beyond the paper, by docs/theory.md.
IDENTITY = "a round loses what its surpluses and its pairs cost at the optimal prices"
GIVEN_UP = "exploring gives up no more than its bonus, and at least what its pairs cost over the dearest price"
BOUNDED = "no more is violated than bonus, negative margins and width allow"


class Statement(NamedTuple):
    """One statement: in how many rounds it applied, in how many of these it failed, and how many may fail."""

    name: str
    source: str
    rounds: float  # mean over epochs
    failures: float  # mean over epochs
    allowed: float  # failures expected per epoch at most: the sum of 1/t

    @property
    def holds(self) -> bool:
        """Whether the paper's probabilities allow that many failures."""
        return self.failures <= self.allowed


class Audit(NamedTuple):
    """The statements for one policy on one instance: the paper's, and those of docs/theory.md beyond it.

    >>> from arcbandit import paper_instance
    >>> found = audit(paper_instance("nu"), "olp", horizon=500, epochs=2)
    >>> found.policy, found.holds, len(found.statements)
    ('olp', True, 6)
    """

    policy: str
    horizon: int
    epochs: int
    statements: tuple[Statement, ...]
    beyond: tuple[Statement, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether every statement holds."""
        return all(statement.holds for statement in (*self.statements, *self.beyond))


def audit(
    instance: Instance,
    policy: "str | Policy | Configuration",
    horizon: int,
    epochs: int = 5,
    seed: int = 0,
    *,
    jobs: int | None = None,
    progress: Progress | bool | None = None,
    device: Device = "cpu",
    analysis: Analysis | None = None,
) -> Audit:
    """Count the rounds of a simulation in which the paper's statements apply, and in which they fail.

    By the paper each holds in round t with probability at least 1 - 1/t, so an epoch may see the sum of 1/t failures,
    about log T. (That is of counts that do not depend on rewards; what is proved, docs/theory.md, is log(t)^2 / t.)
    Some are made of every rule that plans, others of rules that name them in `Policy.proven`: that a round's regret
    and violation are at most the width of w(t), and that there is no regret under I_t = I*, of OLP; that there is no
    violation while LP(UCB, LCB) is feasible, and a width of at least gamma* on the fallback, of OPLP. Beyond the paper,
    in `beyond`: the identity of losses for every policy that plans, and the bounds of PricedLP, of which no other
    statement is made but coverage.
    `device` is that of `simulate`.
    An `analysis` of the instance that is at hand is not computed again.

    >>> from arcbandit import paper_instance
    >>> audit(paper_instance("nu"), "olp", horizon=500, epochs=2).holds
    True
    """
    instance_of("instance", instance, Instance, ", such as paper_instance('nu')")
    if not isinstance(policy, str | Policy | Configuration):
        raise InvalidInputError(f"policy must be a name or a policy, got {shown(policy)}.")
    if analysis is not None and instance_of("analysis", analysis, Analysis).instance != instance:
        raise InvalidInputError("analysis must be of the same instance, got that of another.")
    found = analyse(instance) if analysis is None else analysis
    if found.regime == Regime.INFEASIBLE or found.suboptimality_gap is None:
        raise InvalidInputError("The audit needs an instance whose floors can be met and that has other active sets.")
    configured = playable(policy, instance, None, "policy")
    if not isinstance(configured, Configuration) or not configured.kind.plans:
        raise InvalidInputError(f"The audit needs a policy that plans, but {configured.name!r} does not.")
    if configured.kind.knows_optimum:
        raise InvalidInputError(f"The audit is of policies that learn, but {configured.name!r} is told the best plan.")
    if configured.kind.soft_floors and not audits_soft_floors(configured.kind):
        raise InvalidInputError(
            f"The audit knows no statement about a policy that prices its floors as {configured.name!r} does."
        )
    trace = simulate(
        instance,
        {configured.label: configured},
        horizon,
        epochs,
        seed,
        jobs=jobs,
        checkpoints=1,
        suboptimality_gap=found.suboptimality_gap,
        progress=progress,
        device=device,
        keep="epochs",
    )
    horizon, epochs = trace.horizon, trace.epochs
    counts = trace.records[configured.label][:, :, -1].mean(axis=0).tolist()
    allowed = harmonic_number(horizon)
    papers = _statements(configured.kind, float(horizon), counts, allowed)
    beyond = _beyond(configured.kind, float(horizon), counts, allowed)
    return Audit(configured.label, horizon, epochs, papers, beyond)


def _statements(kind: type[Policy], horizon: float, counts: list[float], allowed: float) -> tuple[Statement, ...]:
    """The paper's statements about a rule, from the mean counts of rounds."""
    found = [(COVERAGE, "Proposition 1", horizon, counts[Total.UNCOVERED])]
    if not kind.soft_floors:
        safe, matched, fell_back = counts[Total.SAFE], counts[Total.OPTIMAL_SET], counts[Total.FELL_BACK]
        found += [
            (GAP, "proof of the upper bounds", counts[Total.UNMATCHED], counts[Total.UNMATCHED_BELOW_GAP]),
            (MEMBERSHIP, "lemma on ψ, and its counterpart for OPLP", safe, counts[Total.OUTSIDE_ITS_SET]),
        ]
        of_some = {
            Proven.NO_REGRET: (NO_REGRET, "regret of OLP", matched, counts[Total.MATCHED_WITH_REGRET]),
            Proven.REGRET_WIDTH: (REGRET_WIDTH, "regret of OLP", safe, counts[Total.REGRET_ABOVE_WIDTH]),
            Proven.SHORTFALL_WIDTH: (SHORTFALL_WIDTH, "violation of OLP", safe, counts[Total.SHORTFALL_ABOVE_WIDTH]),
            Proven.NO_VIOLATION: (NO_VIOLATION, "violation of OPLP", safe, counts[Total.SAFE_WITH_VIOLATION]),
            Proven.FALLBACK: (FALLBACK, "proposition on τ", fell_back, counts[Total.FELL_BACK_BELOW_MARGIN]),
        }
        found += [parts for statement, parts in of_some.items() if statement in kind.proven]
    return tuple(Statement(name, source, rounds, failures, allowed) for name, source, rounds, failures in found)


def _beyond(kind: type[Policy], horizon: float, counts: list[float], allowed: float) -> tuple[Statement, ...]:
    """What docs/theory.md says of a rule; what is exact may never fail."""
    found = [Statement(IDENTITY, "Lemma 1", horizon, counts[Total.OFF_IDENTITY], 0.0)]
    if kind.soft_floors:
        safe, above_bonus = counts[Total.SAFE], counts[Total.ABOVE_BONUS]
        of_some = {
            Proven.GIVEN_UP: Statement(GIVEN_UP, "Lemma 3, and that the plan is the best", safe, above_bonus, 0.0),
            Proven.BOUNDED: Statement(BOUNDED, "Theorem 3", safe, counts[Total.ABOVE_BOUND], allowed),
        }
        found += [counted for statement, counted in of_some.items() if statement in kind.proven]
    return tuple(found)


def harmonic_number(count: int) -> float:
    """1 + 1/2 + ... + 1/count."""
    head = min(count, LARGEST_SUM)
    total = float((1.0 / np.arange(1, head + 1)).sum())
    # For a long horizon, an array of all terms might not fit in memory, after all rounds were played. The rest of the
    # sum is the integral between midpoints, to a relative error below 1e-13.
    return total + math.log((count + 0.5) / (head + 0.5))


class ZeroEntries(NamedTuple):
    """Random instances with more than two arms and more than one context, and how many plans have no idle pair."""

    instances: int
    without_idle_pair: int


def random_feasible_instances(count: int, seed: int) -> Iterator[Instance]:
    """Instances with 3 to 8 arms and 2 to 8 contexts; their floors are nine tenths of what some allocation earns."""
    random = np.random.default_rng(seed)
    for _ in range(count):
        n_arms, n_contexts = int(random.integers(3, 9)), int(random.integers(2, 9))
        means = random.random((n_arms, n_contexts))
        probabilities = random.dirichlet(np.ones(n_contexts))
        shares = random.dirichlet(np.ones(n_arms), n_contexts).T
        floors = 0.9 * (probabilities * means * shares).sum(axis=1)
        yield Instance(means, floors, probabilities / probabilities.sum())


def check_zero_entries(instances: int = 200, seed: int = 0) -> ZeroEntries:
    """Lemma "zero entry": with K > 2 and C > 1 the optimal plan leaves some pair idle."""
    drawn = random_feasible_instances(instances, seed)
    return ZeroEntries(instances, sum(not plan(instance).idle_pairs.any() for instance in drawn))
