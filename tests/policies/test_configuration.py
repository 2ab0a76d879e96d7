"""The configuration of a policy: a rule, its dials and settings, and no problem yet."""

import copy
import dataclasses
import inspect
import pickle
import pydoc

import pytest

from arcbandit import OLP, Instance, LinearProgramRule, Policy, ThompsonLP, paper_instance, policy, simulate
from arcbandit.errors import InvalidInputError
from arcbandit.policies.configuration import Configuration
from arcbandit.policies.registry import POLICIES

NU = paper_instance("nu")
EVERY_POLICY = sorted(POLICIES)
SETTINGS = {
    "noise_scale": 0.5,
    "reward_bounds": (0.0, 2.0),
    "mean_bound": 1.5,
    "horizon": 77,
    "estimate_contexts": True,
    "replan": 10,
    "when_infeasible": "same_share",
    "seed": 3,
    "epoch": 4,
    "worker": 6,
}
# What only a policy at work has.
AT_WORK = ("decide", "decide_many", "update", "update_many", "snapshot", "allocation", "pulls", "arms", "learner")


class Bold(LinearProgramRule):
    """Sets a dial where it is made."""

    def __init__(self, *problem, **settings):
        super().__init__(*problem, **{"optimism": 2.0, **settings})


class Settled(OLP):
    """Brings its problem along."""

    made = 0

    def __init__(self, floor=0.1, **settings):
        type(self).made += 1
        super().__init__([floor, floor], [0.5, 0.5], **settings)


@pytest.mark.parametrize("name", EVERY_POLICY)
class TestEveryPolicy:
    def test_is_configured_by_its_class_without_a_problem(self, name):
        configured = POLICIES[name]()
        assert isinstance(configured, Configuration)
        assert not isinstance(configured, Policy)
        assert configured == policy(name)
        assert configured.kind is POLICIES[name]
        assert configured.name == configured.label == name

    def test_cannot_decide_before_it_has_a_problem(self, name):
        configured = policy(name)
        for method in AT_WORK:
            assert hasattr(POLICIES[name], method)
            with pytest.raises(AttributeError, match=f"'Configuration' object has no attribute '{method}'"):
                getattr(configured, method)

    def test_gets_to_work_on_an_instance(self, name):
        at_work = policy(name, seed=8, noise_scale=0.25).for_instance(NU, horizon=50, epoch=2)
        assert type(at_work) is POLICIES[name]
        assert (at_work.arms, at_work.contexts) == (NU.arms, NU.contexts)
        assert (at_work.seed, at_work.epoch, at_work.horizon, at_work.noise_scale) == (8, 2, 50, 0.25)
        assert at_work.floors.amounts.tolist() == NU.revenue_floors.tolist()
        assert at_work.decide(0).decision_number == 1

    def test_is_the_same_after_work(self, name):
        """Bar what an instance tells: a policy at work gives back all that it was made with."""
        configured = policy(name, horizon=50, noise_scale=NU.noise_scale, mean_bound=9.0, worker=3)
        at_work = configured.for_instance(NU)
        at_work.decide(0)
        assert at_work.unbound() == at_work.configuration == configured
        again = at_work.for_instance(NU, seed=4)
        assert again.round_number == 1
        assert again.unbound() == dataclasses.replace(configured, seed=4)

    def test_class_shows_its_arguments(self, name):
        """In help and editors: the problem, the settings, and that dials follow."""
        parameters = inspect.signature(POLICIES[name]).parameters
        assert list(parameters)[:3] == ["revenue_floors", "context_probabilities", "arms"]
        assert set(SETTINGS) < set(parameters)
        assert parameters["seed"].default == 0
        assert parameters["replan"].default == "always"
        assert "self" not in parameters
        shown = pydoc.render_doc(POLICIES[name], renderer=pydoc.plaintext)
        assert f"class {POLICIES[name].__name__}(" in shown
        assert "revenue_floors: 'Column | None' = None, context_probabilities: 'Column | None' = None" in shown
        assert "estimate_contexts: bool = False" in shown


class TestASubclassWithAnInitOfItsOwn:
    def test_sets_dials_of_configurations_and_of_policies_at_work(self):
        assert Bold().dial_values["optimism"] == 2.0
        assert Bold(optimism=3.0).dial_values["optimism"] == 3.0
        assert Bold().for_instance(NU).dial_values["optimism"] == 2.0
        assert Bold([0.1], [1.0]).dial_values["optimism"] == 2.0
        assert pickle.loads(pickle.dumps(Bold(optimism=3.0))) == Bold(optimism=3.0)

    def test_may_bring_the_problem(self):
        before = Settled.made
        at_work = Settled(seed=4)
        assert Settled.made == before + 1
        assert isinstance(at_work, Settled)
        assert at_work.decide(0).decision_number == 1

    def test_shows_its_own_arguments(self):
        assert list(inspect.signature(Settled).parameters) == ["floor", "settings"]


