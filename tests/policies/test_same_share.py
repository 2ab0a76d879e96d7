"""Policies whose floors are out of reach and get the same share of their amounts."""

import json
import warnings

import numpy as np
import pytest

from arcbandit import BLP, OLP, OPLP, GroupFloor, Instance, ThompsonLP, paper_instance, policy, simulate, solve_lp
from arcbandit.cli import main
from arcbandit.errors import InvalidInputError
from arcbandit.kernels.confidence import ByPair
from arcbandit.policies.learner import Progress
from arcbandit.policies.registry import POLICIES, restore
from arcbandit.simulation.epoch import bind, make_run, make_world
from arcbandit.simulation.loop import player_of
from tests.policies.earlier import before_changes
from tests.policies.test_contract import make_task, play_online

# Floors out of reach are among the cases.
pytestmark = pytest.mark.filterwarnings("ignore::arcbandit.errors.FloorsOutOfReachWarning")

PLANNING = sorted(name for name, kind in POLICIES.items() if kind.plans)
NU = paper_instance("nu")
# So many pairs that what is known of unplayed ones is kept.
WIDE = Instance(np.random.default_rng(0).random((12, 90)), np.full(12, 0.2), np.full(90, 1 / 90), noise_scale=0.1)
# One provider is promised more than the whole platform earns.
PLATFORM = Instance(
    [[3.0, 3.0, 3.0], [2.0, 1.0, 1.0], [1.0, 2.0, 1.0]],
    revenue_floors=[4.4, 0.3, 0.1],
    context_probabilities=[0.5, 0.25, 0.25],
    noise_scale=0.1,
    arms=["large", "small", "tiny"],
)
WITH_GROUPS = Instance(
    PLATFORM.mean_rewards,
    [0.5, 0.3, 0.1],
    PLATFORM.context_probabilities,
    noise_scale=0.1,
    arms=PLATFORM.arms,
    group_floors=[GroupFloor("others", ("small", "tiny"), 3.0)],
)


def play_compiled(configuration, instance, seed, epoch, rounds):
    """Arms of the compiled loop, one round at a time, and the policy it ran."""
    task = make_task(configuration.name, instance, seed, epoch, rounds)._replace(policy=configuration)
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


def bounds(decider, t, sigma):
    """UCB of round t, worked out afresh."""
    by_pair = decider.learner.statistics.by_pair
    radius = sigma * np.sqrt(2 * np.log(2 * by_pair[ByPair.MEAN].size * t)) * by_pair[ByPair.INVERSE_ROOT]
    return by_pair[ByPair.MEAN] + radius


def with_each_pair_seen(configuration, instance, seed=0):
    """A policy that need not explore."""
    random = np.random.default_rng(seed)
    decider = configuration.for_instance(instance, seed=seed)
    for arm in range(instance.n_arms):
        for context in range(instance.n_contexts):
            decider.update(context, arm, instance.mean_rewards[arm, context] + instance.noise_scale * random.normal())
    return decider


@pytest.mark.parametrize("name", PLANNING)
class TestEveryPolicyThatPlans:
    @pytest.mark.parametrize("estimate", [False, True], ids=["known", "estimated"])
    @pytest.mark.parametrize("instance", [PLATFORM, WITH_GROUPS], ids=["arms", "groups"])
    @pytest.mark.slow
    def test_compiled_loop_and_online_policy_play_the_same_arms(self, name, instance, estimate):
        configuration = policy(name, when_infeasible="same_share", estimate_contexts=estimate)
        compiled, looped = play_compiled(configuration, instance, 5, 2, 150)
        online = configuration.for_instance(instance, horizon=150, seed=5, epoch=2)
        assert play_online(online, instance, 5, 2, 150) == compiled
        assert (online.allocation() == looped.allocation()).all()
        default = policy(name, estimate_contexts=estimate).for_instance(instance, horizon=150, seed=5, epoch=2)
        assert play_online(default, instance, 5, 2, 150) != compiled  # otherwise nothing would have been shared

    def test_goes_on_from_a_snapshot_as_it_would_have(self, name):
        original = policy(name, when_infeasible="same_share").for_instance(PLATFORM, horizon=400, seed=8)
        for rounds in (7, 60):
            play_online(original, PLATFORM, 8, 0, rounds, first=original.round_number)
            copy = restore(json.loads(json.dumps(original.snapshot())))
            assert copy.when_infeasible == "same_share"
            first = original.round_number
            assert play_online(copy, PLATFORM, 8, 0, 60, first) == play_online(original, PLATFORM, 8, 0, 60, first)
            assert copy.snapshot() == original.snapshot()

    def test_plays_as_ever_where_floors_are_within_reach(self, name):
        """To the last bit, once every pair was seen: before, guesses may put floors out of reach."""
        usual = with_each_pair_seen(policy(name), NU, seed=3)
        shared = with_each_pair_seen(policy(name, when_infeasible="same_share"), NU, seed=3)
        for _ in range(20):
            first = usual.round_number
            assert play_online(usual, NU, 3, 0, 10, first) == play_online(shared, NU, 3, 0, 10, first)
            assert (usual.allocation() == shared.allocation()).all()

    def test_has_nothing_of_it_by_default(self, name):
        """Its memory is an empty tuple, by whose type the compiler leaves the rest out."""
        assert policy(name).for_instance(NU).learner.planner.shared == ()
        assert policy(name, when_infeasible="same_share").for_instance(NU).learner.planner.shared != ()


