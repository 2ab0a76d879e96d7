"""The counts of the audit against a slow twin that looks at every round from outside."""

import math

import numpy as np
import pytest

from arcbandit import OLP, OPLP, PricedLP, paper_instance
from arcbandit.errors import InvalidInputError
from arcbandit.kernels.confidence import ByPair
from arcbandit.oracle import analyse
from arcbandit.policies.proven import Proven
from arcbandit.simulation import audit as statements
from arcbandit.simulation.audit import audit
from arcbandit.simulation.epoch import Task, bind, find_optimum, make_run, make_world
from arcbandit.simulation.loop import player_of
from arcbandit.simulation.metrics import Total
from arcbandit.simulation.playable import playable
from tests.simulation.twins import grouped

ROUNDS = 600
NEW = (
    Total.FELL_BACK,
    Total.FELL_BACK_BELOW_MARGIN,
    Total.REGRET_ABOVE_WIDTH,
    Total.SHORTFALL_ABOVE_WIDTH,
    Total.OUTSIDE_ITS_SET,
)


def counted(instance, policy, lean):
    """The counts of one epoch, and the same by a twin; `lean` is +1 if the rule's floors are optimistic, or −1."""
    configured = playable(policy, instance, None, "policy")
    optimum = find_optimum(instance, None)
    end = np.array([ROUNDS], dtype=np.int64)
    task = Task(instance, "it", configured, "gaussian", None, optimum, 0.1, ROUNDS, 3, 0, end, 0)
    run = make_run(make_world(task), bind(task, configured).learner, task)
    play = player_of(configured.kind, run)
    weights, members = instance.context_probabilities, np.eye(instance.n_arms, dtype=bool)
    floors = list(instance.revenue_floors)
    for group in instance.group_floors:
        members = np.vstack([members, [arm in group.arms for arm in instance.arms]])
        floors.append(group.floor)
    margin = analyse(instance).feasibility_margin
    found = dict.fromkeys(NEW, 0)
    sigma = run.learner.settings[0].noise_scale
    by_pair, allocation, totals = run.learner.statistics.by_pair, run.learner.allocation, run.meters.totals
    for t in range(1, ROUNDS + 1):
        before, counts = by_pair.copy(), totals.copy()
        play(t, t)
        planned = totals[Total.SAFE] > counts[Total.SAFE]
        with np.errstate(divide="ignore", invalid="ignore"):
            radius = sigma * np.sqrt(2 * math.log(2 * instance.n_pairs * t) / before[ByPair.PULLS])
            widths = np.where(allocation > 0, 2 * radius * allocation, 0.0)
        width = widths.sum()
        revenue = members @ (weights * instance.mean_rewards * allocation).sum(axis=1)
        if totals[Total.FELL_BACK] > counts[Total.FELL_BACK]:
            found[Total.FELL_BACK] += 1
            found[Total.FELL_BACK_BELOW_MARGIN] += width < margin
        if planned and np.isfinite(width):
            regret = optimum.value - (weights * instance.mean_rewards * allocation).sum()
            found[Total.REGRET_ABOVE_WIDTH] += regret > width + 1e-8
            used = np.where(allocation > 0, before[ByPair.MEAN] + lean * radius, 0.0)
            planned_for = members @ (weights * used * allocation).sum(axis=1)
            part = members @ widths.sum(axis=1)
            short = outside = False
            for row, floor in enumerate(floors):
                if floor > 0:
                    short |= floor - revenue[row] > part[row] + 1e-8
                    outside |= floor - revenue[row] > width + 1e-8
                    outside |= abs(planned_for[row] - floor) < 1e-9 and revenue[row] - floor > width + 1e-8
            found[Total.SHORTFALL_ABOVE_WIDTH] += short
            found[Total.OUTSIDE_ITS_SET] += outside
    return {row: totals[row] for row in NEW}, found


@pytest.mark.slow
@pytest.mark.parametrize("instance", [paper_instance("nu"), paper_instance("nu-margin:0.3"), grouped()], ids=str)
@pytest.mark.parametrize("noise_scale", [1.0, 0.02], ids=["told the noise", "told a fiftieth of it"])
def test_counts_are_those_of_a_slow_twin(instance, noise_scale):
    """Told too little noise the statements fail, so that there is something to count."""
    for policy, lean in ((OLP(noise_scale=noise_scale), 1.0), (OPLP(noise_scale=noise_scale), -1.0)):
        fast, slow = counted(instance, policy, lean)
        assert fast == slow


@pytest.mark.slow
def test_each_of_them_fails_somewhere():
    """In the cases above; a count that is always 0 would prove nothing."""
    seen = dict.fromkeys(NEW, 0.0)
    for instance in (paper_instance("nu"), paper_instance("nu-margin:0.3"), grouped()):
        for policy, lean in ((OLP(noise_scale=0.02), 1.0), (OPLP(noise_scale=0.02), -1.0)):
            fast, _ = counted(instance, policy, lean)
            seen = {row: seen[row] + fast[row] for row in NEW}
    assert all(seen.values()), seen


class TestAnalysisAtHand:
    @pytest.mark.slow
    def test_gives_the_same_audit(self):
        nu = paper_instance("nu")
        assert audit(nu, "olp", 50, epochs=2, analysis=analyse(nu)) == audit(nu, "olp", 50, epochs=2)

    def test_of_another_instance_is_refused(self):
        with pytest.raises(InvalidInputError, match="analysis must be of the same instance"):
            audit(paper_instance("nu"), "olp", 50, analysis=analyse(paper_instance("nu-nominal")))

    def test_must_be_one(self):
        with pytest.raises(InvalidInputError, match="analysis must be an Analysis"):
            audit(paper_instance("nu"), "olp", 50, analysis=7)


class Cautious(OPLP):
    """A rule from outside of which less is proven than of the one that it is made from."""

    name = "cautious"
    proven = frozenset({Proven.NO_VIOLATION})


class Unproven(PricedLP):
    """A rule with soft floors of which nothing is proven."""

    name = "unproven"
    proven = frozenset()


class TestARuleFromOutside:
    def test_says_what_is_counted_of_it(self):
        of_all = [statements.COVERAGE, statements.GAP, statements.MEMBERSHIP]
        found = audit(paper_instance("nu"), Cautious(), 50, epochs=2)
        assert [one.name for one in found.statements] == [*of_all, statements.NO_VIOLATION]
        same = audit(paper_instance("nu"), OPLP(), 50, epochs=2)
        assert [one for one in same.statements if one.name != statements.FALLBACK] == list(found.statements)

    def test_with_soft_floors_must_say_something(self):
        with pytest.raises(InvalidInputError, match="knows no statement about a policy that prices its floors"):
            audit(paper_instance("nu"), Unproven(), 50)
