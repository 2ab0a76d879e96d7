"""A policy at work whose arms, contexts, groups and probabilities change: each change whole, kept, and as stated."""

import json

import numpy as np
import pytest

from arcbandit import BLP, DOC, OLP, GroupFloor, Instance, Optimistic3, policy
from arcbandit.errors import InvalidInputError, InvalidInstanceError, UnknownNameError
from arcbandit.kernels.confidence import ByPair
from arcbandit.policies.learner import Progress
from arcbandit.policies.registry import POLICIES, restore
from arcbandit.policies.state import PAIRS_TO_LOOK_AT
from tests.policies.earlier import before_changes

# Floors out of reach are among the cases.
pytestmark = pytest.mark.filterwarnings("ignore::arcbandit.errors.FloorsOutOfReachWarning")

EVERY_POLICY = sorted(POLICIES)
MEANS = [[0.9, 0.2, 0.5], [0.3, 0.8, 0.4], [0.5, 0.5, 0.6]]


def named(name="blp", **settings):
    settings = {"contexts": ["x", "y", "z"]} | settings
    if "context_probabilities" not in settings and not settings.get("estimated"):
        settings["context_probabilities"] = [0.5, 0.3, 0.2]
    settings.pop("estimated", None)
    return policy(name, [0.05, 0.05, 0.05], arms=["a", "b", "c"], reward_bounds=(0, 1), horizon=500, seed=2, **settings)


def at_work(decider):
    return [context for context in decider.contexts if context not in decider.dropped_contexts]


def play(decider, rounds, seed=0):
    random = np.random.default_rng(seed)
    arms, contexts = list(decider.arms), list(decider.contexts)
    seen = []
    for _ in range(rounds):
        context = at_work(decider)[int(random.integers(len(at_work(decider))))]
        decision = decider.decide(context)
        row, column = arms.index(decision.arm), contexts.index(context)
        decider.update(context, decision.arm, float(random.random() < MEANS[row % 3][column % 3]))
        seen.append((row, column, decision.probability))
    return seen


def probabilities(decider):
    return decider.learner.problem.context_probabilities.tolist()


def statistics(decider):
    return decider.learner.statistics.by_pair.copy()


CHANGES = {
    "set_available": lambda decider: decider.set_available("a", "x", False),
    "set_available in all contexts": lambda decider: decider.set_available("a", None, False),
    "add_arm with a prior": lambda decider: decider.add_arm("d", 0.02, prior_mean=0.4, prior_pulls=2.5),
    "return_arm": lambda decider: (decider.retire_arm("b"), play(decider, 5), decider.return_arm("b", 0.1)),
    "drop_context": lambda decider: decider.drop_context("y"),
    "add_context again": lambda decider: (decider.drop_context("y"), play(decider, 5), decider.add_context("y", 0.1)),
    "set_context_probabilities": lambda decider: decider.set_context_probabilities([0.1, 0.1, 0.8]),
}
OF_GROUPS = {
    "add_group": lambda decider: decider.add_group("g", ["a", "c"], 0.2),
    "set_group": lambda decider: (decider.add_group("g", ["a"], 0.2), decider.set_group("g", arms=["b", "c"])),
    "remove_group": lambda decider: (decider.add_group("g", ["a"], 0.2), decider.remove_group("g")),
}


