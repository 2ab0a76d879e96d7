"""A planner: the bases, coefficients and caches of whoever plans round after round.

It owns what it keeps from plan to plan. Rules, meters and shells ask it, by kernels of this room; of its arrays, rules
write the coefficients alone.
"""

import enum
from typing import Any, NamedTuple, cast

import numpy as np

from arcbandit.compilation.compile import kernel, rare_kernel
from arcbandit.kernels.planning import find_plan_by_order, proves_infeasible
from arcbandit.kernels.program import (
    SOMEBODY,
    Basis,
    ByArm,
    ByContext,
    ByRow,
    Column,
    Count,
    Elimination,
    Lean,
    Scalar,
    Workspace,
    make_workspace,
)
from arcbandit.kernels.same_share import Shared, make_shared
from arcbandit.kernels.soft_floors import Soft, forget_order, make_soft
from arcbandit.kernels.starts import LARGE_PROBLEM
from arcbandit.kernels.unplayed import Kept, Unplayed, forget_coefficients, forget_plan, make_unplayed

# Plans between two measurements of the scales of rows: rarely enough to cost a round no more than this many pairs.
MEASURE_EVERY = 64
PAIRS_PER_ROUND = 16
FAR_OFF = 1e300  # a lean that none is near, though its products are finite


class Place(enum.IntEnum):
    """Which of its two problems a planner plans: each has a basis of its own, kept warm."""

    OWN = 0
    FALLBACK = 1


class SoftPlace(enum.IntEnum):
    """The bases of a planner of soft floors, the first two in the places of `Place`."""

    FIRST = 0
    UPPER = 1
    LOWER = 2


class Coefficient(enum.IntEnum):
    """Rows of Planner.coefficients, written by a rule where the statistics themselves are not its coefficients."""

    OBJECTIVE = 0  # also the revenue, where there is a root
    REVENUE_OR_ROOT = 1  # the revenue where the leans are zero, otherwise the root


class Orders(NamedTuple):
    """The order in which the basis of Place.FALLBACK is eliminated: those arrays of a workspace that hold it."""

    order: np.ndarray
    entry_index: np.ndarray
    elimination: np.ndarray


class Planner(NamedTuple):
    """What a planner keeps. The warm bases decide ties, so they are part of what a policy remembers."""

    lean: np.ndarray  # float64, x and y of the program at hand, shape (2,)
    coefficients: np.ndarray  # float64, shape (2, K, C)
    key: np.ndarray  # int32, shape (2, C), or (3, C) with soft floors
    slot_arm: np.ndarray  # int32, shape (2, M), likewise
    slot_context: np.ndarray  # int32, shape (2, M), likewise
    workspace: Workspace
    orders: Orders  # an empty tuple in its place, if both places share the order of the workspace
    unplayed: Unplayed  # an empty tuple in its place, if nothing is kept of unplayed pairs
    shared: Shared  # an empty tuple in its place, unless floors that cannot all be met get the same share of them
    soft: Soft  # an empty tuple in its place, unless floors are soft


def make_planner(
    n_arms: int,
    n_contexts: int,
    n_rows: int,
    rows_per_arm: int,
    *,
    keeps_unplayed: bool = False,
    shares_floors: bool = False,
    soft_floors: bool = False,
    keeps_orders: bool = False,
) -> Planner:
    """A planner for problems of this shape that has planned nothing yet.

    `keeps_unplayed`: for a rule that plans with confidence bounds, and more than FEW_PAIRS pairs. Without, kernels are
    compiled without what keeps unplayed pairs. `shares_floors`: floors that cannot all be met get the same share of
    their amounts. Without, kernels are compiled without what finds it. `soft_floors`: for a rule whose floors may be
    missed at a price. `keeps_orders`: each place has an order of elimination of its own, so that plans of both in turn
    start from what the last ones left. For few pairs and contexts, one row per arm, and floors that are neither soft
    nor shared out.
    """
    places = len(SoftPlace) if soft_floors else len(Place)
    unplayed = make_unplayed(n_arms, n_contexts, n_rows) if keeps_unplayed else ()
    orders: Any = ()
    if keeps_orders:
        other = make_workspace(n_arms, n_contexts, n_rows, rows_per_arm)
        orders = Orders(other.order, other.entry_index, other.elimination)
    return Planner(
        lean=np.zeros(2),
        coefficients=np.zeros((len(Coefficient), n_arms, n_contexts)),
        key=np.full((places, n_contexts), -1, dtype=np.int32),
        slot_arm=np.tile(np.arange(n_rows, dtype=np.int32), (places, 1)),
        slot_context=np.full((places, n_rows), Column.SURPLUS, dtype=np.int32),
        workspace=make_workspace(n_arms, n_contexts, n_rows, rows_per_arm),
        orders=cast(Orders, orders),
        unplayed=cast(Unplayed, unplayed),
        shared=make_shared(n_rows) if shares_floors else cast(Shared, ()),
        soft=make_soft(n_arms, n_contexts, n_rows, rows_per_arm) if soft_floors else cast(Soft, ()),
    )


