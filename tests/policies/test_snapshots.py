"""Snapshots that somebody edited: refused, or taken exactly as they are."""

import copy
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcbandit import BLP, OLP, SGOC, SPOC, GroupFloor, Optimistic3, PricedLP, ThompsonLP, policy, restore
from arcbandit.errors import InvalidInputError
from arcbandit.kernels.confidence import ByPair
from arcbandit.policies.registry import POLICIES
from arcbandit.policies.snapshot_checks import CONFIGURATION, HEAD, PARTS, PLANNER, STATISTICS
from arcbandit.policies.snapshot_versions import LATER_SETTINGS
from tests.long import examples


def play(decider, rounds, seed=0):
    random = np.random.default_rng(seed)
    for _ in range(rounds):
        context = int(random.integers(len(decider.contexts)))
        decider.update(context, decider.decide(context).arm, float(random.random()))
    return decider


def lively():
    """Policies of different kinds in the midst of their work, nothing at its default."""
    named = {"arms": ["a", "b", "c"], "contexts": ["x", "y"]}
    changed = OLP([0.1, 0.2, 0.0], [0.5, 0.5], **named, group_floors=[GroupFloor("g", ("a", "c"), 0.1)], seed=3)
    play(changed, 20).add_context("z", 0.25)
    changed.retire_arm("b")
    play(changed, 10)
    changed.update("x", "b", 0.5)
    lived = BLP([0.1, 0.1], contexts=["x", "y"], admit_contexts=3, seed=5)
    play(lived, 20).decide("new")
    lived.add_arm(prior_mean=0.4, prior_pulls=2.5)
    play(lived, 20).retire_arm(1)
    lived.drop_context("x")
    lived.set_available(2, "y", False)
    return {
        "changed": changed,
        "lived": lived,
        "estimating": play(BLP([0.1, 0.2, 0.3], contexts=2, replan=7, reward_bounds=(0, 1)), 30),
        "doubling": play(ThompsonLP([0.1, 0.2], [0.5, 0.5], replan="doubling", redraws=3, noise_scale=0.5), 20),
        "weighing": play(Optimistic3([0.1, 0.2], [0.5, 0.5], mean_bound=1, horizon=100), 20),
        "masked": play(OLP([0.1, 0.2], [0.5, 0.5], available=[[True, False], [True, True]]), 20),
        "fresh": OLP([0.1], [1.0]),
    }


SNAPSHOTS = {name: json.loads(json.dumps(decider.snapshot())) for name, decider in lively().items()}


def places(value, path=()):
    """Every place in a snapshot, those of lists and dicts too."""
    yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from places(part, (*path, key))


PLACES = {name: list(places(snapshot))[1:] for name, snapshot in SNAPSHOTS.items()}


def at(snapshot, path):
    for key in path:
        snapshot = snapshot[key]
    return snapshot


def changed_at(snapshot, path, value):
    changed = copy.deepcopy(snapshot)
    at(changed, path[:-1])[path[-1]] = value
    return changed


def alike(found, given):
    """Equal in value and type, but for whole floats, which other languages write without a point."""
    if isinstance(found, dict):
        return (
            isinstance(given, dict) and found.keys() == given.keys() and all(alike(found[k], given[k]) for k in found)
        )
    if isinstance(found, list):
        return type(given) is list and len(found) == len(given) and all(map(alike, found, given))
    if type(found) is float:
        return type(given) in (int, float) and found == given
    return type(found) is type(given) and found == given


OTHER_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([2**31, 2**53 + 1, 2**63, -(2**63) - 1, 10**400]),
    st.floats(),
    st.sampled_from(["", "False", "0", "a", "always"]),
    st.sampled_from([[], {}, [0.0], [[0.0]], [True], ["a"], {"a": 1}, (1.0,), np.float64(1.0), np.ones(2)]),
)


