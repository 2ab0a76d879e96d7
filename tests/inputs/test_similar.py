import pytest

from arcbandit import BLP, OLP, Instance, ThompsonLP, paper_instance, policy, simulate
from arcbandit.errors import InvalidInputError, UnknownNameError
from arcbandit.inputs.similar import did_you_mean, meant

PROBLEM = {"revenue_floors": [0.1, 0.2], "context_probabilities": [0.5, 0.5]}


@pytest.mark.parametrize(
    ("given", "known", "name"),
    [
        ("bpl", ["blp", "olp"], "blp"),
        ("BLP", ["blp", "olp"], "blp"),
        ("thompson_lp", ["thompson-lp"], "thompson-lp"),
        ("cautoin", ["optimism", "caution"], "caution"),
        ("sigma", ["noise_scale", "seed"], "noise_scale"),
        ("sigma", ["seed", "sigmoid"], "sigmoid"),
        ("drama", ["comedy", "westerns"], None),
        ("", ["blp"], None),
        (3, ["blp"], None),
        ("51", ["15", "50"], None),
        ("x", [], None),
        ("x", [3, None], None),
    ],
)
def test_the_name_that_is_most_like_the_given_one_is_meant_if_any_is(given, known, name):
    assert meant(given, known) == name
    assert did_you_mean(given, known) == ("" if name is None else f" (did you mean {name!r}?)")


def test_a_hint_never_names_what_was_given():
    """A name may be known and still be refused, for another reason."""
    assert meant("blp", ["blp"]) is None


def test_names_by_the_million_do_not_make_an_error_slow():
    def numbered():
        for number in range(10**9):
            yield f"arm {number}"

    assert meant("arm 17x", numbered()) == "arm 17"


def error_of(call):
    with pytest.raises(InvalidInputError) as caught:
        call()
    return str(caught.value)


MISSPELT = {
    "policy": (lambda: policy("bpl"), "'blp'"),
    "policy of a simulation": (lambda: simulate(paper_instance("nu"), ["greedi"], 10), "'greedy'"),
    "dial": (lambda: ThompsonLP(redraw=3), "'redraws'"),
    "setting": (lambda: OLP(noisescale=3), "'noise_scale'"),
    "sigma": (lambda: BLP(sigma=0.1), "'noise_scale'"),
    "sigma of a policy by name": (lambda: policy("blp", sigma=0.1), "'noise_scale'"),
    "argument of the problem": (lambda: BLP([1.0], [1.0], context=["x"]), "'contexts'"),
    "context": (lambda: BLP(**PROBLEM, contexts=["drama", "comedy"]).decide("Drama"), "'drama'"),
    "arm": (lambda: BLP(**PROBLEM, arms=["alpha", "beta"]).update(0, "alhpa", 1.0), "'alpha'"),
    "floor": (lambda: BLP(**PROBLEM, arms=["alpha", "beta"]).set_floor("bete", 0.0), "'beta'"),
    "replan": (lambda: OLP(replan="allways"), "'always'"),
    "device": (lambda: simulate(paper_instance("nu"), ["blp"], 10, device="cudo"), "'cuda'"),
    "instance": (lambda: paper_instance("nu_plus"), "'nu-plus'"),
    "field of a file": (lambda: Instance.from_dict({"mean_reward": [[1.0]]}), "'mean_rewards'"),
    "sigma of a file": (lambda: Instance.from_dict({"sigma": 1.0}), "'noise_scale'"),
    "choice of a dial": (lambda: policy("optimistic3", dual="expectd"), "'expected'"),
}


@pytest.mark.parametrize("case", MISSPELT)
def test_an_error_says_what_was_meant(case):
    call, name = MISSPELT[case]
    assert f"(did you mean {name}?)" in error_of(call)


def test_a_keyword_that_an_instance_does_not_take_is_a_type_error_with_a_hint():
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'sigma' \(did you mean 'noise_scale'\?\)"):
        Instance([[1.0]], [0.5], [1.0], sigma=0.1)
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'floors' \(did you mean 'revenue_floors'\?\)"):
        Instance.from_weighted_means([[1.0]], context_probabilities=[1.0], floors=[0.5], revenue_floors=[0.5])


def test_arms_without_names_get_no_hint():
    """Their numbers as strings are names of nothing."""
    with pytest.raises(UnknownNameError) as caught:
        BLP(**PROBLEM).decide("1")
    assert "did you mean" not in str(caught.value)
