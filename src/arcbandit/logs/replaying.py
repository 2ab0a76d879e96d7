"""What a learning policy would have earned: it plays rounds whose rewards come from a log."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import InvalidInputError
from arcbandit.estimates import student_quantile
from arcbandit.floors import GroupFloor
from arcbandit.inputs.values import listed, truth, whole
from arcbandit.logs.aggregation import STATISTICS, check_progress, with_repeats_noticed
from arcbandit.logs.bad_rows import BadRows
from arcbandit.logs.columns import wanted_columns
from arcbandit.logs.evaluation import checked_confidence
from arcbandit.logs.fitting import untaught
from arcbandit.logs.reading import statistics_of, sums_by_pair
from arcbandit.logs.rows import Rows, rows_in_order
from arcbandit.logs.sources import opened
from arcbandit.logs.statistics import LogStatistics
from arcbandit.policies.base import Policy

Floats = NDArray[np.float64]

MOST_ROWS = 10_000_000  # that are kept in memory


@dataclass(frozen=True, repr=False)
class Replay:
    """What a policy earned in the rounds that a log had rewards for.

    In round t the policy meets the t-th context of the log, chooses an arm, and gets the next reward that the log has
    of this arm in this context and that it was not given yet. The replay ends when there is none.

    >>> import pandas
    >>> log = pandas.DataFrame({"context": ["tv"] * 400, "arm": ["a", "b"] * 200, "reward": [1.0, 0.0] * 200})
    >>> found = replay(log, "blp", {"b": 0.0}, rounds=100)
    >>> found.rounds, found.logged_value, found.value, found.plays.sum().item()
    (100, 0.5, 0.99, 100)
    """

    policy: str
    arms: tuple[str, ...]
    contexts: tuple[str, ...]
    rounds: int
    rows: int  # of the log
    value: float  # revenue per round
    interval: tuple[float, float]
    arm_revenue: Floats  # shape (K,)
    arm_intervals: Floats  # shape (K, 2)
    plays: NDArray[np.int64]  # K x C
    ran_out: tuple[str, str] | None  # the pair (arm, context) whose rewards were used up; None if no context was left
    logged_value: float
    confidence: float
    bad_rows: tuple[BadRows, ...]
    learner: Policy  # as it was in the end

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON.

        >>> import pandas
        >>> log = pandas.DataFrame({"context": ["tv"] * 400, "arm": ["a", "b"] * 200, "reward": [1.0, 0.0] * 200})
        >>> replay(log, "blp", {"b": 0.0}, rounds=100).to_dict()["rounds"]
        100
        """
        return {
            "policy": self.policy,
            "arms": list(self.arms),
            "contexts": list(self.contexts),
            "rounds": self.rounds,
            "rows": self.rows,
            "value": self.value,
            "interval": [None if math.isnan(end) else end for end in self.interval],
            "arm_revenue": self.arm_revenue.tolist(),
            "arm_intervals": [
                [None if math.isnan(end) else end for end in ends] for ends in self.arm_intervals.tolist()
            ],
            "plays": self.plays.tolist(),
            "ran_out": None if self.ran_out is None else list(self.ran_out),
            "logged_value": self.logged_value,
            "confidence": self.confidence,
            "bad_rows": [bad.to_dict() for bad in self.bad_rows],
        }

    def __repr__(self) -> str:
        low, high = self.interval
        said = f"{self.value:.4g} per round ({low:.4g} to {high:.4g})"
        return f"<Replay of {self.policy}: {said}, {self.rounds:,} rounds from {self.rows:,} rows>"


def replay(
    source: Any,
    policy: Any,
    revenue_floors: Mapping[str, float] | None = None,
    *,
    table: str | None = None,
    context: str | Sequence[str] = "context",
    arm: str = "arm",
    reward: str = "reward",
    probability: str | None = None,
    timestamp: str | None = None,
    decision_id: str | None = None,
    skip_bad_rows: bool = False,
    confidence: float = 0.95,
    rounds: int | None = None,
    group_floors: Iterable[GroupFloor] = (),
    progress: bool | None = None,
    **settings: Any,
) -> Replay:
    """Let a policy learn on a log: it decides, and the rewards come from rows of the log that it was not given yet.

    `source` and the columns are as for `read_log`; rows come in the order of their timestamps. `policy` is a name or a
    configuration, which starts without knowledge, with `revenue_floors` by arm, `group_floors` and `settings` of its
    class, and plays only pairs that the log did; or a policy at work, a copy of which goes on from what it knows. It
    plays at most `rounds` rounds, and ends when a reward is wanted that the log does not have any more.

    The rewards of a pair come in the order of the log, each once, so that the policy earns what it would have earned
    had they come to it: this is right if the rewards of a pair are independent of each other and of time, and if
    whatever chose the arms of the log knew of a visitor no more than the context (`mandel2016`, queue method). It needs
    no probabilities. Rewards that run out early are those of pairs that the policy likes more than the log did, so
    results of different lengths must not be compared: give `rounds`. Intervals have the given `confidence`.

    >>> import pandas
    >>> log = pandas.DataFrame({"context": ["tv"] * 400, "arm": ["a", "b"] * 200, "reward": [1.0, 0.0] * 200})
    >>> replay(log, "blp", {"b": 0.0}, rounds=100)
    <Replay of blp(p=?): 0.99 per round (0.9702 to 1.01), 100 rounds from 400 rows>
    """
    truth("skip_bad_rows", skip_bad_rows)
    level = checked_confidence(confidence)
    most = None if rounds is None else whole("rounds", rounds, 1)
    wanted = wanted_columns(context, arm, reward, probability, timestamp, decision_id)
    check_progress(progress)
    with opened(source, table) as log:
        columns = wanted.found_in(log.table.columns)
        log = with_repeats_noticed(log, columns, progress=progress)
        summed = sums_by_pair(log, columns, STATISTICS, skip_bad_rows=skip_bad_rows, progress=progress)
        statistics = statistics_of(summed, columns)
        learner = _learner(policy, revenue_floors, group_floors, statistics, settings)
        rows = rows_in_order(log, columns, statistics.arms, statistics.contexts, MOST_ROWS)
    return _played(learner, rows, statistics, len(rows.rewards) if most is None else most, level)