class TestEveryChange:
    @pytest.mark.parametrize("change", CHANGES)
    @pytest.mark.parametrize("name", EVERY_POLICY)
    def test_a_policy_restored_after_it_goes_on_as_the_original(self, name, change):
        """Every rule decides on after every change, and its copy decides the same, to the last digit."""
        decider = named(name)
        play(decider, 40)
        CHANGES[change](decider)
        snapshot = json.loads(json.dumps(decider.snapshot()))
        twin = restore(snapshot)
        assert twin.snapshot() == snapshot
        assert play(decider, 40, seed=1) == play(twin, 40, seed=1)
        assert twin.snapshot() == decider.snapshot()

    @pytest.mark.parametrize("change", OF_GROUPS)
    def test_likewise_of_groups(self, change):
        decider = named("blp")
        play(decider, 40)
        OF_GROUPS[change](decider)
        twin = restore(json.loads(json.dumps(decider.snapshot())))
        assert play(decider, 40, seed=1) == play(twin, 40, seed=1)
        assert twin.snapshot() == decider.snapshot()

    @pytest.mark.parametrize("change", CHANGES | OF_GROUPS)
    def test_what_was_learnt_and_counted_stays(self, change):
        """No change forgets a reward, a context or a decision, nor counts one twice."""
        decider = named("blp")
        rewards = len(play(decider, 40))
        before = statistics(decider)
        (CHANGES | OF_GROUPS)[change](decider)
        after, kept = statistics(decider)[:, :3, :3], decider.snapshot()["statistics"]
        later = kept["rewards"] - rewards  # by changes that play in between
        assert (after[ByPair.PULLS] >= before[ByPair.PULLS]).all()
        assert decider.pulls().sum() == kept["rewards"] == kept["decisions"] == sum(kept["context_counts"])
        if later == 0:
            assert (after == before).all()

    @pytest.mark.parametrize("change", CHANGES | OF_GROUPS)
    @pytest.mark.parametrize(
        "step", ["arcbandit.policies.state.make_learner", "arcbandit.policies.state.playable"], ids=["learner", "pairs"]
    )
    def test_it_happens_at_once_or_not_at_all(self, change, step, monkeypatch):
        """An interrupt in the midst of it leaves the policy as it was."""
        decider = named("blp")
        play(decider, 20)
        before = decider.snapshot()

        def interrupt(*_):
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(step, interrupt)
            with pytest.raises(KeyboardInterrupt):
                (CHANGES | OF_GROUPS)[change](decider)
        assert decider.snapshot() == before

    def test_a_rule_that_seldom_plans_plans_at_once(self):
        decider = BLP([0.0, 0.0], [0.5, 0.5], replan="doubling", noise_scale=0.01, seed=1)
        for step in range(200):
            decider.update(step % 2, step // 2 % 2, [1.0, 0.5][step // 2 % 2])
        decider.decide(0)
        assert decider.allocation().tolist() == [[1.0, 1.0], [0.0, 0.0]]
        decider.set_available(0, 1, False)
        decider.decide(0)
        assert decider.allocation().tolist() == [[1.0, 0.0], [0.0, 1.0]]


class TestAvailability:
    @pytest.mark.parametrize("name", EVERY_POLICY)
    def test_a_pair_is_not_played_until_it_is_switched_on_again(self, name):
        decider = named(name)
        play(decider, 30)
        decider.set_available("a", "x", False)
        assert not any((row, column) == (0, 0) for row, column, _ in play(decider, 60))
        decider.set_available("a", "x", True)
        decider.decide("x")
        assert decider.allocation()[0, 0] >= 0.0
        assert decider.learner.problem.available.all()

    def test_a_pair_never_played_is_explored_once_it_is_available(self):
        decider = OLP([0.1, 0.1], [1.0], available=[[True], [False]], seed=1)
        for _ in range(5):
            decider.update(0, decider.decide(0).arm, 1.0)
        assert decider.pulls().tolist() == [[5], [0]]
        decider.set_available(1, 0, True)
        decision = decider.decide(0)
        assert (decision.arm, decision.probability) == (1, 1.0)

    def test_rows_and_columns_are_switched_as_a_whole(self):
        decider = named()
        decider.set_available("b", None, False)
        assert decider.learner.problem.available.tolist() == [[True] * 3, [False] * 3, [True] * 3]
        decider.set_available(None, "y", True)
        assert decider.learner.problem.available.tolist() == [[True] * 3, [False, True, False], [True] * 3]

    def test_the_last_arm_of_a_context_stays(self):
        decider = OLP([0.1, 0.1], [0.5, 0.5], available=[[True, False], [True, True]])
        before = decider.snapshot()
        with pytest.raises(InvalidInputError, match="arm 1 must stay available: context 1 would have no arm left"):
            decider.set_available(1, 1, False)
        with pytest.raises(InvalidInputError, match="every arm must stay available"):
            decider.set_available(None, 0, False)
        with pytest.raises(InvalidInputError, match="available must be True or False, got 1"):
            decider.set_available(1, 0, 1)
        decider.retire_arm(0)
        retired = decider.snapshot()
        with pytest.raises(InvalidInputError, match="arm 0 is retired"):
            decider.set_available(0, 0, True)
        assert decider.snapshot() == retired != before


class TestReturning:
    @pytest.mark.parametrize("name", EVERY_POLICY)
    def test_an_arm_comes_back_with_what_was_learnt_of_it(self, name):
        decider = named(name, available=[[True, False, True], [True, True, True], [True, True, True]])
        play(decider, 40)
        before = statistics(decider)[:, 0]
        decider.retire_arm("a")
        assert decider.retired_arms == ("a",)
        assert all(row != 0 for row, _, _ in play(decider, 40))
        decider.update("x", "a", 1.0)
        decider.return_arm("a", 0.1)
        assert decider.retired_arms == ()
        assert decider.learner.problem.available[0].tolist() == [True, False, True]
        assert decider.floors.amounts[0] == 0.1
        assert statistics(decider)[ByPair.PULLS, 0].tolist() == (before[ByPair.PULLS] + [1, 0, 0]).tolist()
        assert (decider.learner.memory.by_arm[:, 0] == 0).all()
        play(decider, 20)

    def test_where_it_is_played_can_be_told(self):
        decider = named()
        decider.retire_arm("a")
        decider.return_arm("a", available={"z": True, "x": False, "y": False})
        assert decider.learner.problem.available[0].tolist() == [False, False, True]

    def test_a_context_that_came_meanwhile_has_the_arm(self):
        decider = named()
        decider.retire_arm("a")
        decider.add_context("new", 0.1)
        assert not decider.learner.problem.available[0].any()
        decider.return_arm("a")
        assert decider.learner.problem.available[0].tolist() == [True] * 4

    def test_only_a_retired_arm_comes_back(self):
        decider = named()
        before = decider.snapshot()
        with pytest.raises(InvalidInputError, match="arm 'a' must be retired to be taken back"):
            decider.return_arm("a")
        with pytest.raises(UnknownNameError, match="no arm 'q'"):
            decider.return_arm("q")
        assert decider.snapshot() == before

    def test_an_arm_retired_by_an_earlier_version_comes_back_everywhere(self):
        decider = named()
        decider.retire_arm("a")
        earlier = before_changes(decider.snapshot())
        earlier["configuration"]["available"][0] = [False] * 3
        twin = restore(earlier)
        assert twin.snapshot() == decider.snapshot()
        twin.return_arm("a")
        assert twin.learner.problem.available.all()

    def test_an_optimistic_dual_does_not_start_from_a_debt(self):
        """While an arm has no floor its gap is clipped far below zero, which must not be extrapolated."""
        decider = Optimistic3([0.1, 0.1], [1.0], reward_bounds=(0, 1), seed=1)
        decider.retire_arm(0)
        for _ in range(5):
            decider.update(0, decider.decide(0).arm, 0.5)
        decider.return_arm(0, 0.1)
        decider.decide(0)
        assert decider.learner.memory.by_arm[0].max() < 1.0
        decider.set_floor(1, 0.0)
        decider.decide(0)
        decider.set_floor(1, 0.1)
        decider.decide(0)
        assert decider.learner.memory.by_arm[0].max() < 1.0


class TestDropping:
    def test_its_probability_goes_to_the_others_in_proportion(self):
        decider = named()
        decider.drop_context("x")
        assert probabilities(decider) == pytest.approx([0.0, 0.6, 0.4], abs=1e-15)
        assert decider.dropped_contexts == ("x",)
        assert decider.contexts == ("x", "y", "z")

    def test_estimates_leave_it_out(self):
        decider = named(estimated=True)
        for context in ("x", "x", "x", "y", "z", "z"):
            decider.decide(context)
        decider.drop_context("x")
        expected = [0.0, (1 + 1 / 2) / 4, (2 + 1 / 2) / 4]
        assert probabilities(decider) == pytest.approx(expected, abs=1e-15)
        decider.decide("y")
        assert probabilities(decider) == pytest.approx([0.0, (2 + 1 / 2) / 5, (2 + 1 / 2) / 5], abs=1e-15)
        decider.add_context("x")
        assert probabilities(decider) == pytest.approx([(n + 1 / 3) / 8 for n in (3, 2, 2)], abs=1e-15)
        decider.decide("x")
        assert probabilities(decider) == pytest.approx([(n + 1 / 3) / 9 for n in (4, 2, 2)], abs=1e-15)

    @pytest.mark.parametrize("estimated", [False, True])
    @pytest.mark.parametrize("name", EVERY_POLICY)
    def test_nothing_is_decided_in_it_but_late_rewards_count(self, name, estimated):
        decider = named(name, estimated=estimated)
        play(decider, 30)
        decider.drop_context("y")
        before = decider.snapshot()
        for context in ("y", 1, np.int64(1)):
            with pytest.raises(InvalidInputError, match=r"context 'y' was dropped .* add_context takes it back"):
                decider.decide(context)
            with pytest.raises(InvalidInputError, match="context 'y' was dropped"):
                decider.decide_many(["x", context])
        assert decider.snapshot() == before
        for context in ("x", 0, np.int64(2)):
            assert decider.decide(context).probability > 0
        pulls = decider.pulls()
        decider.update("y", "a", 1.0)
        decider.update(1, 0, 1.0, count_context=True)
        decider.update_many(["y", "x"], ["b", "b"], [0.5, 0.5])
        assert (decider.pulls() - pulls).tolist() == [[0, 2, 0], [1, 1, 0], [0, 0, 0]]
        assert probabilities(decider)[1] == 0.0
        assert restore(decider.snapshot()).snapshot() == decider.snapshot()

    def test_the_others_are_decided_as_if_it_had_never_been(self):
        """A policy without the context, that saw the same in the others, makes the same plan of them."""
        decider = named(noise_scale=0.2)
        without = BLP(
            [0.05] * 3, [0.625, 0.375], arms=["a", "b", "c"], contexts=["x", "y"], reward_bounds=(0, 1), noise_scale=0.2
        )
        random = np.random.default_rng(3)
        for _ in range(600):
            row, column = (int(random.integers(3)) for _ in range(2))
            reward = float(random.random() < MEANS[row][column])
            decider.update(column, row, reward)
            if column < 2:
                without.update(column, row, reward)
        decider.drop_context("z")
        decider.decide("x")
        without.decide("x")
        assert decider.allocation()[:, :2] == pytest.approx(without.allocation(), abs=1e-9)

    @pytest.mark.parametrize("name", ["olp", "blp", "thompson-lp", "drift-plus-penalty"])
    def test_what_was_never_played_in_it_is_not_waited_for(self, name):
        """Otherwise a rule that plans would take itself to be exploring for ever."""
        decider = named(name)
        decider.drop_context("z")
        play(decider, 30)
        assert decider.pulls()[:, 2].sum() == 0
        if decider.configuration.kind.plans:
            assert decider.learner.progress[Progress.ALL_PLAYED] == 1
        assert restore(decider.snapshot()).snapshot() == decider.snapshot()

    def test_nor_in_a_problem_of_many_pairs(self):
        """What is kept of unplayed pairs counts those that are still to be played alone, late rewards or not."""
        n_contexts = PAIRS_TO_LOOK_AT // 4 + 1
        decider = OLP([0.0] * 4, [1 / n_contexts] * n_contexts, seed=1)
        for context in range(n_contexts):
            for arm in range(4):
                if context != 7 and (arm, context) != (3, 9):
                    decider.update(context, arm, 0.5)
        decider.drop_context(7)
        assert decider.decide(9).arm == 3
        decider.update(7, 1, 0.5)
        decider.decide(0)
        assert decider.learner.progress[Progress.ALL_PLAYED] == 0
        decider.update(9, 3, 0.5)
        decider.decide(0)
        assert decider.learner.progress[Progress.ALL_PLAYED] == 1
        assert decider.pulls()[:, 7].tolist() == [0, 1, 0, 0]

    def test_it_is_taken_back_by_its_name_or_index(self):
        decider = named()
        play(decider, 40)
        before = statistics(decider)
        decider.drop_context("y")
        assert decider.add_context("y", 0.25) == "y"
        assert decider.contexts == ("x", "y", "z")
        assert (statistics(decider) == before).all()
        assert probabilities(decider) == pytest.approx([0.75 * 5 / 7, 0.25, 0.75 * 2 / 7], abs=1e-15)
        assert decider.decide("y").probability > 0
        nameless = OLP([0.1], [0.5, 0.5])
        nameless.drop_context(0)
        assert nameless.add_context(0, 0.3) == 0
        assert probabilities(nameless) == [0.3, 0.7]
        assert nameless.decide(0).arm == 0

    def test_an_arm_that_is_left_only_there_can_retire(self):
        """A dropped context needs no arm; before it is taken back, it does."""
        decider = OLP([0.1, 0.1], [0.5, 0.5], arms=["a", "b"], available=[[True, False], [True, True]])
        decider.drop_context(1)
        decider.retire_arm("b")
        decider.decide(0)
        assert restore(decider.snapshot()).snapshot() == decider.snapshot()
        with pytest.raises(InvalidInputError, match="must not be taken back: context 1 would have no arm left"):
            decider.add_context(1, 0.5)
        decider.set_available("a", 1, True)
        decider.add_context(1, 0.5)
        assert decider.decide(1).arm == "a"

    def test_what_cannot_be_dropped_is_refused(self):
        decider = named(context_probabilities=[1.0, 0.0, 0.0])
        before = decider.snapshot()
        with pytest.raises(InvalidInputError, match="no other has a probability above 0"):
            decider.drop_context("x")
        assert decider.snapshot() == before
        decider.drop_context("y")
        with pytest.raises(InvalidInputError, match="it was dropped before"):
            decider.drop_context("y")
        decider.drop_context("z")
        with pytest.raises(InvalidInputError, match="it is the only one left"):
            decider.drop_context("x")
        with pytest.raises(InvalidInputError, match="taken"):
            decider.add_context("x", 0.5)
        with pytest.raises(InvalidInputError, match="probability of the new context must be given"):
            decider.add_context("y")


class TestProbabilities:
    def test_they_are_taken_labelled_or_in_order(self):
        decider = named()
        decider.set_context_probabilities({"z": 0.5, "x": 0.2, "y": 0.3})
        assert probabilities(decider) == [0.2, 0.3, 0.5]
        decider.set_context_probabilities([0.1, 0.2, 0.7])
        assert probabilities(decider) == [0.1, 0.2, 0.7]
        decider.drop_context("y")
        decider.set_context_probabilities({"x": 0.4, "z": 0.6})
        assert probabilities(decider) == [0.4, 0.0, 0.6]

    def test_they_are_planned_with(self):
        """An arm that earns its floor in a context alone needs more of it if the context comes less often."""
        decider = BLP([0.0, 0.1], [0.5, 0.5], noise_scale=0.001, seed=1)
        for step in range(400):
            decider.update(step % 2, step // 2 % 2, [[1.0, 1.0], [0.5, 0.0]][step // 2 % 2][step % 2])
        decider.decide(0)
        assert decider.allocation()[1, 0] == pytest.approx(0.1 / (0.5 * 0.5), abs=0.01)
        decider.set_context_probabilities([0.25, 0.75])
        decider.decide(0)
        assert decider.allocation()[1, 0] == pytest.approx(0.1 / (0.25 * 0.5), abs=0.01)

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ([0.5, 0.5], "context_probabilities has shape .2,., but there are 3 contexts"),
            ([0.5, 0.4, 0.2], "must sum to 1"),
            ([1.5, -0.5, 0.0], "must be non-negative"),
            ({"x": 0.5, "y": 0.5, "q": 0.0}, "lacks 'z' and has 'q' besides"),
            ("abc", "context_probabilities"),
        ],
    )
    def test_bad_ones_change_nothing(self, given, words):
        decider = named()
        before = decider.snapshot()
        with pytest.raises(InvalidInputError, match=words):
            decider.set_context_probabilities(given)
        assert decider.snapshot() == before

    def test_estimated_ones_cannot_be_set(self):
        with pytest.raises(InvalidInputError, match="must not be set if they are estimated"):
            named(estimated=True).set_context_probabilities([0.2, 0.3, 0.5])