class TestThePlanInForce:
    @pytest.mark.parametrize(
        ("shape", "groups"), [((3, 3), False), ((5, 4), True), ((1, 2), False), ((12, 20), False)], ids=str
    )
    @pytest.mark.parametrize("kind", [OLP, OPLP])
    def test_is_that_of_the_same_share_of_optimistic_floors(self, kind, shape, groups):
        """In each round, LP(UCB, UCB) is planned afresh, and its plan earns as much and gives as much to each."""
        rng = np.random.default_rng(shape)
        means = rng.random(shape)
        instance = Instance(
            means,
            rng.random(shape[0]) * rng.choice([0.0, 2.0], shape[0], p=[0.2, 0.8]) + (np.arange(shape[0]) == 0),
            rng.dirichlet(np.full(shape[1], 3.0)),
            noise_scale=0.2,
            group_floors=[GroupFloor("first two", (0, 1), 1.5)] if groups else [],
        )
        decider = with_each_pair_seen(kind(when_infeasible="same_share"), instance)
        floors, weights = decider.floors, instance.context_probabilities
        for _ in range(60):
            t = decider.round_number
            high = bounds(decider, t, 0.2)
            context = int(rng.choice(shape[1], p=weights))
            decision = decider.decide(context)
            assert decider.learner.progress[Progress.ALL_PLAYED] == 1
            wanted = solve_lp(
                high,
                high,
                instance.revenue_floors,
                weights,
                group_floors=[GroupFloor("first two", (0, 1), 1.5)] if groups else [],
                on_infeasible="same_share",
            )
            assert wanted.floor_share < 1.0
            shares = decider.allocation()
            earned = floors.by_floor((weights * high * shares).sum(axis=1))
            asked = floors.amounts > 0
            assert (earned[asked] >= wanted.floor_share * floors.amounts[asked] * (1 - 1e-8) - 1e-12).all()
            assert (weights * high * shares).sum() == pytest.approx(wanted.value, rel=1e-8)
            row = int(instance.arms.index(decision.arm))
            decider.update(context, decision.arm, means[row, context] + 0.2 * rng.normal())

    @pytest.mark.slow
    def test_is_written_while_unplayed_pairs_are_kept(self):
        """In a problem of many pairs; once every pair is played, each round gives every floor its share."""
        configuration = BLP(when_infeasible="same_share")
        rounds = 1200
        compiled, looped = play_compiled(configuration, WIDE, 1, 0, rounds)
        assert len(looped.learner.planner.unplayed) > 0
        online = configuration.for_instance(WIDE, seed=1)
        assert play_online(online, WIDE, 1, 0, rounds) == compiled

    def test_follows_floors_that_move_in_and_out_of_reach(self):
        decider = with_each_pair_seen(OLP(when_infeasible="same_share"), PLATFORM)
        for arm in range(3):
            for context in range(3):
                for _ in range(3000):
                    decider.update(context, arm, PLATFORM.mean_rewards[arm, context])
        parts = []
        for floor in (4.4, 1.0, 4.4, 8.0):
            decider.set_floor("large", floor)
            decider.decide(0)
            earned = (PLATFORM.weighted_means * decider.allocation()).sum(axis=1)
            parts.append((earned / decider.floors.amounts).min())
        assert parts == pytest.approx([0.6, 1.0, 0.6, 3 / 8.6 * 1.0], rel=0.03)


