"""Rounds planned from what is kept of unplayed pairs must be those of looking at every pair, to the last bit."""

import json
import math
from typing import Any, NamedTuple

import numpy as np
import pytest

from arcbandit import GroupFloor, Instance, policy, restore
from arcbandit.kernels.bounds import FEW_PAIRS
from arcbandit.kernels.planner import Place
from arcbandit.kernels.program import ByRow
from arcbandit.kernels.unplayed import Kept, Tries
from arcbandit.policies.learner import Progress
from arcbandit.simulation.device_kernels import tuples_of
from arcbandit.simulation.epoch import Task, bind, find_optimum, make_run, make_world
from arcbandit.simulation.loop import player_of
from arcbandit.simulation.meters import make_meters
from tests.kernels.modes import COMPILED

# Floors out of reach are among the cases.
pytestmark = pytest.mark.filterwarnings("ignore::arcbandit.errors.FloorsOutOfReachWarning")

ROUNDS = 700 if COMPILED else 25
FOREVER = 1e18


@pytest.fixture(autouse=True)
def small_ones_keep_too(monkeypatch):
    """What large problems do is tested on small ones, which would be fast enough without."""
    monkeypatch.setattr("arcbandit.policies.state.PAIRS_TO_LOOK_AT", FEW_PAIRS)


def test_only_large_problems_keep(monkeypatch):
    monkeypatch.undo()
    for n_contexts, keeps in ((64, False), (65, True)):
        learner = policy("olp").for_instance(random_instance(16, n_contexts), seed=1).learner
        assert (learner.planner.unplayed != ()) == keeps


def random_instance(n_arms, n_contexts, *, tightness=0.8, groups=(), noise_scale=0.3, shift=0.0, unit=1.0):
    random = np.random.default_rng([n_arms, n_contexts])
    means = unit * (random.random((n_arms, n_contexts)) + 0.1 + shift)
    probabilities = random.dirichlet(np.full(n_contexts, 5.0))
    shares = random.dirichlet(np.ones(n_arms), n_contexts).T
    floors = np.maximum(tightness * (probabilities * means * shares).sum(axis=1), 0.0)
    floors[-1] = 0.0
    return Instance(means, floors, probabilities / probabilities.sum(), group_floors=groups, noise_scale=noise_scale)


def look_at_every_pair(learner):
    """Make a learner plan without what is kept of unplayed pairs."""
    learner.planner.unplayed.tries[Tries.PAUSE] = FOREVER


def kept_plan(learner):
    """The place of the last plan if it was made from what is kept of unplayed pairs, otherwise None."""
    scalars = learner.planner.unplayed.scalars
    exploring = learner.progress[Progress.ALL_PLAYED] == 0
    return Place(int(scalars[Kept.PLAN_OF]) - 1) if exploring and scalars[Kept.IS_WRITTEN] != 0.0 else None


def remembered(learner):
    """The bits of what later rounds start from."""
    planner = learner.planner
    parts = (
        planner.key,
        planner.slot_arm,
        planner.slot_context,
        planner.workspace.by_row[ByRow.SCALE],
        learner.allocation,
        learner.statistics.by_pair,
        learner.progress,
    )
    return b"".join(part.tobytes() for part in parts)


class Case(NamedTuple):
    """A policy on a problem, and the rewards it gets."""

    instance: Instance
    name: str = "olp"
    settings: Any = None
    available: Any = None
    reward: Any = lambda random: 0.5 + 0.3 * random.normal()
    moves_dials: bool = False


def of_all_sizes(random):
    return float(random.normal() * 10.0 ** random.integers(-6, 7))