class TestGroups:
    def told(self):
        """One context, means known well: 2 of arm 0, 1 of arm 1, 0.5 of arm 2."""
        decider = BLP([0.0] * 3, [1.0], arms=["a", "b", "c"], noise_scale=0.001, seed=1)
        for arm, mean in enumerate((2.0, 1.0, 0.5)):
            decider.update_many([0] * 50, [arm] * 50, [mean] * 50)
        return decider

    def shares(self, decider):
        decider.decide(0)
        return decider.allocation()[:, 0].round(2).tolist()

    def test_groups_come_change_and_go(self):
        decider = self.told()
        assert self.shares(decider) == [1.0, 0.0, 0.0]
        decider.add_group("others", ["b", "c"], 0.2)
        assert self.shares(decider) == [0.8, 0.2, 0.0]
        decider.set_group("others", arms=["c"])
        assert self.shares(decider) == [0.6, 0.0, 0.4]
        decider.set_group("others", floor=0.1)
        assert self.shares(decider) == [0.8, 0.0, 0.2]
        decider.set_group("others", arms=[1, 2], floor=0.5)
        assert self.shares(decider) == [0.5, 0.5, 0.0]
        decider.set_floor("others", 0.25)
        assert self.shares(decider) == [0.75, 0.25, 0.0]
        decider.remove_group("others")
        assert self.shares(decider) == [1.0, 0.0, 0.0]
        assert decider.floors.groups == ()

    def test_bad_groups_change_nothing(self):
        decider = self.told()
        decider.add_group("g", ["b"], 0.2)
        before = decider.snapshot()
        for change, kind, words in (
            (lambda: decider.add_group("g", ["a"], 0.1), InvalidInputError, "'g' is taken"),
            (lambda: decider.add_group("a", ["a"], 0.1), InvalidInputError, "a name that no arm"),
            (lambda: decider.add_group("h", ["q"], 0.1), InvalidInputError, "no arm 'q'"),
            (lambda: decider.add_group("h", [], 0.1), InvalidInstanceError, "at least one arm"),
            (lambda: decider.add_group("h", ["a"], -0.1), InvalidInstanceError, "non-negative"),
            (lambda: decider.set_group("h", arms=["a"]), UnknownNameError, "no group 'h'; known are 'g'"),
            (lambda: decider.set_group("g"), InvalidInputError, "arms or floor of the group must be given"),
            (lambda: decider.set_group("g", arms=["a", "a"]), InvalidInputError, "must be unique"),
            (lambda: decider.remove_group("h"), UnknownNameError, "no group 'h'"),
        ):
            with pytest.raises(kind, match=words):
                change()
            assert decider.snapshot() == before

    def test_a_rule_without_group_floors_refuses_them(self):
        with pytest.raises(InvalidInputError, match="DOC does not keep group floors"):
            DOC([0.1, 0.1], [1.0]).add_group("g", [0], 0.1)

    def test_arms_without_names_go_by_index(self):
        decider = OLP([0.1, 0.1], [1.0], group_floors=[GroupFloor("g", (0,), 0.1)])
        decider.set_group("g", arms=[1])
        decider.add_group("h", (0, 1), 0.2)
        twin = restore(json.loads(json.dumps(decider.snapshot())))
        assert [group.arms for group in twin.floors.groups] == [("2",), ("1", "2")]


