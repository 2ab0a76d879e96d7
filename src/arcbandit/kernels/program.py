"""The planning problem, a basis of it, and the room to work in, as tuples of arrays.

    maximise    sum_kc  a_kc w_kc
    subject to  sum_kc  sign_mk b_kc w_kc  >=  r_m      for each coupling row m (a floor of an arm or of a group)
                sum_k   w_kc               =   1        for each context c
                w_kc >= 0, and w_kc = 0 where the pair is not available

with a_kc = p_c (objective_kc + x root_kc) and b_kc = p_c (revenue_kc + y root_kc). A plain problem has x = y = 0. For a
rule that plans with confidence bounds, objective and revenue are the mean rewards, root is n^(-1/2), and x and y are
how many radii the two sides lean: then nothing but x and y changes for most pairs from one round to the next, and no
coefficient is written down. Without group floors there is one row an arm, and its sign is 1.
"""

import enum
from typing import NamedTuple

import numpy as np

# A floor is met if no more than this part of it is missing, and a share is not negative if it is above minus this much
# and what it takes from each of its floors is no more than this part of the floor. Beside it, rounding is allowed for:
# a part of the terms that add up to a row's revenue.
FEASIBILITY_TOLERANCE = 1e-9
ROUNDING_TOLERANCE = 1e-14
# Shares and surpluses are free of units (a surplus is counted in units of its row's scale), so these tolerances are
# absolute for them and relative for rewards and prices.
PRICING_TOLERANCE = 1e-11
PIVOT_TOLERANCE = 1e-11
RATIO_TOLERANCE = 1e-12
SINGULARITY_TOLERANCE = 1e-14
# How far a pair's value may drift, relative to the rewards, before its bound is looked at again.
DRIFT_ALLOWED = 1e-6

SURPLUS = -1
SHORTFALL = -2

# The floor of a row that asks for nothing. It is below any revenue, so that the row's surplus is large and never leaves
# the basis; nothing else is needed for the row to be as good as none.
NO_FLOOR = -1e200

# Rows of Workspace.by_row, one number for each coupling row (or slot); ROW_SCALE has the objective's scale at its end.
ROW_SCALE, SLOT_VALUE, PRICE, DIRECTION, DUAL_ROW, RAY, NUCLEUS_SIDE = range(7)
# One more for those who ask for it: the prices of the least total shortfall. A rule has no use for them, and 32 bytes
# more for each thread made a GPU slower by a sixth.
SHORTFALL_PRICE = 7
# Rows of Workspace.by_arm.
ARM_PRICE, ARM_DUAL_ROW, ARM_PRICE_SIZE, PRICE_AT_BOUND, REVENUE_SCALE = range(5)
# Two more: p times revenue, and p times root, summed over the contexts whose key the arm is; NaN if not known.
KEY_REVENUE_SUM, KEY_ROOT_SUM = range(5, 7)
# Rows of Workspace.by_context.
KEY_SHARE, KEY_DIRECTION, VALUE_BOUND, KEY_OBJECTIVE, KEY_REVENUE, KEY_ROOT = range(6)
KEY_DUAL_ROW = KEY_DIRECTION  # a step is a primal or a dual one
# Rows of Workspace.order: how the working matrix is eliminated.
COLUMN_START, ROW_START, COLUMN_DONE, ROW_DONE, PIVOT_ROW, PIVOT_COLUMN, POSITION = range(7)
# Three that are needed one after the other, in one row.
COLUMN_COUNT = ROW_COUNT = PERMUTATION = 7
# Two more rows: whether the surplus and the shortfall of a coupling row may be positive.
SURPLUS_OPEN, SHORTFALL_OPEN = range(8, 10)
# Where an eliminated column's pivot stands among the entries, and its other entry if it has two, else -1.
PIVOT_ENTRY, OTHER_ENTRY = range(10, 12)
# Rows of Workspace.entry_index.
ENTRY_ROW, ENTRY_COLUMN = range(2)
# Places of Workspace.counts.
BY_COLUMN, BY_ROW, NUCLEUS, PIVOTS, BOUNDS_OF, KEYS_KEPT, ORDER_KEPT, ORDERS, SCALES_AGE = range(9)
# BOUNDS_OF: 0 if the bounds are void, else who may resume with them. KEYS_KEPT and ORDER_KEPT: 0 if
# what is kept of the keys, and the order of elimination, are void.
# ORDERS: how many orders of elimination were found, so that a basis is known by it. SCALES_AGE: counts plans; who plans
# round after round has all scales measured when it is 0, and counts. These scales decide pivots, so whoever stores a
# basis stores them with their age, or the plans that follow would depend on when it was stored.
SOMEBODY = 1
# Places of Workspace.scalars: the leans at which the bounds were set, the largest root, the largest |reward|, the least
# value of a basic column.
OBJECTIVE_LEAN_AT_BOUND, REVENUE_LEAN_AT_BOUND, LARGEST_ROOT, REWARD_SCALE, LEAST_SHARE = range(5)


