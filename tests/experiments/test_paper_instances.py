import math

import numpy as np
import pytest

from arcbandit.errors import InvalidInputError, UnknownNameError
from arcbandit.experiments.paper_instances import (
    PAPER_INSTANCES,
    figure_1,
    greedy_counterexample,
    nu,
    nu_lower_bound,
    nu_minus,
    nu_nominal,
    nu_nonsaturating,
    nu_plus,
    nu_with_margin,
    paper_instance,
)

TABLES = {
    "nu": (nu(), [[3, 1, 2], [0, 0.5, 0], [0, 0, 1]], [1, 0.25, 0.5]),
    "nu'": (nu_nonsaturating(), [[3, 1, 1], [0, 3, 1], [1, 1, 3]], [1, 1, 1]),
    "nu0": (nu_nominal(), [[3, 1, 1], [0, 0.5, 0], [0, 0, 2]], [1, 0.25, 1]),
    "nu+": (nu_plus(0.2), [[3, 1, 1], [0, 0.6, 0], [0, 0, 2]], [1, 0.25, 1]),
    "nu-": (nu_minus(0.2), [[3, 1, 1], [0, 0.4, 0], [0, 0, 2]], [1, 0.25, 1]),
    "nu'(eps')": (nu_lower_bound(0.2), [[3, 1, 2.2], [0, 0.5, 0], [0, 0, 2]], [1, 0.25, 1]),
    "greedy": (greedy_counterexample(), [[1, 2], [2, 1]], [0.1, 0.1]),
}


@pytest.mark.parametrize("case", TABLES.values(), ids=TABLES.keys())
def test_tables_stand_as_printed(case):
    """The printed cells are p * mu; contexts are uniform and the noise is N(0, 1)."""
    instance, cells, floors = case
    n_contexts = len(cells[0])
    np.testing.assert_allclose(instance.weighted_means, cells, rtol=1e-15)
    np.testing.assert_array_equal(instance.revenue_floors, floors)
    np.testing.assert_array_equal(instance.context_probabilities, [1 / n_contexts] * n_contexts)
    assert instance.noise_scale == 1
    assert instance.arms == tuple("123"[: len(cells)])
    assert instance.contexts == tuple("123"[:n_contexts])


def test_means_are_the_printed_cells_divided_by_the_context_probability():
    """Instance nu has mu_{1,1} = 9, not 3."""
    assert nu().mean_rewards[0, 0] == 9


def test_figure_1_draws_the_means_themselves():
    """Arm 1 starts from 0.3 up to context 4 and from 0.25 after it; arm 2 from 0.2."""
    instance = figure_1()
    assert (instance.n_arms, instance.n_contexts) == (2, 10)
    for c in range(1, 11):
        rise = 1 / (1 + math.exp(-1.2 * (c - 5)))
        offset = 0.3 if c <= 4 else 0.25
        assert instance.mean_rewards[0, c - 1] == pytest.approx(offset + 0.8 * rise, rel=1e-14)
        assert instance.mean_rewards[1, c - 1] == pytest.approx(0.2 + 0.4 * rise, rel=1e-14)
    np.testing.assert_array_equal(instance.revenue_floors, [0.25, 0.1])
    np.testing.assert_array_equal(figure_1(0.49).revenue_floors, [0.25, 0.49])
    np.testing.assert_array_equal(instance.context_probabilities, [0.1] * 10)


def test_the_first_arm_of_figure_1_is_best_in_every_context():
    """As the caption says."""
    first, second = figure_1().mean_rewards
    assert (first > second).all()


@pytest.mark.parametrize("margin", [0.001, 0.01, 0.1, 1])
def test_the_margin_family_scales_all_means_and_keeps_the_floors(margin):
    """The scale is (margin + 1/4) / (1/2)."""
    instance = nu_with_margin(margin)
    np.testing.assert_allclose(instance.mean_rewards, (margin + 0.25) / 0.5 * nu().mean_rewards, rtol=1e-15)
    np.testing.assert_array_equal(instance.revenue_floors, nu().revenue_floors)


