"""A policy says how it is: promises, contexts, pairs, the plan; and unasked that floors are out of reach."""

import json
import logging
import math
import warnings

import numpy as np
import pytest

from arcbandit import BLP, DOC, OPLP, Greedy, GroupFloor, Window, restore
from arcbandit import policy as make_policy
from arcbandit.errors import FloorsOutOfReachWarning, InvalidInputError, PlanningError, UnknownNameError
from arcbandit.policies import status as status_module
from arcbandit.policies.learner import Outcome
from arcbandit.policies.notices import QUIET, Notices
from arcbandit.policies.registry import POLICIES
from arcbandit.policies.status import AT_RISK, KEPT, OUT_OF_REACH

MEANS = {
    "house": {"phone": 0.6, "tv": 0.4},
    "guest": {"phone": 0.3, "tv": 0.5},
    "new": {"phone": 0.1, "tv": 0.1},
}


def platform(house=0.2, guest=0.1, kind=BLP, **settings):
    return kind({"house": house, "guest": guest}, {"phone": 0.75, "tv": 0.25}, seed=1, **settings)


def serve(policy, rounds, seed=0, noise=0.05):
    """Decide and learn; the decisions."""
    random = np.random.default_rng(seed)
    decisions = []
    for _ in range(rounds):
        context = "phone" if random.random() < 0.75 else "tv"
        decision = policy.decide(context)
        policy.update(context, decision.arm, MEANS[decision.arm][context] + noise * random.normal())
        decisions.append(decision)
    return decisions


def serve_batches(policy, count):
    """Decide two at a time, and learn."""
    for _ in range(count):
        for decision in policy.decide_many(["phone", "tv"]):
            policy.update(decision.context, decision.arm, MEANS[decision.arm][decision.context])


def earn_one(policy, rounds, contexts=("x",)):
    """Decide and learn, in turn; the other contexts never come."""
    for step in range(rounds):
        context = contexts[step % len(contexts)]
        policy.update(context, policy.decide(context).arm, 1.0)


def many_decades():
    """A policy that knows rewards, probabilities and floors of so many decades that some plans cannot be proven."""
    rng = np.random.default_rng(8724)
    shape = tuple(int(rng.integers(least, most)) for least, most in ((2, 6), (1, 4)))
    probabilities = 10.0 ** rng.uniform(-10, 0, shape[1])
    probabilities /= probabilities.sum()
    means = rng.uniform(0, 1, shape) * 10.0 ** rng.uniform(-6, 0, shape)
    floors = (means * probabilities).max(axis=1) * 10.0 ** rng.uniform(-4, 1, shape[0])
    policy = BLP(floors, probabilities, noise_scale=1e-9, seed=0)
    pulls = np.full(shape, 1e6)
    policy.update_from_totals(pulls, pulls * means, pulls * means * means)
    return policy


class TestWhatCannotBeProven:
    def test_stops_no_decision(self):
        """That floors are out of reach is said, though not of each whether it could be left out."""
        policy = many_decades()
        with pytest.warns(FloorsOutOfReachWarning, match="out of reach"):
            decisions = [policy.decide(0) for _ in range(20)]
        assert len(decisions) == 20

    def test_is_missing_from_a_status(self, monkeypatch):
        policy = platform()
        serve(policy, 300)

        def refuse(*_, **__):
            raise PlanningError("This cannot be proven.")

        monkeypatch.setattr(status_module, "solve_checked", refuse)
        status = policy.status()
        assert math.isnan(status.best_revenue)
        assert math.isnan(status.attainable_share)
        assert status.to_dict()["attainable_share"] is None
        assert all(math.isnan(floor.price) and math.isnan(floor.largest) for floor in status.floors if floor.promised)
        assert (status.best_certificate, status.certificate) == (None, None)
        assert {floor.state for floor in status.floors} <= {KEPT, AT_RISK}
        assert status.to_dict()["best_revenue"] is None
        assert "300" in str(status)


