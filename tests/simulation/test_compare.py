import numpy as np
import pytest

from arcbandit import Summary, Trace, compare, paper_instance, simulate
from arcbandit.errors import InvalidInputError, UnknownNameError

NU, PLUS = paper_instance("nu"), paper_instance("nu-plus")


def test_each_instance_is_played_as_by_itself():
    found = compare({"nu": NU, "plus": PLUS}, ["blp", "olp"], 1e2, 3, seed=4)
    assert list(found) == ["nu", "plus"]
    assert len(found) == 2
    assert found.policies == ("blp", "olp")
    for name, instance in (("nu", NU), ("plus", PLUS)):
        alone = simulate(instance, ["blp", "olp"], 100, 3, seed=4)
        for policy in alone.policies:
            assert np.array_equal(found[name].records[policy], alone.records[policy])


def test_the_result_is_tidy():
    """One row per instance, policy and metric, each with the mean and its interval."""
    found = compare({"nu": NU, "plus": PLUS}, ["blp", "olp"], 100, 3)
    rows = found.to_dict()
    assert list(rows) == ["instance", "policy", "metric", "mean", "low", "high"]
    keys = list(zip(rows["instance"], rows["policy"], rows["metric"], strict=True))
    assert len(set(keys)) == len(keys) == 2 * 2 * len(set(rows["metric"]))
    place = keys.index(("plus", "olp", "violation"))
    one = found["plus"].estimate("violation", "olp")
    assert (rows["mean"][place], rows["high"][place]) == (one.mean, one.mean + one.half_width)
    by_floor = found.to_dict("floor")
    assert len(by_floor["mean"]) == 2 * 2 * 3 * 4
    assert by_floor["floor"][:4] == ["1"] * 4


def test_instances_without_names_are_numbered():
    assert list(compare([NU, PLUS], "blp", 20, 1)) == ["1", "2"]
    assert list(compare(iter([NU, PLUS]), iter(["blp", "olp"]), 20, 1)) == ["1", "2"]


def test_options_are_those_of_a_simulation():
    found = compare([NU], ["blp"], 20, 2, keep="summary", jobs=1, window=5, checkpoints=3)
    assert type(found["1"]) is Summary
    assert found["1"].settings["window"] == 5
    assert type(compare([NU], ["blp"], 20, 2)["1"]) is Trace


@pytest.mark.parametrize(
    ("instances", "said"),
    [
        (NU, "instances must be several"),
        ([], "instances must hold at least one"),
        ({}, "instances must hold at least one"),
        ("nu", "instances must be a sequence"),
        ([NU, 3], r"instances\['2'\] must be an Instance"),
        ({"": NU}, "name in instances must be a non-empty string"),
        ({3: NU}, "name in instances must be a non-empty string"),
        (None, "instances must be a sequence"),
    ],
)
def test_what_is_not_several_instances_is_refused(instances, said):
    with pytest.raises(InvalidInputError, match=said):
        compare(instances, ["blp"], 10)


def test_a_misspelt_option_is_refused_before_any_round():
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'chekpoints' \(did you mean 'checkpoints'\?\)"):
        compare([NU], ["blp"], 10, chekpoints=3)


def test_an_unknown_instance_or_metric_is_named():
    found = compare({"nu": NU}, ["blp"], 10, 1)
    with pytest.raises(UnknownNameError, match=r"no instance 'Nu' here \(did you mean 'nu'\?\)"):
        found["Nu"]
    with pytest.raises(UnknownNameError, match="no metric 'x'"):
        found.table("x")
    with pytest.raises(InvalidInputError, match="by must be"):
        found.to_dict("policy")
    assert "nu" in found
    assert "Nu" not in found
    assert 3 not in found
    assert found.get("Nu") is None
    assert found.get("nu") is found["nu"]