GROUPS = (GroupFloor("pair", ("1", "2"), 0.05), GroupFloor("odd", ("1", "3", "5"), 0.06))
MASK = np.random.default_rng(4).random((9, 70)) < 0.7
MASK[0] = True
CASES = {
    "few contexts": Case(random_instance(14, 10)),
    "many contexts": Case(random_instance(4, 80)),
    "tight floors": Case(random_instance(9, 20, tightness=2.5)),
    "floors out of reach": Case(random_instance(9, 20, tightness=7.0)),
    "rewards below zero": Case(random_instance(9, 20, shift=-0.6), reward=lambda random: random.normal() - 0.2),
    "groups": Case(random_instance(7, 70, groups=GROUPS)),
    "bounded rewards": Case(random_instance(9, 20), settings={"reward_bounds": (-3, 4)}),
    "hardly any noise": Case(random_instance(9, 20, noise_scale=1e-9)),
    "nothing but noise": Case(random_instance(9, 20, noise_scale=1e6)),
    "large rewards": Case(
        random_instance(4, 80, unit=1e6, noise_scale=1e5), reward=lambda random: 1e6 * random.random()
    ),
    "small rewards": Case(
        random_instance(9, 20, unit=1e-6, noise_scale=1e-7), reward=lambda random: 1e-6 * random.random()
    ),
    "rewards of all sizes": Case(random_instance(9, 20), reward=of_all_sizes),
    "rewards of few values": Case(random_instance(9, 20), reward=lambda random: float(random.random() < 0.6)),
    "mask": Case(random_instance(9, 70), available=MASK),
    "means in the floors": Case(random_instance(9, 20, noise_scale=0.05), "blp"),
    "means alone": Case(random_instance(9, 20), "greedy"),
    "caution": Case(random_instance(9, 20, noise_scale=0.02), "oplp"),
    "two places in turn": Case(random_instance(9, 20, tightness=1.2, noise_scale=0.02), "oplp"),
    "dials": Case(random_instance(4, 80), "linear-program", {"optimism": 0.8, "caution": 0.3}),
    "dials that move": Case(random_instance(9, 20), "linear-program", {"optimism": 0.8}, moves_dials=True),
}
BOTH = {Place.OWN, Place.FALLBACK}
# Whose plans must have been made from what is kept: that of least shortfall never is.
PLACES = {
    "floors out of reach": set(),
    "means in the floors": BOTH,
    "means alone": BOTH,
    "caution": BOTH,
    "two places in turn": BOTH,
    "dials that move": BOTH,
}
# In plain Python, hundreds of pivots to prove that a plan is infeasible would take seconds.
LABELS = [label for label in CASES if COMPILED or label not in PLACES]


@pytest.mark.slow
@pytest.mark.parametrize("changing", [False, True] if COMPILED else [True], ids=lambda changing: f"changing={changing}")
@pytest.mark.parametrize("label", LABELS)
def test_online_rounds_are_those_of_looking_at_every_pair(label, changing):
    """Rewards at once, late and in batches, from before the first decision and of a retired arm; many rewards that
    advance t at once; arms and contexts that come, a floor that moves, and a policy restored halfway.
    """
    case = CASES[label]
    told = {} if case.available is None else {"available": case.available}
    keeping, plain = (
        policy(case.name, **(case.settings or {})).for_instance(case.instance, horizon=ROUNDS, seed=3, **told)
        for _ in range(2)
    )
    random = np.random.default_rng(7)
    small_floor = 0.5 * case.instance.revenue_floors[1]
    waiting = [(context, keeping.arms[0], float(case.reward(random))) for context in keeping.contexts[::3]]
    places = set()
    for step in range(ROUNDS):
        if step % 40 == 0:
            repeats = 500 if step == 80 else 1
            for decider in (keeping, plain) if waiting else ():
                decider.update_many(*zip(*(repeats * waiting), strict=True))
            waiting = []
        look_at_every_pair(plain.learner)
        if case.moves_dials:
            dials = random.uniform(-2.0, 2.0, 2)
            for decider in (keeping, plain):
                decider.learner.dials[0]["optimism"], decider.learner.dials[0]["caution"] = dials
        context = keeping.contexts[int(random.integers(len(keeping.contexts)))]
        decision = keeping.decide(context)
        assert plain.decide(context) == decision
        assert remembered(keeping.learner) == remembered(plain.learner)
        assert kept_plan(plain.learner) is None
        places.add(kept_plan(keeping.learner))
        seen = (context, decision.arm, float(case.reward(random)))
        if step % 7 == 3 or step % 40 > 33:
            waiting.append(seen)
        else:
            for decider in (keeping, plain):
                decider.update(*seen)
        if changing and step == ROUNDS // 20:
            keeping = restore(json.loads(json.dumps(keeping.snapshot())))
        for decider in (keeping, plain) if changing else ():
            if step == ROUNDS // 10:
                decider.set_floor(decider.arms[0], 8.0 * small_floor)
                decider.set_floor(decider.arms[1], small_floor)
            if step == 3 * ROUNDS // 20:
                decider.set_floor(decider.arms[0], 0.0)
            if step == ROUNDS // 5:
                decider.add_arm("newcomer", small_floor)
            if step == 3 * ROUNDS // 10:
                decider.retire_arm(decider.arms[2])
            if step == 4 * ROUNDS // 10:
                decider.add_context("novel", 0.01)
    assert places >= PLACES.get(label, {Place.OWN})


