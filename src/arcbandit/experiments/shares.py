"""Shares of runs, with intervals."""

import math


def wilson(count: int, runs: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share."""
    z = 1.96
    share = count / runs
    centre = (share + z * z / (2 * runs)) / (1 + z * z / runs)
    half = z / (1 + z * z / runs) * math.sqrt(share * (1 - share) / runs + z * z / (4 * runs * runs))
    return max(centre - half, 0.0), min(centre + half, 1.0)


def share_of_runs(count: int, runs: int) -> str:
    """A share with its interval, as text."""
    low, high = wilson(count, runs)
    return f"{count} of {runs:,} runs, {count / runs:.2%} ({low:.2%} to {high:.2%})"