class TestPriors:
    @pytest.mark.parametrize("name", EVERY_POLICY)
    def test_an_arm_starts_as_if_it_had_been_seen(self, name):
        """n and the mean are those of the prior and the rewards together; pulls are those of rewards alone."""
        decider = named(name)
        play(decider, 30)
        decider.add_arm("new", prior_mean=[0.2, 0.4, 0.6], prior_pulls=1.5)
        assert decider.pulls()[3].tolist() == [0, 0, 0]
        by_pair = decider.learner.statistics.by_pair
        assert by_pair[ByPair.PULLS, 3].tolist() == [1.5] * 3
        assert by_pair[ByPair.MEAN, 3].tolist() == [0.2, 0.4, 0.6]
        assert by_pair[ByPair.INVERSE_ROOT, 3] == pytest.approx([1.5**-0.5] * 3)
        decider.update("y", "new", 1.0)
        decider.update("y", "new", 0.0)
        assert decider.pulls()[3].tolist() == [0, 2, 0]
        assert by_pair[ByPair.PULLS, 3, 1] == 3.5
        assert by_pair[ByPair.MEAN, 3, 1] == pytest.approx((1.5 * 0.4 + 1.0) / 3.5, abs=1e-15)
        snapshot = json.loads(json.dumps(decider.snapshot()))
        assert restore(snapshot).snapshot() == snapshot
        assert snapshot["statistics"]["rewards"] == decider.pulls().sum()

    def test_a_newcomer_with_a_prior_is_not_forced(self):
        """Without one, it is played first; with a poor one that is sure, not at all."""
        means = [1.0, 0.8]
        decider = BLP([0.0, 0.0], [1.0], noise_scale=0.1, seed=1)
        for step in range(400):
            decider.update(0, step % 2, means[step % 2])
        twin = restore(decider.snapshot())
        decider.add_arm()
        assert decider.decide(0).arm == 2
        twin.add_arm(prior_mean=0.1, prior_pulls=20)
        assert twin.decide(0).arm == 0
        assert twin.allocation()[2, 0] == 0.0
        assert twin.learner.progress[Progress.ALL_PLAYED] == 1

    def test_labels_give_the_contexts(self):
        decider = named()
        decider.add_arm("new", prior_mean={"z": 0.1, "x": 0.2, "y": 0.3}, prior_pulls=1)
        assert decider.learner.statistics.by_pair[ByPair.MEAN, 3].tolist() == [0.2, 0.3, 0.1]

    @pytest.mark.parametrize("pulls", [1e-6, 0.1, 1 / 3, 1e9])
    def test_counts_on_top_of_it_stay_exact(self, pulls):
        decider = OLP([0.1], [1.0], arms=["a"])
        decider.add_arm("new", prior_mean=0.5, prior_pulls=pulls)
        decider.update_many([0] * 100_001, [1] * 100_001, [0.25] * 100_001)
        assert decider.pulls()[1].tolist() == [100_001]
        assert restore(decider.snapshot()).pulls()[1].tolist() == [100_001]

    @pytest.mark.parametrize(
        ("prior", "words"),
        [
            ({"prior_mean": 0.5}, "given together, got no prior_pulls"),
            ({"prior_pulls": 1}, "given together, got no prior_mean"),
            ({"prior_mean": 0.5, "prior_pulls": 0}, "prior_pulls must be from 1e-06"),
            ({"prior_mean": 0.5, "prior_pulls": -1}, "prior_pulls must be from"),
            ({"prior_mean": 1.5, "prior_pulls": 1}, "prior_mean must be within reward_bounds, 0 to 1, got 1.5"),
            ({"prior_mean": [0.5, 0.5], "prior_pulls": 1}, "prior_mean has shape .2,., but there are 3 contexts"),
            ({"prior_mean": float("nan"), "prior_pulls": 1}, "prior_mean must be finite"),
        ],
    )
    def test_a_bad_one_changes_nothing(self, prior, words):
        decider = named()
        before = decider.snapshot()
        with pytest.raises(InvalidInputError, match=words):
            decider.add_arm("new", **prior)
        assert decider.snapshot() == before


