"""The planning problem solved: from any basis, or from none, to an optimal plan or a proof that there is none."""

from arcbandit.compilation.compile import entry_kernel, kernel, rare_kernel
from arcbandit.kernels.factors import objective_of, revenue_of
from arcbandit.kernels.pricing import FEW_PAIRS, evaluate_again, measure_scales, pair_excess, spread_over_arms
from arcbandit.kernels.program import (
    FEASIBILITY_TOLERANCE,
    NO_FLOOR,
    ROUNDING_TOLERANCE,
    ByArm,
    ByContext,
    ByRow,
    Column,
    Count,
    Order,
    PlanStatus,
    Scalar,
)
from arcbandit.kernels.simplex import is_optimal, measure_allowances, simplex

ATTEMPTS = 6
MEET_FLOORS, FALL_SHORT_LEAST, EARN_MOST = range(3)


@rare_kernel
def crash_basis(program, basis):
    """Each context to its most rewarding arm, every floor slack: always a basis, and optimal without floors.

    Return False if a context has no arm to play.
    """
    n_arms, n_contexts = program.objective.shape
    for context in range(n_contexts):
        best = -1
        for arm in range(n_arms):
            if program.available[arm, context] and (
                best < 0 or objective_of(program, arm, context) > objective_of(program, best, context)
            ):
                best = arm
        if best < 0:
            return False
        basis.key[context] = best
    for row in range(basis.slot_arm.shape[0]):
        basis.slot_arm[row] = row
        basis.slot_context[row] = Column.SURPLUS
    return True


@rare_kernel
def is_usable(program, basis):
    """Whether a given basis may serve as a start: its pairs are available, and rows without a floor have a surplus."""
    for context in range(basis.key.shape[0]):
        key = basis.key[context]
        if key < 0 or not program.available[key, context]:
            return False
    loose = 0
    for row in range(basis.slot_arm.shape[0]):
        loose += 1 if program.floors[row] == NO_FLOOR else 0
    for slot in range(basis.slot_arm.shape[0]):
        context = basis.slot_context[slot]
        if context == Column.SHORTFALL:
            return False
        if context == Column.SURPLUS:
            loose -= 1 if program.floors[basis.slot_arm[slot]] == NO_FLOOR else 0
        elif not program.available[basis.slot_arm[slot], context]:
            return False
    return loose == 0


@rare_kernel
def proves_infeasible(program, workspace):
    """Whether the prices of the ray show that no plan meets the floors: sum_c max_k y_k b_kc < y . r.

    The floors are those that count as met, a small part lower, and the difference must be beyond rounding.
    """
    n_arms, n_contexts = program.revenue.shape
    ray = workspace.by_row[ByRow.RAY]
    arm_ray = workspace.by_arm[ByArm.DUAL_ROW]
    spread_over_arms(program, ray, arm_ray)
    needed = 0.0
    size = 0.0
    for row in range(program.floors.shape[0]):
        needed += ray[row] * program.floors[row]
        size += ray[row] * abs(program.floors[row])
    needed -= FEASIBILITY_TOLERANCE * size
    reachable = 0.0
    for context in range(n_contexts):
        best = -1e300
        for arm in range(n_arms):
            if program.available[arm, context]:
                best = max(best, arm_ray[arm] * revenue_of(program, arm, context))
        reachable += best
        size += abs(best)
    return reachable < needed - ROUNDING_TOLERANCE * size


@rare_kernel
def restrict_to_face(program, basis, workspace):
    """Close every column that the first objective, whose prices are in place, prices below its best."""
    n_arms, n_contexts = program.objective.shape
    for arm in range(n_arms):
        for context in range(n_contexts):
            workspace.face[arm, context] = (
                program.available[arm, context] and pair_excess(program, basis, 0.0, arm, context, workspace) >= 0.0
            )
    # A surplus may be as large as its row's coefficients, so a price that is small beside the shortfall's price of 1
    # may still be worth more than the other rows together; what counts is the price times the scale.
    largest = 0.0
    for row in range(basis.slot_arm.shape[0]):
        largest = max(largest, workspace.by_row[ByRow.PRICE, row] * workspace.by_row[ByRow.SCALE, row])
    for row in range(basis.slot_arm.shape[0]):
        price = workspace.by_row[ByRow.PRICE, row]
        limit = FEASIBILITY_TOLERANCE * min(1.0, largest / workspace.by_row[ByRow.SCALE, row])
        workspace.order[Order.SURPLUS_OPEN, row] = 1 if price <= limit else 0
        workspace.order[Order.SHORTFALL_OPEN, row] = 1 if price >= 1.0 - limit else 0


