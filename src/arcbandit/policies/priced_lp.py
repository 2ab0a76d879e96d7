"""Priced LP: what floors cost decides their margins, and how much is explored."""

import enum
import math
from typing import TYPE_CHECKING, Unpack

from arcbandit.compilation.compile import kernel, rare_kernel
from arcbandit.kernels.allocation import write_allocation
from arcbandit.kernels.coefficients import spread_over_arms
from arcbandit.kernels.confidence import ByPair, radius_factor
from arcbandit.kernels.newsvendor import write_margins
from arcbandit.kernels.planner import (
    Place,
    SoftPlace,
    basis_of,
    forget_allocation,
    measures_now,
    price_of_arm,
    price_of_row,
    set_leans,
)
from arcbandit.kernels.program import NO_FLOOR, PlanStatus, Program
from arcbandit.kernels.revenue_row import Lies, explore_most, write_between
from arcbandit.kernels.scales import copy_row_scales, measure_scales
from arcbandit.kernels.soft_floors import (
    add_shares,
    forget_order,
    is_short,
    plan_softly,
    total_of,
    total_surplus,
)
from arcbandit.policies.base import Policy
from arcbandit.policies.dials import Dial
from arcbandit.policies.learner import Outcome, Progress, Rows
from arcbandit.policies.plans import (
    begin_planning,
    explore,
    explores_everywhere,
    have_all_that_come,
    plan_with_bounds,
    play_alike,
)
from arcbandit.policies.proven import OF_SOFT_FLOORS

if TYPE_CHECKING:
    from arcbandit.inputs.frames import Column
    from arcbandit.policies.settings import PricedLPSettings

MOST_SHORTFALL_PRICE = 1000.0  # M in the first round, of a floor that the first program misses,
SHORTFALL_WEIGHTS = 10.0  # or these times the weight, if that is more
ROUNDS_TO_SHRINK = 200  # up to here, what pairs are shrunk to is refreshed in each round
ROUNDS_BETWEEN = 50  # and from here on after so many
# Later on, averages and margins move in every other round, twice as far, and counts are looked at then, too: they move
# slowly, and take a quarter of a round.
ROUNDS_PER_MOVE = 2
# Pairs of which equally little is known are told apart by their places, not by how a processor rounds: the last pair's
# bonus and, before it is played, its mean are larger than the first pair's by these shares. The first program can tell
# means apart only as finely as its price of a shortfall allows.
BONUS_HEAD_START = 1e-6
MEAN_HEAD_START = 1e-2
# From here on a logarithm of visits per play counts twice: a pair that is left alone for so long, e^5 = 148 visits per
# play, may have been unlucky, and to find out costs little. Runs in which a good pair is never tried again are rarer.
LEFT_ALONE = 5.0
# Bad luck does not outlast many plays: beyond so many, what counts besides is less, in proportion.
FEW_PLAYS = 4.0
# A rule that explores as little as this one is stuck now and then. What that costs grows with the visits to come, and
# what it costs to try pairs again grows with their logarithm alone. So from e^10 = 22,026 visits of a context on, each
# further logarithm of visits counts four times besides, until all that counts is twice the logarithm of visits: at an
# `exploration` of 1 / sqrt(2), these are the radii of an ordinary bandit. Where a floor is dear bad luck costs as many
# times more, and it begins sooner: half a logarithm of the dearest price A, times `price_reach`, counts as
# one of visits: at e^10 / sqrt(A).
MANY_VISITS = 10.0
SOONER = 0.5
GAIN = 4.0
MOST_LOGARITHMS = 2.0
# Where floors are missed, prices are in units of M, which does not tell how dear floors are: each counts for so many
# times its average, or so many weights, at most. Otherwise one such round would take margins away for hundreds more.
MOST_OF_MISSED = 10.0
USUAL_MEMORY = 0.02  # share of a round in the averages of prices and plans
# By how many standard errors margins may rise while averages of the usual memory move all the way. Where floors can
# barely be met, margins that were left out because the means do not allow them would be asked for in the next round.
MOST_RISE = 1.0
LEAST_PRIOR = 1e-12  # pulls, so that a radius stays finite
MOST_PRIOR = 1.0  # pulls
# Averages this small are zero. They would shrink for ever otherwise, and processors are slow with numbers next to zero:
# from round 35,000 on, every round took twice as long.
LEAST_AVERAGE = 1e-30


class ByPairRow(enum.IntEnum):
    """What is kept per pair."""

    PLAN = 0  # W, the average of the first program's plans


