import itertools
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from arcbandit.errors import InvalidInputError, MissingExtraError
from arcbandit.estimates import estimate
from arcbandit.report.charts import alt_text
from arcbandit.report.figures import PLOT_SUFFIXES, draw_chart, draw_sheet
from arcbandit.report.look import COLOURS, GUIDE_COLOUR
from arcbandit.report.metric_charts import metric_chart, metric_line, save_plot, simulation_chart, simulation_sheet
from arcbandit.report.tables import written
from arcbandit.simulation.metrics import Total


def draw(results, title="Simulation"):
    return draw_sheet(simulation_sheet(results, title))


def in_words(results):
    return alt_text(simulation_sheet(results))


def curves_of(axes, policies):
    return [line for line in axes.get_lines() if line.get_label() in policies]


def guides_of(axes):
    return [line for line in axes.get_lines() if line.get_label().startswith("_guide")]


def labels_of(axes):
    return [text for text in axes.texts if (text.get_gid() or "").startswith("label-")]


class TestTheFigure:
    def test_has_each_metric_linear_above_and_logarithmic_below(self, trace):
        """Two rows of three panels, each with a title and units."""
        axes = draw(trace, "A title").get_axes()
        assert [one.get_xscale() for one in axes] == [one.get_yscale() for one in axes] == ["linear"] * 3 + ["log"] * 3
        for one, word in zip(axes, ["Regret", "Violation", "Performance"] * 2, strict=True):
            assert one.get_title(loc="left").startswith(word)
            assert one.get_xlabel() == "round t"
            assert one.get_ylabel().startswith("revenue")

    def test_lines_are_means_and_shades_their_intervals(self, trace):
        """What is drawn at the last round is what the summary says."""
        axes = draw(trace).get_axes()[0]
        summary = trace.summary()
        for line, shade in zip(curves_of(axes, trace.policies), axes.collections, strict=True):
            final = summary[line.get_label()]["regret"]
            assert line.get_ydata()[-1] == pytest.approx(final.mean)
            edges = shade.get_paths()[0].vertices
            ends = edges[edges[:, 0] == trace.horizon, 1]
            assert ends.max() == pytest.approx(final.mean + final.half_width)
            assert ends.min() == pytest.approx(final.mean - final.half_width)

    def test_policies_differ_in_colour_style_and_marker(self, trace):
        """A reader who sees no colour tells them apart too."""
        for axes in draw(trace).get_axes():
            lines = curves_of(axes, trace.policies)
            assert len(lines) == len(trace.policies)
            for look in (
                lambda line: line.get_color(),
                lambda line: line.get_linestyle(),
                lambda line: line.get_marker(),
            ):
                assert len({look(line) for line in lines}) == len(lines)
            assert {line.get_color() for line in lines} <= set(COLOURS)

    def test_labels_stand_at_the_line_ends_and_apart(self, trace):
        """No legend to look up, no label on top of another."""
        figure = draw(trace)
        figure.canvas.draw()
        for axes in figure.get_axes():
            assert axes.get_legend() is None
            labels = labels_of(axes)
            assert ["".join(text.get_text().split()) for text in labels] == [
                "".join(policy.split()) for policy in trace.policies
            ]
            boxes = sorted((text.get_window_extent() for text in labels), key=lambda box: box.y0)
            assert all(lower.y1 <= upper.y0 for lower, upper in itertools.pairwise(boxes))
            assert all(box.x0 > axes.get_window_extent().x1 for box in boxes)
            assert all(box.x1 < figure.bbox.x1 for box in boxes)

    def test_logarithmic_panels_have_guides_that_grow_as_they_say(self, trace):
        """sqrt(T) above and log(T)^2 below, both grey."""
        for axes in draw(trace).get_axes()[3:5]:
            above, below = guides_of(axes)
            assert above.get_color() == below.get_color() == GUIDE_COLOUR
            rounds = above.get_xdata()
            np.testing.assert_allclose(above.get_ydata() / above.get_ydata()[-1], np.sqrt(rounds / rounds[-1]))
            shape = (np.log(rounds) / np.log(rounds[-1])) ** 2
            np.testing.assert_allclose(below.get_ydata() / below.get_ydata()[-1], shape)

    @pytest.mark.slow
    def test_performance_is_shown_against_the_best_plan(self, trace):
        """The guide ends at f* T."""
        for axes in draw(trace).get_axes()[2::3]:
            (guide,) = guides_of(axes)
            assert guide.get_ydata()[-1] == pytest.approx(1.75 * 10_000)

    def test_a_summary_shows_the_spread_of_epochs_as_well(self, trace, summary):
        """The same lines; behind each interval a lighter band from the 5 % to the 95 % quantile."""
        axes, expected = draw(summary).get_axes()[0], draw(trace).get_axes()[0]
        lines = zip(curves_of(axes, trace.policies), curves_of(expected, trace.policies), strict=True)
        for line, other in lines:
            assert line.get_ydata() == pytest.approx(other.get_ydata())
        bands, intervals = axes.collections[::2], axes.collections[1::2]
        for policy, band, interval in zip(trace.policies, bands, intervals, strict=True):
            assert band.get_alpha() < interval.get_alpha()
            edges = band.get_paths()[0].vertices
            ends = edges[edges[:, 0] == trace.horizon, 1]
            assert ends.min() == pytest.approx(summary.quantile("regret", policy, 0.05)[-1])
            assert ends.max() == pytest.approx(summary.quantile("regret", policy, 0.95)[-1])
        assert "from the 5 % to the 95 % quantile" in in_words(summary)

    def test_one_epoch_has_no_shades(self, trace_with):
        """An interval of one run is no interval."""
        trace = trace_with(epochs=1)
        assert not draw(trace).get_axes()[0].collections
        assert "one epoch" in in_words(trace)

    @pytest.mark.slow
    def test_many_policies_and_values_that_a_logarithm_has_no_place_for(self, trace_with):
        """Forty labels shrink, zeros and negative revenue are left out."""
        trace = trace_with(policies=[f"policy {number}" for number in range(40)])
        for record in trace.records.values():
            record[:, 0] = 0.0
            record[:, 3] *= -1.0
        figure = draw(trace)
        figure.canvas.draw()
        assert "nothing above zero" in [text.get_text() for text in figure.get_axes()[3].texts]


