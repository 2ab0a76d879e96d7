"""Worlds that change while they are played."""

import math

import numpy as np
import pytest

from arcbandit import (
    Drift,
    GroupFloor,
    Instance,
    InvalidInputError,
    InvalidInstanceError,
    ObservedRewards,
    paper_instance,
    plan,
    policy,
    simulate,
    solve_lp,
)
from arcbandit.kernels.confidence import ByPair
from arcbandit.policies.learner import Progress
from arcbandit.simulation import run
from arcbandit.simulation.delays import Delay
from arcbandit.simulation.drift import Change, reflected, worlds_of
from arcbandit.simulation.epoch import bind, find_optimum, make_run, make_world, play_task, run_task
from arcbandit.simulation.metrics import Total
from tests.simulation.twins import EPOCH, SEED, Sums, Twin, make_task

# Floors out of reach are among the cases.
pytestmark = pytest.mark.filterwarnings("ignore::arcbandit.errors.FloorsOutOfReachWarning")

NU = paper_instance("nu")
ROUNDS = 400
TURNED = NU.mean_rewards[:, ::-1]
RICH = {"revenue_floors": NU.revenue_floors * 0.5}
MIXED = {"context_probabilities": [0.6, 0.3, 0.1]}
DRIFTS = {
    "means": [(201, TURNED)],
    "floors": [(101, RICH), (301, {"revenue_floors": NU.revenue_floors * 1.1})],
    "a floor that goes and comes": [(101, {"revenue_floors": [1.0, 0.0, 0.5]}), (251, NU)],
    "out of reach for a while": [(101, {"revenue_floors": NU.revenue_floors * 3}), (251, NU)],
    "probabilities": [(101, MIXED), (301, NU)],
    "all at once": [(2, RICH), (150, {**RICH, **MIXED, "mean_rewards": TURNED}), (ROUNDS, NU)],
}


def drifting_task(configuration, instance, drift, rounds=ROUNDS, **settings):
    changes = tuple(
        Change(first, world, find_optimum(world, None)) for first, world in worlds_of(Drift(drift), instance, rounds)
    )
    return make_task(configuration, instance, rounds, drift=changes, **settings)


def play_twin(task):
    """The same worlds with a policy at work, told of floors by its own method and of probabilities in its problem."""
    twin = Twin(task)
    changes = {change.first: change for change in task.drift}
    # The bound on the means, for the rules that need one, holds for all worlds.
    twin.decider = bind(task, task.policy)
    for t in range(1, task.horizon + 1):
        if t in changes:
            new, last = changes[t].instance, twin.instance
            for row, name in enumerate(new.floors.names):
                if new.floors.amounts[row] != last.floors.amounts[row]:
                    twin.decider.set_floor(name, float(new.floors.amounts[row]))
            if not np.array_equal(new.context_probabilities, last.context_probabilities):
                learner = twin.decider.learner
                if not twin.decider.estimate_contexts:
                    learner.problem.context_probabilities[:] = new.context_probabilities
                    # What setting a floor does to a plan, without setting one.
                    twin.decider.set_floor(new.floors.names[0], float(new.floors.amounts[0]))
            twin.instance = new
            twin.optimal_value = changes[t].optimum.value
            twin.world = make_world(task._replace(instance=new, optimum=changes[t].optimum), twin.world.late)
        twin.play(t)
    return twin


@pytest.mark.parametrize("name", ["olp", "oplp", "thompson-lp", "optimistic3", "bandit-q", "doc"])
@pytest.mark.parametrize("drift", DRIFTS.values(), ids=DRIFTS)
def test_the_loop_plays_a_drifting_world_as_a_policy_at_work_does(name, drift):
    """Statistics and the last allocation to the last bit; every sum as a recount against the plan of the moment."""
    task = drifting_task(policy(name), NU, drift)
    played = play_task(task)
    twin = play_twin(task)
    assert (played.learner.statistics.by_pair == twin.decider.learner.statistics.by_pair).all()
    assert (played.learner.allocation == twin.decider.allocation()).all()
    totals = played.record.totals[:, -1]
    found = totals[[Total.REGRET, Total.VIOLATION, Total.PERFORMANCE, Total.REALISED]]
    np.testing.assert_allclose(found, twin.sums, rtol=1e-10)


