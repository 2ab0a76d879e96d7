import copy
import json
import math
import os
import pickle
import tomllib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arcbandit.errors import InvalidInstanceError, UnknownNameError
from arcbandit.inputs.values import LARGEST_NUMBER
from arcbandit.instance import GroupFloor, Instance
from tests.long import examples

MINIMAL_TOML = "revenue_floors = [1]\ncontext_probabilities = [1]\nmean_rewards = [[1]]\n"
MEANS = [[9, 3, 6], [0, 1.5, 0]]
FLOORS = [1, 0.25]
PROBABILITIES = [0.5, 0.25, 0.25]


def build(**changes):
    fields = {"mean_rewards": MEANS, "revenue_floors": FLOORS, "context_probabilities": PROBABILITIES}
    return Instance(**(fields | changes))


def grouped():
    return build(arms=["a", "b"], group_floors=[GroupFloor("both", ("a", 1), 2), GroupFloor("one", ("b",), 0)])


@st.composite
def instances(draw):
    n_arms, n_contexts = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    weights = draw(st.lists(st.integers(1, 100), min_size=n_contexts, max_size=n_contexts))
    real = st.floats(-1e12, 1e12)
    row = st.lists(real, min_size=n_contexts, max_size=n_contexts)
    floors = draw(st.lists(st.floats(0, 1e12), min_size=n_arms, max_size=n_arms))
    name = st.text(min_size=1).filter(str.strip)
    names = draw(st.lists(name, min_size=n_arms + 1, max_size=n_arms + 1, unique=True))
    arms = names[:n_arms]
    members = draw(st.lists(st.sampled_from(arms), min_size=1, unique=True))
    return Instance(
        draw(st.lists(row, min_size=n_arms, max_size=n_arms)),
        floors,
        [weight / sum(weights) for weight in weights],
        arms=arms,
        contexts=draw(st.lists(name, min_size=n_contexts, max_size=n_contexts, unique=True)),
        noise_scale=draw(st.floats(0, LARGEST_NUMBER, exclude_min=True)),
        group_floors=draw(st.sampled_from([(), (GroupFloor(names[-1], members, 0.1),)])),
    )