@kernel
def set_leans(planner, objective, revenue):
    """How many roots the two sides of the program at hand lean."""
    planner.lean[Lean.OBJECTIVE] = objective
    planner.lean[Lean.REVENUE] = revenue


@kernel
def basis_of(planner, place):
    """The basis of a place."""
    return Basis(planner.key[place], planner.slot_arm[place], planner.slot_context[place])


@kernel
def measures_now(planner):
    """Whether scales are to be measured in this round."""
    return planner.workspace.counts[Count.SCALES_AGE] == 0


@kernel
def begin_plan(planner, n_pairs, weights_moved):
    """Count a round in which the planner is asked; whether all weights have moved since the last one matters to it."""
    counts = planner.workspace.counts
    if weights_moved:
        counts[Count.KEYS_KEPT] = 0
    counts[Count.SCALES_AGE] += 1
    if counts[Count.SCALES_AGE] == MEASURE_EVERY + n_pairs // PAIRS_PER_ROUND:
        counts[Count.SCALES_AGE] = 0


@kernel
def workspace_of(workspace, orders, place):
    """The workspace of a place, which differs from that of the other in the order of elimination, if both are kept."""
    if len(orders) == 0:
        return workspace
    order, entry_index, elimination = workspace.order, workspace.entry_index, workspace.elimination
    if place == Place.FALLBACK:
        order, entry_index, elimination = orders.order, orders.entry_index, orders.elimination
    return Workspace(
        workspace.by_row,
        workspace.by_arm,
        workspace.by_context,
        workspace.face,
        order,
        entry_index,
        workspace.entry_value,
        workspace.nucleus,
        elimination,
        workspace.counts,
        workspace.scalars,
    )


@kernel
def plan_again(planner, program, place, resumable, least_shortfall, allocation):
    """Plan a program from the basis of that place, and return the PlanStatus that `find_plan` does.

    `resumable`: the program's matrices are the same arrays as when last planned at this place, and what changed in them
    is marked in `program.changed`.
    """
    owner = 1 + SOMEBODY + place if resumable else 0
    basis = basis_of(planner, place)
    workspace = workspace_of(planner.workspace, planner.orders, place)
    has_order = len(planner.orders) > 0
    return find_plan_by_order(program, basis, least_shortfall, owner, has_order, workspace, allocation)


@kernel
def prove_again(planner, program, place):
    """In a large problem, try what proved the last plan of that place infeasible; return whether it still proves it.

    To find another proof may take thousands of pivots. A restored planner has no proof and must look for one. So that
    this makes no difference to later plans, a place whose last plan was infeasible has no basis (`forget_basis`), and
    the next plan takes up nothing, as after a search.
    """
    if planner.key[place, 0] >= 0 or program.available.size <= LARGE_PROBLEM:
        return False
    if not proves_infeasible(program, planner.workspace):
        return False
    planner.workspace.counts[Count.BOUNDS_OF] = 0
    return True


@rare_kernel
def forget_basis(planner, program, place):
    """In a large problem, start the next plan of that place from nothing."""
    if program.available.size > LARGE_PROBLEM:
        for context in range(planner.key.shape[1]):
            planner.key[place, context] = -1


@kernel
def measure_soon(planner):
    """Measure scales before the next plan: weights may have moved far at once."""
    planner.workspace.counts[Count.SCALES_AGE] = -1


@kernel
def look_at_all(planner):
    """Take up neither bounds nor sums over keys at the next plan: the coefficients of all pairs may have changed."""
    planner.workspace.counts[Count.KEYS_KEPT] = 0
    planner.workspace.scalars[Scalar.OBJECTIVE_LEAN_AT_BOUND] = FAR_OFF
    forget_coefficients(planner.unplayed)


@kernel
def forget_allocation(planner):
    """Write all of the next allocation: somebody else has changed the last one."""
    planner.workspace.counts[Count.BOUNDS_OF] = 0
    forget_plan(planner.unplayed)


@kernel
def forget_orders(planner, soft):
    """Look at the bases of soft floors before they are evaluated: other pairs may be available, or rows have floors."""
    if len(soft) > 0:
        forget_order(planner.workspace)
        forget_order(soft.upper)
        forget_order(soft.lower)


@kernel
def basis_number(planner, place):
    """A number that is another one whenever the basis last planned with, that of this place, is."""
    return 2 * workspace_of(planner.workspace, planner.orders, place).elimination[Elimination.ORDERS] + place