class Total(enum.IntEnum):
    """What is kept once."""

    EXPLORING = 0  # the average of what exploring costs a round
    CENTRE = 1  # m0, the mean that pairs are shrunk to
    PRIOR = 2  # tau, the pulls that it counts for
    REFRESHED = 3  # the round in which both were computed
    QUANTILE = 4  # q of the last margins, where the search for the next starts
    LIES = 5  # where the last plan lies
    MOVED = 6  # the round in which averages last moved


class ByFloor(enum.IntEnum):
    """What is kept per floor."""

    PRICE = 0  # the average of the first program's prices
    MARGIN = 1  # z, in standard errors
    ERROR = 2  # se, the standard error of the revenue under the average plan


class PairScratch(enum.IntEnum):
    """What is computed per pair."""

    MEAN = 0  # shrunk
    PULLS = 1  # n + tau
    INVERSE = 2  # of that, as dividing takes long
    REVENUE = 3  # the mean less its share of the margin
    BONUS = 4
    REACH = 5  # the square of a radius, in units of sigma, but for `exploration` and the logarithm of the price
    COUNTED = 6  # what the logarithm of visits per play counts for, before there are many visits
    # Of each context, in the first row:
    VISITS = 7  # N
    OF_VISITS = 8  # log(1 + N)
    # What COUNTED was computed from, besides N: few change in a round.
    COUNTED_REWARDS = 9
    COUNTED_PRIOR = 10
    # Of each pair again.
    FIRST = 11  # the first program's plan, where plans stand for many rounds


class FloorScratch(enum.IntEnum):
    """What is computed per floor."""

    FLOOR = 0  # with the margin of a group
    PRICE = 1  # of the first program
    ODDS = 2  # of the margins
    MARGIN = 3  # the best one by the averages
    LEFT_OUT = 4  # the margin before it was left out


class ArmScratch(enum.IntEnum):
    """What is computed per arm."""

    PRICE = 0  # of the first program, of all its floors together


@rare_kernel
def shrink(learner, t):
    """Refresh the centre of the means and what it counts for: the noise over the spread of the means, 1 at most."""
    by_pair, available = learner.statistics.by_pair, learner.problem.available
    totals = learner.memory.totals
    noise = learner.settings[0].noise_scale ** 2
    n_arms, n_contexts = available.shape
    count = 0
    centre = 0.0
    for arm in range(n_arms):
        for context in range(n_contexts):
            if available[arm, context] and by_pair[ByPair.PULLS, arm, context] > 0.0:
                count += 1
                centre += by_pair[ByPair.MEAN, arm, context]
    centre /= max(count, 1)
    spread = 4.0 * noise + centre * centre  # of one pair nothing else is known, and it must be in the unit of rewards
    if count > 1:
        spread = 0.0
        for arm in range(n_arms):
            for context in range(n_contexts):
                if available[arm, context] and by_pair[ByPair.PULLS, arm, context] > 0.0:
                    off = by_pair[ByPair.MEAN, arm, context] - centre
                    spread += off * off - noise / by_pair[ByPair.PULLS, arm, context]
        spread = max(spread / (count - 1), noise)
    totals[Total.CENTRE] = centre
    totals[Total.PRIOR] = noise / spread if spread > 0.0 else 1.0
    totals[Total.REFRESHED] = t


@kernel
def write_means(learner):
    """Write the shrunk means, their pulls, and the revenues that the floors count: less their share of the margin."""
    by_pair, memory = learner.statistics.by_pair, learner.memory
    mean, pulls = memory.scratch_by_pair[PairScratch.MEAN], memory.scratch_by_pair[PairScratch.PULLS]
    inverses, revenue = memory.scratch_by_pair[PairScratch.INVERSE], memory.scratch_by_pair[PairScratch.REVENUE]
    plan = memory.by_pair[ByPairRow.PLAN]
    weights = learner.problem.context_probabilities
    noise = learner.settings[0].noise_scale ** 2
    centre = memory.totals[Total.CENTRE]
    prior = min(max(memory.totals[Total.PRIOR], LEAST_PRIOR), MOST_PRIOR)
    n_arms, n_contexts = mean.shape
    head_start = MEAN_HEAD_START * (learner.settings[0].noise_scale + abs(centre)) / mean.size
    for arm in range(n_arms):
        error = memory.by_floor[ByFloor.ERROR, arm]
        taken = memory.by_floor[ByFloor.MARGIN, arm] * noise / error if error > 0.0 else 0.0
        for context in range(n_contexts):
            n = by_pair[ByPair.PULLS, arm, context]
            own = by_pair[ByPair.MEAN, arm, context]
            # A pair never played has n = 0 and a mean of 0.
            total = n + prior
            inverse = 1.0 / total
            shrunk = own + prior * inverse * (centre - own)
            if n == 0.0:
                shrunk += head_start * (arm * n_contexts + context)
            pulls[arm, context] = total
            inverses[arm, context] = inverse
            mean[arm, context] = shrunk
            revenue[arm, context] = shrunk - taken * weights[context] * plan[arm, context] * inverse


