"""What every policy must keep, whatever its rule, beyond what `arcbandit.checks` looks at (tests/test_checks.py)."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

import arcbandit
from arcbandit.compilation.compile import entry_kernel
from arcbandit.errors import InvalidInputError, UnknownNameError
from arcbandit.kernels.counter import Purpose, uniforms
from arcbandit.kernels.sampling import context_from_uniform
from arcbandit.policies.learner import Stream
from arcbandit.policies.registry import POLICIES, policy, restore
from arcbandit.simulation.epoch import Task, bind, find_optimum, make_run, make_world
from arcbandit.simulation.loop import player_of
from arcbandit.simulation.world import draw_reward

# Floors out of reach are among the cases.
pytestmark = pytest.mark.filterwarnings("ignore::arcbandit.errors.FloorsOutOfReachWarning")

EVERY_POLICY = sorted(POLICIES)
ROUNDS = 300


@entry_kernel
def meet_context(world, seed, epoch, round_number):
    uniform, _ = uniforms(seed, epoch, round_number, Purpose.DECISION, 0)
    return context_from_uniform(world.probabilities, uniform)


@entry_kernel
def meet_reward(world, arm, context, seed, epoch, round_number):
    return draw_reward(world, arm, context, Stream(seed, epoch, round_number))


def make_task(name, instance, seed, epoch, rounds):
    """One epoch of a policy, its record written at the end."""
    return Task(
        instance,
        name,
        policy(name),
        "gaussian",
        None,
        find_optimum(instance, None),
        math.nan,
        rounds,
        seed,
        epoch,
        np.array([rounds]),
        0,
    )


def world_of(instance):
    """What the policies that play on an instance are not told."""
    return make_world(make_task("olp", instance, 0, 0, 1))


def play_compiled(name, instance, seed, epoch, rounds):
    """Arms of the compiled loop, one round at a time so that each can be seen, and the policy it ran."""
    task = make_task(name, instance, seed, epoch, rounds)
    bound = bind(task, task.policy)
    play = player_of(type(bound), make_run(make_world(task), bound.learner, task))
    arms = []
    before = np.zeros(instance.mean_rewards.shape)
    for t in range(1, rounds + 1):
        play(t, t)
        pulls = bound.pulls()
        arms.append(int(np.argwhere(pulls != before)[0][0]))
        before = pulls
    return arms, bound


def play_online(decider, instance, seed, epoch, rounds, first=1):
    world = world_of(instance)
    arms = []
    for t in range(first, first + rounds):
        context = meet_context(world, seed, epoch, t)
        decision = decider.decide(context)
        arm = instance.arms.index(decision.arm)
        decider.update(context, decision.arm, meet_reward(world, arm, context, seed, epoch, t))
        arms.append(arm)
    return arms


@pytest.fixture(params=["nu", "greedy-counterexample", "infeasible"])
def instance(request):
    if request.param == "infeasible":
        nu = arcbandit.paper_instance("nu")
        return arcbandit.Instance(nu.mean_rewards, nu.revenue_floors * 3, nu.context_probabilities)
    return arcbandit.paper_instance(request.param)


@pytest.mark.parametrize("name", EVERY_POLICY)
class TestEveryPolicy:
    def test_compiled_loop_and_online_policy_play_the_same_arms(self, name, instance):
        """The simulator may be fast, but it may not be different: same arms, same statistics to the last bit."""
        compiled, looped = play_compiled(name, instance, seed=5, epoch=2, rounds=ROUNDS)
        online = policy(name).for_instance(instance, horizon=ROUNDS, seed=5, epoch=2)
        assert play_online(online, instance, 5, 2, ROUNDS) == compiled
        assert (online.learner.statistics.by_pair == looped.learner.statistics.by_pair).all()
        assert (online.allocation() == looped.allocation()).all()

    def test_allocation_is_a_distribution_in_each_context(self, name, instance):
        decider = policy(name).for_instance(instance, horizon=ROUNDS, seed=1)
        for _ in range(10):
            play_online(decider, instance, 1, 0, 5, first=decider.round_number)
            shares = decider.allocation()
            assert (shares >= 0).all()
            assert shares.sum(axis=0) == pytest.approx(np.ones(instance.n_contexts), abs=1e-12)

    def test_returns_the_probability_it_drew_the_arm_with(self, name, instance):
        decider = policy(name).for_instance(instance, horizon=ROUNDS, seed=1)
        for context in [0, 1, 1, 0, 1]:
            decision = decider.decide(context)
            row = instance.arms.index(decision.arm)
            assert decision.probability == decider.allocation()[row, context] > 0
            decider.update(context, decision.arm, 1.0)

    def test_goes_on_from_a_snapshot_as_it_would_have(self, name, instance):
        """A snapshot passes through JSON and the restored policy plays the same arms with the same shares."""
        original = policy(name).for_instance(instance, horizon=400, seed=8)
        play_online(original, instance, 8, 0, 100)
        copy = restore(json.loads(json.dumps(original.snapshot())))
        assert type(copy) is type(original)
        assert copy.snapshot() == original.snapshot()
        ahead = play_online(original, instance, 8, 0, 100, first=101)
        assert play_online(copy, instance, 8, 0, 100, first=101) == ahead
        assert (copy.allocation() == original.allocation()).all()

    def test_bad_input_changes_nothing(self, name, instance):
        """An unknown arm or context, or a reward that is no finite number, is refused and leaves no trace."""
        decider = policy(name).for_instance(instance, horizon=ROUNDS, seed=8)
        play_online(decider, instance, 8, 0, 30)
        before = decider.snapshot()
        for context in ("nowhere", -1, instance.n_contexts, 1.5, True, None):
            with pytest.raises(UnknownNameError, match="no context"):
                decider.decide(context)
            with pytest.raises(UnknownNameError, match="no context"):
                decider.update(context, 0, 1.0)
        for arm in ("nobody", -1, instance.n_arms, None):
            with pytest.raises(UnknownNameError, match="no arm"):
                decider.update(0, arm, 1.0)
        for reward in (math.nan, math.inf, -math.inf, "1", None, True, 1j):
            with pytest.raises(InvalidInputError, match="reward must be"):
                decider.update(0, 0, reward)
            with pytest.raises(InvalidInputError, match="reward must be"):
                decider.update_many([0, 0], [0, 0], [1.0, reward])
        with pytest.raises(InvalidInputError, match="equal in number"):
            decider.update_many([0, 0], [0], [1.0])
        assert decider.snapshot() == before

    def test_never_plays_an_arm_where_it_is_not_available(self, name, instance):
        available = np.ones(instance.mean_rewards.shape, dtype=bool)
        available[0, 0] = available[1, 1] = False
        decider = policy(name).for_instance(instance, horizon=200, available=available, seed=4)
        for t in range(200):
            context = t % instance.n_contexts
            decision = decider.decide(context)
            row = instance.arms.index(decision.arm)
            assert available[row, context]
            assert (decider.allocation()[~available] == 0).all()
            decider.update(context, decision.arm, float(instance.mean_rewards[row, context]))

    def test_keeps_working_through_changes(self, name, instance):
        """Arms and contexts come, an arm goes, a floor changes; late rewards of the retired arm still count."""
        decider = policy(name, estimate_contexts=False).for_instance(instance, horizon=2000, seed=4)
        play_online(decider, instance, 4, 0, 50)
        decider.add_arm("newcomer", floor=0.01)
        decider.add_context("late", probability=0.1)
        decider.set_floor("newcomer", 0.02)
        retired = instance.arms[0]
        decider.retire_arm(retired)
        seen = set()
        for t in range(60):
            context = decider.contexts[t % len(decider.contexts)]
            decision = decider.decide(context)
            seen.add(decision.arm)
            decider.update(context, decision.arm, 1.0)
        assert retired not in seen
        assert "newcomer" in seen
        pulls = decider.pulls()[0, 0]
        decider.update(0, retired, 1.0)
        assert decider.pulls()[0, 0] == pulls + 1
        copy = restore(json.loads(json.dumps(decider.snapshot())))
        assert copy.decide("late") == decider.decide("late")


def test_every_policy_is_public_by_class_and_name():
    for name, kind in POLICIES.items():
        assert getattr(arcbandit, kind.__name__) is kind
        assert arcbandit.policy(name).name == name
        assert kind.__doc__ is not None
        assert ">>>" in kind.__doc__


@pytest.mark.parametrize("name", EVERY_POLICY)
def test_every_policy_cites_its_paper_by_key(name):
    """The key in the docstring, and the class's reference, are keys of docs/references.bib."""
    known = re.findall(r"^@\w+\{(\w+),", (Path(__file__).parents[2] / "docs" / "references.bib").read_text(), re.M)
    cited = re.findall(r"\[(\w+)\]", POLICIES[name].__doc__ or "")
    assert set(cited) & set(known)
    assert POLICIES[name].reference in known
