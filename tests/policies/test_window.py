"""Policies whose rewards count for a window of rounds, and what is forgotten of contexts."""

import copy
import json
import math
import pickle
from collections import deque

import numpy as np
import pytest

from arcbandit import (
    BLP,
    DOC,
    OLP,
    Delay,
    Drift,
    Greedy,
    Instance,
    InvalidInputError,
    ThompsonLP,
    Window,
    paper_instance,
    policy,
    restore,
    simulate,
    solve_lp,
)
from arcbandit.kernels.confidence import ByPair
from arcbandit.kernels.fading import block_of, share_of
from arcbandit.kernels.window import Count, Kept
from arcbandit.policies.forgetting import LONGEST_WINDOW
from arcbandit.policies.learner import Outcome
from arcbandit.simulation import run
from arcbandit.simulation.epoch import play_task
from tests.long import each_of
from tests.simulation.twins import make_task, play_beside

NU = paper_instance("nu")


class Recount:
    """A policy beside a plain list of what came in which round."""

    def __init__(self, decider, rounds):
        self.decider, self.rounds = decider, rounds
        self.decisions = self.heard = 0
        self.rewards, self.contexts = deque(), deque()

    def now(self):
        return max(self.decisions, self.heard)

    def decide(self, context):
        decision = self.decider.decide(context)
        self.decisions += 1
        self.forget()
        self.contexts.append((self.now(), context))
        self.forget()
        return decision.arm

    def learn(self, context, arm, reward):
        self.heard += 1
        self.rewards.append((self.now(), context, arm, reward))
        self.forget()

    def forget(self):
        for kept in (self.rewards, self.contexts):
            while kept and (kept[0][0] < self.now() - self.rounds or len(kept) > self.rounds):
                kept.popleft()

    def compare(self):
        n_arms, n_contexts = self.decider.allocation().shape
        by_pair = [[[] for _ in range(n_contexts)] for _ in range(n_arms)]
        for _, context, arm, reward in self.rewards:
            by_pair[arm][context].append(reward)
        pulls = np.array([[len(rewards) for rewards in row] for row in by_pair], dtype=float)
        means = np.array([[math.fsum(rewards) / max(1, len(rewards)) for rewards in row] for row in by_pair])
        statistics = self.decider.learner.statistics.by_pair
        assert (self.decider.pulls() == pulls).all()
        assert (statistics[ByPair.INVERSE_ROOT][pulls == 0] == 0).all()
        np.testing.assert_allclose(statistics[ByPair.MEAN], means, rtol=1e-13, atol=1e-13)


# Each is a loop of its own to compile.
WINDOWED_LOOPS = [
    (OLP, {}, None),
    (BLP, {"estimate_contexts": True, "replan": 7}, Delay(mean=10, lost=0.1)),
    (BLP, {"replan": 7}, None),
    (BLP, {"estimate_contexts": True}, Delay(mean=10, lost=0.1)),
    (Greedy, {"estimate_contexts": True, "replan": 3}, None),
    (ThompsonLP, {}, Delay(5)),
    (OLP, {"noise_scale": "estimate"}, None),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "settings", "delay"),
    each_of(WINDOWED_LOOPS[:2], WINDOWED_LOOPS),
    ids=str,
)
def test_the_loop_has_the_window_of_a_policy_at_work(kind, settings, delay):
    bound, twin = play_beside(make_task(kind(memory=Window(60), **settings), NU, 400, delay=delay))
    assert (bound.learner.past.by_context == twin.decider.learner.past.by_context).all()


