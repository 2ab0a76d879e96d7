"""Advice in words, for a terminal and a page."""

import math

from arcbandit.logs.advice import Advice
from arcbandit.showing import number

MOST_NAMES = 6


def in_one_sentence(advice: Advice) -> str:
    """What a manager wants to know first."""
    sure = share(advice.confidence)
    scale, value = advice.largest_scale, advice.value_without_floors
    if not advice.promises:
        if not math.isfinite(scale.low):
            return "No arm earns anything now, so there is nothing to promise."
        return (
            f"With {sure} confidence every arm can be promised {share(scale.low)} of what it earns now, all of them "
            f"together."
        )
    cost = advice.total_price
    if advice.verdict == "feasible":
        part = f", {share(cost.plain / value.plain)} of all," if value.plain > 0.0 else ""
        return (
            f"The floors can be kept, with {sure} confidence; they cost about {number(cost.plain, 3)} of revenue per "
            f"round{part} and at most {number(cost.high, 3)}, and could be {_times(scale.low)} times as high."
        )
    if advice.verdict == "infeasible":
        conflict = names(advice.conflicts)
        return (
            f"The floors of {conflict} cannot be kept together, with {sure} confidence; "
            f"{share(scale.low)} of every floor can be."
        )
    verdict = "can probably be kept" if advice.plans["plain"] is not None else "can probably not be kept"
    return (
        f"The floors {verdict}, but the log does not show it with {sure} confidence; "
        f"{share(scale.low)} of every floor can be promised."
    )


def remarks(advice: Advice) -> list[str]:
    """What must be known to read the numbers."""
    lines = []
    if advice.promises:
        sure = advice.feasibility
        if sure.feasible > 0.0:
            lines.append(f"That the floors can be met together is {_sure(sure.feasible)} sure.")
        elif sure.infeasible > 0.0:
            lines.append(f"That the floors cannot be met together is {_sure(sure.infeasible)} sure.")
        else:
            lines.append("Whether the floors can be met together cannot be told from this log.")
        if advice.verdict == "undecided" and advice.conflicts:
            lines.append(f"In conflict, by cautious bounds: {names(advice.conflicts)}.")
    unknown = int((~advice.known).sum())
    if unknown:
        lines.append(
            f"{unknown:,} of {advice.known.size:,} pairs of arm and context have fewer than "
            f"{advice.evidence.least_rows} rewards and are left out of every plan."
        )
    if advice.unknown_contexts:
        lines.append(f"Nothing is counted as earned in {names(advice.unknown_contexts)}.")
    if advice.evidence.reward_bounds is None:
        lines.append("Rewards are taken as about normal; with known bounds of rewards, intervals hold for any rewards.")
    return lines


def share(part: float) -> str:
    """A part as a percentage, rounded down, as what is promised must be.

    >>> share(0.95), share(1.0706), share(0.98765), share(0.0042)
    ('95%', '107%', '98.7%', '0.42%')
    """
    percent = 100.0 * part
    decimals = 0 if percent >= 100.0 else 1 if percent >= 1.0 else 2
    down = math.floor(percent * 10**decimals + 1e-9) / 10**decimals
    return f"{down:,.{decimals}f}".rstrip("0").rstrip(".") + "%" if decimals else f"{down:,.0f}%"


def promise(amount: float, digits: int = 3) -> float:
    """An amount that can be promised, rounded down to a few digits.

    >>> promise(0.34999), promise(1234.5), promise(0.0)
    (0.349, 1230.0, 0.0)
    """
    if not math.isfinite(amount) or amount <= 0.0:
        return amount
    decimals = digits - 1 - math.floor(math.log10(amount))
    return round(math.floor(amount * 10.0**decimals) / 10.0**decimals, max(decimals, 0))


def names(of: tuple[str, ...]) -> str:
    """Names in a sentence: a few of them, and how many more."""
    more = f" and {len(of) - MOST_NAMES:,} more" if len(of) > MOST_NAMES else ""
    return ", ".join(of[:MOST_NAMES]) + more


def told_rounds(rounds: float) -> str:
    """A number of rounds, or that a simulation was too short to see it."""
    return f"{rounds:,.0f}" if math.isfinite(rounds) else "more than simulated"


def _times(scale: float) -> str:
    return f"{math.floor(100.0 * scale) / 100.0:,.2f}"


def _sure(confidence: float) -> str:
    return "more than 99.99%" if confidence > 0.9999 else share(confidence)