@st.composite
def edits(draw, name):
    """A snapshot with one place changed: another value, one entry more or fewer, a scalar for a list, a small step."""
    snapshot = SNAPSHOTS[name]
    path = draw(st.sampled_from(PLACES[name]))
    value = at(snapshot, path)
    kinds = ["other"]
    if isinstance(value, list) and value:
        kinds += ["shorter", "longer", "broadcast", "reversed", "tuple"]
    elif type(value) in (int, float):
        kinds += ["step", "sign", "text"]
    elif isinstance(value, bool):
        kinds += ["text", "flip", "number"]
    kind = draw(st.sampled_from(kinds))
    if kind == "other":
        return changed_at(snapshot, path, draw(OTHER_VALUES))
    changes = {
        "shorter": lambda: value[:-1],
        "longer": lambda: [*value, value[-1]],
        "broadcast": lambda: value[0],
        "reversed": lambda: value[::-1],
        "tuple": lambda: tuple(value),
        "step": lambda: value + draw(st.sampled_from([-1, 1, 1e-12, 1e-6, 0.5])),
        "sign": lambda: -value,
        "text": lambda: str(value),
        "flip": lambda: not value,
        "number": lambda: int(value),
    }
    return changed_at(snapshot, path, changes[kind]())


@pytest.mark.parametrize("name", SNAPSHOTS)
@examples(80, 300)
@pytest.mark.filterwarnings("ignore::arcbandit.errors.FloorsOutOfReachWarning")  # an edit may put floors out of reach
@given(data=st.data())
def test_an_edited_snapshot_is_refused_or_comes_back_as_it_is(name, data):
    """And what comes back goes on playing."""
    edited = data.draw(edits(name))
    try:
        policy_of_it = restore(edited)
    except InvalidInputError:
        return
    latest = ("configuration", "version"), PARTS["configuration"]
    # A rule that got no dial in version 4 has the same configuration in version 3.
    assert alike(
        policy_of_it.snapshot(), changed_at(edited, *latest) if edited["configuration"]["version"] == 3 else edited
    )
    at_work = [context for context in policy_of_it.contexts if context not in policy_of_it.dropped_contexts]
    decision = policy_of_it.decide(at_work[0])
    assert 0 < decision.probability <= 1
    shares = policy_of_it.allocation()
    assert shares.sum(axis=0) == pytest.approx(np.ones(shares.shape[1]), abs=1e-9)


@pytest.mark.parametrize("name", SNAPSHOTS)
@examples(20, 50)
@given(data=st.data())
def test_every_field_must_be_there_and_no_other(name, data):
    """At every level."""
    snapshot = copy.deepcopy(SNAPSHOTS[name])
    path = data.draw(st.sampled_from([path for path in PLACES[name] if isinstance(path[-1], str)]))
    field = at(snapshot, path[:-1])
    if data.draw(st.booleans()):
        del field[path[-1]]
    else:
        field["another"] = field[path[-1]]
    with pytest.raises(InvalidInputError):
        restore(snapshot)


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_an_unedited_snapshot_is_taken(name):
    """Or all of the above would show nothing; also after the way through a language that has one kind of number."""
    assert restore(SNAPSHOTS[name]).snapshot() == SNAPSHOTS[name]
    shortened = json.loads(json.dumps(SNAPSHOTS[name]).replace(".0,", ",").replace(".0]", "]"))
    assert restore(shortened).snapshot() == SNAPSHOTS[name]


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_every_policy_takes_its_own_snapshots(name):
    """At every step of a run with late rewards and changes on the way."""
    decider = policy(name, [0.1, 0.1], [0.5, 0.5], reward_bounds=(0, 1), horizon=200, seed=4)
    for step in range(40):
        snapshot = decider.snapshot()
        assert restore(json.loads(json.dumps(snapshot))).snapshot() == snapshot
        decision = decider.decide(step % len(decider.contexts))
        if step % 3:
            decider.update(decision.context, decision.arm, float(step % 2))
        if step == 15:
            decider.add_arm(floor=0.05)
        if step == 25:
            decider.retire_arm(0)


FIELDS = [(field,) for field in HEAD] + [
    (part, field) for part, fields in zip(PARTS, (CONFIGURATION, STATISTICS, PLANNER), strict=True) for field in fields
]


@pytest.mark.parametrize("path", FIELDS, ids=".".join)
def test_every_field_is_checked(path):
    """None of them may hold an object that no JSON gives."""
    edited = changed_at(SNAPSHOTS["changed"], path, object())
    with pytest.raises(InvalidInputError, match=rf"{path[-1]}|no policy"):
        OLP.restore(edited)