@kernel
def write_floors(learner):
    """Write the floors to plan with: a group's margin is added to it, less what its members' own take already."""
    floors, arm_rows, memory = learner.problem.floors, learner.problem.arm_rows, learner.memory
    written = memory.scratch_by_floor[FloorScratch.FLOOR]
    n_arms = arm_rows.shape[0]
    for row in range(floors.shape[0]):
        written[row] = floors[row]
        if row >= n_arms and floors[row] != NO_FLOOR:
            written[row] += memory.by_floor[ByFloor.MARGIN, row] * memory.by_floor[ByFloor.ERROR, row]
    for arm in range(n_arms):
        own = memory.by_floor[ByFloor.MARGIN, arm] * memory.by_floor[ByFloor.ERROR, arm]
        for place in range(arm_rows.shape[1]):
            row = arm_rows[arm, place] - 1
            if row >= n_arms and floors[row] != NO_FLOOR:
                written[row] -= own


@kernel
def counted(logarithm, inverse):
    """What L = log(1 + N / n) counts for before there are many visits: L + h (L - LEFT_ALONE)_+.

    h is 1 of a pair with at most FEW_PLAYS plays, beyond that FEW_PLAYS / n.
    """
    return logarithm + max(logarithm - LEFT_ALONE, 0.0) * min(FEW_PLAYS * inverse, 1.0)


@kernel
def counted_with_visits(found, of_visits, of_price):
    """What it counts for in the end.

    `of_visits` is log(1 + N), `of_price` the logarithm of the dearest price, times `price_reach`.
    """
    more = found + GAIN * max(of_visits + SOONER * of_price - MANY_VISITS, 0.0)
    return min(more, max(MOST_LOGARITHMS * of_visits, found))


@kernel
def write_counted(learner, t):
    """Write what log(1 + N / n) counts for, and log(1 + N), of the pairs of contexts where N or n moved.

    N are the visits of a context or, where rewards came without a decision, as those of a log, at least these. A prior
    counts for pulls that nobody made; no context has more rewards than there were rounds.
    """
    by_pair, scratch = learner.statistics.by_pair, learner.memory.scratch_by_pair
    visits, of_visits = scratch[PairScratch.VISITS, 0], scratch[PairScratch.OF_VISITS, 0]
    inverses, found = scratch[PairScratch.INVERSE], scratch[PairScratch.COUNTED]
    prior = learner.memory.totals[Total.PRIOR]
    forgets = len(learner.past) > 0  # one reward may leave as another comes
    n_arms, n_contexts = learner.allocation.shape
    for context in range(n_contexts):
        rewards = 0.0
        for arm in range(n_arms):
            rewards += by_pair[ByPair.PULLS, arm, context]
        seen = max(learner.statistics.context_counts[context], min(rewards, t))
        moved = (seen != visits[context]) | (rewards != scratch[PairScratch.COUNTED_REWARDS, 0, context])
        if moved | (prior != scratch[PairScratch.COUNTED_PRIOR, 0, context]) | forgets:
            visits[context] = seen
            scratch[PairScratch.COUNTED_REWARDS, 0, context] = rewards
            scratch[PairScratch.COUNTED_PRIOR, 0, context] = prior
            # Where rewards are forgotten, visits of long ago have taught nothing that is still known.
            of_visits[context] = 0.0 if forgets else math.log(1.0 + seen)
            for arm in range(n_arms):
                inverse = inverses[arm, context]
                found[arm, context] = counted(math.log(1.0 + seen * inverse), inverse)