def _learner(policy: Any, floors: Any, groups: Any, statistics: LogStatistics, settings: dict[str, Any]) -> Policy:
    """A copy of the policy, or a new one, which plays no pair that the log never did."""
    if not isinstance(policy, Policy):
        available = statistics.counts > 0
        return untaught(statistics, floors, policy, group_floors=groups, available=available, **settings)
    if floors is not None or settings:
        given = "revenue_floors" if floors is not None else next(iter(settings))
        raise InvalidInputError(f"{given} must not be given with a policy at work, which has its own.")
    known = {str(name) for name in policy.contexts if name not in policy.dropped_contexts}
    missing = [context for context in statistics.contexts if context not in known]
    if missing:
        raise InvalidInputError(f"policy must have every context of the log, but lacks {listed(missing)}.")
    return type(policy).restore(policy.snapshot())


def _played(policy: Policy, rows: Rows, statistics: LogStatistics, most: int, confidence: float) -> Replay:
    """Play until a reward is wanted that was given already, or nobody comes any more."""
    n_contexts = len(statistics.contexts)
    names = {str(name): name for name in policy.contexts}
    contexts = [names[context] for context in statistics.contexts]
    place_of = {arm: row for row, arm in enumerate(statistics.arms)}
    own_rows = [place_of.get(str(arm)) for arm in policy.arms]
    row_of = dict(zip(policy.arms, own_rows, strict=True))
    pairs = rows.arms * n_contexts + rows.contexts
    order = np.argsort(pairs, kind="stable")  # the rewards of each pair together, in the order of the log
    ends = np.cumsum(np.bincount(pairs, minlength=statistics.counts.size)).tolist()
    nexts = [0, *ends[:-1]]
    waiting = rows.rewards[order].tolist()
    arms: list[int] = []
    earned: list[float] = []
    ran_out = None
    for column in rows.contexts[:most].tolist():
        decision = policy.decide(contexts[column])
        row = row_of[decision.arm]
        pair = None if row is None else row * n_contexts + column
        if row is None or pair is None or nexts[pair] == ends[pair]:
            ran_out = (str(decision.arm), statistics.contexts[column])
            break
        reward = waiting[nexts[pair]]
        nexts[pair] += 1
        policy.update(contexts[column], decision.arm, reward)
        arms.append(row)
        earned.append(reward)
    if not earned:
        raise InvalidInputError(
            f"The log must have a reward of the first pair that is played, {ran_out}, but has none."
        )
    by_arm = np.zeros((len(statistics.arms) + 1, len(earned)))
    by_arm[arms, np.arange(len(earned))] = earned
    by_arm[-1] = earned
    revenue, ends_of_revenue = _means(by_arm, confidence)
    played = np.zeros(statistics.counts.shape, dtype=np.int64)
    np.add.at(played, (np.array(arms), rows.contexts[: len(arms)]), 1)
    return Replay(
        policy=policy.label,
        arms=statistics.arms,
        contexts=statistics.contexts,
        rounds=len(earned),
        rows=statistics.rows,
        value=float(revenue[-1]),
        interval=(float(ends_of_revenue[-1, 0]), float(ends_of_revenue[-1, 1])),
        arm_revenue=revenue[:-1],
        arm_intervals=ends_of_revenue[:-1],
        plays=played,
        ran_out=ran_out,
        logged_value=statistics.value,
        confidence=confidence,
        bad_rows=statistics.bad_rows,
        learner=policy,
    )


def _means(values: Floats, confidence: float) -> tuple[Floats, Floats]:
    """The means of rows, and their intervals by Student's t."""
    n = values.shape[1]
    means = values.mean(axis=1)
    if n < 2:
        return means, np.full((len(values), 2), math.nan)
    half = student_quantile(n - 1, confidence) * values.std(axis=1, ddof=1) / math.sqrt(n)
    return means, np.column_stack([means - half, means + half])
