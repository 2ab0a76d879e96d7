"""The closed-form proof that a plan is optimal, by weak duality: one pass over the problem."""

import enum
import math

from arcbandit.compilation.compile import entry_kernel, kernel
from arcbandit.kernels.coefficients import objective_of, revenue_of, spread_over_arms
from arcbandit.kernels.program import NO_FLOOR


class Sum(enum.IntEnum):
    """Rows of the scratch of `measure_errors`, one number per coupling row."""

    EARNED = 0
    TERMS = 1  # the sizes of the terms that add up to what is earned
    IN_USE = 2  # the sizes of the coefficients in use


class Error(enum.IntEnum):
    """Places of the result of `measure_errors`."""

    FLOOR = 0
    VALUE = 1
    STRICT_FLOOR = 2


@kernel
def relative(error, size):
    """An error over its size; no error is 0 of any size, and any error is infinite if its size is zero."""
    if error == 0.0:
        return 0.0
    return error / size if size > 0.0 else math.inf


@entry_kernel
def measure_errors(program, prices, allocation, rounding, by_row, arm_prices, errors):
    """Write how far an allocation, shape (K, C), is from proven optimal by prices >= 0, shape (M,).

    Error.FLOOR is the largest part of a floor that is missing. Error.VALUE is the difference between the revenue and
    the most that the prices allow, or the worth of what is missing if that is more, relative to the sizes of their
    terms. `rounding` times the size of all coefficients in use counts as size as well; Error.STRICT_FLOOR is
    Error.FLOOR without it. `by_row`, shape (3, M), and `arm_prices`, shape (K,), are scratch.
    """
    n_arms, n_contexts = program.objective.shape
    n_rows = program.floors.shape[0]
    spread_over_arms(program, prices, arm_prices)
    for row in range(n_rows):
        by_row[Sum.EARNED, row] = 0.0
        by_row[Sum.TERMS, row] = 0.0
        by_row[Sum.IN_USE, row] = 0.0
    value = 0.0
    bound = 0.0
    size = 0.0
    for context in range(n_contexts):
        best = -math.inf
        at_stake = 0.0
        for arm in range(n_arms):
            if not program.available[arm, context]:
                continue
            share = allocation[arm, context]
            objective = objective_of(program, arm, context)
            revenue = revenue_of(program, arm, context)
            best = max(best, objective + arm_prices[arm] * revenue)
            at_stake = max(at_stake, abs(objective))
            if share == 0.0:
                continue
            value += objective * share
            size += abs(objective) * share + rounding * abs(arm_prices[arm] * revenue)
            for place in range(program.arm_rows.shape[1]):
                signed = program.arm_rows[arm, place]
                if signed != 0:
                    row = abs(signed) - 1
                    by_row[Sum.EARNED, row] += revenue * share if signed > 0 else -revenue * share
                    by_row[Sum.TERMS, row] += abs(revenue) * share
                    by_row[Sum.IN_USE, row] += abs(revenue)
        bound += best
        size += rounding * at_stake
    worth_of_missing = 0.0
    errors[Error.FLOOR] = 0.0
    errors[Error.STRICT_FLOOR] = 0.0
    for row in range(n_rows):
        floor = program.floors[row]
        if floor != NO_FLOOR:
            missing = max(floor - by_row[Sum.EARNED, row], 0.0)
            error = relative(missing, abs(floor) + rounding * by_row[Sum.IN_USE, row])
            errors[Error.FLOOR] = max(errors[Error.FLOOR], error)
            errors[Error.STRICT_FLOOR] = max(errors[Error.STRICT_FLOOR], relative(missing, abs(floor)))
            worth_of_missing += prices[row] * missing
            bound -= prices[row] * floor
            size += prices[row] * (abs(floor) + by_row[Sum.TERMS, row])
    errors[Error.VALUE] = relative(max(abs(bound - value), worth_of_missing), size)
