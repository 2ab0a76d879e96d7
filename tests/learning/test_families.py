"""Families of instances: frozen, strictly feasible, and of the kind that they are said to be."""

import functools
import hashlib

import numpy as np
import pytest

from arcbandit.errors import InvalidInputError, UnknownNameError
from arcbandit.learning.families import DEAR, FAMILIES, RANDOM, drawn
from arcbandit.oracle import analyse
from arcbandit.planning import plan

# Of the first instances of both halves with the seed 0. A family whose digest changes is another family: results that
# were published with it mean something else.
DIGESTS = {
    "paper": "7fc4abf90625c068",
    "small": "8ef6d07793049909",
    "large": "2a70d66467e9746d",
    "dear": "2902d5ed6736d5d5",
    "rare": "8465b6dc78f2bcf0",
    "many": "0bbe8cb978851cc2",
}


def contents(one):
    """All numbers of an instance, and how it is played."""
    instance = one.instance
    arrays = (instance.mean_rewards, instance.revenue_floors, instance.context_probabilities)
    return b"".join(array.tobytes() for array in arrays) + f"{instance.noise_scale!r} {one.rewards} {one.seed}".encode()


# Those of many pairs take a tenth of a second to draw.
drawn_once = functools.cache(drawn)


def first(family, count, seed=0):
    """The first instances of both halves."""
    numbers = range(FAMILIES[family].size(count))
    return [drawn_once(family, half, number, seed) for half in ("tuning", "scored") for number in numbers]


@pytest.mark.parametrize("family", FAMILIES)
def test_families_are_frozen(family):
    """Means, floors, probabilities, noise, kind of rewards and seed, bit for bit."""
    count = 1 if family == "many" else 3
    found = hashlib.sha256(b"".join(contents(one) for one in first(family, count))).hexdigest()[:16]
    assert found == DIGESTS[family]


@pytest.mark.parametrize("family", RANDOM)
def test_every_instance_is_strictly_feasible_and_not_degenerate(family, cases):
    """Floors that can be met with room to spare; one of them costs something, and no active one is free."""
    for one in first(family, cases(1 if family == "many" else 4, 100)):
        found = analyse(one.instance)
        assert found.feasibility_margin > 0.0
        best = plan(one.instance)
        assert not best.degenerate
        assert best.floors.prices.max() >= 0.05
        active = best.floors.active & (best.floors.amounts > 0.0)
        assert (best.floors.prices[active] > 0.0).all()
        assert one.instance.noise_scale > 0.0


def test_the_instances_of_the_paper_are_strictly_feasible():
    for one in first("paper", 5):
        assert analyse(one.instance).feasibility_margin > 0.0


class TestWhatFamiliesAreSaidToBe:
    def test_small_and_large_and_many_have_their_shapes(self):
        for family, arms, contexts in (
            ("small", (2, 5), (2, 6)),
            ("large", (3, 10), (4, 20)),
            ("many", (30,) * 2, (50,) * 2),
        ):
            for one in first(family, 10 if family != "many" else 1):
                assert arms[0] <= one.instance.n_arms <= arms[1]
                assert contexts[0] <= one.instance.n_contexts <= contexts[1]

    def test_dear_floors_are_dear(self):
        """At a price from 10 to 100, the dearest of them."""
        for one in first("dear", 20):
            assert DEAR[0] <= plan(one.instance).floors.prices.max() <= DEAR[1]

    def test_a_rare_context_has_probability_one_in_a_thousand(self):
        for one in first("rare", 20):
            assert one.instance.context_probabilities.min() == 0.001
            assert one.instance.context_probabilities.sum() == pytest.approx(1.0, abs=1e-15)

    def test_large_instances_differ_in_all_that_is_promised(self):
        """Of 40: Bernoulli and Gaussian rewards, noise from 0.3 to 3, arms without floors, some of no use at all."""
        found = first("large", 20)
        bernoulli = [one for one in found if one.rewards == "bernoulli"]
        assert 3 <= len(bernoulli) <= 20
        for one in bernoulli:
            assert one.instance.noise_scale == 0.5
            assert one.instance.mean_rewards.max() <= 1.0
        scales = [one.instance.noise_scale for one in found if one.rewards == "gaussian"]
        assert 0.3 <= min(scales) < 0.6
        assert 1.5 < max(scales) <= 3.0
        without = [(one.instance.revenue_floors == 0.0).sum() for one in found]
        assert min(without) == 0
        assert max(without) >= 2
        useless = [
            (one.instance.mean_rewards.max(axis=1) < one.instance.mean_rewards.max(axis=0).min()).any() for one in found
        ]
        assert any(useless)
        assert not all(useless)

    def test_every_other_large_instance_has_a_margin_near_zero(self):
        """Its floors cannot be raised by more than 4 % all together; those of the others by 10 % at least."""
        for one in first("large", 10):
            floors, room = one.instance.revenue_floors, 1.04 if one.number % 2 else 1.1
            raised = type(one.instance)(one.instance.mean_rewards, room * floors, one.instance.context_probabilities)
            feasible = plan(raised, on_infeasible="least_shortfall").status.name == "OPTIMAL"
            assert feasible == (one.number % 2 == 0)


class TestDrawing:
    def test_an_instance_depends_on_its_four_arguments_alone(self):
        """Not on what was drawn before it."""
        later = drawn("small", "scored", 7)
        for number in range(3):
            drawn("small", "scored", number)
        assert contents(drawn("small", "scored", 7)) == contents(later)

    @pytest.mark.parametrize("family", RANDOM)
    def test_halves_numbers_and_seeds_all_differ(self, family):
        """No instance of the tuning half is one of the scored half, nor of another seed."""
        found = [contents(one) for seed in (0, 2**62) for one in first(family, 1 if family == "many" else 3, seed)]
        assert len(set(found)) == len(found)

    def test_the_paper_s_instances_are_the_same_but_not_what_is_played_on_them(self):
        tuning, scored, other = (
            drawn("paper", half, 0, seed) for half, seed in (("tuning", 0), ("scored", 0), ("scored", 1))
        )
        for one in (scored, other):
            assert np.array_equal(one.instance.mean_rewards, tuning.instance.mean_rewards)
        assert len({tuning.seed, scored.seed, other.seed}) == 3

    @pytest.mark.parametrize(
        ("arguments", "kind", "words"),
        [
            (("smal", "tuning", 0), UnknownNameError, "did you mean 'small'"),
            (("small", "test", 0), InvalidInputError, "half must be 'tuning' or 'scored', got 'test'"),
            (("small", "tuning", -1), InvalidInputError, "number must be a whole number from 0"),
            (("paper", "tuning", 5), InvalidInputError, "number must be a whole number from 0 to 4, got 5"),
            (("small", "tuning", 0, -1), InvalidInputError, "seed must be a whole number"),
        ],
    )
    def test_bad_arguments_are_named(self, arguments, kind, words):
        with pytest.raises(kind, match=words):
            drawn(*arguments)
