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

# The floor of a row that asks for nothing. It is below any revenue, so that the row's surplus is large and never leaves
# the basis; nothing else is needed for the row to be as good as none.
NO_FLOOR = -1e200

# An owner of bounds that nobody may resume with; those who plan round after round have numbers above it.
SOMEBODY = 1


class Column(enum.IntEnum):
    """Kinds of basic columns that are no pair: what stands in Basis.slot_context in place of a context."""

    SURPLUS = -1
    SHORTFALL = -2


class ByRow(enum.IntEnum):
    """Rows of Workspace.by_row, one number per coupling row (or slot)."""

    SCALE = 0  # of the row's coefficients; the objective's stands at the end
    SLOT_VALUE = 1
    PRICE = 2
    DIRECTION = 3  # how the slots fall as a column enters
    DUAL_ROW = 4  # multipliers of a dual step; scratch otherwise
    RAY = 5  # prices that prove infeasibility
    SCRATCH = 6
    # The prices of the least total shortfall, for those who ask for them. A rule has no use for them, and 32 bytes more
    # per thread made a GPU slower by a sixth.
    SHORTFALL_PRICE = 7


class ByArm(enum.IntEnum):
    """Rows of Workspace.by_arm."""

    PRICE = 0  # sum over the arm's rows, with their signs
    DUAL_ROW = 1  # likewise
    PRICE_SIZE = 2  # sum of the absolute prices of its rows
    PRICE_AT_BOUND = 3  # the price at which the arm's values entered the bounds
    REVENUE_SCALE = 4  # its largest |revenue|
    KEY_REVENUE_SUM = 5  # p times revenue, summed over the contexts whose key the arm is; NaN if not known
    KEY_ROOT_SUM = 6  # p times root, likewise; not known if KEY_REVENUE_SUM is not


class ByContext(enum.IntEnum):
    """Rows of Workspace.by_context."""

    KEY_SHARE = 0
    # How the key's share falls as a column enters or, as a step is a primal or a dual one, its entry in the dual row.
    KEY_DIRECTION = 1
    VALUE_BOUND = 2  # no nonbasic pair of the context is worth more, but for drift
    KEY_OBJECTIVE = 3
    KEY_REVENUE = 4
    KEY_ROOT = 5


class Order(enum.IntEnum):
    """Rows of Workspace.order: how the working matrix is eliminated, and which columns of rows may be positive."""

    COLUMN_START = 0
    ROW_START = 1
    COLUMN_DONE = 2
    ROW_DONE = 3
    PIVOT_ROW = 4
    PIVOT_COLUMN = 5
    POSITION = 6
    SCRATCH = 7  # entries per open column, then per open row, then the permutation of the nucleus' rows
    SURPLUS_OPEN = 8  # whether the surplus of a coupling row may be positive
    SHORTFALL_OPEN = 9  # whether its shortfall may
    PIVOT_ENTRY = 10  # where an eliminated column's pivot stands among the entries
    OTHER_ENTRY = 11  # its other entry if it has two, otherwise -1


class Entry(enum.IntEnum):
    """Rows of Workspace.entry_index."""

    ROW = 0
    COLUMN = 1


class Count(enum.IntEnum):
    """Places of Workspace.counts."""

    BY_COLUMN = 0  # columns eliminated by themselves
    BY_ROW = 1  # rows eliminated by themselves, after these
    NUCLEUS = 2  # rows of what remains
    PIVOTS = 3
    BOUNDS_OF = 4  # 0 if the bounds are void, otherwise who may resume with them
    KEYS_KEPT = 5  # 0 if what is kept of the keys is void
    ORDER_KEPT = 6  # 0 if the order of elimination is void
    ORDERS = 7  # how many orders of elimination were found, so that a basis is known by it
    # Counts plans; who plans round after round has all scales measured when it is 0, and counts. These scales decide
    # pivots, so whoever stores a basis stores them with their age, or the plans that follow would depend on when it was
    # stored.
    SCALES_AGE = 8


class Scalar(enum.IntEnum):
    """Places of Workspace.scalars."""

    OBJECTIVE_LEAN_AT_BOUND = 0  # the leans at which the bounds were set
    REVENUE_LEAN_AT_BOUND = 1
    LARGEST_ROOT = 2
    REWARD_SCALE = 3  # the largest |reward|
    LEAST_SHARE = 4  # the least value of a basic column


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
    slot_context: np.ndarray  # context of a basic pair, or a Column, int32, shape (M,)


class Workspace(NamedTuple):
    """Everything the simplex writes, passed in so that it never allocates.

    Few arrays with named rows instead of many with names of their own: each array of a tuple costs compilation time
    in every kernel that it passes through.
    """

    by_row: np.ndarray  # float64, shape (8, M + 1), or (7, M + 1) without ByRow.SHORTFALL_PRICE
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
        slot_context=np.full(n_rows, Column.SURPLUS, dtype=np.int32),
    )


def make_workspace(
    n_arms: int, n_contexts: int, n_rows: int, rows_per_arm: int = 1, *, shortfall_prices: bool = False
) -> Workspace:
    """Room for problems of this shape; `rows_per_arm` is the most rows that any arm takes part in."""
    entries = max(1, 2 * rows_per_arm * n_rows)
    counts = np.zeros(len(Count), dtype=np.int64)
    counts[Count.SCALES_AGE] = -1  # 0 when the first plan is counted
    by_row = np.ones((len(ByRow) if shortfall_prices else ByRow.SHORTFALL_PRICE, n_rows + 1))
    by_row[ByRow.SHORTFALL_PRICE :] = 0.0
    return Workspace(
        by_row=by_row,
        by_arm=np.zeros((len(ByArm), n_arms)),
        by_context=np.zeros((len(ByContext), n_contexts)),
        face=np.ones((n_arms, n_contexts), dtype=np.bool_),
        order=np.zeros((len(Order), n_rows + 1), dtype=np.int32),
        entry_index=np.zeros((len(Entry), entries), dtype=np.int32),
        entry_value=np.zeros(entries),
        nucleus=np.zeros((n_rows, n_rows)),
        counts=counts,
        scalars=np.zeros(len(Scalar)),
    )
