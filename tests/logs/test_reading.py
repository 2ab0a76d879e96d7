"""The same log gives the same statistics wherever it lies."""

import duckdb
import ibis
import numpy as np
import pandas
import polars
import psycopg
import pytest

from arcbandit.errors import InvalidInputError
from arcbandit.logs import read_log
from arcbandit.logs.aggregation import aggregate
from arcbandit.logs.columns import wanted_columns
from arcbandit.logs.sources import opened


def counted_by_hand(log):
    """Counts, sums and sums of squares by NumPy, arms by number and contexts by name."""
    arms, rows = np.unique(log["arm"].to_numpy(), return_inverse=True)
    contexts, columns = np.unique(log["context"].to_list(), return_inverse=True)
    rewards = log["reward"].to_numpy()
    totals = [np.zeros((len(arms), len(contexts))) for _ in range(3)]
    for total, values in zip(totals, (np.ones(len(log)), rewards, rewards * rewards), strict=True):
        np.add.at(total, (rows, columns), values)
    return tuple(str(arm) for arm in arms), tuple(str(context) for context in contexts), *totals


def assert_same(found, log):
    """Counts exactly; sums to 1e-12 of the sum of what was added."""
    arms, contexts, counts, sums, squares = counted_by_hand(log)
    assert found.arms == arms
    assert found.contexts == contexts
    assert found.counts.dtype == np.int64
    assert (found.counts == counts).all()
    leeway = 1e-12 * np.sqrt(counts * squares)  # at least 1e-12 of the sum of absolute rewards
    assert (np.abs(found.sums - sums) <= leeway).all()
    assert found.squares == pytest.approx(squares, rel=1e-12, abs=0)
    assert found.rows == len(log)
    assert found.has_probabilities
    assert found.bad_rows == ()


def in_files(log, folder):
    """The log as CSV, Parquet, a folder of either, and as a DuckDB database."""
    log.write_csv(folder / "log.csv")
    log.write_csv(folder / "log.tsv", separator="\t")
    log.write_parquet(folder / "log.parquet")
    for kind in ("csv", "parquet"):
        parts = folder / f"{kind}s" / "year=2026"
        parts.mkdir(parents=True)
        (parts / "_SUCCESS.csv").touch()
        for part in range(4):
            getattr(log[part::4], f"write_{kind}")(parts / f"{part}.{kind}")
    with duckdb.connect(str(folder / "log.duckdb")) as connection:
        connection.register("frame", log.to_arrow())
        connection.execute("CREATE TABLE decisions AS SELECT * FROM frame")


@pytest.fixture(scope="module")
def folder(log, tmp_path_factory):
    folder = tmp_path_factory.mktemp("log")
    in_files(log, folder)
    return folder


class TestSameEverywhere:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        "name", ["log.csv", "log.tsv", "log.parquet", "csvs", "parquets", "parquets/*/*.parquet", "log.duckdb"]
    )
    def test_files(self, folder, log, name):
        assert_same(read_log(folder / name), log)

    def test_several_files(self, folder, log):
        parts = [folder / "csvs" / "year=2026" / f"{part}.csv" for part in range(4)]
        assert_same(read_log(parts), log)

    @pytest.mark.parametrize("made", [lambda log: log, lambda log: log.to_pandas(), lambda log: log.to_arrow()])
    def test_frames(self, log, made):
        assert_same(read_log(made(log)), log)

    def test_lazy_frames_and_categories(self, log):
        assert_same(read_log(log.lazy().with_columns(polars.col("context").cast(polars.Categorical))), log)

    def test_a_duckdb_connection_which_is_left_as_it_was(self, log):
        with duckdb.connect() as connection:
            connection.execute("SET timezone = 'Asia/Tokyo'")
            connection.register("frame", log.to_arrow())
            connection.execute("CREATE TEMP TABLE decisions AS SELECT * FROM frame")
            assert_same(read_log(connection, table="decisions"), log)
            assert connection.execute("SELECT current_setting('timezone')").fetchone() == ("Asia/Tokyo",)
            assert connection.execute("SELECT count(*) FROM log").fetchone() == (len(log),)

    def test_an_ibis_table(self, log):
        assert_same(read_log(ibis.memtable(log).filter(ibis._.decision_id >= 0)), log)

    @pytest.mark.slow
    def test_postgresql(self, log, postgres):
        with psycopg.connect(postgres) as connection:
            connection.execute(
                "CREATE TABLE decisions (decision_id bigint, timestamp bigint, context text, arm integer, "
                "probability double precision, reward double precision)"
            )
            with connection.cursor().copy("COPY decisions FROM STDIN") as copy:
                for row in log.iter_rows():
                    copy.write_row(row)
            connection.execute("CREATE SCHEMA other")
            connection.execute("CREATE TABLE other.bad AS SELECT * FROM decisions LIMIT 1000")
            connection.execute("UPDATE other.bad SET reward = 'NaN' WHERE decision_id IN (3, 5)")
            connection.execute("UPDATE other.bad SET context = ' ' WHERE decision_id = 7")
            connection.execute("UPDATE other.bad SET probability = 1.5 WHERE decision_id = 9")
            connection.execute("UPDATE other.bad SET arm = NULL WHERE decision_id = 11")
        assert_same(read_log(postgres, table="decisions"), log)
        bad = read_log(postgres, table="other.bad", skip_bad_rows=True)
        assert {one.problem: one.count for one in bad.bad_rows} == {
            "a reward that is no finite number": 2,
            "no context": 1,
            "a probability that is not above 0 and at most 1": 1,
            "no arm": 1,
        }
        assert bad.rows == 995
        with pytest.raises(InvalidInputError, match=r"There is no table 'decision' .*did you mean 'decisions'"):
            read_log(postgres, table="decision")

    @pytest.mark.parametrize("dialect", ["bigquery", "databricks", "snowflake", "trino"])
    def test_the_query_in_other_dialects(self, log, dialect, monkeypatch):
        """One SELECT that groups; it is not run here, but each of these databases takes it by the same expression."""
        asked = []
        monkeypatch.setattr("arcbandit.logs.aggregation.fetch", lambda log, query, progress: asked.append(query) or [])
        with opened(log) as source:
            aggregate(source, wanted_columns().found_in(source.table.columns), progress=False)
        sql = ibis.to_sql(asked[0], dialect=dialect)
        assert sql.count("GROUP BY") == 1
        assert sql.count("SUM(") == 2


