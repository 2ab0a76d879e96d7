"""An exploration budget: pairs not yet known get at most a share of a context, and known ones keep the floors."""

import json
import math
import threading

import numpy as np
import pytest

from arcbandit import (
    BLP,
    DOC,
    KNOWN_AFTER,
    OLP,
    OPLP,
    SERVICE_EXPLORATION_BUDGET,
    Greedy,
    GroupFloor,
    Instance,
    InvalidInputError,
    ThompsonLP,
    paper_instance,
    restore,
    simulate,
    solve_lp,
)
from arcbandit.kernels.confidence import ByPair
from arcbandit.policies.learner import Outcome, Progress
from arcbandit.simulation.delays import Delay
from tests.long import each_of
from tests.simulation.twins import Twin, compiled_rounds, make_task, play_beside

NU = paper_instance("nu")
ROUNDING = 1e-12
ARMS = tuple(f"arm {number}" for number in range(10))
MIX = np.full(4, 0.25)
SIGMA = 0.4
FLOOR = 0.005


def seasoned(kind, true, pulls, **settings):
    """A policy of ten arms in four contexts, each pair seen so many times."""
    decider = kind(dict.fromkeys(ARMS, FLOOR), MIX, noise_scale=SIGMA, seed=3, **settings)
    random = np.random.default_rng(1)
    columns, rows = (index.ravel().repeat(pulls) for index in np.meshgrid(range(4), range(10)))
    rewards = true[rows, columns] + SIGMA * random.normal(size=columns.size)
    decider.update_many(columns.tolist(), [ARMS[row] for row in rows], rewards.tolist())
    return decider


def serve(decider, true, visits, seed):
    """Serve so many visits of each context, in random order.

    Return what the last arm got of each, the least and most that it could have got by a decision's probabilities, and
    the least revenue of any other arm, by true means, relative to its floor.
    """
    random = np.random.default_rng(seed)
    order = random.permutation(np.repeat(np.arange(4), visits))
    got, lowest, highest, least = np.zeros(4), 1.0, 0.0, math.inf
    rows = {arm: row for row, arm in enumerate(decider.arms)}
    for context in order.tolist():
        decision = decider.decide(context)
        row = rows[decision.arm]
        shares = decider.allocation()
        assert decision.probability == shares[row, context]
        got[context] += row == len(ARMS)
        lowest, highest = min(lowest, shares[-1].min()), max(highest, shares[-1].max())
        least = min(least, (MIX * true * shares).sum(axis=1)[:-1].min() / FLOOR)
        decider.update(context, decision.arm, float(true[row, context] + SIGMA * random.normal()))
    return got, lowest, highest, least