class TestWhatAnInstanceHolds:
    def test_counts_arms_by_rows_and_contexts_by_columns(self):
        """K rows, C columns, kappa pairs."""
        instance = build()
        assert (instance.n_arms, instance.n_contexts, instance.n_pairs) == (2, 3, 6)

    def test_names_count_from_one_by_default(self):
        """As the paper counts."""
        assert build().arms == ("1", "2")
        assert build().contexts == ("1", "2", "3")

    @pytest.mark.parametrize(
        "field",
        ["mean_rewards", "revenue_floors", "context_probabilities", "weighted_means", "group_members"],
    )
    def test_arrays_cannot_be_changed(self, field):
        """An instance is checked once, so nothing may change after that."""
        array = getattr(grouped(), field)
        assert array.flags.c_contiguous
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0

    def test_fields_cannot_be_reassigned(self):
        """An instance is frozen."""
        with pytest.raises(AttributeError):
            build().noise_scale = 2.0

    def test_arrays_are_copies(self):
        """Changing the caller's array, transposed or not, leaves the instance alone."""
        means = np.asfortranarray(MEANS, dtype=np.float64)
        instance = build(mean_rewards=means)
        means[0, 0] = -1
        assert instance.mean_rewards[0, 0] == 9
        assert instance.mean_rewards.flags.c_contiguous
        assert means.flags.writeable

    def test_probabilities_are_stored_as_given(self):
        """A sum that is 1 within rounding is not renormalised."""
        given = [0.1] * 10
        assert build(mean_rewards=np.ones((2, 10)), context_probabilities=given).context_probabilities.tolist() == given

    def test_a_context_may_have_probability_zero(self):
        """Only from_weighted_means has to divide by it."""
        assert build(context_probabilities=[1, 0, 0]).weighted_means[0].tolist() == [9, 0, 0]

    def test_weighted_means_are_probability_times_mean(self):
        """The unit of the paper's tables."""
        np.testing.assert_array_equal(build().weighted_means, [[4.5, 0.75, 1.5], [0, 0.375, 0]])

    def test_from_weighted_means_divides_by_the_probability(self):
        """The inverse of weighted_means."""
        assert Instance.from_weighted_means(build().weighted_means, FLOORS, PROBABILITIES) == build()

    def test_from_weighted_means_passes_every_option_on(self):
        """Names, noise and group floors are those of the constructor."""
        options = {
            "arms": ["a", "b"],
            "contexts": ["x", "y", "z"],
            "noise_scale": 0.5,
            "group_floors": [GroupFloor("both", ("a", "b"), 1)],
        }
        weighted = Instance.from_weighted_means(build().weighted_means, FLOORS, PROBABILITIES, **options)
        assert weighted == build(**options)

    def test_group_members_mark_the_arms_of_each_group(self):
        """One row per group floor, one column per arm."""
        assert grouped().group_members.tolist() == [[True, True], [False, True]]
        assert build().group_members.shape == (0, 2)

    def test_arms_of_a_group_are_stored_by_name(self):
        """However they were given."""
        assert grouped().group_floors[0] == GroupFloor("both", ("a", "b"), 2.0)

    def test_the_repr_is_one_short_line(self):
        """It says the size, not the numbers."""
        assert repr(grouped()) == "<Instance: 2 arms x 3 contexts, noise scale 1, 2 group floors>"

    @pytest.mark.parametrize(
        "change",
        [
            {"mean_rewards": [[9, 3, 6], [0, 1.5, 1]]},
            {"revenue_floors": [1, 0.5]},
            {"context_probabilities": [0.25, 0.25, 0.5]},
            {"arms": ["a", "b"]},
            {"contexts": ["a", "b", "c"]},
            {"noise_scale": 2},
            {"group_floors": [GroupFloor("g", (0,), 1)]},
        ],
        ids=lambda change: next(iter(change)),
    )
    def test_instances_are_equal_when_every_field_is(self, change):
        """And equal instances hash alike."""
        assert build() == build()
        assert hash(build()) == hash(build())
        assert build() != build(**change)
        assert build() != "an instance"

    def test_zero_and_minus_zero_hash_alike(self):
        """They are equal numbers."""
        negative = build(mean_rewards=[[9, 3, 6], [-0.0, 1.5, 0]])
        assert negative == build()
        assert hash(negative) == hash(build())

    @pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
    def test_copies_are_equal_and_cannot_be_changed_either(self, duplicate):
        """Also after the way to another process."""
        twin = duplicate(grouped())
        assert twin == grouped()
        assert not twin.mean_rewards.flags.writeable


class TestNamesAndIndices:
    def test_arms_and_contexts_are_found_by_name_or_index(self):
        """A string is a name, an integer an index from 0."""
        instance = build(arms=["a", "b"], contexts=["x", "y", "z"])
        assert [instance.arm_index("b"), instance.arm_index(1), instance.arm_index(np.int64(0))] == [1, 1, 0]
        assert [instance.context_index("z"), instance.context_index(0)] == [2, 0]
        assert build().arm_index("1") == 0

    @pytest.mark.parametrize(
        ("wanted", "message"),
        [
            ("c", "There is no arm 'c': it must be one of 'a', 'b', or an index from 0 to 1."),
            (2, "There is no arm 2: it must be one of 'a', 'b', or an index from 0 to 1."),
            (-1, "There is no arm -1: it must be one of 'a', 'b', or an index from 0 to 1."),
            (0.5, "There is no arm 0.5: it must be one of 'a', 'b', or an index from 0 to 1."),
            (True, "There is no arm True: it must be one of 'a', 'b', or an index from 0 to 1."),
            (None, "There is no arm None: it must be one of 'a', 'b', or an index from 0 to 1."),
        ],
    )
    def test_an_unknown_arm_is_refused(self, wanted, message):
        """The message lists what could have been meant."""
        with pytest.raises(UnknownNameError) as caught:
            build(arms=["a", "b"]).arm_index(wanted)
        assert str(caught.value) == message

    def test_an_unknown_context_is_refused(self):
        """The message speaks of a context."""
        with pytest.raises(
            UnknownNameError,
            match=r"^There is no context '4': it must be one of '1', '2', '3', or an index from 0 to 2\.$",
        ):
            build().context_index("4")

    def test_a_long_list_of_names_is_cut(self):
        """Ten names and the count, however many there are."""
        instance = Instance(np.ones((50, 1)), np.zeros(50), [1])
        with pytest.raises(
            UnknownNameError, match=r"no arm '51': it must be one of '1', .*, '10', \.\.\. \(50 in all\), or an index"
        ):
            instance.arm_index("51")