@pytest.mark.parametrize("rounds", [1, 2, 7, 50])
@pytest.mark.parametrize("seed", range(3))
def test_counts_and_means_are_those_of_the_last_rounds(rounds, seed):
    """Whatever the order of decisions, late rewards and logs: a recount with exact sums."""
    random = np.random.default_rng([rounds, seed])
    decider = OLP([0.1, 0.1, 0.0], memory=Window(rounds), contexts=2, seed=seed)
    recount = Recount(decider, rounds)
    waiting = []
    for _ in range(300):
        move = random.integers(4)
        if move < 2:
            context = int(random.integers(2))
            waiting.append((context, recount.decide(context)))
        elif move == 2 and waiting:
            for context, arm in waiting[: int(random.integers(1, 4))]:
                reward = float(random.normal(scale=10.0 ** random.integers(0, 3)))
                decider.update(context, arm, reward)
                recount.learn(context, arm, reward)
            waiting = waiting[3:]
        elif random.random() < 0.2:
            count = int(random.integers(1, 2 * rounds))
            contexts, arms = random.integers(2, size=count).tolist(), random.integers(3, size=count).tolist()
            rewards = random.normal(size=count).tolist()
            decider.update_many(contexts, arms, rewards, count_contexts=True)
            for context, arm, reward in zip(contexts, arms, rewards, strict=True):
                recount.learn(context, arm, reward)
                recount.contexts.append((recount.now(), context))
                recount.forget()
        recount.compare()
        seen = [sum(context == which for _, context in recount.contexts) for which in range(2)]
        assert decider.learner.past.by_context.tolist() == seen


def test_what_left_leaves_no_trace():
    """Sums that were subtracted from would keep what a reward of 1e15 rounded off."""
    decider = OLP([0.0], [1.0], memory=Window(5))
    for reward in [1e15, 0.1, 0.2, 0.3, 0.4, 0.5]:
        decider.update(0, 0, reward)
    assert decider.learner.statistics.by_pair[ByPair.MEAN, 0, 0] == pytest.approx(0.3, rel=1e-15)


@pytest.mark.slow
def test_ten_million_rounds_round_no_more_than_the_window():
    """The means are those of the rewards in the window, as exact sums have them, up to the rounding of one such sum."""
    task = make_task(OLP(memory=Window(900)), NU, 10_000_000)
    learner = play_task(task).learner
    past, by_pair = learner.past, learner.statistics.by_pair
    assert past.counts[Count.REWARDS] == 900
    for arm, context in np.ndindex(NU.mean_rewards.shape):
        here = (past.places[Kept.ARM] == arm) & (past.places[Kept.CONTEXT] == context)
        assert by_pair[ByPair.PULLS, arm, context] == here.sum()
        if here.any():
            rewards = past.rewards[here].tolist()
            rounding = len(rewards) * 2.0**-52 * math.fsum(map(abs, rewards)) / len(rewards)
            assert abs(by_pair[ByPair.MEAN, arm, context] - math.fsum(rewards) / len(rewards)) <= rounding


def test_a_pair_whose_rewards_have_left_is_explored_again():
    decider = Greedy([0.0, 0.0], [1.0], memory=Window(20), seed=1)
    decider.update_many([0, 0], [0, 1], [1.0, 0.0])
    played = []
    for _ in range(100):
        decision = decider.decide(0)
        played.append(decision.arm)
        explores = decider.pulls()[decision.arm, 0] == 0.0
        assert bool(decision.outcome & Outcome.EXPLORED) == explores
        decider.update(0, decision.arm, 1.0 - decision.arm)
    # Once in 20 rounds and one: it leaves 20 rounds after it came, and comes in the next.
    assert [place for place, arm in enumerate(played) if arm == 1] == [20, 41, 62, 83]