class TestANewcomer:
    """A provider joins ten that are known, and earns more than any of them everywhere."""

    true = np.vstack([np.random.default_rng(0).uniform(0.3, 0.7, (10, 4)), np.full((1, 4), 0.9)])

    @pytest.mark.slow
    @pytest.mark.parametrize("budget", [0.02, SERVICE_EXPLORATION_BUDGET, 0.3])
    def test_gets_its_budget_of_each_context_while_floors_are_kept(self, budget):
        """Of the next 2,000 visits of each context: the probability is the budget in every decision, to the last bit.

        (A plan with all pairs would give it more than half of every context.) Its part is then binomial: in four
        contexts, five standard deviations are passed by chance less than once in 50,000 times. All floors are kept in
        every decision, by true means, as OPLP's lower bounds promise; these fail with a probability of 1/t, t above
        40,000, per round by the theory, which is far from tight.
        """
        decider = seasoned(OPLP, self.true, 1000, exploration_budget=budget, known_after=1000)
        decider.add_arm("newcomer")
        got, lowest, highest, least = serve(decider, self.true, 2000, seed=2)
        assert lowest == highest == budget
        most = 2000 * budget + 5 * math.sqrt(2000 * budget * (1 - budget))
        assert (got <= most).all()
        assert (got >= 2 * 2000 * budget - most).all()
        assert least >= 1.0 - 1e-9

    @pytest.mark.slow
    def test_gets_at_most_the_service_budget_by_default_settings(self):
        """Of the first 2,000 visits in all, 500 of each context: in these it is not yet known anywhere.

        By chance, five standard deviations are passed less than once in 100,000 times.
        """
        decider = seasoned(BLP, self.true, 1000, exploration_budget=SERVICE_EXPLORATION_BUDGET)
        decider.add_arm("newcomer", FLOOR)
        got, _, highest, least = serve(decider, self.true, 500, seed=2)
        assert highest == SERVICE_EXPLORATION_BUDGET
        assert (got <= 50 + 5 * math.sqrt(500 * 0.1 * 0.9)).all()
        assert got.sum() <= 200 + 5 * math.sqrt(2000 * 0.1 * 0.9)
        # BLP plans floors with means of 1,000 rewards, which are out by 0.4 / sqrt(1000) = 2.5 % of a mean of 0.5, one
        # in a million times by five times as much.
        assert least >= 1.0 - 0.125

    @pytest.mark.slow
    def test_gets_most_of_the_traffic_without_a_budget(self):
        """Which is what the budget is for."""
        decider = seasoned(OLP, self.true, 1000)
        decider.add_arm("newcomer", FLOOR)
        got, _, highest, least = serve(decider, self.true, 2000, seed=2)
        assert highest == 1.0
        assert got.sum() / 8000 > 0.5
        assert least == 0.0

    def test_is_explored_by_the_budget_until_it_is_known(self):
        decider = seasoned(OLP, self.true, 50, exploration_budget=0.2, known_after=50)
        decider.add_arm("newcomer", FLOOR)
        for pull in range(50):
            assert decider.decide(0).probability <= 0.8 + ROUNDING
            assert decider.allocation()[-1, 0] == 0.2
            decider.update(0, "newcomer", 10.0)
            assert decider.pulls()[-1, 0] == pull + 1
        decider.decide(0)
        assert decider.allocation()[-1, 0] > 0.9  # it earns ten times what others do

    def test_a_prior_counts(self):
        decider = seasoned(OLP, self.true, 50, exploration_budget=0.2, known_after=50)
        decider.add_arm("newcomer", FLOOR, prior_mean=10.0, prior_pulls=49)
        decider.decide(0)
        assert decider.allocation()[-1].tolist() == [0.2] * 4
        decider.update(0, "newcomer", 10.0)
        decider.decide(0)
        assert decider.allocation()[-1, 0] > 0.9

    def test_its_own_floor_waits_until_it_is_known_somewhere(self):
        """Only exploring can earn it; a plan of known pairs that must keep it would fall short for ever."""
        decider = seasoned(BLP, self.true, 100, exploration_budget=0.1, known_after=100)
        decider.add_arm("newcomer", 0.1)
        decider.add_group("alone", ["newcomer"], 0.1)
        decider.add_group("together", ["newcomer", "arm 0"], 0.03)
        assert not decider.decide(0).outcome & Outcome.FELL_SHORT
        wanted = [FLOOR] * 10 + [-1e200, -1e200, 0.03]
        assert decider.learner.budget.floors.tolist() == wanted
        decider.update_many([0] * 100, ["newcomer"] * 100, [0.6] * 100)
        decider.decide(0)
        assert decider.learner.budget.floors.tolist() == [FLOOR] * 10 + [0.1, 0.1, 0.03]


def planned(upper, revenue, mix, available, floors):
    """The plan of a linear-program rule with these bounds: its own, or the fallback's."""
    problem = {"revenue_floors": floors, "context_probabilities": mix, "available": available}
    own = solve_lp(upper, revenue, **problem, on_infeasible="least_shortfall")
    if own.status == 0:
        return own.allocation
    return solve_lp(upper, upper, **problem, on_infeasible="least_shortfall").allocation