class TestStatus:
    def test_adds_up(self):
        """Expected revenue, what was earned and the counts are those of a recount."""
        policy = platform()
        decisions = serve(policy, 3000)
        status = policy.status()
        assert status.decisions == status.rewards == 3000
        assert [context.rounds for context in status.contexts] == [
            sum(decision.context == name for decision in decisions) for name in ("phone", "tv")
        ]
        assert [context.probability for context in status.contexts] == [0.75, 0.25]
        pulls = {(pair.arm, pair.context): pair.pulls for pair in status.pairs}
        for arm, context in pulls:
            assert pulls[arm, context] == sum((one.arm, one.context) == (arm, context) for one in decisions)
        for context in ("phone", "tv"):
            assert sum(pair.share for pair in status.pairs if pair.context == context) == pytest.approx(1.0)
        probability = {context.name: context.probability for context in status.contexts}
        for floor in status.floors:
            own = [pair for pair in status.pairs if pair.arm == floor.name]
            assert floor.expected == pytest.approx(sum(probability[p.context] * p.share * p.mean for p in own))
            assert floor.earned == pytest.approx(sum(pair.pulls * pair.mean for pair in own))
            assert floor.earned_per_round == pytest.approx(floor.earned / 3000)
            assert floor.low < floor.expected < floor.high
        assert status.expected_revenue == pytest.approx(sum(floor.expected for floor in status.floors))
        assert status.best_certificate.holds
        assert status.plan_age == 0

    def test_a_plan_by_the_means_is_proven_until_they_change(self):
        policy = platform(kind=Greedy)
        assert policy.status().certificate is None
        serve(policy, 500)
        policy.decide("tv")
        assert policy.status().certificate.holds
        status = policy.status()
        assert status.expected_revenue == pytest.approx(status.best_revenue)

    def test_what_a_plan_is_from_the_best_is_told(self):
        """A plan that is kept for long falls behind the means; its gap is what the best plan earns more."""
        policy = platform(0.0, 0.0, kind=Greedy, replan=100_000)
        serve(policy, 50)
        policy.decide("tv")
        before = policy.status()
        for _ in range(200):
            policy.update("tv", "guest", -1.0)  # from the best in this context to the worst
        after = policy.status()
        assert before.certificate.value_error < after.certificate.value_error
        assert not after.certificate.holds
        probability = {context.name: context.probability for context in after.contexts}
        size = sum(probability[pair.context] * pair.share * abs(pair.mean) for pair in after.pairs)
        gap = after.best_revenue - after.expected_revenue
        assert after.certificate.value_error == pytest.approx(gap / size, rel=1e-5)

    def test_where_floors_cannot_be_met_what_is_missing_beyond_the_least_is_told(self):
        policy = platform(5.0, 0.1, kind=Greedy)
        with pytest.warns(FloorsOutOfReachWarning):
            serve(policy, 300)
        policy.decide("tv")
        assert policy.status().certificate.shortfall_error < 0.001  # it plans with optimism, not by the means
        policy.set_floor("house", 0.0)
        policy.set_floor("guest", 5.0)  # the plan in force serves house alone
        certificate = policy.status().certificate
        assert certificate.shortfall_error > 0.01
        assert policy.status().to_dict()["certificate"]["shortfall_error"] == certificate.shortfall_error

    @pytest.mark.slow
    def test_the_largest_floor_can_be_kept_and_no_larger_one(self):
        """By the true means guest can have phone for all that house's floor of 0.2 leaves: 2/3 of it, and tv."""
        policy = platform()
        serve(policy, 20_000)
        largest = {floor.name: floor.largest for floor in policy.status().floors}
        # House keeps 0.2 with 4/9 of phone's traffic; what it loses elsewhere is guest's.
        assert largest["guest"] == pytest.approx(0.75 * (1 - 0.2 / 0.45) * 0.3 + 0.25 * 0.5, rel=0.05)

    def test_states_of_floors(self):
        policy = platform(0.2, 0.1)
        assert policy.status().state == AT_RISK  # nobody knows yet
        serve(policy, 5000)
        assert {floor.state for floor in policy.status().floors} == {KEPT}
        policy.set_floor("guest", 2.0)
        with pytest.warns(FloorsOutOfReachWarning):
            serve(policy, 10)
        assert policy.status().floors[1].state == OUT_OF_REACH
        assert policy.status().state == OUT_OF_REACH
        assert 0 < policy.status().attainable_share < 1

    def test_a_floor_of_zero_promises_nothing(self):
        policy = platform(0.2, 0.0)
        serve(policy, 50)
        assert policy.status().floors[1].state == KEPT
        assert math.isnan(policy.status().floors[1].largest)

    @pytest.mark.parametrize("kind", ["polars", "pandas"])
    def test_frames_of_arms_by_index_and_groups_by_name(self, kind):
        policy = BLP([0.1, 0.1], [0.5, 0.5], group_floors=[GroupFloor("both", (0, 1), 0.3)])
        assert list(policy.status().to_frame(kind=kind)["name"]) == ["0", "1", "both"]

    def test_groups_count_their_arms(self):
        policy = platform(group_floors=[GroupFloor("both", ("house", "guest"), 0.4)])
        serve(policy, 500)
        house, guest, both = policy.status().floors
        assert both.expected == pytest.approx(house.expected + guest.expected)
        assert (both.name, both.kind) == ("both", "group")

    def test_a_rule_that_does_not_plan_has_a_status_too(self):
        policy = platform(kind=DOC, reward_bounds=(-1, 2))
        serve(policy, 100)
        assert len(policy.status().pairs) == 4

    def test_is_plain_data_and_short(self):
        policy = platform()
        document = json.dumps(policy.status().to_dict(), allow_nan=False)
        assert json.loads(document)["pairs"][0]["mean"] is None
        serve(policy, 100)
        assert len(repr(policy.status())) < 200
        assert len(str(policy.status()).splitlines()) == 4
        assert policy.status()._repr_html_().count("<table") == 3

    @pytest.mark.parametrize("kind", ["pandas", "polars"])
    def test_frames_have_a_row_per_floor_context_and_pair(self, kind):
        policy = platform()
        serve(policy, 20)
        for by, rows in (("floor", 2), ("context", 2), ("pair", 4)):
            assert policy.status().to_frame(by, kind=kind).shape[0] == rows
        with pytest.raises(InvalidInputError, match="by"):
            policy.status().to_frame("moon")

    def test_a_newcomer_that_was_never_played_counts_as_the_average(self):
        """Not as one that earns nothing, beside whose floor none of the others could be kept."""
        policy = platform()
        serve(policy, 1000)
        policy.add_arm("new", 0.05)
        floors = policy.status().floors
        assert all(0.05 < floor.largest < 0.6 for floor in floors)
        assert policy.status().best_revenue > 0.4

    def test_a_prior_earned_nothing(self):
        policy = platform()
        policy.add_arm("new", 0.05, prior_mean=0.4, prior_pulls=20)
        assert policy.status().floors[2].earned == 0.0
        policy.update("phone", "new", 0.7)
        assert policy.status().floors[2].earned == pytest.approx(0.7)

    @pytest.mark.parametrize("memory", [None, 30, Window(40)], ids=str)
    def test_what_was_earned_is_not_forgotten(self, memory):
        """Also through a snapshot and a new arm."""
        policy = platform(memory=memory)
        sums = dict.fromkeys(("house", "guest", "new"), 0.0)
        for _ in range(3):
            for decision in serve(policy, 50, noise=0.0):
                sums[decision.arm] += MEANS[decision.arm][decision.context]
            policy = restore(json.loads(json.dumps(policy.snapshot())))
            if "new" not in policy.arms:
                policy.add_arm("new", 0.01)
        earned = {floor.name: floor.earned for floor in policy.status().floors}
        assert earned == pytest.approx(sums)

    def test_before_the_first_decision_there_is_no_plan(self):
        policy = platform()
        assert policy.status().how == "not planned yet"
        policy.update("phone", "house", 0.5, count_context=True)
        assert repr(policy.status()) == "<Status: 2 of 2 floors at risk, not planned yet, 0 decisions, 1 reward>"
        assert policy.decide("tv").how == "exploring"
        assert policy.status().how in ("planned", "fallback")

    def test_bad_tolerances_are_refused(self):
        with pytest.raises(InvalidInputError, match="tolerance"):
            platform().status(tolerance=-1)

    def test_names_are_indices_if_there_are_none(self):
        policy = BLP([0.1, 0.1], [0.5, 0.5])
        assert [floor.name for floor in policy.status().floors] == [0, 1]
        assert [pair.context for pair in policy.status().pairs] == [0, 1, 0, 1]

    def test_only_pairs_that_are_available_are_shown(self):
        policy = BLP([0.1, 0.1], [0.5, 0.5], available=[[True, False], [True, True]])
        assert [(pair.arm, pair.context) for pair in policy.status().pairs] == [(0, 0), (1, 0), (1, 1)]


