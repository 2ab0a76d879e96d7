"""Files of results across versions: metrics are found by name, whatever their order, and files of before load."""

import json
from pathlib import Path

import numpy as np
import polars
import pytest

from arcbandit import Summary, Trace, paper_instance, simulate
from arcbandit.errors import InvalidInputError
from arcbandit.simulation.metrics import METRICS, Total, metric_names

SAVED = Path(__file__).parent / "saved"
RUN = {"horizon": 60, "epochs": 3, "checkpoints": [5, 20, 60], "window": 10, "seed": 4, "jobs": 1}
# Means at the end of what was saved, as the version that saved it told them.
OLD_MEANS = {
    "olp": {
        "regret": 26.209879153739212,
        "violation": 22.38403837308387,
        "performance": 302.7091764716036,
        "fallback_share": 0.0,
        "floor_realised": [289.37846339344895, 9.340215627897292, 19.209723897020446],
        "worst_window_realised": [-1.33502536374398, 0.2680896158721083, 0.6046222952055739],
    },
    "spoc": {
        "regret": 31.575454768359332,
        "violation": 35.13428503173629,
        "performance": 283.44899284245736,
        "floor_realised": [297.76164482875794, 1.8061423118571966, 11.360615777751539],
        "worst_window_realised": [-1.8530982888004992, 0.3288308078727464, 0.5471203946906996],
    },
}


@pytest.fixture(scope="module")
def trace():
    return simulate(paper_instance("nu"), ["olp", "spoc"], **RUN)


@pytest.fixture(scope="module")
def summary():
    return simulate(paper_instance("nu"), ["olp", "spoc"], **RUN, keep="summary")


def rewrite(path, frame, **changes):
    """Write a file again with another frame and fields of its header changed."""
    header = json.loads(polars.read_parquet_metadata(path)["arcbandit"])
    frame.write_parquet(path, metadata={"arcbandit": json.dumps(header | changes)})


def same(left, right, names=None):
    """Whether two results tell the same of every metric, to the last bit."""
    return all(
        np.array_equal(left.mean(name, policy), right.mean(name, policy), equal_nan=True)
        and np.array_equal(left.quantile(name, policy, 0.5), right.quantile(name, policy, 0.5), equal_nan=True)
        for name in names or metric_names()
        for policy in right.policies
    )


class TestFilesOfBefore:
    @pytest.mark.parametrize(
        ("kind", "file"), [(Trace, "trace-version-2.parquet"), (Summary, "summary-version-1.parquet")]
    )
    def test_load_with_the_numbers_that_they_had(self, kind, file):
        loaded = kind.load(SAVED / file)
        assert (loaded.policies, loaded.epochs, loaded.floors) == (("olp", "spoc"), 3, ("1", "2", "3"))
        assert loaded.rounds.tolist() == [5, 20, 60]
        for policy, means in OLD_MEANS.items():
            for metric, value in means.items():
                assert loaded.mean(metric, policy)[-1] == pytest.approx(value, rel=1e-12), (policy, metric)

    def test_hold_every_metric_of_that_version(self):
        """Each is where the old version had it: the trace and the summary are of the same epochs."""
        old_trace = Trace.load(SAVED / "trace-version-2.parquet")
        old_summary = Summary.load(SAVED / "summary-version-1.parquet")
        for name in metric_names():
            for policy in old_trace.policies:
                found, expected = old_summary.mean(name, policy), old_trace.mean(name, policy)
                assert np.allclose(found, expected, rtol=1e-12, equal_nan=True), (name, policy)
        assert len({old_trace.mean(name, "olp")[..., -1].tobytes() for name in ("regret", "violation")}) == 2

    @pytest.mark.parametrize(
        ("kind", "file"), [(Trace, "trace-version-2.parquet"), (Summary, "summary-version-1.parquet")]
    )
    def test_are_saved_again_by_name(self, kind, file, tmp_path):
        old = kind.load(SAVED / file)
        old.save(tmp_path / "new.parquet")
        assert same(kind.load(tmp_path / "new.parquet"), old)