@rare_kernel
def start_short(program, basis):
    """Crash basis with a shortfall in place of each surplus that would be negative: always feasible."""
    for row in range(basis.slot_arm.shape[0]):
        earned = 0.0
        for context in range(basis.key.shape[0]):
            key = basis.key[context]
            for place in range(program.arm_rows.shape[1]):
                if program.arm_rows[key, place] == row + 1:
                    earned += revenue_of(program, key, context)
                elif program.arm_rows[key, place] == -row - 1:
                    earned -= revenue_of(program, key, context)
        if earned < program.floors[row]:
            basis.slot_context[row] = Column.SHORTFALL


@rare_kernel
def open_rows(workspace, shortfall):
    """Let surpluses be positive everywhere, and shortfalls everywhere or nowhere (1 or 0)."""
    for row in range(workspace.order.shape[1]):
        workspace.order[Order.SURPLUS_OPEN, row] = 1
        workspace.order[Order.SHORTFALL_OPEN, row] = shortfall


@rare_kernel
def falls_short_nowhere(program, basis, workspace):
    """Whether every shortfall in the basis is one that a floor which is met may have."""
    measure_allowances(program, basis, workspace)
    allowance = workspace.by_row[ByRow.SCRATCH]
    for slot in range(basis.slot_arm.shape[0]):
        row = basis.slot_arm[slot]
        if basis.slot_context[slot] == Column.SHORTFALL:
            lacking = workspace.by_row[ByRow.SLOT_VALUE, slot] * workspace.by_row[ByRow.SCALE, row]
            if lacking > allowance[row]:
                return False
    return True


@rare_kernel
def end_shortfalls(basis):
    """Exchange each shortfall, which is as good as zero, for its row's surplus."""
    for slot in range(basis.slot_arm.shape[0]):
        if basis.slot_context[slot] == Column.SHORTFALL:
            basis.slot_context[slot] = Column.SURPLUS


@rare_kernel
def clip_allocation(basis, workspace, allocation):
    """Clip what rounding left below zero, and let the columns concerned sum to 1 again."""
    total = workspace.by_context[ByContext.KEY_DIRECTION]
    for slot in range(basis.slot_arm.shape[0]):
        context = basis.slot_context[slot]
        if context >= 0:
            total[context] = max(workspace.by_context[ByContext.KEY_SHARE, context], 0.0)
    for slot in range(basis.slot_arm.shape[0]):
        context = basis.slot_context[slot]
        if context >= 0:
            total[context] += max(workspace.by_row[ByRow.SLOT_VALUE, slot], 0.0)
    for slot in range(basis.slot_arm.shape[0]):
        context = basis.slot_context[slot]
        if context >= 0:
            share = max(workspace.by_row[ByRow.SLOT_VALUE, slot], 0.0)
            key_share = max(workspace.by_context[ByContext.KEY_SHARE, context], 0.0)
            allocation[basis.slot_arm[slot], context] = share / total[context]
            allocation[basis.key[context], context] = key_share / total[context]


@kernel
def write_allocation(basis, kept, workspace, allocation):
    """Write the plan of an evaluated basis, shape (K, C): rounding below zero clipped, columns summing to 1.

    Where `allocation` is `kept`, it holds an earlier plan less the pairs that left the basis since: then only contexts
    with slots are written, for the key of any other has all of it.
    """
    n_arms, n_contexts = allocation.shape
    if not kept:
        for arm in range(n_arms):
            for context in range(n_contexts):
                allocation[arm, context] = 0.0
        for context in range(n_contexts):
            allocation[basis.key[context], context] = 1.0
    for slot in range(basis.slot_arm.shape[0]):
        context = basis.slot_context[slot]
        if context >= 0:
            allocation[basis.slot_arm[slot], context] = workspace.by_row[ByRow.SLOT_VALUE, slot]
            allocation[basis.key[context], context] = workspace.by_context[ByContext.KEY_SHARE, context]
    if workspace.scalars[Scalar.LEAST_SHARE] < 0.0:
        clip_allocation(basis, workspace, allocation)