class TestImmutable:
    def test_no_setting_can_be_changed(self):
        configured = policy("linear-program")
        for name in (*SETTINGS, "kind", "dial_values", "label", "decide"):
            with pytest.raises(AttributeError):
                setattr(configured, name, 1)
        with pytest.raises(TypeError):
            configured.dial_values["optimism"] = 1e60
        assert configured == LinearProgramRule()

    def test_nor_behind_its_back(self):
        dials = {"optimism": 1.0, "caution": 0.0}
        configured = Configuration(LinearProgramRule, dials)
        dials["optimism"] = 5.0
        assert configured.dial_values["optimism"] == 1.0

    def test_equal_ones_are_one_key(self):
        assert len({OLP(), OLP(), OLP(seed=1), ThompsonLP(), ThompsonLP(share=1.0)}) == 4


@pytest.mark.parametrize("make", [copy.deepcopy, copy.copy, lambda it: pickle.loads(pickle.dumps(it))])
@pytest.mark.parametrize("settings", [{}, {**SETTINGS, "optimism": 0.5}], ids=["plain", "settled"])
def test_copies_are_equal_and_play_alike(make, settings):
    configured = policy("linear-program", **settings)
    other = make(configured)
    assert type(other) is Configuration
    assert other == configured
    assert hash(other) == hash(configured)
    assert repr(other) == repr(configured)
    one, twin = (it.for_instance(NU) for it in (configured, other))
    assert [one.decide(0) for _ in range(20)] == [twin.decide(0) for _ in range(20)]


class TestLabels:
    @pytest.mark.parametrize(
        ("configured", "label"),
        [
            (OLP(), "olp"),
            (OLP(estimate_contexts=True), "olp(p=?)"),
            (OLP(seed=5, noise_scale=2.0, horizon=9), "olp"),
            (LinearProgramRule(caution=-0.5), "linear-program(caution=-0.5)"),
            (
                LinearProgramRule(optimism=2, caution=1, estimate_contexts=True),
                "linear-program(optimism=2, caution=1, p=?)",
            ),
            (policy("optimistic3", dual="context"), "optimistic3(dual=context)"),
        ],
    )
    def test_have_what_is_not_at_its_default(self, configured, label):
        assert configured.label == label
        assert configured.for_instance(NU).label == label
        assert simulate(NU, [configured], 2, 1, jobs=1).policies == (label,)

    def test_repr_is_how_it_is_made(self):
        assert repr(LinearProgramRule(caution=-0.5)) == "LinearProgramRule(optimism=1.0, caution=-0.5)"
        assert repr(OLP()) == "OLP()"


class TestForInstance:
    def test_what_is_given_goes_before_what_was_set(self):
        configured = OLP(horizon=5, seed=1, epoch=2, worker=3)
        at_work = configured.for_instance(NU, horizon=6, seed=7, epoch=8, worker=9)
        assert (at_work.horizon, at_work.seed, at_work.epoch, at_work.worker) == (6, 7, 8, 9)
        at_work = configured.for_instance(NU)
        assert (at_work.horizon, at_work.seed, at_work.epoch, at_work.worker) == (5, 1, 2, 3)

    def test_the_noise_is_the_instances_unless_it_was_set(self):
        noisy = Instance(NU.mean_rewards, NU.revenue_floors, NU.context_probabilities, noise_scale=0.7)
        assert OLP().for_instance(noisy).noise_scale == 0.7
        assert OLP(noise_scale=0.2).for_instance(noisy).noise_scale == 0.2

    def test_means_are_told_only_as_a_bound_to_rules_that_ask_for_it(self):
        largest = NU.mean_rewards.max()
        assert OLP().for_instance(NU).mean_bound is None
        assert policy("loe2d").for_instance(NU, horizon=9).mean_bound == largest
        assert policy("loe2d", mean_bound=50.0).for_instance(NU, horizon=9).mean_bound == 50.0

    def test_probabilities_are_not_told_where_they_are_to_be_estimated(self):
        skewed = Instance(NU.mean_rewards, NU.revenue_floors, [0.6, 0.3, 0.1])
        assert OLP().for_instance(skewed).learner.problem.context_probabilities.tolist() == [0.6, 0.3, 0.1]
        told = OLP(estimate_contexts=True).for_instance(skewed).learner.problem.context_probabilities
        assert told.tolist() == [1 / 3] * 3

    @pytest.mark.parametrize("bad", [None, "nu", [[1.0]]])
    def test_something_else_than_an_instance_is_named(self, bad):
        with pytest.raises(InvalidInputError, match="instance must be"):
            OLP().for_instance(bad)

    @pytest.mark.parametrize(("name", "bad"), [("horizon", 0), ("seed", -1), ("epoch", 1.5), ("worker", "1")])
    def test_bad_arguments_are_named(self, name, bad):
        with pytest.raises(InvalidInputError, match=f"{name} must be a whole number"):
            OLP().for_instance(NU, **{name: bad})


@pytest.mark.parametrize(
    "rest",
    [
        {"context_probabilities": [1.0]},
        {"arms": ["a"]},
        {"contexts": 2},
        {"available": [[True]]},
        {"group_floors": [1]},
    ],
    ids=lambda rest: next(iter(rest)),
)
def test_part_of_a_problem_is_no_problem(rest):
    with pytest.raises(InvalidInputError, match="revenue_floors must be given with the rest"):
        OLP(**rest)


def test_a_class_without_a_rule_is_refused():
    with pytest.raises(InvalidInputError, match="Policy itself has no rule"):
        Policy()