class TestNames:
    def test_columns_are_mapped_and_several_make_a_context(self):
        log = polars.DataFrame(
            {
                "device": ["tv", "tv", "phone", "phone"],
                "hour": [20, 9, 9, 9],
                "film": ["a", "b", "a", "a"],
                "euros": [1.0, 2.0, 3.0, 4.0],
            }
        )
        found = read_log(log, context=["device", "hour"], arm="film", reward="euros")
        assert found.contexts == ("phone / 9", "tv / 9", "tv / 20")
        assert found.counts.tolist() == [[2, 0, 1], [0, 1, 0]]
        assert found.sums.tolist() == [[7.0, 0.0, 1.0], [0.0, 2.0, 0.0]]
        assert not found.has_probabilities
        assert found.unplayed_pairs == (("a", "tv / 9"), ("b", "phone / 9"), ("b", "tv / 20"))

    def test_contexts_that_would_get_the_same_name_are_refused(self):
        log = polars.DataFrame({"x": ["a / b", "a"], "y": ["c", "b / c"], "arm": [1, 1], "reward": [1.0, 1.0]})
        with pytest.raises(InvalidInputError, match="Two contexts must not have the same name"):
            read_log(log, context=["x", "y"])

    def test_a_csv_keeps_names_as_they_are_written(self, tmp_path):
        (tmp_path / "log.csv").write_text('context,arm,reward\n1,007,1\n1,7,2\n1,"1e3",3\n')
        assert read_log(tmp_path / "log.csv").arms == ("007", "1e3", "7")

    @pytest.mark.parametrize(
        ("arms", "named"),
        [
            ([10, 9], ("9", "10")),
            ([10.0, 9.0], ("9", "10")),
            ([0.5, 9.0], ("0.5", "9")),
            ([True, False], ("false", "true")),
            (["10", "x"], ("10", "x")),
            (["-1", "-2"], ("-2", "-1")),
            (["01", "1"], ("01", "1")),
            (["é", "z" * 300], ("z" * 300, "é")),
            (pandas.to_datetime(["2026-01-02", "2026-01-01"]), ("2026-01-01 00:00:00", "2026-01-02 00:00:00")),
        ],
    )
    def test_arms_of_any_type(self, arms, named):
        log = pandas.DataFrame({"context": ["x", "x"], "arm": arms, "reward": [1, 2]})
        found = read_log(log)
        assert found.arms == named
        assert found.counts.sum() == 2

    @pytest.mark.parametrize(
        ("mapped", "match"),
        [
            ({"arm": "film"}, r"no column 'film' for arm: it has 'context', 'arm', 'reward'"),
            ({"context": "contxt"}, r"no column 'contxt' for context \(did you mean 'context'\?\)"),
            ({"context": ["context", "day"]}, "no column 'day' for context"),
            ({"context": []}, "context must name at least one column"),
            ({"context": ["arm", "arm"]}, "context must be unique"),
            ({"probability": "p"}, "no column 'p' for probability"),
            ({"reward": "context"}, None),
            ({"table": "log"}, "table must be given only with a database"),
            ({"skip_bad_rows": 1}, "skip_bad_rows must be True or False"),
        ],
    )
    def test_wrong_names_are_refused(self, mapped, match):
        log = polars.DataFrame({"context": ["x"], "arm": ["a"], "reward": [1.0]})
        with pytest.raises(InvalidInputError, match=match):
            read_log(log, **mapped)


class TestStatistics:
    def test_what_follows_from_the_sums(self):
        log = polars.DataFrame(
            {"context": ["x", "x", "x", "y"], "arm": ["a", "a", "b", "b"], "reward": [1.0, 3.0, 5.0, 7.0]}
        )
        found = read_log(log)
        assert found.means[0].tolist()[0] == 2.0
        assert np.isnan(found.means[0, 1])
        assert found.context_probabilities.tolist() == [0.75, 0.25]
        assert found.shares.tolist() == [[2 / 3, 0.0], [1 / 3, 1.0]]
        assert found.deviations.tolist() == [[2.0, 0.0], [0.0, 0.0]]
        assert found.noise_scale == pytest.approx(np.sqrt(2.0))
        assert found.arm_revenue.tolist() == [1.0, 3.0]
        assert found.value == 4.0
        assert found.to_dict()["counts"] == [[2, 0], [1, 1]]
        with pytest.raises(ValueError, match="read-only"):
            found.counts[0, 0] = 5

    def test_noise_of_single_rewards_is_not_known(self):
        found = read_log(polars.DataFrame({"context": ["x"], "arm": ["a"], "reward": [1.0]}))
        assert np.isnan(found.noise_scale)
