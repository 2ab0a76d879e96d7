"""The arithmetic of an exploration budget: which pairs are known, what is left to them, and the shares put together."""

import numpy as np
import pytest

from arcbandit.compilation.compile import entry_kernel
from arcbandit.kernels.budget import Limit, exceeds_budget, find_known, make_budget, write_within_budget
from arcbandit.kernels.confidence import ByPair, make_statistics
from arcbandit.kernels.planner import make_planner

MIX = np.array([0.4, 0.3, 0.2, 0.1])
# Context 0 has two known arms, 1 one known and one away, 2 none; 3 was dropped.
PULLS = np.array([[5.0, 9.0, 4.0, 5.0], [5.0, 4.9, 0.0, 0.0], [4.0, 7.0, 1.0, 0.0]])
AVAILABLE = np.array([[True, True, True, True], [True, True, True, True], [True, False, True, True]])


@entry_kernel
def known_pairs(statistics, available, forgets, budget):
    return find_known(statistics, available, forgets, budget)


@entry_kernel
def is_beyond(probabilities, available, allocation, budget):
    return exceeds_budget(probabilities, available, allocation, budget)


@entry_kernel
def put_together(available, budget, allocation):
    write_within_budget(available, budget, allocation)


def statistics_of(pulls):
    statistics = make_statistics(*pulls.shape)
    statistics.by_pair[ByPair.PULLS] = pulls
    statistics.dropped[3] = True
    return statistics


def budget_of(share):
    return make_budget(share, 5, make_planner(3, 4, 3, 1), (), 3, np.zeros(6, dtype=np.int64))


def test_known_pairs_are_playable_and_all_where_nothing_is_known():
    budget = budget_of(0.1)
    assert known_pairs(statistics_of(PULLS), AVAILABLE, False, budget)
    assert budget.playable.tolist() == [
        [True, True, True, True],
        [True, False, True, True],
        [False, False, True, True],
    ]
    assert budget.limits[Limit.ALL_KNOWN] == 0.0


@pytest.mark.parametrize("forgets", [False, True])
def test_once_all_are_known_it_is_noted_unless_they_are_forgotten(forgets):
    budget = budget_of(0.1)
    assert not known_pairs(statistics_of(PULLS + 5.0), AVAILABLE, forgets, budget)
    assert budget.limits[Limit.ALL_KNOWN] == (0.0 if forgets else 1.0)


def test_where_nothing_is_known_nothing_is_parted():
    budget = budget_of(0.1)
    assert not known_pairs(statistics_of(np.minimum(PULLS, 4.0)), AVAILABLE, False, budget)
    assert budget.limits[Limit.ALL_KNOWN] == 0.0
    assert (budget.playable == AVAILABLE).all()


SHARES = np.array([[0.5, 0.2, 0.0, 0.0], [0.4, 0.8, 0.5, 1.0], [0.1, 0.0, 0.5, 0.0]])


@pytest.mark.parametrize(("share", "beyond", "left"), [(0.2, True, [0.9, 0.8]), (0.8, False, [0.9, 0.2])])
def test_what_is_left_of_each_context(share, beyond, left):
    budget = budget_of(share)
    known_pairs(statistics_of(PULLS), AVAILABLE, False, budget)
    assert is_beyond(MIX, AVAILABLE, SHARES, budget) == beyond
    np.testing.assert_allclose(budget.left, MIX * [*left, 1.0, 1.0], rtol=1e-15)


def test_shares_are_put_together_from_both_plans():
    budget = budget_of(0.2)
    known_pairs(statistics_of(PULLS), AVAILABLE, False, budget)
    budget.allocation[:] = [[0.25, 1.0, 0.0, 1.0], [0.75, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]
    shares = SHARES.copy()
    put_together(AVAILABLE, budget, shares)
    wanted = [[0.225, 0.8, 0.0, 1.0], [0.675, 0.2, 0.0, 0.0], [0.1, 0.0, 1.0, 0.0]]
    np.testing.assert_allclose(shares, wanted, rtol=1e-15)