@pytest.mark.parametrize("name", ["olp", "oplp"])
@pytest.mark.parametrize("shape", [(4, 6), (12, 15)], ids=["few", "many"])
def test_every_plan_is_the_one_planned_afresh(name, shape):
    """What the planner keeps from round to round takes in that old rewards leave; pairs are known in most rounds."""
    random = np.random.default_rng(5)
    means = random.random(shape)
    mix = np.full(shape[1], 1 / shape[1])
    floors = 0.5 * (mix * means * random.dirichlet(np.ones(shape[0]), shape[1]).T).sum(axis=1)
    instance = Instance(means, floors, mix, noise_scale=0.02)
    length = 25 * means.size
    decider = policy(name, memory=Window(length)).for_instance(instance, seed=1)
    for _ in range(20):
        for arm, context in np.ndindex(shape):
            decider.update(context, arm, means[arm, context] + 0.02 * random.normal())
    compared = 0
    for step in range(2 * length):
        t = decider.round_number
        context = int(random.integers(shape[1]))
        decision = decider.decide(context)
        if (decider.pulls() > 0).all() and step % 20 == 0:
            by_pair = decider.learner.statistics.by_pair
            radius = 0.02 * math.sqrt(2 * math.log(2 * means.size * t)) * by_pair[ByPair.INVERSE_ROOT]
            high, low = by_pair[ByPair.MEAN] + radius, by_pair[ByPair.MEAN] - radius
            own = solve_lp(high, low if name == "oplp" else high, floors, mix, on_infeasible="least_shortfall")
            wanted = own if own.status == 0 else solve_lp(high, high, floors, mix, on_infeasible="least_shortfall")
            np.testing.assert_allclose(decider.allocation(), wanted.allocation, atol=1e-8)
            compared += 1
        arm = instance.arms.index(decision.arm)
        decider.update(context, arm, means[arm, context] + 0.02 * random.normal())
    assert compared > 20


def used(kind=BLP, steps=90, **settings):
    """A policy that has decided, with rewards that came late, and some on the way."""
    decider = kind([0.1, 0.1], contexts=2, memory=Window(25), seed=4, **settings)
    waiting = []
    for step in range(steps):
        waiting.append((step % 2, decider.decide(step % 2).arm, 0.1 * step))
        if step % 3 == 2:
            for context, arm, reward in waiting[:3]:
                decider.update(context, arm, reward)
            waiting = waiting[3:]
    return decider


@pytest.mark.parametrize("steps", [1, 24, 25, 26, 70, 77, 90])
@pytest.mark.parametrize("kind", [BLP, ThompsonLP])
def test_goes_on_from_a_snapshot_as_it_would_have(kind, steps):
    original = used(kind, steps)
    written = original.snapshot()
    twins = [restore(json.loads(json.dumps(written))), pickle.loads(pickle.dumps(original)), copy.deepcopy(original)]
    for twin in twins:
        assert twin.memory == Window(25)
        assert twin.snapshot() == written
    for step in range(80):
        decision = original.decide(step % 2)
        original.update(step % 2, decision.arm, 0.3 * step)
        for twin in twins:
            assert twin.decide(step % 2) == decision
            twin.update(step % 2, decision.arm, 0.3 * step)
    for twin in twins:
        assert twin.snapshot() == original.snapshot()