class PlanStatus(enum.IntEnum):
    """How a run of the simplex ended."""

    OPTIMAL = 0
    INFEASIBLE = 1
    PIVOT_LIMIT = 2


class Program(NamedTuple):
    """Coefficients of one planning problem; K arms, C contexts, M coupling rows."""

    objective: np.ndarray  # shape (K, C)
    revenue: np.ndarray  # shape (K, C)
    root: np.ndarray  # shape (K, C)
    lean: np.ndarray  # x and y, shape (2,)
    weights: np.ndarray  # p, shape (C,)
    changed: np.ndarray  # bool, shape (C,): whether a pair of the context changed since its bounds were set
    available: np.ndarray  # bool, shape (K, C)
    floors: np.ndarray  # r, NO_FLOOR for a row that asks for nothing, shape (M,)
    # int64, shape (K, R): rows of an arm, m + 1 for sign 1, -(m + 1) for -1, 0 for none; R = 1 if row k is arm k's
    arm_rows: np.ndarray


class Basis(NamedTuple):
    """One basic arm for each context, its key, and M further basic columns, the slots."""

    key: np.ndarray  # arm, int32, shape (C,)
    slot_arm: np.ndarray  # arm of a basic pair, or row of a surplus or shortfall, int32, shape (M,)
    slot_context: np.ndarray  # context of a basic pair, or SURPLUS, or SHORTFALL, int32, shape (M,)


class Workspace(NamedTuple):
    """Everything the simplex writes, passed in so that it never allocates.

    Few arrays with named rows instead of many with names of their own: each array of a tuple costs compilation time
    in every kernel that it passes through.
    """

    by_row: np.ndarray  # float64, shape (7, M + 1), or (8, M + 1) with SHORTFALL_PRICE
    by_arm: np.ndarray  # float64, shape (7, K)
    by_context: np.ndarray  # float64, shape (6, C)
    face: np.ndarray  # bool, pairs that a second objective may use, shape (K, C)
    order: np.ndarray  # int32, shape (12, M + 1)
    entry_index: np.ndarray  # int32, shape (2, E), the working matrix by columns and by rows
    entry_value: np.ndarray  # float64, shape (E,), by columns
    nucleus: np.ndarray  # float64, shape (M, M), dense LU of what no singleton resolves
    counts: np.ndarray  # int64, shape (9,)
    scalars: np.ndarray  # float64, shape (5,)


def make_basis(n_contexts: int, n_rows: int) -> Basis:
    """A basis that is not one yet: the simplex starts cold from it."""
    return Basis(
        key=np.full(n_contexts, -1, dtype=np.int32),
        slot_arm=np.arange(n_rows, dtype=np.int32),
        slot_context=np.full(n_rows, SURPLUS, dtype=np.int32),
    )


def make_workspace(
    n_arms: int, n_contexts: int, n_rows: int, rows_per_arm: int = 1, *, shortfall_prices: bool = False
) -> Workspace:
    """Room for problems of this shape; `rows_per_arm` is the most rows that any arm takes part in."""
    entries = max(1, 2 * rows_per_arm * n_rows)
    counts = np.zeros(9, dtype=np.int64)
    counts[SCALES_AGE] = -1  # 0 when the first plan is counted
    by_row = np.ones((8 if shortfall_prices else 7, n_rows + 1))
    by_row[SHORTFALL_PRICE:] = 0.0
    return Workspace(
        by_row=by_row,
        by_arm=np.zeros((7, n_arms)),
        by_context=np.zeros((6, n_contexts)),
        face=np.ones((n_arms, n_contexts), dtype=np.bool_),
        order=np.zeros((12, n_rows + 1), dtype=np.int32),
        entry_index=np.zeros((2, entries), dtype=np.int32),
        entry_value=np.zeros(entries),
        nucleus=np.zeros((n_rows, n_rows)),
        counts=counts,
        scalars=np.zeros(5),
    )
