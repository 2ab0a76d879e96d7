"""Files of tables."""

import polars
import pytest

from arcbandit.errors import InvalidInputError
from arcbandit.tables import read_table, write_table

COLUMNS = {"name": ["a", "b"], "values": [[1.0, 2.0], [3.0]]}


def test_a_table_is_read_as_it_was_written(tmp_path):
    """Columns and header; any Parquet reader finds the same columns."""
    path = tmp_path / "one.parquet"
    write_table(path, "log", 1, COLUMNS, {"events": 3})
    frame, header = read_table(path, "log", (1,), ("events",))
    assert frame.to_dict(as_series=False) == COLUMNS
    assert header == {"kind": "log", "version": 1, "events": 3}
    assert polars.read_parquet(path).equals(frame)


@pytest.mark.parametrize(
    ("kind", "versions", "fields", "words"),
    [
        ("trace", (1,), (), "must be a trace, but is a log; load it as one"),
        ("log", (2,), (), "The log must be of version 2, got 1"),
        ("log", (2, 3), (), "The log must be of version 2 or 3, got 1"),
        ("log", (1,), ("events", "days"), "its header has no field 'days'"),
    ],
)
def test_another_table_is_refused(kind, versions, fields, words, tmp_path):
    path = tmp_path / "one.parquet"
    write_table(path, "log", 1, COLUMNS, {"events": 3})
    with pytest.raises(InvalidInputError, match=words):
        read_table(path, kind, versions, fields)
