"""What must hold, as ratios within a turn: the median over the turns counts."""

from collections.abc import Callable
from typing import Any, NamedTuple

from benchmarks.measure import Spread
from benchmarks.service.load import Seen

Turn = dict[str, Any]


class Row(NamedTuple):
    """A requirement and what came of it; `kept` is None where nothing is required."""

    what: str
    required: str
    measured: str
    kept: bool | None
    values: list[float]


def rate(seen: Seen) -> float:
    return seen.answers / seen.seconds


class Ratio(NamedTuple):
    """Something measured in each turn that must be at least, or at most, so much."""

    what: str
    needs: tuple[str, ...]  # what the turn must have
    value: Callable[[Turn], float]
    at_least: float | None = None
    at_most: float | None = None

    def row(self, turns: list[Turn]) -> Row | None:
        """What came of it; None if this run cannot tell."""
        if any(name not in one for name in self.needs for one in turns):
            return None
        values = [self.value(one) for one in turns]
        spread = Spread.of(values)
        kept = None
        required = ""
        if self.at_least is not None:
            required, kept = f"at least {self.at_least:.2f}", spread.median >= self.at_least
        if self.at_most is not None:
            required, kept = f"at most {self.at_most:.2f}", spread.median <= self.at_most
        measured = f"{spread.median:.3f}\n{spread.lower_quartile:.3f} to {spread.upper_quartile:.3f}"
        return Row(self.what, required, measured, kept, values)


def rate_ratio(what: str, ours: str, other: str, at_least: float) -> Ratio:
    return Ratio(what, (ours, other), lambda turn: rate(turn[ours]) / rate(turn[other]), at_least=at_least)


def p99_ratio(what: str, ours: str, other: str, at_most: float | None) -> Ratio:
    return Ratio(
        what,
        (ours, other),
        lambda turn: turn[ours].milliseconds["99"] / turn[other].milliseconds["99"],
        at_most=at_most,
    )


def fsyncs_added(turn: Turn) -> float:
    """What durability adds to the median of a single connection, in fsyncs of the same disk."""
    added: float = turn["sqlite alone"].milliseconds["50"] - turn["bare alone"].milliseconds["50"]
    return added / float(turn["fsync"])


RATIOS = (
    rate_ratio("SQLite, 64 connections: decisions per second, to a bare handler", "sqlite", "bare", 0.50),
    rate_ratio("… to a bare FastAPI endpoint with models", "sqlite", "fastapi", 2.0),
    p99_ratio("… p99, to a bare handler", "sqlite", "bare", 2.0),
    rate_ratio("SQLite, decisions and rewards, a fifth repeated, to a bare handler", "sqlite mixed", "bare", 0.40),
    rate_ratio("PostgreSQL, 64 connections: decisions per second, to a bare handler", "postgres", "bare", 0.50),
    Ratio(
        "SQLite, one connection: p50 beyond a bare handler's, in fsyncs",
        ("sqlite alone", "bare alone"),
        fsyncs_added,
        at_most=3.0,
    ),
    p99_ratio("SQLite, 1,000 connections: p99 of accepted, to that of 64", "sqlite crowd", "sqlite", 10.0),
    p99_ratio("… if those turned away do not wait as they are told", "sqlite mob", "sqlite", None),
    p99_ratio("10,000 variables planned every second: p99, to without", "planner on", "planner off", 1.25),
)


def none_of(what: str, turns: list[Turn], count: Callable[[Turn], int]) -> Row:
    """Something that must never happen."""
    counts = [float(count(one)) for one in turns]
    return Row(what, "none", f"{sum(counts):,.0f}", not any(counts), counts)


def rows(turns: list[Turn]) -> list[Row]:
    """Every requirement that this run can speak to."""
    found = [row for ratio in RATIOS if (row := ratio.row(turns)) is not None]
    for store in ("sqlite", "postgres"):
        if store not in turns[0]:
            continue
        found.append(
            none_of(
                f"{store}, mixed: differences from exact statistics",
                turns,
                lambda one, s=store: len(one[f"{s} inexact"]),
            )
        )  # type: ignore[misc]
        found.append(
            none_of(
                f"{store}, 1,000 connections: time-outs and broken connections",
                turns,
                lambda one, s=store: sum(  # type: ignore[misc]
                    one[f"{s} {who}"].timeouts + one[f"{s} {who}"].broken for who in ("crowd", "mob")
                ),
            )
        )
    return found