def bounds_of(decider, t, radii):
    """Mean + so many radii, of round t."""
    statistics = decider.learner.statistics
    factor = decider.noise_scale * math.sqrt(2 * math.log(2 * decider.learner.allocation.size * t))
    return statistics.by_pair[ByPair.MEAN] + radii * factor * statistics.by_pair[ByPair.INVERSE_ROOT]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [OLP, OPLP])
@pytest.mark.parametrize("shape", [(4, 3), (6, 8)], ids=["few", "more"])
def test_every_allocation_is_the_one_put_together_afresh(kind, shape):
    """From two plans by `solve_lp`: with all pairs, and with known pairs alone in what is left of each context."""
    random = np.random.default_rng(5)
    means = random.random(shape)
    mix = random.dirichlet(np.full(shape[1], 5.0))
    floors = 0.6 * (mix * means * random.dirichlet(np.ones(shape[0]), shape[1]).T).sum(axis=1)
    available = random.random(shape) < 0.85
    available[0] = True
    budget, known_after = 0.15, 30
    decider = kind(
        floors, mix, available=available, noise_scale=0.1, exploration_budget=budget, known_after=known_after
    )
    for arm, context in np.argwhere(available).tolist():
        for _ in range(int(random.integers(1, 60))):
            decider.update(context, arm, float(means[arm, context] + 0.1 * random.normal()))
    limited = 0
    for _ in range(400):
        context = int(random.choice(shape[1], p=mix))
        decision = decider.decide(context)
        upper = bounds_of(decider, decision.round_number, 1.0)
        revenue = upper if kind is OLP else bounds_of(decider, decision.round_number, -1.0)
        wanted = planned(upper, revenue, mix, available, floors)
        known = available & (decider.pulls() >= known_after)
        usable = np.where(known.any(axis=0), known, available)
        others = np.where(available & ~usable, wanted, 0.0)
        asked = others.sum(axis=0)
        if (asked > budget).any():
            limited += 1
            given = np.minimum(asked, budget)
            scaled = others * np.divide(given, asked, out=np.zeros_like(asked), where=asked > 0)
            kept = np.where(known.any(axis=1), floors, 0.0)
            second = planned(upper, revenue, mix * (1 - given), usable, kept)
            wanted = scaled + (1 - given) * second
        np.testing.assert_allclose(decider.allocation(), wanted, atol=1e-8)
        reward = means[decision.arm, context] + 0.1 * random.normal()
        decider.update(context, decision.arm, float(reward))
    assert limited > 50
    assert limited < 400 or shape == (6, 8)  # where pairs are few, all become known


GROUPED = Instance(
    NU.mean_rewards, NU.revenue_floors / 2, NU.context_probabilities, group_floors=[GroupFloor("two", ("1", "2"), 1.0)]
)
SETTINGS = [
    {},
    {"replan": 7},
    {"estimate_contexts": True},
    {"memory": 60},
    {"when_infeasible": "same_share"},
    {"noise_scale": "estimate"},
]


@pytest.mark.parametrize("kind", each_of([OPLP], [OLP, OPLP, BLP, Greedy, ThompsonLP]))
@pytest.mark.parametrize("settings", each_of([{}, {"replan": 7, "memory": 60}], SETTINGS), ids=str)
@pytest.mark.parametrize("delay", each_of([None], [None, Delay(mean=10, lost=0.1)]))
def test_the_loop_keeps_the_budget_as_a_policy_at_work_does(kind, settings, delay):
    limited = []
    task = make_task(kind(exploration_budget=0.1, known_after=15, **settings), GROUPED, 400, delay=delay)
    play_beside(task, lambda bound, _: limited.append(is_limited(bound)))
    assert sum(limited) > 20