class TestMetricsAreFoundByName:
    def test_in_a_trace_with_another_order_and_more_metrics(self, trace, tmp_path):
        path = tmp_path / "trace.parquet"
        trace.save(path)
        frame = polars.read_parquet(path)
        assert set(METRICS) < set(frame.columns)
        frame = frame.select(reversed(frame.columns)).with_columns(joy=frame["regret"])
        rewrite(path, frame, metrics=["joy", *reversed(METRICS)])
        loaded = Trace.load(path)
        assert same(loaded, trace)
        assert all(np.array_equal(loaded.records[one], trace.records[one], equal_nan=True) for one in trace.policies)

    def test_in_a_summary_with_another_order_and_more_metrics(self, summary, tmp_path):
        path = tmp_path / "summary.parquet"
        summary.save(path)
        frame = polars.read_parquet(path)
        assert set(frame["metric"]) == set(metric_names())
        joy = frame.filter(polars.col("metric") == "regret").with_columns(metric=polars.lit("joy"))
        rewrite(path, polars.concat([joy, frame.reverse()]))
        assert same(Summary.load(path), summary)

    def test_by_a_version_that_records_them_in_other_rows(self, trace, summary, tmp_path, monkeypatch):
        for kept, name in ((trace, "trace"), (summary, "summary")):
            kept.save(tmp_path / name)
        swapped = {"regret": Total.VIOLATION, "violation": Total.REGRET}
        for name, row in swapped.items():
            monkeypatch.setitem(METRICS, name, METRICS[name]._replace(row=row))
        loaded, loaded_summary = Trace.load(tmp_path / "trace"), Summary.load(tmp_path / "summary")
        assert np.array_equal(loaded.records["olp"][:, Total.VIOLATION], trace.records["olp"][:, Total.REGRET])
        assert np.array_equal(loaded.regret["olp"], trace.records["olp"][:, Total.REGRET])
        assert np.allclose(loaded_summary.mean("regret", "olp"), loaded.mean("regret", "olp"), rtol=1e-12)
        old = Trace.load(SAVED / "trace-version-2.parquet")
        assert old.mean("regret", "olp")[-1] == pytest.approx(OLD_MEANS["olp"]["regret"], rel=1e-12)

    def test_one_that_was_not_recorded_is_unknown(self, trace, summary, tmp_path):
        """As in files of a version that did not have it yet."""
        missing = ("signed_regret", "worst_window_expected")
        rest = [name for name in metric_names() if name not in missing]
        path = tmp_path / "trace.parquet"
        trace.save(path)
        rewrite(
            path, polars.read_parquet(path).drop(missing), metrics=[name for name in METRICS if name not in missing]
        )
        without = Trace.load(path)
        path = tmp_path / "summary.parquet"
        summary.save(path)
        rewrite(path, polars.read_parquet(path).filter(~polars.col("metric").is_in(missing)))
        for kept, original in ((without, trace), (Summary.load(path), summary)):
            assert same(kept, original, rest)
            for name in missing:
                assert np.isnan(kept.mean(name, "olp")).all()
                assert np.isnan(kept.quantile(name, "olp", 0.5)).all()
                floor = "1" if METRICS[name].per_floor else None
                assert np.isnan(kept.estimate(name, "olp", floor).mean)
                assert kept.histogram(name, "olp", floor)[1].sum() == kept.epochs


class TestDamagedSummaries:
    @pytest.mark.parametrize("column", ["first_bin", "counts", "moments", "metric"])
    def test_are_refused(self, summary, column, tmp_path):
        path = tmp_path / "summary.parquet"
        summary.save(path)
        frame = polars.read_parquet(path)
        if column == "metric":
            frame = frame.drop("metric")
        else:
            frame = frame.with_columns(polars.col(column).list.head(2))
        rewrite(path, frame)
        with pytest.raises(InvalidInputError, match="must be a complete summary, but it is damaged"):
            Summary.load(path)

    def test_a_policy_that_is_missing_is_refused(self, summary, tmp_path):
        path = tmp_path / "summary.parquet"
        summary.save(path)
        rewrite(path, polars.read_parquet(path).filter(polars.col("policy") == "olp"))
        with pytest.raises(InvalidInputError, match="must be a complete summary, but it is damaged"):
            Summary.load(path)