class TestAdmission:
    def admitting(self, most=2, **settings):
        return OLP([0.1, 0.1], contexts=["x"], admit_contexts=most, seed=1, **settings)

    def test_names_never_seen_are_admitted_up_to_the_cap(self):
        decider = self.admitting()
        decision = decider.decide("y")
        assert decision.context == "y"
        assert decision.probability == 0.5
        decider.update("z", 1, 0.5)
        assert decider.contexts == ("x", "y", "z")
        assert decider.pulls().tolist() == [[0, 0, 0], [0, 0, 1]]
        assert probabilities(decider) == pytest.approx([(n + 1 / 3) / 2 for n in (0, 1, 0)])
        before = decider.snapshot()
        for call in (
            lambda: decider.decide("q"),
            lambda: decider.update("q", 0, 0.5),
            lambda: decider.decide_many(["x", "q"]),
            lambda: decider.update_many(["q"], [0], [0.5]),
        ):
            with pytest.raises(UnknownNameError, match="no context 'q', and it is not admitted: 2 came before"):
                call()
            assert decider.snapshot() == before
        assert decider.decide("z").arm in (0, 1)

    def test_a_batch_is_admitted_as_a_whole_or_not_at_all(self):
        decider = self.admitting()
        before = decider.snapshot()
        with pytest.raises(UnknownNameError, match="0 came before, 3 would come now, and admit_contexts is 2"):
            decider.decide_many(["a", "b", "x", "c", "a"])
        with pytest.raises(InvalidInputError, match="reward"):
            decider.update_many(["a", "x"], [0, 0], [0.5, "much"])
        with pytest.raises(UnknownNameError, match="no arm"):
            decider.update_many(["a"], [9], [0.5])
        with pytest.raises(InvalidInputError, match="count_contexts"):
            decider.update_many(["a"], [0], [0.5], count_contexts="yes")
        with pytest.raises(InvalidInputError, match="count_context"):
            decider.update("a", 0, 0.5, count_context="yes")
        with pytest.raises(InvalidInputError, match="reward"):
            decider.update("a", 0, "much")
        with pytest.raises(UnknownNameError, match="no arm"):
            decider.update("a", 9, 0.5)
        with pytest.raises(InvalidInputError, match="non-empty"):
            decider.decide(" ")
        with pytest.raises(UnknownNameError, match="no context 7"):
            decider.decide(7)
        assert decider.snapshot() == before
        decisions = decider.decide_many(["a", "b", "x", "a"])
        assert [decision.context for decision in decisions] == ["a", "b", "x", "a"]
        assert decider.contexts == ("x", "a", "b")

    @pytest.mark.parametrize("name", EVERY_POLICY)
    def test_the_rest_of_the_cap_is_in_the_snapshot(self, name):
        decider = policy(name, [0.1, 0.1], contexts=["x"], admit_contexts=2, reward_bounds=(0, 1), horizon=100, seed=1)
        decider.decide("y")
        twin = restore(json.loads(json.dumps(decider.snapshot())))
        assert twin.decide("z") == decider.decide("z")
        assert twin.snapshot() == decider.snapshot()
        with pytest.raises(UnknownNameError):
            twin.decide("q")

    def test_contexts_added_by_hand_do_not_count(self):
        decider = self.admitting(1)
        decider.add_context("y")
        decider.decide("z")
        with pytest.raises(UnknownNameError):
            decider.decide("q")

    def test_a_context_that_was_dropped_is_not_new(self):
        decider = self.admitting()
        decider.decide("y")
        decider.drop_context("y")
        with pytest.raises(InvalidInputError, match="was dropped"):
            decider.decide("y")

    def test_it_needs_names_and_estimates(self):
        for settings in ({"contexts": 2}, {"contexts": ["x", "y"], "context_probabilities": [0.5, 0.5]}):
            with pytest.raises(InvalidInputError, match="admit_contexts must be 0 unless contexts have names"):
                OLP([0.1], admit_contexts=1, **settings)
        with pytest.raises(InvalidInputError, match="admit_contexts must be a whole number"):
            OLP(admit_contexts=-1)
        assert (
            OLP(admit_contexts=3, estimate_contexts=True)
            .for_instance(Instance([[1.0]], [0.1], [1.0]))
            .decide("other")
            .arm
            == "1"
        )

    def test_it_is_off_unless_switched_on(self):
        with pytest.raises(UnknownNameError, match="no context 'y': it must be one of 'x'"):
            OLP([0.1], contexts=["x"]).decide("y")