def test_a_snapshot_holds_the_rewards_of_the_window_alone():
    """So a long window of which little is used is short in a snapshot."""
    decider = OLP([0.1], [1.0], memory=Window(LONGEST_WINDOW))
    decider.update_many([0] * 3, [0] * 3, [0.5, 0.25, 1.0])
    assert decider.snapshot()["statistics"]["past"] == {
        "earned": [1.75],
        "rewards": [0.5, 0.25, 1.0],
        "rounds": [1, 2, 3],
        "arms": [0, 0, 0],
        "contexts": [0, 0, 0],
        "summed": 0,
        "seen_rounds": [],
        "seen_contexts": [],
    }


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda past: past.pop("summed"), "a dict of earned, rewards, rounds"),
        (lambda past: past.update(summed=26), "a whole number from 0 to"),
        (lambda past: past.update(summed=True), "a whole number from 0 to"),
        (lambda past: past["rewards"].pop(), r"\['rounds'\].* a list of"),
        (lambda past: past["rewards"].__setitem__(0, 99.0), "those of the means"),
        (lambda past: past["rewards"].__setitem__(0, math.nan), "a list of numbers"),
        (lambda past: past["rewards"].__setitem__(0, "1"), "a list of numbers"),
        (lambda past: past["earned"].__setitem__(0, math.inf), "a list of numbers"),
        (lambda past: past["earned"].pop(), r"\['earned'\].* a list of 2"),
        (lambda past: past["arms"].__setitem__(0, 2), "from 0 to below 2"),
        (lambda past: past["arms"].__setitem__(0, -1), "from 0 to below 2"),
        (lambda past: past["arms"].__setitem__(0, 1 - past["arms"][0]), "as many of each pair as its count"),
        (lambda past: past["contexts"].__setitem__(0, 10**30), "a list of whole numbers"),
        (lambda past: past["rounds"].__setitem__(0, past["rounds"][0] - 30), "rounds from"),
        (lambda past: past["rounds"].__setitem__(-1, 10**9), "rounds from"),
        (lambda past: past["rounds"].__setitem__(0, past["rounds"][-1]), "none before the last"),
        (lambda past: past["seen_rounds"].append(past["seen_rounds"][-1]), "seen_rounds|seen_contexts"),
        (lambda past: past["seen_contexts"].__setitem__(0, 7), "from 0 to below 2"),
    ],
)
def test_a_window_that_no_policy_wrote_is_refused(change, words):
    edited = json.loads(json.dumps(used().snapshot()))
    change(edited["statistics"]["past"])
    with pytest.raises(InvalidInputError, match=words):
        restore(edited)


@pytest.mark.parametrize("memory", [{"window": 0}, {"window": 2.5}, {"window": True}, {"rounds": 5}, {}, [25], "25"])
def test_a_memory_that_no_policy_wrote_is_refused(memory):
    edited = json.loads(json.dumps(used().snapshot()))
    edited["configuration"]["memory"] = memory
    with pytest.raises(InvalidInputError, match=r"snapshot\['configuration'\]\['memory'\] must be a finite number or"):
        restore(edited)


@pytest.mark.parametrize("rounds", [0, -5, 2.5, math.nan, math.inf, "5", True, None, LONGEST_WINDOW + 1])
def test_a_window_that_cannot_be_is_refused(rounds):
    with pytest.raises(InvalidInputError, match="rounds of a Window must be"):
        Window(rounds)


def test_what_cannot_be_played_is_refused(monkeypatch):
    with pytest.raises(InvalidInputError, match="memory must be None for DOC"):
        DOC(memory=Window(100))
    with pytest.raises(InvalidInputError, match="Policies with memory cannot be merged"):
        used().merge(used())
    before = used()
    written = before.snapshot()
    with pytest.raises(InvalidInputError, match="prior_mean must be None with a Window"):
        before.add_arm(prior_mean=0.5, prior_pulls=3)
    assert before.snapshot() == written
    monkeypatch.setattr(run, "use_cuda", lambda _: True)
    with pytest.raises(InvalidInputError, match="memory must not be a Window on device 'cuda'"):
        simulate(NU, OLP(memory=Window(10)), horizon=10, device="cuda")
    with pytest.raises(InvalidInputError, match="noise_scale must be a number on device 'cuda'"):
        simulate(NU, OLP(noise_scale="estimate"), horizon=10, device="cuda")


def test_labels_and_equality():
    trace = simulate(NU, [OLP(), OLP(memory=Window(100)), OLP(memory=100)], horizon=10)
    assert trace.policies == ("olp", "olp(window=100)", "olp(memory=100)")
    assert Window(100) == Window(100.0) != Window(101)
    assert OLP(memory=Window(5)).for_instance(NU).memory == Window(5)


