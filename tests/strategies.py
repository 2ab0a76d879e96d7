"""Planning problems of every kind that has broken a simplex: drawn by Hypothesis, or seeded in bulk.

A seeded problem says whether it is feasible, because it is built around an allocation that meets its floors exactly
or around prices that prove that none does by a clear margin; nothing is left to the tolerances of two solvers.
"""

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from arcbandit.instance import GroupFloor
from tests.certificates import Problem

RARE = 1e-12  # the probability of a context that hardly ever occurs
CLEAR_MARGIN = 1e-5  # of a row's scale: far beyond the tolerances of any solver

KINDS = (
    "plain",
    "negative",
    "wide",
    "tiny",
    "huge",
    "rare",
    "sparse",
    "integer",
    "equal",
    "zero",
    "boundary",
    "infeasible",
    "infeasible-integer",
    "infeasible-groups",
    "groups",
    "masked",
)
# Kinds with more than one optimal basis, or none.
HARD_KINDS = frozenset(
    {"integer", "equal", "zero", "boundary", "infeasible", "infeasible-integer", "infeasible-groups"}
)


class Case(NamedTuple):
    """A problem and whether some allocation meets its floors."""

    problem: Problem
    feasible: bool


def dyadic_probabilities(rng, n_contexts):
    """Positive multiples of a power of 1/2 that sum to 1: with small integers, all sums of products are exact."""
    parts = 1 << max(3, int(n_contexts - 1).bit_length())
    counts = 1 + rng.multinomial(parts - n_contexts, np.full(n_contexts, 1 / n_contexts))
    return counts / parts


def vertex(rng, available):
    """One available arm for each context, shape (K, C)."""
    n_arms, n_contexts = available.shape
    ranks = np.where(available, rng.random((n_arms, n_contexts)), -1.0)
    return np.eye(n_arms)[ranks.argmax(axis=0)].T


def random_groups(rng, n_arms):
    """Up to three groups that may overlap, their floors still open (0)."""
    groups = []
    for number in range(int(rng.integers(1, 4))):
        size = int(rng.integers(1, n_arms + 1))
        arms = tuple(int(arm) for arm in np.sort(rng.choice(n_arms, size, replace=False)))
        groups.append(GroupFloor(f"group {number}", arms, 0.0))
    return tuple(groups)


def random_means(rng, kind, shape):
    """Means of one kind and the probabilities that go with them."""
    n_contexts = shape[1]
    probabilities = rng.dirichlet(np.ones(n_contexts))
    if kind in ("integer", "boundary", "infeasible-integer"):
        return rng.integers(-1, 4, shape).astype(float), dyadic_probabilities(rng, n_contexts)
    if kind == "equal":
        row = rng.integers(0, 3, n_contexts).astype(float)
        return np.tile(row, (shape[0], 1)), dyadic_probabilities(rng, n_contexts)
    if kind == "zero":
        means = rng.integers(0, 3, shape) * (rng.random((shape[0], 1)) < 0.5)
        return means * (rng.random() < 0.7) * 1.0, dyadic_probabilities(rng, n_contexts)
    if kind == "negative":
        return rng.normal(size=shape), probabilities
    if kind == "wide":
        return rng.random(shape) * 10.0 ** rng.integers(-9, 10, (shape[0], 1)), probabilities
    if kind in ("tiny", "huge"):
        return rng.random(shape) * (1e-12 if kind == "tiny" else 1e12), probabilities
    if kind == "rare":
        probabilities = np.where(rng.random(n_contexts) < 0.3, RARE, probabilities)
        return rng.random(shape), probabilities
    if kind == "sparse":
        return rng.random(shape) * (rng.random(shape) < 0.4), probabilities
    return rng.random(shape), probabilities


def random_case(rng, kind, n_arms, n_contexts):
    """A problem of the kind, K x C, that is known to be feasible or not."""
    shape = (n_arms, n_contexts)
    means, probabilities = random_means(rng, kind, shape)
    integer = kind in ("integer", "equal", "zero", "boundary", "infeasible-integer")
    constraint = means
    if rng.random() < 0.5 and kind not in ("equal", "zero"):
        noise = rng.integers(-1, 2, shape) if integer else 0.2 * np.abs(means) * rng.normal(size=shape)
        constraint = means + noise
    available = None
    if kind == "masked" or (kind == "infeasible" and rng.random() < 0.3):
        available = (rng.random(shape) < 0.5) | (vertex(rng, np.ones(shape, dtype=bool)) > 0)
    groups = random_groups(rng, n_arms) if kind in ("groups", "infeasible-groups") else ()
    blank = Problem(means, constraint, np.zeros(n_arms), probabilities, groups, available)
    if kind.startswith("infeasible"):
        floors = unreachable_floors(rng, blank)
    elif kind == "boundary":
        # The floors ask for all that one set of prices can reach: the feasible set is a face, often a point.
        prices = np.concatenate([rng.integers(0, 3, n_arms), np.zeros(len(groups))]).astype(float)
        floors = best_reached(blank, prices)
    elif integer:
        floors = blank.earned(vertex(rng, blank.open))
        if kind == "equal" or rng.random() < 0.3:
            floors = np.minimum(floors, floors.min())
    else:
        mixed = 0.5 * vertex(rng, blank.open) + 0.5 * vertex(rng, blank.open)
        floors = blank.earned(mixed) - rng.choice([0.02, 0.2]) * rng.random(blank.floors.size) * blank.row_scale
        if rng.random() < 0.5:
            floors = np.where(rng.random(floors.size) < 0.3, floors - 2 * blank.row_scale, floors)
    return Case(with_floors(blank, floors), not kind.startswith("infeasible"))