BROKEN = {
    "one-dimensional means": (
        {"mean_rewards": [1, 2, 3]},
        "mean_rewards must be 2-dimensional, got shape (3,).",
    ),
    "no arms": (
        {"mean_rewards": np.empty((0, 3))},
        "mean_rewards must have at least one arm and one context, got shape (0, 3).",
    ),
    "no contexts": (
        {"mean_rewards": [[], []]},
        "mean_rewards must have at least one arm and one context, got shape (2, 0).",
    ),
    "ragged means": (
        {"mean_rewards": [[1, 2, 3], [1, 2]]},
        "mean_rewards must have rows of equal length, got ragged rows.",
    ),
    "boolean means": (
        {"mean_rewards": [[True, False, True], [True, False, True]]},
        "mean_rewards must hold real numbers, got dtype bool.",
    ),
    "string means": (
        {"mean_rewards": [["1", "2", "3"], ["1", "2", "3"]]},
        "mean_rewards must hold real numbers, got dtype <U1.",
    ),
    "complex floors": (
        {"revenue_floors": [1j, 0]},
        "revenue_floors must hold real numbers, got dtype complex128.",
    ),
    "missing probability": (
        {"context_probabilities": [0.5, 0.5, None]},
        "context_probabilities must hold real numbers, got dtype object.",
    ),
    "infinite mean": (
        {"mean_rewards": [[9, 3, 6], [0, math.inf, 0]]},
        "mean_rewards[1, 1] (arm '2', context '2') must be finite, got inf.",
    ),
    "mean that is not a number": (
        {"mean_rewards": [[9, 3, math.nan], [0, 0, 0]], "contexts": ["x", "y", "z"]},
        "mean_rewards[0, 2] (arm '1', context 'z') must be finite, got nan.",
    ),
    "two-dimensional floors": (
        {"revenue_floors": [[1, 0.25]]},
        "revenue_floors must be 1-dimensional, got shape (1, 2).",
    ),
    "too few floors": (
        {"revenue_floors": [1]},
        "revenue_floors has shape (1,), but mean_rewards has 2 arms (rows).",
    ),
    "negative floor": (
        {"revenue_floors": [1, -0.5], "arms": ["a", "b"]},
        "revenue_floors[1] (arm 'b') must be non-negative, got -0.5.",
    ),
    "floor that is not a number": (
        {"revenue_floors": [math.nan, 1]},
        "revenue_floors[0] (arm '1') must be finite, got nan.",
    ),
    "too many probabilities": (
        {"context_probabilities": [0.25] * 4},
        "context_probabilities has shape (4,), but mean_rewards has 3 contexts (columns).",
    ),
    "negative probability": (
        {"context_probabilities": [0.5, 0.75, -0.25]},
        "context_probabilities[2] (context '3') must be non-negative, got -0.25.",
    ),
    "infinite probability": (
        {"context_probabilities": [0.5, math.inf, 0]},
        "context_probabilities[1] (context '2') must be finite, got inf.",
    ),
    "probabilities that do not sum to one": (
        {"context_probabilities": [0.5, 0.25, 0.125]},
        "context_probabilities must sum to 1 (within 1e-06), got 0.875.",
    ),
    "names in one string": ({"arms": "ab"}, "arms must be a sequence of names, got 'ab'."),
    "names that are no sequence": ({"contexts": 3}, "contexts must be a sequence of names, got 3."),
    "too few names": ({"arms": ["a"]}, "arms has 1 names, but the means have 2 arms (rows)."),
    "too many names": (
        {"contexts": list("wxyz")},
        "contexts has 4 names, but the means have 3 contexts (columns).",
    ),
    "empty name": ({"arms": ["a", " "]}, "arms[1] must be a non-empty string, got ' '."),
    "numeric name": ({"arms": ["a", 2]}, "arms[1] must be a non-empty string, got 2."),
    "repeated name": (
        {"contexts": ["x", "y", "x"]},
        "contexts must be unique, got 'x' at positions 0 and 2.",
    ),
    "no noise": ({"noise_scale": 0}, "noise_scale must be positive, got 0."),
    "infinite noise": ({"noise_scale": math.inf}, "noise_scale must be finite, got inf."),
    "noise beyond the largest float": (
        {"noise_scale": 10**400},
        "noise_scale must be finite, got inf.",
    ),
    "noise too large to compute with": (
        {"noise_scale": 1e200},
        "noise_scale must be within 1e+150 of zero, got 1e+200.",
    ),
    "mean too large to compute with": (
        {"mean_rewards": [[9, 3, 6], [0, -1e151, 0]]},
        "mean_rewards[1, 1] (arm '2', context '2') must be within 1e+150 of zero, got -1e+151.",
    ),
    "floor too large to compute with": (
        {"revenue_floors": [1, 1e151]},
        "revenue_floors[1] (arm '2') must be within 1e+150 of zero, got 1e+151.",
    ),
    "floor beyond the largest float": (
        {"revenue_floors": [1, 10**400]},
        "revenue_floors[1] (arm '2') must be finite, got inf.",
    ),
    "boolean among means": (
        {"mean_rewards": [[9, 3, True], [0, 1, 0]]},
        "mean_rewards[0][2] must be a real number, got True.",
    ),
    "masked mean": (
        {"mean_rewards": np.ma.masked_equal(MEANS, 9)},
        "mean_rewards must have no masked entries, got 1.",
    ),
    "times for probabilities": (
        {"context_probabilities": np.array([1, 0, 0], dtype="m8[s]")},
        "context_probabilities must hold real numbers, got dtype timedelta64[s].",
    ),
    "noise that is a time": (
        {"noise_scale": np.timedelta64(1, "s")},
        "noise_scale must be a real number, got np.timedelta64(1,'s').",
    ),
    "noise in words": ({"noise_scale": "loud"}, "noise_scale must be a real number, got 'loud'."),
    "boolean noise": ({"noise_scale": True}, "noise_scale must be a real number, got True."),
    "group floors that are no sequence": (
        {"group_floors": 1},
        "group_floors must be a sequence of GroupFloor, got 1.",
    ),
    "group floor of another type": (
        {"group_floors": [("g", (0,), 1)]},
        "group_floors[0] must be a GroupFloor, got ('g', (0,), 1).",
    ),
    "group floors of one name": (
        {"group_floors": [GroupFloor("g", (0,), 1), GroupFloor("g", (1,), 1)]},
        "group_floors[1] must have a name that no arm and no other group floor has, got 'g'.",
    ),
    "group floor named like an arm": (
        {"group_floors": [GroupFloor("1", (0,), 1)]},
        "group_floors[0] must have a name that no arm and no other group floor has, got '1'.",
    ),
    "group floor of an unknown arm": (
        {"group_floors": [GroupFloor("g", ("c",), 1)]},
        "arms of group floor 'g': There is no arm 'c': it must be one of '1', '2', or an index from 0 to 1.",
    ),
    "group floor that repeats an arm": (
        {"group_floors": [GroupFloor("g", ("1", 0), 1)]},
        "arms of group floor 'g' must be unique, got '1' more than once.",
    ),
}