def test_every_field_has_its_check():
    """Of every part, in the order in which a snapshot has them."""
    for snapshot in SNAPSHOTS.values():
        assert list(snapshot) == list(HEAD)
        for part, fields in zip(PARTS, (CONFIGURATION, STATISTICS, PLANNER), strict=True):
            assert list(snapshot[part]) == list(fields)


@pytest.mark.parametrize("part", PARTS)
def test_a_part_of_another_version_is_refused(part):
    """Each part has a version of its own."""
    latest = PARTS[part]
    for version in (0, latest + 1, float(latest), True, str(latest), None):
        edited = changed_at(SNAPSHOTS["changed"], (part, "version"), version)
        with pytest.raises(InvalidInputError, match=rf"snapshot\['{part}'\] must be of version {latest}, got"):
            restore(edited)


@pytest.mark.parametrize("kind", [SPOC, SGOC])
def test_a_snapshot_from_before_a_dial_goes_on_as_before(kind):
    """SPOC and SGOC used to share by upper bounds; a snapshot of today must say how it shares."""
    policy = kind([0.5, 0.5], [1.0], shares="own", seed=1)
    today = json.loads(json.dumps(policy.snapshot()))
    assert restore(today).configuration.dial_values["shares"] == "own"
    without = {name: value for name, value in today["configuration"]["dials"].items() if name != "shares"}
    earlier = changed_at(changed_at(today, ("configuration", "dials"), without), ("configuration", "version"), 1)
    for field in LATER_SETTINGS:
        del earlier["configuration"][field]
    assert restore(earlier).configuration.dial_values["shares"] == "ucb"
    with pytest.raises(InvalidInputError, match="shares"):
        restore(changed_at(earlier, ("configuration", "version"), 2))
    with pytest.raises(InvalidInputError, match="dials"):
        restore(changed_at(earlier, ("configuration", "dials"), 7))


def test_a_snapshot_from_before_later_dials_of_the_priced_lp_goes_on_without_them():
    """Those of the version before are told apart from one of today that lacks a dial, which is refused."""
    policy = PricedLP([0.1, 0.1], [0.5, 0.5], violation_weight=10.0, seed=1)
    today = json.loads(json.dumps(policy.snapshot()))
    dials = today["configuration"]["dials"]
    without = {name: value for name, value in dials.items() if name not in ("price_reach", "price_caution")}
    lacking = changed_at(today, ("configuration", "dials"), without)
    restored = restore(changed_at(lacking, ("configuration", "version"), 3)).configuration.dial_values
    assert (restored["price_reach"], restored["price_caution"], restored["violation_weight"]) == (0.0, 0.0, 10.0)
    with pytest.raises(InvalidInputError, match="price_reach"):
        restore(lacking)