@kernel
def write_bonus(learner, t, exploration, dearest, whole):
    """Write (1 + price of the arm's floors) / A times a radius of `exploration` x, or the `whole` one; A is `dearest`.

    The radius is sigma sqrt(2 (x^2 L + log A) / n), with L = log(1 + N / n) or more (`counted_with_visits`), and
    `price_reach` log A. A pair that was unlucky is kept away with a probability of about exp(-x^2 L), at up to A times
    what trying it would cost: log A makes that probability A times smaller.
    """
    scratch = learner.memory.scratch_by_pair
    n_arms, n_contexts = learner.allocation.shape
    noise_scale = learner.settings[0].noise_scale
    logarithm = 0.0  # that few rounds need
    of_price = learner.dials[0].price_reach * math.log(dearest)
    further = 2.0 * of_price
    square = exploration * exploration
    step = BONUS_HEAD_START / learner.allocation.size
    write_counted(learner, t)
    for arm in range(n_arms):
        factor = (1.0 + price_of_arm(learner.planner, arm)) * noise_scale / dearest
        for context in range(n_contexts):
            inverse = scratch[PairScratch.INVERSE, arm, context]
            if whole or learner.statistics.by_pair[ByPair.PULLS, arm, context] == 0.0:
                if logarithm == 0.0:
                    logarithm = 2.0 * math.log(2.0 * learner.allocation.size * t)
                reach = logarithm * inverse
            else:
                found = scratch[PairScratch.COUNTED, arm, context]
                of_visits = scratch[PairScratch.OF_VISITS, 0, context]
                reach = 2.0 * counted_with_visits(found, of_visits, of_price) * inverse
            scratch[PairScratch.REACH, arm, context] = reach
            head_start = 1.0 + step * (arm * n_contexts + context)
            scratch[PairScratch.BONUS, arm, context] = (
                factor * math.sqrt(square * reach + further * inverse) * head_start
            )


@kernel
def program_of_pair(learner, objective, root):
    """The program with this objective and root, and the floors and revenues that were written."""
    problem, memory = learner.problem, learner.memory
    return Program(
        objective,
        memory.scratch_by_pair[PairScratch.REVENUE],
        root,
        learner.planner.lean,
        problem.context_probabilities,
        learner.statistics.changed,
        problem.available,
        memory.scratch_by_floor[FloorScratch.FLOOR],
        problem.arm_rows,
    )


@kernel
def shortfall_price(t, weight):
    """M of round t. As it grows, no floor that can be met is too dear for ever, and no weight is in vain."""
    return max(MOST_SHORTFALL_PRICE, SHORTFALL_WEIGHTS * weight) * (1.0 + math.log(t))


@kernel
def plan_first(learner, t):
    """Solve the first program: (PlanStatus, revenue F, whether a floor is short). Its prices are written down."""
    planner, memory = learner.planner, learner.memory
    means = memory.scratch_by_pair[PairScratch.MEAN]
    program = program_of_pair(learner, means, means)
    set_leans(planner, 0.0, 0.0)
    if measures_now(planner) or learner.progress[Progress.ALL_PLAYED] == 0:
        measure_scales(program, True, planner.workspace)
    basis = basis_of(planner, SoftPlace.FIRST)
    most = shortfall_price(t, learner.dials[0].violation_weight)
    status = plan_softly(program, basis, most, planner.workspace, learner.allocation)
    for row in range(program.floors.shape[0]):
        memory.scratch_by_floor[FloorScratch.PRICE, row] = min(max(price_of_row(planner, row), 0.0), most)
    earned = total_of(means, program.weights, basis, planner.workspace)
    return status, earned, is_short(program, basis, planner.workspace)


@kernel
def leave_margins_out(learner):
    """Set margins above zero to zero, of all floors; return whether that changes the program."""
    errors, margins = learner.memory.by_floor[ByFloor.ERROR], learner.memory.by_floor[ByFloor.MARGIN]
    left_out = learner.memory.scratch_by_floor[FloorScratch.LEFT_OUT]
    found = False
    for row in range(margins.shape[0]):
        left_out[row] = margins[row]
        if margins[row] > 0.0:
            found |= errors[row] > 0.0
            margins[row] = 0.0
    return found


@rare_kernel
def put_margins_back(learner):
    """Undo `leave_margins_out`."""
    margins = learner.memory.by_floor[ByFloor.MARGIN]
    for row in range(margins.shape[0]):
        margins[row] = learner.memory.scratch_by_floor[FloorScratch.LEFT_OUT, row]


@rare_kernel
def plan_with_other_margins(learner, t):
    """Plan as `plan_first` does, after margins have changed."""
    write_means(learner)
    write_floors(learner)
    return plan_first(learner, t)


@kernel
def moved(average, share, target, unit):
    """An average after it moved by `share` of the way to a target; zero if it is next to nothing in its unit."""
    after = average + share * (target - average)
    return after if abs(after) > LEAST_AVERAGE * unit else 0.0


@kernel
def share_of_rounds(share, rounds):
    """The share of what stands for so many rounds, where that of one round is given."""
    return 1.0 - (1.0 - share) ** rounds if rounds > 1.0 else share


