"""A simulation plays what it is given, or says why not."""

from typing import ClassVar

import numpy as np
import pytest

from arcbandit import BLP, DOC, OLP, GroupFloor, Instance, LinearProgramRule, audit, paper_instance, policy, simulate
from arcbandit.cli import main
from arcbandit.errors import InvalidInputError
from arcbandit.policies.registry import POLICIES, restore
from arcbandit.simulation import device, run

NU = paper_instance("nu")
GROUPS = Instance(
    NU.mean_rewards,
    [0.5, 0.1, 0.2],
    NU.context_probabilities,
    group_floors=[GroupFloor("pair", ("2", "3"), 0.6), GroupFloor("ends", ("1", "3"), 0.1)],
)


class Stubborn(OLP):
    """Plays the first arm, online."""

    def decide(self, context):
        return super().decide(context)._replace(arm=0)


class Deaf(OLP):
    """Learns from no reward."""

    def update(self, context, arm, reward):
        pass


class Grandchild(Stubborn):
    """Inherits the method."""


class Mixin:
    """Brings the method from beside."""

    def allocation(self):
        return np.ones((3, 3)) / 3


class Mixed(Mixin, BLP):
    pass


class Counted(OLP):
    """Replaces a property."""

    @property
    def round_number(self):
        return 1


class Clipped(OLP):
    """Replaces an inner method."""

    def _checked_reward(self, reward):
        return min(reward, 1.0)


class Halfway(LinearProgramRule):
    """Sets only dials and words, as the library's own classes do."""

    name = "halfway"
    dials = ()
    preset: ClassVar = {"optimism": 1.0, "caution": -0.5}
    remark = "of its own"

    def __repr__(self):
        return "Halfway"

    def about(self):
        return self.remark


class Bold(LinearProgramRule):
    """Sets its dials where the simulation asks for them."""

    def __init__(self, *problem, **settings):
        super().__init__(*problem, **{"optimism": 2.0, **settings})


@pytest.fixture
def no_rounds(monkeypatch):
    """Fail if a round is played."""

    def work(*_):
        raise AssertionError("a round was played")

    monkeypatch.setattr(run, "run_task", work)


@pytest.mark.usefixtures("no_rounds")
class TestMethodsOfItsOwn:
    @pytest.mark.parametrize(
        ("kind", "method"),
        [
            (Stubborn, "decide"),
            (Deaf, "update"),
            (Grandchild, "decide"),
            (Mixed, "allocation"),
            (Counted, "round_number"),
            (Clipped, "_checked_reward"),
        ],
    )
    @pytest.mark.parametrize("bound", [False, True], ids=["configuration", "bound"])
    def test_are_refused_by_name(self, kind, method, bound):
        """The compiled loop would play the parent."""
        given = kind().for_instance(NU) if bound else kind()
        said = f"policies must leave the methods .* but {kind.__name__} has its own {method}"
        with pytest.raises(InvalidInputError, match=said):
            simulate(NU, ["olp", given], horizon=10)

    def test_are_refused_on_a_single_object_as_well(self):
        given = OLP().for_instance(NU)
        given.decide = lambda context: None
        with pytest.raises(InvalidInputError, match="OLP has its own decide"):
            simulate(NU, [given], horizon=10)

    @pytest.mark.slow
    def test_are_refused_by_the_audit(self):
        with pytest.raises(InvalidInputError, match=r"^policy must leave the methods .* Stubborn has its own decide"):
            audit(NU, Stubborn(), horizon=10)

    def test_are_refused_on_a_device(self, monkeypatch):
        monkeypatch.setattr(run, "use_cuda", lambda _: True)
        monkeypatch.setattr(device, "largest_state_bytes", lambda: device.LARGEST_STATE)
        with pytest.raises(InvalidInputError, match="has its own decide"):
            simulate(NU, [Stubborn()], horizon=10, device="cuda")
        with pytest.raises(InvalidInputError, match="has its own decide"):
            run.fits_device(NU, [Stubborn()], 10)