def test_a_life_that_changes_keeps_the_window():
    """Arms and contexts come and go while rewards leave: a recount holds throughout."""
    random = np.random.default_rng(8)
    decider = BLP([0.05, 0.05], memory=Window(40), contexts=2, seed=8)
    recount = Recount(decider, 40)
    changes = {
        30: lambda: decider.add_arm(floor=0.02),
        60: lambda: decider.add_context(),
        90: lambda: decider.retire_arm(0),
        120: lambda: decider.drop_context(1),
        150: lambda: decider.return_arm(0),
        170: lambda: decider.add_context(1),
        200: lambda: decider.set_floor(1, 0.1),
        220: lambda: decider.set_available(1, 0, False),
    }
    for step in range(300):
        changes.get(step, lambda: None)()
        if step % 77 == 0:
            decider = recount.decider = restore(json.loads(json.dumps(decider.snapshot())))
        at_work = [context for context in decider.contexts if context not in decider.dropped_contexts]
        context = int(random.choice(at_work))
        arm = recount.decide(context)
        reward = float(random.normal())
        decider.update(context, arm, reward)
        recount.learn(context, arm, reward)
        recount.compare()
        counts = np.bincount([seen for _, seen in recount.contexts], minlength=len(decider.contexts))
        assert (decider.learner.past.by_context == counts).all()


@pytest.mark.parametrize("half_life", [1, 40, 333.3])
def test_estimated_probabilities_fade_with_the_rewards(half_life):
    """A recount: a context that came b blocks of rounds ago counts share^b, beside one round spread evenly."""
    decider = OLP([0.1, 0.1], contexts=3, memory=half_life, seed=3)
    random = np.random.default_rng(2)
    block, share = block_of(half_life), share_of(half_life)
    counts = np.zeros(3)
    for t in range(1, 401):
        context = int(random.integers(3))
        if t % block == 0:
            counts *= share
        counts[context] += 1.0
        decider.update(context, decider.decide(context).arm, float(random.normal()))
        wanted = (counts + 1 / 3) / (1.0 + counts.sum())
        np.testing.assert_allclose(decider.learner.problem.context_probabilities, wanted, rtol=1e-9, atol=1e-11)
    assert decider.status().contexts[0].rounds == int(decider.learner.statistics.context_counts[0])


@pytest.mark.parametrize("memory", [500, Window(1000)])
def test_a_change_of_the_mix_is_followed(memory):
    """From one context in ten to nine in ten; without memory the estimate is half-way after as many rounds again.

    The estimate at the end rests on some 700 rounds or more, so its deviation is below 0.012: 0.05 is four of them.
    """
    after = Instance(NU.mean_rewards, NU.revenue_floors, [0.05, 0.05, 0.9])
    before = Instance(NU.mean_rewards, NU.revenue_floors, [0.9, 0.05, 0.05])
    found = {}
    for chosen in (None, memory):
        task = make_task(BLP(memory=chosen, estimate_contexts=True), before, 8000)
        change = simulate_change(task, after)
        found[chosen] = change.learner.problem.context_probabilities[2]
    assert abs(found[memory] - 0.9) < 0.05
    assert abs(found[None] - 0.475) < 0.05


def simulate_change(task, after):
    from arcbandit.simulation.drift import Change
    from arcbandit.simulation.epoch import find_optimum

    return play_task(task._replace(drift=(Change(4001, after, find_optimum(after, None)),)))


@pytest.mark.slow
def test_after_a_jump_a_window_pays():
    """In the second half the contexts have changed roles: without memory the old half weighs as much.

    By three standard errors over 10 epochs: if it made no difference, this would pass by chance once in 100.
    """
    horizon = 20_000
    policies = {"all": BLP(), "some": BLP(memory=Window(3000))}
    jump = Drift([(horizon // 2 + 1, NU.mean_rewards[:, ::-1])])
    trace = simulate(NU, policies, horizon, epochs=10, drift=jump)
    lost = trace.regret_plus_violation["all"][:, -1] - trace.regret_plus_violation["some"][:, -1]
    assert lost.mean() > 3 * lost.std(ddof=1) / math.sqrt(len(lost))