@pytest.mark.parametrize(("changes", "message"), BROKEN.values(), ids=BROKEN.keys())
def test_every_broken_rule_has_its_own_sentence(changes, message):
    """Which field, what it must be, what was given."""
    with pytest.raises(InvalidInstanceError) as caught:
        build(**changes)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (("", (0,), 1), "The name of a group floor must be a non-empty string, got ''."),
        ((3, (0,), 1), "The name of a group floor must be a non-empty string, got 3."),
        (("g", "ab", 1), "arms of group floor 'g' must be a sequence of arm names or indices, got 'ab'."),
        (("g", 0, 1), "arms of group floor 'g' must be a sequence of arm names or indices, got 0."),
        (("g", (), 1), "arms of group floor 'g' must hold at least one arm, got none."),
        (("g", (True,), 1), "arms of group floor 'g' must be names or indices from 0, got True."),
        (("g", (-1,), 1), "arms of group floor 'g' must be names or indices from 0, got -1."),
        (("g", (0.0,), 1), "arms of group floor 'g' must be names or indices from 0, got 0.0."),
        (("g", (0,), 1e200), "floor of group floor 'g' must be within 1e+150 of zero, got 1e+200."),
        (("g", (0,), -1), "floor of group floor 'g' must be non-negative, got -1."),
        (("g", (0,), math.nan), "floor of group floor 'g' must be finite, got nan."),
        (("g", (0,), "1"), "floor of group floor 'g' must be a real number, got '1'."),
    ],
)
def test_every_broken_rule_of_a_group_floor_has_its_own_sentence(fields, message):
    """What needs no instance is checked without one."""
    with pytest.raises(InvalidInstanceError) as caught:
        GroupFloor(*fields)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("weighted_means", "probabilities", "message"),
    [
        ([1, 2], [0.5, 0.5], "weighted_means must be 2-dimensional, got shape (2,)."),
        (
            [[1, math.nan]],
            [0.5, 0.5],
            "weighted_means[0, 1] (arm '1', context '2') must be finite, got nan.",
        ),
        ([[1, 2]], [1], "context_probabilities has shape (1,), but weighted_means has 2 contexts (columns)."),
        (
            [[1, 2]],
            [1, 0],
            "context_probabilities[1] (context '2') must be positive to divide weighted_means by it, got 0; "
            "give mean_rewards instead.",
        ),
        (
            [[1, 1e300]],
            [1, 1e-300],
            "weighted_means[0, 1] (arm '1', context '2') must be within 1e+150 of zero, got 1e+300.",
        ),
        (
            [[1, 1e100]],
            [1, 1e-100],
            "mean_rewards[0, 1] (arm '1', context '2') must be within 1e+150 of zero, got 1e+200.",
        ),
    ],
)
def test_from_weighted_means_names_its_own_field(weighted_means, probabilities, message):
    """A message about mean_rewards would confuse who gave weighted_means."""
    with pytest.raises(InvalidInstanceError) as caught:
        Instance.from_weighted_means(weighted_means, [0], probabilities)
    assert str(caught.value) == message


