"""What a log says of each arm in each context."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import InvalidInputError
from arcbandit.logs.bad_rows import BadRows

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

BETWEEN_PARTS = " / "  # of a context that has several columns


@dataclass(frozen=True, eq=False, repr=False)
class LogStatistics:
    """Counts, sums and sums of squares of the rewards of a log, by arm (rows) and context (columns).

    `read_log` makes one. Arms and contexts are in the order of their names, whole numbers by size. A context made of
    several columns is named by their values, as in "phone / evening". Only good rows count; `bad_rows` says what was
    wrong with others, if they were skipped.

    >>> import pandas
    >>> from arcbandit import read_log
    >>> log = pandas.DataFrame({"context": "tv", "arm": ["a", "b"] * 2, "reward": [1.0, 0.5, 0.0, 0.5]})
    >>> statistics = read_log(log)
    >>> statistics.means.tolist(), statistics.arm_revenue.tolist(), statistics.unplayed_pairs
    ([[0.5], [0.5]], [0.25, 0.25], ())
    """

    arms: tuple[str, ...]
    contexts: tuple[str, ...]
    counts: Counts  # K x C
    sums: Floats  # K x C
    squares: Floats  # K x C
    has_probabilities: bool = False
    bad_rows: tuple[BadRows, ...] = ()
    source: str = field(default="the log")

    def __post_init__(self) -> None:
        for name in ("counts", "sums", "squares"):
            getattr(self, name).flags.writeable = False

    @property
    def rows(self) -> int:
        """How many good rows there are."""
        return int(self.counts.sum())

    @cached_property
    def context_counts(self) -> Counts:
        """How often each context came, shape (C,)."""
        counts: Counts = self.counts.sum(axis=0)
        return counts

    @cached_property
    def context_probabilities(self) -> Floats:
        """The context mix: the share of rows in each context, shape (C,)."""
        shares: Floats = self.context_counts / self.rows
        return shares

    @cached_property
    def means(self) -> Floats:
        """The mean reward of each pair, K x C; NaN for a pair that was never played."""
        nothing: Floats = np.full(self.sums.shape, math.nan)
        return np.divide(self.sums, self.counts, out=nothing, where=self.counts > 0)

    @cached_property
    def deviations(self) -> Floats:
        """The sum of squares about the mean of each pair, K x C."""
        means = np.where(self.counts > 0, self.means, 0.0)
        return np.maximum(self.squares - self.sums * means, 0.0)

    @property
    def noise_scale(self) -> float:
        """sigma: the spread of rewards about the means of their pairs, pooled; NaN if no pair has two rewards."""
        freedom = self.rows - int((self.counts > 0).sum())
        return math.sqrt(float(self.deviations.sum()) / freedom) if freedom > 0 else math.nan

    @cached_property
    def shares(self) -> Floats:
        """How the log shared out each context among the arms, K x C; each column sums to 1."""
        shares: Floats = self.counts / self.context_counts
        return shares

    @property
    def arm_revenue(self) -> Floats:
        """What each arm earned per round, shape (K,)."""
        revenue: Floats = self.sums.sum(axis=1) / self.rows
        return revenue

    @property
    def value(self) -> float:
        """What all arms earned per round."""
        return float(self.sums.sum() / self.rows)

    @property
    def unplayed_pairs(self) -> tuple[tuple[str, str], ...]:
        """The pairs (arm, context) that the log has no reward of."""
        return tuple((self.arms[arm], self.contexts[context]) for arm, context in np.argwhere(self.counts == 0))

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, arms as rows.

        >>> import pandas
        >>> from arcbandit import read_log
        >>> log = pandas.DataFrame({"context": "tv", "arm": ["a", "b"] * 2, "reward": [1.0, 0.5, 0.0, 0.5]})
        >>> read_log(log).to_dict()["counts"]
        [[2], [2]]
        """
        return {
            "arms": list(self.arms),
            "contexts": list(self.contexts),
            "counts": self.counts.tolist(),
            "sums": self.sums.tolist(),
            "squares": self.squares.tolist(),
            "rows": self.rows,
            "has_probabilities": self.has_probabilities,
            "bad_rows": [bad.to_dict() for bad in self.bad_rows],
        }

    def __repr__(self) -> str:
        shape = f"{len(self.arms)} arms x {len(self.contexts)} contexts"
        return f"<LogStatistics: {self.rows:,} rows, {shape}, {self.value:.4g} per round>"


def ordered_names(names: "set[tuple[str, ...]]") -> list[tuple[str, ...]]:
    """Names of one or more parts, in the order of the parts: by number if all of a part are whole numbers."""
    if not names:
        return []
    by_number = [all(_is_plain_number(name[part]) for name in names) for part in range(len(next(iter(names))))]

    def key(name: tuple[str, ...]) -> tuple[Any, ...]:
        return tuple(int(text) if number else text for text, number in zip(name, by_number, strict=True))

    return sorted(names, key=key)


def _is_plain_number(text: str) -> bool:
    """Whether a text is a whole number as it is usually written, so that no two texts are the same number."""
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and text == str(int(text)) if len(digits) < 19 else False


def joined_names(names: "list[tuple[str, ...]]") -> tuple[str, ...]:
    """Each name in one piece."""
    joined: dict[str, tuple[str, ...]] = {}
    for name in names:
        text = BETWEEN_PARTS.join(name)
        if text in joined:
            raise InvalidInputError(f"Two contexts must not have the same name, but {joined[text]} and {name} do.")
        joined[text] = name
    return tuple(joined)