def test_the_margin_of_nu_itself_is_a_quarter():
    """The family passes through nu."""
    assert nu_with_margin(1 / 4) == nu()


@pytest.mark.parametrize("build", [nu_plus, nu_minus])
@pytest.mark.parametrize("epsilon", [0, 0.25, -0.1, math.nan, "0.1", None, 1j])
def test_the_first_perturbation_must_be_below_a_quarter(build, epsilon):
    """Both ends of (0, 1/4) are outside."""
    with pytest.raises(InvalidInputError, match=r"^epsilon must be in \(0, 1/4\), got "):
        build(epsilon)


@pytest.mark.parametrize("epsilon", [0, 1.01, math.nan])
def test_the_second_perturbation_must_be_at_most_one(epsilon):
    """0 is outside of (0, 1], 1 is inside."""
    assert nu_lower_bound(1).weighted_means[0, 2] == pytest.approx(3)
    with pytest.raises(InvalidInputError, match=r"^epsilon must be in \(0, 1\], got "):
        nu_lower_bound(epsilon)


@pytest.mark.parametrize("margin", [-0.001, math.inf, math.nan, 10**400, "1", None, True])
def test_a_margin_must_be_non_negative_and_finite(margin):
    """Below 0 the scaled family would not have the margin asked for."""
    with pytest.raises(InvalidInputError, match=r"^margin must be finite and non-negative, got "):
        nu_with_margin(margin)


@pytest.mark.parametrize("floor", [-0.1, math.inf, math.nan, 10**400, "1", None, True])
def test_the_second_floor_of_figure_1_must_be_non_negative_and_finite(floor):
    """The message names the parameter, not the array it goes into."""
    with pytest.raises(InvalidInputError, match=r"^second_floor must be finite and non-negative, got "):
        figure_1(floor)


@pytest.mark.parametrize("name", PAPER_INSTANCES)
def test_every_named_instance_is_built_without_a_parameter(name):
    """Parametrised instances have a default, and every entry says what it is and where it stands."""
    entry = PAPER_INSTANCES[name]
    assert entry.name == name
    assert entry.summary
    assert entry.where
    assert paper_instance(name) == entry.build()


@pytest.mark.parametrize(
    ("text", "instance"),
    [
        ("nu", nu()),
        ("nu-nonsaturating", nu_nonsaturating()),
        ("nu-nominal", nu_nominal()),
        ("nu-plus:0.2", nu_plus(0.2)),
        ("nu-minus:0.2", nu_minus(0.2)),
        ("nu-lower-bound:1", nu_lower_bound(1)),
        ("greedy-counterexample:0.5", greedy_counterexample(0.5)),
        ("figure-1:0.3", figure_1(0.3)),
        ("nu-margin:0.01", nu_with_margin(0.01)),
    ],
)
def test_a_parameter_follows_the_name_after_a_colon(text, instance):
    """The whole name fits one word of a command line."""
    assert paper_instance(text) == instance


def test_an_unknown_name_lists_the_known_ones():
    """The message is enough to correct the typo."""
    with pytest.raises(UnknownNameError, match=r"must be one of nu, nu-nonsaturating, .*, got 'mu'"):
        paper_instance("mu")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nu:0.1", "Paper instance nu must be given without a parameter, got 'nu:0.1'."),
        ("nu-plus:", "epsilon of nu-plus must be a number, got ''."),
        ("nu-plus:small", "epsilon of nu-plus must be a number, got 'small'."),
        ("nu-plus:0.5", "epsilon must be in (0, 1/4), got 0.5."),
        ("greedy-counterexample:0", "noise_scale must be positive, got 0.0."),
    ],
)
def test_a_wrong_parameter_is_named(text, message):
    """The message says which parameter, what it must be and what was given."""
    with pytest.raises(InvalidInputError) as caught:
        paper_instance(text)
    assert str(caught.value) == message