class TestFiles:
    @examples(30, 100)
    @given(instance=instances())
    def test_a_dict_gives_back_the_same_instance(self, instance):
        """Every float survives exactly."""
        assert Instance.from_dict(instance.to_dict()) == instance

    @pytest.mark.parametrize("suffix", [".toml", ".json", ".JSON"])
    @examples(30, 100)
    @given(instance=instances())
    def test_a_file_gives_back_the_same_instance(self, tmp_path_factory, suffix, instance):
        """Every float and every name survives exactly."""
        file = tmp_path_factory.getbasetemp() / f"round-trip{suffix}"
        instance.save(file)
        assert Instance.load(str(file)) == instance

    def test_a_file_may_give_weighted_means(self, tmp_path):
        """The tables of the paper can be typed as printed, and everything but numbers can be left out."""
        file = tmp_path / "nu.toml"
        file.write_text(
            "weighted_means = [[4.5, 0.75, 1.5], [0, 0.375, 0]]\n"
            "revenue_floors = [1, 0.25]\n"
            "context_probabilities = [0.5, 0.25, 0.25]\n"
        )
        assert Instance.load(file) == build()

    def test_a_file_may_hold_group_floors(self, tmp_path):
        """As an array of tables, which is how TOML reads best."""
        file = tmp_path / "groups.toml"
        file.write_text(
            "mean_rewards = [[9, 3, 6], [0, 1.5, 0]]\n"
            "revenue_floors = [1, 0.25]\n"
            "context_probabilities = [0.5, 0.25, 0.25]\n"
            '[[group_floors]]\nname = "both"\narms = ["1", 1]\nfloor = 2\n'
        )
        assert Instance.load(file) == build(group_floors=[GroupFloor("both", ("1", "2"), 2)])

    @pytest.mark.parametrize(
        ("name", "text", "message"),
        [
            ("nu.yaml", "", "an instance file must end in .toml or .json, got '.yaml'."),
            ("nu", "", "an instance file must end in .toml or .json, got ''."),
            ("nu.toml", "arms = [", "is not valid TOML ("),
            ("nu.json", "{", "is not valid JSON ("),
            ("nu.json", '{"arms": [], "arms": []}', "is not valid JSON (a key is given twice)."),
            ("nu.json", "[" * 100_000, "is not valid JSON ("),
            ("nu.json", "[]", "An instance must be a table of named fields, got list."),
            (
                "nu.toml",
                "revenue_floors = [1]\ncontext_probabilities = [1]\nmeans = [[1]]",
                "An instance must have only the fields revenue_floors, context_probabilities, mean_rewards, "
                "weighted_means, arms, contexts, noise_scale, group_floors, got 'means' "
                "(did you mean 'mean_rewards'?).",
            ),
            (
                "nu.toml",
                "revenue_floors = [1]\nmean_rewards = [[1]]",
                "An instance must have the field context_probabilities, got revenue_floors, mean_rewards.",
            ),
            ("nu.toml", "", "An instance must have the field revenue_floors, got none."),
            (
                "nu.toml",
                "revenue_floors = [1]\ncontext_probabilities = [1]",
                "An instance must give either mean_rewards or weighted_means, got none.",
            ),
            (
                "nu.toml",
                MINIMAL_TOML + "weighted_means = [[1]]",
                "An instance must give either mean_rewards or weighted_means, got mean_rewards and weighted_means.",
            ),
            (
                "nu.json",
                '{"revenue_floors": [-1], "context_probabilities": [1], "mean_rewards": [[1]]}',
                "revenue_floors[0] (arm '1') must be non-negative, got -1.0.",
            ),
            (
                "nu.json",
                '{"revenue_floors": [1], "context_probabilities": [1], "mean_rewards": [[NaN]]}',
                "mean_rewards[0, 0] (arm '1', context '1') must be finite, got nan.",
            ),
            (
                "nu.toml",
                MINIMAL_TOML + "group_floors = 3",
                "group_floors must be a list of tables, got 3.",
            ),
            (
                "nu.toml",
                MINIMAL_TOML + "[[group_floors]]\nname = 'g'",
                "group_floors[0] must have the field arms, got name.",
            ),
        ],
    )
    def test_a_bad_file_is_one_sentence_that_names_it(self, tmp_path, name, text, message):
        """Whatever is wrong with it."""
        file = tmp_path / name
        file.write_text(text)
        with pytest.raises(InvalidInstanceError) as caught:
            Instance.load(file)
        assert str(caught.value).startswith(f"{file}: {message}")

    def test_bytes_that_are_no_text_are_refused(self, tmp_path):
        """Files are UTF-8."""
        file = tmp_path / "nu.toml"
        file.write_bytes(b"\xff\xfe")
        with pytest.raises(InvalidInstanceError, match="is not valid TOML"):
            Instance.load(file)

    def test_a_missing_file_is_named(self, tmp_path):
        """The path is the first word of the message."""
        with pytest.raises(InvalidInstanceError) as caught:
            Instance.load(tmp_path / "nowhere.toml")
        assert str(caught.value) == f"{tmp_path / 'nowhere.toml'}: no such file."

    def test_a_folder_cannot_be_read(self, tmp_path):
        """The system's reason stands in the message."""
        folder = tmp_path / "folder.json"
        folder.mkdir()
        with pytest.raises(InvalidInstanceError, match=r"folder\.json: cannot be read \(Is a directory\)"):
            Instance.load(folder)

    def test_saving_needs_a_known_ending(self, tmp_path):
        """Nothing is written under a name that could not be loaded."""
        with pytest.raises(InvalidInstanceError, match=r"must end in \.toml or \.json, got '\.txt'"):
            build().save(tmp_path / "nu.txt")
        assert list(tmp_path.iterdir()) == []

    def test_saving_into_a_missing_folder_is_refused(self, tmp_path):
        """The message names the file that was asked for."""
        with pytest.raises(InvalidInstanceError, match=r"nu\.toml: cannot be written \(No such file"):
            build().save(tmp_path / "missing" / "nu.toml")

    def test_a_failed_save_leaves_the_old_file(self, tmp_path, monkeypatch):
        """And no partial file beside it."""
        file = tmp_path / "nu.json"
        build().save(file)

        def fail(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "replace", fail)
        with pytest.raises(InvalidInstanceError, match=r"cannot be written \(No space left on device\)"):
            build(noise_scale=2).save(file)
        assert Instance.load(file) == build()
        assert list(tmp_path.iterdir()) == [file]

    def test_saving_through_a_link_writes_its_target(self, tmp_path):
        """The link stays a link."""
        target, link = tmp_path / "target.toml", tmp_path / "link.toml"
        build().save(target)
        link.symlink_to(target)
        build(noise_scale=2).save(link)
        assert link.is_symlink()
        assert Instance.load(target).noise_scale == 2

    def test_both_formats_hold_the_same_fields(self, tmp_path):
        """A file can be moved from one format to the other by any tool."""
        grouped().save(tmp_path / "nu.toml")
        grouped().save(tmp_path / "nu.json")
        toml = tomllib.loads((tmp_path / "nu.toml").read_text())
        assert toml == json.loads((tmp_path / "nu.json").read_text()) == grouped().to_dict()