@kernel
def keep_plan(learner, share, short):
    """Move the averages of plan and prices towards the first program's."""
    planner, memory = learner.planner, learner.memory
    plan, prices = memory.by_pair[ByPairRow.PLAN], memory.by_floor[ByFloor.PRICE]
    n_arms, n_contexts = plan.shape
    for row in range(prices.shape[0]):
        target = memory.scratch_by_floor[FloorScratch.PRICE, row]
        if short:
            target = min(target, MOST_OF_MISSED * max(prices[row], learner.dials[0].violation_weight))
        prices[row] = moved(prices[row], share, target, 1.0)
    for arm in range(n_arms):
        for context in range(n_contexts):
            kept = plan[arm, context] * (1.0 - share)
            plan[arm, context] = kept if kept > LEAST_AVERAGE else 0.0
    add_shares(basis_of(planner, SoftPlace.FIRST), planner.workspace, share, plan)


@kernel
def write_errors(learner):
    """Write the standard error of each floor's revenue under the average plan."""
    memory, problem = learner.memory, learner.problem
    plan, inverses = memory.by_pair[ByPairRow.PLAN], memory.scratch_by_pair[PairScratch.INVERSE]
    weights, errors = problem.context_probabilities, memory.by_floor[ByFloor.ERROR]
    n_arms, n_contexts = plan.shape
    for row in range(errors.shape[0]):
        errors[row] = 0.0
    for arm in range(n_arms):
        variance = 0.0
        for context in range(n_contexts):
            played = weights[context] * plan[arm, context]
            variance += played * played * inverses[arm, context]
        for place in range(problem.arm_rows.shape[1]):
            row = problem.arm_rows[arm, place] - 1
            if row >= 0:
                errors[row] += variance
    noise_scale = learner.settings[0].noise_scale
    for row in range(errors.shape[0]):
        errors[row] = noise_scale * math.sqrt(errors[row])


@kernel
def set_margins(learner, share, cost, rounds):
    """Move the average of what exploring costs, and set the margins that follow from all averages.

    They rise slowly, for the rounds since they were last set.
    """
    memory = learner.memory
    totals = memory.totals
    best, margins = memory.scratch_by_floor[FloorScratch.MARGIN], memory.by_floor[ByFloor.MARGIN]
    write_errors(learner)
    totals[Total.EXPLORING] = moved(totals[Total.EXPLORING], share, cost, learner.settings[0].noise_scale)
    totals[Total.QUANTILE] = write_margins(
        memory.by_floor[ByFloor.PRICE],
        memory.by_floor[ByFloor.ERROR],
        learner.problem.floors,
        totals[Total.EXPLORING],
        learner.dials[0].violation_weight,
        learner.dials[0].price_caution,
        totals[Total.QUANTILE],
        memory.scratch_by_floor[FloorScratch.ODDS],
        best,
    )
    rise = MOST_RISE * share_of_rounds(USUAL_MEMORY, rounds)
    for row in range(margins.shape[0]):
        margins[row] = min(best[row], max(margins[row], 0.0) + rise)


@rare_kernel
def plan_short(learner, t):
    """Plan where the first program misses a floor: by full radii, as what is not known may earn what is missing.

    Whether floors are out of reach even by optimistic bounds is found out besides, and told. Return an Outcome.
    """
    planner, memory = learner.planner, learner.memory
    bonus = memory.scratch_by_pair[PairScratch.BONUS]
    write_bonus(learner, t, 1.0, 1.0, True)
    forget_allocation(planner)
    forget_order(planner.soft.upper)
    share_out = len(planner.shared) > 0
    reach = plan_with_bounds(learner, t, Place.FALLBACK.value, 1.0, 1.0, share_out)
    forget_allocation(planner)
    forget_order(planner.workspace)
    outcome = Outcome.FELL_BACK.value
    if reach == PlanStatus.INFEASIBLE:
        outcome |= Outcome.FELL_SHORT.value
        if share_out:
            return outcome
    program = program_of_pair(learner, bonus, memory.scratch_by_pair[PairScratch.MEAN])
    set_leans(planner, 1.0, 0.0)
    copy_row_scales(planner.workspace, planner.soft.lower)
    basis = basis_of(planner, SoftPlace.LOWER)
    most = shortfall_price(t, learner.dials[0].violation_weight)
    status = plan_softly(program, basis, most, planner.soft.lower, learner.allocation)
    if status != PlanStatus.OPTIMAL:
        play_alike(learner.problem.available, learner.allocation)
        return outcome | Outcome.STOOD_STILL.value
    write_allocation(basis, False, planner.soft.lower, learner.allocation)
    return outcome