def is_limited(decider):
    """Whether some context has known pairs, and others that get the budget."""
    return bool(np.isclose(shares_of_unknown(decider), decider.exploration_budget, atol=ROUNDING).any())


def shares_of_unknown(decider):
    """What pairs that are not yet known have together of each context at work that has a known one."""
    problem, statistics = decider.learner.problem, decider.learner.statistics
    known = statistics.by_pair[ByPair.PULLS] >= decider.known_after
    parted = (problem.available & known).any(axis=0) & ~statistics.dropped
    return np.where(problem.available & ~known, decider.allocation(), 0.0).sum(axis=0)[parted]


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(5, 4), (8, 150)], ids=["few", "many"])
@pytest.mark.parametrize("kind", [BLP, OPLP, ThompsonLP])
def test_a_twin_restored_again_and_again_plays_the_same(kind, shape):
    """The second planner's basis is part of the snapshot, as it decides ties."""
    random = np.random.default_rng(0)
    instance = Instance(random.random(shape), np.full(shape[0], 0.02), np.full(shape[1], 1 / shape[1]), noise_scale=0.2)
    task = make_task(kind(exploration_budget=0.1, known_after=3), instance, 900)
    bound, _, play = compiled_rounds(task)
    twin = Twin(task)
    for t in range(1, 901):
        if t % 90 == 37:
            snapshot = json.loads(json.dumps(twin.decider.snapshot()))
            twin.decider = restore(snapshot)
            assert twin.decider.snapshot() == snapshot
        play(t)
        twin.play(t)
        assert (bound.allocation() == twin.decider.allocation()).all()
    assert (bound.learner.statistics.by_pair == twin.decider.learner.statistics.by_pair).all()
    assert twin.decider.exploration_budget == 0.1
    assert twin.decider.known_after == 3


def test_until_something_is_known_it_plays_as_without():
    free, held = BLP([0.1, 0.1], [1.0], seed=1), BLP([0.1, 0.1], [1.0], seed=1, exploration_budget=0.05, known_after=40)
    random = np.random.default_rng(0)
    while held.pulls().max() < 40:
        decision = held.decide(0)
        assert decision == free.decide(0)
        reward = float(random.normal())
        for decider in (free, held):
            decider.update(0, decision.arm, reward)
    held.decide(0)
    assert shares_of_unknown(held)[0] <= 0.05


def test_without_a_budget_nothing_is_compiled_or_kept():
    """Not even with a budget of 1: the policy has the kernels of one that says nothing of it."""
    plain, told = (BLP([0.1, 0.1], [1.0], noise_scale=1.0, **told) for told in ({}, {"exploration_budget": 1}))
    assert told.learner.budget == ()
    assert told._state.kernels == plain._state.kernels
    assert told.snapshot() == plain.snapshot()
    assert told.label == "blp"
    limited = BLP([0.1, 0.1], [1.0], noise_scale=1.0, exploration_budget=0.5)
    assert limited._state.kernels != plain._state.kernels


@pytest.mark.slow
def test_a_life_within_the_budget():
    """Whatever is changed, no context gives more than the budget to pairs that are not known, if it has known ones."""
    random = np.random.default_rng(7)
    decider = BLP(
        {"a": 0.05, "b": 0.05, "c": 0.0},
        contexts=["x", "y", "z"],
        exploration_budget=0.2,
        known_after=25,
        memory=400,
        admit_contexts=2,
        seed=1,
    )
    changes = {
        150: lambda: decider.add_arm("d", 0.05),
        300: lambda: decider.set_available("a", "x", False),
        350: lambda: decider.retire_arm("b"),
        450: lambda: decider.set_available("a", "x", True),
        500: lambda: decider.return_arm("b", 0.05),
        600: lambda: decider.drop_context("y"),
        700: lambda: decider.add_group("both", ["a", "d"], 0.1),
        800: lambda: decider.add_context("y"),
        900: lambda: decider.set_floor("a", 0.2),
        1000: lambda: decider.decide("watch"),
        1100: lambda: decider.set_group("both", arms=["b", "d"], floor=0.2),
        1300: lambda: decider.add_arm("e", available=[True, False, True, False]),
    }
    limited = 0
    for step in range(2000):
        if step in changes:
            changes[step]()
        at_work = [name for name in decider.contexts if name not in decider.dropped_contexts]
        context = at_work[int(random.integers(len(at_work)))]
        decision = decider.decide(context)
        shares, available = decider.allocation(), decider.learner.problem.available
        assert (shares >= 0).all()
        assert (shares[~available] == 0).all()
        np.testing.assert_allclose(shares.sum(axis=0), 1.0, atol=1e-9)
        assert (shares_of_unknown(decider) <= 0.2 + ROUNDING).all()
        limited += is_limited(decider)
        decider.update(context, decision.arm, float(0.5 + 0.1 * random.normal()))
    assert limited > 300


