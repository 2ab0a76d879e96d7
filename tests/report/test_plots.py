import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from arcbandit import analyse, compare, latex_table, paper_instance, plot, simulate
from arcbandit.errors import InvalidInputError, UnknownNameError

NU = paper_instance("nu")
TRACE = simulate(NU, ["olp", "blp"], 300, 3)
SUMMARY = simulate(NU, ["olp", "blp"], 300, 3, keep="summary")


@pytest.fixture
def ax():
    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


def lines(axes):
    return {line.get_label(): line for line in axes.get_lines() if not line.get_label().startswith("_")}


@pytest.mark.parametrize("results", [TRACE, SUMMARY], ids=["trace", "summary"])
@pytest.mark.parametrize("metric", ["regret", "violation", "performance", "fallback_share"])
def test_lines_are_the_means_of_the_metric(results, metric, ax):
    assert plot(results, metric, ax=ax) is ax
    drawn = lines(ax)
    assert list(drawn) == ["olp", "blp"]
    for policy, line in drawn.items():
        assert np.array_equal(line.get_ydata(), results.mean(metric, policy))
        assert np.array_equal(line.get_xdata(), results.rounds)


def test_without_axes_there_is_a_new_figure_that_pyplot_does_not_keep():
    before = plt.get_fignums()
    axes = plot(TRACE)
    assert list(lines(axes)) == ["olp", "blp"]
    assert plt.get_fignums() == before
    assert plot(TRACE).figure is not axes.figure


def test_two_metrics_go_beside_each_other_and_nothing_else_is_touched():
    figure, (left, right) = plt.subplots(1, 2)
    plot(TRACE, "regret", ax=left)
    assert not right.get_lines()
    plot(TRACE, "violation", ax=right, policies=["blp"])
    assert list(lines(right)) == ["blp"]
    assert figure.axes == [left, right]
    plt.close(figure)


def test_a_style_changes_the_line_and_its_shade_of_one_policy_alone(ax):
    plot(TRACE, "regret", ax=ax, style={"blp": {"color": "black", "linewidth": 3, "linestyle": ":"}})
    drawn = lines(ax)
    assert (drawn["blp"].get_color(), drawn["blp"].get_linewidth(), drawn["blp"].get_linestyle()) == ("black", 3, ":")
    assert drawn["olp"].get_color() != "black"
    of_olp, of_blp = ax.collections
    assert of_blp.get_facecolor()[0][:3].tolist() == [0.0, 0.0, 0.0]
    assert of_olp.get_facecolor()[0][:3].tolist() != [0.0, 0.0, 0.0]


@pytest.mark.parametrize(("shade", "count"), [("interval", 2), ("quantiles", 2), (None, 0)])
def test_a_shade_is_drawn_if_wanted(shade, count, ax):
    plot(TRACE, "regret", ax=ax, shade=shade)
    assert len(ax.collections) == count


def test_one_epoch_has_no_shade(ax):
    plot(simulate(NU, ["blp"], 50, 1), ax=ax, style={"blp": {"color": "red"}})
    assert len(ax.collections) == 0


def test_scales_and_guides(ax):
    plot(TRACE, "regret", ax=ax, logarithmic=True, guide=True)
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert any("√T" in line.get_label() for line in ax.get_lines())


def limits(axes):
    return [line for line in axes.get_lines() if line.get_label() == "_guide limit"]


@pytest.mark.parametrize("results", [TRACE, SUMMARY], ids=["trace", "summary"])
@pytest.mark.parametrize("settings", [{}, {"logarithmic": True, "guide": True}], ids=["plain", "with guides"])
def test_beside_r_plus_v_the_dashed_line_is_the_limit_of_each_round(results, settings, ax):
    plot(results, ax=ax, **settings)
    (line,) = limits(ax)
    known = analyse(NU)
    assert line.get_linestyle() == "--"
    assert line.get_xdata().tolist() == results.rounds.tolist()
    assert line.get_ydata() == pytest.approx([known.learning_limit(int(t)).total for t in results.rounds], rel=1e-12)


@pytest.mark.parametrize(
    ("results", "metric"),
    [
        (TRACE, "regret"),
        (TRACE, "violation"),
        (simulate(NU, "blp", 50, 1, delay=3), "regret_plus_violation"),
        (simulate(paper_instance("nu-nonsaturating"), "blp", 50, 1), "regret_plus_violation"),
    ],
    ids=["regret", "violation", "not known", "nothing"],
)
def test_there_is_no_such_line_elsewhere(results, metric, ax):
    plot(results, metric, ax=ax)
    assert not limits(ax)
    assert not ax.texts


@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ({"metric": "regrett"}, UnknownNameError, r"\(did you mean 'regret'\?\)"),
        ({"metric": "floor_shortfall"}, UnknownNameError, "no metric 'floor_shortfall'"),
        ({"policies": ["bpl"]}, UnknownNameError, r"\(did you mean 'blp'\?\)"),
        ({"policies": []}, InvalidInputError, "policies must hold at least one"),
        ({"style": {"bpl": {}}}, UnknownNameError, "no policy 'bpl'"),
        ({"style": {"blp": "red"}}, InvalidInputError, r"style\['blp'\] must map"),
        ({"style": "red"}, InvalidInputError, "style must map"),
        ({"shade": "band"}, InvalidInputError, "shade must be"),
        ({"logarithmic": 1}, InvalidInputError, "logarithmic must be True or False"),
        ({"guide": "yes"}, InvalidInputError, "guide must be True or False"),
        ({"results": NU}, InvalidInputError, "results must be a Results of simulate"),
    ],
)
def test_what_cannot_be_drawn_is_refused_before_anything_is(settings, error, said, ax):
    with pytest.raises(error, match=said):
        plot(**{"results": TRACE, "ax": ax, **settings})
    assert not ax.get_lines()


class TestLatexTables:
    def test_have_a_row_per_policy_and_one_of_the_limit(self):
        text = latex_table(TRACE).splitlines()
        assert text[0] == r"\begin{tabular}{lrrrrrr}"
        assert [line.split(" & ")[0] for line in text if " & " in line] == [
            "policy",
            "olp",
            "blp",
            "limit",
        ]
        assert text[-1] == r"\end{tabular}"
        limit = analyse(NU).learning_limit(300).total
        assert text[-3] == rf"limit & -- & -- & {limit:.2f} & -- & -- & -- \\"

    def test_have_no_limit_where_it_is_not_known(self):
        assert "limit" not in latex_table(simulate(NU, "blp", 50, 1, delay=3))
        assert "limit" not in latex_table(compare({"a": NU}, ["blp"], 50, 1, delay=3))

    def test_have_a_row_per_instance_of_a_comparison_and_names_are_escaped(self):
        found = compare({"50%_a&b": NU, "b": NU}, ["blp", "olp"], 20, 2)
        text = latex_table(found)
        assert r"50\%\_a\&b & " in text
        assert text.count(r"$\pm$") == 4

    def test_have_a_column_of_limits(self):
        """Of the instances that have one."""
        found = compare({"nu": NU, "other": paper_instance("nu-nonsaturating")}, ["blp"], 300, 1)
        header, first, second = (line for line in latex_table(found).splitlines() if " & " in line)
        assert header == r"instance & blp & limit \\"
        assert first.endswith(rf" & {analyse(NU).learning_limit(300).total:.2f} \\")
        assert second.endswith(r" & -- \\")

    def test_are_of_results_alone(self):
        with pytest.raises(InvalidInputError, match="results must be a Results of simulate, or a Comparison"):
            latex_table(NU)
