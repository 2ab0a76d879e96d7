import itertools
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from arcbandit.errors import InvalidInputError, MissingExtraError
from arcbandit.estimates import Estimate, estimate
from arcbandit.report.plots import (
    COLOURS,
    GUIDE_COLOUR,
    PANELS,
    PLOT_SUFFIXES,
    alt_text,
    draw,
    draw_panel,
    save_plot,
    spread,
)
from arcbandit.report.tables import best_policy, broken_label, result_rows, written, written_share


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
        assert "from the 5 % to the 95 % quantile" in alt_text(summary)

    def test_one_epoch_has_no_shades(self, trace_with):
        """An interval of one run is no interval."""
        trace = trace_with(epochs=1)
        assert not draw(trace).get_axes()[0].collections
        assert "one epoch" in alt_text(trace)

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
    @pytest.mark.parametrize("suffix", PLOT_SUFFIXES)
    def test_the_same_trace_gives_the_same_bytes(self, trace, suffix, tmp_path):
        """No date, no random identifier."""
        first, second = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
        save_plot(trace, first)
        save_plot(trace, second)
        assert first.read_bytes() == second.read_bytes()
        assert sorted(tmp_path.iterdir()) == [first, second]

    def test_a_picture_carries_its_description(self, trace, tmp_path):
        """In the SVG's metadata, beside the title."""
        file = tmp_path / "plot.svg"
        save_plot(trace, file, "Some title")
        texts = [element.text for element in ElementTree.parse(file).iter() if element.tag.endswith("}description")]
        assert texts == [alt_text(trace)]

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
            draw_panel(trace, PANELS[0])


def test_alt_text_says_where_each_policy_ends(trace):
    """Metric by metric, with intervals."""
    words = alt_text(trace)
    for metric in ("regret", "violation", "performance"):
        assert (
            f"{metric.capitalize()} at the end: olp {written(estimate(trace.metric(metric)['olp'][:, -1]))};" in words
        )
    assert "linear and log-log" in words
    assert "violation" not in alt_text(trace, [PANELS[0]])


@pytest.mark.parametrize(
    ("wanted", "heights", "given"),
    [
        ([0.5], [0.1], [0.5]),
        ([0.2, 0.8], [0.1, 0.1], [0.2, 0.8]),
        ([0.5, 0.5], [0.1, 0.1], [0.45, 0.55]),
        ([0.52, 0.5], [0.1, 0.3], [0.61, 0.41]),
        ([1.0, 1.0], [0.1, 0.1], [0.85, 0.95]),
        ([0.0, 0.0, 0.1], [0.1, 0.1, 0.1], [0.05, 0.15, 0.25]),
    ],
)
def test_labels_are_moved_no_further_than_needed(wanted, heights, given):
    """Boxes that meet share the way."""
    assert spread(wanted, heights) == pytest.approx(given)


def test_spread_never_overlaps_and_stays_inside():
    """Whatever is wanted."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        count = int(rng.integers(1, 9))
        wanted, heights = rng.random(count), rng.random(count) / count
        centres = np.array(spread(wanted.tolist(), heights.tolist()))
        order = np.argsort(centres)
        low, high = (centres - heights / 2)[order], (centres + heights / 2)[order]
        assert (low[1:] >= high[:-1] - 1e-9).all()
        assert low[0] >= -1e-9
        assert high[-1] <= 1 + 1e-9


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (Estimate(1841.77, 159.4), "1,842 ± 159"),
        (Estimate(11.68, 7.66), "11.7 ± 7.7"),
        (Estimate(0.01234, 0.00051), "0.01234 ± 0.00051"),
        (Estimate(45.04009, float("nan")), "45.040"),
        (Estimate(0.0, 0.0), "0 ± 0"),
        (Estimate(float("-inf"), float("nan")), "–"),
    ],
)
def test_means_are_written_to_the_digits_that_mean_something(one, text):
    """Two digits of the half width."""
    assert written(one) == text


@pytest.mark.parametrize(
    ("share", "text"), [(0.0, "0%"), (1.0, "100%"), (1e-5, "0.1%"), (0.99999, "99.9%"), (1 / 3, "33.3%")]
)
def test_shares_near_nothing_and_everything_do_not_read_so(share, text):
    """0% and 100% mean exactly that."""
    assert written_share(Estimate(share, 0.0)) == text


def test_the_best_policy_has_the_lowest_sum(trace, trace_with):
    """And one alone is not the best of anything."""
    sums = {policy: values["regret_plus_violation"].mean for policy, values in trace.summary().items()}
    assert best_policy(trace) == min(sums, key=sums.get)
    assert best_policy(trace_with(policies=["olp"])) is None
    assert [row[0] for row in result_rows(trace)] == list(trace.policies)


def test_labels_break_after_punctuation():
    """Nothing is lost."""
    lines = broken_label("linear-program:caution=-0.5,optimism=1")
    assert lines == ["linear-program:", "caution=-0.5,", "optimism=1"]
    assert "".join(broken_label("x" * 50)) == "x" * 50