@pytest.mark.parametrize("drift", [DRIFTS["probabilities"], DRIFTS["all at once"]], ids=["probabilities", "all"])
def test_estimated_probabilities_are_not_told(drift):
    """With a cadence as well, and rewards of an earlier world that arrive in a later one."""
    task = drifting_task(policy("olp", estimate_contexts=True, replan=5), NU, drift, delay=Delay(mean=3))
    played, twin = play_task(task), play_twin(task)
    assert (played.learner.statistics.by_pair == twin.decider.learner.statistics.by_pair).all()
    assert (played.learner.problem.context_probabilities == twin.decider.learner.problem.context_probabilities).all()
    assert not np.isclose(played.learner.problem.context_probabilities, [0.6, 0.3, 0.1], atol=0.02).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["olp", "oplp"])
@pytest.mark.parametrize("shape", [(5, 8), (6, 200)], ids=["few", "many"])
def test_plans_after_a_change_are_those_planned_afresh(name, shape):
    """Nothing of the last world is left in the planner: a plan is that of what the policy knows, and nothing else."""
    random = np.random.default_rng(7)
    means = random.random(shape)
    shares = random.dirichlet(np.ones(shape[0]), shape[1]).T
    mixes = random.dirichlet(np.full(shape[1], 5.0), 3)
    worlds = [
        Instance(means, 0.6 * (mix * means * shares).sum(axis=1), mix / mix.sum(), noise_scale=0.05) for mix in mixes
    ]
    change = 20_000  # by then every pair was played
    task = drifting_task(policy(name), worlds[0], [(change, worlds[1]), (change + 50, worlds[2])], change + 200)
    for after, world in [(-1, 0), (0, 1), (1, 1), (49, 1), (50, 2), (200, 2)]:
        last = change + after
        # The plan of a round is made from the statistics before its reward.
        before = play_task(task._replace(rounds=last - 1)).learner
        assert before.progress[Progress.ALL_PLAYED] == 1
        learner = play_task(task._replace(rounds=last)).learner
        assert (learner.problem.context_probabilities == worlds[world].context_probabilities).all()
        wanted = planned_afresh(name, before, worlds[world], last)
        np.testing.assert_allclose(learner.allocation, wanted.allocation, atol=1e-8)


def planned_afresh(name, learner, world, t):
    by_pair = learner.statistics.by_pair
    radius = world.noise_scale * np.sqrt(2 * np.log(2 * by_pair[0].size * t)) * by_pair[ByPair.INVERSE_ROOT]
    high, low = by_pair[ByPair.MEAN] + radius, by_pair[ByPair.MEAN] - radius
    settings = {"on_infeasible": "least_shortfall"}
    floors = (world.revenue_floors, world.context_probabilities)
    own = solve_lp(high, low if name == "oplp" else high, *floors, **settings)
    return own if own.status == 0 else solve_lp(high, high, *floors, **settings)


def test_no_change_is_the_usual_simulation():
    """A world that takes over from itself is played in two stretches, to the same records bit for bit."""
    usual = simulate(NU, ["olp", "doc"], horizon=500, epochs=3, window=20)
    same = simulate(NU, ["olp", "doc"], horizon=500, epochs=3, window=20, drift=Drift([(200, NU), (301, NU)]))
    for name in usual.policies:
        assert same.records[name].tobytes() == usual.records[name].tobytes()
        assert same.floor_records[name].tobytes() == usual.floor_records[name].tobytes()
    assert same.settings["optimal_value"] == pytest.approx(usual.settings["optimal_value"])


