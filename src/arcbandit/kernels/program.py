"""The planning problem, a basis of it, and the memory to work in, as tuples of arrays.

    maximise    sum_kc  a_kc w_kc
    subject to  sum_kc  sign_mk b_kc w_kc  >=  r_m      for each coupling row m (a floor of an arm or of a group)
                sum_k   w_kc               =   1        for each context c
                w_kc >= 0, and w_kc = 0 where the pair is not available

with a_kc = p_c (objective_kc + x root_kc) and b_kc = p_c (revenue_kc + y root_kc). A plain problem has x = y = 0. For a
rule that plans with confidence bounds, objective and revenue are the mean rewards, root is n^(-1/2), and the leans x
and y are multiples of a confidence radius: from one round to the next nothing but x and y changes for most pairs, and
no coefficient is written down. Without group floors there is one row per arm, and its sign is 1.

The equations, one per context, are generalized upper bounds (Dantzig and Van Slyke, 1967, "Generalized upper bounding
techniques", Journal of Computer and System Sciences 1, 213-226; `dantzig1967` in docs/references.bib). As there, each
has a *key*, a basic pair whose share is what the other pairs of the context leave. The M further basic columns are
called *slots* here; less the keys of their contexts, they form the working matrix W, of one row per coupling row. A
step of the simplex method solves with W alone, however many contexts there are.
"""

import enum
from typing import NamedTuple

import numpy as np

# A floor counts as met if no more than this part of it is missing, and a share as not negative if it is above minus
# this much and takes no more than this part of the floor from any of its floors. Rounding is allowed for as well, as a
# part of the terms that add up to a row's revenue.
FEASIBILITY_TOLERANCE = 1e-9
ROUNDING_TOLERANCE = 1e-14
# Shares and surpluses have no unit (a surplus is a multiple of its row's scale), so these tolerances are absolute for
# them and relative for rewards and prices.
PRICING_TOLERANCE = 1e-11
PIVOT_TOLERANCE = 1e-11
RATIO_TOLERANCE = 1e-12
SINGULARITY_TOLERANCE = 1e-14
# How far a pair's value may drift, relative to the rewards, before its bound is computed again.
DRIFT_ALLOWED = 1e-6

# The floor of a row that asks for nothing. It is below any revenue, so the row's surplus is large and never leaves the
# basis; the row needs no other special treatment.
NO_FLOOR = -1e200

# The owner of bounds that nobody may resume with. Those who plan round after round have numbers above it.
SOMEBODY = 1


class Column(enum.IntEnum):
    """Kinds of basic columns that are not pairs; in Basis.slot_context they stand in place of a context."""

    SURPLUS = -1
    SHORTFALL = -2


class ByRow(enum.IntEnum):
    """Rows of Workspace.by_row, one number per coupling row or per slot."""

    SCALE = 0  # of the row's coefficients; that of the objective comes last
    SLOT_VALUE = 1
    PRICE = 2
    DIRECTION = 3  # how fast the slots fall as a column enters
    DUAL_ROW = 4  # multipliers of a dual step; scratch otherwise
    RAY = 5  # prices that prove infeasibility
    SCRATCH = 6
    # The prices of the least total shortfall. Only a workspace made with `shortfall_prices` has this row: rules have no
    # use for it, and 32 bytes more per thread made a GPU slower by a sixth.
    SHORTFALL_PRICE = 7


class ByArm(enum.IntEnum):
    """Rows of Workspace.by_arm."""

    PRICE = 0  # signed sum over the rows of the arm
    DUAL_ROW = 1  # likewise
    PRICE_SIZE = 2  # the same sum of absolute prices
    PRICE_AT_BOUND = 3  # the price at which the arm's values entered the bounds
    REVENUE_SCALE = 4  # the arm's largest |revenue|
    # p times revenue, summed over the contexts whose key is the arm. NaN means that this sum and the next are out of
    # date; nowhere else in a workspace does NaN mean anything. A flag would be one more row per thread of a GPU.
    KEY_REVENUE_SUM = 5
    KEY_ROOT_SUM = 6  # p times root, likewise


class ByContext(enum.IntEnum):
    """Rows of Workspace.by_context."""

    KEY_SHARE = 0
    # In a primal step, how fast the key's share falls as a column enters; in a dual step, the key's entry in the dual
    # row. A step is one or the other.
    KEY_DIRECTION = 1
    VALUE_BOUND = 2  # no nonbasic pair of the context is worth more, apart from drift
    KEY_OBJECTIVE = 3
    KEY_REVENUE = 4
    KEY_ROOT = 5


class Order(enum.IntEnum):
    """Rows of Workspace.order: how W is eliminated, and which surpluses and shortfalls may be positive."""

    COLUMN_START = 0  # where a column's entries begin
    ROW_START = 1  # where a row's begin
    COLUMN_DONE = 2  # whether a column is eliminated
    ROW_DONE = 3
    PIVOT_ROW = 4  # the row eliminated in each step
    PIVOT_COLUMN = 5  # and its column
    POSITION = 6  # of each row among the rows of the nucleus; scratch before
    SCRATCH = 7  # entries per open column, then per open row, then the permutation of the nucleus' rows
    SURPLUS_OPEN = 8  # whether the surplus of a coupling row may be positive
    SHORTFALL_OPEN = 9  # whether its shortfall may
    PIVOT_ENTRY = 10  # where an eliminated column's pivot stands among the entries
    OTHER_ENTRY = 11  # where its other entry stands if it has two, otherwise -1