@pytest.mark.parametrize("name", ["olp", "oplp"] if COMPILED else ["olp"])
@pytest.mark.parametrize("shape", [(12, 30), (5, 70)], ids=["few contexts", "many contexts"])
def test_simulated_rounds_and_their_metrics_are_those_of_looking_at_every_pair(shape, name):
    """To the last bit, on the way and at the end, when some contexts have no unplayed arm any more."""
    instance = random_instance(*shape, noise_scale=0.3 if name == "olp" else 0.02)
    rounds = 2 * ROUNDS
    chosen = policy(name)
    task = Task(
        instance,
        name,
        chosen,
        "gaussian",
        None,
        find_optimum(instance, None),
        math.nan,
        rounds,
        5,
        0,
        np.array([rounds]),
        10,
    )
    runs = [make_run(make_world(task), bind(task, chosen).learner, task) for _ in range(2)]
    look_at_every_pair(runs[1].learner)
    players = [player_of(chosen.kind, run) for run in runs]
    places = set()
    step = rounds // 20
    for first in range(1, rounds, step):
        for play in players:
            play(first, first + step - 1)
        places.add(kept_plan(runs[0].learner))
        assert kept_plan(runs[1].learner) is None
        assert remembered(runs[0].learner) == remembered(runs[1].learner)
        for kept, plain in zip(runs[0].meters[:3], runs[1].meters[:3], strict=True):
            np.testing.assert_array_equal(kept, plain)
    assert Place.OWN in places


def test_few_pairs_estimated_contexts_and_gpus_keep_nothing():
    """Their kernels are compiled without: a small problem must not wait for what only large ones need."""
    small = policy("olp").for_instance(random_instance(8, FEW_PAIRS // 8), seed=1)
    assert small.learner.planner.unplayed == ()
    assert make_meters(small.learner, 0).explored == ()
    large = policy("olp").for_instance(random_instance(9, 20), seed=1)
    assert large.learner.planner.unplayed != ()
    assert tuples_of(large.learner, 0)["learner"].planner.unplayed == ()  # on a GPU
    estimating = policy("olp", estimate_contexts=True).for_instance(random_instance(9, 20), seed=1)
    assert estimating.learner.planner.unplayed == ()


def test_a_problem_that_grows_keeps_unplayed_pairs_from_the_limit_on():
    """Growth crosses the limit, and a snapshot is restored to what it was."""
    keeping, plain = (policy("olp").for_instance(random_instance(8, FEW_PAIRS // 8), seed=1) for _ in range(2))
    random = np.random.default_rng(2)
    for step in range(ROUNDS // 2):
        if step == 10:
            for decider in (keeping, plain):
                decider.add_arm("ninth", 0.001)
            look_at_every_pair(plain.learner)
        if step == 15:
            keeping = restore(keeping.snapshot())
        context = keeping.contexts[int(random.integers(FEW_PAIRS // 8))]
        decision = keeping.decide(context)
        assert plain.decide(context) == decision
        assert remembered(keeping.learner) == remembered(plain.learner)
        if 10 < step < 20:
            assert kept_plan(keeping.learner) is not None
            assert kept_plan(plain.learner) is None
        reward = float(random.normal())
        for decider in (keeping, plain):
            decider.update(context, decision.arm, reward)
