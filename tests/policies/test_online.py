"""Using a policy in one's own loop."""

import itertools

import numpy as np
import pytest

from arcbandit import BLP, OLP, OPLP, Greedy, GroupFloor, LinearProgramRule, Policy, ThompsonLP, policy
from arcbandit.errors import FloorsOutOfReachWarning, InvalidInputError, InvalidInstanceError, UnknownNameError
from arcbandit.kernels.confidence import ByPair
from arcbandit.policies.learner import Progress


def play(decider, means, rounds, seed=0, noise=1.0):
    random = np.random.default_rng(seed)
    n_contexts = np.asarray(means).shape[1]
    for _ in range(rounds):
        context = int(random.integers(n_contexts))
        decision = decider.decide(context)
        decider.update(context, decision.arm, means[decision.arm][context] + noise * random.normal())


class TestSettingUp:
    def test_arms_and_contexts_go_by_name_and_by_index(self):
        decider = OLP([0.1, 0.1], [0.5, 0.5], arms=["a", "b"], contexts=["x", "y"])
        assert decider.decide("x").arm in ("a", "b")
        assert decider.decide(1).arm in ("a", "b")
        decider.update("y", 0, 1.0)
        assert decider.pulls().tolist() == [[0, 1], [0, 0]]
        assert OLP([0.1, 0.1], [0.5, 0.5]).decide(0).arm in (0, 1)

    def test_bounds_on_rewards_give_the_noise_scale(self):
        assert OLP([0.1], [1.0], reward_bounds=(-1, 3)).learner.settings[0].noise_scale == 2.0
        assert OLP([0.1], [1.0], reward_bounds=(-1, 3), noise_scale=0.5).learner.settings[0].noise_scale == 0.5
        with pytest.raises(InvalidInputError, match="within reward_bounds"):
            OLP([0.1], [1.0], reward_bounds=(0, 1)).update(0, 0, 1.5)

    @pytest.mark.parametrize(
        ("settings", "words"),
        [
            ({"reward_bounds": (1, 1)}, "increasing"),
            ({"reward_bounds": 3}, "pair"),
            ({"noise_scale": 0}, "noise_scale must be positive"),
            ({"seed": -1}, "seed must be a whole number"),
            ({"seed": 1.5}, "seed must be a whole number"),
            ({"caution": 1}, "no dial 'caution'"),
            ({"available": [[True, False], [True, False]]}, "leave each context an arm"),
            ({"available": [[1, 1], [1, 1]]}, "booleans"),
            ({"contexts": 3}, "as many as context_probabilities"),
            ({"estimate_contexts": "no"}, "True or False"),
        ],
    )
    def test_a_bad_setting_is_named(self, settings, words):
        with pytest.raises(InvalidInputError, match=words):
            OLP([0.1, 0.1], [0.5, 0.5], **settings)

    def test_a_bad_problem_is_named(self):
        with pytest.raises(InvalidInstanceError, match="revenue_floors"):
            OLP([-0.1, 0.1], [0.5, 0.5])
        with pytest.raises(InvalidInstanceError, match="context_probabilities"):
            OLP([0.1, 0.1], [0.5, 0.6])
        with pytest.raises(InvalidInputError, match="contexts must be given"):
            OLP([0.1, 0.1])
        with pytest.raises(AttributeError, match="'Configuration' object has no attribute 'decide'"):
            OLP().decide(0)
        with pytest.raises(UnknownNameError, match="no policy 'best'"):
            policy("best")
        with pytest.raises(InvalidInputError, match="Policy itself has no rule"):
            Policy([0.1, 0.1], [0.5, 0.5])
        with pytest.raises(InvalidInputError, match="Policy itself has no rule"):
            Policy.restore(OLP([0.1], [1.0]).snapshot())

    def test_policies_are_points_of_one_rule(self):
        """OLP, OPLP, BLP and Greedy play exactly as the two-dial rule at their point."""
        means = [[1.0, 0.2], [0.3, 0.8]]
        for kind, optimism, caution in ((OLP, 1, 1), (OPLP, 1, -1), (BLP, 1, 0), (Greedy, 0, 0)):
            named = kind([0.2, 0.2], [0.5, 0.5], seed=2)
            dialled = LinearProgramRule([0.2, 0.2], [0.5, 0.5], optimism=optimism, caution=caution, seed=2)
            play(named, means, 300)
            play(dialled, means, 300)
            assert (named.allocation() == dialled.allocation()).all()
            assert (named.pulls() == dialled.pulls()).all()

    def test_dials_are_checked(self):
        with pytest.raises(InvalidInputError, match="whole number"):
            ThompsonLP(redraws=2.5)
        with pytest.raises(InvalidInputError, match="from 0 to 1"):
            ThompsonLP(share=2)
        with pytest.raises(InvalidInputError, match=r"noise_factor must be within 1e\+50 of zero, got 1e\+60"):
            policy("doc", noise_factor=1e60)

    def test_rewards_beyond_arithmetic_are_refused(self):
        with pytest.raises(InvalidInputError, match="of zero"):
            OLP([0.1], [1.0]).update(0, 0, 1e308)