def test_a_policy_shows_the_settings_that_are_not_as_usual():
    assert repr(OPLP(memory=Window(50), when_infeasible="same_share")) == (
        "OPLP(when_infeasible='same_share', memory=Window(rounds=50))"
    )
    assert repr(platform(exploration_budget=0.2)) == "<BLP(exploration_budget=0.2): 2 arms x 2 contexts, round 1>"


def test_a_group_that_was_misspelt_is_named():
    policy = platform(group_floors=[GroupFloor("partners", ("house", "guest"), 0.3)])
    for call in (lambda: policy.set_floor("partnrs", 0.1), lambda: policy.remove_group("partnrs")):
        with pytest.raises(UnknownNameError, match="did you mean 'partners'"):
            call()


class TestHow:
    def test_decisions_say_how_they_came_about(self):
        policy = platform(kind=OPLP)
        decisions = serve(policy, 4000)
        hows = [decision.how for decision in decisions]
        assert hows[0] == "exploring"
        assert hows.count("exploring") == 4
        assert hows[-1] == "planned"
        assert set(hows) <= {"exploring", "fallback", "planned"}
        assert "fallback" in hows

    def test_a_batch_says_the_same(self):
        one, other = platform(), platform()
        contexts = ["phone", "tv"] * 5
        assert list(other.decide_many(contexts)) == [one.decide(context) for context in contexts]

    def test_between_plans_it_is_that_of_the_plan_in_force(self):
        policy = platform(replan=50)
        serve(policy, 500)
        assert policy.status().plan_age <= 50
        before = policy.status().plan_age
        policy.decide("tv")
        assert policy.status().plan_age in (before + 1, 0)

    def test_a_snapshot_keeps_it(self):
        policy = platform(replan=1000)
        serve(policy, 30)
        copy = restore(policy.snapshot())
        assert copy.status() == policy.status()