@kernel
def least_value(planner):
    """The least value of a basic column of the last plan."""
    return planner.workspace.scalars[Scalar.LEAST_SHARE]


@kernel
def price_of_row(planner, row):
    """The price of a coupling row in the last plan, those of SoftPlace.UPPER and LOWER not counted."""
    return planner.workspace.by_row[ByRow.PRICE, row]


@kernel
def price_of_arm(planner, arm):
    """The sum of the prices of an arm's rows, with their signs, in the plan of `price_of_row`."""
    return planner.workspace.by_arm[ByArm.PRICE, arm]


@kernel
def key_of_plan(planner, place, context):
    """The arm that has what others leave of a context in the plan of that place."""
    return planner.key[place, context]


@kernel
def slot_of_plan(planner, place, slot):
    """A further pair that the plan of that place may use, (arm, context); context below 0 if this slot has none."""
    return planner.slot_arm[place, slot], planner.slot_context[place, slot]


@kernel
def uses_exactly(planner, place, pairs, rows, count, threshold):
    """Whether the last plan, of that place, has shares above the threshold in exactly these pairs, shape (K, C), and
    surpluses above it in exactly these rows, shape (M,); `count` is how many both are together.
    """
    workspace = planner.workspace
    positive = 0
    differ = 0  # sums of truths rather than branches, which would part the threads of a GPU
    for context in range(pairs.shape[1]):
        is_positive = workspace.by_context[ByContext.KEY_SHARE, context] > threshold
        positive += is_positive
        differ += is_positive != pairs[planner.key[place, context], context]
    for slot in range(planner.slot_arm.shape[1]):
        is_positive = workspace.by_row[ByRow.SLOT_VALUE, slot] > threshold
        positive += is_positive
        arm = planner.slot_arm[place, slot]
        context = planner.slot_context[place, slot]
        if context >= 0:
            differ += is_positive != pairs[arm, context]
        else:
            differ += is_positive != (context == Column.SURPLUS and rows[arm])
    return differ == 0 and positive == count


@kernel
def is_saturated(planner, place, row):
    """Whether the plan of that place meets a floor with equality: no slot of its basis holds the row's surplus."""
    saturated = True
    for slot in range(planner.slot_arm.shape[1]):
        arm, context = slot_of_plan(planner, place, slot)
        saturated = saturated and not (context < 0 and arm == row)
    return saturated


def keeps_unplayed(planner: Planner | tuple[()]) -> bool:
    """Whether a planner, if it is one, was made to keep unplayed pairs."""
    return len(planner) > 0 and len(planner.unplayed) > 0


def give_basis(planner: Planner, place: Place | SoftPlace, basis: Basis) -> None:
    """Give a place of a planner that has planned nothing yet a basis to start from."""
    planner.key[place] = basis.key
    planner.slot_arm[place] = basis.slot_arm
    planner.slot_context[place] = basis.slot_context


def start_over(planner: Planner) -> None:
    """Take up nothing at the next plan but the basis: a floor came, went or moved, and its row's scale with it."""
    planner.workspace.counts[Count.BOUNDS_OF] = 0
    planner.workspace.counts[Count.SCALES_AGE] = -1
    if keeps_unplayed(planner):
        planner.unplayed.scalars[Kept.IS_KEPT] = 0.0
    if len(planner.soft) > 0:
        for workspace in (planner.workspace, planner.soft.upper, planner.soft.lower):
            workspace.elimination[Elimination.KEPT] = 0


def planner_state(planner: Planner) -> dict[str, Any]:
    """What a planner must be given back to plan as it would have: plain data."""
    return {
        "key": planner.key.tolist(),
        "slot_arm": planner.slot_arm.tolist(),
        "slot_context": planner.slot_context.tolist(),
        # They decide pivots, so a twin that measured its own would come to plans of its own.
        "row_scales": planner.workspace.by_row[ByRow.SCALE].tolist(),
        "scales_age": int(planner.workspace.counts[Count.SCALES_AGE]),
    }


def restore_planner(planner: Planner, state: dict[str, Any]) -> None:
    """Give a new planner of the same shape the state of another."""
    planner.key[:] = state["key"]
    planner.slot_arm[:] = state["slot_arm"]
    planner.slot_context[:] = state["slot_context"]
    planner.workspace.by_row[ByRow.SCALE] = state["row_scales"]
    planner.workspace.counts[Count.SCALES_AGE] = state["scales_age"]
    planner.workspace.elimination[Elimination.KEPT] = 0
    if len(planner.orders) > 0:
        planner.orders.elimination[Elimination.KEPT] = 0
