"""Reading a large log against the same sums in SQL written by hand: python -m benchmarks.log_reading.

The log is made in a temporary folder and not kept: ten Parquet files with ten contexts, a hundred arms, probabilities
and rewards, 100 million rows unless --rows says otherwise. All ways read it in turns, in this process, with DuckDB's
own settings. Two queries are written by hand: one that makes the same checks of rewards and probabilities, and one that
trusts the log. Then the same with decision ids, of which none may appear twice: two more queries by hand, too.
"""

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np

from arcbandit.logs import LogStatistics, read_log

FILES = 10
MOST = 1.3  # times the same query by hand
CHECKED = """
    SELECT context, arm, count(*), count(value), sum(value), sum(value * value)
    FROM (SELECT context, arm, CASE WHEN abs(reward) <= 1e150 AND probability > 0 AND probability <= 1 THEN reward END
          AS value FROM read_parquet('{folder}/*.parquet'))
    GROUP BY context, arm
"""
TRUSTING = """
    SELECT context, arm, count(*), count(reward), sum(reward), sum(reward * reward)
    FROM read_parquet('{folder}/*.parquet') GROUP BY context, arm
"""


RANGE = "SELECT count(id), min(id), max(id) FROM read_parquet('{folder}/*.parquet')"
DIFFERENT = "SELECT bit_count(bitstring_agg(id, {low}, {high})) FROM read_parquet('{folder}/*.parquet')"


class Comparison(NamedTuple):
    """Seconds of each way, in turns, and what reading found."""

    ours: list[float]
    checked: list[float]
    trusting: list[float]
    ours_with_ids: list[float]
    checked_with_ids: list[float]
    statistics: LogStatistics
    by_hand: list[tuple[Any, ...]]

    @property
    def ratio(self) -> float:
        """Our time over that of the same query by hand, each at its best."""
        return min(self.ours) / min(self.checked)

    @property
    def ratio_with_ids(self) -> float:
        """The same for a log with decision ids."""
        return min(self.ours_with_ids) / min(self.checked_with_ids)

    @property
    def ratio_to_trusting(self) -> float:
        """Our time over that of the query that trusts the log."""
        return min(self.ours) / min(self.trusting)


def make_log(folder: Path, rows: int, files: int = FILES) -> None:
    """Write the log, the same for the same size."""
    with duckdb.connect() as connection:
        for number in range(files):
            first, last = rows * number // files, rows * (number + 1) // files
            connection.execute(
                f"""
                COPY (SELECT i AS id, 'context ' || (hash(i) % 10) AS context,
                      'arm ' || (hash(i + 1000000007) % 100) AS arm, 0.01 AS probability,
                      (hash(i + 998244353) % 1000000) / 1e6 AS reward
                      FROM range({first}, {last}) t(i))
                TO '{folder}/{number}.parquet' (FORMAT parquet)
                """
            )


def compare(folder: Path, repeats: int) -> Comparison:
    """Read the log in all three ways, in turns."""

    def by_hand(query: str) -> list[tuple[Any, ...]]:
        with duckdb.connect() as connection:
            return connection.execute(query.format(folder=folder)).fetchall()

    ours: list[float] = []
    checked: list[float] = []
    trusting: list[float] = []
    ours_with_ids: list[float] = []
    checked_with_ids: list[float] = []

    def by_hand_with_ids() -> None:
        by_hand(CHECKED)
        [(count, low, high)] = by_hand(RANGE)
        assert by_hand(DIFFERENT.replace("{low}", str(low)).replace("{high}", str(high))) == [(count,)]

    for _ in range(repeats):
        statistics = _timed(ours, lambda: read_log(folder, progress=False))
        found = _timed(checked, lambda: by_hand(CHECKED))
        _timed(trusting, lambda: by_hand(TRUSTING))
        _timed(ours_with_ids, lambda: read_log(folder, decision_id="id", progress=False))
        _timed(checked_with_ids, by_hand_with_ids)
    return Comparison(ours, checked, trusting, ours_with_ids, checked_with_ids, statistics, found)


def _timed(times: list[float], work: Callable[[], Any]) -> Any:
    began = time.perf_counter()
    found = work()
    times.append(time.perf_counter() - began)
    return found


def agrees(comparison: Comparison) -> bool:
    """Whether the sums are the same: counts exactly, the others to 1e-12."""
    statistics = comparison.statistics
    if len(comparison.by_hand) != int((statistics.counts > 0).sum()):
        return False
    for context, arm, rows, count, total, squares in comparison.by_hand:
        at = statistics.arms.index(arm), statistics.contexts.index(context)
        close = np.allclose((statistics.sums[at], statistics.squares[at]), (total, squares), rtol=1e-12, atol=0.0)
        if not (rows == count == statistics.counts[at] and close):
            return False
    return True


def main() -> None:
    """Make the log, compare, and say by how much."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_log(folder, given.rows)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        found = compare(folder, given.repeats)
        size = sum(file.stat().st_size for file in folder.iterdir())
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{given.rows:,} rows in {size / 1e6:,.0f} MB of Parquet, duckdb {duckdb.__version__}")
    ways = {
        "read_log": found.ours,
        "same SQL": found.checked,
        "trusting SQL": found.trusting,
        "read_log, ids": found.ours_with_ids,
        "same SQL, ids": found.checked_with_ids,
    }
    for title, times in ways.items():
        print(f"{title:<15}{'  '.join(f'{one:7.3f} s' for one in times)}")
    print(f"read_log takes {found.ratio:.2f} times the same SQL, {found.ratio_to_trusting:.2f} times the trusting one")
    print(f"with decision ids it takes {found.ratio_with_ids:.2f} times the same SQL")
    print(f"largest memory {before / 1e3:,.0f} MB after the log was made, {after / 1e3:,.0f} MB after reading")
    if not agrees(found):
        sys.exit("The sums differ.")
    if max(found.ratio, found.ratio_with_ids) > MOST:
        sys.exit(f"That is more than {MOST} times.")


if __name__ == "__main__":
    main()