@kernel
def plan_second(learner, t, earned):
    """Plan what explores most at the least cost in revenue and floors: (Outcome, what exploring costs)."""
    planner, memory = learner.planner, learner.memory
    prices, weight = memory.scratch_by_floor[FloorScratch.PRICE], learner.dials[0].violation_weight
    dearest = 1.0
    for row in range(prices.shape[0]):
        dearest = max(dearest, prices[row] / weight)
    write_bonus(learner, t, learner.dials[0].exploration, dearest, False)
    means = memory.scratch_by_pair[PairScratch.MEAN]
    program = program_of_pair(learner, memory.scratch_by_pair[PairScratch.BONUS], means)
    set_leans(planner, 1.0, 0.0)
    soft = planner.soft
    copy_row_scales(planner.workspace, soft.upper)
    copy_row_scales(planner.workspace, soft.lower)
    upper, lower = basis_of(planner, SoftPlace.UPPER), basis_of(planner, SoftPlace.LOWER)
    first = basis_of(planner, SoftPlace.FIRST)
    status, lies, share = explore_most(
        program,
        earned,
        int(memory.totals[Total.LIES]),
        prices,
        first,
        planner.workspace,
        upper,
        lower,
        soft,
        learner.allocation,
        weight,
    )
    memory.totals[Total.LIES] = lies
    if status != PlanStatus.OPTIMAL:
        memory.totals[Total.LIES] = Lies.ON_FIRST.value
        play_alike(learner.problem.available, learner.allocation)
        return Outcome.STOOD_STILL.value, 0.0
    if lies == Lies.ON_FIRST:
        write_allocation(first, False, planner.workspace, learner.allocation)
        return Outcome.PLANNED.value, 0.0
    write_between(upper, soft.upper, lower, soft.lower, share, learner.allocation)
    revenue = share * total_of(means, program.weights, upper, soft.upper)
    surplus = share * total_surplus(prices, upper, soft.upper)
    if share < 1.0:
        revenue += (1.0 - share) * total_of(means, program.weights, lower, soft.lower)
        surplus += (1.0 - share) * total_surplus(prices, lower, soft.lower)
    return Outcome.PLANNED.value, max(0.0, earned - revenue - surplus)


@kernel
def write_arm_prices(learner, prices):
    """Write the first program's prices by arm, shape (K,)."""
    spread_over_arms(learner.problem, learner.memory.scratch_by_floor[FloorScratch.PRICE], prices)


@kernel
def worth_of(learner, prices, arm, context):
    """What a play of a pair is worth by its mean, at prices of arms, shape (K,)."""
    return (1.0 + prices[arm]) * learner.memory.scratch_by_pair[PairScratch.MEAN, arm, context]


@kernel
def is_worth_a_try(learner, prices, arm, context, best, factor):
    """Whether a pair is worth as much as the `best`, if its mean is raised by a factor over the root of its plays."""
    inverse = learner.memory.scratch_by_pair[PairScratch.INVERSE, arm, context]
    hoped = worth_of(learner, prices, arm, context) + (1.0 + prices[arm]) * factor * math.sqrt(inverse)
    return hoped >= best


@kernel
def least_count(learner, t):
    """The plays below which a pair has too few."""
    return learner.dials[0].count_floor * math.log(1.0 + t) ** 2


@kernel
def count_factor(learner, t):
    """What is added, over the root of its plays, to the mean of a pair with too few plays that could be worth one."""
    return learner.dials[0].count_reach * radius_factor(learner.allocation.size, t, learner.settings[0].noise_scale)


@kernel
def has_few(learner, least):
    """Whether a pair has less than `least` plays, be it available or not."""
    pulls = learner.statistics.by_pair[ByPair.PULLS]
    few = False
    for arm in range(pulls.shape[0]):
        for context in range(pulls.shape[1]):
            few |= pulls[arm, context] < least
    return few


@kernel
def hold_counts(learner, t, least, part):
    """In contexts with pairs that have too few plays, and could be worth one, play one of these in a part of rounds.

    Too few are less than `least`. A pair could be worth a play if, with `count_reach` confidence radii added, it is
    worth as much at the first program's prices as any other is by its mean.
    """
    by_pair, available, allocation = learner.statistics.by_pair, learner.problem.available, learner.allocation
    factor = count_factor(learner, t)
    prices = learner.memory.scratch_by_arm[ArmScratch.PRICE]
    write_arm_prices(learner, prices)
    n_arms, n_contexts = allocation.shape
    for context in range(n_contexts):
        best = -math.inf
        few = False
        for arm in range(n_arms):
            if available[arm, context]:
                best = max(best, worth_of(learner, prices, arm, context))
                few |= by_pair[ByPair.PULLS, arm, context] < least
        count = 0
        for arm in range(n_arms if few else 0):
            if available[arm, context] and by_pair[ByPair.PULLS, arm, context] < least:
                count += 1 if is_worth_a_try(learner, prices, arm, context, best, factor) else 0
        for arm in range(n_arms if count > 0 else 0):
            held = available[arm, context] and by_pair[ByPair.PULLS, arm, context] < least
            held = held and is_worth_a_try(learner, prices, arm, context, best, factor)
            allocation[arm, context] *= 1.0 - part
            allocation[arm, context] += part / count if held else 0.0