class TestWhatIsPlayed:
    @pytest.mark.parametrize("name", sorted(POLICIES))
    def test_every_class_of_the_library(self, name):
        trace = simulate(NU, [POLICIES[name]()], horizon=20, epochs=1, jobs=1)
        assert np.array_equal(
            trace.records[name], simulate(NU, [name], horizon=20, epochs=1, jobs=1).records[name], equal_nan=True
        )

    def test_a_subclass_that_only_sets_dials(self):
        """Plays by its own dials."""
        played = simulate(NU, {"own": Halfway(), "same": LinearProgramRule(caution=-0.5)}, 300, 1, jobs=1)
        assert np.array_equal(played.records["own"], played.records["same"])
        played = simulate(NU, {"own": Bold(), "same": LinearProgramRule(optimism=2.0)}, 300, 1, jobs=1)
        assert np.array_equal(played.records["own"], played.records["same"])

    @pytest.mark.parametrize("instance", [NU, GROUPS], ids=["arms", "groups"])
    @pytest.mark.parametrize("estimate", [False, True], ids=["known", "estimated"])
    def test_a_policy_made_for_the_instance(self, instance, estimate):
        """As if it were made without, and it is not changed."""
        given = BLP(estimate_contexts=estimate).for_instance(instance)
        before = given.snapshot()
        trace = simulate(instance, {"blp": given}, horizon=100, epochs=1, jobs=1)
        other = simulate(instance, {"blp": BLP(estimate_contexts=estimate)}, horizon=100, epochs=1, jobs=1)
        assert np.array_equal(trace.records["blp"], other.records["blp"])
        assert given.snapshot() == before

    def test_a_policy_made_from_the_same_numbers(self):
        """Names are no part of a problem, nor is the order of groups, nor the last bit of a floor."""
        given = OLP(
            GROUPS.revenue_floors * (1 + 1e-15),
            GROUPS.context_probabilities,
            arms=["a", "b", "c"],
            contexts=["x", "y", "z"],
            group_floors=[GroupFloor("q", ("c", "a"), 0.1), GroupFloor("p", ("b", "c"), 0.6)],
        )
        played = simulate(GROUPS, {"given": given, "named": "olp"}, horizon=50, epochs=1, jobs=1)
        assert np.array_equal(played.records["given"], played.records["named"])

    def test_a_policy_made_for_the_pairs_that_are_available(self):
        mask = np.array([[True, True, True], [True, True, True], [False, True, True]])
        given = OLP().for_instance(NU, available=mask)
        played = simulate(NU, {"given": given, "named": "olp"}, horizon=50, epochs=1, jobs=1, available=mask.tolist())
        assert np.array_equal(played.records["given"], played.records["named"])

    def test_a_context_free_policy_without_a_plan(self):
        """Whatever its rule, it is refused or played by the same tests."""
        with pytest.raises(InvalidInputError, match="other revenue_floors"):
            simulate(NU, [DOC([0.1, 0.1, 0.1], NU.context_probabilities)], horizon=10)


@pytest.mark.usefixtures("no_rounds")
class TestWhatHasLearnt:
    @pytest.mark.slow
    @pytest.mark.parametrize("way", ["decided", "learnt", "learnt many", "restored"])
    def test_is_refused(self, way):
        """It would be played as if it had not."""
        given = OLP().for_instance(NU)
        if way == "decided":
            given.decide(0)
        elif way == "learnt many":
            given.update_many([0, 1], [0, 1], [5.0, 1.0])
        else:
            given.update(0, 0, 5.0)
        if way == "restored":
            given = restore(given.snapshot())
        with pytest.raises(InvalidInputError, match=r"policies must be new, .* has decided or learnt"):
            simulate(NU, {"mine": given}, horizon=10)
        with pytest.raises(InvalidInputError, match=r"^policy must be new, .* has decided or learnt"):
            audit(NU, given, horizon=10)

    def test_may_be_played_anew_by_its_settings(self, monkeypatch):
        """As the message says."""
        monkeypatch.undo()
        given = OLP().for_instance(NU)
        given.update(0, 0, 5.0)
        trace = simulate(NU, [given.unbound()], horizon=100, epochs=1, jobs=1)
        assert np.array_equal(trace.records["olp"], simulate(NU, ["olp"], 100, 1, jobs=1).records["olp"])


