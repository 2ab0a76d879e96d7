"""The rows of a simulation's record, by name."""

import enum


class Total(enum.IntEnum):
    """Rows of `Meters.totals` and of the record: sums over the rounds so far."""

    REGRET = 0
    VIOLATION = 1
    SIGNED_REGRET = 2
    PERFORMANCE = 3
    REALISED = 4
    # Two that are computed from the others at the checkpoints.
    REGRET_PLUS_VIOLATION = 5
    SIGNED_VIOLATION = 6
    # Counts of rounds.
    OPTIMAL_SET = 7
    ON_FALLBACK = 8
    INFEASIBLE = 9
    GAVE_UP = 10
    # The audit's: rounds in which a statement of the paper applies, and those in which it does not hold.
    UNCOVERED = 11
    MATCHED_WITH_REGRET = 12
    SAFE = 13
    SAFE_WITH_VIOLATION = 14
    UNMATCHED = 15
    UNMATCHED_BELOW_GAP = 16


class FloorTotal(enum.IntEnum):
    """Rows of `Meters.by_row`, per floor: sums and worst windows so far, then what the current round needs."""

    SHORTFALL = 0
    EARNED = 1
    WORST_EXPECTED = 2
    WORST_REALISED = 3
    # Not recorded: of the current round, and of the current window.
    EXPECTED_NOW = 4
    WINDOW_EXPECTED = 5
    WINDOW_REALISED = 6


N_TOTALS = len(Total)
N_METRICS = int(Total.UNCOVERED)  # rows before the audit's, which are folded over epochs
N_BY_ROW = len(FloorTotal)
N_KINDS = int(FloorTotal.EXPECTED_NOW)  # rows of FloorTotal that are recorded
