"""Logs of decisions that were made: read where they lie, and what follows from them.

`sources` opens a log as one Ibis table, `aggregation` reduces it to sums per arm and context in one query, `bad_rows`
says what is wrong with it (`repeats`: decision ids that appear more than once), and `reading` puts them together as
`LogStatistics`. `evidence` bounds what these leave possible, `programs` what follows for plans, and `advice` tells it.
`estimators` say what another plan would have earned, with intervals that `scarcity` stretches where few rows decide.
"""

from arcbandit.logs.bad_rows import BadRows
from arcbandit.logs.reading import read_log
from arcbandit.logs.statistics import LogStatistics

__all__ = ["BadRows", "LogStatistics", "read_log"]