@kernel
def keep_first_plan(learner):
    """Write down the first program's plan, before its workspace is used for other bases."""
    first = basis_of(learner.planner, SoftPlace.FIRST)
    written = learner.memory.scratch_by_pair[PairScratch.FIRST]
    write_allocation(first, False, learner.planner.workspace, written)


@kernel
def rounds_to_stand(settings, stood):
    """For how many rounds a plan will stand, as far as is known: as many as the last one stood, or as `replan` says.

    A plan that was made soon after another, as the problem had changed, stands for long all the same.
    """
    replan = settings[0].replan
    return max(stood, float(replan)) if replan > 0 else stood


@rare_kernel
def explore_in_proportion(learner, rounds):
    """Mix a plan that stands for many `rounds` with the first program's, so that it explores no more than is of use.

    A plan gives a pair whole contexts to explore it, for a round is next to nothing. Many rounds are not: no pair shall
    get more plays, beyond those of the first program's plan, than it has had, or one. All contexts have the same share
    of either plan, so that floors which both keep are kept.
    """
    allocation, pulls = learner.allocation, learner.statistics.by_pair[ByPair.PULLS]
    first, weights = learner.memory.scratch_by_pair[PairScratch.FIRST], learner.problem.context_probabilities
    n_arms, n_contexts = allocation.shape
    share = 1.0
    for arm in range(n_arms):
        for context in range(n_contexts):
            more = (allocation[arm, context] - first[arm, context]) * weights[context] * rounds
            most = max(1.0, pulls[arm, context])
            if more * share > most:
                share = most / more
    for arm in range(n_arms):
        for context in range(n_contexts):
            allocation[arm, context] = share * allocation[arm, context] + (1.0 - share) * first[arm, context]


@rare_kernel
def only_explore(learner, t):
    """Find out whether floors are out of reach even by optimistic bounds, and no more; return an Outcome."""
    planner = learner.planner
    forget_allocation(planner)
    forget_order(planner.workspace)
    forget_order(planner.soft.upper)
    reach = plan_with_bounds(learner, t, Place.FALLBACK.value, 1.0, 1.0, False)
    forget_allocation(planner)
    forget_order(planner.workspace)
    outcome = Outcome.FELL_BACK | Outcome.FELL_SHORT if reach == PlanStatus.INFEASIBLE else Outcome.PLANNED.value
    return outcome | explore(learner)


@kernel
def allocate(learner, context, t, stream):
    """Plan by the means, then what explores most at the least cost, and set the margins of the next round."""
    memory, dials = learner.memory, learner.dials[0]
    begin_planning(learner)
    if explores_everywhere(learner):
        return only_explore(learner, t)
    if t <= ROUNDS_TO_SHRINK or t - memory.totals[Total.REFRESHED] >= ROUNDS_BETWEEN:
        shrink(learner, t)
    write_means(learner)
    write_floors(learner)
    status, earned, short = plan_first(learner, t)
    if short and leave_margins_out(learner):
        status, earned, short = plan_with_other_margins(learner, t)
        if short:
            # It is not for a margin that some floor is missed: the others keep theirs.
            put_margins_back(learner)
            status, earned, short = plan_with_other_margins(learner, t)
    if status != PlanStatus.OPTIMAL:
        forget_order(learner.planner.workspace)
        play_alike(learner.problem.available, learner.allocation)
        return Outcome.STOOD_STILL.value | explore(learner)
    stood = t - memory.totals[Total.MOVED]
    moves = t <= ROUNDS_TO_SHRINK or stood >= ROUNDS_PER_MOVE
    # The first plan that stands is made from little, and better for exploring in all of its rounds.
    on_cadence = stood > ROUNDS_PER_MOVE
    stands = rounds_to_stand(learner.settings, stood) if on_cadence else stood
    share = 0.0
    part = 1.0
    if moves:
        # A plan that stands for many rounds does not play what has too few plays in all of them.
        part = ROUNDS_PER_MOVE / max(stands, ROUNDS_PER_MOVE)
        share = share_of_rounds(dials.price_memory, stood)
        memory.totals[Total.MOVED] = t
        keep_plan(learner, share, short)
        if on_cadence:
            keep_first_plan(learner)
    cost = 0.0
    if short:
        outcome = plan_short(learner, t)
    else:
        outcome, cost = plan_second(learner, t, earned)
    # Shares of floors that cannot be met are not to be changed.
    if on_cadence and not outcome & (Outcome.FELL_SHORT | Outcome.STOOD_STILL):
        explore_in_proportion(learner, stands)
    if moves:
        set_margins(learner, share, cost, stood)
    outcome |= explore(learner)
    if (
        moves
        and dials.count_floor > 0.0
        and (learner.progress[Progress.ALL_PLAYED] != 0 or have_all_that_come(learner))
    ):
        least = least_count(learner, t)
        if has_few(learner, least):
            hold_counts(learner, t, least, part)
    return outcome


