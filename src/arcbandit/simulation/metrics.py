"""The one table of metrics: what each is called and means, where the record holds it and how charts show it."""

import enum
from typing import NamedTuple


class Total(enum.IntEnum):
    """Rows of `Meters.totals` and of the record: sums over the rounds so far."""

    REGRET = 0
    VIOLATION = 1
    SIGNED_REGRET = 2
    PERFORMANCE = 3
    REALISED = 4
    # Computed from the others at the checkpoints.
    REGRET_PLUS_VIOLATION = 5
    SIGNED_VIOLATION = 6
    # Counts of rounds.
    OPTIMAL_SET = 7
    ON_FALLBACK = 8
    INFEASIBLE = 9
    GAVE_UP = 10
    # For the audit: rounds in which a statement of the paper applies, and rounds in which it fails.
    UNCOVERED = 11
    MATCHED_WITH_REGRET = 12
    SAFE = 13
    SAFE_WITH_VIOLATION = 14
    UNMATCHED = 15
    UNMATCHED_BELOW_GAP = 16
    FELL_BACK = 17
    FELL_BACK_BELOW_MARGIN = 18
    REGRET_ABOVE_WIDTH = 19
    SHORTFALL_ABOVE_WIDTH = 20
    OUTSIDE_ITS_SET = 21
    # Beyond the paper.
    OFF_IDENTITY = 22
    ABOVE_BONUS = 23
    ABOVE_BOUND = 24


class FloorTotal(enum.IntEnum):
    """Rows of `Meters.by_row`, per floor: sums and worst windows so far, then what the current round needs."""

    SHORTFALL = 0
    EARNED = 1
    WORST_EXPECTED = 2
    WORST_REALISED = 3
    # Not recorded: for the current round and the current window.
    EXPECTED_NOW = 4
    WINDOW_EXPECTED = 5
    WINDOW_REALISED = 6


N_TOTALS = len(Total)
N_METRICS = int(Total.UNCOVERED)  # the rows folded over epochs, which come before the audit's
N_BY_ROW = len(FloorTotal)
N_KINDS = int(FloorTotal.EXPECTED_NOW)  # rows of FloorTotal that are recorded


class Kind(enum.Enum):
    """What the values of a metric are."""

    SUM = "sum over rounds"
    SHARE = "share of rounds"  # recorded as a count of rounds; only rules that plan have them
    FLOOR_SUM = "sum over rounds, per floor"
    FLOOR_WINDOW = "worst window, per floor"
    AUDIT = "count of rounds"  # what `audit` reads; not a metric of results


class Scale(enum.Enum):
    """The scales of the axes on which a metric is drawn."""

    LINEAR = "linear"
    LOG_LOG = "log-log"  # where a power is a straight line


class Drawing(NamedTuple):
    """How a chart shows a metric."""

    title: str
    axis: str  # the label of the vertical axis
    scale: Scale = Scale.LINEAR
    explained: str = ""  # added to the title in figures that have no page to explain it


class Metric(NamedTuple):
    """One metric."""

    name: str
    heading: str  # of a column of numbers
    meaning: str
    definition: str
    unit: str
    kind: Kind
    row: Total | FloorTotal
    drawing: Drawing

    @property
    def per_floor(self) -> bool:
        """Whether it has a value for each floor: arms, then groups."""
        return self.kind in (Kind.FLOOR_SUM, Kind.FLOOR_WINDOW)


_SUMMED = "revenue, summed over rounds"
_SUMMED_OVER_FLOORS = "revenue, summed over rounds and floors"
_SHARE = "share of rounds"
_WORST = "revenue per round, worst window"