def test_rounds_before_a_change_are_those_of_the_first_world():
    places = [100, 200, 250]
    usual = simulate(NU, "oplp", horizon=250, epochs=2, checkpoints=places)
    drift = simulate(NU, "oplp", horizon=250, epochs=2, checkpoints=places, drift=Drift([(201, TURNED)]))
    assert drift.records["oplp"][:, :, :2].tobytes() == usual.records["oplp"][:, :, :2].tobytes()
    assert (drift.records["oplp"][:, Total.REGRET, 2] != usual.records["oplp"][:, Total.REGRET, 2]).all()


def test_the_active_set_is_that_of_the_plan_of_the_moment():
    """A clairvoyant has I_t = I* in every world: at no noise a plan of the true means is the best one."""
    quiet = Instance(NU.mean_rewards, NU.revenue_floors, NU.context_probabilities, noise_scale=1e-9)
    task = drifting_task(policy("olp"), quiet, [(1001, {"revenue_floors": NU.revenue_floors * 0.5})], 2000)
    played = play_task(task)
    assert played.record.totals[Total.OPTIMAL_SET, -1] > 1900
    stale = play_task(task._replace(drift=(task.drift[0]._replace(optimum=find_optimum(turned_world(quiet), None)),)))
    assert stale.record.totals[Total.OPTIMAL_SET, -1] < 1100


def turned_world(instance):
    return Instance(TURNED, instance.revenue_floors, instance.context_probabilities, noise_scale=instance.noise_scale)


def test_an_epoch_starts_in_the_first_world():
    """A thread plays its epochs in the same memory."""
    drift = DRIFTS["all at once"]
    trace = simulate(NU, "oplp", horizon=ROUNDS, epochs=3, seed=SEED, drift=Drift(drift), jobs=1, checkpoints=[ROUNDS])
    alone, _ = run_task(drifting_task(policy("oplp"), NU, drift))
    assert trace.records["oplp"][EPOCH].tobytes() == alone.tobytes()


def test_signed_violation_counts_floors_that_were_positive_at_some_time():
    """A floor that is gone at the end still lacked something before."""
    hard = {"revenue_floors": [0.0, 4.0, 0.0]}
    task = drifting_task(policy("olp"), NU, [(101, hard), (301, {"revenue_floors": [1.0, 0.0, 0.0]})])
    record = play_task(task).record
    shortfall = record.by_floor[0, -1]
    assert shortfall[1] > 0.0
    assert record.totals[Total.SIGNED_VIOLATION, -1] == pytest.approx(np.maximum(shortfall, 0.0).sum())


def test_group_floors_change():
    arms = ("1", "2", "3")
    groups = [GroupFloor("pair", ("2", "3"), 0.6)]
    instance = Instance(NU.mean_rewards, [0.5, 0.1, 0.1], NU.context_probabilities, arms=arms, group_floors=groups)
    drift = [(201, {"group_floors": [{"name": "pair", "arms": ["2", "3"], "floor": 0.9}]})]
    task = drifting_task(policy("olp"), instance, drift)
    played, twin = play_task(task), play_twin(task)
    assert played.learner.problem.floors.tolist() == [0.5, 0.1, 0.1, 0.9]
    assert (played.learner.statistics.by_pair == twin.decider.learner.statistics.by_pair).all()
    np.testing.assert_allclose(played.record.totals[Total.VIOLATION, -1], twin.sums.violation, rtol=1e-10)


class Uniform:
    """A plain object that plays all arms alike."""

    name = "uniform"

    def begin(self, problem, seed):
        self.shares = np.full(problem.shape, 1 / problem.shape[0])

    def allocate(self, context):
        return self.shares

    def learn(self, context, arm, reward):
        pass


def test_plain_objects_play_means_that_jump():
    task = drifting_task(Uniform(), NU, [(101, TURNED * 2)])
    record = play_task(task).record
    per_round = (NU.weighted_means / 3).sum()
    assert record.totals[Total.PERFORMANCE, -1] == pytest.approx(100 * per_round + 300 * 2 * per_round)


