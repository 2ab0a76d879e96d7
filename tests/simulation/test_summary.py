"""Epochs folded into means, variances and quantiles, and the summary that shows them."""

import numpy as np
import pytest

from arcbandit import Summary, Trace, paper_instance, simulate
from arcbandit.errors import InvalidInputError, UnknownNameError
from arcbandit.simulation.fold import (
    LARGEST,
    QUANTILE_ERROR,
    SMALLEST,
    EpochFolder,
    FoldedEpochs,
    Moment,
    bin_edges,
    bin_values,
    cells_of,
    lanes_of,
)
from arcbandit.simulation.metrics import BY_FLOOR, N_KINDS, N_METRICS, N_TOTALS, SHARES, SUMS, metric_names

NU = paper_instance("nu")
RUN = {"horizon": 300, "epochs": 40, "checkpoints": 6, "window": 20}
SHARES_OF_EPOCHS = (0.0, 0.05, 0.5, 0.95, 1.0)


@pytest.fixture(scope="module")
def trace():
    return simulate(NU, ["olp", "spoc"], **RUN)


@pytest.fixture(scope="module")
def summary():
    return simulate(NU, ["olp", "spoc"], **RUN, keep="summary")


def fold(values, chunk):
    """Fold values, shape (epochs, cells), as the first metric's, so many epochs at a time."""
    n_epochs, n_cells = values.shape
    records = np.zeros((n_epochs, N_TOTALS, n_cells))
    records[:, 0] = values
    floors = np.zeros((n_epochs, N_KINDS, n_cells, 1))
    folder = EpochFolder(n_cells, 1)
    for first in range(0, n_epochs, chunk):
        folder.take_in(records[first : first + chunk], floors[first : first + chunk])
    folded = folder.finish()
    settings = {"epochs": n_epochs, "horizon": n_cells}
    return Summary(np.arange(1, n_cells + 1), ("p",), ("f",), {"p": folded}, settings)


def draws(epochs=5000):
    """Values of all sizes and signs: near a large mean, heavy-tailed, tiny, zero."""
    random = np.random.default_rng(0)
    return np.column_stack(
        [
            1e9 + random.normal(size=epochs),
            random.normal(size=epochs),
            np.exp(4.0 * random.normal(size=epochs)),
            -np.exp(4.0 * random.normal(size=epochs)),
            1e-6 * random.random(epochs),
            np.zeros(epochs),
        ]
    )