_TABLE = (
    Metric(
        "regret",
        "R",
        "regret: revenue lost against the best plan, summed over the rounds in which any was lost",
        "R_T, the sum over rounds of (f* - f(w(t)))_+",
        "revenue",
        Kind.SUM,
        Total.REGRET,
        Drawing("Regret R", _SUMMED, Scale.LOG_LOG, "lost against the best plan"),
    ),
    Metric(
        "violation",
        "V",
        "violation: what the floors lacked, summed over floors and the rounds that fell short",
        "V_T, the sum over rounds and floors of (lambda_k - g_k(w(t)))_+",
        "revenue",
        Kind.SUM,
        Total.VIOLATION,
        Drawing("Violation V", _SUMMED_OVER_FLOORS, Scale.LOG_LOG, "what floors lacked"),
    ),
    Metric(
        "signed_regret",
        "signed R",
        "regret in which rounds better than the best plan make up for worse ones",
        "the sum over rounds of f* - f(w(t))",
        "revenue",
        Kind.SUM,
        Total.SIGNED_REGRET,
        Drawing("Signed regret", _SUMMED),
    ),
    Metric(
        "performance",
        "performance",
        "expected revenue of all rounds together; higher is better",
        "the sum over rounds of f(w(t))",
        "revenue",
        Kind.SUM,
        Total.PERFORMANCE,
        Drawing("Performance", _SUMMED, Scale.LINEAR, "expected revenue"),
    ),
    Metric(
        "realised_revenue",
        "realised",
        "rewards of all rounds together",
        "the sum over rounds of the reward",
        "revenue",
        Kind.SUM,
        Total.REALISED,
        Drawing("Realised revenue", _SUMMED),
    ),
    Metric(
        "regret_plus_violation",
        "R + V",
        "regret and violation together; lower is better",
        "R_T + V_T",
        "revenue",
        Kind.SUM,
        Total.REGRET_PLUS_VIOLATION,
        Drawing("R + V", _SUMMED, Scale.LOG_LOG),
    ),
    Metric(
        "signed_violation",
        "signed V",
        "violation in which a floor's better rounds make up for its worse ones",
        "the sum over floors of (the sum over rounds of lambda_k - g_k(w(t)))_+",
        "revenue",
        Kind.SUM,
        Total.SIGNED_VIOLATION,
        Drawing("Signed violation", _SUMMED_OVER_FLOORS, Scale.LOG_LOG),
    ),
    Metric(
        "optimal_set_share",
        "I_t = I*",
        "share of rounds whose plan uses the pairs that the best plan uses",
        "the share of rounds with I_t = I*",
        "share",
        Kind.SHARE,
        Total.OPTIMAL_SET,
        Drawing("Rounds with I_t = I*", _SHARE),
    ),
    Metric(
        "fallback_share",
        "fallback",
        "share of rounds planned with upper bounds, as the rule's own problem was infeasible",
        "the share of rounds planned with LP(UCB, UCB) because the rule's own problem was infeasible",
        "share",
        Kind.SHARE,
        Total.ON_FALLBACK,
        Drawing("Rounds on the fallback", _SHARE),
    ),
    Metric(
        "infeasible_share",
        "infeasible",
        "share of rounds in which no plan met every floor, even with upper bounds",
        "the share of rounds in which LP(UCB, UCB) was infeasible as well",
        "share",
        Kind.SHARE,
        Total.INFEASIBLE,
        Drawing("Rounds with floors beyond reach", _SHARE),
    ),
    Metric(
        "gave_up_share",
        "gave up",
        "share of rounds that played all arms evenly, as the planner found neither a plan nor a proof that none exists",
        "the share of rounds in which planning ended in PIVOT_LIMIT",
        "share",
        Kind.SHARE,
        Total.GAVE_UP,
        Drawing("Rounds without a plan", _SHARE),
    ),
    Metric(
        "floor_shortfall",
        "shortfall",
        "what a floor lacks over all rounds together; negative if its arms earned more",
        "the sum over rounds of lambda_k - g_k(w(t))",
        "revenue",
        Kind.FLOOR_SUM,
        FloorTotal.SHORTFALL,
        Drawing("Shortfall", _SUMMED),
    ),
    Metric(
        "floor_realised",
        "realised",
        "rewards of a floor's arms over all rounds together",
        "the sum over rounds of the reward, if a floor's arm earned it",
        "revenue",
        Kind.FLOOR_SUM,
        FloorTotal.EARNED,
        Drawing("Realised revenue", _SUMMED),
    ),
    Metric(
        "worst_window_expected",
        "expected",
        "worst shortfall per round of a floor's expected revenue over any window so far",
        "the maximum over windows of lambda_k - the mean of g_k(w(t)) over the window",
        "revenue per round",
        Kind.FLOOR_WINDOW,
        FloorTotal.WORST_EXPECTED,
        Drawing("Worst window, expected", _WORST),
    ),
    Metric(
        "worst_window_realised",
        "realised",
        "worst shortfall per round of a floor's realised revenue over any window so far",
        "the maximum over windows of lambda_k - the mean over the window of what the floor's arms earned",
        "revenue per round",
        Kind.FLOOR_WINDOW,
        FloorTotal.WORST_REALISED,
        Drawing("Worst window, realised", _WORST),
    ),
    *(
        Metric(row.name.lower(), words, meaning, meaning, "rounds", Kind.AUDIT, row, Drawing(words, "rounds"))
        for row, words, meaning in (
            (Total.UNCOVERED, "not covered", "rounds whose confidence set does not cover the means"),
            (Total.MATCHED_WITH_REGRET, "matched, with regret", "rounds with regret although I_t = I*"),
            (Total.SAFE, "safe", "rounds in which the rule's own problem was feasible"),
            (Total.SAFE_WITH_VIOLATION, "safe, with violation", "such rounds in which a floor was violated"),
            (Total.UNMATCHED, "not matched", "planned rounds in which I_t is not I*"),
            (Total.UNMATCHED_BELOW_GAP, "not matched, below gap", "such rounds whose w(t) is narrower than rho*"),
            (Total.FELL_BACK, "fell back", "rounds with the plan of LP(UCB, UCB), as the rule's own was infeasible"),
            (Total.FELL_BACK_BELOW_MARGIN, "fell back, below margin", "such rounds whose w(t) is narrower than gamma*"),
            (Total.REGRET_ABOVE_WIDTH, "regret above width", "safe rounds whose regret exceeds the width of w(t)"),
            (
                Total.SHORTFALL_ABOVE_WIDTH,
                "shortfall above width",
                "safe rounds in which a floor lacks more than the width of its part of w(t)",
            ),
            (Total.OUTSIDE_ITS_SET, "outside psi", "safe rounds whose w(t) is not in psi(width of w(t), I_t)"),
            (Total.OFF_IDENTITY, "off the identity", "rounds whose loss is not what surpluses and pairs cost"),
            (Total.ABOVE_BONUS, "above its bonus", "safe rounds that give up more than exploring is worth"),
            (Total.ABOVE_BOUND, "violation above bound", "safe rounds that violate more than the priced LP may"),
        )
    ),
)
METRICS: dict[str, Metric] = {metric.name: metric for metric in _TABLE}

# The order of rows in files that do not name them; it must not change when the enumeration above does.
UNNAMED_TOTALS = (
    "regret",
    "violation",
    "signed_regret",
    "performance",
    "realised_revenue",
    "regret_plus_violation",
    "signed_violation",
    "optimal_set_share",
    "fallback_share",
    "infeasible_share",
    "gave_up_share",
    "uncovered",
    "matched_with_regret",
    "safe",
    "safe_with_violation",
    "unmatched",
    "unmatched_below_gap",
)
UNNAMED_FLOOR_TOTALS = ("floor_shortfall", "floor_realised", "worst_window_expected", "worst_window_realised")


def metrics_of(*kinds: Kind) -> tuple[str, ...]:
    """The names of the metrics of these kinds."""
    return tuple(name for name, metric in METRICS.items() if metric.kind in kinds)


def metric_names() -> tuple[str, ...]:
    """Every metric of results."""
    return tuple(name for name, metric in METRICS.items() if metric.kind != Kind.AUDIT)


SUMS = metrics_of(Kind.SUM)
SHARES = metrics_of(Kind.SHARE)
BY_FLOOR = metrics_of(Kind.FLOOR_SUM, Kind.FLOOR_WINDOW)