def test_the_best_plan_earns_what_the_settings_say():
    trace = simulate(NU, "olp", horizon=100, epochs=1, drift=Drift([(41, NU.mean_rewards * 2)]))
    first, second = (
        plan(NU).value,
        plan(Instance(NU.mean_rewards * 2, NU.revenue_floors, NU.context_probabilities)).value,
    )
    assert trace.settings["drift"]["rounds"] == [1, 41]
    assert trace.settings["drift"]["optimal_values"] == [first, second]
    assert trace.settings["optimal_value"] == pytest.approx(0.4 * first + 0.6 * second)
    total = trace.signed_regret["olp"][0, -1] + trace.performance["olp"][0, -1]
    assert total == pytest.approx(40 * first + 60 * second)


class TestWandering:
    def test_stays_within_bounds_and_moves(self):
        drift = Drift.wandering(NU, 20_000, step=2.0, every=10, low=0.0, high=9.0, seed=3)
        walk = np.array([means for _, means in drift.changes])
        assert len(drift) == 1999
        assert walk.min() >= 0.0
        assert walk.max() <= 9.0
        # Reflected, not stuck at a bound: a mean is at one in no step but by chance, which has probability zero.
        assert not np.isin(walk, [0.0, 9.0]).any()
        assert np.ptp(walk, axis=0).min() > 8.0

    def test_steps_have_the_size_that_was_asked_for(self):
        """Far from bounds; 40,000 steps, 5 standard errors: fails by chance once in 1.7 million."""
        instance = Instance(np.full((4, 5), 50.0), np.ones(4), np.full(5, 0.2))
        walk = np.array([m for _, m in Drift.wandering(instance, 2001, step=0.01, every=1, low=0, high=100).changes])
        steps = np.diff(walk, axis=0)
        error = 0.01 / math.sqrt(2 * steps.size)
        assert abs(steps.std() - 0.01) < 5 * error

    def test_is_the_same_for_the_same_seed(self):
        walks = [
            np.array([means for _, means in Drift.wandering(NU, 1000, step=0.1, every=100, seed=seed).changes])
            for seed in (1, 1, 2)
        ]
        assert (walks[0] == walks[1]).all()
        assert (walks[0] != walks[2]).any()

    def test_metrics_are_against_the_plan_of_the_block(self):
        drift = Drift.wandering(NU, ROUNDS, step=0.3, every=40, seed=2)
        task = drifting_task(policy("blp"), NU, drift.changes)
        played, twin = play_task(task), play_twin(task)
        found = Sums(
            *played.record.totals[[Total.REGRET, Total.VIOLATION, Total.PERFORMANCE, Total.REALISED], -1].tolist()
        )
        np.testing.assert_allclose(found, twin.sums, rtol=1e-10)

    def test_reflection(self):
        given = np.array([-0.5, 0.0, 0.5, 1.0, 1.25, 2.5, -1.25, 3.75])
        assert reflected(given, 0.0, 1.0).tolist() == [0.5, 0.0, 0.5, 1.0, 0.75, 0.5, 0.75, 0.25]
        assert reflected(given, 2.0, 2.0).tolist() == [2.0] * 8