def test_a_pair_that_is_forgotten_is_unknown_again():
    decider = OLP([0.0, 0.0], [1.0], memory=100, exploration_budget=0.1, known_after=30, noise_scale=5.0, seed=1)
    decider.update_many([0] * 100, [0, 1] * 50, [1.0, 0.0] * 50)
    free = held = 0
    for _ in range(1000):
        decision = decider.decide(0)
        counts = decider.pulls()[:, 0]
        if (counts >= 30).all():
            free += decider.allocation().max() == 1.0
        elif (counts >= 30).any():
            assert decider.allocation()[counts < 30].sum() <= 0.1 + ROUNDING
            held += 1
        decider.update(0, decision.arm, 1.0 - decision.arm)
    assert free > 20
    assert held > 20


def test_the_budget_can_be_changed_at_work():
    """Nothing else changes: what was learnt, the floors, and the numbers of decisions stay."""
    decider = seasoned(OLP, TestANewcomer.true, 40)
    decider.add_arm("newcomer")
    before = decider.snapshot()
    decider.set_exploration_budget(0.1, known_after=40)
    after = decider.snapshot()
    assert after["statistics"] == before["statistics"]
    differing = {name for name, value in after["configuration"].items() if value != before["configuration"][name]}
    assert differing == {"exploration_budget", "known_after"}
    decider.decide(0)
    assert decider.allocation()[-1].tolist() == [0.1] * 4
    decider.set_exploration_budget(0.2)
    assert decider.known_after == 40
    assert restore(decider.snapshot()).decide(1) == decider.decide(1)
    assert decider.allocation()[-1].tolist() == [0.2] * 4
    decider.set_exploration_budget(1)
    assert decider.learner.budget == ()
    decider.decide(0)
    assert decider.allocation()[-1].tolist() == [1.0] * 4
    untouched = decider.snapshot()
    for settings in ({"exploration_budget": 2}, {"exploration_budget": 0.1, "known_after": 0}):
        with pytest.raises(InvalidInputError):
            decider.set_exploration_budget(**settings)
    assert decider.snapshot() == untouched
    with pytest.raises(InvalidInputError, match="exploration_budget must be 1 for DOC"):
        DOC([0.1], [1.0]).set_exploration_budget(0.1)


def test_late_rewards_leave_a_pair_unknown():
    """A pair is known by the rewards that came, not by the decisions that were made."""
    decider = seasoned(OLP, TestANewcomer.true, 20, exploration_budget=0.1, known_after=20)
    decider.add_arm("newcomer")
    shares = decider.decide_many([0, 1, 2, 3] * 500).probabilities
    assert decider.allocation()[-1].tolist() == [0.1] * 4
    assert ((shares == 0.1) | (shares <= 0.9)).all()


