"""What is no log is refused in one sentence, and long reads say how far they are."""

import sys
import time

import duckdb
import pandas
import polars
import pytest

from arcbandit.errors import InvalidInputError, MissingExtraError
from arcbandit.logs import aggregation, read_log
from arcbandit.logs.sources import opened


@pytest.mark.parametrize(
    ("source", "match"),
    [
        ("nowhere.csv", "There is no file or folder 'nowhere.csv'"),
        ("nowhere.duckdb", "There is no file 'nowhere.duckdb'"),
        ("nowhere/*.csv", "There is no file or folder"),
        ([], "at least one file, got none"),
        (None, "must be a path or a sequence of paths"),
        (3, "must be a path"),
        (["a", 3], "must be a path"),
        ("postgresql://me:secret@127.0.0.1:1/shop", r"postgresql://127.0.0.1:1/shop cannot be reached"),
    ],
)
def test_what_is_no_log_is_refused(source, match, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInputError, match=match) as refusal:
        read_log(source)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("log.xlsx", b"", "must be a file of the kind"),
        ("log.csv", b"", None),
        ("log.csv", b"context,arm,reward\n", "at least one row"),
        ("log.csv", b"context,arm,reward\nx,a,1\nx,a\nx,a,1,5,6\n", "it has 'context,arm,reward'"),
        ("log.csv", b"context,arm,reward\n" + b"x,a,1\n" * 30_000 + b"x,a\n", "cannot be read: .* Line: 30002"),
        ("log.parquet", b"not parquet", "cannot be read"),
        ("log.duckdb", b"not a database, and long enough to be looked at" * 100, "must be a DuckDB database"),
    ],
)
def test_files_that_cannot_be_read_are_refused(name, content, match, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInputError, match=match) as refusal:
        read_log(tmp_path / name)
    assert "\n" not in str(refusal.value)


def test_folders_must_hold_files_of_one_kind(tmp_path, log):
    with pytest.raises(InvalidInputError, match="must hold files of a log"):
        read_log(tmp_path)
    log[:10].write_csv(tmp_path / "a.csv")
    log[:10].write_parquet(tmp_path / "b.parquet")
    with pytest.raises(InvalidInputError, match="all CSV or all Parquet or all NDJSON"):
        read_log(tmp_path)


def test_the_table_of_a_database_is_chosen(tmp_path, log):
    file = tmp_path / "shop.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute("CREATE TABLE one AS SELECT 'x' AS context, 'a' AS arm, 1.0 AS reward")
        connection.execute("CREATE TABLE two AS SELECT 'x' AS context, 'a' AS arm, 2.0 AS reward")
        connection.execute("CREATE SCHEMA inner_one")
        connection.execute("CREATE TABLE inner_one.three AS SELECT 'x' AS context, 'a' AS arm, 3.0 AS reward")
    for table, value in (("one", 1.0), ("two", 2.0), ("inner_one.three", 3.0)):
        assert read_log(file, table=table).value == value
    with pytest.raises(InvalidInputError, match=r"table must name the log among the tables of .*'one', 'two'"):
        read_log(file)
    with pytest.raises(InvalidInputError, match="There is no table 'three'"):
        read_log(file, table="three")
    with pytest.raises(InvalidInputError, match=r"'inner_one.four' of .* cannot be read"):
        read_log(file, table="inner_one.four")


def test_columns_of_the_same_name_are_refused():
    log = pandas.DataFrame([["x", "a", 1.0, 2.0]], columns=["context", "arm", "reward", "reward"])
    with pytest.raises(InvalidInputError, match=r"The frame of the log cannot be read: .*unique column names"):
        read_log(log)


def test_columns_of_lists_are_no_names():
    log = polars.DataFrame({"context": [["x"]], "arm": ["a"], "reward": [1.0]})
    with pytest.raises(InvalidInputError, match="context must be a column of names, but 'context' has the type"):
        read_log(log)


def test_too_many_pairs_are_refused_before_they_fill_the_memory(monkeypatch, log):
    monkeypatch.setattr(aggregation, "MOST_PAIRS", 35)
    with pytest.raises(InvalidInputError, match="at most 35 pairs of arm and context, got more: is 'arm' the column"):
        read_log(log)


def test_without_the_extra_the_error_names_it(monkeypatch, log):
    monkeypatch.setitem(sys.modules, "ibis", None)
    with pytest.raises(MissingExtraError, match=r"arcbandit\[logs\]"):
        read_log(log)


class TestProgress:
    def test_a_long_read_shows_how_far_it_is(self, log, capsys, monkeypatch):
        """The line comes from DuckDB's own count, which is made up here."""
        shares = iter([-1.0, 25.0, 50.0, *[100.0] * 1000])

        class Connection:
            def query_progress(self):
                return next(shares)

        class Slow:
            name = "duckdb"
            con = Connection()

            def to_pyarrow(self, query):
                time.sleep(0.5)
                return "answer"

        monkeypatch.setattr(aggregation, "SECONDS_BETWEEN_LOOKS", 0.02)
        monkeypatch.setattr("arcbandit.notes.SECONDS_BETWEEN_LINES", 0.0)
        with opened(log) as source:
            slow = type(source)(source.table, Slow(), "slow", ordered=True, size=(1000, "rows"))
            assert aggregation.fetch(slow, "query", progress=True) == "answer"
        shown = capsys.readouterr().err
        for share in (" 0%", "25%", "50%", "100%"):
            assert f"{share} of 1,000 rows of the log" in shown
        assert shown.endswith("\r")

    def test_nobody_looks_and_nothing_is_shown(self, log, capsys):
        read_log(log)
        assert capsys.readouterr().err == ""

    def test_an_interrupt_stops_duckdb(self, log, monkeypatch):
        """A query that would take minutes ends at once, and its connection can be used again."""
        looks = []

        def interrupted(line, done):
            looks.append(done)
            raise KeyboardInterrupt

        monkeypatch.setattr("arcbandit.notes.ProgressLine.__call__", interrupted)

        class Backend:
            name = "duckdb"
            con = duckdb.connect()

            def to_pyarrow(self, query):
                return self.con.execute(query).fetchall()

        query = "SELECT sum(sqrt(a.range) * b.range) FROM range(1000000) a, range(1000000) b"
        with opened(log) as source:
            long = type(source)(source.table, Backend(), "long", ordered=True, size=(1000, "rows"))
            began = time.monotonic()
            with pytest.raises(KeyboardInterrupt):
                aggregation.fetch(long, query, progress=True)
        assert looks
        assert time.monotonic() - began < 20.0
        assert Backend.con.execute("SELECT 1").fetchone() == (1,)
        Backend.con.close()