class TestRefuses:
    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ([(1, TURNED)], "round of changes\\[0\\] must be"),
            ([(2.5, TURNED)], "round of changes\\[0\\] must be"),
            ([(5, TURNED), (5, TURNED)], "rounds of changes must increase"),
            ([5], "changes\\[0\\] must be a pair"),
            (["ab"], "changes\\[0\\] must be a pair"),
            (5, "changes must"),
        ],
    )
    def test_changes_that_cannot_be(self, changes, words):
        with pytest.raises(InvalidInputError, match=words):
            Drift(changes)

    @pytest.mark.parametrize(
        ("world", "words"),
        [
            (paper_instance("greedy-counterexample"), "drift must leave"),
            (np.ones((2, 3)), "The world of round 5 of the drift: arms has 3 names, but the means have 2"),
            ({"noise_scale": 2.0}, "drift can change .* 'noise_scale'"),
            ({"revenue_floors": [1.0]}, "revenue_floors"),
            ({"context_probabilities": [0.5, 0.2, 0.2]}, "context_probabilities"),
            ("elsewhere", "mean_rewards"),
        ],
    )
    def test_worlds_that_cannot_follow(self, world, words):
        with pytest.raises((InvalidInputError, InvalidInstanceError), match=words):
            simulate(NU, "olp", horizon=10, drift=Drift([(5, world)]))

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ({"drift": [(5, TURNED)]}, "drift must be a Drift"),
            ({"drift": Drift([(11, TURNED)])}, "within the horizon 10, got a change in round 11"),
            ({"drift": Drift([(5, TURNED)]), "suboptimality_gap": 0.1}, "suboptimality_gap must be None with drift"),
            ({"drift": Drift([(5, MIXED)]), "policies": [Uniform()]}, "'uniform' is one"),
            ({"drift": Drift([(5, RICH)]), "policies": [Uniform()]}, "'uniform' is one"),
        ],
    )
    def test_a_bad_argument_is_named(self, arguments, words):
        with pytest.raises(InvalidInputError, match=words):
            simulate(**{"instance": NU, "policies": "olp", "horizon": 10, **arguments})

    def test_means_that_cannot_be_drawn(self):
        shy = Instance(NU.mean_rewards / 10, NU.revenue_floors / 20, NU.context_probabilities)
        with pytest.raises(InvalidInputError, match="from 0 to 1 for Bernoulli"):
            simulate(shy, "olp", horizon=10, rewards="bernoulli", drift=Drift([(5, NU.mean_rewards)]))
        observed = ObservedRewards([[[1.0, 3.0], [0.0]], [[2.0], [4.0]]])
        instance = observed.instance(revenue_floors=[0.5, 0.5], context_probabilities=[0.5, 0.5])
        with pytest.raises(InvalidInputError, match="means of the observed rewards"):
            simulate(instance, "olp", horizon=10, rewards=observed, drift=Drift([(5, np.ones((2, 2)))]))
        simulate(instance, "olp", horizon=10, rewards=observed, drift=Drift([(5, {"revenue_floors": [0.1, 0.1]})]))

    def test_a_gpu(self, monkeypatch):
        monkeypatch.setattr(run, "use_cuda", lambda _: True)
        with pytest.raises(InvalidInputError, match="drift must be None on device 'cuda'"):
            simulate(NU, "olp", horizon=10, drift=Drift([(5, TURNED)]), device="cuda")

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ({"step": -1.0}, "step must be"),
            ({"every": 0}, "every must be"),
            ({"low": 1.0}, "low and high must have the means"),
            ({"high": 1.0}, "low and high must have the means"),
            ({"seed": -1}, "seed must be"),
        ],
    )
    def test_a_walk_that_cannot_be(self, arguments, words):
        with pytest.raises(InvalidInputError, match=words):
            Drift.wandering(NU, 100, **{"step": 0.1, "every": 10, **arguments})


def test_what_was_given_cannot_be_changed_later():
    means = np.array(TURNED)
    drift = Drift([(5, means)])
    means[:] = 0.0
    assert (drift.changes[0][1] == TURNED).all()


def test_a_bound_on_means_holds_in_every_world():
    """LagrangeCB scales rewards by it: one that holds for the first world alone would be no bound."""
    task = drifting_task(policy("lagrange-cb"), NU, [(101, NU.mean_rewards * 5)])
    made = make_run(make_world(task), bind(task, task.policy).learner, task)
    assert made.learner.settings[0].mean_bound == 5 * NU.mean_rewards.max()