class TestTheFold:
    def test_mean_and_variance_are_those_of_numpy(self):
        values = draws()
        folded = fold(values, len(values))
        assert folded.mean("regret", "p") == pytest.approx(values.mean(axis=0), rel=1e-12, abs=1e-15)
        # Of values near 1e9 the variance is known to their own precision only.
        known = np.maximum(1e-12 * values.var(axis=0), 1e-16 * abs(values.mean(axis=0)))
        assert (abs(folded.variance("regret", "p") - values.var(axis=0, ddof=1)) <= known).all()

    @pytest.mark.parametrize("share", [0.0, 0.01, 0.25, 0.5, 0.9, 0.99, 1.0])
    def test_quantiles_are_within_the_stated_error(self, share):
        values = draws()
        exact = np.quantile(values, share, axis=0, method="lower")
        found = fold(values, len(values)).quantile("regret", "p", share)
        assert (abs(found - exact) <= QUANTILE_ERROR * abs(exact) * (1 + 1e-9) + SMALLEST).all()

    def test_does_not_depend_on_how_many_come_at_once(self):
        """Bit for bit."""
        values = draws(100)
        whole = fold(values, 100).folded["p"]
        for chunk in (1, 7, 99):
            parts = fold(values, chunk).folded["p"]
            assert all(np.array_equal(left, right) for left, right in zip(whole, parts, strict=True))

    @pytest.mark.parametrize("epochs", [1, 2, 3, 255, 256, 257, 511, 513])
    def test_lanes_are_merged_however_many_have_an_epoch(self, epochs):
        values = draws(epochs)[:, 1:3]
        folded = fold(values, 100)
        assert lanes_of(N_METRICS * 2 + N_KINDS * 2) == 256
        assert folded.mean("regret", "p") == pytest.approx(values.mean(axis=0), rel=1e-12)
        squares = ((values - values.mean(axis=0)) ** 2).sum(axis=0)
        assert folded.folded["p"].moments[Moment.SQUARES, :2] == pytest.approx(squares, rel=1e-12, abs=1e-300)
        assert folded.folded["p"].moments[Moment.LOWEST, :2].tolist() == values.min(axis=0).tolist()
        assert folded.folded["p"].moments[Moment.HIGHEST, :2].tolist() == values.max(axis=0).tolist()

    def test_many_cells_have_a_lane_each(self):
        assert lanes_of(10**5) == 1

    def test_values_beyond_the_bins_count_as_the_last_of_them(self):
        values = np.array([[1e-15, -1e20], [2e-15, 5e20]])
        folded = fold(values, 2)
        for share, large in ((0.0, -LARGEST), (1.0, LARGEST)):
            tiny, found = folded.quantile("regret", "p", share)
            assert abs(tiny) <= SMALLEST
            assert found == pytest.approx(large, rel=2 * QUANTILE_ERROR)

    def test_infinite_and_missing_values_stay_so(self):
        """A window that is not yet full has a worst shortfall of minus infinity; without windows there is none."""
        values = np.column_stack([np.full(5, -np.inf), np.full(5, np.nan)])
        folded = fold(values, 2)
        for share in SHARES_OF_EPOCHS:
            assert np.array_equal(folded.quantile("regret", "p", share), [-np.inf, np.nan], equal_nan=True)
        assert np.array_equal(folded.mean("regret", "p"), [-np.inf, np.nan], equal_nan=True)
        assert np.isnan(folded.variance("regret", "p")).all()

    def test_every_value_of_a_bin_is_near_the_one_that_stands_for_it(self):
        edges, values = bin_edges(), bin_values()
        for ends in (edges[:-1], edges[1:]):
            away = abs(ends) > SMALLEST * 1.0000001
            assert (abs(values - ends)[away] <= QUANTILE_ERROR * abs(ends[away]) * (1 + 1e-9)).all()
        assert (np.diff(edges) > 0).all()
        assert edges[-1] >= LARGEST
        assert values[len(values) // 2] == 0.0

    def test_there_is_a_cell_for_every_metric(self):
        assert len({*SUMS, *SHARES}) == N_METRICS
        assert len(BY_FLOOR) == N_KINDS
        assert cells_of(n_checkpoints=2, n_floors=3) == 2 * N_METRICS + 6 * N_KINDS


class TestTheSummaryAgreesWithTheTrace:
    @pytest.mark.parametrize("metric", metric_names())
    def test_in_every_metric(self, trace, summary, metric):
        for policy in trace.policies:
            for ask in ("mean", "variance", "standard_error"):
                found, expected = getattr(summary, ask)(metric, policy), getattr(trace, ask)(metric, policy)
                assert found.shape == expected.shape
                assert np.allclose(found, expected, rtol=1e-10, atol=1e-10, equal_nan=True)
            for share in SHARES_OF_EPOCHS:
                found, expected = (kept.quantile(metric, policy, share) for kept in (summary, trace))
                assert np.allclose(found, expected, rtol=QUANTILE_ERROR * (1 + 1e-9), atol=SMALLEST, equal_nan=True)

    def test_in_intervals(self, trace, summary):
        for policy, metrics in trace.summary().items():
            for metric, expected in metrics.items():
                found = summary.summary()[policy][metric]
                assert (found.mean, found.half_width) == pytest.approx(
                    (expected.mean, expected.half_width), rel=1e-9, abs=1e-12, nan_ok=True
                )
        found, expected = (kept.estimate("floor_realised", "olp", "2") for kept in (summary, trace))
        assert (found.mean, found.half_width) == pytest.approx((expected.mean, expected.half_width))

    @pytest.mark.parametrize("metric", ["regret", "signed_regret", "fallback_share"])
    def test_in_distributions(self, trace, summary, metric):
        for kept in (trace, summary):
            edges, counts = kept.histogram(metric, "spoc")
            assert len(edges) == len(counts) + 1
            assert counts.sum() == trace.epochs
            values = trace.metric(metric)["spoc"][:, -1]
            assert edges[0] <= values.min()
            assert values.max() <= edges[-1] * (1 + 1e-12)
        edges, counts = summary.histogram("floor_realised", "olp", "1")
        assert counts.sum() == trace.epochs

    def test_whoever_plays(self, summary):
        alone = simulate(NU, ["olp", "spoc"], **RUN, keep="summary", jobs=1)
        for policy in summary.policies:
            for left, right in zip(summary.folded[policy], alone.folded[policy], strict=True):
                assert np.array_equal(left, right, equal_nan=True)


class TestWhatASummaryHolds:
    def test_settings_say_what_was_kept(self, trace, summary):
        assert (summary.settings["keep"], summary.settings["device"]) == ("summary", "cpu")
        assert summary.settings == trace.settings | {"keep": "summary"}
        assert (summary.horizon, summary.epochs, summary.floors) == (300, 40, trace.floors)

    def test_single_epochs_are_refused(self, summary):
        for ask in (
            lambda: summary.metric("regret"),
            lambda: summary.regret,
            lambda: summary.records,
            lambda: summary.floor_records,
        ):
            with pytest.raises(InvalidInputError, match="single epochs was not kept; simulate with keep='epochs'"):
                ask()
        with pytest.raises(InvalidInputError, match="no metric 'joy'"):
            summary.metric("joy")

    def test_unknown_names_are_named(self, trace, summary):
        for kept in (trace, summary):
            with pytest.raises(InvalidInputError, match="no metric 'joy'"):
                kept.mean("joy", "olp")
            with pytest.raises(UnknownNameError, match="no policy 'joy' here; there are olp, spoc"):
                kept.mean("regret", "joy")
            with pytest.raises(UnknownNameError, match="is per floor, so floor must be one of 1, 2, 3, got None"):
                kept.estimate("floor_realised", "olp")
            with pytest.raises(InvalidInputError, match="is not one of floors"):
                kept.histogram("regret", "olp", "1")
            with pytest.raises(InvalidInputError, match="q must be a number from 0 to 1, got 5"):
                kept.quantile("regret", "olp", 5)

    def test_one_epoch_has_no_variance(self):
        for keep in ("epochs", "summary"):
            one = simulate(NU, ["olp"], horizon=20, epochs=1, keep=keep)
            assert np.isnan(one.variance("regret", "olp")).all()
            assert np.isnan(one.estimate("regret", "olp").half_width)

    def test_a_frame_has_a_row_for_each_policy_metric_and_checkpoint(self, summary):
        frame = summary.to_frame()
        assert frame.height == 2 * N_METRICS * len(summary.rounds)
        part = frame.filter((frame["policy"] == "spoc") & (frame["metric"] == "fallback_share"))
        assert part["round"].to_list() == summary.rounds.tolist()
        assert part["mean"].to_numpy() == pytest.approx(summary.mean("fallback_share", "spoc"))
        assert part["quantile_95"].to_numpy() == pytest.approx(summary.quantile("fallback_share", "spoc", 0.95))
        by_floor = summary.to_frame(by="floor")
        assert by_floor.height == 2 * N_KINDS * len(summary.rounds) * 3
        with pytest.raises(InvalidInputError, match="by must be"):
            summary.to_frame(by="epoch")

    def test_a_saved_summary_loads_to_the_last_bit(self, summary, tmp_path):
        path = tmp_path / "summary.parquet"
        summary.save(path)
        loaded = Summary.load(path)
        assert (loaded.policies, loaded.floors, loaded.settings) == (summary.policies, summary.floors, summary.settings)
        assert (loaded.rounds == summary.rounds).all()
        for policy in summary.policies:
            for field in FoldedEpochs._fields:
                left, right = (getattr(kept.folded[policy], field) for kept in (loaded, summary))
                assert left.dtype == right.dtype
                assert np.array_equal(left, right, equal_nan=True)

    def test_a_trace_is_not_taken_for_a_summary(self, trace, summary, tmp_path):
        trace.save(tmp_path / "trace.parquet")
        summary.save(tmp_path / "summary.parquet")
        with pytest.raises(InvalidInputError, match="must be a summary, but is a trace"):
            Summary.load(tmp_path / "trace.parquet")
        with pytest.raises(InvalidInputError, match="must be a trace, but is a summary"):
            Trace.load(tmp_path / "summary.parquet")
        with pytest.raises(InvalidInputError, match="no summary file"):
            Summary.load(tmp_path / "nothing.parquet")