def test_threads_keep_it_together():
    decider = seasoned(OLP, TestANewcomer.true, 20, exploration_budget=0.1, known_after=300)
    for context in range(4):
        for arm in ARMS:
            decider.update_many([context] * 300, [arm] * 300, [0.5] * 300)
    decider.add_arm("newcomer")
    beyond = []

    def work(number):
        for step in range(300):
            decision = decider.decide((number + step) % 4)
            if decision.arm == "newcomer" and decision.probability != 0.1:
                beyond.append(decision)
            decider.update(decision.context, decision.arm, 0.6)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert beyond == []
    assert decider.pulls()[-1].sum() > 0
    assert decider.learner.progress[Progress.DECISIONS] == 1200


def test_workers_that_are_merged_know_what_both_saw():
    start = seasoned(OLP, TestANewcomer.true, 40, exploration_budget=0.1, known_after=40)
    start.add_arm("newcomer")
    origin = start.snapshot()
    first, second = restore(origin, worker=1), restore(origin, worker=2)
    for worker in (first, second):
        worker.update_many([0] * 20, ["newcomer"] * 20, [5.0] * 20)
        worker.decide(0)
        assert worker.allocation()[-1, 0] == 0.1
    first.merge(second, since=origin)
    first.decide(0)
    assert first.allocation()[-1, 0] > 0.9


@pytest.mark.parametrize("budget", [0, -0.1, 1.1, math.nan, math.inf, "much", None, True, [0.1], 1e-9])
def test_a_budget_that_cannot_be_is_refused(budget):
    with pytest.raises(InvalidInputError, match="exploration_budget must be a share from 1e-06 to 1"):
        BLP(exploration_budget=budget)


@pytest.mark.parametrize("count", [0, -1, 2.5, math.nan, "many", None, True])
def test_a_count_that_cannot_be_is_refused(count):
    with pytest.raises(InvalidInputError, match="known_after must be"):
        BLP(known_after=count)


def test_a_rule_that_does_not_plan_has_no_budget():
    with pytest.raises(InvalidInputError, match="exploration_budget must be 1 for DOC, which does not plan"):
        DOC(exploration_budget=0.1)


def test_nothing_is_proven_within_a_budget():
    with pytest.raises(InvalidInputError, match=r"explores freely.* exploration_budget 0\.1"):
        simulate(NU, {"it": OLP(exploration_budget=0.1)}, 10, suboptimality_gap=0.1)


def test_labels_tell_policies_apart():
    policies = [OLP(), OLP(exploration_budget=0.1), OLP(exploration_budget=0.1, known_after=9), OLP(known_after=9)]
    assert [chosen.label for chosen in policies] == ["olp", "olp(budget=0.1)", "olp(budget=0.1, known_after=9)", "olp"]
    assert OLP().known_after == KNOWN_AFTER


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda snapshot: snapshot["configuration"].update(exploration_budget=2.0), "exploration_budget must be"),
        (lambda snapshot: snapshot["configuration"].update(exploration_budget="0.1"), "a finite number"),
        (
            lambda snapshot: snapshot["configuration"].update(exploration_budget=1.0),
            "None without an exploration budget",
        ),
        (lambda snapshot: snapshot["configuration"].update(known_after=0), "a whole number from 1"),
        (lambda snapshot: snapshot["planner"].update(known_basis=None), r"known_basis'\] must be a dict"),
        (lambda snapshot: snapshot["planner"]["known_basis"]["key"][0].__setitem__(0, 9), "known_basis.*arms below 2"),
        (lambda snapshot: snapshot["planner"].pop("known_basis"), "'known_basis' is missing"),
    ],
)
def test_a_snapshot_that_no_policy_wrote_is_refused(change, words):
    decider = BLP([0.1, 0.1], [0.5, 0.5], exploration_budget=0.1, known_after=5, seed=4)
    for step in range(60):
        decider.update(step % 2, decider.decide(step % 2).arm, 1.0)
    edited = json.loads(json.dumps(decider.snapshot()))
    change(edited)
    with pytest.raises(InvalidInputError, match=words):
        restore(edited)