class TestNotices:
    def test_floors_out_of_reach_are_said_once(self, caplog):
        policy = platform(2.0, 0.1)
        with caplog.at_level(logging.INFO, logger="arcbandit"), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            serve(policy, 500)
        assert [one.category for one in caught] == [FloorsOutOfReachWarning]
        assert "house" in str(caught[0].message)
        assert caught[0].filename == __file__
        assert [record.levelname for record in caplog.records if "compiling" not in record.message] == ["WARNING"]

    def test_and_that_they_are_within_reach_again(self, caplog):
        policy = platform(2.0, 0.1)
        with caplog.at_level(logging.INFO, logger="arcbandit"), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            serve(policy, 100)
            policy.set_floor("house", 0.2)
            serve(policy, 100)
            assert "within reach again" in caplog.records[-1].message
            policy.set_floor("house", 2.0)
            serve(policy, 100)
        assert len(caught) == 2

    def test_at_the_border_it_is_said_again_only_after_long(self):
        """Outcomes that change from decision to decision, of floors that are out of reach."""
        policy = platform(2.0, 0.1)
        with pytest.warns(FloorsOutOfReachWarning):
            serve(policy, 200)
        state, short = policy._state, Outcome.FELL_SHORT.value
        notices = Notices(plans=True)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for number in range(1000, 1000 + QUIET):
                notices.notice(state, short if number % 2 else 0, state.round_number, number)
            assert len(caught) == 1
            for number in range(1000 + QUIET, 1004 + QUIET):
                notices.notice(state, short if number % 2 else 0, state.round_number, number)
        assert len(caught) == 2

    @pytest.mark.parametrize(
        ("floors", "words"),
        [
            ({"house": 0.2, "guest": 5.0}, "the floor of guest is out of reach, even"),
            ({"house": 0.44, "guest": 0.3}, "the floors of house, guest are out of reach together, even"),
        ],
    )
    def test_floors_that_could_stay_are_not_named(self, floors, words):
        """A floor that is too high alone, and two that are too high together, beside a small one."""
        policy = platform(**floors)
        policy.add_arm("new", 0.001, prior_mean=0.1, prior_pulls=1000)
        with pytest.warns(FloorsOutOfReachWarning, match=words):
            serve(policy, 2000)

    def test_batches_say_it_too(self):
        policy = platform(2.0, 0.1)
        with pytest.warns(FloorsOutOfReachWarning):
            serve_batches(policy, 20)

    @pytest.mark.parametrize("many", [False, True], ids=["one by one", "batches"])
    def test_a_warning_that_is_an_error_leaves_a_sound_policy(self, many):
        """It comes after the decision, which counts; the policy can be restored, and decides on."""
        policy = platform(2.0, 0.1, replan=100)
        with pytest.raises(FloorsOutOfReachWarning):
            serve_batches(policy, 300) if many else serve(policy, 500)
        status = policy.status()
        assert 0 <= status.plan_age <= 100
        assert sum(context.rounds for context in status.contexts) == status.decisions
        assert restore(policy.snapshot()).snapshot() == policy.snapshot()
        assert policy.decide("tv").decision_number == status.decisions + 1

    def test_floors_at_the_border_are_said_whenever_they_go_out_of_reach(self):
        """With any seed: the bounds that are looked at are those of the decision."""
        for seed in range(25):
            policy = BLP({"a": 0.55, "b": 0.5}, {"x": 0.5, "y": 0.5}, noise_scale=0.3, seed=seed)
            random = np.random.default_rng(seed)
            short = 0
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                for _ in range(1500):
                    context = "xy"[int(random.integers(2))]
                    decision = policy.decide(context)
                    short += decision.how == "floors out of reach"
                    policy.update(context, decision.arm, 0.9 + 0.3 * float(random.normal()))
            assert bool(caught) == (short > 0)

    def test_another_contract_is_another_notice(self):
        policy = platform(2.0, 0.1)
        with pytest.warns(FloorsOutOfReachWarning, match="the floor of house is"):
            serve(policy, 300)
        policy.set_floor("house", 0.1)
        serve(policy, 100)
        policy.set_floor("guest", 3.0)
        with pytest.warns(FloorsOutOfReachWarning, match="the floor of guest is"):
            serve(policy, 10)
        policy.set_floor("house", 4.0)
        with pytest.warns(FloorsOutOfReachWarning, match="out of reach"):
            serve(policy, 10)

    def test_a_context_that_never_comes_is_not_waited_for(self):
        policy = BLP({"a": 5.0, "b": 0.1}, {"x": 1.0, "y": 0.0}, noise_scale=0.1, seed=1)
        with pytest.warns(FloorsOutOfReachWarning, match="the floor of a is out of reach"):
            earn_one(policy, 50)

    def test_nor_is_one_whose_rewards_are_lost(self):
        policy = BLP({"a": 5.0, "b": 0.1}, {"x": 0.9, "y": 0.1}, noise_scale=0.1, seed=1)
        with pytest.warns(FloorsOutOfReachWarning, match="the floor of a is out of reach"):
            earn_one(policy, QUIET + 200)

    @pytest.mark.parametrize("name", sorted(POLICIES))
    def test_every_rule_says_it(self, name):
        policy = make_policy(name, [5.0, 0.1], [0.5, 0.5], reward_bounds=(0, 1), horizon=1000, seed=1)
        with pytest.warns(FloorsOutOfReachWarning, match="arm 0"):
            earn_one(policy, 2 * QUIET, contexts=(0, 1))

    def test_a_budget_does_not_hide_it(self):
        policy = platform(exploration_budget=0.1, known_after=50)
        serve(policy, 500)
        policy.add_arm("new", 0.01)
        policy.set_floor("house", 0.8)
        with pytest.warns(FloorsOutOfReachWarning, match="house"):
            serve(policy, 1500)

    def test_before_the_first_reward_nothing_is_out_of_reach(self):
        assert {floor.state for floor in BLP([50.0, 20.0], [0.5, 0.5]).status().floors} == {AT_RISK}

    def test_nothing_is_said_of_floors_that_can_be_met(self):
        serve(platform(), 2000)