class TestOneFloorOutOfReach:
    def test_takes_all_from_the_others_or_the_same_from_each(self):
        """By the least shortfall the others keep a tenth of a tenth; by the same share each keeps 0.6."""
        parts = {}
        for chosen in ("least_shortfall", "same_share"):
            decider = OLP(when_infeasible=chosen).for_instance(PLATFORM, seed=1)
            play_online(decider, PLATFORM, 1, 0, 3000)
            earned = (PLATFORM.weighted_means * decider.allocation()).sum(axis=1)
            parts[chosen] = earned / PLATFORM.revenue_floors
        assert parts["least_shortfall"][1:].max() == 0.0
        assert parts["same_share"] == pytest.approx([0.6, 0.6, 0.6], abs=0.03)


class TestTheSetting:
    def test_is_part_of_the_configuration(self):
        chosen = OLP(when_infeasible="same_share")
        assert chosen.when_infeasible == "same_share"
        assert chosen != OLP()
        assert hash(chosen) != hash(OLP())
        assert (chosen.label, OLP().label) == ("olp(same_share)", "olp")
        at_work = chosen.for_instance(NU)
        assert at_work.when_infeasible == at_work.unbound().when_infeasible == "same_share"
        assert OLP().for_instance(NU).when_infeasible == "least_shortfall"

    @pytest.mark.parametrize("name", sorted(set(POLICIES) - set(PLANNING)))
    def test_is_refused_by_rules_that_do_not_plan(self, name):
        with pytest.raises(
            InvalidInputError, match=r"when_infeasible must be 'least_shortfall' for .*, which does not"
        ):
            policy(name, when_infeasible="same_share")
        assert policy(name, when_infeasible="least_shortfall") == policy(name)

    @pytest.mark.parametrize("value", ["same-share", "raise", "", None, 1, True, ["same_share"]])
    def test_must_be_one_of_two_words(self, value):
        with pytest.raises(InvalidInputError, match="when_infeasible must be 'least_shortfall' or 'same_share', got"):
            OLP(when_infeasible=value)

    def test_survives_growth(self):
        decider = ThompsonLP(when_infeasible="same_share").for_instance(PLATFORM, seed=1)
        decider.add_arm("late", 0.5)
        decider.add_context("new", 0.1)
        play = [decider.decide("new") for _ in range(5)]
        assert len(play) == 5
        assert len(decider.learner.planner.shared.floors) == 4
        assert decider.when_infeasible == "same_share"


class TestSnapshotsOfEarlierVersions:
    def test_are_of_least_shortfall(self):
        today = OLP([0.5, 0.5], [1.0], noise_scale=1, seed=1).snapshot()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            earlier = restore(before_changes(today)).snapshot()
        assert earlier["configuration"] == today["configuration"]
        settings = {name: value for name, value in today["configuration"].items() if name != "when_infeasible"}
        with pytest.raises(InvalidInputError, match="when_infeasible"):
            restore({**today, "configuration": settings})

    def test_a_snapshot_says_which_it_is(self):
        shared = OLP([0.5, 0.5], [1.0], when_infeasible="same_share").snapshot()
        assert shared["configuration"]["when_infeasible"] == "same_share"
        for value in ("neither", 1, None):
            with pytest.raises(InvalidInputError, match="when_infeasible"):
                restore({**shared, "configuration": {**shared["configuration"], "when_infeasible": value}})


@pytest.mark.slow
@pytest.mark.parametrize("text", ["same_share", "same-share"])
def test_the_command_line_plays_it(text, tmp_path, capsys):
    file = tmp_path / "platform.toml"
    PLATFORM.save(file)
    choice = f"olp:when_infeasible={text}"
    options = ["--horizon", "300", "--epochs", "2", "--jobs", "1", "--json"]
    assert main(["simulate", str(file), "--policy", choice, "--policy", "olp", *options]) == 0
    summary = json.loads(capsys.readouterr().out)["summary"]
    expected = simulate(PLATFORM, [OLP(when_infeasible="same_share")], 300, 2, jobs=1).summary()
    assert summary[choice]["regret"]["mean"] == expected["olp(same_share)"]["regret"].mean
    assert summary[choice]["regret"]["mean"] != summary["olp"]["regret"]["mean"]