class TestLearning:
    def test_contexts_can_be_estimated_along_the_way(self):
        decider = BLP([0.1, 0.1], contexts=["often", "seldom"], seed=1)
        for t in range(400):
            context = "seldom" if t % 4 == 0 else "often"
            decider.update(context, decider.decide(context).arm, 1.0)
        assert decider.learner.problem.context_probabilities == pytest.approx([0.75, 0.25], abs=0.01)

    def test_late_and_unordered_rewards_give_the_same_means(self):
        ordered, unordered = OLP([0.1, 0.1], [0.5, 0.5]), OLP([0.1, 0.1], [0.5, 0.5])
        rewards = [(0, 0, 1.0), (1, 0, 2.0), (0, 1, 0.5), (0, 0, 3.0)]
        for context, arm, reward in rewards:
            ordered.update(context, arm, reward)
        for context, arm, reward in reversed(rewards):
            unordered.update(context, arm, reward)
        assert (ordered.pulls() == unordered.pulls()).all()
        assert ordered.learner.statistics.by_pair[ByPair.MEAN] == pytest.approx(
            unordered.learner.statistics.by_pair[ByPair.MEAN], abs=1e-15
        )

    def test_every_arm_is_tried_in_each_context_first(self):
        """The first rounds of a context play each of its arms once, in any order, rare contexts whenever they come."""
        decider = OLP([0.1, 0.1, 0.1], [0.9, 0.1], seed=3)
        tried = [decider.decide(0).arm]
        decider.update(0, tried[0], 1.0)
        for _ in range(2):
            decision = decider.decide(0)
            assert decision.arm not in tried
            assert decision.probability == pytest.approx(1 / (3 - len(tried)))
            tried.append(decision.arm)
            decider.update(0, decision.arm, 1.0)
        decider.decide(0)
        assert decider.allocation()[:, 1].tolist() == [1 / 3] * 3

    def test_group_floors_are_met(self):
        """Two weak arms that are owed revenue together get it, from the one that costs least."""
        group = GroupFloor("others", (1, 2), 0.3)
        decider = BLP([0.0, 0.0, 0.0], [0.5, 0.5], group_floors=[group], seed=5, noise_scale=0.1)
        means = [[2.0, 2.0], [1.0, 0.2], [0.2, 0.5]]
        play(decider, means, 3000, noise=0.1)
        shares = decider.allocation()
        earned = (0.5 * np.array(means) * shares).sum(axis=1)
        assert earned[1] + earned[2] == pytest.approx(0.3, abs=0.02)
        assert shares[1, 0] > 0.5
        decider.set_floor("others", 0.0)
        decider.decide(0)
        assert decider.allocation()[0].tolist() == [1.0, 1.0]

    def test_floors_that_cannot_be_met_are_missed_by_the_least(self):
        decider = OPLP([5.0, 0.0], [1.0], seed=1, noise_scale=0.01)
        with pytest.warns(FloorsOutOfReachWarning, match="the floor of arm 0 is out of reach"):
            play(decider, [[1.0], [2.0]], 200, noise=0.01)
        assert decider.allocation()[:, 0].tolist() == [1.0, 0.0]

    def test_thompson_draws_depend_on_the_seed_alone(self):
        first, again, other = (ThompsonLP([0.2, 0.2], [0.5, 0.5], seed=seed) for seed in (1, 1, 2))
        for decider in (first, again, other):
            play(decider, [[1.0, 0.9], [0.9, 1.0]], 200)
        assert (first.pulls() == again.pulls()).all()
        assert (first.pulls() != other.pulls()).any()