@pytest.mark.usefixtures("no_rounds")
class TestAnotherProblem:
    PROBABILITIES = NU.context_probabilities

    @pytest.mark.parametrize(
        ("given", "difference"),
        [
            (OLP([0.1, 0.1], [0.5, 0.5]), "2 arms and 2 contexts, not 3 and 3"),
            (OLP([0.1, 0.1, 0.1], [0.5, 0.5]), "3 arms and 2 contexts, not 3 and 3"),
            (OLP([1, 1 / 4, 0.4], PROBABILITIES), r"other revenue_floors, \[1.0, 0.25, 0.4\], not \[1.0, 0.25, 0.5\]"),
            (OLP([1, 1 / 4, 1 / 2], [0.5, 0.3, 0.2]), "other context_probabilities"),
            (
                OLP([1, 1 / 4, 1 / 2], PROBABILITIES, group_floors=[GroupFloor("g", (0, 1), 0.1)]),
                "other group_floors",
            ),
            (OLP().for_instance(NU, available=[[True] * 3, [True] * 3, [False, True, True]]), "other available pairs"),
        ],
        ids=["shape", "contexts", "floors", "probabilities", "groups", "availability"],
    )
    def test_is_refused(self, given, difference):
        """It would be played on the instance's."""
        said = f"policies must be made for the problem of the instance, or for none, but .* has {difference}"
        with pytest.raises(InvalidInputError, match=said):
            simulate(NU, [given], horizon=10)

    @pytest.mark.parametrize(
        "groups",
        [
            [],
            [GroupFloor("pair", ("2", "3"), 0.6)],
            [GroupFloor("pair", ("2", "3"), 0.5), GroupFloor("ends", ("1", "3"), 0.1)],
            [GroupFloor("pair", ("1", "2"), 0.6), GroupFloor("ends", ("1", "3"), 0.1)],
            [GroupFloor(name, ("2", "3"), 0.6) for name in ("pair", "again")],
        ],
        ids=["none", "one", "floor", "members", "twice"],
    )
    def test_other_groups_are_refused(self, groups):
        given = OLP(GROUPS.revenue_floors, GROUPS.context_probabilities, arms=GROUPS.arms, group_floors=groups)
        with pytest.raises(InvalidInputError, match="has other group_floors"):
            simulate(GROUPS, [given], horizon=10)

    def test_changes_while_running_make_another_problem(self):
        given = OLP().for_instance(NU)
        given.set_floor(0, 0.9)
        with pytest.raises(InvalidInputError, match="other revenue_floors"):
            simulate(NU, [given], horizon=10)
        given = OLP().for_instance(NU)
        given.retire_arm(2)
        with pytest.raises(InvalidInputError, match="other revenue_floors"):
            simulate(NU, [given], horizon=10)

    def test_a_mask_that_the_policy_was_not_told(self):
        mask = [[True] * 3, [True] * 3, [False, True, True]]
        with pytest.raises(InvalidInputError, match="other available pairs than the argument `available`"):
            simulate(NU, [OLP().for_instance(NU)], horizon=10, available=mask)

    @pytest.mark.slow
    def test_the_audit_says_so_too(self):
        with pytest.raises(InvalidInputError, match=r"^policy must be made for the problem"):
            audit(NU, OLP([0.1, 0.1], [0.5, 0.5]), horizon=10)

    def test_the_command_line_says_so_in_one_sentence(self, capsys, monkeypatch):
        """Where a configuration of its own ever came to be such a policy."""
        monkeypatch.setattr("arcbandit.cli.simulate.policy_of", lambda *_: policy("olp", [0.1, 0.1], [0.5, 0.5]))
        assert main(["simulate", "nu", "--policy", "olp"]) == 2
        assert "policies must be made for the problem" in capsys.readouterr().err


@pytest.mark.usefixtures("no_rounds")
def test_labels_must_be_words():
    """Tables, plots and files write them out when all is played."""
    with pytest.raises(InvalidInputError, match="label in policies must be a non-empty string, got 1"):
        simulate(NU, {1: "olp"}, horizon=10)