class PricedLP(Policy):
    """Plan by means, with margins and bonuses that the prices of the floors set. The one to start with.

    A margin on a floor costs its price in revenue where it was not needed, and a lack of one costs a violation: the
    margins are a newsvendor's [arrow1951], which weighs the two, with `violation_weight` on the second. What is learnt
    of a pair counts once in revenue and at its floor's price in the floor, so its bonus is that many radii, times
    `exploration`. A second plan takes as much of this bonus as it can where each unit of revenue that it gives up costs
    one, and each unit of a floor the weight. Prices, plans and what exploring costs are averages, to which a round adds
    the share `price_memory`.

    Where a floor is dear, radii are larger by `price_reach` logarithms of the price, so that bad luck with the rewards
    of its arm does not last, and the price counts to the power of 1 + `price_caution` in its margin, so that bad runs
    are rarer. At a weight of 1, floors with prices above 1 are planned to be missed a little, as that costs less than
    it earns; where promises must be kept, raise the weight. An unlucky first reward does not keep a pair away for long:
    one that by `count_reach` confidence radii could be worth a play has at least `count_floor` log(1 + t)^2 of them;
    with many visits of a context its radii grow to those of an ordinary bandit. Margins that the means cannot earn are
    left out where the means can meet the floors without them. If they cannot, floors are planned for with optimism; if
    even optimistic bounds cannot, that is reported as by any rule that plans, and `when_infeasible="same_share"` shares
    them out.

    >>> policy = PricedLP([0.1, 0.1], [0.5, 0.5], noise_scale=0.1, seed=1)
    >>> for round_number in range(500):
    ...     context = round_number % 2
    ...     decision = policy.decide(context)
    ...     policy.update(context, decision.arm, 1.0 if decision.arm == context else 0.5)
    >>> policy.allocation().round(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    name = "priced-lp"
    reference = "arrow1951"
    allocate = staticmethod(allocate)
    plans = True
    soft_floors = True
    keeps_averages = True
    proven = OF_SOFT_FLOORS
    rows = Rows(
        by_pair=ByPairRow,
        totals=Total,
        scratch_by_pair=PairScratch,
        scratch_by_arm=ArmScratch,
        by_floor=ByFloor,
        scratch_by_floor=FloorScratch,
    )
    dials = (
        Dial("exploration", math.sqrt(0.5), "radii in the bonus of a pair without a priced floor", low=0.0, high=10.0),
        Dial("violation_weight", 1.0, "what a unit of violation costs, in units of regret", low=1e-3, high=1e6),
        Dial("price_memory", USUAL_MEMORY, "share of a round in the averages of prices and plans", low=1e-6, high=1.0),
        Dial(
            "price_reach",
            1.0,
            "logarithms of the dearest price in the radii of a bonus",
            low=0.0,
            high=100.0,
            since=4,
            before=0.0,
        ),
        Dial(
            "price_caution",
            0.2,
            "power beyond 1 of a dear floor's price in its margin",
            low=0.0,
            high=10.0,
            since=4,
            before=0.0,
        ),
        Dial("count_floor", 0.02, "plays of each pair that could be worth one, per log(1 + t)^2", low=0.0, high=10.0),
        Dial("count_reach", 0.5, "confidence radii by which a pair could be worth a play", low=0.0, high=1e9),
    )

    if TYPE_CHECKING:

        def __init__(
            self,
            revenue_floors: Column | None = None,
            context_probabilities: Column | None = None,
            **settings: Unpack[PricedLPSettings],
        ) -> None: ...