class TestChanging:
    def test_names_and_probabilities_are_checked(self):
        decider = OLP([0.1, 0.1], [0.5, 0.5], arms=["a", "b"])
        before = decider.snapshot()
        with pytest.raises(InvalidInputError, match="taken"):
            decider.add_arm("a")
        with pytest.raises(InvalidInputError, match="non-empty"):
            decider.add_arm()
        with pytest.raises(InvalidInputError, match="probability of the new context"):
            decider.add_context()
        with pytest.raises(InvalidInputError, match="below 1"):
            decider.add_context(probability=1.0)
        with pytest.raises(InvalidInputError, match="non-negative"):
            decider.set_floor("a", -1)
        with pytest.raises(UnknownNameError, match="no arm 'c'"):
            decider.retire_arm("c")
        assert decider.snapshot() == before

    def test_the_last_arm_of_a_context_cannot_go(self):
        decider = OLP([0.1, 0.1], [0.5, 0.5], available=[[True, False], [True, True]])
        decider.retire_arm(0)
        with pytest.raises(InvalidInputError, match="no arm left"):
            decider.retire_arm(1)

    def test_a_new_context_takes_its_share_from_the_others(self):
        decider = OLP([0.1, 0.1], [0.5, 0.5])
        assert decider.add_context(probability=0.2) == 2
        assert decider.learner.problem.context_probabilities == pytest.approx([0.4, 0.4, 0.2])

    def test_snapshots_of_another_kind_are_refused(self):
        snapshot = OLP([0.1], [1.0]).snapshot()
        with pytest.raises(InvalidInputError, match="policy 'oplp'"):
            OPLP.restore(snapshot)
        with pytest.raises(InvalidInputError, match="version"):
            OLP.restore({**snapshot, "version": 99})
        with pytest.raises(InvalidInputError, match="format"):
            OLP.restore({})
        for part, value in (("key", [[99], [0]]), ("slot_arm", [[-1], [0]]), ("slot_context", [[7], [0]])):
            basis = {**snapshot["planner"]["basis"], part: value}
            with pytest.raises(InvalidInputError, match=rf"snapshot\['planner'\]\['basis'\]\['{part}'\]"):
                OLP.restore({**snapshot, "planner": {**snapshot["planner"], "basis": basis}})
        with pytest.raises(InvalidInputError, match="can have written"):
            OLP.restore({**snapshot, "planner": {**snapshot["planner"], "allocation": [[0.5]]}})
        for part in ("configuration", "statistics", "planner"):
            with pytest.raises(InvalidInputError, match="complete"):
                OLP.restore({key: value for key, value in snapshot.items() if key != part})


class TestReplanning:
    def test_the_allocation_stays_between_plans(self):
        """With replan=10 the matrix changes every ten rounds once every pair is played; each round it is drawn from."""
        decider = OLP([0.2, 0.2], [0.5, 0.5], replan=10, seed=1, noise_scale=1)
        play(decider, [[1.0, 0.2], [0.3, 0.8]], 40)
        seen = []
        for _ in range(60):
            play(decider, [[1.0, 0.2], [0.3, 0.8]], 1, seed=len(seen))
            seen.append(decider.allocation().tolist())
        changes = sum(before != after for before, after in itertools.pairwise(seen))
        assert 4 <= changes <= 6

    def test_doubling_plans_at_powers_of_two(self):
        decider = BLP([0.2, 0.2], [0.5, 0.5], replan="doubling", seed=1)
        play(decider, [[1.0, 0.2], [0.3, 0.8]], 1000)
        assert decider.learner.progress[Progress.NEXT_PLAN] > 1000
        before = decider.allocation()
        play(decider, [[1.0, 0.2], [0.3, 0.8]], 10)
        assert (decider.allocation() == before).all()

    def test_a_changed_floor_is_planned_for_at_once(self):
        decider = BLP([0.0, 0.0], [1.0], replan="doubling", seed=1, noise_scale=0.01)
        play(decider, [[1.0], [0.5]], 200, noise=0.01)
        decider.set_floor(1, 0.25)
        decider.decide(0)
        assert decider.allocation()[1, 0] == pytest.approx(0.5, abs=0.05)

    def test_a_plan_may_stand_for_ever(self):
        """As long as a whole number can say: then no round number is too large for it."""
        decider = BLP([0.2, 0.2], [0.5, 0.5], replan=2**63 - 1, noise_scale=0.1, seed=1)
        play(decider, [[1.0, 0.2], [0.3, 0.8]], 100)
        before = decider.status().plan_age
        play(decider, [[1.0, 0.2], [0.3, 0.8]], 100)
        assert decider.status().plan_age == before + 100
        assert BLP.restore(decider.snapshot()).snapshot() == decider.snapshot()

    def test_snapshots_keep_the_next_plan(self):
        decider = BLP([0.2, 0.2], [0.5, 0.5], replan=50, seed=1)
        play(decider, [[1.0, 0.2], [0.3, 0.8]], 120)
        copy = BLP.restore(decider.snapshot())
        play(decider, [[1.0, 0.2], [0.3, 0.8]], 120, seed=5)
        play(copy, [[1.0, 0.2], [0.3, 0.8]], 120, seed=5)
        assert copy.snapshot() == decider.snapshot()

    def test_what_cannot_be_is_refused(self):
        for replan in (0, -1, 1.5, "seldom", True):
            with pytest.raises(InvalidInputError, match="replan must be"):
                OLP(replan=replan)
        with pytest.raises(InvalidInputError, match="does not plan"):
            policy("doc", replan=10)