class TestWhatUsedToBeTaken:
    """Each of these was accepted, or raised an error that was not ours."""

    @pytest.mark.parametrize(
        ("path", "value", "words"),
        [
            (("statistics", "context_counts"), 1.0, "must be a list of 3"),
            (("statistics", "by_pair"), [[0.0]], "must be a list of 3"),
            (("planner", "allocation"), [[0.5, 0.5, 0.5]], "must be a list of 3"),
            (("statistics", "memory", "by_arm"), {"queue": [0.0] * 3}, "must have only the fields .*, got 'queue'"),
            (("planner", "all_played"), "False", "must be True or False"),
            (("planner", "all_played"), 1, "must be True or False"),
            (("configuration", "available", 0, 0), "False", "must be True or False"),
            (("configuration", "available", 0, 0), 1, "must be True or False"),
            (("statistics", "by_pair", ByPair.INVERSE_ROOT, 0, 0), 0.9, r"n\^\(-1/2\) of its own counts"),
            (("statistics", "by_pair", ByPair.PULLS, 0, 0), 2.5, "whole numbers"),
            (("statistics", "by_pair", ByPair.PULLS, 0, 0), -1.0, "non-negative"),
            (("statistics", "by_pair", ByPair.MEAN, 1, 2), 0.5, "a mean of 0 where nothing was played"),
            (("statistics", "context_counts", 0), -3.0, "non-negative"),
            (("statistics", "context_counts", 0), 10**400, "must be a finite number"),
            (("statistics", "decisions"), 10**400, "must be a whole number"),
            (("statistics", "decisions"), 2.0, "must be a whole number"),
            (("statistics", "decisions"), 10**6, "the sum of the counts of contexts"),
            (("statistics", "rewards"), 1, "the sum of the counts of pairs"),
            (("planner", "next_plan"), 9, "at most 1"),
            (("configuration", "retired"), [0, 1], "0 for the retired arm 0"),
            (("configuration", "dropped"), [1, 0], "increasing order"),
            (("configuration", "dropped"), [3], "contexts below 3"),
            (("configuration", "dropped"), [0, 1, 2], "not all contexts"),
            (("configuration", "admitted"), 1, "at most 0"),
            (("statistics", "prior", 0, 0, 0), 1e-9, "from 1e-06 to 1e"),
            (("statistics", "prior", 1, 0, 0), 0.5, "a mean of 0 where there are no pulls"),
            (("configuration", "retired"), [1, 1], "increasing order"),
            (("configuration", "retired"), [7], "arms below 3"),
            (("planner", "allocation", 1), [1.0, 1.0, 1.0], "0 where an arm is not available"),
            (("configuration", "revenue_floors", 1), 0.1, "0 for the retired arm 1"),
            (("planner", "basis", "key"), [[0.5] * 3] * 2, "must be a whole number"),
            (("configuration", "seed"), "0", "must be a whole number"),
            (("configuration", "estimate_contexts"), 0, "must be True or False"),
            (("configuration", "dials"), {"optimism": 1.0}, "must have only the fields .*, got 'optimism'"),
            (("version",), True, "version"),
        ],
        ids=lambda value: "10**400" if value == 10**400 else None,
    )
    def test_it_is_refused_by_name(self, path, value, words):
        edited = changed_at(SNAPSHOTS["changed"], path, value)
        with pytest.raises(InvalidInputError, match=words) as caught:
            OLP.restore(edited)
        found = str(caught.value)
        if path[0] == "configuration" and "retired arm" in words:
            assert "configuration" in found  # the arm is named, and a field that contradicts it
        else:
            assert "".join(f"[{part!r}]" for part in path if isinstance(part, str)) in found or path == ("version",)

    def test_means_out_of_the_bounds_of_rewards_are_refused(self):
        snapshot = SNAPSHOTS["estimating"]
        with pytest.raises(InvalidInputError, match="means from 0 to 1"):
            restore(changed_at(snapshot, ("statistics", "by_pair", ByPair.MEAN, 0, 0), 1.5))

    def test_memory_of_a_rule_that_has_none_is_refused(self):
        edited = changed_at(SNAPSHOTS["masked"], ("statistics", "memory", "by_pair", "logits"), [[0.5] * 2] * 2)
        with pytest.raises(InvalidInputError, match=r"must have only the fields .*, got 'logits'"):
            restore(edited)

    def test_memory_of_another_shape_is_refused(self):
        edited = changed_at(SNAPSHOTS["weighing"], ("statistics", "memory", "by_pair", "logits"), 0.0)
        with pytest.raises(InvalidInputError, match=r"\['logits'\] must be a list of 2"):
            restore(edited)

    def test_a_basis_of_a_rule_that_does_not_plan_is_refused(self):
        edited = changed_at(SNAPSHOTS["weighing"], ("planner", "basis"), SNAPSHOTS["masked"]["planner"]["basis"])
        with pytest.raises(InvalidInputError, match="None for a rule that does not plan"):
            restore(edited)

    def test_a_pair_still_to_be_played_is_not_played(self):
        with pytest.raises(InvalidInputError, match="all_played"):
            restore(changed_at(SNAPSHOTS["fresh"], ("planner", "all_played"), True))


@settings(deadline=None)
@given(pulls=st.integers(1, 2**53))
def test_the_root_of_any_count_is_as_the_kernel_rounds_it(pulls):
    """NumPy's square root and quotient round as those of the kernels, or honest snapshots would be refused."""
    assert 1.0 / math.sqrt(float(pulls)) == float(np.divide(1.0, np.sqrt(np.float64(pulls))))
    snapshot = SNAPSHOTS["fresh"]
    played = copy.deepcopy(snapshot)
    played["statistics"]["rewards"] = pulls
    played["statistics"]["by_pair"] = [[[float(pulls)]], [[0.5]], [[1.0 / math.sqrt(pulls)]]]
    assert restore(played).pulls().tolist() == [[pulls]]