def best_reached(problem, prices):
    """What each row earns under the allocation of most revenue at the prices."""
    worth = np.where(problem.open, problem.arm_prices(prices)[:, None] * problem.revenue, -np.inf)
    return problem.earned(np.eye(worth.shape[0])[worth.argmax(axis=0)].T)


def unreachable_floors(rng, problem):
    """Floors that some random prices show to be out of reach by a clear margin of every priced row's scale."""
    n_rows = problem.floors.size
    prices = np.where(rng.random(n_rows) < 0.6, rng.random(n_rows), 0.0) / problem.row_scale
    prices[int(rng.integers(n_rows))] = 1.0 / problem.row_scale.max()
    reached = best_reached(problem, prices)
    margin = 10.0 ** rng.uniform(np.log10(CLEAR_MARGIN), 0, n_rows)
    # A row without a price adds nothing to the proof; leave it easy or hard.
    return np.where(prices > 0, reached + margin * problem.row_scale, reached - rng.random(n_rows) * problem.row_scale)


def with_floors(problem, floors):
    """The same problem with other floors, arms first, then groups (whose floors are never negative)."""
    n_arms = len(problem.revenue_floors)
    groups = tuple(
        GroupFloor(group.name, group.arms, max(float(floor), 0.0))
        for group, floor in zip(problem.groups, floors[n_arms:], strict=True)
    )
    return problem._replace(revenue_floors=np.array(floors[:n_arms], dtype=float), groups=groups)


def moved(rng, problem, step):
    """All coefficients moved a little, each by a part of its row's scale; zeros become non-zero."""
    objective_scale = np.abs(problem.objective_means).max() or 1.0
    constraint_scale = np.abs(problem.constraint_means).max(axis=1, keepdims=True)
    shape = problem.objective_means.shape
    return problem._replace(
        objective_means=problem.objective_means + step * objective_scale * rng.normal(size=shape),
        constraint_means=problem.constraint_means + step * constraint_scale * rng.normal(size=shape),
    )


@st.composite
def planning_problems(draw, max_arms=5, max_contexts=5):
    """Small problems that shrink: integers, signs, zeros, scales, rare contexts, groups and masks."""
    n_arms, n_contexts = draw(st.integers(1, max_arms)), draw(st.integers(1, max_contexts))
    shape = (n_arms, n_contexts)
    size = n_arms * n_contexts

    def matrix(element):
        return np.array(draw(st.lists(element, min_size=size, max_size=size)), dtype=float).reshape(shape)

    element = draw(
        st.sampled_from([st.integers(-2, 3), st.integers(0, 1), st.floats(-1, 1, width=32), st.floats(0, 10, width=16)])
    )
    objective = matrix(element)
    constraint = objective if draw(st.booleans()) else matrix(element)
    exponents = draw(st.sampled_from([st.just(0), st.integers(-9, 9)]))
    scales = 10.0 ** np.array(draw(st.lists(exponents, min_size=n_arms, max_size=n_arms)), dtype=float)
    weights = draw(st.lists(st.sampled_from([1.0, 0.5, 0.25, RARE]), min_size=n_contexts, max_size=n_contexts))
    available = None
    if draw(st.booleans()):
        available = matrix(st.booleans()) > 0
        available[draw(st.integers(0, n_arms - 1))] = True
    groups = ()
    if draw(st.booleans()):
        members = st.lists(st.integers(0, n_arms - 1), min_size=1, unique=True)
        groups = tuple(
            GroupFloor(f"group {number}", tuple(arms), 0.0)
            for number, arms in enumerate(draw(st.lists(members, min_size=1, max_size=3)))
        )
    blank = Problem(
        objective * scales[:, None],
        constraint * scales[:, None],
        np.zeros(n_arms),
        np.array(weights),
        groups,
        available,
    )
    chosen = np.array([draw(st.sampled_from(np.flatnonzero(column).tolist())) for column in blank.open.T])
    reached = blank.earned(np.eye(n_arms)[chosen].T)
    if draw(st.booleans()):
        floors = np.full(reached.size, draw(st.sampled_from([0.0, 0.25, 1.0]))) * blank.row_scale
    else:
        factors = st.sampled_from([0.0, 0.5, 1.0, 1.0, 1.5])
        floors = reached * np.array(draw(st.lists(factors, min_size=reached.size, max_size=reached.size)))
    return with_floors(blank, floors)