@rare_kernel
def search_plan(program, basis, least_shortfall, owner, resume, evaluated, workspace, allocation):
    """`find_plan` step by step, for when the basis may have to change.

    `resume` says whether the workspace was left by the same owner, `evaluated` whether the basis was evaluated since.
    """
    if not resume:
        workspace.counts[Count.BOUNDS_OF] = 0
        open_rows(workspace, 0)
        if owner == 0 or program.available.size > FEW_PAIRS:
            measure_scales(program, owner == 0, workspace)
    warm = resume or is_usable(program, basis)
    stage = MEET_FLOORS
    proven = False
    failures = 0
    allowed = program.available
    for _ in range(ATTEMPTS):
        if not warm and not crash_basis(program, basis):
            return PlanStatus.INFEASIBLE
        if stage == FALL_SHORT_LEAST:
            open_rows(workspace, 1)
            start_short(program, basis)
        weight = 0.0 if stage == FALL_SHORT_LEAST else 1.0
        dual = stage == MEET_FLOORS
        if not resume:
            workspace.counts[Count.BOUNDS_OF] = 0
            workspace.counts[Count.KEYS_KEPT] = 0
        status = simplex(program, basis, allowed, weight, 1.0 - weight, dual, resume, evaluated, workspace, allocation)
        evaluated = False
        if stage == MEET_FLOORS:
            if status == PlanStatus.OPTIMAL:
                write_allocation(basis, resume, workspace, allocation)
                workspace.counts[Count.BOUNDS_OF] = owner
                return PlanStatus.OPTIMAL
            resume = False
            proven = status == PlanStatus.INFEASIBLE and proves_infeasible(program, workspace)
            workspace.counts[Count.BOUNDS_OF] = 0
            if proven and not least_shortfall:
                return status
            # A start that led nowhere is given up for a cold one, and that for the slower way over the shortfalls,
            # whose every basis is feasible: it finds out what the floors lack, and that decides.
            failures += 1 if warm else 2
            if proven or failures > 1:
                stage = FALL_SHORT_LEAST
            warm = False
            continue
        if status != PlanStatus.OPTIMAL:
            return PlanStatus.PIVOT_LIMIT
        if stage == FALL_SHORT_LEAST:
            met = not proven and falls_short_nowhere(program, basis, workspace)
            for row in range(basis.slot_arm.shape[0]):
                price = max(workspace.by_row[ByRow.PRICE, row], 0.0)
                if workspace.by_row.shape[0] > ByRow.SHORTFALL_PRICE:
                    workspace.by_row[ByRow.SHORTFALL_PRICE, row] = price
                if not proven:
                    workspace.by_row[ByRow.RAY, row] = price
            if not met and not least_shortfall:
                return PlanStatus.INFEASIBLE
            # The plans that fall short least are those that use no column its prices exclude; the revenue decides
            # among them.
            restrict_to_face(program, basis, workspace)
            proven = not met
            allowed = workspace.face
            stage = EARN_MOST
            warm = True
            continue
        write_allocation(basis, False, workspace, allocation)
        workspace.counts[Count.BOUNDS_OF] = 0
        if proven:
            return PlanStatus.INFEASIBLE
        end_shortfalls(basis)
        return PlanStatus.OPTIMAL
    return PlanStatus.PIVOT_LIMIT


@kernel
def find_plan(program, basis, least_shortfall, owner, workspace, allocation):
    """Write argmax LP(mu_obj, mu_cons) into `allocation`, shape (K, C), starting from `basis`, and say how it went.

    OPTIMAL: `basis` is optimal; its shares and prices are in the workspace. (Where floors are met by a hair, the prices
    are those among plans that fall short least, and those of SHORTFALL_PRICE are not zero.) INFEASIBLE: the workspace's
    ray proves it and, if `least_shortfall`, the allocation falls short of the floors by the least total and then earns
    the most; without it, `allocation` is untouched. PIVOT_LIMIT: nothing could be shown, `allocation` is untouched.

    `owner` is 0, or for rules that plan round after round a number above SOMEBODY. If the workspace was left by the
    same owner, `basis` is the one it ended with, `allocation` what it wrote, and only contexts marked as changed and
    the leans have changed since: then scales, bounds and the allocation are taken up as they were left. (Weights may
    have changed too, if KEYS_KEPT is set to 0.) Such an allocation is not left untouched.
    """
    resume = owner != 0 and workspace.counts[Count.BOUNDS_OF] == owner
    if owner != 0 and workspace.counts[Count.SCALES_AGE] == 0:
        measure_scales(program, True, workspace)
    evaluated = resume and evaluate_again(program, basis, workspace)
    if evaluated and is_optimal(program, basis, workspace):
        write_allocation(basis, True, workspace, allocation)
        workspace.counts[Count.BOUNDS_OF] = owner
        return PlanStatus.OPTIMAL
    return search_plan(program, basis, least_shortfall, owner, resume, evaluated, workspace, allocation)


@entry_kernel
def plan(program, basis, least_shortfall, owner, workspace, allocation):
    """`find_plan`, for calls from Python."""
    return find_plan(program, basis, least_shortfall, owner, workspace, allocation)