class Entry(enum.IntEnum):
    """Rows of Workspace.entry_index."""

    ROW = 0  # of each entry of W, column by column
    COLUMN = 1  # of each entry of W, row by row


class Elimination(enum.IntEnum):
    """Places of Workspace.elimination, which belongs to Workspace.order."""

    BY_COLUMN = 0  # singleton columns eliminated
    BY_ROW = 1  # singleton rows eliminated after these
    NUCLEUS = 2  # rows left for dense elimination
    KEPT = 3  # 0 if the order is void
    ORDERS = 4  # orders found so far: as long as it stays the same, so does the basis


class Count(enum.IntEnum):
    """Places of Workspace.counts."""

    PIVOTS = 0  # steps of the simplex method so far
    BOUNDS_OF = 1  # 0 if the bounds are void, otherwise who may resume with them
    KEYS_KEPT = 2  # 0 if what is kept of the keys is void
    # Plans since the scales were measured. Whoever plans round after round counts it up; at 0 all scales are measured.
    # They decide pivots, so whoever stores a basis stores the scales with their age: otherwise the plans that follow
    # would depend on when it was stored.
    SCALES_AGE = 3


class Scalar(enum.IntEnum):
    """Places of Workspace.scalars."""

    OBJECTIVE_LEAN_AT_BOUND = 0  # the leans at which the bounds were set
    REVENUE_LEAN_AT_BOUND = 1
    LARGEST_ROOT = 2
    REWARD_SCALE = 3  # the largest |reward|
    LEAST_SHARE = 4  # the least value of a basic column


class PlanStatus(enum.IntEnum):
    """How a run of the simplex method ended.

    >>> from arcbandit import paper_instance, plan
    >>> plan(paper_instance("nu")).status.name
    'OPTIMAL'
    """

    OPTIMAL = 0
    INFEASIBLE = 1
    PIVOT_LIMIT = 2


class Lean(enum.IntEnum):
    """Places of Program.lean."""

    OBJECTIVE = 0  # x
    REVENUE = 1  # y


class Program(NamedTuple):
    """Coefficients of one planning problem; K arms, C contexts, M coupling rows."""

    objective: np.ndarray  # shape (K, C)
    revenue: np.ndarray  # shape (K, C)
    root: np.ndarray  # shape (K, C)
    lean: np.ndarray  # x and y, by Lean, shape (2,)
    weights: np.ndarray  # p, shape (C,)
    changed: np.ndarray  # uint8, shape (C,): which pair changed since bounds and keys were set, as in `marks`
    available: np.ndarray  # bool, shape (K, C)
    floors: np.ndarray  # r, NO_FLOOR for a row that asks for nothing, shape (M,)
    # int64, shape (K, R): rows of an arm, m + 1 for sign 1, -(m + 1) for -1, 0 for none; R = 1 if row k is arm k's
    arm_rows: np.ndarray


class Basis(NamedTuple):
    """The key of each context, a basic pair, and M further basic columns, the slots."""

    key: np.ndarray  # arm, int32, shape (C,)
    slot_arm: np.ndarray  # arm of a basic pair, or row of a surplus or shortfall, int32, shape (M,)
    slot_context: np.ndarray  # context of a basic pair, or a Column, int32, shape (M,)


class Workspace(NamedTuple):
    """Everything the simplex method writes, passed in so that it never allocates.

    A few arrays with named rows, not many arrays with names of their own: each array of a tuple costs compilation time
    in every kernel that it passes through.
    """

    by_row: np.ndarray  # float64, shape (8, M + 1), or (7, M + 1) without ByRow.SHORTFALL_PRICE
    by_arm: np.ndarray  # float64, shape (7, K)
    by_context: np.ndarray  # float64, shape (6, C)
    face: np.ndarray  # bool, shape (K, C): pairs that a second objective may use
    order: np.ndarray  # int32, shape (12, M + 1)
    entry_index: np.ndarray  # int32, shape (2, E): W by columns and by rows
    entry_value: np.ndarray  # float64, shape (E,): W by columns
    nucleus: np.ndarray  # float64, shape (M, M): dense LU of what is left when no row or column is a singleton
    elimination: np.ndarray  # int64, shape (5,)
    counts: np.ndarray  # int64, shape (4,)
    scalars: np.ndarray  # float64, shape (5,)


def make_basis(n_contexts: int, n_rows: int) -> Basis:
    """Memory for a basis that holds none yet, so that the simplex method starts cold."""
    return Basis(
        key=np.full(n_contexts, -1, dtype=np.int32),
        slot_arm=np.arange(n_rows, dtype=np.int32),
        slot_context=np.full(n_rows, Column.SURPLUS, dtype=np.int32),
    )


def make_workspace(
    n_arms: int, n_contexts: int, n_rows: int, rows_per_arm: int = 1, *, shortfall_prices: bool = False
) -> Workspace:
    """Memory for problems of this shape; `rows_per_arm` is the most rows that any arm takes part in."""
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
        elimination=np.zeros(len(Elimination), dtype=np.int64),
        counts=counts,
        scalars=np.zeros(len(Scalar)),
    )
