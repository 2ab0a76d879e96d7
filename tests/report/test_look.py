"""What tells lines apart."""

import itertools

import pytest

from arcbandit.policies.registry import POLICIES
from arcbandit.report.look import COLOURS, look_at, looks_of


def looks(*labels):
    return dict(zip(labels, looks_of(labels, [None] * len(labels)), strict=True))


def test_a_policy_looks_the_same_under_both_its_names_and_beside_any_others():
    by_class = {POLICIES[name].__name__: name for name in POLICIES}
    for label, name in by_class.items():
        assert looks(label)[label] == looks(name)[name]
    few, more = looks("olp", "oplp"), looks("blp", "mine", "oplp", "olp")
    assert (few["olp"], few["oplp"]) == (more["olp"], more["oplp"])


def test_no_two_policies_share_a_colour():
    """So that each has the same one in every figure, whatever is beside it."""
    names = [name for name in POLICIES if name != "linear-program"]
    alone = {name: looks(name)[name] for name in names}
    assert looks(*names) == alone
    assert len({look["color"] for look in alone.values()}) == len(names)


def test_as_many_lines_as_there_are_colours_differ_in_colour():
    """Whichever policies they are, known or not."""
    names = [*POLICIES, "mine", "yours"]
    for chosen in itertools.combinations(names, 3):
        assert len({look["color"] for look in looks(*chosen).values()}) == 3
    assert len({look["color"] for look in looks(*names[-len(COLOURS) :]).values()}) == len(COLOURS)


@pytest.mark.parametrize("count", [13, 40])
def test_many_lines_differ_in_colour_style_or_marker(count):
    names = [*POLICIES, *(f"policy {number}" for number in range(count))]
    found = [tuple(look.values()) for look in looks(*names).values()]
    assert len(set(found)) == len(names)


def test_a_variant_has_the_colour_of_what_it_is_a_variant_of():
    found = looks("OLP", "OPLP", "OLP, p estimated", "OPLP, p estimated")
    for policy in ("OLP", "OPLP"):
        variant = found[f"{policy}, p estimated"]
        assert variant == found[policy] | {"linestyle": ":"}
        assert variant != found[policy]


def test_a_dial_is_no_variant():
    found = looks("linear-program:caution=0,optimism=1", "linear-program:caution=1,optimism=1")
    assert len({look["color"] for look in found.values()}) == 2


def test_a_place_that_is_chosen_is_taken():
    first, second = looks_of(["measured", "OLP"], [0, None])
    assert first == look_at(0)
    assert second["color"] != first["color"]


def test_no_other_line_looks_like_a_policy_that_is_elsewhere():
    """Beside policies, a label that is none has a look of its own."""
    own = {tuple(look.values()) for look in (looks(name)[name] for name in POLICIES if name != "linear-program")}
    found = looks("OLP", "mine", "yours")
    assert tuple(found["mine"].values()) not in own
    assert tuple(found["yours"].values()) not in own