class TestFiles:
    @pytest.mark.slow
    @pytest.mark.parametrize("suffix", PLOT_SUFFIXES)
    def test_the_same_trace_gives_the_same_bytes(self, trace, suffix, tmp_path):
        """No date, no random identifier."""
        first, second = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
        save_plot(trace, first)
        save_plot(trace, second)
        assert first.read_bytes() == second.read_bytes()
        assert sorted(tmp_path.iterdir()) == [first, second]

    @pytest.mark.slow
    def test_a_picture_carries_its_description(self, trace, tmp_path):
        """In the SVG's metadata, beside the title."""
        file = tmp_path / "plot.svg"
        save_plot(trace, file, "Some title")
        texts = [element.text for element in ElementTree.parse(file).iter() if element.tag.endswith("}description")]
        assert texts == [in_words(trace)]

    @pytest.mark.slow
    def test_a_failed_write_leaves_the_old_file(self, trace, tmp_path, monkeypatch):
        """An interruption in the last moment leaves neither half a file nor a stray one."""
        file = tmp_path / "plot.svg"
        file.write_text("old")

        def interrupted(source, destination):
            raise KeyboardInterrupt

        monkeypatch.setattr("os.replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            save_plot(trace, file)
        assert file.read_text() == "old"
        assert list(tmp_path.iterdir()) == [file]

    @pytest.mark.parametrize(("name", "said"), [("x.gif", "must end in"), ("no/x.png", "no folder")])
    def test_bad_targets_are_refused(self, trace, tmp_path, name, said):
        """Suffix and folder are checked first."""
        with pytest.raises(InvalidInputError, match=said):
            save_plot(trace, tmp_path / name)

    def test_without_matplotlib_the_extra_is_named(self, trace, monkeypatch):
        """The message says what to install."""
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        with pytest.raises(MissingExtraError, match=r"arcbandit\[plots\]"):
            draw_chart(simulation_chart(trace, "regret", False))


def test_alt_text_says_where_each_policy_ends(trace):
    """Metric by metric, with intervals."""
    words = in_words(trace)
    for metric in ("regret", "violation", "performance"):
        assert (
            f"{metric.capitalize()} at the end: olp {written(estimate(trace.metric(metric)['olp'][:, -1]))};" in words
        )
    assert "linear and log-log" in words
    one = alt_text(simulation_chart(trace, "regret", True))
    assert "Violation" not in one
    assert "on logarithmic axes" in one
    assert f"Regret at the end: olp {written(estimate(trace.metric('regret')['olp'][:, -1]))};" in one


@pytest.mark.parametrize("metric", ["optimal_set_share", "signed_regret", "fallback_share"])
@pytest.mark.parametrize("logarithmic", [False, True])
def test_every_sum_and_share_can_be_drawn(trace, metric, logarithmic):
    """Growth is compared with guides only where it is read so."""
    chart = metric_chart(trace, metric, trace.policies, logarithmic=logarithmic)
    assert chart.guides == ()
    draw_chart(chart).canvas.draw()


def test_what_is_not_known_is_not_drawn(trace_with):
    """A policy that does not plan has no share of rounds with I_t = I*."""
    trace = trace_with()
    trace.records["olp"][:, Total.OPTIMAL_SET] = np.nan
    (axes,) = draw_chart(metric_chart(trace, "optimal_set_share", trace.policies)).get_axes()
    lines = {line.get_label(): line for line in curves_of(axes, trace.policies)}
    assert len(lines["olp"].get_xdata()) == 0
    assert len(lines["<b>&odd"].get_xdata()) == len(trace.rounds)


@pytest.mark.parametrize("metric", ["regret", "violation"])
def test_the_band_of_a_running_sum_does_not_dip(trace, metric):
    """It lies within what was recorded, where mean minus half width may be below zero."""
    for policy in trace.policies:
        line = metric_line(trace, metric, policy)
        values = trace.metric(metric)[policy]
        assert (np.diff(line.low) >= 0).all()
        assert (line.low >= values.min(axis=0)).all()
        assert (line.high <= values.max(axis=0)).all()
        assert line.shade == f"from the 5 % to the 95 % quantile of {trace.epochs} epochs"
