"""Numbers at the edge of what is allowed: results stay finite, and one step beyond is refused everywhere."""

import itertools
import json
import math
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from arcbandit import OLP, GroupFloor, Instance, ObservedRewards, plan, policy, restore, simulate, solve_lp
from arcbandit.errors import InvalidInputError, PlanningError
from arcbandit.inputs.values import LARGEST_NUMBER
from arcbandit.policies.dials import LARGEST_DIAL
from arcbandit.policies.registry import POLICIES
from tests.long import examples

# Floors out of reach are among the cases.
pytestmark = pytest.mark.filterwarnings("ignore::arcbandit.errors.FloorsOutOfReachWarning")

BEYOND = math.nextafter(LARGEST_NUMBER, math.inf)
EDGES = [0.0, 1.0, -1.0, LARGEST_NUMBER, -LARGEST_NUMBER]
AMOUNTS = [0.0, 1.0, LARGEST_NUMBER]


def edge_matrix(shape, choices=EDGES):
    n_arms, n_contexts = shape
    row = st.lists(st.sampled_from(choices), min_size=n_contexts, max_size=n_contexts)
    return st.lists(row, min_size=n_arms, max_size=n_arms)


@st.composite
def edge_instances(draw):
    shape = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    probabilities = np.full(shape[1], 1 / shape[1]) if draw(st.booleans()) else np.eye(shape[1])[0]
    return Instance(
        draw(edge_matrix(shape)),
        draw(st.lists(st.sampled_from(AMOUNTS), min_size=shape[0], max_size=shape[0])),
        probabilities,
        noise_scale=draw(st.sampled_from([1e-150, 1.0, LARGEST_NUMBER])),
        group_floors=[GroupFloor("g", (0,), draw(st.sampled_from(AMOUNTS)))] if draw(st.booleans()) else (),
    )


@contextmanager
def refused_if_wide(instance):
    """Take another example where a plan cannot be proven, which only numbers over more than nine decades excuse."""
    try:
        yield
    except PlanningError:
        floors = [*instance.revenue_floors, *(group.floor for group in instance.group_floors)]
        sizes = np.abs(np.concatenate([instance.weighted_means.ravel(), floors]))
        assert sizes.max() > 1e9 * sizes[sizes > 0].min()
        reject()


@examples(40, 100)
@given(instance=edge_instances())
def test_plans_are_finite(instance):
    """p mu and all sums of it, whatever the means and floors."""
    with refused_if_wide(instance):
        found = plan(instance, on_infeasible="least_shortfall")
    for part in (found.value, found.arm_revenue, found.allocation, found.shortfall, found.context_values):
        assert np.isfinite(part).all()
    assert found.allocation.sum(axis=0) == pytest.approx(np.ones(instance.n_contexts), abs=1e-9)


@pytest.mark.parametrize("name", ["blp", "olp", "oplp", "greedy"])
@examples(15, 30)
@given(instance=edge_instances())
def test_simulations_are_finite(name, instance):
    """Noise as large as the means included."""
    with refused_if_wide(instance):
        trace = simulate(instance, [name], 10, epochs=1, jobs=1)
    assert np.isfinite(trace.records[name]).all()


@st.composite
def edge_settings(draw, name):
    """Dials, bounds and a horizon at the ends of what they may be."""
    chosen = {
        "horizon": draw(st.sampled_from([1, 100, 2**62])),
        "mean_bound": draw(st.sampled_from([5e-324, 1.0, LARGEST_NUMBER])),
        "noise_scale": draw(st.sampled_from([5e-324, 1.0, LARGEST_NUMBER])),
    }
    if draw(st.booleans()):
        chosen["reward_bounds"] = (-LARGEST_NUMBER, LARGEST_NUMBER)
    for dial in POLICIES[name].dials:
        if dial.choices:
            chosen[dial.name] = draw(st.sampled_from(dial.choices))
            continue
        low, high = max(dial.low, -LARGEST_DIAL), min(dial.high, LARGEST_DIAL)
        inside = [value for value in (low, 5e-324, 1.0, high) if low <= value <= high]
        value = draw(st.sampled_from([value for value in inside if not (dial.exclusive and value == dial.low)]))
        chosen[dial.name] = math.ceil(value) if dial.whole else value
    return chosen


@pytest.mark.parametrize("name", sorted(POLICIES))
@examples(12, 40)
@given(data=st.data())
def test_policies_stay_sound(name, data):
    """Their shares are shares and their snapshots snapshots, whatever rewards they are told."""
    floors = data.draw(st.lists(st.sampled_from([0.0, 5e-324, 0.1, LARGEST_NUMBER]), min_size=1, max_size=3))
    decider = policy(name, floors, [0.5, 0.5], **data.draw(edge_settings(name)))
    scale = data.draw(st.sampled_from([5e-324, 1.0, LARGEST_NUMBER]))
    for reward, context in itertools.product([1.0, 0.0, -1.0, 1.0], [0, 1, 1]):
        decision = decider.decide(context)
        shares = decider.allocation()
        assert (shares >= 0).all()
        assert shares.sum(axis=0) == pytest.approx([1, 1], abs=1e-9)
        decider.update(context, decision.arm, scale * reward)
    snapshot = json.loads(json.dumps(decider.snapshot()))
    assert restore(snapshot).snapshot() == snapshot


@pytest.mark.filterwarnings("ignore::arcbandit.errors.FloorsOutOfReachWarning")
@pytest.mark.parametrize("floors", [(0.0, 0.1, 0.1), (0.0, 0.1, LARGEST_NUMBER)], ids=str)
def test_what_next_to_nothing_loses_does_not_overflow(floors):
    """The proof that floors are out of reach divides by what a pair loses, which was the smallest number there is."""
    decider = OLP(floors, [0.5, 0.5], noise_scale=5e-324, horizon=100)
    for reward, context in itertools.product([1.0, 0.0, -1.0, 1.0], [0, 1, 1]):
        decider.update(context, decider.decide(context).arm, reward)
    assert decider.allocation().sum(axis=0) == pytest.approx([1, 1], abs=1e-9)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: Instance([[x]], [0], [1]),
        lambda x: Instance.from_weighted_means([[-x]], [0], [1]),
        lambda x: Instance([[1]], [x], [1]),
        lambda x: Instance([[1]], [0], [1], noise_scale=x),
        lambda x: GroupFloor("g", (0,), x),
        lambda x: solve_lp([[x]], [[1]], [0], [1]),
        lambda x: solve_lp([[1]], [[x]], [0], [1]),
        lambda x: solve_lp([[1]], [[1]], [-x], [1]),
        lambda x: solve_lp([[1]], [[1]], [0], [x]),
        lambda x: solve_lp([[x / 2]], [[1]], [0], [2]),
        lambda x: OLP([x], [1.0]),
        lambda x: OLP([0.1], [1.0], noise_scale=x),
        lambda x: OLP([0.1], [1.0], reward_bounds=(-x, 0)),
        lambda x: OLP([0.1], [1.0], mean_bound=x),
        lambda x: OLP([0.1], [1.0]).update(0, 0, -x),
        lambda x: OLP([0.1], [1.0]).update_many([0], [0], [x]),
        lambda x: OLP([0.1], [1.0]).set_floor(0, x),
        lambda x: OLP([0.1], [1.0]).add_arm(floor=x),
        lambda x: ObservedRewards([[[x]]]),
    ],
)
def test_one_limit_holds_everywhere(call):
    """At it all is well; the next float is refused."""
    call(LARGEST_NUMBER)
    with pytest.raises(InvalidInputError, match=r"must be within 1e\+150 of zero"):
        call(BEYOND)
